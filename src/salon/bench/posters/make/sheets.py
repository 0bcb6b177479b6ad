"""Sheets drawn without the renderer: lines to read, blocks of text, and empty space.

Reading: five plain lines, five hard ones, and six lines at fourteen sizes. The truth is what was set, letter by letter.
Plain lines are words in an order that cannot be guessed; hard lines and lines of many sizes are random letters. Hard
lines are made hard by recorded knobs: a ground like a photograph, colors near it, tilt, and fancy faces. The rule for
their difficulty: over the whole set, word recall of a strong OCR engine (RapidOCR) lies between .3 and .8, and is lower
at the hard end of every knob. `prove/poster_ocr.py` shows it.

Blocks of text are aligned or turned. Their place says nothing about the alignment, and their lines differ enough in
length to show it. Two thirds of these sheets have a textured ground; half have signs beside the lines, or fine lines at
another angle than the text.

Empty space: pieces on a grid of seven by seven patches. Pieces fill whole patches with a little ground around them. A
patch is empty if every pixel of it is ground; a drawing with a doubtful patch is drawn anew. Two thirds of the sheets
then get a textured ground.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from salon.bench.posters.make.items import (
    FANCY,
    PLAIN,
    MadeItem,
    as_displayed,
    balanced_choice,
    line_of_letters,
    line_of_words,
    pick,
    title,
)
from salon.bench.posters.make.lettering import (
    GROUNDS,
    INKS,
    KINDS,
    PAPERS,
    TEXTURES,
    ink_on,
    label,
    line_in,
    lines_at,
    paint_marks,
    paint_over,
    photograph,
    textured_ground,
)
from salon.bench.posters.tasks import ALIGNMENTS, FONT_SIZES, GRID, ROTATIONS
from salon.errors import BadValue
from salon.render import (
    FAMILIES,
    NAMES,
    SUBJECTS,
    Align,
    Box,
    Face,
    Fill,
    Group,
    Mark,
    SetText,
    TooMuchText,
    chance,
    emblem,
    flat,
    mix,
    rect,
    rounded,
    set_text,
    to_rgb,
    turn,
)

WIDTH, HEIGHT = 900, 600
HARD_HEIGHT, HARD_LINE = 680, 620
"""Of hard sheets: high and lines short enough that none leaves the sheet when it is turned."""
LINES = 5
HARD_TEXTURES = (0.25, 0.5, 0.75, 1.0)
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


def simple_ocr(number: int, seed: int) -> MadeItem:
    """Five lines of words in faces for reading, dark on light."""
    rng = chance(seed, "simple_ocr", str(number))
    texts = [line_of_words(rng, 16, 30) for _ in range(LINES)]
    faces = [pick(PLAIN, rng) for _ in texts]
    ink = pick(INKS, rng)
    marks = [
        glyphs
        for row, (text, face) in enumerate(zip(texts, faces))
        for glyphs in line_in(
            text, face, Box(x=70, y=25 + row * 110, width=WIDTH - 140, height=110), paint=ink, size=46
        ).glyphs
    ]
    truth = {"gt": texts, "texts": texts, "font": [face.key for face in faces]}
    return MadeItem(
        "simple ocr", "lines", _PROMPT.format(n=LINES), truth, paint_marks(marks, WIDTH, HEIGHT, pick(PAPERS, rng))
    )


def hard_ocr(number: int, seed: int) -> MadeItem:
    """Five lines of letters in fancy faces, tilted and in random colors, on what looks like a photograph."""
    rng = chance(seed, "hard_ocr", str(number))
    texture, contrast, tilt = (
        balanced_choice(options, number, seed, "hard_ocr", name)
        for name, options in (("texture", HARD_TEXTURES), ("contrast", CONTRASTS), ("tilt", TILTS))
    )
    kind = balanced_choice(tuple(KINDS), number, seed, "hard_ocr", "kind")
    pixels = photograph(WIDTH, HARD_HEIGHT, kind, texture, rng)
    faces = [pick(FANCY, rng) for _ in range(LINES)]
    texts = [
        as_displayed(line_of_letters(rng, 12, 20, upper=FAMILIES[face.family].kind != "script"), face) for face in faces
    ]
    inks = []
    for row, (text, face) in enumerate(zip(texts, faces)):
        frame = Box(x=(WIDTH - HARD_LINE) / 2, y=45 + row * 118, width=HARD_LINE, height=118)
        turned = turn(tilt + float(rng.uniform(-TURN, TURN)), *frame.middle)
        set_line = line_in(text, face, frame, paint="#000000", size=50, align="center")
        shape = paint_marks([Group(set_line.glyphs, transform=turned)], WIDTH, HARD_HEIGHT, "#ffffff")
        covered = 1 - shape[..., :1].astype(float) / 255
        red, green, blue = (round(float(value)) for value in pixels[covered[..., 0] > 0].mean(axis=0))
        inks.append(ink_on(f"#{red:02x}{green:02x}{blue:02x}", contrast, pick(_COLORS, rng)))
        pixels = pixels * (1 - covered) + np.array(to_rgb(inks[-1])) * covered
    truth = {"gt": texts, "texts": texts, "font": [f.key for f in faces], "background": kind, "text_color": inks}
    hard = {"texture": texture, "contrast": contrast, "tilt": abs(tilt)}
    image = np.clip(np.round(pixels), 0, 255).astype(np.uint8)
    return MadeItem("hard ocr", kind, _PROMPT.format(n=LINES), truth, image, hard)


def font_size_ocr(number: int, seed: int) -> MadeItem:
    """Six lines at one of fourteen sizes, the same length of text on the same sheet at each."""
    size = balanced_choice(FONT_SIZES, number, seed, "font_size_ocr")
    rng = chance(seed, "font_size_ocr", str(number))
    texts = [line_of_letters(rng, 12, 18) for _ in range(SIZED_LINES)]
    face = pick(PLAIN, rng)
    frame = Box(x=40, y=40, width=SIZED_WIDTH - 80, height=SIZED_HEIGHT - 80)
    marks = lines_at(texts, face, size, frame, paint=pick(INKS, rng)).glyphs
    truth = {"gt": texts, "text": texts, "font": face.key}
    pixels = paint_marks(marks, SIZED_WIDTH, SIZED_HEIGHT, pick(PAPERS, rng))
    return MadeItem("font size ocr", size, _PROMPT.format(n=SIZED_LINES), truth, pixels)


# -- blocks of text: alignment and rotation ----------------------------------------------------------------------------

BLOCK_WIDTH, BLOCK_HEIGHT = 720, 900
SIZES = (18.0, 24.0, 32.0, 40.0)
ANGLES = (3.0, 5.0, 8.0, 12.0, 18.0, 25.0, 35.0)
LEAST_RAGGED = 0.15
"""Of the longest line: how much shorter the shortest must be."""
_SIDES: dict[str, Align] = {"left-aligned": "left", "center-aligned": "center", "right-aligned": "right"}
_LENGTHS = ((6, 9), (16, 21), (10, 13), (18, 23), (7, 10), (13, 17))


@dataclass(frozen=True)
class RaggedBlock:
    """Lines set together, and how unequal they are."""

    set: SetText
    ragged: float


def alignment(number: int, seed: int) -> MadeItem:
    """A block flush left, centered or flush right."""
    side = balanced_choice(ALIGNMENTS, number, seed, "alignment")
    size = balanced_choice(SIZES, number, seed, "alignment", "size")
    rng = chance(seed, "alignment", str(number))
    ground, ink = _colors(rng)
    block = _block(_SIDES[side], size, ink, rng)
    box = block.set.box  # somewhere in the upper three quarters of the sheet, whatever its alignment
    x, y = rng.uniform(40, BLOCK_WIDTH - 40 - box.width), rng.uniform(40, max(41.0, 0.78 * BLOCK_HEIGHT - box.height))
    dx, dy = round(float(x - box.x), 2), round(float(y - box.y), 2)
    text = Group(block.set.glyphs, transform=(1.0, 0.0, 0.0, 1.0, dx, dy))
    texture = balanced_choice(TEXTURES, number, seed, "alignment", "texture")
    beside = balanced_choice((False, True), number, seed, "alignment", "beside")
    signs = _beside(block.set.box, dx, dy, ground, rng) if beside else _decoration(block.set.box, dy, ground, rng)
    pixels = paint_over([*signs, text], textured_ground(BLOCK_WIDTH, BLOCK_HEIGHT, ground, texture, rng))
    prompt = f"How are the lines of text on this poster aligned? Answer with one of: {', '.join(ALIGNMENTS)}."
    truth = {
        "gt": [side],
        "alignment": [side],
        "text_bbox": [[int(box.x + dx), int(box.y + dy), int(box.right + dx) + 1, int(box.bottom + dy) + 1]],
        "size": [BLOCK_WIDTH, BLOCK_HEIGHT],
    }
    hard = {"font size": size, "raggedness": block.ragged, "texture": texture, "marks beside": float(beside)}
    return MadeItem("alignment", "block", prompt, truth, pixels, hard)


def rotation(number: int, seed: int) -> MadeItem:
    """A block turned one way or the other, or not at all."""
    way = balanced_choice(ROTATIONS, number, seed, "rotation")
    angle = balanced_choice(ANGLES, number, seed, "rotation", "angle")
    side = balanced_choice(ALIGNMENTS, number, seed, "rotation", "alignment")
    rng = chance(seed, "rotation", str(number))
    clockwise = {"clockwise rotation": angle, "counterclockwise rotation": -angle, "no rotation": 0.0}[way]
    ground, ink = _colors(rng)
    box = (block := _block(_SIDES[side], 32.0, ink, rng)).set.box
    moved = (BLOCK_WIDTH / 2 - box.middle[0], BLOCK_HEIGHT / 2 - box.middle[1])
    text = Group((Group(block.set.glyphs, transform=(1.0, 0.0, 0.0, 1.0, *moved)),),
                 transform=turn(clockwise, BLOCK_WIDTH / 2, BLOCK_HEIGHT / 2))  # fmt: skip
    texture = balanced_choice(TEXTURES, number, seed, "rotation", "texture")
    striped = balanced_choice((False, True), number, seed, "rotation", "stripes")
    stripes = _stripes(ink, clockwise, rng) if striped else ()
    places = (
        Box(x=30, y=24, width=110, height=110),
        Box(x=BLOCK_WIDTH - 140, y=BLOCK_HEIGHT - 134, width=110, height=110),
    )
    corners = tuple(mark for box in places for mark in _sign(box, ground, rng))
    pixels = paint_over([*stripes, *corners, text], textured_ground(BLOCK_WIDTH, BLOCK_HEIGHT, ground, texture, rng))
    prompt = (
        "Is the text on this poster turned against the horizontal, and which way as the viewer sees it? "
        f"Counterclockwise means that its lines rise to the right. Answer with one of: {', '.join(ROTATIONS)}."
    )
    truth = {"gt": [way, side], "rotation": [way], "alignment": [side], "angle": clockwise}
    return MadeItem("rotation", "block", prompt, truth, pixels, 
                {"rotation": abs(clockwise), "texture": texture, "stripes": float(striped)})  # fmt: skip


def _colors(rng: np.random.Generator) -> tuple[str, str]:
    ground = pick(GROUNDS, rng)
    return ground, ink_on(ground, 7.0, pick(GROUNDS, rng))


def _block(align: Align, size: float, ink: str, rng: np.random.Generator) -> RaggedBlock:
    """Four to seven lines of unequal length that fit the sheet at this size."""
    while True:
        lengths = [pick(_LENGTHS, rng) for _ in range(int(rng.integers(4, 8)))]
        face = Face(family=pick(PLAIN, rng).family, weight=pick((400, 600), rng))
        frame = Box(x=0, y=0, width=0.78 * BLOCK_WIDTH, height=0.6 * BLOCK_HEIGHT)
        try:
            text = lines_at([line_of_words(rng, *both) for both in lengths], face, size, frame, paint=ink, align=align)
        except TooMuchText:
            continue
        widths = [line.box.width for line in text.lines]
        ragged = 1 - min(widths) / max(widths)
        if ragged >= LEAST_RAGGED:
            return RaggedBlock(text, round(ragged, 2))


def _decoration(text: Box, dy: float, ground: str, rng: np.random.Generator) -> tuple[Mark, ...]:
    """A sign below the text, at any place across: it is no hint."""
    foot = text.bottom + dy + 30
    side = min(150.0, BLOCK_HEIGHT - 20 - foot)
    x = rng.uniform(30, BLOCK_WIDTH - 30 - side)
    return _sign(Box(x=float(x), y=foot, width=side, height=side), ground, rng)


def _beside(text: Box, dx: float, dy: float, ground: str, rng: np.random.Generator) -> tuple[Mark, ...]:
    """Small signs to the left and right of lines, as far as there is room: the edge of what is drawn is not the
    text's."""
    marks: list[Mark] = []
    for _ in range(6):
        side, y = rng.uniform(26, 60), rng.uniform(text.y + dy, text.bottom + dy - 30)
        left, right = text.x + dx - side - 12, text.right + dx + 12
        room = [
            x for x, fits in ((rng.uniform(6, max(7, left)), left > 6), (right, right + side < BLOCK_WIDTH - 6)) if fits
        ]
        if room:
            marks += _sign(
                Box(x=float(pick(room, rng)), y=float(y), width=float(side), height=float(side)), ground, rng
            )
    return tuple(marks)


