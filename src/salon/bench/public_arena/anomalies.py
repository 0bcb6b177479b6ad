"""Who votes unlike all others, and when one generator does unlike its own history.

Three families, a third of `false_alarms` each (`stats.own_slopes`):

    voters       every voter, along: the scores of all (who clicks at random), the side, every style, every generator
    addresses    the same for all voters of one address together, where there are several
    floods       every window of time, along every generator

Expected chances come from all votes; then once more without what was flagged, so that attackers do not hide each other.
A window that holds most of a generator's duels has no history to differ from and is not flagged.

A flag says that votes follow something else, not that a person cheated. What is set aside does not depend on what a
vote says, but on who cast it, or, in a flood, on when and about whom.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.bench.public_arena.votes import number_codes
from salon.stats import SlopeTests, flag_cells, flag_groups, slope_tests
from salon.study import Format, Noun

if TYPE_CHECKING:
    from salon.bench.public_arena.ballots import ArenaField
    from salon.bench.public_arena.settings import PublicArenaSettings
    from salon.bench.public_arena.votes import ArenaDuels, ArenaVotes

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Expected = Callable[[Bools], tuple[Floats, Floats, Floats, Floats]]
"""Log-odds, chance to win, chance of a tie, and styles of every duel, by the duels that are kept."""
ROUNDS = 2
UNKNOWN_SPREAD = 0.5
"""How much voters are taken to differ, in logits, while they are too few to tell."""


class FlaggedVoter(Noun):
    """A voter whose votes differ from all others, or whose address's do."""

    voter: int = Field(description="Number in the database; it is in no release.")
    votes: int = Field(description="Duels that the direction concerns.")
    follows: str = Field(description="What the votes follow: a generator, a style, the left side, against all others.")
    slope: Annotated[float, Format("number", 2)] = Field(title="Logits", description="By how much, for one unit of it.")
    p: Annotated[float, Format("p")] = Field(description="Bound on the chance of votes as far out, before correction.")
    by: str = Field(description="'voter', or 'address': all voters of one address together.")


class Flood(Noun):
    """A window of time in which one generator won or lost unlike its own history."""

    generator: str = Field(description="Which.")
    start: int = Field(description="Begin of the window, milliseconds since 1970.")
    minutes: int = Field(description="Its length.")
    votes: int = Field(description="Duels with the generator in it.")
    slope: Annotated[float, Format("number", 2)] = Field(title="Logits", description="By how much it did better.")
    p: Annotated[float, Format("p")] = Field(description="Bound on the chance of votes as far out, before correction.")


@dataclass(frozen=True)
class Anomalies:
    """What stands out, and which duels are left without it."""

    voters: tuple[FlaggedVoter, ...]
    floods: tuple[Flood, ...]
    kept: Bools
    tested: int
    """Voters with a duel."""
    spread: dict[str, float]
    """How much honest voters differ along each direction, in logits."""


def find_anomalies(
    votes: ArenaVotes,
    duels: ArenaDuels,
    field: ArenaField,
    settings: PublicArenaSettings,
    addresses: dict[int, str],
    expected: Expected,
) -> Anomalies:
    """Test voters, addresses and windows, twice; `expected` gives chances by the duels that are kept."""
    alone = np.flatnonzero(duels.alone)  # the tests take every duel for itself
    present, whose = number_codes(votes.voter[duels.vote])
    when = votes.at[duels.vote] // (settings.window_minutes * 60_000)
    first, second = field.generator[duels.a], field.generator[duels.b]
    outcome = duels.outcome[alone]
    y = np.where(outcome == 0, 1.0, np.where(outcome == 1, 0.0, 0.5))
    a, b, voter, window = first[alone], second[alone], whose[alone], when[alone]
    with_duels, tested = number_codes(voter)
    number_of = present[with_duels]
    address = _address_codes(present, voter, addresses)
    level, n = settings.false_alarms / 3, len(field.generators)
    flagged: dict[int, FlaggedVoter] = {}
    floods: dict[tuple[int, int], Flood] = {}
    kept, spread = np.ones(len(duels), np.bool_), dict[str, float]()
    for _ in range(ROUNDS):
        d, win, tie, z = (part[alone] for part in expected(kept))
        table = np.column_stack([d, duels.side[alone], z])
        names = ["all others", "the left side", *(f"style {k + 1}" for k in range(z.shape[1])), *field.generators]
        tests = slope_tests(tested, y, win, tie, table, a=a, b=b, items=n, unknown=UNKNOWN_SPREAD)
        known = tests.spread
        spread = dict(zip(names, tests.spread.tolist()))
        for row in _flagged_rows(tests, level):
            number = int(number_of[tests.group[row]])
            flagged.setdefault(number, _flag(tests, row, number, names, "voter"))
        rows = np.flatnonzero(address >= 0)
        if len(rows):
            shared, code = number_codes(address[rows])
            tests = slope_tests(code, y[rows], win[rows], tie[rows], table[rows], a=a[rows], b=b[rows], items=n,
                                parts=tested[rows], known=known)  # fmt: skip
            for row in _flagged_rows(tests, level):
                for number in np.unique(present[voter[address == shared[tests.group[row]]]]).tolist():
                    flagged.setdefault(number, _flag(tests, row, number, names, "address"))
        calm = ~np.isin(present, list(flagged))[whose]
        floods |= _floods(window, y, win, tie, a, b, calm[alone], field, settings, level, tested, known[-n:])
        before, kept = kept, calm & ~_in_flood(when, first, second, floods)
        if (before == kept).all() or not kept.any():
            break
    return Anomalies(
        voters=tuple(sorted(flagged.values(), key=lambda voter: voter.p)),
        floods=tuple(sorted(floods.values(), key=lambda flood: (flood.start, flood.p))),
        kept=kept if kept.any() else np.ones(len(duels), np.bool_),
        tested=len(present),
        spread=spread,
    )


