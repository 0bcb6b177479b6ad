"""Static SVG: escaped elements, estimated text widths, drawings that can be redrawn, scales, axes and legends."""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

from salon.errors import BadValue
from salon.report import numbers

WIDE = 840
"""Pixels of a full-width drawing: the text column of a page on a desk."""
SMALL = 264
"""Pixels of one of three small multiples side by side."""
NARROW = 342
"""Pixels of a drawing on a phone (390 less the margins)."""
FONT = 12
MOST_READ = 30
"""Marks of a chart that its description names."""

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NARROW_GLYPHS = frozenset("iljtfrI.,:;'|!()[]/ \u202f")
_WIDE_GLYPHS = frozenset("mwMW@%—…")
_MATHS_GLYPHS = frozenset("#&+<=>^~−×")


Rows = Sequence[Mapping[str, object]]
"""The numbers of a chart: a column by each key, in the order they first appear."""


class Drawing(Markup):
    """An SVG string that can draw itself again at another width, `drawing.at(342)`, and knows its numbers, `rows()`."""

    width: int
    _draw: Callable[[int], Markup] | None
    _rows: Callable[[], Rows] | None

    def __new__(
        cls,
        text: object = "",
        width: int = 0,
        draw: Callable[[int], Markup] | None = None,
        rows: Callable[[], Rows] | None = None,
    ) -> Drawing:
        self = super().__new__(cls, text)
        self.width, self._draw, self._rows = width, draw, rows
        return self

    @property
    def subject(self) -> str:
        """What it shows, in a few words."""
        match = re.search("<title[^>]*>(.*?)</title>", self, re.DOTALL)
        return Markup(match[1]).unescape() if match else ""

    def rows(self) -> Rows:
        """The numbers that are drawn."""
        return [] if self._rows is None else self._rows()

    def at(self, width: int) -> Markup:
        return self if self._draw is None or width == self.width else self._draw(width)

    def redrawn(self, width: int) -> Drawing:
        """The same at another width of its own."""
        return Drawing(self.at(width), width, self._draw, self._rows)


def redrawable(rows: Callable[..., Rows]) -> Callable[[Callable[..., Markup]], Callable[..., Drawing]]:
    """Make a function of `width` return a Drawing. Phones get `drawing.at(NARROW)`: text keeps its size.

    `rows` takes the same arguments without `width` and gives the numbers that are drawn.
    """

    def decorate(draw: Callable[..., Markup]) -> Callable[..., Drawing]:
        @functools.wraps(draw)
        def wrapper(*args: Any, width: int = WIDE, **options: Any) -> Drawing:
            again = functools.partial(draw, *args, **options)
            return Drawing(
                again(width=width),
                width,
                lambda new_width: again(width=new_width),
                functools.partial(rows, *args, **options),
            )

        return wrapper

    return decorate


def canvas(width: float, height: float, title: str, description: str, *children: object) -> Markup:
    """The root: scales by its viewBox, and tells a screen reader what it shows."""
    body = Markup("".join(_escaped(c) for c in children if c is not None))
    digest = hashlib.blake2s(f"{title}{description}{body}".encode(errors="replace"), digest_size=5).hexdigest()
    return element(
        "svg",
        element("title", title, id=f"t{digest}"),
        element("desc", description, id=f"d{digest}"),
        body,
        class_="chart",
        role="img",
        aria_labelledby=f"t{digest} d{digest}",
        viewBox=f"0 0 {_short_number(width)} {_short_number(height)}",
        width=width,
        height=height,
    )


def read_aloud(parts: Sequence[str], *, before: Sequence[str] = (), after: Sequence[str] = ()) -> str:
    """The description of a chart: the first `MOST_READ` parts and how many more there are."""
    rest = [f"and {len(parts) - MOST_READ} more"] if len(parts) > MOST_READ else []
    return "; ".join([*before, *parts[:MOST_READ], *rest, *after]) + "."


def element(tag: str, *children: object, **attributes: object) -> Markup:
    """`<tag ...>children</tag>`; everything that is not Markup is escaped, None attributes are left out."""
    pairs = ((k.rstrip("_").replace("_", "-"), v) for k, v in attributes.items() if v is not None)
    attribute_text = "".join(f' {name}="{_escaped(_short_number(v))}"' for name, v in pairs)
    inside = "".join(_escaped(c) for c in children if c is not None)
    return Markup(f"<{tag}{attribute_text}>{inside}</{tag}>")


