"""`salon bench list`, `new`, `hide`, `verify`, `freeze` and `diff`: suites, and what changed between boards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from salon.cli.console import count, json_option, print_json, print_table, say, spinner
from salon.errors import BadFile, BadValue

if TYPE_CHECKING:
    from salon.bench import AxisMove, Board, BoardDiff, BoardSide, Suite, What
    from salon.judge import TableScorer
    from salon.stats import Estimate

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
    from salon.bench import MEASURED, builtin_suites, is_board, open_board, open_suite, suite_roles

    if place is None:
        _show("suites", [_suite_row(open_suite(name)) for name in builtin_suites()], as_json, left=("hash", "about"))
    elif is_board(Path(place)):
        board = open_board(Path(place))
        card = board.suite.card
        board_title = (
            f"{board.name}: {len(board.entries):,} entries of {card.name}/{card.version} ({board.card.suite[:16]})"
        )
        _show("entries", _entry_rows(board), as_json, left=("status", "licence", "by"), title=board_title)
    else:
        suite = open_suite(place)
        roles = {name: len(points) for name, points in suite_roles(suite).items()}
        more = {"judges": roles, "oracle": suite.card.oracle}
        state = "frozen" if suite.frozen else "not frozen"
        title = f"{suite.card.title} ({suite.card.name}/{suite.card.version}, {state}, {suite.hash[:16]})"
        private = f", {len(suite.private):,} of them private" if suite.private else ""
        suite_title = f"{title}: {len(suite.prompts):,} prompts{private}"
        prompts = Counter(row.tag for row in suite.prompts)
        tags = {row.prompt.id: row.tag for row in suite.prompts}
        points_by_tag = Counter(tags[point.prompt] for point in suite.points if point.prompt in tags)
        tag_rows = [
            {
                "tag": row.id,
                "prompts": prompts[row.id],
                "points": points_by_tag[row.id],
                "eps": row.eps,
                "group": row.group,
                "name": row.name,
            }
            for row in suite.tags
        ]
        _show("tags", tag_rows, as_json, left=("group", "name"), title=suite_title, more=more)
        if not as_json:
            for name, points in roles.items():
                kind = "oracle, beside the board" if name == suite.card.oracle else "judge"
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


def _entry_rows(board: Board) -> list[dict[str, Any]]:
    return [
        {
            "entry": entry.name,
            "pictures": sum(picture.image is not None for picture in entry.pictures),
            "missing": sum(picture.image is None for picture in entry.pictures),
            "status": f"retracted: {entry.retracted.reason}" if entry.retracted else _status(board, entry.name),
            "licence": entry.licence,
            "by": entry.by,
        }
        for entry in board.entries
    ]


def _status(board: Board, name: str) -> str:
    from salon.bench import entry_folder, read_published, read_result

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

    Prompts from a study or a file get a tag from their category and one point each. Replace it by points that can be
    judged from the picture. A copy of a suite has everything but its reference.

    \b
      salon bench new our-style
      salon bench new ours --from broad
      salon bench new ours --from prompts.csv
    """
    from salon.bench import write_draft

    draft, prompt_count = _draft(source, folder.resolve().name)
    suite = write_draft(draft, folder)
    again = prompt_count - len(suite.prompts)
    if as_json:
        print_json({"folder": str(folder), **_suite_row(suite), "left_out": again})
        return
    sizes = ((suite.prompts, "prompt"), (suite.tags, "tag"), (suite.points, "point"))
    say(f"{folder}: {', '.join(count(len(some), noun) for some, noun in sizes)}", bold=True)
    if again:
        say(f"{again:,} of {prompt_count:,} prompts read as another one does: each text is taken once", fg="yellow")
    say("next: edit its files, then salon bench verify, and salon bench freeze once nothing is to change", dim=True)


