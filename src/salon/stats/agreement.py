"""Agreement between raters, and how each rater behaves.

Fleiss' kappa, Kendall's W, tau between raters and shares of agreement; agreement on outcomes of pairs; shares, runs
and outliers among raters; means over panels of raters. Alpha is in `salon.stats.alpha`.

Letters: u a unit, m_u its answers, n_uc those in category c, R raters, p items, n prompts.
What each number assumes and where it stops is in the docstring of its function.

Sources: Fleiss 1971 and Fleiss, Nee & Landis 1979 for kappa; Gwet 2021 (Educational and Psychological
Measurement 81) for unequal numbers of answers; Kendall & Gibbons, Rank Correlation Methods, 1990, chapters 3 and 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, ndtr, ndtri, stdtrit

from salon.errors import BadValue, NotIdentified, TiesNotAllowed, TooFew
from salon.stats.alpha import alpha_counts
from salon.stats.binomial import binomial_sf
from salon.stats.jit import FEW, TINY, compiled_above
from salon.stats.result import Estimate, Test

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
    table = _answered_counts(counts)
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
    null_error = _null_error(q, float(m[paired].mean()), int(paired.sum()))
    z = kappa / null_error
    n = int(paired.sum())
    return Kappa(
        Estimate(kappa, low, high, n, "unit", 0.95, "no interval" if low is None else "jackknife over units, t"),
        Test("Fleiss kappa", z, float(2 * ndtr(-abs(z))), "standard normal", n, "unit"),
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
    from scipy import stats

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
    p = float(chdtrc(items - 1, chi2))
    law = f"chi-square, {items - 1} degrees of freedom"
    return Concordance(w, raters, items, Test("Kendall W", chi2, p, law, items, "item"))


def pair_tau(ranks: ArrayLike) -> PairTau:
    """Mean tau of every pair of raters over prompts, from strict ranks (n, R, p).

    tau = (concordant - discordant) / C(p,2) per prompt. A rater absent from a prompt has ranks -1 there; a
    pair's mean runs over the prompts both ranked, and `prompts` counts them. Equal ranks raise
    TiesNotAllowed.
    """
    strict = strict_ranks(ranks)
    square = (strict.shape[1], strict.shape[1])
    total, squares, prompts = np.zeros(square), np.zeros(square), np.zeros(square, np.int64)
    _add_taus(strict, total, squares, prompts)
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
    table = _answered_counts(counts)
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
    agree_or_zero = np.where(paired, agree, 0.0)
    observed = (agree_or_zero.sum() - agree_or_zero) / (paired.sum() - paired)
    if (expected >= 1).any():  # one unit holds all answers of the second category
        return None, None
    left_out = (observed - expected) / (1 - expected)
    error = np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
    if error < 1e-9:  # all units unanimous: they show no spread, which is no certainty
        return None, None
    outside_commonest = int((table.sum(axis=1) > table[:, table.sum(axis=0).argmax()]).sum())
    half = float(stdtrit(max(outside_commonest - 1, 1), 0.975) * error)
    return max(kappa - half, -1.0), min(kappa + half, 1.0)


def _null_error(q: FloatArray, m: float, units: int) -> float:
    spread = q @ (1 - q)
    skew = (q * (1 - q) * (1 - 2 * q)).sum()
    return float(np.sqrt(2 * (spread**2 - skew) / (units * m * (m - 1))) / spread)


def _answered_counts(counts: ArrayLike) -> FloatArray:
    table = np.asarray(counts, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 1:
        raise BadValue("counts must be a table (units, categories)", found=f"shape {table.shape}")
    if not np.isfinite(table).all() or (table < 0).any():
        raise BadValue("counts must be finite and not negative", found=table[~(table >= 0)][:3])
    answered: FloatArray = table[table.sum(axis=1) > 0]
    return answered


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


def _first_tie_arrays(r: IntArray) -> int:
    negative = np.count_nonzero(r < 0, axis=2)
    ordered = np.sort(r, axis=2)
    equal = (ordered[:, :, 1:] == ordered[:, :, :-1]).any(axis=2)
    bad = ((negative > 0) | equal) & (negative < r.shape[2])
    return int(np.argmax(bad)) if bad.any() else -1


@compiled_above(FEW, _first_tie_arrays)
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


@compiled_above(1_000 * TINY)
def _one_tau(x: IntArray, y: IntArray) -> float:
    """Tau of two strict rank vectors, NaN if either is absent."""
    if x[0] < 0 or y[0] < 0:
        return np.nan
    p, balance = len(x), 0
    for a in range(p):
        for b in range(a):
            balance += 1 if (x[a] < x[b]) == (y[a] < y[b]) else -1
    return balance / (p * (p - 1) // 2)


_MANY_RATERS = 200  # whose products by prompt would fill the memory


def _add_taus_arrays(r: IntArray, total: FloatArray, squares: FloatArray, prompts: IntArray) -> None:
    if r.shape[1] > _MANY_RATERS:
        _add_taus.machine(r, total, squares, prompts)
        return
    x, y = np.triu_indices(r.shape[2], 1)
    for start in range(0, len(r), 64):
        part = r[start : start + 64]
        there = part[:, :, 0] >= 0
        order = np.where(part[:, :, x] < part[:, :, y], 1.0, -1.0) * there[:, :, None]
        taus = order @ order.transpose(0, 2, 1) / len(x)
        total += taus.sum(axis=0)
        squares += (taus * taus).sum(axis=0)
        prompts += np.count_nonzero(there[:, :, None] & there[:, None, :], axis=0)


@compiled_above(FEW, _add_taus_arrays)
def _add_taus(r: IntArray, total: FloatArray, squares: FloatArray, prompts: IntArray) -> None:
    raters = r.shape[1]
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


# -- agreement on the outcomes of pairs --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OutcomeAgreement:
    """Agreement of raters on the outcomes of the same pairs.

    Agreement per judgment, in one label space: outcomes first / tie / second (1, 0, -1) of pairs by raters.

    Ratings become induced outcomes on the same pairs, so that ratings and comparisons are measured with the same
    three labels (PPaint B.3). `convergence` is the share of rater pairs who give the same outcome, averaged over
    pairs of items: the figure HPSv3 prints for HPDv2 (59.9%) and HPDv3 (76.5%), as far as its text defines it.
    """

    fleiss: Kappa
    alpha: Estimate
    unanimous: float
    supermajority: float
    """Share of pairs on which at least four of five agree."""
    convergence: float
    majority: IntArray
    """(pairs,) the outcome most raters gave, 0 (a tie) where two outcomes lead together."""


def induced_outcomes(scores: ArrayLike, first: ArrayLike, second: ArrayLike, *, margin: float = 0.0) -> FloatArray:
    """Outcomes (pairs, raters) that scores (raters, items) imply: 1, -1, or 0 where they differ by at most
    `margin`.

    NaN where a rater lacks one of the two scores.
    """
    x = np.asarray(scores, dtype=np.float64)
    if x.ndim != 2:
        raise BadValue("scores must be a table (raters, items)", found=f"shape {x.shape}")
    gap = x[:, np.asarray(first)] - x[:, np.asarray(second)]
    return np.where(np.isnan(gap), np.nan, np.where(np.abs(gap) <= margin, 0.0, np.sign(gap))).T


def outcome_counts(outcomes: ArrayLike) -> IntArray:
    """Counts (pairs, 3) of second, tie and first from outcomes (pairs, raters)."""
    o = np.asarray(outcomes, dtype=np.float64)
    values = o[~np.isnan(o)]
    if o.ndim != 2 or not np.isin(values, (-1.0, 0.0, 1.0)).all():
        raise BadValue("outcomes (pairs, raters) are 1, 0, -1, or NaN where missing", found=values[:3])
    return np.stack([(o == value).sum(axis=1) for value in (-1, 0, 1)], axis=1)


def outcome_agreement(outcomes: ArrayLike) -> OutcomeAgreement:
    """Fleiss kappa, nominal alpha, shares of agreement, convergence and majority-with-tie labels."""
    return agreement_of_counts(outcome_counts(outcomes))


def agreement_of_counts(counts: IntArray) -> OutcomeAgreement:
    """The same from counts (pairs, 3) of second, tie and first."""
    kappa = fleiss_kappa(counts)
    most = counts.max(axis=1)
    alone = (counts == most[:, None]).sum(axis=1) == 1
    return OutcomeAgreement(
        fleiss=kappa,
        alpha=alpha_counts(counts, None, level="nominal"),
        unanimous=unanimous_share(counts),
        supermajority=supermajority_share(counts),
        convergence=kappa.observed,
        majority=np.where(alone, counts.argmax(axis=1) - 1, 0),
    )


# -- how each rater behaves --------------------------------------------------------------------------------------------


class LongestRun(NamedTuple):
    """The longest run of one answer, and the chance of one so long if answers came in random order."""

    length: int
    answers: int
    p: float


@dataclass(frozen=True, slots=True)
class Outlier:
    """A rater's agreement with the rest over criteria."""

    rater: int
    lowest_in: int
    """Criteria in which the rater has the lowest mean tau to the rest."""
    criteria: int
    p: float
    """Chance that a rater like the others is lowest so often, times the number of raters (Bonferroni), at most 1."""
    flagged: bool


