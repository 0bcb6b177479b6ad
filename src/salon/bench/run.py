"""Run a suite: generators make its pictures, judges answer its points, scorers give logits, results are published.

Every step keeps what it has before the next begins, and does nothing twice. Whatever ends a run (an outage, a spent
budget, Ctrl-C, kill -9), the same call continues where it stopped. An entry whose result is published is not touched
again. `plan_suite` counts what a run would make, ask and spend.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from salon.bench.board import Board, check_new_name, entry_folder, folder_name, is_board, new_board, open_board
from salon.bench.entry import Entry, EntryPicture, EntryResult
from salon.bench.entry_files import (
    OUTAGES,
    check_pictures,
    generated_pictures,
    read_answers,
    read_entry,
    read_logits,
    read_published,
    renew_entry,
    write_answers,
    write_logits,
    write_result,
)
from salon.bench.judging import (
    SuiteJudge,
    check_same_judge,
    check_scorers,
    entry_study,
    is_asked,
    judge_entry,
    plan_role,
    role_answers,
    score_column,
    suite_roles,
)
from salon.bench.reference import carry_entries
from salon.bench.result import entry_result
from salon.bench.suite import Suite
from salon.bench.suite_folder import prompts_hash
from salon.calls import CallsStopped
from salon.errors import BadFile, BadValue
from salon.generate import GenerateSettings, generate_items, item_id, read_generations
from salon.judge import JudgePlan, OpenAIChat, TableScorer, UnreadLimits, Vlm
from salon.models import ResultCache
from salon.store import held
from salon.study import Generator, Noun, Scorer


class RoleRun(Noun):
    """What one judge did for one entry."""

    role: str = Field(description="Name of the judge in the suite's routes.")
    questions: int = Field(description="Points of pictures it was to answer.")
    stored: int = Field(description="Of these, answered before: they cost nothing in this run.")
    unread: int = Field(description="Answers that cannot be read: they count as failures.")
    failed: dict[str, int] = Field(description="Questions without an answer, by kind.")
    cost: float | None = Field(description="Of all answers, by the price list; null without a price.")
    signature: str = Field(description="What reproduces this judge's answers.")


class EntryRun(Noun):
    """What was done for one entry, and what it is worth now."""

    entry: str = Field(description="Name of the entry.")
    made: int = Field(default=0, description="Pictures made in this run.")
    missing: dict[str, int] = Field(default_factory=dict, description="Pictures that are not there, by kind.")
    judges: tuple[RoleRun, ...] = Field(default=(), description="One for each judge of the suite's routes.")
    status: Literal["published", "provisional", "retracted"] = Field(description="What became of it.")
    before: bool = Field(default=False, description="True where it was published before this run, and is as it was.")
    open: tuple[str, ...] = Field(default=(), description="Why it is provisional, a sentence each.")


class SuiteRun(Noun):
    """What a run did."""

    format: Literal["salon.run/1"] = Field(default="salon.run/1", description="Name and version of this form.")
    board: str = Field(description="Folder of the board.")
    suite: str = Field(description="Name and version of the suite.")
    suite_hash: str = Field(description="Hash of the suite.")
    entries: tuple[EntryRun, ...] = Field(description="One for each entry of the run.")
    cost: float | None = Field(description="Of all judges' answers, by the price list; null without a price.")
    stopped: dict[str, str] = Field(description="Judges that could not go on, and why.")
    seconds: float = Field(description="How long it took.")

    @property
    def is_complete(self) -> bool:
        """Whether everything that was to be finished is published."""
        return all(entry.status != "provisional" for entry in self.entries)


# -- planning ----------------------------------------------------------------------------------------------------------

_UNMADE = "images/not-made-yet.png"


class RolePlan(Noun):
    """One judge on one entry."""

    role: str = Field(description="Name of the judge in the suite's routes.")
    judge: bool = Field(description="False where nobody was named for this role: its points stay open.")
    paid: bool = Field(description="Whether every answer that is not in the store is bought.")
    questions: int = Field(description="Points of pictures it is to answer.")
    stored: int = Field(default=0, description="Of these, bought before.")
    to_ask: int = Field(description="Calls it would take.")
    cost_at_most: float | None = Field(default=None, description="By the price list; null without a price.")


class EntryPlan(Noun):
    """One entry."""

    entry: str = Field(description="Name of the entry.")
    published: bool = Field(description="Published before: nothing would be done.")
    pictures: int = Field(description="Pictures that the suite asks for.")
    to_make: int = Field(description="Of these, to be made.")
    judges: tuple[RolePlan, ...] = Field(default=(), description="One for each judge of the suite's routes.")


class SuitePlan(Noun):
    """A run before it is run."""

    format: Literal["salon.plan/1"] = Field(default="salon.plan/1", description="Name and version of this form.")
    board: str = Field(description="Folder of the board.")
    suite: str = Field(description="Name and version of the suite.")
    entries: tuple[EntryPlan, ...] = Field(description="One for each entry of the run.")

    @property
    def calls(self) -> int:
        """Paid calls in all."""
        return sum(role.to_ask for entry in self.entries for role in entry.judges if role.paid)

    @property
    def cost_at_most(self) -> float | None:
        """The most they cost; None where a price is not known."""
        costs = [role.cost_at_most for entry in self.entries for role in entry.judges if role.paid and role.to_ask]
        return None if None in costs else sum(cost for cost in costs if cost is not None)


@dataclass(frozen=True)
class _PlannedEntry:
    """An entry as it would be: pictures that are to be made stand under a name that no file has."""

    entry: Entry
    folder: Path
    to_make: int
    published: bool


def plan_suite(
    suite: Suite, folder: Path, generators: Sequence[Generator] = (), judges: Mapping[str, SuiteJudge] | None = None
) -> SuitePlan:
    """What `run_suite` would do with the same arguments. Nothing is made, asked or written."""
    board = open_board(folder) if is_board(folder) else None
    planned = [_plan_generator(suite, folder, board, generator) for generator in generators] or _plan_board(board)
    return SuitePlan(
        board=str(folder),
        suite=f"{suite.card.name}/{suite.card.version}",
        entries=tuple(_entry_plan(suite, generator, judges or {}) for generator in planned),
    )


def _plan_generator(suite: Suite, folder: Path, board: Board | None, generator: Generator) -> _PlannedEntry:
    home = entry_folder(board, generator.name) if board else folder / generator.name
    generations = read_generations(home)[0] if home.is_dir() else {}
    pictures, to_make = [], 0
    for prompt in suite.prompts:
        for seed in suite.seeds:
            item = item_id(prompt.prompt.id, generator.name, seed)
            line = generations.get(item)
            there = line is not None and line.signature == str(generator.signature) and line.is_stored(home)
            to_make += not there
            image = line.image if line is not None and there else _UNMADE
            pictures.append(EntryPicture(prompt=prompt.prompt.id, seed=seed, item=item, image=image))
    entry = Entry(name=generator.name, suite=prompts_hash(suite), pictures=tuple(pictures))
    return _PlannedEntry(entry, home, to_make, read_published(home) is not None)


def _plan_board(board: Board | None) -> list[_PlannedEntry]:
    if board is None:
        return []
    places = {entry.name: entry_folder(board, entry.name) for entry in board.entries}
    open_ = [entry for entry in board.entries if entry.retracted is None]
    return [
        _PlannedEntry(entry, places[entry.name], 0, read_published(places[entry.name]) is not None) for entry in open_
    ]


def _entry_plan(suite: Suite, planned: _PlannedEntry, judges: Mapping[str, SuiteJudge]) -> EntryPlan:
    roles = [] if planned.published else suite_roles(suite)
    return EntryPlan(
        entry=planned.entry.name,
        published=planned.published,
        pictures=len(planned.entry.pictures),
        to_make=0 if planned.published else planned.to_make,
        judges=tuple(
            _role_plan(suite, planned, role, judges.get(role))
            for role in roles
            if role in judges or role != suite.card.oracle
            if planned.to_make or is_asked(role, suite, planned.folder)
        ),
    )


def _role_plan(suite: Suite, planned: _PlannedEntry, role: str, judge: SuiteJudge | None) -> RolePlan:
    points = suite_roles(suite)[role]
    study = entry_study(suite, planned.entry, points)
    plan = plan_role(study, planned.folder, points)
    questions = len(plan.questions) if plan else 0
    fields = {"role": role, "judge": judge is not None, "paid": bool(judge and judge.paid), "questions": questions}
    if judge is None or plan is None:
        return RolePlan(**fields, to_ask=0)
    if not judge.paid:
        return RolePlan(**fields, to_ask=questions)
    with judge.open(study, planned.folder, points) as vlm:
        stored, cost = _price(plan, vlm) if isinstance(vlm, OpenAIChat) else (0, None)
    return RolePlan(**fields, stored=stored, to_ask=questions - stored, cost_at_most=cost)


def _price(plan: JudgePlan, vlm: OpenAIChat) -> tuple[int, float | None]:
    """Answers in the store, and the most that the others cost, those about pictures that are not made yet too."""
    cast = vlm.forecast(plan.conversations())
    if cast.cost is None:
        return cast.stored, None
    unmade = (conversation for conversation in plan.conversations() if not conversation.sights[0].path.is_file())
    more = sum(vlm.service.prices.most(vlm.endpoint.order(conversation)) or 0 for conversation in unmade)
    return cast.stored, float(cast.cost + more)


# -- running -----------------------------------------------------------------------------------------------------------

Watch = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""


@dataclass
class _SuiteRunState:
    """What a run works with, and which judges had to stop."""

    board: Board
    suite: Suite
    judges: Mapping[str, SuiteJudge]
    scorers: Mapping[str, Scorer]
    watch: Watch
    cache: ResultCache | None
    as_is: bool
    unread: UnreadLimits
    stopped: dict[str, str] = field(default_factory=dict)


def run_suite(
    suite: Suite,
    folder: Path,
    generators: Sequence[Generator] = (),
    judges: Mapping[str, SuiteJudge] | None = None,
    scorers: Mapping[str, Scorer] | None = None,
    *,
    carry: Board | None = None,
    called: Mapping[str, str] | None = None,
    licence: str = "",
    by: str = "",
    as_is: bool = False,
    unread: UnreadLimits | None = None,
    cache: ResultCache | None = None,
    watch: Watch = lambda doing, completed, total: None,
) -> SuiteRun:
    """Make an entry of each generator on the board in `folder`; without any, finish what is open on it.

    `judges` are those of the suite's routes and its oracle by name, `scorers` those of its columns of EPS. `carry` is
    a board whose entries are brought along first. `called` says how a generator was named by whoever runs it. `as_is`
    publishes entries although a generator's outage left pictures missing: they count as failures for good. A judge
    whose answers cannot be read more often than `unread` allows is stopped, and its entries stay provisional.
    """
    started = time.monotonic()
    if suite.closed:
        raise BadFile(
            f"the texts of {len(suite.closed):,} private prompts are needed to run the suite",
            found="their digests alone",
            where=f"suite {suite.card.name!r}",
            remedy="ask the suite's keeper for private.jsonl, and name it with --private",
        )
    check_scorers(suite, scorers or {})
    _check_judges(suite, judges or {})
    _check_different(generators)
    board = open_or_create_board(suite, folder)
    with _lock_board(board):
        if carry is not None:
            carry_entries(carry, board)
            board = open_board(folder)
        run = _SuiteRunState(board, suite, judges or {}, scorers or {}, watch, cache, as_is, unread or UnreadLimits())
        _check_names(board, generators)
        terms = {"licence": licence, "by": by}
        entry_runs = [_run_generator(run, item, (called or {}).get(item.name, item.name), terms) for item in generators]
        if not generators or carry is not None:
            entry_runs += [
                _finish_entry(run, item)
                for item in board.entries
                if item.name not in {entry.entry for entry in entry_runs}
            ]
    values = (judge.cost for entry in entry_runs for judge in entry.judges)
    numbers = [value for value in values if value is not None]
    total_cost = sum(numbers) if numbers else None
    return SuiteRun(
        board=str(folder),
        suite=f"{suite.card.name}/{suite.card.version}",
        suite_hash=suite.hash,
        entries=tuple(entry_runs),
        cost=total_cost,
        stopped=run.stopped,
        seconds=round(time.monotonic() - started, 3),
    )


@contextmanager
def _lock_board(board: Board) -> Iterator[None]:
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


def open_or_create_board(suite: Suite, folder: Path) -> Board:
    """The board in `folder`, a new one if there is none; a board of another suite is refused."""
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


def _check_judges(suite: Suite, judges: Mapping[str, SuiteJudge]) -> None:
    roles = suite_roles(suite)
    for name in judges:
        if name not in roles:
            raise BadValue(
                "a judge answers as one that the suite's routes name",
                found=repr(name),
                where=f"suite {suite.card.name!r}",
                remedy="one of " + ", ".join(roles),
            )


def _check_different(generators: Sequence[Generator]) -> None:
    again = [
        name for name, count in Counter(folder_name(generator.name) for generator in generators).items() if count > 1
    ]
    if again:
        raise BadValue("every generator has a name of its own", found=f"{again[0]!r} twice", where="--generator",
                       remedy="leave one out, or give it another name: folder:NAME=PATH")  # fmt: skip


def _check_names(board: Board, generators: Sequence[Generator]) -> None:
    """A generator goes on with the entry it began, while that is not published; no other may take its name."""
    entries = {folder_name(entry.name): entry for entry in board.entries}
    for generator in generators:
        entry = entries.get(folder_name(generator.name))
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


def _run_generator(run: _SuiteRunState, generator: Generator, called: str, terms: Mapping[str, str]) -> EntryRun:
    folder = entry_folder(run.board, generator.name)
    if read_published(folder) is not None:
        return EntryRun(entry=generator.name, status="published", before=True)
    card = run.suite.card
    settings = GenerateSettings(seeds=card.images, seed=card.first_seed, size=card.size)
    report = generate_items(
        [prompt.prompt for prompt in run.suite.prompts], [generator], settings, folder,
        lambda now: run.watch(f"{generator.name}: pictures", now.done, now.wanted),
    )  # fmt: skip
    entry = Entry(
        name=generator.name,
        generator=called,
        signature=str(generator.signature),
        suite=prompts_hash(run.suite),
        pictures=generated_pictures(run.suite, generator, folder),
        **terms,
    )
    renew_entry(folder, entry)
    return _finish_entry(run, entry, made=report.made)


def _finish_entry(run: _SuiteRunState, entry: Entry, made: int = 0) -> EntryRun:
    """Everything that an entry still lacks: answers, scores, and its result."""
    folder = entry_folder(run.board, entry.name)
    entry = read_entry(folder)  # as it stands now: somebody may have retracted it since the run began
    if entry.retracted is not None:
        return EntryRun(entry=entry.name, status="retracted", before=True)
    if read_published(folder) is not None:
        return EntryRun(entry=entry.name, status="published", before=True)
    check_pictures(folder, entry)
    role_runs = [picture for role in suite_roles(run.suite) if (picture := _ask_role(run, entry, folder, role))]
    _score(run, entry, folder)
    missing = Counter((picture.missing or "").partition(":")[0] for picture in entry.pictures if picture.image is None)
    result = entry_result(run.suite, entry, read_answers(folder), read_logits(folder))
    waits = not run.as_is and any(kind in OUTAGES for kind in missing)
    if waits:
        result = result.model_copy(update={"status": "provisional"})
    published = write_result(folder, result)
    return EntryRun(
        entry=entry.name,
        made=made,
        missing=dict(missing),
        judges=tuple(role_runs),
        status="published" if published else "provisional",
        open=() if published else tuple(_open(run, entry, folder, result, missing if waits else {})),
    )


def _score(run: _SuiteRunState, entry: Entry, folder: Path) -> None:
    """The columns that an entry lacks, by the scorers that are there."""
    for column, scorer in run.scorers.items():
        if not _is_scored(entry, read_logits(folder), column, scorer):
            rows = score_column(run.suite, entry, folder, column, scorer, run.watch, run.cache)
            if not rows.num_rows and isinstance(scorer, TableScorer):
                continue  # a table of other entries takes nothing away from this one
            write_logits(folder, _replace_rows(read_logits(folder), "preference", column, rows))


def _is_scored(entry: Entry, logits: pa.Table, column: str, scorer: Scorer) -> bool:
    if isinstance(scorer, TableScorer):
        return False  # reading it again costs nothing, and its numbers may have been mended
    rows = zip(*(logits.column(name).to_pylist() for name in ("preference", "scorer", "item")))
    scored_items = {item for row_column, by, item in rows if (row_column, by) == (column, str(scorer.signature))}
    return scored_items >= {picture.item for picture in entry.pictures if picture.image is not None}


def _ask_role(run: _SuiteRunState, entry: Entry, folder: Path, role: str) -> RoleRun | None:
    """Ask one judge and keep its answers; None if it is absent, had to stop, or has nothing left to answer."""
    if role not in run.judges or role in run.stopped or not is_asked(role, run.suite, folder):
        return None
    points = suite_roles(run.suite)[role]
    if _answers_given(folder, role) == _answers_required(run.suite, entry, role):
        return None

    def check(vlm: Vlm) -> None:
        places = {
            entry.name: entry_folder(run.board, entry.name)
            for entry in open_board(run.board.folder).entries
            if not entry.retracted
        }
        published_folders = {name: folder for name, folder in places.items() if read_published(folder) is not None}
        check_same_judge(role, vlm, published_folders)

    try:
        judge_run = judge_entry(
            run.suite, entry, folder, role, run.judges[role],
            lambda now: run.watch(f"{entry.name}: {role}", now.done, now.wanted), check=check, unread=run.unread,
        )  # fmt: skip
    except CallsStopped as error:
        run.stopped[role] = "; ".join(str(part) for part in (error.needed, error.found, error.where) if part)
        return None
    if judge_run is None:
        return None
    rows = role_answers(folder, role, entry, points)
    write_answers(folder, _replace_rows(read_answers(folder), "judge", role, rows))
    return RoleRun(
        role=role,
        questions=judge_run.questions,
        stored=judge_run.stored,
        unread=pc.sum(pc.equal(rows.column("said"), "unread")).as_py() or 0,
        failed=judge_run.failed,
        cost=judge_run.cost,
        signature=judge_run.signature,
    )


def _replace_rows(table: pa.Table, column: str, name: str, rows: pa.Table) -> pa.Table:
    """`table` with the rows of one judge or column replaced."""
    rest = table.filter(pc.not_equal(table.column(column), name))
    return pa.concat_tables([rest, rows.cast(table.schema)]).combine_chunks()


# -- what is open ------------------------------------------------------------------------------------------------------


def _open(
    run: _SuiteRunState, entry: Entry, folder: Path, result: EntryResult, missing: Mapping[str, int]
) -> Iterable[str]:
    waiting = {kind: count for kind, count in missing.items() if kind in OUTAGES}
    if waiting:
        counts = ", ".join(f"{count:,} {kind}" for kind, count in waiting.items())
        yield f"pictures are missing ({counts}): run again, or --as-is counts them as failures"
    for role in (name for name in suite_roles(run.suite) if name != run.suite.card.oracle):
        lacks = _answers_required(run.suite, entry, role) - _answers_given(folder, role)
        if lacks:
            yield f"{lacks:,} answers of {role} are open: {_why_open(run, role)}"
    for column, axis in result.eps.items():
        if axis.coverage.open:
            why = "run again" if column in run.scorers else f"name its scorer with --scorer {column}=NAME"
            yield f"{axis.coverage.open:,} scores of {column} are open: {why}"


def _answers_given(folder: Path, role: str) -> int:
    return int(read_answers(folder).column("judge").to_pylist().count(role))


def _answers_required(suite: Suite, entry: Entry, role: str) -> int:
    """Answers that a judge of the routes is to give about the pictures that are there."""
    pictures = Counter(picture.prompt for picture in entry.pictures if picture.image is not None)
    points = suite_roles(suite)[role]
    return sum(pictures.total() if point.prompt is None else pictures[point.prompt] for point in points)


def _why_open(run: _SuiteRunState, role: str) -> str:
    if role in run.stopped:
        return run.stopped[role]
    return "run again" if role in run.judges else f"name the judge with --judge {role}=KIND:NAME"
