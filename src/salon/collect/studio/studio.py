"""A studio: everything that happens while a study is collected, without HTTP.

    studio = Studio(database, settings, folder)
    link, = studio.invite("designers", 1)
    step = studio.next(link.rater)                       # ShownTask, Rest, NoMoreQuestions, or EntryStep (consent ...)
    studio.ready(link.rater, step.id)                    # the prompt was read
    studio.submit(link.rater, step.id, answer, key=key)  # saved, exactly once, on the disk
    saved, step = studio.answer(...)                     # the same, and what comes next

Every call is one or a few short transactions, and any number of threads may call. One process serves a studio. Two
things are kept in its memory: how many answers each question has, which decides only what is asked next, and the tasks
of each rater at work (`TaskCache`), so that the thousandth answer costs no more than the first. The database decides:
it closes a task only if it finds it open, and after a refusal the rater's tasks are read again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from threading import Lock, RLock
from typing import Any

from salon.collect.assignment import (
    AskedQuestion,
    AssignmentState,
    NoMoreQuestions,
    Rest,
    Tallies,
    attempts,
    make_screen,
    next_question,
)
from salon.collect.plan import Workload, check_views, make_plan, workloads
from salon.collect.questions import (
    RaterQuestion,
    RaterScreen,
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
    answered_tasks,
    count_tallies,
    expected_total,
    known_answer_hits,
    require_waited,
    seconds_left,
    task_question,
    task_subject,
)
from salon.store import (
    STOPPED,
    Database,
    NewTask,
    OtherAnswer,
    RaterTask,
    RaterVisit,
    SavedSubmission,
    StoredRater,
    now_ms,
)

MOST_RATERS = 2000
"""Raters remembered at once; the tasks of a rater who comes back later are read again."""


@dataclass
class RaterTasks:
    """The tasks of one rater by position, and what was asked in them."""

    rater: str
    tasks: list[RaterTask] = field(default_factory=list)
    history: list[AskedQuestion] = field(default_factory=list)
    entered: bool = False
    """Everything that comes before the first question is done."""
    stale: bool = True
    turn: RLock = field(default_factory=RLock, repr=False)

    @property
    def number(self) -> int | None:
        """The rater's place in the cohort, as the first task says; None before it."""
        return self.tasks[0].screen["number"] if self.tasks else None

    @property
    def open(self) -> int | None:
        """Position of the first task that waits for its answer."""
        return next((place for place, task in enumerate(self.tasks) if task.answered_at is None), None)

    def place(self, task: int) -> int | None:
        """The position of a task, looked for from the newest; None when it is not this rater's."""
        return next((k for k in reversed(range(len(self.tasks))) if self.tasks[k].id == task), None)

    def shown(self, place: int) -> RaterScreen:
        """The screen of a task, as it was shown."""
        screen = self.tasks[place].screen
        return RaterScreen(
            question=self.history[place].question, order=screen["order"], code_names=screen["code_names"]
        )

    def add(self, task: RaterTask, question: RaterQuestion) -> None:
        """A task was put to the rater."""
        self.tasks.append(task)
        self.history.append(AskedQuestion(question, task.answered_at))

    def close(self, place: int, at: int, right: bool | None) -> None:
        """A task was answered."""
        self.tasks[place] = replace(self.tasks[place], answered_at=at)
        self.history[place] = replace(self.history[place], answered=at, right=right)