def wilson(successes: int, n: int, *, level: float = 0.95, unit: str = "judgment") -> Estimate:
    """A share with Wilson's interval; value NaN and no interval for n = 0.

    How each rater behaves: shares of judgments, straight lines, flags, outliers.

    A share of no judgments is None in an Estimate's interval and NaN in its value: it is unknown, not zero.

    Intervals of shares are Wilson's (1927): never outside [0, 1], never of zero width. They take a rater's
    judgments as independent, which judgments on the same prompt are only roughly.
    """
    if n == 0:
        return Estimate(np.nan, None, None, 0, unit, level, "no judgments")
    z = float(ndtri((1 + level) / 2))
    share = successes / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return Estimate(share, max(middle - half, 0.0), min(middle + half, 1.0), n, unit, level, "Wilson")


def longest_run(answers: ArrayLike, *, rng: np.random.Generator, shuffles: int = 999) -> LongestRun:
    """Straight-lining: the longest run of one answer in the order given.

    The null keeps the rater's own answers and shuffles their order, so that a rater who rightly says "No" to
    most does not look careless; p = (1 + #{run* >= run}) / (1 + shuffles). One answer throughout has p = 1.
    """
    codes = np.unique(np.asarray(answers), return_inverse=True)[1].astype(np.int64)
    if not len(codes):
        raise TooFew("a run needs at least one answer", found="none")
    length = _longest(codes)
    longer = sum(_longest(rng.permutation(codes)) >= length for _ in range(shuffles))
    return LongestRun(int(length), len(codes), (1 + longer) / (1 + shuffles))


