"""Styles of bright plastic: Cinema 4D, Memphis."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from salon.render.colors import difference, from_oklch, mix, oklch
from salon.render.layout import Box
from salon.render.marks import Color, Fill, Glyphs, Linear, Mark, Paint, Path, Radial, Soft, Stroke, Tile
from salon.render.motifs import MotifShape
from salon.render.plan import Palette, Stage, Style, StyledText
from salon.render.shapes import (
    arc,
    bounds,
    circle,
    ellipse,
    joined,
    line,
    moved,
    polygon,
    polyline,
    rect,
    ring,
    rounded,
    sector,
    turned,
    wave,
)
from salon.render.styles.ways import (
    GREY_CHROMA,
    WHITE,
    Marks,
    across,
    bleeds,
    boxed,
    canvas,
    clipped,
    copies,
    down,
    extruded,
    faded,
    focus,
    inked,
    is_dark,
    mirror_behind_panel,
    moved_lightness,
    scene,
    shade,
    shape_mark,
    size_of,
    sphere,
    spots,
    stands_out,
    vivid,
    whole,
)


class Cinema4D(Style):
    """The soft render: inflated, glossy bodies on a pastel stage under studio light."""

    name = "Cinema 4D"
    moods = ("joyful", "playful", "futuristic", "warm", "calm")
    displays = (("Fredoka", 700), ("Poppins", 800), ("Unbounded", 700))
    texts = (("Poppins", 400), ("DM Sans", 400))
    arrangements = ("hero-bottom", "full-bleed", "hero-top", "split", "stack", "mark-above", "mark-left")

    def tune(self, palette: Palette, rng: np.random.Generator) -> Palette:
        """Pastel stage (or a deep one, where the ground is dark), candy colors on it."""
        lightness, chroma, hue = oklch(palette.ground)
        deep = lightness < 0.42
        if chroma <= GREY_CHROMA:  # black, white and grey stages take a breath of the main color
            hue, chroma = oklch(palette.primary)[2], min(oklch(palette.primary)[1], 0.04 if deep else 0.02)
        depth = float(np.clip(lightness, 0.22, 0.31))
        ground = from_oklch(depth if deep else max(lightness, 0.86), min(chroma, 0.13), hue)
        return inked(
            replace(
                palette,
                ground=ground,
                surface=from_oklch(depth + 0.08 if deep else 0.97, min(chroma, 0.08 if deep else 0.03), hue),
                primary=vivid(palette.primary, 0.58, 0.8, 0.13),
                secondary=vivid(palette.secondary, 0.6, 0.86, 0.1),
                accent=vivid(palette.accent, 0.64, 0.84, 0.15),
            ),
            tint=0.12,
        )

    def ground(self, stage: Stage) -> Marks:
        """A seamless studio: the wall a breath lighter above, the floor a breath deeper."""
        palette = stage.palette
        lightness = oklch(palette.ground)[0]
        high, deep = shade(palette.ground, lightness + 0.03), shade(palette.ground, lightness - 0.035, 1.15)
        return (Fill(canvas(stage), down(whole(stage), high, palette.ground, deep)),)

    def picture(self, stage: Stage, box: Box) -> Marks:
        """The motif as toys on a lit stage; without a subject, a still life of balls, rings and plinths."""
        u, palette = stage.unit, stage.palette
        # Pale behind, candy in front, cream for details.
        far, detail = mix(palette.ground, palette.secondary, 0.4), mix(WHITE, palette.primary, 0.08)
        colors = (palette.ground, far, palette.secondary, palette.primary, palette.accent, detail)
        if stage.format == "logo":
            return tuple(mark for shape in scene(stage, box) for mark in _body(shape, colors[shape.tone], u))
        if stage.subject == "abstract":
            things = self._still_life(stage, focus(stage, box))
        else:
            toys = (mark for shape in scene(stage, box, over=16) for mark in _body(shape, colors[shape.tone], u))
            things = mirror_behind_panel(stage, box, (*self._floating(stage, focus(stage, box)), *toys))
        corner = 0 if bleeds(stage, box) else 40 * u
        return (clipped((*self._room(stage, box), *things), boxed(box, corner)),)

    def _room(self, stage: Stage, box: Box) -> Marks:
        """Wall, floor and a pool of light."""
        place = focus(stage, box)
        palette = stage.palette
        deeper = 0.07 if is_dark(palette.ground) else -0.05
        wall = mix(moved_lightness(palette.ground, deeper, 1.3), palette.secondary, 0.1)
        floor = mix(moved_lightness(palette.ground, deeper * 1.8, 1.3), palette.primary, 0.15)
        horizon = place.y + place.height * 0.74
        below = Box(x=box.x, y=horizon, width=box.width, height=box.bottom - horizon)
        x, y, reach = place.x + place.width * 0.4, place.y + place.height * 0.36, min(place.width, place.height) * 0.55
        return (
            Fill(boxed(box), down(box, mix(wall, WHITE, 0.15), wall)),
            Fill(boxed(below), down(below, mix(floor, wall, 0.7), floor)),
            Fill(circle(x, y, reach), Radial(x, y, reach, faded(WHITE, 0.55))),
        )

    def _floating(self, stage: Stage, box: Box) -> Marks:
        """A few balls and a ring in the air, near the sides."""
        palette, rng = stage.palette, stage.rng
        r = min(box.width, box.height) * 0.06
        places = ((0.1, 0.2, 1.3), (0.9, 0.14, 0.8), (0.93, 0.56, 1.1), (0.06, 0.62, 0.6))
        marks: Marks = ()
        for (a, b, size), color in zip(places, (palette.accent, palette.primary, palette.secondary, palette.accent)):
            x = box.x + box.width * (a + float(rng.uniform(-0.02, 0.02)))
            y = box.y + box.height * (b + float(rng.uniform(-0.04, 0.04)))
            marks += sphere(x, y, r * size, color)
        ring = torus(box.x + box.width * 0.8, box.y + box.height * 0.3, r * 1.1, r * 0.55, palette.secondary)
        return (*marks, *ring)

    def _still_life(self, stage: Stage, box: Box) -> Marks:
        """Plinths with a ball and a ring, an arch of tubes behind, small balls in the air."""
        palette, rng = stage.palette, stage.rng
        side = min(box.width, box.height)
        x, floor = box.x + box.width * 0.5, box.y + box.height * 0.66
        flip = float(rng.choice((-1.0, 1.0)))
        arches: Marks = ()
        for k, color in enumerate((palette.secondary, palette.primary, palette.accent)):
            r = side * (0.4 - 0.085 * k)
            legs = [(x + r * np.cos(a), floor - side * 0.02 - r * np.sin(a)) for a in np.linspace(np.pi, 0, 33)]
            path = polyline([(x - r, floor + side * 0.2), *legs, (x + r, floor + side * 0.2)])
            arches += _tube(MotifShape(path, 3, 0.5, line=True, width=side * 0.075), color, stage.unit)
        return (
            *arches,
            *_podium(x, floor + side * 0.06, side * 0.5, side * 0.16, mix(palette.ground, palette.primary, 0.35)),
            *_podium(x + flip * side * 0.36, floor + side * 0.18, side * 0.26, side * 0.1, palette.secondary),
            *sphere(x - flip * side * 0.02, floor - side * 0.1, side * 0.17, palette.accent),
            *torus(x + flip * side * 0.36, floor + side * 0.09, side * 0.075, side * 0.055, palette.primary),
            *sphere(x - flip * side * 0.36, floor + side * 0.2, side * 0.09, palette.primary),
            *self._floating(stage, box),
        )

    def panel(self, stage: Stage, box: Box) -> Marks:
        """A thick rounded card with a soft shadow and a bright upper edge."""
        palette, u = stage.palette, stage.unit
        radius = min(34 * u, box.height / 3)
        below = rounded(box.x, box.y + 10 * u, box.width, box.height, radius)
        return (
            Soft((Fill(moved(below, 0, 10 * u), shade(palette.ground, 0.3)),), blur=22 * u, opacity=0.35),
            Fill(below, shade(palette.surface, oklch(palette.surface)[0] - 0.1, 1.4)),
            Fill(boxed(box, radius), palette.surface),
        )

    def letter(self, stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> StyledText:
        """Headlines stand up from the page: a side in the primary's shade under a clean face."""
        if role != "headline" or not stands_out(stage, glyphs):
            return StyledText(glyphs)
        depth = size_of(glyphs) * 0.075
        side = mix(stage.palette.ground, stage.palette.primary, 0.75)
        return StyledText((*extruded(glyphs, side, depth * 0.5, depth), *glyphs), ("shadow", "extrusion"))


