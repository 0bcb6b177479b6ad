"""The numbers of scorers on a study: read from STUDY/scores, or worked out and kept there."""

from __future__ import annotations

import glob
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from salon.errors import BadValue, UnknownReference
from salon.judge.score import FOLDER, ScoreSettings, read_run, read_scores, score_study, scores_file, scores_there
from salon.judge.scorers.named import scorer_named
from salon.judge.scorers.of_model import MARK, model_folder, scorer_names
from salon.models.kept import Kept
from salon.report.words import numbered
from salon.study import Study
from salon.study.scorer import ScorerCard
from salon.train.score_evaluation_draws import Floats, Frame, Predicted

TRAINED = ("one-pass", "trained-")
"""How the signatures of trained models begin."""


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
    progress: Callable[[str], None],
) -> Tables:
    """The scorers by name and those of models; one that has no table in STUDY/scores is run, and its table written."""
    found: list[Predicted] = []
    places: list[Path | None] = []
    for name in names:
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


def _files(folder: Path, name: str) -> list[Path]:
    """The table called `name`, or those of its criteria."""
    home = folder / FOLDER
    if any(letter in name for letter in "/\\:\0"):
        return []
    whole = scores_file(home, name)
    return [whole] if whole.is_file() else sorted(home.glob(f"{glob.escape(name)}{MARK}*.parquet"))


def _scored(
    study: Study, folder: Path, names: Sequence[str], device: str | None, progress: Callable[[str], None]
) -> list[Path]:
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
