"""A radar: several quantities of each contestant around one center."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin

from markupsafe import Markup

from salon.errors import BadValue
from salon.report import numbers
from salon.report.frame import Key, legend
from salon.report.located import marks
from salon.report.svg import Rows, canvas, drawn, element, group, line, text, text_width

RINGS = (0.25, 0.5, 0.75, 1.0)
MOST = 6
"""Contestants in one drawing; more cannot be told apart."""


@dataclass(frozen=True)
class Spokes:
    """One contestant: a value of 0 to 1 for each axis, or None; what lies below 0 is drawn at the center."""

    label: str
    values: Sequence[float | None]


def _data(axes: Sequence[str], contestants: Sequence[Spokes], **_: object) -> Rows:
    return [
        {"contestant": contestant.label, "axis": axis, "value": value}
        for contestant in contestants
        for axis, value in zip(axes, contestant.values)
    ]


@drawn(_data)
def radar(axes: Sequence[str], contestants: Sequence[Spokes], *, title: str = "Radar", width: int) -> Markup:
    """Axes from the center (0) to the outer ring (1); colors and dashes both tell contestants apart.

    A contestant without a value on an axis has a gap there, not a zero.
    """
    _check(axes, contestants)
    keys = [Key(f"series-{at + 1}", one.label, "line") for at, one in enumerate(contestants)]
    head, used = legend(keys, 0, 0, width)
    radius = max(60.0, min(*(_room(axis, at, len(axes), width) for at, axis in enumerate(axes)), 170.0))
    x, y = width / 2, used + 44 + radius
    return canvas(
        width,
        max(_point(at, len(axes), x, y, radius)[1] for at in range(len(axes))) + 34,
        title,
        _words(axes, contestants),
        head,
        *(_ring(axes, x, y, radius * ring) for ring in RINGS),
        *(line(x, y, *_point(at, len(axes), x, y, radius), "grid") for at in range(len(axes))),
        *(text(x + 4, y - radius * ring - 3, numbers.fixed(ring, 2), "tick") for ring in RINGS),
        *(_name(axis, at, len(axes), x, y, radius, width) for at, axis in enumerate(axes)),
        *(_shape(one, at, axes, x, y, radius) for at, one in enumerate(contestants)),
    )


def _point(at: int, count: int, x: float, y: float, radius: float) -> tuple[float, float]:
    angle = 2 * pi * at / count - pi / 2
    return x + radius * cos(angle), y + radius * sin(angle)


def _room(axis: str, at: int, count: int, width: float) -> float:
    """The largest radius at which the name of an axis stays on the drawing."""
    across = abs(cos(2 * pi * at / count - pi / 2))
    return (width / 2 - text_width(axis) - 14) / across if across > 0.05 else width / 2


def _ring(axes: Sequence[str], x: float, y: float, radius: float) -> Markup:
    corners = (_point(at, len(axes), x, y, radius) for at in range(len(axes)))
    path = "M" + "L".join(f"{a:.2f} {b:.2f}" for a, b in corners) + "Z"
    return element("path", d=path, class_="grid", fill="none")


def _name(axis: str, at: int, count: int, x: float, y: float, radius: float, width: float) -> Markup:
    """The name of an axis at its end, cut where the drawing ends."""
    a, b = _point(at, count, x, y, radius + 12)
    if abs(a - x) < 2:  # above or below the center: clear of the ring's own label
        return text(a, b - 10 if b < y else b + 14, axis, "label", anchor="middle", room=width)
    side = "start" if a > x else "end"
    return text(a, b + 4, axis, "label", anchor=side, room=width - a if a > x else a)


def _shape(one: Spokes, index: int, axes: Sequence[str], x: float, y: float, radius: float) -> Markup:
    style = f"series-{index + 1}"
    placed = [
        None if value is None else (_point(at, len(axes), x, y, radius * min(max(value, 0.0), 1.0)), value)
        for at, value in enumerate(one.values)
    ]
    pieces = []
    for at in range(len(axes)):
        here, there = placed[at], placed[(at + 1) % len(axes)]
        if here is not None and there is not None:
            pieces.append(f"M{here[0][0]:.2f} {here[0][1]:.2f}L{there[0][0]:.2f} {there[0][1]:.2f}")
    dots = [
        element("circle", element("title", f"{one.label}, {axis}: {numbers.fixed(known[1], 3)}"), cx=known[0][0],
                cy=known[0][1], r=3, class_=f"{style} dot", **marks(known[1]))
        for axis, known in zip(axes, placed)
        if known is not None
    ]  # fmt: skip
    curve = element("path", d="".join(pieces), class_=f"{style} curve", fill="none") if pieces else None
    return group(curve, *dots)


def _check(axes: Sequence[str], contestants: Sequence[Spokes]) -> None:
    if len(axes) < 3:
        raise BadValue("at least three axes are needed", found=len(axes))
    if not 1 <= len(contestants) <= MOST:
        raise BadValue(f"one to {MOST} contestants are needed", found=len(contestants))
    for one in contestants:
        if len(one.values) != len(axes):
            raise BadValue("a value for each axis is needed", found=len(one.values), where=one.label)


def _words(axes: Sequence[str], contestants: Sequence[Spokes]) -> str:
    told = []
    for one in contestants:
        known = [f"{axis} {numbers.fixed(v, 3)}" for axis, v in zip(axes, one.values) if v is not None]
        told.append(f"{one.label}: {', '.join(known) or 'nothing'}")
    return "; ".join(told) + "."
