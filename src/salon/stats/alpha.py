"""Krippendorff's alpha, and Kendall's W of many small groups at once.

Letters: u a unit (an item or a pair that several raters answered), m_u its number of answers, x an answer, c
a category, n_c the number of pairable answers in c (those in units with m_u >= 2), n = sum of n_c.

alpha = 1 - D_o / D_e with D_o = (1/n) sum_u 1/(m_u - 1) sum_{i != j} d2(x_i, x_j) and D_e the mean of d2
over all ordered pairs of the n pairable answers.

* interval: d2 = (x - y)^2, so D_o = (2/n) sum_u m_u/(m_u - 1) SS_u and D_e = 2 SS/(n - 1), SS_u and SS being
  the sums of squares about the unit's and the grand mean;
* ordinal: Krippendorff's distance is the difference of mid-ranks g_c = sum_{b<c} n_b + n_c/2, so ordinal
  alpha is interval alpha of the mid-ranks;
* nominal: sum_{i != j} d2 = m_u^2 - sum_c n_uc^2.

Alpha is never below -1: m_u/(m_u - 1) <= 2 and the SS_u sum to at most SS (nominal: of 0/1 columns, one a category).

Assumptions: raters are interchangeable; chance is drawing from the pooled answers without replacement.
Units with one answer are not pairable and are left out, as Krippendorff does; `n` of the result counts units
used. Edges: no unit with two answers raises TooFew; one category only raises NotIdentified (0/0); infinite
answers raise BadValue. Source: Krippendorff, Content Analysis, 2018, chapter 12.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, NotIdentified, TooFew
from salon.stats.intervals import BOTH_SIDES, bootstrap_totals
from salon.stats.jit import FEW, TINY, compiled_above
from salon.stats.result import Estimate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
CodeArray = NDArray[np.int32]
Level = Literal["nominal", "ordinal", "interval"]

_DENSE_RANGE = 4096  # integer answers in a range up to this are counted without sorting
_MAX_ORDINAL = 64  # categories an ordinal bootstrap carries: 2,080 totals per cluster


def krippendorff_alpha(values: ArrayLike, *, level: Level) -> Estimate:
    """Alpha of answers (units, raters), NaN where a rater gave none. No interval: see `alpha_bootstrap`."""
    x = _answers(values)
    _known_level(level)
    if level == "interval":
        return _alpha_of(*_interval_sums(x))
    codes, size = _codes(x)
    counts = _pairable_counts(codes, size)
    if level == "nominal":
        units, within = _nominal_disagreement(codes, size)
        n = counts.sum()
        return _alpha_of(units, n, within, (n**2 - (counts**2).sum()) / max(n, 1))
    centered = np.cumsum(counts) - counts / 2 - counts.sum() / 2  # mid-ranks about their mean, n/2
    return _alpha_of(*_ordinal_sums(codes, centered))


def alpha_counts(counts: ArrayLike, category_values: ArrayLike | None, *, level: Level) -> Estimate:
    """Alpha from counts (units, categories in rising order); category values count at interval level only."""
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2:
        raise BadValue("counts must be a table (units, categories)", found=f"shape {table.shape}")
    if not np.isfinite(table).all() or (table < 0).any():
        raise BadValue("counts must be finite and not negative", found=table[~(table >= 0)][:3])
    _known_level(level)
    table = table[table.sum(axis=1) >= 2]
    m, per_category = table.sum(axis=1), table.sum(axis=0)
    n = per_category.sum()
    if level == "nominal":
        within = ((m**2 - (table**2).sum(axis=1)) / (m - 1)).sum()
        return _alpha_of(len(m), n, within, (n**2 - (per_category**2).sum()) / max(n, 1))
    x = np.cumsum(per_category) - per_category / 2
    if level == "interval":
        categories = table.shape[1]
        x = np.asarray(np.arange(categories) if category_values is None else category_values, dtype=np.float64)
        if x.shape != (categories,) or not np.isfinite(x).all():
            raise BadValue(f"one finite value for each of the {categories} categories is needed", found=x)
    x = x - per_category @ x / max(n, 1)
    squares = table @ x**2 - (table @ x) ** 2 / m
    return _alpha_of(len(m), n, (m / (m - 1) * squares).sum(), per_category @ x**2)


def alpha_bootstrap(
    values: ArrayLike,
    clusters: ArrayLike,
    *,
    level: Level,
    draws: int,
    rng: np.random.Generator,
    confidence: float = 0.95,
    unit: str = "prompt",
) -> Estimate:
    """Alpha with an interval from whole clusters drawn again; `clusters` (units,) is each unit's prompt.

    Every cluster adds to a short row of totals (see `alpha_totals`) of which alpha is a function, so a draw
    costs a weighted sum of rows. At ordinal level the mid-ranks are those of the drawn sample, as they
    should be.
    """
    table, alpha = alpha_totals(values, clusters, level=level)
    return bootstrap_totals(alpha, table, draws=draws, rng=rng, level=confidence, unit=unit, within=BOTH_SIDES)


def alpha_totals(
    values: ArrayLike, clusters: ArrayLike, *, level: Level
) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
    """The per-cluster decomposition: a table (clusters, m) and the function from its totals (draws, m) to
    alpha.

    Columns: interval (n, sum x, sum x^2, D); nominal (n_1..n_V, D), where D = sum_u of a unit's
    disagreement; ordinal the V x V coincidences o_ck = sum_u n_uc (n_uk - [c=k]) / (m_u - 1). alpha is NaN
    where a draw is not identified.
    """
    x = _answers(values)
    _known_level(level)
    labels = np.asarray(clusters)
    if labels.shape != (len(x),):
        raise BadValue(f"one cluster for each of the {len(x)} units is needed", found=f"shape {labels.shape}")
    distinct, index = np.unique(labels, return_inverse=True)
    group, size = index.astype(np.int64), len(distinct)
    krippendorff_alpha(x, level=level)  # the named errors for data that cannot answer at all
    if level == "interval":
        return _interval_table(x - np.nanmean(x), group, size), _interval_alpha
    codes, categories = _codes(x)
    if level == "nominal":
        out = np.zeros((size, categories + 1))
        coincidences = _coincidence_table(codes, categories, group, size).reshape(size, categories, categories)
        out[:, :-1] = coincidences.sum(axis=2)
        out[:, -1] = out[:, :-1].sum(axis=1) - np.trace(coincidences, axis1=1, axis2=2)
        return out, _nominal_alpha
    if categories > _MAX_ORDINAL:
        raise BadValue(
            f"an ordinal bootstrap carries at most {_MAX_ORDINAL} categories",
            found=f"{categories} distinct answers",
            remedy="use level='interval', or bin the scale",
        )
    return _coincidence_table(codes, categories, group, size), _ordinal_alpha


def _alpha_of(units: int, n: float, within: float, total: float) -> Estimate:
    """alpha = 1 - (n - 1)/n * within/total, `within` and `total` being the sums of the module's formulas."""
    if units == 0:
        raise TooFew(
            "alpha needs at least one unit with two answers",
            found="no such unit",
            remedy="let two or more raters answer the same units",
        )
    if total <= 0:
        raise NotIdentified(
            "alpha needs at least two different answers",
            found="every answer is the same",
            remedy="report the share of unanimous units; alpha is 0/0 here",
        )
    return Estimate(1 - (n - 1) / n * within / total, None, None, int(units), "unit", method="no interval asked")


