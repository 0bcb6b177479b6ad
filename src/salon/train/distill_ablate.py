"""A grid of small distillations: each cell is labelled, trained and tested, and kept as soon as it is done.

Composes `label`, `train` and `evaluate`; each can be replaced by a function of one's own.

    OUT/labels/NAME/      labels, shared by the cells that need the same
    OUT/cells/NAME/       model/ and cell.json: a cell that has it is not done again
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from salon.errors import BadFile, BadValue, InputError
from salon.evaluate.pseudo_scores import read_label_card
from salon.evaluate.scores.evaluate_scorers import Asked, evaluate_scores
from salon.evaluate.scores.score_evaluation_results import ScoreEvaluation, ScoreEvaluationSettings
from salon.fuse.splits import item_prompts, split_items
from salon.judge.named import Named, named_vlm
from salon.store.atomic import write_json
from salon.store.folder import open_study
from salon.study import Signature, Study
from salon.study.split import SPLITS
from salon.train.ablation import POLICIES, ablate_rows, make_cells
from salon.train.ablation_results import AblateReport, AblateSettings, Cell, CellFigures
from salon.train.distill_label import plan_labels, write_labels
from salon.train.distill_label_settings import LabelSettings
from salon.train.distill_settings import DistillSettings

CELL, PLAN = "cell.json", "ablate.json"
Progress = Callable[[str], None]
Label = Callable[[Cell, Path], None]
"""Writes a folder of labels."""
Train = Callable[[Cell, Path, Path], None]
"""From a folder of labels to the folder of a model."""
Test = Callable[[Cell, Path], ScoreEvaluation]
"""What the model in a folder is worth."""


@dataclass(frozen=True)
class Ablation:
    """Everything that is the same in all cells."""

    study: Path
    vlm: str
    """The VLM to train."""
    named: Named = field(default_factory=Named)
    """The judge that labels."""
    test: Path | None = None
    """Another study to test on; the test side of `study` unless given."""
    against: Sequence[str] = ()
    labels: Mapping[str, Any] = field(default_factory=dict)
    """Settings of labelling that stay the same."""
    training: Mapping[str, Any] = field(default_factory=dict)
    """Settings of training that stay the same."""
    draws: int = 200


def ablate(
    fixed: Ablation,
    out: Path,
    settings: AblateSettings | None = None,
    *,
    label: Label | None = None,
    train: Train | None = None,
    test: Test | None = None,
    progress: Progress = lambda step: None,
) -> AblateReport:
    """Do the cells that are not done yet, and make the table of all."""
    settings = settings or AblateSettings()
    cells = make_cells(settings)
    _check(fixed, cells)
    _same_run(fixed, out)
    makers = (label or _labeller(fixed), train or _trainer(fixed), test or _tester(fixed))
    done = [_cell(cell, out, makers, progress, f"{n + 1} of {len(cells)}") for n, cell in enumerate(cells)]
    figures, tested = [CellFigures.parse(one["figures"], where=CELL) for one in done], done[0]
    return AblateReport(
        study=open_study(fixed.study).name, test=tested["test"], simulated=tested["simulated"],
        target=tested["target"], items=tested["items"], level=settings.level, rows=ablate_rows(figures, settings),
        cells=tuple(figures), policies=POLICIES, signature_line=str(_signature(fixed, settings)),
    )  # fmt: skip


def _cell(cell: Cell, out: Path, makers: tuple[Label, Train, Test], progress: Progress, place: str) -> dict[str, Any]:
    """What the cell gave, from its file or by doing it."""
    folder = out / "cells" / cell.name("source", "pool", "opponents", "category", "weigh", "seed")
    file = folder / CELL
    if file.is_file():
        return _read(file)
    label, train, test = makers
    labels = out / "labels" / cell.name("source", "pool", "opponents", "category", "seed")
    if not labels.is_dir():
        progress(f"cell {place}: labels")
        label(cell, labels)
    folder.mkdir(parents=True, exist_ok=True)
    progress(f"cell {place}: training")
    train(cell, labels, folder / "model")
    progress(f"cell {place}: test")
    made = _record(cell, test(cell, folder / "model"), read_label_card(labels).calls_made)
    write_json(file, made)
    return made


def _record(cell: Cell, found: ScoreEvaluation, calls: int) -> dict[str, Any]:
    target = found.targets[0]
    one = target.scorers[0]
    overall = one.overall
    value = {name: None if (f := getattr(overall, name)) is None else f.value
             for name in ("srcc", "plcc", "mae", "spread", "shift")}  # fmt: skip
    figures = CellFigures(
        cell=cell, **value, scale=one.scale, scored=overall.scored, wanted=overall.wanted, calls=calls
    )
    return {
        "figures": figures.model_dump(mode="json"), "test": found.study, "simulated": found.simulated,
        "target": target.name, "items": target.items,
    }  # fmt: skip


def _read(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        CellFigures.parse(found["figures"], where=str(file))
    except (ValueError, KeyError, TypeError):
        raise BadFile(
            "a finished cell is needed", found="another file", where=str(file), remedy="remove it: the cell runs again"
        ) from None
    return found


# -- before ------------------------------------------------------------------------------------------------------------


def _check(fixed: Ablation, cells: Sequence[Cell]) -> None:
    """Everything that settings alone can get wrong, before anything is spent."""
    for cell in cells:
        _label_settings(fixed, cell)
        _train_settings(fixed, cell)
    known = {item.category for item in open_study(fixed.study).nouns("items")}
    for category in {cell.category for cell in cells if cell.category}:
        if category not in known:
            raise BadValue(
                "a category of the study is needed",
                found=repr(category),
                remedy="one of " + ", ".join(sorted(one for one in known if one)),
            )


def _label_settings(fixed: Ablation, cell: Cell) -> LabelSettings:
    own = {"source": cell.source, "pool": cell.pool, "opponents": cell.opponents, "category": cell.category or None}
    return LabelSettings.parse({**fixed.labels, **own, "seed": cell.seed}, where="settings of labels")


def _train_settings(fixed: Ablation, cell: Cell) -> DistillSettings:
    own = {"weigh": cell.weigh, "seed": cell.seed}
    return DistillSettings.parse({**fixed.training, **own}, where="settings of training")


def _same_run(fixed: Ablation, out: Path) -> None:
    """A folder holds cells of one ablation: what all cells share may not change under them."""
    told = json.loads(json.dumps(_shared(fixed), default=str))
    file = out / PLAN
    if file.is_file():
        if json.loads(file.read_text(encoding="utf-8")) != told:
            raise InputError(
                "a folder of this ablation is needed",
                found="cells of another study, VLM, judge or settings",
                where=str(out),
                remedy="choose another folder with -o",
            )
        return
    if out.is_dir() and any(out.iterdir()):
        raise BadFile("a new folder is needed for an ablation", found="something else", where=str(out))
    out.mkdir(parents=True, exist_ok=True)
    write_json(file, told)


def _shared(fixed: Ablation) -> dict[str, Any]:
    return {
        "study": open_study(fixed.study).hash, "vlm": fixed.vlm, "judge": fixed.named.model_dump(mode="json"),
        "test": None if fixed.test is None else open_study(fixed.test).hash, "against": list(fixed.against),
        "labels": dict(fixed.labels), "training": dict(fixed.training),
    }  # fmt: skip


def _signature(fixed: Ablation, settings: AblateSettings) -> Signature:
    study = open_study(fixed.study)
    told = {name: ",".join(map(str, value)) if isinstance(value, tuple) else value for name, value in settings}
    return Signature(
        method="distill ablate", data=study.hash[:12], revision=study.revision,
        settings={"vlm": Path(fixed.vlm).name, **told, **{k: str(v) for k, v in fixed.training.items()}},
    )  # fmt: skip


# -- what a cell does --------------------------------------------------------------------------------------------------


def _labeller(fixed: Ablation) -> Label:
    def label(cell: Cell, place: Path) -> None:
        study = open_study(fixed.study)
        plan = plan_labels(study, fixed.study, fixed.named, _label_settings(fixed, cell))
        with named_vlm(fixed.named, study, fixed.study) as vlm:
            write_labels(plan, vlm, place)

    return label


def _trainer(fixed: Ablation) -> Train:
    def train(cell: Cell, labels: Path, place: Path) -> None:
        training = importlib.import_module("salon.train.distill_study")  # torch and TRL come with it
        training.distill_study(
            fixed.study, labels, fixed.vlm, place, _train_settings(fixed, cell), resume=True,
            keep_anyway=True,  # a cell that collapsed is a result
        )  # fmt: skip

    return train


def _tester(fixed: Ablation) -> Test:
    def test(cell: Cell, model: Path) -> ScoreEvaluation:
        items = None if fixed.test is not None else _test_side(fixed, cell)
        asked = Asked(models=[model], against=fixed.against, items=items)
        settings = ScoreEvaluationSettings(draws=max(fixed.draws, 100), seed=cell.seed)
        return evaluate_scores(fixed.test or fixed.study, asked, settings)

    return test


def _test_side(fixed: Ablation, cell: Cell) -> tuple[str, ...]:
    """Items of the study on the test side of training's split: the same for every cell."""
    study: Study = open_study(fixed.study)
    one = _train_settings(fixed, cell)
    split = split_items(
        study, item_prompts(study), study.ids("prompts"), (one.train, one.validation, one.test), seed=one.split_seed
    )
    ids = study.ids("items").to_pylist()
    return tuple(id for id, side in zip(ids, split.of_item) if SPLITS[side] == "test")
