"""The bootstrap over clusters: whole prompts are drawn again, never single answers.

Model: n clusters (prompts) are a simple random sample; answers inside a cluster may depend on each other in
any way. One draw gives cluster i the weight w_i, w ~ Multinomial(n; 1/n, ..., 1/n), and the statistic is
computed with these weights. The interval holds what lies between two percentiles of the drawn values. BCa (Efron
1987) shifts them by a bias z0 and an acceleration a from the jackknife over clusters.

Percentiles of (1 -+ level)/2 are short for few clusters: draws spread by the variance with denominator n, and that
variance is itself learned from n numbers. So they are expanded (Hesterberg 2015), to those where a normal law has

    -+ q,   q = t_{n-1}^-1((1 + level)/2) sqrt(n/(n-1))

Where draws cannot show so small a tail (at 95%: n < 5; with a thousand draws n = 5 too), the interval is the value
-+ q times the standard deviation of the draws, cut at the ends of what is bounded (`within`).

`bootstrap_totals` is for a statistic of *totals* (sums over clusters of a table of counts). Clusters with equal
rows are exchangeable, so only the number of clusters of each kind is drawn: the law is exactly the same, and a
million prompts with thirty kinds of row cost as much as thirty prompts.

Edges: one cluster has no spread to learn from, so the interval is None. Percentiles without width are never given
either: draws that all say the same are no certainty. A mean over n clusters of numbers in [lo, hi] (`ends`; a share
has 0 and 1) that stands at an end gets the exact bound: a cluster is at hi with a chance of at most (E - lo)/(hi - lo),
n of them all are with at most its n-th power, and so E >= lo + (hi - lo) ((1 - level)/2)^(1/n). For clusters of one
answer this is Clopper & Pearson's (1934); it holds however answers of a cluster depend on each other, if clusters are
of one size. Any other number that draws do not move has no interval, and `method` says why. Draws on which the
statistic is undefined (NaN) are counted in `method`; if more than 5% are undefined there is no interval.

Source: Efron & Tibshirani, An Introduction to the Bootstrap, 1993, chapters 13-14; Field & Welsh 2007 for
clusters; Hesterberg, What Teachers Should Know About the Bootstrap, 2015, for few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtrit

from salon.errors import BadValue, TooFew
from salon.stats.result import Estimate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Resampling(TypedDict):
    """How an interval is made: given as `**resampling` to what draws again."""

    draws: int
    rng: np.random.Generator
    level: float


Kind = Literal["percentile", "bca"]

_MAX_CELLS = 20_000_000  # weights held at once: 160 MB
_MAX_PICKED = 20_000  # clusters picked at once: they stay in the cache
_MAX_UNDEFINED = 0.05
_ROUNDING = 1e-12  # sums of equal numbers differ by that much
_AT_END = 1e-9
Ends = tuple[float, float]
SHARE: Ends = (0.0, 1.0)
BOTH_SIDES: Ends = (-1.0, 1.0)
UNBOUNDED: Ends = (-np.inf, np.inf)


def bootstrap_totals(
    statistic: Callable[[FloatArray], FloatArray],
    table: ArrayLike,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
    kind: Kind = "percentile",
    unit: str = "prompt",
    ends: Ends | None = None,
    within: Ends = UNBOUNDED,
) -> Estimate:
    """Interval of a statistic of totals.

    `table` is (clusters, m): what each cluster adds to m totals. `statistic` maps totals (draws, m) to
    values (draws,). `ends` of a mean of bounded numbers, such as SHARE, `within` of another statistic; see the module.
    """
    rows, counts = row_kinds(table)
    n = int(counts.sum())
    check_settings(n, draws, level)
    total = (counts @ rows)[None, :]
    value = float(statistic(total)[0])
    if n == 1:
        return Estimate(value, None, None, 1, unit, level, "no interval: one cluster")
    drawn = statistic(draw_totals(rows, counts, draws=draws, rng=rng))
    if kind == "percentile":
        return interval(value, drawn, n=n, unit=unit, level=level, ends=ends, within=within)
    return interval(
        value,
        drawn,
        n=n,
        unit=unit,
        level=level,
        folds=statistic(total - rows),
        fold_counts=counts,
        ends=ends,
        within=within,
    )


def row_kinds(table: ArrayLike) -> tuple[FloatArray, IntArray]:
    """The distinct rows of a (clusters, m) table and how many clusters have each."""
    rows = np.asarray(table)
    if rows.ndim == 1:
        rows = rows[:, None]
    if rows.ndim != 2 or rows.size == 0:
        raise TooFew("at least one cluster is needed to resample", found=f"a table of shape {rows.shape}")
    keys = _row_keys(rows)
    if keys is None:
        kinds, counts = np.unique(rows, axis=0, return_counts=True)
        return kinds.astype(float), counts.astype(np.int64)
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return rows[first].astype(float), counts.astype(np.int64)


def draw_totals(rows: FloatArray, counts: IntArray, *, draws: int, rng: np.random.Generator) -> FloatArray:
    """Totals (draws, m) of `draws` bootstrap samples of clusters, from distinct rows and their counts."""
    n, kinds = int(counts.sum()), len(counts)
    if kinds > n / 8:  # few equal rows: picking clusters one by one beats one binomial per row
        owner = np.repeat(np.arange(kinds), counts)
        step = max(1, _MAX_PICKED // n)
        return np.concatenate(
            [_picked(owner, kinds, min(step, draws - start), rng) @ rows for start in range(0, draws, step)]
        )
    step = max(1, _MAX_CELLS // kinds)
    out = np.empty((draws, rows.shape[1]))
    for start in range(0, draws, step):
        stop = min(start + step, draws)
        out[start:stop] = rng.multinomial(n, counts / n, size=stop - start) @ rows
    return out


def _picked(owner: IntArray, kinds: int, draws: int, rng: np.random.Generator) -> FloatArray:
    """How often each kind of row is picked in each draw, (draws, kinds)."""
    kind = owner[rng.integers(0, len(owner), (draws, len(owner)))]
    kind += kinds * np.arange(draws)[:, None]
    return np.bincount(kind.ravel(), minlength=draws * kinds).reshape(draws, kinds).astype(float)


def interval(
    value: float,
    drawn: FloatArray,
    *,
    n: int,
    unit: str,
    level: float = 0.95,
    folds: FloatArray | None = None,
    fold_counts: IntArray | None = None,
    ends: Ends | None = None,
    within: Ends = UNBOUNDED,
    behind: int | None = None,
) -> Estimate:
    """Percentile interval of the drawn values, or BCa if the jackknife `folds` are given.

    `ends` are those of a mean of bounded numbers, `within` those of any other statistic, `behind` the clusters that it
    rests on where they are not all n.
    """
    defined = drawn[~np.isnan(drawn)]
    undefined = len(drawn) - len(defined)
    method = f"{'BCa ' if folds is not None else ''}bootstrap of {unit}s, {len(drawn)} draws"
    if undefined:
        method += f" ({undefined} undefined, left out)"
    if undefined > _MAX_UNDEFINED * len(drawn):
        return Estimate(value, None, None, n, unit, level, f"no interval: {method}")
    resting = n if behind is None else max(2, behind)
    q = expanded_quantile(resting, level)
    smallest = max(1 / len(defined), float(resting) ** -resting)  # tails: one draw; one cluster drawn n times
    if ndtr(-q) < smallest and np.ptp(defined) > 0:
        low, high = np.clip([value - q * defined.std(), value + q * defined.std()], *(ends or within))
        method = f"t interval of the {method}"
    else:
        at = np.array([-q, q]) if folds is None else _bca_shift(np.array([-q, q]), value, defined, folds, fold_counts)
        low, high = np.quantile(defined, ndtr(at), method="inverted_cdf")
    return with_width(Estimate(value, float(low), float(high), n, unit, level, method), ends, behind)


def expanded_quantile(n: int, level: float) -> float:
    """q: how far out, in standard deviations of a normal law, the percentiles of draws of n clusters are read."""
    return float(stdtrit(n - 1, (1 + level) / 2)) * float(np.sqrt(n / (n - 1)))


def with_width(made: Estimate, ends: Ends | None = None, behind: int | None = None) -> Estimate:
    """The same where its interval has a width; else with the exact bound, or with none: see the module."""
    if made.low is None or made.high is None or made.high - made.low > _ROUNDING * max(1.0, abs(made.value)):
        return made
    alike = made.n if behind is None else behind
    if ends is None or alike < 2 or not np.isclose(made.value, ends, rtol=0, atol=_AT_END).any():
        return replace(made, low=None, high=None, method=f"no interval: no width in {made.method}")
    low, high = exact_bound(alike, made.level, at_high=made.value > sum(ends) / 2, ends=ends)
    return replace(made, low=low, high=high, method=f"exact bound for {alike} {made.unit}s alike")


def exact_bound(n: int, level: float, *, at_high: bool, ends: Ends = SHARE) -> tuple[float, float]:
    """The interval of a mean of n numbers between `ends` that all stand at the high end, or at the low one."""
    reach = (ends[1] - ends[0]) * ((1 - level) / 2) ** (1 / n)
    return (ends[0] + reach, ends[1]) if at_high else (ends[0], ends[1] - reach)


def ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """top/bottom, NaN where nothing is left in the denominator."""
    return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1.0), np.nan)


def check_settings(clusters: int, draws: int, level: float) -> None:
    """Refuse settings that no bootstrap can use."""
    if clusters < 1:
        raise TooFew("at least one cluster is needed to resample", found=clusters)
    if draws < 100:
        raise BadValue("a bootstrap interval needs at least 100 draws", found=draws, remedy="draws=2000")
    if not 0 < level < 1:
        raise BadValue("a confidence level lies between 0 and 1", found=level, remedy="level=0.95")


def _bca_shift(
    at: FloatArray, value: float, drawn: FloatArray, folds: FloatArray, counts: IntArray | None
) -> FloatArray:
    """Where BCa reads the draws instead of `at`, both in standard deviations of a normal law."""
    below = np.mean(drawn < value) + np.mean(drawn == value) / 2
    # A statistic at its own extreme has no finite bias correction: half a draw keeps it finite.
    z0 = ndtri(np.clip(below, 0.5 / len(drawn), 1 - 0.5 / len(drawn)))
    weights = np.ones(len(folds)) if counts is None else counts
    away = np.average(folds, weights=weights) - folds
    spread = float(weights @ away**2)
    acceleration = float(weights @ away**3) / (6 * spread**1.5) if spread > 0 else 0.0
    z = z0 + at
    return np.asarray(z0 + z / (1 - acceleration * z), dtype=np.float64)


def _row_keys(rows: NDArray[Any]) -> IntArray | None:
    """One integer per row, equal exactly where rows are equal; None where that does not fit 62 bits."""
    keys = np.zeros(len(rows), np.int64)
    product = 1
    for column in rows.T:
        if np.issubdtype(rows.dtype, np.integer):
            code, size = column - column.min(), int(column.max()) - int(column.min()) + 1
        else:
            distinct, code = np.unique(column, return_inverse=True)
            size = len(distinct)
        product *= size
        if product > 2**62:
            return None
        keys = keys * size + code
    return keys
