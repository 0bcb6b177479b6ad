"""Cyberpunk: a rainy city at night: neon lines, lit windows, sight brackets, plates with cut corners."""

from __future__ import annotations

import numpy as np

from salon.render.colors import mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Fill, Glyphs, Path, Radial, Stroke
from salon.render.motifs import MotifShape
from salon.render.plan import Lettered, Palette, Stage, Style
from salon.render.shapes import bounds, circle, joined, line, polygon, polyline, rect, regular
from salon.render.styles.light import (
    BLACK,
    GREY_CHROMA,
    WHITE,
    aglow,
    clearings,
    down,
    focus,
    is_bright,
    neon,
    night,
    scene,
    spread,
)
from salon.render.styles.ways import Marks, boxed, canvas, clipped, inset, middle, shade, whole

MAGENTA, CYAN = "#ff2bd6", "#19f0ff"
"""The two lights every such street has; mixed into the palette's own."""


def tune(palette: Palette, rng: np.random.Generator) -> Palette:
    """Night over the city: a blue-black ground unless the brief's has its own hue, and neon."""
    return night(palette, 0.15, chroma=0.045, glow=0.21, hue=275)


# The city


def _skyline(box: Box, base: float, tallest: float, rng: np.random.Generator) -> list[Box]:
    """Towers side by side, standing on y = base."""
    towers, x = [], box.x
    while x < box.right:
        width = box.width * float(rng.uniform(0.05, 0.11))
        height = tallest * float(rng.uniform(0.35, 1.0))
        towers.append(Box(x=x, y=base - height, width=width, height=height))
        x += width
    return towers


def _tower(tower: Box, rng: np.random.Generator) -> Path:
    """A block with a set-back and sometimes a mast."""
    step = tower.width * 0.18
    top = tower.y + tower.height * 0.12
    outline = [(tower.x, tower.bottom), (tower.x, top), (tower.x + step, top), (tower.x + step, tower.y)]
    if rng.random() < 0.4:
        mast = tower.x + tower.width / 2
        outline += [(mast - 2, tower.y), (mast, tower.y - tower.height * 0.22), (mast + 2, tower.y)]
    outline += [(tower.right, tower.y), (tower.right, tower.bottom)]
    return polygon(outline)


