"""How far raters agree: Fleiss' kappa, Kendall's W, tau between raters, shares of agreement; alpha from
`alpha`.

Letters: u a unit, m_u its answers, n_uc those in category c, R raters, p items, n prompts.
What each number assumes and where it stops is in the docstring of its function.

Sources: Fleiss 1971 and Fleiss, Nee & Landis 1979 for kappa; Gwet 2021 (Educational and Psychological
Measurement 81) for unequal numbers of answers; Kendall & Gibbons, Rank Correlation Methods, 1990, chapters 3 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from salon.errors import BadValue, NotIdentified, TiesNotAllowed, TooFew
from salon.stats.alpha import alpha_bootstrap, alpha_counts, alpha_totals, krippendorff_alpha
from salon.stats.compiled import compiled
from salon.stats.result import Estimate, Test

__all__ = [
    "Concordance",
    "Kappa",
    "PairTau",
    "alpha_bootstrap",
    "alpha_counts",
    "alpha_totals",
    "fleiss_kappa",
    "kendall_w",
    "krippendorff_alpha",
    "pair_tau",
    "supermajority_share",
    "unanimous_share",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Kappa:
    """Fleiss' kappa: the estimate, and the test of no agreement beyond chance."""

    kappa: Estimate
    test: Test
    observed: float
    """Mean share of agreeing pairs of raters within a unit."""
    expected: float
    """The same share expected by chance, sum of squared category shares."""


@dataclass(frozen=True, slots=True)
class Concordance:
    """Kendall's W with the test that all rankings are unrelated."""

    w: float
    raters: int
    items: int
    test: Test


@dataclass(frozen=True, slots=True)
class PairTau:
    """Mean Kendall tau between raters over prompts; the diagonal is 1 where a rater has any prompt."""

    mean: FloatArray
    """(R, R); NaN where two raters share no prompt."""
    error: FloatArray
    """(R, R) standard error over prompts; NaN where fewer than two prompts are shared."""
    prompts: IntArray
    """(R, R) prompts behind each mean."""


def fleiss_kappa(counts: ArrayLike) -> Kappa:
    """Fleiss' kappa from counts (units, categories).

    kappa = (P_o - P_e)/(1 - P_e); P_o is the mean over units of sum_c n_uc(n_uc - 1)/(m_u(m_u - 1)), P_e =
    sum_c q_c^2. With equal m_u this is Fleiss 1971. With unequal m_u it is Gwet's generalisation: q_c is the
    mean over units of n_uc/m_u, and P_o runs over units with m_u >= 2. Units without answers are left out.

    Interval: jackknife over units with t, whose degrees of freedom are the units with an answer outside the commonest
    category, less one. A rare second category on few units is still covered too seldom. Test: z = kappa/se_0 with the
    null error of Fleiss, Nee & Landis 1979 (equal m; the mean m stands in otherwise). Both assume independent units:
    with several units from one prompt use `alpha_bootstrap`, which for large n is the same number.
    Edges: fewer than two units with two answers raises TooFew; one category only raises NotIdentified; units that are
    all unanimous have a kappa of 1 and no interval.
    """
    table = _counts(counts)
    m = table.sum(axis=1)
    paired = m >= 2
    if not paired.any():
        raise TooFew("kappa needs units with two answers", found="no such unit")
    shares = table / m[:, None]
    q = shares.mean(axis=0)
    expected = float(q @ q)
    if expected >= 1:
        raise NotIdentified("kappa needs at least two categories in use", found="every answer is the same")
    agree = np.where(paired, (table * (table - 1)).sum(axis=1) / np.where(paired, m * (m - 1), 1), np.nan)
    observed = float(agree[paired].mean())
    kappa = (observed - expected) / (1 - expected)
    low, high = _kappa_interval(table, shares, agree, kappa)
    z = kappa / _null_error(q, float(m[paired].mean()), int(paired.sum()))
    n = int(paired.sum())
    return Kappa(
        Estimate(kappa, low, high, n, "unit", 0.95, "no interval" if low is None else "jackknife over units, t"),
        Test("Fleiss kappa", z, float(2 * stats.norm.sf(abs(z))), "standard normal", n, "unit"),
        observed,
        expected,
    )


