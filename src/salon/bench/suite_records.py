"""Reading the small text files of suites and boards: TOML, JSON and JSONL, with the place of every fault."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

from salon.errors import BadFile

LARGEST = 200_000_000
"""Bytes of the largest file that is read."""
LOST = "bring the file back from a copy; salon bench verify says what else is not as it was"


def read_text(path: Path) -> str:
    """A file as text, or BadFile."""
    try:
        if path.stat().st_size > LARGEST:
            raise BadFile(f"at most {LARGEST:,} bytes", found=f"{path.stat().st_size:,}", where=str(path))
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile("text in UTF-8 is needed", found=f"byte {error.start:,}", where=str(path)) from None
    except OSError as error:
        raise BadFile("a file that can be read is needed", found=error.strerror, where=str(path)) from None


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file."""
    try:
        return tomllib.loads(read_text(path))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadFile("a file in TOML is needed", found=error, where=str(path)) from None


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that holds one object."""
    try:
        return parse_object(read_text(path), str(path))
    except BadFile as error:
        raise BadFile(error.needed, found=error.found, where=error.where, remedy=LOST) from None


def read_lines(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """The objects of a JSONL file, each with its place."""
    lines = read_text(path).split("\n")  # a JSON text may hold what splitlines takes for an end
    return [
        (f"{path}, line {number}", parse_object(line, f"{path}, line {number}"))
        for number, line in enumerate(lines, 1)
        if line.strip()
    ]


def parse_object(text: str, where: str) -> dict[str, Any]:
    """A JSON text that is one object, no key twice."""
    try:
        record = json.loads(text, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as error:
        raise BadFile("a JSON object is needed", found=error, where=where) from None
    if not isinstance(record, dict):
        raise BadFile("a JSON object is needed", found=type(record).__name__, where=where)
    return record


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key stands twice")
    return record
