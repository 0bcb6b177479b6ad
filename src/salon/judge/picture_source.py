"""Pictures that belong to no study: a folder of files, or a Parquet table with a picture and a prompt in each row.

A folder may hold a table of prompts (`prompts` or `metadata`, .csv or .jsonl) with the columns image (or file_name,
file) and prompt (or text, caption), or the parts of a brief. A Parquet table has the same columns; its pictures are
paths, bytes, or the {bytes, path} that the datasets library writes. Rows are read as they are needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from salon.errors import BadColumns, BadFile, BadValue
from salon.store.plain_table import read_plain
from salon.study import Prompt
from salon.study.prompt import PARTS

ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif")
TABLES = ("prompts.csv", "prompts.jsonl", "metadata.csv", "metadata.jsonl")
"""Where prompts are looked for in a folder of pictures; the first that is there."""
IMAGE, TEXT, NAME = ("image", "file_name", "file"), ("prompt", "text", "caption"), ("item", "id")
_AT_ONCE = 64
"""Rows of a Parquet table held in memory: their pictures may be large."""


@dataclass(frozen=True)
class Pictured:
    """One picture with the prompt it was made for."""

    item: str
    image: Path | bytes | None
    prompt: Prompt | None


class PictureSource(Protocol):
    """Where pictures come from."""

    digest: str
    """Changes when the pictures or their prompts do."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Pictured]: ...


def open_pictures(place: Path, *, prompt: str | None = None, prompts: Path | None = None) -> PictureSource:
    """The pictures in the folder or Parquet file `place`.

    `prompt` is the text for all of them; `prompts` names the table that has one for each.
    """
    if prompt is not None and prompts is not None:
        raise BadValue("one of --prompt and --prompts is needed", found="both of them")
    told = None if prompt is None else text_prompt(prompt)
    if place.is_dir():
        return PictureFolder(place, told, _table_beside(place) if told is None and prompts is None else prompts)
    if place.suffix.lower() != ".parquet" or not place.is_file():
        raise BadFile(
            "a study, a folder of pictures or a Parquet file with pictures is needed",
            found="another file" if place.is_file() else "nothing there",
            where=str(place),
        )
    if prompts is not None:
        raise BadValue("--prompts goes with a folder of pictures", found="a Parquet file", remedy="add a column prompt")
    return PictureTable(place, told)


def text_prompt(text: str) -> Prompt:
    """A prompt of which only the text is known: it is all of it, and the client's sentence too."""
    return Prompt(id=hashlib.sha256(text.encode()).hexdigest()[:16], text=text, intent=text)


# -- a folder --------------------------------------------------------------------------------------------------------


class PictureFolder:
    """All pictures below a folder, by name; what begins with a dot is left alone."""

    def __init__(self, folder: Path, prompt: Prompt | None, table: Path | None) -> None:
        self.folder, self._prompt = folder, prompt
        self._files = sorted(path for path in folder.rglob("*") if _is_picture(path, folder))
        if not self._files:
            raise BadFile(
                "a study, or a folder with pictures in it, is needed",
                found="a folder without study.toml and without pictures",
                where=str(folder),
                remedy="pictures end in " + ", ".join(ENDINGS),
            )
        self._prompts = {} if table is None else _read_prompts(table)
        self.digest = _digest([*map(self._state, self._files), prompt, sorted(self._prompts.items())])

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[Pictured]:
        for path in self._files:
            name = path.relative_to(self.folder).as_posix()
            yield Pictured(name, path, self._prompt or self._prompts.get(name))

    def _state(self, path: Path) -> tuple[str, int, int]:
        found = path.stat()
        return path.relative_to(self.folder).as_posix(), found.st_size, found.st_mtime_ns


def _is_picture(path: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return not hidden and path.suffix.lower() in ENDINGS and path.is_file()


def _table_beside(folder: Path) -> Path | None:
    return next((folder / name for name in TABLES if (folder / name).is_file()), None)


def _read_prompts(path: Path) -> dict[str, Prompt]:
    """The prompt of each picture of a folder, by its name there."""
    table = read_plain(path, "prompts")
    image = _column(IMAGE, table.column_names, path)
    found: dict[str, Prompt | None] = {}
    for number, row in enumerate(table.to_pylist(), 1):
        name, prompt = Path(str(row[image])).as_posix(), _prompt_of(row, blank_is_text=path.suffix != ".csv")
        if found.setdefault(name, prompt) != prompt:
            raise BadValue("each picture may have one prompt", found=repr(name), where=f"{path}, row {number}")
    return {name: prompt for name, prompt in found.items() if prompt is not None}


# -- a table ---------------------------------------------------------------------------------------------------------


class PictureTable:
    """The rows of a Parquet file, read a few at a time."""

    def __init__(self, path: Path, prompt: Prompt | None) -> None:
        self.path, self._prompt = path, prompt
        try:
            with pq.ParquetFile(path) as file:
                self._rows, names = file.metadata.num_rows, file.schema_arrow.names
        except (OSError, pa.ArrowException) as error:
            raise BadFile("a Parquet file is needed", found=str(error).split("\n")[0], where=str(path)) from None
        if not self._rows:
            raise BadFile("a table with pictures is needed", found="no rows", where=str(path))
        self._image = _column(IMAGE, names, path)
        self._name = next((name for name in NAME if name in names), None)
        wanted = [self._image, self._name, *TEXT, *PARTS]
        self._columns = [name for name in wanted if name in names]
        found = path.stat()
        self.digest = _digest([found.st_size, found.st_mtime_ns, self._rows, prompt])

    def __len__(self) -> int:
        return int(self._rows)

    def __iter__(self) -> Iterator[Pictured]:
        number = 0
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(_AT_ONCE, columns=self._columns):
                for row in batch.to_pylist():
                    yield self._pictured(row, number)
                    number += 1

    def _pictured(self, row: Mapping[str, Any], number: int) -> Pictured:
        cell = row[self._image]
        data, path = (cell.get("bytes"), cell.get("path")) if isinstance(cell, dict) else (cell, None)
        if isinstance(data, str):
            data, path = None, data
        if data is not None and not isinstance(data, bytes):
            found = type(data).__name__
            raise BadValue("pictures are paths or bytes", found=found, where=f"{self.path}, row {number + 1}")
        name = row[self._name] if self._name else path
        image = data if data is not None else None if path is None else self.path.parent / path
        return Pictured(str(number) if name is None else str(name), image, self._prompt or _prompt_of(row))


# -- rows ------------------------------------------------------------------------------------------------------------


def _column(wanted: tuple[str, ...], names: Iterable[str], path: Path) -> str:
    known = list(names)
    found = next((name for name in wanted if name in known), None)
    if found is None:
        raise BadColumns.missing(wanted[0], known, where=str(path))
    return found


def _prompt_of(row: Mapping[str, Any], *, blank_is_text: bool = True) -> Prompt | None:
    """The prompt a row tells: a text, or the parts of a brief; None where it has neither.

    An empty text is a prompt that says nothing, but an empty cell of a CSV file is one that was left out.
    """
    parts = {part: str(row[part]) for part in PARTS if row.get(part)}
    texts = (str(row[name]) for name in TEXT if row.get(name) is not None)
    text = next((text for text in texts if text or blank_is_text), None)
    if not parts:
        return None if text is None else text_prompt(text)
    told = "\n\n".join(parts.values()) if text is None else text
    return Prompt(id=hashlib.sha256(told.encode()).hexdigest()[:16], text=text, **parts)


def _digest(parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]
