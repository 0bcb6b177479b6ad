"""A suite at work: generators make its pictures, judges answer its points, scorers give logits, results are published.

Composes `generate`, `judge` and `bench`. Every step keeps what it has before the next begins, and does nothing twice:
whatever ends a run (an outage, a spent budget, Ctrl-C, kill -9), the same call goes on where it stopped. An entry whose
result is published is not touched again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from salon.bench.board import Board, check_new_name, entry_folder, folder_name, is_board, new_board, open_board
from salon.bench.entry import Entry
from salon.bench.entry_files import (
    read_answers,
    read_entry,
    read_logits,
    read_published,
    write_answers,
    write_logits,
    write_result,
)
from salon.bench.entry_pictures import OUTAGES, check_pictures, pictured, renew_entry
from salon.bench.freeze import carry_entries
from salon.bench.judging import Judge, check_same_judge, is_asked, judge_entry, role_answers, suite_roles
from salon.bench.result import entry_result
from salon.bench.results import EntryResult
from salon.bench.run_report import EntryRun, RoleRun, SuiteRun
from salon.bench.scoring import check_scorers, score_column
from salon.bench.suite import Suite
from salon.bench.suite_folder import prompts_hash
from salon.calls.errors import CallsStopped
from salon.errors import BadFile, BadValue
from salon.generate.run import generate_items
from salon.generate.settings import GenerateSettings
from salon.judge.run import JudgeRun
from salon.judge.scorers.table import TableScorer
from salon.judge.unread import UnreadLimits
from salon.judge.vlm import Vlm
from salon.models.kept import Kept
from salon.store.atomic import held
from salon.study import Generator, Scorer

Watch = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


@dataclass
class _Run:
    """What a run works with, and which judges had to stop."""

    board: Board
    suite: Suite
    judges: Mapping[str, Judge]
    scorers: Mapping[str, Scorer]
    watch: Watch
    kept: Kept | None
    as_is: bool
    unread: UnreadLimits
    stopped: dict[str, str] = field(default_factory=dict)


def run_suite(
    suite: Suite,
    folder: Path,
    generators: Sequence[Generator] = (),
    judges: Mapping[str, Judge] | None = None,
    scorers: Mapping[str, Scorer] | None = None,
    *,
    carry: Board | None = None,
    called: Mapping[str, str] | None = None,
    licence: str = "",
    by: str = "",
    as_is: bool = False,
    unread: UnreadLimits | None = None,
    kept: Kept | None = None,
    watch: Watch = lambda doing, done, wanted: None,
) -> SuiteRun:
    """Make an entry of each generator on the board in `folder`; without any, finish what is open on it.

    `judges` are those of the suite's routes and its oracle by name, `scorers` those of its columns of EPS. `carry` is
    a board whose entries are brought along first. `called` says how a generator was named by whoever runs it. `as_is`
    publishes entries although a generator's outage left pictures missing: they count as failures for good. A judge
    whose answers cannot be read more often than `unread` allows is stopped, and its entries stay provisional.
    """
    started = time.monotonic()
    _check_open(suite)
    check_scorers(suite, scorers or {})
    _check_judges(suite, judges or {})
    _check_different(generators)
    board = board_of(suite, folder)
    with _alone(board):
        if carry is not None:
            carry_entries(carry, board)
            board = open_board(folder)
        run = _Run(board, suite, judges or {}, scorers or {}, watch, kept, as_is, unread or UnreadLimits())
        _check_names(board, generators)
        terms = {"licence": licence, "by": by}
        done = [_generated(run, one, (called or {}).get(one.name, one.name), terms) for one in generators]
        if not generators or carry is not None:
            done += [_finished(run, one) for one in board.entries if one.name not in {entry.entry for entry in done}]
    return SuiteRun(
        board=str(folder),
        suite=f"{suite.card.name}/{suite.card.version}",
        suite_hash=suite.hash,
        entries=tuple(done),
        cost=_sum(judge.cost for entry in done for judge in entry.judges),
        stopped=run.stopped,
        seconds=round(time.monotonic() - started, 3),
    )


@contextmanager
def _alone(board: Board) -> Iterator[None]:
    """No other run works on the board meanwhile: it could write an older state of the answers over a newer one."""
    with ExitStack() as stack:
        try:
            stack.enter_context(held(board.folder))
        except BadFile:
            raise BadFile(
                "one run at a time may work on a board",
                found="another one at work",
                where=str(board.folder),
                remedy="wait until it is done; or stop it, and what it has is kept",
            ) from None
        yield


def board_of(suite: Suite, folder: Path) -> Board:
    """The board in `folder`, a new one where there is none; one of another suite is refused."""
    if not is_board(folder):
        return new_board(folder, suite)
    board = open_board(folder)
    if board.suite.hash != suite.hash:
        raise BadValue(
            f"a board of the suite {suite.card.name}/{suite.card.version} ({suite.hash[:16]}) is needed",
            found=f"one of {board.suite.card.name}/{board.suite.card.version} ({board.suite.hash[:16]})",
            where=str(folder),
            remedy="choose another -o: entries of two suites cannot be compared",
        )
    return board


def _check_judges(suite: Suite, judges: Mapping[str, Judge]) -> None:
    roles = suite_roles(suite)
    for name in judges:
        if name not in roles:
            raise BadValue(
                "a judge answers as one that the suite's routes name",
                found=repr(name),
                where=f"suite {suite.card.name!r}",
                remedy="one of " + ", ".join(roles),
            )


def _check_open(suite: Suite) -> None:
    if suite.closed:
        raise BadFile(
            f"the texts of {len(suite.closed):,} private prompts are needed to run the suite",
            found="their digests alone",
            where=f"suite {suite.card.name!r}",
            remedy="ask the suite's keeper for private.jsonl, and name it with --private",
        )


def _check_different(generators: Sequence[Generator]) -> None:
    again = [name for name, count in Counter(folder_name(one.name) for one in generators).items() if count > 1]
    if again:
        raise BadValue("every generator has a name of its own", found=f"{again[0]!r} twice", where="--generator",
                       remedy="leave one out, or give it another name: folder:NAME=PATH")  # fmt: skip


def _check_names(board: Board, generators: Sequence[Generator]) -> None:
    """A generator goes on with the entry it began, while that is not published; no other may take its name."""
    known = {folder_name(entry.name): entry for entry in board.entries}
    for generator in generators:
        entry = known.get(folder_name(generator.name))
        if entry is not None and (entry.name != generator.name or not entry.signature or entry.retracted):
            check_new_name(board, generator.name)
        if entry is None or entry.signature == str(generator.signature):
            continue
        if read_published(entry_folder(board, entry.name)) is not None:
            raise BadValue(
                f"the published entry {entry.name!r} stays what its generator made",
                found=f"another generator of that name: {generator.signature}",
                where=f"{entry.signature} made it",
                remedy="run it on a new board, or under another name",
            )


# -- one entry ---------------------------------------------------------------------------------------------------------


def _generated(run: _Run, generator: Generator, called: str, terms: Mapping[str, str]) -> EntryRun:
    folder = entry_folder(run.board, generator.name)
    if read_published(folder) is not None:
        return EntryRun(entry=generator.name, status="published", before=True)
    card = run.suite.card
    settings = GenerateSettings(seeds=card.images, seed=card.first_seed, size=card.size)
    report = generate_items(
        [one.prompt for one in run.suite.prompts], [generator], settings, folder,
        lambda now: run.watch(f"{generator.name}: pictures", now.done, now.wanted),
    )  # fmt: skip
    entry = Entry(
        name=generator.name,
        generator=called,
        signature=str(generator.signature),
        suite=prompts_hash(run.suite),
        pictures=pictured(run.suite, generator, folder),
        **terms,
    )
    renew_entry(folder, entry)
    return _finished(run, entry, made=report.made)


def _finished(run: _Run, entry: Entry, made: int = 0) -> EntryRun:
    """Everything that an entry still lacks: answers, scores, and its result."""
    folder = entry_folder(run.board, entry.name)
    entry = read_entry(folder)  # as it stands now: somebody may have retracted it since the run began
    if entry.retracted is not None:
        return EntryRun(entry=entry.name, status="retracted", before=True)
    if read_published(folder) is not None:
        return EntryRun(entry=entry.name, status="published", before=True)
    check_pictures(folder, entry)
    judged = [one for role in suite_roles(run.suite) if (one := _judged(run, entry, folder, role))]
    _score(run, entry, folder)
    missing = Counter((one.missing or "").partition(":")[0] for one in entry.pictures if one.image is None)
    result = entry_result(run.suite, entry, read_answers(folder), read_logits(folder))
    waits = not run.as_is and any(kind in OUTAGES for kind in missing)
    if waits:
        result = result.model_copy(update={"status": "provisional"})
    published = write_result(folder, result)
    return EntryRun(
        entry=entry.name,
        made=made,
        missing=dict(missing),
        judges=tuple(judged),
        status="published" if published else "provisional",
        open=() if published else tuple(_open(run, entry, folder, result, missing if waits else {})),
    )


def _score(run: _Run, entry: Entry, folder: Path) -> None:
    """The columns that an entry lacks, by the scorers that are there."""
    for column, scorer in run.scorers.items():
        if not _is_scored(entry, read_logits(folder), column, scorer):
            rows = score_column(run.suite, entry, folder, column, scorer, run.watch, run.kept)
            if not rows.num_rows and isinstance(scorer, TableScorer):
                continue  # a table of other entries takes nothing away from this one
            write_logits(folder, _with(read_logits(folder), "preference", column, rows))


def _is_scored(entry: Entry, logits: pa.Table, column: str, scorer: Scorer) -> bool:
    if isinstance(scorer, TableScorer):
        return False  # reading it again costs nothing, and its numbers may have been mended
    rows = zip(*(logits.column(name).to_pylist() for name in ("preference", "scorer", "item")))
    known = {item for named, by, item in rows if (named, by) == (column, str(scorer.signature))}
    return known >= {one.item for one in entry.pictures if one.image is not None}


def _judged(run: _Run, entry: Entry, folder: Path, role: str) -> RoleRun | None:
    """One judge's answers, kept; None where it is not there, had to stop, or has nothing left to say."""
    if role not in run.judges or role in run.stopped or not is_asked(role, run.suite, folder):
        return None
    points = suite_roles(run.suite)[role]
    if _given(folder, role) == _wanted(run.suite, entry, role):
        return None

    def check(vlm: Vlm) -> None:
        check_same_judge(role, vlm, _published(run.board))

    try:
        done = judge_entry(
            run.suite, entry, folder, role, run.judges[role],
            lambda now: run.watch(f"{entry.name}: {role}", now.done, now.wanted), check=check, unread=run.unread,
        )  # fmt: skip
    except CallsStopped as error:
        run.stopped[role] = "; ".join(str(part) for part in (error.needed, error.found, error.where) if part)
        return None
    if done is None:
        return None
    rows = role_answers(folder, role, entry, points)
    write_answers(folder, _with(read_answers(folder), "judge", role, rows))
    return _role_run(role, done, rows)