def split_pattern(counts: ArrayLike) -> dict[tuple[int, ...], int]:
    """How many units use exactly which levels, e.g. {(0,): 40, (0, 1): 9}: raters split between No and Minor
    on nine.

    `counts` is (units, levels); units without answers are left out.
    """
    used = np.asarray(counts) > 0
    patterns, n = np.unique(used[used.any(axis=1)], axis=0, return_counts=True)
    return {tuple(np.flatnonzero(row).tolist()): int(k) for row, k in zip(patterns, n)}


def outliers(to_rest: ArrayLike, *, level: float = 0.05) -> tuple[Outlier, ...]:
    """Which raters agree least with the rest in too many criteria?  `to_rest` is (criteria, R):
    the mean of each rater's taus with the others.

    Rule: count the criteria in which the rater is lowest. For a rater like the others each criterion is a
    1-in-R draw, so the count is at most Binomial(criteria, 1/R); flagged if R P(count or more) <= level.
    False-alarm rate: at most `level` over all raters when criteria are independent. Criteria judged on the
    same items are not, so a flag means "look", never "remove". With R = 5, three criteria can flag only 3 of
    3 (p = .04); two criteria can flag nobody.
    """
    t = np.asarray(to_rest, dtype=np.float64)
    if t.ndim != 2 or t.shape[1] < 3:
        raise TooFew("an outlier needs at least three raters to stand out from", found=f"shape {t.shape}")
    complete = t[~np.isnan(t).any(axis=1)]
    criteria, raters = complete.shape
    lowest = np.bincount(complete.argmin(axis=1), minlength=raters)
    p = np.minimum(raters * binomial_sf(lowest - 1, criteria, 1 / raters), 1.0)
    return tuple(Outlier(r, int(lowest[r]), criteria, float(p[r]), bool(p[r] <= level)) for r in range(raters))


