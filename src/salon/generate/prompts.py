"""Prompts to generate from: a file, a study, or the briefs that come with Salon.

| written as | read as |
|---|---|
| `briefs`, `briefs:posters` | the built-in briefs, all or one category |
| a study folder | its prompts |
| `.txt` | one prompt a line |
| `.csv`, `.tsv`, `.jsonl` | one prompt a row: `text`, or `intent`, `description`, `aesthetics`; `id` and `category` |
| `.toml` | `[[prompt]]` tables with the same fields, or `[[brief]]` tables with the fields of a brief |

A row with a `headline` is a brief wherever it stands. Rows without an id are numbered.
A `.csv` has commas, semicolons or tabs between its cells.
"""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from salon.errors import BadColumns, BadFile, BadValue, DuplicateJudgment, shorten
from salon.render import CATEGORIES, Brief, brief_prompt
from salon.store import is_study, open_study
from salon.study import Prompt

BUILT_IN = "briefs"
PROMPT_ENDINGS = (".txt", ".csv", ".tsv", ".jsonl", ".toml")
FIELD_SYNONYMS = {"prompt": "text", "caption": "text", "prompt_id": "id"}
"""Other names that files use for a prompt's fields."""
LARGEST_FILE = 50_000_000
"""Bytes of the largest file of prompts that is read."""
PromptRow = tuple[str, dict[str, Any]]
"""Where a record stands, and the record."""


def read_prompts(source: str) -> list[Prompt]:
    """The prompts that `source` names, in order; an error names the row at fault."""
    if source == BUILT_IN or source.startswith(f"{BUILT_IN}:"):
        name = source.partition(":")[2]
        slugs = {_slug(category): category for category in CATEGORIES}
        if name and _slug(name) not in slugs:
            raise BadValue("a category of the built-in briefs is needed", found=repr(name), remedy=", ".join(slugs))
        of_category = tuple(brief for brief in builtin_briefs() if not name or _slug(brief.category) == _slug(name))
        return [brief_prompt(brief) for brief in of_category]
    path = Path(source)
    if path.is_dir() and is_study(path):
        prompts = list(open_study(path).nouns("prompts"))
        if not prompts:
            raise BadFile("a study with prompts is needed", found="none", where=str(path))
        return prompts
    if not path.is_file():
        raise BadFile(
            "a file of prompts, a study, or 'briefs' is needed",
            found="a folder without a study.toml" if path.is_dir() else "nothing there",
            where=source,
            remedy=f"write one prompt a line into prompts.txt, or name the built-in set: {BUILT_IN}",
        )
    rows = list(_rows(path))
    width = len(str(len(rows)))
    prompts = [_prompt(record, f"p{number:0{width}}", where) for number, (where, record) in enumerate(rows, 1)]
    if not prompts:
        raise BadFile("at least one prompt is needed", found="none", where=str(path))
    ids: set[str] = set()
    for prompt in prompts:
        if prompt.id in ids:
            raise DuplicateJudgment("every prompt needs an id of its own", found=repr(prompt.id), where=str(path))
        ids.add(prompt.id)
    return prompts


@cache
def builtin_briefs() -> tuple[Brief, ...]:
    """The briefs that come with Salon, written for it: nine categories, ordered as in `brief.CATEGORIES`."""
    folder = files("salon.generate") / "briefs"
    briefs = []
    for category in CATEGORIES:
        name = f"{_slug(category)}.toml"
        for number, record in enumerate(tomllib.loads((folder / name).read_text(encoding="utf-8"))["brief"], 1):
            briefs.append(Brief.parse({"category": category, **record}, where=f"{name}, brief {number}"))
    return tuple(briefs)


def _slug(category: str) -> str:
    return category.lower().replace(" & ", "-").replace(" ", "-")


def _prompt(record: dict[str, Any], number: str, where: str) -> Prompt:
    record = {FIELD_SYNONYMS.get(name, name): value for name, value in record.items() if value not in (None, "")}
    has_id = "id" in record
    record["id"] = str(record.get("id") or number)
    if isinstance(record.get("palette"), str):  # a table has no lists
        record["palette"] = [color.strip() for color in record["palette"].split(",")]
    if "headline" in record:
        return brief_prompt(Brief.parse(record, where=where))
    fields = {name: str(record[name]) for name in Prompt.model_fields if name in record}
    if not fields.keys() & {"text", "intent", "description", "aesthetics"}:
        there = [name for name in record if has_id or name != "id"]
        raise BadColumns(
            "a text for each prompt is needed: a column text, prompt or caption",
            found="columns " + ", ".join(repr(shorten(name, 40)) for name in there[:20]),
            where=where,
            remedy="name the column with the prompt's words 'text', and one with short ids 'id'",
        )
    return Prompt.parse(fields, where=where)


