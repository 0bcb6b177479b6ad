"""A board on a terminal: every axis with its interval and the range of its rank."""

from __future__ import annotations

from salon.bench.board import Board, entry_folder, published_results
from salon.bench.entry_files import read_result
from salon.bench.results import AxisResult, EntryResult
from salon.bench.standings import Standing, standings
from salon.bench.suite import CAPABILITY, OVERALL
from salon.cli.console import print_table, say
from salon.report.numbers import fixed

TITLES = {CAPABILITY: "Capability", OVERALL: "Overall"}


def print_standings(board: Board) -> None:
    """Published entries best first, then provisional ones with their bounds, then those taken back."""
    results = published_results(board)
    card = board.suite.card
    say(f"{card.title}: {len(results):,} published entries of {len(board.entries):,}", bold=True)
    axes = _axes(board, results)
    places = {axis: {one.entry: one for one in standings(results, axis).places} for axis in axes}
    titles = TITLES | {rule.id: rule.title for rule in card.preferences}
    columns = ["entry", *(cell for axis in axes for cell in (titles[axis], "rank"))]
    order = list(places[axes[-1]]) if axes else []
    rows = [[name, *(cell for axis in axes for cell in _cells(places[axis][name]))] for name in order]
    if rows:
        print_table(None, columns, rows)
    _print_others(board, {one.entry for one in results})
    if results:
        one = results[0]
        counted = {axis: places[axis][one.entry].figure.n for axis in axes}
        level = f"{card.level:.0%} intervals over {_prompts(counted, titles)}"
        say(f"{level}; ranks hold together; a missing picture or an unread answer is a failure", dim=True)
        say(f"suite {one.suite} {one.suite_hash[:16]}", dim=True)


def _prompts(counted: dict[str, int], titles: dict[str, str]) -> str:
    """How many prompts count, axis by axis where they differ."""
    if len(set(counted.values())) == 1:
        return f"{next(iter(counted.values()))} prompts"
    return "prompts: " + ", ".join(f"{titles[axis]} {n}" for axis, n in counted.items())


def _axes(board: Board, results: list[EntryResult]) -> list[str]:
    """Capability, the columns of EPS and Overall, those that every entry has."""
    named = [CAPABILITY, *(rule.id for rule in board.suite.card.preferences), OVERALL]
    has = [{CAPABILITY, *one.eps, *([OVERALL] if one.overall else [])} for one in results]
    return [axis for axis in named if has and all(axis in one for one in has)]


def _cells(place: Standing) -> tuple[str, str]:
    figure = place.figure
    ranks = str(place.rank) if place.low == place.high else f"{place.rank} ({place.low}-{place.high})"
    return f"{fixed(figure.value, 1)} [{fixed(figure.low, 1)}, {fixed(figure.high, 1)}]", ranks


def _print_others(board: Board, published: set[str]) -> None:
    for entry in board.entries:
        if entry.retracted is not None:
            say(f"- {entry.name} was retracted: {entry.retracted.reason}", dim=True)
        elif entry.name not in published:
            result = read_result(entry_folder(board, entry.name))
            say(f"- {entry.name} is provisional" + (f": {_bounds(result)}" if result else ""), fg="yellow")


def _bounds(result: EntryResult) -> str:
    axes = {"Capability": result.capability, **result.eps, **({"Overall": result.overall} if result.overall else {})}
    return ", ".join(f"{name} between {_between(axis)}" for name, axis in axes.items())


def _between(axis: AxisResult) -> str:
    low, high = fixed(axis.figure.value, 1), fixed(axis.at_best, 1)
    return f"{low} and {high}" if low != high else low
