"""Blocks of text on a sheet: flush to which side, turned which way.

Where a block stands says nothing about its alignment, and its lines differ in length enough to show it. Two thirds of
the sheets have a textured ground; half have signs beside the lines, or fine lines at another angle than the text.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from salon.bench.posters.make.deal import dealt, pick
from salon.bench.posters.make.lettering import GROUNDS, ink_on, lines_at
from salon.bench.posters.make.made import Made
from salon.bench.posters.make.photograph import TEXTURES, painted_over, textured
from salon.bench.posters.make.typefaces import PLAIN
from salon.bench.posters.make.words import line_of_words
from salon.bench.posters.vocabulary import ALIGNMENTS, ROTATIONS
from salon.render.brief import SUBJECTS, Align
from salon.render.chance import chance
from salon.render.colors import mix
from salon.render.layout import Box, Face
from salon.render.marks import Fill, Group, Mark
from salon.render.motifs import emblem
from salon.render.shapes import rect, turn
from salon.render.styles.ways import flat
from salon.render.typeset.setting import SetText, TooMuchText

WIDTH, HEIGHT = 720, 900
SIZES = (18.0, 24.0, 32.0, 40.0)
ANGLES = (3.0, 5.0, 8.0, 12.0, 18.0, 25.0, 35.0)
LEAST_RAGGED = 0.15
"""Of the longest line: how much shorter the shortest must be."""
_SIDES: dict[str, Align] = {"left-aligned": "left", "center-aligned": "center", "right-aligned": "right"}
_LENGTHS = ((6, 9), (16, 21), (10, 13), (18, 23), (7, 10), (13, 17))


@dataclass(frozen=True)
class Block:
    """Lines set together, and how unequal they are."""

    set: SetText
    ragged: float


def alignment(number: int, seed: int) -> Made:
    """A block flush left, centered or flush right."""
    side = dealt(ALIGNMENTS, number, seed, "alignment")
    size = dealt(SIZES, number, seed, "alignment", "size")
    rng = chance(seed, "alignment", str(number))
    ground, ink = _colors(rng)
    block = _block(_SIDES[side], size, ink, rng)
    dx, dy = _anywhere(block.set.box, rng)
    text = Group(block.set.glyphs, transform=(1.0, 0.0, 0.0, 1.0, dx, dy))
    texture = dealt(TEXTURES, number, seed, "alignment", "texture")
    beside = dealt((False, True), number, seed, "alignment", "beside")
    signs = _beside(block.set.box, dx, dy, ground, rng) if beside else _decoration(block.set.box, dy, ground, rng)
    pixels = painted_over([*signs, text], textured(WIDTH, HEIGHT, ground, texture, rng))
    prompt = f"How are the lines of text on this poster aligned? Answer with one of: {', '.join(ALIGNMENTS)}."
    truth = {"gt": [side], "alignment": [side], "text_bbox": [_box(block.set.box, dx, dy)], "size": [WIDTH, HEIGHT]}
    hard = {"font size": size, "raggedness": block.ragged, "texture": texture, "marks beside": float(beside)}
    return Made("alignment", "block", prompt, truth, pixels, hard)


def rotation(number: int, seed: int) -> Made:
    """A block turned one way or the other, or not at all."""
    way = dealt(ROTATIONS, number, seed, "rotation")
    angle = dealt(ANGLES, number, seed, "rotation", "angle")
    side = dealt(ALIGNMENTS, number, seed, "rotation", "alignment")
    rng = chance(seed, "rotation", str(number))
    clockwise = {"clockwise rotation": angle, "counterclockwise rotation": -angle, "no rotation": 0.0}[way]
    ground, ink = _colors(rng)
    box = (block := _block(_SIDES[side], 32.0, ink, rng)).set.box
    moved = (WIDTH / 2 - box.middle[0], HEIGHT / 2 - box.middle[1])
    text = Group((Group(block.set.glyphs, transform=(1.0, 0.0, 0.0, 1.0, *moved)),),
                 transform=turn(clockwise, WIDTH / 2, HEIGHT / 2))  # fmt: skip
    texture = dealt(TEXTURES, number, seed, "rotation", "texture")
    striped = dealt((False, True), number, seed, "rotation", "stripes")
    stripes = _stripes(ink, clockwise, rng) if striped else ()
    pixels = painted_over([*stripes, *_corners(ground, rng), text], textured(WIDTH, HEIGHT, ground, texture, rng))
    prompt = (
        "Is the text on this poster turned against the horizontal, and which way as the viewer sees it? "
        f"Counterclockwise means that its lines rise to the right. Answer with one of: {', '.join(ROTATIONS)}."
    )
    truth = {"gt": [way, side], "rotation": [way], "alignment": [side], "angle": clockwise}
    return Made("rotation", "block", prompt, truth, pixels, 
                {"rotation": abs(clockwise), "texture": texture, "stripes": float(striped)})  # fmt: skip


def _colors(rng: np.random.Generator) -> tuple[str, str]:
    ground = pick(GROUNDS, rng)
    return ground, ink_on(ground, 7.0, pick(GROUNDS, rng))


def _block(align: Align, size: float, ink: str, rng: np.random.Generator) -> Block:
    """Four to seven lines of unequal length that fit the sheet at this size."""
    while True:
        lengths = [pick(_LENGTHS, rng) for _ in range(int(rng.integers(4, 8)))]
        face = Face(family=pick(PLAIN, rng).family, weight=pick((400, 600), rng))
        frame = Box(x=0, y=0, width=0.78 * WIDTH, height=0.6 * HEIGHT)
        try:
            done = lines_at([line_of_words(rng, *both) for both in lengths], face, size, frame, paint=ink, align=align)
        except TooMuchText:
            continue
        widths = [line.box.width for line in done.lines]
        ragged = 1 - min(widths) / max(widths)
        if ragged >= LEAST_RAGGED:
            return Block(done, round(ragged, 2))


def _anywhere(box: Box, rng: np.random.Generator) -> tuple[float, float]:
    """A shift that puts the box somewhere in the upper three quarters of the sheet, whatever its alignment."""
    x = rng.uniform(40, WIDTH - 40 - box.width)
    y = rng.uniform(40, max(41.0, 0.78 * HEIGHT - box.height))
    return round(float(x - box.x), 2), round(float(y - box.y), 2)


def _decoration(text: Box, dy: float, ground: str, rng: np.random.Generator) -> tuple[Mark, ...]:
    """A sign below the text, at any place across: it is no hint."""
    foot = text.bottom + dy + 30
    side = min(150.0, HEIGHT - 20 - foot)
    x = rng.uniform(30, WIDTH - 30 - side)
    return _sign(Box(x=float(x), y=foot, width=side, height=side), ground, rng)


def _beside(text: Box, dx: float, dy: float, ground: str, rng: np.random.Generator) -> tuple[Mark, ...]:
    """Small signs to the left and right of lines, as far as there is room: the edge of what is drawn is not the
    text's."""
    marks: list[Mark] = []
    for _ in range(6):
        side, y = rng.uniform(26, 60), rng.uniform(text.y + dy, text.bottom + dy - 30)
        left, right = text.x + dx - side - 12, text.right + dx + 12
        room = [x for x, fits in ((rng.uniform(6, max(7, left)), left > 6), (right, right + side < WIDTH - 6)) if fits]
        if room:
            marks += _sign(
                Box(x=float(pick(room, rng)), y=float(y), width=float(side), height=float(side)), ground, rng
            )
    return tuple(marks)