@compiled_above(TINY)
def _longest(codes: IntArray) -> int:
    best, run = 1, 1
    for i in range(1, len(codes)):
        run = run + 1 if codes[i] == codes[i - 1] else 1
        best = max(best, run)
    return best


# -- means over panels of raters ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PanelMeans:
    """Means of several figures over panels."""

    means: FloatArray
    errors: FloatArray
    """Standard errors for other raters, the noise of drawing among them."""
    raters: int
    """Raters in at least one panel."""

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Two ends, Student's t with one degree of freedom less than there are raters."""
        half = stdtrit(self.raters - 1, (1 + level) / 2) * self.errors
        return self.means - half, self.means + half


def panel_means(values: ArrayLike, raters: ArrayLike) -> PanelMeans:
    """Means of values (n, k) over panels, whose `raters` (n, R) are numbers.

    Means over panels of R raters drawn from N, with errors for other raters.

    theta = mean of h over panels: a U-statistic of degree R. Panels share raters, so that n panels are no n
    observations. The jackknife leaves out one rater at a time: with z = h - theta and S_i the sum of z over the n_i of
    n panels with i,

        theta_(-i) - theta = - S_i / (n - n_i),        var = (N - 1)/N  sum_i (S_i / (n - n_i))^2.

    Panels are drawn by lot, so S_i also holds noise of variance n_i (1 - n_i/n) v, v = var(z); its part is taken out,
    and the noise of the mean itself, v/n, is put in. The result is never below v/n.

    Assumptions: raters are a random sample; items are fixed. Edges: fewer than 2 R raters raise TooFew, as most panels
    then share most of their raters. Source: Arvesen 1969 (jackknife of U-statistics); Wager, Hastie & Efron 2014 (the
    noise).
    """
    h, panel = np.asarray(values, float), np.asarray(raters)
    if h.ndim != 2 or panel.ndim != 2 or len(h) != len(panel):
        raise BadValue("values (n, k) and raters (n, R) of the same panels are needed", found=(h.shape, panel.shape))
    _, place = np.unique(panel, return_inverse=True)
    n, R = panel.shape
    N = int(place.max(initial=-1)) + 1
    if N < 2 * R:
        raise TooFew(f"panels of {R} need {2 * R} raters or more for an error", found=N)
    means = h.mean(axis=0)
    z = h - means
    v = z.var(axis=0)
    flat = place.reshape(-1)
    met = np.bincount(flat, minlength=N)
    left = n - met
    if not left.all():
        raise TooFew("every rater must be absent from some panel", found="a rater who is in all of them")
    variance = np.empty(h.shape[1])
    for column in range(h.shape[1]):
        sums = np.bincount(flat, weights=np.repeat(z[:, column], R), minlength=N)
        noise = met * left / n * v[column]
        variance[column] = (N - 1) / N * ((sums**2 - noise) / left**2).sum()
    return PanelMeans(means, np.sqrt(np.maximum(variance, 0) + v / n), N)
