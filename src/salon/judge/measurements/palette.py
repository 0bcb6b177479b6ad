"""Are the colors those of the brief?"""

from __future__ import annotations

import numpy as np

from salon.judge.measurements.seen import Seen
from salon.render.colors import oklab, parse_color

_LEADS = 0.3
"""Share of the picture that is expected to have the color named first."""
_GRAY = 0.04
"""Chroma below which a color has no hue to be got wrong."""


def palette_match(seen: Seen) -> float | None:
    """1 less how far the picture's colors are from those the brief names, in two parts.

    The dominant color: the mean OKLab distance of three tenths of the picture, those nearest to it, from the color
    named first. All colors: the angle of hue from each pixel to the nearest color named, as a share of half a turn,
    weighed by the pixel's chroma. None where the brief names no colors, or only grays.
    """
    if seen.brief is None or not seen.brief.palette:
        return None
    asked = np.array([oklab(parse_color(word)) for word in seen.brief.palette])
    colored = asked[np.hypot(asked[:, 1], asked[:, 2]) > _GRAY]
    if not len(colored):
        return None
    first = np.sort(np.linalg.norm(seen.colors - asked[0], axis=1))
    return float(1 - first[: max(1, int(_LEADS * len(first)))].mean() - _hue_gap(seen.colors, colored))


def _hue_gap(colors: np.ndarray, asked: np.ndarray) -> float:
    weights = np.maximum(np.hypot(colors[:, 1], colors[:, 2]) - _GRAY, 0)
    if not weights.any():
        return 0.0
    turned = np.arctan2(colors[:, 2], colors[:, 1])[:, None] - np.arctan2(asked[:, 2], asked[:, 1])[None]
    nearest = np.abs((turned + np.pi) % (2 * np.pi) - np.pi).min(axis=1)
    return float(np.average(nearest, weights=weights) / np.pi)
