"""Kendall's W of many small groups at once.

Model and formula as in `agreement.kendall_w`: R raters give mid-ranks to p items,
W = 12 S / (R^2 (p^3 - p) - R sum(t^3 - t)), S = sum over items of (rank sum - mean rank sum)^2, t = sizes of the ties.
Here answers stand row by row, sorted by group, so a million groups cost one pass.
Edges: a group whose raters all tie every item has no W and is NaN; groups with one rater give NaN.
Source: Kendall & Gibbons, Rank Correlation Methods, 1990, chapter 6.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from salon.stats.compiled import compiled
from salon.stats.result import Estimate


def group_concordances(
    scores: NDArray[np.float32], size: NDArray[np.int32], starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """W of every group. `scores` (N, p) one answer per row, higher = better; `starts` where each group begins."""
    ends = np.append(starts[1:], len(scores)).astype(np.int64)
    w = np.full(len(starts), np.nan)
    _concordances(scores, size, np.asarray(starts, np.int64), ends, w)
    return w


def alpha_from_w(mean_w: Estimate, values: int, raters: int) -> Estimate:
    """Ordinal Krippendorff alpha of complete strict rankings of one shape, from the mean W and the number of values N.

    Every place is used equally often, so ordinal and interval distances agree and the observed disagreement depends
    only on the mean Spearman correlation rho = (R W - 1)/(R - 1): alpha = 1 - (1 - rho)(N - 1)/N.
    """

    def alpha(w: float) -> float:
        return 1 - (1 - (raters * w - 1) / (raters - 1)) * (values - 1) / values

    low, high = (None if end is None else alpha(end) for end in (mean_w.low, mean_w.high))
    return replace(mean_w, value=alpha(mean_w.value), low=low, high=high)


@compiled
def _concordances(scores, size, starts, ends, w):  # type: ignore[no-untyped-def]  # numba knows the types
    for g in range(len(starts)):
        R = ends[g] - starts[g]
        p = size[starts[g]]
        sums = np.zeros(p)
        ties = 0.0
        for r in range(starts[g], ends[g]):
            for i in range(p):
                above, equal = 0, 0
                for j in range(p):
                    above += scores[r, j] > scores[r, i]
                    equal += scores[r, j] == scores[r, i]
                sums[i] += 1 + above + (equal - 1) / 2
                ties += equal * equal - 1  # each of t tied items adds t^2 - 1, the tie t^3 - t in all
        S = ((sums - sums.mean()) ** 2).sum()
        largest = R * R * (p**3 - p) - R * ties
        if R > 1 and largest > 0:
            w[g] = 12 * S / largest
