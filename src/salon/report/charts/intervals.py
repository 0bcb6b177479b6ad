"""Estimates with intervals, one row each: dots with reference lines, and caterpillars with tiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from salon.errors import BadValue
from salon.report import numbers
from salon.report.svg import (
    BOLD,
    LINE,
    LegendKey,
    LinearScale,
    Rows,
    canvas,
    diamond,
    domain,
    element,
    fit,
    group,
    lanes,
    legend,
    line,
    read_aloud,
    rect,
    redrawable,
    text,
    text_width,
    x_axis,
    x_grid,
)
from salon.report.values import number_marks

COMPACT = 520
"""Below this width a label stands above its row instead of beside it."""

TONES = ("cohort-1", "cohort-2", "cohort-3", "cohort-4")

DotRow = tuple[str, float, float | None, float | None, str]


@dataclass(frozen=True)
class DotLayout:
    """Where the columns of the chart stand."""

    width: float
    label_room: float
    plot: tuple[float, float]
    row: float
    compact: bool


def _dot_data(
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


@redrawable(_dot_data)
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
    layout = _dot_layout(ordered, decimals, width)
    keys = (
        [LegendKey(_tone(groups, g, tones), g, "dot") for g in groups if g in shown_groups]
        if len(shown_groups) > 1
        else []
    )
    keys += [LegendKey("null-line", null_label, "line")] if any(null is not None for null in row_nulls) else []
    top_block, used = legend(keys, 0, 0, width)
    upright = [] if null_line is None else [_mark(null_label, null_line, "null-line", width)]
    upright += [_mark(name, at, "reference", width) for name, at in reference_lines]
    ends = [v for row in rows for v in row[1:4]] + [*row_nulls]
    x = LinearScale(*domain(ends, include=[m[1] for m in upright], within=within), *layout.plot)
    lines, lines_height = _upright_lines(upright, x, used + 4, layout, len(rows))
    top = used + 4 + lines_height
    bottom = top + layout.row * len(rows) + 4
    height = bottom + (2 * LINE + 10 if x_label else LINE + 8)
    tips = [f"{row[0]}: {numbers.estimate(*row[1:4], decimals)}" for row in ordered]
    return canvas(
        width,
        height,
        title,
        read_aloud(tips, after=[words for words, _, _ in upright]),
        top_block,
        x_grid(x, top, bottom),
        lines,
        *(
            _dot_row(row, null, i, top, x, layout, decimals, _tone(groups, row[4], tones))
            for i, (row, null) in enumerate(paired)
        ),
        x_axis(x, bottom, width, label=x_label),
    )


def _dot_layout(rows: Sequence[DotRow], decimals: int, width: float) -> DotLayout:
    values = max(text_width(numbers.estimate(*row[1:4], decimals)) for row in rows)
    if width < COMPACT:
        return DotLayout(width, width - values - 12, (8, width - 8), 46, True)
    labels = min(max(text_width(row[0]) for row in rows), width * 0.3)
    return DotLayout(width, labels, (labels + 20, width - values - 24), 27, False)


def _dot_row(
    row: DotRow, null: float | None, index: int, top: float, x: LinearScale, layout: DotLayout, decimals: int, tone: str
) -> Markup:
    label, value, low, high, _ = row
    y = top + layout.row * (index + (0.72 if layout.compact else 0.5))
    words_y = y - 14 if layout.compact else y + 4
    value_text = numbers.estimate(value, low, high, decimals)
    whisker = None
    if low is not None and high is not None:
        ends = [line(x(end), y, x(value), y, f"{tone} whisker", **number_marks(end)) for end in (low, high)]
        whisker = group(*ends)
    own = None if null is None else line(x(null), y - 9, x(null), y + 9, "null-line stroke", **number_marks(null))
    tip = f"{label}: {value_text}" + ("" if null is None else f"; null {numbers.fixed(null)}")
    return group(
        rect(0, top + layout.row * index, layout.width, layout.row, "hit"),
        own,
        whisker,
        element("circle", cx=x(value), cy=y, r=5, class_=f"{tone} dot", **number_marks(value)),
        text(0, words_y, label, "label haloed", room=layout.label_room),
        text(layout.width, words_y, value_text, "value haloed", anchor="end"),
        tip=tip,
        class_="mark row",
    )


def _upright_lines(
    upright: Sequence[tuple[str, float, str]], x: LinearScale, top: float, layout: DotLayout, rows: int
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
        labels.append(text(center, y, words, f"{class_}-label haloed", anchor="middle", **number_marks(at)))
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


# -- caterpillars ---------------------------------------------------------------------------------------------------

GAP = 24
"""Pixels of the line that stands for rows left out."""


@dataclass(frozen=True)
class ScoreMark:
    """One row: a label and its score; `tier` shades it with its equals, `special` draws a diamond."""

    label: str
    value: float
    low: float | None = None
    high: float | None = None
    tier: int | None = None
    special: bool = False
    note: str = ""
    """More for the tooltip."""


@dataclass(frozen=True)
class CaterpillarLayout:
    """Where the columns of the chart stand, and how tall its rows are."""

    width: float
    gutter: float
    labels: float
    plot: tuple[float, float]
    row: float
    compact: bool

    def middle(self, top: float) -> float:
        """Height of a row's dot; on a phone the words stand above it."""
        return top + (self.row - 9 if self.compact else self.row / 2)


def _score_data(rows: Sequence[ScoreMark], *, special_label: str = "rating anchor", **_: object) -> Rows:
    return [
        {"mark": special_label if row.special else "score", "label": row.label, "value": row.value, "low": row.low,
         "high": row.high, "tier": row.tier}
        for row in rows
    ]  # fmt: skip


