"""Illustrative: drawn by hand. Ink outlines, color that misses them a little, hatching, grain, sprigs."""

from __future__ import annotations

import math

import numpy as np

from salon.render.layout import Box
from salon.render.marks import Color, Command, Fill, Grain, Mark, Path, Stroke, Tile
from salon.render.motifs import MotifShape, emblem
from salon.render.plan import Stage, Style
from salon.render.shapes import circle, line, smooth
from salon.render.styles.ways import (
    Marks,
    boxed,
    clipped,
    in_view,
    is_dark,
    is_free,
    is_pieced,
    keep,
    moved_lightness,
    plain_ground,
    plain_letter,
    shade,
    spread,
    tones,
)


def pen(stage: Stage) -> Color:
    """The ink of outlines: a very dark shade of the primary; at night, chalk."""
    return shade(stage.palette.primary, 0.93 if is_dark(stage.palette.ground) else 0.24, 0.5)


def picture(stage: Stage, box: Box) -> Marks:
    """The scene in brushed color and pen line, its edges left by a wide brush."""
    if stage.format == "logo":
        return _painted(stage, emblem(stage.subject, box, stage.rng))
    painted = _painted(stage, in_view(stage, box))
    grain = Grain(boxed(box), 0.2, int(stage.rng.integers(2**31)), speck=2.4)
    backdrop = Fill(boxed(box), tones(stage.palette)[0])
    return (clipped((backdrop, *painted, grain), _brushed(stage, box)),)


def _painted(stage: Stage, shapes: tuple[MotifShape, ...]) -> Marks:
    """Every shape as a brush fills it and a pen goes around it."""
    colors, hand = tones(stage.palette), Hand(stage.rng, 2.2 * stage.unit)
    return tuple(mark for shape in shapes for mark in _drawn_by_hand(stage, shape, colors[shape.tone], hand))


def _drawn_by_hand(stage: Stage, shape: MotifShape, color: Color, hand: Hand) -> Marks:
    """One shape: brushed, hatched where it is large, and outlined, though not quite in the same place."""
    unit = stage.unit
    if shape.line:
        return (Stroke(hand.follow(shape.path), color, shape.width, cap="round", join="round"),)
    around = spread(shape.path)
    side = min(around.width, around.height)
    brushed: Marks = (Fill(shape.path, color),)
    if side > 70 * unit and shape.tone in (2, 3):
        brushed += (_hatched(stage, shape.path, moved_lightness(color, -0.1)),)
    if side <= 16 * unit or shape.tone == 0:
        return brushed
    edge = hand.follow(shape.path, -4 * unit, 2 * unit)
    if is_pieced(shape.path):
        return (Stroke(edge, pen(stage), 6.4 * unit, cap="round", join="round"), *brushed)
    return (*brushed, Stroke(edge, pen(stage), 3.6 * unit, cap="round", join="round"))


class Hand:
    """A hand that follows an outline and strays by about `sway` pixels, slowly, as hands do."""

    def __init__(self, rng: np.random.Generator, sway: float) -> None:
        self.sway = sway
        self.phases = rng.uniform(0, 2 * math.pi, 4).tolist()
        self.waves = (2 * math.pi / rng.uniform(50 * sway, 130 * sway, 4)).tolist()

    def follow(self, path: Path, dx: float = 0.0, dy: float = 0.0) -> Path:
        """The outline as drawn, moved by (dx, dy)."""
        (a, b, c, d), (p, q, r, s) = self.waves, self.phases
        commands: list[Command] = []
        for name, *values in path.commands:
            strayed = []
            for x, y in zip(values[::2], values[1::2]):
                strayed.append(x + dx + self.sway * (math.sin(a * y + p) + 0.5 * math.sin(b * x + q)))
                strayed.append(y + dy + self.sway * (math.sin(c * x + r) + 0.5 * math.sin(d * y + s)))
            commands.append((name, *strayed))
        return Path(tuple(commands), path.even_odd)


def _hatched(stage: Stage, within: Path, color: Color) -> Tile:
    """Dashes of a dry brush across a shape."""
    cell = max(8.0, float(round(46 * stage.unit)))
    dashes = ((0.05, 0.6, 0.16), (0.5, 0.98, 0.4), (0.0, 0.4, 0.64), (0.55, 0.95, 0.88))
    strokes = tuple(
        Stroke(line(cell * a, cell * (y + 0.06), cell * b, cell * (y - 0.06)), color, cell * 0.065, cap="round")
        for a, b, y in dashes
    )
    return Tile(strokes, cell, cell, within)


def _brushed(stage: Stage, box: Box) -> Path:
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


def finish(stage: Stage) -> Marks:
    """Sprigs growing in from the corners that are free."""
    if stage.format == "logo":
        return ()
    side = min(stage.width, stage.height) * 0.15
    corners = ((0, 0, 45), (stage.width, 0, 135), (stage.width, stage.height, 225), (0, stage.height, 315))
    marks: list[Mark] = []
    for x, y, angle in corners:
        place = Box(x=min(x, stage.width - side), y=min(y, stage.height - side), width=side, height=side)
        if is_free(stage, place):
            marks += _sprig(stage, x, y, angle, side * 1.2)
    return tuple(marks)


def _sprig(stage: Stage, x: float, y: float, angle: float, length: float) -> Marks:
    """A bent stem with pairs of leaves and a berry at its end."""
    colors, ink = tones(stage.palette), pen(stage)
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


def _leaf(x: float, y: float, angle: float, length: float) -> Path:
    """A pointed leaf from its foot, `angle` in radians."""
    ax, ay = math.cos(angle) * length, math.sin(angle) * length
    tip = (x + ax, y + ay)
    one = (x + 0.45 * ax - 0.3 * ay, y + 0.45 * ay + 0.3 * ax)
    two = (x + 0.45 * ax + 0.3 * ay, y + 0.45 * ay - 0.3 * ax)
    return Path((("M", x, y), ("Q", *one, *tip), ("Q", *two, x, y), ("Z",)))


def panel(stage: Stage, box: Box) -> Marks:
    """A piece of paper cut by eye, with a pen line around it."""
    edge = Hand(stage.rng, 3 * stage.unit).follow(_fine(box))
    return (Fill(edge, stage.palette.surface), Stroke(edge, pen(stage), 3.6 * stage.unit, join="round"))


def _fine(box: Box, steps: int = 8) -> Path:
    """A rectangle with points along its sides, for a hand to follow."""
    shares = np.arange(steps) / steps
    points = [
        *((box.x + box.width * t, box.y) for t in shares),
        *((box.right, box.y + box.height * t) for t in shares),
        *((box.right - box.width * t, box.bottom) for t in shares),
        *((box.x, box.bottom - box.height * t) for t in shares),
    ]
    return smooth(points, tension=0.3)


STYLE = Style(
    name="Illustrative",
    moods=("warm", "playful", "calm", "joyful"),
    displays=(("Fraunces", 700), ("DM Serif Display", 400), ("Caveat", 700), ("Permanent Marker", 400)),
    texts=(("Lora", 400), ("Work Sans", 400), ("EB Garamond", 500)),
    case="as is",
    arrangements=("hero-top", "hero-bottom", "framed", "stack", "split", "mark-above", "mark-left"),
    tune=keep,
    ground=plain_ground,
    picture=picture,
    finish=finish,
    panel=panel,
    letter=plain_letter,
)
