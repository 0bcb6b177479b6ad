"""What the owner of a studio sees and does: progress, live checks, flags, hours and pay, invitations, export."""

from __future__ import annotations

import logging
import secrets
import time
from abc import ABC
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from threading import Lock

from salon.check import CheckReport
from salon.collect.plan import StudioPlan
from salon.collect.quality import RaterFindings, rater_flags
from salon.collect.settings import Pay, StudioSettings
from salon.collect.studio.adjudication import ADJUDICATORS, AdjudicatorSide, adjudicator_name, study_after_rulings
from salon.collect.studio.figures import FIGURES, LiveFigures, read_figures, write_figures
from salon.collect.studio.figures_worker import FiguresFailed, FiguresWorker
from salon.collect.studio.rater_side import Invitation, RaterProgress, expected_total, quality_records
from salon.collect.studio.stored_tallies import TalliedPlan
from salon.errors import BadValue
from salon.store import FIELD_FILES, Database, RaterVisit, StoredRater, export_field, export_study
from salon.study import Criterion, Rater, Study

_CENT = Decimal("0.01")


@dataclass(frozen=True)
class Payment:
    """What a rater has earned so far."""

    hours: float
    answers: int
    amount: Decimal
    """Rounded once, to the cent."""
    currency: str


def worked_ms(visits: Iterable[RaterVisit]) -> int:
    """Time covered by the visits; two devices at once count once."""
    total, until = 0, None
    for visit in sorted(visits, key=lambda visit: visit.started_at):
        start = visit.started_at if until is None else max(visit.started_at, until)
        total += max(visit.last_seen_at - start, 0)
        until = visit.last_seen_at if until is None else max(until, visit.last_seen_at)
    return total


def payment(visits: Sequence[RaterVisit], answers: int, *, finished: bool, pay: Pay) -> Payment:
    """Hours x rate + answers x price + the sum for finishing, whichever of them the studio pays."""
    worked = worked_ms(visits)
    amount = _money(pay.per_hour) * worked / 3_600_000 + _money(pay.per_answer) * answers
    amount += _money(pay.flat) if finished else 0
    return Payment(worked / 3_600_000, answers, amount.quantize(_CENT, ROUND_HALF_UP), pay.currency)


def _money(value: float | None) -> Decimal:
    return Decimal(str(value or 0))


# -- the owner ---------------------------------------------------------------------------------------------------------

_REST_S, _REST_PART = 5.0, 3.0
"""Between two checks the worker rests so many seconds, and so many times as long as the last one took."""

log = logging.getLogger("salon.studio")


@dataclass(frozen=True)
class LiveCheck:
    """The newest figures there are."""

    figures: LiveFigures | None
    """None before the first."""
    newer: bool
    """Newer figures are on their way."""
    failed: bool = False
    """The last attempt to make newer ones went wrong; the log says how."""

    @property
    def revision(self) -> int | None:
        """The revision the figures are about."""
        return None if self.figures is None else self.figures.revision

    @property
    def report(self) -> CheckReport | None:
        """None where the answers are too few to say anything; `words` tells why."""
        return None if self.figures is None else self.figures.report

    @property
    def words(self) -> str | None:
        """Why there is no report."""
        return None if self.figures is None else self.figures.words


