"""How results look on a terminal: aligned tables for people, JSON for machines, progress on stderr."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

UNBOUNDED = 10_000
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
seed_option = click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything drawn by chance.")


def out() -> Console:
    """The console for results; wide when piped, so that rows never wrap in a log."""
    console = Console(highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, width=160)


def print_json(record: Any) -> None:
    """One JSON object; NaN and infinity are never written."""
    click.echo(json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False))


def print_table(
    title: str | None, columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: Sequence[int] = (0,)
) -> None:
    """A table whose first column (or those in `left`) stands left and numbers stand right."""
    if title:
        say(title, bold=True)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, name in enumerate(columns):
        last = number == len(columns) - 1 and number in left
        table.add_column(
            _plain(name), justify="left" if number in left else "right", header_style="dim", no_wrap=not last
        )
    for row in rows:
        table.add_row(*(_plain(cell) for cell in row))
    console = out()
    needed = Console(width=UNBOUNDED).measure(table).maximum
    if len(columns) - 1 in left:  # a last column of words may wrap inside its own column
        needed = min(needed, console.width)
    console.width = max(needed, console.width)  # a narrow terminal wraps the line; a cut number would be lost
    console.print(table)


def say(text: str, **style: Any) -> None:
    """A line for people, styled as click does; labels in it come from users' files and may hold anything."""
    click.secho(printable(text), **style)


def printable(text: str) -> str:
    """Text whose control characters do nothing to a terminal; lines stay lines, and joined emoji joined."""
    return "".join(c if c.isprintable() or c in "\n\u200d\u202f" else "�" for c in text)


def _plain(cell: str) -> str:
    """Labels come from users' files: brackets are text here, never markup, and control characters do nothing."""
    return printable(cell.replace("\n", " ")).replace("[", "\\[")


@contextmanager
def working(label: str, total: int | None) -> Iterator[Callable[[str], None]]:
    """A spinner (or a bar, when the total is known) on stderr; gone when done, silent when nobody watches.

    Gives a function that names the step being worked on.
    """
    console = Console(stderr=True)
    shown = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    counted = (*shown, BarColumn(), MofNCompleteColumn())
    columns = shown if total is None else counted
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(label, total=total)
        yield lambda step: bar.update(task, description=f"{label}: {_plain(step)}", advance=1)


@contextmanager
def counting(label: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr; gives a function that is told how many are done, and how many there are."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TimeRemainingColumn())  # fmt: skip
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, wanted: bar.update(task, completed=done, total=wanted)
