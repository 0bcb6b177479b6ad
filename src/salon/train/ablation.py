"""The grid of an ablation and the table over its cells: one factor changed at a time, intervals over seeds."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup
from scipy import stats

from salon.errors import BadFile, BadValue, InputError
from salon.evaluate.pseudo_scores import read_label_card
from salon.evaluate.results import Evaluation, ScoreEvaluationSettings
from salon.evaluate.scorers import ScoreQuestion, evaluate_scores
from salon.fuse.splits import item_prompts, split_items
from salon.judge.registry import JudgeSpec, open_judge
from salon.report import Block, Card, Cell, Chart, Column, Details, Page, Prose, Section, Table, charts, located
from salon.report.values import estimate_value
from salon.report.words import SIMULATED, brief, count_noun, fixed, level_words, one_way
from salon.stats.result import Estimate
from salon.store.atomic_files import write_json
from salon.store.folder import open_study
from salon.study import Signature, Study
from salon.study.votes import SPLITS
from salon.train.ablation_results import (
    FACTOR_WORDS,
    FACTORS,
    AblateReport,
    AblateRow,
    AblateSettings,
    AblationCell,
    CellFigures,
)
from salon.train.distill_label import plan_labels, write_labels
from salon.train.distill_label_settings import DistillLabelSettings
from salon.train.distill_settings import DistillSettings

POLICIES = (
    "One factor is changed at a time; all else is as in the reference. Every cell is labelled, trained and tested anew "
    "for each seed.",
    "Intervals are t intervals over seeds: they cover the judge's answers, the order of images and sampling, not "
    "other test items. They end where what is measured does (no correlation exceeds 1). With one seed there is "
    "none.",
    "A difference is taken seed by seed. A scorer that says the same of every item has an SRCC of 0, and answers that "
    "cannot be read count as the worst they could have been; only where no group of items has an order at all there "
    "is no SRCC: that seed is counted as failed and is in no mean.",
)
WITHIN = {"srcc": (-1.0, 1.0), "plcc": (-1.0, 1.0), "mae": (0.0, float("inf")), "spread": (0.0, float("inf"))}
"""What each figure of a row can be."""


def make_cells(settings: AblateSettings) -> list[AblationCell]:
    """Every experiment: the reference for each seed, then each other value of each factor for each seed."""
    for name in (*FACTORS, "seeds"):
        values = getattr(settings, name)
        if not values or len(set(values)) < len(values):
            raise BadValue(f"--{name}: at least one value, each once", found=", ".join(map(str, values)) or "none")
    reference = {name: getattr(settings, name)[0] for name in FACTORS}
    grid = [reference]
    for name in FACTORS:
        grid += [reference | {name: value} for value in getattr(settings, name)[1:]]
    return [AblationCell.parse(one | {"seed": seed}, where="the grid") for one in grid for seed in settings.seeds]


def ablate_rows(cells: Sequence[CellFigures], settings: AblateSettings) -> tuple[AblateRow, ...]:
    """The table: the reference, then every other value with its difference."""
    reference = {name: getattr(settings, name)[0] for name in FACTORS}
    base = _matching_cells(cells, reference)
    rows = [_ablate_row("reference", _reference_text(reference), base, None, settings)]
    for name in FACTORS:
        for value in getattr(settings, name)[1:]:
            own = _matching_cells(cells, reference | {name: value})
            rows.append(_ablate_row(name, str(value) or "all", own, base, settings))
    return tuple(rows)


def _matching_cells(cells: Sequence[CellFigures], wanted: dict[str, object]) -> list[CellFigures]:
    return [one for one in cells if all(getattr(one.cell, name) == value for name, value in wanted.items())]


def _reference_text(reference: dict[str, object]) -> str:
    return ", ".join(f"{name} {value or 'all'}" for name, value in reference.items())


def _ablate_row(
    factor: str, value: str, own: Sequence[CellFigures], base: Sequence[CellFigures] | None, settings: AblateSettings
) -> AblateRow:
    paired = None
    if base is not None:
        known = {one.cell.seed: one.srcc for one in base}
        gaps = [one.srcc - (known[one.cell.seed] or 0.0) for one in own
                if one.srcc is not None and known.get(one.cell.seed) is not None]  # fmt: skip
        paired = over_seeds(gaps, settings.level, (-2.0, 2.0))
    figures = {
        name: over_seeds([v for one in own if (v := getattr(one, name)) is not None], settings.level, ends)
        for name, ends in WITHIN.items()
    }
    return AblateRow(
        factor=factor, value=value, **figures, difference=paired, calls=own[0].calls if own else 0,
        seeds=sum(one.srcc is not None for one in own), failed=sum(one.srcc is None for one in own),
    )  # fmt: skip


def over_seeds(values: Sequence[float], level: float, within: tuple[float, float]) -> Estimate | None:
    """Mean and t interval over seeds, cut to what can be at all; no interval for one seed or for seeds that are all
    alike, nothing for none.
    """
    n = len(values)
    if not n:
        return None
    mean = float(np.mean(values))
    if n == 1:
        return Estimate(value=mean, low=None, high=None, n=1, unit="seed", level=level, method="no interval: one seed")
    half = float(stats.t.ppf((1 + level) / 2, n - 1) * np.std(values, ddof=1) / n**0.5)
    if half <= 1e-12 * max(1.0, abs(mean)):
        why = "no interval: the same for every seed"
        return Estimate(value=mean, low=None, high=None, n=n, unit="seed", level=level, method=why)
    low, high = max(mean - half, within[0]), min(mean + half, within[1])
    return Estimate(value=mean, low=low, high=high, n=n, unit="seed", level=level, method="t over seeds")


# --------------------------------------------------------------------------------------------------
# A grid of small distillations: each cell is labelled, trained and tested, and kept as soon as it is done.
#
# Composes `label`, `train` and `evaluate`; each can be replaced by a function of one's own.
#
#     OUT/labels/NAME/      labels, shared by the cells that need the same
#     OUT/cells/NAME/       model/ and cell.json: a cell that has it is not done again
# --------------------------------------------------------------------------------------------------

CELL, PLAN = "cell.json", "ablate.json"
Progress = Callable[[str], None]
Label = Callable[[AblationCell, Path], None]
"""Writes a folder of labels."""
Train = Callable[[AblationCell, Path, Path], None]
"""From a folder of labels to the folder of a model."""
Test = Callable[[AblationCell, Path], Evaluation]
"""What the model in a folder is worth."""


@dataclass(frozen=True)
class Ablation:
    """Everything that is the same in all cells."""

    study: Path
    vlm: str
    """The VLM to train."""
    named: JudgeSpec = field(default_factory=JudgeSpec)
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
    done = [_run_cell(cell, out, makers, progress, f"{n + 1} of {len(cells)}") for n, cell in enumerate(cells)]
    figures, tested = [CellFigures.parse(one["figures"], where=CELL) for one in done], done[0]
    return AblateReport(
        study=open_study(fixed.study).name, test=tested["test"], simulated=tested["simulated"],
        target=tested["target"], items=tested["items"], level=settings.level, rows=ablate_rows(figures, settings),
        cells=tuple(figures), policies=POLICIES, signature_line=str(_signature(fixed, settings)),
    )  # fmt: skip


def _run_cell(
    cell: AblationCell, out: Path, makers: tuple[Label, Train, Test], progress: Progress, place: str
) -> dict[str, Any]:
    """What the cell gave, from its file or by doing it."""
    folder = out / "cells" / cell.name("source", "pool", "opponents", "category", "weigh", "seed")
    file = folder / CELL
    if file.is_file():
        return _read_cell(file)
    label, train, test = makers
    labels = out / "labels" / cell.name("source", "pool", "opponents", "category", "seed")
    if not labels.is_dir():
        progress(f"cell {place}: labels")
        label(cell, labels)
    folder.mkdir(parents=True, exist_ok=True)
    progress(f"cell {place}: training")
    train(cell, labels, folder / "model")
    progress(f"cell {place}: test")
    made = _cell_record(cell, test(cell, folder / "model"), read_label_card(labels).calls_made)
    write_json(file, made)
    return made


def _cell_record(cell: AblationCell, found: Evaluation, calls: int) -> dict[str, Any]:
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


def _read_cell(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
        CellFigures.parse(found["figures"], where=str(file))
    except (ValueError, KeyError, TypeError):
        raise BadFile(
            "a finished cell is needed", found="another file", where=str(file), remedy="remove it: the cell runs again"
        ) from None
    return found


# -- before ------------------------------------------------------------------------------------------------------------


def _check(fixed: Ablation, cells: Sequence[AblationCell]) -> None:
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


def _label_settings(fixed: Ablation, cell: AblationCell) -> DistillLabelSettings:
    own = {"source": cell.source, "pool": cell.pool, "opponents": cell.opponents, "category": cell.category or None}
    return DistillLabelSettings.parse({**fixed.labels, **own, "seed": cell.seed}, where="settings of labels")


def _train_settings(fixed: Ablation, cell: AblationCell) -> DistillSettings:
    own = {"weigh": cell.weigh, "seed": cell.seed}
    return DistillSettings.parse({**fixed.training, **own}, where="settings of training")


def _same_run(fixed: Ablation, out: Path) -> None:
    """A folder holds cells of one ablation: what all cells share may not change under them."""
    told = json.loads(json.dumps(_shared_settings(fixed), default=str))
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


def _shared_settings(fixed: Ablation) -> dict[str, Any]:
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
    def label(cell: AblationCell, place: Path) -> None:
        study = open_study(fixed.study)
        plan = plan_labels(study, fixed.study, fixed.named, _label_settings(fixed, cell))
        with open_judge(fixed.named, study, fixed.study) as vlm:
            write_labels(plan, vlm, place)

    return label


def _trainer(fixed: Ablation) -> Train:
    def train(cell: AblationCell, labels: Path, place: Path) -> None:
        training = importlib.import_module("salon.train.distill_study")  # torch and TRL come with it
        training.distill_study(
            fixed.study, labels, fixed.vlm, place, _train_settings(fixed, cell), resume=True,
            keep_anyway=True,  # a cell that collapsed is a result
        )  # fmt: skip

    return train


def _tester(fixed: Ablation) -> Test:
    def test(cell: AblationCell, model: Path) -> Evaluation:
        items = None if fixed.test is not None else _test_side(fixed, cell)
        asked = ScoreQuestion(models=[model], against=fixed.against, items=items)
        settings = ScoreEvaluationSettings(draws=max(fixed.draws, 100), seed=cell.seed)
        return evaluate_scores(fixed.test or fixed.study, asked, settings)

    return test


def _test_side(fixed: Ablation, cell: AblationCell) -> tuple[str, ...]:
    """Items of the study on the test side of training's split: the same for every cell."""
    study: Study = open_study(fixed.study)
    one = _train_settings(fixed, cell)
    split = split_items(
        study, item_prompts(study), study.ids("prompts"), (one.train, one.validation, one.test), seed=one.split_seed
    )
    ids = study.ids("items").to_pylist()
    return tuple(id for id, side in zip(ids, split.of_item) if SPLITS[side] == "test")


