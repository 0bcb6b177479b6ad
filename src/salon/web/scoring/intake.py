"""Pictures as they come in: a form, base64, or a path below an allowed root. No address is ever fetched.

Everything that can be refused cheaply is refused before a picture is decoded: the format, the size that its header
claims, its bytes, the number of pictures. Parsing runs in a thread, so that a large body does not stop the others.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import re
import stat
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from fastapi import Request
from pydantic import ValidationError
from starlette.concurrency import run_in_threadpool

from salon.errors import BadFile, BadValue
from salon.select.service.batch import Asked
from salon.select.service.errors import BadPicture
from salon.store.pictures import is_inside, open_header
from salon.study.prompt import Prompt
from salon.web.scoring.forms import Field, read_form
from salon.web.scoring.settings import ScoringSettings
from salon.web.scoring.shapes import ImageIn, LookIn, PromptIn

L = TypeVar("L", bound=LookIn)
FILES = "images"
_DATA = re.compile(r"data:image/(?:png|jpeg|webp|gif);base64,", re.IGNORECASE)
_ADDRESS = re.compile(r"\s*(?:[A-Za-z][A-Za-z0-9+.-]*:|//|\\\\)")
_PLAIN = ("prompt",)
_RECORD = "request"
_MOST_FIELDS = 8


@dataclass(frozen=True)
class Taken:
    """A request as it was understood."""

    asked: list[Asked]
    names: list[str | None]
    prompt: Prompt | None


async def take(request: Request, shape: type[L], *, least: int = 1, most: int | None = None) -> tuple[L, Taken]:
    """The request and its pictures, headers read and not yet decoded."""
    settings: ScoringSettings = request.app.state.settings
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("multipart/form-data", "application/json", ""):
        raise BadValue("JSON or a form with files is needed", found=f"content of the type {kind!r}")
    told = request.headers["content-type"] if kind == "multipart/form-data" else None
    count = least, most or settings.most_images
    return await run_in_threadpool(_understood, shape, await request.body(), told, settings, count)


def _understood(
    shape: type[L], body: bytes, kind: str | None, settings: ScoringSettings, count: tuple[int, int]
) -> tuple[L, Taken]:
    record, files = (body, []) if kind is None else _form(kind, body, settings)
    sent = parsed(shape, record)
    if files and sent.images:
        raise BadValue("pictures as files or as JSON are needed", found="both", where=FILES)
    _check_count(len(files) or len(sent.images), *count)
    prompt = as_prompt(sent.prompt)
    named = files or [(one.name, _bytes_of(one, place, settings)) for place, one in enumerate(sent.images)]
    asked = [_asked(data, place, prompt, settings) for place, (_, data) in enumerate(named)]
    return sent, Taken(asked, [name for name, _ in named], prompt)


def parsed(shape: type[L], record: bytes) -> L:
    """`record` as what it should be; BadValue without repeating what was sent."""
    try:
        return shape.model_validate_json(record or b"{}")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or None
        told = first["msg"].removeprefix("Value error, ")
        raise BadValue(told, where=where, remedy="the schema is at /v1/openapi.json") from None
    except RecursionError:
        raise BadValue("JSON of few levels is needed", found="one nested without end") from None


def _check_count(found: int, least: int, most: int) -> None:
    if not least <= found <= most:
        wanted = f"{least}" if least == most else f"{least} to {most:,}"
        raise BadValue(f"{wanted} pictures are needed", found=f"{found:,}", where=FILES)


def as_prompt(given: str | PromptIn | None) -> Prompt | None:
    """The prompt of a request; one without a word is none."""
    record = {"text": given} if isinstance(given, str) else {} if given is None else given.model_dump(exclude_none=True)
    told = {part: text for part, text in record.items() if text.strip()}
    return Prompt(id="request", **told) if told else None


# -- one picture -----------------------------------------------------------------------------------------------------


def _asked(data: bytes, place: int, prompt: Prompt | None, settings: ScoringSettings) -> Asked:
    where = f"{FILES}.{place}"
    if len(data) > settings.most_picture:
        raise BadPicture(
            f"a picture of at most {settings.most_picture:,} bytes is needed", found=f"{len(data):,}", where=where
        )
    try:
        header = open_header(data)
    except BadFile as error:
        raise BadPicture(error.needed, found=error.found, where=where, remedy=error.remedy) from None
    if header.pixels > settings.most_pixels:
        raise BadPicture(
            f"a picture of at most {settings.most_pixels:,} pixels is needed",
            found=f"{header.width:,} x {header.height:,} in its header",
            where=where,
            remedy="make it smaller; it was not decoded",
        )
    return Asked(data, hashlib.sha256(data).hexdigest(), header.pixels, prompt)


def _bytes_of(sent: ImageIn, place: int, settings: ScoringSettings) -> bytes:
    where = f"{FILES}.{place}"
    if sent.path is not None:
        return read_below(sent.path, settings.roots, settings.most_picture, where)
    return _from_base64(sent.base64 or "", where)


def _from_base64(text: str, where: str) -> bytes:
    if found := _DATA.match(text[:64]):
        text = text[found.end() :]
    elif _ADDRESS.match(text[:64]):
        raise BadPicture(
            "the picture itself is needed: nothing is fetched from an address", found="an address", where=where,
            remedy="send its bytes as base64 or in a form, or a path below a root",
        )  # fmt: skip
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BadPicture("a picture in base64 is needed", found="other characters", where=where) from None


# -- paths below a root ----------------------------------------------------------------------------------------------


def read_below(path: str, roots: Sequence[Path], most: int, where: str) -> bytes:
    """The bytes of a file below one of the roots; one and the same error for all that is not there for the caller."""
    if roots and is_plain(path):
        for root in roots:
            place = root / path
            if is_inside(place, root):
                data = _read(place.resolve(), root.resolve(), most)
                if data is not None:
                    return data
    raise BadPicture(
        "the path of a picture below a root of this service is needed",
        found="another, or none" if roots else "a service without roots",
        where=where,
        remedy="a relative path without .., of a regular file; --root names the folders",
    )


def is_plain(path: str) -> bool:
    """A relative path of plain names: no address, drive, root, backslash, NUL or way up."""
    if not path or len(path) > 1000 or not path.isprintable() or "\\" in path or ":" in path or path.startswith("/"):
        return False
    return all(part not in ("", ".", "..") for part in path.split("/"))


def _read(place: Path, root: Path, most: int) -> bytes | None:
    """The file, opened name by name without following a link: nobody can put one in the way meanwhile."""
    try:
        *folders, last = place.relative_to(root).parts
        with ExitStack() as held:
            handle = _held(os.open(root, os.O_RDONLY | os.O_DIRECTORY), held)
            for name in folders:
                handle = _held(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=handle), held)
            handle = _held(os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=handle), held)
            found = os.fstat(handle)
            if not stat.S_ISREG(found.st_mode) or found.st_size > most:
                return None
            with os.fdopen(handle, "rb", closefd=False) as file:
                return file.read(most + 1)
    except (OSError, ValueError):
        return None


def _held(handle: int, stack: ExitStack) -> int:
    stack.callback(os.close, handle)
    return handle


# -- forms -----------------------------------------------------------------------------------------------------------


def _form(kind: str, body: bytes, settings: ScoringSettings) -> tuple[bytes, list[tuple[str | None, bytes]]]:
    """The fields as the JSON that they stand for, and the files."""
    parts = read_form(kind, body, most=settings.most_images + _MOST_FIELDS)
    files = [one for one in parts if one.filename is not None]
    for one in files:
        if one.name != FILES:
            raise BadValue(f"files named {FILES} are needed", found=repr(one.name[:50]))
    return _record([one for one in parts if one.filename is None]), [(_told(one.filename), one.data) for one in files]


def _record(fields: Sequence[Field]) -> bytes:
    """`request` holds a record as JSON; `prompt` may stand beside it as plain text."""
    record: Any = {}
    for one in fields:
        if one.name == _RECORD:
            record = _json(one.data)
    if not isinstance(record, dict):
        raise BadValue("a JSON object is needed", where=_RECORD)
    seen: set[str] = set()
    for one in fields:
        if one.name not in (*_PLAIN, _RECORD) or one.name in seen or one.name in record:
            raise BadValue("the fields images, prompt and request are needed, each once", found=repr(one.name[:50]))
        seen.add(one.name)
    plain = {one.name: _text(one.data) for one in fields if one.name in _PLAIN}
    return json.dumps(record | plain).encode()


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadValue("text in UTF-8 is needed", found="other bytes") from None


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BadValue("JSON is needed", where=_RECORD) from None


def _told(name: str | None) -> str | None:
    """A file's name for the answer: its last part alone."""
    return name.replace("\\", "/").rpartition("/")[2][:300] or None if name else None
