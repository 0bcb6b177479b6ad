"""The last part of the demo: a model learns what its designers prefer, and a leaderboard is measured with it.

Six entries draw some briefs of the built-in suite `posters`, none of which the model saw. Pixels answer the points of
Capability. The entries themselves are the field whose median logits become the frozen reference of EPS.

The four houses fail each in its own way, so from their posters alone a model learns houses and not flaws: a poster
without any, and the same one faded, are both new to it. So the same designers also rank, beside the four, a house
without flaws and one to which every flaw happens (`LESSONS`), and the model learns from all six.
"""

from __future__ import annotations

import importlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from salon.bench.board import entry_folder, is_board, open_board, read_result
from salon.bench.entry_files import read_logits
from salon.bench.freeze import field_reference, with_reference
from salon.bench.judge_roles import JudgeTerms, judges_named, read_roles
from salon.bench.results import EntryResult
from salon.bench.run import run_suite
from salon.bench.site import build_site
from salon.bench.standings import Standings, standings
from salon.bench.suite import CAPABILITY, OVERALL, Suite
from salon.bench.suite_folder import hashed, open_suite
from salon.collect.simulate.designers import designers_study
from salon.errors import MissingExtra
from salon.generate.houses import house_generator
from salon.generate.named import generators_named
from salon.generate.run import generate_items
from salon.generate.settings import GenerateSettings
from salon.store.folder import open_study, save_study
from salon.study import Scorer
from salon.train.settings import HeadSettings

if TYPE_CHECKING:  # torch, for who has it
    from salon.evaluate.pairs.validation_figures import HeadFigures

ENTRIES = ("atelier", "carnival", "ledger", "mirage", "proof", "proof+low-contrast@0.7")
"""Four houses with flaws of their own, one without, and that one with a planted flaw."""
LESSONS = ("proof", "apprentice")
"""Who draws the posters that the model learns from, beside the four houses."""
EVERY = 2
"""Every second prompt of the suite: all its tags."""
CRITERION = "taste/aesthetics-preference"
HEADS = HeadSettings(encoder="effnet-lite2+look", form="scalar", flags=False, train=0.7, validation=0.3, test=0.0)
NOTE = "EPS is by a model of simulated designers, trained on 144 posters minutes before: no person's taste is in it."
ABOUT = "Some briefs of the suite posters, with points that pixels can answer. " + NOTE
LICENCE = "Apache-2.0"


@dataclass(frozen=True)
class DemoBoard:
    """What the demo tells of its board."""

    results: tuple[EntryResult, ...]
    standings: Standings
    validation: HeadFigures | None
    """How the model does on the designers' validation pairs."""
    missing: str | None = None
    """Why there is no EPS, where a part of Salon is not installed."""


def make_board(folder: Path) -> DemoBoard:
    """`folder`/lessons, model, field, board and its pages, from the judged posters in `folder`/posters."""
    suite = demo_suite()
    try:
        scorer, validation = learned(folder)
    except MissingExtra as error:
        return _without_eps(suite, folder, f"{error.needed} ({error.remedy})")
    _of_another_suite(folder / "field", suite)
    _of_another_model(folder / "field", str(scorer.signature))
    _run(suite, folder / "field", scorer)
    field = open_board(folder / "field")
    frozen = with_reference(suite, field_reference(field, NOTE))
    _of_another_suite(folder / "board", frozen)
    run_suite(frozen, folder / "board", carry=field)
    return _shown(folder, OVERALL, validation)


def demo_suite() -> Suite:
    """Some prompts of the suite `posters`, as a suite of their own."""
    whole = open_suite("posters")
    prompts = whole.prompts[::EVERY]
    asked = {one.prompt.id for one in prompts}
    tags = {one.tag for one in prompts}
    return hashed(
        replace(
            whole,
            card=whole.card.model_copy(
                update={"name": "posters-demo", "title": "Posters, the demo's share", "about": ABOUT}
            ),
            tags=tuple(tag for tag in whole.tags if tag.id in tags),
            prompts=prompts,
            points=tuple(point for point in whole.points if point.prompt in asked),
        )
    )


def draw_lessons(folder: Path, size: str | None = None) -> Path:
    """`folder`/lessons: the posters in `folder`/posters and those of `LESSONS`, ranked by simulated designers."""
    lessons = folder / "lessons"
    if lessons.exists():
        shutil.rmtree(lessons)
    shutil.copytree(folder / "posters", lessons)
    prompts = list(open_study(lessons).nouns("prompts"))
    generate_items(prompts, [house_generator(name) for name in LESSONS], GenerateSettings(size=size), lessons)
    save_study(designers_study(lessons), lessons, overwrite=True)
    return lessons


def learned(folder: Path, size: str | None = None) -> tuple[Scorer, HeadFigures]:
    """A scorer that learned from the designers' rankings; and how often it is right where it was not trained."""
    training: Any = importlib.import_module("salon.train.train_heads")
    trained: Any = importlib.import_module("salon.judge.scorers.trained")
    lessons = draw_lessons(folder, size)
    report = training.train_study(
        open_study(lessons), lessons, HEADS, folder / "model", criteria=[CRITERION], overwrite=True
    )
    return trained.trained_scorer(folder / "model", CRITERION), report.validation[0]


def _run(suite: Suite, board: Path, scorer: Scorer | None) -> None:
    generators = generators_named(ENTRIES, [one.prompt for one in suite.prompts])
    with judges_named(read_roles([], suite), JudgeTerms(), board) as judges:
        run_suite(suite, board, generators, judges, {"eps": scorer} if scorer else {}, licence=LICENCE)


def _of_another_model(place: Path, signature: str) -> None:
    """Remove the field of an earlier demo whose model was another: its scores are no longer this demo's."""
    if is_board(place):
        board = open_board(place)
        logits = [read_logits(entry_folder(board, entry.name)) for entry in board.entries]
        if any(set(table.column("scorer").to_pylist()) - {signature} for table in logits):
            shutil.rmtree(place)


def _of_another_suite(place: Path, suite: Suite) -> None:
    """Remove the board of an earlier demo that had other prompts or another reference."""
    if is_board(place):
        found = open_board(place).suite
        if found.card.name == suite.card.name and found.hash != suite.hash:
            shutil.rmtree(place)


def _without_eps(suite: Suite, folder: Path, why: str) -> DemoBoard:
    _of_another_suite(folder / "board", suite)
    _run(suite, folder / "board", None)
    return replace(_shown(folder, CAPABILITY, None), missing=why)


def _shown(folder: Path, axis: str, validation: HeadFigures | None) -> DemoBoard:
    board = open_board(folder / "board")
    build_site(board, folder / "board-site")
    results = [read_result(entry_folder(board, name)) for name in _names(board.entries)]
    found = tuple(result for result in results if result is not None)
    return DemoBoard(found, standings(found, axis), validation)


def _names(entries: Sequence[Any]) -> list[str]:
    return [entry.name for entry in entries]
