"""The numbers of scorers on a study: read from STUDY/scores, or worked out and kept there."""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from salon.errors import BadValue, UnknownReference
from salon.evaluate.score_cells import Floats, Prediction, ScoreFrame
from salon.judge.model_scorers import (
    MARK,
    RaterSettings,
    UntrainedScorer,
    expand_raters,
    model_folder,
    scorer_names,
    split_rater,
)
from salon.judge.scorers.registry import make_scorer
from salon.judge.scoring import (
    SCORES_FOLDER,
    PictureScore,
    ScoreSettings,
    cached_scores,
    items_with_pictures,
    list_scores,
    read_score_run,
    read_scores,
    score_study,
    scores_file,
)
from salon.models.cache import ResultCache
from salon.report.words import number_repeats
from salon.study import Item, Prompt, Study
from salon.study.interfaces import ScorerCard

TRAINED = ("one-pass", "trained-")
"""How the signatures of trained models begin."""
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Predictions:
    """What scorers say about the items of a frame."""

    frame: ScoreFrame
    predicted: tuple[Prediction, ...]
    folders: dict[str, Path]
    """The models among them by name: their guards are asked."""
    unguarded: tuple[str, ...] = ()
    """Tables that a trained model left: they do not say on what it was trained."""

    def __add__(self, more: Predictions) -> Predictions:
        return Predictions(
            self.frame, self.predicted + more.predicted, self.folders | more.folders, self.unguarded + more.unguarded
        )

    def only(self, name: str) -> Predictions:
        """One scorer of them."""
        return Predictions(
            self.frame, tuple(one for one in self.predicted if one.name == name),
            {own: place for own, place in self.folders.items() if own == name},
            tuple(own for own in self.unguarded if own == name),
        )  # fmt: skip


@dataclass(frozen=True)
class _ScoreFile:
    """One file of scores."""

    name: str
    criterion: str | None
    values: Floats
    card: ScorerCard | None
    signature: str


def read_predictions(
    study: Study,
    folder: Path,
    frame: ScoreFrame,
    names: Sequence[str],
    models: Sequence[Path],
    device: str | None,
    progress: Progress,
    *,
    rater: RaterSettings | None = None,
    items: Collection[str] = (),
    on_forecast: Callable[[Sequence[str]], None] = lambda lines: None,
) -> Predictions:
    """The scorers by name and those of models; one that has no table in STUDY/scores is run, and its table written.

    Untrained VLMs, asked as `rater` says, are run on `items` alone (all, when none are given), and no table is written.
    `on_forecast` hears what endpoints will be asked, in a line each, before the first question is sent.
    """
    found: list[Prediction] = []
    places: list[Path | None] = []
    names = list(dict.fromkeys(names))
    asked = [(name, vlm) for name in names if (vlm := split_rater(name)) is not None]
    runs = rater_runs(study, folder, [name for name, _ in asked], frame, rater or RaterSettings(), device, items)
    on_forecast([words for run in runs.values() if (words := run.forecast())])
    for name in names:
        if name in runs:
            found.append(_ask_rater(runs.pop(name), dict(asked)[name].title, frame, progress))  # its VLM leaves memory
            places.append(None)
            continue
        place, there = model_folder(name), _files(folder, name)
        there = there or _run_scorers(study, folder, [name], device, progress)
        found.append(_prediction(place.name if place else name, [_read(study, frame, file) for file in there], frame))
        places.append(place)
    for model in models:
        there = _run_scorers(study, folder, scorer_names(model), device, progress)
        found.append(_prediction(model.name, [_read(study, frame, file) for file in there], frame))
        places.append(model)
    told = [replace(one, name=name) for one, name in zip(found, number_repeats(one.name for one in found))]
    folders = {one.name: place for one, place in zip(told, places) if place is not None}
    trained = (one.name for one in told if one.signature.startswith(TRAINED) and one.name not in folders)
    return Predictions(frame, tuple(told), folders, tuple(trained))


# -- untrained VLMs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RaterRun:
    """An untrained VLM that is about to look at items."""

    scorers: tuple[UntrainedScorer, ...]
    """One for each criterion; the first one's look is that of all."""
    asked: tuple[tuple[Item, Prompt | None], ...]

    def forecast(self) -> str:
        """What it takes at an endpoint, in a line; empty in this process."""
        return self.scorers[0].forecast_words(self.asked)


