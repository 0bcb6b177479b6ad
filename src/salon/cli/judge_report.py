"""The command that says what judges are worth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from salon.cli.console import json_option, print_json, print_table, say, working
from salon.cli.given import given_study
from salon.cli.options import options_from, settings_from
from salon.flows.judge_report import report_judges, report_page
from salon.judge.report_settings import ReportSettings
from salon.judge.results import Figure, JudgeReport
from salon.report.numbers import MISSING, estimate, fixed
from salon.report.page import page_target

SHOWN = {
    "accuracy": "accuracy",
    "parsed_only": "parsed only",
    "position_bias": "b",
    "tie_rate": "t",
    "conditional": "c",
    "unseen": "unread",
}


@click.command()
@click.argument("study", type=click.Path(path_type=Path))
@click.option("--judge", "names", multiple=True, help="Only the judge with this name (repeatable).")
@click.option(
    "--scores",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also judge by this table of scores, columns item and value: .parquet, .csv or .jsonl (repeatable).",
)
@click.option("--check/--no-check", default=True, show_default=True, help="Test the signal of the people themselves.")
@click.option("--html", type=click.Path(path_type=Path, dir_okay=False), help="Write the report as one HTML file.")
@options_from(ReportSettings)
@json_option
def report(
    study: Path,
    names: Sequence[str],
    scores: Sequence[Path],
    check: bool,
    html: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """What judges are worth against the people of STUDY: accuracy, position bias, ceilings, cost, worst disagreements.

    Judges are those that salon judge run left in STUDY/judges, score tables in STUDY/scores, and raters of the study
    that are models. STUDY is a study folder, or one file of judgments whose kind can be recognised.

    \b
      salon judge report study --html judges.html
      salon judge report study --judge gpt-4o --judge qwen --json
      salon judge report study --scores hpsv3.csv
      salon judge report image_generation.csv             verdicts of GenAI-Bench
    """
    settings = settings_from(ReportSettings, flags)
    if html is not None:
        page_target(html)  # refuse before computing what could not be written after
    found = given_study(study)
    folder = study if study.is_dir() else None
    with working("judging the judges", None) as step:
        made = report_judges(found, folder, settings, names=names, scores=scores, check=check, progress=step)
    if html is not None:
        report_page(made, found, folder).write(html)
    if as_json:
        print_json(made.model_dump(mode="json"))
    else:
        print_report(made, html)


def print_report(report: JudgeReport, html: Path | None = None) -> None:
    """Judges, best first; then criteria, panel, warnings and policies."""
    titles = ("judge", *SHOWN.values(), "ties counted", "pairs", "a point costs")
    print_table("Judges against people: means over criteria", titles, [_row(one) for one in report.judges])
    criteria = {part.criterion: part.name for one in report.judges for part in one.criteria}
    if len(criteria) > 1:
        rows = [(one.judge, *_by_criterion(one, list(criteria))) for one in report.judges]
        print_table("\nAccuracy by criterion", ("judge", *criteria.values()), rows)
    panel = [
        (one.name, f"{one.pairs:,}", f"{one.tied:,}", one.raters, _told(one.next_rater), _told(one.oracle),
         one.signal or MISSING)
        for one in report.panel
    ]  # fmt: skip
    columns = ("criterion", "pairs", "tied", "votes a pair", "next rater", "oracle", "signal")
    print_table("\nPeople", columns, panel, left=(0, 6))
    for words in report.warnings:
        say(f"warning: {words}", fg="yellow")
    for words in report.policies:
        say(f"- {words}", dim=True)
    say(report.signature_line, dim=True)
    if html is not None:
        say(f"wrote {html}")


def _row(one) -> tuple[str, ...]:  # type: ignore[no-untyped-def]
    figures = [_told(getattr(one.macro, name)) for name in SHOWN]
    point = None if one.usage is None else one.usage.cost_per_point
    return (one.judge, *figures, _told(one.with_ties), f"{one.macro.pairs:,}", _told(point, 4))


def _by_criterion(one, criteria: Sequence[str]) -> list[str]:  # type: ignore[no-untyped-def]
    found = {part.criterion: part.figures for part in one.criteria}
    return [_told(found[id].accuracy if found.get(id) else None) for id in criteria]


def _told(figure: Figure | None, decimals: int = 3) -> str:
    if figure is None:
        return MISSING
    if figure.low is None and figure.high is None:
        return fixed(figure.value, decimals)
    return estimate(figure.value, figure.low, figure.high, decimals)
