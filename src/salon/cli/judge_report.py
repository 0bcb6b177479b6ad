"""`salon judge report`: how reliable are judges against people?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from salon.cli.console import (
    Cell,
    html_option,
    json_option,
    print_closing,
    print_json,
    print_table,
    say,
    spinner,
    write_page,
)
from salon.cli.judge_options import routed_points
from salon.cli.options import options_from, settings_from
from salon.cli.study_argument import read_study_argument
from salon.evaluate.checklists import Routing
from salon.evaluate.flags import NOT_RANKED
from salon.evaluate.judges import report_judges, report_page
from salon.evaluate.results import JudgeReport, ReportSettings, TickReport
from salon.report.numbers import MISSING, range_with_interval, with_interval
from salon.store.plain_files import read_routes

PAIR_COLUMNS = {
    "accuracy": "accuracy",
    "parsed_only": "parsed only",
    "position_bias": "bias b",
    "tie_rate": "ties t",
    "conditional": "perception c",
    "unseen": "unread",
}
TICK_COLUMNS = {
    "accuracy": "accuracy",
    "parsed_only": "parsed only",
    "constant": "fixed answer",
    "balanced": "balanced",
    "kappa": "kappa",
    "pass_rate": "passes",
    "people_pass": "people pass",
    "unread": "unread",
}
HARDEST = 3
"""Points shown of each judge."""
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
    criteria: Sequence[str],
    check: bool,
    routes: Path | None,
    points: Path | None,
    html: Path | None,
    figures: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """What judges are worth against the people of STUDY: accuracy, position bias, ceilings, cost, worst disagreements.

    Judges are those that salon judge run left in STUDY/judges, score tables in STUDY/scores, and raters of the study
    that are models. A judge of checklists is held against what people ticked. STUDY is a study folder, or one file of
    judgments whose kind can be recognised.

    \b
      salon judge report study --html judges.html
      salon judge report study --judge gpt-4o --judge qwen --json
      salon judge report study --scores hpsv3.csv
      salon judge report study --routes routes.toml --points points.toml     judges of checklists as one
      salon judge report image_generation.csv             verdicts of GenAI-Bench
    """
    settings = settings_from(ReportSettings, flags)
    study_data = read_study_argument(study)
    folder = study if study.is_dir() else None
    routing = None if routes is None else Routing(routed_points(study_data, points, None, ""), read_routes(routes))
    with spinner("judging the judges") as step:
        judge_report = report_judges(
            study_data, folder, settings, names=names, scores=scores, routing=routing, check=check,
            criteria=[study_data.criterion(id).id for id in criteria], progress=step,
        )  # fmt: skip
    write_page(lambda: report_page(judge_report, study_data, folder), html, figures)
    if as_json:
        print_json(judge_report)
    else:
        print_report(judge_report, html)


def print_report(report: JudgeReport, html: Path | None = None) -> None:
    """Judges, best first; then criteria, panel, warnings and policies."""
    if report.judges:
        titles = ("judge", *PAIR_COLUMNS.values(), "ties counted", "pairs", "a point costs")
        judges = [
            (
                row.judge,
                *(getattr(row.macro, name) for name in PAIR_COLUMNS),
                row.with_ties,
                row.macro.pairs,
                with_interval(None if row.usage is None else row.usage.cost_per_point, 4),
            )
            for row in report.judges
        ]
        print_table("Judges against people: means over criteria", titles, judges)
        criteria = {part.criterion: part.name for row in report.judges for part in row.criteria}
        if len(criteria) > 1:
            figures = [(row.judge, {part.criterion: part.figures for part in row.criteria}) for row in report.judges]
            by_criterion = [
                (judge, *(part.accuracy if (part := known.get(id)) else None for id in criteria))
                for judge, known in figures
            ]
            print_table("\nAccuracy by criterion", ("judge", *criteria.values()), by_criterion)
        panel = [
            (
                row.name,
                row.pairs,
                row.tied,
                row.raters,
                range_with_interval(row.next_rater_range, row.next_rater),
                range_with_interval(row.oracle_range, row.oracle),
                row.signal or MISSING,
            )
            for row in report.panel
        ]
        columns = ("criterion", "pairs", "tied", "votes a pair", "next rater", "oracle", "do people agree?")
        print_table("\nPeople", columns, panel, left=(0, 6))
    if report.ticks is not None:
        _print_ticks(report.ticks)
    if report.flags:
        rows = [
            (
                flag.name,
                flag.cohort or MISSING,
                flag.items,
                flag.answers,
                flag.flagged,
                flag.alpha,
            )
            for flag in report.flags
        ]
        titles = ("flag", "cohort", "items", "answers", "flagged", "alpha (ordinal)")
        print_table("\nFlags of people", titles, rows, left=(0, 1))
        judged_rows = [
            (judge.judge, flag.name, flag.cohort or MISSING, judge.separation, judge.items)
            for flag in report.flags
            for judge in flag.judges
        ]
        if judged_rows:
            titles = ("judge", "flag", "cohort", "flags what people flag", "items")
            print_table("\nFlags of judges", titles, judged_rows, left=(0, 1, 2))
        say(NOT_RANKED, dim=True)
    print_closing(report.policies, report.signature_line, warnings=report.warnings, html=html)


def _print_ticks(ticks: TickReport) -> None:
    """Judges of checklists, several as one, the points they find hardest, and the people."""
    titles = ("judge", *TICK_COLUMNS.values(), "ticks")
    rows: list[tuple[Cell, ...]] = [
        (row.judge, *(getattr(row.macro, name) for name in TICK_COLUMNS), row.macro.ticks) for row in ticks.judges
    ]
    print_table("Checklists against people: means over criteria", titles, rows)
    if ticks.together:
        rows = [
            (row.rule, row.macro.accuracy, row.macro.unread, row.disputed,
             row.settled_accuracy, row.disputed_accuracy)
            for row in ticks.together
        ]  # fmt: skip
        titles = ("rule", "accuracy", "open", "disputed", "when they agree", "when they do not")
        print_table("\nJudges together", titles, rows)
    hardest = [(row.judge, point) for row in ticks.judges for point in row.points[:HARDEST]]
    rows = [
        (
            judge,
            point.criterion,
            point.point,
            point.accuracy,
            *(point.people_yes, point.judge_yes, point.ticks),
        )
        for judge, point in hardest
    ]
    titles = ("judge", "criterion", "point", "accuracy", "people pass", "judge passes", "of")
    print_table("\nHardest points", titles, rows, left=(0, 1, 2))
    rows = [
        (
            row.name,
            row.ticks,
            row.tied,
            row.raters,
            row.pass_rate,
            row.two_people,
            row.kappa,
            range_with_interval(row.next_rater_range, row.next_rater),
            range_with_interval(row.oracle_range, row.oracle),
        )
        for row in ticks.panel
    ]
    titles = ("criterion", "ticks", "tied", "answers", "pass", "two agree", "kappa", "next rater", "oracle")
    print_table("\nPeople who ticked", titles, rows)