class TaskCache:
    """The tasks of all raters at work, and a lock for each rater."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._by_rater: OrderedDict[str, RaterTasks] = OrderedDict()
        self._turn = Lock()

    @contextmanager
    def at(self, rater: str) -> Iterator[RaterTasks]:
        """The tasks of a rater, for this thread alone; after an error they are read again."""
        rater_tasks = self._remember(rater)
        with rater_tasks.turn:
            if rater_tasks.stale:
                self._read(rater_tasks)
            try:
                yield rater_tasks
            except BaseException:
                rater_tasks.stale = True
                raise

    def find(self, rater_tasks: RaterTasks, task: int) -> int:
        """The position of a task; NotYours when the database does not know it as this rater's either."""
        place = rater_tasks.place(task)
        if place is None:
            self._database.task(task, rater_tasks.rater)
            self._read(rater_tasks)
            place = rater_tasks.place(task)
        assert place is not None
        return place

    def forget(self) -> None:
        """Read the tasks of every rater again before they are used."""
        with self._turn:
            for rater_tasks in self._by_rater.values():
                rater_tasks.stale = True

    def _remember(self, rater: str) -> RaterTasks:
        with self._turn:
            rater_tasks = self._by_rater.setdefault(rater, RaterTasks(rater))
            self._by_rater.move_to_end(rater)
            if len(self._by_rater) > MOST_RATERS:
                self._by_rater.popitem(last=False)
        return rater_tasks

    def _read(self, rater_tasks: RaterTasks) -> None:
        right = known_answer_hits(self._database, rater_tasks.rater)
        rater_tasks.tasks = self._database.tasks_of(rater_tasks.rater)
        rater_tasks.history = [
            AskedQuestion(task_question(task), task.answered_at, right.get(task.id)) for task in rater_tasks.tasks
        ]
        rater_tasks.entered = rater_tasks.stale = False


# -- the studio --------------------------------------------------------------------------------------------------------

INTERFACE = "2"
"""Grows whenever a screen changes what raters see; every judgment carries it."""
_VISIT_WRITE_MS = 30_000
"""Signs of life closer together than this are written down once."""


