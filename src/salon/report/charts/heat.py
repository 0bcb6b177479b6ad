"""A matrix as coloured cells: agreement of raters with raters, or any table with a centre."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from salon.errors import BadValue
from salon.report import numbers
from salon.report.located import marks
from salon.report.svg import Rows, canvas, drawn, element, group, rect, text, text_width

LARGEST_CELL = 66.0
LEAST_FOR_TEXT = 34.0
KEY_HEIGHT = 40


@dataclass(frozen=True)
class Grid:
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


Matrix = Sequence[Sequence[float | None]]


def _data(
    matrix: Matrix,
    row_labels: Sequence[str],
    col_labels: Sequence[str],
    *,
    n: Sequence[Sequence[int]] | None = None,
    error: Matrix | None = None,
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


@drawn(_data)
def heat_map(
    matrix: Matrix,
    row_labels: Sequence[str],
    col_labels: Sequence[str],
    *,
    n: Sequence[Sequence[int]] | None = None,
    error: Matrix | None = None,
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
    _check_shape(matrix, row_labels, col_labels)
    known = [float(v) for row in matrix for v in row if v is not None]
    if any(not math.isfinite(v) for v in known):
        raise BadValue("finite values are needed in a heat map", remedy="pass None for an empty cell")
    reach = limit or max((abs(v - center) for v in known), default=0.0) or 1.0
    grid = _grid(row_labels, col_labels, width)
    cells = [_ground(grid, matrix)]
    for i, row in enumerate(matrix):
        for j, value in enumerate(row):
            count = None if n is None else n[i][j]
            spread = None if error is None else error[i][j]
            tip = _tip(row_labels[i], col_labels[j], value, spread, count, decimals, value_name)
            tip += f"; {notes[i][j]}" if notes and notes[i][j] else ""
            cells.append(_cell(grid, i, j, value, count, (center, reach), decimals, tip))
    bottom = grid.top + grid.tall * len(row_labels)
    return canvas(
        width,
        bottom + (KEY_HEIGHT if key else 2),
        title,
        _words(matrix, row_labels, col_labels, decimals, value_name),
        *_labels(grid, row_labels, col_labels),
        *cells,
        _key(grid, bottom + 12, center, reach, decimals, width) if key else None,
    )


def _grid(rows: Sequence[str], columns: Sequence[str], width: float) -> Grid:
    left = min(max(map(text_width, rows)) + 12, width * 0.3)
    cell = min(LARGEST_CELL, (width - left - 2) / len(columns))
    widest = max(map(text_width, columns))
    turned = widest > cell - 6
    top = min(widest, max(110, 0.25 * width)) + 12 if turned else 22
    tall = max(min(cell, 46.0), 14.0) if len(rows) <= 40 else max(cell, 4.0)
    return Grid(cell, tall, left, top, turned)


def _ground(grid: Grid, matrix: Matrix) -> Markup:
    """What lies under the colours of all cells: one outline, because a page may have thousands."""
    boxes = [grid.box(i, j) for i, row in enumerate(matrix) for j, value in enumerate(row) if value is not None]
    outline = "".join(f"M{x:.2f} {y:.2f}h{wide:.2f}v{tall:.2f}h{-wide:.2f}z" for x, y, wide, tall in boxes)
    return element("path", d=outline, class_="cell")


def _cell(
    grid: Grid, i: int, j: int, value: float | None, n: int | None, colour: tuple[float, float], decimals: int, tip: str
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
    return group(paint, words, under, tip=tip, class_="mark", **marks(value))


def _labels(grid: Grid, rows: Sequence[str], columns: Sequence[str]) -> list[Markup]:
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


def _key(grid: Grid, y: float, center: float, reach: float, decimals: int, width: float) -> Markup:
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


def _tip(
    row: str, column: str, value: float | None, error: float | None, n: int | None, decimals: int, name: str
) -> str:
    if value is None:
        return f"{row} · {column}: no {name}"
    spread = "" if error is None else f" ± {numbers.fixed(error, decimals)}"
    return f"{row} · {column}: {name} {numbers.fixed(value, decimals)}{spread}" + ("" if n is None else f", n {n}")


def _words(matrix: Matrix, rows: Sequence[str], columns: Sequence[str], decimals: int, name: str) -> str:
    """The extremes, not every cell: a matrix read aloud helps nobody."""
    cells = [(float(v), rows[i], columns[j]) for i, r in enumerate(matrix) for j, v in enumerate(r) if v is not None]
    if not cells:
        return f"{len(rows)} by {len(columns)} cells, all empty."
    told = [f"{word} {numbers.fixed(v, decimals)} ({r}, {c})" for word, (v, r, c) in
            (("lowest", min(cells)), ("highest", max(cells)))]  # fmt: skip
    return f"{len(rows)} by {len(columns)} cells of {name}; {told[0]}, {told[1]}."


def _check_shape(matrix: Matrix, rows: Sequence[str], columns: Sequence[str]) -> None:
    shape = len(matrix), {len(row) for row in matrix}
    if not rows or not columns or shape != (len(rows), {len(columns)}):
        raise BadValue(f"a matrix of {len(rows)} by {len(columns)} values is needed", found=f"{shape[0]} by {shape[1]}")
