"""The contrast of a text as its pixels have it, without a look at the colors on record."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from salon.render import Element

_BYTES = np.arange(256) / 255
LINEAR = np.where(_BYTES <= 0.04045, _BYTES / 12.92, ((_BYTES + 0.055) / 1.055) ** 2.4)
WEIGHTS = np.array([0.2126, 0.7152, 0.0722])
FLARE = 0.05
"""What WCAG adds to both luminances."""


def pixel_contrast(pixels: np.ndarray, element: Element) -> float:
    """The contrast of a text: the median of its words', each in its box and one pixel around it.

    The median, because an ornament that crosses a word is not the text's contrast.
    """
    assert element.lettering is not None
    boxes = [word.box for line in element.lettering.lines for word in line.words]
    inside = (
        pixels[max(0, int(b.y) - 1) : int(b.bottom) + 2, max(0, int(b.x) - 1) : int(b.right) + 2].reshape(-1, 3)
        for b in boxes
    )
    return float(np.median([split_contrast(word) for word in inside]))


def split_contrast(pixels: np.ndarray) -> float:
    """WCAG contrast of the light and the dark among pixels (n, 3); 1 where all are alike.

    They are split in two where the variance between the parts is largest (Otsu 1979, on log luminance). Of the light
    part the upper quartile is taken, of the dark one the lower: the rest holds the soft edges of the letters.
    """
    levels = np.sort(np.log(LINEAR[pixels] @ WEIGHTS + FLARE))
    at = _split(levels)
    return float(np.exp(np.quantile(levels[at:], 0.75) - np.quantile(levels[:at], 0.25)))


def _split(ordered: NDArray[np.float64]) -> int:
    """How many of the values, least first, make the lower part."""
    n, sums = len(ordered), np.cumsum(ordered)
    k = np.arange(1, n)
    apart = (sums[-1] - sums[:-1]) / (n - k) - sums[:-1] / k
    return int(k[np.argmax(k * (n - k) * apart**2)])
