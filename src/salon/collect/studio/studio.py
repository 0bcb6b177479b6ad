"""A studio: everything that happens while a study is collected, without HTTP.

    studio = Studio(database, settings, folder)
    link, = studio.invite("designers", 1)
    step = studio.next(link.rater)                       # ShownTask, Rest, NoMoreQuestions, or EntryStep (consent ...)
    studio.ready(link.rater, step.id)                    # the prompt was read
    studio.submit(link.rater, step.id, answer, key=key)  # saved, exactly once, on the disk
    saved, step = studio.answer(...)                     # the same, and what comes next

Every call is one or a few short transactions, and any number of threads may call. On PostgreSQL any number of
processes, each with a `Studio` of its own, serve one study. Two things are remembered: the tallies of questions
(`StoredTallies`) and the tasks of each rater at work (`TaskCache`). The database decides: it reserves a question, it
closes a task only if it finds it open, and it refuses what was decided on tasks that another worker has changed
(`TasksMoved`); then they are read again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from salon.collect.assignment import (
    AskedQuestion,
    AssignmentState,
    NoMoreQuestions,
    Rest,
    attempts,
    make_screen,
    next_question,
)
from salon.collect.plan import Workload, check_views, make_plan, workloads
from salon.collect.questions import (
    RaterQuestion,
    RawAnswer,
    RemainingWait,
    ScreenTimes,
    break_due,
    check_ready,
    check_time,
    is_right,
    least_seconds,
    to_judgments,
)
from salon.collect.settings import Phase, StudioSettings
from salon.collect.studio.adjudication import check_cohorts
from salon.collect.studio.owner_side import OwnerSide
from salon.collect.studio.rater_side import (
    KNOWN_ANSWER,
    Person,
    QualificationTry,
    RankingSide,
    ShownTask,
    StudioStep,
    expected_total,
    require_waited,
    seconds_left,
    task_question,
    task_subject,
)
from salon.collect.studio.stored_tallies import StoredTallies, TalliedPlan, reserve_question
from salon.collect.studio.task_cache import RaterTasks, TaskCache
from salon.collect.studio.visitor_side import VisitorSide
from salon.collect.tallies import Tallies
from salon.store import (
    STOPPED,
    Database,
    LostConnection,
    NewTask,
    OtherAnswer,
    QuestionHold,
    RaterTask,
    RaterVisit,
    SavedSubmission,
    StoredRater,
    TasksMoved,
    Unavailable,
    now_ms,
)

T = TypeVar("T")

# -- the studio --------------------------------------------------------------------------------------------------------

INTERFACE = "2"
"""Grows whenever a screen changes what raters see; every judgment carries it."""
_VISIT_WRITE_MS = 30_000
"""Signs of life closer together than this are written down once."""
_PATIENCE_S, _PAUSE_S = 10.0, 0.2
"""So long a lost database is waited for, and so long between attempts."""
_TRIES = 20
"""So often a change is begun anew when another worker was first."""


class Studio(RankingSide, VisitorSide, OwnerSide):
    """One study being collected; see the module."""

    def __init__(self, database: Database, settings: StudioSettings, folder: Path, *, check: bool = True) -> None:
        """With `check` the tallies of the database are counted again where they are not what the answers say."""
        super().__init__()
        self.database, self.settings, self.folder = database, settings, folder
        check_cohorts(settings)
        study = database.read_study()
        self.name = study.name
        self.plan = make_plan(study, settings)
        check_views(study, self.plan)
        self.criteria = {criterion.id: criterion for criterion in study.criteria}
        self.prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
        self.items = {item.id: item for item in study.nouns("items")}
        self._visits: dict[str, RaterVisit] = {}
        self.tallied = TalliedPlan(self.plan)
        self._tallies = StoredTallies(database)
        self._task_cache = TaskCache(database)
        if self.tallied.any and check:
            database.sync_tallies(self.tallied.group_of, self.tallied.name)

    # -- coming in ------------------------------------------------------------------------------------------

    def enter(self, token: str, *, now: int | None = None) -> Person:
        """Whom a link stands for; BadLink if it is not valid, or not any more."""
        who = self.database.who(token, at=now)
        return Person(who.role, who.rater, who.link)  # type: ignore[arg-type]  # the database holds no other word

    # -- asking ---------------------------------------------------------------------------------------------

    def next(self, rater: str, *, now: int | None = None) -> StudioStep:
        """What comes next for a rater: the same until it is answered, on every device."""
        now = now_ms() if now is None else now
        self.check_visit(rater, now)
        return self._again(lambda: self._next(self.database.rater(rater), now))

    def _next(self, state: StoredRater, now: int) -> StudioStep:
        if state.status in STOPPED:
            return NoMoreQuestions(state.status)  # type: ignore[arg-type]  # the database holds no other word
        rater = state.id
        with self._task_cache.at(rater, state.turn) as rater_tasks:
            missing = None if rater_tasks.entered else self.missing(rater, now)
            if missing is not None:
                return missing
            rater_tasks.entered = True
            number = self._number(state) if rater_tasks.number is None else rater_tasks.number
            request = _TaskRequest(rater, number, self.settings.cohort(state.cohort or "").id, now)
            step = self._choose(request, rater_tasks)
            if isinstance(step, NoMoreQuestions):
                if step.reason in ("done", "enough answers") and state.status != "done":
                    self.database.set_status(rater, "done", by=None, at=now)
                return step
            if state.status != "active":
                self.database.set_status(rater, "active", by=None, at=now)
            return step if isinstance(step, Rest) else self._shown(request, rater_tasks)

    def _again(self, attempt: Callable[[], T]) -> T:
        """What `attempt` gives, begun anew when another worker was first, or the database was away for a moment.

        Everything that is attempted here may be done twice: tasks are put by position, and answers saved by key.
        """
        tries, ends = 0, time.monotonic() + _PATIENCE_S
        while tries < _TRIES:
            try:
                return attempt()
            except TasksMoved:
                tries += 1
            except LostConnection:
                if time.monotonic() > ends:
                    raise
                time.sleep(_PAUSE_S)
        raise Unavailable(
            "a rater who is served by few workers at once is needed",
            found=f"tasks that changed {_TRIES} times while they were read",
            remedy="try again",
        )

    def workload(self, rater: str) -> Workload:
        """How many questions a rater will probably get, and about how many minutes they take."""
        state = self.database.rater(rater)
        cohort = self.settings.cohort(state.cohort or "").id
        planned = next(work for work in workloads(self.plan) if work.cohort == cohort)
        questions = expected_total(self.plan, cohort, rater, self._number(state))
        return Workload(cohort, questions, planned.minutes * questions / max(1, planned.questions))

    def question(self, rater: str, task: int) -> RaterQuestion:
        """The question of one of the rater's tasks; NotYours for any other."""
        return task_question(self.database.task(task, rater))

    def ready(self, rater: str, task: int, *, now: int | None = None) -> None:
        """The rater has read the prompt; TooEarly before "I'm ready" may be said."""
        now = now_ms() if now is None else now
        self._again(lambda: self._ready(rater, task, now))

    def _ready(self, rater: str, task: int, now: int) -> None:
        with self._task_cache.at(rater) as rater_tasks:
            place = self._task_cache.find(rater_tasks, task)
            stored = rater_tasks.tasks[place]
            if stored.answered_at is None and stored.ready_at is None:
                require_waited(check_ready(shown_at=stored.created_at, ready_at=now, times=self.settings.times))
                turn = rater_tasks.turn_number
                rater_tasks.tasks[place] = self.database.mark_ready(task, rater, at=now, turn=turn)
                rater_tasks.turn_number = turn + 1

    def submit(
        self,
        rater: str,
        task: int,
        raw_answer: RawAnswer,
        *,
        key: str,
        now: int | None = None,
        client: str | None = None,
    ) -> SavedSubmission:
        """Save an answer. It is on the disk when this returns, and the same `key` never saves a second one.

        Raises TooEarly, BadValue for what the screen did not offer, and the database's NotYours, AlreadyAnswered,
        KeyReused, NotActive. Nothing is saved then.
        """
        now = now_ms() if now is None else now

        def attempt() -> SavedSubmission:
            with self._task_cache.at(rater) as rater_tasks:
                place = self._task_cache.find(rater_tasks, task)
                return self._submit(rater_tasks, place, raw_answer, key, now, client)

        return self._again(attempt)

    def answer(
        self,
        rater: str,
        task: int,
        raw_answer: RawAnswer,
        *,
        key: str,
        now: int | None = None,
        client: str | None = None,
    ) -> tuple[SavedSubmission, StudioStep]:
        """`submit`, and what comes next."""
        now = now_ms() if now is None else now
        saved = self.submit(rater, task, raw_answer, key=key, now=now, client=client)
        if saved.following is None:
            return saved, self.next(rater, now=now)
        with self._task_cache.at(rater) as rater_tasks:
            if rater_tasks.open is not None:
                question = rater_tasks.history[rater_tasks.open].question
                return saved, self._shown(self._request(rater_tasks, question, now), rater_tasks)
        return saved, self.next(rater, now=now)  # answered meanwhile, on another device

    def _submit(
        self, rater_tasks: RaterTasks, place: int, raw_answer: RawAnswer, key: str, now: int, client: str | None
    ) -> SavedSubmission:
        """Save an answer, and with it the rater's next task where that is certain already."""
        task, screen = rater_tasks.tasks[place], rater_tasks.shown(place)
        question, started = screen.question, self._started(task)
        if task.answered_at is None:
            require_waited(self._time(task, question, now))
        moments, phase = ScreenTimes(started, now), self._phase(question)
        judgments = to_judgments(
            screen, raw_answer, criteria=self.criteria, rater=rater_tasks.rater, moments=moments, phase=phase
        )
        right = is_right(screen, raw_answer)
        ahead, tallies = self._ahead(rater_tasks, place, right, now)
        saved = self.database.submit(
            task.id,
            rater_tasks.rater,
            [*judgments, *([] if right is None else [OtherAnswer(KNOWN_ANSWER, {"right": right})])],
            key=key,
            started_at=started,
            answered_at=now,
            interface=INTERFACE,
            client=client,
            counted=question.counts,
            following=None
            if ahead is None
            else self._new_task(
                self._request(rater_tasks, question, now), ahead, rater_tasks, self._reservation(ahead, tallies, now)
            ),
            turn=rater_tasks.turn_number,
            group_of=self.tallied.group_of,
        )
        rater_tasks.turn_number += 1
        if saved.repeated:
            rater_tasks.stale = True
        else:
            rater_tasks.close(place, now, right)
        if saved.following is not None and ahead is not None:
            rater_tasks.add(saved.following, ahead)
        self._heard(rater_tasks.rater, now)
        if right is False and question.why == "attention" and self.end_failed_visit(rater_tasks.rater, now):
            return replace(saved, following=None)
        return saved

    def undo(self, rater: str, *, now: int | None = None) -> int:
        """Take back the last answer of this visit; its task is open again. The answer stays as history.

        In a ranking pair by pair the last pair is asked again.
        """
        now = now_ms() if now is None else now
        with self._task_cache.at(rater, self.database.rater(rater).turn) as rater_tasks:
            rater_tasks.stale = True
            waiting = None if rater_tasks.open is None else rater_tasks.tasks[rater_tasks.open]
            if waiting is not None and self._take_back_pair(rater, waiting, now):
                return waiting.id
            since = self._heard(rater, now).started_at
            return self.database.undo_last(rater, since=since, at=now, group_of=self.tallied.group_of).id

    def withdraw(self, rater: str, *, now: int | None = None) -> None:
        """The rater leaves: no reading of the study holds their answers, and their links end."""
        self.database.withdraw(rater, at=now, group_of=self.tallied.group_of)

    # -- which question -------------------------------------------------------------------------------------

    def _choose(self, request: _TaskRequest, rater_tasks: RaterTasks) -> RaterQuestion | Rest | NoMoreQuestions:
        """The next step; a new question is reserved and put to the rater at once, so that no two get the last place."""
        for attempt in range(_TRIES):
            tallies = self._newest_tallies()
            with tallies.turn:
                step = next_question(self.plan, request.state(rater_tasks.history, tallies))
                if not isinstance(step, RaterQuestion) or rater_tasks.open is not None:
                    return step
                strict = attempt < _TRIES // 2  # where everybody wants the same few, any that is open will do
                reservation = self._reservation(step, tallies, request.now, strict=strict)
            new = self._new_task(request, step, rater_tasks, reservation)
            task = self.database.put_task(request.rater, new, turn=rater_tasks.turn_number)
            rater_tasks.turn_number += 1
            if task is not None:
                rater_tasks.add(task, task_question(task))
                return step
        raise Unavailable(
            "a question that is not given to others meanwhile is needed",
            found=f"none in {_TRIES} attempts",
            remedy="try again",
        )

    def _ahead(
        self, rater_tasks: RaterTasks, place: int, right: bool | None, now: int
    ) -> tuple[RaterQuestion | None, Tallies]:
        """What comes after the task at `place` once it is answered; None where that answer itself has a say in it."""
        if not rater_tasks.entered or rater_tasks.open != place:
            return None, self._tallies  # `next` asks for agreement to a new consent text
        if any(task.answered is None for task in rater_tasks.history[place + 1 :]):
            return None, self._tallies
        history = list(rater_tasks.history)
        history[place] = replace(history[place], answered=now, right=right)
        request = self._request(rater_tasks, history[place].question, now)
        tallies = self._newest_tallies()
        with tallies.turn:
            step = next_question(self.plan, request.state(history, tallies))
        run = self.tallied.run_of(step) if isinstance(step, RaterQuestion) else None
        is_adaptive = run is not None and run.phase.design.kind == "adaptive"
        return step if isinstance(step, RaterQuestion) and not is_adaptive else None, tallies

    def _newest_tallies(self) -> StoredTallies:
        """The tallies as of now; left empty where every rater answers everything, which needs none."""
        if self.tallied.any:
            with self._tallies.turn:
                self._tallies.refresh()
        return self._tallies

    def _reservation(
        self, question: RaterQuestion, tallies: Tallies, now: int, *, strict: bool = True
    ) -> QuestionHold | None:
        run = self.tallied.run_of(question)
        return None if run is None else reserve_question(run, question, tallies, now, strict=strict)

    def _number(self, state: StoredRater) -> int:
        """The rater's place among those of the cohort; kept with the first task, for others may be erased."""
        return self.database.place_in_cohort(state)

    # -- the screen -----------------------------------------------------------------------------------------

    def _shown(self, request: _TaskRequest, rater_tasks: RaterTasks) -> ShownTask:
        place = rater_tasks.open
        assert place is not None
        task, screen, now, times = rater_tasks.tasks[place], rater_tasks.shown(place), request.now, self.settings.times
        question = screen.question
        ends = task.created_at + round(times.prompt * 1000)
        reading = task.screen["prompt_first"] and task.ready_at is None and task.created_at <= now < ends
        least = least_seconds(question.kind, times)
        answered = sum(task.answered_at is not None for task in rater_tasks.tasks)
        total = expected_total(self.plan, question.cohort, request.rater, request.number)
        ranking = self._begun(request.rater, task.id, question)
        visit = self._heard(request.rater, now)
        worked = now - visit.started_at
        return ShownTask(
            id=task.id,
            position=task.position,
            shown=screen,
            stage="prompt" if reading else "question",
            prompt=self.prompt_text(question),
            criteria=tuple(self.criteria[id] for id in question.criteria),
            phase=self._phase(question),
            prompt_left=(ends - now) / 1000 if reading else 0.0,
            ready_left=seconds_left(check_ready(shown_at=task.created_at, ready_at=now, times=times))
            if reading
            else 0.0,
            wait=least if reading else seconds_left(self._pair_time(task, question, ranking, now)),
            done=answered,
            total=max(total, answered + 1),
            can_undo=bool(ranking.pairs)
            or any((task.answered_at or 0) >= visit.started_at for task in rater_tasks.tasks),
            worked_minutes=worked // 60_000 if break_due(worked, self.settings.break_minutes) else None,
            trial=self._trial(question, rater_tasks.history),
            pairs=ranking.pairs,
        )

    def _new_task(
        self,
        request: _TaskRequest,
        question: RaterQuestion,
        rater_tasks: RaterTasks,
        reservation: QuestionHold | None,
    ) -> NewTask:
        position = len(rater_tasks.tasks)
        rater_screen = make_screen(self.plan, question, rater=request.rater, number=request.number, position=position)
        screen = {
            "order": rater_screen.order,
            "code_names": rater_screen.code_names,
            "number": request.number,
            "prompt_first": self._prompt_first(
                question, rater_tasks.history[-1].question if rater_tasks.history else None
            ),
        }
        record = question.model_dump(mode="json", exclude_defaults=True)
        phase = question.phase or "qualification"
        about = task_subject(question, position)
        return NewTask(position, about, record, screen, phase, request.now, reservation)

    @staticmethod
    def _request(rater_tasks: RaterTasks, question: RaterQuestion, now: int) -> _TaskRequest:
        """Whose rater_tasks it is, as the tasks on it tell."""
        return _TaskRequest(rater_tasks.rater, rater_tasks.number or 0, question.cohort, now)

    def prompt_text(self, question: RaterQuestion) -> str | None:
        """The prompt as the question's view shows it; in the qualification as its criterion asks for it, or whole."""
        if question.prompt is None or question.prompt not in self.prompts:
            return None
        prompt = self.prompts[question.prompt]
        own = self.criteria[question.criteria[0]].view if question.why == "qualification" else ()
        own = own if all(getattr(prompt, part) for part in own) else ()  # no phase shows it, so none was checked
        return prompt.view(question.view or own) or None

    def _prompt_first(self, question: RaterQuestion, before: RaterQuestion | None) -> bool:
        """The prompt comes alone when it is new to the rater; questions about it that follow show it beside."""
        if self.settings.times.prompt <= 0 or self.prompt_text(question) is None:
            return False
        return before is None or (before.prompt, before.view) != (question.prompt, question.view)

    def _time(self, task: RaterTask, question: RaterQuestion, now: int) -> RemainingWait | None:
        return check_time(
            question.kind,
            shown_at=task.created_at,
            ready_at=task.ready_at,
            answered_at=now,
            prompt_first=task.screen["prompt_first"],
            times=self.settings.times,
        )

    def _started(self, task: RaterTask) -> int:
        """When the pictures came up."""
        if not task.screen["prompt_first"]:
            return task.created_at
        ends = task.created_at + round(self.settings.times.prompt * 1000)
        return ends if task.ready_at is None else min(task.ready_at, ends)

    def _phase(self, question: RaterQuestion) -> Phase | None:
        return self.plan.find_run(question).phase if question.phase else None

    def _trial(self, question: RaterQuestion, history: Sequence[AskedQuestion]) -> QualificationTry | None:
        test = self.settings.qualification
        if test is None or question.why != "qualification":
            return None
        over = attempts(test, [task for task in history if task.answered is not None])
        ended = [attempt for attempt in over if attempt.answered == test.questions]
        return QualificationTry(len(ended) + 1, ended[-1].right if ended else None)

    def _heard(self, rater: str, now: int) -> RaterVisit:
        """The visit under way; written down now and then."""
        visit = self._visits.get(rater)
        if visit is None or not 0 <= now - visit.last_seen_at < _VISIT_WRITE_MS:
            pause = round(self.settings.pay.idle_minutes * 60_000)
            visit = self._visits[rater] = self.database.seen(rater, at=now, pause=pause)
        return visit


@dataclass(frozen=True)
class _TaskRequest:
    """Who is asked, and when."""

    rater: str
    number: int
    cohort: str
    now: int

    def state(self, history: Sequence[AskedQuestion], tallies: Tallies) -> AssignmentState:
        """All that decides what comes next."""
        return AssignmentState(self.rater, self.number, self.cohort, self.now, "active", history, tallies)