def group(*children: object, tip: str | None = None, **attributes: object) -> Markup:
    """Marks that belong together, with a tooltip."""
    return element("g", element("title", tip) if tip else None, *children, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, class_: str, **attributes: object) -> Markup:
    """A stroke from one point to another."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_, **attributes)


def rect(
    x: float, y: float, width: float, height: float, class_: str, tip: str | None = None, **attributes: object
) -> Markup:
    """A box; negative sizes from rounding become zero, which SVG would reject."""
    title = element("title", tip) if tip else None
    size = {"width": max(0.0, width), "height": max(0.0, height)}
    return element("rect", title, x=x, y=y, class_=class_, **size, **attributes)


def text(
    x: float, y: float, words: str, class_: str = "label", *, anchor: str | None = None, room: float | None = None,
    size: float = FONT, **attributes: object,
) -> Markup:  # fmt: skip
    """Text at a point; longer than `room` pixels, it is cut and its title keeps the whole."""
    visible = words if room is None else fit(words, room, size)
    title = element("title", words) if visible != words else None
    font = None if size == FONT else size
    return element("text", title, visible, x=x, y=y, class_=class_, text_anchor=anchor, font_size=font, **attributes)


BOLD = 1.08
"""How much wider than `text_width` bold words are at most."""


def text_width(words: str, size: float = FONT) -> float:
    """Pixels `words` takes at most in the usual sans faces, of which DejaVu Sans is the widest: labels never touch."""
    return size * sum(_glyph_width(c) for c in words)


def fit(words: str, room: float, size: float = FONT) -> str:
    """`words`, or its beginning and an ellipsis, within `room` pixels."""
    if text_width(words, size) <= room:
        return words
    beginning, used = "", text_width("…", size)
    for glyph in words:
        used += size * _glyph_width(glyph)
        if used > room:
            break
        beginning += glyph
    return beginning.rstrip(" …") + "…"


def clean(words: str) -> str:
    """`words` with every character that XML forbids shown as the replacement character."""
    return _NOT_XML.sub("\ufffd", words)


def standalone(drawing: str, css: str) -> str:
    """A drawing as a file of its own: with its namespace and its style inside."""
    opening, rest = drawing.split(">", 1)
    style = element("style", Markup(css))
    return f'{opening} xmlns="http://www.w3.org/2000/svg">{style}{rest}'


def _glyph_width(glyph: str) -> float:
    if glyph in _NARROW_GLYPHS:
        return 0.42
    if glyph in _WIDE_GLYPHS or unicodedata.east_asian_width(glyph) in "WF":
        return 1.0
    if glyph in _MATHS_GLYPHS:
        return 0.84
    return 0.79 if glyph.isupper() else 0.64


def _short_number(value: object) -> object:
    """Numbers to a hundredth of a pixel."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return value
    digits = f"{float(value):.2f}".rstrip("0").rstrip(".")
    return "0" if digits == "-0" else digits


def _escaped(value: object) -> str:
    """Escaped, and without the characters XML forbids: a NUL in an id must not break the page."""
    return value if isinstance(value, Markup) else clean(str(escape(value)))