def lit(color: Color) -> tuple[Color, Color, Color]:
    """A color in the light, as it is, and in its own shade (never grey)."""
    lightness, chroma, hue = oklch(color)
    return (
        from_oklch(min(lightness + 0.13, 0.98), chroma * 0.75, hue),
        color,
        from_oklch(lightness * 0.72, min(chroma * 1.15, 0.2), hue),
    )


def _body(shape: MotifShape, color: Color, u: float) -> Marks:
    """One shape blown up like vinyl: a shadow, a thick side, a lit face, a bright upper rim and a gloss."""
    if shape.line:
        return _tube(shape, color, u)
    box = bounds(shape.path)
    size = min(box.width, box.height)
    puff = float(np.clip(size * 0.08, 1.5 * u, 18 * u))
    light, plain, dark = lit(color)
    side = Fill(moved(shape.path, puff * 0.5, puff * 1.4), dark)
    if size < 30 * u:
        return side, Fill(shape.path, mix(plain, light, 0.5))
    body = (side, Stroke(shape.path, plain, puff, join="round"), Fill(shape.path, _face(shape, box, color)))
    if size < 55 * u:
        return body
    shadows = tuple(Fill(moved(shape.path, puff * d, puff * 2.2 * d), dark, opacity=0.14) for d in (1.8, 1.3))
    rim = moved(shape.path, -puff * 0.1, puff * 0.35)
    rims = tuple(Stroke(rim, WHITE, puff * width, opacity=0.2, join="round") for width in (2.0, 0.9))
    gloss: Marks = ()
    if size >= 60 * u and max(box.width, box.height) <= 1.7 * size:  # a window of light on a compact body's shoulder
        x, y = box.x + box.width * 0.3, box.y + box.height * 0.2
        gloss = (Fill(ellipse(x, y, size * 0.17, size * 0.09), Radial(x, y, size * 0.17, faded(WHITE, 0.85))),)
    gleams = clipped((*rims, *gloss), shape.path)
    return (*(shadows if shape.tone > 1 else ()), *body, gleams)


