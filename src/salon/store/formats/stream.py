"""The records of a JSON file one after the other: a list of a million objects is never whole in memory."""

from __future__ import annotations

import codecs
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from salon.errors import BadFile
from salon.store.formats import text as texts

_CHUNK = 1 << 20
_BETWEEN = " \t\r\n,"
_LONGEST = 64 << 20
"""Characters of a single record before the file is taken for broken."""


def stream_records(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON list or of JSON lines, UTF-8, gzipped or not; BadFile where there is something else."""
    decoder, rest, number = json.JSONDecoder(), "", 0
    for chunk in _chunks(path):
        rest += chunk
        if number == 0:
            rest = rest.lstrip("\ufeff" + _BETWEEN).removeprefix("[")
        place = 0
        while (start := _start(rest, place)) < len(rest) and rest[start] != "]":
            try:
                record, place = decoder.raw_decode(rest, start)
            except (json.JSONDecodeError, RecursionError) as error:
                place = start
                if len(rest) - start > _LONGEST or isinstance(error, RecursionError):
                    raise _broken(path, number, str(error)) from None
                break
            number += 1
            if not isinstance(record, dict):
                raise _broken(path, number, type(record).__name__)
            yield record
        rest = rest[_start(rest, place) :]
    if rest.strip("]" + _BETWEEN):
        raise _broken(path, number, f"a record that breaks off: {rest[:40]!r}")
    if not number:
        raise BadFile("a file with records is needed", found="none", where=str(path))


def _start(text: str, place: int) -> int:
    """Where the next record begins."""
    while place < len(text) and text[place] in _BETWEEN:
        place += 1
    return place


def _chunks(path: Path) -> Iterator[str]:
    texts.check_file(path)
    decode = codecs.getincrementaldecoder("utf-8")()
    with gzip.open(path) if texts.is_gzip(path) else open(path, "rb") as file:
        try:
            while data := file.read(_CHUNK):
                yield decode.decode(data)
            yield decode.decode(b"", final=True)
        except (UnicodeDecodeError, EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise BadFile("JSON in UTF-8 is needed", found=str(error), where=str(path)) from None


def _broken(path: Path, number: int, found: str) -> BadFile:
    return BadFile(
        "a JSON list of objects, or JSON lines, is needed", found=found, where=f"{path}, record {number + 1}"
    )
