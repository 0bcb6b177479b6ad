"""Scores of pictures that belong to no study, and scoring by several workers.

A source is a folder of files, or a Parquet table with a picture and a prompt in each row. A folder may hold a table of
prompts (`prompts` or `metadata`, .csv or .jsonl) with the columns image (or file_name, file) and prompt (or text,
caption), or the parts of a brief. A Parquet table has the same columns; its pictures are paths, bytes, or the {bytes,
path} that the datasets library writes. Rows are read as they are needed.

    OUT/NAME.parquet     item, value, sigma, unscored: one row a picture, in the order of the source
    OUT/NAME.json        the scorer's card and signature, and the counts

Results are kept in shards until the table is written, so a killed run goes on where it stopped. A pool or Ray give the
same table as a single process.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from salon.engine import EngineSettings, Row, WorkTask, read_results, run_work
from salon.errors import BadColumns, BadFile, BadValue
from salon.judge.scorers.registry import make_scorer
from salon.judge.scoring import (
    SCORE_COLUMNS,
    GapCheck,
    MissingScore,
    PictureScore,
    ScoreResult,
    ScoreRun,
    ScoreSettings,
    score_items,
    score_row,
    scores_file,
    write_scores,
)
from salon.store import read_plain
from salon.study import PARTS, Item, Prompt, Scorer

PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".gif")
TABLES = ("prompts.csv", "prompts.jsonl", "metadata.csv", "metadata.jsonl")
"""Where prompts are looked for in a folder of pictures; the first that is there."""
IMAGE, TEXT, NAME = ("image", "file_name", "file"), ("prompt", "text", "caption"), ("item", "id")
_ROWS_AT_ONCE = 64
"""Rows of a Parquet table held in memory: their pictures may be large."""


@dataclass(frozen=True)
class SourcePicture:
    """One picture with the prompt it was made for."""

    item: str
    image: Path | bytes | None
    prompt: Prompt | None


class PictureSource(Protocol):
    """Where pictures come from."""

    digest: str
    """Changes when the pictures or their prompts do."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[SourcePicture]: ...


def open_pictures(place: Path, *, prompt: str | None = None, prompts: Path | None = None) -> PictureSource:
    """The pictures in the folder or Parquet file `place`.

    `prompt` is the text for all of them; `prompts` names the table that has one for each.
    """
    if prompt is not None and prompts is not None:
        raise BadValue("one of --prompt and --prompts is needed", found="both of them")
    shared_prompt = None if prompt is None else text_prompt(prompt)
    if place.is_dir():
        if shared_prompt is None and prompts is None:
            prompts = next((place / name for name in TABLES if (place / name).is_file()), None)
        return PictureFolder(place, shared_prompt, prompts)
    if place.suffix.lower() != ".parquet" or not place.is_file():
        raise BadFile(
            "a study, a folder of pictures or a Parquet file with pictures is needed",
            found="another file" if place.is_file() else "nothing there",
            where=str(place),
        )
    if prompts is not None:
        raise BadValue("--prompts goes with a folder of pictures", found="a Parquet file", remedy="add a column prompt")
    return PictureTable(place, shared_prompt)


def text_prompt(text: str) -> Prompt:
    """A prompt of which only the text is known: it is all of it, and the client's sentence too."""
    return Prompt(id=hashlib.sha256(text.encode()).hexdigest()[:16], text=text, intent=text)


# -- a folder --------------------------------------------------------------------------------------------------------


class PictureFolder:
    """All pictures below a folder, by name; what begins with a dot is left alone."""

    def __init__(self, folder: Path, prompt: Prompt | None, table: Path | None) -> None:
        self.folder, self._prompt = folder, prompt
        self._files = sorted(
            path
            for path in folder.rglob("*")
            if path.suffix.lower() in PICTURE_ENDINGS
            and not any(part.startswith(".") for part in path.relative_to(folder).parts)
            and path.is_file()
        )
        if not self._files:
            raise BadFile(
                "a study, or a folder with pictures in it, is needed",
                found="a folder without study.toml and without pictures",
                where=str(folder),
                remedy="pictures end in " + ", ".join(PICTURE_ENDINGS),
            )
        self._prompts = {} if table is None else _read_prompts(table)
        self.digest = _digest([*map(self._state, self._files), prompt, sorted(self._prompts.items())])

    def __len__(self) -> int:
        return len(self._files)

    def __iter__(self) -> Iterator[SourcePicture]:
        for path in self._files:
            name = path.relative_to(self.folder).as_posix()
            yield SourcePicture(name, path, self._prompt or self._prompts.get(name))

    def _state(self, path: Path) -> tuple[str, int, int]:
        status = path.stat()
        return path.relative_to(self.folder).as_posix(), status.st_size, status.st_mtime_ns


