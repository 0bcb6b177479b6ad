"""`salon bench posters`: the group, and the commands that score and compare answers to PosterIQ's tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from click.core import ParameterSource

from salon.bench import PosterScoreSettings
from salon.cli.console import (
    html_option,
    json_option,
    print_closing,
    print_json,
    print_report_table,
    print_table,
    say,
    spinner,
    write_page,
)
from salon.cli.lazy_commands import LazyGroup
from salon.cli.options import options_from, settings_from
from salon.errors import BadFile

if TYPE_CHECKING:
    from salon.bench import (
        ComparisonValue,
        PaperCell,
        PosterContestant,
        PosterPaperTable,
        PosterReport,
        RunCard,
    )

POSTER_COMMANDS = {
    "make": ("salon.cli.bench_posters_run:make", "Draw task sets of any size, with their truth."),
    "run": ("salon.cli.bench_posters_run:run", "Have a contestant answer: an OCR engine, a VLM, a blind one."),
    "generate": ("salon.cli.bench_posters_run:generate", "Have a generator make the posters that are asked for."),
    "judge": ("salon.cli.bench_posters_run:judge", "Have a judge say which points answers and posters cover."),
    "score": ("salon.cli.bench_posters:score", "What answers are worth: by task, by group, overall."),
    "compare": ("salon.cli.bench_posters:compare", "Put several contestants side by side."),
    "people": ("salon.cli.bench_posters_run:people", "Have people answer what a judge answered."),
}


@click.group(cls=LazyGroup, lazy=POSTER_COMMANDS)
def posters() -> None:
    """Understanding and making posters: PosterIQ's 24 tasks. A perfect answer scores 1, a blind guess 0.

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
@options_from(PosterScoreSettings)
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
    """Score the responses in FILES by task, by group and overall, with intervals.

    FILES are files of PosterIQ's public layout with `response` (and, for points and posters, `judge`) in their records,
    folders of them, or the merged lists that its own runners write. Missing and unreadable answers score 0 and stay in
    the denominator.

    \b
      salon bench posters score answers --html posters.html
      salon bench posters score answers/und_task/simple_ocr.json --json
      salon bench posters score answers --boxes thousand             boxes of a model that writes 0 to 1000
      salon bench posters score answers --compat released            beside the published tables
      salon bench posters score gpt-5_bench.json gpt-5_score.json    output of PosterIQ's own runners
    """
    from salon.bench import (
        POSTERS,
        contestant_name,
        find_files,
        picture_root,
        read_card,
        read_judges,
        report_page,
        score_files,
        with_released,
    )

    settings = settings_from(PosterScoreSettings, flags)
    opened = find_files(files)
    home = picture_root(files[0])
    card = read_card(home)
    if pictures is None and (home / POSTERS).is_dir():  # a generator's folder holds its posters
        pictures = home
    settings = settings_of_run(settings, card)
    contestant = name or (contestant_name(files[0]) if card is None else card.contestant)
    with spinner("scoring"):
        judges = read_judges(home)
        report = score_files(opened, settings, contestant=contestant, pictures=pictures, judges=judges)
        if compat:
            report = with_released(report, opened, pictures)
    write_page(lambda: report_page(report, pictures), html, figures)
    if as_json:
        print_json(report)
    else:
        print_report(report, html)


def settings_of_run(settings: PosterScoreSettings, card: RunCard | None) -> PosterScoreSettings:
    """The settings with what a run says of itself, where the command line does not."""
    context = click.get_current_context()
    card_settings = {} if card is None else {"boxes": card.boxes, "shown_pixels": card.shown_pixels}
    defaults = {name: value for name, value in card_settings.items()
            if context.get_parameter_source(name) is ParameterSource.DEFAULT}  # fmt: skip
    return settings.model_copy(update=defaults)


