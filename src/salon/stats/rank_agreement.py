"""Agreement on an order: of generators between people and a predictor, of items between two methods.

Data: of each cluster (prompt) c and generator g the points it won among people (votes), the points it won by the
predictor's decisions, and the number of its pairs. A generator's value is its points over its pairs, on either side.

* spearman: Pearson's correlation of the mid-ranks of the two values over generators.
* kendall: tau-b, (concordant - discordant) / sqrt(pairs not tied by people * pairs not tied by the predictor).
* nmse: normalised mean squared error, mean over generators of (x - y)^2 with each side's values stretched so that its
  lowest is 0 and its highest 1. 0: the same spacing; 1/3 for a reversed, evenly spaced order of many, 1/6 for two
  unrelated ones. HPSv3 prints a 'normalized MSE' without a formula: this one is ours, and only like it.

Intervals: whole prompts are drawn again, generators held fixed: how sure the order of *these* generators is. With G
generators few values are possible (4: Kendall moves in steps of 1/3), and an interval may end at 1. An error that
cannot be below 0 is larger in most draws than in the data, so the interval of nmse reaches as far below the value as
the upper percentile is above it, and no further than 0: it covers at its level or above, where percentiles do not.

Edges: fewer than three generators, or one value for all on a side: None. An order that no draw changes has no interval:
it would have no width.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew
from salon.stats.agreement import induced_outcomes
from salon.stats.intervals import BOTH_SIDES, UNBOUNDED, Ends, check_settings, draw_totals, interval, row_kinds
from salon.stats.result import Estimate

FloatArray = NDArray[np.float64]
_LEAST = 3


@dataclass(frozen=True, slots=True)
class GeneratorRanks:
    """Agreement on the order of generators."""

    people: tuple[Estimate | None, ...]
    """Of each generator the share of points won; None where it has no pair."""
    predictor: tuple[Estimate | None, ...]
    spearman: Estimate | None
    kendall: Estimate | None
    nmse: Estimate | None
    reason: str | None
    """Why there is no correlation."""


def generator_ranks(
    people: ArrayLike,
    predictor: ArrayLike,
    pairs: ArrayLike,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> GeneratorRanks:
    """From (clusters, generators) tables of points by people, points by the predictor, and pairs."""
    won, decided, n = (np.asarray(table, float) for table in (people, predictor, pairs))
    if not (won.shape == decided.shape == n.shape) or won.ndim != 2:
        raise BadValue("three tables of clusters by generators", found=f"{won.shape}, {decided.shape}, {n.shape}")
    table = np.concatenate([won, decided, n], axis=1)
    clusters = len(table)
    check_settings(clusters, draws, level)
    total = table.sum(axis=0, keepdims=True)
    sides, spread = _values(total), _values(draw_totals(*row_kinds(table), draws=draws, rng=rng))
    behind = _prompts_behind(n)
    return _agreement(sides, spread, (behind, behind), int((n > 0).any(axis=1).sum()), BOTH_SIDES, level)


def mean_ranks(
    values: ArrayLike,
    people: ArrayLike,
    pairs: ArrayLike,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> GeneratorRanks:
    """The same where the predictor gives numbers to pictures of prompts of its own: a generator's value is their mean.

    `values` is (prompts, generators), complete; `people` and `pairs` are (clusters, generators) as above. The two sets
    of prompts are drawn again independently of each other; n of an agreement is the smaller of the two.
    """
    x, won, n = (np.asarray(table, float) for table in (values, people, pairs))
    if won.shape != n.shape or x.ndim != 2 or won.ndim != 2 or x.shape[1] != won.shape[1]:
        raise BadValue("tables of the same generators are needed", found=f"{x.shape}, {won.shape}, {n.shape}")
    if not np.isfinite(x).all():
        raise BadValue("every prompt needs a finite value of every generator", found="NaN or infinity")
    votes = np.concatenate([won, won, n], axis=1)
    for clusters in (len(x), len(votes)):
        check_settings(clusters, draws, level)
    sides = _values(votes.sum(axis=0, keepdims=True))[0], x.mean(axis=0, keepdims=True)
    spread = (
        _values(draw_totals(*row_kinds(votes), draws=draws, rng=rng))[0],
        draw_totals(*row_kinds(x), draws=draws, rng=rng) / len(x),
    )
    behind = min(len(x), int((n > 0).any(axis=1).sum()))
    return _agreement(sides, spread, (_prompts_behind(n), [len(x)] * x.shape[1]), behind, UNBOUNDED, level)


def _prompts_behind(pairs: FloatArray) -> list[int]:
    """Of each generator the prompts it stood in."""
    return [int(count) for count in (pairs > 0).sum(axis=0)]


def _agreement(
    sides: tuple[FloatArray, FloatArray],
    spread: tuple[FloatArray, FloatArray],
    prompts: tuple[Sequence[int], Sequence[int]],
    behind: int,
    ends: Ends,
    level: float,
) -> GeneratorRanks:
    """From the values of both sides, (1, generators), and those of all draws, (draws, generators).

    `prompts` stand behind each value of each side, `behind` stand behind an agreement.
    """

    def estimate(value: FloatArray, replicates: FloatArray, n: int, within: Ends = BOTH_SIDES) -> Estimate | None:
        return _estimate(float(value[0]), replicates, n, level, within)

    reason = _reason_for_none(*(side[0] for side in sides))
    shares = [
        tuple(estimate(side[:, g], replicates[:, g], counts[g], within) for g in range(side.shape[1]))
        for side, replicates, counts, within in zip(sides, spread, prompts, (BOTH_SIDES, ends))
    ]
    if reason is not None:
        return GeneratorRanks(shares[0], shares[1], None, None, None, reason)
    orders = [estimate(of(*sides), of(*spread), behind) for of in (spearman, kendall)]
    apart = _reflect_lower_end(estimate(nmse(*sides), nmse(*spread), behind))
    return GeneratorRanks(shares[0], shares[1], orders[0], orders[1], apart, None)


def _estimate(value: float, replicates: FloatArray, clusters: int, level: float, within: Ends) -> Estimate | None:
    if np.isnan(value):
        return None
    if clusters == 1:
        return Estimate(value, None, None, 1, "prompt", level, "no interval: one prompt")
    return interval(value, replicates, n=clusters, unit="prompt", level=level, within=within)


def _reflect_lower_end(estimate: Estimate | None) -> Estimate | None:
    """An error's interval: its lower end as far below the value as the upper one is above, and not below 0."""
    if estimate is None or estimate.high is None:
        return estimate
    high = max(estimate.value, estimate.high)
    return replace(
        estimate, low=max(0.0, 2 * estimate.value - high), high=high, method=f"{estimate.method}, lower end reflected"
    )


