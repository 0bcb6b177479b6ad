"""A contestant that measures pixels: no network, no reading, only rules about ink on a ground.

It sees what a VLM would be shown, the prompt and the picture, and nothing else of an item: these are the arguments of
`measured_answer`. Its score shows how much of a task eyes alone can answer.

    alignment          lines are runs of rows with ink; the edge (left, middle, right) that most of them share
    rotation           the angle at which the ink falls into the sharpest rows
    empty space        the patches that differ least from the ground, as many as are asked for
    layout comparison  the half whose strokes keep off its sides, with one text taller than the others, rows left free
    text localisation  blocks of strokes, the largest first
    font effect 1      what the lower word has and the upper, plain word has not

Every effect leaves a trace: pixels darker than the ground (shadow), a filled bar (highlight), a word twice as high
(reflection), half-lit pixels (glow), a second color around the letters (outline) or in them (gradient fill), a row full
of ink (underline), slanted stems (italic), more ink (bold). In this order no trace can be mistaken for a later one; the
first one that is there and among the options is the answer.

The rules were made on sets of other seeds than those they are scored on. They expect one word twice, one block, one
ground. On other posters they guess, and if they do not understand a prompt they say nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from salon.bench.posters.answers_numbers import SCALES
from salon.bench.posters.item import Box
from salon.bench.posters.settings import Convention
from salon.bench.posters.tasks import ALIGNMENTS, CLASSIC_EFFECTS, GRID, ROTATIONS, fold_label

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
    edges: Bools = np.maximum(across, down) > least
    return edges


def runs(marked: Bools) -> list[tuple[int, int]]:
    """Stretches of true values, as (first, one past the last)."""
    steps: NDArray[Any] = np.diff(np.concatenate([[0], marked.astype(int), [0]]))
    return [(int(a), int(b)) for a, b in zip(np.flatnonzero(steps == 1), np.flatnonzero(steps == -1))]


# -- the effect on a word ----------------------------------------------------------------------------------------------

_OPTION = re.compile(r"\b([A-D])[).:] ?([A-Za-z][a-z_ ]*)")
_SLANTS = np.arange(-0.1, 0.46, 0.02)
_LIT = 12.0
"""Difference from the ground, of 255, from which a pixel is something."""
_OFF = 30.0
"""Difference from every mixture of ground and ink from which a pixel has a color of its own."""


def effect_seen(prompt: str, pixels: Pixels) -> str | None:
    """The letter of the effect that is seen; None where the prompt lists no options, or none of them is seen."""
    options = {effect: letter for letter, effect in _options(prompt)}
    if not options:
        return None
    ground = ground_of(pixels)
    upper, lower = np.array_split(pixels, 2, axis=0)
    if not (distance(upper, ground) > _LIT).any() or not (distance(lower, ground) > _LIT).any():
        return None
    return next((options[effect] for effect in _visible_effects(upper, lower, ground) if effect in options), None)


def _options(prompt: str) -> Iterator[tuple[str, str]]:
    """Letter and effect of the options that a prompt lists."""
    for letter, words in _OPTION.findall(prompt):
        effect = next(
            (candidate for candidate in CLASSIC_EFFECTS if fold_label(words).startswith(fold_label(candidate))), None
        )
        if effect is not None:
            yield letter, effect


def _visible_effects(upper: Pixels, lower: Pixels, ground: Floats) -> Iterator[str]:
    """Effects whose trace is there, in their order."""
    apart = distance(upper, ground)
    ink: Floats = np.median(upper[apart >= 0.9 * apart.max()], axis=0)
    plain, changed = _mixture(upper, ground, ink), _mixture(lower, ground, ink)
    before, after = plain > 0.5, changed > 0.5
    area = max(1, int(before.sum()))
    high, wide = _size(apart > _LIT)
    lit = distance(lower, ground) > _LIT
    high_now, wide_now = _size(lit)
    nearest = ground + np.clip(changed, 0, 1)[..., None] * (ink - ground)
    own = (np.abs(lower.astype(float) - nearest).max(axis=2) > _OFF).sum() / area  # no mixture of ground and ink
    traces = {
        "shadow": (lower.sum(axis=2) < ground.sum() - _LIT).sum() / area > 0.3,
        "highlight": lit.sum() / (high_now * wide_now) > 0.95,
        "reflection": high_now / high > 1.6,
        "glow": (_half(changed) - _half(plain)) / area > 1.8,
        "outline": own > 0.4 and high_now > 1.02 * high,
        "gradient_fill": own > 0.4,
        "underline": after.sum(axis=1).max() / wide_now - before.sum(axis=1).max() / wide > 0.33,
        "italic": _slant(after) - _slant(before) > 0.1,
        "bold": after.sum() / area > 1.2,
    }
    return (effect for effect, there in traces.items() if there)


def _mixture(half: Pixels, ground: Floats, ink: Floats) -> Floats:
    """How far each pixel is on the way from the ground (0) to the ink (1)."""
    way = ink - ground
    along: Floats = (half.astype(float) - ground) @ way / (way @ way)
    return along


def _half(along: Floats) -> int:
    """Pixels lit by halves."""
    return int(((along > 0.08) & (along < 0.6)).sum())


def _size(lit: Bools) -> tuple[int, int]:
    """Height and width of what is lit."""
    rows, columns = np.flatnonzero(lit.any(axis=1)), np.flatnonzero(lit.any(axis=0))
    return int(rows[-1] - rows[0] + 1), int(columns[-1] - columns[0] + 1)


def _slant(letters: Bools) -> float:
    """The shear that puts most ink above one another: 0 for upright stems, positive where they lean to the right."""
    y, x = np.nonzero(letters)
    if not len(y):
        return 0.0

    def stacking(shear: float) -> float:
        columns = x + shear * (y - y.mean())
        return float((np.bincount((columns - columns.min()).astype(int)).astype(float) ** 2).sum())

    return float(max(_SLANTS, key=stacking))


# -- rules by task -----------------------------------------------------------------------------------------------------

NAME = "measure"
SIGNATURE = "measure 1"
"""Changes when a rule does."""
SAME_PLACE = 2.0
"""Pixels within which two edges are one."""
TURNED = 1.5
"""Degrees below which text counts as level."""
_ANGLES = np.arange(-45.0, 45.25, 0.5)
_COUNT = re.compile(r"exactly\s+(\d{1,2})\b", re.IGNORECASE)
_MOST_POINTS = 30_000


def can_measure(task: str) -> bool:
    """Whether there is a rule for the task of that name."""
    return task in _RULES


def measured_answer(task: str, prompt: str, pixels: Pixels, boxes: Convention = "share") -> str | None:
    """What the rules say to the prompt about the picture (height, width, RGB); None where they do not understand it."""
    if task == "text_localization":
        return _locate_text(pixels, boxes)
    return _RULES[task](prompt, pixels)


# -- lines and angles ----------------------------------------------------------------------------------------------


def _alignment(prompt: str, pixels: Pixels) -> str | None:
    ink = far_from_ground(pixels)
    columns = [np.flatnonzero(ink[top:bottom].any(axis=0)) for top, bottom in runs(np.asarray(ink.any(axis=1)))]
    lines = np.array([(line[0], line[-1]) for line in columns])
    if not len(lines):
        return None
    left, right = lines.T
    alike = [
        int((np.abs(edge[:, None] - edge[None]) <= SAME_PLACE).sum(axis=1).max())
        for edge in (left, (left + right) / 2, right)
    ]
    return ALIGNMENTS[int(np.argmax(alike))]


def _rotation(prompt: str, pixels: Pixels) -> str | None:
    y, x = np.nonzero(far_from_ground(pixels, 0.6))
    if not len(y):
        return None
    step = max(1, len(y) // _MOST_POINTS)
    angle = max(_ANGLES, key=lambda degrees: _sharpness(x[::step], y[::step], float(degrees)))
    return ROTATIONS[2] if abs(angle) < TURNED else ROTATIONS[0] if angle < 0 else ROTATIONS[1]


def _sharpness(x: NDArray[np.int64], y: NDArray[np.int64], degrees: float) -> float:
    """How unequal the rows are when the ink is turned back by this angle (clockwise ones are positive)."""
    turn = np.radians(degrees)
    rows = np.floor((y * np.cos(turn) - x * np.sin(turn)) / 3).astype(int)
    counts = np.bincount(rows - rows.min()).astype(float)
    return float(np.sum(np.diff(counts, prepend=0, append=0) ** 2))


# -- places --------------------------------------------------------------------------------------------------------


def _empty(prompt: str, pixels: Pixels) -> str | None:
    if min(pixels.shape[:2]) < GRID:
        return None
    ink = far_from_ground(pixels, 0.08)
    rows, columns = (np.linspace(0, side, GRID + 1).astype(int) for side in ink.shape)
    shares = [
        float(ink[rows[i] : rows[i + 1], columns[j] : columns[j + 1]].mean()) for i in range(GRID) for j in range(GRID)
    ]
    match = _COUNT.search(prompt)
    count = int(match[1]) if match else sum(share < 0.002 for share in shares)
    return json.dumps(sorted(int(patch) for patch in np.argsort(shares, kind="stable")[:count]))


def _locate_text(pixels: Pixels, boxes: Convention) -> str:
    """Blocks of strokes: lines are strokes joined across, blocks are lines of one height that stand close together."""
    height, width = pixels.shape[:2]
    sides = (width, height) if boxes == "pixel" else (SCALES[boxes], SCALES[boxes])
    blocks = sorted(_blocks(pixels), key=lambda block: -(block[2] - block[0]) * (block[3] - block[1]))
    scaled = [[round(n * side, 5) for n, side in zip(box, (*sides, *sides))] for box in blocks]
    return json.dumps(scaled)


def _blocks(pixels: Pixels) -> list[Box]:
    from scipy import ndimage

    height, width = pixels.shape[:2]
    joined = ndimage.binary_closing(np.pad(strokes(pixels), 20), np.ones((3, max(5, width // 48))))[20:-20, 20:-20]
    labels, _ = ndimage.label(joined)
    lines = []
    for rows, columns in ndimage.find_objects(labels):
        high, wide = rows.stop - rows.start, columns.stop - columns.start
        if 6 <= high <= height / 5 and wide >= 1.5 * high:
            lines.append((columns.start, rows.start, columns.stop, rows.stop))
    return [
        (x1 / width, y1 / height, x2 / width, y2 / height)
        for x1, y1, x2, y2 in _stack_lines(sorted(lines, key=lambda line: line[1]))
    ]


def _stack_lines(lines: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Lines put together where one stands right below another, is as high and begins, ends or is centered alike."""
    blocks: list[list[tuple[int, int, int, int]]] = []
    for line in lines:
        home = next((block for block in blocks if _belongs(line, block[-1])), None)
        if home is None:
            blocks.append([line])
        else:
            home.append(line)
    return [
        (
            min(line_box[0] for line_box in b),
            min(line_box[1] for line_box in b),
            max(line_box[2] for line_box in b),
            max(line_box[3] for line_box in b),
        )
        for b in blocks
    ]


