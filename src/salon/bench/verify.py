"""Whether a suite, a board or a bundle is what it says: every hash, every count, every published number.

Published numbers are computed again from the pictures, answers and scores in the folder; they must come out the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal

import pyarrow as pa
from pydantic import Field

from salon.bench.board import ENTRIES, SUITE, Board, folder_name, is_board, open_board
from salon.bench.bundle import bundle_card, is_bundle, open_submission
from salon.bench.entry import Entry, EntryResult
from salon.bench.entry_files import (
    PublicationRecord,
    changed_parts,
    current_hashes,
    read_answers,
    read_logits,
    read_published,
    read_result,
    result_hash,
)
from salon.bench.submission import first_few, required_keys
from salon.bench.suite import Suite, suite_faults
from salon.bench.suite_folder import builtin_suites, is_suite, open_suite, prompts_hash, read_suite, suite_folder
from salon.errors import BadFile, SalonError
from salon.store.pictures import is_inside
from salon.study.nouns import Noun

Kind = Literal["suite", "board", "bundle"]
Recompute = Callable[[Suite, Entry, pa.Table, pa.Table], EntryResult]


class VerifyCheck(Noun):
    """One thing that was looked at."""

    where: str = Field(description="The suite, or the entry.")
    what: str
    holds: bool
    told: str = Field(description="What was found.")


class VerifyReport(Noun):
    """Everything that was looked at."""

    format: Literal["salon.verify/1"] = "salon.verify/1"
    place: str
    kind: Kind
    checks: tuple[VerifyCheck, ...]
    holds: bool = Field(description="Whether everything is what it says.")


def verify(place: str, recompute: Recompute, *, suite: str | None = None) -> VerifyReport:
    """Look at everything in `place`. `suite` names the suite of a bundle that is for none of the built-in ones."""
    path = Path(place)
    if is_bundle(path):
        return _report(place, "bundle", _bundle_checks(path, suite))
    if is_board(path):
        return _report(place, "board", _board_checks(path, recompute))
    if path.exists() and not is_suite(path):
        raise BadFile(
            "a suite, a board or a bundle is needed",
            found="a folder without a suite.toml or a board.json" if path.is_dir() else "a file that is no bundle",
            where=place,
        )
    return _report(place, "suite", _suite_checks(suite_folder(place), place))


def _report(place: str, kind: Kind, checks: Iterable[VerifyCheck]) -> VerifyReport:
    found = tuple(checks)
    return VerifyReport(place=place, kind=kind, checks=found, holds=all(check.holds for check in found))


# -- suites --------------------------------------------------------------------------------------------------------


def _suite_checks(folder: Path, where: str) -> Iterator[VerifyCheck]:
    try:
        suite = read_suite(folder)
    except SalonError as error:
        yield _failed(where, "files", error)
        return
    state = f"hash {suite.hash[:16]}, " + ("as locked" if suite.frozen else "not frozen yet")
    yield VerifyCheck(where=where, what="files", holds=True, told=state)
    faults = suite_faults(suite)
    counts = f"{len(suite.prompts):,} prompts, {len(suite.tags):,} tags, {len(suite.points):,} points"
    if suite.private:
        counts += f", {len(suite.private):,} prompts private"
    yield VerifyCheck(
        where=where, what="parts fit each other", holds=not faults, told=counts if not faults else "see below"
    )
    for fault in faults:
        yield VerifyCheck(where=where, what=fault.needed, holds=False, told=str(fault))
    if suite.reference is not None:
        field = f"a field of {len(suite.reference.field):,} entries"
        fits = suite.reference.prompts == prompts_hash(suite)
        yield VerifyCheck(where=where, what="reference", holds=fits, told=f"{field}, for the prompts "
                    f"{suite.reference.prompts[:16]}")  # fmt: skip


def _failed(where: str, what: str, error: SalonError) -> VerifyCheck:
    found = "" if error.found is None else f"; found {error.found}"
    return VerifyCheck(where=where, what=what, holds=False, told=f"{error.needed}{found}")


# -- boards --------------------------------------------------------------------------------------------------------


def _board_checks(path: Path, recompute: Recompute) -> Iterator[VerifyCheck]:
    yield from _suite_checks(path / SUITE, "suite")
    try:
        board = open_board(path)
    except SalonError as error:
        yield _failed("board", "board", error)
        return
    yield VerifyCheck(
        where="board", what="suite", holds=True, told=f"the one it was made with, {board.card.suite[:16]}"
    )
    for entry in board.entries:
        yield from _entry_checks(board, entry, recompute)
    if board.unfinished:
        told = (
            f"{len(board.unfinished):,} folders without an entry.json, not on the board: {first_few(board.unfinished)}"
        )
        yield VerifyCheck(where="board", what="unfinished", holds=True, told=told)


def _entry_checks(board: Board, entry: Entry, recompute: Recompute) -> Iterator[VerifyCheck]:
    folder = board.folder / ENTRIES / folder_name(entry.name)
    yield _picture_check(board.suite, entry, folder)
    try:
        yield from _result_checks(board.suite, entry, folder, recompute)
    except SalonError as error:
        yield _failed(entry.name, "result", error)


def _picture_check(suite: Suite, entry: Entry, folder: Path) -> VerifyCheck:
    faults = list(_picture_faults(suite, entry, folder))
    there = sum(one.image is not None for one in entry.pictures)
    told = f"{there:,} of {len(required_keys(suite)):,} there, hashes as recorded"
    return VerifyCheck(where=entry.name, what="pictures", holds=not faults, told=first_few(faults) if faults else told)


def _picture_faults(suite: Suite, entry: Entry, folder: Path) -> Iterator[str]:
    listed = [(one.prompt, one.seed) for one in entry.pictures]
    if sorted(listed) != sorted(required_keys(suite)):
        yield f"{len(set(listed)):,} prompts and seeds are listed, the suite asks for {len(required_keys(suite)):,}"
    if len({one.item for one in entry.pictures}) < len(entry.pictures):
        yield "two pictures are one item, and share its answers"
    for one in entry.pictures:
        if one.image is None:
            continue
        path = folder / one.image
        if not is_inside(path, folder):
            yield f"{one.image}: outside the entry's folder"
            continue
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"
        if found != one.sha256:
            yield f"{one.image}: expected {(one.sha256 or 'none')[:16]}, found {found[:16]}"
        elif suite.card.size not in (None, f"{one.width}x{one.height}"):
            yield f"{one.image}: {one.width}x{one.height}, the suite asks for {suite.card.size}"


def _result_checks(suite: Suite, entry: Entry, folder: Path, recompute: Recompute) -> Iterator[VerifyCheck]:
    result, published = read_result(folder), read_published(folder)
    retracted = f"; retracted: {entry.retracted.reason}" if entry.retracted else ""
    if result is None or published is None:
        told = "no result yet" if result is None else f"{result.status}, not published"
        lost = published is not None
        yield VerifyCheck(where=entry.name, what="result", holds=not lost, told="result.json is gone" if lost else told)
        return
    now = current_hashes(folder, result)
    same = now == published
    told = f"hash {published.result[:16]}{retracted}" if same else _moved(published, now)
    yield VerifyCheck(where=entry.name, what="published result", holds=same, told=told)
    again = recompute(suite, entry, read_answers(folder), read_logits(folder))
    found = result_hash(again)
    told = "the same numbers" if found == published.result else f"hash {found[:16]}: {_different(result, again)}"
    yield VerifyCheck(where=entry.name, what="computed again", holds=found == published.result, told=told)


def _moved(published: PublicationRecord, now: PublicationRecord) -> str:
    if now.model_copy(update={"result": published.result}) == published:
        return f"result.json was changed: expected {published.result[:16]}, found {now.result[:16]}"
    return "; ".join(changed_parts(published, now))


def _different(one: EntryResult, other: EntryResult) -> str:
    axes = [
        f"{name} {before.figure.value:.2f} became {after.figure.value:.2f}"
        for name in ("capability", "points", "overall")
        if (before := getattr(one, name)) and (after := getattr(other, name)) and before != after
    ]
    axes += [
        f"{name} {one.eps[name].figure.value:.2f} became {other.eps[name].figure.value:.2f}"
        for name in one.eps.keys() & other.eps.keys()
        if one.eps[name] != other.eps[name]
    ]
    return ", ".join(axes) or "the axes are the same, their parts are not"


# -- bundles -------------------------------------------------------------------------------------------------------


def _bundle_checks(path: Path, named: str | None) -> Iterator[VerifyCheck]:
    where = path.name
    try:
        card = bundle_card(path)
    except SalonError as error:
        yield _failed(where, "bundle", error)
        return
    suite = open_suite(named) if named else _suite_for(card)
    about = f"{suite.card.name}/{suite.card.version}, prompts {card.suite[:16]}"
    yield VerifyCheck(where=where, what="suite", holds=card.suite == prompts_hash(suite), told=about)
    try:
        with open_submission(path, suite) as brought:
            there = len(brought.entry.pictures) - brought.missing
            told = f"{there:,} of {len(brought.entry.pictures):,} there, each as promised"
            told += f"; {brought.missing:,} missing count as failures" if brought.missing else ""
            yield VerifyCheck(where=where, what="pictures", holds=True, told=told)
            yield VerifyCheck(where=where, what="licence", holds=True, told=brought.entry.licence)
    except SalonError as error:
        yield _failed(where, "pictures", error)


def _suite_for(card: Entry) -> Suite:
    for name in builtin_suites():
        suite = open_suite(name)
        if prompts_hash(suite) == card.suite:
            return suite
    raise BadFile(
        "the suite of the bundle is needed",
        found=f"no built-in suite has the prompts {card.suite[:16]}",
        remedy="name its folder with --suite",
    )
