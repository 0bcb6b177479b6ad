"""A scorer in many places at once: workers, here in a pool or on Ray, each with a copy of it; every item exactly once.

Results are shards in `STUDY/scores` until the table is written, so a run that was killed goes on where it stopped, and
the table is the same as the one that a single process writes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from salon.engine.run import results, run_work
from salon.engine.work import EngineSettings, Row, Task
from salon.judge.score import ScoreSettings, results_of
from salon.judge.scorers.named import scorer_named
from salon.judge.scorers.picture import Result, Scored, Unscored
from salon.study import Item, Prompt, Scorer

_AT_ONCE = 4096
"""Items handed to the workers before the next are looked at."""


class Scoring:
    """The work: items with their prompts in, numbers out. Each worker makes the scorer from its name."""

    schema = pa.schema([("value", pa.float64()), ("sigma", pa.float64()), ("unscored", pa.string())])

    def __init__(self, named: str, settings: ScoreSettings, signature: str) -> None:
        self.named, self.settings, self.signature = named, settings, signature

    def open(self) -> Callable[[Sequence[Any]], list[Row]]:
        """Load the scorer."""
        scorer = scorer_named(self.named, self.settings)
        return lambda asked: [_row(result) for result in results_of(scorer, asked)]


class SpreadScorer:
    """The scorer that `named` names, over workers; shards are kept below `folder`."""

    batch = _AT_ONCE

    def __init__(self, named: str, settings: ScoreSettings, folder: Path) -> None:
        self._here = scorer_named(named, settings)
        self._work = Scoring(named, settings, str(self._here.signature))
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
        return [found.value if isinstance(found, Scored) else None for found in self.results(items, prompts)]

    def results(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[Result]:
        """One number per item with its sigma, or the reason why there is none."""
        asked = list(zip(items, prompts, strict=True))
        keys = [_key(self._here, *one) for one in asked]
        tasks = {key: Task(key, one) for key, one in zip(keys, asked) if key is not None}
        done = run_work(self._work, tasks.values(), self._folder, self._engine)
        table = results(self._work, self._folder)
        known = dict(zip(table.column("key").to_pylist(), table.drop_columns("key").to_pylist()))
        lost = {one.key: f"the process that worked on it ended: {one.reason}" for one in done.lost}
        return [_result(known.get(key or ""), lost.get(key or "", "the picture cannot be read")) for key in keys]


def _key(scorer: Scorer, item: Item, prompt: Prompt | None) -> str | None:
    make = getattr(scorer, "key", None)
    return item.id if make is None else make(item, prompt)


def _row(result: Result) -> Row:
    if isinstance(result, Scored):
        return {"value": result.value, "sigma": result.sigma, "unscored": None}
    return {"value": None, "sigma": None, "unscored": result.reason}


def _result(row: Row | None, missing: str) -> Result:
    if row is None:
        return Unscored(missing)
    return Unscored(row["unscored"]) if row["value"] is None else Scored(row["value"], row["sigma"])
