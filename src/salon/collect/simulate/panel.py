"""A simulated panel of raters, and the tables of a study that its answers become.

Tables are Arrow columns made straight from integers: a million prompts never pass through a Python object each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.study import LEFTS, OUTCOMES, REFERENCES, to_references

Ints = NDArray[np.int32]
Small = NDArray[np.int8]

A, B, TIE = 0, 1, 2


@dataclass(frozen=True)
class PlantedTruth:
    """What was planted in the answers to one criterion."""

    criterion: str
    law: str
    parameter: float | None
    """Of the law: theta, noise or spread; None where it has none."""
    tau: float
    """Expected mean Kendall tau over all pairs of raters of a prompt, in the orders they have in mind."""
    truth: str
    """In plain words."""


@dataclass(frozen=True)
class SimulatedPanel:
    """The orders that `raters` gave to n prompts of p items each, under one criterion."""

    criterion: int
    raters: Ints
    """(R,) their numbers in the study."""
    first_item: int
    """Prompt k holds the items first_item + k p, ... + k p + p - 1."""
    ranks: Small
    """(n, R, p) strict ranks, 0 = best."""
    places: Small | None = None
    """(n, R, p) the place of the j-th item, where ties were planted: 0, 0, 1, 2 ties the first two."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """Prompts, raters, items."""
        prompts, raters, items = self.ranks.shape
        return prompts, raters, items

    @property
    def levels(self) -> Small:
        """(n, R, p) ranks with ties: equal where a rater sees no difference."""
        return self.ranks if self.places is None else np.take_along_axis(self.places, self.ranks.astype(np.intp), -1)

    def orders(self) -> Ints:
        """(n, R, p) item numbers, best first."""
        prompts, raters, items = self.shape
        start = np.arange(prompts * raters, dtype=np.int64) * items
        first = np.repeat(self.first_item + np.arange(prompts, dtype=np.int32) * items, raters)
        order = np.empty(start.size * items, np.int32)
        for item, rank in enumerate(self.ranks.reshape(-1, items).T):  # six times faster than an argsort
            order[start + rank] = first + item
        return order.reshape(self.ranks.shape)


def with_ties(panel: SimulatedPanel, share: float, *, rng: np.random.Generator) -> SimulatedPanel:
    """`panel` with neighbours in a rater's order tied, so that `share` of all item pairs of an answer tie."""
    if share == 0:
        return panel
    prompts, raters, items = panel.shape
    parted = rng.random((prompts, raters, items - 1)) >= tie_chance(share, items)
    places = np.zeros(panel.ranks.shape, np.int8)
    np.cumsum(parted, axis=-1, dtype=np.int8, out=places[..., 1:])
    return SimulatedPanel(panel.criterion, panel.raters, panel.first_item, panel.ranks, places)


def tie_chance(share: float, items: int) -> float:
    """The chance g that two neighbours tie which makes `share` of all pairs tie.

    Items m places apart tie when all m neighbours between them do: share = sum over m of (p - m) g^m / C(p,2).
    """
    from scipy.optimize import brentq

    m = np.arange(1, items)

    def excess(g: float) -> float:
        return float(np.sum((items - m) * g**m) / (items * (items - 1) / 2) - share)

    return float(brentq(excess, 0.0, 1.0))


# -- tables ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class StudyIds:
    """The ids that numbers stand for."""

    criteria: pa.Array
    raters: pa.Array
    items: pa.Array


def rankings_table(panels: Sequence[SimulatedPanel], labels: StudyIds) -> pa.Table:
    """One ranking for each prompt and rater of each panel; all panels rank the same number of items."""
    items = panels[0].shape[2]
    order = np.concatenate([panel.orders().reshape(-1, items) for panel in panels])
    places = []
    for panel in panels:
        strict = np.broadcast_to(np.arange(items, dtype=np.int8), (panel.shape[0] * panel.shape[1], items))
        places.append(strict if panel.places is None else panel.places.reshape(-1, items))
    offsets = pa.array(np.arange(0, order.size + 1, items, dtype=np.int32))
    columns = {
        "items": pa.ListArray.from_arrays(offsets, to_references(order.ravel(), labels.items), type=REFERENCES),
        "ranks": pa.ListArray.from_arrays(offsets, pa.array(np.concatenate(places).ravel() + np.int32(1))),
    }
    return _answers(panels, labels, 1, columns)


@dataclass(frozen=True)
class PanelComparisons:
    """Every pair of items of every prompt, as shown to every rater and as answered; (n, R, C(p,2)) each."""

    left: Small
    """0: item a, the one with the lower number, stood on the left; 1: item b."""
    outcome: Small
    """0: a is better; 1: b; 2: tie."""


