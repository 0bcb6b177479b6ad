"""A studio's half for visitors from a panel: they come in under the panel's ids and leave with the code of an outcome.

What a visit comes to is decided here alone, from the database, whenever a visitor is told that there is nothing more to
do; no address or form says it. The code of "done" is read from the settings only after that decision.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from salon.collect.panels import VisitEnd, choose_cohort, has_room, visit_end
from salon.collect.settings import Outcome, PanelSettings, StudioSettings
from salon.collect.studio.rater_side import known_answer_hits, task_question
from salon.errors import BadValue
from salon.store import Database, PanelIds, TakenPlace, Visitor, now_ms

_MINUTE_MS = 60_000
_RECORDED: tuple[str, ...] = ("no_consent", "failed_checks", "over_quota", "timed_out")
"""Outcomes by which a visit is paused."""


class VisitorSide:
    """Visitors of a panel; for raters who came by a link every method does nothing."""

    database: Database
    settings: StudioSettings

    @property
    def panel(self) -> PanelSettings | None:
        """The settings of the panel; None where no panel sends anybody."""
        return self.settings.panel

    # -- coming in ------------------------------------------------------------------------------------------

    def admit(self, ids: PanelIds, cohort: str | None = None, *, now: int | None = None) -> Visitor | None:
        """The visitor of these ids, made where there is none yet; None where no place is free."""
        now = now_ms() if now is None else now

        def choose(taken: Sequence[TakenPlace]) -> str | None:
            return choose_cohort(self.settings, taken, cohort)

        return self.database.admit(ids, choose, name=_new_name, late=self._late(now), at=now)

    def refuse_consent(self, rater: str, *, now: int | None = None) -> None:
        """A visitor does not agree to the consent text: nothing is asked of them. A visit that ended stays as it is."""
        visitor = self.database.visitor(rater)
        if visitor is None:
            raise BadValue("a visitor from a panel is needed", found="a rater with a link", where="no consent")
        if visitor.outcome is None and visitor.status in ("invited", "active"):
            self.database.end_visit(rater, "no_consent", pause=True, at=now)

    def taken_places(self) -> list[TakenPlace]:
        """The places that visitors take now."""
        return self.database.taken_places(late=self._late(now_ms()))

    # -- leaving --------------------------------------------------------------------------------------------

    def check_visit(self, rater: str, now: int) -> None:
        """Before anything is asked: a visit that took too long ends, and who passed the screener takes a place."""
        visitor = self._visitor(rater)
        if visitor is None or visitor.outcome is not None or visitor.status not in ("invited", "active"):
            return
        late = self._late(now)
        if late is not None and visitor.joined_at <= late:
            self.database.end_visit(rater, "timed_out", pause=True, at=now)
        elif not visitor.has_place:
            self._take_place(visitor, now)

    def _take_place(self, visitor: Visitor, now: int) -> None:
        """Once the screener lets the visitor in; over quota where no place is free for such answers."""
        assert self.panel is not None
        answers = (self.database.profile(visitor.rater) or {}).get("screener", {})
        if any(answers.get(question.id) not in question.accept for question in self.settings.screener):
            return
        panel = self.panel

        def fits(taken: Sequence[TakenPlace]) -> bool:
            return has_room(panel, visitor.cohort, answers, taken)

        self.database.take_place(visitor.rater, fits, late=self._late(now), at=now)

    def end_failed_visit(self, rater: str, now: int) -> bool:
        """After a missed attention check: whether it was one too many, and the visit has ended."""
        if self.panel is None or self.panel.missed_checks is None or self.database.visitor(rater) is None:
            return False
        hits = known_answer_hits(self.database, rater)
        attention = [task.id for task in self.database.tasks_of(rater) if task_question(task).why == "attention"]
        failed = sum(hits.get(task) is False for task in attention) >= self.panel.missed_checks
        if failed:
            self.database.end_visit(rater, "failed_checks", pause=True, at=now)
        return failed

    def end_of_visit(self, rater: str, reason: str) -> VisitEnd | None:
        """With what a visitor leaves for whom `next` had nothing more, and why; None for everybody else.

        None too for a visitor whom the owner paused or removed: they may be asked again.
        """
        visitor = self._visitor(rater)
        outcome = None if visitor is None else self._outcome(visitor, reason)
        if visitor is None or outcome is None:
            return None
        if visitor.outcome != outcome:
            self.database.end_visit(rater, outcome)
        return visit_end(self.settings, outcome, visitor.ids, visitor.personal)

    def _outcome(self, visitor: Visitor, reason: str) -> Outcome | None:
        if reason == "paused":
            return visitor.outcome if visitor.outcome in _RECORDED else None  # type: ignore[return-value]  # one of them
        if reason == "enough answers":  # others answered everything before this visitor could
            tasks = self.database.tasks_of(visitor.rater)
            answered = any(task.answered_at is not None and task_question(task).phase for task in tasks)
            return "done" if answered else "over_quota"
        return _OUTCOMES.get(reason)

    def _visitor(self, rater: str) -> Visitor | None:
        return None if self.panel is None else self.database.visitor(rater)

    def _late(self, now: int) -> int | None:
        """Who joined then or before has had all the time there is."""
        minutes = None if self.panel is None else self.panel.minutes
        return None if minutes is None else now - round(minutes * _MINUTE_MS)


_OUTCOMES: dict[str, Outcome] = {"done": "done", "not qualified": "screened_out", "withdrawn": "no_consent"}


def _new_name(cohort: str) -> str:
    return f"{cohort}-{secrets.token_hex(4)}"
