"""The reliability diagram: the chance a model gave to its winners, and the share of votes they got."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from salon.evaluate.pairs.evaluate_results import BinFigures
from salon.report import numbers
from salon.report.frame import LINE, x_axis, y_grid, y_ticks_width
from salon.report.located import marks
from salon.report.scale import Scale, domain
from salon.report.svg import Rows, canvas, drawn, element, group, line, text

_ROOM = 34
"""Pixels between two ticks of a small diagram."""
_HEIGHT = 250


def _data(bins: Sequence[BinFigures], **_: object) -> Rows:
    return [
        {"chance given": bin.predicted, "share of votes": bin.observed.value, "low": bin.observed.low,
         "high": bin.observed.high, "pairs": bin.pairs}
        for bin in bins
    ]  # fmt: skip


@drawn(_data)
def reliability_plot(bins: Sequence[BinFigures], *, title: str, width: int) -> Markup:
    """A dot for each bin, its interval upwards and downwards; on the line chances are honest, below it too sure."""
    top, bottom = 26.0, _HEIGHT - 2 * LINE - 10
    ends = [end for bin in bins for end in (bin.observed.value, bin.observed.low, bin.observed.high)]
    low, high = domain([*ends, *(bin.predicted for bin in bins)], include=[0.5], pad=0.04)
    y = Scale(max(0.0, low), min(1.0, high), bottom, top)
    left = y_ticks_width(y, room=_ROOM)
    x = Scale(*domain([bin.predicted for bin in bins], include=[0.5, 0.55], pad=0.05), left, width - 10)
    return canvas(
        width,
        _HEIGHT,
        title,
        "; ".join(f"said {numbers.fixed(b.predicted)}, got {numbers.fixed(b.observed.value)}" for b in bins) + ".",
        text(0, 12, "share of votes", "axis-label", room=width),
        y_grid(y, left, width - 10, room=_ROOM),
        _honest(x, y),
        *(_dot(bin, x, y) for bin in bins),
        x_axis(x, bottom, width, label="chance given", room=46),
    )


def _honest(x: Scale, y: Scale) -> Markup:
    """The part of the diagonal that lies in the plot."""
    low, high = max(x.low, y.low), min(x.high, y.high)
    return line(x(low), y(low), x(high), y(high), "null-line")


def _dot(bin: BinFigures, x: Scale, y: Scale) -> Markup:
    at, seen = x(bin.predicted), bin.observed
    ends = [
        line(at, y(end), at, y(seen.value), "cohort-1 whisker", **marks(end)) for end in (seen.low, seen.high) if end
    ]
    tip = f"chance {numbers.fixed(bin.predicted)}, share of votes {numbers.fixed(seen.value)}, {bin.pairs:,} pairs"
    dot = element("circle", cx=at, cy=y(seen.value), r=4.5, class_="cohort-1 dot", **marks(seen.value))
    return group(*ends, dot, tip=tip, class_="mark")
