"""Scores of pictures that are no study (see `picture_source`), by a scorer that is named as in `salon score`.

    OUT/NAME.parquet     item, value, sigma, unscored: one row a picture, in the order of the source
    OUT/NAME.json        the scorer's card and signature, and the counts

The pictures pass by once and are never all in memory. What was scored is kept in shards until the table is written, so
the same call goes on after an interruption; a pool or Ray give the same table.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from salon.engine.run import results, run_work
from salon.engine.work import EngineSettings, Row, Task
from salon.judge.picture_source import Pictured, PictureSource
from salon.judge.score import COLUMNS, Check, ScoreRun, ScoreSettings, results_of, score_row, scores_file, write_scores
from salon.judge.scorers.named import scorer_named
from salon.study import Item, Scorer

_SHARE = 64
"""Pictures given to a worker at once; what a killed run has to look at again."""


class ScoringPictures:
    """The work: pictures in, numbers out. Each worker makes the scorer from its name."""

    schema = COLUMNS

    def __init__(self, named: str, settings: ScoreSettings, signature: str) -> None:
        self.named, self.settings, self.signature = named, settings, signature

    def open(self) -> Callable[[Sequence[Any]], list[Row]]:
        """Load the scorer."""
        scorer = scorer_named(self.named, self.settings)
        return lambda pictures: _scored(scorer, pictures)


def score_pictures(
    source: PictureSource,
    out: Path,
    named: str,
    settings: ScoreSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
    *,
    name: str | None = None,
) -> ScoreRun:
    """Score the pictures of `source` by the scorer that `named` names, and write the table to the folder `out`.

    `progress` is told (done, wanted). `name` is what the scores are called, the scorer's own name unless given.
    """
    settings = settings or ScoreSettings()
    scorer = scorer_named(named, settings)
    scorer.name = name or scorer.name
    work = ScoringPictures(named, settings, f"{scorer.signature}|{source.digest}")
    file = scores_file(out, scorer.name)
    shards = file.with_name(f".{scorer.name}-{hashlib.sha256(work.signature.encode()).hexdigest()[:12]}")
    wanted = min(len(source), settings.limit or len(source))
    engine = EngineSettings(
        engine=settings.engine, workers=settings.workers, address=settings.address, batch=max(_SHARE, settings.batch)
    )
    done = run_work(work, _tasks(source, settings.limit), shards, engine, _counter(progress, wanted))
    lost = {one.key: f"the process that worked on it ended: {one.reason}" for one in done.lost}
    table = _whole(results(work, shards), source, settings.limit, lost)
    check: Check = getattr(scorer, "check", lambda gaps, done, wanted: None)
    check(Counter(table.column("unscored").drop_null().to_pylist()), table.num_rows, table.num_rows)
    run = write_scores(file, scorer, table, reused=done.kept, data=source.digest)
    shutil.rmtree(shards)
    return run


def _tasks(source: PictureSource, limit: int | None) -> Iterator[Task]:
    return (Task(f"{number:012}", pictured) for number, pictured in enumerate(islice(source, limit)))


def _counter(progress: Callable[[int, int], None] | None, wanted: int) -> Callable[[int], None]:
    done = 0

    def count(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, wanted)

    return count


def _whole(table: pa.Table, source: PictureSource, limit: int | None, lost: dict[str, str]) -> pa.Table:
    """The rows in the order of the source, with those that took their worker down."""
    if lost:
        items = {f"{number:012}": one.item for number, one in enumerate(islice(source, limit))}
        rows = [{"key": key, "item": items[key], "unscored": reason} for key, reason in lost.items()]
        table = pa.concat_tables([table, pa.Table.from_pylist(rows, table.schema)]).sort_by("key")
    return table.drop_columns("key")


def _scored(scorer: Scorer, pictures: Sequence[Pictured]) -> list[Row]:
    """Scorers open files, so bytes become some for as long as they are looked at."""
    with tempfile.TemporaryDirectory(prefix="salon-") as folder:
        items = [_item(one, Path(folder) / str(number)) for number, one in enumerate(pictures)]
        found = results_of(scorer, [(item, one.prompt) for item, one in zip(items, pictures, strict=True)])
    return [score_row(item.id, result) for item, result in zip(items, found, strict=True)]


def _item(one: Pictured, place: Path) -> Item:
    if isinstance(one.image, bytes):
        place.write_bytes(one.image)
        return Item(id=one.item, image=str(place))
    return Item(id=one.item, image=None if one.image is None else str(one.image))
