"""How steady a judge is, and whether it tells strong from weak: wordings, samples, bands.

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
from scipy.stats import rankdata

from salon.errors import BadValue, TooFew
from salon.stats.judge_accuracy import match_rate
from salon.stats.resample import SHARE, bootstrap_totals
from salon.stats.result import Estimate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Part = tuple[IntArray, FloatArray]
"""Units and scores of one criterion."""
_MOST_CELLS = 5_000_000


@dataclass(frozen=True, slots=True)
class WordingSpread:
    """Accuracy by wording of the question."""

    wordings: tuple[int, ...]
    """Of one criterion, as `means` and `pairs`; of several these are empty."""
    means: tuple[float, ...]
    pairs: tuple[int, ...]
    sd: float
    """Mean over criteria of the standard deviation of means over wordings."""
    expected: float
    """Mean sd if the wording made no difference."""
    p: float
    deals: int


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
    score, given = np.asarray(scores, float), np.asarray(wordings, np.int64)
    layer = np.zeros(len(score), np.int64) if strata is None else np.asarray(strata)
    labels, wording = np.unique(given, return_inverse=True)
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
    parts = [(unit[rows], score[rows]) for rows in (np.flatnonzero(of == one) for one in np.unique(of))]
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
    known = np.isfinite(table)
    sums, count = np.where(known, table, 0).sum(axis=0), known.sum(axis=0)
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