def kendall_w(ranks: ArrayLike) -> Concordance:
    """Kendall's W of (raters, items) ranks or scores, ties at their mid-rank.

    W = 12 S / (R^2 (p^3 - p) - R sum_r T_r), S the sum of squares of the items' rank sums about their mean
    and T_r = sum over tied groups of (t^3 - t). Test: R(p - 1)W ~ chi-square with p - 1 degrees of freedom,
    good for p >= 7 or so; for one prompt with few items use the exact null of T instead.
    Edges: NaN raises BadValue (W has no missing data: drop the rater or the item by a stated rule first);
    one rater or one item raises TooFew; raters who all tie everything raise NotIdentified.
    """
    scores = _rater_table(ranks)
    raters, items = scores.shape
    if raters < 2 or items < 2:
        raise TooFew("W needs at least two raters and two items", found=f"{raters} raters, {items} items")
    r = stats.rankdata(scores, axis=1)
    sums = r.sum(axis=0)
    s = float(((sums - sums.mean()) ** 2).sum())
    # A rater's ranks have sum of squares (p^3 - p - T_r)/12 about their mean: ties need no counting.
    most = raters * float(((r - r.mean(axis=1, keepdims=True)) ** 2).sum())
    if most <= 0:
        raise NotIdentified("W needs a rater who tells some items apart", found="every rater ties every item")
    w = s / most
    chi2 = raters * (items - 1) * w
    p = float(stats.chi2.sf(chi2, items - 1))
    law = f"chi-square, {items - 1} degrees of freedom"
    return Concordance(w, raters, items, Test("Kendall W", chi2, p, law, items, "item"))


def pair_tau(ranks: ArrayLike) -> PairTau:
    """Mean tau of every pair of raters over prompts, from strict ranks (n, R, p).

    tau = (concordant - discordant) / C(p,2) per prompt. A rater absent from a prompt has ranks -1 there; a
    pair's mean runs over the prompts both ranked, and `prompts` counts them. Equal ranks raise
    TiesNotAllowed.
    """
    total, squares, prompts = _tau_sums(strict_ranks(ranks))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / prompts
        variance = np.maximum(squares - prompts * mean**2, 0) / np.where(prompts > 1, prompts - 1, np.nan)
        error = np.sqrt(variance / prompts)
    return PairTau(mean, error, prompts)


def unanimous_share(counts: ArrayLike) -> float:
    """Share of units on which all answers fall in one category, among units with two answers or more."""
    return supermajority_share(counts, at_least=1.0)


def supermajority_share(counts: ArrayLike, *, at_least: float = 0.8) -> float:
    """Share of units whose largest category holds `at_least` of the answers (4 of 5 by default).

    Units with fewer than two answers are left out; TooFew if none is left.
    """
    table = _counts(counts)
    table = table[table.sum(axis=1) >= 2]
    if not len(table):
        raise TooFew("a share of agreement needs units with two answers", found="no such unit")
    # 4/5 is not exact in binary: a hair of slack keeps 4 of 5 at least 0.8.
    return float(np.mean(table.max(axis=1) >= at_least * table.sum(axis=1) - 1e-9))


def _kappa_interval(
    table: FloatArray, shares: FloatArray, agree: FloatArray, kappa: float
) -> tuple[float | None, float | None]:
    """Units left out one at a time, and t; the units with an answer outside the commonest category are its freedom."""
    n, paired = len(agree), ~np.isnan(agree)
    if paired.sum() < 2:
        return None, None
    q = (shares.sum(axis=0) - shares) / (n - 1)
    expected = (q**2).sum(axis=1)
    known = np.where(paired, agree, 0.0)
    observed = (known.sum() - known) / (paired.sum() - paired)
    if (expected >= 1).any():  # one unit holds all answers of the second category
        return None, None
    left_out = (observed - expected) / (1 - expected)
    error = np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
    if error < 1e-9:  # all units unanimous: they show no spread, which is no certainty
        return None, None
    others = int((table.sum(axis=1) > table[:, table.sum(axis=0).argmax()]).sum())
    half = float(stats.t.ppf(0.975, max(others - 1, 1)) * error)
    return max(kappa - half, -1.0), min(kappa + half, 1.0)


