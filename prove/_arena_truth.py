"""The houses' known order, and what an arena of simulated designers makes of it.

Only records of posters are written, no pictures: simulated designers read nothing else.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np

from salon.bench import ArenaBoard, ArenaSnapshot, RoutingJob, arena_snapshot
from salon.bench.arena_fit import ALIKE, LOGIT
from salon.collect import DesignerSettings, designers_study
from salon.generate.houses import HOUSES, House, expected_quality, poster_seed
from salon.render import Brief, Layout
from salon.render.layout import Defect, LayoutGrid
from salon.stats import Estimate
from salon.store import save_study
from salon.study import Item, Prompt, Study, builtin_criterion

Figures = dict[tuple[str, ...], Estimate]
Protocol = Literal["rankings", "comparisons"]
PROTOCOLS: tuple[Protocol, ...] = ("rankings", "comparisons")
WITHIN = 1e-3
"""Expected qualities nearer than this are the same."""
POOL, SIZES, STUDIES = 192, (12, 24), 8
"""Prompts that a panel judges, prompts of the studies made of them, and studies of each size."""
FIRST = {"rankings": "items", "comparisons": "a", "ratings": "item"}
"""Columns with the first item of an answer."""


def recorded_posters(folder: Path, prompts: int, *, seed: int) -> Path:
    """A study folder with one poster of every house for every prompt, each only as its record."""
    names = [f"brief-{number:03}" for number in range(prompts)]
    asked = [Prompt(id=prompt, text="a poster") for prompt in names]
    items = [
        Item(id=f"{prompt}--{house}", prompt=prompt, generator=house, image=f"images/{house}/{prompt}.png")
        for prompt in names
        for house in HOUSES
    ]
    criteria = [builtin_criterion("taste/mood")]
    save_study(Study.build("houses", criteria, tables={"prompts": asked, "items": items}), folder)
    for item in items:
        place = (folder / "layouts" / Path(str(item.image)).relative_to("images")).with_suffix(".json")
        place.parent.mkdir(parents=True, exist_ok=True)
        record = _record(HOUSES[str(item.generator)], str(item.prompt), seed).record()
        place.write_text(json.dumps(record), encoding="utf-8")
    return folder


def _record(house: House, prompt: str, seed: int) -> Layout:
    """The record of a poster on which nothing stands but what is wrong with it."""
    own = poster_seed(house.name, prompt, seed)
    styles = house.habits.styles or ("Minimalist",)
    return Layout(
        width=64,
        height=64,
        house=house.name,
        seed=own,
        style=styles[own % len(styles)],
        arrangement="stack",
        palette={},
        grid=LayoutGrid(margin=4, columns=1, gutter=0, baseline=4),
        brief=Brief(id=prompt, headline="Open house"),
        elements=(),
        defects=tuple(
            Defect(kind=kind, strength=strength, detail="planted") for kind, strength in house.knobs(own).items()
        ),
    )


@dataclass(frozen=True)
class Recovered:
    """One board against the houses' expected qualities."""

    criterion: str
    pairs: int
    """Pairs of houses whose expected qualities differ ..."""
    right: int
    """... of which the board has so many in that order ..."""
    sure: int
    """... so many of them beyond the interval of their duel ..."""
    wrong: int
    """... and so many the other way round beyond theirs."""
    ranked: bool | None
    """Whether the range of ranks of every house meets that of its true ones; None on a board without such ranges."""
    best: bool | None
    """Whether a house of the highest quality is in tier 1; None on a board without tiers."""


def recovered(board: ArenaBoard) -> Recovered:
    """What one board got of the expected order; houses of one quality have no order to get."""
    truth = {name: expected_quality(house)[board.criterion] for name, house in HOUSES.items()}
    found = [_pair(board, *pair, truth) for pair in combinations(truth, 2)]
    told = [one for one in found if one is not None]
    return Recovered(
        criterion=board.criterion,
        pairs=len(told),
        right=sum(value > 0.5 for value, _, _ in told),
        sure=sum(low > 0.5 for _, low, _ in told),
        wrong=sum(high < 0.5 for _, _, high in told),
        ranked=_ranked(board, truth),
        best=_best(board, truth),
    )


def _ranked(board: ArenaBoard, truth: dict[str, float]) -> bool | None:
    ranges = [(place.generator, place.rank_low, place.rank_high) for place in board.places]
    if any(low is None or high is None for _, low, high in ranges):
        return None
    return all(low <= _most(truth, name) and high >= _least(truth, name) for name, low, high in ranges)


def _best(board: ArenaBoard, truth: dict[str, float]) -> bool | None:
    if any(place.tier is None for place in board.places):
        return None
    top = max(truth.values())
    return any(place.tier == 1 and truth[place.generator] > top - WITHIN for place in board.places)


