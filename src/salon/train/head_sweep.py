"""A grid of settings for heads, several seeds of each, chosen by validation and never by test.

    FOLDER/runs.jsonl     one line for each finished run: its settings, its validation accuracy and loss
    FOLDER/sweep.json     the table, the choice, and the signature
    FOLDER/model          the chosen model

Vectors are computed once. Every point of the grid is trained with the same seeds on the same split. The choice is the
point with the lowest mean validation loss: accuracy on a few hundred pairs moves by whole percents with the seed, as
the column of spreads shows. A run that is in the file already is not repeated, so a sweep that was stopped continues.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
from pydantic import Field

from salon.engine import EngineSettings
from salon.errors import BadFile
from salon.evaluate import MISSING, validation_figures
from salon.stats import Estimate
from salon.store import open_journal, whole_file
from salon.study import Noun, Signature, Study
from salon.train.head_data import HeadData, split_rows
from salon.train.head_loop import train_heads
from salon.train.settings import GRID, HeadSettings, SweepSettings
from salon.train.train_heads import prepare_study, write_trained

RUNS = "runs.jsonl"
SWEEP_FILE = "sweep.json"
_REMEDY = "remove the line, or choose a new folder"


class SweepRun(Noun):
    """One training of a sweep."""

    key: str = Field(description="Data and settings, in one line.")
    seed: int = Field(description="Seed of the training.")
    validation_accuracy: float | None = Field(description="Of the best state; none where no pair has a majority.")
    validation_loss: float = Field(description="Of the best state.")
    best_pass: int = Field(description="The pass whose state was best.")


class SweepPoint(Noun):
    """One point of the grid over its seeds."""

    settings: dict[str, Any] = Field(description="What is varied.")
    seeds: int = Field(description="Runs behind the means.")
    accuracy: float | None = Field(description="Mean validation accuracy.")
    accuracy_spread: float | None = Field(description="Standard deviation over seeds (n - 1); none for one seed.")
    loss: float = Field(description="Mean validation loss, by which the choice is made.")
    loss_spread: float | None = Field(description="Standard deviation over seeds (n - 1); none for one seed.")
    chosen: bool = Field(description="Whether it has the lowest mean loss.")


class SweepReport(Noun):
    """The table of a sweep."""

    study: str = Field(description="Name of the study.")
    simulated: bool = Field(description="True when no person gave the answers.")
    points: tuple[SweepPoint, ...] = Field(description="The lowest mean validation loss first.")
    made: int = Field(description="Runs made now.")
    kept: int = Field(description="Runs known from before.")
    validation_pairs: int = Field(description="Validation pairs with a majority.")
    validation_prompts: int = Field(description="Prompts they belong to.")
    ceiling: Estimate | None = Field(description="What one more rater would reach on the validation pairs.")
    missing: str = Field(description="What is done with pairs that cannot be counted.")
    signature: Signature = Field(description="What reproduces the sweep.")


def run_sweep(
    data_of: Callable[[HeadSettings], HeadData],
    points: Sequence[HeadSettings],
    seeds: int,
    folder: Path,
    *,
    about: str,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[list[list[SweepRun]], int]:
    """The runs of every point, and how many were made now; each is written as soon as it is done.

    `about` names the data: runs on others are not taken for these.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open_journal(folder / RUNS, SweepRun, what="a run of a sweep", remedy=_REMEDY) as journal:
        finished = {(run.key, run.seed): run for run in journal.lines}
        count, runs_by_point = 0, []
        for number, point in enumerate(points):
            data, runs = None, []
            for seed in range(point.seed, point.seed + seeds):
                key = run_key(about, point)
                if (key, seed) not in finished:
                    data = data or data_of(point)
                    best = train_heads(data, point.model_copy(update={"seed": seed})).best
                    accuracy = None if np.isnan(best.validation_accuracy) else best.validation_accuracy
                    finished[key, seed] = SweepRun(
                        key=key,
                        seed=seed,
                        validation_accuracy=accuracy,
                        validation_loss=best.validation_loss,
                        best_pass=best.number,
                    )
                    journal.add(finished[key, seed])
                    count += 1
                runs.append(finished[key, seed])
                if progress:
                    progress(number * seeds + len(runs), len(points) * seeds)
            runs_by_point.append(runs)
    return runs_by_point, count


def run_key(about: str, settings: HeadSettings) -> str:
    """All that a run depends on but its seed."""
    return str(Signature(method=about, settings=settings.model_dump(exclude={"seed", "device"})))


def sweep_table(points: Sequence[HeadSettings], runs: Sequence[Sequence[SweepRun]]) -> tuple[SweepPoint, ...]:
    """Means and spreads over seeds, best first; the first is the choice."""
    rows = []
    for settings, point_runs in zip(points, runs, strict=True):
        accuracies = [run.validation_accuracy for run in point_runs if run.validation_accuracy is not None]
        losses = [run.validation_loss for run in point_runs]
        rows.append(
            SweepPoint(
                settings={name: getattr(settings, name) for name in GRID},
                seeds=len(point_runs),
                accuracy=float(np.mean(accuracies)) if accuracies else None,
                accuracy_spread=_spread(accuracies),
                loss=float(np.mean(losses)),
                loss_spread=_spread(losses),
                chosen=False,
            )
        )
    rows.sort(key=lambda row: row.loss)
    return tuple(row.model_copy(update={"chosen": place == 0}) for place, row in enumerate(rows))


def _spread(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


# -- a study -----------------------------------------------------------------------------------------------------------

MODEL = "model"
"""Folder of the chosen model inside that of the sweep."""


def sweep_study(
    study: Study,
    folder: Path,
    settings: HeadSettings,
    grid: SweepSettings,
    out: Path,
    *,
    criteria: Sequence[str] = (),
    engine: EngineSettings | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> SweepReport:
    """Train every point of `grid` with each of its seeds; the table, and the best point as OUT/model.

    A sweep in `out` that was stopped is resumed.
    """
    if out.exists() and not (out / RUNS).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise BadFile("a new folder, or that of a sweep, is needed", found="something else", where=str(out))
    prepared = prepare_study(study, folder, settings, criteria=criteria, engine=engine)
    points = grid.points(settings)
    about = f"heads of {study.hash[:12]} {','.join(criteria)}"
    runs, new_runs = run_sweep(prepared.data, points, grid.seeds, out, about=about, progress=progress)
    pairs = split_rows(prepared.labels, "validation")
    nothing = np.zeros(pairs.num_rows)
    overall = validation_figures(pairs, nothing, (), rng=np.random.default_rng(settings.seed))[0]
    fixed = settings.model_dump(exclude={"seed", "device", *GRID})
    varied = {name: ",".join(map(str, value)) for name, value in grid.model_dump(exclude={"seeds"}).items()}
    report = SweepReport(
        study=study.name,
        simulated=study.simulated,
        points=sweep_table(points, runs),
        made=new_runs,
        kept=len(points) * grid.seeds - new_runs,
        validation_pairs=overall.pairs,
        validation_prompts=len(pc.unique(pairs.column("group"))),
        ceiling=overall.ceiling,
        missing=MISSING,
        signature=Signature(
            method="heads-sweep", data=study.hash[:12], revision=study.revision,
            settings=fixed | varied | {"seeds": grid.seeds}, seed=settings.seed,
        ),
    )  # fmt: skip
    with whole_file(out / SWEEP_FILE) as target:
        target.write(report.model_dump_json(indent=2).encode())
    best = settings.model_copy(update=report.points[0].settings)
    data = prepared.data(best)
    write_trained(prepared, data, train_heads(data, best), best, out / MODEL, {}, overwrite=True)
    return report