@redrawable(_score_data)
def caterpillar(
    rows: Sequence[ScoreMark],
    *,
    title: str = "Scores with intervals",
    x_label: str = "",
    x_range: tuple[float, float] | None = None,
    decimals: int | None = None,
    left_out: tuple[int, str] | None = None,
    special_label: str = "rating anchor",
    width: int,
) -> Markup:
    """`rows` in the order given, best first; bands change where the tier does, and its number stands at the left.

    `left_out` (index, words) draws a break before that row and says what is missing. `x_range` and
    `decimals` serve charts that are to be compared; marks beyond the range are cut at its ends.
    """
    if not rows:
        raise BadValue("at least one score is needed to draw a caterpillar", found="none")
    if decimals is None:
        decimals = numbers.common_decimals((row.low, row.high) for row in rows)
    values = max(text_width(numbers.estimate(row.value, row.low, row.high, decimals)) for row in rows)
    tiers = [row.tier for row in rows if row.tier is not None]
    gutter = max(text_width("tier"), text_width(str(max(tiers)))) + 10 if tiers else 0.0
    if width < COMPACT:
        layout = CaterpillarLayout(width, gutter, width - gutter - values - 12, (gutter + 6, width - 8), 34, True)
    else:
        labels = min(max(text_width(row.label) for row in rows), width * 0.28)
        layout = CaterpillarLayout(width, gutter, labels, (gutter + labels + 18, width - values - 24), 21, False)
    special = any(row.special for row in rows)
    keys = [LegendKey("cohort-1", "score", "dot"), LegendKey("cohort-2", special_label, "diamond")] if special else []
    top_block, used = legend(keys, 0, 0, width)
    x = LinearScale(*(x_range or domain(v for row in rows for v in (row.value, row.low, row.high))), *layout.plot)
    top = used + (LINE if layout.gutter else 4)
    tops, bottom = _tops(len(rows), top, layout.row, left_out)
    height = bottom + 4 + (2 * LINE + 10 if x_label else LINE + 8)
    tips = [f"{row.label}: {numbers.estimate(row.value, row.low, row.high, decimals)}" for row in rows]
    return canvas(
        width,
        height,
        title,
        read_aloud(tips),
        top_block,
        text(0, top - 5, "tier", "tick") if layout.gutter else None,
        *_bands(rows, tops, layout),
        x_grid(x, top, bottom + 4),
        _break(left_out, tops, layout) if left_out else None,
        *(_score_row(row, y, x, layout, decimals) for row, y in zip(rows, tops)),
        x_axis(x, bottom + 4, width, label=x_label),
    )


def _tops(rows: int, top: float, row: float, left_out: tuple[int, str] | None) -> tuple[list[float], float]:
    """The upper edge of each row, and the lower edge of the last; rows after a break are moved down."""
    moved = [GAP if left_out is not None and i >= left_out[0] else 0 for i in range(rows)]
    tops = [top + row * i + extra for i, extra in enumerate(moved)]
    return tops, tops[-1] + row


def _bands(rows: Sequence[ScoreMark], tops: Sequence[float], layout: CaterpillarLayout) -> list[Markup]:
    """Runs of one tier: every second run shaded, each with its number."""
    drawn_bands = []
    for shade, (tier, run) in enumerate(groupby(range(len(rows)), key=lambda i: rows[i].tier)):
        if tier is None:
            continue
        members = list(run)
        if shade % 2 == 0:
            drawn_bands += [rect(0, tops[i], layout.width, layout.row, "tier-band") for i in members]
        first = layout.middle(tops[members[0]])
        words_y = first - 10 if layout.compact else first + 4
        drawn_bands.append(text(2, words_y, str(tier), "tick", **number_marks(tier)))
    return drawn_bands


def _break(left_out: tuple[int, str], tops: Sequence[float], layout: CaterpillarLayout) -> Markup:
    index, words = left_out
    y = tops[index] - GAP / 2 if index < len(tops) else tops[-1] + layout.row
    return text(layout.width / 2, y + 4, words, "tick", anchor="middle", room=layout.width)


def _score_row(row: ScoreMark, top: float, x: LinearScale, layout: CaterpillarLayout, decimals: int) -> Markup:
    y = layout.middle(top)
    words_y = y - 10 if layout.compact else y + 4
    value_text = numbers.estimate(row.value, row.low, row.high, decimals)
    tone = "cohort-2" if row.special else "cohort-1"
    whisker = None
    if row.low is not None and row.high is not None:
        at = _inside(row.value, x)
        whisker = [
            line(_inside(end, x), y, at, y, f"{tone} whisker", **number_marks(end)) for end in (row.low, row.high)
        ]
    return group(
        rect(0, top, layout.width, layout.row, "hit"),
        *(whisker or ()),
        _dot(row, _inside(row.value, x), y, f"{tone} dot"),
        text(layout.gutter, words_y, row.label, "label", room=layout.labels),
        text(layout.width - 2, words_y, value_text, "value", anchor="end"),
        tip=f"{row.label}: {value_text}" + (f"; {row.note}" if row.note else ""),
        class_="mark row",
    )


def _dot(row: ScoreMark, x: float, y: float, class_: str) -> Markup:
    if not row.special:
        return element("circle", cx=x, cy=y, r=4.5, class_=class_, **number_marks(row.value))
    return element("path", d=diamond(x, y, 5.5), class_=class_, **number_marks(row.value))


def _inside(at: float, x: LinearScale) -> float:
    return x(min(max(at, x.low), x.high))
