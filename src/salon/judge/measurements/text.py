"""Measurements of the text in a picture: the words asked for, order on the page, even spacing.

A word is what stands between spaces and holds a letter or a digit. Words are compared without case and without
anything but letters and digits; accents count. Engines put spaces wrong, so runs are compared: consecutive words of
one text as asked, written together, with consecutive words of one line as read, written together. The longest runs are
matched first, and every word read accounts for at most one run: a word asked for three times has to be read three
times.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence

import numpy as np

from salon.errors import MissingExtra
from salon.judge.measurements.pixels import LINEAR, PictureView
from salon.models import ReadingLine

try:
    import cv2
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

_Run = tuple[int, int, int]
_Words = list[list[str | None]]


def word_accuracy(view: PictureView) -> float | None:
    """Share of the words asked for that were read; None where the prompt quotes none."""
    texts = [fold_words(text.split()) for text in view.asked.values()]
    is_read = [word for text in found_words(texts, (line.text for line in view.lines)) for word in text]
    return sum(is_read) / len(is_read) if is_read else None


def fold_words(words: Iterable[str]) -> list[str]:
    """Words as they are compared; those without a letter or digit are gone."""
    plain = (unicodedata.normalize("NFKC", word).casefold() for word in words)
    return [word for word in ("".join(filter(str.isalnum, word)) for word in plain) if word]


def found_words(texts: Sequence[Sequence[str]], lines: Iterable[str]) -> list[list[bool]]:
    """For every word of every text in `texts` (as `fold_words` gives them), whether it is in the lines read."""
    left: _Words = [list(fold_words(line.split())) for line in lines]
    open_: _Words = [list(text) for text in texts]
    places: dict[str, list[_Run]] = {}
    for run, text in _runs(left):
        places.setdefault(text, []).append(run)
    for run, text in sorted(_runs(open_), key=lambda run_text: -len(run_text[1])):
        there = next((place for place in places.get(text, ()) if _is_whole(left, place)), None)
        if there and _is_whole(open_, run):
            _strike(left, there)
            _strike(open_, run)
    return [[word is None for word in text] for text in open_]


def _runs(rows: _Words) -> list[tuple[_Run, str]]:
    """Every run of consecutive words of a row: (row, start, end), and the words written together."""
    return [
        ((number, start, stop), "".join(filter(None, row[start:stop])))
        for number, row in enumerate(rows)
        for start in range(len(row))
        for stop in range(start + 1, len(row) + 1)
    ]


def _is_whole(rows: _Words, run: _Run) -> bool:
    number, start, stop = run
    return None not in rows[number][start:stop]


def _strike(rows: _Words, run: _Run) -> None:
    number, start, stop = run
    rows[number][start:stop] = [None] * (stop - start)


# -- order on the page -------------------------------------------------------------------------------------------------

_HEIGHTS = {"top": 1 / 6, "middle": 1 / 2, "bottom": 5 / 6}
"""Where the middle of a headline is meant to be, as a share of the height."""
_REACH = 0.1
"""Distance, as a share of the shorter side, from which an edge counts as fully out of line."""
_SAME_SIZE, _LEADING = 1.35, 0.9
"""What lines of one block have in common: nearly one height, and less than this many heights between them."""


def alignment(view: PictureView) -> float | None:
    """1 where every two blocks of text share their left edge, middle or right edge, 0 where no two nearly do.

    For each pair of blocks the least distance of one of the three to the same of the other, in the shorter side and
    cut at a tenth of it; the mean over pairs. None with fewer than two blocks.
    """
    sides = [(min(line.left for line in block), max(line.right for line in block)) for block in blocks(view.lines)]
    edges = np.array([(left, (left + right) / 2, right) for left, right in sides])
    if len(edges) < 2:
        return None
    first, second = np.triu_indices(len(edges), 1)
    apart = np.abs(edges[first] - edges[second]).min(axis=1) / min(view.image.size)
    return float(1 - np.minimum(apart / _REACH, 1).mean())


def blocks(lines: Sequence[ReadingLine]) -> list[list[ReadingLine]]:
    """Lines that were set together: of one size, close below each other, over the same ground."""
    groups: list[list[ReadingLine]] = []
    for line in sorted(lines, key=lambda line: line.top):
        above = next((block for block in groups if _continues(block[-1], line)), None)
        if above is None:
            groups.append([line])
        else:
            above.append(line)
    return groups


def _continues(above: ReadingLine, line: ReadingLine) -> bool:
    small, large = sorted((above.height, line.height))
    close = line.top - above.bottom < _LEADING * line.height and line.bottom > above.bottom
    return large < _SAME_SIZE * small and close and min(line.right, above.right) > max(line.left, above.left)


def hierarchy(view: PictureView) -> float | None:
    """How much larger the largest line is than the text around it: log2 of its height over the median letter's."""
    if len(view.lines) < 2:
        return None
    heights = np.array([line.height for line in view.lines])
    order, letters = np.argsort(heights), np.array(_letter_counts(view))
    reached = np.cumsum(letters[order]) / letters.sum()
    return float(np.log2(heights.max() / heights[order][np.searchsorted(reached, 0.5)]))


