"""Are the letters of the headline evenly set?"""

from __future__ import annotations

import cv2
import numpy as np

from salon.judge.measurements.boxes import headline_lines
from salon.judge.measurements.seen import LINEAR, Seen
from salon.models.ocr import TextLine

_WEIGHTS = np.array([0.2126, 0.7152, 0.0722])
_FEWEST = 4
"""Letters that a line needs for its gaps to say anything."""
_HEIGHT = 64
"""Pixels that a line is brought to, upright."""


def even_spacing(seen: Seen) -> float | None:
    """Minus the spread of the distances between neighbouring letters of the headline, in heights of the line.

    Letters are pieces of ink side by side in the upright line. The spread is the median absolute difference of
    neighbouring distances; overlapping letters count as distance 0, so pushing letters into each other shows.
    None where the headline is not found, or its letters run together as in a script.
    """
    found = [gap for line in headline_lines(seen) if (gap := _unevenness(upright(seen.pixels, line), line.text))]
    return -float(np.mean(found)) if found else None


def _unevenness(pixels: np.ndarray, text: str) -> float | None:
    letters = letter_spans(pixels)
    wanted = sum(one.isalnum() for one in text)
    if len(letters) < _FEWEST or len(letters) < 0.6 * wanted:
        return None
    gaps = (letters[1:, 0] - letters[:-1, 1]) / _HEIGHT
    inner = gaps[gaps < np.median(gaps) + 0.25]  # the space between words is none between letters
    return float(np.std(inner)) if len(inner) >= _FEWEST - 1 else None


def upright(pixels: np.ndarray, line: TextLine) -> np.ndarray:
    """The line turned upright at 64 pixels' height."""
    corners = np.array(line.corners, np.float32)
    width = np.linalg.norm(corners[1] - corners[0])
    wide = max(8, round(_HEIGHT * float(width) / max(1.0, line.height)))
    target = np.array([(0, 0), (wide, 0), (wide, _HEIGHT), (0, _HEIGHT)], np.float32)
    return cv2.warpPerspective(pixels, cv2.getPerspectiveTransform(corners, target), (wide, _HEIGHT))


def letter_spans(pixels: np.ndarray) -> np.ndarray:
    """Left and right end of each letter (n, 2): pieces of ink, those above each other taken together."""
    _, _, stats, _ = cv2.connectedComponentsWithStats(ink_of(pixels).astype(np.uint8))
    pieces = stats[1:]
    tall = pieces[pieces[:, cv2.CC_STAT_HEIGHT] > 0.25 * _HEIGHT]
    spans = sorted((x, x + w) for x, w in tall[:, [cv2.CC_STAT_LEFT, cv2.CC_STAT_WIDTH]].tolist())
    return np.array(spans).reshape(-1, 2)


def ink_of(pixels: np.ndarray) -> np.ndarray:
    """Which pixels (height, width, RGB) are ink: of light and dark, the one that the upper and lower edges lack."""
    light = np.log(LINEAR[pixels] @ _WEIGHTS + 0.05)
    scaled = cv2.normalize(light, np.empty_like(light), 0, 255, cv2.NORM_MINMAX).astype(np.uint8)
    _, found = cv2.threshold(scaled, 0, 1, cv2.THRESH_OTSU)
    is_ground = np.concatenate([found[0], found[-1]]).mean() > 0.5  # the ground is the lighter
    values: np.ndarray = (found == 0) if is_ground else (found == 1)
    return values
