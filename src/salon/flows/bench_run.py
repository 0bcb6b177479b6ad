"""A suite at work: generators make its pictures, judges answer its points, scorers give logits, results are published.

Composes `generate`, `judge` and `bench`. Every step keeps what it has before the next begins, and does nothing twice:
whatever ends a run (an outage, a spent budget, Ctrl-C, kill -9), the same call goes on where it stopped. An entry whose
result is published is not touched again.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from salon.bench.board import Board, check_new_name, entry_folder, folder_name, is_board, new_board, open_board
from salon.bench.entry import Entry, Pictured
from salon.bench.entry_files import (
    read_answers,
    read_entry,
    read_logits,
    read_published,
    write_answers,
    write_entry,
    write_logits,
    write_result,
)
from salon.bench.result import entry_result
from salon.bench.results import EntryResult
from salon.bench.suite import Suite
from salon.bench.suite_folder import prompts_hash
from salon.calls.errors import CallsStopped
from salon.errors import BadFile, BadValue
from salon.flows.bench_judging import Judge, check_same_judge, is_asked, judge_entry, role_answers, suite_roles
from salon.flows.bench_scoring import check_scorers, score_column
from salon.generate.names import item_id
from salon.generate.record import Generation, read_generations
from salon.generate.run import generate_items
from salon.generate.settings import GenerateSettings
from salon.judge.run import JudgeRun
from salon.judge.vlm import Vlm
from salon.models.kept import Kept
from salon.study import Generator, Scorer
from salon.study.noun import Noun

OUTAGES = ("timeout", "budget", "error")
"""Kinds of a missing picture that another run may heal: until then, or until told otherwise, nothing is published."""
Watch = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


class RoleRun(Noun):
    """What one judge did for one entry."""

    role: str = Field(description="Name of the judge in the suite's routes.")
    questions: int = Field(description="Points of pictures it was to answer.")
    stored: int = Field(description="Of these, answered before: they cost nothing in this run.")
    unread: int = Field(description="Answers that cannot be read: they count as failures.")
    failed: dict[str, int] = Field(description="Questions without an answer, by kind.")
    cost: float | None = Field(description="Of all answers, by the price list; null without a price.")
    signature: str


class EntryRun(Noun):
    """What was done for one entry, and what it is worth now."""

    entry: str
    made: int = Field(default=0, description="Pictures made in this run.")
    missing: dict[str, int] = Field(default_factory=dict, description="Pictures that are not there, by kind.")
    judges: tuple[RoleRun, ...] = ()
    status: Literal["published", "provisional", "retracted"]
    before: bool = Field(default=False, description="True where it was published before this run, and is as it was.")
    open: tuple[str, ...] = Field(default=(), description="Why it is provisional, a sentence each.")


class SuiteRun(Noun):
    """What a run did."""

    format: Literal["salon.run/1"] = "salon.run/1"
    board: str
    suite: str = Field(description="Name and version of the suite.")
    suite_hash: str
    entries: tuple[EntryRun, ...]
    cost: float | None = Field(description="Of all judges' answers, by the price list; null without a price.")
    stopped: dict[str, str] = Field(description="Judges that could not go on, and why.")
    seconds: float

    @property
    def is_complete(self) -> bool:
        """Whether everything that was to be finished is published."""
        return all(entry.status != "provisional" for entry in self.entries)


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
    stopped: dict[str, str] = field(default_factory=dict)


def run_suite(
    suite: Suite,
    folder: Path,
    generators: Sequence[Generator] = (),
    judges: Mapping[str, Judge] | None = None,
    scorers: Mapping[str, Scorer] | None = None,
    *,
    called: Mapping[str, str] | None = None,
    licence: str = "",
    by: str = "",
    as_is: bool = False,
    kept: Kept | None = None,
    watch: Watch = lambda doing, done, wanted: None,
) -> SuiteRun:
    """Make an entry of each generator on the board in `folder`; without any, finish what is open on it.

    `judges` are those of the suite's routes and its oracle by name, `scorers` those of its columns of EPS. `called`
    says how a generator was named by whoever runs it. `as_is` publishes entries although a generator's outage left
    pictures missing: they count as failures for good.
    """
    started = time.monotonic()
    check_scorers(suite, scorers or {})
    _check_judges(suite, judges or {})
    board = board_of(suite, folder)
    run = _Run(board, suite, judges or {}, scorers or {}, watch, kept, as_is)
    if generators:
        _check_names(board, generators)
        terms = {"licence": licence, "by": by}
        done = [_generated(run, one, (called or {}).get(one.name, one.name), terms) for one in generators]
    else:
        done = [_finished(run, read_entry(entry_folder(board, one.name))) for one in board.entries]
    return SuiteRun(
        board=str(folder),
        suite=f"{suite.card.name}/{suite.card.version}",
        suite_hash=suite.hash,
        entries=tuple(done),
        cost=_sum(judge.cost for entry in done for judge in entry.judges),
        stopped=run.stopped,
        seconds=round(time.monotonic() - started, 3),
    )


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


def _check_names(board: Board, generators: Sequence[Generator]) -> None:
    """A generator goes on with the entry it began, while that is not published; no other may take its name."""
    again = [name for name, count in Counter(folder_name(one.name) for one in generators).items() if count > 1]
    if again:
        raise BadValue("every generator has a name of its own", found=f"{again[0]!r} twice", where="--generator")
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
    if run.suite.closed:
        raise BadFile(
            f"the texts of {len(run.suite.closed):,} private prompts are needed to generate",
            found="their digests alone",
            where=f"suite {run.suite.card.name!r}",
            remedy="ask the suite's keeper for private.jsonl, and name it with --private",
        )
    card = run.suite.card
    settings = GenerateSettings(seeds=card.images, first_seed=card.first_seed, size=card.size)
    report = generate_items(
        [one.prompt for one in run.suite.prompts], [generator], settings, folder,
        lambda now: run.watch(f"{generator.name}: pictures", now.done, now.wanted),
    )  # fmt: skip
    entry = Entry(
        name=generator.name,
        generator=called,
        signature=str(generator.signature),
        suite=prompts_hash(run.suite),
        pictures=_pictured(run.suite, generator, folder),
        **terms,
    )
    _renew(folder, entry)
    return _finished(run, entry, made=report.made)


def _pictured(suite: Suite, generator: Generator, folder: Path) -> tuple[Pictured, ...]:
    """Every picture the suite asks for, as the record of the generator has it."""
    known, _ = read_generations(folder)
    found = []
    for prompt in (one.prompt.id for one in suite.prompts):
        for seed in suite.seeds:
            item = item_id(prompt, generator.name, seed)
            found.append(_picture(prompt, seed, item, known.get(item)))
    return tuple(found)


def _picture(prompt: str, seed: int, item: str, line: Generation | None) -> Pictured:
    place = {"prompt": prompt, "seed": seed, "item": item}
    if line is None or not line.ok:
        kind, reason = (line.kind, line.reason) if line else ("missing", "never asked for")
        return Pictured(**place, missing=f"{kind or 'error'}: {reason or 'no reason was given'}")
    return Pictured(**place, image=line.image, sha256=line.sha256, width=line.width, height=line.height)


def _renew(folder: Path, entry: Entry) -> None:
    """Write the card; answers and scores of pictures that are others now are let go first."""
    before = {one.item: one.sha256 for one in read_entry(folder).pictures} if (folder / "entry.json").exists() else {}
    same = [one.item for one in entry.pictures if one.sha256 and before.get(one.item) == one.sha256]
    for read, write in ((read_answers, write_answers), (read_logits, write_logits)):
        table = read(folder)
        kept = table.filter(pc.is_in(table.column("item"), pa.array(same, pa.string())))
        if kept.num_rows < table.num_rows:
            write(folder, kept)
    write_entry(folder, entry)


def _finished(run: _Run, entry: Entry, made: int = 0) -> EntryRun:
    """Everything that an entry still lacks: answers, scores, and its result."""
    folder = entry_folder(run.board, entry.name)
    if entry.retracted is not None:
        return EntryRun(entry=entry.name, status="retracted", before=True)
    if read_published(folder) is not None:
        return EntryRun(entry=entry.name, status="published", before=True)
    _check_pictures(folder, entry)
    judged = [one for role in suite_roles(run.suite) if (one := _judged(run, entry, folder, role))]
    for column, scorer in run.scorers.items():
        rows = score_column(run.suite, entry, folder, column, scorer, run.watch, run.kept)
        write_logits(folder, _with(read_logits(folder), "preference", column, rows))
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


def _check_pictures(folder: Path, entry: Entry) -> None:
    for one in entry.pictures:
        if one.image is None:
            continue
        path = folder / one.image
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no file"
        if found != one.sha256:
            raise BadFile(
                f"the picture of {one.prompt!r} with the hash {(one.sha256 or 'none')[:16]} is needed",
                found=found[:16],
                where=str(path),
                remedy="put the file back, or remove the entry and make it anew",
            )


def _judged(run: _Run, entry: Entry, folder: Path, role: str) -> RoleRun | None:
    """One judge's answers, kept; None where it is not there, had to stop, or has nothing to say."""
    if role not in run.judges or role in run.stopped or not is_asked(role, run.suite, folder):
        return None
    points = suite_roles(run.suite)[role]

    def check(vlm: Vlm) -> None:
        check_same_judge(role, vlm, _published(run.board))

    try:
        done = judge_entry(
            run.suite, entry, folder, role, run.judges[role],
            lambda now: run.watch(f"{entry.name}: {role}", now.done, now.wanted), check=check,
        )  # fmt: skip
    except CallsStopped as error:
        run.stopped[role] = f"{error.needed}" + (f": {error.found}" if error.found else "")
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
    given = Counter(read_answers(folder).column("judge").to_pylist())
    for route in (name for name in suite_roles(run.suite) if name != run.suite.card.oracle):
        lacks = _wanted(run.suite, entry, route) - given[route]
        if lacks:
            yield f"{lacks:,} answers of {route} are open: {_why_open(run, route)}"
    for column, axis in result.eps.items():
        if axis.coverage.open:
            why = "run again" if column in run.scorers else f"name its scorer with --scorer {column}=NAME"
            yield f"{axis.coverage.open:,} scores of {column} are open: {why}"


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
