"""Boxes in a response, read by one declared convention: nothing is tried out to see which reading scores best.

    share 0-1 · percent 0-100 · thousand 0-1000 · pixel of the picture that was shown

Boxes are four numbers x1, y1, x2, y2 in brackets, under keys or on a line, as two corners, or as a corner with width
and height under keys; with or without the text they are for. A box that is inverted, empty, far outside the picture or
not made of numbers is unread: its place stays empty. One that sticks out by less than a twentieth is cut at the edge.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Literal

from salon.bench.posters.answers_said import (
    CUT_OFF,
    SEVERAL,
    Read,
    Unread,
    bare,
    is_cut_off,
    json_spans,
    plainly_said,
    unanswered,
    under,
)
from salon.bench.posters.answers_text import visible
from salon.bench.posters.item import Box

Convention = Literal["share", "percent", "thousand", "pixel"]
SCALES: dict[str, float] = {"share": 1.0, "percent": 100.0, "thousand": 1000.0}
MOST_BOXES = 1000
JUST_OUTSIDE = 0.05
"""How far, as a share of the picture, a box may stick out and still be cut at the edge."""
_BOX_KEYS = ("bbox", "bbox_2d", "box", "box_2d", "bounding_box", "boundingbox", "coordinates", "coords", "position",
             "region", "rect", "boxes", "bboxes", "bounding_boxes", "normalized_bbox", "location")  # fmt: skip
_NAME_KEYS = ("text", "label", "name", "phrase", "content", "target", "element", "text_content", "word")
_CORNERS = (("x1", "y1", "x2", "y2"), ("xmin", "ymin", "xmax", "ymax"), ("x_min", "y_min", "x_max", "y_max"),
            ("left", "top", "right", "bottom"), ("x0", "y0", "x1", "y1"))  # fmt: skip
_SIDES = (("x", "y", "width", "height"), ("x", "y", "w", "h"), ("left", "top", "width", "height"))
_NUMBER = re.compile(r"[+-]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][+-]?\d{1,3})?", re.ASCII)
_N = r"([+-]?(?:\d{1,9}(?:\.\d{0,20})?|\.\d{1,20}|nan|inf)%?)"
_S = r"\s{0,8}"
_FLAT = re.compile(rf"[\[(]{_S}{_N}{_S},{_S}{_N}{_S},{_S}{_N}{_S},{_S}{_N}{_S}[\])]", re.IGNORECASE)
_PAIRS = re.compile(
    rf"[\[(]{_S}{_N}{_S},{_S}{_N}{_S}[\])]{_S}(?:,|to|-|->|;)?{_S}[\[(]{_S}{_N}{_S},{_S}{_N}{_S}[\])]", re.IGNORECASE
)
_NAMED = re.compile(
    r"\b" + rf"[=: ]{{1,3}}{_N}[,; ]{{0,3}}".join(
        (r"(?:left|x_?min|x_?1)", r"(?:top|y_?min|y_?1)", r"(?:right|x_?max|x_?2)", r"(?:bottom|y_?max|y_?2)")
    ) + rf"[=: ]{{1,3}}{_N}",
    re.IGNORECASE,
)  # fmt: skip
_ROW = re.compile(
    rf"(?P<name>.{{0,200}}?(?:[:=]|\b)\s{{0,3}})??{_N}[,\s]{_S}{_N}[,\s]{_S}{_N}[,\s]{_S}{_N}[.,]?", re.IGNORECASE
)
_OTHER = re.compile(r"[\[(][^\[\]()]{0,80}\d[^\[\]()]{0,20}[,;\s][^\[\]()]{0,20}\d[^\[\]()]{0,80}[\])]")
_LEAD = re.compile(r"^\s{0,8}(?:[-*•+]|\d{1,3}[.)])\s+")


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
        places: list[int | None] = []
        for key in wanted:
            places.append(next((i for i in left if given[i] == key), None))
            left = [i for i in left if i != places[-1]]
        if len(given) == n:  # a box for each text, some of them misspelt: the rest in their order
            places = [left.pop(0) if place is None else place for place in places]
        return [None if place is None else self.boxes[place] for place in places]


def read_boxes(response: str | None, convention: Convention, size: tuple[int, int]) -> Read | Unread:
    """The boxes of a response: those of its only list, those of all its single boxes, or else those on its lines."""
    text = plainly_said(response)
    if isinstance(text, Unread):
        return text
    if is_cut_off(text):
        return CUT_OFF
    spans = json_spans(text)
    held = [(raw, text[max(0, start - 300) : start]) for value, start, _ in spans if (raw := _nested(value))]
    outside = "".join(text[a:b] for a, b in zip([0, *(end for *_, end in spans)], [*(at for _, at, _ in spans), None]))
    if held and not _OTHER.search(outside):
        return _chosen(held, convention, size)
    raw = _flat(text) or ([] if held else _rows(text))
    if not raw and re.fullmatch(r"\W{0,20}(?:\w{1,12}\W{1,3}){0,6}\[\s{0,4}\]\W{0,20}", text[:200]):
        return Read(BoxAnswer((), ()))  # an empty list is an answer
    return Read(_answer(raw, convention, size)) if raw else unanswered(text)


Raw = list[tuple[str | None, list[Any]]]


def _chosen(held: list[tuple[Raw, str]], convention: Convention, size: tuple[int, int]) -> Read | Unread:
    """Single boxes belong together; of several lists of boxes the last counts if it says that it is the answer."""
    if all(len(raw) == 1 for raw, _ in held):
        named = [(raw[0][0] or _before(before), raw[0][1]) for raw, before in held]
        return Read(_answer(named, convention, size))
    lists = [(raw, before) for raw, before in held if len(raw) > 1]
    raw, before = held[-1]
    if len(held) == 1 or all(other == raw for other, _ in held):
        return Read(_answer(raw, convention, size))
    if (
        lists
        and lists[-1] == held[-1]
        and re.search(r"\b(?:answer|final|corrected|result)\b[^\[\]\n]{0,40}\n?$", before, re.I)
    ):
        return Read(_answer(raw, convention, size))
    return SEVERAL


def _is_box(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 4 and not any(isinstance(part, list | dict) for part in value)


def _is_pair(value: Any) -> bool:
    """Two corners."""
    return (
        isinstance(value, list) and len(value) == 2
        and all(isinstance(c, list) and len(c) == 2 and all(isinstance(n, int | float) for n in c) for c in value)
    )  # fmt: skip


def _nested(value: Any, name: str | None = None, depth: int = 0) -> Raw:
    """Boxes inside lists and objects, each with the name nearest to it."""
    if depth > 6:
        return []
    if _is_box(value):
        return [(name, value)]
    if _is_pair(value):
        return [(name, [*value[0], *value[1]])]
    if isinstance(value, list):
        return _in_list(value, name, depth)
    if not isinstance(value, dict):
        return []
    own = under(value, _NAME_KEYS)
    name = own if isinstance(own, str) else name
    lowered = {str(key).strip().lower(): part for key, part in value.items()}
    corners = next((keys for keys in _CORNERS if all(key in lowered for key in keys)), None)
    if corners:
        return [(name, [lowered[key] for key in corners])]
    sides = next((keys for keys in _SIDES if all(isinstance(lowered.get(key), int | float) for key in keys)), None)
    if sides:
        x, y, width, height = (lowered[key] for key in sides)
        return [(name, [x, y, x + width, y + height])]
    held = under(value, _BOX_KEYS)
    if held is not None:
        return _nested(held, name, depth + 1)
    return [box for key, part in value.items() for box in _nested(part, name or str(key), depth + 1)]


def _in_list(value: list[Any], name: str | None, depth: int) -> Raw:
    """The boxes of a list; an element that is nothing keeps its place, and numbers in a row are taken by fours."""
    if len(value) > 4 and len(value) % 4 == 0 and all(_is_number(part) for part in value):
        return [(name, value[i : i + 4]) for i in range(0, len(value), 4)]
    if len(value) == 2 and isinstance(value[0], str) and _is_box(value[1]):  # a text and its box
        return [(value[0], value[1])]
    parts = [_nested(part, name, depth + 1) for part in value]
    empty: Raw = [(None, [None] * 4)]
    if not any(parts):
        return [(name, [None] * 4)] * len(value) if value and all(_is_number_list(part) for part in value) else []
    return [box for part, own in zip(value, parts) for box in (own or (empty if _is_nothing(part) else []))]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_number_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(_is_number(part) for part in value)


def _is_nothing(value: Any) -> bool:
    return value is None or value == [] or _is_number_list(value) or (isinstance(value, str) and len(value) < 20)


def _flat(text: str) -> Raw:
    """Boxes in prose: four numbers in brackets, two corners, or numbers behind the names of sides."""
    for pattern in (_PAIRS, _FLAT, _NAMED):
        matches = list(islice(pattern.finditer(text), MOST_BOXES))
        if matches and not _OTHER.search(pattern.sub(" ", text)):  # a box in another hand would be lost
            return [(_before(text[: match.start()]), list(match.groups())) for match in matches]
    return []


def _rows(text: str) -> Raw:
    """A box on each line, or between semicolons, without brackets; nothing where a line has other numbers."""
    raw: Raw = []
    for row in re.split(r"[\n;|]", text[:40_000])[:MOST_BOXES]:
        row = _LEAD.sub("", row).strip(" \t.,()[]*")
        if not re.search(r"\d", row):
            continue
        match = _ROW.fullmatch(row[:400])
        numbers = re.findall(r"\d[\d.]*", row[match.start(2) :] if match else "")
        if match is None or len(numbers) != 4:
            return []
        raw.append((bare((match["name"] or "").strip().rstrip(":=-")) or None, list(match.groups()[1:])))
    return raw


def _before(text: str) -> str | None:
    """What a line says before its box, without list marks and colons."""
    line = text[max(0, text.rfind("\n") + 1, len(text) - 300) :]
    words = bare(_LEAD.sub("", line).strip().rstrip(":=-→>"))
    return words or None


def _answer(raw: Raw, convention: Convention, size: tuple[int, int]) -> BoxAnswer:
    raw = raw[:MOST_BOXES]
    return BoxAnswer(tuple(_box(box, convention, size) for _, box in raw), tuple(name for name, _ in raw))


def _box(raw: Sequence[Any], convention: Convention, size: tuple[int, int]) -> Box | None:
    numbers = [_number(part, convention) for part in raw]
    width, height = size if convention == "pixel" else (SCALES[convention], SCALES[convention])
    shares = [n / side for n, side in zip(numbers, (width, height, width, height))]
    if not all(math.isfinite(n) and -JUST_OUTSIDE <= n <= 1 + JUST_OUTSIDE for n in shares):
        return None
    x1, y1, x2, y2 = (min(max(n, 0.0), 1.0) for n in shares)
    return (x1, y1, x2, y2) if x1 < x2 and y1 < y2 else None


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
    """How a text is compared that names a box: without case and punctuation, unless it has nothing else."""
    letters = "".join(sign for sign in text if sign.isalnum()).casefold()
    return letters or visible(text)
