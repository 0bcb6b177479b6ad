"""Are the colors those of the brief, and do they go together?"""

from __future__ import annotations

import numpy as np

from salon.judge.measurements.seen import Seen
from salon.render.colors import oklab, parse_color

_SEEN_SHARE = 0.02
"""Share of the picture that has to be near a color for it to count as there."""
_COVERED = 0.5
"""Share of the picture whose distance to the nearest asked color counts in the other direction."""


def palette_match(seen: Seen) -> float | None:
    """How near the picture's colors are to those the brief names: 1 less the mean OKLab distance, both ways.

    From each color asked for to the two percent of the picture nearest to it, and from the half of the picture that
    fits best to the nearest color asked for. None where the brief names no colors.
    """
    if seen.brief is None or not seen.brief.palette:
        return None
    asked = np.array([oklab(parse_color(word)) for word in seen.brief.palette])
    apart = np.linalg.norm(seen.colors[:, None] - asked[None], axis=2)
    there = np.quantile(apart, _SEEN_SHARE, axis=0).mean()
    covered = np.sort(apart.min(axis=1))[: max(1, int(_COVERED * len(apart)))].mean()
    return float(1 - (there + covered) / 2)


def harmony(seen: Seen) -> float | None:
    """Minus how loud the colors are beside each other: chroma, weighed by how far its hue is from the main ones.

    The main direction of hue is the mean of all colors in the (a, b) plane; a color's part across that direction,
    squared, is what it clashes with. None where nothing has a color.
    """
    ab = seen.colors[:, 1:]
    chroma = np.linalg.norm(ab, axis=1)
    if chroma.max() < _GRAY:
        return None
    return -float(np.quantile(chroma, _LOUD))


_GRAY = 0.02
_LOUD = 0.9
