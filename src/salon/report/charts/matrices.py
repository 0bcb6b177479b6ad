"""Heat maps of a matrix, and radars of several quantities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin

from markupsafe import Markup

from salon.errors import BadValue
from salon.report import numbers
from salon.report.svg import LegendKey, Rows, canvas, element, group, legend, line, rect, redrawable, text, text_width
from salon.report.values import number_marks

LARGEST_CELL = 66.0
LEAST_FOR_TEXT = 34.0
KEY_HEIGHT = 40
LONGEST_TURNED = 190.0
"""Pixels of a turned label: "Typography (descriptions)" has to fit, also on a phone."""


@dataclass(frozen=True)
class HeatGrid:
    """Sizes in pixels: one cell, and the room for row and column labels."""

    cell: float
    tall: float
    left: float
    top: float
    turned: bool

    def box(self, i: int, j: int) -> tuple[float, float, float, float]:
        """Left, top, width and height of a cell."""
        gap = 1.5 if self.cell > 12 else 0
        return self.left + self.cell * j, self.top + self.tall * i, self.cell - gap, self.tall - gap


HeatMatrix = Sequence[Sequence[float | None]]


def _heat_data(
    matrix: HeatMatrix,
    row_labels: Sequence[str],
    col_labels: Sequence[str],
    *,
    n: Sequence[Sequence[int]] | None = None,
    error: HeatMatrix | None = None,
    value_name: str = "value",
    **_: object,
) -> Rows:
    return [
        {
            "row": row_labels[i], "column": col_labels[j], value_name: value,
            **({} if n is None else {"n": n[i][j]}), **({} if error is None else {"error": error[i][j]}),
        }
        for i, row in enumerate(matrix)
        for j, value in enumerate(row)
    ]  # fmt: skip


@redrawable(_heat_data)
def heat_map(
    matrix: HeatMatrix,
    row_labels: Sequence[str],
    col_labels: Sequence[str],
    *,
    n: Sequence[Sequence[int]] | None = None,
    error: HeatMatrix | None = None,
    notes: Sequence[Sequence[str]] | None = None,
    title: str = "Heat map",
    center: float = 0.0,
    limit: float | None = None,
    decimals: int = 2,
    value_name: str = "value",
    key: bool = True,
    width: int,
) -> Markup:
    """Cells coloured by their distance from `center`, full colour at `limit` (default: the largest distance).

    None is a blank cell (the diagonal of rater by rater). The number and its `n` are printed where they fit
    and are always in the tooltip, with the standard `error` and what `notes` adds.
    """
    shape = len(matrix), {len(row) for row in matrix}
    if not row_labels or not col_labels or shape != (len(row_labels), {len(col_labels)}):
        raise BadValue(
            f"a matrix of {len(row_labels)} by {len(col_labels)} values is needed", found=f"{shape[0]} by {shape[1]}"
        )
    numbers_given = [float(v) for row in matrix for v in row if v is not None]
    if any(not math.isfinite(v) for v in numbers_given):
        raise BadValue("finite values are needed in a heat map", remedy="pass None for an empty cell")
    reach = limit or max((abs(v - center) for v in numbers_given), default=0.0) or 1.0
    left = min(max(map(text_width, row_labels)) + 12, width * 0.3)
    cell = min(LARGEST_CELL, (width - left - 2) / len(col_labels))
    widest = max(map(text_width, col_labels))
    turned = widest > cell - 6
    top = min(widest, max(LONGEST_TURNED, 0.25 * width)) + 12 if turned else 22
    tall = max(min(cell, 46.0), 14.0) if len(row_labels) <= 40 else max(cell, 4.0)
    grid = HeatGrid(cell, tall, left, top, turned)
    boxes = [grid.box(i, j) for i, row in enumerate(matrix) for j, value in enumerate(row) if value is not None]
    outline = "".join(f"M{x:.2f} {y:.2f}h{wide:.2f}v{tall:.2f}h{-wide:.2f}z" for x, y, wide, tall in boxes)
    cells = [element("path", d=outline, class_="cell")]  # one outline under all colours: a page may have thousands
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            count = None if n is None else n[i][j]
            spread = None if error is None else error[i][j]
            tip = _heat_tip(row_labels[i], col_labels[j], value, spread, count, decimals, value_name)
            tip += f"; {notes[i][j]}" if notes and notes[i][j] else ""
            cells.append(_cell(grid, i, j, value, count, (center, reach), decimals, tip))
    bottom = grid.top + grid.tall * len(row_labels)
    return canvas(
        width,
        bottom + (KEY_HEIGHT if key else 2),
        title,
        _heat_words(matrix, row_labels, col_labels, decimals, value_name),
        *_labels(grid, row_labels, col_labels),
        *cells,
        _heat_key(grid, bottom + 12, center, reach, decimals, width) if key else None,
    )


def _cell(
    grid: HeatGrid,
    i: int,
    j: int,
    value: float | None,
    n: int | None,
    colour: tuple[float, float],
    decimals: int,
    tip: str,
) -> Markup:
    box = grid.box(i, j)
    x, y = box[:2]
    if value is None:
        return group(rect(*box, "cell-blank"), tip=tip)
    distance = (float(value) - colour[0]) / colour[1]
    hue = "heat-above" if distance >= 0 else "heat-below"
    size = f"n {n}"
    both = n is not None and text_width(size) <= grid.cell - 4 and grid.tall >= 36
    words = None
    if grid.cell >= LEAST_FOR_TEXT:
        at = y + grid.tall / 2 + (-2 if both else 4)
        words = text(x + grid.cell / 2, at, numbers.fixed(value, decimals), "on-heat", anchor="middle")
    under = text(x + grid.cell / 2, y + grid.tall / 2 + 13, size, "on-heat", anchor="middle") if both else None
    opacity = f"{min(1.0, abs(distance)):.3f}"
    paint = rect(*box, hue, fill_opacity=opacity)
    return group(paint, words, under, tip=tip, class_="mark", **number_marks(value))


def _labels(grid: HeatGrid, rows: Sequence[str], columns: Sequence[str]) -> list[Markup]:
    """Row and column names; where cells are thinner than a line of text only every k-th is written."""
    parts = []
    every = max(1, math.ceil(13 / grid.tall))
    for i in range(0, len(rows), every):
        y = grid.top + grid.tall * (i + 0.5) + 4
        parts.append(text(grid.left - 8, y, rows[i], "label", anchor="end", room=grid.left - 10))
    every = max(1, math.ceil(15 / grid.cell)) if grid.turned else 1
    for j in range(0, len(columns), every):
        x = grid.left + grid.cell * (j + 0.5)
        if grid.turned:
            at = f"rotate(-90 {x + 4:.1f} {grid.top - 8:.1f})"
            parts.append(text(x + 4, grid.top - 8, columns[j], "label", room=grid.top - 10, transform=at))
        else:
            parts.append(text(x, grid.top - 8, columns[j], "label", anchor="middle", room=grid.cell - 4))
    return parts


def _heat_key(grid: HeatGrid, y: float, center: float, reach: float, decimals: int, width: float) -> Markup:
    """A small bar from lowest to highest colour with its three numbers."""
    steps, size = 11, 14.0
    boxes = []
    left = min(grid.left, width - steps * size - 80)
    lead = text_width(numbers.fixed(center - reach, decimals)) + 8
    for k in range(steps):
        share = (k - steps // 2) / (steps // 2)
        hue = "heat-above" if share >= 0 else "heat-below"
        boxes.append(rect(left + lead + size * k, y, size, 10, hue, fill_opacity=f"{abs(share):.2f}"))
    return group(
        text(left + lead - 7, y + 9, numbers.fixed(center - reach, decimals), "tick", anchor="end"),
        *boxes,
        text(left + lead + size * steps / 2, y + 24, numbers.fixed(center, decimals), "tick", anchor="middle"),
        text(left + lead + size * steps + 7, y + 9, numbers.fixed(center + reach, decimals), "tick"),
        element("rect", x=left + lead, y=y, width=size * steps, height=10, class_="frame"),
    )


def _heat_tip(
    row: str, column: str, value: float | None, error: float | None, n: int | None, decimals: int, name: str
) -> str:
    if value is None:
        return f"{row} · {column}: no {name}"
    spread = "" if error is None else f" ± {numbers.fixed(error, decimals)}"
    return f"{row} · {column}: {name} {numbers.fixed(value, decimals)}{spread}" + ("" if n is None else f", n {n}")


def _heat_words(matrix: HeatMatrix, rows: Sequence[str], columns: Sequence[str], decimals: int, name: str) -> str:
    """The extremes, not every cell: a matrix read aloud helps nobody."""
    cells = [(float(v), rows[i], columns[j]) for i, r in enumerate(matrix) for j, v in enumerate(r) if v is not None]
    if not cells:
        return f"{len(rows)} by {len(columns)} cells, all empty."
    extremes = [f"{word} {numbers.fixed(v, decimals)} ({r}, {c})" for word, (v, r, c) in
            (("lowest", min(cells)), ("highest", max(cells)))]  # fmt: skip
    return f"{len(rows)} by {len(columns)} cells of {name}; {extremes[0]}, {extremes[1]}."


# -- radars ---------------------------------------------------------------------------------------------------------

RINGS = (0.25, 0.5, 0.75, 1.0)
MOST_CONTESTANTS = 6
"""Contestants in one drawing; more cannot be told apart."""


@dataclass(frozen=True)
class Spokes:
    """One contestant: a value of 0 to 1 for each axis, or None; what lies below 0 is drawn at the center."""

    label: str
    values: Sequence[float | None]


def _radar_data(axes: Sequence[str], contestants: Sequence[Spokes], **_: object) -> Rows:
    return [
        {"contestant": contestant.label, "axis": axis, "value": value}
        for contestant in contestants
        for axis, value in zip(axes, contestant.values)
    ]


@redrawable(_radar_data)
def radar(axes: Sequence[str], contestants: Sequence[Spokes], *, title: str = "Radar", width: int) -> Markup:
    """Axes from the center (0) to the outer ring (1); colors and dashes both tell contestants apart.

    A contestant without a value on an axis has a gap there, not a zero.
    """
    if len(axes) < 3:
        raise BadValue("at least three axes are needed", found=len(axes))
    if not 1 <= len(contestants) <= MOST_CONTESTANTS:
        raise BadValue(f"one to {MOST_CONTESTANTS} contestants are needed", found=len(contestants))
    for contestant in contestants:
        if len(contestant.values) != len(axes):
            raise BadValue("a value for each axis is needed", found=len(contestant.values), where=contestant.label)
    keys = [LegendKey(f"series-{at + 1}", contestant.label, "line") for at, contestant in enumerate(contestants)]
    head, used = legend(keys, 0, 0, width)
    radius = max(60.0, min(*(_room(axis, at, len(axes), width) for at, axis in enumerate(axes)), 170.0))
    x, y = width / 2, used + 44 + radius
    lines = []
    for contestant in contestants:
        parts = [f"{axis} {numbers.fixed(v, 3)}" for axis, v in zip(axes, contestant.values) if v is not None]
        lines.append(f"{contestant.label}: {', '.join(parts) or 'nothing'}")
    return canvas(
        width,
        max(_point(at, len(axes), x, y, radius)[1] for at in range(len(axes))) + 34,
        title,
        ("; ".join(lines) + "."),
        head,
        *(_ring(axes, x, y, radius * ring) for ring in RINGS),
        *(line(x, y, *_point(at, len(axes), x, y, radius), "grid") for at in range(len(axes))),
        *(text(x + 4, y - radius * ring - 3, numbers.fixed(ring, 2), "tick") for ring in RINGS),
        *(_name(axis, at, len(axes), x, y, radius, width) for at, axis in enumerate(axes)),
        *(_contestant_shape(contestant, at, axes, x, y, radius) for at, contestant in enumerate(contestants)),
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


def _contestant_shape(contestant: Spokes, index: int, axes: Sequence[str], x: float, y: float, radius: float) -> Markup:
    style = f"series-{index + 1}"
    placed = [
        None if value is None else (_point(at, len(axes), x, y, radius * min(max(value, 0.0), 1.0)), value)
        for at, value in enumerate(contestant.values)
    ]
    pieces = []
    for at in range(len(axes)):
        here, there = placed[at], placed[(at + 1) % len(axes)]
        if here is not None and there is not None:
            pieces.append(f"M{here[0][0]:.2f} {here[0][1]:.2f}L{there[0][0]:.2f} {there[0][1]:.2f}")
    dots = [
        element("circle", element("title", f"{contestant.label}, {axis}: {numbers.fixed(point[1], 3)}"), cx=point[0][0],
                cy=point[0][1], r=3, class_=f"{style} dot", **number_marks(point[1]))
        for axis, point in zip(axes, placed)
        if point is not None
    ]  # fmt: skip
    curve = element("path", d="".join(pieces), class_=f"{style} curve", fill="none") if pieces else None
    return group(curve, *dots)
