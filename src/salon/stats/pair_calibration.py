"""Are a predictor's probabilities honest? Votes on pairs against the chance it gave them.

Data: for pair i the log-odds z_i that a rater prefers its first item, so p_i = s(z_i), s(z) = 1/(1 + exp(-z)); k_i of
n_i votes for that item (a tie is half a vote); a cluster (prompt). Which item is first is arbitrary, so each pair is
turned until its predicted winner is first: p_i >= 1/2.

* brier: mean over votes of (p - vote)^2 = sum of [k (1-p)^2 + (n-k) p^2] / sum of n. A coin has 1/4.
* bins: pairs in order of p, cut into bins of about equally many pairs; of each the mean p and the share of votes for
  the predicted winner, both weighed by votes.
* ece: mean over votes of |mean p - share| of its bin. Few votes alone make it larger than 0: `expected_ece` is its mean
  if the votes were drawn with the very chances p (independently: raters of one prompt are not, so it is a little low).
* slope: the b for which s(b z) has the largest likelihood. 1 is honest, below 1 too sure, above 1 too shy, 0 knows
  nothing. Its interval is normal, with clusters in the sandwich: se^2 = C/(C-1) sum g_c^2 / H^2, g_c the cluster's
  score and H the information.

Intervals of the others: whole prompts drawn again, bins held fixed. A bin whose predicted winners got every vote, or
none, has the exact bound for its prompts (`resample`).

Edges: no vote TooFew; all z equal 0, or every vote for the predicted winner: no slope (None); one cluster: no interval.

Sources: Brier 1950; Guo et al. 2017 (ECE); Cox 1958 (slope); Nixon et al. 2019 (bins of equal mass).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, ndtri

from salon.errors import BadValue, TooFew
from salon.stats.resample import SHARE, check_settings, draw_totals, interval, row_kinds
from salon.stats.result import Estimate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_LEAST_IN_BIN = 20
_STEPS = 100
_STEEPEST = 1e6  # a slope beyond this is a step: no vote was against the prediction


@dataclass(frozen=True, slots=True)
class Bin:
    """Pairs with about the same chance."""

    predicted: float
    """Mean chance given to the predicted winner."""
    observed: Estimate
    """Share of votes it got."""
    pairs: int
    votes: float


@dataclass(frozen=True, slots=True)
class PairCalibration:
    """How honest the chances of a predictor are."""

    brier: Estimate
    ece: Estimate
    expected_ece: float
    """ECE of an honest predictor with as few votes."""
    slope: Estimate | None
    bins: tuple[Bin, ...]
    votes: float


@dataclass(frozen=True)
class _Turned:
    """Pairs with the predicted winner first."""

    z: FloatArray
    k: FloatArray
    n: FloatArray
    cluster: IntArray
    bin: IntArray
    bins: int

    @property
    def p(self) -> FloatArray:
        return np.asarray(expit(self.z))


def pair_calibration(
    z: ArrayLike,
    k: ArrayLike,
    n: ArrayLike,
    clusters: ArrayLike,
    *,
    bins: int,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> PairCalibration:
    """All figures; see the module for definitions. Fewer `bins` are made where pairs are few."""
    pairs = _turned(z, k, n, clusters, bins)
    rows = _cluster_rows(pairs)
    check_settings(len(rows), draws, level)
    total = rows.sum(axis=0, keepdims=True)
    drawn = draw_totals(*row_kinds(rows), draws=draws, rng=rng) if len(rows) > 1 else total

    def estimate(value: FloatArray, spread: FloatArray, behind: int | None = None) -> Estimate:
        """`behind`: of a share, how many prompts have a part in it."""
        if len(rows) == 1:
            return Estimate(float(value[0]), None, None, 1, "prompt", level, "no interval: one prompt")
        ends = None if behind is None else SHARE
        return interval(float(value[0]), spread, n=len(rows), unit="prompt", level=level, ends=ends, behind=behind)

    observed, seen = _shares(total, pairs.bins), _shares(drawn, pairs.bins)
    mean = _means(total, pairs.bins)[0]
    counts = np.bincount(pairs.bin, minlength=pairs.bins)
    behind = (_parts(rows, pairs.bins)[0] > 0).sum(axis=0)
    return PairCalibration(
        brier=estimate(_brier(total), _brier(drawn)),
        ece=estimate(_ece(total, pairs.bins), _ece(drawn, pairs.bins)),
        expected_ece=_expected_ece(pairs, min(draws, 500), rng),
        slope=_slope(pairs, len(rows), level),
        bins=tuple(
            Bin(
                predicted=float(mean[b]),
                observed=estimate(observed[:, b], seen[:, b], int(behind[b])),
                pairs=int(counts[b]),
                votes=float(total[0, 2 + b]),
            )
            for b in range(pairs.bins)
        ),
        votes=float(pairs.n.sum()),
    )


def _turned(z: ArrayLike, k: ArrayLike, n: ArrayLike, clusters: ArrayLike, bins: int) -> _Turned:
    logit, votes, size = (np.asarray(x, float) for x in (z, k, n))
    labels = np.asarray(clusters)
    if not (logit.shape == votes.shape == size.shape == labels.shape) or logit.ndim != 1:
        raise BadValue("log-odds, votes and a cluster for each pair", found=f"{logit.shape}, {votes.shape}")
    if not len(logit) or size.sum() <= 0:
        raise TooFew("calibration needs votes on pairs", found="none")
    if not np.isfinite(logit).all() or (votes < 0).any() or (votes > size).any():
        raise BadValue("finite log-odds, and votes between 0 and n", found="others")
    if bins < 1:
        raise BadValue("at least one bin is needed", found=bins)
    _, cluster = np.unique(labels, return_inverse=True)
    turned = np.where(logit < 0, size - votes, votes)
    # log-odds of exactly 0 predict no winner: half of its votes for either keeps such a pair out of any choice
    turned = np.where(logit == 0, size / 2, turned)
    used = max(1, min(bins, len(logit) // _LEAST_IN_BIN))
    rank = np.empty(len(logit), np.int64)
    rank[np.argsort(np.abs(logit), kind="stable")] = np.arange(len(logit))
    return _Turned(np.abs(logit), turned, size, cluster.astype(np.int64), rank * used // len(logit), used)


def _cluster_rows(pairs: _Turned) -> FloatArray:
    """(clusters, 2 + 3 bins): squared error, votes; votes, votes for the winner and sum of p by bin."""
    p, k, n = pairs.p, pairs.k, pairs.n
    size = int(pairs.cluster.max()) + 1
    key = pairs.cluster * pairs.bins + pairs.bin

    def by_bin(weights: FloatArray) -> FloatArray:
        made = np.bincount(key, weights=weights, minlength=size * pairs.bins)
        return np.asarray(made, np.float64).reshape(size, pairs.bins)

    error = np.bincount(pairs.cluster, weights=k * (1 - p) ** 2 + (n - k) * p**2)
    votes = np.bincount(pairs.cluster, weights=n)
    return np.column_stack([error, votes, by_bin(n), by_bin(k), by_bin(n * p)])


def _brier(totals: FloatArray) -> FloatArray:
    return np.asarray(totals[:, 0] / totals[:, 1])


def _parts(totals: FloatArray, bins: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    return totals[:, 2 : 2 + bins], totals[:, 2 + bins : 2 + 2 * bins], totals[:, 2 + 2 * bins :]


def _shares(totals: FloatArray, bins: int) -> FloatArray:
    n, k, _ = _parts(totals, bins)
    return np.where(n > 0, k / np.where(n > 0, n, 1), np.nan)


def _means(totals: FloatArray, bins: int) -> FloatArray:
    n, _, p = _parts(totals, bins)
    return np.where(n > 0, p / np.where(n > 0, n, 1), np.nan)


def _ece(totals: FloatArray, bins: int) -> FloatArray:
    n, k, p = _parts(totals, bins)
    return np.asarray(np.abs(p - k).sum(axis=1) / n.sum(axis=1))


def _expected_ece(pairs: _Turned, draws: int, rng: np.random.Generator) -> float:
    """Votes drawn anew with the chances p; halves of votes are rounded down, a tie being no toss of a coin."""
    p, whole = pairs.p, np.floor(pairs.n).astype(np.int64)
    expected = np.bincount(pairs.bin, weights=whole * p, minlength=pairs.bins)
    off = 0.0
    for _ in range(draws):
        votes = np.bincount(pairs.bin, weights=rng.binomial(whole, p), minlength=pairs.bins)
        off += float(np.abs(expected - votes).sum())
    return off / draws / max(float(whole.sum()), 1.0)


def _slope(pairs: _Turned, clusters: int, level: float) -> Estimate | None:
    z, k, n = pairs.z, pairs.k, pairs.n
    if not (z > 0).any() or (k[z > 0] == n[z > 0]).all():
        return None
    b = _solve(z, k, n)
    if b is None:
        return None
    if clusters == 1:
        return Estimate(b, None, None, 1, "prompt", level, "no interval: one prompt")
    s = expit(b * z)
    score = np.bincount(pairs.cluster, weights=z * (k - n * s), minlength=clusters)
    information = float((n * z**2 * s * (1 - s)).sum())
    error = float(np.sqrt(clusters / (clusters - 1) * (score @ score))) / information
    half = float(ndtri((1 + level) / 2)) * error
    return Estimate(b, b - half, b + half, clusters, "prompt", level, "normal, sandwich over prompts")


def _solve(z: FloatArray, k: FloatArray, n: FloatArray) -> float | None:
    """The root of the score, which falls in b: bracketed, then halved; Newton may overshoot on steep data."""

    def score(b: float) -> float:
        return float((z * (k - n * expit(b * z))).sum())

    low, high = -1.0, 1.0
    while score(low) < 0 and low > -_STEEPEST:
        low *= 2
    while score(high) > 0 and high < _STEEPEST:
        high *= 2
    if score(low) < 0 or score(high) > 0:
        return None
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if score(middle) > 0 else (low, middle)
    return (low + high) / 2
