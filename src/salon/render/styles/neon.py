"""Styles of light at night: Cyberpunk, Vaporwave."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from salon.render.colors import mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Fill, Glyphs, Group, Linear, Path, Radial, Stroke
from salon.render.motifs import MotifShape, emblem
from salon.render.plan import Palette, Stage, Style, StyledText
from salon.render.shapes import bounds, circle, joined, line, moved, polygon, polyline, rect, regular, smooth
from salon.render.styles.ways import (
    BLACK,
    GREY_CHROMA,
    WHITE,
    Marks,
    across,
    aglow,
    boxed,
    by_line,
    canvas,
    clearings,
    clipped,
    copies,
    down,
    faded,
    focus,
    inset,
    is_bright,
    middle,
    mirror_behind_panel,
    moved_lightness,
    neon,
    night,
    scene,
    shade,
    size_of,
    spots,
    whole,
)

MAGENTA, CYAN = "#ff2bd6", "#19f0ff"
"""The two lights every such street has; mixed into the palette's own."""


class Cyberpunk(Style):
    """A rainy city at night: neon lines, lit windows, sight brackets, plates with cut corners."""

    name = "Cyberpunk"
    moods = ("futuristic", "mysterious", "bold")
    displays = (("Chakra Petch", 700), ("Orbitron", 800), ("Russo One", 400))
    texts = (("Chakra Petch", 400), ("Space Grotesk", 400))
    case = "upper"
    arrangements = ("full-bleed", "hero-top", "split", "hero-bottom", "corner-grid", "mark-above", "mark-left")
    tracking = 0.02

    def tune(self, palette: Palette, rng: np.random.Generator) -> Palette:
        """Night over the city: a blue-black ground unless the brief's has its own hue, and neon."""
        return night(palette, 0.15, chroma=0.045, glow=0.21, hue=275)

    def ground(self, stage: Stage) -> Marks:
        """Night with a fine grid and a far glow or two."""
        palette, u = stage.palette, stage.unit
        step = 46 * u
        grid = joined(
            *(line(i * step, 0, i * step, stage.height) for i in range(1, int(stage.width / step) + 1)),
            *(line(0, j * step, stage.width, j * step) for j in range(1, int(stage.height / step) + 1)),
        )
        marks: Marks = (
            Fill(canvas(stage), palette.ground),
            Stroke(grid, mix(palette.ground, palette.secondary, 0.09), u),
        )
        for (x, y, free), color in zip(clearings(stage, 2), (palette.primary, palette.accent)):
            reach = min(free + 120 * u, 0.45 * max(stage.width, stage.height))
            fall = ((0.0, color, 0.42), (0.35, color, 0.22), (0.7, color, 0.06), (1.0, color, 0.0))
            marks += (Fill(circle(x, y, reach), Radial(x, y, reach, fall)),)
        return marks

    def picture(self, stage: Stage, box: Box) -> Marks:
        """The motif as a neon sign over the city in the rain; a logo is the sign alone."""
        palette, u, rng = stage.palette, stage.unit, stage.rng
        if stage.format == "logo":
            return tuple(mark for shape in scene(stage, box) for mark in _lit(shape, palette, 1.6 * u))
        if stage.subject == "abstract":
            sign = self._sigil(stage, focus(stage, box))
        else:
            sign = tuple(mark for shape in scene(stage, box, over=14) for mark in _lit(shape, palette, u))
            sign = mirror_behind_panel(stage, box, sign)
        rain = Stroke(_rain(box, 90, rng), mix(palette.secondary, WHITE, 0.4), 1.4 * u, opacity=0.4)
        sight = Stroke(brackets(inset(box, 18 * u), 46 * u), palette.accent, 4 * u)
        return (clipped((*self._city(stage, box), *sign, rain, sight), boxed(box)),)

    def _sigil(self, stage: Stage, box: Box) -> Marks:
        """A sign of rings and a triangle, for briefs without a subject."""
        palette, u = stage.palette, stage.unit
        x, y, r = box.x + box.width / 2, box.y + box.height * 0.42, min(box.width, box.height) * 0.3
        return (
            *neon(circle(x, y, r), palette.primary, 5 * u),
            *neon(circle(x, y, r * 1.16), palette.secondary, 2 * u),
            *neon(regular(x, y + r * 0.12, r * 0.78, 3), palette.accent, 5 * u),
            *neon(line(x - r * 1.5, y + r * 0.3, x + r * 1.5, y + r * 0.3), palette.secondary, 3 * u),
        )

    def _city(self, stage: Stage, box: Box) -> Marks:
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

    def finish(self, stage: Stage) -> Marks:
        """Sight brackets around the sheet, warning bars at the edge."""
        if stage.format == "logo":
            return ()
        palette, u = stage.palette, stage.unit
        frame = inset(whole(stage), 20 * u)
        x = stage.width - 190 * u
        y = stage.height - 16 * u
        width = 150 * u
        height = 9 * u
        step = height * 1.5
        hazard = joined(
            *(
                polygon(((a, y + height), (a + height * 0.8, y), (a + height * 1.5, y), (a + height * 0.7, y + height)))
                for a in (x + i * step for i in range(int(width / step)))
            )
        )
        return (
            Stroke(brackets(frame, 60 * u), palette.secondary, 3 * u, opacity=0.9),
            Fill(hazard, palette.accent),
        )

    def panel(self, stage: Stage, box: Box) -> Marks:
        """A plate with cut corners, a neon edge and a bar of the accent at its side."""
        palette, u = stage.palette, stage.unit
        plate = cut(box, 36 * u)
        bar = rect(box.x, box.y, 7 * u, min(box.height * 0.4, 120 * u))
        return (Fill(plate, palette.surface), Stroke(plate, palette.secondary, 2 * u), Fill(bar, palette.accent))

    def letter(self, stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> StyledText:
        """Neon headlines: letters nearly white shine in the primary, colored ones in their own color."""
        if role != "headline" or not is_bright(stage, glyphs):
            return StyledText(glyphs)
        palette = stage.palette
        own = str(glyphs[0].paint)
        shine = palette.primary if own in (palette.ink, palette.on_surface) else own
        return StyledText((*aglow(glyphs, shine, 0.09, 0.6), *glyphs), ("glow",))


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


PINK, AQUA, GOLD = "#ff71ce", "#3fe0ff", "#ffe08a"
"""The lights of the place, mixed into the palette's own."""


class Vaporwave(Style):
    """A banded sun over an endless grid, palms, haze of pink and cyan, type of chrome."""

    name = "Vaporwave"
    moods = ("nostalgic", "mysterious", "futuristic", "playful", "calm")
    displays = (("Russo One", 400), ("Righteous", 400), ("Orbitron", 800))
    texts = (("Josefin Sans", 400), ("Montserrat", 500))
    case = "upper"
    arrangements = ("hero-bottom", "full-bleed", "hero-top", "split", "stack", "mark-above", "badge")
    tracking = 0.04

    def tune(self, palette: Palette, rng: np.random.Generator) -> Palette:
        """Dusk: a violet night unless the ground has a hue of its own, candy lights."""
        return night(palette, 0.24, chroma=0.11, glow=0.17, hue=300)

    def ground(self, stage: Stage) -> Marks:
        """Dusk that warms towards the foot of the sheet, a few stars, a grid along the lowest edge."""
        palette, u = stage.palette, stage.unit
        if stage.format == "logo":
            return (Fill(canvas(stage), palette.ground),)
        low = moved_lightness(palette.ground, 0.06, 1.15)
        stars = [
            circle(x, y, u * float(stage.rng.uniform(1.2, 3)))
            for x, y in spots(stage, whole(stage), 40, 8 * u, gap=8 * u)
        ]
        return (
            Fill(canvas(stage), down(whole(stage), palette.ground, palette.ground, low)),
            *((Fill(joined(*stars), mix(palette.ink, palette.ground, 0.2)),) if stars else ()),
            *self._lowest_grid(stage),
        )

    def _lowest_grid(self, stage: Stage) -> Marks:
        """The grid again along the foot of the sheet, below all text, where there is room."""
        lowest = max((box.bottom for box in stage.quiet), default=0.0)
        top = max(lowest, stage.height * 0.88)
        if top > stage.height - 20 * stage.unit:
            return ()
        floor = Box(x=0, y=top, width=stage.width, height=stage.height - top)
        lines = Linear(0, top, 0, stage.height, faded(stage.palette.secondary, 0.1, 0.9))
        return (clipped((Stroke(endless_grid(floor, stage.width / 2, top), lines, 2 * stage.unit),), boxed(floor)),)

    def picture(self, stage: Stage, box: Box) -> Marks:
        """The subject before the sinking sun, mirrored in the floor; palms beside it. A logo is sun and subject."""
        palette, u = stage.palette, stage.unit
        if stage.format == "logo":
            return tuple(mark for shape in scene(stage, box) for mark in _candied(shape, palette, u))
        place = focus(stage, box)
        horizon = place.y + place.height * 0.72
        hero = self._hero(stage, place, horizon)
        floor = Box(x=box.x, y=horizon, width=box.width, height=box.bottom - horizon)
        mirror = Group(hero, transform=(1.0, 0.0, 0.0, -1.0, 0.0, 2 * horizon), opacity=0.28)
        return (
            clipped((*self._dusk(stage, box, place, horizon), clipped((mirror,), boxed(floor)), *hero), boxed(box)),
        )

    def _hero(self, stage: Stage, box: Box, horizon: float) -> Marks:
        """The subject's mark standing on the horizon; without a subject, two columns."""
        palette, u = stage.palette, stage.unit
        x, _ = middle(box)
        side = min(box.width * 0.5, (horizon - box.y) * 0.72)
        if stage.subject == "abstract":
            cool, hot = mix(palette.secondary, WHITE, 0.3), mix(palette.ground, palette.primary, 0.6)
            return tuple(
                mark for dx in (-0.62, 0.62) for mark in column(x + dx * side, horizon, side * 1.05, cool, hot)
            )
        place = Box(x=x - side / 2, y=horizon - side, width=side, height=side)
        shapes = emblem(stage.subject, place, stage.rng)
        sunk = horizon - max((bounds(shape.path).bottom for shape in shapes), default=horizon)
        standing = (replace(shape, path=moved(shape.path, 0, sunk)) for shape in shapes)
        return tuple(mark for shape in standing for mark in _candied(shape, palette, u))

    def _dusk(self, stage: Stage, box: Box, place: Box, horizon: float) -> Marks:
        """Sky, sun, floor and palms."""
        palette, u = stage.palette, stage.unit
        x, _ = middle(place)
        r = min(place.width * 0.4, (horizon - place.y) * 0.56)
        sun = banded_sun(x, horizon - r * 0.72, r)
        hot, low = mix(PINK, palette.primary, 0.55), mix(PINK, palette.primary, 0.35)
        _, chroma, hue = oklch(palette.accent)
        if chroma <= GREY_CHROMA:
            warm = GOLD
        else:  # golden for a warm color, paler for a cool one, which gold would grey
            warm = mix(palette.accent, WHITE, 0.3) if 130 < hue < 320 else mix(palette.accent, GOLD, 0.4)
        above = Box(x=box.x, y=box.y, width=box.width, height=horizon - box.y)
        sky = down(above, palette.ground, shade(low, 0.4), mix(palette.ground, low, 0.85))
        floor = Box(x=box.x, y=horizon, width=box.width, height=box.bottom - horizon)
        return (
            Fill(boxed(above), sky),
            Fill(sun, Linear(0, horizon - 1.72 * r, 0, horizon, ((0.0, warm, 1.0), (1.0, hot, 1.0)))),
            Fill(boxed(floor), mix(palette.ground, BLACK, 0.35)),
            Stroke(endless_grid(box, x, horizon), mix(AQUA, palette.secondary, 0.5), 2 * u),
            *neon(line(box.x, horizon, box.right, horizon), hot, 2 * u),
            *(self._palms if stage.rng.random() < 0.6 else self._ridges)(stage, place, horizon),
        )

    def _palms(self, stage: Stage, place: Box, horizon: float) -> Marks:
        """A palm on either side, before the horizon."""
        foot = horizon + place.height * 0.06
        trees = joined(
            palm(place.x + place.width * 0.1, foot, place.height * 0.6, 0.06, stage.rng),
            palm(place.x + place.width * 0.92, foot, place.height * 0.48, -0.08, stage.rng),
        )
        return (Fill(trees, mix(stage.palette.ground, BLACK, 0.55)),)

    def _ridges(self, stage: Stage, place: Box, horizon: float) -> Marks:
        """Wire mountains on the horizon, left and right of the sun."""
        dark, light = mix(stage.palette.ground, BLACK, 0.3), mix(AQUA, stage.palette.secondary, 0.5)
        marks: Marks = ()
        for start, end in ((-0.02, 0.34), (1.02, 0.68)):
            xs = place.x + place.width * np.linspace(start, end, 7)
            tops = horizon - place.height * 0.3 * np.linspace(1, 0, 7) * stage.rng.uniform(0.55, 1.0, 7)
            ridge = list(zip(xs.tolist(), tops.tolist()))
            folds = [line(x, y, x + (place.x + place.width / 2 - x) * 0.12, horizon) for x, y in ridge[:-1]]
            outline = polygon([*ridge, (ridge[0][0], horizon)])
            marks += (Fill(outline, dark), Stroke(joined(polyline(ridge), *folds), light, 2 * stage.unit, join="round"))
        return marks

    def panel(self, stage: Stage, box: Box) -> Marks:
        """A window of an old desktop: title bar, bevel, two light edges."""
        palette, u = stage.palette, stage.unit
        frame = rect(box.x - 4 * u, box.y - 4 * u, box.width + 8 * u, box.height + 8 * u)
        return (
            Fill(
                rect(box.x + 8 * u, box.y + 8 * u, box.width, box.height), mix(palette.ground, BLACK, 0.5), opacity=0.7
            ),
            Fill(frame, across(frame, ((0.0, palette.secondary, 1.0), (1.0, palette.primary, 1.0)))),
            Fill(boxed(box), palette.surface),
        )

    def letter(self, stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> StyledText:
        """Chrome headlines: sky above, white horizon, dusk below, and a shadow of light."""
        if role != "headline" or not is_bright(stage, glyphs):
            return StyledText(glyphs)
        palette, shift = stage.palette, size_of(glyphs) * 0.035
        own = glyphs[0].paint
        sky, dusk = mix(palette.secondary, WHITE, 0.55), mix(palette.primary, WHITE, 0.5)
        if own != palette.ink and isinstance(own, str):
            sky, dusk = mix(own, WHITE, 0.3), own
        stops = ((0.0, sky, 1.0), (0.5, WHITE, 1.0), (0.56, dusk, 1.0), (1.0, WHITE, 1.0))
        shadow = copies(glyphs, mix(palette.primary, palette.ground, 0.35), shift, shift)
        return StyledText((*shadow, *by_line(stage, glyphs, stops)), ("gradient_fill", "shadow"))


def banded_sun(x: float, y: float, r: float) -> Path:
    """A disc cut into bands that thin out downwards."""
    slots = [(y + r * (0.05 + 0.19 * k), r * (0.025 + 0.022 * k)) for k in range(5)]
    edges, top = [], y - r
    for start, height in slots:
        edges.append(_slice(x, y, r, top, start))
        top = start + height
    return joined(*edges, _slice(x, y, r, top, y + r))


def _slice(x: float, y: float, r: float, top: float, bottom: float) -> Path:
    """The part of a disc between two heights."""
    start, end = (float(np.arcsin(np.clip((level - y) / r, -1, 1))) for level in (top, bottom))
    angles = np.linspace(start, end, 40)
    right = [(float(x + r * np.cos(a)), float(y + r * np.sin(a))) for a in angles]
    left = [(2 * x - a, b) for a, b in reversed(right)]
    return polygon(right + left)


def endless_grid(box: Box, x: float, horizon: float) -> Path:
    """Lines to a vanishing point near (x, horizon), and rows that crowd towards it."""
    depth = box.bottom - horizon
    spread = box.width * 0.16
    rays = [line(x + i * spread * 0.18, horizon, x + i * spread, box.bottom) for i in range(-18, 19)]
    rows = [line(box.x, horizon + depth * k**2.4, box.right, horizon + depth * k**2.4) for k in np.linspace(0.16, 1, 9)]
    return joined(*rays, *rows)


def palm(x: float, y: float, height: float, lean: float, rng: np.random.Generator) -> Path:
    """A palm's silhouette with its foot at (x, y)."""
    top_x, top_y = x + lean * height, y - height
    w = height * 0.022
    trunk = smooth(
        ((x - w * 1.6, y), (x + lean * height * 0.35 - w, y - height * 0.5), (top_x - w * 0.7, top_y),
         (top_x + w * 0.7, top_y), (x + lean * height * 0.35 + w, y - height * 0.5), (x + w * 1.6, y)),
        tension=0.7,
    )  # fmt: skip
    return joined(
        trunk,
        *(_frond(top_x, top_y, height * 0.42, angle + float(rng.uniform(-8, 8))) for angle in range(-200, 30, 32)),
    )


def _frond(x: float, y: float, length: float, angle: float) -> Path:
    """A drooping leaf: a curved blade with a notched lower edge."""
    a = np.radians(angle)
    steps = np.linspace(0, 1, 9)
    back_x = x + length * steps * np.cos(a)
    back_y = y + length * steps * np.sin(a) + length * 0.55 * steps**2
    depth = length * 0.16 * np.sin(np.pi * np.clip(steps * 1.05, 0, 1)) * np.where(np.arange(9) % 2, 1.0, 0.45)
    upper = list(zip(back_x.tolist(), back_y.tolist()))
    lower = list(zip(back_x.tolist(), (back_y + depth).tolist()))
    return polygon(upper + lower[::-1])


def column(x: float, y: float, height: float, color: Color, dark: Color) -> Marks:
    """A fluted column with its foot at (x, y)."""
    w = height * 0.17
    slab = w * 0.22
    top, length = y - height + 2 * slab, height - 3 * slab
    shaft = rect(x - w / 2, top, w, length)
    flutes = joined(*(rect(x + w * (k - 0.04), top, w * 0.08, length) for k in (-0.3, -0.1, 0.1, 0.3)))
    ends = joined(
        rect(x - w * 0.75, y - height, w * 1.5, slab),
        rect(x - w * 0.62, y - height + slab, w * 1.24, slab),
        rect(x - w * 0.72, y - slab, w * 1.44, slab),
    )
    round_shaft = Linear(x - w / 2, 0, x + w / 2, 0, ((0.0, color, 1.0), (0.35, WHITE, 1.0), (1.0, dark, 1.0)))
    return Fill(shaft, round_shaft), Fill(flutes, dark, opacity=0.35), Fill(ends, mix(color, WHITE, 0.35))


def _candied(shape: MotifShape, palette: Palette, u: float) -> Marks:
    """One shape in a two-light gradient with a dark seam and a bright edge."""
    cool, hot = mix(AQUA, palette.secondary, 0.25), mix(PINK, palette.primary, 0.35)
    deep = mix(palette.ground, BLACK, 0.3)
    pairs = (
        (hot, cool),
        (hot, palette.ground),
        (cool, mix(hot, deep, 0.3)),
        (mix(cool, WHITE, 0.2), hot),
        (mix(palette.accent, WHITE, 0.2), hot),
        (WHITE, mix(cool, WHITE, 0.5)),
    )
    upper, lower = pairs[shape.tone]
    paint = across(shape.path, ((0.0, upper, 1.0), (1.0, lower, 1.0)))
    if shape.line:
        return (
            Stroke(shape.path, deep, shape.width + 8 * u, cap="round", join="round"),
            Stroke(shape.path, upper, shape.width, cap="round", join="round"),
        )
    return (
        Stroke(shape.path, deep, 8 * u, join="round"),
        Fill(shape.path, paint),
        Stroke(shape.path, mix(upper, WHITE, 0.6), 1.6 * u, join="round"),
    )
