"""Calibration and consistency of a judge: honest probabilities, steady answers, use of the scale.

Calibration (`pair_calibration`): are a predictor's probabilities honest?

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
none, has the exact bound for its prompts (`intervals`).

Edges: no vote TooFew; all z equal 0, or every vote for the predicted winner: no slope (None); one cluster: no interval.

Sources: Brier 1950; Guo et al. 2017 (ECE); Cox 1958 (slope); Nixon et al. 2019 (bins of equal mass).

How steady a judge is, and whether it tells strong from weak:

* `wording_spread`: pairs get one of several wordings of the question by a hash of their ids, that is, by lot. With
  m_cw the mean score of criterion c under its wording w, the spread of c is the standard deviation of the m_cw over w,
  and the spread of a judge is the mean of those over criteria: wording 3 of one criterion and wording 3 of another are
  different texts (TASTE's Para sigma). Even if wording did nothing it is not 0, because each m_cw rests on few pairs:
  so the wordings are dealt out again among the units (pairs) of each stratum; a pair keeps one wording for all its
  scores (criteria), as it did when it was asked. The mean spread of those deals is `expected`, the share of deals with
  as large a spread `p`. The test is exact, as the wordings were dealt at random.
* `self_agreement`: k samples of one question, k_o of them giving option o. The chance that two different samples agree
  is sum k_o (k_o - 1) / (k (k - 1)), unbiased for sum p_o^2 at any k; the mean over questions with k >= 2.
* `band`: where a judge's numbers lie on their scale. `width` is the middle 80% as a share of the scale; `levels` the
  effective number of values, exp of their entropy; `commonest` the share of the most frequent value.
* `separation`: the chance that a strong item gets a higher number than a weak one of the same group, ties 1/2 (the
  area under the curve, within groups): 1/2 for a judge that cannot tell them apart.

Edges: one wording, one sample, one value, no strong or no weak item: TooFew or NotIdentified, with the reason.
Source: Fisher's permutation test; Mann & Whitney 1947 for the area; Wang et al. 2023 for self-consistency.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew
from salon.stats.intervals import SHARE, bootstrap_totals, check_settings, draw_totals, interval, row_kinds
from salon.stats.judge_rates import match_rate
from salon.stats.result import Estimate, described, result

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

_LEAST_IN_BIN = 20
_STEPS = 100
_STEEPEST = 1e6  # a slope beyond this is a step: no vote was against the prediction


@result
class CalibrationBin:
    """Pairs that were given about the same chance."""

    predicted: float = described("Mean chance of the predicted winner.")
    observed: Estimate = described("Share of votes it got.", kind="estimate", decimals=3)
    pairs: int = described("Pairs in the bin.")
    votes: float = described("Votes on them; a tie is half a vote for either.")


@result
class PairCalibration:
    """Are the chances of a predictor honest?"""

    brier: Estimate = described(
        "Mean squared distance of chance and vote; a coin has 0.25.", title="Brier", kind="estimate", decimals=4
    )
    ece: Estimate = described(
        "Mean distance of chance and share of votes over bins.", title="ECE", kind="estimate", decimals=4
    )
    expected_ece: float = described(
        "The same for honest chances with as few votes.", title="If honest", kind="number", decimals=4
    )
    slope: Estimate | None = described(
        "1 honest, below 1 too sure, above 1 too shy; null where votes fix none.",
        title="Slope", kind="estimate", decimals=2,
    )  # fmt: skip
    bins: tuple[CalibrationBin, ...] = described("The reliability diagram.")
    pairs: int = described("Pairs with a chance and a vote.", title="Pairs")


@dataclass(frozen=True)
class _OrientedPairs:
    """Pairs with the predicted winner first."""

    z: FloatArray
    k: FloatArray
    n: FloatArray
    cluster: IntArray
    bin: IntArray
    bins: int

    @property
    def p(self) -> FloatArray:
        from scipy.special import expit

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
    pairs = _orient_pairs(z, k, n, clusters, bins)
    rows = _cluster_rows(pairs)
    check_settings(len(rows), draws, level)
    total = rows.sum(axis=0, keepdims=True)
    replicates = draw_totals(*row_kinds(rows), draws=draws, rng=rng) if len(rows) > 1 else total

    def estimate(value: FloatArray, spread: FloatArray, behind: int | None = None) -> Estimate:
        """`behind`: of a share, how many prompts have a part in it."""
        if len(rows) == 1:
            return Estimate(float(value[0]), None, None, 1, "prompt", level, "no interval: one prompt")
        ends = None if behind is None else SHARE
        return interval(float(value[0]), spread, n=len(rows), unit="prompt", level=level, ends=ends, behind=behind)

    observed, replicate_shares = _shares(total, pairs.bins), _shares(replicates, pairs.bins)
    mean = _means(total, pairs.bins)[0]
    counts = np.bincount(pairs.bin, minlength=pairs.bins)
    behind = (_parts(rows, pairs.bins)[0] > 0).sum(axis=0)
    return PairCalibration(
        brier=estimate(_brier(total), _brier(replicates)),
        ece=estimate(_ece(total, pairs.bins), _ece(replicates, pairs.bins)),
        expected_ece=_expected_ece(pairs, min(draws, 500), rng),
        slope=_slope(pairs, len(rows), level),
        bins=tuple(
            CalibrationBin(
                predicted=float(mean[b]),
                observed=estimate(observed[:, b], replicate_shares[:, b], int(behind[b])),
                pairs=int(counts[b]),
                votes=float(total[0, 2 + b]),
            )
            for b in range(pairs.bins)
        ),
        pairs=len(pairs.z),
    )


def _orient_pairs(z: ArrayLike, k: ArrayLike, n: ArrayLike, clusters: ArrayLike, bins: int) -> _OrientedPairs:
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
    return _OrientedPairs(np.abs(logit), turned, size, cluster.astype(np.int64), rank * used // len(logit), used)


def _cluster_rows(pairs: _OrientedPairs) -> FloatArray:
    """(clusters, 2 + 3 bins): squared error, votes; votes, votes for the winner and sum of p by bin."""
    p, k, n = pairs.p, pairs.k, pairs.n
    size = int(pairs.cluster.max()) + 1
    key = pairs.cluster * pairs.bins + pairs.bin

    def by_bin(weights: FloatArray) -> FloatArray:
        sums = np.bincount(key, weights=weights, minlength=size * pairs.bins)
        return np.asarray(sums, np.float64).reshape(size, pairs.bins)

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


def _expected_ece(pairs: _OrientedPairs, draws: int, rng: np.random.Generator) -> float:
    """Votes drawn anew with the chances p; halves of votes are rounded down, a tie being no toss of a coin."""
    p, whole = pairs.p, np.floor(pairs.n).astype(np.int64)
    expected = np.bincount(pairs.bin, weights=whole * p, minlength=pairs.bins)
    off = 0.0
    for _ in range(draws):
        votes = np.bincount(pairs.bin, weights=rng.binomial(whole, p), minlength=pairs.bins)
        off += float(np.abs(expected - votes).sum())
    return off / draws / max(float(whole.sum()), 1.0)


def _slope(pairs: _OrientedPairs, clusters: int, level: float) -> Estimate | None:
    from scipy.special import expit, ndtri

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

    from scipy.special import expit

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


# -- steadiness and use of the scale -----------------------------------------------------------------------------------


Part = tuple[IntArray, FloatArray]
"""Units and scores of one criterion."""
_MOST_CELLS = 5_000_000


@result
class WordingSpread:
    """Accuracy by wording of the question."""

    wordings: tuple[int, ...] = described("Numbers of one criterion's wordings, from 0; empty over several.")
    means: tuple[float, ...] = described("Accuracy under each.")
    pairs: tuple[int, ...] = described("Pairs under each.")
    sd: float = described(
        "Standard deviation of a criterion's means over its wordings; over several criteria, the mean.",
        title="Paraphrase sd",
    )
    expected: float = described(
        "The same if the wording made no difference: few pairs alone spread so.", title="By chance"
    )
    p: float = described("Share of random deals of wordings with as large a spread.", title="p", kind="p")
    deals: int = described("Random deals behind `expected` and `p`.", title="Deals")


@dataclass(frozen=True, slots=True)
class Band:
    """How much of its scale a judge uses."""

    low: float
    median: float
    high: float
    """Tenth and ninetieth percentile."""
    width: float | None
    """(high - low) / the scale's length; None where the scale has no ends."""
    levels: float
    commonest: float
    n: int


