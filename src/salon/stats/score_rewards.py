"""Rewards for sampled scores: keeping a target order (fidelity), and being near the labels (closeness).

Fidelity, confidence-weighted (Thurstone), is a reward for each answer. Image i has answers k = 1..G, each a vector of D
scores s_ik. Per criterion, mean_z and var_z are the mean and variance of the answers of image z. Answer k of image i is
set against every other image z:

    p_pred = Phi((s_ik - mean_z) / sqrt(var_i + var_z + eps))                          Eq. 4
    p_gt   = 1, 1/2 or 0 as the target puts i above, level with or below z             Eq. 5
    F      = sqrt(p_pred p_gt) + sqrt((1 - p_pred) (1 - p_gt))                         Eq. 6
    w      = min(|target_i - target_z| / tau, 1)                                       Eq. 7
    R_ik   = mean over criteria of  sum_z w F / sum_z w                                Eq. 8

F is the Bhattacharyya coefficient of two coins: 1 where they agree, sqrt(1/2) for an answer level with its partner, 0
where they are sure of opposite orders. An order alone is rewarded: adding a number to every score changes nothing.
Stretching all scores changes nothing but for eps.

Policies.
    unparsed answer          NaN in its row: no reward (NaN), and no part in the mean and variance of its image
    a row with some NaN      as unparsed: the criteria of an answer stand or fall together
    one parsed answer        its image has no variance of its own: that of all other answers about their own images
                             stands in for it (sums of squares over degrees of freedom); 0 where there is none
    image without any        is no partner to the others
    all weights zero         the criterion says nothing about this image and is left out of the mean over criteria;
                             without any criterion left the image has no reward (NaN)
    one image alone          no partner, so no reward (NaN)

Nothing is drawn at random, and no NaN becomes a number. What becomes of an answer without a reward is the caller's
choice, and must be the same for all answers of an image or it is a reward in disguise.

With the variances held fixed an answer that moves to the right side of a partner never loses. With variances taken from
the answers it may: a bold answer widens the spread of its own image.

Source: PPaint section 4.2 (Eq. 4-8), after VisualQuality-R1 and FRank. eps = 1e-6 and ddof = 1 are those of
VisualQuality-R1's code; the paper gives neither tau nor eps. Weights by posterior error are Salon's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Weighing = Literal["gap", "posterior", "none"]

TAU = 0.5
_BLOCK = 4_000_000
"""Numbers of one array in memory."""


@dataclass(frozen=True, slots=True)
class Fidelity:
    """The reward of every answer, and what it was computed from."""

    rank: Floats
    """(m,) R_ik; NaN where there is no reward."""
    by_criterion: Floats
    """(m, D) the weighted mean over partners, before the mean over criteria; NaN as above."""
    parsed: NDArray[np.bool_]
    """(m,) whether the answer has all its scores."""
    mean: Floats
    """(n, D) of the parsed answers of each image; NaN without any."""
    variance: Floats
    """(n, D) as used, the stand-in for a single answer included; NaN without any."""


def targets_from_scores(
    values: ArrayLike, tau: float = TAU, sd: ArrayLike | None = None, *, weigh: Weighing = "gap"
) -> tuple[Floats, Floats]:
    """(n, n, D) p_gt and w of every ordered pair of images with target scores `values` (n, D).

    gap        Eq. 7
    posterior  2 Phi(|gap| / sqrt(sd_i^2 + sd_z^2)) - 1: how much surer than chance the order is, from the errors of
               the scores `sd` (n, D); exact scores (0) count fully where they differ
    none       1, ties too

    An image has no weight against itself; a score that is NaN has none against anybody, and p_gt 1/2 for want of one.
    """
    v = _table("target scores", values, nan=True)
    gap = v[:, None, :] - v[None, :, :]
    comparable = np.isfinite(gap) & ~np.eye(len(v), dtype=bool)[:, :, None]
    with np.errstate(invalid="ignore"):
        wins = np.where(comparable, (1 + np.sign(gap)) / 2, 0.5)
    size = np.where(comparable, np.abs(gap), 0.0)
    return wins, np.where(comparable, _weights(size, tau, sd, weigh, v.shape), 0.0)


def targets_from_votes(
    first: ArrayLike, second: ArrayLike, share: ArrayLike, items: ArrayLike, *, least: float = 0.0
) -> tuple[Floats, Floats]:
    """(n, n, D) p_gt and w among `items` from pairs of them that were voted on: the majority, without magnitudes.

    Row r says that item `first[r]` won the share `share[r]` (D,) of the votes against `second[r]`, ties as halves; a
    pair asked more than once counts its rows alike. p_gt is 1, 1/2 or 0 by the majority; w is 1 where the pair was
    asked and the larger camp leads one half by `least` or more, else 0. A share that is NaN was not asked.
    """
    won = _table("vote shares", share, nan=True)
    if ((won < 0) | (won > 1)).any():
        raise BadValue("a share of votes is a number from 0 to 1", found=float(won[(won < 0) | (won > 1)][0]))
    codes = _codes("items", items, None)
    if len(np.unique(codes)) < len(codes):
        raise BadValue("every item is asked for once", found="the same item twice")
    a, b = (_codes("pair", column, None) for column in (first, second))
    if not len(a) == len(b) == len(won):
        raise BadValue("each pair needs two items and its votes", found=f"{len(a)}, {len(b)} and {len(won)} rows")
    n, most = len(codes), int(max(codes.max(initial=-1), a.max(initial=-1), b.max(initial=-1))) + 1
    place = np.full(most, -1)
    place[codes] = np.arange(n)
    here = (place[a] >= 0) & (place[b] >= 0) & (a != b)
    i, z, won = place[a][here], place[b][here], won[here]
    has_votes = np.isfinite(won)
    total, count = np.zeros((n, n, won.shape[1])), np.zeros((n, n, won.shape[1]))
    np.add.at(total, (i, z), np.where(has_votes, won, 0.0))
    np.add.at(total, (z, i), np.where(has_votes, 1 - won, 0.0))
    np.add.at(count, (i, z), has_votes)
    np.add.at(count, (z, i), has_votes)
    lead = np.divide(total, count, out=np.full_like(total, 0.5), where=count > 0) - 0.5
    lead[np.abs(lead) < 1e-12] = 0.0  # halves and thirds added up
    return (1 + np.sign(lead)) / 2, ((count > 0) & (np.abs(lead) >= least)).astype(float)


def fidelity_rewards(
    scores: ArrayLike,
    image: ArrayLike,
    wins: ArrayLike,
    weights: ArrayLike,
    *,
    eps: float = 1e-6,
    ddof: int = 1,
    variance: ArrayLike | None = None,
) -> Fidelity:
    """R_ik of m answers with `scores` (m, D), NaN where unparsed, about images `image` (m,) = 0..n-1.

    `wins` and `weights` (n, n, D) are p_gt and w of image i against image z. `variance` (n, D) holds the variances
    fixed instead of taking them from the answers.
    """
    s = _table("scores", scores, nan=True)
    p_gt, w = (np.asarray(table, float) for table in (wins, weights))
    n = len(p_gt)
    _check_targets(p_gt, w, s.shape[1])
    if not eps > 0 or ddof not in (0, 1):
        raise BadValue("eps is above 0 and ddof 0 or 1", found=f"eps {eps}, ddof {ddof}")
    code = _codes("images of answers", image, n)
    if len(code) != len(s):
        raise BadValue("every answer needs its image", found=f"{len(code)} images for {len(s)} answers")
    parsed: NDArray[np.bool_] = np.asarray(np.isfinite(s).all(1))
    mean, own = _moments(s[parsed], code[parsed], n, ddof)
    if variance is None:
        var = own
    else:
        # variances as they are given, for images with an answer
        table = _table("variances", variance, nan=True)
        answered = np.isfinite(mean)
        if table.shape != mean.shape or not (table >= 0)[answered].all():  # False for NaN
            raise BadValue("variances are one number of at least 0 for each image and criterion", found="others")
        var = np.where(answered, table, np.nan)
    by_criterion = np.full_like(s, np.nan)
    rows = np.flatnonzero(parsed)
    size = max(1, _BLOCK // max(1, n * s.shape[1]))
    for start in range(0, len(rows), size):
        part = rows[start : start + size]
        by_criterion[part] = _mean_fidelity(s[part], code[part], mean, var + eps / 2, p_gt, w)
    defined = np.isfinite(by_criterion)
    total, count = np.where(defined, by_criterion, 0.0).sum(1), defined.sum(1)
    rank = np.divide(total, count, out=np.full(len(s), np.nan), where=count > 0)
    return Fidelity(rank, by_criterion, parsed, mean, var)


def group_advantages(rewards: ArrayLike, image: ArrayLike, *, eps: float = 1e-4) -> Floats:
    """(m,) the reward of an answer against those of its image, (r - mean) / (sd + eps) with ddof 1 (Eq. 16).

    A reward that is NaN is left out of the group and has the advantage 0; so has one that is alone.
    """
    r = np.asarray(rewards, float)
    code = _codes("images of answers", image, None)
    if r.ndim != 1 or len(r) != len(code):
        raise BadValue("every reward needs its image", found=f"{len(code)} images for {r.shape} rewards")
    finite = np.isfinite(r)
    n = int(code.max(initial=-1)) + 1
    mean, variance = _moments(r[finite, None], code[finite], n, 1, stand_in=False)
    off = np.where(finite, r - mean[code, 0], 0.0)
    return off / (np.sqrt(np.where(finite, np.nan_to_num(variance[code, 0]), 0.0)) + eps)


# -- parts -----------------------------------------------------------------------------------------------------------


def _weights(size: Floats, tau: float, sd: ArrayLike | None, weigh: Weighing, shape: tuple[int, ...]) -> Floats:
    from scipy.special import ndtr

    if weigh == "none":
        return np.ones_like(size)
    if weigh == "gap":
        if not tau > 0:
            raise BadValue("tau, the gap that counts fully, is above 0", found=tau)
        return np.asarray(np.minimum(size / tau, 1.0))
    if sd is None:
        raise BadValue("weights by posterior error need the errors of the scores", found="no sd")
    e = _table("errors of target scores", sd, nan=True)
    if e.shape != shape or (e < 0).any():
        raise BadValue("errors are one number of at least 0 for each score", found=f"{e.shape} for {shape}")
    e = np.where(np.isnan(e), np.inf, e)  # a score whose error nobody knows counts for nothing
    both = np.sqrt(e[:, None, :] ** 2 + e[None, :, :] ** 2)
    return np.asarray(np.where(both > 0, 2 * ndtr(size / np.where(both > 0, both, 1.0)) - 1, np.sign(size)))


def _moments(s: Floats, code: Ints, n: int, ddof: int, *, stand_in: bool = True) -> tuple[Floats, Floats]:
    """(n, D) mean and variance of the rows of each image."""
    count = np.bincount(code, minlength=n)[:, None]
    total = np.zeros((n, s.shape[1]))
    np.add.at(total, code, s)
    mean = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
    square = np.zeros_like(total)
    np.add.at(square, code, (s - mean[code]) ** 2)
    variance = np.divide(square, count - ddof, out=np.full_like(total, np.nan), where=count > 1)
    if stand_in:
        free = int(np.maximum(count - 1, 0).sum())
        pooled = square.sum(0) / free if free else np.zeros(s.shape[1])
        variance = np.where(count == 1, pooled, variance)
    return mean, variance


def _mean_fidelity(s: Floats, code: Ints, mean: Floats, var: Floats, p_gt: Floats, w: Floats) -> Floats:
    """(rows, D) the mean of F over the partners of each row by their weights; NaN where they are all zero."""
    from scipy.special import ndtr

    partner = np.isfinite(mean).all(1)
    x = (s[:, None, :] - mean[None, partner]) / np.sqrt(var[code][:, None, :] + var[None, partner])
    target = p_gt[code][:, partner]
    fidelity = np.sqrt(ndtr(x) * target) + np.sqrt(ndtr(-x) * (1 - target))
    weight = w[code][:, partner] * (np.flatnonzero(partner)[None, :] != code[:, None])[:, :, None]
    total = weight.sum(1)
    return np.asarray(np.divide((weight * fidelity).sum(1), total, out=np.full_like(s, np.nan), where=total > 0))


def _check_targets(p_gt: Floats, w: Floats, criteria: int) -> None:
    n = len(p_gt)
    if p_gt.shape != (n, n, criteria) or w.shape != p_gt.shape:
        raise BadValue("wins and weights are tables of images x images x criteria", found=f"{p_gt.shape} and {w.shape}")
    if not ((p_gt >= 0) & (p_gt <= 1)).all() or not ((w >= 0) & (w < np.inf)).all():
        raise BadValue("wins are from 0 to 1, weights at least 0", found="others")


def _table(what: str, values: ArrayLike, *, nan: bool) -> Floats:
    table = np.asarray(values, float)
    if table.ndim != 2 or table.shape[1] < 1:
        raise BadValue(f"{what} are a table with a column for each criterion", found=f"shape {table.shape}")
    if np.isinf(table).any() or (not nan and np.isnan(table).any()):
        raise BadValue(f"{what} are finite numbers", found="others")
    return table


def _codes(what: str, values: ArrayLike, n: int | None) -> Ints:
    codes = np.asarray(values)
    whole = codes.size == 0 or np.issubdtype(codes.dtype, np.integer)
    if codes.ndim != 1 or not whole or (codes < 0).any() or (n is not None and (codes >= n).any()):
        raise BadValue(f"{what} are whole numbers from 0" + ("" if n is None else f" to {n - 1}"), found="others")
    return codes.astype(np.int64)


# -- closeness to the labels -------------------------------------------------------------------------------------------


def closeness_rewards(scores: ArrayLike, values: ArrayLike, *, low: float, high: float) -> Floats:
    """(m,) C of answers with `scores` (m, D) about images with labels `values` (m, D), NaN where there is none.

    How near sampled scores are to their labels: the absolute term that a reward by order lacks.

        C_k = mean over criteria of  1 - |s_kd - v_d| / (high - low)

    for an answer with scores s_kd about an image with labels v_d: 1 where they are equal, 0 at opposite ends of the
    scale. The mean is over criteria with a label. Being linear in the distance, its best answer is the median of what
    the labels may be, and one far-off label pulls no harder than a near one.

    Why. The fidelity reward (`fidelity_rewards`) depends on differences of scores alone: adding a number to every score
    changes nothing. What scale a policy trained by it ends up with is decided by where it began, by the penalty for
    leaving the scale, and by how far it may move from its beginning, not by the labels. This term ties it to them.

    Edges. An answer with a NaN among its scores has no reward (NaN), as in `fidelity_rewards`; nor has one about an
    image without any label. Labels off the scale, infinite numbers, or a scale without width: BadValue.

    Source: Salon's own; PPaint's reward has no such term.
    """
    s, v = np.asarray(scores, float), np.asarray(values, float)
    if s.ndim != 2 or s.shape != v.shape:
        raise BadValue("scores and labels are tables of the same shape", found=f"{s.shape} and {v.shape}")
    if not low < high:
        raise BadValue("a scale needs two ends", found=f"{low:g} and {high:g}")
    if np.isinf(s).any():
        raise BadValue("scores are finite numbers, or NaN for an answer without", found="infinity")
    labeled = ~np.isnan(v)
    if (labeled & ((v < low) | (v > high))).any():
        raise BadValue(f"labels lie between {low:g} and {high:g}", found="others")
    near = np.where(labeled, 1 - np.abs(s - np.where(labeled, v, 0.0)) / (high - low), 0.0)
    count = labeled.sum(axis=1)
    mean = np.divide(near.sum(axis=1), count, out=np.full(len(s), np.nan), where=count > 0)
    return np.where(np.isfinite(s).all(axis=1), mean, np.nan)
