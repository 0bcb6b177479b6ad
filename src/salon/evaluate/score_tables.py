"""The numbers of scorers on a study, read from STUDY/scores or worked out, and the targets they are held against.

Targets are fused scores, means or medians of ratings, pseudo-scores, or a table. In a target higher is better, as in
what is predicted: values on a scale where lower is better are turned round.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from salon.errors import BadFile, BadValue, TooFew, UnknownReference
from salon.evaluate.people import people_only
from salon.evaluate.pseudo_scores import read_pseudo_scores
from salon.evaluate.scores import Floats, Prediction, ScoreFrame, Target
from salon.fuse import ANCHORED, RATED, fuse_study
from salon.judge import (
    MARK,
    SCORES_FOLDER,
    PictureScore,
    RaterSettings,
    ScoreSettings,
    UntrainedScorer,
    cached_scores,
    expand_raters,
    items_with_pictures,
    list_scores,
    make_scorer,
    model_folder,
    read_score_run,
    read_scores,
    score_study,
    scorer_names,
    scores_file,
    split_rater,
)
from salon.models import ResultCache
from salon.report import number_repeats
from salon.store import read_plain
from salon.study import Item, Prompt, ScorerCard, Study

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
            self.frame, tuple(prediction for prediction in self.predicted if prediction.name == name),
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
    predictions: list[Prediction] = []
    places: list[Path | None] = []
    names = list(dict.fromkeys(names))
    raters = [(name, vlm) for name in names if (vlm := split_rater(name)) is not None]
    runs = rater_runs(study, folder, [name for name, _ in raters], frame, rater or RaterSettings(), device, items)
    on_forecast([words for run in runs.values() if (words := run.forecast())])
    for name in names:
        if name in runs:
            predictions.append(
                _ask_rater(runs.pop(name), dict(raters)[name].title, frame, progress)
            )  # its VLM leaves memory
            places.append(None)
            continue
        # the table called `name`, or those of its criteria
        home = folder / SCORES_FOLDER
        if any(letter in name for letter in "/\\:\0"):
            files = []
        else:
            whole = scores_file(home, name)
            files = [whole] if whole.is_file() else sorted(home.glob(f"{glob.escape(name)}{MARK}*.parquet"))
        place, there = model_folder(name), files
        there = there or _run_scorers(study, folder, [name], device, progress)
        predictions.append(
            _prediction(place.name if place else name, [_read(study, frame, file) for file in there], frame)
        )
        places.append(place)
    for model in models:
        there = _run_scorers(study, folder, scorer_names(model), device, progress)
        predictions.append(_prediction(model.name, [_read(study, frame, file) for file in there], frame))
        places.append(model)
    renamed = [
        replace(prediction, name=name)
        for prediction, name in zip(predictions, number_repeats(prediction.name for prediction in predictions))
    ]
    folders = {prediction.name: place for prediction, place in zip(renamed, places) if place is not None}
    trained = (
        prediction.name
        for prediction in renamed
        if prediction.signature.startswith(TRAINED) and prediction.name not in folders
    )
    return Predictions(frame, tuple(renamed), folders, tuple(trained))


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
    questions = tuple(scorer for scorer in items_with_pictures(study, folder) if not items or scorer[0].id in items)
    runs = {}
    for name in names:
        scorers = [make_scorer(scorer, settings) for scorer in expand_raters([name], [id for id, _ in frame.criteria])]
        runs[name] = RaterRun(tuple(scorer for scorer in scorers if isinstance(scorer, UntrainedScorer)), questions)
    return runs


def _ask_rater(run: RaterRun, name: str, frame: ScoreFrame, progress: Progress) -> Prediction:
    """What an untrained VLM says; refused as a whole where its answers cannot be read."""
    cache, tables = ResultCache(), []
    for scorer in run.scorers:
        progress(f"asking {scorer.name}")
        results, _ = cached_scores(scorer, run.asked, scorer.batch, cache, lambda finished, total: None)
        by_item = {
            item.id: score.value for (item, _), score in zip(run.asked, results) if isinstance(score, PictureScore)
        }
        values = np.array([by_item.get(item, np.nan) for item in frame.items], np.float64)
        tables.append(_ScoreFile(scorer.name, scorer.card.criterion, values, scorer.card, str(scorer.signature)))
    return _prediction(name, tables, frame)


def _run_scorers(
    study: Study, folder: Path, names: Sequence[str], device: str | None, progress: Progress
) -> list[Path]:
    cache, settings = ResultCache(), ScoreSettings(device=device)
    files = []
    for name in names:
        progress(f"scoring by {name}")
        try:
            scorer = make_scorer(name, settings, cache)
        except BadValue as error:
            tables = list_scores(folder)
            raise UnknownReference(
                "a table of STUDY/scores, or a scorer as salon score names it, is needed", found=repr(name),
                remedy=f"tables: {', '.join(tables) or 'none'}; {error.remedy or 'salon score --list'}",
            ) from None  # fmt: skip
        files.append(folder / score_study(study, folder, scorer, settings, cache=cache).file)
    return files


def _read(study: Study, frame: ScoreFrame, file: Path) -> _ScoreFile:
    table = read_scores(file)
    by_item = dict(zip(table.column("item").to_pylist(), table.column("value").to_pylist()))
    if len(by_item) < table.num_rows:
        raise BadValue("one score of every item", found=f"{table.num_rows} of {len(by_item)} items", where=str(file))
    values = np.array([np.nan if (v := by_item.get(item)) is None else v for item in frame.items], np.float64)
    if np.isinf(values).any():
        raise BadValue("scores are finite numbers", found="infinity", where=str(file))
    if not set(by_item) & set(study.ids("items").to_pylist()):
        raise BadValue("scores of items of the study are needed", found="scores of other items", where=str(file))
    run = read_score_run(file)
    criterion = run.card.criterion if run else None
    ids = {id for id, _ in frame.criteria}
    if criterion is None and MARK in file.stem and file.stem.rpartition(MARK)[2] in ids:
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


# -- targets -----------------------------------------------------------------------------------------------------------

_TARGET_WORDS = "fused, ratings, medians, a folder of salon distill label, or a table of salon fuse -o"


def usual_target(study: Study) -> str:
    """`fused` where people compared or ranked, else `ratings`."""
    people = people_only(study)
    if people.counts.get("comparisons", 0) or people.counts.get("rankings", 0):
        return "fused"
    if people.counts.get("ratings", 0):
        return "ratings"
    raise TooFew(
        "answers of people, or a target by name, are needed",
        found="no comparison, ranking or rating of a person",
        where=f"study {study.name!r}",
        remedy=f"--against: {_TARGET_WORDS}",
    )


def target_named(name: str, study: Study, frame: ScoreFrame) -> Target:
    """A target of the items and criteria of `frame`."""
    if name == "fused":
        return _fused_target(study, frame)
    if name in ("ratings", "medians"):
        return _rating_target(study, frame, name)
    place = Path(name)
    if place.is_dir():
        return _pseudo_target(place, frame)
    if place.is_file():
        return _table_target(place, study, frame)
    raise BadValue("a target is needed", found=repr(name), remedy=_TARGET_WORDS)


def ratings_by_rater(study: Study, frame: ScoreFrame) -> list[tuple[str, Floats]]:
    """(rater, ratings (items, criteria)) of every rater who rated; the mean of repeated ratings, NaN where none."""
    ratings = study.ratings
    item, criterion = _places(study, frame)
    at_item, at_criterion = item[ratings.item], criterion[ratings.criterion]
    ratings_of = []
    for number in np.unique(ratings.rater):
        own = (ratings.rater == number) & (at_item >= 0) & (at_criterion >= 0)
        total, count = np.zeros(_shape(frame)), np.zeros(_shape(frame))
        np.add.at(total, (at_item[own], at_criterion[own]), ratings.value[own])
        np.add.at(count, (at_item[own], at_criterion[own]), 1)
        if own.any():
            with np.errstate(invalid="ignore"):
                ratings_of.append((study.label("raters", int(number)), total / count))
    return ratings_of


def _fused_target(study: Study, frame: ScoreFrame) -> Target:
    """What `salon fuse` gives with its usual settings, from the answers of people alone."""
    people = people_only(study)
    report = fuse_study(people, criteria=[id for id, _ in frame.criteria])
    values = np.full(_shape(frame), np.nan)
    place, column = _places_of(frame)
    for row in report.scores:
        if row.item in place and row.criterion in column:
            values[place[row.item], column[row.criterion]] = row.value
    if report.method in (*ANCHORED, *RATED):
        values = _upright(values, study, frame)
    if report.scale_low is not None:
        apart: NDArray[np.int64] | None = None
    else:
        item, _ = _places(study, frame)
        apart = np.zeros(len(frame.items), np.int64)
        apart[item[item >= 0]] = study.item_groups[item >= 0]
    name = f"fused scores ({report.method}, scale {report.scale})"
    return Target(name, values, report.scale_low, report.scale_high, apart)


def _upright(values: Floats, study: Study, frame: ScoreFrame) -> Floats:
    """Values on the scales of the criteria, turned round where lower is better."""
    turned = values.copy()
    for number, (id, _) in enumerate(frame.criteria):
        scale = study.criterion(id).scale
        if scale is not None and not scale.higher_is_better:
            turned[:, number] = scale.low + scale.high - turned[:, number]
    return turned


def _rating_target(study: Study, frame: ScoreFrame, which: str) -> Target:
    panel = ratings_by_rater(people_only(study), frame)
    if not panel:
        raise TooFew("ratings of people are needed", found="none", where=f"study {study.name!r}", remedy=_TARGET_WORDS)
    stacked = np.stack([values for _, values in panel])
    there = np.isfinite(stacked).any(axis=0)
    values = np.full(there.shape, np.nan)
    middle = np.nanmean if which == "ratings" else np.nanmedian
    values[there] = middle(stacked[:, there], axis=0)
    values = _upright(values, study, frame)
    scales = [study.criterion(id).scale for id, _ in frame.criteria]
    ends = {(scale.low, scale.high) for scale in scales if scale is not None}
    low, high = ends.pop() if len(ends) == 1 else (None, None)
    words = "mean" if which == "ratings" else "median"
    who = "one rater" if len(panel) == 1 else f"{len(panel):,} raters"
    return Target(f"{words} of the ratings of {who}", values, low, high)


def _pseudo_target(place: Path, frame: ScoreFrame) -> Target:
    labels = read_pseudo_scores(place)
    values = np.full(_shape(frame), np.nan)
    rows, columns = _places_of(frame)
    for number, item in enumerate(labels.items):
        for at, criterion in enumerate(labels.criteria):
            if item in rows and criterion in columns:
                values[rows[item], columns[criterion]] = labels.values[number, at]
    _some(values, place)
    return Target(f"pseudo-scores of {place.name} ({labels.source})", values, labels.low, labels.high)


def _table_target(place: Path, study: Study, frame: ScoreFrame) -> Target:
    table = read_plain(place, "targets", ("item", "criterion", "value"))
    values = np.full(_shape(frame), np.nan)
    rows, columns = _places_of(frame)
    for item, criterion, value in zip(*(table.column(name).to_pylist() for name in ("item", "criterion", "value"))):
        if item in rows and criterion in columns and value is not None:
            at = rows[item], columns[criterion]
            if not np.isnan(values[at]):
                raise BadFile("one target of each item and criterion", found=f"two of {item!r}", where=str(place))
            values[at] = float(value)
    _some(values, place)
    ends = _ends(table)
    if ends[0] is not None or "scale" not in table.column_names:  # logits are higher for the better item as they stand
        values = _upright(values, study, frame)
    return Target(f"the table {place.name}", values, *ends)


def _ends(table: pa.Table) -> tuple[float | None, float | None]:
    """The ends that the column scale of `salon fuse -o` names, as in 1-5."""
    scales = set(table.column("scale").to_pylist()) if "scale" in table.column_names else set()
    parts = str(scales.pop()).split("-") if len(scales) == 1 else []
    try:
        low, high = (float(part) for part in parts)
    except ValueError:
        return None, None
    return low, high


def _some(values: Floats, place: Path) -> None:
    if not np.isfinite(values).any():
        raise TooFew("targets of items and criteria of the study are needed", found="none", where=str(place))


def _shape(frame: ScoreFrame) -> tuple[int, int]:
    return len(frame.items), len(frame.criteria)


def _places_of(frame: ScoreFrame) -> tuple[dict[str, int], dict[str, int]]:
    return {item: n for n, item in enumerate(frame.items)}, {id: n for n, (id, _) in enumerate(frame.criteria)}


def _places(study: Study, frame: ScoreFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where items and criteria of the study stand in the frame; -1 where they do not."""
    rows, columns = _places_of(frame)
    ids: Sequence[str] = study.ids("items").to_pylist()
    item = np.array([rows.get(id, -1) for id in ids], np.int64)
    return item, np.array([columns.get(criterion_noun.id, -1) for criterion_noun in study.criteria], np.int64)
