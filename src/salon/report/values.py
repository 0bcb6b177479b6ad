"""Numbers on a page that can be proved equal to the numbers of a JSON document.

`located(report)` is the same report, with every number carrying its path. Tables and charts write that path beside the
number: `<data data-key="criteria.Mood.mean_tau.value" data-value="0.147">0.147</data>`. Arithmetic gives plain numbers
back, so a derived number never claims a path. `disagreements(html, document)` finds each number that differs, so a test
can compare a page with its JSON number by number.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields as dataclass_fields, is_dataclass, replace
from fractions import Fraction
from html.parser import HTMLParser
from typing import TypedDict, TypeVar, cast

from markupsafe import Markup
from pydantic import BaseModel

from salon.errors import BadColumns
from salon.report import numbers, svg
from salon.report.svg import element

__all__ = [
    "disagreements",
    "estimate_parts",
    "estimate_value",
    "join",
    "lookup",
    "numbers_in",
    "path",
    "value",
    "written",
]


def lookup(document: object, key: str) -> object:
    """The value at `key` in nested mappings, sequences and result objects."""
    value_at = document
    for part in _parts(key):
        value_at = _lookup_step(value_at, part, key)
    return value_at


def value(raw: object, key: str | None, words: str) -> Markup:
    """One number as people read it, carrying its key (its own if it is a located number) and its raw value."""
    key = getattr(raw, "key", None) if key is None else key
    marks = {} if key is None else {"data_key": key, "data_value": written(raw)}
    return element("data", words, value=written(raw), **marks)


def written(raw: object) -> Markup | str:
    """The raw number exactly: `repr` of the Python number, `null` for None, `p/q` for a fraction."""
    if isinstance(raw, Fraction | str):
        return str(raw)
    number = numbers.plain(raw)
    return "null" if number is None else Markup(repr(number))


def estimate_value(estimate: object, key: str | None, decimals: int | None = None) -> Markup:
    """An estimate's value and, softer, its interval; each of the three numbers carries its key."""
    mid, low, high = estimate_parts(estimate)
    places = numbers.decimals_for(low, high) if decimals is None else decimals
    keys = [None if key is None else join(key, part) for part in ("value", "low", "high")]
    if not isinstance(estimate, Mapping) and not hasattr(estimate, "value"):
        keys[0] = key
    middle = value(mid, keys[0], numbers.fixed(mid, places))
    if low is None and high is None:
        return middle
    ends = [value(v, k, numbers.fixed(v, places)) for v, k in zip((low, high), keys[1:])]
    return middle + element("span", " [", ends[0], ", ", ends[1], "]", class_="interval")


def estimate_parts(estimate: object) -> tuple[float | None, float | None, float | None]:
    """Value, low and high of an Estimate, of its JSON mapping, of a triple or of a bare number."""
    if isinstance(estimate, Mapping):
        triple = tuple(estimate.get(part) for part in ("value", "low", "high"))
    elif isinstance(estimate, Sequence):
        triple = tuple(estimate)
    elif hasattr(estimate, "value"):
        triple = (estimate.value, getattr(estimate, "low", None), getattr(estimate, "high", None))
    else:
        triple = (estimate, None, None)
    value, low, high = (numbers.plain(v) for v in triple)
    return value, low, high


def numbers_in(html: str) -> list[tuple[str, str]]:
    """Every (key, raw value) a page carries, in its order."""
    reader = _KeyReader()
    reader.feed(html)
    return reader.found


def disagreements(html: str, document: object) -> list[str]:
    """Sentences for every keyed number of the page that is not the document's; empty when all agree."""
    return [
        f"{key}: page {page_value}, document {_json(lookup(document, key))}"
        for key, page_value in numbers_in(html)
        if page_value != _json(lookup(document, key))
    ]


class _KeyReader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if "data-key" in attributes:
            self.found.append((attributes["data-key"] or "", attributes.get("data-value") or ""))


def _json(raw: object) -> str:
    """A value of the document in the form a page writes it."""
    if isinstance(raw, float) and math.isfinite(raw):
        return repr(raw)
    return raw if isinstance(raw, str) else json.dumps(raw) if isinstance(raw, bool) else str(written(raw))


def _parts(key: str) -> Iterator[str]:
    for part in re.findall(r"(?:\\.|[^.\\])+", key):
        yield re.sub(r"\\(.)", r"\1", part)


def _lookup_step(holder: object, part: str, key: str) -> object:
    if isinstance(holder, Mapping):
        if part in holder:
            return holder[part]
        raise BadColumns.missing(part, [str(k) for k in holder], where=f"path {key!r}")
    if isinstance(holder, Sequence) and not isinstance(holder, str) and part.isdigit() and int(part) < len(holder):
        return holder[int(part)]
    if hasattr(holder, part):
        return getattr(holder, part)
    raise BadColumns.missing(part, [], where=f"path {key!r}")


# -- located numbers ------------------------------------------------------------------------------------------------

D = TypeVar("D")
_UNNUMBERED = (bool, str, type(None))


class LocatedFloat(float):
    """A float with its path in a document."""

    key: str

    def __new__(cls, number: float, key: str) -> LocatedFloat:
        self = super().__new__(cls, number)
        self.key = key
        return self


class LocatedInt(int):
    """A whole number with its path in a document."""

    key: str

    def __new__(cls, number: int, key: str) -> LocatedInt:
        self = super().__new__(cls, number)
        self.key = key
        return self


def located(document: D, key: str = "") -> D:
    """`document` (records, mappings and sequences) with every number located; the types around them stay.

    A name that a page cannot write unchanged cannot be part of a path: numbers under it stay plain.
    """
    if isinstance(document, _UNNUMBERED):
        return document
    if isinstance(document, float):
        return cast(D, LocatedFloat(document, key))
    if isinstance(document, int):
        return cast(D, LocatedInt(document, key))
    if isinstance(document, BaseModel):
        fields = ((name, getattr(document, name)) for name in type(document).model_fields)
        parts = {
            name: located(field_value, _under(key, name))
            for name, field_value in fields
            if not isinstance(field_value, _UNNUMBERED)
        }
        return document.model_copy(update=parts)
    if is_dataclass(document) and not isinstance(document, type):
        held = ((field.name, getattr(document, field.name)) for field in dataclass_fields(document))
        return cast(D, replace(document, **{name: located(number, _under(key, name)) for name, number in held}))
    if isinstance(document, Mapping):
        return cast(D, {k: located(v, _under(key, k)) if _writable(k) else v for k, v in document.items()})
    if isinstance(document, list | tuple):
        return type(document)(located(v, _under(key, i)) for i, v in enumerate(document))
    return document


class NumberMarks(TypedDict, total=False):
    """Attributes of a drawn number."""

    data_key: str
    data_value: str


def number_marks(number: object) -> NumberMarks:
    """The attributes that tie a drawn number to its document; none for a number without a path."""
    if isinstance(number, LocatedFloat | LocatedInt):
        return {"data_key": number.key, "data_value": repr(number)}
    return {}


def path(*parts: object) -> str:
    """Join names into a key; a dot inside a name is written `\\.` so that any name can be part of a path."""
    return ".".join(str(p).replace("\\", "\\\\").replace(".", "\\.") for p in parts if p != "")


def join(*keys: str) -> str:
    """Join keys that are paths already."""
    return ".".join(k for k in keys if k)


def _under(key: str, name: object) -> str:
    part = path(name) if isinstance(name, str) else str(name)
    return f"{key}.{part}" if key and part else key or part


def _writable(name: object) -> bool:
    words = str(name)
    return words != "" and "\r" not in words and svg.clean(words) == words