def _interval_alpha(totals: FloatArray) -> FloatArray:
    n, s1, s2, within = totals.T
    return _ratio_alpha(n, within, s2 - s1**2 / np.maximum(n, 1), scale=s2)


def _nominal_alpha(totals: FloatArray) -> FloatArray:
    counts, within = totals[:, :-1], totals[:, -1]
    n = counts.sum(axis=1)
    return _ratio_alpha(n, within, (n**2 - (counts**2).sum(axis=1)) / np.maximum(n, 1), scale=n)


def _ordinal_alpha(totals: FloatArray) -> FloatArray:
    size = round(totals.shape[1] ** 0.5)
    o = totals.reshape(-1, size, size)
    counts = o.sum(axis=2)
    g = np.cumsum(counts, axis=1) - counts / 2
    n = counts.sum(axis=1)
    within = np.einsum("bck,bck->b", o, (g[:, :, None] - g[:, None, :]) ** 2) / 2
    mean = (counts * g).sum(axis=1) / np.maximum(n, 1)
    return _ratio_alpha(n, within, (counts * (g - mean[:, None]) ** 2).sum(axis=1), scale=n)


def _ratio_alpha(n: FloatArray, within: FloatArray, total: FloatArray, scale: FloatArray) -> FloatArray:
    ok = total > 1e-12 * np.maximum(scale, 1e-300)
    return np.where(ok, 1 - (n - 1) * within / np.where(ok, n * total, 1.0), np.nan)


def _interval_table(x: FloatArray, group: IntArray, size: int) -> FloatArray:
    m = (~np.isnan(x)).sum(axis=1)
    keep = m >= 2
    x, m, group = x[keep], m[keep], group[keep]
    squares = np.nansum((x - np.nanmean(x, axis=1, keepdims=True)) ** 2, axis=1)
    columns = (m, np.nansum(x, axis=1), np.nansum(x**2, axis=1), m / (m - 1) * squares)
    return np.stack([np.bincount(group, c, minlength=size) for c in columns], axis=1)


