"""The demo's leaderboard and its best-of-six picks, both made with a model that learns from the demo's designers.

Six entries draw some briefs of the built-in suite `posters`, none of which the model saw. Pixels answer the points of
Capability. The median logits of the entries become the frozen reference of EPS.

Each of the four generators fails in its own way. A model that sees only their posters learns to tell generators apart,
not flaws. So the designers also rank posters of a generator without flaws and of one with every flaw (`LESSONS`), and
the model learns from all six.

The model does not read: a misspelled headline looks as good as a correct one. So picks also count the share of words
that OCR can read. Both scores are in standard deviations over posters that designers judged.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from salon.bench import (
    CAPABILITY,
    OVERALL,
    EntryResult,
    JudgeTerms,
    Standings,
    Suite,
    build_site,
    entry_folder,
    field_reference,
    is_board,
    open_board,
    open_judges,
    open_suite,
    read_logits,
    read_result,
    read_roles,
    run_suite,
    standings,
    with_hashes,
    with_reference,
)
from salon.collect import designers_study, read_layout
from salon.errors import MissingExtra, NotIdentified, TooFew
from salon.generate import GenerateSettings, generate_items, house_generator, make_generators, read_prompts
from salon.judge import ScoreSettings, make_scorer
from salon.render import true_quality
from salon.select import BEST_FOLDER, BestSettings, draw_and_pick, reference_from_scores, study_scores, write_best
from salon.stats import Estimate, mean_interval
from salon.store import open_study, save_study
from salon.study import Scorer
from salon.train import HeadSettings

if TYPE_CHECKING:
    from salon.evaluate import HeadFigures

ENTRIES = ("atelier", "carnival", "ledger", "mirage", "proof", "proof+low-contrast@0.7")
"""Four built-in generators with flaws of their own, one without, and that one with a planted flaw."""
LESSONS = ("proof", "apprentice")
"""Who draws the posters that the model learns from, beside the four generators."""
EVERY = 2
"""Every second prompt of the suite: all its tags."""
CRITERION = "taste/aesthetics-preference"
HEADS = HeadSettings(encoder="effnet-lite2+look", form="scalar", flags=False, train=0.7, validation=0.3, test=0.0)
NOTE = "EPS is by a model of simulated designers, trained on 144 posters just now: it is no person's taste."
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
        scorer, validation = train_scorer(folder)
    except MissingExtra as error:
        why = f"{error.needed} ({error.remedy})"
        _remove_other_suite(folder / "board", suite)
        _run_entries(suite, folder / "board", None)
        return replace(_publish_site(folder, CAPABILITY, None), missing=why)
    _remove_other_suite(folder / "field", suite)
    place = folder / "field"
    signature = str(scorer.signature)
    if is_board(place):
        board = open_board(place)
        logits = [read_logits(entry_folder(board, entry.name)) for entry in board.entries]
        if any(set(table.column("scorer").to_pylist()) - {signature} for table in logits):
            shutil.rmtree(place)
    _run_entries(suite, folder / "field", scorer)
    field = open_board(folder / "field")
    frozen = with_reference(suite, field_reference(field, NOTE))
    _remove_other_suite(folder / "board", frozen)
    run_suite(frozen, folder / "board", carry=field)
    return _publish_site(folder, OVERALL, validation)


def demo_suite() -> Suite:
    """Some prompts of the suite `posters`, as a suite of their own."""
    whole = open_suite("posters")
    prompts = whole.prompts[::EVERY]
    prompt_ids = {suite_prompt.prompt.id for suite_prompt in prompts}
    tags = {suite_prompt.tag for suite_prompt in prompts}
    return with_hashes(
        replace(
            whole,
            card=whole.card.model_copy(update={"name": "posters-demo", "title": "Demo leaderboard", "about": ABOUT}),
            tags=tuple(tag for tag in whole.tags if tag.id in tags),
            prompts=prompts,
            points=tuple(point for point in whole.points if point.prompt in prompt_ids),
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


def train_scorer(folder: Path, size: str | None = None) -> tuple[Scorer, HeadFigures]:
    """A scorer that learned from the designers' rankings; and how often it is right where it was not trained."""
    from salon.judge import trained_model as trained
    from salon.train import train_heads as training

    lessons = draw_lessons(folder, size)
    report = training.train_study(
        open_study(lessons), lessons, HEADS, folder / "model", criteria=[CRITERION], overwrite=True
    )
    return trained.trained_scorer(folder / "model", CRITERION), report.validation[0]


def _run_entries(suite: Suite, board: Path, scorer: Scorer | None) -> None:
    generators = make_generators(ENTRIES, [suite_prompt.prompt for suite_prompt in suite.prompts])
    with open_judges(read_roles([], suite), JudgeTerms(), board) as judges:
        run_suite(suite, board, generators, judges, {"eps": scorer} if scorer else {}, licence=LICENCE)


