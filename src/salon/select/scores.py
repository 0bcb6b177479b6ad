"""Scores of many items under several criteria, as decisions take them: one table, by scorers named or given.

Logits of one trained model share a scale, so its criteria may be added as they stand. Every other scorer has a scale of
its own, whatever range its card gives: 0.7 of the words is not 0.7 of the contrast.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from salon.errors import BadValue, UnknownReference
from salon.judge import (
    SCORES_FOLDER,
    DistributedScorer,
    PictureSource,
    ScoreSettings,
    expand_raters,
    make_scorer,
    read_scores,
    score_pictures,
    score_study,
    scorer_names,
    scores_file,
)
from salon.models import ResultCache
from salon.select.weights import ScorerColumn, ScoreReference, describe_scorer, make_reference
from salon.study import Scorer, Study

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ScoreTable:
    """Items by criteria; NaN where there is no score, or where a scorer states no standard deviation."""

    items: tuple[str, ...]
    columns: tuple[ScorerColumn, ...]
    values: Floats
    """(items, criteria) as the scorers gave them."""
    sds: Floats
    """(items, criteria)."""
    reasons: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(item, criterion) without a score: why."""
    data: str = ""
    """Content hash of what was scored."""

    @property
    def criteria(self) -> tuple[str, ...]:
        """Ids of the columns."""
        return tuple(column.criterion for column in self.columns)

    def rows(self, items: Sequence[str]) -> tuple[Floats, Floats]:
        """Values and standard deviations of some items, in their order."""
        missing = [item for item in items if item not in self._places]
        if missing:
            raise UnknownReference("items that were scored are needed", found=repr(missing[0]))
        numbers = [self._places[item] for item in items]
        return self.values[numbers], self.sds[numbers]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {item: number for number, item in enumerate(self.items)}


StepCallback = Callable[[str, int, int], None]
"""What is being done, how much of it is done, and of how much."""


def no_progress(step: str, completed: int, total: int) -> None:
    """A StepCallback that reports nothing."""


ColumnCheck = Callable[[Sequence[ScorerColumn]], object]
"""Refuses columns of scores, if it must, before a single picture is looked at."""


def list_scorers(names: Sequence[str], models: Sequence[Path] = (), criteria: Sequence[str] = ()) -> list[str]:
    """How `make_scorer` calls them: those named, and one for each criterion of each model.

    A model's flag head is left out: it says what to hold back, not what is better.
    """
    scorers = list(names)
    for folder in models:
        scorers += scorer_names(folder, criteria, flag=False)
    if not scorers:
        raise BadValue(
            "at least one scorer is needed", found="none", remedy="-s NAME (salon score --list names them), "
            "or --model FOLDER of a model trained by salon train",
        )  # fmt: skip
    return scorers


def study_scores(
    study: Study,
    folder: Path,
    words: Sequence[str],
    settings: ScoreSettings | None = None,
    watch: StepCallback = no_progress,
    *,
    scorers: Sequence[Scorer] = (),
    check: ColumnCheck = lambda columns: None,
) -> ScoreTable:
    """Scores of all items of a study, by scorers named in words or given; each picture is looked at once."""
    settings, cache, home = settings or ScoreSettings(), ResultCache(), folder.resolve()
    settings = settings.model_copy(update={"rater": settings.rater.on(study, home)})
    words = expand_raters(words, [word.id for word in study.criteria])
    here = settings.engine == "here"
    named_scorers = [
        make_scorer(word, settings, cache) if here else DistributedScorer(word, settings, home) for word in words
    ]
    everyone: list[Scorer] = [*named_scorers, *scorers]
    columns = score_columns(everyone)
    check(columns)
    for scorer in everyone:
        score_study(study, home, scorer, settings, _counter(watch, scorer.name), cache=cache)
    tables = [read_scores(scores_file(home / SCORES_FOLDER, scorer.name)) for scorer in everyone]
    items = list(study.nouns("items"))[: settings.limit]
    return _join_tables([item.id for item in items], columns, tables, study.hash[:12])


def picture_scores(
    source: PictureSource,
    out: Path,
    words: Sequence[str],
    settings: ScoreSettings | None = None,
    watch: StepCallback = no_progress,
    *,
    check: ColumnCheck = lambda columns: None,
) -> ScoreTable:
    """The same for pictures that are no study; tables of scores are written to the folder `out`."""
    settings = settings or ScoreSettings()
    everyone = [make_scorer(word, settings) for word in words]
    columns = score_columns(everyone)
    check(columns)
    for word, scorer in zip(words, everyone):
        score_pictures(source, out, word, settings, _counter(watch, scorer.name))
    tables = [read_scores(scores_file(out, scorer.name)) for scorer in everyone]
    items = tables[0].column("item").to_pylist()
    return _join_tables(items, columns, tables, source.digest)


def _counter(watch: StepCallback, name: str) -> Callable[[int, int], None]:
    return lambda completed, total: watch(name, completed, total)


def score_columns(scorers: Sequence[Scorer]) -> list[ScorerColumn]:
    """What one has to know of each scorer; BadValue where one is named twice."""
    names = [scorer.name for scorer in scorers]
    again = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if again:
        raise BadValue("each scorer may be named once", found=f"{again[0]!r} {names.count(again[0])} times")
    return [describe_scorer(entry) for entry in scorers]


def _join_tables(
    items: Sequence[str], columns: Sequence[ScorerColumn], tables: Sequence[pa.Table], data: str
) -> ScoreTable:
    values, sds = np.full((2, len(items), len(columns)), np.nan)
    reasons: dict[tuple[str, str], str] = {}
    place = {item: number for number, item in enumerate(items)}
    for d, (column, table) in enumerate(zip(columns, tables)):
        for row in table.to_pylist():
            if row["item"] not in place:
                continue
            if row["value"] is None:
                reasons[row["item"], column.criterion] = f"{column.scorer}: {row.get('unscored') or 'no value'}"
                continue
            values[place[row["item"]], d] = row["value"]
            if row.get("sigma") is not None:
                sds[place[row["item"]], d] = row["sigma"]
    return ScoreTable(tuple(items), tuple(columns), values, sds, reasons, data)


def reference_from_scores(table: ScoreTable, name: str) -> ScoreReference:
    """The frozen reference that a table of scores gives: mean and sd of each criterion over its items."""
    signatures = [column.signature for column in table.columns]
    return make_reference(name, table.criteria, table.values, signatures=signatures, data=table.data)