def _coincidence_table(codes: CodeArray, categories: int, group: IntArray, size: int) -> FloatArray:
    out = np.zeros((size, categories * categories))
    _add_coincidences(codes, categories, group, out)
    return out


@compiled_above(TINY)
def _interval_sums(x: FloatArray) -> tuple[int, float, float, float]:
    """Units used, n, sum of m/(m-1) SS_u, SS. Two passes, so that a large mean costs no digits."""
    units, n, total = 0, 0.0, 0.0
    for u in range(x.shape[0]):
        m, s = 0, 0.0
        for r in range(x.shape[1]):
            if not np.isnan(x[u, r]):
                m += 1
                s += x[u, r]
        if m >= 2:
            units, n, total = units + 1, n + m, total + s
    grand = total / max(n, 1.0)
    within, squares = 0.0, 0.0
    for u in range(x.shape[0]):
        m, s, ss = 0, 0.0, 0.0
        for r in range(x.shape[1]):
            if not np.isnan(x[u, r]):
                away = x[u, r] - grand
                m, s, ss = m + 1, s + away, ss + away * away
        if m >= 2:
            within += m / (m - 1) * max(ss - s * s / m, 0.0)
            squares += ss
    return units, n, within, squares


@compiled_above(TINY)
def _ordinal_sums(codes: CodeArray, x: FloatArray) -> tuple[int, float, float, float]:
    """`_interval_sums` of answers given as codes of the centered values x."""
    units, n, within, squares = 0, 0.0, 0.0, 0.0
    for u in range(codes.shape[0]):
        m, s, ss = 0, 0.0, 0.0
        for r in range(codes.shape[1]):
            if codes[u, r] >= 0:
                away = x[codes[u, r]]
                m, s, ss = m + 1, s + away, ss + away * away
        if m >= 2:
            units, n = units + 1, n + m
            within += m / (m - 1) * max(ss - s * s / m, 0.0)
            squares += ss
    return units, n, within, squares


@compiled_above(TINY)
def _pairable_counts(codes: CodeArray, size: int) -> FloatArray:
    counts = np.zeros(size)
    for u in range(codes.shape[0]):
        m = 0
        for r in range(codes.shape[1]):
            m += codes[u, r] >= 0
        if m >= 2:
            for r in range(codes.shape[1]):
                if codes[u, r] >= 0:
                    counts[codes[u, r]] += 1
    return counts


@compiled_above(TINY)
def _nominal_disagreement(codes: CodeArray, size: int) -> tuple[int, float]:
    """Units used, and sum over units of (ordered pairs of unlike answers) / (m - 1)."""
    units, within = 0, 0.0
    for u in range(codes.shape[0]):
        m, unlike = 0, 0
        for r in range(codes.shape[1]):
            if codes[u, r] >= 0:
                m += 1
                for s in range(r):
                    unlike += codes[u, s] >= 0 and codes[u, s] != codes[u, r]
        if m >= 2:
            units += 1
            within += 2.0 * unlike / (m - 1)
    return units, within


@compiled_above(TINY)
def _add_coincidences(codes: CodeArray, size: int, group: IntArray, out: FloatArray) -> None:
    for u in range(codes.shape[0]):
        m = 0
        for r in range(codes.shape[1]):
            m += codes[u, r] >= 0
        if m < 2:
            continue
        for r in range(codes.shape[1]):
            for s in range(codes.shape[1]):
                if r != s and codes[u, r] >= 0 and codes[u, s] >= 0:
                    out[group[u], codes[u, r] * size + codes[u, s]] += 1.0 / (m - 1)


@compiled_above(TINY)
def _range(x: FloatArray) -> tuple[float, float]:
    """Smallest and largest answer; (inf, -inf) if there is none. NaN fails every comparison."""
    low, high = np.inf, -np.inf
    for value in x.flat:
        if value < low:
            low = value
        if value > high:
            high = value
    return low, high


@compiled_above(TINY)
def _dense_codes(x: FloatArray, low: float, size: int) -> tuple[bool, CodeArray, IntArray]:
    """Answers minus `low` (-1 for NaN) and the answers at each value; False once one is not a whole step."""
    codes = np.full(x.shape, -1, dtype=np.int32)
    used = np.zeros(size, dtype=np.int64)
    for u in range(x.shape[0]):
        for r in range(x.shape[1]):
            if not np.isnan(x[u, r]):
                code = int(x[u, r] - low)
                if low + code != x[u, r]:
                    return False, codes, used
                codes[u, r] = code
                used[code] += 1
    return True, codes, used


