"""How well predicted scores x go with target scores y of the same n items, under cluster weights.

    SRCC   Pearson's correlation of mid-ranks                       order
    KRCC   Kendall's tau-b, (C - D) / sqrt((N - Nx)(N - Ny))        order, pair by pair; Nx, Ny are tied pairs
    PLCC   Pearson's correlation of x and y                         straight line
    MAE    mean |x - y|,  RMSE  sqrt(mean (x - y)^2)                distance, only where both are on one scale
    mean and sd (n - 1) of x and of y                               level and spread

Every figure takes a whole weight for each item (how often a bootstrap draw holds it), and is what the same formula
gives on a sample with each item repeated so often. x and y are sorted once; a draw then costs O(n log n) with Kendall,
by a binary indexed tree over the ranks of y.

`lowest_filling` gives numbers to items that a predictor left out, such that SRCC becomes as low as any different
numbers could make it: a predictor gains no SRCC from saying nothing about an item that it would get wrong. With t the
ranks of y, SRCC falls with sum of position x t over a merge of the items that have numbers (in the order of x, equal
ones as one block at their mean position) with those that have none (best first: highest t in the lowest positions); the
best merge is found by dynamic programming over (i, j) in O(k m). A number equal to another one could make SRCC lower
still, by taking spread away from x: only where it is below 0. KRCC and PLCC of the filled numbers are low, but not the
lowest.

Edges: a constant x or y, or fewer than two items, has no correlation (NaN); one item has no sd (NaN); no item no mean.
A result is NaN there and never a number: what that counts is the caller's policy.

Source: Kendall & Gibbons, Rank Correlation Methods, 1990, chapters 1-3 and 8; Knight 1966 for counting by sorting.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue
from salon.stats.jit import compiled

Floats = NDArray[np.float64]
AGREEMENT_FIGURES = ("srcc", "plcc", "krcc", "mae", "rmse", "mean", "sd", "target_mean", "target_sd")
"""The columns of `agreement_draws`."""


def agreement_draws(x: ArrayLike, y: ArrayLike, weights: ArrayLike) -> Floats:
    """(draws, figures) every figure of FIGURES under each row of `weights` (draws, n); all ones: the data as they are.

    Weights are whole numbers of at least 0.
    """
    pred, target = np.asarray(x, float), np.asarray(y, float)
    w = np.atleast_2d(np.asarray(weights, float))
    if pred.ndim != 1 or pred.shape != target.shape or w.shape[1:] != pred.shape:
        raise BadValue(
            "one prediction, target and weight for each item", found=f"{pred.shape}, {target.shape}, {w.shape}"
        )
    if not (np.isfinite(pred).all() and np.isfinite(target).all()):
        raise BadValue("predictions and targets are finite numbers", found="NaN or infinity")
    if (w < 0).any() or (w != np.floor(w)).any():
        raise BadValue("weights say how often an item was drawn: whole numbers of at least 0", found="others")
    figures = np.full((len(w), len(AGREEMENT_FIGURES)), np.nan)
    if len(pred):
        order = np.argsort(pred, kind="stable")
        codes = [np.unique(values[order], return_inverse=True)[1].astype(np.int64) for values in (pred, target)]
        _figures(pred[order], target[order], codes[0], codes[1], np.ascontiguousarray(w[:, order]), figures)
    return figures


def lowest_filling(x: ArrayLike, y: ArrayLike) -> Floats:
    """`x` with numbers in place of NaN that make SRCC with `y` as low as possible; see the module.

    Numbers stand between those that are there, or one range beyond their ends: x on another scale is filled alike. All
    NaN: y reversed.
    """
    pred, target = np.asarray(x, float), np.asarray(y, float)
    if pred.ndim != 1 or pred.shape != target.shape or not np.isfinite(target).all():
        raise BadValue("a prediction or NaN, and a finite target, for each item", found=f"{pred.shape}, {target.shape}")
    lacking = np.isnan(pred)
    if not lacking.any():
        return pred.copy()
    if lacking.all():
        return -target
    _, code, count = np.unique(target, return_inverse=True, return_counts=True)
    t = np.asarray((np.cumsum(count) - (count - 1) / 2)[code], np.float64)
    values, block, size = np.unique(pred[~lacking], return_inverse=True, return_counts=True)
    absent = np.flatnonzero(lacking)[np.argsort(-t[lacking], kind="stable")]
    before = _merge(np.bincount(block, weights=t[~lacking]), size, t[absent])
    # numbers for `absent`, which stand after `before` of the known values; several in one gap keep their order
    spread = float(values[-1] - values[0]) or 1.0
    edges = np.concatenate([[values[0] - spread], values, [values[-1] + spread]])
    filled = pred.copy()
    for gap in np.unique(before):
        inside = absent[before == gap]
        low, high = edges[gap], edges[gap + 1]
        filled[inside] = low + (high - low) * np.arange(1, len(inside) + 1) / (len(inside) + 1)
    return filled


@compiled
def _merge(block_ranks, size, absent):  # type: ignore[no-untyped-def]  # numba knows the types
    """How many blocks stand before each of `absent` in the merge with the least sum of position x rank.

    Block i has `size` items, which share their mean position, and `known` is the sum of their ranks.
    """
    k, m = len(block_ranks), len(absent)
    ends = np.zeros(k + 1)
    for i in range(k):
        ends[i + 1] = ends[i] + size[i]
    least = np.zeros((k + 1, m + 1))
    for i in range(k + 1):
        for j in range(m + 1):
            if i == 0 and j == 0:
                continue
            best = np.inf
            if i > 0:
                best = least[i - 1, j] + (ends[i] - (size[i - 1] - 1) / 2 + j) * block_ranks[i - 1]
            if j > 0:
                best = min(best, least[i, j - 1] + (ends[i] + j) * absent[j - 1])
            least[i, j] = best
    before = np.zeros(m, np.int64)
    i, j = k, m
    while j > 0:
        block = least[i - 1, j] + (ends[i] - (size[i - 1] - 1) / 2 + j) * block_ranks[i - 1] if i > 0 else np.inf
        if i > 0 and block <= least[i, j - 1] + (ends[i] + j) * absent[j - 1]:
            i -= 1
        else:
            j -= 1
            before[j] = i
    return before


@compiled
def _figures(x, y, cx, cy, weights, out):  # type: ignore[no-untyped-def]  # numba knows the types
    """Rows sorted by x; cx and cy number the distinct values of x and y."""
    n = len(x)
    levels_x, levels_y = cx.max() + 1, cy.max() + 1
    for d in range(len(weights)):
        w = weights[d]
        total = w.sum()
        if total == 0:
            continue
        mean_x, mean_y = (w * x).sum() / total, (w * y).sum() / total
        out[d, 3] = (w * np.abs(x - y)).sum() / total
        out[d, 4] = np.sqrt((w * (x - y) ** 2).sum() / total)
        out[d, 5], out[d, 7] = mean_x, mean_y
        if total < 2:
            continue
        xx, yy = (w * (x - mean_x) ** 2).sum(), (w * (y - mean_y) ** 2).sum()
        out[d, 6], out[d, 8] = np.sqrt(xx / (total - 1)), np.sqrt(yy / (total - 1))
        held_x, held_y = np.zeros(levels_x), np.zeros(levels_y)
        for i in range(n):
            held_x[cx[i]] += w[i]
            held_y[cy[i]] += w[i]
        if (held_x > 0).sum() < 2 or (held_y > 0).sum() < 2:
            continue
        out[d, 1] = (w * (x - mean_x) * (y - mean_y)).sum() / np.sqrt(xx * yy)
        rx = np.cumsum(held_x) - (held_x - 1) / 2
        ry = np.cumsum(held_y) - (held_y - 1) / 2
        middle = (total + 1) / 2
        a, b = rx[cx] - middle, ry[cy] - middle
        out[d, 0] = (w * a * b).sum() / np.sqrt((w * a**2).sum() * (w * b**2).sum())
        pairs = total * (total - 1) / 2
        tied_x, tied_y = (held_x * (held_x - 1)).sum() / 2, (held_y * (held_y - 1)).sum() / 2
        out[d, 2] = _concordance(cx, cy, w, levels_y) / np.sqrt((pairs - tied_x) * (pairs - tied_y))


@compiled
def _concordance(cx, cy, w, levels):  # type: ignore[no-untyped-def]  # numba knows the types
    """Concordant less discordant pairs, by weight; rows sorted by cx."""
    tree = np.zeros(levels + 1)
    weight_below, balance, start = 0.0, 0.0, 0
    for i in range(len(cx)):
        if i > 0 and cx[i] != cx[i - 1]:
            for j in range(start, i):  # rows with equal x enter together: they are tied with each other
                weight_below += w[j]
                at = cy[j] + 1
                while at <= levels:
                    tree[at] += w[j]
                    at += at & -at
            start = i
        if w[i] > 0:
            below, level, at = 0.0, 0.0, cy[i]
            while at > 0:
                below += tree[at]
                at -= at & -at
            at = cy[i] + 1
            while at > 0:
                level += tree[at]
                at -= at & -at
            balance += w[i] * (below - (weight_below - level))
    return balance