# --------------------------------------------------------------------------------------------------
# The HTML of `salon distill ablate`, composed from its AblateReport alone: it prints numbers and computes none.
# --------------------------------------------------------------------------------------------------


def ablation_page(report: AblateReport) -> Page:
    """The whole report as one self-contained page."""
    here = located(report)
    reference = here.rows[0]
    sections = [_order_section(here), _difference_section(here), _cell_section(here)]
    return Page(
        title="Which settings matter?",
        tab=f"Ablation: {brief(report.study)}",
        subtitle=Markup("{} of {}, tested on {} of {}.").format(
            count_noun(len(report.cells), "training"), brief(report.study), count_noun(report.items, "item"),
            brief(report.test),
        ),
        kicker=f"Salon distill ablate · {brief(report.study)}" + (" · simulated" if report.simulated else ""),
        banner=SIMULATED if report.simulated else "",
        cards=[
            Card("Reference", _figure(reference.srcc), "SRCC, mean over seeds"),
            Card("Test items", fixed(report.items, 0), f"against {brief(report.target, 60)}"),
            Card("Seeds", fixed(reference.seeds, 0), "of every cell"),
            Card("Label calls", fixed(reference.calls, 0), "of the reference, one seed"),
        ],
        sections=[section for section in sections if section is not None],
        notes=[Markup("Intervals in brackets are at the {} level, over seeds.").format(level_words(here))],
        signature=one_way(report.signature_line),
    )  # fmt: skip


