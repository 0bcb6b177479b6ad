"""Where pictures that somebody brings come from.

A folder holds PROMPT.png (the first seed) or PROMPT__SEED.png. A table (CSV or JSONL) has the columns prompt and file,
and seed where there are several; files stand relative to it. An entry's folder has its entry.json.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from salon.bench import entry as entry_names
from salon.bench.brought import MISSING, Key, Source, some
from salon.bench.entry import Entry
from salon.bench.entry_files import read_entry
from salon.bench.suite import Suite
from salon.bench.suite_folder import prompts_hash
from salon.bench.suite_records import read_lines, read_text
from salon.errors import BadColumns, BadFile, BadValue
from salon.store.pictures import is_inside, read_bytes

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif"})
TABLES = frozenset({".csv", ".jsonl"})
_NAME = re.compile(r"(?P<prompt>.+?)(?:__(?P<seed>\d{1,9}))?")


def source_of(place: Path, suite: Suite) -> Source:
    """The pictures in a folder, a table of files, or the folder of an entry."""
    if (place / entry_names.CARD).is_file():
        return entry_source(place, read_entry(place), suite)
    if place.is_dir():
        return _folder_source(place, suite)
    if place.suffix.lower() in TABLES and place.is_file():
        return _table_source(place, suite)
    raise BadFile(
        "a bundle, a folder of pictures, a table of files (.csv, .jsonl) or an entry's folder is needed",
        found=f"a file {place.name!r}" if place.exists() else "nothing there",
        where=str(place),
    )


def entry_source(folder: Path, entry: Entry, suite: Suite) -> Source:
    """The pictures of an entry, which must be those its card names."""
    check_prompts(entry, suite, where=str(folder))
    there = [one for one in entry.pictures if one.image is not None]
    return Source(
        where=str(folder),
        files={(one.prompt, one.seed): str(one.image) for one in there},
        read=lambda name: _inside(folder, name),
        hashes={(one.prompt, one.seed): str(one.sha256) for one in there},
        exact=True,
        missing={(one.prompt, one.seed): one.missing or MISSING for one in entry.pictures if one.image is None},
    )


def check_prompts(entry: Entry, suite: Suite, *, where: str) -> None:
    """BadFile for an entry made for other prompts, or one that names a picture twice."""
    if entry.suite != prompts_hash(suite):
        raise BadFile(
            f"pictures for the prompts {prompts_hash(suite)[:16]} of {suite.card.name}/{suite.card.version} are needed",
            found=f"an entry for {entry.suite[:16]}",
            where=where,
            remedy="make the pictures with this version of the suite",
        )
    if len({(one.prompt, one.seed) for one in entry.pictures}) < len(entry.pictures):
        raise BadFile("an entry names each prompt and seed once", found="one that stands twice", where=where)


def _inside(folder: Path, name: str) -> bytes:
    path = folder / name
    if not is_inside(path, folder):
        raise BadFile("a file inside the folder is needed", found="one that leads out of it, or nowhere", where=name)
    return read_bytes(path)


def _folder_source(folder: Path, suite: Suite) -> Source:
    known = {one.prompt.id for one in suite.prompts}
    names = sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    pictures = [name for name in names if Path(name).suffix.lower() in PICTURES]
    others = [name for name in names if name not in set(pictures)]
    pairs = [(_key(Path(name).stem, known, suite.seeds.start), name) for name in pictures]
    notes = (f"{len(others):,} files are no pictures: {some(others)}",) if others else ()
    return Source(str(folder), _each_once(pairs, str(folder)), lambda name: _inside(folder, name), notes=notes)


def _key(stem: str, known: set[str], first: int) -> Key:
    if stem in known:
        return stem, first
    match = _NAME.fullmatch(stem)
    return (match["prompt"], int(match["seed"] or first)) if match else (stem, first)


def _table_source(path: Path, suite: Suite) -> Source:
    rows = [_row(record, where, suite.seeds.start) for where, record in _table_rows(path)]
    return Source(str(path), _each_once(rows, str(path)), lambda name: _inside(path.parent, name))


def _table_rows(path: Path) -> Iterable[tuple[str, dict[str, Any]]]:
    if path.suffix.lower() == ".jsonl":
        return read_lines(path)
    reader = csv.DictReader(io.StringIO(read_text(path), newline=""), restkey="more")
    try:
        return [(f"{path}:{reader.line_num}", {str(k): v for k, v in row.items() if v}) for row in reader]
    except csv.Error as error:
        raise BadFile("a table as CSV is needed", found=error, where=str(path)) from None


def _row(record: Mapping[str, Any], where: str, first: int) -> tuple[Key, str]:
    for name in ("prompt", "file"):
        if not isinstance(record.get(name), str):
            raise BadColumns.missing(name, record, where=where)
    seed = str(record.get("seed", first))
    if not re.fullmatch(r"\d{1,9}", seed):
        raise BadValue("a seed is a whole number", found=seed, where=where)
    return (record["prompt"], int(seed)), record["file"]


def _each_once(pairs: Iterable[tuple[Key, str]], where: str) -> dict[Key, str]:
    found: dict[Key, str] = {}
    twice = []
    for key, name in pairs:
        if key in found:
            twice.append(f"{found[key]} and {name}")
        found[key] = name
    if twice:
        raise BadFile("one picture of each prompt and seed is needed", found=f"{len(twice):,} twice: {some(twice)}",
                      where=where, remedy="leave one of each")  # fmt: skip
    return found
