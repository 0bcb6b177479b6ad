"""A studio: everything that happens while a study is collected, without HTTP.

    studio = Studio(database, settings, folder)
    link, = studio.invite("designers", 1)
    step = studio.next(link.rater)                      # ShownTask, Rest, Finished, or Needs consent and the like
    studio.ready(link.rater, step.id)                   # the prompt was read
    studio.submit(link.rater, step.id, given, key=key)  # saved, exactly once, on the disk
    saved, step = studio.answer(...)                    # the same, and what comes next

Every call is one or a few short transactions, and any number of threads may call. One process serves a studio: how many
answers each question has is counted in memory, from the database at the start, and steers only what is asked next; so
is what each rater at work was asked (`desk`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from salon.collect.answers import Moments, is_right, to_judgments
from salon.collect.assign import Asked, Finished, Rest, State, next_question
from salon.collect.entry import attempts
from salon.collect.plan import check_views, make_plan
from salon.collect.question import Given, Question
from salon.collect.screens import show
from salon.collect.settings import StudioSettings
from salon.collect.settings_phase import Phase
from salon.collect.studio.adjudicate import check_cohorts
from salon.collect.studio.asked import (
    KNOWN,
    about,
    answered,
    question_of,
    questions_in_all,
    tallies_of,
)
from salon.collect.studio.desk import Desk, Desks
from salon.collect.studio.entry import left, refuse
from salon.collect.studio.owner import OwnerSide
from salon.collect.studio.ranking import RankingSide
from salon.collect.studio.steps import Person, ShownTask, Step, Trial
from salon.collect.tally import Tallies
from salon.collect.timing import TooFast, break_due, check_ready, check_time, least_seconds
from salon.collect.workload import Workload, workloads
from salon.store.database import Answer, Database, NewTask, RaterState, Saved, Task, Visit
from salon.store.database.connected import now_ms
from salon.store.database.submit import STOPPED

INTERFACE = "2"
"""Grows whenever a screen changes what raters see; every judgment carries it."""
_HEARD_MS = 30_000
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
        self._visits: dict[str, Visit] = {}
        self._counting = Lock()
        self._tallies: Tallies | None = None
        self._desks = Desks(database)

    # -- coming in ------------------------------------------------------------------------------------------

    def enter(self, token: str, *, now: int | None = None) -> Person:
        """Whom a link stands for; BadLink when for nobody (any more)."""
        who = self.database.who(token, at=now)
        return Person(who.role, who.rater, who.link)  # type: ignore[arg-type]  # the database holds no other word

    # -- asking ---------------------------------------------------------------------------------------------

    def next(self, rater: str, *, now: int | None = None) -> Step:
        """What comes next for a rater: the same until it is answered, on every device."""
        now = now_ms() if now is None else now
        state = self.database.rater(rater)
        if state.status in STOPPED:
            return Finished(state.status)  # type: ignore[arg-type]  # the database holds no other word
        with self._desks.at(rater) as desk:
            missing = None if desk.entered else self.missing(rater, now)
            if missing is not None:
                return missing
            desk.entered = True
            number = self._number(state) if desk.number is None else desk.number
            seat = _Seat(rater, number, self.settings.cohort(state.cohort or "").id, now)
            step = self._choose(seat, desk)
            if isinstance(step, Finished):
                if step.reason in ("done", "enough answers") and state.status != "done":
                    self.database.set_status(rater, "done", by=None, at=now)
                return step
            if state.status != "active":
                self.database.set_status(rater, "active", by=None, at=now)
            return step if isinstance(step, Rest) else self._shown(seat, step, desk)

    def workload(self, rater: str) -> Workload:
        """How many questions a rater will probably get, and about how many minutes they take."""
        state = self.database.rater(rater)
        cohort = self.settings.cohort(state.cohort or "").id
        planned = next(work for work in workloads(self.plan) if work.cohort == cohort)
        questions = questions_in_all(self.plan, cohort, rater, self._number(state))
        return Workload(cohort, questions, planned.minutes * questions / max(1, planned.questions))

    def question(self, rater: str, task: int) -> Question:
        """The question of one of the rater's tasks; NotYours for any other."""
        return question_of(self.database.task(task, rater))

    def ready(self, rater: str, task: int, *, now: int | None = None) -> None:
        """The rater has read the prompt; TooEarly before "I'm ready" may be said."""
        now = now_ms() if now is None else now
        with self._desks.at(rater) as desk:
            place = self._desks.find(desk, task)
            found = desk.tasks[place]
            if found.answered_at is None and found.ready_at is None:
                refuse(check_ready(shown_at=found.created_at, ready_at=now, times=self.settings.times))
                desk.tasks[place] = self.database.mark_ready(task, rater, at=now)

    def submit(
        self, rater: str, task: int, given: Given, *, key: str, now: int | None = None, client: str | None = None
    ) -> Saved:
        """Save an answer. It is on the disk when this returns, and the same `key` never saves a second one.

        Raises TooEarly, BadValue for what the screen did not offer, and the database's NotYours, AlreadyAnswered,
        KeyReused, NotActive. Nothing is saved then.
        """
        now = now_ms() if now is None else now
        with self._desks.at(rater) as desk:
            return self._submit(desk, self._desks.find(desk, task), given, key, now, client)

    def answer(
        self, rater: str, task: int, given: Given, *, key: str, now: int | None = None, client: str | None = None
    ) -> tuple[Saved, Step]:
        """`submit`, and what comes next."""
        now = now_ms() if now is None else now
        saved = self.submit(rater, task, given, key=key, now=now, client=client)
        if saved.following is None:
            return saved, self.next(rater, now=now)
        with self._desks.at(rater) as desk:
            question = desk.asked[-1].question
            return saved, self._shown(self._seat(desk, question, now), question, desk)

    def _submit(self, desk: Desk, place: int, given: Given, key: str, now: int, client: str | None) -> Saved:
        """Save an answer, and with it the rater's next task where that is certain already."""
        found, shown = desk.tasks[place], desk.shown(place)
        question, started = shown.question, self._started(found)
        if found.answered_at is None:
            refuse(self._time(found, question, now))
        moments, phase = Moments(started, now), self._phase(question)
        made = to_judgments(shown, given, criteria=self.criteria, rater=desk.rater, moments=moments, phase=phase)
        right = is_right(shown, given)
        ahead = self._ahead(desk, place, right, now)
        saved = self.database.submit(
            found.id,
            desk.rater,
            [*made, *([] if right is None else [Answer(KNOWN, {"right": right})])],
            key=key,
            started_at=started,
            answered_at=now,
            interface=INTERFACE,
            client=client,
            counted=question.counts,
            following=None if ahead is None else self._new_task(self._seat(desk, question, now), ahead, desk),
        )
        if saved.repeated:
            desk.stale = found.answered_at is None
        else:
            desk.close(place, now, right)
            self._count("answer", question, desk.rater, made)
        if saved.following is not None and ahead is not None:
            desk.add(saved.following, ahead)
        self._heard(desk.rater, now)
        return saved

    def undo(self, rater: str, *, now: int | None = None) -> int:
        """Take back the last answer of this visit; its task is open again. The answer stays as history.

        In a ranking pair by pair the last pair is asked again.
        """
        now = now_ms() if now is None else now
        with self._desks.at(rater) as desk:
            desk.stale = True
            waiting = None if desk.open is None else desk.tasks[desk.open]
            if waiting is not None and self._take_back_pair(rater, waiting, now):
                return waiting.id
            before = {one.task.id: one for one in answered(self.database, rater)}
            task = self.database.undo_last(rater, since=self._heard(rater, now).started_at, at=now)
        if task.id in before:
            self._count("undo", before[task.id].shown.question, rater, before[task.id].judgments)
        return task.id

    def withdraw(self, rater: str, *, now: int | None = None) -> None:
        """The rater leaves: no reading of the study holds their answers, and their links end."""
        self.database.withdraw(rater, at=now)
        self.recount()

    def recount(self) -> None:
        """Count all answers anew before the next question: somebody left, or came back."""
        with self._counting:
            self._tallies = None
        self._desks.forget()

    # -- which question -------------------------------------------------------------------------------------

    def _choose(self, seat: _Seat, desk: Desk) -> Question | Rest | Finished:
        """The next step, its question held for this rater at once, so that no two get the last place."""
        tallies = self._counted()
        with self._counting:
            step = next_question(self.plan, seat.state(desk.asked, tallies))
            if isinstance(step, Question) and desk.open is None:
                tallies.ask(step, seat.rater, seat.now)
        return step

    def _ahead(self, desk: Desk, place: int, right: bool | None, now: int) -> Question | None:
        """What comes after the task at `place` once it is answered; None where others' answers have a say in it."""
        if not desk.entered or self._is_tallied or desk.open != place:
            return None  # whoever has a new consent text to agree to is asked by `next`
        if any(task.answered is None for task in desk.asked[place + 1 :]):
            return None
        asked = list(desk.asked)
        asked[place] = replace(asked[place], answered=now, right=right)
        seat = self._seat(desk, asked[place].question, now)
        step = next_question(self.plan, seat.state(asked, Tallies()))
        return step if isinstance(step, Question) else None

    @cached_property
    def _is_tallied(self) -> bool:
        """Does how often a question was answered decide whether it is asked?"""
        return any(run.phase.stop.kind != "everyone" for runs in self.plan.runs.values() for run in runs)

    def _counted(self) -> Tallies:
        """The tallies; left empty where every rater answers everything and nobody asks for them."""
        with self._counting:
            if self._tallies is None:
                self._tallies = tallies_of(self.database) if self._is_tallied else Tallies()
            return self._tallies

    def _count(self, what: str, question: Question, rater: str, made: Any) -> None:
        tallies = self._counted()
        with self._counting:
            getattr(tallies, what)(question, rater, made)

    def _number(self, state: RaterState) -> int:
        """The rater's place among those of the cohort; kept with the first task, for others may be erased."""
        return [other.id for other in self.database.raters() if other.cohort == state.cohort].index(state.id)

    # -- the screen -----------------------------------------------------------------------------------------

    def _shown(self, seat: _Seat, question: Question, desk: Desk) -> ShownTask:
        if desk.open is None:
            self._put(seat, question, desk)
        place = desk.open
        assert place is not None
        task, shown, now, times = desk.tasks[place], desk.shown(place), seat.now, self.settings.times
        question = shown.question
        ends = task.created_at + round(times.prompt * 1000)
        reading = task.screen["prompt_first"] and task.ready_at is None and task.created_at <= now < ends
        least = least_seconds(question.kind, times)
        done = sum(task.answered_at is not None for task in desk.tasks)
        total = questions_in_all(self.plan, question.cohort, seat.rater, seat.number)
        begun = self._begun(seat.rater, task.id, question)
        visit = self._heard(seat.rater, now)
        worked = now - visit.started_at
        return ShownTask(
            id=task.id,
            position=task.position,
            shown=shown,
            stage="prompt" if reading else "question",
            prompt=self.prompt_text(question),
            criteria=tuple(self.criteria[id] for id in question.criteria),
            phase=self._phase(question),
            prompt_left=(ends - now) / 1000 if reading else 0.0,
            ready_left=left(check_ready(shown_at=task.created_at, ready_at=now, times=times)) if reading else 0.0,
            wait=least if reading else left(self._pair_time(task, question, begun, now)),
            done=done,
            total=max(total, done + 1),
            can_undo=bool(begun.pairs) or any((task.answered_at or 0) >= visit.started_at for task in desk.tasks),
            worked_minutes=worked // 60_000 if break_due(worked, self.settings.break_minutes) else None,
            trial=self._trial(question, desk.asked),
            pairs=begun.pairs,
        )

    def _put(self, seat: _Seat, question: Question, desk: Desk) -> None:
        """Put a question to the rater; where another device was first, its own."""
        new = self._new_task(seat, question, desk)
        task = self.database.add_task(
            seat.rater,
            new.position,
            about=new.about,
            question=new.question,
            screen=new.screen,
            phase=new.phase,
            at=new.at,
        )
        desk.add(task, question_of(task))

    def _new_task(self, seat: _Seat, question: Question, desk: Desk) -> NewTask:
        position = len(desk.tasks)
        shown = show(self.plan, question, rater=seat.rater, number=seat.number, position=position)
        screen = {
            "order": shown.order,
            "code_names": shown.code_names,
            "number": seat.number,
            "prompt_first": self._prompt_first(question, desk.asked[-1].question if desk.asked else None),
        }
        record = question.model_dump(mode="json", exclude_defaults=True)
        phase = question.phase or "qualification"
        return NewTask(position, about(question, position), record, screen, phase, seat.now)

    @staticmethod
    def _seat(desk: Desk, question: Question, now: int) -> _Seat:
        """Whose desk it is, as the tasks on it tell."""
        return _Seat(desk.rater, desk.number or 0, question.cohort, now)

    def prompt_text(self, question: Question) -> str | None:
        """The prompt as the question's view shows it; in the qualification as its criterion asks for it, or whole."""
        if question.prompt is None or question.prompt not in self.prompts:
            return None
        prompt = self.prompts[question.prompt]
        own = self.criteria[question.criteria[0]].view if question.why == "qualification" else ()
        own = own if all(getattr(prompt, part) for part in own) else ()  # no phase shows it, so none was checked
        return prompt.view(question.view or own) or None

    def _prompt_first(self, question: Question, before: Question | None) -> bool:
        """The prompt comes alone when it is new to the rater; questions about it that follow show it beside."""
        if self.settings.times.prompt <= 0 or self.prompt_text(question) is None:
            return False
        return before is None or (before.prompt, before.view) != (question.prompt, question.view)

    def _time(self, task: Task, question: Question, now: int) -> TooFast | None:
        return check_time(
            question.kind,
            shown_at=task.created_at,
            ready_at=task.ready_at,
            answered_at=now,
            prompt_first=task.screen["prompt_first"],
            times=self.settings.times,
        )

    def _started(self, task: Task) -> int:
        """When the pictures came up."""
        if not task.screen["prompt_first"]:
            return task.created_at
        ends = task.created_at + round(self.settings.times.prompt * 1000)
        return ends if task.ready_at is None else min(task.ready_at, ends)

    def _phase(self, question: Question) -> Phase | None:
        return self.plan.find_run(question).phase if question.phase else None

    def _trial(self, question: Question, asked: Sequence[Asked]) -> Trial | None:
        test = self.settings.qualification
        if test is None or question.why != "qualification":
            return None
        over = attempts(test, [task for task in asked if task.answered is not None])
        ended = [one for one in over if one.answered == test.questions]
        return Trial(len(ended) + 1, ended[-1].right if ended else None)

    def _heard(self, rater: str, now: int) -> Visit:
        """The visit under way; written down now and then."""
        visit = self._visits.get(rater)
        if visit is None or not 0 <= now - visit.last_seen_at < _HEARD_MS:
            pause = round(self.settings.pay.idle_minutes * 60_000)
            visit = self._visits[rater] = self.database.seen(rater, at=now, pause=pause)
        return visit


@dataclass(frozen=True)
class _Seat:
    """Who is asked, and when."""

    rater: str
    number: int
    cohort: str
    now: int

    def state(self, asked: Sequence[Asked], tallies: Tallies) -> State:
        """All that decides what comes next."""
        return State(self.rater, self.number, self.cohort, self.now, "active", asked, tallies)
