"""Styles of liquid light: Acid Graphics, Diffuse Glow."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from salon.render.colors import from_oklch, mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Fill, Glyphs, Grain, Linear, Mark, Path, Radial, Soft, Stroke
from salon.render.motifs import MotifShape
from salon.render.plan import Palette, Stage, Style, StyledText
from salon.render.shapes import blob, bounds, circle, ellipse, joined, line, polygon, rect, smooth, turned
from salon.render.styles.ways import (
    BLACK,
    WHITE,
    Marks,
    across,
    bleeds,
    boxed,
    by_line,
    canvas,
    clearings,
    clipped,
    focus,
    inked,
    is_bright,
    is_dark,
    middle,
    mirror_behind_panel,
    night,
    scene,
    shape_mark,
    sparkle,
    spots,
    vivid,
    whole,
)

Point = tuple[float, float]


class AcidGraphics(Style):
    """Rave flyers of the net age: liquid chrome, warped checkers, contour lines, stars, measuring marks."""

    name = "Acid Graphics"
    moods = ("futuristic", "bold", "mysterious", "playful")
    displays = (("Unbounded", 800), ("Syne", 700), ("Bungee", 400))
    texts = (("Space Mono", 400), ("Space Grotesk", 400))
    case = "upper"
    arrangements = ("big-type", "full-bleed", "hero-top", "corner-grid", "turned", "split", "mark-above", "badge")
    scale = 1.1

    def tune(self, palette: Palette, rng: np.random.Generator) -> Palette:
        """Near-black, and colors at the edge of what a screen can show."""
        dark = night(palette, 0.13, chroma=0.025, glow=0.22, hue=290)
        return inked(replace(dark, accent=vivid(palette.accent, 0.8, 0.92, 0.24)))

    def ground(self, stage: Stage) -> Marks:
        """Near-black with contour lines that well up where there is no text."""
        palette, u = stage.palette, stage.unit
        marks: Marks = (Fill(canvas(stage), palette.ground),)
        for (x, y, free), color in zip(clearings(stage, 2), (palette.primary, palette.secondary)):
            reach = min(free + 60 * u, 0.5 * max(stage.width, stage.height))
            rings = contours(x, y, reach, max(4, int(reach / (34 * u))), stage.rng)
            marks += (Stroke(rings, mix(palette.ground, color, 0.6), 1.8 * u),)
        count = 0 if stage.format == "logo" else 2
        globes = [_globe(x, y, 34 * u) for x, y in spots(stage, whole(stage), count, 80 * u, gap=16 * u)]
        return (*marks, Stroke(joined(*globes), palette.accent, 1.5 * u))

    def picture(self, stage: Stage, box: Box) -> Marks:
        """The motif cast in chrome before a liquid checkerboard; a logo is the casting alone."""
        palette, u = stage.palette, stage.unit
        shapes = scene(stage, box, over=12)
        cast = [mark for shape in shapes for mark in _cast(shape, palette, u)]
        if stage.format == "logo":
            return (*cast, Fill(sparkle(box.right, box.y + box.height * 0.1, 60 * u), WHITE))
        if stage.subject == "abstract":
            cast = self._liquid(stage, focus(stage, box))
        shares, jitter = ((0.86, 0.14), (0.12, 0.3), (0.8, 0.84)), stage.rng.uniform(-0.05, 0.05, (3, 2))
        places = [(box.x + box.width * (a + i), box.y + box.height * (b + j)) for (a, b), (i, j) in zip(shares, jitter)]
        stars = [Fill(sparkle(x, y, r * u), WHITE) for (x, y), r in zip(places, (64, 38, 24))]
        return (
            clipped((*self._backdrop(stage, box), *mirror_behind_panel(stage, box, tuple(cast)), *stars), boxed(box)),
            *self._edge(stage, box),
        )

    def _backdrop(self, stage: Stage, box: Box) -> Marks:
        """A swollen checkerboard in acid light, darkest behind the motif."""
        palette = stage.palette
        x, y = middle(box)
        reach = max(box.width, box.height) * 0.62
        stops = (
            (0.0, mix(palette.accent, BLACK, 0.7), 1.0),
            (0.45, mix(palette.accent, BLACK, 0.35), 1.0),
            (0.75, palette.primary, 1.0),
            (1.0, mix(palette.primary, BLACK, 0.5), 1.0),
        )
        return Fill(boxed(box), BLACK), Fill(warped_checker(box, 16, stage.rng), Radial(x, y, reach, stops))

    def _edge(self, stage: Stage, box: Box) -> Marks:
        """A hair line around a picture that stands inside the sheet."""
        return () if bleeds(stage, box) else (Stroke(boxed(box), stage.palette.accent, 2 * stage.unit),)

    def _liquid(self, stage: Stage, box: Box) -> list[Mark]:
        """Drops of chrome that ran together, in rings of contour lines, for briefs without a subject."""
        palette, u, rng = stage.palette, stage.unit, stage.rng
        x, y = middle(box)
        side = min(box.width, box.height)
        marks: list[Mark] = [Stroke(contours(x, y, side * 0.62, 16, rng), palette.accent, 1.8 * u, opacity=0.9)]
        drops = (
            (0.0, 0.0, 0.3, palette.primary),
            (0.27, -0.24, 0.13, palette.accent),
            (-0.27, 0.22, 0.16, palette.secondary),
            (-0.24, -0.28, 0.06, palette.accent),
            (0.3, 0.3, 0.08, palette.primary),
        )
        for dx, dy, r, color in drops:
            path = blob(x + dx * side, y + dy * side, r * side, rng, lobes=6, wobble=0.28)
            marks += _cast(MotifShape(path, 3, 1.0), replace(palette, primary=color), u)
            gleam = ellipse(x + (dx - r * 0.35) * side, y + (dy - r * 0.45) * side, r * side * 0.26, r * side * 0.13)
            marks.append(Fill(turned(gleam, -35, *middle(bounds(gleam))), WHITE, blur=3 * u))
        return marks

    def finish(self, stage: Stage) -> Marks:
        """Register marks in the corners, a ruler on an edge, a barcode: the paraphernalia of precision."""
        if stage.format == "logo":
            return ()
        palette, u, rng = stage.palette, stage.unit, stage.rng
        edge = 26 * u
        corners = [(edge, edge), (stage.width - edge, edge), (edge, stage.height - edge)]
        ruler = _ruler(stage.width - 18 * u, stage.height * 0.3, stage.height * 0.4, u)
        marks = joined(
            *(_register(x, y, 11 * u) for x, y in corners),
            ruler,
        )
        # bars of uneven width
        x = stage.width - edge - 96 * u
        y = stage.height - edge - 12 * u
        width = 96 * u
        height = 22 * u
        bars, place = [], 0.0
        while place < width:
            thick = height * float(rng.choice((0.06, 0.1, 0.18)))
            bars.append(rect(x + place, y, thick, height))
            place += thick + height * float(rng.choice((0.06, 0.12)))
        code = joined(*bars)
        return (Stroke(marks, palette.accent, 1.5 * u), Fill(code, palette.ink))

    def panel(self, stage: Stage, box: Box) -> Marks:
        """A dark plate with a hair line and bright corner ticks."""
        palette, u = stage.palette, stage.unit
        tick = min(26 * u, box.width / 4, box.height / 4)
        corners = [
            joined(line(x, y, x + sx * tick, y), line(x, y, x, y + sy * tick))
            for x, sx in ((box.x, 1), (box.right, -1))
            for y, sy in ((box.y, 1), (box.bottom, -1))
        ]
        return (
            Fill(boxed(box), palette.surface),
            Stroke(boxed(box), palette.primary, 1.5 * u),
            Stroke(joined(*corners), palette.accent, 5 * u, cap="square"),
        )

    def letter(self, stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> StyledText:
        """Headlines of bright metal: light above, a hard horizon, their color below."""
        if role != "headline" or not is_bright(stage, glyphs):
            return StyledText(glyphs)
        own = str(glyphs[0].paint)
        color = own if own != stage.palette.ink else stage.palette.accent
        pale = mix(color, WHITE, 0.6)
        stops = ((0.0, WHITE, 1.0), (0.48, pale, 1.0), (0.52, color, 1.0), (1.0, mix(color, WHITE, 0.35), 1.0))
        return StyledText(by_line(stage, glyphs, stops), ("gradient_fill",))


def chrome(path: Path, tint: Color) -> Linear:
    """Polished metal that mirrors a bright sky, a dark horizon and a tinted floor; small things lean a little."""
    stops = (
        (0.0, WHITE, 1.0),
        (0.16, mix(tint, WHITE, 0.7), 1.0),
        (0.40, tint, 1.0),
        (0.52, mix(tint, BLACK, 0.78), 1.0),
        (0.57, mix(tint, WHITE, 0.85), 1.0),
        (0.78, mix(tint, WHITE, 0.25), 1.0),
        (1.0, mix(tint, BLACK, 0.55), 1.0),
    )
    box = bounds(path)
    return across(path, stops, 0.25 if box.width * box.height < 120**2 else 0.0)


def warped_checker(box: Box, cells: int, rng: np.random.Generator) -> Path:
    """Every second field of a checkerboard over the box, swollen like liquid."""
    columns = cells
    rows = max(3, round(cells * box.height / box.width))
    strength, phase = float(rng.uniform(0.6, 1.1)), float(rng.uniform(0, 6))

    def bulged(x: float, y: float) -> Point:
        """Where a point of a flat checker (shares of the box) goes when the sheet swells in the middle and ripples."""
        dx, dy = x - 0.5, y - 0.5
        swell = 1 + strength * math.exp(-9 * (dx * dx + dy * dy))
        ripple = 0.018 * math.sin(9 * y + phase)
        return box.x + box.width * (0.5 + dx * swell + ripple), box.y + box.height * (0.5 + dy * swell + ripple)

    at = [
        [bulged(-0.15 + 1.3 * i / columns, -0.15 + 1.3 * j / rows) for i in range(columns + 1)] for j in range(rows + 1)
    ]
    fields = [
        polygon((at[j][i], at[j][i + 1], at[j + 1][i + 1], at[j + 1][i]))
        for j in range(rows)
        for i in range(j % 2, columns, 2)
    ]
    return joined(*fields)


def contours(x: float, y: float, r: float, count: int, rng: np.random.Generator) -> Path:
    """Wobbling rings inside one another, like the height lines of a dune."""
    lobes = 9
    angles = np.linspace(0, 2 * np.pi, lobes, endpoint=False)
    sway = rng.uniform(-1, 1, (3, lobes))
    rings = []
    for i in range(count):
        share = (i + 1) / count
        radii = r * share * (1 + 0.2 * (sway[0] * share + sway[1] * (1 - share)))
        rings.append(smooth([(x + k * math.cos(a), y + k * math.sin(a)) for k, a in zip(radii, angles)]))
    return joined(*rings)


def _globe(x: float, y: float, r: float) -> Path:
    """A wire globe: meridians and parallels."""
    meridians = [ellipse(x, y, r * share, r) for share in (0.3, 0.7, 1.0)]
    parallels = [
        line(x - r * math.cos(a), y + r * math.sin(a), x + r * math.cos(a), y + r * math.sin(a))
        for a in (-0.8, -0.38, 0.0, 0.38, 0.8)
    ]
    return joined(*meridians, *parallels)


def _register(x: float, y: float, r: float) -> Path:
    """A printer's register mark."""
    return joined(circle(x, y, r * 0.55), line(x - r, y, x + r, y), line(x, y - r, x, y + r))