# -- files -----------------------------------------------------------------------------------------------------------


def _rows(path: Path) -> Iterator[PromptRow]:
    form = path.suffix.lower()
    if form not in PROMPT_ENDINGS:
        raise BadFile(
            "a file of prompts is one of " + ", ".join(PROMPT_ENDINGS), found=form or "no ending", where=str(path)
        )
    text = _text(path)
    if form == ".txt":
        lines = enumerate(text.splitlines(), 1)
        return ((f"{path}, line {number}", {"text": line.strip()}) for number, line in lines if line.strip())
    if form == ".jsonl":
        return _json_rows(text, path)
    if form == ".toml":
        return _toml_rows(text, path)
    bare = "".join(text.lstrip().partition("\n")[0].split('"')[::2])  # the names, without what stands in quotes
    return _csv_rows(text, path, "\t" if form == ".tsv" else max(",;\t", key=bare.count))


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise BadFile(
                f"at most {LARGEST_FILE:,} bytes of prompts", found=f"{path.stat().st_size:,}", where=str(path)
            )
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile("a text file in UTF-8 is needed", found=f"byte {error.start:,}", where=str(path)) from None
    except OSError as error:
        raise BadFile("a file that can be read is needed", found=error.strerror, where=str(path)) from None


def _json_rows(text: str, path: Path) -> Iterator[PromptRow]:
    for number, line in enumerate(text.split("\n"), 1):  # a JSON text may hold what splitlines takes for an end
        if not line.strip():
            continue
        where = f"{path}, line {number}"
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadFile("one JSON object a line is needed", found=error, where=where) from None
        if not isinstance(record, dict):
            raise BadFile("one JSON object a line is needed", found=type(record).__name__, where=where)
        yield where, record


def _toml_rows(text: str, path: Path) -> Iterator[PromptRow]:
    try:
        tables = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BadFile("a TOML file is needed", found=error, where=str(path)) from None
    for kind in ("prompt", "brief"):
        records: Iterable[Any] = tables.get(kind, [])
        for number, record in enumerate(records if isinstance(records, list) else [], 1):
            where = f"{path}, {kind} {number}"
            if not isinstance(record, dict):
                raise BadFile(f"[[{kind}]] tables are needed", found=type(record).__name__, where=where)
            yield where, record


def _csv_rows(text: str, path: Path, separator: str) -> Iterator[PromptRow]:
    csv.field_size_limit(LARGEST_FILE)
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator, restkey="", strict=True)
    try:
        for record in reader:
            where = f"{path}, line {reader.line_num}"
            if "" in record:
                raise BadFile(
                    "as many cells as the header has",
                    found="more",
                    where=where,
                    remedy="put cells that hold the separator in quotes",
                )
            yield where, {(name or "").strip().lower(): value for name, value in record.items()}
    except csv.Error as error:
        raise BadFile("a table is needed", found=error, where=f"{path}, line {reader.line_num}") from None


# -- small tables that users write by hand -----------------------------------------------------------------------------

TABLE_ENDINGS = (".csv", ".jsonl")
NumberedRow = tuple[int, dict[str, Any]]


def read_table_rows(path: Path, required: Sequence[str]) -> list[NumberedRow]:
    """The rows of a table with their line numbers; empty cells are left out. Every row has the `required` columns."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile("a table as CSV or JSONL in UTF-8 is needed", found=error, where=str(path)) from None
    lines = list(_csv_lines(text, path, required) if path.suffix.lower() == ".csv" else _jsonl_lines(text, path))
    if not lines:
        raise BadFile("a table with at least one row is needed", found="none", where=str(path))
    rows = [(line, {name: value for name, value in row.items() if value not in (None, "")}) for line, row in lines]
    for line, row in rows:
        for name in required:
            if name not in row:
                raise BadColumns.missing(name, row, where=f"{path}:{line}")
    return rows


def _csv_lines(text: str, path: Path, required: Sequence[str]) -> Iterator[NumberedRow]:
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="more cells than columns")
    for name in required:
        if name not in (reader.fieldnames or ()):
            raise BadColumns.missing(name, reader.fieldnames or (), where=str(path))
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise BadFile("a table as CSV is needed", found=error, where=f"{path}:{reader.line_num}") from None


def _jsonl_lines(text: str, path: Path) -> Iterator[NumberedRow]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise BadFile("one JSON object per line is needed", found=error, where=f"{path}:{number}") from None
        if not isinstance(row, dict):
            raise BadFile("one JSON object per line is needed", found=line, where=f"{path}:{number}")
        yield number, row
