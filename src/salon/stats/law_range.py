"""Ceilings over all laws of p that the votes allow: their bounds, their intervals, and what is above them.

A law is allowed if it gives every cell of the votes a share within the joint bounds of the observed ones: each share's
interval over prompts, Bonferroni over cells. `ceilings` (pairs) and `tick_ceilings` (yes or no) share this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from salon.stats.pair_law import Cell, Laws, Range
from salon.stats.result import Estimate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Share = Callable[[FloatArray, FloatArray, float], tuple[Estimate, int]]
"""From the cells of a share, the cells it is a share of and a level: the share, and the prompts that it rests on."""
_GRID_ERROR = 1e-3
Kind = TypeVar("Kind", bound=Laws)


def allowed_laws(
    kind: type[Kind],
    cells: list[Cell],
    raters: IntArray,
    camp: IntArray,
    total: FloatArray,
    share: Share | None,
    level: float,
) -> Kind:
    """The laws that these votes allow; without `share` (one prompt) those that fit best alone."""
    of_cell = 1 - (1 - level) / len(cells)
    observed, low, high = np.zeros(len(cells)), np.zeros(len(cells)), np.ones(len(cells))
    for i, cell in enumerate(cells):
        same = np.isin(raters, cell.sizes).astype(float)
        here = cell.holds(raters, camp).astype(float)
        observed[i] = total @ here
        if share is not None:
            found, behind = share(here, same, of_cell)
            if found.low is None or found.high is None:  # alike on all prompts: Hoeffding's bound
                reach = float(np.sqrt(np.log(2 / (1 - of_cell)) / (2 * max(behind, 1))))
                low[i], high[i] = max(found.value - reach, 0.0), min(found.value + reach, 1.0)
            else:
                low[i], high[i] = found.low, found.high
    sizes = {int(size): float(total[raters == size].sum()) for size in np.unique(raters)}
    known = share is not None
    return kind(cells, observed, low if known else None, high if known else None, sizes)


def with_near(span: Range, beta: float) -> Range:
    """A range that holds the beta law's value where only the grid of p keeps it out."""
    near = max(span[0] - beta, beta - span[1]) < _GRID_ERROR
    return (min(span[0], beta), max(span[1], beta)) if near else span


def ceiling_estimate(beta: float, span: Range, bounds: Range, *, n: int, level: float, odds: str) -> Estimate:
    """The beta law's value where the range holds it, else the nearest end, with the interval of the range."""
    value = float(np.clip(beta, *span))
    where = (
        "value: beta law"
        if abs(value - beta) < 1e-6
        else f"value: nearest to a beta law, which does not fit ({beta:.3f})"
    )
    if n == 1:
        return Estimate(value, None, None, 1, "prompt", level, "no interval: one prompt")
    method = f"all laws of {odds} that fit the splits within their intervals over prompts; {where}"
    return Estimate(value, min(bounds[0], value), max(bounds[1], value), n, "prompt", level, method)


def leak_warnings(accuracy: Estimate, oracle: Estimate, odds: str) -> list[str]:
    """Words for an accuracy that no law allows; luck is no leak, so its whole interval must be above."""
    low, top = accuracy.low, oracle.high
    if top is None or low is None or low <= top:
        return []
    return [
        f"Accuracy {accuracy.value:.3f} (from {low:.3f}) is above what an oracle could reach under any law of {odds} "
        f"that fits these votes (to {top:.3f}): suspect a leak."
    ]
