"""The numbers of scorers on a study: read from STUDY/scores, or worked out and kept there."""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from salon.errors import BadValue, UnknownReference
from salon.evaluate.scores.score_evaluation_draws import Floats, Frame, Predicted
from salon.judge.score import (
    FOLDER,
    ScoreSettings,
    kept_results,
    read_run,
    read_scores,
    score_study,
    scores_file,
    scores_there,
    with_pictures,
)
from salon.judge.scorers.named import scorer_named
from salon.judge.scorers.of_model import MARK, model_folder, scorer_names
from salon.judge.scorers.picture import Scored
from salon.judge.untrained import Rater, RaterSettings, expanded, split_rater
from salon.models.kept import Kept
from salon.report.words import numbered
from salon.study import Item, Prompt, Study
from salon.study.scorer import ScorerCard

TRAINED = ("one-pass", "trained-")
"""How the signatures of trained models begin."""
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Tables:
    """What scorers say about the items of a frame."""

    frame: Frame
    predicted: tuple[Predicted, ...]
    folders: dict[str, Path]
    """The models among them by name: their guards are asked."""
    unguarded: tuple[str, ...] = ()
    """Tables that a trained model left: they do not say on what it was trained."""

    def __add__(self, more: Tables) -> Tables:
        return Tables(
            self.frame, self.predicted + more.predicted, self.folders | more.folders, self.unguarded + more.unguarded
        )

    def only(self, name: str) -> Tables:
        """One scorer of them."""
        return Tables(
            self.frame, tuple(one for one in self.predicted if one.name == name),
            {own: place for own, place in self.folders.items() if own == name},
            tuple(own for own in self.unguarded if own == name),
        )  # fmt: skip


@dataclass(frozen=True)
class _Table:
    """One file of scores."""

    name: str
    criterion: str | None
    values: Floats
    card: ScorerCard | None
    signature: str


def opened_tables(
    study: Study,
    folder: Path,
    frame: Frame,
    names: Sequence[str],
    models: Sequence[Path],
    device: str | None,
    progress: Progress,
    *,
    rater: RaterSettings | None = None,
    items: Collection[str] = (),
    on_forecast: Callable[[Sequence[str]], None] = lambda lines: None,
) -> Tables:
    """The scorers by name and those of models; one that has no table in STUDY/scores is run, and its table written.

    Untrained VLMs, asked as `rater` says, are run on `items` alone (all, when none are given), and no table is written.
    `on_forecast` hears what endpoints will be asked, in a line each, before the first question is sent.
    """
    found: list[Predicted] = []
    places: list[Path | None] = []
    names = list(dict.fromkeys(names))
    asked = [(name, vlm) for name in names if (vlm := split_rater(name)) is not None]
    runs = rater_runs(study, folder, [name for name, _ in asked], frame, rater or RaterSettings(), device, items)
    on_forecast([words for run in runs.values() if (words := run.forecast())])
    for name in names:
        if name in runs:
            found.append(_rated(runs.pop(name), dict(asked)[name].title, frame, progress))  # its VLM leaves memory
            places.append(None)
            continue
        place, there = model_folder(name), _files(folder, name)
        there = there or _scored(study, folder, [name], device, progress)
        found.append(_predicted(place.name if place else name, [_read(study, frame, file) for file in there], frame))
        places.append(place)
    for model in models:
        there = _scored(study, folder, scorer_names(model), device, progress)
        found.append(_predicted(model.name, [_read(study, frame, file) for file in there], frame))
        places.append(model)
    told = [replace(one, name=name) for one, name in zip(found, numbered(one.name for one in found))]
    folders = {one.name: place for one, place in zip(told, places) if place is not None}
    trained = (one.name for one in told if one.signature.startswith(TRAINED) and one.name not in folders)
    return Tables(frame, tuple(told), folders, tuple(trained))


# -- untrained VLMs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RaterRun:
    """An untrained VLM that is about to look at items."""

    scorers: tuple[Rater, ...]
    """One for each criterion; the first one's look is that of all."""
    asked: tuple[tuple[Item, Prompt | None], ...]

    def forecast(self) -> str:
        """What it takes at an endpoint, in a line; empty in this process."""
        return self.scorers[0].forecast_words(self.asked)


def rater_runs(
    study: Study, folder: Path, names: Sequence[str], frame: Frame, rater: RaterSettings, device: str | None,
    items: Collection[str] = (),
) -> dict[str, RaterRun]:  # fmt: skip
    """By name; a folder that holds no VLM is found here, before any other scorer is run."""
    settings = ScoreSettings(device=device, rater=rater.on(study, folder, [id for id, _ in frame.criteria]))
    asked = tuple(one for one in with_pictures(study, folder) if not items or one[0].id in items)
    runs = {}
    for name in names:
        scorers = [scorer_named(one, settings) for one in expanded([name], [id for id, _ in frame.criteria])]
        runs[name] = RaterRun(tuple(one for one in scorers if isinstance(one, Rater)), asked)
    return runs


