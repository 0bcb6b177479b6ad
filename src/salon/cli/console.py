"""Output of commands: tables for people, JSON for machines, progress on stderr."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import click
from markupsafe import Markup
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

if TYPE_CHECKING:
    from salon.report import Table as ReportTable
    from salon.stats import Estimate

Cell: TypeAlias = "str | float | Estimate | None"
UNBOUNDED = 10_000
_TERMINAL_CONTROLS = re.compile(r"[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""Control characters and turns of the reading direction that JSON leaves as they are."""
_LEAST_WORDS_WIDTH = 24
"""Characters that a last column of words keeps, however wide the numbers before it."""
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of tables.")
seed_option = click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything drawn by chance.")


class _PagePath(click.Path):
    """A file that a page may be written to: refused before anything is computed for it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; BadFile where the page could not be written after."""
        from salon.report import page_target

        path = Path(str(super().convert(value, param, ctx)))
        page_target(path)
        return path


class _FigureFolderPath(click.Path):
    """A folder that figures may be written to: refused before anything is computed for it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The path; BadFile where figures could not be written after."""
        from salon.bench import figures_target

        return figures_target(Path(str(super().convert(value, param, ctx))))


figures_option = click.option(
    "--figures",
    type=_FigureFolderPath(path_type=Path),
    help="Write every chart of the report to this folder: SVG, PDF and PNG, 85 and 178 mm wide, and CSV.",
)


def html_option(help: str = "Write the report as one HTML file.") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The flags that ask for a page, and for its charts as files."""
    page = click.option("--html", type=_PagePath(path_type=Path, dir_okay=False), help=help)
    return lambda command: page(figures_option(command))


def write_page(make_page: Callable[[], Any], html: Path | None, figures: Path | None) -> None:
    """Make the page that `--html` or `--figures` asks for, and write what they ask for."""
    if html is None and figures is None:
        return
    page = make_page()
    if html is not None:
        page.write(html)
    if figures is not None:
        from salon.bench import write_figures

        say(write_figures(page.parts, figures).words, err=True)


def result_console() -> Console:
    """The console for results; wide when piped, so that rows never wrap in a log."""
    console = Console(highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, width=160)


def print_json(record: Any) -> None:
    """Print one JSON object, from a result or a mapping.

    NaN and infinity are never written. Characters that a terminal would obey are written as escapes.
    """
    if hasattr(record, "model_dump"):
        record = record.model_dump(mode="json")
    text = json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False)
    click.echo(_TERMINAL_CONTROLS.sub(lambda mark: f"\\u{ord(mark[0]):04x}", text))


def print_table(
    title: str | None, columns: Sequence[str], rows: Sequence[Sequence[Cell]], *, left: Sequence[int] = (0,)
) -> None:
    """Print a table whose first column (or those in `left`) is aligned left, the others right.

    A cell is text, a count, an estimate (written with its interval) or None (written as a dash).
    """
    from salon.report import cell_text

    text_rows = [[cell_text(cell) for cell in row] for row in rows]
    if title:
        say(title, bold=True)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, name in enumerate(columns):
        last = number == len(columns) - 1 and number in left
        table.add_column(
            _plain(name), justify="left" if number in left else "right", header_style="dim", no_wrap=not last
        )
    for row in text_rows:
        table.add_row(*map(_plain, row))
    console = result_console()
    if len(columns) - 1 in left:  # a last column of words may wrap inside its own column
        table.columns[-1].min_width = min(_LEAST_WORDS_WIDTH, max((len(row[-1]) for row in text_rows), default=0))
        needed = Console(width=UNBOUNDED).measure(table).minimum
    else:
        needed = Console(width=UNBOUNDED).measure(table).maximum
    console.width = max(needed, console.width)  # a narrow terminal wraps the line; a cut number would be lost
    console.print(table)


def print_report_table(table: ReportTable, title: str | None = None, *, ranges: Sequence[str] = ()) -> None:
    """Print a table of a page, under `title` or its own name; nothing where it has no rows.

    What stands under a number on the page follows it in brackets, as does the reason of a missing one. Columns in
    `ranges` hold ranges instead: the interval of a range follows it, other columns stay as they are.
    """
    from salon.report import Cell, format_value, lookup

    rows = []
    for row in table.rows:
        cells = []
        for column in table.columns:
            value = lookup(row, column.path)
            cell = value if isinstance(value, Cell) else Cell(value)
            text = format_value(cell.raw, column.kind, column.decimals)
            under = Markup(cell.under).striptags() or (cell.why if cell.raw is None else "")
            if ranges:
                interval, _, point = under.partition("; ")
                under = f"[{interval.removeprefix('interval ')}]" if point and column.path in ranges else ""
            elif under:
                under = f"({under})"
            cells.append(f"{text} {under}".strip())
        rows.append(cells)
    left = [i for i, column in enumerate(table.columns) if not column.numeric and column.path not in ranges]
    if rows:
        print_table(title or f"\n{table.name}", [column.header for column in table.columns], rows, left=left)


def count(n: int, singular: str, plural: str = "") -> str:
    """`1 prompt`, `2 prompts`."""
    return f"{n:,} {singular if n == 1 else plural or singular + 's'}"


def say(text: str, **style: Any) -> None:
    """A line for people, styled as click does; labels in it come from users' files and may hold anything."""
    click.secho(printable(text), **style)


