"""Reading: five plain lines, five hard ones, and six lines at fourteen sizes.

What is set is what is asked for, letter by letter; words are in no order that could be guessed. Hard lines are made
hard by four knobs that are on record: clutter below and across the letters, faint ink, tilt, and fancy faces.
"""

from __future__ import annotations

import numpy as np

from salon.bench.posters.make.deal import dealt, pick
from salon.bench.posters.make.lettering import GROUNDS, INKS, PAPERS, ink_on, line_in, lines_at, painted
from salon.bench.posters.make.made import Made
from salon.bench.posters.make.typefaces import FANCY, PLAIN, as_seen
from salon.bench.posters.make.words import line_of_words
from salon.bench.posters.vocabulary import FONT_SIZES
from salon.render.chance import chance
from salon.render.colors import NAMES, mix
from salon.render.layout import Box
from salon.render.marks import Fill, Grain, Group, Mark, Stroke
from salon.render.shapes import circle, line, rect, star, turn

WIDTH, HEIGHT = 900, 600
LINES = 5
CLUTTER = (0.0, 0.25, 0.5, 0.75, 1.0)
CONTRASTS = (1.8, 2.6, 4.0, 7.0)
TILTS = (-8.0, -4.0, 0.0, 4.0, 8.0)
SIZED_WIDTH, SIZED_HEIGHT, SIZED_LINES = 1024, 768, 6
_COLORS = tuple(NAMES.values())
_PROMPT = (
    "The picture shows {n} lines of text. Read them from top to bottom and write them down exactly as they stand, with "
    "capitals and digits as in the picture. Answer with the {n} lines only, one below the other."
)


def simple_ocr(number: int, seed: int) -> Made:
    """Five lines of words in faces for reading, dark on light."""
    rng = chance(seed, "simple_ocr", str(number))
    texts = [line_of_words(rng, 16, 30) for _ in range(LINES)]
    faces = [pick(PLAIN, rng) for _ in texts]
    ink = pick(INKS, rng)
    marks = [
        glyphs
        for row, (text, face) in enumerate(zip(texts, faces))
        for glyphs in line_in(text, face, _row(row), paint=ink, size=46).glyphs
    ]
    truth = {"gt": texts, "texts": texts, "font": [face.key for face in faces]}
    return Made("simple ocr", "lines", _PROMPT.format(n=LINES), truth, painted(marks, WIDTH, HEIGHT, pick(PAPERS, rng)))


def hard_ocr(number: int, seed: int) -> Made:
    """Five lines in fancy faces on a cluttered ground."""
    rng = chance(seed, "hard_ocr", str(number))
    clutter, wanted, tilt = (
        dealt(options, number, seed, "hard_ocr", name)
        for name, options in (("clutter", CLUTTER), ("contrast", CONTRASTS), ("tilt", TILTS))
    )
    ground = pick(GROUNDS, rng)
    ink = ink_on(ground, wanted, pick(_COLORS, rng))
    faces = [pick(FANCY, rng) for _ in range(LINES)]
    texts = [as_seen(line_of_words(rng, 12, 22), face) for face in faces]
    marks: list[Mark] = [*_below(clutter, ground, rng)]
    for row, (text, face) in enumerate(zip(texts, faces)):
        frame = _row(row)
        set_line = line_in(text, face, frame, paint=ink, size=50, align="center")
        marks.append(Group(set_line.glyphs, transform=turn(tilt, *frame.middle)))
    marks += _across(clutter, ink, rng)
    truth = {"gt": texts, "texts": texts, "font": [f.key for f in faces], "background": ground, "text_color": ink}
    hard = {"clutter": clutter, "contrast": wanted, "tilt": abs(tilt)}
    return Made("hard ocr", "lines", _PROMPT.format(n=LINES), truth, painted(marks, WIDTH, HEIGHT, ground), hard)


def font_size_ocr(number: int, seed: int) -> Made:
    """Six lines at one of fourteen sizes, the same length of text on the same sheet at each."""
    size = dealt(FONT_SIZES, number, seed, "font_size_ocr")
    rng = chance(seed, "font_size_ocr", str(number))
    texts = [line_of_words(rng, 12, 18) for _ in range(SIZED_LINES)]
    face = pick(PLAIN, rng)
    frame = Box(x=40, y=40, width=SIZED_WIDTH - 80, height=SIZED_HEIGHT - 80)
    marks = lines_at(texts, face, size, frame, paint=pick(INKS, rng)).glyphs
    truth = {"gt": texts, "text": texts, "font": face.key}
    pixels = painted(marks, SIZED_WIDTH, SIZED_HEIGHT, pick(PAPERS, rng))
    return Made("font size ocr", size, _PROMPT.format(n=SIZED_LINES), truth, pixels)


def _row(row: int) -> Box:
    """The place of one of five lines; a tilted one stays on the canvas and off its neighbours' letters."""
    return Box(x=70, y=25 + row * 110, width=WIDTH - 140, height=110)


def _below(amount: float, ground: str, rng: np.random.Generator) -> list[Mark]:
    """Shapes under the letters: near the ground in color, so that letters keep most of their contrast."""
    marks: list[Mark] = []
    for _ in range(round(60 * amount)):
        x, y, r = rng.uniform(0, WIDTH), rng.uniform(0, HEIGHT), rng.uniform(12, 90)
        shape = pick((circle(x, y, r), rect(x, y, 1.6 * r, r), star(x, y, r, 0.5 * r)), rng)
        marks.append(Fill(shape, mix(ground, pick(_COLORS, rng), 0.28), opacity=0.8))
    if amount:
        marks.append(Grain(rect(0, 0, WIDTH, HEIGHT), 0.12 * amount, int(rng.integers(1 << 30)), 1.5))
    return marks


def _across(amount: float, ink: str, rng: np.random.Generator) -> list[Mark]:
    """Hair lines over the letters, in their own color."""
    ends = rng.uniform((0, 0, 0, 0), (WIDTH, HEIGHT, WIDTH, HEIGHT), (round(14 * amount), 4))
    return [Stroke(line(*map(float, four)), ink, 1.6, opacity=0.7) for four in ends]
