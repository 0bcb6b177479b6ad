"""A rater's side of a studio: its steps, the way in, rankings by pairs, and rows read from the database.

Answers to the pairs of a ranking are kept with the rater's profile, only those of the newest ranking, so that every
device goes on where the last one stopped. The order they settle is submitted like any other answer.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from salon.collect.agreement import AnswerRecords, PairAnswerRow, ScreenRow, ValueRow, answer_rows
from salon.collect.assignment import NoMoreQuestions, Rest, expected_questions, is_eligible
from salon.collect.plan import StudioPlan
from salon.collect.questions import (
    MergedOrder,
    PairAnswer,
    RaterQuestion,
    RaterScreen,
    RemainingWait,
    check_guidelines,
    check_pair,
    least_seconds,
    next_merge_step,
)
from salon.collect.settings import Phase, StudioSettings
from salon.errors import BadValue, InputError
from salon.store import Database, RaterTask, StoredAnswer, StoredRater, now_ms
from salon.store.database.tables import LEFT_OUT
from salon.study import JUDGMENTS, KINDS, Criterion, Judgment


@dataclass(frozen=True)
class Person:
    """Whom a link stands for."""

    role: Literal["rater", "owner", "adjudicator"]
    rater: str | None
    link: int
    """Number of the link, by which it can be revoked."""


@dataclass(frozen=True)
class EntryStep:
    """Something a rater must do before the first question."""

    what: Literal["consent", "screener", "profile", "guidelines"]
    seconds_left: float = 0.0
    """guidelines: how long the rater still has to stay."""
    again: bool = False
    """consent: the rater agreed to an older version."""


@dataclass(frozen=True)
class QualificationTry:
    """Where a rater stands in the qualification."""

    attempt: int
    """1 for the first."""
    before: int | None
    """Right answers of the attempt before."""


@dataclass(frozen=True)
class ShownTask:
    """One screen for one rater, with all that its page tells."""

    id: int
    position: int
    shown: RaterScreen
    stage: Literal["prompt", "question"]
    """prompt: the prompt alone, until its countdown ends or the rater is ready."""
    prompt: str | None
    """The prompt as this rater may see it."""
    criteria: tuple[Criterion, ...]
    phase: Phase | None
    """None in the qualification."""
    prompt_left: float
    """Seconds left of the countdown."""
    ready_left: float
    """Seconds until "I'm ready" is accepted."""
    wait: float
    """Seconds until an answer is accepted; on the prompt screen, counted from its end."""
    done: int
    total: int
    """Questions this rater will probably get, planted ones included."""
    can_undo: bool
    worked_minutes: int | None
    """Minutes of work without a break, when it is time to suggest one."""
    trial: QualificationTry | None
    pairs: tuple[PairAnswer, ...] = ()
    """Ranking pair by pair: the pairs answered so far, on whatever device."""


StudioStep = ShownTask | Rest | NoMoreQuestions | EntryStep


@dataclass(frozen=True)
class Invitation:
    """A new rater, or a rater's new link."""

    rater: str
    token: str


@dataclass(frozen=True)
class RaterProgress:
    """How far one rater is."""

    rater: str
    cohort: str | None
    status: str
    answered: int
    total: int
    """Questions the rater will probably get."""
    judgments: dict[str, int]
    """By criterion."""
    last_at: int | None
    """When the last answer came, in milliseconds."""
    hours: float


class TooEarly(InputError):
    """Something came before the least time was over; nothing was saved."""

    def __init__(self, seconds_left: float) -> None:
        self.seconds_left = seconds_left
        super().__init__(
            "a little more time on this screen is needed",
            found=f"{seconds_left:.1f} s too early",
            remedy="look a little longer; nothing was saved",
        )


# -- from the database -------------------------------------------------------------------------------------------------

KNOWN_ANSWER = "known"
"""Kind of the record that says whether a known answer was hit; no judgment of the study."""


