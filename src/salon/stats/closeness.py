"""How near sampled scores are to their labels: the absolute term that a reward by order lacks.

    C_k = mean over criteria of  1 - |s_kd - v_d| / (high - low)

for an answer with scores s_kd about an image with labels v_d: 1 where they are equal, 0 at opposite ends of the scale.
The mean is over criteria with a label. Being linear in the distance, its best answer is the median of what the labels
may be, and one far-off label pulls no harder than a near one.

Why. The fidelity reward (`stats.fidelity`) depends on differences of scores alone: adding a number to every score
changes nothing. What scale a policy trained by it ends up with is decided by where it began, by the penalty for leaving
the scale, and by how far it may move from its beginning, not by the labels. This term ties it to them.

Edges. An answer with a NaN among its scores has no reward (NaN), as in `stats.fidelity`; nor has one about an image
without any label. Labels off the scale, infinite numbers, or a scale without width: BadValue.

Source: Salon's own; PPaint's reward has no such term.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue

Floats = NDArray[np.float64]


def closeness_rewards(scores: ArrayLike, values: ArrayLike, *, low: float, high: float) -> Floats:
    """(m,) C of answers with `scores` (m, D) about images with labels `values` (m, D), NaN where there is none."""
    s, v = np.asarray(scores, float), np.asarray(values, float)
    if s.ndim != 2 or s.shape != v.shape:
        raise BadValue("scores and labels are tables of the same shape", found=f"{s.shape} and {v.shape}")
    if not low < high:
        raise BadValue("a scale needs two ends", found=f"{low:g} and {high:g}")
    if np.isinf(s).any():
        raise BadValue("scores are finite numbers, or NaN for an answer without", found="infinity")
    told = ~np.isnan(v)
    if (told & ((v < low) | (v > high))).any():
        raise BadValue(f"labels lie between {low:g} and {high:g}", found="others")
    near = np.where(told, 1 - np.abs(s - np.where(told, v, 0.0)) / (high - low), 0.0)
    count = told.sum(axis=1)
    mean = np.divide(near.sum(axis=1), count, out=np.full(len(s), np.nan), where=count > 0)
    return np.where(np.isfinite(s).all(axis=1), mean, np.nan)
