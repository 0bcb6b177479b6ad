"""A grid of small distillations, one factor changed at a time; its table with intervals over seeds, and its page.

Each cell is labelled, trained and tested, and kept as soon as it is done. `label`, `train` and `test` can each be
replaced by a function of one's own.

    OUT/labels/NAME/      labels, shared by the cells that need the same
    OUT/cells/NAME/       model/ and cell.json: a cell that has it is not done again
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from salon.errors import BadFile, BadValue, InputError
from salon.evaluate import Evaluation, ScoreEvaluationSettings, ScoreQuestion, evaluate_scores, read_label_card
from salon.fuse import item_prompts, split_items
from salon.judge import JudgeSpec, open_judge
from salon.report import (
    SIMULATED,
    Block,
    Card,
    Chart,
    Details,
    Page,
    Prose,
    Section,
    Table,
    brief,
    charts,
    columns_of,
    count_noun,
    estimate_value,
    level_words,
    located,
    one_way,
)
from salon.report.words import fixed
from salon.stats import Estimate
from salon.store import open_study, write_json
from salon.study import SPLITS, Signature
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
    return [
        AblationCell.parse(values_of_cell | {"seed": seed}, where="the grid")
        for values_of_cell in grid
        for seed in settings.seeds
    ]


def ablate_rows(cells: Sequence[CellFigures], settings: AblateSettings) -> tuple[AblateRow, ...]:
    """The table: the reference, then every other value with its difference."""
    reference = {name: getattr(settings, name)[0] for name in FACTORS}
    base = _matching_cells(cells, reference)
    rows = [
        _ablate_row(
            "reference",
            (", ".join(f"{name} {value or 'all'}" for name, value in reference.items())),
            base,
            None,
            settings,
        )
    ]
    for name in FACTORS:
        for value in getattr(settings, name)[1:]:
            own = _matching_cells(cells, reference | {name: value})
            rows.append(_ablate_row(name, str(value) or "all", own, base, settings))
    return tuple(rows)


def _matching_cells(cells: Sequence[CellFigures], factors: dict[str, object]) -> list[CellFigures]:
    return [cell for cell in cells if all(getattr(cell.cell, name) == value for name, value in factors.items())]


def _ablate_row(
    factor: str, value: str, own: Sequence[CellFigures], base: Sequence[CellFigures] | None, settings: AblateSettings
) -> AblateRow:
    paired = None
    if base is not None:
        reference_srcc = {cell.cell.seed: cell.srcc for cell in base}
        gaps = [cell.srcc - (reference_srcc[cell.cell.seed] or 0.0) for cell in own
                if cell.srcc is not None and reference_srcc.get(cell.cell.seed) is not None]  # fmt: skip
        paired = over_seeds(gaps, settings.level, (-2.0, 2.0))
    figures = {
        name: over_seeds([v for cell in own if (v := getattr(cell, name)) is not None], settings.level, ends)
        for name, ends in WITHIN.items()
    }
    return AblateRow(
        factor=factor, value=value, **figures, difference=paired, calls=own[0].calls if own else 0,
        seeds=sum(cell.srcc is not None for cell in own), failed=sum(cell.srcc is None for cell in own),
    )  # fmt: skip


def over_seeds(values: Sequence[float], level: float, within: tuple[float, float]) -> Estimate | None:
    """Mean and t interval over seeds, cut to what can be at all; no interval for one seed or for seeds that are all
    alike, nothing for none.
    """
    from scipy import stats

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


# -- running the cells -------------------------------------------------------------------------------------------------

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

    def label_settings(self, cell: AblationCell) -> DistillLabelSettings:
        """How the labels of a cell are made."""
        own = {"source": cell.source, "pool": cell.pool, "opponents": cell.opponents, "category": cell.category or None}
        return DistillLabelSettings.parse({**self.labels, **own, "seed": cell.seed}, where="settings of labels")

    def train_settings(self, cell: AblationCell) -> DistillSettings:
        """How a cell is trained."""
        own = {"weigh": cell.weigh, "seed": cell.seed}
        return DistillSettings.parse({**self.training, **own}, where="settings of training")

    def label_cell(self, cell: AblationCell, place: Path) -> None:
        """Write the folder of labels of a cell."""
        study = open_study(self.study)
        plan = plan_labels(study, self.study, self.named, self.label_settings(cell))
        with open_judge(self.named, study, self.study) as vlm:
            write_labels(plan, vlm, place)

    def train_cell(self, cell: AblationCell, labels: Path, place: Path) -> None:
        """From a folder of labels to the folder of a model."""
        from salon.train import distillation as training  # torch and TRL come with it

        training.distill_study(
            self.study, labels, self.vlm, place, self.train_settings(cell), resume=True,
            keep_anyway=True,  # a cell that collapsed is a result
        )  # fmt: skip

    def test_cell(self, cell: AblationCell, model: Path) -> Evaluation:
        """What a model is worth on the other study, or on the test side of training's split."""
        items = None
        if self.test is None:
            study, one_pass = open_study(self.study), self.train_settings(cell)
            shares = (one_pass.train, one_pass.validation, one_pass.test)
            split = split_items(study, item_prompts(study), study.ids("prompts"), shares, seed=one_pass.split_seed)
            sides = zip(study.ids("items").to_pylist(), split.of_item)
            items = tuple(id for id, side in sides if SPLITS[side] == "test")
        request = ScoreQuestion(models=[model], against=self.against, items=items)
        settings = ScoreEvaluationSettings(draws=max(self.draws, 100), seed=cell.seed)
        return evaluate_scores(self.test or self.study, request, settings)


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
    # everything that settings alone can get wrong, before anything is spent
    for cell in cells:
        fixed.label_settings(cell)
        fixed.train_settings(cell)
    categories = {item.category for item in open_study(fixed.study).nouns("items")}
    for category in {cell.category for cell in cells if cell.category}:
        if category not in categories:
            raise BadValue(
                "a category of the study is needed",
                found=repr(category),
                remedy="one of " + ", ".join(sorted(name for name in categories if name)),
            )
    _same_run(fixed, out)
    makers = (label or fixed.label_cell, train or fixed.train_cell, test or fixed.test_cell)
    records = [_run_cell(cell, out, makers, progress, f"{n + 1} of {len(cells)}") for n, cell in enumerate(cells)]
    figures, tested = [CellFigures.parse(record["figures"], where=CELL) for record in records], records[0]
    study = open_study(fixed.study)
    factors = {name: ",".join(map(str, value)) if isinstance(value, tuple) else value for name, value in settings}
    signature = Signature(
        method="distill ablate",
        data=study.hash[:12],
        revision=study.revision,
        settings={"vlm": Path(fixed.vlm).name, **factors, **{k: str(v) for k, v in fixed.training.items()}},
    )
    return AblateReport(
        study=study.name, test=tested["test"], simulated=tested["simulated"],
        target=tested["target"], items=tested["items"], level=settings.level, rows=ablate_rows(figures, settings),
        cells=tuple(figures), policies=POLICIES, signature_line=str(signature),
    )  # fmt: skip