def _face(shape: MotifShape, box: Box, color: Color) -> Paint:
    """Light from the upper left: round on compact shapes, along the fall on long ones."""
    light, plain, dark = lit(color)
    if max(box.width, box.height) < 1.7 * min(box.width, box.height):
        stops = ((0.0, mix(light, WHITE, 0.3), 1.0), (0.4, plain, 1.0), (1.0, mix(plain, dark, 0.9), 1.0))
        return Radial(box.x + box.width * 0.32, box.y + box.height * 0.26, 0.85 * max(box.width, box.height), stops)
    return across(shape.path, ((0.0, light, 1.0), (0.5, plain, 1.0), (1.0, mix(plain, dark, 0.7), 1.0)))


def _tube(shape: MotifShape, color: Color, u: float) -> Marks:
    """A line as a round tube: dark below, light above, a gleam along it."""
    light, plain, dark = lit(color)
    w = shape.width
    if w < 7 * u:
        return _line(moved(shape.path, 0, w * 0.25), dark, w), _line(shape.path, mix(plain, light, 0.5), w)
    return (
        _line(moved(shape.path, 0, w * 0.12), dark, w * 1.25),
        _line(shape.path, plain, w * 1.1),
        _line(moved(shape.path, -w * 0.12, -w * 0.18), light, w * 0.5),
        Stroke(moved(shape.path, -w * 0.16, -w * 0.24), WHITE, w * 0.16, opacity=0.8, cap="round", join="round"),
    )


