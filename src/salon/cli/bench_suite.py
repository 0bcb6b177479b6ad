"""The commands for suites: list, new, hide, verify."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from salon.bench.board import Board, entry_folder, is_board, open_board, read_published, read_result
from salon.bench.builtin import builtin_suites
from salon.bench.hiding import hide_prompts
from salon.bench.judge_roles import MEASURED
from salon.bench.judging import suite_roles
from salon.bench.new import copied, example, suite_of, write_draft
from salon.bench.result import entry_result
from salon.bench.suite import Suite
from salon.bench.suite_folder import is_suite, open_suite
from salon.bench.verify import VerifyReport
from salon.bench.verify import verify as verified
from salon.cli.console import count, json_option, print_json, print_table, say, working
from salon.generate.prompts import read_prompts

# -- list ----------------------------------------------------------------------------------------------------------


@click.command("list")
@click.argument("place", required=False)
@json_option
def list_(place: str | None, as_json: bool) -> None:
    """The suites that come with Salon, or what PLACE holds: a suite's tags and judges, a board's entries.

    \b
      salon bench list
      salon bench list broad
      salon bench list board
    """
    if place is None:
        _show("suites", [_suite_row(open_suite(name)) for name in builtin_suites()], as_json, left=("hash", "about"))
    elif is_board(Path(place)):
        board = open_board(Path(place))
        _show("entries", _entry_rows(board), as_json, left=("status", "licence", "by"), title=_board_title(board))
    else:
        suite = open_suite(place)
        roles = {name: len(points) for name, points in suite_roles(suite).items()}
        more = {"judges": roles, "oracle": suite.card.oracle}
        _show("tags", _tag_rows(suite), as_json, left=("group", "name"), title=_suite_title(suite), more=more)
        if not as_json:
            _say_judges(roles, suite.card.oracle)


def _say_judges(roles: Mapping[str, int], oracle: str | None) -> None:
    for name, points in roles.items():
        kind = "oracle, beside the board" if name == oracle else "judge"
        free = ", needs no --judge" if name in MEASURED else f", named with --judge {name}=KIND:NAME"
        say(f"{kind}: {name}, {points:,} points{free}")


def _show(
    kind: str,
    rows: Sequence[dict[str, Any]],
    as_json: bool,
    *,
    left: Sequence[str],
    title: str | None = None,
    more: Mapping[str, Any] | None = None,
) -> None:
    if as_json:
        print_json({kind: list(rows), **(more or {})})
        return
    if title:
        say(title, bold=True)
    columns = list(rows[0]) if rows else []
    cells = [[_cell(row[name]) for name in columns] for row in rows]
    print_table(None, columns, cells, left=[0, *(columns.index(name) for name in left if name in columns)])


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _suite_row(suite: Suite) -> dict[str, Any]:
    return {
        "suite": f"{suite.card.name}/{suite.card.version}",
        "prompts": len(suite.prompts),
        "tags": len(suite.tags),
        "points": len(suite.points),
        "images": suite.card.images,
        "frozen": suite.frozen,
        "hash": suite.hash[:16],
        "about": suite.card.title,
    }


def _suite_title(suite: Suite) -> str:
    state = "frozen" if suite.frozen else "not frozen"
    named = f"{suite.card.title} ({suite.card.name}/{suite.card.version}, {state}, {suite.hash[:16]})"
    private = f", {len(suite.private):,} of them private" if suite.private else ""
    return f"{named}: {len(suite.prompts):,} prompts{private}"


def _tag_rows(suite: Suite) -> list[dict[str, Any]]:
    prompts = Counter(one.tag for one in suite.prompts)
    tags = {one.prompt.id: one.tag for one in suite.prompts}
    points = Counter(tags[point.prompt] for point in suite.points if point.prompt in tags)
    return [
        {"tag": one.id, "prompts": prompts[one.id], "points": points[one.id], "eps": one.eps, "group": one.group,
         "name": one.name}
        for one in suite.tags
    ]  # fmt: skip


def _board_title(board: Board) -> str:
    card = board.suite.card
    return f"{board.name}: {len(board.entries):,} entries of {card.name}/{card.version} ({board.card.suite[:16]})"


def _entry_rows(board: Board) -> list[dict[str, Any]]:
    return [
        {
            "entry": one.name,
            "pictures": sum(picture.image is not None for picture in one.pictures),
            "missing": sum(picture.image is None for picture in one.pictures),
            "status": f"retracted: {one.retracted.reason}" if one.retracted else _status(board, one.name),
            "licence": one.licence,
            "by": one.by,
        }
        for one in board.entries
    ]


def _status(board: Board, name: str) -> str:
    folder = entry_folder(board, name)
    if read_published(folder) is not None:
        return "published"
    result = read_result(folder)
    return "not judged yet" if result is None else "provisional"


# -- new -----------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--from", "source", metavar="PLACE",
    help="A built-in suite, a suite folder, a study, or a file of prompts  [default: two example prompts]",
)  # fmt: skip
@json_option
def new(folder: Path, source: str | None, as_json: bool) -> None:
    """Start a suite of your own in FOLDER.

    Prompts from a study or a file get a tag from their category and one point each, to be replaced by points that can
    be told from the picture. A copy of a suite has everything but its reference.

    \b
      salon bench new house-style
      salon bench new ours --from broad
      salon bench new ours --from prompts.csv
    """
    draft, given = _draft(source, folder.resolve().name)
    suite = write_draft(draft, folder)
    again = given - len(suite.prompts)
    if as_json:
        print_json({"folder": str(folder), **_suite_row(suite), "left_out": again})
        return
    sizes = ((suite.prompts, "prompt"), (suite.tags, "tag"), (suite.points, "point"))
    say(f"{folder}: {', '.join(count(len(some), one) for some, one in sizes)}", bold=True)
    if again:
        say(f"{again:,} of {given:,} prompts read as another one does: each text is taken once", fg="yellow")
    say("next: edit its files, then salon bench verify, and salon bench freeze once nothing is to change", dim=True)


def _draft(source: str | None, name: str) -> tuple[Suite, int]:
    """The draft, and how many prompts it was made from."""
    if source is not None and source not in builtin_suites() and not is_suite(Path(source)):
        prompts = read_prompts(source)
        return suite_of(prompts, name), len(prompts)
    draft = example(name) if source is None else copied(open_suite(source), name)
    return draft, len(draft.prompts)


# -- hide ----------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("suite", type=click.Path(path_type=Path))
@click.argument("prompts", nargs=-1, required=True)
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False),
    help="The keeper's file for their texts; kept out of the suite's folder, and added to where it is there.",
)  # fmt: skip
@json_option
def hide(suite: Path, prompts: Sequence[str], output: Path, as_json: bool) -> None:
    """Make prompts of SUITE private, by their ids: the suite keeps a digest of each, OUTPUT the texts and the points.

    Do it before the suite is shown to anybody. Who runs the suite names the file with --private; nothing that is
    published holds these texts, or pictures made from them.

    \b
      salon bench hide ours red-kite -o ours.private.jsonl
    """
    made = hide_prompts(suite, prompts, output)
    if as_json:
        print_json({"suite": str(suite), "private": sorted(made.private), "texts": str(output)})
        return
    say(f"{len(set(prompts)):,} prompts of {suite} are private now, {len(made.private):,} in all", bold=True)
    say(f"their texts and points are only in {output}: keep it, and keep it to yourself")


# -- verify --------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("place")
@click.option("--suite", metavar="SUITE", help="The suite of a bundle, where it is no built-in one.")
@json_option
def verify(place: str, suite: str | None, as_json: bool) -> None:
    """Is PLACE, a suite, a board or a bundle, what it says it is?

    Every file is held against its hash, every picture against its entry, and every published number is computed again
    from the answers and scores on the board. Exit code 0 when everything holds, 1 when something does not.

    \b
      salon bench verify posters
      salon bench verify board
      salon bench verify flux.salon.zip --suite ours
    """
    with working("verifying"):
        report = verified(place, entry_result, suite=suite)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _print_checks(report)
    if not report.holds:
        click.get_current_context().exit(1)


def _print_checks(report: VerifyReport) -> None:
    wrong = sum(not check.holds for check in report.checks)
    answer = "everything holds" if report.holds else f"{wrong:,} of {len(report.checks):,} checks fail"
    say(f"{report.place}, a {report.kind}: {answer}", bold=True, fg="green" if report.holds else "red")
    rows = [(check.where, check.what, "yes" if check.holds else "NO", check.told) for check in report.checks]
    print_table(None, ("of", "checked", "holds", "found"), rows, left=(0, 1, 2, 3))
