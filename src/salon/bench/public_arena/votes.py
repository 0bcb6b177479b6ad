"""The votes of a public arena as columns, and the duels that they say.

An answer is one number. Of two pictures: 0 the left one, 1 the right one, 2 tie, 3 both bad. Of four: the places that
were put in order, best first, as digits (3: the third is best; 3142: the whole order), 0: all bad.

A ballot of four gives a duel for every pair that it orders: each picture that was placed, against all that were not
placed before it. Under Plackett-Luce each such pair follows Bradley-Terry (a pick of the best orders the pairs that
hold it), so scores stay consistent; the duels of one ballot depend on each other, which errors over voters allow for.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from salon.errors import BadValue

if TYPE_CHECKING:
    from salon.bench.public_arena.ballots import ArenaField
    from salon.store import Database

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
LEFT, RIGHT, TIE, BOTH_BAD = 0, 1, 2, 3
WORDS = {"left": LEFT, "right": RIGHT, "tie": TIE, "both_bad": BOTH_BAD}
NONE_GOOD = 0
"""Of four: all bad."""


def read_answer(word: str, pictures: int) -> int:
    """A voter's word as the number that is stored: left, right, tie, both_bad; of four an order such as 3142, or 0."""
    if pictures == 2:
        if word in WORDS:
            return WORDS[word]
        raise BadValue(f"an answer is one of {', '.join(WORDS)}", found=repr(word[:20]))
    digits = word if word.isascii() and word.isdigit() and len(word) <= pictures else ""
    places = [int(digit) for digit in digits]
    if digits == "0" or (places and len(set(places)) == len(places) and all(1 <= n <= pictures for n in places)):
        return int(digits)
    raise BadValue(f"an order of places from 1 to {pictures}, best first, or 0 is needed", found=repr(word[:20]))


@dataclass(frozen=True)
class ArenaVotes:
    """Stored votes, in the order of their numbers."""

    number: Ints
    voter: Ints
    at: Ints
    shown: Ints
    """(votes, 4) numbers of items; -1 where there were two."""
    answer: Ints
    chance: Floats
    even: Floats
    seconds: Floats
    repeated: Bools

    def __len__(self) -> int:
        return len(self.number)

    def among(self, rows: NDArray[Any]) -> ArenaVotes:
        """Some of them."""
        return ArenaVotes(*(getattr(self, field.name)[rows] for field in fields(self)))


def votes_of_rows(rows: list[tuple[Any, ...]]) -> ArenaVotes:
    """Rows of `store.VOTE_COLUMNS` as columns."""
    columns = list(zip(*rows)) if rows else [()] * 12
    shown = np.array([[-1 if item is None else item for item in column] for column in columns[3:7]], np.int64)
    return ArenaVotes(
        number=np.array(columns[0], np.int64),
        voter=np.array(columns[1], np.int64),
        at=np.array(columns[2], np.int64),
        shown=shown.T.reshape(len(rows), 4),
        answer=np.array(columns[7], np.int64),
        chance=np.array(columns[8], np.float64),
        even=np.array(columns[9], np.float64),
        seconds=np.array(columns[10], np.float64),
        repeated=np.array(columns[11], np.bool_),
    )


def join_votes(parts: list[ArenaVotes]) -> ArenaVotes:
    """Several as one."""
    if not parts:
        return votes_of_rows([])
    return ArenaVotes(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(ArenaVotes)))


class VoteReader:
    """All votes of an arena, each read once; those of the last minutes again, and all where some were deleted."""

    def __init__(self, database: Database, criterion: str) -> None:
        self.database, self.criterion = database, criterion
        self._votes = votes_of_rows([])

    def read(self) -> ArenaVotes:
        """What is stored now."""
        from salon.store import OVERLAP_MS, now_ms

        settled = self._votes.at < now_ms() - OVERLAP_MS
        kept = self._votes.among(settled)
        votes = self._more(kept)
        if len(votes) != self.database.count_votes(self.criterion)[0]:  # deleted, or cast meanwhile
            votes = self._more(votes_of_rows([]))
        self._votes = votes
        return votes

    def _more(self, kept: ArenaVotes) -> ArenaVotes:
        after = int(kept.number[-1]) if len(kept) else 0
        parts = [votes_of_rows(rows) for rows in self.database.arena_votes(self.criterion, after=after)]
        return join_votes([kept, *parts])


def number_codes(values: Ints) -> tuple[Ints, Ints]:
    """The different values, sorted, and the place of each among them: `np.unique` without its sort, for close ints."""
    if not len(values):
        return values, values
    low = int(values.min())
    there = np.bincount(values - low) > 0
    return np.flatnonzero(there) + low, (np.cumsum(there) - 1)[values - low]


# -- duels -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ArenaDuels:
    """What votes say of two pictures each."""

    vote: Ints
    """Rows of the votes."""
    a: Ints
    """Places of items in the field."""
    b: Ints
    outcome: Ints
    """0 a is better, 1 b is better, 2 tie."""
    side: Floats
    """1 where a stood on the left of two, 0 among four."""
    alone: Bools
    """Independent of the other duels of its vote: of two pictures; of four the first two, and the last two."""

    def __len__(self) -> int:
        return len(self.vote)

    def among(self, rows: NDArray[Any]) -> ArenaDuels:
        """Some of them."""
        return ArenaDuels(*(getattr(self, field.name)[rows] for field in fields(self)))


def arena_duels(votes: ArenaVotes, field: ArenaField) -> ArenaDuels:
    """The duels of votes about pictures that are still there; 'both bad' and 'all bad' order nothing."""
    known = np.append(field.place, -1)
    place = known[np.where((votes.shown >= 0) & (votes.shown < len(field.place)), votes.shown, -1)]
    two = (votes.shown[:, 2] < 0) & (place[:, :2] >= 0).all(axis=1) & (votes.answer != BOTH_BAD)
    rows = np.flatnonzero(two)
    parts = [(rows, place[rows, 0], place[rows, 1], votes.answer[rows], np.ones(len(rows), np.bool_))]
    four = (votes.shown[:, 2] >= 0) & (place >= 0).all(axis=1)
    for answer in np.unique(votes.answer[four]).tolist():
        rows = np.flatnonzero(four & (votes.answer == answer))
        order = [] if answer == NONE_GOOD else [int(digit) - 1 for digit in str(answer)]
        for rank, better in enumerate(order):
            for worse in set(range(4)) - set(order[: rank + 1]):
                outcome = np.full(len(rows), LEFT, np.int64)
                alone = np.full(len(rows), better // 2 == worse // 2)
                parts.append((rows, place[rows, better], place[rows, worse], outcome, alone))
    vote, a, b, outcome, alone = (np.concatenate(column) for column in zip(*parts))
    side = (np.arange(len(vote)) < len(parts[0][0])).astype(np.float64)
    duels = ArenaDuels(vote, a, b, outcome, side, alone)
    return duels.among(field.generator[a] != field.generator[b])
