"""Curves of a quantity over another, with bands: power over the number of prompts."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from salon.errors import BadValue
from salon.report import numbers
from salon.report.frame import LINE, Key, legend, x_axis, y_grid, y_ticks_width
from salon.report.located import marks
from salon.report.scale import Scale, domain, spread
from salon.report.svg import Rows, canvas, drawn, element, group, line, text, text_width

ROOM = 70
"""Pixels for each tick of the x axis."""
LOW = 220
"""Pixels: in lower drawings the ticks of the y axis stand closer."""


@dataclass(frozen=True)
class Curve:
    """One series; `low` and `high` draw its band, as far as its points have both."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float | None] | None = None
    high: Sequence[float | None] | None = None


def _data(curves: Sequence[Curve], *, reference_lines: Sequence[tuple[str, float]] = (), **_: object) -> Rows:
    nothing = itertools.repeat(None)
    return [
        *(
            {"mark": "point", "label": curve.label, "x": x, "y": y, "low": low, "high": high}
            for curve in curves
            for x, y, low, high in zip(curve.x, curve.y, curve.low or nothing, curve.high or nothing)
        ),
        *({"mark": "line", "label": label, "y": at} for label, at in reference_lines),
    ]


@drawn(_data)
def line_curves(
    curves: Sequence[Curve],
    *,
    title: str = "Curves",
    x_label: str = "",
    y_label: str = "",
    y_domain: tuple[float, float] | None = None,
    reference_lines: Sequence[tuple[str, float]] = (),
    percent: bool = False,
    height: float = 320,
    width: int,
) -> Markup:
    """Each curve with its name at its right end, or in a legend where the names are too long for that.

    Colours and dashes both tell the curves apart.
    """
    _check(curves)
    names = max(text_width(c.label) for c in curves) + 16
    direct = names <= width * 0.3
    keys = [] if direct else [Key(_style(i), c.label, "line") for i, c in enumerate(curves)]
    top_block, used = legend(keys, 0, 0, width)
    height += used
    right = width - (names if direct else 12)
    top, bottom = used + (26 if y_label else 10), height - (2 * LINE + 10 if x_label else LINE + 8)
    ys = [v for c in curves for part in (c.y, c.low or (), c.high or ()) for v in part if v is not None]
    y = Scale(*(y_domain or domain(ys, include=[at for _, at in reference_lines])), bottom, top)
    room = 42 if height > LOW else 26
    left = y_ticks_width(y, room=room, percent=percent)
    x = Scale(*domain((v for c in curves for v in c.x), pad=0), left, right)
    levels = spread([y(c.y[-1]) + 4 for c in curves], 15, top + 4, bottom)
    return canvas(
        width,
        height,
        title,
        _words(curves, percent),
        top_block,
        text(0, used + 12, y_label, "axis-label", room=width) if y_label else None,
        y_grid(y, left, right, room=room, percent=percent),
        *(line(left, y(at), right, y(at), "reference dashed") for _, at in reference_lines),
        *(_band(c, x, y, i) for i, c in enumerate(curves)),
        *(_curve(c, x, y, i, percent) for i, c in enumerate(curves)),
        *(_reference_label(name, y(at), left, right) for name, at in reference_lines),
        *(_end_label(c, x, levels[i], i) for i, c in enumerate(curves) if direct),
        x_axis(x, bottom, width, room=_room(curves, x), label=x_label),
    )


def _room(curves: Sequence[Curve], x: Scale) -> float:
    """Pixels for each tick: a whole step at least where all x are whole, for there is no round 1.25."""
    whole = all(float(at).is_integer() for curve in curves for at in curve.x)
    return max(ROOM, (x(1) - x(0)) * 0.999) if whole else ROOM


def _style(index: int) -> str:
    return f"series-{index % 6 + 1}"


def _end_label(curve: Curve, x: Scale, level: float, index: int) -> Markup:
    return text(x.stop + 10, level, curve.label, f"{_style(index)}-label")


def _curve(curve: Curve, x: Scale, y: Scale, index: int, percent: bool) -> Markup:
    style = _style(index)
    path = "M" + "L".join(f"{x(a):.2f} {y(b):.2f}" for a, b in zip(curve.x, curve.y))
    dots = []
    for a, b in zip(curve.x, curve.y):
        shown = numbers.percent(b, 1) if percent else numbers.significant(b)
        tip = f"{_lead(curve)}{shown} at {_at(a)}"
        dot = element("circle", element("title", tip), cx=x(a), cy=y(b), r=3, class_=f"{style} dot", **marks(b))
        dots.append(dot)
    return group(element("path", d=path, class_=f"{style} curve"), *dots)


def _band(curve: Curve, x: Scale, y: Scale, index: int) -> Markup:
    """From each point with an interval to the next; a whisker where neither neighbour has one."""
    ends = zip(curve.x, curve.low or (), curve.high or ())
    known = [None if low is None or high is None else (x(at), y(low), y(high)) for at, low, high in ends]
    parts = []
    for apart, run in groupby(known, lambda end: end is None):
        part = [] if apart else [end for end in run if end is not None]
        if len(part) == 1:
            at, low, high = part[0]
            parts.append(line(at, low, at, high, f"{_style(index)} whisker"))
        elif part:
            there = [f"{at:.2f} {high:.2f}" for at, _, high in part]
            back = [f"{at:.2f} {low:.2f}" for at, low, _ in reversed(part)]
            parts.append(element("path", d="M" + "L".join(there + back) + "Z", class_=f"{_style(index)} band"))
    return group(*parts)


def _lead(curve: Curve) -> str:
    """A curve alone may go without a name."""
    return f"{curve.label}: " if curve.label else ""


def _at(x: float) -> str:
    """Round 2, not round 2.00."""
    return numbers.fixed(x, 0) if float(x).is_integer() else numbers.significant(x)


def _reference_label(name: str, level: float, left: float, right: float) -> Markup:
    """Over the curves, for they may run through it."""
    return text(left + 5, level - 5, name, "reference-label haloed", room=right - left - 10)


def _check(curves: Sequence[Curve]) -> None:
    if not curves:
        raise BadValue("at least one curve is needed", found="none")
    for curve in curves:
        parts = [p for p in (curve.x, curve.y, curve.low, curve.high) if p is not None]
        lengths = {len(p) for p in parts}
        if len(lengths) != 1 or 0 in lengths:
            raise BadValue("as many y (and low, high) as x, at least one", found=lengths, where=curve.label)


def _words(curves: Sequence[Curve], percent: bool) -> str:
    told = []
    for c in curves:
        ends = [numbers.percent(v) if percent else numbers.significant(v) for v in (c.y[0], c.y[-1])]
        span = [_at(v) for v in (c.x[0], c.x[-1])]
        told.append(f"{_lead(c)}{ends[0]} at {span[0]}, {ends[1]} at {span[1]}")
    return "; ".join(told) + "."
