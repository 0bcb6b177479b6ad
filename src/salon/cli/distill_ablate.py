"""salon distill ablate: which settings of a distillation matter, by a grid of small ones."""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import html_option, json_option, print_closing, print_json, print_table, say, working, write_page
from salon.cli.judge_asked import judge_options
from salon.cli.options import SectionedCommand, options_from, settings_from
from salon.errors import BadValue
from salon.judge.named import Named
from salon.report.numbers import with_interval
from salon.train.ablation_results import FACTOR_WORDS, AblateSettings

if TYPE_CHECKING:
    from salon.train.ablation_results import AblateReport

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command(cls=SectionedCommand)
@click.argument("study", type=_FOLDER)
@click.option("--vlm", required=True, help="The VLM to train, by folder or hub name; a small one.")
@click.option("-o", "--output", required=True, type=_FOLDER, help="Folder of the cells: run again, it goes on.")
@click.option("--test", "test", type=_FOLDER, help="Another study to test on  [default: the test side of STUDY]")
@click.option(
    "--against", multiple=True, metavar="TARGET", help="As for salon distill evaluate (repeatable); the first counts."
)
@click.option("--set", "training", multiple=True, metavar="NAME=VALUE",
              help="A setting of training, in all cells (repeatable).")  # fmt: skip
@click.option("--set-label", "labels", multiple=True, metavar="NAME=VALUE",
              help="A setting of labels, in all cells (repeatable).")  # fmt: skip
@options_from(AblateSettings)
@judge_options
@html_option("Write the table as one HTML file.")
@json_option
def ablate(
    study: Path, vlm: str, output: Path, test: Path | None, against: Sequence[str], training: Sequence[str],
    labels: Sequence[str], html: Path | None, figures: Path | None, as_json: bool, **flags: Any,
) -> None:  # fmt: skip
    """Label, train and test STUDY again with one setting changed at a time, once for every seed.

    The first value of each list is the reference. Cells are kept as soon as they are done: run the same command again
    to go on. Meant for a small VLM: a cell is a whole training.

    \b
      salon distill ablate study --vlm tiny -o ablation --simulated accuracy=0.8 --weigh gap --weigh none
      salon distill ablate study --vlm tiny -o ablation --transformers tiny --source bridge --source majority
      salon distill ablate study --vlm tiny -o ablation --simulated accuracy=0.8 --pool 20 --opponents 5 --opponents 10
      salon distill ablate study --vlm tiny -o ablation --simulated accuracy=0.8 --set steps=100 --set lr=1e-3
    """
    settings, named = settings_from(AblateSettings, flags), settings_from(Named, flags)
    flow = importlib.import_module("salon.train.distill_ablate")
    fixed = flow.Ablation(
        study=study, vlm=vlm, named=named, test=test, against=against, labels=_given(labels), training=_given(training)
    )
    with working("ablating") as step:
        report: AblateReport = flow.ablate(fixed, output, settings, progress=step)
    write_page(lambda: importlib.import_module("salon.train.ablation_page").ablation_page(report), html, figures)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print(report, html)


def _given(pairs: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE; a value that reads as JSON is that, else a word."""
    made = {}
    for pair in pairs:
        name, mark, value = pair.partition("=")
        if not mark or not name:
            raise BadValue("a setting is NAME=VALUE", found=repr(pair), remedy="for instance --set steps=100")
        try:
            made[name.replace("-", "_")] = json.loads(value)
        except ValueError:
            made[name.replace("-", "_")] = value
    return made


def _print(report: AblateReport, html: Path | None) -> None:
    if report.simulated:
        say("SIMULATED: nobody gave the answers that are tested against.", fg="yellow")
    rows = [
        (
            FACTOR_WORDS.get(row.factor, row.factor),
            row.value,
            with_interval(row.srcc),
            with_interval(row.difference),
            with_interval(row.plcc),
            with_interval(row.mae),
            with_interval(row.spread, 2),
            f"{row.calls:,}",
            f"{row.seeds:,}" + (f" ({row.failed} failed)" if row.failed else ""),
        )
        for row in report.rows
    ]
    heads = ("", "value", "SRCC", "less reference", "PLCC", "MAE", "spread", "label calls", "seeds")
    print_table(f"{report.test}, against {report.target}: {report.items:,} items", heads, rows, left=(0, 1))
    print_closing(report.policies, report.signature_line, html=html)
