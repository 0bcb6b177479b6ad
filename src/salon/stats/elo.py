"""Sequential Elo, compiled: one rater's comparisons become one score per item.

Update, for a comparison of i and j with outcome o (1: i wins, 1/2: tie, 0: j wins):

    E = 1 / (1 + 10^((q_j - q_i)/scale)),   q_i += K (o - E),   q_j -= K (o - E)

passed over all comparisons `passes` times in a shuffled order, K falling by `decay` after each pass. With
decay the scores settle near the Bradley-Terry fit; a single pass depends on the order of the comparisons.
It is here because the papers rank that way: it has no error and no likelihood. For scores with errors use
Bradley-Terry.

Defaults (start 1500, K 32, decay .995, 150 passes) are PPaint's Table 11; its temperature is not given, so
the usual 400 points per factor of ten stands in. Items without comparisons keep the start and are tied there.
Source: Elo 1978; PPaint appendix C.1.
"""

from __future__ import annotations

import numba
import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def elo_scores(
    first: ArrayLike,
    second: ArrayLike,
    outcome: ArrayLike,
    items: int,
    *,
    rng: np.random.Generator,
    k: float = 32.0,
    decay: float = 0.995,
    passes: int = 150,
    scale: float = 400.0,
    start: float = 1500.0,
) -> FloatArray:
    """Scores (items,) from comparisons of `first` with `second`; outcome 1, 1/2 or 0 for the first item."""
    a, b = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
    o = np.asarray(outcome, dtype=np.float64)
    _check(a, b, o, items)
    order = np.stack([rng.permutation(len(a)) for _ in range(passes)])
    scores = np.full(items, start)
    _update(a, b, o, order, k, decay, scale, scores)
    return scores


@numba.njit(cache=True)
def _update(
    a: IntArray,
    b: IntArray,
    o: FloatArray,
    order: IntArray,
    k: float,
    decay: float,
    scale: float,
    scores: FloatArray,
) -> None:
    for row in range(order.shape[0]):
        for column in range(order.shape[1]):
            c = order[row, column]
            expected = 1.0 / (1.0 + 10.0 ** ((scores[b[c]] - scores[a[c]]) / scale))
            change = k * (o[c] - expected)
            scores[a[c]] += change
            scores[b[c]] -= change
        k *= decay


def _check(a: IntArray, b: IntArray, o: FloatArray, items: int) -> None:
    if not len(a):
        raise TooFew("Elo needs at least one comparison", found="none")
    if not a.shape == b.shape == o.shape:
        raise BadValue("first, second and outcome must be equally long", found=f"{len(a)}, {len(b)}, {len(o)}")
    both = np.concatenate([a, b])
    if both.min() < 0 or both.max() >= items:
        raise BadValue(f"items are numbered 0 to {items - 1}", found=int(both.max() if both.min() >= 0 else both.min()))
    if (a == b).any():
        raise BadValue("an item cannot be compared with itself", found=int(a[a == b][0]))
    if not np.isin(o, (0.0, 0.5, 1.0)).all():
        raise BadValue("an outcome is 1, 0.5 or 0", found=o[~np.isin(o, (0.0, 0.5, 1.0))][0])