def print_report(report: PosterReport, html: Path | None = None) -> None:
    """Tasks, groups, overall; what is missing; policies and signature."""
    from salon.bench import absent_notes, score_tables
    from salon.report import with_interval
    from salon.report.numbers import fixed

    protocols = sorted({card.protocol for card in report.judges})
    judged_words = f", judged by the {' and the '.join(protocols)} protocol" if protocols else ""
    tasks, groups, points, lacking = score_tables(report)
    print_report_table(tasks, f"{report.contestant}: poster tasks{judged_words}")
    for task in report.tasks:
        for metric in task.metrics:
            if metric.released_crash:
                say(f"- {task.title}, {metric.title}: released scoring ends in a crash: {metric.released_crash}")
    print_report_table(groups)
    for note in absent_notes(report):
        say(f"- {note}")
    released_words = "" if report.overall_released is None else f"   released {fixed(report.overall_released)}"
    if report.overall is not None:
        say(f"\nOverall {with_interval(report.overall)}{released_words}", bold=True)
    if report.gap is not None:
        say(f"Simple less hard OCR {with_interval(report.gap)}")
    print_report_table(points)
    print_report_table(lacking)
    if report.judges:
        judges = (f"{card.judge} ({card.verdicts:,} verdicts, {card.protocol} protocol)" for card in report.judges)
        say("judged by " + ", ".join(judges))
    print_closing(report.policies, str(report.signature), html=html)


# -- compare --------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--compat", type=click.Choice(["released"]), help="Tables by the released scoring, with its faults.")
@click.option("--published", multiple=True, metavar="MODEL",
              help="Rows that the paper publishes for this model, marked as such; or all (repeatable).")  # fmt: skip
@click.option("--pictures", type=click.Path(path_type=Path, file_okay=False),
              help="Folder with the pictures, for the page  [default: SET where a folder is SET.NAME]")  # fmt: skip