def _ruler(x: float, y: float, length: float, u: float) -> Path:
    """Ticks down an edge, every fifth longer."""
    step = 11 * u
    return joined(
        *(line(x, y + i * step, x + (14 if i % 5 == 0 else 7) * u, y + i * step) for i in range(int(length / step)))
    )


def _cast(shape: MotifShape, palette: Palette, u: float) -> Marks:
    """One shape of the motif in metal, parted from the next by a dark seam and a bright edge."""
    tint = (BLACK, mix(palette.primary, BLACK, 0.45), palette.secondary, palette.primary, palette.accent, "#e8eef4")
    color = tint[shape.tone]
    if shape.line:
        return (
            Stroke(shape.path, BLACK, shape.width + 6 * u, cap="round", join="round"),
            Stroke(shape.path, chrome(shape.path, color), shape.width, cap="round", join="round"),
        )
    size = bounds(shape.path)
    if max(size.width, size.height) < 26 * u:
        return (Fill(shape.path, mix(color, WHITE, 0.5)),)
    return (
        Stroke(shape.path, BLACK, 7 * u, join="round"),
        Fill(shape.path, chrome(shape.path, color)),
        Stroke(shape.path, mix(color, WHITE, 0.75), 1.6 * u, join="round"),
    )


class DiffuseGlow(Style):
    """Colors breathing into one another behind a veil, an aura around the subject, film grain, thin type."""

    name = "Diffuse Glow"
    moods = ("calm", "elegant", "mysterious", "futuristic", "warm")
    displays = (("Josefin Sans", 300), ("Cormorant Garamond", 500), ("Space Grotesk", 300))
    texts = (("DM Sans", 400), ("Work Sans", 400))
    arrangements = ("full-bleed", "stack", "hero-top", "big-type", "hero-bottom", "mark-above", "badge")
    tracking = 0.01
    scale = 1.05

    def tune(self, palette: Palette, rng: np.random.Generator) -> Palette:
        """Air: a pale ground of its own hue (or a velvet one, where dark), clear colors."""
        lightness, chroma, hue = oklch(palette.ground)
        deep = lightness < 0.42
        ground = from_oklch(0.22 if deep else max(lightness, 0.9), min(chroma, 0.07), hue)
        return inked(
            replace(
                palette,
                ground=ground,
                surface=from_oklch(0.28 if deep else 0.965, min(chroma, 0.04), hue),
                primary=vivid(palette.primary, 0.6, 0.82, 0.13),
                secondary=vivid(palette.secondary, 0.66, 0.88, 0.11),
                accent=vivid(palette.accent, 0.66, 0.86, 0.15),
            ),
            tint=0.1,
        )

    def _misted(self, stage: Stage, box: Box) -> Marks:
        """The edges of a picture inside the sheet, dissolved into the ground."""
        color, reach = stage.palette.ground, 0.16 * min(box.width, box.height)
        strips: Marks = ()
        if box.bottom < stage.height - 1:
            strips += (_strip(Box(x=box.x, y=box.bottom - reach, width=box.width, height=reach), color, 0, 1),)
        if box.y > 1:
            strips += (_strip(Box(x=box.x, y=box.y, width=box.width, height=reach), color, 0, -1),)
        if box.right < stage.width - 1:
            strips += (_strip(Box(x=box.right - reach, y=box.y, width=reach, height=box.height), color, 1, 0),)
        if box.x > 1:
            strips += (_strip(Box(x=box.x, y=box.y, width=reach, height=box.height), color, -1, 0),)
        return strips

    def ground(self, stage: Stage) -> Marks:
        """Pale air with a few far clouds of color, away from the text."""
        palette, u = stage.palette, stage.unit
        clouds = tuple(
            Fill(blob(x, y, min(free * 0.5, 300 * u), stage.rng), mix(palette.ground, color, 0.8))
            for (x, y, free), color in zip(clearings(stage, 3), (palette.secondary, palette.accent, palette.primary))
            if free > 120 * u
        )
        return (Fill(canvas(stage), palette.ground), *((Soft(clouds, blur=70 * u),) if clouds else ()))

    def picture(self, stage: Stage, box: Box) -> Marks:
        """The motif half dissolved in its own light, before an aura; a logo is the motif and its light."""
        u = stage.unit
        if stage.format == "logo":
            return (*self._shining(stage, scene(stage, box), 30 * u),)
        things: Marks = ()
        if stage.subject != "abstract":
            things = mirror_behind_panel(stage, box, self._shining(stage, scene(stage, box), 26 * u))
        edges = self._misted(stage, box) if bleeds(stage, box) else ()
        corner = 0 if bleeds(stage, box) else 36 * u
        return (clipped((*self._atmosphere(stage, box), *things, *edges), boxed(box, corner)),)

    def _atmosphere(self, stage: Stage, box: Box) -> Marks:
        """Clouds of the palette and a halo in the middle of them."""
        palette, u = stage.palette, stage.unit
        place = focus(stage, box)
        x, y = middle(place)
        r = min(place.width, place.height) * 0.6
        clouds = mesh(box, (palette.secondary, palette.primary, palette.accent, palette.secondary), stage.rng, 70 * u)
        dark = is_dark(palette.ground)
        light = mix(palette.accent, WHITE, 0.7) if dark else mix(palette.ground, WHITE, 0.7)
        air = mix(palette.ground, palette.secondary, 0.2) if dark else mix(palette.ground, WHITE, 0.5)
        halo = Fill(circle(x, y, r), aura(x, y, r, light, palette.accent))
        return Fill(boxed(box), air), clouds, halo

    def _shining(self, stage: Stage, shapes: tuple[MotifShape, ...], blur: float) -> Marks:
        """The shapes as mist over their own blurred light."""
        palette = stage.palette
        light = mix(WHITE, palette.accent, 0.12)
        colors = (palette.ground, palette.secondary, palette.secondary, palette.primary, palette.accent, light)
        shine = Soft(
            tuple(shape_mark(shape, colors[shape.tone], opacity=0.7) for shape in shapes if shape.tone >= 3), blur=blur
        )
        return (shine, *(self._misty(stage, shape, colors[shape.tone]) for shape in shapes))

    def _misty(self, stage: Stage, shape: MotifShape, color: Color) -> Mark:
        """One shape of the motif as colored mist: dense above, clearing downwards; far things thinner."""
        density = 0.38 if shape.tone < 3 else 0.85
        if shape.line or bounds(shape.path).height < 26 * stage.unit:
            return shape_mark(shape, color, opacity=density * 0.85)
        lower = mix(color, stage.palette.ground if is_dark(stage.palette.ground) else WHITE, 0.5)
        return Fill(shape.path, across(shape.path, ((0.0, color, density), (1.0, lower, density * 0.45))))

    def finish(self, stage: Stage) -> Marks:
        """Film grain over everything."""
        return (Grain(canvas(stage), 0.16, int(stage.rng.integers(2**31)), speck=1.4),)

    def panel(self, stage: Stage, box: Box) -> Marks:
        """A pane of frosted glass."""
        palette, u = stage.palette, stage.unit
        radius = min(40 * u, box.height / 3)
        return (
            Fill(boxed(box, radius), palette.surface, opacity=0.93),
            Stroke(boxed(box, radius), WHITE, 1.5 * u, opacity=0.6),
        )