def _run_cell(
    cell: AblationCell, out: Path, makers: tuple[Label, Train, Test], progress: Progress, place: str
) -> dict[str, Any]:
    """What the cell gave, from its file or by doing it."""
    folder = out / "cells" / cell.name("source", "pool", "opponents", "category", "weigh", "seed")
    file = folder / CELL
    record: dict[str, Any]
    if file.is_file():
        try:
            record = json.loads(file.read_text(encoding="utf-8"))
            CellFigures.parse(record["figures"], where=str(file))
        except (ValueError, KeyError, TypeError):
            needed, remedy = "a finished cell is needed", "remove it: the cell runs again"
            raise BadFile(needed, found="another file", where=str(file), remedy=remedy) from None
        return record
    label, train, test = makers
    labels = out / "labels" / cell.name("source", "pool", "opponents", "category", "seed")
    if not labels.is_dir():
        progress(f"cell {place}: labels")
        label(cell, labels)
    folder.mkdir(parents=True, exist_ok=True)
    progress(f"cell {place}: training")
    train(cell, labels, folder / "model")
    progress(f"cell {place}: test")
    evaluation = test(cell, folder / "model")
    target = evaluation.targets[0]
    scorer = target.scorers[0]
    overall = scorer.overall
    values = {name: None if (f := getattr(overall, name)) is None else f.value
              for name in ("srcc", "plcc", "mae", "spread", "shift")}  # fmt: skip
    figures = CellFigures(
        cell=cell, **values, scale=scorer.scale, scored=overall.scored, wanted=overall.wanted,
        calls=read_label_card(labels).calls_made,
    )  # fmt: skip
    record = {
        "figures": figures.model_dump(mode="json"), "test": evaluation.study, "simulated": evaluation.simulated,
        "target": target.name, "items": target.items,
    }  # fmt: skip
    write_json(file, record)
    return record