@html_option()
@options_from(PosterScoreSettings)
@json_option
def compare(
    folders: Sequence[Path],
    compat: Literal["released"] | None,
    published: Sequence[str],
    pictures: Path | None,
    html: Path | None,
    figures: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Compare the answers in FOLDERS: the paper's Tables 1 to 7, every metric, and which contestants do not differ.

    Each folder holds one contestant's answers to the same items, as salon bench posters run leaves them; the merged
    lists of PosterIQ's own runners will do. A contestant has no value on a task that it was not asked. It is not ranked
    while verdicts of a judge are missing. Tasks that were judged with different prompts have no ranks; the tables name
    the prompts. The page has a radar, and galleries with pictures, truth and answers.

    \b
      salon bench posters compare set.rapidocr set.tesseract set.random --html posters.html
      salon bench posters compare gpt mine --compat released --published GPT-5 --published Qwen3-VL-8B
      salon bench posters compare a_bench.json a_score.json b_bench.json --compat released --published all
    """
    from salon.bench import compare_files, compared_page
    from salon.report import MISSING
    from salon.report.numbers import fixed

    settings = settings_from(PosterScoreSettings, flags)
    with spinner("scoring"):
        contestants = _join_contestants([_contestant(folder, settings) for folder in folders], folders)
        report = compare_files(contestants, compat=compat, published=published)
    picture_folder = pictures or next((place for folder in folders if (place := _answered_set(folder))), None)
    write_page(lambda: compared_page(report, picture_folder, [one.pictures for one in contestants]), html, figures)
    if as_json:
        print_json(report)
    else:
        names = report.contestants
        for table in report.tables:
            _print_paper(table, report.compat)
        groups = [(row.title, *map(_value_cell, row.values)) for row in report.groups]
        print_table("\nGroups", ("group", *names), groups, left=(0,))
        rows = [
            (row.title, row.metric + (" ↓" if row.better == "low" else ""), *map(_value_cell, row.values),
             MISSING if row.chance is None else fixed(row.chance, 3))
            for row in report.rows
        ]  # fmt: skip
        print_table("\nTasks", ("task", "metric", *names, "chance"), rows, left=(0, 1))
        say(
            "* the best of its row or column   ~ no clear difference to the best\n"
            "? not ranked: verdicts are owed   / not ranked: others were asked more tasks\n"
            "≠ not comparable: judged by different protocols",
            dim=True,
        )
        for item in report.judged:
            if item.tasks:
                judges = f", {', '.join(item.judges)}" if item.judges else ""
                say(f"{item.contestant} judged by: {item.title}{judges}")
        lines = "\n".join(f"{item.contestant}: {item.signature}" for item in report.reports)
        print_closing(report.policies, lines, html=html)


def _contestant(folder: Path, settings: PosterScoreSettings) -> PosterContestant:
    from salon.bench import POSTERS, PosterContestant, contestant_name, find_files, picture_root, read_card, read_judges

    home = picture_root(folder)
    card = read_card(home)
    settings = settings_of_run(settings, card)
    name = contestant_name(folder) if card is None else card.contestant
    pictures = home if (home / POSTERS).is_dir() else None
    return PosterContestant(name, find_files([folder]), settings, pictures, read_judges(home))


def _join_contestants(contestants: Sequence[PosterContestant], places: Sequence[Path]) -> list[PosterContestant]:
    """Files of one name are one contestant: the runners' MODEL_bench.json and MODEL_score.json."""
    joined: dict[str, PosterContestant] = {}
    for contestant, place in zip(contestants, places):
        first = joined.get(contestant.name)
        if first is None or place.is_dir():
            joined[contestant.name if first is None else f"{contestant.name} {len(joined)}"] = contestant
            continue
        tasks = {file.task.name for file in first.files} & {file.task.name for file in contestant.files}
        if tasks:
            raise BadFile("one file for each task and contestant is needed", found=f"several of {min(tasks)}",
                          where=str(place), remedy="give contestants files of different names")  # fmt: skip
        judges = tuple(dict.fromkeys([*first.judges, *contestant.judges]))
        joined[contestant.name] = replace(first, files=[*first.files, *contestant.files], judges=judges)
    return list(joined.values())


def _answered_set(folder: Path) -> Path | None:
    """The set that a folder SET.NAME holds answers to, where it stands beside it."""
    from salon.bench import picture_root, read_card

    home = picture_root(folder).resolve()
    card = read_card(home)
    name = "" if card is None else card.contestant.replace("/", "-")
    place = home.with_name(home.name.removesuffix(f".{name}"))
    return place if name and place != home and place.is_dir() else None


def _print_paper(table: PosterPaperTable, compat: str | None) -> None:
    """One of the seven, a line for each contestant."""
    has_judges = any(row.judged for row in table.rows)
    rows = [
        (row.contestant + (" (published)" if row.published else ""), *((row.judged or "",) if has_judges else ()),
         *map(_paper_cell, row.cells))
        for row in table.rows
    ]  # fmt: skip
    heads = (column.title + (" ↓" if column.better == "low" else "") for column in table.columns)
    scoring = ", released scoring" if compat else ""
    names = ("contestant", "judged by") if has_judges else ("contestant",)
    left = tuple(range(len(names)))
    print_table(f"\nTable {table.number}. {table.title}{scoring}", (*names, *heads), rows, left=left)


def _paper_cell(cell: PaperCell) -> str:
    from salon.report import MISSING
    from salon.report.numbers import fixed

    mark = "?" if cell.owed else "≠" if cell.other_protocol else "/" if cell.partial else "*" if cell.best else " "
    return MISSING if cell.value is None else f"{fixed(cell.value, 3)} {mark}"


def _value_cell(value: ComparisonValue) -> str:
    from salon.bench import is_apart
    from salon.report import MISSING, with_interval

    if value.figure is None:
        return MISSING
    mark = (
        "?"
        if value.owed
        else "≠"
        if value.other_protocol
        else "*"
        if value.best
        else "~"
        if is_apart(value) is False
        else " "
    )
    return f"{with_interval(value.figure)} {mark}"
