"""Estimates with their intervals, one row each, against a null line and named references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from salon.errors import BadValue
from salon.report import numbers
from salon.report.frame import LINE, Key, legend, x_axis, x_grid
from salon.report.located import marks
from salon.report.scale import Scale, domain, lanes
from salon.report.svg import BOLD, Rows, canvas, drawn, element, fit, group, line, rect, text, text_width

COMPACT = 520
"""Below this width a label stands above its row instead of beside it."""

TONES = ("cohort-1", "cohort-2", "cohort-3", "cohort-4")

DotRow = tuple[str, float, float | None, float | None, str]


@dataclass(frozen=True)
class Layout:
    """Where the columns of the chart stand."""

    width: float
    label_room: float
    plot: tuple[float, float]
    row: float
    compact: bool


def _data(
    rows: Sequence[DotRow],
    null_line: float | None = None,
    reference_lines: Sequence[tuple[str, float]] = (),
    *,
    null_label: str = "null",
    row_nulls: Sequence[float | None] = (),
    **_: object,
) -> Rows:
    nulls = [*row_nulls, *[None] * (len(rows) - len(row_nulls))]
    lines = [*([] if null_line is None else [(null_label, null_line)]), *reference_lines]
    return [
        *(
            {"mark": "estimate", "label": label, "value": value, "low": low, "high": high, "group": group, "null": null}
            for (label, value, low, high, group), null in zip(rows, nulls)
        ),
        *({"mark": "line", "label": label, "value": at} for label, at in lines),
    ]


@drawn(_data)
def dot_intervals(
    rows: Sequence[DotRow],
    null_line: float | None = None,
    reference_lines: Sequence[tuple[str, float]] = (),
    *,
    title: str = "Estimates with intervals",
    x_label: str = "",
    null_label: str = "null",
    sort: bool = True,
    groups: Sequence[str] = (),
    tones: Sequence[str] = TONES,
    row_nulls: Sequence[float | None] = (),
    within: tuple[float, float] | None = None,
    width: int,
) -> Markup:
    """Rows (label, value, low, high, group), largest value first unless `sort` is False.

    Groups take `tones` (the colours of cohorts) in the order of `groups`, else of appearance, and are named in a
    legend when there are several. `row_nulls` mark each row's own null where no single line serves all. `within` are
    the ends of what can be at all, for shares 0 and 1: the axis does not pass them.
    """
    if not rows:
        raise BadValue("at least one row is needed to draw intervals", found="none")
    groups = list(dict.fromkeys([*groups, *(row[4] for row in rows)]))
    shown_groups = {row[4] for row in rows}
    paired = list(zip(rows, [*row_nulls, *[None] * (len(rows) - len(row_nulls))]))
    if sort:
        paired.sort(key=lambda pair: -pair[0][1])
    ordered = [row for row, _ in paired]
    decimals = numbers.common_decimals((row[2], row[3]) for row in rows)
    layout = _layout(ordered, decimals, width)
    keys = (
        [Key(_tone(groups, g, tones), g, "dot") for g in groups if g in shown_groups] if len(shown_groups) > 1 else []
    )
    keys += [Key("null-line", null_label, "line")] if any(null is not None for null in row_nulls) else []
    top_block, used = legend(keys, 0, 0, width)
    upright = [] if null_line is None else [_mark(null_label, null_line, "null-line", width)]
    upright += [_mark(name, at, "reference", width) for name, at in reference_lines]
    ends = [v for row in rows for v in row[1:4]] + [*row_nulls]
    x = Scale(*domain(ends, include=[m[1] for m in upright], within=within), *layout.plot)
    lines, lines_height = _upright_lines(upright, x, used + 4, layout, len(rows))
    top = used + 4 + lines_height
    bottom = top + layout.row * len(rows) + 4
    height = bottom + (2 * LINE + 10 if x_label else LINE + 8)
    return canvas(
        width,
        height,
        title,
        _words(ordered, decimals, upright),
        top_block,
        x_grid(x, top, bottom),
        lines,
        *(
            _row(row, null, i, top, x, layout, decimals, _tone(groups, row[4], tones))
            for i, (row, null) in enumerate(paired)
        ),
        x_axis(x, bottom, width, label=x_label),
    )


def _layout(rows: Sequence[DotRow], decimals: int, width: float) -> Layout:
    values = max(text_width(numbers.estimate(*row[1:4], decimals)) for row in rows)
    if width < COMPACT:
        return Layout(width, width - values - 12, (8, width - 8), 46, True)
    labels = min(max(text_width(row[0]) for row in rows), width * 0.3)
    return Layout(width, labels, (labels + 20, width - values - 24), 27, False)


def _row(
    row: DotRow, null: float | None, index: int, top: float, x: Scale, layout: Layout, decimals: int, tone: str
) -> Markup:
    label, value, low, high, _ = row
    y = top + layout.row * (index + (0.72 if layout.compact else 0.5))
    words_y = y - 14 if layout.compact else y + 4
    shown = numbers.estimate(value, low, high, decimals)
    whisker = None
    if low is not None and high is not None:
        ends = [line(x(end), y, x(value), y, f"{tone} whisker", **marks(end)) for end in (low, high)]
        whisker = group(*ends)
    own = None if null is None else line(x(null), y - 9, x(null), y + 9, "null-line stroke", **marks(null))
    tip = f"{label}: {shown}" + ("" if null is None else f"; null {numbers.fixed(null)}")
    return group(
        rect(0, top + layout.row * index, layout.width, layout.row, "hit"),
        own,
        whisker,
        element("circle", cx=x(value), cy=y, r=5, class_=f"{tone} dot", **marks(value)),
        text(0, words_y, label, "label haloed", room=layout.label_room),
        text(layout.width, words_y, shown, "value haloed", anchor="end"),
        tip=tip,
        class_="mark row",
    )


def _upright_lines(
    upright: Sequence[tuple[str, float, str]], x: Scale, top: float, layout: Layout, rows: int
) -> tuple[Markup, float]:
    """Null and reference lines with labels above the rows, in as many lanes as they need."""
    if not upright:
        return Markup(""), 4
    centers = [_kept_inside(x(at), words, layout.width) for words, at, _ in upright]
    level = lanes(centers, [words for words, _, _ in upright])
    height = LINE * (max(level) + 1) + 6
    bottom = top + height + layout.row * rows + 4
    lines, labels = [], []
    for (words, at, class_), center, lane in zip(upright, centers, level):
        y = top + 12 + LINE * lane
        stroke = "stroke" if class_ == "null-line" else "dashed"
        lines.append(line(x(at), y + 4, x(at), bottom, f"{class_} {stroke}"))
        labels.append(text(center, y, words, f"{class_}-label haloed", anchor="middle", **marks(at)))
    return group(*lines, *labels), height


def _mark(name: str, at: float, class_: str, width: float) -> tuple[str, float, str]:
    """Words, place and style of an upright line; a long name is cut, its number never."""
    number = "0" if at == 0 else numbers.fixed(at)
    return f"{fit(name, width / 2)} {number}", at, class_


def _kept_inside(x: float, words: str, width: float) -> float:
    half = BOLD * text_width(words) / 2
    return min(max(x, half), width - half)


def _tone(groups: Sequence[str], name: str, tones: Sequence[str]) -> str:
    return tones[groups.index(name) % len(tones)]


def _words(rows: Sequence[DotRow], decimals: int, upright: Sequence[tuple[str, float, str]]) -> str:
    told = [f"{row[0]}: {numbers.estimate(*row[1:4], decimals)}" for row in rows[:30]]
    rest = [f"and {len(rows) - 30} more"] if len(rows) > 30 else []
    return "; ".join([*told, *rest, *(m[0] for m in upright)]) + "."