def _stripes(ink: str, text: float, rng: np.random.Generator) -> tuple[Mark, ...]:
    """Fine lines across the sheet in the color of the text, at an angle that is plainly not the text's."""
    angle = float(text + pick((-1, 1), rng) * rng.uniform(15, 75))
    step = float(rng.uniform(36, 64))
    lines = [Fill(rect(-HEIGHT, y, 3 * HEIGHT, 2.0), ink) for y in np.arange(-HEIGHT, 2 * HEIGHT, step)]
    return (Group(tuple(lines), transform=turn(angle, WIDTH / 2, HEIGHT / 2)),)


def _corners(ground: str, rng: np.random.Generator) -> tuple[Mark, ...]:
    """Upright signs in two corners, from which the horizontal can be told."""
    places = (Box(x=30, y=24, width=110, height=110), Box(x=WIDTH - 140, y=HEIGHT - 134, width=110, height=110))
    return tuple(mark for box in places for mark in _sign(box, ground, rng))


def _sign(box: Box, ground: str, rng: np.random.Generator) -> tuple[Mark, ...]:
    tones = [mix(ground, end, amount) for end, amount in
             (("#ffffff", 0.2), ("#ffffff", 0.4), ("#000000", 0.25), ("#000000", 0.45), ("#ffffff", 0.6),
              ("#000000", 0.6))]  # fmt: skip
    return flat(emblem(pick(SUBJECTS, rng), box, rng), tones)


def _box(box: Box, dx: float, dy: float) -> list[int]:
    return [int(box.x + dx), int(box.y + dy), int(box.right + dx) + 1, int(box.bottom + dy) + 1]
