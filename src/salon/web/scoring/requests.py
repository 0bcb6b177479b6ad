"""What may be sent to the scoring service: JSON or a form, pictures as files, base64 or paths below an allowed root.

No address is ever fetched. Format, size in the header, bytes and number of pictures are checked before a picture is
decoded. Parsing runs in a thread, so that a large body does not block other requests. Forms (RFC 7578) are split in
memory by searching the boundary: the framework's parser reads byte by byte, a tenth of the time of scoring a picture.
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
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from python_multipart.multipart import parse_options_header
from starlette.concurrency import run_in_threadpool

from salon.errors import BadFile, BadValue
from salon.select import BadPicture, SentPicture
from salon.store import is_inside, open_header
from salon.study import Prompt
from salon.web.scoring.settings import ScoringSettings

Text = Annotated[str, Field(max_length=20_000)]
Name = Annotated[str, Field(min_length=1, max_length=300)]
Weight = Annotated[float, Field(ge=0, le=1e9)]


class RequestModel(BaseModel):
    """Unknown fields are refused, numbers are finite."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class ImageIn(RequestModel):
    """A picture: its bytes in base64, or its path below a root of the service. Nothing is ever fetched from a URL."""

    base64: str | None = Field(None, description="PNG, JPEG, WebP or GIF; data:image/...;base64, may stand before it.")
    path: str | None = Field(None, max_length=1000, description="Relative, below a folder named with --root.")
    name: str | None = Field(None, max_length=300, description="Comes back in the answer.")

    @model_validator(mode="before")
    @classmethod
    def _never_fetched(cls, values: Any) -> Any:
        if isinstance(values, dict) and {"url", "uri", "href", "image_url"} & values.keys():
            raise ValueError("pictures are never fetched from an address: send base64, a file, or a path below a root")
        return values

    @model_validator(mode="after")
    def _one_source(self) -> ImageIn:
        if (self.base64 is None) == (self.path is None):
            raise ValueError("either base64 or path is needed")
        return self


class PromptIn(RequestModel):
    """A prompt by its parts."""

    text: Text | None = None
    intent: Text | None = None
    description: Text | None = None
    aesthetics: Text | None = None


class LookIn(RequestModel):
    """Pictures and what they were made for."""

    images: list[ImageIn] = Field(default_factory=list, description="In a form: files named images instead.")
    prompt: Text | PromptIn | None = Field(None, description="One text, or the parts of a prompt; of all pictures.")
    criteria: list[Name] | None = Field(None, max_length=200, description="Only these; all when left out.")
    seconds: float | None = Field(None, gt=0, le=3600, description="Answer within so many seconds or not at all.")


class ScoreIn(LookIn):
    """Asks for numbers."""

    prompts: list[Text | PromptIn | None] | None = Field(
        None, max_length=4096, description="One for each picture, in place of `prompt`."
    )


class CompareIn(LookIn):
    """Asks for the chance that the first of two pictures is preferred."""


class PickIn(LookIn):
    """Asks for the best of several pictures."""

    weights: dict[Name, Weight] | None = Field(
        None,
        max_length=200,
        description="By criterion; *: all others. Only those named count; all alike but flags when left out.",
    )
    k: float = Field(1.0, ge=0, le=10, description="Standard deviations taken off a score before the best is chosen.")
    least: float | None = Field(None, description="Lowest bound that is good enough; below it nothing is chosen.")
    level: float = Field(0.95, gt=0, lt=1, description="Level at which two pictures differ.")
    equal_scales: bool = Field(False, description="You know that the criteria are on one scale.")


class GateIn(LookIn):
    """Asks which pictures pass a gate."""

    gate: Name | None = Field(None, description="Name of the gate; may be left out where there is one.")


class ExplainIn(LookIn):
    """Asks why: of one picture, or of two held against each other."""

    weights: dict[Name, Weight] | None = Field(None, max_length=200, description="As for /v1/pick.")
    equal_scales: bool = Field(False, description="You know that the criteria are on one scale.")
    neighbours: int = Field(5, ge=0, le=20, description="Judged pictures to name, where the service knows a study.")
    measure: bool = Field(False, description="Also measure by rule; reading the text in a picture takes a second.")


class LoadIn(RequestModel):
    """A model to be loaded beside the active one."""

    name: str = Field("model", min_length=1, max_length=100)
    scorers: list[Name] = Field(
        default_factory=list,
        max_length=50,
        description="Built-in scorers by name, released ones as KIND:FOLDER below --model-root.",
    )
    models: list[Name] = Field(default_factory=list, max_length=20, description="Folders below --model-root.")
    activate: bool = Field(False, description="Serve it at once when it is loaded.")


