"""Numbers that know where they stand in a JSON document.

`located(report)` is the same report, every number of it carrying its path. Tables and charts write that path beside
what they print, so a page cannot name one number and show another; arithmetic gives plain numbers back, so a derived
number never claims a path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict, TypeVar, cast

from pydantic import BaseModel

from salon.report import svg

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
        parts = {name: located(held, _under(key, name)) for name, held in fields if not isinstance(held, _UNNUMBERED)}
        return document.model_copy(update=parts)
    if isinstance(document, Mapping):
        return cast(D, {k: located(v, _under(key, k)) if _writable(k) else v for k, v in document.items()})
    if isinstance(document, list | tuple):
        return type(document)(located(v, _under(key, i)) for i, v in enumerate(document))
    return document


class Marks(TypedDict, total=False):
    """Attributes of a drawn number."""

    data_key: str
    data_value: str


def marks(number: object) -> Marks:
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