def panel_comparisons(
    panel: SimulatedPanel, *, position_bias: float = 0.0, rng: np.random.Generator
) -> PanelComparisons:
    """The comparisons a panel's orders imply, sides by a fair coin.

    With chance `position_bias` a rater takes the left item unseen; else the answer follows their order.
    """
    first, second = np.triu_indices(panel.shape[2], 1)
    levels = panel.levels
    a, b = levels[..., first], levels[..., second]
    left = rng.integers(0, 2, a.shape, dtype=np.int8)
    outcome = np.where(a == b, np.int8(TIE), (a > b).astype(np.int8))
    if position_bias:
        np.copyto(outcome, left, where=rng.random(a.shape) < position_bias)
    return PanelComparisons(left, outcome)


def comparisons_table(
    panels: Sequence[SimulatedPanel],
    sides: Sequence[PanelComparisons],
    labels: StudyIds,
    seconds: Sequence[NDArray[Any]] = (),
) -> pa.Table:
    """All pairs of all prompts, by prompt, rater and pair."""
    a, b = (np.concatenate([_pair_items(panel, side) for panel in panels]) for side in (0, 1))
    columns = {
        "a": to_references(a, labels.items),
        "b": to_references(b, labels.items),
        "outcome": to_references(_flat([side.outcome for side in sides]), pa.array(OUTCOMES[:3])),
        "left": to_references(_flat([side.left for side in sides]), pa.array(LEFTS[:2])),
    }
    if seconds:
        columns["seconds"] = pa.array(_flat(seconds))
    return _answers(panels, labels, sides[0].outcome.shape[2], columns)


def _pair_items(panel: SimulatedPanel, side: int) -> Ints:
    prompts, raters, items = panel.shape
    inside = np.triu_indices(items, 1)[side].astype(np.int32)
    first = panel.first_item + np.arange(prompts, dtype=np.int32) * items
    return np.repeat(first[:, None] + inside, raters, axis=0).ravel()


@dataclass(frozen=True)
class SimulatedRatings:
    """Levels that `raters` gave, under one criterion, to every item of the prompts from `first_item` on."""

    criterion: int
    raters: Ints
    first_item: int
    values: NDArray[Any]
    """(R, items)"""


def ratings_table(parts: Sequence[SimulatedRatings], labels: StudyIds) -> pa.Table:
    """All ratings, by rater and item."""
    raters, items = zip(*(part.values.shape for part in parts))
    criterion = np.repeat(np.array([part.criterion for part in parts], np.int32), np.multiply(raters, items))
    rater = [np.repeat(part.raters, each) for part, each in zip(parts, items)]
    item = [np.tile(p.first_item + np.arange(n, dtype=np.int32), r) for p, n, r in zip(parts, items, raters)]
    return pa.table(
        {
            "criterion": to_references(criterion, labels.criteria),
            "rater": to_references(np.concatenate(rater), labels.raters),
            "item": to_references(np.concatenate(item), labels.items),
            "value": pa.array(_flat([part.values for part in parts]).astype(np.float64)),
        }
    )


def _answers(panels: Sequence[SimulatedPanel], labels: StudyIds, each: int, columns: dict[str, pa.Array]) -> pa.Table:
    """`columns` with who answered which criterion: `each` rows for every prompt and rater."""
    rows = [panel.shape[0] * panel.shape[1] * each for panel in panels]
    criterion = np.repeat(np.array([panel.criterion for panel in panels], np.int32), rows)
    rater = np.concatenate([np.tile(np.repeat(panel.raters, each), panel.shape[0]) for panel in panels])
    return pa.table(
        {
            "criterion": to_references(criterion, labels.criteria),
            "rater": to_references(rater, labels.raters),
            **columns,
        }
    )


def items_table(prompts: pa.Array, items: pa.Array, generator: Ints, generators: Sequence[str]) -> pa.Table:
    """Items in the order of their prompts."""
    each = len(items) // len(prompts)
    prompt = np.repeat(np.arange(len(prompts), dtype=np.int32), each)
    return pa.table(
        {
            "id": items,
            "prompt": to_references(prompt, prompts),
            "generator": to_references(generator, pa.array(generators)),
        }
    )


# -- columns -----------------------------------------------------------------------------------------------------


def number_ids(stem: str, count: int) -> pa.Array:
    """Ids `stem` + 1, 2, ..., all of one width, so that they sort as they count."""
    digits = pa.array(np.arange(1, count + 1)).cast(pa.string())
    return pc.binary_join_element_wise(stem, pc.utf8_lpad(digits, len(str(count)), padding="0"), "")


def item_ids(prompts: pa.Array, items: int) -> pa.Array:
    """Ids of `items` items for each prompt: p1-1, p1-2, ..., p2-1, ... The order is that of the prompts."""
    suffix = number_ids("", items)
    each = np.arange(len(prompts) * items, dtype=np.int32)
    return pc.binary_join_element_wise(prompts.take(pa.array(each // items)), suffix.take(pa.array(each % items)), "-")


def _flat(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate([part.ravel() for part in parts])
