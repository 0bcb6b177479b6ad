"""The command that tries settings of heads side by side."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from pydantic import BaseModel, create_model

from salon.cli.console import counting, json_option, print_json, print_table, say
from salon.cli.options import options_from, settings_from
from salon.cli.train import engine_options
from salon.engine.work import EngineSettings
from salon.report.numbers import fixed, with_interval
from salon.store.folder import local, open_study
from salon.train.settings import GRID, HeadSettings, SweepSettings

if TYPE_CHECKING:
    from salon.train.sweep import SweepReport


_FIXED: dict[str, Any] = {
    name: (field.annotation, field) for name, field in HeadSettings.model_fields.items() if name not in GRID
}
_OTHERS: type[BaseModel] = create_model("_OTHERS", **_FIXED)
"""The settings of `salon train heads` but those that are varied."""


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder for runs and model.")
@click.option("--criterion", "criteria", multiple=True, help="Only the criterion with this id (repeatable).")
@options_from(SweepSettings)
@options_from(_OTHERS)
@engine_options
@json_option
def sweep(study: Path, output: Path, criteria: Sequence[str], as_json: bool, **flags: Any) -> None:
    """Heads on STUDY with many settings and seeds; the best by validation becomes OUTPUT/model.

    Each list may be given by repeating its flag. Finished runs are kept: the same command goes on after an
    interruption, and a longer list makes only what is new. Test pairs are not looked at.

    \b
      salon train sweep study -o sweep
      salon train sweep study -o sweep --widths 32 --widths 64 --weight-decays 0.1 --seeds 5 --form scalar
    """
    settings, grid = settings_from(HeadSettings, flags), settings_from(SweepSettings, flags)
    sweeps = importlib.import_module("salon.train.head_sweep")  # torch and the encoders come with it
    opened = open_study(study)
    with counting("runs", quiet=as_json) as progress:
        report = sweeps.sweep_study(
            opened, local(study).resolve(), settings, grid, output, criteria=criteria,
            engine=settings_from(EngineSettings, flags | {"batch": None}), progress=progress,
        )  # fmt: skip
    if as_json:
        print_json(report.model_dump(mode="json") | {"signature_line": str(report.signature)})
    else:
        _print(report, output)


def _print(report: SweepReport, output: Path) -> None:
    if report.simulated:
        say("SIMULATED: nobody gave these answers.")
    say(f"{len(report.points):,} settings, {report.made:,} runs made, {report.kept:,} known", bold=True)
    columns = ("width", "dropout", "weight decay", "labels", "seeds", "accuracy", "spread", "loss", "spread", "")
    rows = [
        (*(f"{value:g}" if isinstance(value, int | float) else value for value in point.settings.values()),
         f"{point.seeds}", fixed(point.accuracy), fixed(point.accuracy_spread), fixed(point.loss, 4),
         fixed(point.loss_spread, 4), "chosen" if point.chosen else "")
        for point in report.points
    ]  # fmt: skip
    print_table("validation, mean and standard deviation over seeds; chance is 0.500", columns, rows, left=(3, 9))
    pairs = f"{report.validation_pairs:,} pairs of {report.validation_prompts:,} prompts"
    say(f"- on {pairs}; {report.missing}; chosen by the lowest mean loss, so its own numbers lean upwards")
    if report.ceiling is not None:
        reach = with_interval(report.ceiling)
        say(f"- one more rater would reach {reach} on the same pairs")
    say(f"wrote {output}; the chosen model is {output / 'model'}")
    say(str(report.signature), dim=True)