@dataclass(frozen=True)
class AnsweredTask:
    """One answered task with its live answers."""

    task: RaterTask
    shown: RaterScreen
    judgments: tuple[Judgment, ...]
    right: bool | None


def task_question(task: RaterTask) -> RaterQuestion:
    """The question of a task."""
    return RaterQuestion.model_validate(task.question)


def task_screen(task: RaterTask) -> RaterScreen:
    """The screen of a task, as it was shown."""
    return RaterScreen(question=task_question(task), order=task.screen["order"], code_names=task.screen["code_names"])


def known_answer_hits(database: Database, rater: str) -> dict[int, bool]:
    """By task: whether its known answer was hit."""
    answers = database.given(rater, kind=KNOWN_ANSWER)
    return {
        answer.task: bool(answer.record["right"]) for answer in answers if answer.task is not None and not answer.undone
    }


def task_subject(question: RaterQuestion, position: int) -> str:
    """What a task is about: the same for all who are asked it, and planted questions apart."""
    return question.key if question.why == "ordinary" else f"{question.key} {question.why} {position}"


def answered_tasks(database: Database, rater: str) -> Iterator[AnsweredTask]:
    """A rater's answered tasks, in order."""
    stored: dict[int, list[StoredAnswer]] = defaultdict(list)
    for answer in database.given(rater):
        if answer.task is not None and not answer.undone:
            stored[answer.task].append(answer)
    for task in database.tasks_of(rater):
        rows = stored.get(task.id, [])
        if task.answered_at is not None and rows:
            right = [bool(answer.record["right"]) for answer in rows if answer.kind == KNOWN_ANSWER]
            yield AnsweredTask(task, task_screen(task), parse_judgments(rows), right[0] if right else None)


def parse_judgments(rows: Sequence[StoredAnswer]) -> tuple[Judgment, ...]:
    """Stored answers as the study's nouns."""
    nouns = (KINDS[row.kind].noun.parse(row.record) for row in rows if row.kind in JUDGMENTS)
    return tuple(noun for noun in nouns if isinstance(noun, Judgment))


def quality_records(database: Database, plan: StudioPlan, criteria: dict[str, Criterion]) -> AnswerRecords:
    """All answers as quality control looks at them."""
    screens: list[ScreenRow] = []
    pairs: list[PairAnswerRow] = []
    values: list[ValueRow] = []
    for rater in _counted_raters(database):
        for answered in answered_tasks(database, rater.id):
            number, question = len(screens), answered.shown.question
            least = least_seconds(question.kind, plan.settings.times)
            seconds = max((judgment.seconds or 0 for judgment in answered.judgments), default=0.0)
            screens.append(ScreenRow(rater.id, number, question.why, seconds, least, answered.right))
            scale = criteria[question.criteria[0]].scale
            for row in answer_rows(
                answered.shown, answered.judgments, number, step=scale.step or 1.0 if scale else 1.0
            ):
                if isinstance(row, PairAnswerRow):
                    pairs.append(row)
                else:
                    values.append(row)
    return AnswerRecords(tuple(screens), tuple(pairs), tuple(values))


def _counted_raters(database: Database) -> list[StoredRater]:
    return [rater for rater in database.raters() if rater.status not in LEFT_OUT]


def expected_total(plan: StudioPlan, cohort: str, rater: str, number: int) -> int:
    """Questions a rater will probably get: the qualification once, then every run with what is planted in it."""
    test = plan.settings.qualification
    runs = sum(len(run.planned(rater, expected_questions(run, number))) for run in plan.runs[cohort])
    return runs + (test.questions if test else 0)


# -- before the first question -----------------------------------------------------------------------------------------

_LONGEST_ANSWER = 1000