def _belongs(line: tuple[int, int, int, int], above: tuple[int, int, int, int]) -> bool:
    high, before = line[3] - line[1], above[3] - above[1]
    near = -0.2 * before <= line[1] - above[3] <= 0.7 * max(high, before)
    alike = 0.6 <= high / before <= 1.7
    edges = min(abs(line[0] - above[0]), abs(line[2] - above[2]), abs(line[0] + line[2] - above[0] - above[2]) / 2)
    return near and alike and edges <= 0.6 * max(high, before)


def _comparison(prompt: str, pixels: Pixels) -> str | None:
    """A or B, by the first of these that tells them apart: nothing runs into the sides, one text stands out, rows are
    left free, texts stand apart, texts begin at one place."""
    halves = [poster for half in np.array_split(pixels, 2, axis=1) if (poster := _poster_of_half(half)) is not None]
    if len(halves) != 2:
        return None
    left, right = (_traits(poster) for poster in halves)
    for mine, yours, least in zip(left, right, _TELLING):
        if abs(mine - yours) > least:
            return "A" if mine > yours else "B"
    return None


_TELLING = (0.01, 0.03, 0.04, 0.0, 0.0, 0.0)
"""Differences of `_traits` from which they tell two layouts apart."""


def _traits(poster: Pixels) -> Sequence[float]:
    """What is the larger the better a layout is, the surest first."""
    edges = strokes(poster)
    blocks = _blocks(poster)
    tallest = max((box[3] - box[1] for box in blocks), default=0.0)
    starts = np.array([box[0] for box in blocks])
    shared = (np.abs(starts[:, None] - starts[None]) < 0.006).sum(axis=1) > 1
    free = float((~edges.any(axis=1)).mean())
    rows = len(runs(np.asarray(edges.any(axis=1))))
    return (
        -float(np.mean(edges[:, :4].any(axis=1)) + np.mean(edges[:, -4:].any(axis=1))),
        tallest,
        free,
        rows,
        float(shared.mean()) if len(blocks) else 0.0,
        float(edges.mean()),
    )


def _poster_of_half(half: Pixels) -> Pixels | None:
    """The poster of one half: the part that is not paper."""
    if not half.size:
        return None
    is_poster = (half < 255).any(axis=2)
    rows, columns = np.flatnonzero(is_poster.mean(axis=1) > 0.5), np.flatnonzero(is_poster.mean(axis=0) > 0.5)
    if not len(rows) or not len(columns):
        return None
    return half[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


_RULES: dict[str, Callable[[str, Pixels], str | None]] = {
    "alignment": _alignment,
    "rotation": _rotation,
    "empty_space": _empty,
    "layout_comparison": _comparison,
    "text_localization": lambda prompt, pixels: _locate_text(pixels, "share"),
    "font_effect": effect_seen,
}