def spearman(x: FloatArray, y: FloatArray) -> FloatArray:
    """Of each row of two (draws, generators) tables; NaN where a side is constant or unknown."""
    from scipy.stats import rankdata

    a, b = (rankdata(side, axis=1, nan_policy="propagate") for side in (x, y))
    a, b = a - a.mean(axis=1, keepdims=True), b - b.mean(axis=1, keepdims=True)
    return _ratio((a * b).sum(axis=1), (a**2).sum(axis=1) * (b**2).sum(axis=1))


def kendall(x: FloatArray, y: FloatArray) -> FloatArray:
    """Tau-b of each row of two (draws, generators) tables; NaN where a side is constant or unknown."""
    i, j = np.triu_indices(x.shape[1], 1)
    a, b = np.sign(x[:, i] - x[:, j]), np.sign(y[:, i] - y[:, j])
    return _ratio((a * b).sum(axis=1), (a**2).sum(axis=1) * (b**2).sum(axis=1))


def nmse(x: FloatArray, y: FloatArray) -> FloatArray:
    """Mean squared gap of each row of two (draws, generators) tables, each row stretched to [0, 1]; NaN if constant."""
    return np.asarray(((_stretch(x) - _stretch(y)) ** 2).mean(axis=1), np.float64)


def _stretch(values: FloatArray) -> FloatArray:
    low, width = values.min(axis=1, keepdims=True), np.ptp(values, axis=1, keepdims=True)
    return np.where(width > 0, (values - low) / np.where(width > 0, width, 1), np.nan)


