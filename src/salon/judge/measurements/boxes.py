"""Order on the page, from the boxes of the text that was found: alignment, hierarchy, room, place."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from salon.judge.measurements.seen import Seen
from salon.judge.measurements.words import folded
from salon.models.ocr import TextLine

_HEIGHTS = {"top": 1 / 6, "middle": 1 / 2, "bottom": 5 / 6}
"""Where the middle of a headline is meant to be, as a share of the height."""
_REACH = 0.1
"""Distance, as a share of the shorter side, from which an edge counts as fully out of line."""
_SAME_SIZE, _LEADING = 1.35, 0.9
"""What lines of one block have in common: nearly one height, and less than this many heights between them."""


def alignment(seen: Seen) -> float | None:
    """1 where every two blocks of text share their left edge, middle or right edge, 0 where no two nearly do.

    For each pair of blocks the least distance of one of the three to the same of the other, in the shorter side and
    cut at a tenth of it; the mean over pairs. None with fewer than two blocks.
    """
    edges = np.array([_edges(block) for block in blocks(seen.lines)])
    if len(edges) < 2:
        return None
    first, second = np.triu_indices(len(edges), 1)
    apart = np.abs(edges[first] - edges[second]).min(axis=1) / min(seen.image.size)
    return float(1 - np.minimum(apart / _REACH, 1).mean())


def blocks(lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Lines that were set together: of one size, close below each other, over the same ground."""
    found: list[list[TextLine]] = []
    for line in sorted(lines, key=lambda line: line.top):
        above = next((block for block in found if _continues(block[-1], line)), None)
        if above is None:
            found.append([line])
        else:
            above.append(line)
    return found


def _continues(above: TextLine, line: TextLine) -> bool:
    small, large = sorted((above.height, line.height))
    close = line.top - above.bottom < _LEADING * line.height and line.bottom > above.bottom
    return large < _SAME_SIZE * small and close and min(line.right, above.right) > max(line.left, above.left)


def _edges(block: Sequence[TextLine]) -> tuple[float, float, float]:
    left, right = min(line.left for line in block), max(line.right for line in block)
    return left, (left + right) / 2, right


def hierarchy(seen: Seen) -> float | None:
    """How much larger the largest line is than the text around it: log2 of its height over the median letter's."""
    if len(seen.lines) < 2:
        return None
    heights = np.array([line.height for line in seen.lines])
    order, letters = np.argsort(heights), np.array(_letters(seen))
    reached = np.cumsum(letters[order]) / letters.sum()
    return float(np.log2(heights.max() / heights[order][np.searchsorted(reached, 0.5)]))


def room(seen: Seen) -> float | None:
    """Space around the text: the mean distance of lines to the nearest edge or other line, in the shorter side."""
    if not seen.lines:
        return None
    width, height = seen.image.size
    free = [min(_to_edge(line, width, height), _to_others(line, seen.lines)) for line in seen.lines]
    return float(np.average(free, weights=_letters(seen)) / min(width, height))


def _to_edge(line: TextLine, width: int, height: int) -> float:
    return max(0.0, min(line.left, line.top, width - line.right, height - line.bottom))


def _to_others(line: TextLine, lines: tuple[TextLine, ...]) -> float:
    return min((_gap(line, other) for other in lines if other is not line), default=np.inf)


def _gap(a: TextLine, b: TextLine) -> float:
    across = max(0.0, a.left - b.right, b.left - a.right)
    down = max(0.0, a.top - b.bottom, b.top - a.bottom)
    return float(np.hypot(across, down))


def headline_place(seen: Seen) -> float | None:
    """1 where the headline is in the third the brief asks for, less by the share of the height it is away.

    None where the brief names no place, or no line read holds a word of the headline.
    """
    if seen.brief is None or seen.brief.headline_at is None or "headline" not in seen.asked:
        return None
    lines = headline_lines(seen)
    if not lines:
        return None
    middle = (min(line.top for line in lines) + max(line.bottom for line in lines)) / 2
    return float(1 - abs(middle / seen.image.height - _HEIGHTS[seen.brief.headline_at]))


def headline_lines(seen: Seen) -> list[TextLine]:
    """The lines that hold words of the headline, without those much smaller than the largest of them."""
    wanted = set(folded(seen.asked.get("headline", "").split()))
    found = [line for line in seen.lines if wanted & set(folded(line.text.split()))]
    largest = max((line.height for line in found), default=0.0)
    return [line for line in found if line.height > 0.6 * largest]


def _letters(seen: Seen) -> list[float]:
    return [float(max(1, len(line.text))) for line in seen.lines]
