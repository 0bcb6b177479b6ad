"""The commands that read the decision log of a scoring service: later choices as a study, and the drift watch."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from salon.cli.console import json_option, print_json, print_table, say
from salon.cli.options import options_from, settings_from
from salon.cli.study import output_option
from salon.report.numbers import MISSING
from salon.select.service.drift import read_drift_reference, watch_log, write_drift_reference
from salon.select.service.drift_results import AgreementDrift, CriterionDrift, DriftReport, DriftSettings
from salon.select.service.feedback_study import FeedbackStudy, feedback_study, save_feedback
from salon.stats.behavior import wilson
from salon.stats.result import Estimate

_FOLDER = click.Path(path_type=Path, file_okay=False)
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("log", type=_FOLDER)
@output_option("Folder of the study to write.")
@click.option("--pictures", type=_FOLDER, help="Folder with the pictures; the log knows them by their hashes.")
@click.option("--name", default="feedback", show_default=True, help="Name of the study.")
@click.option("--overwrite", is_flag=True, help="Replace a study that is there already.")
@json_option
def feedback(log: Path, output: Path, pictures: Path | None, name: str, overwrite: bool, as_json: bool) -> None:
    """The later choices in LOG as a study, for check, fuse and train.

    Each choice becomes comparisons: the chosen picture over each other one. People saw what the model had picked, so
    these choices lean towards it: do not train on them alone.

    \b
      salon select feedback log -o later --pictures uploads
    """
    made = feedback_study(log, name=name, pictures=pictures)
    save_feedback(made, output, overwrite=overwrite)
    agreed = wilson(made.agreed, made.decided, unit="choice") if made.decided else None
    if as_json:
        print_json(_record(made, output, agreed))
        return
    say(f"wrote {output}: {made.choices:,} choices, {made.comparisons:,} comparisons", bold=True)
    if agreed is not None:
        say(f"- {_percent(agreed)} of {agreed.n:,} choices fell on the picture the service had chosen")
    if made.lost:
        say(f"- {made.lost:,} choices are left out: their decisions are no longer in the log")
    say(f"- {len(made.pictures):,} of {made.wanted:,} pictures found" + ("" if pictures else "; name --pictures"))
    say("- people saw what the model had picked: these choices lean towards it")


def _record(made: FeedbackStudy, output: Path, agreed: Estimate | None) -> dict[str, Any]:
    return {
        "study": str(output), "choices": made.choices, "comparisons": made.comparisons, "lost": made.lost,
        "pictures": len(made.pictures), "wanted": made.wanted, "hash": made.study.hash[:12],
        "agreement": None if agreed is None else asdict(agreed),
    }  # fmt: skip


@click.command()
@click.argument("log", type=_FOLDER)
@click.option("--reference", type=_FILE, help="File with a frozen reference (see --freeze).")
@click.option("--freeze", type=_FILE, help="Write the reference of this watch to a file, for later ones.")
@options_from(DriftSettings)
@json_option
def drift(log: Path, reference: Path | None, freeze: Path | None, as_json: bool, **flags: Any) -> None:
    """Have the scores in LOG moved away from a reference, and do people still agree with the service?

    Without --reference the first values in the log are the reference. Exit code 1 when there was an alarm. An
    endless watch without drift alarms with a chance of at most --level.

    \b
      salon select drift log --freeze reference.json
      salon select drift log --reference reference.json
    """
    given = None if reference is None else read_drift_reference(reference)
    monitor = watch_log(log, settings_from(DriftSettings, flags), given)
    report = monitor.report()
    if freeze is not None:
        write_drift_reference(monitor.frozen(), freeze)
    if as_json:
        print_json({**report.model_dump(mode="json"), "signature_line": str(report.signature)})
    else:
        _print(report, freeze)
    if report.alarm:
        click.get_current_context().exit(1)


def _print(report: DriftReport, freeze: Path | None) -> None:
    say(f"{report.decisions:,} decisions of {report.model or 'a model without a name'}", bold=True)
    columns = ("criterion", "state", "windows", "shift, sd", "distance", "p", "alarms at", "PSI", "PSI expected")
    print_table(None, columns, [_row(one) for one in report.criteria], left=(0, 1))
    _print_agreement(report.agreement)
    if report.other_models:
        say(f"- {report.other_models:,} decisions of other models are left out")
    if report.unwatched:
        say(f"- not watched: {', '.join(report.unwatched)}")
    say(f"- {report.policy}", dim=True)
    if freeze is not None:
        say(f"wrote {freeze}")
    say(str(report.signature), dim=True)


def _row(one: CriterionDrift) -> tuple[str, ...]:
    state = one.status if one.first_alarm is None else f"{one.status}, first in window {one.first_alarm}"
    numbers = (one.shift, one.distance, one.p, one.level, one.psi, one.psi_expected)
    shown = [MISSING if number is None else f"{number:.3g}" for number in numbers]
    return (one.criterion, state, str(one.looks), *shown)


def _print_agreement(one: AgreementDrift) -> None:
    if one.overall is None:
        say("- no later choices to agree with")
        return
    chance = "" if one.chance is None else f", blind {one.chance:.0%}"
    say(f"- agreement with {one.overall.n:,} later choices: {_percent(one.overall)}{chance}; {one.status}")


def _percent(figure: Estimate) -> str:
    if figure.low is None or figure.high is None:
        return f"{figure.value:.0%}"
    return f"{figure.value:.0%} [{figure.low:.0%}, {figure.high:.0%}]"