def _draft(source: str | None, name: str) -> tuple[Suite, int]:
    """The draft, and how many prompts it was made from."""
    from salon.bench import builtin_suites, copy_suite, example_suite, is_suite, open_suite, suite_from_prompts
    from salon.generate import read_prompts

    if source is not None and source not in builtin_suites() and not is_suite(Path(source)):
        prompts = read_prompts(source)
        return suite_from_prompts(prompts, name), len(prompts)
    draft = example_suite(name) if source is None else copy_suite(open_suite(source), name)
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

    Do it before anybody sees the suite. To run the suite, name the file with --private. Nothing that is published holds
    these texts, or pictures made from them.

    \b
      salon bench hide ours red-kite -o ours.private.jsonl
    """
    from salon.bench import hide_prompts

    hidden = hide_prompts(suite, prompts, output)
    if as_json:
        print_json({"suite": str(suite), "private": sorted(hidden.private), "texts": str(output)})
        return
    say(f"{len(set(prompts)):,} prompts of {suite} are private now, {len(hidden.private):,} in all", bold=True)
    say(f"their texts and points are only in {output}: keep it, and keep it to yourself")


# -- verify --------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("place")
@click.option("--suite", metavar="SUITE", help="The suite of a bundle, where it is no built-in one.")
@json_option
def verify(place: str, suite: str | None, as_json: bool) -> None:
    """Is PLACE, a suite, a board or a bundle, what it says it is?

    Every file is compared with its hash, every picture with its entry, and every published number is computed again.
    Exit code 0 when all agree, 1 when something differs.

    \b
      salon bench verify posters
      salon bench verify board
      salon bench verify flux.salon.zip --suite ours
    """
    from salon.bench import entry_result, verify as verified

    with spinner("verifying"):
        report = verified(place, entry_result, suite=suite)
    if as_json:
        print_json(report)
    else:
        wrong = sum(not check.holds for check in report.checks)
        answer = "everything holds" if report.holds else f"{wrong:,} of {len(report.checks):,} checks fail"
        say(f"{report.place}, a {report.kind}: {answer}", bold=True, fg="green" if report.holds else "red")
        rows = [(check.where, check.what, "yes" if check.holds else "NO", check.told) for check in report.checks]
        print_table(None, ("of", "checked", "holds", "found"), rows, left=(0, 1, 2, 3))
    if not report.holds:
        click.get_current_context().exit(1)


# -- freeze ---------------------------------------------------------------------------------------------------------


@click.command()
@click.argument("suite")
@click.option(
    "--field", metavar="BOARD", type=click.Path(path_type=Path),
    help="Board of the baseline field: its median logit of every prompt becomes the reference of EPS.",
)  # fmt: skip
@click.option(
    "--scorer", "scorers", multiple=True, metavar="COLUMN=table:FILE",
    help="With --field: logits of a column that were made elsewhere, for the pictures of the field (repeatable).",
)  # fmt: skip
@click.option("--note", default="", help="What the scorer is, in one sentence  [default: what its card says]")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write the frozen suite here, and leave SUITE be."
)
@json_option
def freeze(
    suite: str, field: Path | None, scorers: Sequence[str], note: str, output: Path | None, as_json: bool
) -> None:
    """Lock the files of SUITE: later changes are refused, with both hashes.

    With --field the scores of a board's entries become the reference for EPS, which never changes. A suite without a
    reference has Capability alone.

    \b
      salon bench freeze ours
      salon bench freeze posters --field board -o posters-frozen
      salon bench freeze ours --field board --scorer eps=table:hpsv3.csv     logits that were made elsewhere
    """
    from salon.bench import (
        builtin_suites,
        check_suite,
        field_reference,
        is_suite,
        lock_suite,
        open_suite,
        save_suite,
        with_reference,
    )

    if scorers and field is None:
        raise BadValue(
            "tables of logits need the field whose pictures they score", found="no --field", where="--scorer"
        )
    reference = None if field is None else field_reference(_field(field, suite), note, _score_tables(scorers))
    if output is None:
        if not is_suite(Path(suite)):
            is_builtin = suite in builtin_suites()
            raise BadFile(
                "the folder of a suite is needed to freeze it in its place",
                found=f"the built-in suite {suite!r}, which stays as it is" if is_builtin else "no suite.toml there",
                where=suite,
                remedy="add -o FOLDER" if is_builtin else "salon bench new makes one",
            )
        frozen = lock_suite(Path(suite), reference)
    else:
        opened = open_suite(suite)
        complete = opened if reference is None else with_reference(opened, reference)
        check_suite(complete, where=suite)
        frozen = save_suite(replace(complete, frozen=True), output)
    target = output or Path(suite)
    if as_json:
        print_json({"suite": str(target), "hash": frozen.hash, "files": frozen.hashes})
        return
    say(f"{target}: {frozen.card.name}/{frozen.card.version} is frozen as {frozen.hash}", bold=True)
    print_table(None, ("file", "hash"), [(name, hash[:16]) for name, hash in frozen.hashes.items()], left=(0, 1))
    if frozen.reference is not None:
        names = ", ".join(entry.name for entry in frozen.reference.field)
        say(f"reference: the median of {len(frozen.reference.field):,} entries ({names})")
    elif frozen.card.preferences:
        say("no reference: entries have Capability, and no EPS, until a suite is frozen with --field BOARD")


def _field(place: Path, suite: str) -> Board:
    """The board of the field, which must have answered the suite's prompts."""
    from salon.bench import check_field, open_board, open_suite

    board, whole_suite = open_board(place), open_suite(suite)
    check_field(board, whole_suite)
    return board


