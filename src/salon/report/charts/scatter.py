"""Two estimates against each other: a dot for each thing, a cross for both its intervals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from salon.errors import BadValue
from salon.report import numbers
from salon.report.frame import LINE, x_axis, x_grid, y_grid, y_ticks_width
from salon.report.located import marks
from salon.report.scale import Scale, domain
from salon.report.svg import FONT, Rows, canvas, drawn, element, fit, group, line, text, text_width

RADIUS = 4.5
LONGEST_LABEL = 150
"""Pixels; a longer name is cut, and whole in its tooltip."""
TOLD = 30

Interval = tuple[float, float | None, float | None]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True)
class ScatterMark:
    """One dot: (value, low, high) across and up."""

    label: str
    x: Interval
    y: Interval
    note: str = ""
    """More for the tooltip."""


def _data(rows: Sequence[ScatterMark], *, x_label: str, y_label: str, **_: object) -> Rows:
    if x_label == y_label:
        x_label, y_label = f"{x_label} (x)", f"{y_label} (y)"
    return [
        {
            "label": row.label,
            **{f"{x_label}{part}": value for part, value in zip(("", ", low", ", high"), row.x)},
            **{f"{y_label}{part}": value for part, value in zip(("", ", low", ", high"), row.y)},
        }
        for row in rows
    ]


@drawn(_data)
def scatter(
    rows: Sequence[ScatterMark],
    *,
    title: str = "Two estimates against each other",
    x_label: str,
    y_label: str,
    x_line: tuple[str, float] | None = None,
    y_line: tuple[str, float] | None = None,
    decimals: int = 1,
    width: int,
) -> Markup:
    """Dots with crosses; axes run over the intervals, not from 0. Names are written, first rows first, where they fit.

    `x_line` and `y_line` (words, place) are drawn where they fall inside the axes. A name without room is only in its
    dot's tooltip: a legible few say more than fifty on top of each other.
    """
    if not rows:
        raise BadValue("at least one dot is needed to draw a scatter", found="none")
    height = min(0.62 * width, 560) if width > 520 else width * 1.05
    top, bottom = 26, height - 2 * LINE - 10
    y = Scale(*domain(v for row in rows for v in row.y), bottom, top)
    left = y_ticks_width(y)
    x = Scale(*domain(v for row in rows for v in row.x), left, width - 12)
    frame = (left, top, width - 2.0, bottom)
    return canvas(
        width,
        height,
        title,
        _words(rows, decimals),
        text(0, 12, y_label, "axis-label", room=width),
        x_grid(x, top, bottom),
        y_grid(y, left, width - 12),
        _upright(x_line, x, frame),
        _level(y_line, y, frame),
        *(_cross(row, x, y) for row in rows),
        *(_dot(row, x, y, decimals) for row in rows),
        *filter(None, names_beside([(x(row.x[0]), y(row.y[0])) for row in rows], [row.label for row in rows], frame)),
        x_axis(x, bottom, width, label=x_label),
    )


def _cross(row: ScatterMark, x: Scale, y: Scale) -> Markup:
    at_x, at_y = x(row.x[0]), y(row.y[0])
    bars = []
    if row.x[1] is not None and row.x[2] is not None:
        bars.append(line(x(row.x[1]), at_y, x(row.x[2]), at_y, "cohort-1 cross"))
    if row.y[1] is not None and row.y[2] is not None:
        bars.append(line(at_x, y(row.y[1]), at_x, y(row.y[2]), "cohort-1 cross"))
    return group(*bars)


def _dot(row: ScatterMark, x: Scale, y: Scale, decimals: int) -> Markup:
    tip = f"{row.label}: {numbers.estimate(*row.x, decimals)} across, {numbers.estimate(*row.y, decimals)} up"
    dot = element("circle", cx=x(row.x[0]), cy=y(row.y[0]), r=RADIUS, class_="cohort-1 dot", **marks(row.y[0]))
    return group(dot, tip=tip + (f"; {row.note}" if row.note else ""), class_="mark")


def names_beside(dots: Sequence[tuple[float, float]], names: Sequence[str], frame: Box) -> list[Markup | None]:
    """Names right, left, above or below their dots, where they touch no dot and no earlier name; None without room."""
    taken = [_around(*dot) for dot in dots]
    written: list[Markup | None] = []
    for name, (at_x, at_y) in zip(names, dots):
        words = fit(name, LONGEST_LABEL)
        boxes = [
            (left, base - FONT + 2, left + text_width(words), base + 3)
            for left, base in _choices(at_x, at_y, text_width(words))
        ]
        free = [box for box in boxes if _inside(box, frame) and not any(_touch(box, other) for other in taken)]
        taken += free[:1]
        written.append(text(free[0][0], free[0][3] - 3, words, "label haloed small-halo") if free else None)
    return written


def _choices(x: float, y: float, wide: float) -> Iterable[tuple[float, float]]:
    """Left end and base line of a name around a dot, best first."""
    yield x + RADIUS + 5, y + 4
    yield x - RADIUS - 5 - wide, y + 4
    yield x - wide / 2, y - RADIUS - 5
    yield x - wide / 2, y + RADIUS + FONT + 2


def _around(x: float, y: float) -> Box:
    return x - RADIUS, y - RADIUS, x + RADIUS, y + RADIUS


def _inside(box: Box, frame: Box) -> bool:
    return box[0] >= frame[0] and box[1] >= frame[1] and box[2] <= frame[2] and box[3] <= frame[3]


def _touch(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _upright(mark: tuple[str, float] | None, x: Scale, frame: Box) -> Markup | None:
    if mark is None or not x.low <= mark[1] <= x.high:
        return None
    at = x(mark[1])
    return group(line(at, frame[1], at, frame[3], "null-line dashed"), tip=mark[0])


def _level(mark: tuple[str, float] | None, y: Scale, frame: Box) -> Markup | None:
    if mark is None or not y.low <= mark[1] <= y.high:
        return None
    at = y(mark[1])
    return group(line(frame[0], at, frame[2] - 10, at, "null-line dashed"), tip=mark[0])


def _words(rows: Sequence[ScatterMark], decimals: int) -> str:
    told = [
        f"{row.label}: {numbers.estimate(*row.x, decimals)} across, {numbers.estimate(*row.y, decimals)} up"
        for row in rows[:TOLD]
    ]
    rest = [f"and {len(rows) - TOLD} more"] if len(rows) > TOLD else []
    return "; ".join([*told, *rest]) + "."
