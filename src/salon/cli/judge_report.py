"""`salon judge report`: how reliable are judges against people?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from salon.cli.console import html_option, json_option, print_json, spinner, write_page
from salon.cli.options import chosen_people, options_from, person_options, settings_from
from salon.evaluate import ReportSettings

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--judge", "names", multiple=True, help="Only the judge with this name (repeatable).")
@click.option(
    "--scores",
    multiple=True,
    type=_FILE,
    help="Also judge by this table of scores, columns item and value: .parquet, .csv or .jsonl (repeatable).",
)
@person_options
@click.option(
    "--criterion", "criteria", multiple=True, help="Only this criterion; a flag is ranked only when named (repeatable)."
)
@click.option("--check/--no-check", default=True, show_default=True, help="Test the signal of the people themselves.")
@click.option("--routes", type=_FILE, help="Judges of checklists answer together by these routes, TOML.")
@click.option("--points", type=_FILE, help="The points of those routes with their tags  [default: those people ticked]")
@html_option()
@options_from(ReportSettings)
@json_option
def report(
    study: Path,
    names: Sequence[str],
    scores: Sequence[Path],
    persons: Sequence[str],
    everyone: bool,
    criteria: Sequence[str],
    check: bool,
    routes: Path | None,
    points: Path | None,
    html: Path | None,
    figures: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """How reliable judges are against the people of STUDY: accuracy, position bias, ceilings, cost, worst
    disagreements.

    Judges are those that salon judge run left in STUDY/judges, score tables in STUDY/scores, and raters of the study
    that are models; with --rater also people, each against the others. A judge of checklists is compared with what
    people ticked. STUDY is a study folder, or one file of judgments whose kind can be recognized.

    \b
      salon judge report study --html judges.html
      salon judge report study --judge gpt-4o --judge qwen --json
      salon judge report study --scores hpsv3.csv
      salon judge report study --raters                  is a judge as good as a person?
      salon judge report study --routes routes.toml --points points.toml     judges of checklists as one
      salon judge report image_generation.csv             verdicts of GenAI-Bench
    """
    from salon.cli.evaluation import print_evaluation
    from salon.cli.judge_options import routed_points
    from salon.cli.study_argument import read_study_argument
    from salon.evaluate import Routing, page_with_pictures, report_judges
    from salon.store import read_routes

    settings = settings_from(ReportSettings, flags)
    study_data = read_study_argument(study)
    folder = study if study.is_dir() else None
    routing = None if routes is None else Routing(routed_points(study_data, points, None, ""), read_routes(routes))
    with spinner("judging the judges") as step:
        judge_report = report_judges(
            study_data, folder, settings, names=names, scores=scores, routing=routing, check=check,
            raters=chosen_people(persons, everyone), progress=step,
            criteria=[study_data.criterion(id).id for id in criteria],
        )  # fmt: skip
    write_page(lambda: page_with_pictures(judge_report, study_data, folder), html, figures)
    if as_json:
        print_json(judge_report)
    else:
        print_evaluation(judge_report, html)
