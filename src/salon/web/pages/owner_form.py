"""What the owner's forms send, checked; and forms that work once, however often a page is loaded again."""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import FormData, UploadFile

from salon.errors import BadValue
from salon.web.auth import read_form

_MOST_KEYS = 1000


async def _fields(request: Request) -> AsyncIterator[FormData]:
    form = await read_form(request)
    try:
        yield form
    finally:
        await form.close()  # files too, now that the route is done


Fields = Annotated[FormData, Depends(_fields)]
"""The fields of a form. `check_csrf` has read them before; here they are only looked up."""


def text_of(fields: FormData, name: str, *, most: int = 200, default: str | None = None) -> str:
    """One field; BadValue when it is missing, too long, or a file."""
    value = fields.get(name, default)
    if not isinstance(value, str) or len(value) > most:
        raise BadValue(f"{name}: a text of at most {most:,} characters is needed", found=_found(value))
    return value


def number_of(fields: FormData, name: str, *, low: int, high: int) -> int:
    """One field as a whole number between `low` and `high`."""
    text = text_of(fields, name, most=12).strip()
    if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
        raise BadValue(f"{name}: a whole number from {low:,} to {high:,} is needed", found=repr(text))
    return int(text)


def files_of(fields: FormData, name: str) -> list[UploadFile]:
    """The files of one field that have something in them."""
    return [one for one in fields.getlist(name) if isinstance(one, UploadFile) and (one.filename or one.size)]


def _found(value: object) -> str:
    if isinstance(value, str):
        return f"{len(value):,} characters"
    return "nothing" if value is None else "a file"


class Once:
    """Keys of forms that were used: loading the answer of a form again does not do it again."""

    def __init__(self) -> None:
        self._used: OrderedDict[str, None] = OrderedDict()
        self._turn = threading.Lock()

    @staticmethod
    def new() -> str:
        """A key for a form."""
        return secrets.token_urlsafe(9)

    def use(self, key: str) -> bool:
        """Whether the key is used for the first time."""
        with self._turn:
            if key in self._used:
                return False
            self._used[key] = None
            if len(self._used) > _MOST_KEYS:
                self._used.popitem(last=False)
            return True