def _null_error(q: FloatArray, m: float, units: int) -> float:
    spread = q @ (1 - q)
    skew = (q * (1 - q) * (1 - 2 * q)).sum()
    return float(np.sqrt(2 * (spread**2 - skew) / (units * m * (m - 1))) / spread)


def _counts(counts: ArrayLike) -> FloatArray:
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 1:
        raise BadValue("counts must be a table (units, categories)", found=f"shape {table.shape}")
    if not np.isfinite(table).all() or (table < 0).any():
        raise BadValue("counts must be finite and not negative", found=table[~(table >= 0)][:3])
    answered: FloatArray = table[table.sum(axis=1) > 0]
    return answered


def _rater_table(ranks: ArrayLike) -> FloatArray:
    scores = np.asarray(ranks, dtype=np.float64)
    if scores.ndim != 2:
        raise BadValue("ranks must be a table (raters, items)", found=f"shape {scores.shape}")
    if not np.isfinite(scores).all():
        row, column = np.argwhere(~np.isfinite(scores))[0]
        raise BadValue(
            "W needs every rater's rank of every item",
            found=scores[row, column],
            where=f"rater {row}, item {column}",
            remedy="drop the rater or the item by a stated rule, or use alpha, which takes missing answers",
        )
    return scores


def strict_ranks(ranks: ArrayLike) -> IntArray:
    """Ranks (prompts, raters, items) as integers, once it is sure that no rater ties items."""
    r = np.asarray(ranks)
    if r.ndim != 3 or r.shape[2] < 2:
        raise BadValue("ranks must be (prompts, raters, items) with two items or more", found=f"shape {r.shape}")
    if not np.issubdtype(r.dtype, np.integer):
        raise BadValue("ranks must be integers, -1 for an absent rater", found=str(r.dtype))
    r = np.ascontiguousarray(r, dtype=r.dtype if r.dtype == np.int8 else np.int64)  # a million prompts come as int8
    bad = _first_tie(r)
    if bad >= 0:
        prompt, rater = divmod(bad, r.shape[1])
        raise TiesNotAllowed(
            "each rater's ranks of a prompt must differ (or all be -1 for an absent rater)",
            found=r[prompt, rater].tolist(),
            where=f"prompt {prompt}, rater {rater}",
            remedy="break ties by a stated rule",
        )
    return r


@compiled
def _first_tie(r: IntArray) -> int:
    """Flat (prompt, rater) index of the first row neither strict nor absent; -1 if all are well formed."""
    for i in range(r.shape[0]):
        for a in range(r.shape[1]):
            negative, equal = 0, False
            for x in range(r.shape[2]):
                negative += r[i, a, x] < 0
                for y in range(x):
                    equal = equal or r[i, a, x] == r[i, a, y]
            absent = negative == r.shape[2]
            if (negative and not absent) or (equal and not absent):
                return int(i * r.shape[1] + a)
    return -1


@compiled
def _one_tau(x: IntArray, y: IntArray) -> float:
    """Tau of two strict rank vectors, NaN if either is absent."""
    if x[0] < 0 or y[0] < 0:
        return np.nan
    p, balance = len(x), 0
    for a in range(p):
        for b in range(a):
            balance += 1 if (x[a] < x[b]) == (y[a] < y[b]) else -1
    return balance / (p * (p - 1) // 2)


@compiled
def _tau_sums(r: IntArray) -> tuple[FloatArray, FloatArray, IntArray]:
    raters = r.shape[1]
    total, squares = np.zeros((raters, raters)), np.zeros((raters, raters))
    prompts = np.zeros((raters, raters), dtype=np.int64)
    for i in range(r.shape[0]):
        for a in range(raters):
            for b in range(a, raters):
                t = _one_tau(r[i, a], r[i, b])
                if not np.isnan(t):
                    total[a, b] += t
                    squares[a, b] += t * t
                    prompts[a, b] += 1
    for a in range(raters):
        for b in range(a):
            total[a, b], squares[a, b], prompts[a, b] = total[b, a], squares[b, a], prompts[b, a]
    return total, squares, prompts