def _stripes(ink: str, text: float, rng: np.random.Generator) -> tuple[Mark, ...]:
    """Fine lines across the sheet in the color of the text, at an angle that is plainly not the text's."""
    angle = float(text + pick((-1, 1), rng) * rng.uniform(15, 75))
    step = float(rng.uniform(36, 64))
    lines = [
        Fill(rect(-BLOCK_HEIGHT, y, 3 * BLOCK_HEIGHT, 2.0), ink)
        for y in np.arange(-BLOCK_HEIGHT, 2 * BLOCK_HEIGHT, step)
    ]
    return (Group(tuple(lines), transform=turn(angle, BLOCK_WIDTH / 2, BLOCK_HEIGHT / 2)),)


def _sign(box: Box, ground: str, rng: np.random.Generator) -> tuple[Mark, ...]:
    tones = [mix(ground, end, amount) for end, amount in
             (("#ffffff", 0.2), ("#ffffff", 0.4), ("#000000", 0.25), ("#000000", 0.45), ("#ffffff", 0.6),
              ("#000000", 0.6))]  # fmt: skip
    return flat(emblem(pick(SUBJECTS, rng), box, rng), tones)


# -- empty space -------------------------------------------------------------------------------------------------------

SIDE = 840
PATCH = SIDE // GRID
PIECES = (3, 4, 5, 6, 7, 8)
LEAST_INK = 0.04
"""Share of a patch's pixels that are ink where it counts as taken."""
_BREATH = 7
_ATTEMPTS = 40
Cells = tuple[int, int, int, int]
"""Column, row, columns, rows of a piece."""


