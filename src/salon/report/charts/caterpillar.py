"""Scores from best to worst, each with its interval: a caterpillar, with tiers as bands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from salon.errors import BadValue
from salon.report import numbers
from salon.report.frame import LINE, Key, diamond, legend, x_axis, x_grid
from salon.report.located import marks
from salon.report.scale import Scale, domain
from salon.report.svg import Rows, canvas, drawn, element, group, line, rect, text, text_width

COMPACT = 520
"""Below this width a label stands above its row instead of beside it."""
GAP = 24
"""Pixels of the line that stands for rows left out."""
TOLD = 30


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
class Layout:
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


def _data(rows: Sequence[ScoreMark], *, special_label: str = "rating anchor", **_: object) -> Rows:
    return [
        {"mark": special_label if row.special else "score", "label": row.label, "value": row.value, "low": row.low,
         "high": row.high, "tier": row.tier}
        for row in rows
    ]  # fmt: skip


@drawn(_data)
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
    layout = _layout(rows, decimals, width)
    special = any(row.special for row in rows)
    keys = [Key("cohort-1", "score", "dot"), Key("cohort-2", special_label, "diamond")] if special else []
    top_block, used = legend(keys, 0, 0, width)
    x = Scale(*(x_range or domain(v for row in rows for v in (row.value, row.low, row.high))), *layout.plot)
    top = used + (LINE if layout.gutter else 4)
    tops, bottom = _tops(len(rows), top, layout.row, left_out)
    height = bottom + 4 + (2 * LINE + 10 if x_label else LINE + 8)
    return canvas(
        width,
        height,
        title,
        _words(rows, decimals),
        top_block,
        text(0, top - 5, "tier", "tick") if layout.gutter else None,
        *_bands(rows, tops, layout),
        x_grid(x, top, bottom + 4),
        _break(left_out, tops, layout) if left_out else None,
        *(_row(row, y, x, layout, decimals) for row, y in zip(rows, tops)),
        x_axis(x, bottom + 4, width, label=x_label),
    )


def _layout(rows: Sequence[ScoreMark], decimals: int, width: float) -> Layout:
    values = max(text_width(numbers.estimate(row.value, row.low, row.high, decimals)) for row in rows)
    tiers = [row.tier for row in rows if row.tier is not None]
    gutter = max(text_width("tier"), text_width(str(max(tiers)))) + 10 if tiers else 0.0
    if width < COMPACT:
        return Layout(width, gutter, width - gutter - values - 12, (gutter + 6, width - 8), 34, True)
    labels = min(max(text_width(row.label) for row in rows), width * 0.28)
    return Layout(width, gutter, labels, (gutter + labels + 18, width - values - 24), 21, False)


def _tops(rows: int, top: float, row: float, left_out: tuple[int, str] | None) -> tuple[list[float], float]:
    """The upper edge of each row, and the lower edge of the last; rows after a break are moved down."""
    moved = [GAP if left_out is not None and i >= left_out[0] else 0 for i in range(rows)]
    tops = [top + row * i + extra for i, extra in enumerate(moved)]
    return tops, tops[-1] + row


def _bands(rows: Sequence[ScoreMark], tops: Sequence[float], layout: Layout) -> list[Markup]:
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
        drawn_bands.append(text(2, words_y, str(tier), "tick", **marks(tier)))
    return drawn_bands


def _break(left_out: tuple[int, str], tops: Sequence[float], layout: Layout) -> Markup:
    index, words = left_out
    y = tops[index] - GAP / 2 if index < len(tops) else tops[-1] + layout.row
    return text(layout.width / 2, y + 4, words, "tick", anchor="middle", room=layout.width)


def _row(row: ScoreMark, top: float, x: Scale, layout: Layout, decimals: int) -> Markup:
    y = layout.middle(top)
    words_y = y - 10 if layout.compact else y + 4
    shown = numbers.estimate(row.value, row.low, row.high, decimals)
    tone = "cohort-2" if row.special else "cohort-1"
    whisker = None
    if row.low is not None and row.high is not None:
        at = _inside(row.value, x)
        whisker = [line(_inside(end, x), y, at, y, f"{tone} whisker", **marks(end)) for end in (row.low, row.high)]
    return group(
        rect(0, top, layout.width, layout.row, "hit"),
        *(whisker or ()),
        _dot(row, _inside(row.value, x), y, f"{tone} dot"),
        text(layout.gutter, words_y, row.label, "label", room=layout.labels),
        text(layout.width - 2, words_y, shown, "value", anchor="end"),
        tip=f"{row.label}: {shown}" + (f"; {row.note}" if row.note else ""),
        class_="mark row",
    )


def _dot(row: ScoreMark, x: float, y: float, class_: str) -> Markup:
    if not row.special:
        return element("circle", cx=x, cy=y, r=4.5, class_=class_, **marks(row.value))
    return element("path", d=diamond(x, y, 5.5), class_=class_, **marks(row.value))


def _inside(at: float, x: Scale) -> float:
    return x(min(max(at, x.low), x.high))


def _words(rows: Sequence[ScoreMark], decimals: int) -> str:
    told = [f"{row.label}: {numbers.estimate(row.value, row.low, row.high, decimals)}" for row in rows[:TOLD]]
    rest = [f"and {len(rows) - TOLD} more"] if len(rows) > TOLD else []
    return "; ".join([*told, *rest]) + "."
