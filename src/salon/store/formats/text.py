"""Files as bytes, text and JSON, with every way they can be broken named."""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from salon.errors import BadFile, BadValue
from salon.store.formats.source import Source

UTF8_BOM = codecs.BOM_UTF8
_UTF16_BOMS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
NO_ROWS = "see whether the export that wrote it came to its end"
HEAD_BYTES = 4_000_000
"""How much of a file is looked at to tell what it is."""
MOST_UNPACKED = 4 << 30
"""Bytes that a packed file may unpack to: a few megabytes can be made to fill any memory."""


def check_file(path: Path) -> None:
    """Raise BadFile unless `path` is a file with something in it."""
    if path.is_dir():
        raise BadFile("a file is needed", found="a folder", where=str(path), remedy="name the file inside it")
    if not path.exists():
        raise BadFile("a file is needed", found="nothing there", where=str(path), remedy="check the name")
    if not path.is_file():
        raise BadFile("a regular file is needed", found="something else", where=str(path))
    if path.stat().st_size == 0:
        raise BadFile("a file with rows is needed", found="an empty file", where=str(path), remedy=NO_ROWS)


def is_gzip(path: Path) -> bool:
    """True when the file starts as gzip files do."""
    with path.open("rb") as file:
        return file.read(2) == b"\x1f\x8b"


def read_bytes(path: Path, limit: int = -1) -> bytes:
    """The file's bytes, the first `limit` of them if one is given; a gzipped file is unpacked."""
    check_file(path)
    if not is_gzip(path):
        with path.open("rb") as file:
            return file.read(limit)
    try:
        with gzip.open(path) as file:
            data = file.read(MOST_UNPACKED + 1 if limit < 0 else limit)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadFile("a whole gzip file is needed", found=str(error), where=str(path)) from None
    if len(data) > MOST_UNPACKED:
        raise unpacks_to_more(path, "unpack it first if that is what you want")
    return data


def unpacks_to_more(path: Path, way_out: str) -> BadFile:
    """The error for a packed file that would fill the memory."""
    return BadFile(
        f"a packed file of at most {MOST_UNPACKED:,} bytes is needed",
        found="one that unpacks to more",
        where=str(path),
        remedy=f"look at what is in it; {way_out}",
    )


def text_encoding(data: bytes, given: str | None, path: Path) -> str:
    """The encoding of a file that starts with `data`: a byte order mark, else the one given, else UTF-8."""
    if data.startswith(UTF8_BOM):
        return "utf-8-sig"
    if data.startswith(_UTF16_BOMS):
        return "utf-16"
    if given is None:
        return "utf-8"
    try:
        return codecs.lookup(given).name
    except (LookupError, ValueError):
        raise BadValue("a known text encoding is needed", found=repr(given), where=str(path)) from None


def decode(source: Source, path: Path, data: bytes) -> str:
    """`data` as text; a byte that does not fit is named with its offset."""
    encoding = text_encoding(data, source.options.policies.encoding, path)
    if encoding in ("utf-8-sig", "utf-16"):
        source.say(f"{path.name}: a byte order mark was found and removed ({encoding.removesuffix('-sig')})")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise not_text(path, encoding.removesuffix("-sig"), error.start, data) from None
    except (UnicodeError, LookupError) as error:  # codecs that are not for text, or that fail in their own way
        raise BadFile(f"text in {encoding} is needed", found=str(error), where=str(path)) from None
    if not text.strip():
        raise BadFile("a file with rows is needed", found="only blank space", where=str(path), remedy=NO_ROWS)
    return text


def not_text(path: Path, encoding: str, offset: int, data: bytes) -> BadFile:
    """The error for a byte that is not text."""
    return BadFile(
        f"text in {encoding} is needed",
        found=f"byte 0x{data[offset]:02x} at byte offset {offset:,}",
        where=str(path),
        remedy="save the file as UTF-8, or name its encoding, e.g. --encoding latin-1",
    )


def read_text(source: Source, path: Path) -> str:
    """The whole file as text."""
    return decode(source, path, read_bytes(path))


def read_lines(source: Source, path: Path) -> list[str]:
    """The file's lines without their ends (only \\n, \\r\\n and \\r end a line)."""
    return read_text(source, path).replace("\r\n", "\n").replace("\r", "\n").split("\n")


def read_records(source: Source, path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON list, of JSON lines, or a single object; anything else is a BadFile."""
    text = read_text(source, path)
    start = text.lstrip()[:1]
    records: list[Any]
    if start == "[":
        records = _parse(text, path)
    elif start == "{":
        records = _parse_objects(text, path)
    else:
        raise BadFile("a JSON list of objects, or JSON lines, is needed", found=repr(start), where=str(path))
    if not records:
        raise BadFile("a file with records is needed", found="an empty list", where=str(path))
    for number, record in enumerate(records, 1):
        if not isinstance(record, dict):
            found = type(record).__name__
            raise BadFile("every record must be a JSON object", found=found, where=f"{path}, record {number}")
    return records


def _parse_objects(text: str, path: Path) -> list[Any]:
    """JSON lines, or one object that spans lines."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    try:
        json.loads(lines[0][1])
    except (ValueError, RecursionError):
        return [_parse(text, path)]
    return [_parse(line, path, number) for number, line in lines]


def _parse(text: str, path: Path, line: int | None = None) -> Any:
    where = str(path) if line is None else f"{path}, line {line}"
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        at = f"line {error.lineno if line is None else line}, column {error.colno}"
        raise BadFile("well-formed JSON is needed", found=f"{error.msg} at {at}", where=str(path)) from None
    except (ValueError, RecursionError) as error:
        raise BadFile("JSON of ordinary depth and numbers is needed", found=str(error), where=where) from None
