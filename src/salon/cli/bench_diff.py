"""salon bench diff: two boards, or two suites, and what moved between them."""

from __future__ import annotations

from pathlib import Path

import click

from salon.bench.board import entry_folder, is_board, open_board
from salon.bench.builtin import builtin_suites
from salon.bench.diff import AxisMove, BoardDiff, EntryDiff, What, board_diff
from salon.bench.diff_reasons import Side
from salon.bench.entry_files import read_result
from salon.bench.suite import Suite
from salon.bench.suite_folder import open_suite
from salon.cli.console import json_option, print_json, print_table, say
from salon.errors import BadFile
from salon.report.numbers import MINUS, fixed
from salon.stats.result import Estimate

MOST_PROMPTS = 5
"""Prompts printed of each axis that moved; all of them are in --json."""
STILL: dict[What, str] = {
    "identical": "bit-identical",
    "unmoved": "with the same numbers and intervals, made from other data",
    "added": "new",
    "removed": "gone",
}


@click.command()
@click.argument("before", metavar="BEFORE")
@click.argument("after", metavar="AFTER")
@json_option
def diff(before: str, after: str, as_json: bool) -> None:
    """What moved from board BEFORE to board AFTER, by how much, and why; or what differs between two suites.

    The change of every axis is split into its prompts, and each part is given to what differs there: the picture,
    the answers of a judge, the prompt, a point, a route, the scorer, the reference, or a rule. Entries that did not
    move are said to be bit-identical.

    \b
      salon bench diff board-june board-july
      salon bench diff suites/posters-1 posters
    """
    found = board_diff(_side(before), _side(after))
    if as_json:
        print_json(found.model_dump(mode="json"))
        return
    _print_suites(found)
    for what, told in STILL.items():
        if names := found.named(what):
            say(f"{len(names):,} {'entry' if len(names) == 1 else 'entries'} {told}: {', '.join(names)}")
    for entry in found.entries:
        _print_standing(entry)
        if entry.what == "moved":
            _print_moves(entry)


def _side(place: str) -> Side:
    """A board with its entries, or a suite without any."""
    if not is_board(Path(place)):
        return Side(place, _suite(place), {}, {})
    board = open_board(Path(place))
    results = {one.name: read_result(entry_folder(board, one.name)) for one in board.entries}
    found = {name: result for name, result in results.items() if result is not None}
    return Side(place, board.suite, {one.name: one for one in board.entries}, found)


def _suite(place: str) -> Suite:
    if Path(place).exists() or place in builtin_suites():
        return open_suite(place)
    raise BadFile("a board or a suite is needed", found="nothing there", where=place)


def _print_suites(found: BoardDiff) -> None:
    one, other = (hash[:16] for hash in found.suites)
    if one == other:
        say(f"the same suite, {one}", bold=True)
        return
    say(f"the suite {one} became {other}", bold=True)
    for reason in found.suite:
        say(f"- {reason.cause}: {reason.told}")


def _print_standing(entry: EntryDiff) -> None:
    if entry.before != entry.after and entry.before and entry.after:
        why = f": {entry.retracted}" if entry.retracted else ""
        say(f"{entry.entry}: {entry.before} before, {entry.after} now{why}", fg="yellow")


def _print_moves(entry: EntryDiff) -> None:
    say(f"{entry.entry} moved", bold=True)
    rows = [
        (move.axis, _figure(move.before), _figure(move.after), _signed(move.change), _causes(move))
        for move in entry.axes
        if move.before != move.after or move.prompts
    ]
    print_table(None, ("axis", "before", "after", "change", "why"), rows, left=(0, 4))
    for move in entry.axes:
        for prompt in move.prompts[:MOST_PROMPTS]:
            told = "; ".join(reason.told for reason in prompt.reasons)
            say(f"  {move.axis}, {prompt.prompt}: {_signed(prompt.moved)}: {told}")
        if len(move.prompts) > MOST_PROMPTS:
            say(f"  {move.axis}: and {len(move.prompts) - MOST_PROMPTS:,} more prompts (--json prints all)")


def _causes(move: AxisMove) -> str:
    if not move.by_cause:
        return "its interval alone" if move.change == 0 else ""
    return ", ".join(f"{cause} {_signed(value)}" for cause, value in move.by_cause.items())


def _figure(figure: Estimate | None) -> str:
    if figure is None:
        return "none"
    return f"{fixed(figure.value, 1)} [{fixed(figure.low, 1)}, {fixed(figure.high, 1)}]"


def _signed(value: float | None) -> str:
    if value is None:
        return "not known"
    text = fixed(value, 2)
    return text if text.startswith(MINUS) else f"+{text}"