def _windows(towers: list[Box], u: float, rng: np.random.Generator) -> Path:
    """Lit windows: short bars in rows, most of them dark."""
    lit, wide, tall = [], 7 * u, 4 * u
    for tower in towers:
        columns, rows = int(tower.width // (12 * u)), int(tower.height * 0.8 // (13 * u))
        on = np.argwhere(rng.random((rows, columns)) < 0.3)
        lit += [
            rect(tower.x + (column + 0.5) * 12 * u, tower.y + tower.height * 0.16 + row * 13 * u, wide, tall)
            for row, column in on
        ]
    return joined(*lit)


def _floor(box: Box, horizon: float, lanes: int = 9) -> Path:
    """A street grid in perspective below the horizon."""
    x, _ = middle(box)
    depth = box.bottom - horizon
    rays = [
        line(x + i * box.width * 0.03, horizon, x + i * box.width * 0.22, box.bottom) for i in range(-lanes, lanes + 1)
    ]
    rows = [line(box.x, horizon + depth * k**2.2, box.right, horizon + depth * k**2.2) for k in np.linspace(0.12, 1, 8)]
    return joined(*rays, *rows)


def _rain(box: Box, count: int, rng: np.random.Generator) -> Path:
    """Slanting drops."""
    xs = rng.uniform(box.x, box.right, count)
    ys = rng.uniform(box.y, box.bottom, count)
    lengths = rng.uniform(0.03, 0.09, count) * box.height
    return joined(*(line(x, y, x - 0.16 * l, y + l) for x, y, l in zip(xs.tolist(), ys.tolist(), lengths.tolist())))


# Signs of the machine


def brackets(box: Box, arm: float) -> Path:
    """Four corners of a sight."""
    return joined(
        *(
            polyline(((x + sx * arm, y), (x, y), (x, y + sy * arm)))
            for x, sx in ((box.x, 1), (box.right, -1))
            for y, sy in ((box.y, 1), (box.bottom, -1))
        )
    )


def cut(box: Box, corner: float) -> Path:
    """A rectangle with its upper right and lower left corners cut off."""
    corner = min(corner, box.width / 3, box.height / 3)
    return polygon(
        (
            (box.x, box.y),
            (box.right - corner, box.y),
            (box.right, box.y + corner),
            (box.right, box.bottom),
            (box.x + corner, box.bottom),
            (box.x, box.bottom - corner),
        )
    )


def _hazard(x: float, y: float, width: float, height: float) -> Path:
    """Slanted warning bars in a row."""
    step = height * 1.5
    return joined(
        *(
            polygon(((a, y + height), (a + height * 0.8, y), (a + height * 1.5, y), (a + height * 0.7, y + height)))
            for a in (x + i * step for i in range(int(width / step)))
        )
    )


# The parts of the style


def ground(stage: Stage) -> Marks:
    """Night with a fine grid and a far glow or two."""
    palette, u = stage.palette, stage.unit
    step = 46 * u
    grid = joined(
        *(line(i * step, 0, i * step, stage.height) for i in range(1, int(stage.width / step) + 1)),
        *(line(0, j * step, stage.width, j * step) for j in range(1, int(stage.height / step) + 1)),
    )
    marks: Marks = (Fill(canvas(stage), palette.ground), Stroke(grid, mix(palette.ground, palette.secondary, 0.09), u))
    for (x, y, free), color in zip(clearings(stage, 2), (palette.primary, palette.accent)):
        reach = min(free + 120 * u, 0.45 * max(stage.width, stage.height))
        fall = ((0.0, color, 0.42), (0.35, color, 0.22), (0.7, color, 0.06), (1.0, color, 0.0))
        marks += (Fill(circle(x, y, reach), Radial(x, y, reach, fall)),)
    return marks


def picture(stage: Stage, box: Box) -> Marks:
    """The motif as a neon sign over the city in the rain; a logo is the sign alone."""
    palette, u, rng = stage.palette, stage.unit, stage.rng
    if stage.format == "logo":
        return tuple(mark for shape in scene(stage, box) for mark in _lit(shape, palette, 1.6 * u))
    if stage.subject == "abstract":
        sign = _sigil(stage, focus(stage, box))
    else:
        sign = tuple(mark for shape in scene(stage, box, over=14) for mark in _lit(shape, palette, u))
        sign = spread(stage, box, sign)
    rain = Stroke(_rain(box, 90, rng), mix(palette.secondary, WHITE, 0.4), 1.4 * u, opacity=0.4)
    sight = Stroke(brackets(inset(box, 18 * u), 46 * u), palette.accent, 4 * u)
    return (clipped((*_city(stage, box), *sign, rain, sight), boxed(box)),)


def _sigil(stage: Stage, box: Box) -> Marks:
    """A sign of rings and a triangle, for briefs without a subject."""
    palette, u = stage.palette, stage.unit
    x, y, r = box.x + box.width / 2, box.y + box.height * 0.42, min(box.width, box.height) * 0.3
    return (
        *neon(circle(x, y, r), palette.primary, 5 * u),
        *neon(circle(x, y, r * 1.16), palette.secondary, 2 * u),
        *neon(regular(x, y + r * 0.12, r * 0.78, 3), palette.accent, 5 * u),
        *neon(line(x - r * 1.5, y + r * 0.3, x + r * 1.5, y + r * 0.3), palette.secondary, 3 * u),
    )


def _city(stage: Stage, box: Box) -> Marks:
    """Sky, two rows of towers with lit windows, the shining street."""
    palette, u, rng = stage.palette, stage.unit, stage.rng
    place = focus(stage, box)
    horizon = place.y + place.height * 0.78
    dark = mix(palette.ground, BLACK, 0.35)
    hot, cold = mix(palette.primary, MAGENTA, 0.3), mix(palette.secondary, CYAN, 0.3)
    glow = _haze(palette)
    haze = Box(x=box.x, y=box.y, width=box.width, height=horizon - box.y)
    far, near = (_skyline(box, horizon, place.height * h, rng) for h in (0.66, 0.46))
    street = Box(x=box.x, y=horizon, width=box.width, height=box.bottom - horizon)
    return (
        Fill(boxed(haze), down(haze, dark, shade(glow, 0.26), shade(glow, 0.46))),
        Fill(joined(*(_tower(t, rng) for t in far)), shade(glow, 0.24)),
        Fill(_windows(far, u, rng), mix(dark, cold, 0.55)),
        Fill(joined(*(_tower(t, rng) for t in near)), dark),
        Fill(_windows(near, u, rng), mix(dark, palette.accent, 0.65)),
        Fill(boxed(street), dark),
        Stroke(_floor(box, horizon), hot, 1.6 * u),
        *neon(line(box.x, horizon, box.right, horizon), hot, 2.4 * u),
    )


def _haze(palette: Palette) -> Color:
    """The color of lit fog: the primary's, or magenta where the primary would make it brown."""
    _, chroma, hue = oklch(palette.primary)
    return MAGENTA if chroma <= GREY_CHROMA or 30 < hue < 135 else palette.primary


def _lit(shape: MotifShape, palette: Palette, u: float) -> Marks:
    """One shape as dark glass with a neon edge; far shapes only as glass, the smallest only as light."""
    glass = mix(palette.ground, BLACK, 0.25)
    light = mix(WHITE, palette.secondary, 0.3)
    color = (palette.primary, palette.primary, palette.secondary, palette.primary, palette.accent, light)[shape.tone]
    if shape.line:
        return neon(shape.path, color, max(shape.width * 0.5, 2 * u), reach=2.5)
    if shape.tone == 1:
        return (Fill(shape.path, shade(_haze(palette), 0.36), opacity=0.45),)
    size = bounds(shape.path)
    if max(size.width, size.height) < 22 * u:
        return (Fill(shape.path, color),)
    if max(size.width, size.height) < 50 * u:
        return Fill(shape.path, mix(glass, color, 0.3)), Stroke(shape.path, color, 3.4 * u, join="round")
    if min(size.width, size.height) > 420 * u:  # a sky or a sea: let the city through
        return (Fill(shape.path, shade(_haze(palette), 0.3), opacity=0.4), *neon(shape.path, color, 2.6 * u))
    share = 0.75 if shape.tone == 5 else 0.3
    return (Fill(shape.path, mix(glass, color, share), opacity=0.92), *neon(shape.path, color, 2.6 * u, reach=3.5))


def finish(stage: Stage) -> Marks:
    """Sight brackets around the sheet, warning bars at the edge."""
    if stage.format == "logo":
        return ()
    palette, u = stage.palette, stage.unit
    frame = inset(whole(stage), 20 * u)
    return (
        Stroke(brackets(frame, 60 * u), palette.secondary, 3 * u, opacity=0.9),
        Fill(_hazard(stage.width - 190 * u, stage.height - 16 * u, 150 * u, 9 * u), palette.accent),
    )


def panel(stage: Stage, box: Box) -> Marks:
    """A plate with cut corners, a neon edge and a bar of the accent at its side."""
    palette, u = stage.palette, stage.unit
    plate = cut(box, 36 * u)
    bar = rect(box.x, box.y, 7 * u, min(box.height * 0.4, 120 * u))
    return (Fill(plate, palette.surface), Stroke(plate, palette.secondary, 2 * u), Fill(bar, palette.accent))


def letter(stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> Lettered:
    """Neon headlines: letters nearly white shine in the primary, colored ones in their own color."""
    if role != "headline" or not is_bright(stage, glyphs):
        return Lettered(glyphs)
    palette = stage.palette
    own = str(glyphs[0].paint)
    shine = palette.primary if own in (palette.ink, palette.on_surface) else own
    return Lettered((*aglow(glyphs, shine, 0.09, 0.6), *glyphs), ("glow",))


STYLE = Style(
    name="Cyberpunk",
    moods=("futuristic", "mysterious", "bold"),
    displays=(("Chakra Petch", 700), ("Orbitron", 800), ("Russo One", 400)),
    texts=(("Chakra Petch", 400), ("Space Grotesk", 400)),
    case="upper",
    arrangements=("full-bleed", "hero-top", "split", "hero-bottom", "corner-grid", "mark-above", "mark-left"),
    tune=tune,
    ground=ground,
    picture=picture,
    finish=finish,
    panel=panel,
    letter=letter,
    tracking=0.02,
)
