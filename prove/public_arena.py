"""A public arena under attack: a million simulated votes, and how often honest voters are flagged.

Writes docs/evidence/public-arena.md.

python -m prove.public_arena [votes] [honest arenas]
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from salon.bench.arena_covariates import Covariates
from salon.bench.public_arena.ballots import ArenaField, arena_field
from salon.bench.public_arena.live_board import LiveBoard, RefitResult, fit_live_board
from salon.bench.public_arena.settings import PublicArenaSettings
from salon.bench.public_arena.votes import ArenaVotes, join_votes
from salon.stats import count_pairs, pair_chances, pair_posterior, pair_probabilities
from salon.study import Criterion, Item, Prompt, Study

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
OUT = Path(__file__).parents[1] / "docs/evidence/public-arena.md"
SEED, VOTES, ARENAS = 2026, 1_000_000, 200
GENERATORS, PROMPTS, DAYS = 50, 40, 30
TASTE, STYLE, OWN_STYLE, NU, POINTS = 0.5, 0.3, 0.3, 0.3, 400 / np.log(10)
"""How honest voters differ in each generator; what brightness is worth to all, and how much that differs; ties."""
ATTACKERS = 0.05
TARGET = 30
"""The generator that attackers push: the thirty-first of fifty."""
EACH, ATTACKER_EACH = 50, 200
"""Votes of an honest voter and of an attacker, on average."""
BURST_MS = 2 * 3_600_000


@dataclass(frozen=True)
class World:
    """Generators with known scores, and the pictures of an arena."""

    field: ArenaField
    scores: Floats
    bright: Floats
    """(items,)"""
    covariates: Covariates


def world(generators: int, rng: np.random.Generator) -> World:
    """Better generators are somewhat brighter, and every picture has a brightness of its own."""
    scores = np.linspace(1.2, -1.2, generators)
    items = [
        Item(id=f"p{p}-g{g:02}", prompt=f"p{p}", generator=f"g{g:02}", image="x.png")
        for p in range(PROMPTS)
        for g in range(generators)
    ]
    prompts = [Prompt(id=f"p{p}", text="x") for p in range(PROMPTS)]
    study = Study.build("arena", [Criterion(id="best")], tables={"prompts": prompts, "items": items})
    field = arena_field(study, study.criteria[0], {item.id: at + 1 for at, item in enumerate(items)})
    bright = 0.4 * scores[field.generator] + rng.standard_normal(len(items))
    covariates = Covariates({"brightness": bright}, {"brightness": float(bright.std())}, False, {})
    return World(field, scores, bright / bright.std(), covariates)


def cast(
    world: World,
    voter: Ints,
    at: Ints,
    chances: Floats,
    even: Floats,
    strategy: str,
    rng: np.random.Generator,
) -> ArenaVotes:
    """Votes of `voter`s by one strategy on ballots dealt by `chances`."""
    n, votes = len(world.scores), len(voter)
    i, j = np.triu_indices(n, 1)
    pair = rng.choice(len(i), votes, p=chances[i, j] / chances[i, j].sum())
    turned = rng.random(votes) < 0.5
    first, second = np.where(turned, j[pair], i[pair]), np.where(turned, i[pair], j[pair])
    prompt = rng.integers(PROMPTS, size=votes)
    left, right = prompt * n + first, prompt * n + second
    styled = world.bright[left] - world.bright[right]
    d = world.scores[first] - world.scores[second] + STYLE * styled
    _, who = np.unique(voter, return_inverse=True)
    own = rng.standard_normal((who.max() + 1, n)).astype(np.float32)
    d = d + TASTE * (own[who, first] - own[who, second])
    d = d + OWN_STYLE * rng.standard_normal(who.max() + 1)[who] * styled
    win, tie, _ = pair_probabilities("davidson", d, NU)
    u = rng.random(votes)
    honest = np.where(u < win, 0, np.where(u < win + tie, 2, 1))
    answer = honest
    if strategy in ("one generator", "burst"):
        answer = np.where(first == TARGET, 0, np.where(second == TARGET, 1, honest))
    elif strategy == "random":
        answer = rng.integers(2, size=votes)
    elif strategy == "style":
        answer = np.where(styled > 0, 0, 1)
    shown = np.full((votes, 4), -1, np.int64)
    shown[:, 0], shown[:, 1] = left + 1, right + 1
    return ArenaVotes(
        number=np.arange(votes),
        voter=voter,
        at=at,
        shown=shown,
        answer=answer.astype(np.int64),
        chance=chances[first, second],
        even=even[first, second],
        seconds=np.full(votes, 4.0),
        repeated=np.zeros(votes, np.bool_),
    )


def people(votes: int, each: int, start: int, rng: np.random.Generator) -> Ints:
    """Who casts each vote: some voters cast many, most few."""
    voters = max(2, votes // each)
    share = rng.gamma(1.0, size=voters) + 0.2
    return start + rng.choice(voters, votes, p=share / share.sum())


def honest_arena(world: World, votes: int, rng: np.random.Generator) -> tuple[ArenaVotes, Floats, Floats]:
    """Votes in ten batches over a month, each dealt by the design of those before; the last chances, and even ones."""
    even = pair_chances(None, world.field.possible, random=1)
    chances, parts = even, []
    voter = people(votes, EACH, 0, rng)
    at = np.sort(rng.integers(DAYS * 86_400_000, size=votes))
    counted = None
    for rows in np.array_split(np.arange(votes), 10):
        parts.append(cast(world, voter[rows], at[rows], chances, even, "honest", rng))
        counted = join_votes(parts)
        n = len(world.scores)
        a, b = (counted.shown[:, 0] - 1) % n, (counted.shown[:, 1] - 1) % n
        known = pair_posterior(count_pairs(a, b, counted.answer, n), prior=3.0)
        chances = pair_chances(known, world.field.possible, random=0.2)
    assert counted is not None
    return counted, chances, even


def attack(world: World, strategy: str, votes: int, start: int, dealt: tuple[Floats, Floats], each: int,
           rng: np.random.Generator) -> ArenaVotes:  # fmt: skip
    """Votes of attackers: over the month, or all within two hours."""
    begin = rng.integers((DAYS - 1) * 86_400_000)
    span = (begin, begin + BURST_MS) if strategy == "burst" else (0, DAYS * 86_400_000)
    at = rng.integers(*span, size=votes)
    return cast(world, people(votes, each, start, rng), at, *dealt, strategy, rng)


# -- figures -----------------------------------------------------------------------------------------------------------


def points_off(board: LiveBoard, world: World, *, everyone: bool) -> tuple[float, float]:
    """Root mean square error of all scores in points, and the error of the target alone."""
    places = board.everyone if everyone else board.places
    order = {name: at for at, name in enumerate(world.field.generators)}
    errors = np.zeros(len(world.scores))
    for place in places:
        errors[order[place.generator]] = POINTS * (place.score.value - world.scores[order[place.generator]])
    errors -= errors.mean()
    return float(np.sqrt((errors**2).mean())), float(errors[TARGET])


def refit(world: World, votes: ArenaVotes) -> RefitResult:
    """The board of these votes, with all defences."""
    settings = PublicArenaSettings(covariates=("brightness",), least_votes=1)
    return fit_live_board(votes, world.field, settings, covariates=world.covariates, at=0)


def calibrated(world: World, votes: int, rng: np.random.Generator) -> World:
    """The same world with the scores that endlessly many honest votes would give: voters' own tastes shrink them."""
    even = pair_chances(None, world.field.possible, random=1)
    many = cast(world, np.arange(votes), np.zeros(votes, np.int64), even, even, "honest", rng)
    board = refit(world, many).board
    order = {name: at for at, name in enumerate(world.field.generators)}
    scores = np.zeros(len(world.scores))
    for place in board.everyone:
        scores[order[place.generator]] = place.score.value
    return replace(world, scores=scores)


