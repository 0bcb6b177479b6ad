"""Ink on a ground: the measurements that rules about pixels are made of."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def ground_of(pixels: Pixels) -> Floats:
    """The color of the ground: the median of the commonest of 4,096 coarse colors."""
    flat = pixels.reshape(-1, 3)
    coarse = (flat >> 4).astype(int) @ np.array([256, 16, 1])
    most = int(np.bincount(coarse).argmax())
    middle: Floats = np.median(flat[coarse == most], axis=0)
    return middle


def distance(pixels: Pixels, color: Floats) -> Floats:
    """Of every pixel from a color: the largest difference of its three channels, 0 to 255."""
    apart: Floats = np.abs(pixels.astype(float) - color).max(axis=2)
    return apart


def far_from_ground(pixels: Pixels, share: float = 0.35) -> Bools:
    """Which pixels are ink: farther from the ground than this share of the farthest (of all but one in a thousand)."""
    apart = distance(pixels, ground_of(pixels))
    most = float(np.quantile(apart, 0.999))
    ink: Bools = apart > max(share * most, 8.0)
    return ink


def strokes(pixels: Pixels, least: float = 40.0) -> Bools:
    """Where neighbouring pixels differ much: the sides of letters, and of whatever else has sides."""
    values = pixels.astype(np.int16)
    across = np.abs(np.diff(values, axis=1, append=values[:, -1:])).max(axis=2)
    down = np.abs(np.diff(values, axis=0, append=values[-1:])).max(axis=2)
    found: Bools = np.maximum(across, down) > least
    return found


def runs(marked: Bools) -> list[tuple[int, int]]:
    """Stretches of true values, as (first, one past the last)."""
    steps: NDArray[Any] = np.diff(np.concatenate([[0], marked.astype(int), [0]]))
    return [(int(a), int(b)) for a, b in zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1))]