class EntrySide:
    """The way in. What was done is kept with the rater's profile, apart from judgments, and erased with it."""

    database: Database
    settings: StudioSettings

    def is_new(self, rater: str) -> bool:
        """Whether a rater is to see the welcome page: invited, and not past it yet."""
        if not self.settings.welcome or self.database.rater(rater).status != "invited":
            return False
        return "welcomed" not in self._entry(rater)

    def welcome(self, rater: str, *, now: int | None = None) -> None:
        """The rater has seen the welcome page."""
        self._keep(rater, welcomed=now_ms() if now is None else now)

    def consent(self, rater: str, version: str, *, now: int | None = None) -> None:
        """The rater agrees to the consent text they saw; BadValue when it has changed meanwhile."""
        if version != self.settings.consent.version:
            raise BadValue("the newest version of the text is needed", found=repr(version), remedy="read it again")
        self.database.consent(rater, version, at=now)

    def screener(self, rater: str, answers: Mapping[str, str]) -> bool:
        """Keep the answers to the screener; whether they let the rater in.

        They cannot be changed afterwards. What the owner added or reworded since is answered beside what stands.
        """
        before = self._entry(rater).get("screener", {})
        profile = {question.id: answers.get(question.id, "") for question in self.settings.screener}
        profile |= {item.id: before[item.id] for item in self.settings.screener if before.get(item.id) in item.options}
        lets_in = is_eligible(self.settings, profile)  # raises where an answer is missing
        if profile != before:
            self._keep(rater, screener=profile)
        return lets_in

    def profile(self, rater: str, answers: Mapping[str, str]) -> None:
        """Keep what the rater says about themselves. Anything may be left empty."""
        texts = {name: answers.get(name, "").strip() for name in self.settings.profile}
        for name, text in texts.items():
            if len(text) > _LONGEST_ANSWER:
                raise BadValue(f"at most {_LONGEST_ANSWER:,} characters are needed", found=f"{len(text):,}", where=name)
        self._keep(rater, profile=texts)

    def read_guidelines(self, rater: str, *, now: int | None = None) -> None:
        """The rater has read the guidelines; TooEarly before the least time on that page is over."""
        now = now_ms() if now is None else now
        shown_at = self._entry(rater).get("guidelines_shown", now)
        require_waited(check_guidelines(shown_at=shown_at, left_at=now, times=self.settings.times))
        self._keep(rater, guidelines_read=now)

    def missing(self, rater: str, now: int) -> EntryStep | NoMoreQuestions | None:
        """What the rater still has to do before the first question."""
        settings, entry = self.settings, self._entry(rater)
        if settings.consent.text:
            agreed = self.database.consents(rater)
            if settings.consent.version not in agreed:
                return EntryStep("consent", again=bool(agreed))
        if settings.screener:
            screener_answers = entry.get("screener", {})
            if any(screener_answers.get(question.id) not in question.options for question in settings.screener):
                return EntryStep("screener")
            if not is_eligible(settings, screener_answers):
                return NoMoreQuestions("not qualified")
        if settings.profile and "profile" not in entry:
            return EntryStep("profile")
        if settings.guidelines and "guidelines_read" not in entry:
            shown_at = entry.get("guidelines_shown") or self._keep(rater, guidelines_shown=now)["guidelines_shown"]
            return EntryStep(
                "guidelines", seconds_left(check_guidelines(shown_at=shown_at, left_at=now, times=settings.times))
            )
        return None

    def _entry(self, rater: str) -> dict[str, Any]:
        return self.database.profile(rater) or {}

    def _keep(self, rater: str, **more: Any) -> dict[str, Any]:
        return self.database.change_profile(rater, lambda entry: entry | more)


def seconds_left(wait: RemainingWait | None) -> float:
    """Seconds still to wait."""
    return 0.0 if wait is None else wait.seconds_left


def require_waited(wait: RemainingWait | None) -> None:
    """TooEarly when there is still time to wait."""
    if wait is not None:
        raise TooEarly(wait.seconds_left)


# -- rankings by pairs -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RankingProgress:
    """How far a ranking is."""

    pairs: tuple[PairAnswer, ...] = ()
    at: int | None = None
    """When the last pair was answered, in milliseconds."""