# -- scales ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LinearScale:
    """Maps [low, high] onto pixels [start, stop]."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, x: float) -> float:
        return self.start + (x - self.low) / (self.high - self.low) * (self.stop - self.start)

    def ticks(self, room: float) -> list[float]:
        """Round values inside the domain, about one per `room` pixels; two at least, for one tells no scale."""
        most = max(2, int(abs(self.stop - self.start) / room))
        return next(values for more in itertools.count(most) if len(values := ticks(self.low, self.high, more)) > 1)


def domain(
    values: Iterable[float | None],
    *,
    include: Iterable[float] = (),
    pad: float = 0.04,
    within: tuple[float, float] | None = None,
) -> tuple[float, float]:
    """The range of known `values` and of `include`, a little wider but `within` its ends; never empty or reversed."""
    numbers_given = [float(v) for v in [*values, *include] if v is not None]
    if not numbers_given or not all(map(math.isfinite, numbers_given)):
        raise BadValue("at least one finite value is needed to draw an axis", found=numbers_given[:5])
    low, high = min(numbers_given), max(numbers_given)
    margin = pad * (high - low) if high > low else max(abs(high), 1.0) * 0.1
    least, most = within or (-math.inf, math.inf)
    return min(low, max(low - margin, least)), max(high, min(high + margin, most))


def ticks(low: float, high: float, most: int) -> list[float]:
    """At most about `most` multiples of 1, 2, 2.5 or 5 times a power of ten in [low, high]."""
    raw = (high - low) / max(1, most)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw * (1 - 1e-9))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    places = max(0, 4 - math.floor(math.log10(step)))
    return [round(i * step, places) for i in range(first, last + 1)]


def tick_labels(values: Sequence[float], *, percent: bool = False) -> list[str]:
    """All ticks with the same number of decimals, as few as tell them apart."""
    scaled = [100 * v if percent else v for v in values]
    step = min((abs(b - a) for a, b in itertools.pairwise(scaled)), default=1.0)
    places = next((d for d in range(15) if all(abs(round(v, d) - v) < 1e-3 * step for v in scaled)), 15)
    return [numbers.fixed(v, places) + ("%" if percent else "") for v in scaled]


def lanes(positions: Sequence[float], labels: Sequence[str]) -> list[int]:
    """For labels centred at `positions`: the lowest lane where each fits beside its neighbours."""
    ends: list[float] = []
    chosen = [0] * len(positions)
    for i in sorted(range(len(positions)), key=lambda i: positions[i]):
        half = text_width(labels[i]) / 2
        lane = next((k for k, end in enumerate(ends) if positions[i] - half >= end + 10), len(ends))
        ends[lane : lane + 1] = [positions[i] + half]
        chosen[i] = lane
    return chosen


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Positions moved as little as a greedy pass can, to stand at least `gap` apart within [low, high]."""
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    placed = [0.0] * len(positions)
    floor = low
    for i in order:
        placed[i] = max(positions[i], floor)
        floor = placed[i] + gap
    ceiling = high
    for i in reversed(order):
        placed[i] = min(placed[i], ceiling)
        ceiling = placed[i] - gap
    return placed


# -- axes, grid lines, legends --------------------------------------------------------------------------------------

LINE = 18
"""Pixels from one line of text to the next."""
_X_ROOM = 70
"""Pixels between two ticks of a horizontal axis, about."""


@dataclass(frozen=True)
class LegendKey:
    """One entry of a legend: a `swatch` class of the style sheet and its words."""

    swatch: str
    words: str
    shape: str = "box"
    """box, line, dot or diamond."""
    shade: float | None = None
    """How much of its color a box has, of 1."""


def x_axis(scale: LinearScale, y: float, width: float, *, room: float = _X_ROOM, label: str = "") -> Markup:
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


def x_grid(scale: LinearScale, top: float, bottom: float) -> Markup:
    """Vertical hairlines at the ticks."""
    return group(*(line(scale(v), top, scale(v), bottom, "grid") for v in scale.ticks(_X_ROOM)))


def y_grid(scale: LinearScale, left: float, right: float, *, room: float = 42, percent: bool = False) -> Markup:
    """Horizontal hairlines with their numbers at the left."""
    values = scale.ticks(room)
    parts = []
    for value, words in zip(values, tick_labels(values, percent=percent)):
        y = scale(value)
        parts += [line(left, y, right, y, "grid"), text(left - 7, y + 4, words, "tick", anchor="end")]
    return group(*parts)


def y_ticks_width(scale: LinearScale, *, room: float = 42, percent: bool = False) -> float:
    """Pixels the numbers of `y_grid` need left of the plot."""
    return 10 + max(text_width(words) for words in tick_labels(scale.ticks(room), percent=percent))


def legend(keys: Sequence[LegendKey], left: float, top: float, width: float) -> tuple[Markup, float]:
    """The entries in rows no wider than `width`, and the height they take."""
    parts, x, y = [], left, top + 11
    for key in keys:
        needed = 20 + text_width(key.words) + 14
        if x > left and x + needed > left + width:
            x, y = left, y + LINE
        parts += [_swatch(key, x, y), text(x + 20, y, key.words, "label", room=width - 20)]
        x += needed
    return group(*parts, class_="legend"), (y - top + 11 if keys else 0)


def _swatch(key: LegendKey, x: float, y: float) -> Markup:
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