def _rated(run: RaterRun, name: str, frame: Frame, progress: Progress) -> Predicted:
    """What an untrained VLM says; refused as a whole where its answers cannot be read."""
    kept, tables = Kept(), []
    for scorer in run.scorers:
        progress(f"asking {scorer.name}")
        results, _ = kept_results(scorer, run.asked, scorer.batch, kept, lambda done, wanted: None)
        given = {item.id: one.value for (item, _), one in zip(run.asked, results) if isinstance(one, Scored)}
        values = np.array([given.get(item, np.nan) for item in frame.items], np.float64)
        tables.append(_Table(scorer.name, scorer.card.criterion, values, scorer.card, str(scorer.signature)))
    return _predicted(name, tables, frame)


def _files(folder: Path, name: str) -> list[Path]:
    """The table called `name`, or those of its criteria."""
    home = folder / FOLDER
    if any(letter in name for letter in "/\\:\0"):
        return []
    whole = scores_file(home, name)
    return [whole] if whole.is_file() else sorted(home.glob(f"{glob.escape(name)}{MARK}*.parquet"))


def _scored(study: Study, folder: Path, names: Sequence[str], device: str | None, progress: Progress) -> list[Path]:
    kept, settings = Kept(), ScoreSettings(device=device)
    made = []
    for name in names:
        progress(f"scoring by {name}")
        try:
            scorer = scorer_named(name, settings, kept)
        except BadValue as error:
            known = scores_there(folder)
            raise UnknownReference(
                "a table of STUDY/scores, or a scorer as salon score names it, is needed", found=repr(name),
                remedy=f"tables: {', '.join(known) or 'none'}; {error.remedy or 'salon score --list'}",
            ) from None  # fmt: skip
        made.append(folder / score_study(study, folder, scorer, settings, kept=kept).file)
    return made


def _read(study: Study, frame: Frame, file: Path) -> _Table:
    table = read_scores(file)
    given = dict(zip(table.column("item").to_pylist(), table.column("value").to_pylist()))
    if len(given) < table.num_rows:
        raise BadValue("one score of every item", found=f"{table.num_rows} of {len(given)} items", where=str(file))
    values = np.array([np.nan if (v := given.get(item)) is None else v for item in frame.items], np.float64)
    if np.isinf(values).any():
        raise BadValue("scores are finite numbers", found="infinity", where=str(file))
    if not set(given) & set(study.ids("items").to_pylist()):
        raise BadValue("scores of items of the study are needed", found="scores of other items", where=str(file))
    run = read_run(file)
    criterion = run.card.criterion if run else None
    known = {id for id, _ in frame.criteria}
    if criterion is None and MARK in file.stem and file.stem.rpartition(MARK)[2] in known:
        criterion = file.stem.rpartition(MARK)[2]
    return _Table(file.stem, criterion, values, run.card if run else None, run.signature if run else "")


def _predicted(name: str, tables: Sequence[_Table], frame: Frame) -> Predicted:
    """One scorer of one table or several; a table without a criterion speaks about all."""
    values = np.full((len(frame.items), len(frame.criteria)), np.nan)
    speaks = np.zeros(len(frame.criteria), bool)
    for table in tables:
        turned = -1.0 if table.card is not None and not table.card.higher_is_better else 1.0
        for number, (id, _) in enumerate(frame.criteria):
            if table.criterion in (None, id):
                values[:, number], speaks[number] = turned * table.values, True
    if not speaks.any():
        about = ", ".join(str(table.criterion) for table in tables)
        raise UnknownReference(
            "a scorer of a criterion of the study is needed", found=f"{name}: scores of {about}",
            remedy=f"the study has {', '.join(id for id, _ in frame.criteria)}",
        )  # fmt: skip
    cards = [table.card for table in tables if table.card is not None]
    upright = bool(cards) and all(card.higher_is_better for card in cards)
    ends = {(card.low, card.high) for card in cards} if upright else set()
    low, high = ends.pop() if len(ends) == 1 else (None, None)
    turned = any(not card.higher_is_better for card in cards)
    return Predicted(
        name, values, speaks, low, high, turned or any(card.is_logit for card in cards),
        "; ".join(dict.fromkeys(table.signature for table in tables if table.signature)),
    )  # fmt: skip