def rater_runs(
    study: Study, folder: Path, names: Sequence[str], frame: ScoreFrame, rater: RaterSettings, device: str | None,
    items: Collection[str] = (),
) -> dict[str, RaterRun]:  # fmt: skip
    """By name; a folder that holds no VLM is found here, before any other scorer is run."""
    settings = ScoreSettings(device=device, rater=rater.on(study, folder, [id for id, _ in frame.criteria]))
    asked = tuple(one for one in items_with_pictures(study, folder) if not items or one[0].id in items)
    runs = {}
    for name in names:
        scorers = [make_scorer(one, settings) for one in expand_raters([name], [id for id, _ in frame.criteria])]
        runs[name] = RaterRun(tuple(one for one in scorers if isinstance(one, UntrainedScorer)), asked)
    return runs


def _ask_rater(run: RaterRun, name: str, frame: ScoreFrame, progress: Progress) -> Prediction:
    """What an untrained VLM says; refused as a whole where its answers cannot be read."""
    kept, tables = ResultCache(), []
    for scorer in run.scorers:
        progress(f"asking {scorer.name}")
        results, _ = cached_scores(scorer, run.asked, scorer.batch, kept, lambda done, wanted: None)
        given = {item.id: one.value for (item, _), one in zip(run.asked, results) if isinstance(one, PictureScore)}
        values = np.array([given.get(item, np.nan) for item in frame.items], np.float64)
        tables.append(_ScoreFile(scorer.name, scorer.card.criterion, values, scorer.card, str(scorer.signature)))
    return _prediction(name, tables, frame)


def _files(folder: Path, name: str) -> list[Path]:
    """The table called `name`, or those of its criteria."""
    home = folder / SCORES_FOLDER
    if any(letter in name for letter in "/\\:\0"):
        return []
    whole = scores_file(home, name)
    return [whole] if whole.is_file() else sorted(home.glob(f"{glob.escape(name)}{MARK}*.parquet"))


def _run_scorers(
    study: Study, folder: Path, names: Sequence[str], device: str | None, progress: Progress
) -> list[Path]:
    kept, settings = ResultCache(), ScoreSettings(device=device)
    made = []
    for name in names:
        progress(f"scoring by {name}")
        try:
            scorer = make_scorer(name, settings, kept)
        except BadValue as error:
            known = list_scores(folder)
            raise UnknownReference(
                "a table of STUDY/scores, or a scorer as salon score names it, is needed", found=repr(name),
                remedy=f"tables: {', '.join(known) or 'none'}; {error.remedy or 'salon score --list'}",
            ) from None  # fmt: skip
        made.append(folder / score_study(study, folder, scorer, settings, cache=kept).file)
    return made


def _read(study: Study, frame: ScoreFrame, file: Path) -> _ScoreFile:
    table = read_scores(file)
    given = dict(zip(table.column("item").to_pylist(), table.column("value").to_pylist()))
    if len(given) < table.num_rows:
        raise BadValue("one score of every item", found=f"{table.num_rows} of {len(given)} items", where=str(file))
    values = np.array([np.nan if (v := given.get(item)) is None else v for item in frame.items], np.float64)
    if np.isinf(values).any():
        raise BadValue("scores are finite numbers", found="infinity", where=str(file))
    if not set(given) & set(study.ids("items").to_pylist()):
        raise BadValue("scores of items of the study are needed", found="scores of other items", where=str(file))
    run = read_score_run(file)
    criterion = run.card.criterion if run else None
    known = {id for id, _ in frame.criteria}
    if criterion is None and MARK in file.stem and file.stem.rpartition(MARK)[2] in known:
        criterion = file.stem.rpartition(MARK)[2]
    return _ScoreFile(file.stem, criterion, values, run.card if run else None, run.signature if run else "")


def _prediction(name: str, tables: Sequence[_ScoreFile], frame: ScoreFrame) -> Prediction:
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
    return Prediction(
        name, values, speaks, low, high, turned or any(card.is_logit for card in cards),
        "; ".join(dict.fromkeys(table.signature for table in tables if table.signature)),
    )  # fmt: skip
