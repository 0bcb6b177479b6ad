"""A worker's copy of the tallies in the database: brought up to date before every choice, by reading what changed.

A choice is made from the copy, and holds only once the database has reserved it: there the question's own row is held,
and `is_open` is asked again about what stands in it at that moment. So a question is given to no more raters than its
stop rule allows, however many workers choose at once. What may come on top: the late answer of a rater who let the
question lie for longer than HOLD_MS, or took a skip back, while it was given to somebody else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cached_property
from threading import Lock

from salon.collect.plan import PhaseRun, StudioPlan
from salon.collect.questions import RaterQuestion
from salon.collect.tallies import QuestionTally, Tallies, is_open
from salon.store import Database, QuestionHold, StoredTally


class TalliedPlan:
    """Which questions of a plan are tallied: those that not everyone answers."""

    def __init__(self, plan: StudioPlan) -> None:
        self._plan = plan
        self._runs = [run for runs in plan.runs.values() for run in runs if run.phase.stop.kind != "everyone"]

    @property
    def any(self) -> bool:
        """Is any question tallied?"""
        return bool(self._runs)

    @property
    def name(self) -> str:
        """Differs where other questions are tallied, or in other groups."""
        parts = [[*run.name, run.phase.design.kind == "adaptive"] for run in self._runs]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def run_of(self, question: RaterQuestion) -> PhaseRun | None:
        """The run of an ordinary question that is tallied."""
        if question.why != "ordinary" or not question.phase:
            return None
        run = self._plan.find_run(question)
        return run if run.phase.stop.kind != "everyone" else None

    def group_of(self, about: str) -> str | None:
        """As `salon.store.database.tallies.GroupOf`."""
        return self._groups.get(about)

    @cached_property
    def _groups(self) -> dict[str, str]:
        groups: dict[str, str] = {}
        for run in self._runs:
            if run.phase.design.kind == "adaptive":
                names = [run.group_name(place) for place in range(len(run.pair_groups))]
                groups |= {key: names[place] for key, place in zip(run.keys, run.group_of_unit.tolist())}
            else:
                groups |= dict.fromkeys(run.keys, "")
        return groups


class StoredTallies(Tallies):
    """The tallies as the database holds them."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database
        self._since = 0
        self.turn = Lock()
        """Held while the copy is brought up to date and chosen from."""

    def refresh(self) -> None:
        """Read what changed."""
        changed, self._since = self._database.changed_tallies(self._since)
        for tally in changed:
            self.put(tally.key, _to_tally(tally))

    def raters(self, run: PhaseRun, group: int) -> int:
        return self._database.group_rater_count(run.group_name(group))


def reserve_question(
    run: PhaseRun, question: RaterQuestion, tallies: Tallies, now: int, *, strict: bool = True
) -> QuestionHold:
    """What must hold when the database gives this question to a rater.

    With `strict` it must still be as little asked as it was in the copy that it was chosen from; else it need only be
    open.
    """
    stop = run.phase.stop
    load = tallies[question.key].load(now)

    def accept(stored: StoredTally) -> bool:
        tally = _to_tally(stored)
        return is_open(tally, stop, now) and (not strict or tally.load(now) <= load)

    if run.phase.design.kind != "adaptive":
        return QuestionHold(accept)
    place = int(run.group_of_unit[run.place[question.key]])
    budget = int(run.group_budgets[place])

    def accept_group(group: Sequence[StoredTally]) -> bool:
        return sum(_to_tally(stored).load(now) for stored in group) < budget

    # An adaptive pair may be asked more often than raters_each; its group's budget is what limits it.
    return QuestionHold(
        lambda stored: not strict or _to_tally(stored).load(now) <= load, run.group_name(place), accept_group
    )


def _to_tally(stored: StoredTally) -> QuestionTally:
    return QuestionTally(stored.answers, stored.pending, stored.votes)
