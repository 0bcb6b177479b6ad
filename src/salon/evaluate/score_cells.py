"""Cells of an evaluation and what they hold under every draw: arrays from which all figures of a report are made.

A cell is one criterion on the items of one group (a category, a prompt, or all). Every scorer sees the same draws, so
the difference of two is a difference draw by draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from salon.errors import BadValue, TooFew
from salon.evaluate.results import Missing, ScorerGroup
from salon.stats.score_agreement import agreement_draws, lowest_filling
from salon.study.study import CompareWithin

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_FOLDS = 500
"""Clusters up to which intervals are corrected for bias by leaving out each one; with more it is too small to see."""
LEAST = 3
"""Items of a cell that has a correlation."""
CORRELATIONS = ("srcc", "plcc", "krcc")
_ROUNDING = 1e-12
"""Of a variance, over the squared mean: sums of equal numbers differ by that much."""
_SUMS = ("abs", "square", "n", "x", "xx", "nx", "y", "yy", "ny")


@dataclass(frozen=True)
class ScoreFrame:
    """The items and criteria of an evaluation."""

    items: tuple[str, ...]
    criteria: tuple[tuple[str, str], ...]
    """(id, name)"""
    groups: tuple[str, ...]
    group: Ints
    """(items,) whose order is looked at together."""
    within: CompareWithin
    prompt: Ints
    """(items,) number of the prompt; items without one have a number of their own."""
    categories: tuple[str, ...]
    category: Ints
    """(items,)"""

    @property
    def by_prompt(self) -> bool:
        """Whether prompts are drawn anew: some prompt has several items."""
        return self.within == "prompt" or len(np.unique(self.prompt)) < len(self.items)


@dataclass(frozen=True)
class Target:
    """What predictions are held against."""

    name: str
    values: Floats
    """(items, criteria), NaN where there is none."""
    low: float | None = None
    high: float | None = None
    """Ends of the scale; None where it has none."""
    scale_of: Ints | None = None
    """(items,) items with the same number share a scale; None: all do."""


@dataclass(frozen=True)
class Prediction:
    """What a scorer says; higher is better."""

    name: str
    values: Floats
    """(items, criteria), NaN where it gave none or does not speak about the criterion."""
    speaks: NDArray[np.bool_]
    """(criteria,)"""
    low: float | None = None
    high: float | None = None
    """What its card says of its range."""
    is_logit: bool = False
    signature: str = ""
    group: ScorerGroup = "baseline"
    labels: str = ""
    """What a trained one was trained on."""
    base: str = ""
    """Name of the untrained VLM that it is held against; empty without one."""

    def is_on(self, target: Target) -> bool:
        """Whether its numbers are on the target's scale: its card says so, or without a card's word they lie inside."""
        if target.low is None or target.high is None or self.is_logit:
            return False
        if self.low is not None and self.high is not None:
            return (self.low, self.high) == (target.low, target.high)
        there = self.values[np.isfinite(self.values)]
        return bool(len(there) and (there >= target.low).all() and (there <= target.high).all())


@dataclass(frozen=True)
class ScoreDraws:
    """How often each item, and each cell, is in each draw: the data as they are, the draws, then folds without one
    cluster each.
    """

    items: Floats
    """(rows, items), or (1, items) where cells are drawn."""
    groups: Floats
    """(rows, groups), or (1, groups) where items are drawn."""


@dataclass(frozen=True)
class ScoreCells:
    """One scorer against one target, cell by cell."""

    criterion: Ints
    group: Ints
    correlations: Floats
    """(draws or 1, cells, 3); NaN where there is none."""
    sums: dict[str, Floats]
    """(draws or 1, cells) by name: what pooled figures are made of."""
    scored_srcc: Floats
    """(cells,) over items with a prediction."""
    wanted: Ints
    scored: Ints
    constant: NDArray[np.bool_]
    weights: Floats
    """(draws or 1, cells)"""
    units: tuple[Ints, ...]
    """(cells) numbers of the prompts (of items, where each has its own) that a cell rests on."""

    def count(self, chosen: NDArray[np.bool_]) -> int:
        """Prompts or items behind the chosen cells: what figures over them rest on."""
        return len(np.unique(np.concatenate([self.units[n] for n in np.flatnonzero(chosen)])))


def make_draws(frame: ScoreFrame, draws: int, seed: int) -> ScoreDraws:
    """Prompts (or items) drawn anew within each group of items; where groups are prompts, the groups themselves."""
    rng = np.random.default_rng([seed, 10])
    if frame.within == "prompt":
        count = len(frame.groups)
        drawn = rng.multinomial(count, np.full(count, 1 / count), size=draws)
        rows = np.vstack([np.ones(count), drawn, *([1 - np.eye(count)] if count <= MOST_FOLDS else [])])
        return ScoreDraws(np.ones((1, len(frame.items))), rows)
    held = np.ones((1 + draws, len(frame.items)))
    for number in range(len(frame.groups)):
        own = np.flatnonzero(frame.group == number)
        _, cluster = np.unique(frame.prompt[own], return_inverse=True)
        count = int(cluster.max()) + 1
        held[1:, own] = rng.multinomial(count, np.full(count, 1 / count), size=draws)[:, cluster]
    _, cluster = np.unique(frame.prompt, return_inverse=True)
    count = int(cluster.max()) + 1
    folds = [(np.arange(count)[:, None] != cluster).astype(float)] if count <= MOST_FOLDS else []
    return ScoreDraws(np.vstack([held, *folds]), np.ones((1, len(frame.groups))))


def make_cells(
    frame: ScoreFrame, target: Target, predicted: Prediction, draws: ScoreDraws, missing: Missing
) -> ScoreCells:
    """What the scorer gives in every cell with a target; see `Cells`."""
    on_scale = predicted.is_on(target)
    ends = (target.low, target.high) if on_scale and target.low is not None and target.high is not None else None
    found: list[tuple[int, int, _Cell, Ints]] = []
    for c in np.flatnonzero(predicted.speaks):
        for g in range(len(frame.groups)):
            own = np.flatnonzero((frame.group == g) & np.isfinite(target.values[:, c]))
            if len(own):
                _check_scale(frame, target, own)
                y, x = target.values[own, c], predicted.values[own, c]
                cell = _cell(x, y, draws.items[:, own], ends, missing)
                used = own[np.isfinite(x)] if missing == "scored" else own
                found.append((int(c), g, cell, np.unique(frame.prompt[used])))
    if not found:
        raise TooFew("items with a target that the scorer speaks about are needed", found="none", where=predicted.name)
    cells = [cell for _, _, cell, _ in found]
    group = np.array([g for _, g, _, _ in found])
    return ScoreCells(
        criterion=np.array([c for c, _, _, _ in found]),
        group=group,
        correlations=np.stack([cell.correlations for cell in cells], axis=1),
        sums={name: np.stack([cell.sums[name] for cell in cells], axis=1) for name in _SUMS},
        scored_srcc=np.array([cell.scored_srcc for cell in cells]),
        wanted=np.array([cell.wanted for cell in cells]),
        scored=np.array([cell.scored for cell in cells]),
        constant=np.array([cell.constant for cell in cells]),
        weights=draws.groups[:, group],
        units=tuple(units for _, _, _, units in found),
    )


class _Cell(NamedTuple):
    """One cell of `Cells`."""

    correlations: Floats
    sums: dict[str, Floats]
    scored_srcc: float
    wanted: int
    scored: int
    constant: bool


def _cell(x: Floats, y: Floats, w: Floats, ends: tuple[float, float] | None, missing: Missing) -> _Cell:
    there = np.isfinite(x)
    used = there if missing == "scored" else np.ones(len(x), bool)
    filled = lowest_filling(x, y) if missing == "worst" else np.where(there, x, 0.0)
    correlations = np.full((len(w), 3), np.nan)
    if used.sum() >= LEAST:
        correlations = agreement_draws(filled[used], y[used], w[:, used])[:, :3]
        spread = agreement_draws(y[used], y[used], w[:, used])[:, 0]  # 1 where the target varies, else NaN
        correlations = np.where(np.isnan(correlations) & ~np.isnan(spread)[:, None], 0.0, correlations)
    error = _errors(x, y, ends, missing)
    known = np.where(there, x, 0.0)
    counted = np.isfinite(error)
    sums = {
        "abs": w[:, counted] @ error[counted],
        "square": w[:, counted] @ error[counted] ** 2,
        "n": w[:, counted].sum(axis=1),
        "x": w @ known,
        "xx": w @ known**2,
        "nx": w @ there.astype(float),
        "y": w @ y,
        "yy": w @ y**2,
        "ny": w.sum(axis=1),
    }
    alone = agreement_draws(x[there], y[there], np.ones(there.sum()))[0, 0] if there.sum() >= LEAST else np.nan
    varies = len(np.unique(y)) > 1
    constant = bool(there.any() and varies and len(np.unique(x[there])) == 1)
    scored_srcc = 0.0 if constant and there.sum() >= LEAST else float(alone)
    return _Cell(correlations, sums, scored_srcc, len(x), int(there.sum()), constant)


def _errors(x: Floats, y: Floats, ends: tuple[float, float] | None, missing: Missing) -> Floats:
    """Distances; of a missing prediction the largest that the scale allows, or NaN where it is left out."""
    if ends is None:
        return np.full(len(x), np.nan)
    worst = np.maximum(np.abs(y - ends[0]), np.abs(ends[1] - y)) if missing == "worst" else np.full(len(x), np.nan)
    return np.where(np.isfinite(x), np.abs(x - y), worst)


def _check_scale(frame: ScoreFrame, target: Target, own: Ints) -> None:
    if target.scale_of is not None and len(np.unique(target.scale_of[own])) > 1:
        raise BadValue(
            "items whose targets share a scale are needed"
            + (" with --within all" if frame.within == "all" else f" within a {frame.within}"),
            found=f"{target.name}: items that were never compared with each other",
            remedy="--within prompt or category as the study compares, or a target on the rating scale",
        )


def pool_cells(cells: ScoreCells, chosen: Sequence[bool] | NDArray[np.bool_]) -> dict[str, Floats]:
    """Every figure over the chosen cells, (rows,) each; NaN where it is not defined."""
    take = np.flatnonzero(np.asarray(chosen))
    w = cells.weights[:, take]
    made: dict[str, Floats] = {}
    for number, name in enumerate(CORRELATIONS):
        held = cells.correlations[:, take, number]
        there = ~np.isnan(held) * w
        made[name] = _over((np.nan_to_num(held) * w).sum(axis=1), there.sum(axis=1))
    s = {name: (part[:, take] * w).sum(axis=1) for name, part in cells.sums.items()}
    made["mae"], made["rmse"] = _over(s["abs"], s["n"]), np.sqrt(_over(s["square"], s["n"]))
    made["mean"], made["sd"] = _moments(s["x"], s["xx"], s["nx"])
    made["target_mean"], made["target_sd"] = _moments(s["y"], s["yy"], s["ny"])
    made["spread"] = _over(made["sd"], made["target_sd"])
    made["shift"] = made["mean"] - made["target_mean"]
    return made


def _moments(total: Floats, square: Floats, n: Floats) -> tuple[Floats, Floats]:
    mean = _over(total, n)
    level = np.nan_to_num(mean) ** 2
    variance = _over(square - n * level, n - 1)
    return mean, np.sqrt(np.where(variance < _ROUNDING * (1 + level), 0.0, variance))


def _over(top: Floats, bottom: Floats) -> Floats:
    top, bottom = np.broadcast_arrays(top, bottom)
    values: Floats = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)
    return values
