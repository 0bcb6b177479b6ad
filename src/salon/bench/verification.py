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
from salon.store import is_inside
from salon.study import Noun

Kind = Literal["suite", "board", "bundle"]
Recompute = Callable[[Suite, Entry, pa.Table, pa.Table], EntryResult]


class VerifyCheck(Noun):
    """One thing that was looked at."""

    where: str = Field(description="The suite, or the entry.")
    what: str = Field(description="What was checked.")
    holds: bool = Field(description="Whether it is as it says.")
    told: str = Field(description="What was found.")


class VerifyReport(Noun):
    """Everything that was looked at."""

    format: Literal["salon.verify/1"] = Field(default="salon.verify/1", description="Name and version of this form.")
    place: str = Field(description="What was looked at.")
    kind: Kind = Field(description="What it is.")
    checks: tuple[VerifyCheck, ...] = Field(description="Everything that was checked.")
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
    results = tuple(checks)
    return VerifyReport(place=place, kind=kind, checks=results, holds=all(check.holds for check in results))


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
    detail = "" if error.found is None else f"; found {error.found}"
    return VerifyCheck(where=where, what=what, holds=False, told=f"{error.needed}{detail}")


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
        message = (
            f"{len(board.unfinished):,} folders without an entry.json, not on the board: {first_few(board.unfinished)}"
        )
        yield VerifyCheck(where="board", what="unfinished", holds=True, told=message)


def _entry_checks(board: Board, entry: Entry, recompute: Recompute) -> Iterator[VerifyCheck]:
    folder = board.folder / ENTRIES / folder_name(entry.name)
    faults = list(_picture_faults(board.suite, entry, folder))
    there = sum(picture.image is not None for picture in entry.pictures)
    message = f"{there:,} of {len(required_keys(board.suite)):,} there, hashes as recorded"
    picture_check = VerifyCheck(
        where=entry.name, what="pictures", holds=not faults, told=first_few(faults) if faults else message
    )
    yield picture_check
    try:
        yield from _result_checks(board.suite, entry, folder, recompute)
    except SalonError as error:
        yield _failed(entry.name, "result", error)


def _picture_faults(suite: Suite, entry: Entry, folder: Path) -> Iterator[str]:
    listed = [(picture.prompt, picture.seed) for picture in entry.pictures]
    if sorted(listed) != sorted(required_keys(suite)):
        yield f"{len(set(listed)):,} prompts and seeds are listed, the suite asks for {len(required_keys(suite)):,}"
    if len({picture.item for picture in entry.pictures}) < len(entry.pictures):
        yield "two pictures are one item, and share its answers"
    for picture in entry.pictures:
        if picture.image is None:
            continue
        path = folder / picture.image
        if not is_inside(path, folder):
            yield f"{picture.image}: outside the entry's folder"
            continue
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"
        if digest != picture.sha256:
            yield f"{picture.image}: expected {(picture.sha256 or 'none')[:16]}, found {digest[:16]}"
        elif suite.card.size not in (None, f"{picture.width}x{picture.height}"):
            yield f"{picture.image}: {picture.width}x{picture.height}, the suite asks for {suite.card.size}"


def _result_checks(suite: Suite, entry: Entry, folder: Path, recompute: Recompute) -> Iterator[VerifyCheck]:
    result, published = read_result(folder), read_published(folder)
    retracted = f"; retracted: {entry.retracted.reason}" if entry.retracted else ""
    if result is None or published is None:
        message = "no result yet" if result is None else f"{result.status}, not published"
        lost = published is not None
        yield VerifyCheck(
            where=entry.name, what="result", holds=not lost, told="result.json is gone" if lost else message
        )
        return
    now = current_hashes(folder, result)
    same = now == published
    message = f"hash {published.result[:16]}{retracted}" if same else _moved(published, now)
    yield VerifyCheck(where=entry.name, what="published result", holds=same, told=message)
    again = recompute(suite, entry, read_answers(folder), read_logits(folder))
    digest = result_hash(again)
    message = "the same numbers" if digest == published.result else f"hash {digest[:16]}: {_different(result, again)}"
    yield VerifyCheck(where=entry.name, what="computed again", holds=digest == published.result, told=message)


def _moved(published: PublicationRecord, now: PublicationRecord) -> str:
    if now.model_copy(update={"result": published.result}) == published:
        return f"result.json was changed: expected {published.result[:16]}, found {now.result[:16]}"
    return "; ".join(changed_parts(published, now))


def _different(before_result: EntryResult, after_result: EntryResult) -> str:
    axes = [
        f"{name} {before.figure.value:.2f} became {after.figure.value:.2f}"
        for name in ("capability", "points", "overall")
        if (before := getattr(before_result, name)) and (after := getattr(after_result, name)) and before != after
    ]
    axes += [
        f"{name} {before_result.eps[name].figure.value:.2f} became {after_result.eps[name].figure.value:.2f}"
        for name in before_result.eps.keys() & after_result.eps.keys()
        if before_result.eps[name] != after_result.eps[name]
    ]
    return ", ".join(axes) or "the axes are the same, their parts are not"


# -- bundles -------------------------------------------------------------------------------------------------------


def _bundle_checks(path: Path, suite_name: str | None) -> Iterator[VerifyCheck]:
    where = path.name
    try:
        card = bundle_card(path)
    except SalonError as error:
        yield _failed(where, "bundle", error)
        return
    suite = open_suite(suite_name) if suite_name else _suite_for(card)
    about = f"{suite.card.name}/{suite.card.version}, prompts {card.suite[:16]}"
    yield VerifyCheck(where=where, what="suite", holds=card.suite == prompts_hash(suite), told=about)
    try:
        with open_submission(path, suite) as submission:
            there = len(submission.entry.pictures) - submission.missing
            message = f"{there:,} of {len(submission.entry.pictures):,} there, each as promised"
            message += f"; {submission.missing:,} missing count as failures" if submission.missing else ""
            yield VerifyCheck(where=where, what="pictures", holds=True, told=message)
            yield VerifyCheck(where=where, what="licence", holds=True, told=submission.entry.licence)
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
