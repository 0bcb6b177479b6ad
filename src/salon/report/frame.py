"""What charts share around their marks: axes, grid lines, a legend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from salon.report.scale import Scale, tick_labels
from salon.report.svg import element, group, line, rect, text, text_width

LINE = 18
"""Pixels from one line of text to the next."""
_X_ROOM = 70
"""Pixels between two ticks of a horizontal axis, about."""


@dataclass(frozen=True)
class Key:
    """One entry of a legend: a `swatch` class of the style sheet and its words."""

    swatch: str
    words: str
    shape: str = "box"
    """box, line, dot or diamond."""
    shade: float | None = None
    """How much of its color a box has, of 1."""


def x_axis(scale: Scale, y: float, width: float, *, room: float = _X_ROOM, label: str = "") -> Markup:
    """Ticks and their numbers under a line at height `y`, none beyond the `width` of the drawing; the label below."""
    values = scale.ticks(room)
    parts = [line(scale.start, y, scale.stop, y, "axis")]
    for value, words in zip(values, tick_labels(values)):
        x, half = scale(value), text_width(words) / 2
        inside = min(max(x, half), width - half)
        parts += [line(x, y, x, y + 4, "axis"), text(inside, y + LINE, words, "tick", anchor="middle")]
    if label:
        span = abs(scale.stop - scale.start)
        middle = (scale.start + scale.stop) / 2
        parts.append(text(middle, y + 2 * LINE + 2, label, "axis-label", anchor="middle", room=span))
    return group(*parts)


def x_grid(scale: Scale, top: float, bottom: float) -> Markup:
    """Vertical hairlines at the ticks."""
    return group(*(line(scale(v), top, scale(v), bottom, "grid") for v in scale.ticks(_X_ROOM)))


def y_grid(scale: Scale, left: float, right: float, *, room: float = 42, percent: bool = False) -> Markup:
    """Horizontal hairlines with their numbers at the left."""
    values = scale.ticks(room)
    parts = []
    for value, words in zip(values, tick_labels(values, percent=percent)):
        y = scale(value)
        parts += [line(left, y, right, y, "grid"), text(left - 7, y + 4, words, "tick", anchor="end")]
    return group(*parts)


def y_ticks_width(scale: Scale, *, room: float = 42, percent: bool = False) -> float:
    """Pixels the numbers of `y_grid` need left of the plot."""
    return 10 + max(text_width(words) for words in tick_labels(scale.ticks(room), percent=percent))


def legend(keys: Sequence[Key], left: float, top: float, width: float) -> tuple[Markup, float]:
    """The entries in rows no wider than `width`, and the height they take."""
    parts, x, y = [], left, top + 11
    for key in keys:
        needed = 20 + text_width(key.words) + 14
        if x > left and x + needed > left + width:
            x, y = left, y + LINE
        parts += [_swatch(key, x, y), text(x + 20, y, key.words, "label", room=width - 20)]
        x += needed
    return group(*parts, class_="legend"), (y - top + 11 if keys else 0)


def _swatch(key: Key, x: float, y: float) -> Markup:
    if key.shape == "line":
        return line(x, y - 4, x + 14, y - 4, f"{key.swatch} stroke")
    if key.shape == "dot":
        return element("circle", cx=x + 7, cy=y - 4, r=4.5, class_=key.swatch)
    if key.shape == "diamond":
        return element("path", d=diamond(x + 7, y - 4, 5.5), class_=key.swatch)
    return rect(x + 1, y - 10, 12, 12, key.swatch, fill_opacity=key.shade)


def diamond(x: float, y: float, r: float) -> str:
    """The path of a square on its tip."""
    return f"M{x:.2f} {y - r:.2f}L{x + r:.2f} {y:.2f}L{x:.2f} {y + r:.2f}L{x - r:.2f} {y:.2f}Z"
