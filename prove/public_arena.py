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

from prove._page import table, wrapped
from salon.bench.arena_covariates import Covariates
from salon.bench.public_arena.ballots import ArenaField, arena_field
from salon.bench.public_arena.live_board import (
    LiveBoard,
    RefitResult,
    fit_arena,
    fit_live_board,
    style_differences,
)
from salon.bench.public_arena.settings import PublicArenaSettings
from salon.bench.public_arena.votes import ArenaVotes, arena_duels, join_votes
from salon.stats import count_pairs, pair_chances, pair_posterior, pair_probabilities
from salon.study import Criterion, Item, Prompt, Study

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
OUT = Path(__file__).parents[1] / "docs/evidence/public-arena.md"
SEED, VOTES, ARENAS = 2026, 1_000_000, 100
GENERATORS, PROMPTS, DAYS = 50, 40, 30
TASTE, STYLE, OWN_STYLE, NU, POINTS = 0.5, 0.3, 0.3, 0.3, 400 / np.log(10)
"""How honest voters differ in each generator; what brightness is worth to all, and how much that differs; ties."""
ATTACKERS = 0.05
TARGET = 30
"""The generator that attackers push: the thirty-first of fifty."""
EACH = 50
"""Votes of an honest voter, on average."""
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
    own = rng.standard_normal((who.max() + 1, n), dtype=np.float32)
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


def refit(
    world: World, votes: ArenaVotes, addresses: dict[int, str] | None = None, *, even: bool = True
) -> RefitResult:
    """The board of these votes, with all defences."""
    settings = PublicArenaSettings(covariates=("brightness",), least_votes=1, even=even)
    return fit_live_board(votes, world.field, settings, covariates=world.covariates, addresses=addresses, at=0)