class ActivateIn(RequestModel):
    """A loaded model to serve."""

    version: Name


# -- forms ----------------------------------------------------------------------------------------------------------

_BOUNDARY = re.compile(rb"[0-9A-Za-z'()+_,./:=? -]{1,70}")
_MOST_HEAD = 8 << 10


@dataclass(frozen=True)
class FormField:
    """One part of a form; a file where it has a file's name."""

    name: str
    filename: str | None
    data: bytes = field(repr=False)


def split_form(content_type: str, body: bytes, *, most: int) -> list[FormField]:
    """The parts of a form in their order; BadValue where it is none, or has more than `most`."""
    _, options = parse_options_header(content_type)
    boundary = options.get(b"boundary", b"")
    if not _BOUNDARY.fullmatch(boundary):
        raise _bad("no boundary")
    mark = b"--" + boundary
    inner = b"\r\n" + mark
    if not body.startswith(mark):
        raise _bad("a body that does not begin with its boundary")
    if body.count(inner) > most:
        raise BadValue(f"a form of at most {most:,} parts is needed", found="more")
    *parts, last = body[len(mark) :].split(inner)
    if not last.startswith(b"--") or last[2:].strip():
        raise _bad("a body that breaks off")
    return [_split_part(part) for part in parts]


def _split_part(data: bytes) -> FormField:
    head, mark, _ = data[: _MOST_HEAD + 4].partition(b"\r\n\r\n")
    if not data.startswith(b"\r\n") or not mark:
        raise _bad("a part without headers")
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-disposition":
            kind, options = parse_options_header(value.strip())
            if kind != b"form-data" or b"name" not in options:
                break
            filename = options.get(b"filename")
            return FormField(
                _text(options[b"name"]), None if filename is None else _text(filename), data[len(head) + 4 :]
            )
    raise _bad("a part without a name")


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise _bad("a name that is no UTF-8") from None


def _bad(problem: str) -> BadValue:
    return BadValue("a form in UTF-8 with files is needed", found=problem)


# -- pictures -------------------------------------------------------------------------------------------------------

L = TypeVar("L", bound=LookIn)
B = TypeVar("B", bound=BaseModel)
FILES = "images"
_DATA = re.compile(r"data:image/(?:png|jpeg|webp|gif);base64,", re.IGNORECASE)
_ADDRESS = re.compile(r"\s*(?:[A-Za-z][A-Za-z0-9+.-]*:|//|\\\\)")
_PLAIN = ("prompt",)
_RECORD = "request"
_MOST_FIELDS = 8


@dataclass(frozen=True)
class RequestPictures:
    """A request as it was understood."""

    pictures: list[SentPicture]
    names: list[str | None]
    prompt: Prompt | None
    """Of all pictures; None where each has its own."""


async def read_request(
    request: Request, shape: type[L], *, least: int = 1, most: int | None = None
) -> tuple[L, RequestPictures]:
    """The request and its pictures, headers read and not yet decoded."""
    settings: ScoringSettings = request.app.state.settings
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("multipart/form-data", "application/json", ""):
        raise BadValue("JSON or a form with files is needed", found=f"content of the type {kind!r}")
    form_type = request.headers["content-type"] if kind == "multipart/form-data" else None
    count = least, most or settings.most_images
    return await run_in_threadpool(_parse_request, shape, await request.body(), form_type, settings, count)


def _parse_request(
    shape: type[L], body: bytes, kind: str | None, settings: ScoringSettings, count: tuple[int, int]
) -> tuple[L, RequestPictures]:
    record, files = (body, []) if kind is None else _form(kind, body, settings)
    record_in = parse_record(shape, record)
    if files and record_in.images:
        raise BadValue("pictures as files or as JSON are needed", found="both", where=FILES)
    _check_count(len(files) or len(record_in.images), *count)
    prompts = _each_prompt(record_in, len(files) or len(record_in.images))
    named_bytes = files or [
        (image.name, _bytes_of(image, place, settings)) for place, image in enumerate(record_in.images)
    ]
    pictures = [check_picture(data, place, prompts[place], settings) for place, (_, data) in enumerate(named_bytes)]
    shared = prompts[0] if all(prompt == prompts[0] for prompt in prompts) else None
    return record_in, RequestPictures(pictures, [name for name, _ in named_bytes], shared)


def _each_prompt(record: LookIn, count: int) -> list[Prompt | None]:
    """The prompt of each picture."""
    prompts = getattr(record, "prompts", None)
    if prompts is None:
        return [as_prompt(record.prompt)] * count
    if record.prompt is not None or len(prompts) != count:
        found = f"{len(prompts):,} prompts for {count:,} pictures" if record.prompt is None else "prompt and prompts"
        raise BadValue("one prompt for all pictures, or one for each, is needed", found=found, where="prompts")
    return [as_prompt(prompt) for prompt in prompts]


