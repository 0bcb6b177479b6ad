"""Advanced effects: a word in one of 16 colors under one of 48 effects, all on the menu of the question.

38 effects are patterns inside the letters, ten change their form. Every effect goes with every color: what would bring
a color of its own (gold, fire, ice) is left to the public files, whose pictures come from image models.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from salon.bench.posters.make.deal import dealt, pick
from salon.bench.posters.make.lettering import line_in, painted
from salon.bench.posters.make.made import Made
from salon.bench.posters.make.patterns import PATTERNS, Effect, Letters
from salon.bench.posters.make.words import WORDS
from salon.bench.posters.vocabulary import COLORS
from salon.render.chance import chance
from salon.render.colors import luminance
from salon.render.layout import Box, Face
from salon.render.marks import Fill, Glyphs, Group, Linear, Mark, Paint, Shadow, Stroke
from salon.render.shapes import joined, rect, rounded, swell
from salon.render.typeset.setting import outlines

WIDTH, HEIGHT = 900, 420
FACES = tuple(
    Face(family=name, weight=weight)
    for name, weight in (("Archivo Black", 400), ("Poppins", 900), ("Montserrat", 900), ("Work Sans", 900))
)
"""Heavy faces: there must be room for a pattern."""
INKS = {
    "azure": "#3fb4ff", "beige": "#e5d2a8", "black": "#101113", "blue": "#1c48dc", "gray": "#85898f",
    "green": "#25a24c", "indigo": "#3c2190", "orange": "#f5821f", "pink": "#f892bb", "purple": "#a445d6",
    "red": "#de2828", "reddish-brown": "#8c3d24", "white": "#ffffff", "yellow": "#ffd420",
}  # fmt: skip
RAINBOW = ("#e53935", "#fb8c00", "#fdd835", "#43a047", "#1e88e5", "#8e24aa")
METAL = ("#eef1f4", "#9aa1aa", "#e4e8ec", "#858d96", "#d5dade", "#8f979f") * 3
HINTS = {"azure": "azure (bright sky blue)", "colorful": "colorful (many hues)", "gray": "gray (plain)",
         "indigo": "indigo (dark blue-violet)", "silvery": "silvery (with a metallic sheen)"}  # fmt: skip
"""How colors are put in the question where their names alone could be mistaken."""
_FAINT = ("black", "indigo", "reddish-brown")
_LIGHT, _DARK = "#f1ede4", "#22262e"


def font_effect_2(number: int, seed: int) -> Made:
    """A word in a color under an effect, both to be named."""
    rng = chance(seed, "font_effect_2", str(number))
    color = dealt(COLORS, number, seed, "font_effect_2", "color")
    effect = dealt(tuple(EFFECTS), number, seed, "font_effect_2", "effect")
    text = pick([word for word in WORDS if 4 <= len(word) <= 5], rng).upper()
    letters = colored(text, pick(FACES, rng), color, rng)
    pixels = painted(EFFECTS[effect](letters), WIDTH, HEIGHT, letters.ground)
    truth = {"gt": [color, effect], "text": text, "color": color, "effects": [effect]}
    return Made("font effect 2", effect, PROMPT, truth, pixels, {"letters": len(text)})


def colored(text: str, face: Face, color: str, rng: np.random.Generator) -> Letters:
    """The word in a color, large, on a ground it stands out from."""
    frame = Box(x=60, y=50, width=WIDTH - 120, height=HEIGHT - 130)
    done = line_in(text, face, frame, paint="#000000", size=330, align="center")
    paint = _paint(color, done.box)
    over, veil = ("#ffffff", 0.42) if color in _FAINT else ("#000000", 0.4)
    dark = color in INKS and luminance(INKS[color]) < 0.3
    return Letters(
        glyphs=tuple(replace(run, paint=paint) for run in done.glyphs),
        outline=joined(*(outlines(run) for run in done.glyphs)),
        box=done.box,
        paint=paint,
        over=over,
        veil=veil,
        deep="#9b9fa6" if dark else "#4a4f58",
        ground=_LIGHT if dark else _DARK,
        rng=rng,
    )


def _paint(color: str, box: Box) -> Paint:
    if color == "colorful":
        return _spread(RAINBOW, box.x, 0, box.right, 0)
    if color == "silvery":
        return _spread(METAL, box.x, box.y, box.right, box.bottom)
    return INKS[color]


def _spread(colors: Sequence[str], x0: float, y0: float, x1: float, y1: float) -> Linear:
    return Linear(x0, y0, x1, y1, tuple((k / (len(colors) - 1), one, 1.0) for k, one in enumerate(colors)))


# -- effects on the form -------------------------------------------------------------------------------------------


def _moved(glyphs: Sequence[Glyphs], dx: float, dy: float, paint: Paint) -> list[Glyphs]:
    return [replace(run, paint=paint, xs=tuple(x + dx for x in run.xs), ys=tuple(y + dy for y in run.ys))
            for run in glyphs]  # fmt: skip


def _edged(letters: Letters, width: float, paint: Paint) -> tuple[Mark, ...]:
    return (Stroke(letters.outline, paint, width, join="round"), Fill(letters.outline, paint))


def _block(letters: Letters) -> tuple[Mark, ...]:
    depth = [one for k in range(26, 0, -1) for one in _moved(letters.glyphs, k, k, letters.deep)]
    return (*depth, *letters.glyphs)


def _contours(letters: Letters) -> tuple[Mark, ...]:
    marks: list[Mark] = []
    for width, paint in ((60, letters.paint), (44, letters.ground), (30, letters.paint), (14, letters.ground)):
        marks += _edged(letters, width, paint)
    return (*marks, *letters.glyphs)


def _stitched(letters: Letters) -> tuple[Mark, ...]:
    seam = Stroke(letters.outline, letters.over, 4.0, opacity=min(1, 1.9 * letters.veil), dash=(15, 10), cap="round")
    return (*_edged(letters, 24, letters.paint), seam)


def _on_a_wave(letters: Letters) -> tuple[Mark, ...]:
    """Letters that ride up and down."""
    return tuple(
        replace(run, ys=tuple(y + 34 * math.sin((x - letters.box.x) / 95) for x, y in zip(run.xs, run.ys)))
        for run in letters.glyphs
    )


def _sticker(letters: Letters) -> tuple[Mark, ...]:
    """A wide border of paper that casts a shadow."""
    paper = Group(_edged(letters, 46, letters.deep), shadow=Shadow(6, 8, 7, opacity=0.5))
    return (paper, *letters.glyphs)


def _sliced(letters: Letters) -> tuple[Mark, ...]:
    """The upper half slipped along a cut."""
    middle = letters.box.y + letters.box.height / 2
    upper = Group(letters.glyphs, clip=rect(0, 0, WIDTH, middle - 4))
    lower = Group(letters.glyphs, clip=rect(0, middle + 4, WIDTH, HEIGHT))
    return (Group((upper,), transform=(1, 0, 0, 1, 24, 0)), lower)


def _stencil(letters: Letters) -> tuple[Mark, ...]:
    """Bridges cut through the middle of every letter."""
    starts = [x for run in letters.glyphs for x in run.xs]
    ends = [*starts[1:], letters.box.right]
    bars = [rect((a + b) / 2 - 6, letters.box.y - 5, 12, letters.box.height + 10) for a, b in zip(starts, ends)]
    return (*letters.glyphs, Fill(joined(*bars), letters.ground))


def _half_filled(letters: Letters) -> tuple[Mark, ...]:
    """Hollow letters with a liquid in their lower half."""
    level = letters.box.y + 0.52 * letters.box.height
    box = letters.box
    liquid = Fill(swell(box.x - 10, box.right + 10, level, 9, 120, box.bottom + 10), letters.paint)
    return (Group((liquid,), clip=letters.outline), Stroke(letters.outline, letters.paint, 6, join="round"))


def _mask(letters: Letters) -> np.ndarray:
    black = [replace(run, paint="#000000") for run in letters.glyphs]
    return painted(black, WIDTH, HEIGHT, "#ffffff")[:, :, 0] < 128


def _pixelated(letters: Letters) -> tuple[Mark, ...]:
    side = 15
    mask = _mask(letters)[: HEIGHT // side * side, : WIDTH // side * side]
    shares = mask.reshape(HEIGHT // side, side, WIDTH // side, side).mean(axis=(1, 3))
    squares = [rect(float(x * side), float(y * side), side - 1.5, side - 1.5) for y, x in np.argwhere(shares > 0.5)]
    return (Fill(joined(*squares), letters.paint),)


def _dripping(letters: Letters) -> tuple[Mark, ...]:
    """Runs of paint from the feet of the letters."""
    mask, marks = _mask(letters), []
    for place in np.arange(letters.box.x + 12, letters.box.right - 12, 23.0):
        x = int(place + letters.rng.uniform(-5, 5))
        inked = np.flatnonzero(mask[:, x - 5 : x + 6].all(axis=1))
        if inked.size and inked[-1] > letters.box.bottom - 16:
            long = float(letters.rng.uniform(22, 92))
            marks.append(Fill(rounded(x - 5.5, float(inked[-1]) - 14, 11, long + 14, 5.5), letters.paint))
    return (*marks, *letters.glyphs)


FORMS: dict[str, Effect] = {
    "3D block": _block, "contour lines around": _contours, "stitched seam": _stitched, "letters on a wave": _on_a_wave,
    "sticker border": _sticker, "sliced in two": _sliced, "stencil": _stencil, "half filled with liquid": _half_filled,
    "pixelated": _pixelated, "dripping paint": _dripping,
}  # fmt: skip
EFFECTS: dict[str, Effect] = {**PATTERNS, **FORMS}
"""The 48 on the menu."""
PROMPT = (
    "A word is drawn in one main color and with one special effect. Name both. Colors: "
    + ", ".join(HINTS.get(color, color) for color in COLORS)
    + ". Effects: "
    + ", ".join(EFFECTS)
    + '. Answer with a JSON list of two strings, the color and the effect, such as ["red", "stars"].'
)
