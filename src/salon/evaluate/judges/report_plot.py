"""Bias against perception: one dot a judge, with the curves along which accuracy is the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from salon.report import numbers
from salon.report.charts.scatter import names_beside
from salon.report.frame import LINE, x_axis, y_grid, y_ticks_width
from salon.report.located import marks
from salon.report.scale import Scale, domain, spread
from salon.report.svg import Rows, canvas, drawn, element, group, line, text, text_width

COMPACT = 520
LABEL_LINE = 15.0
HEIGHT = 360
CURVE_NAME = 34.0
"""Pixels at the left that belong to the names of the curves."""
LEVELS = (0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)


@dataclass(frozen=True)
class Dot:
    """A judge: b, c, and their intervals (low, high)."""

    label: str
    b: float
    c: float
    b_ends: tuple[float | None, float | None] = (None, None)
    c_ends: tuple[float | None, float | None] = (None, None)


def _data(dots: Sequence[Dot], **_: object) -> Rows:
    return [
        {"judge": dot.label, "b": dot.b, "b low": dot.b_ends[0], "b high": dot.b_ends[1], "c": dot.c,
         "c low": dot.c_ends[0], "c high": dot.c_ends[1]}
        for dot in dots
    ]  # fmt: skip


@drawn(_data)
def bias_plot(dots: Sequence[Dot], *, width: int) -> Markup:
    """Position bias to the right, accuracy on order-consistent pairs upwards; names beside their dots, or, where not
    all have room there, at the right edge with a line to each.
    """
    x, y, top, bottom = _scales(dots, width - 12.0)
    frame = (x.start + CURVE_NAME, top, width - 2.0, bottom)
    names = names_beside([(x(dot.b), y(dot.c)) for dot in dots], [dot.label for dot in dots], frame)
    if None in names:
        room = min(max(text_width(dot.label) for dot in dots) + 26, width * (0.42 if width < COMPACT else 0.3))
        x, y, top, bottom = _scales(dots, width - room)
        levels = spread([y(dot.c) + 4 for dot in dots], LABEL_LINE, top + 6, bottom)
        names = [_led(dot, x, y, level, room) for dot, level in zip(dots, levels)]
    return canvas(
        width,
        bottom + 2 * LINE + 10,
        "Position bias and perception",
        "; ".join(f"{d.label}: b {numbers.fixed(d.b)}, c {numbers.fixed(d.c)}" for d in dots) + ".",
        text(0, 12, "c: accuracy where both orders agree", "axis-label", room=width),
        y_grid(y, x.start, x.stop),
        *(_curve(level, x, y) for level in LEVELS),
        *names,
        *(_dot(dot, x, y) for dot in dots),
        x_axis(x, bottom, width, label="b: follows the position"),
    )


def _scales(dots: Sequence[Dot], right: float) -> tuple[Scale, Scale, float, float]:
    """Across, up, and the top and bottom of the plot."""
    top, bottom = 24.0, max(HEIGHT, 40 + LABEL_LINE * len(dots)) - 2 * LINE - 10
    ends = [end for dot in dots for end in (dot.c, *dot.c_ends)]
    y = Scale(*domain(ends, include=[0.5], pad=0.08, within=(0.0, 1.0)), bottom, top)
    known = [end for dot in dots for end in (dot.b, *dot.b_ends)]
    x = Scale(0.0, domain(known, include=[0.2], pad=0.06, within=(0.0, 1.0))[1], y_ticks_width(y), right)
    return x, y, top, bottom


def _led(dot: Dot, x: Scale, y: Scale, level: float, room: float) -> Markup:
    """A name at the right edge, and a line that leads to it."""
    line_ = line(x(dot.b) + 6, y(dot.c), x.stop + 10, level - 4, "axis")
    return group(line_, text(x.stop + 14, level, dot.label, "label haloed", room=room - 16))


def _curve(accuracy: float, x: Scale, y: Scale) -> Markup | None:
    """Where (1 - b) c + b/2 is `accuracy`, inside the plot; named at its left end."""
    b = np.linspace(x.low, x.high, 60)
    c = (accuracy - b / 2) / np.maximum(1 - b, 1e-9)
    inside = (c >= y.low) & (c <= y.high)
    if inside.sum() < 2:
        return None
    points = [f"{x(u):.2f} {y(v):.2f}" for u, v in zip(b[inside], c[inside])]
    path = element("path", d="M" + "L".join(points), class_="null-line" + ("" if accuracy == 0.5 else " dashed"))
    at = y(float(c[inside][0])) - 4
    name = text(x(float(b[inside][0])) + 4, at, numbers.fixed(accuracy, 2), "tick")
    return group(path, name if at > y.stop + 8 else None)


def _dot(dot: Dot, x: Scale, y: Scale) -> Markup:
    whiskers = []
    if None not in dot.b_ends:
        ends = [end for end in dot.b_ends if end is not None]
        whiskers += [line(x(end), y(dot.c), x(dot.b), y(dot.c), "cohort-1 marker", **marks(end)) for end in ends]
    if None not in dot.c_ends:
        ends = [end for end in dot.c_ends if end is not None]
        whiskers += [line(x(dot.b), y(end), x(dot.b), y(dot.c), "cohort-1 marker", **marks(end)) for end in ends]
    tip = f"{dot.label}: b {numbers.fixed(dot.b)}, c {numbers.fixed(dot.c)}"
    center = element("circle", cx=x(dot.b), cy=y(dot.c), r=5, class_="cohort-1 dot", **marks(dot.c))
    return group(*whiskers, center, tip=tip, class_="mark")
