"""Two methods, one group of items: how alike are their scores?

x and y are the scores of the same n items by two methods, on one scale.

* `srcc`: Spearman's correlation (Pearson's on mid-ranks). Interval: jackknife over items on Fisher's z = atanh(r),
  t with n - 1 degrees of freedom. The closed forms fail where fusion lives: at a true .9945 and n = 50 Bonett and
  Wright's covers 79%, the jackknife 91% (95% at .89); resampling items with replacement would tie them.
* `spearman_p`: P(|r| as large) over all n! orders up to n = 8; beyond, Student's t with n - 2 degrees of freedom.
* `plcc`: Pearson's correlation. `mae`: mean of |x - y|.
* `decisions`: share of pairs with the same decision, a wins / tie / b wins, where |difference| <= `tie_margin` is a
  tie. PPaint does not print its margin. The default 0 makes only equal scores tie; its 98.5% can be met only up
  to that unknown.
* `ks_statistic`, `ks_p`: two-sample Kolmogorov-Smirnov (scipy, exact up to 10,000 items). The test takes the samples
  for independent; scores of the same items are not, so it passes too easily: a check of scale, as the paper uses it.

Edges: a constant vector has no correlation: srcc and plcc None, `reason` says why. The interval is None for fewer than
four items and for a correlation of ±1, in whole or with one item left out (z is infinite).

Source: PPaint C.3, Table 12; Bonett & Wright 2000; Efron & Tibshirani 1993, chapter 11.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from salon.errors import BadValue, TooFew
from salon.stats.outcomes import induced_outcomes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_ORDERED = 8
_ROUNDING = 1e-12  # scores that differ by less than this share of their size are equal


@dataclass(frozen=True, slots=True)
class MethodAgreement:
    """Agreement of two methods' scores of the same items."""

    n: int
    srcc: float | None
    srcc_low: float | None
    srcc_high: float | None
    plcc: float | None
    reason: str | None
    """Why correlations or their interval are absent."""
    mae: float
    decisions: float
    """Share of `pairs` with the same decision."""
    pairs: int
    tie_margin: float
    ks_statistic: float
    ks_p: float
    level: float = 0.95

    @property
    def ks_pass(self) -> bool:
        """PPaint's count: p above .05."""
        return self.ks_p > 0.05


def method_agreement(
    x: ArrayLike, y: ArrayLike, *, pairs: ArrayLike | None = None, tie_margin: float = 0.0, level: float = 0.95
) -> MethodAgreement:
    """All figures for one group. `pairs` (m, 2) are the pairs to decide on: all n(n-1)/2 when absent."""
    first, second = _scores(x, y)
    if not (np.isfinite(tie_margin) and tie_margin >= 0):
        raise BadValue("a tie margin of 0 or more is needed", found=tie_margin)
    if not 0 < level < 1:
        raise BadValue("a level between 0 and 1 is needed", found=level)
    a, b = _pairs(pairs, len(first))
    outcomes = induced_outcomes(np.stack([first, second]), a, b, margin=tie_margin)
    srcc, plcc, low, high, reason = _correlations(first, second, level)
    ks = stats.ks_2samp(first, second)
    return MethodAgreement(
        n=len(first),
        srcc=srcc,
        srcc_low=low,
        srcc_high=high,
        plcc=plcc,
        reason=reason,
        mae=float(np.mean(np.abs(first - second))),
        decisions=float(np.mean(outcomes[:, 0] == outcomes[:, 1])),
        pairs=len(a),
        tie_margin=tie_margin,
        ks_statistic=float(ks.statistic),
        ks_p=float(ks.pvalue),
        level=level,
    )


def _correlations(
    x: Floats, y: Floats, level: float
) -> tuple[float | None, float | None, float | None, float | None, str | None]:
    """SRCC, PLCC, the interval of SRCC, and why something is missing."""
    flat = [name for name, v in (("first", x), ("second", y)) if np.ptp(v) <= _ROUNDING * np.abs(v).max()]
    if flat:
        return None, None, None, None, f"no correlation: the {' and the '.join(flat)} method gives one score to all"
    srcc, plcc = _pearson(stats.rankdata(x), stats.rankdata(y)), _pearson(x, y)
    interval = _fisher_jackknife(x, y, srcc, level)
    if isinstance(interval, str):
        return srcc, plcc, None, None, interval
    return srcc, plcc, interval[0], interval[1], None


def _fisher_jackknife(x: Floats, y: Floats, srcc: float, level: float) -> tuple[float, float] | str:
    n = len(x)
    if n < 4:
        return "no interval: fewer than four items"
    ranks_x, ranks_y = stats.rankdata(x), stats.rankdata(y)
    parts = np.empty(n)
    for i in range(n):
        left_x, left_y = _ranks_without(x, ranks_x, i), _ranks_without(y, ranks_y, i)
        if np.ptp(left_x) == 0 or np.ptp(left_y) == 0:
            return "no interval: one item alone makes the scores differ"
        parts[i] = _pearson(left_x, left_y)
    if max(abs(srcc), np.abs(parts).max()) > 1 - 1e-12:
        return "no interval: the orders are the same, in whole or but for one item"
    z = np.arctanh(parts)
    half = stats.t.ppf((1 + level) / 2, n - 1) * np.sqrt((n - 1) / n * ((z - z.mean()) ** 2).sum())
    return float(np.tanh(np.arctanh(srcc) - half)), float(np.tanh(np.arctanh(srcc) + half))


def _ranks_without(x: Floats, ranks: Floats, i: int) -> Floats:
    """Mid-ranks when item i leaves: those above it fall by one, those tied with it by a half."""
    return np.delete(ranks - (x > x[i]) - 0.5 * (x == x[i]), i)


def _pearson(x: Floats, y: Floats) -> float:
    a, b = x - x.mean(), y - y.mean()
    a, b = a / np.abs(a).max(), b / np.abs(b).max()  # squares of tiny scores would vanish
    return float(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1, 1))


def spearman_p(x: ArrayLike, y: ArrayLike) -> float:
    """Two-sided p of Spearman's correlation: over all orders of up to eight pairs, by Student's t beyond."""
    first, second = (stats.rankdata(side) for side in _scores(x, y))
    if len(first) > _MOST_ORDERED:
        return float(stats.spearmanr(first, second).pvalue)
    orders = np.array(list(permutations(second - second.mean())))
    products = orders @ (first - first.mean())
    seen = abs(float((first - first.mean()) @ (second - second.mean())))
    return float((np.abs(products) >= seen - 1e-9).mean())


def _scores(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise BadValue("two equally long score vectors are needed", found=f"{first.shape} and {second.shape}")
    if len(first) < 2:
        raise TooFew("agreement of methods needs at least two items", found=len(first))
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise BadValue("scores are finite numbers", found="NaN or infinity")
    return first, second


def _pairs(pairs: ArrayLike | None, n: int) -> tuple[Ints, Ints]:
    if pairs is None:
        a, b = np.triu_indices(n, 1)
        return a, b
    given = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if not len(given):
        raise TooFew("decisions need at least one pair", found="none")
    if given.min() < 0 or given.max() >= n or (given[:, 0] == given[:, 1]).any():
        wrong = given[((given < 0) | (given >= n)).any(axis=1) | (given[:, 0] == given[:, 1])][0]
        raise BadValue(f"a pair is two different items of 0 to {n - 1}", found=wrong)
    return given[:, 0], given[:, 1]
