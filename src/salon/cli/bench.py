"""salon bench: suites, entries, boards and their sites."""

from __future__ import annotations

import click

from salon.cli.later import LaterGroup

LATER: dict[str, tuple[str, str]] = {
    "list": ("salon.cli.bench_suite:list_", "The suites that come with Salon, or what a suite or a board holds."),
    "run": ("salon.cli.bench_run:run", "Run generators on a suite, have their pictures judged, and keep a board."),
    "verify": ("salon.cli.bench_suite:verify", "Is a suite, a board or a bundle what it says it is?"),
    "diff": ("salon.cli.bench_diff:diff", "What moved between two boards, by how much, and why."),
    "site": ("salon.cli.bench_site:site", "A board as a folder of pages."),
    "add": ("salon.cli.bench_board:add", "Add pictures to a board as a new entry."),
    "pack": ("salon.cli.bench_board:pack", "Put pictures for a suite into one file to send."),
    "retract": ("salon.cli.bench_board:retract", "Take an entry off a board, with the reason in its place."),
    "new": ("salon.cli.bench_suite:new", "Start a suite of your own."),
    "hide": ("salon.cli.bench_suite:hide", "Make prompts of a suite private."),
    "freeze": ("salon.cli.bench_freeze:freeze", "Lock a suite: any change is refused from now on."),
    "arena": ("salon.cli.bench_arena:arena", "Which generators raters prefer: boards by criterion, as snapshots."),
    "raters": ("salon.cli.bench_arena:raters", "What scorers and judges are worth against people, on several studies."),
    "rewards": ("salon.cli.bench_rewards:rewards", "Mean scores of generators by category; a report on one of them."),
    "posters": ("salon.cli.bench_posters:posters", "Understanding and making posters: PosterIQ's tasks, done right."),
}
"""Commands whose module is loaded when they are called, and what the list says of them."""


@click.group(cls=LaterGroup, later=LATER)
def bench() -> None:
    """Leaderboards of generators whose published numbers never move.

    \b
      salon bench run posters -g atelier -g proof -o board     draw a suite, have it judged, keep a board
      salon bench verify board                                 is every number still what was published?
      salon bench site board -o site                           pages
    """