def wording_spread(
    scores: ArrayLike,
    wordings: ArrayLike,
    units: ArrayLike,
    strata: ArrayLike | None = None,
    *,
    criteria: ArrayLike | None = None,
    deals: int,
    rng: np.random.Generator,
) -> WordingSpread:
    """Spread of mean scores over wordings within `criteria`, against that of wordings dealt anew to `units`.

    Wordings are dealt within `strata`. A criterion with one wording has no spread and is left out of the mean.
    """
    score, wording_numbers = np.asarray(scores, float), np.asarray(wordings, np.int64)
    layer = np.zeros(len(score), np.int64) if strata is None else np.asarray(strata)
    labels, wording = np.unique(wording_numbers, return_inverse=True)
    _, first, unit = np.unique(np.asarray(units), return_index=True, return_inverse=True)
    if not len(score) == len(wording) == len(unit) == len(layer):
        raise BadValue("one wording, unit and stratum for each score", found=(len(score), len(wording), len(unit)))
    if len(labels) < 2:
        raise TooFew("a spread over wordings needs two of them", found=len(labels))
    if deals < 99:
        raise BadValue("a permutation test needs at least 99 deals", found=deals)
    if (wording != wording[first][unit]).any() or (layer != layer[first][unit]).any():
        raise BadValue("a unit has one wording and one stratum", found="a unit with several")
    order = np.argsort(layer[first], kind="stable")
    blocks = np.split(order, np.flatnonzero(np.diff(np.unique(layer[first][order], return_inverse=True)[1])) + 1)
    of = np.zeros(len(score), np.int64) if criteria is None else np.asarray(criteria)
    parts = [(unit[rows], score[rows]) for rows in (np.flatnonzero(of == criterion) for criterion in np.unique(of))]
    sd = _spread(wording[first][None], parts, len(labels))
    if np.isnan(sd[0]):
        raise TooFew("a spread over wordings needs two of them under one criterion", found="one under each")
    step = max(1, _MOST_CELLS // len(score))
    sizes = [min(step, deals - start) for start in range(0, deals, step)]
    dealt = np.concatenate([_deal(wording[first], blocks, parts, len(labels), size, rng) for size in sizes])
    counts = np.bincount(wording)
    alone = len(parts) == 1
    return WordingSpread(
        wordings=tuple(map(int, labels)) if alone else (),
        means=tuple(map(float, np.bincount(wording, weights=score) / counts)) if alone else (),
        pairs=tuple(map(int, counts)) if alone else (),
        sd=float(sd[0]),
        expected=float(np.nanmean(dealt)),
        p=(1 + int((dealt >= sd[0] - 1e-12).sum())) / (deals + 1),
        deals=deals,
    )


def _deal(
    wording: IntArray, blocks: list[IntArray], parts: list[Part], of: int, deals: int, rng: np.random.Generator
) -> FloatArray:
    """Spreads of `deals` random deals of the wordings to the units of each block."""
    again = np.empty((deals, len(wording)), np.int64)
    for block in blocks:
        again[:, block] = rng.permuted(np.tile(wording[block], (deals, 1)), axis=1)
    return _spread(again, parts, of)


def _spread(wording: IntArray, parts: list[Part], of: int) -> FloatArray:
    """Mean over criteria of the standard deviation over wordings, from the wording of each unit (deals, units)."""
    deals = len(wording)
    spreads = []
    for unit, score in parts:
        cell = (wording[:, unit] + of * np.arange(deals)[:, None]).ravel()
        n = np.bincount(cell, minlength=deals * of).reshape(deals, of)
        total = np.bincount(cell, weights=np.tile(score, deals), minlength=deals * of).reshape(deals, of)
        means = np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0)
        met = (n > 0).sum(axis=1)
        gap = means - np.nanmean(means, axis=1, keepdims=True)
        spreads.append(np.where(met > 1, np.sqrt(np.nansum(gap**2, axis=1) / np.maximum(met - 1, 1)), np.nan))
    table = np.stack(spreads)
    finite = np.isfinite(table)
    sums, count = np.where(finite, table, 0).sum(axis=0), finite.sum(axis=0)
    spread: FloatArray = np.divide(sums, count, out=np.full(deals, np.nan), where=count > 0)
    return spread