def attack_rows(votes: int) -> list[list[str]]:
    """One row for each strategy, on the same honest votes."""
    rng = np.random.default_rng([SEED, 0])
    plain = world(GENERATORS, rng)
    truth = calibrated(plain, 2 * votes, np.random.default_rng([SEED, 1]))
    honest, *dealt = honest_arena(plain, round(votes * (1 - ATTACKERS)), rng)
    start = int(honest.voter.max()) + 1
    rows = []
    cases = (
        ("nobody", 0), ("one generator", ATTACKER_EACH), ("one generator", EACH), ("random", ATTACKER_EACH),
        ("burst", EACH), ("style", ATTACKER_EACH), ("all four at once", ATTACKER_EACH),
    )  # fmt: skip
    for strategy, each in cases:
        attackers = round(votes * ATTACKERS)
        kinds = ("one generator", "random", "burst", "style") if strategy.startswith("all") else (strategy,)
        parts = [honest]
        for kind in kinds if strategy != "nobody" else ():
            begin = int(parts[-1].voter.max()) + 1
            parts.append(attack(plain, kind, attackers // len(kinds), begin, tuple(dealt), each, rng))
        both = join_votes(parts)
        both = replace(both, number=np.arange(len(both)))
        begun = time.perf_counter()
        result = refit(plain, both)
        seconds = time.perf_counter() - begun
        flagged = {voter.voter for voter in result.anomalies.voters}
        bad = len({voter for voter in flagged if voter >= start})
        present = np.unique(both.voter)
        attacking, others = int((present >= start).sum()), int((present < start).sum())
        without, with_defences = (points_off(result.board, truth, everyone=side) for side in (True, False))
        rows.append([
            f"{strategy}, {each} votes each" if each else strategy,
            f"{without[0]:.1f}", f"{with_defences[0]:.1f}", f"{without[1]:+.1f}", f"{with_defences[1]:+.1f}",
            f"{bad:,} of {attacking:,}", f"{len(flagged) - bad:,} of {others:,}",
            f"{len(result.board.floods)}", f"{100 * result.board.set_aside / len(both):.1f}", f"{seconds:.1f}",
        ])  # fmt: skip
        print(rows[-1], flush=True)
    return rows


if __name__ == "__main__":
    attack_rows(int(sys.argv[1]))
