"""salon bench posters: PosterIQ's tasks, scored, answered and made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import click
from click.core import ParameterSource

from salon.bench.posters.compat import with_released
from salon.bench.posters.files import contestant_of, find_files, home_of
from salon.bench.posters.report_page import report_page
from salon.bench.posters.results import MetricResult, PosterReport, ScoreSettings, TaskResult
from salon.bench.posters.run_card import POSTERS, RunCard, read_card, read_judges
from salon.bench.posters.score import score_files
from salon.cli.console import html_option, json_option, print_closing, print_json, print_table, say, working, write_page
from salon.cli.later import LaterGroup
from salon.cli.options import options_from, settings_from
from salon.report.numbers import MISSING, fixed, with_interval

LATER = {
    "make": ("salon.cli.bench_posters_make:make", "Draw task sets of any size, with their truth."),
    "run": ("salon.cli.bench_posters_run:run", "Have a contestant answer: an OCR engine, a VLM, a blind one."),
    "generate": ("salon.cli.bench_posters_generate:generate", "Have a generator make the posters that are asked for."),
    "judge": ("salon.cli.bench_posters_run:judge", "Have a judge say which points answers and posters cover."),
    "score": ("salon.cli.bench_posters:score", "What answers are worth: by task, by group, overall."),
    "compare": ("salon.cli.bench_posters_compare:compare", "Put several contestants side by side."),
    "people": ("salon.cli.bench_posters_people:people", "Have people answer what a judge answered."),
}
"""Commands whose module is loaded when they are called, and what the list says of them."""


@click.group(cls=LaterGroup, later=LATER)
def posters() -> None:
    """Understanding and making posters: PosterIQ's 24 tasks, with a perfect answer worth 1 and a blind one nothing.

    \b
      salon bench posters make set -n 50                             draw a task set with known answers
      salon bench posters run set --contestant rapidocr              or --model, --transformers: any VLM
      salon bench posters score set.rapidocr --html posters.html
    """


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--name", help="Name of the contestant  [default: what its run says, or the folder's]")
@click.option("--pictures", type=click.Path(path_type=Path, file_okay=False), help="Folder with the pictures.")
@click.option(
    "--compat", type=click.Choice(["released"]), help="Also what the released scoring gives, with its faults."
)
@html_option()
@options_from(ScoreSettings)
@json_option
def score(
    files: Sequence[Path],
    name: str | None,
    pictures: Path | None,
    compat: Literal["released"] | None,
    html: Path | None,
    figures: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """What the responses in FILES are worth: by task, by group, overall, with intervals.

    FILES are files of PosterIQ's public layout with `response` (and, for points and posters, `judge`) in their records,
    folders of them, or the merged lists that its own runners write. What is missing or cannot be read is worth nothing
    and stays in the denominator.

    \b
      salon bench posters score answers --html posters.html
      salon bench posters score answers/und_task/simple_ocr.json --json
      salon bench posters score answers --boxes thousand             boxes of a model that writes 0 to 1000
      salon bench posters score answers --compat released            beside the published tables
      salon bench posters score gpt-5_bench.json gpt-5_score.json    output of PosterIQ's own runners
    """
    settings = settings_from(ScoreSettings, flags)
    opened = find_files(files)
    home = home_of(files[0])
    card = read_card(home)
    if pictures is None and (home / POSTERS).is_dir():  # a generator's folder holds its posters
        pictures = home
    settings = settings_of_run(settings, card)
    contestant = name or (contestant_of(files[0]) if card is None else card.contestant)
    with working("scoring"):
        judges = read_judges(home)
        report = score_files(opened, settings, contestant=contestant, pictures=pictures, judges=judges)
        if compat:
            report = with_released(report, opened, pictures)
    write_page(lambda: report_page(report, pictures), html, figures)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        print_report(report, html)


def settings_of_run(settings: ScoreSettings, card: RunCard | None) -> ScoreSettings:
    """The settings with what a run says of itself, where the command line does not."""
    context = click.get_current_context()
    known = {} if card is None else {"boxes": card.boxes, "shown_pixels": card.shown_pixels}
    left = {name: value for name, value in known.items()
            if context.get_parameter_source(name) is ParameterSource.DEFAULT}  # fmt: skip
    return settings.model_copy(update=left)


def print_report(report: PosterReport, html: Path | None = None) -> None:
    """Tasks, groups, overall; what is missing; policies and signature."""
    released = report.compat is not None
    beside = _beside(report)
    titles = ("task", "metric", "value", *beside.values(), "chance", "fixed answer",
              *(("released", "of") if released else ()), "items")  # fmt: skip
    rows = [
        (
            task.title if i == 0 else "",
            metric.title + (" ↓" if metric.better == "low" else ""),
            with_interval(metric.figure),
            *(fixed(getattr(metric, name)) for name in beside),
            fixed(metric.chance),
            fixed(metric.fixed),
            *_released(metric, released),
            f"{_n(metric, task):,}",
        )
        for task in report.tasks
        for i, metric in enumerate(task.metrics)
    ]
    protocols = sorted({card.protocol for card in report.judges})
    judged = f", judged by the {' and the '.join(protocols)} protocol" if protocols else ""
    print_table(f"{report.contestant}: poster tasks{judged}", titles, rows, left=(0, 1))
    best = any(one.at_best is not None for one in report.groups)
    absent = {one.group: f"without {', '.join(one.absent)}" if one.absent else "" for one in report.groups}
    groups = [
        (one.group, with_interval(one.figure), *((fixed(one.at_best),) if best else ()), f"{one.metrics}",
         *((fixed(one.released),) if released else ()), absent[one.group])
        for one in report.groups
    ]  # fmt: skip
    columns = ("group", "mean", *(("at best",) if best else ()), "metrics", *(("released",) if released else ()), "")
    print_table("\nGroups", columns, groups, left=(0, len(columns) - 1))
    told = "" if report.overall_released is None else f"   released {fixed(report.overall_released)}"
    if report.overall is not None:
        say(f"\nOverall {with_interval(report.overall)}{told}", bold=True)
    if report.gap is not None:
        say(f"Simple less hard OCR {with_interval(report.gap)}")
    _print_points(report)
    _print_missing(report)
    if report.judges:
        judges = (f"{card.judge} ({card.verdicts:,} verdicts, {card.protocol} protocol)" for card in report.judges)
        say("judged by " + ", ".join(judges))
    print_closing(report.policies, str(report.signature), html=html)


def _beside(report: PosterReport) -> dict[str, str]:
    """Columns that only some reports have, and their titles."""
    columns = {"at_best": "at best", "oracle": "oracle"}
    metrics = [metric for task in report.tasks for metric in task.metrics]
    return {name: title for name, title in columns.items() if any(getattr(one, name) is not None for one in metrics)}


def _print_points(report: PosterReport) -> None:
    """Key points of generated posters, by kind."""
    rows = [
        (task.title if i == 0 else "", one.kind, with_interval(one.met), f"{one.points:,}", f"{one.owed:,}",
         fixed(one.oracle), f"{one.agree:,} of {one.both:,}" if one.both else MISSING)
        for task in report.tasks
        for i, one in enumerate(task.points)
    ]  # fmt: skip
    if rows:
        columns = ("points by kind", "", "met", "points", "verdicts owed", "oracle", "oracle agrees")
        print_table("", columns, rows, left=(0, 1))


def _print_missing(report: PosterReport) -> None:
    """What is worth nothing because it is not there, by task."""
    rows = [(task.title, *_counts(task)) for task in report.tasks if _is_lacking(task)]
    if rows:
        columns = ("worth nothing", "missing", "unread", "bad boxes", "verdicts owed", "no picture", "why unread")
        print_table("", columns, rows, left=(0, 6))


def _is_lacking(task: TaskResult) -> bool:
    return bool(task.missing or task.unread or task.bad_boxes or task.owed or task.no_picture)


def _counts(task: TaskResult) -> tuple[str, ...]:
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in task.unread.items())
    numbers = (task.missing, sum(task.unread.values()), task.bad_boxes, task.owed, task.no_picture)
    return (*(MISSING if n is None else f"{n:,}" for n in numbers), reasons)


def _released(metric: MetricResult, shown: bool) -> tuple[str, ...]:
    if not shown:
        return ()
    if metric.released_crash:
        return f"crash: {metric.released_crash}", MISSING
    return fixed(metric.released), MISSING if metric.released_n is None else f"{metric.released_n:,}"


def _n(metric: MetricResult, task: TaskResult) -> int:
    return task.items if metric.figure is None else metric.figure.n