def self_agreement(
    counts: ArrayLike, prompts: ArrayLike, *, draws: int, rng: np.random.Generator, level: float = 0.95
) -> Estimate:
    """Chance that two samples of one question agree, from (questions, options) counts."""
    k = np.asarray(counts, float)
    total = k.sum(axis=1)
    several = total >= 2
    if not several.any():
        raise TooFew("self-consistency needs a question that was asked twice", found="one sample of each")
    k, total = k[several], total[several]
    agree = (k * (k - 1)).sum(axis=1) / (total * (total - 1))
    return match_rate(agree, np.asarray(prompts)[several], draws=draws, rng=rng, level=level)


def band(values: ArrayLike, low: float | None = None, high: float | None = None) -> Band:
    """Where the numbers lie; `low` and `high` are the ends of the scale."""
    x = np.asarray(values, float)
    if not len(x) or not np.isfinite(x).all():
        raise TooFew("a band needs finite numbers", found="none" if not len(x) else "NaN or infinity")
    ends = np.quantile(x, [0.1, 0.5, 0.9])
    _, count = np.unique(x, return_counts=True)
    share = count / len(x)
    whole = None if low is None or high is None else high - low
    return Band(
        low=float(ends[0]),
        median=float(ends[1]),
        high=float(ends[2]),
        width=None if whole is None else float((ends[2] - ends[0]) / whole),
        levels=float(np.exp(-(share * np.log(share)).sum())),
        commonest=float(share.max()),
        n=len(x),
    )


def separation(
    values: ArrayLike,
    strong: ArrayLike,
    groups: ArrayLike,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Estimate:
    """P(strong item above a weak one of its group), ties 1/2; groups drawn again. `strong`: 1 strong, -1 weak, 0 rest.

    Groups without a strong or without a weak item say nothing and are left out.
    """
    from scipy.stats import rankdata

    x, side, labels = np.asarray(values, float), np.asarray(strong), np.asarray(groups)
    order = np.argsort(labels, kind="stable")
    table = []
    for group in np.split(order, np.flatnonzero(labels[order][1:] != labels[order][:-1]) + 1):
        up, down = (x[group[side[group] == s]] for s in (1, -1))
        if len(up) and len(down):
            ranks = rankdata(np.concatenate([up, down]))[: len(up)]
            table.append((ranks.sum() - len(up) * (len(up) + 1) / 2, len(up) * len(down)))
    if not table:
        raise TooFew("separation needs a group with a strong and a weak item", found="none")
    return bootstrap_totals(lambda t: t[:, 0] / t[:, 1], np.array(table), draws=draws, rng=rng, level=level, ends=SHARE)
