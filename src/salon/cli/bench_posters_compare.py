"""The command that puts several contestants side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import click

from salon.bench.posters.compared import ComparedReport, ComparedValue, Contestant, apart, compare_files
from salon.bench.posters.files import contestant_of, find_files, home_of
from salon.bench.posters.paper_tables import PaperTable, TableCell
from salon.bench.posters.report_compared import compared_page
from salon.bench.posters.results import ScoreSettings
from salon.bench.posters.run_card import POSTERS, read_card, read_judges
from salon.cli.bench_posters import settings_of_run
from salon.cli.console import html_option, json_option, print_closing, print_json, print_table, say, working, write_page
from salon.cli.options import options_from, settings_from
from salon.errors import BadFile
from salon.report.numbers import MISSING, fixed, with_interval


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--compat", type=click.Choice(["released"]), help="Tables by the released scoring, with its faults.")
@click.option("--published", multiple=True, metavar="MODEL",
              help="Rows that the paper publishes for this model, marked as such; or all (repeatable).")  # fmt: skip
@click.option("--pictures", type=click.Path(path_type=Path, file_okay=False),
              help="Folder with the pictures, for the page  [default: SET where a folder is SET.NAME]")  # fmt: skip
@html_option()
@options_from(ScoreSettings)
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
    """Put the answers in FOLDERS side by side: the paper's Tables 1 to 7, every metric, and who is not told apart.

    Each folder holds one contestant's answers to the same items, as salon bench posters run leaves them; the merged
    lists of PosterIQ's own runners will do. A contestant that was not asked a task has no value there; one whose
    verdicts a judge owes is not ranked, and nobody is on tasks that were judged by different prompts. The tables say
    by which. The page has a radar, and galleries with pictures, truth and answers.

    \b
      salon bench posters compare set.rapidocr set.tesseract set.random --html posters.html
      salon bench posters compare gpt mine --compat released --published GPT-5 --published Qwen3-VL-8B
      salon bench posters compare a_bench.json a_score.json b_bench.json --compat released --published all
    """
    settings = settings_from(ScoreSettings, flags)
    with working("scoring"):
        contestants = _joined([_contestant(folder, settings) for folder in folders], folders)
        report = compare_files(contestants, compat=compat, published=published)
    shown = pictures or next((place for folder in folders if (place := _asked_about(folder))), None)
    write_page(lambda: compared_page(report, shown, [one.pictures for one in contestants]), html, figures)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print(report, html)


def _contestant(folder: Path, settings: ScoreSettings) -> Contestant:
    home = home_of(folder)
    card = read_card(home)
    settings = settings_of_run(settings, card)
    name = contestant_of(folder) if card is None else card.contestant
    pictures = home if (home / POSTERS).is_dir() else None
    return Contestant(name, find_files([folder]), settings, pictures, read_judges(home))


def _joined(contestants: Sequence[Contestant], places: Sequence[Path]) -> list[Contestant]:
    """Files of one name are one contestant: the runners' MODEL_bench.json and MODEL_score.json."""
    joined: dict[str, Contestant] = {}
    for one, place in zip(contestants, places):
        first = joined.get(one.name)
        if first is None or place.is_dir():
            joined[one.name if first is None else f"{one.name} {len(joined)}"] = one
            continue
        tasks = {file.task.name for file in first.files} & {file.task.name for file in one.files}
        if tasks:
            raise BadFile("one file for each task and contestant is needed", found=f"several of {min(tasks)}",
                          where=str(place), remedy="give contestants files of different names")  # fmt: skip
        judges = tuple(dict.fromkeys([*first.judges, *one.judges]))
        joined[one.name] = replace(first, files=[*first.files, *one.files], judges=judges)
    return list(joined.values())


def _asked_about(folder: Path) -> Path | None:
    """The set that a folder SET.NAME holds answers to, where it stands beside it."""
    home = home_of(folder).resolve()
    card = read_card(home)
    name = "" if card is None else card.contestant.replace("/", "-")
    place = home.with_name(home.name.removesuffix(f".{name}"))
    return place if name and place != home and place.is_dir() else None


def _print_paper(table: PaperTable, compat: str | None) -> None:
    """One of the seven, a line for each contestant."""
    judged = any(row.judged for row in table.rows)
    rows = [
        (row.contestant + (" (published)" if row.published else ""), *((row.judged or "",) if judged else ()),
         *map(_paper_cell, row.cells))
        for row in table.rows
    ]  # fmt: skip
    heads = (column.title + (" ↓" if column.better == "low" else "") for column in table.columns)
    scoring = ", released scoring" if compat else ""
    names = ("contestant", "judged by") if judged else ("contestant",)
    left = tuple(range(len(names)))
    print_table(f"\nTable {table.number}. {table.title}{scoring}", (*names, *heads), rows, left=left)


def _paper_cell(cell: TableCell) -> str:
    mark = "?" if cell.owed else "≠" if cell.other_protocol else "/" if cell.partial else "*" if cell.best else " "
    return MISSING if cell.value is None else f"{fixed(cell.value, 3)} {mark}"


def _print(report: ComparedReport, html: Path | None) -> None:
    names = report.contestants
    for table in report.tables:
        _print_paper(table, report.compat)
    groups = [(row.title, *map(_told, row.values)) for row in report.groups]
    print_table("\nGroups", ("group", *names), groups, left=(0,))
    rows = [
        (row.title, row.metric + (" ↓" if row.better == "low" else ""), *map(_told, row.values),
         MISSING if row.chance is None else fixed(row.chance, 3))
        for row in report.rows
    ]  # fmt: skip
    print_table("\nTasks", ("task", "metric", *names, "chance"), rows, left=(0, 1))
    say(
        "* the best of its row or column   ~ not told apart from the best\n"
        "? not ranked: verdicts are owed   / not ranked: others were asked more tasks\n"
        "≠ not comparable: judged by different protocols",
        dim=True,
    )
    for one in report.judged:
        if one.tasks:
            judges = f", {', '.join(one.judges)}" if one.judges else ""
            say(f"{one.contestant} judged by: {one.title}{judges}")
    lines = "\n".join(f"{one.contestant}: {one.signature}" for one in report.reports)
    print_closing(report.policies, lines, html=html)


def _told(value: ComparedValue) -> str:
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
        if apart(value) is False
        else " "
    )
    return f"{with_interval(value.figure)} {mark}"