def calibrated(world: World, votes: int, rng: np.random.Generator) -> World:
    """The same world with the scores that endlessly many honest votes would give: voters' own tastes shrink them."""
    even = pair_chances(None, world.field.possible, random=1)
    rows = np.array_split(np.arange(votes), max(1, votes // 100_000))
    parts = [cast(world, part, np.zeros(len(part), np.int64), even, even, "honest", rng) for part in rows]
    many = join_votes(parts)
    duels = arena_duels(many, world.field)
    z, names = style_differences(duels, world.field, world.covariates)
    settings = PublicArenaSettings()
    fit = fit_arena(duels, z, names, np.ones(len(duels)), world.field, many, settings, errors=False)
    scores = np.zeros(len(world.scores))
    scores[fit.present] = fit.fit.scores
    return replace(world, scores=scores)


@dataclass(frozen=True)
class Case:
    """One attack."""

    name: str
    strategy: str
    each: int
    """Votes of an attacker, on average."""
    shared: int = 1
    """Attackers behind one address."""


CASES = (
    Case("nobody", "honest", EACH),
    Case("always one generator, heavy voters", "one generator", 1000),
    Case("always one generator, light voters", "one generator", EACH),
    Case("the same, 20 voters an address", "one generator", EACH, 20),
    Case("answers at random", "random", 200),
    Case("a burst for one generator", "burst", EACH),
    Case("follows brightness", "style", 200),
)


def attack_rows(votes: int) -> list[list[str]]:
    """One row for each attack, on the same honest votes."""
    rng = np.random.default_rng([SEED, 0])
    plain = world(GENERATORS, rng)
    truth = calibrated(plain, 2 * votes, np.random.default_rng([SEED, 1]))
    honest, *dealt = honest_arena(plain, round(votes * (1 - ATTACKERS)), rng)
    start = int(honest.voter.max()) + 1
    rows = []
    for case in CASES:
        parts, addresses = [honest], dict[int, str]()
        if case.name != "nobody":
            parts.append(attack(plain, case.strategy, round(votes * ATTACKERS), start, tuple(dealt), case.each, rng))
            attackers = np.unique(parts[-1].voter).tolist()
            addresses = {voter: f"address {at // case.shared}" for at, voter in enumerate(attackers)}
        both = join_votes(parts)
        both = replace(both, number=np.arange(len(both)))
        begun = time.process_time()
        result = refit(plain, both, addresses)
        seconds = time.process_time() - begun
        assert result.anomalies is not None
        flagged = {voter.voter for voter in result.anomalies.voters}
        bad = sum(voter >= start for voter in flagged)
        present = np.unique(both.voter)
        attacking, others = int((present >= start).sum()), int((present < start).sum())
        without, with_defences = (points_off(result.board, truth, everyone=side) for side in (True, False))
        rows.append([
            case.name, f"{attacking:,}", f"{without[0]:.1f}", f"{with_defences[0]:.1f}", f"{without[1]:+.1f}",
            f"{with_defences[1]:+.1f}", f"{bad:,}", f"{len(flagged) - bad:,} of {others:,}",
            f"{len(result.board.floods)}", f"{100 * result.board.set_aside / len(both):.1f}", f"{seconds:.1f}",
        ])  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def alarm_rows(arenas: int) -> list[list[str]]:
    """How often something is flagged where nobody attacks: at the end, and at any of ten looks on the way."""
    rows = []
    for generators, votes, each in ((8, 4_000, 40), (20, 20_000, 50), (20, 20_000, 400)):
        end, ever, people_flagged, voters, floods = 0, 0, 0, 0, 0
        for number in range(arenas):
            rng = np.random.default_rng([SEED, 2, generators, each, number])
            plain = world(generators, rng)
            even = pair_chances(None, plain.field.possible, random=1)
            voter, at = people(votes, each, 0, rng), np.sort(rng.integers(DAYS * 86_400_000, size=votes))
            cast_votes = cast(plain, voter, at, even, even, "honest", rng)
            shared = {int(name): f"address {name // 10}" for name in np.unique(voter)}
            alarms = []
            for look in range(1, 11) if number < arenas // 4 else (10,):
                found = refit(plain, cast_votes.among(np.arange(votes * look // 10)), shared).anomalies
                assert found is not None
                alarms.append(bool(found.voters or found.floods))
            ever += any(alarms) if number < arenas // 4 else 0
            end += alarms[-1]
            people_flagged += len(found.voters)
            voters += found.tested
            floods += len(found.floods)
        rows.append([
            f"{generators}", f"{votes:,}", f"{votes // each:,}", f"{100 * end / arenas:.1f}",
            f"{100 * ever / (arenas // 4):.1f}", f"{people_flagged:,} of {voters:,}", f"{floods}",
        ])  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def design_rows(votes: int) -> list[list[str]]:
    """The widest and the mean interval by the design and by even dealing, one generator coming late."""
    rows = []
    cases = (
        ("even dealing", 1.0, True),
        ("the design, 20% random", 0.2, True),
        ("the same, votes not weighed", 0.2, False),
    )
    for name, random, weighed in cases:
        rng = np.random.default_rng([SEED, 3])
        plain = world(20, rng)
        even = pair_chances(None, plain.field.possible, random=1)
        old = plain.field.possible.copy()
        old[TARGET % 20], old[:, TARGET % 20] = False, False
        chances, parts, voter = pair_chances(None, old, random=1), [], people(votes, EACH, 0, rng)
        for step, rows_ in enumerate(np.array_split(np.arange(votes), 20)):
            can = old if step < 10 else plain.field.possible
            at = np.full(len(rows_), step * 86_400_000)
            if step:
                both = join_votes(parts)
                a, b = (both.shown[:, 0] - 1) % 20, (both.shown[:, 1] - 1) % 20
                known = pair_posterior(count_pairs(a, b, both.answer, 20), prior=3.0)
                chances = pair_chances(known, can, random=random)
            parts.append(cast(plain, voter[rows_], at, chances, even, "honest", rng))
        both = join_votes(parts)
        board = refit(plain, replace(both, number=np.arange(len(both))), even=weighed).board
        widths = np.array([place.points.high - place.points.low for place in board.everyone if place.points])
        late = next(place for place in board.everyone if place.generator == plain.field.generators[TARGET % 20])
        assert late.points is not None
        width = (late.points.high or 0) - (late.points.low or 0)
        rows.append([name, f"{widths.mean():.1f}", f"{widths.max():.1f}", f"{width:.1f}", f"{late.n:,}"])
        print(rows[-1], flush=True)
    return rows


# -- the page ----------------------------------------------------------------------------------------------------------

HEAD = """
Simulated, nobody was asked. Honest voters differ in how they like each generator (standard deviation {taste} logits)
and in how much brightness moves them ({own} about {style} for a standard deviation); ties by Davidson's model; votes
come over {days} days in ten batches, each dealt by the design of those before. The truth is the fit to twice as many
honest votes under even dealing.
"""
ATTACK = """
{votes:,} votes of {generators} generators, {share:.0%} of them by attackers; honest voters give {each} on average.
**without**: all votes count. **with**: what the anomaly report flags is set aside (`--exclude flagged`). Error: root
mean square over all generators, in points, then the error of the generator that attackers push. The refit has one
style covariate, both boards, all tests twice and the next design; loading the votes comes on top.
"""
ALARM = """
{arenas} honest arenas a row; ten voters share an address. **end**: share of arenas with any flag after the last vote,
to be at most 5%. **ever**: the same at any of ten looks on the way ({quarter} arenas): a report that is read again and
again has more chances to be wrong.
"""
DESIGN = """
{votes:,} votes of 20 generators, one of which comes when half of the votes are in. Width of 95% intervals in points.
"""


def main(votes: int, arenas: int) -> None:
    see = f"Written by `make prove ONLY=public_arena` (seed {SEED}); see [arena](../methods/arena.md#a-public-arena)."
    attacked = ["attack", "attackers", "error without", "with", "target without", "with", "attackers flagged",
                "honest flagged", "floods", "% set aside", "refit, CPU s"]  # fmt: skip
    design_votes = min(votes, 40_000)
    parts = [
        f"# A public arena under attack\n\n{see}\n",
        wrapped(HEAD.format(taste=TASTE, own=OWN_STYLE, style=STYLE, days=DAYS)) + "\n",
        "## Attacks\n\n"
        + wrapped(ATTACK.format(votes=votes, generators=GENERATORS, share=ATTACKERS, each=EACH)) + "\n",
        table(attacked, attack_rows(votes)),
        f"## False alarms\n\n{wrapped(ALARM.format(arenas=arenas, quarter=arenas // 4))}\n",
        table(["generators", "votes", "voters", "end, %", "ever, %", "voters flagged", "floods"], alarm_rows(arenas)),
        f"## The design\n\n{wrapped(DESIGN.format(votes=design_votes))}\n",
        table(["dealing", "mean", "widest", "the late one", "its votes"], design_rows(design_votes)),
    ]  # fmt: skip
    OUT.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {OUT.name}")


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(given[0] if given else VOTES, given[1] if len(given) > 1 else ARENAS)
