"""A sweep over the settings of heads on one study: vectors once, many trainings, and the best one as a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.engine.work import EngineSettings
from salon.errors import BadFile
from salon.evaluate.pairs.validation_figures import MISSING, validation_figures
from salon.store.atomic import whole_file
from salon.study import Signature, Study
from salon.train.loop import train_heads
from salon.train.settings import GRID, HeadSettings, SweepSettings
from salon.train.sweep import REPORT, RUNS, SweepPoint, SweepReport, run_sweep, table
from salon.train.train_heads import Prepared, prepare_study, write_trained

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

    A sweep in `out` that was stopped is gone on with.
    """
    if out.exists() and not (out / RUNS).is_file() and (not out.is_dir() or any(out.iterdir())):
        raise BadFile("a new folder, or that of a sweep, is needed", found="something else", where=str(out))
    prepared = prepare_study(study, folder, settings, criteria=criteria, engine=engine)
    points = grid.points(settings)
    about = f"heads of {study.hash[:12]} {','.join(criteria)}"
    runs, made = run_sweep(prepared.data, points, grid.seeds, out, about=about, progress=progress)
    report = _report(prepared, settings, grid, table(points, runs), made, len(points) * grid.seeds - made)
    with whole_file(out / REPORT) as target:
        target.write(report.model_dump_json(indent=2).encode())
    best = settings.model_copy(update=report.points[0].settings)
    data = prepared.data(best)
    write_trained(prepared, data, train_heads(data, best), best, out / MODEL, {}, overwrite=True)
    return report


def _report(
    prepared: Prepared,
    settings: HeadSettings,
    grid: SweepSettings,
    points: tuple[SweepPoint, ...],
    made: int,
    kept: int,
) -> SweepReport:
    study = prepared.study
    pairs = prepared.labels.filter(pc.equal(prepared.labels.column("split").cast(pa.string()), "validation"))
    nothing = np.zeros(pairs.num_rows)
    overall = validation_figures(pairs, nothing, (), rng=np.random.default_rng(settings.seed))[0]
    given = settings.model_dump(exclude={"seed", "device", *GRID})
    varied = {name: ",".join(map(str, value)) for name, value in grid.model_dump(exclude={"seeds"}).items()}
    return SweepReport(
        study=study.name,
        simulated=study.simulated,
        points=points,
        made=made,
        kept=kept,
        validation_pairs=overall.pairs,
        validation_prompts=len(pc.unique(pairs.column("group"))),
        ceiling=overall.ceiling,
        missing=MISSING,
        signature=Signature(
            method="heads-sweep", data=study.hash[:12], revision=study.revision,
            settings=given | varied | {"seeds": grid.seeds}, seed=settings.seed,
        ),
    )  # fmt: skip
