"""What is asked: the options that all commands about a judge's questions share, and the plan they describe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from salon.cli.console import working
from salon.cli.given import given_study
from salon.cli.options import options_from, settings_from
from salon.judge.checklist import ticked_points
from salon.judge.named import WAYS, Named
from salon.judge.pairs import read_pairs
from salon.judge.plan import JudgePlan, plan_run
from salon.judge.settings import JudgeSettings
from salon.judge.templates import Templates
from salon.store.folder import local
from salon.store.point_files import read_points, read_routes
from salon.study import Study
from salon.study.point import Point, points_for

_FILE = click.Path(path_type=Path, dir_okay=False)
_GIVEN = (
    click.option("--pairs-file", type=_FILE, help="Compare the pairs in this CSV file, columns a and b."),
    click.option("--points", type=_FILE, help="Points of checklists, TOML or JSONL  [default: those people ticked]"),
    click.option("--routes", type=_FILE, help="Ask only the points that these routes send to the judge, TOML."),
    click.option("--templates", type=_FILE, help="Your own texts for judges, TOML."),
)


_ENDPOINT = ("endpoint", "key_env", "allow_http", "structured", "pixels", "picture_url", "prices", "calls")
"""The terms that batch files have: nothing is sent from here."""


def judge_options(command: Any, ways: Sequence[str] = WAYS, terms: Sequence[str] = ()) -> Any:
    """Adds the options that say who answers, and on which terms, each under a heading of its own."""
    terms = terms or [name for name in Named.model_fields if name not in (*WAYS, "name")]
    command = options_from(Named, terms, section="On these terms")(command)
    return options_from(Named, (*ways, "name"), section="Who answers, one of these")(command)


def asked_options(command: Any) -> Any:
    """Adds the options that say what is asked, and whom."""
    return _asked(judge_options(command))


def batch_options(command: Any) -> Any:
    """Adds the options that say what is asked of a model at an endpoint."""
    return _asked(judge_options(command, ("model",), _ENDPOINT))


def _asked(command: Any) -> Any:
    for option in reversed(_GIVEN):
        command = option(command)
    return options_from(JudgeSettings)(command)


def planned(
    folder: Path,
    named: Named,
    *,
    pairs_file: Path | None,
    points: Path | None,
    routes: Path | None,
    templates: Path | None,
    **flags: Any,
) -> JudgePlan:
    """The plan that the flags describe, everything checked. A judge reads pictures in a folder, and writes there."""
    named.check()
    study = given_study(local(folder))
    settings = settings_from(JudgeSettings, flags)
    own = None if templates is None else Templates.load(templates)
    pairs = None if pairs_file is None else read_pairs(pairs_file, study)
    asked = routed_points(study, points, routes, named.judge)
    with working("looking at pictures") as step:
        return plan_run(study, folder, settings, templates=own, pairs=pairs, points=asked, looks=named.looks, step=step)


def routed_points(study: Study, points: Path | None, routes: Path | None, judge: str) -> list[Point]:
    """The points of a file, or those people ticked; with routes, those of this judge."""
    found = ticked_points(study) if points is None else read_points(points)
    return found if routes is None else points_for(judge, found, read_routes(routes))