class Studio(RankingSide, OwnerSide):
    """One study being collected; see the module."""

    def __init__(self, database: Database, settings: StudioSettings, folder: Path) -> None:
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
        self._counting = Lock()
        self._tallies: Tallies | None = None
        self._task_cache = TaskCache(database)

    # -- coming in ------------------------------------------------------------------------------------------

    def enter(self, token: str, *, now: int | None = None) -> Person:
        """Whom a link stands for; BadLink if it is not valid, or not any more."""
        who = self.database.who(token, at=now)
        return Person(who.role, who.rater, who.link)  # type: ignore[arg-type]  # the database holds no other word

    # -- asking ---------------------------------------------------------------------------------------------

    def next(self, rater: str, *, now: int | None = None) -> StudioStep:
        """What comes next for a rater: the same until it is answered, on every device."""
        now = now_ms() if now is None else now
        state = self.database.rater(rater)
        if state.status in STOPPED:
            return NoMoreQuestions(state.status)  # type: ignore[arg-type]  # the database holds no other word
        with self._task_cache.at(rater) as rater_tasks:
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
            return step if isinstance(step, Rest) else self._shown(request, step, rater_tasks)

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
        with self._task_cache.at(rater) as rater_tasks:
            place = self._task_cache.find(rater_tasks, task)
            stored = rater_tasks.tasks[place]
            if stored.answered_at is None and stored.ready_at is None:
                require_waited(check_ready(shown_at=stored.created_at, ready_at=now, times=self.settings.times))
                rater_tasks.tasks[place] = self.database.mark_ready(task, rater, at=now)

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
        with self._task_cache.at(rater) as rater_tasks:
            return self._submit(rater_tasks, self._task_cache.find(rater_tasks, task), raw_answer, key, now, client)

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
            question = rater_tasks.history[-1].question
            return saved, self._shown(self._request(rater_tasks, question, now), question, rater_tasks)

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
        ahead = self._ahead(rater_tasks, place, right, now)
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
            else self._new_task(self._request(rater_tasks, question, now), ahead, rater_tasks),
        )
        if saved.repeated:
            rater_tasks.stale = task.answered_at is None
        else:
            rater_tasks.close(place, now, right)
            self._count("answer", question, rater_tasks.rater, judgments)
        if saved.following is not None and ahead is not None:
            rater_tasks.add(saved.following, ahead)
        self._heard(rater_tasks.rater, now)
        return saved

    def undo(self, rater: str, *, now: int | None = None) -> int:
        """Take back the last answer of this visit; its task is open again. The answer stays as history.

        In a ranking pair by pair the last pair is asked again.
        """
        now = now_ms() if now is None else now
        with self._task_cache.at(rater) as rater_tasks:
            rater_tasks.stale = True
            waiting = None if rater_tasks.open is None else rater_tasks.tasks[rater_tasks.open]
            if waiting is not None and self._take_back_pair(rater, waiting, now):
                return waiting.id
            before = {answer.task.id: answer for answer in answered_tasks(self.database, rater)}
            task = self.database.undo_last(rater, since=self._heard(rater, now).started_at, at=now)
        if task.id in before:
            self._count("undo", before[task.id].shown.question, rater, before[task.id].judgments)
        return task.id

    def withdraw(self, rater: str, *, now: int | None = None) -> None:
        """The rater leaves: no reading of the study holds their answers, and their links end."""
        self.database.withdraw(rater, at=now)
        self.recount()

    def recount(self) -> None:
        """Count all answers again before the next question: a rater left, or came back."""
        with self._counting:
            self._tallies = None
        self._task_cache.forget()

    # -- which question -------------------------------------------------------------------------------------

    def _choose(self, request: _TaskRequest, rater_tasks: RaterTasks) -> RaterQuestion | Rest | NoMoreQuestions:
        """The next step, its question held for this rater at once, so that no two get the last place."""
        tallies = self._counted()
        with self._counting:
            step = next_question(self.plan, request.state(rater_tasks.history, tallies))
            if isinstance(step, RaterQuestion) and rater_tasks.open is None:
                tallies.ask(step, request.rater, request.now)
        return step

    def _ahead(self, rater_tasks: RaterTasks, place: int, right: bool | None, now: int) -> RaterQuestion | None:
        """What comes after the task at `place` once it is answered; None where others' answers have a say in it."""
        if not rater_tasks.entered or self._is_tallied or rater_tasks.open != place:
            return None  # `next` asks for agreement to a new consent text
        if any(task.answered is None for task in rater_tasks.history[place + 1 :]):
            return None
        history = list(rater_tasks.history)
        history[place] = replace(history[place], answered=now, right=right)
        request = self._request(rater_tasks, history[place].question, now)
        step = next_question(self.plan, request.state(history, Tallies()))
        return step if isinstance(step, RaterQuestion) else None

    @cached_property
    def _is_tallied(self) -> bool:
        """Does how often a question was answered decide whether it is asked?"""
        return any(run.phase.stop.kind != "everyone" for runs in self.plan.runs.values() for run in runs)

    def _counted(self) -> Tallies:
        """The tallies; left empty where every rater answers everything, which needs none."""
        with self._counting:
            if self._tallies is None:
                self._tallies = count_tallies(self.database) if self._is_tallied else Tallies()
            return self._tallies

    def _count(self, what: str, question: RaterQuestion, rater: str, judgments: Any) -> None:
        tallies = self._counted()
        with self._counting:
            getattr(tallies, what)(question, rater, judgments)

    def _number(self, state: StoredRater) -> int:
        """The rater's place among those of the cohort; kept with the first task, for others may be erased."""
        return [rater.id for rater in self.database.raters() if rater.cohort == state.cohort].index(state.id)

    # -- the screen -----------------------------------------------------------------------------------------

    def _shown(self, request: _TaskRequest, question: RaterQuestion, rater_tasks: RaterTasks) -> ShownTask:
        if rater_tasks.open is None:
            self._put(request, question, rater_tasks)
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

    def _put(self, request: _TaskRequest, question: RaterQuestion, rater_tasks: RaterTasks) -> None:
        """Put a question to the rater; where another device was first, its own."""
        new = self._new_task(request, question, rater_tasks)
        task = self.database.add_task(
            request.rater,
            new.position,
            about=new.about,
            question=new.question,
            screen=new.screen,
            phase=new.phase,
            at=new.at,
        )
        rater_tasks.add(task, task_question(task))

    def _new_task(self, request: _TaskRequest, question: RaterQuestion, rater_tasks: RaterTasks) -> NewTask:
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
        return NewTask(position, task_subject(question, position), record, screen, phase, request.now)

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
