"""Styles made by hand: Papercut, Illustrative."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from salon.render.layout import Box
from salon.render.marks import Color, Command, Fill, Glyphs, Grain, Group, Mark, Path, Stroke, Tile
from salon.render.motifs import MotifShape, emblem, motif
from salon.render.plan import Stage, Style, StyledText
from salon.render.shapes import circle, joined, line, smooth
from salon.render.styles.ways import (
    Marks,
    apart,
    boxed,
    clipped,
    copies,
    freest,
    in_view,
    inset,
    is_dark,
    is_free,
    is_pieced,
    middle,
    moved_lightness,
    outline_box,
    shade,
    shape_mark,
    shifted,
    size_of,
    stands_out,
    tones,
    toward,
)

FALL = (4.0, 7.0)
"""Where shadows fall, in units: light comes from the upper left."""

EDGES = ((6.0, 0.17), (15.0, 0.12), (29.0, 0.08))
"""Widths in units and opacities of the lines that add up to a soft edge: cheaper than a blur for each sheet."""

SHEETS = 3
"""Sheets with an opening around the scene."""

WIDE = 260.0
"""Units from which an outline's shadow is soft."""

LEVELS = 5
"""Sheets the scene itself is cut from."""


class Papercut(Style):
    """Sheets of paper stacked into the depth, each with the soft shadow of the one above."""

    name = "Papercut"
    moods = ("warm", "calm", "playful", "mysterious")
    displays = (("Fredoka", 600), ("DM Serif Display", 400), ("Fraunces", 700))
    texts = (("DM Sans", 400), ("Work Sans", 400), ("Lora", 400))
    arrangements = ("hero-top", "hero-bottom", "full-bleed", "split", "mark-above", "mark-left")

    def picture(self, stage: Stage, box: Box) -> Marks:
        """The scene, sheet by sheet, at the bottom of a well of ever smaller openings."""
        if stage.format == "logo":
            return self._stacked(stage, emblem(stage.subject, box, stage.rng))
        place = freest(stage, box)
        rims = self._openings(stage, place)
        scene = (
            Fill(boxed(place), tones(stage.palette)[0]),
            *self._stacked(stage, motif(stage.subject, place, stage.rng)),
        )
        return (clipped((*scene, *self._frames(stage, box, rims)), boxed(box)),)

    def _stacked(self, stage: Stage, shapes: tuple[MotifShape, ...]) -> Marks:
        """A few sheets: the shadows of one sheet's outlines, then the outlines."""
        colors = tones(stage.palette)
        marks: list[Mark] = []
        for _, sheet in groupby(shapes, key=lambda shape: round(shape.depth * LEVELS)):
            parts = tuple(sheet)
            solid = [part.path for part in parts if part.tone > 0 and not part.line]
            marks += self._shadows(stage, solid)
            for part in parts:
                if not part.line and part.tone > 0:
                    marks.append(self._lit(stage, part.path, colors[part.tone]))
                marks.append(shape_mark(part, colors[part.tone]))
        return tuple(marks)

    def _shadows(self, stage: Stage, paths: Sequence[Path]) -> Marks:
        """Wide outlines throw soft shadows, small ones short crisp ones; crumbs throw none."""
        sizes = [(path, outline_box(path)) for path in paths]
        sides = [(path, max(around.width, around.height) / stage.unit) for path, around in sizes]
        wide = [path for path, side in sides if side > WIDE]
        small = [path for path, side in sides if 30 < side <= WIDE]
        soft = self._cast(stage, joined(*wide)) if wide else ()
        return (*soft, *self._drop(stage, joined(*small))) if small else soft

    def _lit(self, stage: Stage, path: Path, color: Color) -> Group:
        """The thickness of the paper, seen along the edges that face the light."""
        return shifted((Fill(path, moved_lightness(color, 0.1, 0.8)),), -1.1 * stage.unit, -1.7 * stage.unit)

    def _drop(self, stage: Stage, path: Path) -> Marks:
        """A crisp shadow in two steps."""
        dx, dy = (offset * stage.unit for offset in FALL)
        dark = (Fill(path, self.shadow_color(stage), opacity=0.16),)
        return tuple(shifted(dark, dx * reach, dy * reach) for reach in (1.15, 0.6))

    def _openings(self, stage: Stage, box: Box) -> list[Path]:
        """Nested soft outlines, the outermost first; where the box meets the canvas's edge they run off it."""
        rim = min(box.width, box.height) * 0.06
        whole = box.width >= stage.width - 1 and box.height >= stage.height - 1
        out = 0.0 if whole else 4 * rim
        left, top = (out if box.x <= 1 else 0.0), (out if box.y <= 1 else 0.0)
        right, bottom = (out if box.right >= stage.width - 1 else 0.0), (out if box.bottom >= stage.height - 1 else 0.0)
        wide = Box(x=box.x - left, y=box.y - top, width=box.width + left + right, height=box.height + top + bottom)
        phases = stage.rng.uniform(0, 2 * np.pi, (SHEETS, 3))
        return [_opening(inset(wide, rim * (0.5 + 0.75 * k)), phases[k], rim * 0.3) for k in range(SHEETS)]

    def _frames(self, stage: Stage, box: Box, rims: list[Path]) -> Marks:
        """The sheets with the openings, deepest first: the nearer to the eye, the nearer to the ground's color."""
        palette = stage.palette
        outer = boxed(inset(box, -40 * stage.unit))
        deepest = apart(palette.primary, palette.ground, 1.5)
        marks: list[Mark] = []
        for depth in reversed(range(len(rims))):
            color = toward(palette.ground, deepest, 0.32 * depth) if depth else palette.ground
            sheet = joined(outer, rims[depth], even_odd=True)
            marks += [*self._cast(stage, rims[depth]), self._lit(stage, sheet, color), Fill(sheet, color)]
        return tuple(marks)

    def _cast(self, stage: Stage, path: Path) -> Marks:
        """The shadow along an outline, falling to the lower right."""
        dark, more = self.shadow_color(stage), 1.8 if is_dark(stage.palette.ground) else 1.0
        lines = ((width * stage.unit, more * opacity) for width, opacity in EDGES)
        soft = tuple(Stroke(path, dark, width, opacity=opacity, join="round") for width, opacity in lines)
        return (shifted(soft, FALL[0] * stage.unit, FALL[1] * stage.unit),)

    def shadow_color(self, stage: Stage) -> Color:
        """A very dark shade of the ground's own hue: shadows on colored paper are never grey."""
        return shade(stage.palette.ground, 0.12, 0.6)

    def panel(self, stage: Stage, box: Box) -> Marks:
        """A sheet lying on the picture."""
        path = boxed(box, 14 * stage.unit)
        return (*self._cast(stage, path), Fill(path, stage.palette.surface))

    def letter(self, stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> StyledText:
        """Headlines are cut out too, and throw a small shadow."""
        if role != "headline" or not stands_out(stage, glyphs):
            return StyledText(glyphs)
        size = size_of(glyphs)
        steps = ((0.018, 0.03), (0.03, 0.05), (0.042, 0.07))
        shadow = (run for dx, dy in steps for run in copies(glyphs, self.shadow_color(stage), size * dx, size * dy))
        return StyledText((*(replace(run, opacity=0.12) for run in shadow), *glyphs), ("shadow",))


def _opening(box: Box, phases: np.ndarray, sway: float) -> Path:
    """A window between a rectangle and an oval (a superellipse) whose edge sways."""
    x, y = middle(box)
    angles = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    cos, sin = np.cos(angles), np.sin(angles)
    swing = sum(np.sin((2 * k + 3) * angles + phase) for k, phase in enumerate(phases)) * sway / 2
    xs = x + np.sign(cos) * np.abs(cos) ** 0.4 * box.width / 2 + swing * cos
    ys = y + np.sign(sin) * np.abs(sin) ** 0.4 * box.height / 2 + swing * sin
    return smooth(list(zip(xs.tolist(), ys.tolist())))


class Illustrative(Style):
    """Drawn by hand. Ink outlines, color that misses them a little, hatching, grain, sprigs."""

    name = "Illustrative"
    moods = ("warm", "playful", "calm", "joyful")
    displays = (("Fraunces", 700), ("DM Serif Display", 400), ("Caveat", 700), ("Permanent Marker", 400))
    texts = (("Lora", 400), ("Work Sans", 400), ("EB Garamond", 500))
    arrangements = ("hero-top", "hero-bottom", "framed", "stack", "split", "mark-above", "mark-left")

    def pen(self, stage: Stage) -> Color:
        """The ink of outlines: a very dark shade of the primary; at night, chalk."""
        return shade(stage.palette.primary, 0.93 if is_dark(stage.palette.ground) else 0.24, 0.5)

    def picture(self, stage: Stage, box: Box) -> Marks:
        """The scene in brushed color and pen line, its edges left by a wide brush."""
        if stage.format == "logo":
            return self._painted(stage, emblem(stage.subject, box, stage.rng))
        painted = self._painted(stage, in_view(stage, box))
        grain = Grain(boxed(box), 0.2, int(stage.rng.integers(2**31)), speck=2.4)
        backdrop = Fill(boxed(box), tones(stage.palette)[0])
        return (clipped((backdrop, *painted, grain), self._brushed(stage, box)),)

    def _painted(self, stage: Stage, shapes: tuple[MotifShape, ...]) -> Marks:
        """Every shape as a brush fills it and a pen goes around it."""
        colors, hand = tones(stage.palette), UnsteadyHand(stage.rng, 2.2 * stage.unit)
        return tuple(mark for shape in shapes for mark in self._drawn_by_hand(stage, shape, colors[shape.tone], hand))

    def _drawn_by_hand(self, stage: Stage, shape: MotifShape, color: Color, hand: UnsteadyHand) -> Marks:
        """One shape: brushed, hatched where it is large, and outlined, though not quite in the same place."""
        unit = stage.unit
        if shape.line:
            return (Stroke(hand.follow(shape.path), color, shape.width, cap="round", join="round"),)
        around = outline_box(shape.path)
        side = min(around.width, around.height)
        brushed: Marks = (Fill(shape.path, color),)
        if side > 70 * unit and shape.tone in (2, 3):
            brushed += (self._hatched(stage, shape.path, moved_lightness(color, -0.1)),)
        if side <= 16 * unit or shape.tone == 0:
            return brushed
        edge = hand.follow(shape.path, -4 * unit, 2 * unit)
        if is_pieced(shape.path):
            return (Stroke(edge, self.pen(stage), 6.4 * unit, cap="round", join="round"), *brushed)
        return (*brushed, Stroke(edge, self.pen(stage), 3.6 * unit, cap="round", join="round"))

    def _hatched(self, stage: Stage, within: Path, color: Color) -> Tile:
        """Dashes of a dry brush across a shape."""
        cell = max(8.0, float(round(46 * stage.unit)))
        dashes = ((0.05, 0.6, 0.16), (0.5, 0.98, 0.4), (0.0, 0.4, 0.64), (0.55, 0.95, 0.88))
        strokes = tuple(
            Stroke(line(cell * a, cell * (y + 0.06), cell * b, cell * (y - 0.06)), color, cell * 0.065, cap="round")
            for a, b, y in dashes
        )
        return Tile(strokes, cell, cell, within)

    def _brushed(self, stage: Stage, box: Box) -> Path:
        """A painted area: strokes of a wide brush, their ends uneven; sides on the canvas's edge run off it."""
        count = max(6, round(box.height / (52 * stage.unit)))
        high, fray = box.height / count, 22 * stage.unit
        left = box.x - fray if box.x <= 1 else box.x + fray * 0.6
        right = box.right + fray if box.right >= stage.width - 1 else box.right - fray * 0.6
        ends = stage.rng.uniform(-0.6, 0.6, (2, count)) * fray
        down = [(right + end, box.y + high * (k + at)) for k, end in enumerate(ends[0]) for at in (0.12, 0.88)]
        up = [(left + end, box.bottom - high * (k + at)) for k, end in enumerate(ends[1]) for at in (0.12, 0.88)]
        top = [(left + (right - left) * t, box.y + fray * 0.25 * math.sin(9 * t)) for t in (0.03, 0.3, 0.6, 0.97)]
        foot = [(left + (right - left) * t, box.bottom - fray * 0.25 * math.sin(7 * t)) for t in (0.97, 0.6, 0.3, 0.03)]
        return smooth([*top, *down, *foot, *up], tension=0.8)

    def finish(self, stage: Stage) -> Marks:
        """Sprigs growing in from the corners that are free."""
        if stage.format == "logo":
            return ()
        side = min(stage.width, stage.height) * 0.15
        corners = ((0, 0, 45), (stage.width, 0, 135), (stage.width, stage.height, 225), (0, stage.height, 315))
        marks: list[Mark] = []
        for x, y, angle in corners:
            place = Box(x=min(x, stage.width - side), y=min(y, stage.height - side), width=side, height=side)
            if is_free(stage, place):
                marks += self._sprig(stage, x, y, angle, side * 1.2)
        return tuple(marks)

    def _sprig(self, stage: Stage, x: float, y: float, angle: float, length: float) -> Marks:
        """A bent stem with pairs of leaves and a berry at its end."""
        colors, ink = tones(stage.palette), self.pen(stage)
        bend = float(stage.rng.uniform(-28, 28))
        angles = np.radians(angle + np.linspace(-bend, bend, 8))
        xs = (x + np.concatenate([[0], np.cumsum(np.cos(angles))]) * length / 8).tolist()
        ys = (y + np.concatenate([[0], np.cumsum(np.sin(angles))]) * length / 8).tolist()
        marks: list[Mark] = [Stroke(smooth(list(zip(xs, ys)), closed=False), ink, 3.2 * stage.unit, cap="round")]
        for k in range(2, 8):
            for side in (-1, 1):
                leaf = _leaf(xs[k], ys[k], float(angles[k - 1]) + side * 0.9, length * (0.36 - 0.025 * k))
                marks += [Fill(leaf, colors[2 if side < 0 else 3]), Stroke(leaf, ink, 2.4 * stage.unit, join="round")]
        berry = circle(xs[-1], ys[-1], length * 0.055)
        return (*marks, Fill(berry, colors[4]), Stroke(berry, ink, 2.4 * stage.unit))

    def panel(self, stage: Stage, box: Box) -> Marks:
        """A piece of paper cut by eye, with a pen line around it."""
        shares = np.arange(8) / 8  # points along the sides, for the hand to follow
        points = [
            *((box.x + box.width * t, box.y) for t in shares),
            *((box.right, box.y + box.height * t) for t in shares),
            *((box.right - box.width * t, box.bottom) for t in shares),
            *((box.x, box.bottom - box.height * t) for t in shares),
        ]
        edge = UnsteadyHand(stage.rng, 3 * stage.unit).follow(smooth(points, tension=0.3))
        return (Fill(edge, stage.palette.surface), Stroke(edge, self.pen(stage), 3.6 * stage.unit, join="round"))


class UnsteadyHand:
    """A hand that follows an outline and strays by about `sway` pixels, slowly, as hands do."""

    def __init__(self, rng: np.random.Generator, sway: float) -> None:
        self.sway = sway
        self.phases = rng.uniform(0, 2 * math.pi, 4).tolist()
        self.waves = (2 * math.pi / rng.uniform(50 * sway, 130 * sway, 4)).tolist()

    def follow(self, path: Path, dx: float = 0.0, dy: float = 0.0) -> Path:
        """The outline as the hand draws it, moved by (dx, dy)."""
        (a, b, c, d), (p, q, r, s) = self.waves, self.phases
        commands: list[Command] = []
        for name, *values in path.commands:
            strayed = []
            for x, y in zip(values[::2], values[1::2]):
                strayed.append(x + dx + self.sway * (math.sin(a * y + p) + 0.5 * math.sin(b * x + q)))
                strayed.append(y + dy + self.sway * (math.sin(c * x + r) + 0.5 * math.sin(d * y + s)))
            commands.append((name, *strayed))
        return Path(tuple(commands), path.even_odd)


def _leaf(x: float, y: float, angle: float, length: float) -> Path:
    """A pointed leaf from its foot, `angle` in radians."""
    ax, ay = math.cos(angle) * length, math.sin(angle) * length
    tip = (x + ax, y + ay)
    right = (x + 0.45 * ax - 0.3 * ay, y + 0.45 * ay + 0.3 * ax)
    left = (x + 0.45 * ax + 0.3 * ay, y + 0.45 * ay - 0.3 * ax)
    return Path((("M", x, y), ("Q", *right, *tip), ("Q", *left, x, y), ("Z",)))
