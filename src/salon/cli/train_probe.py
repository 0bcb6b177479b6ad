"""The command that tries to fool a scorer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from salon.cli.console import html_option, json_option, print_json, print_table, say, working, write_page
from salon.cli.options import options_from, settings_from
from salon.errors import InputError
from salon.judge.score import ScoreSettings
from salon.judge.scorers.of_model import scorers_behind
from salon.report import numbers
from salon.store.folder import local, open_study
from salon.train.probe_page import probe_page
from salon.train.probe_results import ProbeReport, ProbeSettings
from salon.train.probe_study import probe_study, shown_item, trained_on
from salon.train.tricks import SIZES

_TOLD = {
    "raises": "raises the score",
    "does not raise": "does not raise the score",
    "open": "open: items of more prompts are needed",
    "noticed": "noticed",
    "not noticed": "not noticed",
}


@click.command()
@click.argument("model")
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--criterion", "criteria", multiple=True, help="Only this criterion of a trained model (repeatable).")
@html_option()
@click.option("--gate", is_flag=True, help="Exit code 1 when a trick raises the score.")
@click.option("--device", help="cpu, cuda, cuda:1 or mps  [default: the best there is]")
@options_from(ProbeSettings)
@json_option
def probe(
    model: str,
    study: Path,
    criteria: Sequence[str],
    html: Path | None,
    figures: Path | None,
    gate: bool,
    device: str | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Can MODEL be gamed? Alter items of STUDY and see what happens to their scores.

    MODEL is the folder of a trained model, or any scorer that salon score --list names. More contrast or saturation, a
    border, praise or the prompt written into the picture must not raise a score; blur, grain and JPEG must lower it.
    Items whose pictures the model was trained on are left out.

    \b
      salon train probe taste-heads study                                            every criterion
      salon train probe taste-heads study --criterion taste/mood --html probe.html   one of them, as a page
      salon train probe naturalness study --gate       exit code 1 when a trick pays
    """
    settings = settings_from(ProbeSettings, flags)
    if html is not None or figures is not None:
        named = scorers_behind(model, criteria)
        if len(named) > 1:
            raise InputError("a page is about one scorer", found=f"{len(named)} criteria", remedy="name --criterion")
    folder, opened = local(study).resolve(), open_study(study)
    with working("probing") as step:
        reports = probe_study(
            opened, folder, model, settings, ScoreSettings(device=device, batch=32), criteria=criteria, step=step
        )
    write_page(
        lambda: probe_page(reports[0], shown_item(opened, folder, trained_on(opened, folder, model))), html, figures
    )
    if as_json:
        print_json({"study": str(study), "probes": [report.model_dump(mode="json") for report in reports]})
    else:
        for report in reports:
            _print(report)
    if gate and any(report.raised for report in reports):
        click.get_current_context().exit(1)


def _print(report: ProbeReport) -> None:
    about = "" if report.criterion is None else f" ({report.criterion})"
    say(f"{report.scorer}{about}: {report.items:,} items of {report.prompts:,} prompts, altered", bold=True)
    if report.simulated:
        say("SIMULATED: nobody gave the answers of this study.", fg="yellow")
    rows = [
        (
            row.words,
            numbers.with_interval(row.change, 2),
            numbers.with_interval(row.risen, 2),
            numbers.with_interval(row.overturned, 2),
            f"{row.items:,}",
        )
        for row in report.rows
    ]
    print_table(None, ("alteration", "mean change", "share risen", "pairs overturned", "items"), rows)
    for verdict in report.verdicts:
        bad = verdict.outcome in ("raises", "not noticed")
        say(f"{verdict.trick}: {_TOLD[verdict.outcome]}", fg="red" if bad else None)
    say(SIZES, dim=True)
    say(f"change is in spreads of a prompt ({report.spread:.3g} on the scorer's scale)", dim=True)
    say(f"intervals: whole prompts drawn again; those of one alteration hold together at {report.level:.0%}", dim=True)
    for reason, count in report.left_out.items():
        say(f"not used: {count:,} items {reason}", dim=True)
    say(f"missing values: {report.missing}", dim=True)
    say(str(report.signature), dim=True)