def _read_prompts(path: Path) -> dict[str, Prompt]:
    """The prompt of each picture of a folder, by its name there."""
    table = read_plain(path, "prompts")
    image = _column(IMAGE, table.column_names, path)
    prompts: dict[str, Prompt | None] = {}
    for number, row in enumerate(table.to_pylist(), 1):
        name, prompt = Path(str(row[image])).as_posix(), _prompt_of(row, blank_is_text=path.suffix != ".csv")
        if prompts.setdefault(name, prompt) != prompt:
            raise BadValue("each picture may have one prompt", found=repr(name), where=f"{path}, row {number}")
    return {name: prompt for name, prompt in prompts.items() if prompt is not None}


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
        columns = [self._image, self._name, *TEXT, *PARTS]
        self._columns = [name for name in columns if name in names]
        status = path.stat()
        self.digest = _digest([status.st_size, status.st_mtime_ns, self._rows, prompt])

    def __len__(self) -> int:
        return int(self._rows)

    def __iter__(self) -> Iterator[SourcePicture]:
        number = 0
        with pq.ParquetFile(self.path) as file:
            for batch in file.iter_batches(_ROWS_AT_ONCE, columns=self._columns):
                for row in batch.to_pylist():
                    yield self._pictured(row, number)
                    number += 1

    def _pictured(self, row: Mapping[str, Any], number: int) -> SourcePicture:
        cell = row[self._image]
        data, path = (cell.get("bytes"), cell.get("path")) if isinstance(cell, dict) else (cell, None)
        if isinstance(data, str):
            data, path = None, data
        if data is not None and not isinstance(data, bytes):
            kind = type(data).__name__
            raise BadValue("pictures are paths or bytes", found=kind, where=f"{self.path}, row {number + 1}")
        name = row[self._name] if self._name else path
        image = data if data is not None else None if path is None else self.path.parent / path
        return SourcePicture(str(number) if name is None else str(name), image, self._prompt or _prompt_of(row))


# -- rows ------------------------------------------------------------------------------------------------------------


def _column(synonyms: tuple[str, ...], names: Iterable[str], path: Path) -> str:
    columns = list(names)
    match = next((name for name in synonyms if name in columns), None)
    if match is None:
        raise BadColumns.missing(synonyms[0], columns, where=str(path))
    return match


def _prompt_of(row: Mapping[str, Any], *, blank_is_text: bool = True) -> Prompt | None:
    """The prompt a row tells: a text, or the parts of a brief; None where it has neither.

    An empty text is a prompt that says nothing, but an empty cell of a CSV file is one that was left out.
    """
    parts = {part: str(row[part]) for part in PARTS if row.get(part)}
    texts = (str(row[name]) for name in TEXT if row.get(name) is not None)
    text = next((text for text in texts if text or blank_is_text), None)
    if not parts:
        return None if text is None else text_prompt(text)
    identity = "\n\n".join(parts.values()) if text is None else text
    return Prompt(id=hashlib.sha256(identity.encode()).hexdigest()[:16], text=text, **parts)


def _digest(parts: object) -> str:
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


# -- scores of a source ------------------------------------------------------------------------------------------------

_PICTURES_PER_TASK = 64
"""Pictures given to a worker at once; what a killed run has to look at again."""


class PictureScoringWork:
    """The work: pictures in, numbers out. Each worker makes the scorer from its name."""

    schema = SCORE_COLUMNS

    def __init__(self, scorer: str, settings: ScoreSettings, signature: str) -> None:
        self.named, self.settings, self.signature = scorer, settings, signature

    def open(self) -> Callable[[Sequence[Any]], list[Row]]:
        """Load the scorer."""
        scorer = make_scorer(self.named, self.settings)
        return lambda pictures: _score_task(scorer, pictures)


