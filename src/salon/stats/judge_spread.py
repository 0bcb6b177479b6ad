"""How steady a judge is, and whether it tells strong from weak: wordings, samples, bands.

* `wording_spread`: pairs get one of several wordings of the question by a hash of their ids, that is, by lot. With
  m_w the mean score under wording w, the spread is the standard deviation of the m_w over wordings. Even if wording
  did nothing it is not 0, because each m_w rests on few pairs: so the wordings are dealt out again among the units
  (pairs) of each stratum; a pair keeps one wording for all its scores (criteria), as it did when it was asked. The
  mean spread of those deals is `expected`, the share of deals with as large a spread `p`. The test is exact, as the
  wordings were dealt at random.
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
_MOST_CELLS = 5_000_000


@dataclass(frozen=True, slots=True)
class WordingSpread:
    """Accuracy by wording of the question."""

    wordings: tuple[int, ...]
    means: tuple[float, ...]
    pairs: tuple[int, ...]
    sd: float
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
    deals: int,
    rng: np.random.Generator,
) -> WordingSpread:
    """Spread of mean scores over wordings against that of wordings dealt anew to `units` within `strata`."""
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
    weights = np.stack([np.bincount(unit, weights=score), np.bincount(unit).astype(float)])
    means, sd = _spread(wording[first][None], weights, len(labels))
    step = max(1, _MOST_CELLS // len(first))
    sizes = [min(step, deals - start) for start in range(0, deals, step)]
    dealt = np.concatenate([_deal(wording[first], blocks, weights, len(labels), size, rng) for size in sizes])
    return WordingSpread(
        wordings=tuple(map(int, labels)),
        means=tuple(map(float, means[0])),
        pairs=tuple(map(int, np.bincount(wording))),
        sd=float(sd[0]),
        expected=float(dealt.mean()),
        p=(1 + int((dealt >= sd[0] - 1e-12).sum())) / (deals + 1),
        deals=deals,
    )


def _deal(
    wording: IntArray, blocks: list[IntArray], weights: FloatArray, of: int, deals: int, rng: np.random.Generator
) -> FloatArray:
    """Spreads of `deals` random deals of the wordings to the units of each block."""
    again = np.empty((deals, len(wording)), np.int64)
    for block in blocks:
        again[:, block] = rng.permuted(np.tile(wording[block], (deals, 1)), axis=1)
    return _spread(again, weights, of)[1]


def _spread(wording: IntArray, weights: FloatArray, of: int) -> tuple[FloatArray, FloatArray]:
    """Means (deals, wordings) and their standard deviations, from the wording of each unit (deals, units)."""
    deals = len(wording)
    cell = (wording + of * np.arange(deals)[:, None]).ravel()
    total, n = (np.bincount(cell, weights=np.tile(w, deals), minlength=deals * of).reshape(deals, of) for w in weights)
    means = total / n
    return means, np.asarray(means.std(axis=1, ddof=1))


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
