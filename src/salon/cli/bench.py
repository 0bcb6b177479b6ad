"""salon bench: suites, entries, boards and their sites."""

from __future__ import annotations

import click

from salon.cli.later import LaterGroup

LATER: dict[str, tuple[str, str]] = {
    "list": ("salon.cli.bench_suite:list_", "The suites that come with Salon."),
    "run": ("salon.cli.bench_run:run", "Run generators on a suite, have their pictures judged, and keep a board."),
    "diff": ("salon.cli.bench_diff:diff", "What moved between two boards, by how much, and why."),
    "site": ("salon.cli.bench_site:site", "A board as a folder of pages."),
}
"""Commands whose module is loaded when they are called, and what the list says of them."""


@click.group(cls=LaterGroup, later=LATER)
def bench() -> None:
    """Leaderboards of generators whose published numbers never move."""