def _figure(figure: object) -> Markup | str:
    return "–" if figure is None else estimate_value(figure, None, 3)


def _label(row: AblateRow) -> str:
    return "reference" if row.factor == "reference" else f"{FACTOR_WORDS.get(row.factor, row.factor)}: {row.value}"


def _order_section(report: AblateReport) -> Section:
    rows = [(_label(row), row.srcc.value, row.srcc.low, row.srcc.high, "") for row in report.rows if row.srcc]
    blocks: list[Block | str] = []
    if rows:
        chart = charts.dot_intervals(rows, title="SRCC by setting", x_label="SRCC", sort=False, within=(-1.0, 1.0))
        words = Markup("Rank correlation with the target, mean over seeds with {} intervals.")
        blocks.append(Chart(chart, words.format(level_words(report))))
    columns = [
        Column("name", "Setting"),
        Column("srcc", "SRCC", "estimate", 3), Column("plcc", "PLCC", "estimate", 3),
        Column("mae", "MAE", "estimate", 3), Column("spread", "Spread", "estimate", 2, "Over the target's"),
        Column("calls", "Label calls", "count"), Column("seeds", "Seeds", "count"),
        Column("failed", "Failed", "count", None, "Seeds whose scorer gave no order"),
    ]  # fmt: skip
    told = [
        {"name": _label(row), **{column.path: getattr(row, column.path) for column in columns[1:]}}
        for row in report.rows
    ]
    reference = Prose.of("Reference: {settings}.", settings=report.rows[0].value)
    return Section(
        "By setting", [*blocks, reference, Table(columns, told, label="By setting")], "One change at a time."
    )


