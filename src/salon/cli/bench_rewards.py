"""salon bench rewards: what scorers give to generators, and the quality report of one of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from salon.bench.reward_page import reward_page
from salon.bench.reward_table import RewardBoard, RewardPlace, RewardTables
from salon.cli.console import html_option, json_option, print_json, print_table, say
from salon.cli.given import STUDY, given_study
from salon.cli.options import options_from, settings_from
from salon.errors import BadValue
from salon.flows.bench.rewards import RewardSettings, check_generator, reward_tables
from salon.report.numbers import with_interval


@click.command()
@click.argument("study", type=STUDY)
@click.option(
    "-s",
    "--scorer",
    "names",
    metavar="NAME",
    multiple=True,
    help="Only the scores of this name in STUDY/scores (repeatable).",
)
@click.option("-g", "--generator", help="The quality report of this generator: its place under every scorer.")
@click.option("--by-category/--all-together", default=True, show_default=True, help="Also each category for itself.")
@options_from(RewardSettings)
@html_option()
@json_option
def rewards(
    study: Path | str,
    names: Sequence[str],
    generator: str | None,
    by_category: bool,
    html: Path | None,
    as_json: bool,
    **flags: Any,
) -> None:
    """Mean scores of the generators of STUDY by category, ranked, with intervals; from tables of `salon score`.

    With --generator: where one generator is ahead of the others and where behind. Score a study by a model that was
    trained on a panel (salon score STUDY --model MODEL) and every criterion of it is a row.

    \b
      salon bench rewards study
      salon bench rewards study -s hpsv3 --missing shared
      salon bench rewards study -g new-generator --html report.html
    """
    settings = settings_from(RewardSettings, flags)
    if not isinstance(study, Path) or not study.is_dir():
        raise BadValue("a study's folder is needed: scores are kept in it", found=str(study))
    made = reward_tables(given_study(study), study, settings, names=names, by_category=by_category)
    if generator is not None:
        check_generator(made, generator)
    if html is not None:
        reward_page(made, generator).write(html)
    if as_json:
        print_json(made.model_dump(mode="json"))
        return
    if generator is None:
        for board in made.boards:
            _print_board(board)
    else:
        _print_report(made, generator)
    for words in made.policies:
        say(f"policy: {words}", dim=True)
    say(made.signature_line, dim=True)


def _print_board(board: RewardBoard) -> None:
    title = f"{board.scorer}, {board.category or 'all categories'}: {board.prompts:,} prompts"
    if board.left_out:
        title += f", {board.left_out:,} left out"
    rows = [
        [one.generator, _rank(one), with_interval(one.mean, None), with_interval(one.lead, None), _lacks(one)]
        for one in board.places
    ]
    print_table(title, ["generator", "rank", "mean", "lead over the others", "missing"], rows)
    if board.reason:
        say(f"- {board.reason}", fg="yellow")


def _print_report(made: RewardTables, generator: str) -> None:
    rows = [
        [
            board.scorer,
            board.category or "all",
            _rank(one),
            with_interval(one.mean, None),
            with_interval(one.lead, None),
            one.verdict,
            _lacks(one),
        ]
        for board, one in made.of(generator)
    ]
    columns = ["scorer", "category", "rank", "mean", "lead over the others", "", "missing"]
    print_table(f"{generator} among {len(made.generators):,} generators", columns, rows, left=(0, 1, 5))


def _rank(place: RewardPlace) -> str:
    if place.rank is None or place.rank_low is None:
        return "" if place.rank is None else str(place.rank)
    return f"{place.rank} [{place.rank_low}, {place.rank_high}]"


def _lacks(place: RewardPlace) -> str:
    return f"{place.lacking:,} prompts" if place.lacking else ""