def _codes(x: FloatArray) -> tuple[CodeArray, int]:
    """Answers as category numbers in rising order of value (-1: missing) and the number of categories."""
    low, high = _range(x)
    if high < low:
        return np.full(x.shape, -1, dtype=np.int32), 1
    if high - low < _DENSE_RANGE:
        whole, codes, used = _dense_codes(x, low, int(high - low) + 1)
        if whole and used.all():
            return codes, len(used)
    present = ~np.isnan(x)
    categories, inverse = np.unique(x[present], return_inverse=True)
    codes = np.full(x.shape, -1, dtype=np.int32)
    codes[present] = inverse
    return codes, len(categories)


def _answers(values: ArrayLike) -> FloatArray:
    x = np.ascontiguousarray(values, dtype=np.float64)
    if x.ndim != 2:
        raise BadValue("answers must be a table (units, raters)", found=f"shape {x.shape}")
    if np.isinf(_range(x)).any() and not np.isnan(x).all():
        raise BadValue("answers must be finite, NaN where missing", found="an infinite answer")
    return x


def _known_level(level: str) -> None:
    if level not in get_args(Level):
        raise BadValue("a level of measurement is nominal, ordinal or interval", found=level, remedy="level='ordinal'")


# -- Kendall's W of many small groups ----------------------------------------------------------------------------------


def group_concordances(
    scores: NDArray[np.float32], size: NDArray[np.int32], starts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """W of every group. `scores` (N, p) one answer per row, higher = better; `starts` where each group begins.

    Kendall's W of many small groups at once.

    Model and formula as in `agreement.kendall_w`: R raters give mid-ranks to p items, W = 12 S / (R^2 (p^3 - p) - R
    sum(t^3 - t)), S = sum over items of (rank sum - mean rank sum)^2, t = sizes of the ties. Here answers stand row by
    row, sorted by group, so a million groups cost one pass. Edges: a group whose raters all tie every item has no W and
    is NaN; groups with one rater give NaN. Source: Kendall & Gibbons, Rank Correlation Methods, 1990, chapter 6.
    """
    ends = np.append(starts[1:], len(scores)).astype(np.int64)
    w = np.full(len(starts), np.nan)
    _concordances(scores, size, np.asarray(starts, np.int64), ends, np.zeros(scores.shape[1]), w)
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


def _concordances_arrays(scores, size, starts, ends, sums, w):  # type: ignore[no-untyped-def]  # as below
    width = scores.shape[1]
    there = np.arange(width) < size[:, None]
    above, equal = np.zeros(scores.shape, np.int64), np.zeros(scores.shape, np.int64)
    for j in range(width):
        other, real = scores[:, j : j + 1], there[:, j : j + 1]
        above += real & (other > scores)
        equal += real & (other == scores)
    ranks = np.where(there, 1 + above + (equal - 1) / 2, 0.0)  # halves of whole numbers: running sums are exact
    tied = np.where(there, equal * equal - 1, 0).sum(axis=1)
    until, tied_until = np.zeros((len(scores) + 1, width)), np.zeros(len(scores) + 1)
    np.cumsum(ranks, axis=0, out=until[1:])
    np.cumsum(tied, out=tied_until[1:])
    R, p = ends - starts, size[starts].astype(np.int64)
    totals, own = until[ends] - until[starts], there[starts]
    mean = totals.sum(axis=1) / p
    S = np.where(own, (totals - mean[:, None]) ** 2, 0.0).sum(axis=1)
    largest = R * R * (p**3 - p) - R * (tied_until[ends] - tied_until[starts])
    known = (R > 1) & (largest > 0)
    w[known] = 12 * S[known] / largest[known]


@compiled_above(FEW, _concordances_arrays)
def _concordances(scores, size, starts, ends, sums, w):  # type: ignore[no-untyped-def]  # numba knows the types
    for g in range(len(starts)):
        R = ends[g] - starts[g]
        p = size[starts[g]]
        ties, mean, S = 0.0, 0.0, 0.0
        for i in range(p):
            sums[i] = 0.0
        for r in range(starts[g], ends[g]):
            for i in range(p):
                above, equal = 0, 0
                for j in range(p):
                    above += scores[r, j] > scores[r, i]
                    equal += scores[r, j] == scores[r, i]
                sums[i] += 1 + above + (equal - 1) / 2
                ties += equal * equal - 1  # each of t tied items adds t^2 - 1, the tie t^3 - t in all
        for i in range(p):
            mean += sums[i] / p
        for i in range(p):
            S += (sums[i] - mean) ** 2
        largest = R * R * (p**3 - p) - R * ties
        if R > 1 and largest > 0:
            w[g] = 12 * S / largest
