"""Two drawings of an evaluation: bias against perception, and the reliability diagram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from salon.report import (
    LINE,
    LinearScale,
    Rows,
    canvas,
    domain,
    dot_with_reach,
    element,
    group,
    line,
    names_beside,
    number_marks,
    numbers,
    redrawable,
    spread,
    text,
    text_width,
    x_axis,
    y_grid,
    y_ticks_width,
)
from salon.stats import CalibrationBin

# -- bias against perception -------------------------------------------------------------------------------------------

COMPACT = 520
LABEL_LINE = 15.0
HEIGHT = 360
CURVE_NAME = 34.0
"""Pixels at the left that belong to the names of the curves."""
LEVELS = (0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)


@dataclass(frozen=True)
class BiasDot:
    """A judge: b, c, and their intervals (low, high)."""

    label: str
    b: float
    c: float
    b_ends: tuple[float | None, float | None] = (None, None)
    c_ends: tuple[float | None, float | None] = (None, None)


def _bias_data(dots: Sequence[BiasDot], **_: object) -> Rows:
    return [
        {"judge": dot.label, "b": dot.b, "b low": dot.b_ends[0], "b high": dot.b_ends[1], "c": dot.c,
         "c low": dot.c_ends[0], "c high": dot.c_ends[1]}
        for dot in dots
    ]  # fmt: skip


@redrawable(_bias_data)
def bias_plot(dots: Sequence[BiasDot], *, width: int) -> Markup:
    """Position bias to the right, accuracy on order-consistent pairs upwards; names beside their dots, or, where not
    all have room there, at the right edge with a line to each.
    """
    x, y, top, bottom = _scales(dots, width - 12.0)
    frame = (x.start + CURVE_NAME, top, width - 2.0, bottom)
    names = names_beside(
        [dot_with_reach(((dot.b, *dot.b_ends), (dot.c, *dot.c_ends)), x, y) for dot in dots],
        [dot.label for dot in dots],
        frame,
    )
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
        *(_bias_dot(dot, x, y) for dot in dots),
        x_axis(x, bottom, width, label="b: follows the position"),
    )


def _scales(dots: Sequence[BiasDot], right: float) -> tuple[LinearScale, LinearScale, float, float]:
    """Across, up, and the top and bottom of the plot."""
    top, bottom = 24.0, max(HEIGHT, 40 + LABEL_LINE * len(dots)) - 2 * LINE - 10
    ends = [end for dot in dots for end in (dot.c, *dot.c_ends)]
    y = LinearScale(*domain(ends, include=[0.5], pad=0.08, within=(0.0, 1.0)), bottom, top)
    ends_b = [end for dot in dots for end in (dot.b, *dot.b_ends)]
    x = LinearScale(0.0, domain(ends_b, include=[0.2], pad=0.06, within=(0.0, 1.0))[1], y_ticks_width(y), right)
    return x, y, top, bottom


def _led(dot: BiasDot, x: LinearScale, y: LinearScale, level: float, room: float) -> Markup:
    """A name at the right edge, and a line that leads to it."""
    line_ = line(x(dot.b) + 6, y(dot.c), x.stop + 10, level - 4, "axis")
    return group(line_, text(x.stop + 14, level, dot.label, "label haloed", room=room - 16))


def _curve(accuracy: float, x: LinearScale, y: LinearScale) -> Markup | None:
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


def _bias_dot(dot: BiasDot, x: LinearScale, y: LinearScale) -> Markup:
    whiskers = []
    if None not in dot.b_ends:
        ends = [end for end in dot.b_ends if end is not None]
        whiskers += [line(x(end), y(dot.c), x(dot.b), y(dot.c), "cohort-1 marker", **number_marks(end)) for end in ends]
    if None not in dot.c_ends:
        ends = [end for end in dot.c_ends if end is not None]
        whiskers += [line(x(dot.b), y(end), x(dot.b), y(dot.c), "cohort-1 marker", **number_marks(end)) for end in ends]
    tip = f"{dot.label}: b {numbers.fixed(dot.b)}, c {numbers.fixed(dot.c)}"
    center = element("circle", cx=x(dot.b), cy=y(dot.c), r=5, class_="cohort-1 dot", **number_marks(dot.c))
    return group(*whiskers, center, tip=tip, class_="mark")


# -- chances -----------------------------------------------------------------------------------------------------------

_ROOM = 34
"""Pixels between two ticks of a small diagram."""
_HEIGHT = 250


def _reliability_data(bins: Sequence[CalibrationBin], **_: object) -> Rows:
    return [
        {"chance given": bin.predicted, "share of votes": bin.observed.value, "low": bin.observed.low,
         "high": bin.observed.high, "pairs": bin.pairs}
        for bin in bins
    ]  # fmt: skip


@redrawable(_reliability_data)
def reliability_plot(bins: Sequence[CalibrationBin], *, title: str, width: int) -> Markup:
    """A dot for each bin, its interval upwards and downwards; on the line chances are honest, below it too sure."""
    top, bottom = 26.0, _HEIGHT - 2 * LINE - 10
    ends = [end for bin in bins for end in (bin.observed.value, bin.observed.low, bin.observed.high)]
    low, high = domain([*ends, *(bin.predicted for bin in bins)], include=[0.5], pad=0.04)
    y = LinearScale(max(0.0, low), min(1.0, high), bottom, top)
    left = y_ticks_width(y, room=_ROOM)
    x = LinearScale(*domain([bin.predicted for bin in bins], include=[0.5, 0.55], pad=0.05), left, width - 10)
    # the part of the diagonal that lies in the plot
    low, high = max(x.low, y.low), min(x.high, y.high)
    return canvas(
        width,
        _HEIGHT,
        title,
        "; ".join(f"said {numbers.fixed(b.predicted)}, got {numbers.fixed(b.observed.value)}" for b in bins) + ".",
        text(0, 12, "share of votes", "axis-label", room=width),
        y_grid(y, left, width - 10, room=_ROOM),
        line(x(low), y(low), x(high), y(high), "null-line"),
        *(_reliability_dot(bin, x, y) for bin in bins),
        x_axis(x, bottom, width, label="chance given", room=46),
    )


def _reliability_dot(bin: CalibrationBin, x: LinearScale, y: LinearScale) -> Markup:
    at, observed = x(bin.predicted), bin.observed
    ends = [
        line(at, y(end), at, y(observed.value), "cohort-1 whisker", **number_marks(end))
        for end in (observed.low, observed.high)
        if end
    ]
    tip = f"chance {numbers.fixed(bin.predicted)}, share of votes {numbers.fixed(observed.value)}, {bin.pairs:,} pairs"
    dot = element("circle", cx=at, cy=y(observed.value), r=4.5, class_="cohort-1 dot", **number_marks(observed.value))
    return group(*ends, dot, tip=tip, class_="mark")
