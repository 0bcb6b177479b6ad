"""Reading: five plain lines, five hard ones, and six lines at fourteen sizes.

What is set is what is asked for, letter by letter. Plain lines are words in no order that could be guessed; hard lines
and lines of many sizes are letters in no order. Hard lines are made hard by knobs that are on record: a ground that
looks like a photograph, colors near it, tilt, and fancy faces.

How hard they are follows a rule: over the whole set, word recall of a strong OCR engine (RapidOCR) lies between .3 and
.8, and is lower at the hard end of every knob. `prove/poster_ocr.py` shows it.
"""

from __future__ import annotations

import numpy as np

from salon.bench.posters.make.deal import dealt, pick
from salon.bench.posters.make.lettering import INKS, PAPERS, ink_on, line_in, lines_at, painted
from salon.bench.posters.make.made import Made
from salon.bench.posters.make.photograph import KINDS, Pixels, photograph
from salon.bench.posters.make.typefaces import FANCY, PLAIN, as_seen
from salon.bench.posters.make.words import line_of_letters, line_of_words
from salon.bench.posters.vocabulary import FONT_SIZES
from salon.render.chance import chance
from salon.render.colors import NAMES, to_rgb
from salon.render.layout import Box, Face
from salon.render.marks import Group
from salon.render.shapes import turn
from salon.render.typeset.families import FAMILIES

WIDTH, HEIGHT = 900, 600
HARD_HEIGHT, HARD_LINE = 680, 620
"""Of hard sheets: high and lines short enough that none leaves the sheet when it is turned."""
LINES = 5
TEXTURES = (0.25, 0.5, 0.75, 1.0)
CONTRASTS = (1.8, 2.6, 4.0, 7.0)
TILTS = (-12.0, -6.0, 0.0, 6.0, 12.0)
TURN = 1.5
"""Degrees that lines of one sheet may differ from its tilt, to either side."""
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
    """Five lines of letters in fancy faces, tilted and in random colors, on what looks like a photograph."""
    rng = chance(seed, "hard_ocr", str(number))
    texture, wanted, tilt = (
        dealt(options, number, seed, "hard_ocr", name)
        for name, options in (("texture", TEXTURES), ("contrast", CONTRASTS), ("tilt", TILTS))
    )
    kind = dealt(tuple(KINDS), number, seed, "hard_ocr", "kind")
    pixels = photograph(WIDTH, HARD_HEIGHT, kind, texture, rng)
    faces = [pick(FANCY, rng) for _ in range(LINES)]
    texts = [as_seen(line_of_letters(rng, 12, 20, upper=not _joined(face)), face) for face in faces]
    inks = []
    for row, (text, face) in enumerate(zip(texts, faces)):
        frame = Box(x=(WIDTH - HARD_LINE) / 2, y=45 + row * 118, width=HARD_LINE, height=118)
        turned = turn(tilt + float(rng.uniform(-TURN, TURN)), *frame.middle)
        set_line = line_in(text, face, frame, paint="#000000", size=50, align="center")
        shape = painted([Group(set_line.glyphs, transform=turned)], WIDTH, HARD_HEIGHT, "#ffffff")
        covered = 1 - shape[..., :1].astype(float) / 255
        inks.append(_ink_over(pixels, covered[..., 0] > 0, wanted, rng))
        pixels = pixels * (1 - covered) + np.array(to_rgb(inks[-1])) * covered
    truth = {"gt": texts, "texts": texts, "font": [f.key for f in faces], "background": kind, "text_color": inks}
    hard = {"texture": texture, "contrast": wanted, "tilt": abs(tilt)}
    image = np.clip(np.round(pixels), 0, 255).astype(np.uint8)
    return Made("hard ocr", kind, _PROMPT.format(n=LINES), truth, image, hard)


def _joined(face: Face) -> bool:
    """Whether its capitals are made for beginnings only."""
    return FAMILIES[face.family].kind == "script"


def _ink_over(pixels: Pixels, where: np.ndarray, wanted: float, rng: np.random.Generator) -> str:
    """A shade of any color that has this contrast with the mean of what it covers."""
    red, green, blue = (round(float(value)) for value in pixels[where].mean(axis=0))
    return ink_on(f"#{red:02x}{green:02x}{blue:02x}", wanted, pick(_COLORS, rng))


def font_size_ocr(number: int, seed: int) -> Made:
    """Six lines at one of fourteen sizes, the same length of text on the same sheet at each."""
    size = dealt(FONT_SIZES, number, seed, "font_size_ocr")
    rng = chance(seed, "font_size_ocr", str(number))
    texts = [line_of_letters(rng, 12, 18) for _ in range(SIZED_LINES)]
    face = pick(PLAIN, rng)
    frame = Box(x=40, y=40, width=SIZED_WIDTH - 80, height=SIZED_HEIGHT - 80)
    marks = lines_at(texts, face, size, frame, paint=pick(INKS, rng)).glyphs
    truth = {"gt": texts, "text": texts, "font": face.key}
    pixels = painted(marks, SIZED_WIDTH, SIZED_HEIGHT, pick(PAPERS, rng))
    return Made("font size ocr", size, _PROMPT.format(n=SIZED_LINES), truth, pixels)


def _row(row: int) -> Box:
    """The place of one of five lines."""
    return Box(x=70, y=25 + row * 110, width=WIDTH - 140, height=110)
