"""salon bench freeze: lock a suite, with a reference from a field of entries where it measures preference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from salon.bench.board import Board, open_board
from salon.bench.builtin import builtin_suites
from salon.bench.freeze import check_field, field_reference, with_reference
from salon.bench.suite import Suite
from salon.bench.suite_checks import check_suite
from salon.bench.suite_folder import is_suite, lock, open_suite, save_suite
from salon.cli.console import json_option, print_json, print_table, say
from salon.errors import BadFile, BadValue
from salon.judge.scorers.table import TableScorer


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
    """Lock the files of SUITE: from now on any change of what they say is refused, with both hashes.

    With --field the scores of a board's entries make the reference that EPS compares with, once and for all. A suite
    without one has Capability alone.

    \b
      salon bench freeze ours
      salon bench freeze posters --field board -o posters-frozen
      salon bench freeze ours --field board --scorer eps=table:hpsv3.csv     logits that were made elsewhere
    """
    if scorers and field is None:
        raise BadValue(
            "tables of logits need the field whose pictures they score", found="no --field", where="--scorer"
        )
    reference = None if field is None else field_reference(_field(field, suite), note, _tables(scorers))
    if output is None:
        frozen = lock(_own(suite), reference)
    else:
        opened = open_suite(suite)
        made = opened if reference is None else with_reference(opened, reference)
        check_suite(made, where=suite)
        frozen = save_suite(replace(made, frozen=True), output)
    _tell(frozen, output or Path(suite), as_json)


def _field(place: Path, suite: str) -> Board:
    """The board of the field, which must have answered the suite's prompts."""
    board, known = open_board(place), open_suite(suite)
    check_field(board, known)
    return board


def _tables(texts: Sequence[str]) -> dict[str, TableScorer]:
    """COLUMN=table:FILE, each column once."""
    found: dict[str, TableScorer] = {}
    for text in texts:
        column, _, name = text.partition("=")
        kind, _, file = name.partition(":")
        if not column or kind != "table" or not file or column in found:
            raise BadValue(
                "a table as COLUMN=table:FILE is needed, one a column", found=repr(text), where="--scorer",
                remedy="other scorers run on the pictures: salon bench run BOARD --scorer COLUMN=NAME",
            )  # fmt: skip
        found[column] = TableScorer(Path(file))
    return found


def _own(suite: str) -> Path:
    if not is_suite(Path(suite)):
        known = suite in builtin_suites()
        raise BadFile(
            "the folder of a suite is needed to freeze it in its place",
            found=f"the built-in suite {suite!r}, which stays as it is" if known else "no suite.toml there",
            where=suite,
            remedy="add -o FOLDER" if known else "salon bench new makes one",
        )
    return Path(suite)


def _tell(frozen: Suite, target: Path, as_json: bool) -> None:
    if as_json:
        print_json({"suite": str(target), "hash": frozen.hash, "files": frozen.hashes})
        return
    say(f"{target}: {frozen.card.name}/{frozen.card.version} is frozen as {frozen.hash}", bold=True)
    print_table(None, ("file", "hash"), [(name, hash[:16]) for name, hash in frozen.hashes.items()], left=(0, 1))
    if frozen.reference is not None:
        names = ", ".join(one.name for one in frozen.reference.field)
        say(f"reference: the median of {len(frozen.reference.field):,} entries ({names})")
    elif frozen.card.preferences:
        say("no reference: entries have Capability, and no EPS, until a suite is frozen with --field BOARD")