def _score_tables(texts: Sequence[str]) -> dict[str, TableScorer]:
    """COLUMN=table:FILE, each column once."""
    from salon.judge import TableScorer

    scorers: dict[str, TableScorer] = {}
    for text in texts:
        column, _, name = text.partition("=")
        kind, _, file = name.partition(":")
        if not column or kind != "table" or not file or column in scorers:
            raise BadValue(
                "a table as COLUMN=table:FILE is needed, one a column", found=repr(text), where="--scorer",
                remedy="other scorers run on the pictures: salon bench run BOARD --scorer COLUMN=NAME",
            )  # fmt: skip
        scorers[column] = TableScorer(Path(file))
    return scorers


# -- diff -----------------------------------------------------------------------------------------------------------

MOST_PROMPTS = 5
"""Prompts printed of each axis that moved; all of them are in --json."""
UNCHANGED_WORDS: dict[What, str] = {
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
    """What changed from board BEFORE to board AFTER, by how much, and why; or what differs between two suites.

    The change of every axis is split by prompt and by cause: the picture, the answers of a judge, the prompt, a point,
    a route, the scorer, the reference, or a rule. Unchanged entries are reported as bit-identical.

    \b
      salon bench diff board-june board-july
      salon bench diff suites/posters-1 posters
    """
    from salon.bench import board_diff

    board_changes = board_diff(_side(before), _side(after))
    if as_json:
        print_json(board_changes)
        return
    _print_suites(board_changes)
    for what, words in UNCHANGED_WORDS.items():
        if names := board_changes.named(what):
            say(f"{len(names):,} {'entry' if len(names) == 1 else 'entries'} {words}: {', '.join(names)}")
    for entry in board_changes.entries:
        if entry.before != entry.after and entry.before and entry.after:
            why = f": {entry.retracted}" if entry.retracted else ""
            say(f"{entry.entry}: {entry.before} before, {entry.after} now{why}", fg="yellow")
        if entry.what == "moved":
            say(f"{entry.entry} moved", bold=True)
            rows = [
                (move.axis, _figure(move.before), _figure(move.after), _signed(move.change), _causes(move))
                for move in entry.axes
                if move.before != move.after or move.prompts
            ]
            print_table(None, ("axis", "before", "after", "change", "why"), rows, left=(0, 4))
            for move in entry.axes:
                for prompt in move.prompts[:MOST_PROMPTS]:
                    words = "; ".join(reason.told for reason in prompt.reasons)
                    say(f"  {move.axis}, {prompt.prompt}: {_signed(prompt.moved)}: {words}")
                if len(move.prompts) > MOST_PROMPTS:
                    say(f"  {move.axis}: and {len(move.prompts) - MOST_PROMPTS:,} more prompts (--json prints all)")


def _side(place: str) -> BoardSide:
    """A board with its entries, or a suite without any."""
    from salon.bench import BoardSide, builtin_suites, entry_folder, is_board, open_board, open_suite, read_result

    if not is_board(Path(place)):
        if Path(place).exists() or place in builtin_suites():
            suite = open_suite(place)
        else:
            raise BadFile("a board or a suite is needed", found="nothing there", where=place)
        return BoardSide(place, suite, {}, {})
    board = open_board(Path(place))
    results = {entry.name: read_result(entry_folder(board, entry.name)) for entry in board.entries}
    published = {name: result for name, result in results.items() if result is not None}
    return BoardSide(place, board.suite, {entry.name: entry for entry in board.entries}, published)


def _print_suites(board_changes: BoardDiff) -> None:
    before, after = (hash[:16] for hash in board_changes.suites)
    if before == after:
        say(f"the same suite, {before}", bold=True)
        return
    say(f"the suite {before} became {after}", bold=True)
    for reason in board_changes.suite:
        say(f"- {reason.cause}: {reason.told}")


def _causes(move: AxisMove) -> str:
    if not move.by_cause:
        return "its interval alone" if move.change == 0 else ""
    return ", ".join(f"{cause} {_signed(value)}" for cause, value in move.by_cause.items())


def _figure(figure: Estimate | None) -> str:
    from salon.report.numbers import fixed

    if figure is None:
        return "none"
    return f"{fixed(figure.value, 1)} [{fixed(figure.low, 1)}, {fixed(figure.high, 1)}]"


def _signed(value: float | None) -> str:
    from salon.report import MINUS
    from salon.report.numbers import fixed

    if value is None:
        return "not known"
    text = fixed(value, 2)
    return text if text.startswith(MINUS) else f"+{text}"
