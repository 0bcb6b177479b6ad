"""Scorers and what they say of pictures, as the stage `select` takes it.

Logits of one trained model share a scale, so its criteria may be added as they stand. Every other scorer has a scale of
its own, whatever range its card gives: 0.7 of the words is not 0.7 of the contrast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from salon.errors import BadValue
from salon.judge.picture_source import PictureSource
from salon.judge.score import FOLDER, ScoreSettings, read_scores, score_study, scores_file
from salon.judge.score_pictures import score_pictures
from salon.judge.scorers.named import scorer_named
from salon.judge.scorers.of_model import scorer_names
from salon.judge.scorers.spread import SpreadScorer
from salon.judge.untrained import expanded
from salon.models.kept import Kept
from salon.select.reference import ScoreReference, make_reference
from salon.select.score_table import ScoreTable
from salon.select.weights import ScoreColumn, score_column
from salon.study import Scorer, Study

Watch = Callable[[str, int, int], None]
"""What is being done, how much of it is done, and of how much."""
Check = Callable[[Sequence[ScoreColumn]], object]
"""Refuses columns of scores, if it must, before a single picture is looked at."""


def scorer_words(names: Sequence[str], models: Sequence[Path] = (), criteria: Sequence[str] = ()) -> list[str]:
    """How `scorer_named` calls them: those named, and one for each criterion of each model.

    A model's flag head is left out: it says what to hold back, not what is better.
    """
    found = list(names)
    for folder in models:
        found += scorer_names(folder, criteria, flag=False)
    if not found:
        raise BadValue(
            "at least one scorer is needed", found="none", remedy="-s NAME (salon score --list names them), "
            "or --model FOLDER of a model trained by salon train",
        )  # fmt: skip
    return found


def study_scores(
    study: Study,
    folder: Path,
    words: Sequence[str],
    settings: ScoreSettings | None = None,
    watch: Watch = lambda doing, done, wanted: None,
    *,
    scorers: Sequence[Scorer] = (),
    check: Check = lambda columns: None,
) -> ScoreTable:
    """Scores of all items of a study, by scorers named in words or given; each picture is looked at once."""
    settings, kept, home = settings or ScoreSettings(), Kept(), folder.resolve()
    settings = settings.model_copy(update={"rater": settings.rater.on(study, home)})
    words = expanded(words, [one.id for one in study.criteria])
    here = settings.engine == "here"
    named = [scorer_named(one, settings, kept) if here else SpreadScorer(one, settings, home) for one in words]
    everyone: list[Scorer] = [*named, *scorers]
    columns = score_columns(everyone)
    check(columns)
    for scorer in everyone:
        score_study(study, home, scorer, settings, _counter(watch, scorer.name), kept=kept)
    tables = [read_scores(scores_file(home / FOLDER, scorer.name)) for scorer in everyone]
    items = list(study.nouns("items"))[: settings.limit]
    return _joined([item.id for item in items], columns, tables, study.hash[:12])


def picture_scores(
    source: PictureSource,
    out: Path,
    words: Sequence[str],
    settings: ScoreSettings | None = None,
    watch: Watch = lambda doing, done, wanted: None,
    *,
    check: Check = lambda columns: None,
) -> ScoreTable:
    """The same for pictures that are no study; tables of scores are written to the folder `out`."""
    settings = settings or ScoreSettings()
    everyone = [scorer_named(one, settings) for one in words]
    columns = score_columns(everyone)
    check(columns)
    for one, scorer in zip(words, everyone):
        score_pictures(source, out, one, settings, _counter(watch, scorer.name))
    tables = [read_scores(scores_file(out, scorer.name)) for scorer in everyone]
    items = tables[0].column("item").to_pylist()
    return _joined(items, columns, tables, source.digest)


def _counter(watch: Watch, name: str) -> Callable[[int, int], None]:
    return lambda done, wanted: watch(name, done, wanted)


def score_columns(scorers: Sequence[Scorer]) -> list[ScoreColumn]:
    """What one has to know of each scorer; BadValue where one is named twice."""
    names = [scorer.name for scorer in scorers]
    again = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if again:
        raise BadValue("each scorer may be named once", found=f"{again[0]!r} {names.count(again[0])} times")
    return [score_column(one) for one in scorers]


def _joined(items: Sequence[str], columns: Sequence[ScoreColumn], tables: Sequence[pa.Table], data: str) -> ScoreTable:
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


def reference_of(table: ScoreTable, name: str) -> ScoreReference:
    """The frozen reference that a table of scores gives: mean and sd of each criterion over its items."""
    signatures = [column.signature for column in table.columns]
    return make_reference(name, table.criteria, table.values, signatures=signatures, data=table.data)