def parse_record(shape: type[B], record: bytes) -> B:
    """`record` as what it should be; BadValue without repeating what was sent."""
    try:
        return shape.model_validate_json(record or b"{}")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or None
        message = first["msg"].removeprefix("Value error, ")
        raise BadValue(message, where=where, remedy="the schema is at /v1/openapi.json") from None
    except RecursionError:
        raise BadValue("JSON of few levels is needed", found="one nested without end") from None


def _check_count(number: int, least: int, most: int) -> None:
    if not least <= number <= most:
        expected = f"{least}" if least == most else f"{least} to {most:,}"
        raise BadValue(f"{expected} pictures are needed", found=f"{number:,}", where=FILES)


def as_prompt(sent_prompt: str | PromptIn | None) -> Prompt | None:
    """The prompt of a request; one without a word is none."""
    record = (
        {"text": sent_prompt}
        if isinstance(sent_prompt, str)
        else {}
        if sent_prompt is None
        else sent_prompt.model_dump(exclude_none=True)
    )
    parts = {part: text for part, text in record.items() if text.strip()}
    return Prompt(id="request", **parts) if parts else None


# -- one picture -----------------------------------------------------------------------------------------------------


def check_picture(data: bytes, place: int, prompt: Prompt | None, settings: ScoringSettings) -> SentPicture:
    """A picture whose format, bytes and size in the header are allowed; it is not decoded. BadPicture says why not."""
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
    return SentPicture(data, hashlib.sha256(data).hexdigest(), header.pixels, prompt)


def _bytes_of(image: ImageIn, place: int, settings: ScoringSettings) -> bytes:
    where = f"{FILES}.{place}"
    if image.path is not None:
        return read_below(image.path, settings.roots, settings.most_picture, where)
    return picture_from_base64(image.base64 or "", where)


def picture_from_base64(text: str, where: str) -> bytes:
    """The bytes of a picture; BadPicture for an address, or other characters."""
    if match := _DATA.match(text[:64]):
        text = text[match.end() :]
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
                data = _read_without_links(place.resolve(), root.resolve(), most)
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


def _read_without_links(place: Path, root: Path, most: int) -> bytes | None:
    """The file, opened name by name without following a link: nobody can put one in the way meanwhile."""
    try:
        *folders, last = place.relative_to(root).parts
        with ExitStack() as stack:
            handle = _closing(os.open(root, os.O_RDONLY | os.O_DIRECTORY), stack)
            for name in folders:
                handle = _closing(os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=handle), stack)
            handle = _closing(os.open(last, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=handle), stack)
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or status.st_size > most:
                return None
            with os.fdopen(handle, "rb", closefd=False) as file:
                return file.read(most + 1)
    except (OSError, ValueError):
        return None


def _closing(handle: int, stack: ExitStack) -> int:
    stack.callback(os.close, handle)
    return handle


# -- forms -----------------------------------------------------------------------------------------------------------


def _form(kind: str, body: bytes, settings: ScoringSettings) -> tuple[bytes, list[tuple[str | None, bytes]]]:
    """The fields as the JSON that they stand for, and the files."""
    parts = split_form(kind, body, most=settings.most_images + _MOST_FIELDS)
    files = [part for part in parts if part.filename is not None]
    for part in files:
        if part.name != FILES:
            raise BadValue(f"files named {FILES} are needed", found=repr(part.name[:50]))
    return _record([part for part in parts if part.filename is None]), [
        ((part.filename.replace("\\", "/").rpartition("/")[2][:300] or None if part.filename else None), part.data)
        for part in files
    ]


def _record(fields: Sequence[FormField]) -> bytes:
    """`request` holds a record as JSON; `prompt` may stand beside it as plain text."""
    record: Any = {}
    for part in fields:
        if part.name == _RECORD:
            record = _json(part.data)
    if not isinstance(record, dict):
        raise BadValue("a JSON object is needed", where=_RECORD)
    names: set[str] = set()
    for part in fields:
        if part.name not in (*_PLAIN, _RECORD) or part.name in names or part.name in record:
            raise BadValue("the fields images, prompt and request are needed, each once", found=repr(part.name[:50]))
        names.add(part.name)
    plain = {part.name: _field_text(part.data) for part in fields if part.name in _PLAIN}
    return json.dumps(record | plain).encode()


def _field_text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise BadValue("text in UTF-8 is needed", found="other bytes") from None


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BadValue("JSON is needed", where=_RECORD) from None