def _address_codes(present: Ints, voter: Ints, addresses: dict[int, str]) -> Ints:
    """The address of each duel as a number, where several voters share it; else -1."""
    names = [addresses.get(number, f"voter {number}") for number in present.tolist()]
    _, code, voters = np.unique(names, return_inverse=True, return_counts=True)
    return np.asarray(np.where(voters[code] > 1, code, -1)[voter], np.int64)


def _flagged_rows(tests: SlopeTests, level: float) -> list[int]:
    """Of each flagged group its row with the smallest p."""
    groups = flag_groups(tests, level=level)
    best: dict[int, int] = {}
    for row in np.argsort(tests.p, kind="stable").tolist():
        group = int(tests.group[row])
        if groups[group]:
            best.setdefault(group, row)
    return list(best.values())


def _flag(tests: SlopeTests, row: int, number: int, names: list[str], by: str) -> FlaggedVoter:
    slope = float(tests.slope[row])
    word = names[tests.direction[row]]
    return FlaggedVoter(
        voter=number,
        votes=int(tests.votes[row]),
        follows=f"against {word}" if slope < 0 else word,
        slope=slope,
        p=float(tests.p[row]),
        by=by,
    )


def _floods(
    window: Ints,
    y: Floats,
    win: Floats,
    tie: Floats,
    a: Ints,
    b: Ints,
    calm: Bools,
    field: ArenaField,
    settings: PublicArenaSettings,
    level: float,
    voter: Ints,
    known: Floats,
) -> dict[tuple[int, int], Flood]:
    """Flagged windows of generators, by window and generator."""
    if not calm.any():
        return {}
    starts, code = number_codes(window[calm])
    nothing = np.empty((int(calm.sum()), 0))
    tests = slope_tests(code, y[calm], win[calm], tie[calm], nothing, a=a[calm], b=b[calm], items=len(field.generators),
                        parts=voter[calm], known=known)  # fmt: skip
    duels = np.bincount(np.concatenate([a[calm], b[calm]]), minlength=len(field.generators))
    rows = [
        row for row in np.flatnonzero(flag_cells(tests, level=level)).tolist()
        if tests.votes[row] <= duels[tests.direction[row]] / 2  # a window that is most of the history has none
    ]  # fmt: skip
    return {
        (int(starts[tests.group[row]]), int(tests.direction[row])): Flood(
            generator=field.generators[tests.direction[row]],
            start=int(starts[tests.group[row]]) * settings.window_minutes * 60_000,
            minutes=settings.window_minutes,
            votes=int(tests.votes[row]),
            slope=float(tests.slope[row]),
            p=float(tests.p[row]),
        )
        for row in rows
    }


def _in_flood(window: Ints, a: Ints, b: Ints, floods: dict[tuple[int, int], Flood]) -> Bools:
    """Duels with a flooded generator in its window."""
    inside = np.zeros(len(window), np.bool_)
    for start, generator in floods:
        inside |= (window == start) & ((a == generator) | (b == generator))
    return inside