def _line(path: Path, color: Color, width: float) -> Stroke:
    return Stroke(path, color, width, cap="round", join="round")


def torus(x: float, y: float, r: float, thick: float, color: Color) -> Marks:
    """A ring of tube, seen a little from above."""
    around = MotifShape(arc(x, y, r, 0, 360, ry=r * 0.8), 3, 1.0, line=True, width=thick)
    return _tube(around, color, 0.0)


def _podium(x: float, y: float, width: float, height: float, color: Color) -> Marks:
    """A round plinth whose top is centred on (x, y): its shadow, its side, its top."""
    light, plain, dark = lit(color)
    rx, ry = width / 2, width * 0.12
    side = Linear(x - rx, 0, x + rx, 0, ((0.0, plain, 1.0), (0.3, light, 1.0), (1.0, dark, 1.0)))
    top = Linear(x - rx, 0, x + rx, 0, ((0.0, mix(light, WHITE, 0.5), 1.0), (1.0, light, 1.0)))
    shadow = Fill(ellipse(x + width * 0.06, y + height + ry * 0.5, rx * 1.12, ry * 1.1), dark)
    return (
        Soft((shadow,), blur=width * 0.035, opacity=0.55),
        Fill(ellipse(x, y + height, rx, ry), side),
        Fill(rect(x - rx, y, width, height), side),
        Fill(ellipse(x, y, rx, ry), top),
    )


LINE = "#17151c"
"""The black of outlines, shadows and patterns."""


