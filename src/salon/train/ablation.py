"""The grid of an ablation and the table over its cells: one factor changed at a time, intervals over seeds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy import stats

from salon.errors import BadValue
from salon.stats.result import Estimate
from salon.train.ablation_results import FACTORS, AblateRow, AblateSettings, Cell, CellFigures

POLICIES = (
    "One factor is changed at a time; all else is as in the reference. Every cell is labelled, trained and tested anew "
    "for each seed.",
    "Intervals are t intervals over seeds: they cover the judge's answers, the order of images and sampling, not "
    "other test items. They end where what is measured does (no correlation exceeds 1). With one seed there is "
    "none.",
    "A difference is taken seed by seed. A scorer that says the same of every item has an SRCC of 0, and answers that "
    "cannot be read count as the worst they could have been; only where no group of items has an order at all there "
    "is no SRCC: that seed is counted as failed and is in no mean.",
)
WITHIN = {"srcc": (-1.0, 1.0), "plcc": (-1.0, 1.0), "mae": (0.0, float("inf")), "spread": (0.0, float("inf"))}
"""What each figure of a row can be."""


def make_cells(settings: AblateSettings) -> list[Cell]:
    """Every experiment: the reference for each seed, then each other value of each factor for each seed."""
    for name in (*FACTORS, "seeds"):
        values = getattr(settings, name)
        if not values or len(set(values)) < len(values):
            raise BadValue(f"--{name}: at least one value, each once", found=", ".join(map(str, values)) or "none")
    reference = {name: getattr(settings, name)[0] for name in FACTORS}
    grid = [reference]
    for name in FACTORS:
        grid += [reference | {name: value} for value in getattr(settings, name)[1:]]
    return [Cell.parse(one | {"seed": seed}, where="the grid") for one in grid for seed in settings.seeds]


def ablate_rows(cells: Sequence[CellFigures], settings: AblateSettings) -> tuple[AblateRow, ...]:
    """The table: the reference, then every other value with its difference."""
    reference = {name: getattr(settings, name)[0] for name in FACTORS}
    base = _of(cells, reference)
    rows = [_row("reference", _words(reference), base, None, settings)]
    for name in FACTORS:
        for value in getattr(settings, name)[1:]:
            own = _of(cells, reference | {name: value})
            rows.append(_row(name, str(value) or "all", own, base, settings))
    return tuple(rows)


def _of(cells: Sequence[CellFigures], wanted: dict[str, object]) -> list[CellFigures]:
    return [one for one in cells if all(getattr(one.cell, name) == value for name, value in wanted.items())]


def _words(reference: dict[str, object]) -> str:
    return ", ".join(f"{name} {value or 'all'}" for name, value in reference.items())


def _row(
    factor: str, value: str, own: Sequence[CellFigures], base: Sequence[CellFigures] | None, settings: AblateSettings
) -> AblateRow:
    paired = None
    if base is not None:
        known = {one.cell.seed: one.srcc for one in base}
        gaps = [one.srcc - (known[one.cell.seed] or 0.0) for one in own
                if one.srcc is not None and known.get(one.cell.seed) is not None]  # fmt: skip
        paired = over_seeds(gaps, settings.level, (-2.0, 2.0))
    figures = {
        name: over_seeds([v for one in own if (v := getattr(one, name)) is not None], settings.level, ends)
        for name, ends in WITHIN.items()
    }
    return AblateRow(
        factor=factor, value=value, **figures, difference=paired, calls=own[0].calls if own else 0,
        seeds=sum(one.srcc is not None for one in own), failed=sum(one.srcc is None for one in own),
    )  # fmt: skip


def over_seeds(values: Sequence[float], level: float, within: tuple[float, float]) -> Estimate | None:
    """Mean and t interval over seeds, cut to what can be at all; no interval for one seed or for seeds that are all
    alike, nothing for none.
    """
    n = len(values)
    if not n:
        return None
    mean = float(np.mean(values))
    if n == 1:
        return Estimate(value=mean, low=None, high=None, n=1, unit="seed", level=level, method="no interval: one seed")
    half = float(stats.t.ppf((1 + level) / 2, n - 1) * np.std(values, ddof=1) / n**0.5)
    if half <= 1e-12 * max(1.0, abs(mean)):
        why = "no interval: the same for every seed"
        return Estimate(value=mean, low=None, high=None, n=n, unit="seed", level=level, method=why)
    low, high = max(mean - half, within[0]), min(mean + half, within[1])
    return Estimate(value=mean, low=low, high=high, n=n, unit="seed", level=level, method="t over seeds")
