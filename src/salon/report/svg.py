"""Static SVG, written by hand: elements that escape themselves, text that knows its width, drawings that
can be redrawn for a narrower page.
"""

from __future__ import annotations

import functools
import hashlib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from markupsafe import Markup, escape

WIDE = 840
"""Pixels of a full-width drawing: the text column of a page on a desk."""
SMALL = 264
"""Pixels of one of three small multiples side by side."""
NARROW = 342
"""Pixels of a drawing on a phone (390 less the margins)."""
FONT = 12

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


def drawn(rows: Callable[..., Rows]) -> Callable[[Callable[..., Markup]], Callable[..., Drawing]]:
    """Make a function of `width` return a Drawing. Phones get `drawing.at(NARROW)`: text keeps its size.

    `rows` takes the same arguments without `width` and gives the numbers that are drawn.
    """

    def decorate(draw: Callable[..., Markup]) -> Callable[..., Drawing]:
        @functools.wraps(draw)
        def wrapper(*args: Any, width: int = WIDE, **options: Any) -> Drawing:
            again = functools.partial(draw, *args, **options)
            return Drawing(
                again(width=width), width, lambda other: again(width=other), functools.partial(rows, *args, **options)
            )

        return wrapper

    return decorate


def canvas(width: float, height: float, title: str, description: str, *children: object) -> Markup:
    """The root: scales by its viewBox, and tells a screen reader what it shows."""
    body = Markup("".join(_legible(c) for c in children if c is not None))
    digest = hashlib.blake2s(f"{title}{description}{body}".encode(errors="replace"), digest_size=5).hexdigest()
    return element(
        "svg",
        element("title", title, id=f"t{digest}"),
        element("desc", description, id=f"d{digest}"),
        body,
        class_="chart",
        role="img",
        aria_labelledby=f"t{digest} d{digest}",
        viewBox=f"0 0 {_short(width)} {_short(height)}",
        width=width,
        height=height,
    )


def element(tag: str, *children: object, **attributes: object) -> Markup:
    """`<tag ...>children</tag>`; everything that is not Markup is escaped, None attributes are left out."""
    named = ((k.rstrip("_").replace("_", "-"), v) for k, v in attributes.items() if v is not None)
    written = "".join(f' {name}="{_legible(_short(v))}"' for name, v in named)
    inside = "".join(_legible(c) for c in children if c is not None)
    return Markup(f"<{tag}{written}>{inside}</{tag}>")


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
    shown = words if room is None else fit(words, room, size)
    title = element("title", words) if shown != words else None
    font = None if size == FONT else size
    return element("text", title, shown, x=x, y=y, class_=class_, text_anchor=anchor, font_size=font, **attributes)


BOLD = 1.08
"""How much wider than `text_width` bold words are at most."""


def text_width(words: str, size: float = FONT) -> float:
    """Pixels `words` takes at most in the usual sans faces, of which DejaVu Sans is the widest: labels never touch."""
    return size * sum(_glyph_width(c) for c in words)


def fit(words: str, room: float, size: float = FONT) -> str:
    """`words`, or its beginning and an ellipsis, within `room` pixels."""
    if text_width(words, size) <= room:
        return words
    kept, used = "", text_width("…", size)
    for glyph in words:
        used += size * _glyph_width(glyph)
        if used > room:
            break
        kept += glyph
    return kept.rstrip(" …") + "…"


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


def _short(value: object) -> object:
    """Numbers to a hundredth of a pixel."""
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        return value
    shown = f"{float(value):.2f}".rstrip("0").rstrip(".")
    return "0" if shown == "-0" else shown


def _legible(value: object) -> str:
    """Escaped, and without the characters XML forbids: a NUL in an id must not break the page."""
    return value if isinstance(value, Markup) else clean(str(escape(value)))
