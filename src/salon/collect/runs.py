"""Units and runs: what there is to ask, and the order in which each rater walks through it.

A unit is what one screen shows: a pair, all items of a prompt, or one item. A run is a phase's units under the criteria
of one screen.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from salon.collect.chance import seeded
from salon.collect.question import Question, Why, question_key
from salon.collect.sample import shared_order
from salon.collect.settings import Cohort, StudioSettings
from salon.collect.settings_phase import Phase
from salon.collect.sides import balanced_sides
from salon.collect.slots import slots
from salon.errors import UnknownReference
from salon.study.prompt import Part

MOST_RATERS = 1024
"""Raters whose orders are remembered: more than are at work at once, or every question would draw them anew."""


@dataclass(frozen=True)
class Unit:
    """What one screen shows."""

    items: tuple[str, ...]
    prompt: str | None
    """The prompt all items share; None when they share none."""
    category: str | None
    group: str
    """What items are compared within."""


@dataclass(frozen=True, eq=False)
class PairGroup:
    """The pairs of items that are compared with each other."""

    units: NDArray[np.int64]
    """(m,) their numbers in the run."""
    pairs: NDArray[np.int64]
    """(m, 2) their items, as numbers from 0."""
    items: int


@dataclass(frozen=True, eq=False)
class Run:
    """One walk through a phase's units under the criteria of one screen."""

    seed: int
    cohort: Cohort
    phase: Phase
    criteria: tuple[str, ...]
    units: tuple[Unit, ...]
    view: tuple[Part, ...]
    """Parts of the prompt on its screens; none named: all of it."""
    views: tuple[tuple[Part, ...], ...]
    """The different views of the cohort. A rater never sees one prompt in two of them."""
    levels: tuple[float, ...]
    """Values that can be given on every criterion of the screen."""
    prompt_place: dict[str, int]
    """Place of each prompt in an order drawn for the cohort: it deals prompts to views."""

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The key of every unit's question."""
        return tuple(question_key(self.cohort.id, self.phase.id, self.criteria, unit.items) for unit in self.units)

    @cached_property
    def place(self) -> dict[str, int]:
        """Units by key."""
        return {key: number for number, key in enumerate(self.keys)}

    @cached_property
    def pair_groups(self) -> tuple[PairGroup, ...]:
        """Of a run of pairs: the pairs by what they are compared within."""
        found: dict[str, list[int]] = defaultdict(list)
        for number, unit in enumerate(self.units):
            found[unit.group].append(number)
        return tuple(self._pair_group(units) for units in found.values())

    def _pair_group(self, units: list[int]) -> PairGroup:
        code: dict[str, int] = {}
        pairs = [[code.setdefault(item, len(code)) for item in self.units[unit].items] for unit in units]
        return PairGroup(np.array(units), np.array(pairs), len(code))

    @property
    def name(self) -> tuple[str, ...]:
        """What chance in this run is seeded with."""
        return (self.cohort.id, self.phase.id, *self.criteria)

    def question(self, unit: int) -> Question:
        """The ordinary question about `unit`."""
        one = self.units[unit]
        return Question(
            kind=self.phase.protocol,
            cohort=self.cohort.id,
            phase=self.phase.id,
            criteria=self.criteria,
            items=one.items,
            prompt=one.prompt,
            view=self.view,
            points=self.phase.points,
            grid=self.phase.grid,
        )

    @lru_cache(maxsize=MOST_RATERS)  # noqa: B019 - a run lives as long as its studio
    def allowed(self, number: int) -> NDArray[np.bool_]:
        """(units,) which ones the rater with this `number` may see: each prompt in one view only."""
        if len(self.views) < 2:
            return np.ones(len(self.units), bool)
        mine = self.views.index(self.view)
        dealt = [unit.prompt is None or self._dealt(unit.prompt, number) == mine for unit in self.units]
        return np.array(dealt, bool)

    def _dealt(self, prompt: str, number: int) -> int:
        return (self.prompt_place[prompt] + number) % len(self.views)

    @lru_cache(maxsize=MOST_RATERS)  # noqa: B019
    def order(self, rater: str, number: int) -> tuple[int, ...]:
        """All units this rater may see, in the rater's own order.

        Categories are mixed so that every beginning of the order holds them in their shares; the questions about one
        prompt follow each other where the phase asks for it.
        """
        rng = seeded(self.seed, "order", *self.name, rater)
        may = np.flatnonzero(self.allowed(number)).tolist()
        rows: dict[object, list[int]] = defaultdict(list)
        for unit in rng.permutation(may).tolist() if may else []:
            prompt = self.units[unit].prompt
            rows[prompt if self.phase.prompt_in_a_row and prompt is not None else ("alone", unit)].append(unit)
        blocks = list(rows.values())
        categories = [self.units[block[0]].category for block in blocks]
        mixed = shared_order(categories, self.phase.prompts.shares, rng=rng)
        return tuple(unit for block in mixed for unit in blocks[block])

    @lru_cache(maxsize=MOST_RATERS)  # noqa: B019
    def planned(self, rater: str, ordinary: int) -> tuple[Why, ...]:
        """What stands at every place for this rater, with so many ordinary questions."""
        checks = self.phase.checks
        return slots(
            ordinary,
            repeats=self.phase.repeats,
            gap=self.phase.gap,
            gold=checks.gold,
            attention=checks.attention,
            rng=seeded(self.seed, "slots", *self.name, rater),
        )

    @lru_cache(maxsize=MOST_RATERS)  # noqa: B019
    def first_left(self, couple: int) -> NDArray[np.bool_]:
        """(units,) of pairs: is the first item on the left, for the first rater of a couple?"""
        pairs = [(unit.items[0], unit.items[1]) for unit in self.units]
        return balanced_sides(pairs, rng=seeded(self.seed, "sides", *self.name, couple))


@dataclass(frozen=True, eq=False)
class Plan:
    """Everything a studio may ask, cohort by cohort, in order."""

    settings: StudioSettings
    gold_prompts: tuple[str | None, ...]
    """The prompt of each gold question's items."""
    runs: dict[str, tuple[Run, ...]]

    def find_run(self, question: Question) -> Run:
        """The run a question belongs to."""
        for run in self.runs[question.cohort]:
            if run.phase.id == question.phase and run.criteria == question.criteria:
                return run
        raise UnknownReference("a question of this studio is needed", found=f"phase {question.phase!r}")