def empty_space(number: int, seed: int) -> MadeItem:
    """A sheet with three to eight pieces; the patches without any are asked for, with the grid on it or without."""
    pieces = balanced_choice(PIECES, number, seed, "empty_space")
    grid_kind = balanced_choice(("grid", "bare"), number, seed, "empty_space", "grid")
    sheet, shares = _sheet(pieces, number, seed)
    gt = [int(patch) for patch in np.flatnonzero(shares == 0)]
    truth = {"gt": gt, "background": sheet.ground, "size": [SIDE, SIDE]}
    texture = balanced_choice(TEXTURES, number, seed, "empty_space", "texture")
    hard = {"pieces": pieces, "empty patches": len(gt), "grid shown": float(grid_kind == "grid"), "texture": texture}
    ground = textured_ground(SIDE, SIDE, sheet.ground, texture, chance(seed, "empty_space", str(number), "ground"))
    pixels = paint_over([*sheet.marks, *(_grid(sheet.ink) if grid_kind == "grid" else ())], ground)
    return MadeItem("empty space", grid_kind, _prompt(len(gt), grid_kind), truth, pixels, hard)


@dataclass(frozen=True)
class PieceSheet:
    """Pieces on a ground."""

    ground: str
    ink: str
    marks: tuple[Mark, ...]

    def painted(self) -> np.ndarray:
        """Its pixels on the plain ground."""
        return paint_marks(self.marks, SIDE, SIDE, self.ground)


