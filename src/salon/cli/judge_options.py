"""Options that commands share about judges: what is asked, who answers, and untrained VLMs that score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from salon.cli.console import say, spinner
from salon.cli.options import options_from, settings_from
from salon.cli.study_argument import read_study_argument
from salon.judge import (
    WAYS,
    JudgePlan,
    JudgeSettings,
    JudgeSpec,
    RaterSettings,
    Templates,
    plan_run,
    read_pairs,
    ticked_points,
)
from salon.store import local_path, read_points, read_routes
from salon.study import Point, Study, points_for

_FILE = click.Path(path_type=Path, dir_okay=False)
_QUESTION_FILES = (
    click.option("--pairs-file", type=_FILE, help="Compare the pairs in this CSV file, columns a and b."),
    click.option("--points", type=_FILE, help="Points of checklists, TOML or JSONL  [default: those people ticked]"),
    click.option("--routes", type=_FILE, help="Ask only the points that these routes send to the judge, TOML."),
    click.option("--templates", type=_FILE, help="Your own texts for judges, TOML."),
)


_ENDPOINT = ("endpoint", "api", "key_env", "allow_http", "structured", "field", "pixels", "picture_url", "prices",
             "calls")  # fmt: skip
"""The terms that batch files have: nothing is sent from here."""


def judge_options(command: Any, ways: Sequence[str] = WAYS, terms: Sequence[str] = ()) -> Any:
    """Adds the options that say who answers, and on which terms, each under a heading of its own."""
    terms = terms or [name for name in JudgeSpec.model_fields if name not in (*WAYS, "name")]
    command = options_from(JudgeSpec, terms, section="On these terms")(command)
    return options_from(JudgeSpec, (*ways, "name"), section="Who answers, one of these")(command)


def question_options(command: Any) -> Any:
    """Adds the options that say what is asked, and whom."""
    return _with_question_options(judge_options(command))


def batch_options(command: Any) -> Any:
    """Adds the options that say what is asked of a model at an endpoint."""
    return _with_question_options(judge_options(command, ("model",), _ENDPOINT))


def _with_question_options(command: Any) -> Any:
    for option in reversed(_QUESTION_FILES):
        command = option(command)
    return options_from(JudgeSettings)(command)


def build_judge_plan(
    folder: Path,
    judge_choice: JudgeSpec,
    *,
    pairs_file: Path | None,
    points: Path | None,
    routes: Path | None,
    templates: Path | None,
    **flags: Any,
) -> JudgePlan:
    """The plan that the flags describe, everything checked. A judge reads pictures in a folder, and writes there."""
    judge_choice.check()
    study = read_study_argument(local_path(folder))
    settings = settings_from(JudgeSettings, flags)
    own = None if templates is None else Templates.load(templates)
    pairs = None if pairs_file is None else read_pairs(pairs_file, study)
    points_asked = routed_points(study, points, routes, judge_choice.judge)
    with spinner("looking at pictures") as step:
        return plan_run(
            study,
            folder,
            settings,
            templates=own,
            pairs=pairs,
            points=points_asked,
            looks=judge_choice.looks,
            step=step,
        )


def routed_points(study: Study, points: Path | None, routes: Path | None, judge: str) -> list[Point]:
    """The points of a file, or those people ticked; with routes, those of this judge."""
    all_points = ticked_points(study) if points is None else read_points(points)
    return all_points if routes is None else points_for(judge, all_points, read_routes(routes))


# -- untrained VLMs -------------------------------------------------------------------------------------------------

Command = Callable[..., Any]
OnForecast = Callable[[Sequence[str]], None]
SECTION = "Untrained VLMs (onepass:FOLDER, onepass:openai:MODEL@URL, chat:FILE@openai:MODEL@URL)"


def rater_options(command: Command) -> Command:
    """The flags of `RaterSettings`, under a heading of their own, and --dry-run."""
    flags = options_from(RaterSettings, section=SECTION)
    dry = click.option("--dry-run", is_flag=True, help="Only say what endpoints would be asked, and the most it costs.")
    return dry(flags(command))


def forecast_printer(dry_run: bool) -> OnForecast:
    """Prints what endpoints will be asked; with `dry_run` the command ends there."""

    def on_forecast(lines: Sequence[str]) -> None:
        for line in lines:
            say(line, err=True)
        if dry_run:
            say("nothing was asked" if lines else "no endpoint is asked", err=True)
            raise click.exceptions.Exit(0)

    return on_forecast