def _pair(board: ArenaBoard, one: str, other: str, truth: dict[str, float]) -> tuple[float, float, float] | None:
    """Chance of the better house against the other with its interval; None where they are equally good."""
    if abs(truth[one] - truth[other]) < WITHIN:
        return None
    better, worse = (one, other) if truth[one] > truth[other] else (other, one)
    duel = board.matrix.duel(better, worse)
    figure = duel.fitted or duel.share
    return figure.value, figure.low, figure.high


def _least(truth: dict[str, float], name: str) -> int:
    """The best rank a house has in truth; houses of one quality share a range of ranks."""
    return 1 + sum(value > truth[name] + WITHIN for value in truth.values())


def _most(truth: dict[str, float], name: str) -> int:
    """The worst one."""
    return sum(value > truth[name] - WITHIN for value in truth.values())


def snapshot_recovered(snapshot: ArenaSnapshot) -> list[Recovered]:
    """Every board over all categories that has places."""
    return [recovered(board) for board in snapshot.boards if board.category is None and board.places]


# -- panels, and studies made of what they said ------------------------------------------------------------------------


@dataclass(frozen=True)
class Judged:
    """What one panel said, fitted at once and in parts."""

    panel: int
    protocol: Protocol
    pool: ArenaSnapshot
    studies: dict[int, list[ArenaSnapshot]]
    """By number of prompts; studies of one size share none."""


def judged_panel(task: tuple[int, Protocol]) -> Judged:
    """A panel with prompts of its own."""
    panel, protocol = task
    with TemporaryDirectory() as home:
        folder = recorded_posters(Path(home) / "houses", POOL, seed=panel)
        study = designers_study(folder, DesignerSettings(seed=panel, protocol=protocol))
    every = study.ids("criteria").to_pylist()  # named, so that flags have a board too
    studies = {size: [arena_snapshot(one, criteria=every) for one in parts(study, size)] for size in SIZES}
    return Judged(panel, protocol, arena_snapshot(study, criteria=every), studies)


def parts(study: Study, size: int) -> list[Study]:
    """Studies of `size` prompts each; the first prompts first, none in two of them."""
    prompts = study.ids("prompts").to_pylist()
    numbers = {prompt: number for number, prompt in enumerate(prompts)}
    of_item = {item.id: numbers[str(item.prompt)] for item in study.nouns("items")}
    places = {"prompts": np.arange(len(prompts)), "items": np.array(list(of_item.values()))}
    for kind in FIRST:
        if study.counts.get(kind):
            first = (
                one if isinstance(one, str) else one[0] for one in study.table(kind).column(FIRST[kind]).to_pylist()
            )
            places[kind] = np.array([of_item[item] for item in first])
    return [
        Study.build(
            f"{study.name}-{number}",
            study.criteria,
            tables={"raters": study.table("raters")}
            | {kind: study.table(kind).filter(own // size == number) for kind, own in places.items()},
            **{name: getattr(study, name) for name in ("compare_within", "cohorts", "design", "simulated")},
        )
        for number in range(STUDIES)
    ]


# -- what intervals are held against -----------------------------------------------------------------------------------


def _boards(snapshot: ArenaSnapshot) -> list[ArenaBoard]:
    """Those with scores in logits."""
    return [board for board in snapshot.boards if board.places and board.scale == LOGIT]


def scores(snapshot: ArenaSnapshot) -> Figures:
    """(criterion, house) to its score."""
    return {(board.criterion, place.generator): place.score for board in _boards(snapshot) for place in board.places}


def chances(snapshot: ArenaSnapshot) -> Figures:
    """(criterion, house, house) to the chance of the first against the second by their scores."""
    return {
        (board.criterion, one, other): duel.fitted
        for board in _boards(snapshot)
        for one, other in combinations(HOUSES, 2)
        if board.matrix and (duel := board.matrix.duel(one, other)) and duel.fitted
    }


def weighed(snapshot: ArenaSnapshot) -> Figures:
    """House to its score for the job in which all criteria count alike."""
    return {(one.generator,): one.score for job in _alike(snapshot) for one in job.candidates}


def _alike(snapshot: ArenaSnapshot) -> list[RoutingJob]:
    return [job for job in snapshot.routing.jobs if job.name == ALIKE and job.category is None]


def leads(snapshot: ArenaSnapshot) -> Figures:
    """(first, second) of the job in which all criteria count alike, to the lead of the first."""
    return {
        tuple(one.generator for one in job.candidates[:2]): job.margin
        for job in _alike(snapshot)
        if job.margin is not None
    }


def reversed_pairs(snapshot: ArenaSnapshot) -> dict[tuple[str, str, str], float]:
    """(criterion, better house, worse house) to the chance of the better one, where that is surely below one half."""
    found = {}
    for board in snapshot.boards:
        truth = {name: expected_quality(house)[board.criterion] for name, house in HOUSES.items()}
        for one, other in combinations(truth, 2):
            told = _pair(board, one, other, truth) if board.places and board.category is None else None
            if told is not None and told[2] < 0.5:
                better, worse = sorted((one, other), key=truth.__getitem__, reverse=True)
                found[board.criterion, better, worse] = told[0]
    return found