def _sheet(pieces: int, number: int, seed: int) -> tuple[PieceSheet, np.ndarray]:
    """The first sheet that leaves no doubt, and how much of each patch is inked."""
    for attempt in range(_ATTEMPTS):
        rng = chance(seed, "empty_space", str(number), str(attempt))
        ground = pick(GROUNDS, rng)
        ink = ink_on(ground, 5.0, pick(GROUNDS, rng))
        occupied = np.zeros((GRID, GRID), bool)
        rectangles: list[Cells] = []
        for _ in range(200):
            wide, high = pick(((1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (2, 2), (3, 2), (2, 3), (3, 3), (4, 2)), rng)
            x, y = int(rng.integers(GRID - wide + 1)), int(rng.integers(GRID - high + 1))
            if len(rectangles) < pieces and not occupied[y : y + high, x : x + wide].any():
                occupied[y : y + high, x : x + wide] = True
                rectangles.append((x, y, wide, high))
        cells = rectangles
        sheet = PieceSheet(ground, ink, tuple(mark for cell in cells for mark in _piece(cell, ground, ink, rng)))
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


def _prompt(count: int, grid_kind: str) -> str:
    grid = "This poster lies under" if grid_kind == "grid" else "Think of this poster as"
    but = "but the background (and the grid with its numbers)" if grid_kind == "grid" else "but the background"
    return (
        f"{grid} a grid of {GRID} by {GRID} equal patches, numbered from 0 to {GRID * GRID - 1} row by row: 0 is the "
        f"upper left one, 6 the upper right one, 48 the lower right one. A patch is empty when nothing {but} is in it. "
        f"Exactly {count} patches are empty. Answer with a JSON list of their numbers."
    )


def _piece(cells: Cells, ground: str, ink: str, rng: np.random.Generator) -> tuple[Mark, ...]:
    """A line of type where the piece is low and long, otherwise a picture on a panel, or a button."""
    x, y, wide, high = cells
    box = Box(x=x * PATCH + _BREATH, y=y * PATCH + _BREATH, width=wide * PATCH - 2 * _BREATH,
              height=high * PATCH - 2 * _BREATH)  # fmt: skip
    if high == 1 and wide > 1 and rng.random() < 0.7:
        face = Face(family=pick(PLAIN, rng).family, weight=700)
        return set_text(
            title(rng, wide),
            face,
            box,
            size=80,
            smallest=14,
            leading=1.15,
            align="center",
            valign="middle",
            paint=ink,
            max_lines=2,
        ).glyphs
    panel = Fill(rounded(box.x, box.y, box.width, box.height, 10), mix(ground, ink, 0.3))
    inner = Box(x=box.x + 12, y=box.y + 12, width=box.width - 24, height=box.height - 24)
    tones = [mix(ground, ink, amount) for amount in (0.15, 0.3, 0.5, 0.9, 1.0, 0.7)]
    return panel, *flat(emblem(pick(SUBJECTS, rng), inner, rng), tones)