class OwnerSide(AdjudicatorSide, ABC):
    """The owner's half of a studio."""

    database: Database
    settings: StudioSettings
    folder: Path
    plan: StudioPlan
    criteria: dict[str, Criterion]
    tallied: TalliedPlan

    def __init__(self) -> None:
        self._checker = ThreadPoolExecutor(1, "live-check")
        self._checking: Future[LiveCheck] | None = None
        self._checked = LiveCheck(None, newer=False)
        self._worker = FiguresWorker()
        self._closing = False
        self._rested_at = 0.0
        self._starting = Lock()
        self._totals: dict[str, int] = {}

    def close(self) -> None:
        """End a check under way; the database stays open."""
        self._closing = True
        self._worker.close()
        self._checker.shutdown()

    def take_over(self, previous: OwnerSide) -> None:
        """Go on with the live check of the studio before, which is closed with it."""
        self._checker, self._worker = previous._checker, previous._worker

    # -- looking --------------------------------------------------------------------------------------------

    def progress(self) -> list[RaterProgress]:
        """How far every rater of the studio's cohorts is, in the order they came."""
        judgments: dict[str, dict[str, int]] = {}
        last: dict[str, int | None] = {}
        for row in self.database.progress():
            if row.phase is not None and row.criterion is not None:
                counts = judgments.setdefault(row.rater, {})
                counts[row.criterion] = counts.get(row.criterion, 0) + row.judgments
                last[row.rater] = max(last.get(row.rater) or 0, row.last_at or 0) or None
        hours, answered = self._hours(), self.database.answered()
        places: dict[str, int] = {}
        rows = []
        for state in self.database.raters():
            if state.cohort not in self.plan.runs:
                continue
            number = places[state.cohort] = places.get(state.cohort, -1) + 1
            rows.append(
                RaterProgress(
                    rater=state.id,
                    cohort=state.cohort,
                    status=state.status,
                    answered=answered.get(state.id, 0),
                    total=self._total(state, number),
                    judgments=judgments.get(state.id, {}),
                    last_at=last.get(state.id),
                    hours=hours.get(state.id, 0.0),
                )
            )
        return rows

    def _total(self, state: StoredRater, number: int) -> int:
        """Laying out a rater's questions takes a while, and their number stays."""
        if state.id not in self._totals:
            self._totals[state.id] = expected_total(self.plan, state.cohort or "", state.id, number)
        return self._totals[state.id]

    def live_check(self, *, wait: bool = False) -> LiveCheck:
        """The newest check of the answers so far; a newer one is begun in the background, and never holds anyone up.

        With `wait` the newer one is waited for.
        """
        with self._starting:
            idle = self._checking is None or self._checking.done()
            if idle and (wait or time.monotonic() >= self._rested_at):
                self._checking = self._checker.submit(self._check)
            running = self._checking
        if wait and running is not None:
            return running.result()
        latest, newer = self._checked, running is not None and not running.done()
        return LiveCheck(latest.figures, newer, latest.failed)

    def flags(self) -> tuple[RaterFindings, ...]:
        """What quality control found about every rater, with reasons."""
        return rater_flags(quality_records(self.database, self.plan, self.criteria))

    def earned(self, rater: str) -> Payment:
        """Hours, answers and pay of one rater so far."""
        visits = self.database.visits(rater)
        answers = sum(task.answered_at is not None for task in self.database.tasks_of(rater))
        finished = self.database.rater(rater).status == "done"
        return payment(visits, answers, finished=finished, pay=self.settings.pay)

    def payments(self) -> dict[str, Payment]:
        """Hours, answers and pay of every rater so far."""
        visits, answered = self._visits_of_all(), self.database.answered()
        return {
            rater.id: payment(
                visits.get(rater.id, []),
                answered.get(rater.id, 0),
                finished=rater.status == "done",
                pay=self.settings.pay,
            )
            for rater in self.database.raters()
        }

    def _hours(self) -> dict[str, float]:
        return {rater: worked_ms(visits) / 3_600_000 for rater, visits in self._visits_of_all().items()}

    def _visits_of_all(self) -> dict[str, list[RaterVisit]]:
        visits: dict[str, list[RaterVisit]] = {}
        for visit in self.database.visits():
            visits.setdefault(visit.rater, []).append(visit)
        return visits

    def _check(self) -> LiveCheck:
        """Runs in the one thread of the checker, and waits there for the worker, or for another studio's."""
        if self._is_old():
            with self.database.alone(FIGURES):
                self.adopt_figures()
                if self._is_old():
                    self._compute_figures()
        figures = self._checked.figures
        self._rested_at = time.monotonic() + max(_REST_S, _REST_PART * (figures.took if figures else 0))
        return self._checked

    def adopt_figures(self) -> None:
        """Show the figures that another worker computed, where they are newer than our own."""
        stored = None if self.database.sqlite else self.database.shared(FIGURES)
        figures = None if stored is None else read_figures(stored[0])
        ours = self._checked.figures
        if figures is not None and (ours is None or figures.at > ours.at):
            self._checked = LiveCheck(figures, newer=False)

    def _is_old(self) -> bool:
        figures = self._checked.figures
        return figures is None or self._checked.failed or self.database.revision() != figures.revision

    def _compute_figures(self) -> None:
        previous = self._checked.figures
        try:
            figures = self._worker.ask(self.database, self.settings)
        except FiguresFailed as error:
            if not self._closing:
                log.warning("%s", error)
            self._checked = LiveCheck(previous, newer=False, failed=True)
            return
        self._checked = LiveCheck(figures, newer=False)
        if not self.database.sqlite:
            self.database.share(FIGURES, write_figures(figures))

    # -- doing ----------------------------------------------------------------------------------------------

    def invite(self, cohort: str, number: int = 1, *, now: int | None = None) -> list[Invitation]:
        """New raters of a cohort under pseudonyms, each with a link that cannot be read again."""
        self.settings.cohort(cohort)
        invitations = []
        for _ in range(number):
            rater = Rater(id=f"{cohort}-{secrets.token_hex(4)}", cohort=cohort)
            self.database.add_rater(rater, at=now)
            invitations.append(Invitation(rater.id, self.database.new_link("rater", rater.id, at=now)))
        return invitations

    def reinvite(self, rater: str, *, now: int | None = None) -> Invitation:
        """A new link; a rater who was paused or removed is active again. One who withdrew took back their consent."""
        state = self._asked(rater)
        if state.status == "withdrawn":
            raise BadValue(
                "a rater who has not withdrawn is needed",
                found="one who has: the answers are theirs to keep back",
                where=rater,
                remedy="invite the person as a new rater",
            )
        if self._is_out(state):
            self.database.reopen_visit(rater, at=now)
            self.database.set_status(rater, "active", at=now, group_of=self.tallied.group_of)
        return Invitation(rater, self.database.new_link("rater", rater, at=now))

    def invite_adjudicator(self, *, now: int | None = None) -> Invitation:
        """A link for somebody who settles disputed questions, and the pseudonym under which that is kept."""
        token = self.database.new_link("adjudicator", at=now)
        name = adjudicator_name(self.database.who(token, at=now).link)
        self.database.add_rater(Rater(id=name, cohort=ADJUDICATORS), status="active", at=now)
        return Invitation(name, token)

    def pause(self, rater: str, *, now: int | None = None) -> None:
        """Nothing is asked of the rater until `reinvite`; answers stay. Who has left stays away."""
        if not self._is_out(self._asked(rater)):
            self.database.set_status(rater, "paused", at=now)

    def resume(self, rater: str, *, now: int | None = None) -> None:
        """A paused rater is asked again; the link stays the same."""
        if self._asked(rater).status == "paused":
            self.database.reopen_visit(rater, at=now)
            self.database.set_status(rater, "active", at=now)

    def remove(self, rater: str, *, now: int | None = None) -> None:
        """The rater's links end and no reading of the study holds their answers; so too an adjudicator's."""
        self._end_link(rater, now)
        self.database.set_status(rater, "removed", at=now, group_of=self.tallied.group_of)

    def erase(self, rater: str, *, now: int | None = None) -> None:
        """Delete the rater and everything about them, for good."""
        self._end_link(rater, now)
        self.database.erase(rater, at=now, group_of=self.tallied.group_of)

    def export(
        self,
        target: Path,
        to: str = "parquet",
        *,
        overwrite: bool = False,
        images: bool = True,
        excel_safe: bool = False,
    ) -> Counter[str]:
        """The study as it stands now, rulings of adjudicators kept to, as a folder for others; what was left out.

        `to` is one of EXPORTS, which hold everything, or of FIELD_FILES, which hold what the field's tools read.
        """
        if to in FIELD_FILES:
            return export_field(self.settled(), target, to).left_out
        pictures = self.folder if images else None
        export_study(self.settled(), target, to, overwrite=overwrite, images=pictures, excel_safe=excel_safe)
        return Counter()

    def settled(self) -> Study:
        """The study as it stands now, without items that adjudicators dropped."""
        return study_after_rulings(self.database, self.database.read_study())

    def _asked(self, rater: str) -> StoredRater:
        """A rater who is asked questions; an adjudicator can only be removed or erased."""
        state = self.database.rater(rater)
        if state.cohort == ADJUDICATORS:
            raise BadValue("a rater is needed", found="an adjudicator", remedy="remove this one, and invite another")
        return state

    def _end_link(self, rater: str, now: int | None) -> None:
        """End the link of an adjudicator, which names no rater; links of raters end with their status."""
        for link in self.database.links():
            if link.role == "adjudicator" and adjudicator_name(link.number) == rater:
                self.database.revoke(link.number, at=now)

    @staticmethod
    def _is_out(state: StoredRater) -> bool:
        return state.status in ("paused", "removed", "withdrawn")
