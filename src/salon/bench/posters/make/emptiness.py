"""Empty space: a poster of pieces that keep to a grid of seven by seven patches; which patches show nothing?

Pieces fill whole patches with a breath of ground around them. What is empty is read off the pixels: a patch is empty
when every pixel of it is ground. A drawing in which some patch is neither empty nor plainly taken is drawn anew. Two
thirds of the sheets then get a textured ground instead of the plain one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from salon.bench.posters.make.deal import dealt, pick
from salon.bench.posters.make.lettering import GROUNDS, ink_on, label, painted
from salon.bench.posters.make.made import Made
from salon.bench.posters.make.photograph import TEXTURES, painted_over, textured
from salon.bench.posters.make.typefaces import PLAIN
from salon.bench.posters.make.words import title
from salon.bench.posters.vocabulary import GRID
from salon.errors import BadValue
from salon.render.brief import SUBJECTS
from salon.render.chance import chance
from salon.render.colors import mix, to_rgb
from salon.render.layout import Box, Face
from salon.render.marks import Fill, Mark
from salon.render.motifs import emblem
from salon.render.shapes import rect, rounded
from salon.render.styles.ways import flat
from salon.render.typeset.setting import set_text

SIDE = 840
PATCH = SIDE // GRID
PIECES = (3, 4, 5, 6, 7, 8)
LEAST_INK = 0.04
"""Share of a patch's pixels that are ink where it counts as taken."""
_BREATH = 7
_ATTEMPTS = 40
Cells = tuple[int, int, int, int]
"""Column, row, columns, rows of a piece."""


def empty_space(number: int, seed: int) -> Made:
    """A sheet with three to eight pieces; the patches without any are asked for, with the grid on it or without."""
    pieces = dealt(PIECES, number, seed, "empty_space")
    shown = dealt(("grid", "bare"), number, seed, "empty_space", "grid")
    sheet, shares = _sheet(pieces, number, seed)
    gt = [int(one) for one in np.flatnonzero(shares == 0)]
    truth = {"gt": gt, "background": sheet.ground, "size": [SIDE, SIDE]}
    texture = dealt(TEXTURES, number, seed, "empty_space", "texture")
    hard = {"pieces": pieces, "empty patches": len(gt), "grid shown": float(shown == "grid"), "texture": texture}
    ground = textured(SIDE, SIDE, sheet.ground, texture, chance(seed, "empty_space", str(number), "ground"))
    pixels = painted_over([*sheet.marks, *(_grid(sheet.ink) if shown == "grid" else ())], ground)
    return Made("empty space", shown, _prompt(len(gt), shown), truth, pixels, hard)


@dataclass(frozen=True)
class Sheet:
    """Pieces on a ground."""

    ground: str
    ink: str
    marks: tuple[Mark, ...]

    def painted(self) -> np.ndarray:
        """Its pixels on the plain ground."""
        return painted(self.marks, SIDE, SIDE, self.ground)


def _sheet(pieces: int, number: int, seed: int) -> tuple[Sheet, np.ndarray]:
    """The first sheet that leaves no doubt, and how much of each patch is inked."""
    for attempt in range(_ATTEMPTS):
        rng = chance(seed, "empty_space", str(number), str(attempt))
        ground = pick(GROUNDS, rng)
        ink = ink_on(ground, 5.0, pick(GROUNDS, rng))
        cells = _cells(pieces, rng)
        sheet = Sheet(ground, ink, tuple(mark for one in cells for mark in _piece(one, ground, ink, rng)))
        shares = ink_shares(sheet.painted(), ground)
        clear = ((shares == 0) | (shares >= LEAST_INK)).all()
        if clear and len(cells) == pieces and 4 <= (shares == 0).sum() <= 41:
            return sheet, shares
    raise BadValue("a sheet that leaves no doubt is needed", found="none", where=f"empty_space {number}")


@lru_cache(maxsize=64)
def _grid(ink: str) -> tuple[Mark, ...]:
    """Fine lines between the patches, and the number of each in its corner."""
    lines = [
        Fill(part, ink) for at in range(PATCH, SIDE, PATCH) for part in (rect(at, 0, 1, SIDE), rect(0, at, SIDE, 1))
    ]
    numbers = [label(str(n), n % GRID * PATCH + 5, n // GRID * PATCH + 4, 13, ink) for n in range(GRID * GRID)]
    return (*lines, *(mark for marks in numbers for mark in marks))


def ink_shares(pixels: np.ndarray, ground: str) -> np.ndarray:
    """For each patch, row by row, the share of its pixels that are not ground."""
    ink = np.logical_or.reduce([pixels[:, :, at] != value for at, value in enumerate(to_rgb(ground))])
    shares: np.ndarray = ink.reshape(GRID, PATCH, GRID, PATCH).mean(axis=(1, 3)).ravel()
    return shares


def _prompt(count: int, shown: str) -> str:
    grid = "This poster lies under" if shown == "grid" else "Think of this poster as"
    but = "but the background (and the grid with its numbers)" if shown == "grid" else "but the background"
    return (
        f"{grid} a grid of {GRID} by {GRID} equal patches, numbered from 0 to {GRID * GRID - 1} row by row: 0 is the "
        f"upper left one, 6 the upper right one, 48 the lower right one. A patch is empty when nothing {but} is in it. "
        f"Exactly {count} patches are empty. Answer with a JSON list of their numbers."
    )


def _cells(count: int, rng: np.random.Generator) -> list[Cells]:
    """Rectangles of patches that do not overlap."""
    taken = np.zeros((GRID, GRID), bool)
    found: list[Cells] = []
    for _ in range(200):
        wide, high = pick(((1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (2, 2), (3, 2), (2, 3), (3, 3), (4, 2)), rng)
        x, y = int(rng.integers(GRID - wide + 1)), int(rng.integers(GRID - high + 1))
        if len(found) < count and not taken[y : y + high, x : x + wide].any():
            taken[y : y + high, x : x + wide] = True
            found.append((x, y, wide, high))
    return found


def _piece(cells: Cells, ground: str, ink: str, rng: np.random.Generator) -> tuple[Mark, ...]:
    """A line of type where the piece is low and long, otherwise a picture on a panel, or a button."""
    x, y, wide, high = cells
    box = Box(x=x * PATCH + _BREATH, y=y * PATCH + _BREATH, width=wide * PATCH - 2 * _BREATH,
              height=high * PATCH - 2 * _BREATH)  # fmt: skip
    if high == 1 and wide > 1 and rng.random() < 0.7:
        return _words(box, wide, ink, rng)
    panel = Fill(rounded(box.x, box.y, box.width, box.height, 10), mix(ground, ink, 0.3))
    inner = Box(x=box.x + 12, y=box.y + 12, width=box.width - 24, height=box.height - 24)
    tones = [mix(ground, ink, amount) for amount in (0.15, 0.3, 0.5, 0.9, 1.0, 0.7)]
    return panel, *flat(emblem(pick(SUBJECTS, rng), inner, rng), tones)


def _words(box: Box, wide: int, ink: str, rng: np.random.Generator) -> tuple[Mark, ...]:
    """One or two lines from edge to edge of the piece."""
    face = Face(family=pick(PLAIN, rng).family, weight=700)
    return set_text(title(rng, wide), face, box, size=80, smallest=14, leading=1.15, align="center", valign="middle",
                    paint=ink, max_lines=2).glyphs  # fmt: skip
