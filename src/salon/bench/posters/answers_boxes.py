"""Boxes in a response, read by one declared convention: nothing is tried out to see which reading scores best.

    share 0-1 · percent 0-100 · thousand 0-1000 · pixel of the picture

Boxes are four numbers x1, y1, x2, y2 in brackets or under keys, with or without the text they are for. A box that is
inverted, empty, outside the picture or not made of numbers is unread: its place stays empty.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from salon.bench.posters.answers_said import Read, Unread, bare, json_values, said, unanswered, under
from salon.bench.posters.answers_text import visible
from salon.bench.posters.item import Box

Convention = Literal["share", "percent", "thousand", "pixel"]
SCALES: dict[str, float] = {"share": 1.0, "percent": 100.0, "thousand": 1000.0}
MOST_BOXES = 1000
_SLACK = 1e-6
_BOX_KEYS = ("bbox", "bbox_2d", "box", "box_2d", "bounding_box", "coordinates", "position", "region")
_NAME_KEYS = ("text", "label", "name", "phrase", "content", "target", "element")
_CORNERS = (("x1", "y1", "x2", "y2"), ("xmin", "ymin", "xmax", "ymax"), ("left", "top", "right", "bottom"))
_NUMBER = re.compile(r"[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,3})?", re.ASCII)
_N = r"\s{0,8}([+-]?(?:\d{1,9}(?:\.\d{0,20})?|\.\d{1,20}|nan|inf)%?)\s{0,8}"
_FLAT = re.compile(rf"[\[(]{_N},{_N},{_N},{_N}[\])]", re.IGNORECASE)


@dataclass(frozen=True)
class BoxAnswer:
    """The boxes of a response in its order; None for one that could not be read."""

    boxes: tuple[Box | None, ...]
    names: tuple[str | None, ...]

    @property
    def unread(self) -> int:
        """Boxes that were given and could not be read."""
        return sum(box is None for box in self.boxes)

    def placed(self, texts: Sequence[str], n: int) -> list[Box | None]:
        """A box for each of `n` places: by the texts it names where it names any of them, else in its order."""
        wanted = [_key(text) for text in texts]
        given = [None if name is None else _key(name) for name in self.names]
        if len(wanted) != n or not set(given) & set(wanted):
            return [*self.boxes[:n], *[None] * max(0, n - len(self.boxes))]
        left = list(range(len(given)))
        found: list[Box | None] = []
        for key in wanted:
            at = next((i for i in left if given[i] == key), None)
            found.append(None if at is None else self.boxes[at])
            left = [i for i in left if i != at]
        return found


def read_boxes(response: str | None, convention: Convention, size: tuple[int, int]) -> Read | Unread:
    """The boxes of a response: those of its last JSON list or object that has any, or else all in brackets."""
    text = said(response)
    if isinstance(text, Unread):
        return text
    for value, _ in reversed(json_values(text)):
        raw = [] if _is_box(value) else _nested(value)  # a box that stands alone may be one of several lines
        if raw:
            return Read(_answer(raw, convention, size))
    flat = islice(_FLAT.finditer(text), MOST_BOXES)
    raw = [(_before(text, found.start()), list(found.groups())) for found in flat]
    return Read(_answer(raw, convention, size)) if raw else unanswered(text)


Raw = list[tuple[str | None, list[Any]]]


def _is_box(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 4 and not any(isinstance(one, list | dict) for one in value)


def _nested(value: Any, name: str | None = None, depth: int = 0) -> Raw:
    """Boxes inside lists and objects, each with the name nearest to it."""
    if depth > 6:
        return []
    if _is_box(value):
        return [(name, value)]
    if isinstance(value, list):
        return [box for part in value for box in _nested(part, name, depth + 1)]
    if not isinstance(value, dict):
        return []
    own = under(value, _NAME_KEYS)
    name = own if isinstance(own, str) else name
    held = under(value, _BOX_KEYS)
    corners = next((keys for keys in _CORNERS if all(key in value for key in keys)), None)
    if corners:
        return [(name, [value[key] for key in corners])]
    if held is not None:
        return _nested(held, name, depth + 1)
    return [box for key, part in value.items() for box in _nested(part, name or str(key), depth + 1)]


def _before(text: str, end: int) -> str | None:
    """What a line says before its box, without list marks and colons."""
    line = text[max(0, text.rfind("\n", 0, end) + 1, end - 300) : end]
    words = bare(re.sub(r"^\s{0,8}(?:[-*•]|\d{1,3}[.)])\s", "", line).strip().rstrip(":=-–→>"))
    return words or None


def _answer(raw: Raw, convention: Convention, size: tuple[int, int]) -> BoxAnswer:
    raw = raw[:MOST_BOXES]
    return BoxAnswer(tuple(_box(box, convention, size) for _, box in raw), tuple(name for name, _ in raw))


def _box(raw: Sequence[Any], convention: Convention, size: tuple[int, int]) -> Box | None:
    numbers = [_number(one, convention) for one in raw]
    width, height = size if convention == "pixel" else (SCALES[convention], SCALES[convention])
    x1, y1, x2, y2 = (n / side for n, side in zip(numbers, (width, height, width, height)))
    inside = all(math.isfinite(n) and -_SLACK <= n <= 1 + _SLACK for n in (x1, y1, x2, y2))
    return (x1, y1, x2, y2) if inside and x1 < x2 and y1 < y2 else None


def _number(value: Any, convention: Convention) -> float:
    """A coordinate; NaN where it is none, or speaks of percents under another convention."""
    if isinstance(value, str):
        words, percent, rest = value.strip().partition("%")
        if rest or (percent and convention != "percent"):
            return math.nan
        return float(words) if _NUMBER.fullmatch(words.strip()) else math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    return float(value) if abs(value) < 1e12 else math.nan


def _key(text: str) -> str:
    return visible(text).casefold()