# -- before ------------------------------------------------------------------------------------------------------------


def _same_run(fixed: Ablation, out: Path) -> None:
    """A folder holds cells of one ablation: what all cells share may not change under them."""
    record = {
        "study": open_study(fixed.study).hash,
        "vlm": fixed.vlm,
        "judge": fixed.named.model_dump(mode="json"),
        "test": None if fixed.test is None else open_study(fixed.test).hash,
        "against": list(fixed.against),
        "labels": dict(fixed.labels),
        "training": dict(fixed.training),
    }
    shared = json.loads(json.dumps(record, default=str))
    file = out / PLAN
    if file.is_file():
        if json.loads(file.read_text(encoding="utf-8")) != shared:
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
    write_json(file, shared)


# -- the page ----------------------------------------------------------------------------------------------------------


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
            Card("Reference", "–" if reference.srcc is None else estimate_value(reference.srcc, None, 3),
                 "SRCC, mean over seeds"),
            Card("Test items", fixed(report.items, 0), f"against {brief(report.target, 60)}"),
            Card("Seeds", fixed(reference.seeds, 0), "of every cell"),
            Card("Label calls", fixed(reference.calls, 0), "of the reference, one seed"),
        ],
        sections=[section for section in sections if section is not None],
        notes=[Markup("Intervals in brackets are at the {} level, over seeds.").format(level_words(here))],
        signature=one_way(report.signature_line),
    )  # fmt: skip


def _label(row: AblateRow) -> str:
    return "reference" if row.factor == "reference" else f"{FACTOR_WORDS.get(row.factor, row.factor)}: {row.value}"


def _order_section(report: AblateReport) -> Section:
    rows = [(_label(row), row.srcc.value, row.srcc.low, row.srcc.high, "") for row in report.rows if row.srcc]
    blocks: list[Block | str] = []
    if rows:
        chart = charts.dot_intervals(rows, title="SRCC by setting", x_label="SRCC", sort=False, within=(-1.0, 1.0))
        words = Markup("Rank correlation with the target, mean over seeds with {} intervals.")
        blocks.append(Chart(chart, words.format(level_words(report))))
    reference = Prose.of("Reference: {settings}.", settings=report.rows[0].value)
    return Section("By setting", [*blocks, reference, setting_table(report)], "One change at a time.")


def setting_table(report: AblateReport, *more: str) -> Table:
    """Every setting with its figures over seeds; `more` fields stand after SRCC."""
    columns = columns_of(AblateRow, "value", "srcc", *more, "plcc", "mae", "spread", "calls", "seeds", "failed")
    return Table(columns, [{**vars(row), "value": _label(row)} for row in report.rows], label="By setting")


def _difference_section(report: AblateReport) -> Section | None:
    rows = [row for row in report.rows if row.difference is not None]
    if not rows:
        return None
    intervals = [(_label(row), row.difference.value, row.difference.low, row.difference.high, "") for row in rows
             if row.difference]  # fmt: skip
    chart = charts.dot_intervals(intervals, 0.0, title="SRCC less the reference's", x_label="SRCC, difference",
                                 null_label="reference", sort=False)  # fmt: skip
    table_rows = [{"value": _label(row), "difference": row.difference} for row in rows]
    table = Table(columns_of(AblateRow, "value", "difference"), table_rows, label="Differences")
    return Section("Against the reference", [Chart(chart), table], "Seed by seed: is it the setting, or luck?")


def _cell_section(report: AblateReport) -> Section:
    columns = [
        *columns_of(AblationCell, "weigh", "pool", "opponents", "source", "category", "seed"),
        *columns_of(CellFigures, "srcc", "plcc", "mae", "scale", "scored"),
    ]
    rows = [
        {**vars(figures.cell), **vars(figures), "category": figures.cell.category or "all"} for figures in report.cells
    ]
    table = Table(columns, rows, label="Every training")
    words = Prose("\n\n".join(report.policies))
    return Section("Every training", [Details("All cells", [table], open=len(rows) <= 12), words], "Nothing left out.")
