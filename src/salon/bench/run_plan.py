"""What a run of a suite would make, ask and spend: counted before anything is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import Field

from salon.bench.board import Board, entry_folder, is_board, open_board
from salon.bench.entry import Entry, Pictured
from salon.bench.entry_files import read_published
from salon.bench.judging import Judge, entry_study, is_asked, plan_role, suite_roles
from salon.bench.suite import Suite
from salon.bench.suite_folder import prompts_hash
from salon.generate.names import item_id
from salon.generate.record import read_generations
from salon.judge.openai_chat import OpenAIChat
from salon.judge.plan import JudgePlan
from salon.study import Generator
from salon.study.noun import Noun

_UNMADE = "images/not-made-yet.png"


class RolePlan(Noun):
    """One judge on one entry."""

    role: str
    judge: bool = Field(description="False where nobody was named for this role: its points stay open.")
    paid: bool = Field(description="Whether every answer that is not in the store is bought.")
    questions: int = Field(description="Points of pictures it is to answer.")
    stored: int = Field(default=0, description="Of these, bought before.")
    to_ask: int = Field(description="Calls it would take.")
    cost_at_most: float | None = Field(default=None, description="By the price list; null without a price.")


class EntryPlan(Noun):
    """One entry."""

    entry: str
    published: bool = Field(description="Published before: nothing would be done.")
    pictures: int = Field(description="Pictures that the suite asks for.")
    to_make: int = Field(description="Of these, to be made.")
    judges: tuple[RolePlan, ...] = ()


class SuitePlan(Noun):
    """A run before it is run."""

    format: Literal["salon.plan/1"] = "salon.plan/1"
    board: str
    suite: str
    entries: tuple[EntryPlan, ...]

    @property
    def calls(self) -> int:
        """Paid calls in all."""
        return sum(one.to_ask for entry in self.entries for one in entry.judges if one.paid)

    @property
    def cost_at_most(self) -> float | None:
        """The most they cost; None where a price is not known."""
        costs = [one.cost_at_most for entry in self.entries for one in entry.judges if one.paid and one.to_ask]
        return None if None in costs else sum(cost for cost in costs if cost is not None)


@dataclass(frozen=True)
class _Wanted:
    """An entry as it would be: pictures that are to be made stand under a name that no file has."""

    entry: Entry
    folder: Path
    to_make: int
    published: bool


def plan_suite(
    suite: Suite, folder: Path, generators: Sequence[Generator] = (), judges: Mapping[str, Judge] | None = None
) -> SuitePlan:
    """What `run_suite` would do with the same arguments. Nothing is made, asked or written."""
    board = open_board(folder) if is_board(folder) else None
    wanted = [_of_generator(suite, folder, board, one) for one in generators] or _on_board(board)
    return SuitePlan(
        board=str(folder),
        suite=f"{suite.card.name}/{suite.card.version}",
        entries=tuple(_entry_plan(suite, one, judges or {}) for one in wanted),
    )


def _of_generator(suite: Suite, folder: Path, board: Board | None, generator: Generator) -> _Wanted:
    home = entry_folder(board, generator.name) if board else folder / generator.name
    known = read_generations(home)[0] if home.is_dir() else {}
    pictures, to_make = [], 0
    for prompt in suite.prompts:
        for seed in suite.seeds:
            item = item_id(prompt.prompt.id, generator.name, seed)
            line = known.get(item)
            there = line is not None and line.signature == str(generator.signature) and line.is_stored(home)
            to_make += not there
            image = line.image if line is not None and there else _UNMADE
            pictures.append(Pictured(prompt=prompt.prompt.id, seed=seed, item=item, image=image))
    entry = Entry(name=generator.name, suite=prompts_hash(suite), pictures=tuple(pictures))
    return _Wanted(entry, home, to_make, read_published(home) is not None)


def _on_board(board: Board | None) -> list[_Wanted]:
    if board is None:
        return []
    places = {one.name: entry_folder(board, one.name) for one in board.entries}
    open_ = [one for one in board.entries if one.retracted is None]
    return [_Wanted(one, places[one.name], 0, read_published(places[one.name]) is not None) for one in open_]


def _entry_plan(suite: Suite, wanted: _Wanted, judges: Mapping[str, Judge]) -> EntryPlan:
    roles = [] if wanted.published else suite_roles(suite)
    return EntryPlan(
        entry=wanted.entry.name,
        published=wanted.published,
        pictures=len(wanted.entry.pictures),
        to_make=0 if wanted.published else wanted.to_make,
        judges=tuple(
            _role_plan(suite, wanted, role, judges.get(role))
            for role in roles
            if role in judges or role != suite.card.oracle
            if wanted.to_make or is_asked(role, suite, wanted.folder)
        ),
    )


def _role_plan(suite: Suite, wanted: _Wanted, role: str, judge: Judge | None) -> RolePlan:
    points = suite_roles(suite)[role]
    study = entry_study(suite, wanted.entry, points)
    plan = plan_role(study, wanted.folder, points)
    questions = len(plan.questions) if plan else 0
    told = {"role": role, "judge": judge is not None, "paid": bool(judge and judge.paid), "questions": questions}
    if judge is None or plan is None:
        return RolePlan(**told, to_ask=0)
    if not judge.paid:
        return RolePlan(**told, to_ask=questions)
    with judge.open(study, wanted.folder, points) as vlm:
        stored, cost = _priced(plan, vlm) if isinstance(vlm, OpenAIChat) else (0, None)
    return RolePlan(**told, stored=stored, to_ask=questions - stored, cost_at_most=cost)


def _priced(plan: JudgePlan, vlm: OpenAIChat) -> tuple[int, float | None]:
    """Answers in the store, and the most that the others cost, those about pictures that are not made yet too."""
    cast = vlm.forecast(plan.conversations())
    if cast.cost is None:
        return cast.stored, None
    unmade = (one for one in plan.conversations() if not one.sights[0].path.is_file())
    more = sum(vlm.service.prices.most(vlm.endpoint.order(one)) or 0 for one in unmade)
    return cast.stored, float(cast.cost + more)