def room(view: PictureView) -> float | None:
    """Space around the text: the mean distance of lines to the nearest edge or other line, in the shorter side."""
    if not view.lines:
        return None
    width, height = view.image.size
    free = [
        min(
            max(0.0, min(line.left, line.top, width - line.right, height - line.bottom)),
            min((_gap(line, neighbor) for neighbor in view.lines if neighbor is not line), default=np.inf),
        )
        for line in view.lines
    ]
    return float(np.average(free, weights=_letter_counts(view)) / min(width, height))


def _gap(a: ReadingLine, b: ReadingLine) -> float:
    across = max(0.0, a.left - b.right, b.left - a.right)
    down = max(0.0, a.top - b.bottom, b.top - a.bottom)
    return float(np.hypot(across, down))


def headline_place(view: PictureView) -> float | None:
    """1 where the headline is in the third the brief asks for, less by the share of the height it is away.

    None where the brief names no place, or no line read holds a word of the headline.
    """
    if view.brief is None or view.brief.headline_at is None or "headline" not in view.asked:
        return None
    lines = headline_lines(view)
    if not lines:
        return None
    middle = (min(line.top for line in lines) + max(line.bottom for line in lines)) / 2
    return float(1 - abs(middle / view.image.height - _HEIGHTS[view.brief.headline_at]))


def headline_lines(view: PictureView) -> list[ReadingLine]:
    """The lines that hold words of the headline, without those much smaller than the largest of them."""
    words = set(fold_words(view.asked.get("headline", "").split()))
    lines = [line for line in view.lines if words & set(fold_words(line.text.split()))]
    largest = max((line.height for line in lines), default=0.0)
    return [line for line in lines if line.height > 0.6 * largest]


def _letter_counts(view: PictureView) -> list[float]:
    return [float(max(1, len(line.text))) for line in view.lines]


# -- spacing -----------------------------------------------------------------------------------------------------------

_WEIGHTS = np.array([0.2126, 0.7152, 0.0722])
_FEWEST = 4
"""Letters that a line needs for its gaps to say anything."""
_LINE_HEIGHT = 64
"""Pixels that a line is brought to, upright."""


def even_spacing(view: PictureView) -> float | None:
    """Minus the spread of the distances between neighbouring letters of the headline, in heights of the line.

    Letters are pieces of ink side by side in the upright line. The spread is the median absolute difference of
    neighbouring distances; overlapping letters count as distance 0, so pushing letters into each other shows.
    None where the headline is not found, or its letters run together as in a script.
    """
    spreads = [gap for line in headline_lines(view) if (gap := _unevenness(upright(view.pixels, line), line.text))]
    return -float(np.mean(spreads)) if spreads else None


def _unevenness(pixels: np.ndarray, text: str) -> float | None:
    letters = letter_spans(pixels)
    letter_count = sum(letter.isalnum() for letter in text)
    if len(letters) < _FEWEST or len(letters) < 0.6 * letter_count:
        return None
    gaps = (letters[1:, 0] - letters[:-1, 1]) / _LINE_HEIGHT
    inner = gaps[gaps < np.median(gaps) + 0.25]  # the space between words is none between letters
    return float(np.std(inner)) if len(inner) >= _FEWEST - 1 else None


def upright(pixels: np.ndarray, line: ReadingLine) -> np.ndarray:
    """The line turned upright at 64 pixels' height."""
    corners = np.array(line.corners, np.float32)
    width = np.linalg.norm(corners[1] - corners[0])
    wide = max(8, round(_LINE_HEIGHT * float(width) / max(1.0, line.height)))
    target = np.array([(0, 0), (wide, 0), (wide, _LINE_HEIGHT), (0, _LINE_HEIGHT)], np.float32)
    return cv2.warpPerspective(pixels, cv2.getPerspectiveTransform(corners, target), (wide, _LINE_HEIGHT))


def letter_spans(pixels: np.ndarray) -> np.ndarray:
    """Left and right end of each letter (n, 2): pieces of ink, those above each other taken together."""
    _, _, stats, _ = cv2.connectedComponentsWithStats(ink_of(pixels).astype(np.uint8))
    pieces = stats[1:]
    tall = pieces[pieces[:, cv2.CC_STAT_HEIGHT] > 0.25 * _LINE_HEIGHT]
    spans = sorted((x, x + w) for x, w in tall[:, [cv2.CC_STAT_LEFT, cv2.CC_STAT_WIDTH]].tolist())
    return np.array(spans).reshape(-1, 2)


def ink_of(pixels: np.ndarray) -> np.ndarray:
    """Which pixels (height, width, RGB) are ink: of light and dark, the one that the upper and lower edges lack."""
    light = np.log(LINEAR[pixels] @ _WEIGHTS + 0.05)
    scaled = cv2.normalize(light, np.empty_like(light), 0, 255, cv2.NORM_MINMAX).astype(np.uint8)
    _, is_light = cv2.threshold(scaled, 0, 1, cv2.THRESH_OTSU)
    is_ground = np.concatenate([is_light[0], is_light[-1]]).mean() > 0.5  # the ground is the lighter
    values: np.ndarray = (is_light == 0) if is_ground else (is_light == 1)
    return values
