"""The commands for boards: add, pack, retract."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from salon.bench.board import entry_folder, folder_name, is_board, new_board, open_board
from salon.bench.board import restore as restored
from salon.bench.board import retract as retracted
from salon.bench.brought import Brought, Terms
from salon.bench.bundle import ENDING, add_entry, opened
from salon.bench.bundle import pack as packed
from salon.bench.suite import Suite
from salon.bench.suite_folder import open_suite
from salon.cli.console import counting, json_option, print_json, say
from salon.errors import BadFile, BadValue

POLICY = "each counts as a failure of all its points, and has no chance against the reference"


def terms_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is said of an entry."""
    for option in reversed((
        click.option("--name", default="", help="Name of the entry; a bundle brings its own."),
        click.option("--title", default="", help="As shown  [default: the name]"),
        click.option("--generator", default="", help="What made the pictures."),
        click.option("--licence", default="", help="Of the pictures: CC0-1.0, CC-BY-4.0 ..."),
        click.option("--by", default="", help="Who submits it."),
        click.option("--link", default="", help="Address of the generator's page."),
        click.option("--about", default="", help="One or two sentences."),
    )):  # fmt: skip
        command = option(command)
    return command


# -- add -----------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("board", type=click.Path(path_type=Path))
@click.argument("place", type=click.Path(path_type=Path))
@terms_options
@click.option("--suite", metavar="SUITE", help="Make BOARD, a new folder, for this suite.")
@json_option
def add(board: Path, place: Path, suite: str | None, as_json: bool, **terms: str) -> None:
    """Add pictures to BOARD as a new entry.

    PLACE is a bundle, a folder of pictures named PROMPT.png or PROMPT__SEED.png, a table (.csv, .jsonl) with the
    columns prompt, file and seed, or an entry's folder. Pictures that are missing are counted; broken ones, those of
    another size and those of other prompts are refused. salon bench run BOARD then has them judged.

    \b
      salon bench add board flux.salon.zip
      salon bench add board pictures/flux --name flux --licence CC-BY-4.0
      salon bench add board pictures/flux --name flux --licence CC0-1.0 --suite broad
    """
    _check_board(board, suite)
    known = open_board(board).suite if is_board(board) else open_suite(suite or "")
    with (
        counting("looking at pictures", quiet=as_json) as watch,
        opened(place, known, Terms.parse(terms), watch=watch) as brought,
    ):
        home = open_board(board) if is_board(board) else new_board(board, known)
        add_entry(home, brought)
    _tell(f"{brought.entry.name} is on {board}", brought, as_json, {"board": str(board)})
    if not as_json:
        say(f"next: salon bench run {board} has its points judged; until then it is not published", dim=True)


def _check_board(board: Path, suite: str | None) -> None:
    if is_board(board) and suite is not None:
        raise BadValue("a board has its suite already", found=f"--suite {suite}", where=str(board))
    if not is_board(board) and suite is None:
        raise BadFile("a board is needed", found="a folder without a board.json" if board.exists() else "nothing there",
                      where=str(board), remedy="--suite SUITE makes a new one")  # fmt: skip


def _tell(done: str, brought: Brought, as_json: bool, more: dict[str, Any]) -> None:
    wanted = len(brought.entry.pictures)
    if as_json:
        print_json({**more, "entry": brought.entry.name, "pictures": wanted - brought.missing,
                    "missing": brought.missing, "notes": list(brought.notes)})  # fmt: skip
        return
    say(f"{done}: {wanted - brought.missing:,} of {wanted:,} pictures", bold=True)
    if brought.missing:
        say(f"{brought.missing:,} missing: {POLICY}", fg="yellow")
    for note in brought.notes:
        say(f"- {note}")


# -- pack ----------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("suite")
@click.argument("place")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help=f"File to write  [default: NAME{ENDING}]"
)
@terms_options
@json_option
def pack(suite: str, place: str, output: Path | None, as_json: bool, **terms: str) -> None:
    """Put pictures for SUITE, or an entry of a board, into one file that anybody can verify and add to a board.

    SUITE is a suite, or a board; PLACE is a folder or table of pictures, or an entry of that board. Pictures of private
    prompts are left out. The same pictures and words give the same bytes.

    \b
      salon bench pack broad pictures/flux --name flux --licence CC-BY-4.0 --by "Black Forest"
      salon bench pack board flux -o flux.salon.zip
    """
    known, source = _source(suite, place)
    with (
        counting("looking at pictures", quiet=as_json) as watch,
        opened(source, known, Terms.parse(terms), publish=True, watch=watch) as brought,
    ):
        target = output or Path(f"{folder_name(brought.entry.name)}{ENDING}")
        packed(brought, target)
    _tell(f"{target}", brought, as_json, {"bundle": str(target)})


def _source(suite: str, place: str) -> tuple[Suite, Path]:
    if not is_board(Path(suite)):
        return open_suite(suite), Path(place)
    board = open_board(Path(suite))
    if any(one.name == place for one in board.entries) or not Path(place).exists():
        return board.suite, entry_folder(board, board.entry(place).name)
    return board.suite, Path(place)


# -- retract -------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("board", type=click.Path(path_type=Path))
@click.argument("name")
@click.option("--reason", default="", help="Why, in one sentence: it is shown in the entry's place.")
@click.option("--undo", is_flag=True, help="Give it its place back.")
@json_option
def retract(board: Path, name: str, reason: str, undo: bool, as_json: bool) -> None:
    """Take the entry NAME off BOARD, with the reason in its place; nothing is deleted, no other entry moves.

    \b
      salon bench retract board flux --reason "pictures were chosen from eight tries each"
      salon bench retract board flux --undo
    """
    home = open_board(board)
    entry = restored(home, name) if undo else retracted(home, name, reason)
    if as_json:
        print_json({"board": str(board), "entry": name, "retracted": entry.retracted and entry.retracted.record()})
        return
    say(f"{name} has its place on {board} again" if undo else f"{name} is retracted: {reason.strip()}", bold=True)
    say("next: salon bench site writes the pages anew", dim=True)