def mesh(box: Box, colors: tuple[Color, ...], rng: np.random.Generator, blur: float, opacity: float = 1.0) -> Soft:
    """Clouds of color that run into one another."""
    side = min(box.width, box.height)
    clouds = []
    for color in colors:
        x, y = rng.uniform((box.x, box.y), (box.right, box.bottom))
        clouds.append(Fill(blob(float(x), float(y), side * float(rng.uniform(0.3, 0.5)), rng), color))
    return Soft(tuple(clouds), blur=blur, opacity=opacity)


def aura(x: float, y: float, r: float, inner: Color, outer: Color) -> Radial:
    """A halo: clear in the middle, brightest on a ring, gone at its edge."""
    stops = ((0.0, inner, 0.9), (0.45, inner, 0.65), (0.66, outer, 0.95), (0.82, outer, 0.45), (1.0, outer, 0.0))
    return Radial(x, y, r, stops)


def _strip(box: Box, color: Color, right: int, lower: int) -> Fill:
    """A band that goes from clear to `color` towards the side named by a direction."""
    x0, x1 = (box.x, box.right) if right >= 0 else (box.right, box.x)
    y0, y1 = (box.y, box.bottom) if lower >= 0 else (box.bottom, box.y)
    end = (x1, y0) if right else (x0, y1)
    return Fill(boxed(box), Linear(x0, y0, *end, ((0.0, color, 0.0), (0.6, color, 0.6), (1.0, color, 1.0))))
