"""A threshold that finds at least a wanted share of the positives: what held-out data can promise.

Model. The danger scores of n held-out positives and of a new positive are exchangeable, from any law F. With the j-th
smallest of them as threshold (held: at or above it), the true recall is R = 1 - F(t-), and for continuous F

    1 - R is the j-th smallest of n uniform numbers:   1 - R ~ Beta(j, n + 1 - j),   E[R] = 1 - j / (n + 1).

So the promise P(R >= r) >= c holds for every j with Beta(j, n+1-j).cdf(1 - r) >= c, and the largest such j holds back
least (`recall_rank`). Equal scores only raise R. With c = None the promise is on average: E[R] >= r, the largest j with
j <= (n + 1)(1 - r). These are exact for every n: no normal law, no large sample (Wilks 1941; the same bound is called
conformal risk control or RCPS where the loss is a miss).

What R is, beside what was promised of it: without equal scores the law above. Where several positives lie at the
threshold, j says too little. With a of n at or above it R then lies between Beta(a, n+1-a), the law if they were told
apart, and Beta(a+1, n-a), that of a fixed threshold: its interval is from the lower end of the one to the upper end of
the other (Clopper & Pearson 1934).

The least n that can promise anything uses j = 1: r^n <= 1 - c, n >= ln(1 - c) / ln(r); on average n >= 1 / (1 - r) - 1.

Precision is no promise. With the share p of positives among all items and the share f of negatives held back it is
pR / (pR + (1 - p) f). The threshold looks at positives alone, so negatives are fresh data about f. Its interval is by
draws: R from its law above, p and f from Beta(k + 1/2, m - k + 1/2) (Jeffreys), and reaches to what was counted where
that is all or none (Brown, Cai & DasGupta 2001). Items of one unit depend on each other,
and a unit is found only when all of it is: with units the intervals are those of ratios over units at this threshold
(`intervals.score_interval`).

Edges. Too few positives for the promise: TooFew with the number needed. No negatives: precision is 1 by data and has no
interval. One unit: none either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew
from salon.stats.intervals import score_interval
from salon.stats.result import Estimate

Floats = NDArray[np.float64]
DRAWS = 10_000


def positives_needed(recall: float, confidence: float | None) -> int:
    """The fewest positives that can promise this recall."""
    if not 0 < recall < 1:
        raise BadValue("a recall between 0 and 1, ends excluded, is needed", found=recall)
    if confidence is not None and not 0 < confidence < 1:
        raise BadValue("a confidence between 0 and 1, ends excluded, is needed", found=confidence)
    if confidence is None:
        return math.ceil(1 / (1 - recall) - 1 - 1e-9)
    return math.ceil(math.log1p(-confidence) / math.log(recall) - 1e-9)


def recall_rank(n: int, recall: float, confidence: float | None) -> int:
    """The largest j whose threshold keeps the promise; TooFew where none does."""
    from scipy import stats

    needed = positives_needed(recall, confidence)
    if n < needed:
        how = "on average" if confidence is None else f"with confidence {confidence:g}"
        raise TooFew(
            f"at least {needed:,} positives are needed to promise a recall of {recall:g} {how}",
            found=f"{n:,} positives",
            remedy="label more items, or ask for a lower recall or confidence",
        )
    if confidence is None:
        return math.floor((n + 1) * (1 - recall) + 1e-9)
    j = np.arange(1, n + 1)
    keeps_promise = np.asarray(stats.beta.cdf(1 - recall, j, n + 1 - j) >= confidence)
    return int(keeps_promise.sum())  # the law falls in j


def recall_interval(above: int, n: int, level: float, *, tied: bool = False) -> Estimate:
    """The true recall of a threshold with `above` of n positives at or above it: its mean and the middle of its law.

    `tied`: several of them are equal to the threshold.
    """
    from scipy import stats

    law, upper_law = (above, n + 1 - above), (above + 1, n - above) if tied else (above, n + 1 - above)
    low = float(stats.beta.ppf((1 - level) / 2, *law))
    high = float(stats.beta.ppf((1 + level) / 2, *upper_law)) if upper_law[1] else 1.0
    method = f"Beta{law}, exact" if law == upper_law else f"Beta{law} to Beta{upper_law}: equal scores at the threshold"
    return Estimate((law[0] + upper_law[0]) / 2 / (n + 1), low, high, n, "positive", level, method)


@dataclass(frozen=True, slots=True)
class RecallThreshold:
    """What a threshold does to items of which some are positive."""

    threshold: float
    """Held: danger at or above it."""
    rank: int
    positives: int
    negatives: int
    found: int
    """Held-out positives at or above it."""
    held_negatives: int
    recall: Estimate
    """The law of the true recall."""
    precision: Estimate
    """Of those held, the share that is positive."""
    held: Estimate
    """Share of all items that is held back."""


def recall_threshold(
    danger: ArrayLike,
    positive: ArrayLike,
    *,
    recall: float,
    confidence: float | None,
    level: float = 0.95,
    rng: np.random.Generator,
    units: ArrayLike | None = None,
) -> RecallThreshold:
    """The highest threshold whose recall is promised, from held-out items; +inf is a danger too (an item always held).

    With `units` (a number for each item: its prompt, say) units are what is independent: the promise is then about
    units that have a positive, all of whose positives are found, and n counts those.
    """
    x, y = np.asarray(danger, dtype=np.float64), np.asarray(positive, dtype=bool)
    if x.ndim != 1 or x.shape != y.shape:
        raise BadValue("a danger and a label for each item are needed", found=f"{x.shape} and {y.shape}")
    if np.isnan(x).any():
        raise BadValue("a danger is a number", found="NaN", remedy="+inf for items that are always held")
    sample = np.sort(x[y] if units is None else _least(x[y], np.asarray(units)[y]))
    j = recall_rank(len(sample), recall, confidence)
    t = float(sample[j - 1])
    is_held = x >= t
    k, m, p, true_positives = (int(count.sum()) for count in (is_held & ~y, ~y, y, is_held & y))
    n, above, tied = len(sample), int((sample >= t).sum()), int((sample == t).sum()) > 1
    if units is None:
        # Draws of the true recall; with equal scores at the threshold half of them are from either law.
        more = rng.integers(0, 2, DRAWS) if tied else np.zeros(DRAWS, np.int64)
        whole = above + more > n
        recalls = np.where(whole, 1.0, rng.beta(above + more, np.where(whole, 1, n + 1 - above - more)))
        precision, share = _shares(recalls, k, m, p, true_positives, level, rng)
    else:
        precision, share = _unit_shares(is_held, y, np.asarray(units), level)
    return RecallThreshold(t, j, p, m, true_positives, k, recall_interval(above, n, level, tied=tied), precision, share)


def _least(x: Floats, units: NDArray[np.int64]) -> Floats:
    """The smallest danger of each unit."""
    _, place = np.unique(units, return_inverse=True)
    least = np.full(int(place.max(initial=-1)) + 1, np.inf)
    np.minimum.at(least, place, x)
    return least


def _shares(
    R: Floats, k: int, m: int, p: int, true_positives: int, level: float, rng: np.random.Generator
) -> tuple[Estimate, Estimate]:
    """Precision and the share held back, as counted, with intervals by draws."""
    value = true_positives / (true_positives + k)
    all_held = (true_positives + k) / (m + p)
    if not m:
        return (Estimate(value, None, None, true_positives, "item held", level, "no negatives: no interval"),
                Estimate(all_held, None, None, p, "item", level, "no negatives: no interval"))  # fmt: skip
    f = rng.beta(k + 0.5, m - k + 0.5, DRAWS)
    pi = rng.beta(p + 0.5, m + 0.5, DRAWS)
    caught, wrong = pi * R, (1 - pi) * f
    ends = (1 - level) / 2, (1 + level) / 2
    method = f"{DRAWS:,} draws of recall, base rate and share of negatives held"
    low, high = (float(end) for end in np.quantile(caught / (caught + wrong), ends))
    first = Estimate(value, min(low, value), max(high, value), true_positives + k, "item held", level, method)
    low, high = (float(end) for end in np.quantile(caught + wrong, ends))
    return first, Estimate(all_held, min(low, all_held), max(high, all_held), m + p, "item", level, method)


def _unit_shares(
    is_held: NDArray[np.bool_], y: NDArray[np.bool_], units: NDArray[np.int64], level: float
) -> tuple[Estimate, Estimate]:
    """The same where units are what is independent: ratios of sums over units."""
    _, place = np.unique(units, return_inverse=True)
    right, stopped, size = (np.bincount(place, weights=count) for count in (is_held & y, is_held, np.ones(len(y))))
    precision, share = (
        replace(score_interval(top / np.maximum(of, 1), of, level=level), unit="unit")
        for top, of in ((right, stopped), (stopped, size))
    )
    return precision, share