def _remove_other_suite(place: Path, suite: Suite) -> None:
    """Remove the board of an earlier demo that had other prompts or another reference."""
    if is_board(place):
        old_suite = open_board(place).suite
        if old_suite.card.name == suite.card.name and old_suite.hash != suite.hash:
            shutil.rmtree(place)


def _publish_site(folder: Path, axis: str, validation: HeadFigures | None) -> DemoBoard:
    board = open_board(folder / "board")
    build_site(board, folder / "board-site")
    results = [read_result(entry_folder(board, name)) for name in [entry.name for entry in board.entries]]
    entry_results = tuple(result for result in results if result is not None)
    return DemoBoard(entry_results, standings(entry_results, axis), validation)


# -- picks ----------------------------------------------------------------------------------------------------------

GENERATOR = "apprentice"
"""A little of everything goes wrong with its work, so there is something to choose."""
CANDIDATES = 6
FIRST, PICK_EVERY = 5, 60
"""Four of the built-in briefs, none of which the model saw."""
READER = "words"
"""The measurement that reads."""
QUALITY_CRITERIA = (CRITERION, "taste/descriptions-typography")
"""True quality under what is picked by: the look, and the words."""
REFERENCE_ITEMS = 12
"""Judged posters that scores are measured against."""
PICK_NOTE = "the model learned from simulated designers: no person's taste is in these picks"


@dataclass(frozen=True)
class DemoPicks:
    """What was picked, and what it is worth: the mean of look and words."""

    prompts: int
    of: int
    picks: float
    """Mean true quality of the picks."""
    everything: float
    """Of all that was drawn: what the first of each would be worth on average."""
    gain: Estimate
    """Of the picks over all that was drawn of the same prompt."""
    best: float
    """Of the truly best of each."""
    misspelled: int
    """Picks with a misspelling."""
    candidates_misspelled: int
    """Drawings with one."""
    candidates: int
    unread: str = ""
    """Why nothing was read, where the picks are by look alone."""


def pick_best(folder: Path, size: str | None = None) -> DemoPicks:
    """`folder`/best: several drawings of each brief, and the one that the model in `folder`/model picks."""
    place = folder / "best"
    prompts = read_prompts("briefs")[FIRST::PICK_EVERY]
    drawing = GenerateSettings(seeds=CANDIDATES, size=size)
    scorers = [f"model:{folder / 'model'}@{CRITERION}", READER]
    unread, wish = "", BestSettings()
    try:
        lessons = folder / "lessons"
        everyone = [make_scorer(name) for name in scorers]  # a model that is missing is said before posters that are
        table = study_scores(open_study(lessons), lessons, (), ScoreSettings(limit=REFERENCE_ITEMS), scorers=everyone)
        judged_reference = reference_from_scores(table, f"{REFERENCE_ITEMS} posters that the designers judged")
        wish = BestSettings(reference=judged_reference)
    except (MissingExtra, TooFew, NotIdentified) as error:
        unread, scorers = error.needed, scorers[:1]
    notes = [PICK_NOTE, *([f"picked by look alone, so a misspelled headline may win: {unread}"] if unread else [])]
    report = draw_and_pick(prompts, [house_generator(GENERATOR)], drawing, place, scorers, wish, notes=notes)
    write_best(report, place / BEST_FOLDER, place)
    items = {item.id: item for item in open_study(place).nouns("items")}
    layouts = {id: read_layout(place, items[id]) for row in report.picks for id in (item.item for item in row.items)}
    defects = {id: layout.defects for id, layout in layouts.items() if layout is not None}
    worth = {id: fmean(true_quality(some)[criterion] for criterion in QUALITY_CRITERIA) for id, some in defects.items()}
    wrong = {id for id, some in defects.items() if any(defect.kind == "misspelling" for defect in some)}
    of_prompt: dict[str | None, list[float]] = {}
    for id, value in worth.items():
        of_prompt.setdefault(items[id].prompt, []).append(value)
    picks = [row.pick.chosen for row in report.picks if row.pick is not None and row.pick.chosen is not None]
    return DemoPicks(
        prompts=len(picks),
        of=CANDIDATES,
        picks=fmean(worth[id] for id in picks),
        everything=fmean(worth.values()),
        gain=mean_interval([worth[id] - fmean(of_prompt[items[id].prompt]) for id in picks]),
        best=fmean(max(values) for values in of_prompt.values()),
        misspelled=len(wrong & set(picks)),
        candidates_misspelled=len(wrong),
        candidates=len(worth),
        unread=unread,
    )