def print_closing(
    policies: Iterable[str], signature: str, *, warnings: Iterable[str] = (), html: Path | None = None
) -> None:
    """How a report ends: what to beware of, by which policies, the line that reproduces it, and its page."""
    for words in warnings:
        say(f"warning: {words}", fg="yellow")
    for words in policies:
        say(f"- {words}", dim=True)
    say(signature, dim=True)
    if html is not None:
        say(f"wrote {html}")


def printable(text: str) -> str:
    """Text whose control characters do nothing to a terminal; lines stay lines, and joined emoji joined."""
    return "".join(c if c.isprintable() or c in "\n\u200d\u202f" else "�" for c in text)


def _plain(cell: str) -> str:
    """Labels come from users' files: brackets are text here, never markup, and control characters do nothing."""
    return printable(cell.replace("\n", " ")).replace("[", "\\[")


class ProgressCallback(Protocol):
    """Hears how many are done and how many there are, what else is known, and what is being done where that changes."""

    def __call__(self, completed: int, total: int | None, note: str = "", doing: str | None = None) -> None:
        """Show it."""


@contextmanager
def spinner(label: str) -> Iterator[Callable[[str], None]]:
    """A spinner on stderr, for work whose amount is not known. Gives a function that names the step being worked on."""
    with _live_progress(SpinnerColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn()) as bar:
        task = bar.add_task(label, total=None)
        yield lambda step: bar.update(task, description=f"{label}: {printable(step)}", advance=1)


@contextmanager
def progress_bar(label: str, *, quiet: bool = False) -> Iterator[ProgressCallback]:
    """A bar on stderr, for work that is counted."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
               TimeRemainingColumn(), TextColumn("{task.fields[told]}", markup=False))  # fmt: skip
    with _live_progress(*columns, quiet=quiet) as bar:
        task, now = bar.add_task(printable(label), total=None, told=""), label

        def tell(completed: int, total: int | None, note: str = "", doing: str | None = None) -> None:
            nonlocal now
            if doing is not None and doing != now:  # another count: its time begins anew
                now = doing
                bar.reset(task, description=printable(doing))
            bar.update(task, completed=completed, total=total, told=printable(note))

        yield tell


@contextmanager
def staged_progress_bar(label: str, *, quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """The same for work of several kinds: hears what is being done, how much of it is done, and of how much."""
    with progress_bar(label, quiet=quiet) as tell:
        yield lambda doing, completed, total: tell(completed, total, doing=doing)


@contextmanager
def _live_progress(*columns: ProgressColumn, quiet: bool = False) -> Iterator[Progress]:
    """Gone when done; silent when nobody watches."""
    console = Console(stderr=True)
    with Progress(*columns, console=console, transient=True, disable=quiet or not console.is_terminal) as bar:
        yield bar
