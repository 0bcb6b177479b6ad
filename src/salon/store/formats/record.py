"""One JSON record, read field by field: each value has the type a format promises, or the error says where not."""

from __future__ import annotations

import math
from typing import Any

from salon.errors import BadColumns, BadValue

MAX_TEXT = 1_000_000


class Record:
    """A JSON object with a place, so that every complaint can name it."""

    def __init__(self, fields: dict[str, Any], where: str) -> None:
        self.fields = fields
        self.where = where

    def has(self, name: str) -> bool:
        """True when the field is there and not null."""
        return self.fields.get(name) is not None

    def text(self, name: str) -> str:
        """A field that must hold text (numbers count as their digits) and may not be blank."""
        text = self.maybe_text(name)
        if text is None or not text.strip():
            if name not in self.fields:
                raise BadColumns.missing(name, self.fields, where=self.where)
            raise BadValue(f"{name!r} may not be blank", where=self.where)
        return text

    def maybe_text(self, name: str) -> str | None:
        """A field that may be absent."""
        value = self.fields.get(name)
        return None if value is None else self.as_text(value, name)

    def as_text(self, value: Any, name: str) -> str:
        """A value as text."""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise BadValue(f"{name!r} must be text", found=repr(value), where=self.where)
        text = str(value)
        if len(text) > MAX_TEXT:
            raise BadValue(f"{name!r} may hold at most {MAX_TEXT:,} characters", found=text, where=self.where)
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                raise BadValue(
                    f"{name!r} must be Unicode text", found="half a surrogate pair", where=self.where
                ) from None
        return text

    def number(self, name: str) -> float:
        """A field that must hold a finite number."""
        if name not in self.fields:
            raise BadColumns.missing(name, self.fields, where=self.where)
        return self.as_number(self.fields[name], name)

    def maybe_number(self, name: str) -> float | None:
        """A number that may be absent."""
        return self.number(name) if self.has(name) else None

    def as_number(self, value: Any, name: str) -> float:
        """A value as a finite number."""
        if isinstance(value, bool) or not isinstance(value, int | float) or not _finite(value):
            raise BadValue(f"{name!r} must be a finite number", found=repr(value), where=self.where)
        return float(value)

    def entries(self, name: str, length: int | None = None) -> list[Any]:
        """A field that must hold a list, of `length` entries if one is given."""
        if name not in self.fields:
            raise BadColumns.missing(name, self.fields, where=self.where)
        value = self.fields[name]
        if not isinstance(value, list) or (length is not None and len(value) != length):
            many = "" if length is None else f" of {length}"
            raise BadValue(f"{name!r} must be a list{many}", found=repr(value), where=self.where)
        return value

    def texts(self, name: str, length: int | None = None) -> list[str]:
        """A list of text."""
        return [self.as_text(value, name) for value in self.entries(name, length)]

    def numbers(self, name: str, length: int | None = None) -> list[float]:
        """A list of finite numbers."""
        return [self.as_number(value, name) for value in self.entries(name, length)]

    def records(self, name: str) -> list[Record]:
        """A list of objects."""
        return [self.as_record(value, f"{name}[{i}]") for i, value in enumerate(self.entries(name))]

    def record(self, name: str) -> Record:
        """A field that must hold an object."""
        if name not in self.fields:
            raise BadColumns.missing(name, self.fields, where=self.where)
        return self.as_record(self.fields[name], name)

    def as_record(self, value: Any, name: str) -> Record:
        """A value as a record of its own."""
        if not isinstance(value, dict):
            raise BadValue(f"{name!r} must be an object", found=repr(value), where=self.where)
        return Record(value, f"{self.where}, {name}")


def _finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond any float
        return False
