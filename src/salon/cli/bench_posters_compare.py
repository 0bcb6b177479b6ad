"""The command that puts several contestants side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from salon.bench.posters.compared import ComparedReport, ComparedValue, Contestant, apart, compare_files
from salon.bench.posters.files import find_files, home_of
from salon.bench.posters.report_compared import compared_page
from salon.bench.posters.results import ScoreSettings
from salon.bench.posters.run_card import POSTERS, read_card
from salon.cli.console import html_option, json_option, print_closing, print_json, print_table, say, working
from salon.cli.options import options_from, settings_from
from salon.report.numbers import MISSING, fixed, with_interval


@click.command()
@click.argument("folders", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@html_option()
@options_from(ScoreSettings)
@json_option
def compare(folders: Sequence[Path], html: Path | None, as_json: bool, **flags: Any) -> None:
    """Put the answers in FOLDERS side by side: by group and metric, with the best and who is not told apart from it.

    Each folder holds one contestant's answers to the same items, as salon bench posters run leaves them. A contestant
    that was not asked a task has no value there.

    \b
      salon bench posters compare set.rapidocr set.tesseract set.random --html posters.html
    """
    settings = settings_from(ScoreSettings, flags)
    declared = click.get_current_context().get_parameter_source("boxes") is not ParameterSource.DEFAULT
    with working("scoring"):
        report = compare_files([_contestant(folder, settings, declared) for folder in folders])
    if html is not None:
        compared_page(report).write(html)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print(report, html)


def _contestant(folder: Path, settings: ScoreSettings, declared: bool) -> Contestant:
    home = home_of(folder)
    card = read_card(home)
    if card is not None and not declared:
        settings = settings.model_copy(update={"boxes": card.boxes})
    name = home.resolve().name if card is None else card.contestant
    return Contestant(name, find_files([folder]), settings, home if (home / POSTERS).is_dir() else None)


def _print(report: ComparedReport, html: Path | None) -> None:
    names = report.contestants
    groups = [(row.title, *map(_told, row.values)) for row in report.groups]
    print_table("Groups", ("group", *names), groups, left=(0,))
    rows = [
        (row.title, row.metric + (" ↓" if row.better == "low" else ""), *map(_told, row.values),
         MISSING if row.chance is None else fixed(row.chance, 3))
        for row in report.rows
    ]  # fmt: skip
    print_table("\nTasks", ("task", "metric", *names, "chance"), rows, left=(0, 1))
    say("* the best of its row   ~ not told apart from the best", dim=True)
    lines = "\n".join(f"{one.contestant}: {one.signature}" for one in report.reports)
    print_closing(report.policies, lines, html=html)


def _told(value: ComparedValue) -> str:
    if value.figure is None:
        return MISSING
    mark = "*" if value.best else "~" if apart(value) is False else " "
    return f"{with_interval(value.figure)} {mark}"
