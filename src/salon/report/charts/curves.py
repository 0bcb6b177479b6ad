"""Charts of one quantity over another: curves with bands, calibration curves, scatter plots."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from markupsafe import Markup
from scipy.special import expit

from salon.errors import BadValue
from salon.report import numbers
from salon.report.svg import (
    FONT,
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
    legend,
    line,
    read_aloud,
    redrawable,
    spread,
    text,
    text_width,
    x_axis,
    x_grid,
    y_grid,
    y_ticks_width,
)
from salon.report.values import number_marks

X_TICK_ROOM = 70
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


def _curve_data(curves: Sequence[Curve], *, reference_lines: Sequence[tuple[str, float]] = (), **_: object) -> Rows:
    nothing = itertools.repeat(None)
    return [
        *(
            {"mark": "point", "label": curve.label, "x": x, "y": y, "low": low, "high": high}
            for curve in curves
            for x, y, low, high in zip(curve.x, curve.y, curve.low or nothing, curve.high or nothing)
        ),
        *({"mark": "line", "label": label, "y": at} for label, at in reference_lines),
    ]


@redrawable(_curve_data)
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
    if not curves:
        raise BadValue("at least one curve is needed", found="none")
    for curve in curves:
        parts = [p for p in (curve.x, curve.y, curve.low, curve.high) if p is not None]
        lengths = {len(p) for p in parts}
        if len(lengths) != 1 or 0 in lengths:
            raise BadValue("as many y (and low, high) as x, at least one", found=lengths, where=curve.label)
    names = max(text_width(c.label) for c in curves) + 16
    direct = names <= width * 0.3
    keys = [] if direct else [LegendKey(_style(i), c.label, "line") for i, c in enumerate(curves)]
    top_block, used = legend(keys, 0, 0, width)
    height += used
    right = width - (names if direct else 12)
    top, bottom = used + (26 if y_label else 10), height - (2 * LINE + 10 if x_label else LINE + 8)
    ys = [v for c in curves for part in (c.y, c.low or (), c.high or ()) for v in part if v is not None]
    y = LinearScale(*(y_domain or domain(ys, include=[at for _, at in reference_lines])), bottom, top)
    room = 42 if height > LOW else 26
    left = y_ticks_width(y, room=room, percent=percent)
    x = LinearScale(*domain((v for c in curves for v in c.x), pad=0), left, right)
    levels = spread([y(c.y[-1]) + 4 for c in curves], 15, top + 4, bottom)
    lines = []
    for c in curves:
        ends = [numbers.percent(v) if percent else numbers.significant(v) for v in (c.y[0], c.y[-1])]
        span = [_at(v) for v in (c.x[0], c.x[-1])]
        lines.append(f"{_lead(c)}{ends[0]} at {span[0]}, {ends[1]} at {span[1]}")
    return canvas(
        width,
        height,
        title,
        "; ".join(lines) + ".",
        top_block,
        text(0, used + 12, y_label, "axis-label", room=width) if y_label else None,
        y_grid(y, left, right, room=room, percent=percent),
        *(line(left, y(at), right, y(at), "reference dashed") for _, at in reference_lines),
        *(_band(c, x, y, i) for i, c in enumerate(curves)),
        *(_curve(c, x, y, i, percent) for i, c in enumerate(curves)),
        *(
            text(left + 5, y(at) - 5, name, "reference-label haloed", room=right - left - 10)
            for name, at in reference_lines
        ),
        *(text(x.stop + 10, levels[i], c.label, f"{_style(i)}-label") for i, c in enumerate(curves) if direct),
        x_axis(x, bottom, width, room=_room(curves, x), label=x_label),
    )


def _room(curves: Sequence[Curve], x: LinearScale) -> float:
    """Pixels for each tick: a whole step at least where all x are whole, for there is no round 1.25."""
    whole = all(float(at).is_integer() for curve in curves for at in curve.x)
    return max(X_TICK_ROOM, (x(1) - x(0)) * 0.999) if whole else X_TICK_ROOM


def _style(index: int) -> str:
    return f"series-{index % 6 + 1}"


def _curve(curve: Curve, x: LinearScale, y: LinearScale, index: int, percent: bool) -> Markup:
    style = _style(index)
    path = "M" + "L".join(f"{x(a):.2f} {y(b):.2f}" for a, b in zip(curve.x, curve.y))
    dots = []
    for a, b in zip(curve.x, curve.y):
        value_text = numbers.percent(b, 1) if percent else numbers.significant(b)
        tip = f"{_lead(curve)}{value_text} at {_at(a)}"
        dot = element("circle", element("title", tip), cx=x(a), cy=y(b), r=3, class_=f"{style} dot", **number_marks(b))
        dots.append(dot)
    return group(element("path", d=path, class_=f"{style} curve"), *dots)


def _band(curve: Curve, x: LinearScale, y: LinearScale, index: int) -> Markup:
    """From each point with an interval to the next; a whisker where neither neighbour has one."""
    ends = zip(curve.x, curve.low or (), curve.high or ())
    ends_in_pixels = [None if low is None or high is None else (x(at), y(low), y(high)) for at, low, high in ends]
    parts = []
    for apart, run in groupby(ends_in_pixels, lambda end: end is None):
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


# -- calibration curves ---------------------------------------------------------------------------------------------

STEPS = 80


@dataclass(frozen=True)
class AnchorMark:
    """An item with a latent score, the rating it should get, the spread of its ratings, and its place on the curve."""

    label: str
    latent: float
    target: float
    fitted: float
    spread: float | None = None


def _calibration_data(
    a: float,
    b: float,
    anchors: Sequence[AnchorMark],
    *,
    low: float,
    high: float,
    x_range: tuple[float, float] | None = None,
    **_: object,
) -> Rows:
    at = np.linspace(*_x_domain(anchors, x_range), STEPS + 1)
    heights = low + (high - low) * expit(a * at + b)
    return [
        *(
            {"mark": "anchor", "label": anchor.label, "latent": anchor.latent, "rating": anchor.target,
             "on the curve": anchor.fitted, "spread": anchor.spread}
            for anchor in anchors
        ),
        *({"mark": "curve", "latent": x, "on the curve": y} for x, y in zip(at.tolist(), heights.tolist())),
    ]  # fmt: skip


@redrawable(_calibration_data)
def calibration_curve(
    a: float,
    b: float,
    anchors: Sequence[AnchorMark],
    *,
    low: float,
    high: float,
    title: str = "Calibration curve",
    x_label: str = "",
    y_label: str = "",
    x_range: tuple[float, float] | None = None,
    height: float = 320,
    width: int,
) -> Markup:
    """low + (high - low) / (1 + exp(-(a x + b))); diamonds are the rating anchors, bars the spread of their ratings."""
    x_domain = _x_domain(anchors, x_range)
    top, bottom = 26 if y_label else 10, height - (2 * LINE + 10 if x_label else LINE + 8)
    y = LinearScale(*domain((low, high), pad=0.03), bottom, top)
    room = 42 if height > LOW else 26
    left = y_ticks_width(y, room=room)
    x = LinearScale(*x_domain, left, width - 12)
    shape = f"Curve with a {numbers.significant(a)} and b {numbers.significant(b)}"
    return canvas(
        width,
        height,
        title,
        read_aloud([_anchor_tip(anchor) for anchor in anchors], before=[shape]),
        text(0, 12, y_label, "axis-label", room=width) if y_label else None,
        y_grid(y, left, width - 12, room=room),
        _path(np.linspace(x.low, x.high, STEPS + 1), (a, b, low, high), x, y),
        *(_anchor_mark(anchor, x, y) for anchor in anchors),
        x_axis(x, bottom, width, label=x_label),
    )


def _x_domain(anchors: Sequence[AnchorMark], x_range: tuple[float, float] | None) -> tuple[float, float]:
    if x_range is None and not anchors:
        raise BadValue("rating anchors or a range are needed to draw a calibration curve", found="neither")
    return domain((anchor.latent for anchor in anchors), include=x_range or (), pad=0.06)


def _path(at: np.ndarray, curve: tuple[float, float, float, float], x: LinearScale, y: LinearScale) -> Markup:
    a, b, low, high = curve
    heights = low + (high - low) * expit(a * at + b)
    points = "L".join(f"{x(v):.1f} {y(h):.1f}" for v, h in zip(at.tolist(), heights.tolist()))
    return element("path", d="M" + points, class_="series-1 curve")


def _anchor_mark(anchor: AnchorMark, x: LinearScale, y: LinearScale) -> Markup:
    """A diamond at its rating."""
    at = x(anchor.latent)
    spread = None
    if anchor.spread is not None:
        ends = [y(min(max(anchor.target + s * anchor.spread, y.low), y.high)) for s in (-1, 1)]
        spread = line(at, ends[0], at, ends[1], "cohort-2 marker", **number_marks(anchor.spread))
    return group(
        spread,
        element("path", d=diamond(at, y(anchor.target), 5.5), class_="cohort-2 dot", **number_marks(anchor.target)),
        tip=_anchor_tip(anchor),
        class_="mark",
        **number_marks(anchor.latent),
    )


def _anchor_tip(anchor: AnchorMark) -> str:
    parts = [f"rating {numbers.fixed(anchor.target, 2)}", f"on the curve {numbers.fixed(anchor.fitted, 2)}"]
    parts += [f"latent {numbers.significant(anchor.latent)}"]
    return f"{anchor.label}: " + ", ".join(parts)


# -- scatter plots --------------------------------------------------------------------------------------------------

RADIUS = 4.5
LONGEST_LABEL = 150
"""Pixels; a longer name is cut, and whole in its tooltip."""

ValueInterval = tuple[float, float | None, float | None]
Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""


@dataclass(frozen=True)
class ScatterMark:
    """One dot: (value, low, high) across and up."""

    label: str
    x: ValueInterval
    y: ValueInterval
    note: str = ""
    """More for the tooltip."""


def _scatter_data(rows: Sequence[ScatterMark], *, x_label: str, y_label: str, **_: object) -> Rows:
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


@redrawable(_scatter_data)
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
    y = LinearScale(*domain(v for row in rows for v in row.y), bottom, top)
    left = y_ticks_width(y)
    x = LinearScale(*domain(v for row in rows for v in row.x), left, width - 12)
    frame = (left, top, width - 2.0, bottom)
    dots = [dot_with_reach((row.x, row.y), x, y) for row in rows]
    tips = [
        f"{row.label}: {numbers.estimate(*row.x, decimals)} across, {numbers.estimate(*row.y, decimals)} up"
        for row in rows
    ]
    if x_line is None or not x.low <= x_line[1] <= x.high:
        upright: Markup | None = None
    else:
        at = x(x_line[1])
        upright = group(line(at, frame[1], at, frame[3], "null-line dashed"), tip=x_line[0])
    if y_line is None or not y.low <= y_line[1] <= y.high:
        level: Markup | None = None
    else:
        at = y(y_line[1])
        level = group(line(frame[0], at, frame[2] - 10, at, "null-line dashed"), tip=y_line[0])
    return canvas(
        width,
        height,
        title,
        read_aloud(tips),
        text(0, 12, y_label, "axis-label", room=width),
        x_grid(x, top, bottom),
        y_grid(y, left, width - 12),
        upright,
        level,
        *(_cross(row, x, y) for row in rows),
        *(_scatter_dot(row, x, y, tip) for row, tip in zip(rows, tips)),
        *filter(None, names_beside(dots, [row.label for row in rows], frame)),
        x_axis(x, bottom, width, label=x_label),
    )


def _cross(row: ScatterMark, x: LinearScale, y: LinearScale) -> Markup:
    at_x, at_y = x(row.x[0]), y(row.y[0])
    bars = []
    if row.x[1] is not None and row.x[2] is not None:
        bars.append(line(x(row.x[1]), at_y, x(row.x[2]), at_y, "cohort-1 cross"))
    if row.y[1] is not None and row.y[2] is not None:
        bars.append(line(at_x, y(row.y[1]), at_x, y(row.y[2]), "cohort-1 cross"))
    return group(*bars)


def _scatter_dot(row: ScatterMark, x: LinearScale, y: LinearScale, tip: str) -> Markup:
    dot = element("circle", cx=x(row.x[0]), cy=y(row.y[0]), r=RADIUS, class_="cohort-1 dot", **number_marks(row.y[0]))
    return group(dot, tip=tip + (f"; {row.note}" if row.note else ""), class_="mark")


@dataclass(frozen=True)
class Dot:
    """Where a dot stands, in pixels, and how far the lines of its intervals reach: left, top, right, bottom."""

    x: float
    y: float
    reach: Box

    @property
    def around(self) -> Box:
        """The dot itself, which no name may touch."""
        return self.x - RADIUS, self.y - RADIUS, self.x + RADIUS, self.y + RADIUS

    @property
    def lines(self) -> list[Box]:
        """Its intervals, which its own name may not touch."""
        left, top, right, bottom = self.reach
        return [(left, self.y - 1, right, self.y + 1), (self.x - 1, top, self.x + 1, bottom)]

    def places(self, wide: float) -> Iterable[tuple[float, float]]:
        """Left end and base line of a name beside the dot, best first."""
        left, top, right, bottom = self.reach
        yield max(right, self.x + RADIUS) + 5, self.y + 4
        yield min(left, self.x - RADIUS) - 5 - wide, self.y + 4
        yield self.x + RADIUS + 3, self.y - RADIUS - 3
        yield self.x + RADIUS + 3, self.y + RADIUS + FONT
        yield self.x - RADIUS - 3 - wide, self.y - RADIUS - 3
        yield self.x - RADIUS - 3 - wide, self.y + RADIUS + FONT
        yield self.x - wide / 2, min(top, self.y - RADIUS) - 5
        yield self.x - wide / 2, max(bottom, self.y + RADIUS) + FONT + 2


def dot_with_reach(at: tuple[ValueInterval, ValueInterval], x: LinearScale, y: LinearScale) -> Dot:
    """A dot at two values, whose lines reach over their intervals where they have one."""
    across, up = ([figure[0] if end is None else end for end in figure[1:]] for figure in at)
    reach = (x(across[0]), y(up[1]), x(across[1]), y(up[0]))
    return Dot(x(at[0][0]), y(at[1][0]), reach)


def names_beside(dots: Sequence[Dot], names: Sequence[str], frame: Box) -> list[Markup | None]:
    """Names where they touch no dot and no earlier name, best off the lines of their own dot; None without room."""
    boxes_taken = [dot.around for dot in dots]
    labels: list[Markup | None] = []
    for name, dot in zip(names, dots):
        words = fit(name, LONGEST_LABEL)
        boxes = [
            (left, base - FONT + 2, left + text_width(words), base + 3) for left, base in dot.places(text_width(words))
        ]
        inside = [
            box
            for box in boxes
            if frame[0] <= box[0] and frame[1] <= box[1] and box[2] <= frame[2] and box[3] <= frame[3]
        ]
        apart = [box for box in inside if not any(_touch(box, occupied) for occupied in boxes_taken)]
        clear = [box for box in apart if not any(_touch(box, whisker) for whisker in dot.lines)]
        free = clear or apart  # its halo covers a line of its own where there is no other place
        boxes_taken += free[:1]
        labels.append(text(free[0][0], free[0][3] - 3, words, "label haloed small-halo") if free else None)
    return labels


def _touch(box: Box, other: Box) -> bool:
    return box[0] < other[2] and other[0] < box[2] and box[1] < other[3] and other[1] < box[3]