def _ratio(top: FloatArray, square: FloatArray) -> FloatArray:
    positive = square > 0
    return np.where(positive, top / np.sqrt(np.where(positive, square, 1)), np.nan)


def _values(totals: FloatArray) -> tuple[FloatArray, FloatArray]:
    won, decided, n = np.split(totals, 3, axis=1)
    has_pairs = n > 0
    size = np.where(has_pairs, n, 1)
    return np.where(has_pairs, won / size, np.nan), np.where(has_pairs, decided / size, np.nan)


def _reason_for_none(people: FloatArray, predictor: FloatArray) -> str | None:
    if len(people) < _LEAST:
        return f"an order of generators needs at least {_LEAST}; there are {len(people)}"
    if np.isnan(people).any():
        return "a generator has no pair"
    if np.ptp(people) == 0 or np.ptp(predictor) == 0:
        return "all generators won the same share"
    return None


# -- two methods on the same items -------------------------------------------------------------------------------------


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
    """All figures for one group. `pairs` (m, 2) are the pairs to decide on: all n(n-1)/2 when absent.

    Two methods, one group of items: how alike are their scores?

    x and y are the scores of the same n items by two methods, on one scale.

    * `srcc`: Spearman's correlation (Pearson's on mid-ranks). Interval: jackknife over items on Fisher's z = atanh(r),
      t with n - 1 degrees of freedom. The closed forms fail where fusion lives: at a true .9945 and n = 50 Bonett and
      Wright's covers 79%, the jackknife 91% (95% at .89); resampling items with replacement would tie them.
    * `spearman_p`: P(|r| as large) over all n! orders up to n = 8; beyond, Student's t with n - 2 degrees of freedom.
    * `plcc`: Pearson's correlation. `mae`: mean of |x - y|.
    * `decisions`: share of pairs with the same decision, a wins / tie / b wins, where |difference| <= `tie_margin` is a
      tie. PPaint does not print its margin. The default 0 makes only equal scores tie; its 98.5% can be met only up to
      that unknown.
    * `ks_statistic`, `ks_p`: two-sample Kolmogorov-Smirnov (scipy, exact up to 10,000 items). The test takes the
      samples for independent; scores of the same items are not, so it passes too easily: a check of scale, as the paper
      uses it.

    Edges: a constant vector has no correlation: srcc and plcc None, `reason` says why. The interval is None for fewer
    than four items and for a correlation of ±1, in whole or with one item left out (z is infinite).

    Source: PPaint C.3, Table 12; Bonett & Wright 2000; Efron & Tibshirani 1993, chapter 11.
    """
    from scipy import stats

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
    from scipy import stats

    flat = [name for name, v in (("first", x), ("second", y)) if np.ptp(v) <= _ROUNDING * np.abs(v).max()]
    if flat:
        return None, None, None, None, f"no correlation: the {' and the '.join(flat)} method gives one score to all"
    srcc, plcc = _pearson(stats.rankdata(x), stats.rankdata(y)), _pearson(x, y)
    interval = _fisher_jackknife(x, y, srcc, level)
    if isinstance(interval, str):
        return srcc, plcc, None, None, interval
    return srcc, plcc, interval[0], interval[1], None


def _fisher_jackknife(x: Floats, y: Floats, srcc: float, level: float) -> tuple[float, float] | str:
    from scipy import stats

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
    from scipy import stats

    first, second = (stats.rankdata(side) for side in _scores(x, y))
    if len(first) > _MOST_ORDERED:
        return float(stats.spearmanr(first, second).pvalue)
    orders = np.array(list(permutations(second - second.mean())))
    products = orders @ (first - first.mean())
    observed = abs(float((first - first.mean()) @ (second - second.mean())))
    return float((np.abs(products) >= observed - 1e-9).mean())


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
    rows = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    if not len(rows):
        raise TooFew("decisions need at least one pair", found="none")
    if rows.min() < 0 or rows.max() >= n or (rows[:, 0] == rows[:, 1]).any():
        wrong = rows[((rows < 0) | (rows >= n)).any(axis=1) | (rows[:, 0] == rows[:, 1])][0]
        raise BadValue(f"a pair is two different items of 0 to {n - 1}", found=wrong)
    return rows[:, 0], rows[:, 1]