def _published(board: Board) -> dict[str, Path]:
    """The folders of published entries, those published in this run too."""
    places = {one.name: entry_folder(board, one.name) for one in open_board(board.folder).entries if not one.retracted}
    return {name: folder for name, folder in places.items() if read_published(folder) is not None}


def _role_run(role: str, done: JudgeRun, rows: pa.Table) -> RoleRun:
    return RoleRun(
        role=role,
        questions=done.questions,
        stored=done.stored,
        unread=pc.sum(pc.equal(rows.column("said"), "unread")).as_py() or 0,
        failed=done.failed,
        cost=done.cost,
        signature=done.signature,
    )


def _with(table: pa.Table, column: str, name: str, rows: pa.Table) -> pa.Table:
    """`table` with the rows of one judge or column replaced."""
    rest = table.filter(pc.not_equal(table.column(column), name))
    return pa.concat_tables([rest, rows.cast(table.schema)]).combine_chunks()


# -- what is open ------------------------------------------------------------------------------------------------------


def _open(run: _Run, entry: Entry, folder: Path, result: EntryResult, missing: Mapping[str, int]) -> Iterable[str]:
    waiting = {kind: count for kind, count in missing.items() if kind in OUTAGES}
    if waiting:
        told = ", ".join(f"{count:,} {kind}" for kind, count in waiting.items())
        yield f"pictures are missing ({told}): run again, or --as-is counts them as failures"
    for role in (name for name in suite_roles(run.suite) if name != run.suite.card.oracle):
        lacks = _wanted(run.suite, entry, role) - _given(folder, role)
        if lacks:
            yield f"{lacks:,} answers of {role} are open: {_why_open(run, role)}"
    for column, axis in result.eps.items():
        if axis.coverage.open:
            why = "run again" if column in run.scorers else f"name its scorer with --scorer {column}=NAME"
            yield f"{axis.coverage.open:,} scores of {column} are open: {why}"


def _given(folder: Path, role: str) -> int:
    return int(read_answers(folder).column("judge").to_pylist().count(role))


def _wanted(suite: Suite, entry: Entry, role: str) -> int:
    """Answers that a judge of the routes is to give about the pictures that are there."""
    pictures = Counter(one.prompt for one in entry.pictures if one.image is not None)
    points = suite_roles(suite)[role]
    return sum(pictures.total() if point.prompt is None else pictures[point.prompt] for point in points)


def _why_open(run: _Run, role: str) -> str:
    if role in run.stopped:
        return run.stopped[role]
    return "run again" if role in run.judges else f"name the judge with --judge {role}=KIND:NAME"


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
