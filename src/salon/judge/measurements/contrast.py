"""Can the text be told from what it stands on? WCAG contrast from pixels alone."""

from __future__ import annotations

import numpy as np

from salon.judge.measurements.seen import LINEAR, Seen
from salon.models.ocr import TextLine

_WEIGHTS = np.array([0.2126, 0.7152, 0.0722])
_FLARE = 0.05
"""What WCAG adds to both luminances."""
_QUARTER = 0.25


def text_contrast(seen: Seen) -> float | None:
    """WCAG contrast, 1 to 21, that three quarters of the text have at least, weighed by letters.

    1 where texts were asked for and none could be found: what a reader of lines cannot see at all has no contrast.
    None where no text is found and none was asked for.
    """
    if not seen.lines:
        return 1.0 if seen.asked else None
    values = np.array([split_contrast(_inside(seen.pixels, line)) for line in seen.lines])
    letters = np.array([max(1, len(line.text)) for line in seen.lines], float)
    order = np.argsort(values)
    reached = np.cumsum(letters[order]) / letters.sum()
    return float(values[order][np.searchsorted(reached, _QUARTER)])


def _inside(pixels: np.ndarray, line: TextLine) -> np.ndarray:
    top, bottom = max(0, int(line.top)), int(line.bottom) + 1
    left, right = max(0, int(line.left)), int(line.right) + 1
    return pixels[top:bottom, left:right].reshape(-1, 3)


def split_contrast(pixels: np.ndarray) -> float:
    """WCAG contrast of the light and the dark among pixels (n, 3); 1 where all are alike.

    They are split in two where the variance between the parts is largest (Otsu 1979, on log luminance). Of the light
    part the upper quartile is taken, of the dark one the lower: the rest holds the soft edges of the letters.
    """
    levels = np.sort(np.log(LINEAR[pixels] @ _WEIGHTS + _FLARE))
    if len(levels) < 2:
        return 1.0
    n, sums = len(levels), np.cumsum(levels)
    k = np.arange(1, n)
    apart = (sums[-1] - sums[:-1]) / (n - k) - sums[:-1] / k
    at = int(k[np.argmax(k * (n - k) * apart**2)])
    return float(np.exp(np.quantile(levels[at:], 0.75) - np.quantile(levels[:at], 0.25)))