def score_pictures(
    source: PictureSource,
    out: Path,
    scorer_name: str,
    settings: ScoreSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    name: str | None = None,
) -> ScoreRun:
    """Score the pictures of `source` by the scorer called `scorer_name`, and write the table to the folder `out`.

    `progress` is called with (completed, total). `name` is what the scores are called, by default the scorer's own.
    """
    settings = settings or ScoreSettings()
    scorer = make_scorer(scorer_name, settings)
    scorer.name = name or scorer.name
    work = PictureScoringWork(scorer_name, settings, f"{scorer.signature}|{source.digest}")
    file = scores_file(out, scorer.name)
    shards = file.with_name(f".{scorer.name}-{hashlib.sha256(work.signature.encode()).hexdigest()[:12]}")
    total = min(len(source), settings.limit or len(source))
    engine = EngineSettings(
        engine=settings.engine,
        workers=settings.workers,
        address=settings.address,
        batch=max(_PICTURES_PER_TASK, settings.batch),
    )
    tasks = (WorkTask(f"{number:012}", picture) for number, picture in enumerate(islice(source, settings.limit)))
    completed = 0

    def count(more: int) -> None:
        nonlocal completed
        completed += more
        if progress is not None:
            progress(completed, total)

    work_result = run_work(work, tasks, shards, engine, count)
    lost = {task.key: f"the process that worked on it ended: {task.reason}" for task in work_result.lost}
    table = read_results(work, shards)
    if lost:  # pictures that took their worker down go back to their places
        items = {f"{number:012}": picture.item for number, picture in enumerate(islice(source, settings.limit))}
        rows = [{"key": key, "item": items[key], "unscored": reason} for key, reason in lost.items()]
        table = pa.concat_tables([table, pa.Table.from_pylist(rows, table.schema)]).sort_by("key")
    table = table.drop_columns("key")
    check: GapCheck = getattr(scorer, "check", lambda gaps, completed, total: None)
    check(Counter(table.column("unscored").drop_null().to_pylist()), table.num_rows, table.num_rows)
    run = write_scores(file, scorer, table, reused=work_result.reused, data=source.digest)
    shutil.rmtree(shards)
    return run


def _score_task(scorer: Scorer, pictures: Sequence[SourcePicture]) -> list[Row]:
    """Scorers open files, so bytes become some for as long as they are looked at."""
    with tempfile.TemporaryDirectory(prefix="salon-") as folder:
        items = []
        for number, picture in enumerate(pictures):
            path = picture.image
            if isinstance(path, bytes):
                place = Path(folder) / str(number)
                place.write_bytes(path)
                path = place
            items.append(Item(id=picture.item, image=None if path is None else str(path)))
        results = score_items(scorer, [(item, picture.prompt) for item, picture in zip(items, pictures, strict=True)])
    return [score_row(item.id, result) for item, result in zip(items, results, strict=True)]


# -- scores of a study by several workers ------------------------------------------------------------------------------

_ITEMS_AT_ONCE = 4096
"""Items handed to the workers before the next are looked at."""


class ScoringWork:
    """The work: items with their prompts in, numbers out. Each worker makes the scorer from its name."""

    schema = pa.schema([("value", pa.float64()), ("sigma", pa.float64()), ("unscored", pa.string())])

    def __init__(self, scorer: str, settings: ScoreSettings, signature: str) -> None:
        self.named, self.settings, self.signature = scorer, settings, signature

    def open(self) -> Callable[[Sequence[Any]], list[Row]]:
        """Load the scorer."""
        scorer = make_scorer(self.named, self.settings)

        def score(pairs: Sequence[Any]) -> list[Row]:
            rows = (score_row("", result) for result in score_items(scorer, pairs))
            return [{name: row[name] for name in self.schema.names} for row in rows]

        return score


class DistributedScorer:
    """A scorer by its name, over workers; shards are kept below `folder`."""

    batch = _ITEMS_AT_ONCE

    def __init__(self, scorer: str, settings: ScoreSettings, folder: Path) -> None:
        self._here = make_scorer(scorer, settings)
        self._work = ScoringWork(scorer, settings, str(self._here.signature))
        self._engine = EngineSettings(
            engine=settings.engine, workers=settings.workers, address=settings.address, batch=max(8, settings.batch)
        )
        digest = hashlib.sha256(self._work.signature.encode()).hexdigest()[:12]
        self._folder = folder / "scores" / f".shards-{digest}"
        self.name = self._here.name

    def __getattr__(self, name: str) -> Any:
        """Card, signature and keys are those of the scorer itself."""
        return getattr(self._here, name)

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        """One number per item, None where it could not be scored."""
        return [result.value if isinstance(result, PictureScore) else None for result in self.results(items, prompts)]

    def results(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[ScoreResult]:
        """One number per item with its sigma, or the reason why there is none."""
        pairs = list(zip(items, prompts, strict=True))
        make_key = getattr(self._here, "key", lambda item, prompt: item.id)
        keys = [make_key(item, prompt) for item, prompt in pairs]
        tasks = {key: WorkTask(key, pair) for key, pair in zip(keys, pairs) if key is not None}
        work_result = run_work(self._work, tasks.values(), self._folder, self._engine)
        table = read_results(self._work, self._folder)
        rows = dict(zip(table.column("key").to_pylist(), table.drop_columns("key").to_pylist()))
        lost = {task.key: f"the process that worked on it ended: {task.reason}" for task in work_result.lost}
        results: list[ScoreResult] = []
        for key in keys:
            row = rows.get(key or "")
            if row is None:
                results.append(MissingScore(lost.get(key or "", "the picture cannot be read")))
            elif row["value"] is None:
                results.append(MissingScore(row["unscored"]))
            else:
                results.append(PictureScore(row["value"], row["sigma"]))
        return results
