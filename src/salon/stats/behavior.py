"""How each rater behaves: shares of judgments, straight lines, flags, outliers.

A share of no judgments is None in an Estimate's interval and NaN in its value: it is unknown, not zero.

Intervals of shares are Wilson's (1927): never outside [0, 1], never of zero width. They take a rater's
judgments as independent, which judgments on the same prompt are only roughly.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from salon.errors import TooFew
from salon.stats.compiled import compiled
from salon.stats.result import Estimate

IntArray = NDArray[np.int64]


class Run(NamedTuple):
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
    """A share with Wilson's interval; value NaN and no interval for n = 0."""
    if n == 0:
        return Estimate(np.nan, None, None, 0, unit, level, "no judgments")
    z = float(stats.norm.ppf((1 + level) / 2))
    share = successes / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z * sqrt(share * (1 - share) / n + z**2 / (4 * n**2)) / (1 + z**2 / n)
    return Estimate(share, max(middle - half, 0.0), min(middle + half, 1.0), n, unit, level, "Wilson")


def longest_run(answers: ArrayLike, *, rng: np.random.Generator, shuffles: int = 999) -> Run:
    """Straight-lining: the longest run of one answer in the order given.

    The null keeps the rater's own answers and shuffles their order, so that a rater who rightly says "No" to
    most does not look careless; p = (1 + #{run* >= run}) / (1 + shuffles). One answer throughout has p = 1.
    """
    codes = np.unique(np.asarray(answers), return_inverse=True)[1].astype(np.int64)
    if not len(codes):
        raise TooFew("a run needs at least one answer", found="none")
    length = _longest(codes)
    longer = sum(_longest(rng.permutation(codes)) >= length for _ in range(shuffles))
    return Run(int(length), len(codes), (1 + longer) / (1 + shuffles))


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
    p = np.minimum(raters * stats.binom.sf(lowest - 1, criteria, 1 / raters), 1.0)
    return tuple(Outlier(r, int(lowest[r]), criteria, float(p[r]), bool(p[r] <= level)) for r in range(raters))


@compiled
def _longest(codes: IntArray) -> int:
    best, run = 1, 1
    for i in range(1, len(codes)):
        run = run + 1 if codes[i] == codes[i - 1] else 1
        best = max(best, run)
    return best