def _difference_section(report: AblateReport) -> Section | None:
    rows = [row for row in report.rows if row.difference is not None]
    if not rows:
        return None
    drawn = [(_label(row), row.difference.value, row.difference.low, row.difference.high, "") for row in rows
             if row.difference]  # fmt: skip
    chart = charts.dot_intervals(drawn, 0.0, title="SRCC less the reference's", x_label="SRCC, difference",
                                 null_label="reference", sort=False)  # fmt: skip
    columns = [Column("name", "Setting"), Column("difference", "SRCC less the reference's", "estimate", 3)]
    told = [{"name": _label(row), "difference": row.difference} for row in rows]
    return Section("Against the reference", [Chart(chart), Table(columns, told, label="Differences")],
                   "Seed by seed: is it the setting, or luck?")  # fmt: skip


def _cell_section(report: AblateReport) -> Section:
    columns = [
        Column("weigh", "Weights"), Column("pool", "N", "count"), Column("opponents", "K", "count"),
        Column("source", "Labels"), Column("category", "Category"), Column("seed", "Seed", "count"),
        Column("srcc", "SRCC", "number", 3), Column("plcc", "PLCC", "number", 3), Column("mae", "MAE", "number", 3),
        Column("scale", "Scale"), Column("scored", "Scored", "count"),
    ]  # fmt: skip
    rows = []
    for one in report.cells:
        own = {name: getattr(one.cell, name) for name in ("weigh", "pool", "opponents", "source", "seed")}
        rest = {name: getattr(one, name) for name in ("srcc", "plcc", "mae", "scale", "scored")}
        rows.append({**own, "category": Cell(one.cell.category or "all"), **rest})
    table = Table(columns, rows, label="Every training")
    words = Prose("\n\n".join(report.policies))
    return Section("Every training", [Details("All cells", [table], open=len(rows) <= 12), words], "Nothing left out.")