class Memphis(Style):
    """Milan in the eighties: squiggles, zigzags, dots and triangles, black-and-white patterns, candy colors."""

    name = "Memphis"
    moods = ("playful", "joyful", "nostalgic", "bold")
    displays = (("Righteous", 400), ("Bungee", 400), ("Fredoka", 700))
    texts = (("Poppins", 500), ("DM Sans", 500))
    case = "upper"
    arrangements = ("hero-top", "split", "corner-grid", "stack", "turned", "hero-bottom", "badge", "mark-above")

    def tune(self, palette: Palette, rng: np.random.Generator) -> Palette:
        """Laminate: a pastel ground, everything else as bright as plastic."""
        lightness, chroma, hue = oklch(palette.ground)
        ground = palette.ground if lightness < 0.4 else from_oklch(max(lightness, 0.84), min(chroma, 0.16), hue)
        return inked(
            replace(
                palette,
                ground=ground,
                surface=WHITE,
                primary=vivid(palette.primary, 0.55, 0.82, 0.17),
                secondary=vivid(palette.secondary, 0.6, 0.87, 0.13),
                accent=vivid(palette.accent, 0.62, 0.88, 0.18),
            ),
            tint=0.0,
        )

    def ground(self, stage: Stage) -> Marks:
        """The ground, strewn with ornaments wherever there is no text."""
        palette, u, rng = stage.palette, stage.unit, stage.rng
        marks: Marks = (Fill(canvas(stage), palette.ground),)
        if stage.format == "logo":
            return marks
        bright = (palette.accent, palette.primary, palette.secondary)
        colors = [color if difference(color, palette.ground) > 0.12 else WHITE for color in bright]
        order = rng.permutation(len(ORNAMENTS))
        for i, (x, y) in enumerate(spots(stage, whole(stage), 40, 54 * u, gap=6 * u)):
            size = u * float(rng.uniform(50, 74))
            marks += ORNAMENTS[order[i % len(order)]](x, y, size, colors[i % 3], float(rng.uniform(0, 180)))
        return marks

    def picture(self, stage: Stage, box: Box) -> Marks:
        """The motif in plastic colors with hard black shadows, before a patterned field and big plain figures."""
        palette, u = stage.palette, stage.unit
        far = mix(palette.secondary, WHITE, 0.45)
        colors = (palette.secondary, far, palette.secondary, palette.primary, palette.accent, WHITE)
        if stage.format == "logo":
            return tuple(mark for shape in scene(stage, box) for mark in _cut_out(shape, colors[shape.tone], u))
        shapes = scene(stage, box, over=12)
        things = [mark for shape in shapes for mark in _cut_out(shape, colors[shape.tone], u)]
        edge = () if bleeds(stage, box) else (Stroke(boxed(box), LINE, 5 * u),)
        return (
            clipped(
                (
                    *self._field(stage, box),
                    *mirror_behind_panel(stage, box, tuple(things)),
                    *self._sprinkled(stage, box),
                ),
                boxed(box),
            ),
            *edge,
        )

    def _field(self, stage: Stage, box: Box) -> Marks:
        """Half the box in color, half in black on white, and a disc across the seam."""
        palette, u, rng = stage.palette, stage.unit, stage.rng
        seam = box.x + box.width * float(rng.uniform(0.52, 0.64))
        right = polygon(
            (
                (seam + box.width * 0.1, box.y),
                (box.right, box.y),
                (box.right, box.bottom),
                (seam - box.width * 0.1, box.bottom),
            )
        )
        patterns = (
            lambda: bacterio(right, LINE, 150 * u, rng),
            lambda: spotted(right, LINE, 40 * u),
            lambda: striped(right, LINE, 34 * u, 45),
            lambda: checked(right, LINE, 60 * u),
        )
        disc = circle(seam, box.y + box.height * 0.45, min(box.width, box.height) * 0.36)
        return (
            Fill(boxed(box), mix(palette.secondary, WHITE, 0.5)),
            Fill(right, WHITE),
            *patterns[rng.integers(len(patterns))](),
            Fill(disc, mix(palette.accent, WHITE, 0.25)),
        )

    def _sprinkled(self, stage: Stage, box: Box) -> Marks:
        """A few ornaments in the corners of the picture."""
        u, rng = stage.unit, stage.rng
        places = ((0.09, 0.1), (0.9, 0.1), (0.09, 0.88), (0.91, 0.86))
        colors = (stage.palette.accent, stage.palette.primary, WHITE, stage.palette.secondary)
        picked = rng.choice(len(ORNAMENTS), len(places), replace=False)
        return tuple(
            mark
            for (a, b), color, kind in zip(places, colors, picked)
            for mark in ORNAMENTS[kind](
                box.x + a * box.width, box.y + b * box.height, 110 * u, color, float(rng.uniform(0, 90))
            )
        )

    def panel(self, stage: Stage, box: Box) -> Marks:
        """A white laminate sheet with a black line and a hard colored shadow."""
        u = stage.unit
        shadow = rect(box.x + 14 * u, box.y + 14 * u, box.width, box.height)
        return Fill(shadow, LINE), Fill(boxed(box), stage.palette.surface), Stroke(boxed(box), LINE, 5 * u)

    def letter(self, stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> StyledText:
        """Headlines with a hard shadow in a loud color."""
        if role != "headline" or not stands_out(stage, glyphs):
            return StyledText(glyphs)
        shift = size_of(glyphs) * 0.05
        color = stage.palette.accent if glyphs[0].paint != stage.palette.accent else stage.palette.primary
        return StyledText((*copies(glyphs, color, shift, shift), *glyphs), ("shadow",))


def squiggle(x: float, y: float, size: float, color: Color, angle: float) -> Marks:
    """A wave with its black shadow."""
    path = turned(wave(x - size / 2, x + size / 2, y, size * 0.13, size * 0.36), angle, x, y)
    return (
        Stroke(moved(path, size * 0.04, size * 0.05), LINE, size * 0.1, cap="round", join="round"),
        Stroke(path, color, size * 0.1, cap="round", join="round"),
    )


def zigzag(x: float, y: float, size: float, color: Color, angle: float) -> Marks:
    """A zigzag with its black shadow."""
    points = [(x + size * (i / 6 - 0.5), y + size * (0.1 if i % 2 else -0.1)) for i in range(7)]
    path = turned(polyline(points), angle, x, y)
    return (
        Stroke(moved(path, size * 0.035, size * 0.045), LINE, size * 0.08),
        Stroke(path, color, size * 0.08),
    )


def triangle(x: float, y: float, size: float, color: Color, angle: float) -> Marks:
    """A triangle with its black shadow."""
    h = size * 0.4
    path = turned(polygon(((x, y - h), (x + h, y + h * 0.75), (x - h, y + h * 0.75))), angle, x, y)
    return (
        Fill(moved(path, size * 0.07, size * 0.07), LINE),
        Fill(path, color),
        Stroke(path, LINE, size * 0.03, join="round"),
    )


def striped_half_disc(x: float, y: float, size: float, color: Color, angle: float) -> Marks:
    """Half a disc, striped."""
    path = sector(x, y, size * 0.4, angle, angle + 180)
    return (Fill(path, color), *striped(path, LINE, size * 0.11, angle + 45))


def dot_square(x: float, y: float, size: float, color: Color, angle: float) -> Marks:
    """Sixteen dots in a square."""
    step = size * 0.2
    places = [(x + (i - 1.5) * step, y + (j - 1.5) * step) for i in range(4) for j in range(4)]
    points = joined(*(line(a, b, a + 0.01, b) for a, b in places))  # round ends make dots of them
    return (Stroke(turned(points, angle, x, y), color, step * 0.48, cap="round"),)


def donut(x: float, y: float, size: float, color: Color, angle: float) -> Marks:
    """A ring with its black shadow."""
    path = ring(x, y, size * 0.36, size * 0.18)
    return Fill(moved(path, size * 0.06, size * 0.06), LINE), Fill(path, color)


def cross(x: float, y: float, size: float, color: Color, angle: float) -> Marks:
    """A cross of two bars."""
    arm = size * 0.26
    path = joined(line(x - arm, y, x + arm, y), line(x, y - arm, x, y + arm))
    return (Stroke(turned(path, angle, x, y), color, size * 0.13),)


ORNAMENTS: tuple[Callable[[float, float, float, Color, float], Marks], ...] = (
    squiggle, triangle, dot_square, zigzag, striped_half_disc, donut, cross,
)  # fmt: skip


def striped(within: Path, color: Color, step: float, angle: float) -> Marks:
    """Stripes as wide as their gaps."""
    return (Tile((Fill(rect(0, 0, step / 2, step), color),), step, step, within, angle=angle),)


def bacterio(within: Path, color: Color, step: float, rng: np.random.Generator) -> Marks:
    """Short wriggling strokes every which way: the laminate everyone knows."""
    worms: list[Mark] = []
    for i in range(4):
        for j in range(4):
            x, y = (i + 0.5) * step / 4, (j + 0.5) * step / 4
            worm = turned(
                wave(x - step * 0.075, x + step * 0.075, y, step * 0.03, step * 0.15), float(rng.uniform(0, 180)), x, y
            )
            worms.append(Stroke(worm, color, step * 0.035, cap="round", join="round"))
    return (Tile(tuple(worms), step, step, within),)


def spotted(within: Path, color: Color, step: float) -> Marks:
    """Even dots, every second row shifted."""
    r = step * 0.16
    cells = ((0.25, 0.25), (0.75, 0.75))
    return (Tile(tuple(Fill(circle(a * step, b * step, r), color) for a, b in cells), step, step, within),)


def checked(within: Path, color: Color, step: float) -> Marks:
    """A checkerboard."""
    half = step / 2
    return (Tile((Fill(joined(rect(0, 0, half, half), rect(half, half, half, half)), color),), step, step, within),)


def _cut_out(shape: MotifShape, color: Color, u: float) -> Marks:
    """One shape with a thin black line; things in front throw a hard shadow."""
    if shape.line:
        return Stroke(shape.path, LINE, shape.width + 5 * u, cap="round", join="round"), shape_mark(shape, color)
    face = (Fill(shape.path, color), Stroke(shape.path, LINE, 3.2 * u, join="round"))
    if shape.tone in (3, 4):
        return (Fill(moved(shape.path, 9 * u, 9 * u), LINE), *face)
    return face