def _ranking_progress(entry: Mapping[str, Any], task: int) -> RankingProgress:
    """How far the ranking of a task is, as a rater's profile says."""
    record = entry.get("ranking")
    if record is None or record["task"] != task:
        return RankingProgress()
    return RankingProgress(tuple(record["pairs"]), record["at"])


class RankingSide(EntrySide, ABC):
    """Answers to the pairs of a ranking."""

    def answer_pair(
        self, rater: str, task: int, before: Sequence[PairAnswer], answer: PairAnswer, *, now: int | None = None
    ) -> bool:
        """Keep the answer to the pair after those `before`; False, and nothing kept, where another pair is due.

        The same form sent twice, or from two devices, thus counts once. TooEarly before the least time is over.
        """
        now = now_ms() if now is None else now
        stored = self.database.task(task, rater)
        question = task_question(stored)
        progress = self._begun(rater, task, question)
        if stored.answered_at is not None or tuple(before) != progress.pairs:
            return False
        self._check_answer(question, progress, answer)
        require_waited(self._pair_time(stored, question, progress, now))
        return self._keep_pairs(rater, task, progress.pairs, (*progress.pairs, answer), now)

    def _begun(self, rater: str, task: int, question: RaterQuestion) -> RankingProgress:
        """How far the ranking of a task is; for every other task nothing is begun."""
        is_begun = is_merge_ranking(question, self._phase(question))
        return _ranking_progress(self._entry(rater), task) if is_begun else RankingProgress()

    def _take_back_pair(self, rater: str, task: RaterTask, now: int) -> bool:
        """Ask the last pair of a ranking again; False where none is answered."""
        progress = self._begun(rater, task.id, task_question(task))
        return bool(progress.pairs) and self._keep_pairs(rater, task.id, progress.pairs, progress.pairs[:-1], now)

    def _pair_time(
        self, task: RaterTask, question: RaterQuestion, progress: RankingProgress, now: int
    ) -> RemainingWait | None:
        """Every pair has its least time; the order that they settle has been looked at."""
        if progress.at is None or isinstance(next_merge_step(len(question.items), progress.pairs), MergedOrder):
            return self._time(task, question, now)
        return check_pair(shown_at=progress.at, answered_at=now, times=self.settings.times)

    def _check_answer(self, question: RaterQuestion, progress: RankingProgress, answer: PairAnswer) -> None:
        phase = self._phase(question)
        if not is_merge_ranking(question, phase) or isinstance(
            next_merge_step(len(question.items), progress.pairs), MergedOrder
        ):
            raise BadValue("a ranking with a pair to answer is needed", found="none", where="the answer")
        offered = ("first", "second", "tie") if phase and phase.ties else ("first", "second")
        if answer not in offered:
            raise BadValue(f"one of {', '.join(offered)} is needed", found=repr(answer), where="the answer")

    def _keep_pairs(
        self, rater: str, task: int, before: tuple[PairAnswer, ...], pairs: tuple[PairAnswer, ...], now: int
    ) -> bool:
        """Keep `pairs` in place of those `before`; False where other ones stand there, sent from another device."""
        new = {"ranking": {"task": task, "pairs": list(pairs), "at": now}}

        def change(entry: dict[str, Any]) -> dict[str, Any] | None:
            return entry | new if _ranking_progress(entry, task).pairs == before else None

        return self.database.change_profile(rater, change).get("ranking") == new["ranking"]

    @abstractmethod
    def _phase(self, question: RaterQuestion) -> Phase | None:
        """The phase of a question; None in the qualification."""

    @abstractmethod
    def _time(self, task: RaterTask, question: RaterQuestion, now: int) -> RemainingWait | None:
        """How long the screen of a task must still be looked at."""


def is_merge_ranking(question: RaterQuestion, phase: Phase | None) -> bool:
    """Is the question a ranking that is asked pair by pair? Several criteria at once are put in order by hand."""
    return question.kind == "rank" and len(question.criteria) == 1 and phase is not None and phase.ranking == "merge"
