"""The settings, the answers and the plan of a bridge.

Answers have one row for each call and one column for each criterion: a judge that looks at two items once can answer
for every criterion, so calls are counted. Everything random in the plan depends on the seed and the items' ids alone
(64-bit hashes, sorted), not on their order or number: the same study planned twice gives the same questions, and an
item added later rarely changes the pool.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from pydantic import Field, model_validator

from salon.errors import BadValue, TooFew, UnknownReference
from salon.study import Noun, Study


class BridgeSettings(Noun):
    """How `salon bridge` asks and scores."""

    pool: int = Field(50, ge=2, le=2000, description="Items compared with each other exhaustively (N).")
    opponents: int = Field(10, ge=1, le=2000, description="Pool items that every other item meets, at most (K).")
    both_orders: bool = Field(False, description="Ask every pair twice, each item shown first once.")
    adaptive: bool = Field(
        False,
        description="Choose opponents by what their answers are expected to tell, given the answers so far, instead of "
        "at random.",
    )
    batch: int = Field(
        1, ge=1, le=100, description="With --adaptive: opponents asked at once for every item that waits."
    )
    target_sd: float | None = Field(
        None,
        gt=0,
        description="With --adaptive: no more questions about an item whose score is this certain (standard deviation "
        "in logits, every criterion).",
    )
    method: Literal["davidson", "bradley-terry", "elo"] = Field(
        "davidson",
        description="The pool's scale: davidson (ties have a probability of their own), bradley-terry (a tie is half a "
        "win) or elo (the same with Elo's scores, as in the papers: no errors of the pool).",
    )
    prior: float = Field(
        10.0,
        gt=0,
        le=100,
        description="Standard deviation of the normal prior on the pool's scores, in logits (not with elo): wide, so "
        "that it holds undefeated items without squeezing the scale.",
    )
    pool_errors: bool = Field(
        True, description="Fold the errors of the pool's scores into the placements (not with elo, which has none)."
    )
    low: float = Field(1.0, description="Lower end of the calibrated scale.")
    high: float = Field(5.0, description="Upper end of the calibrated scale.")
    steepness: float = Field(6.0, gt=0, le=50, description="Logits that the range from worst to best item covers.")
    level: float = Field(0.95, gt=0.5, lt=1, description="Level of the intervals.")
    criterion: tuple[str, ...] = Field((), description="Only the criterion with this id (repeatable).")
    rater: tuple[str, ...] = Field((), description="Only answers of the rater with this id (repeatable).")
    seed: int = Field(42, ge=0, description="Seed of the pool, the opponents and which item is shown first.")

    @model_validator(mode="after")
    def _is_possible(self) -> BridgeSettings:
        if self.opponents > self.pool:
            raise BadValue(
                f"--opponents come from the pool (--pool {self.pool}): at most as many", found=self.opponents
            )
        if not self.low < self.high:
            raise BadValue("--low must lie below --high", found=f"{self.low:g} and {self.high:g}")
        return self

    @property
    def orders(self) -> int:
        """Calls for one pair."""
        return 2 if self.both_orders else 1


# -- answers -----------------------------------------------------------------------------------------------------------

Ints = NDArray[np.int64]

NO_ANSWER, BOTH_BAD = -1, 3
_SWAPPED = np.array([1, 0, 2, 3, NO_ANSWER], dtype=np.int8)  # the last entry stands for -1


@dataclass(frozen=True)
class BridgeAnswers:
    """Calls made so far."""

    pairs: Ints
    """(calls, 2) item numbers; the first one was shown first."""
    outcomes: NDArray[np.int8]
    """(calls, criteria) 0 the first is better, 1 the second, 2 tie, 3 both bad, -1 no answer."""

    def __len__(self) -> int:
        return len(self.pairs)

    def plus(self, pairs: Ints, outcomes: ArrayLike) -> BridgeAnswers:
        """With the calls of one more round."""
        new = np.asarray(outcomes)
        new = new.reshape(len(pairs), -1) if len(pairs) else np.empty((0, self.outcomes.shape[1]), np.int8)
        if new.shape[1] != self.outcomes.shape[1] or not np.isin(new, (-1, 0, 1, 2, 3)).all():
            raise BadValue(
                f"an answer is 0, 1, 2, 3 or -1 for each of {self.outcomes.shape[1]} criteria and {len(pairs)} pairs",
                found=f"shape {new.shape}" if new.shape[1] != self.outcomes.shape[1] else np.unique(new).tolist(),
            )
        return BridgeAnswers(np.concatenate([self.pairs, pairs]), np.concatenate([self.outcomes, new.astype(np.int8)]))

    def where(self, mask: NDArray[np.bool_]) -> BridgeAnswers:
        """Only some calls."""
        return BridgeAnswers(self.pairs[mask], self.outcomes[mask])


def no_answers(criteria: int) -> BridgeAnswers:
    """Before the first call."""
    return BridgeAnswers(np.empty((0, 2), np.int64), np.empty((0, criteria), np.int8))


def study_answers(study: Study, criteria: tuple[str, ...], raters: tuple[str, ...]) -> BridgeAnswers:
    """The study's comparisons as calls: rows of one rater, pair and repeat are one call, whatever the criterion.

    A skipped comparison is a call without an answer. The item shown on the left counts as first, else `a`.
    """
    table = study.table("comparisons")
    columns = {name: study.codes("items", table.column(name)).astype(np.int64) for name in ("a", "b")}
    rater = study.codes("raters", table.column("rater")).astype(np.int64)
    places = [criteria.index(entry.id) if entry.id in criteria else -1 for entry in study.criteria]
    criterion = np.array([*places, -1])[study.codes("criteria", table.column("criterion"))]
    ids = study.ids("raters").to_pylist()
    unknown = [id for id in raters if id not in ids]
    if unknown:
        raise UnknownReference("a rater of the study is needed", found=repr(unknown[0]), where=f"study {study.name!r}")
    of_raters = np.isin(rater, [ids.index(id) for id in raters]) if raters else np.ones(len(rater), bool)
    mask = (criterion >= 0) & of_raters
    outcome = _word_codes(table, "outcome", ("a", "b", "tie", "both_bad"))
    first = np.where(_word_codes(table, "left", ("a", "b")) == 1, columns["b"], columns["a"])
    outcome = np.where(first == columns["a"], outcome, _SWAPPED[outcome])
    repeat = table.column("repeat").to_numpy() if "repeat" in table.column_names else np.zeros(len(rater), np.int64)
    second = columns["a"] + columns["b"] - first
    key = np.stack([rater, first, second, repeat.astype(np.int64)], axis=1)[mask]
    return _calls(key, criterion[mask], outcome[mask], len(criteria))


def _calls(key: Ints, criterion: Ints, outcome: Ints, criteria: int) -> BridgeAnswers:
    """One row per distinct key; a crowd's repeated answers to one question are further calls."""
    order = np.lexsort((criterion, *key.T[::-1]))
    rows = np.column_stack([key, criterion])[order]
    again = np.zeros(len(rows), np.int64)
    same = (rows[1:] == rows[:-1]).all(axis=1)
    for at in np.flatnonzero(same):  # few: only crowds answer a question twice
        again[at + 1] = again[at] + 1
    calls, call = np.unique(np.column_stack([key[order], again]), axis=0, return_inverse=True)
    outcomes = np.full((len(calls), criteria), NO_ANSWER, np.int8)
    outcomes[call.ravel(), criterion[order]] = outcome[order]
    return BridgeAnswers(calls[:, 1:3], outcomes)


def _word_codes(table: pa.Table, name: str, words: tuple[str, ...]) -> Ints:
    """A column of words as their numbers, -1 for others, nulls and a column that is not there."""
    if name not in table.column_names or not table.num_rows:
        return np.full(table.num_rows, -1)
    column = table.column(name).combine_chunks()
    codes = [words.index(word) if word in words else -1 for word in column.dictionary.to_pylist()]
    values: Ints = np.array([*codes, -1])[column.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return values


# -- the plan ----------------------------------------------------------------------------------------------------------

Keys = NDArray[np.uint64]


@dataclass(frozen=True)
class BridgePlan:
    """One group of items that share a scale: who is in the pool, and whom the others are to meet."""

    items: int
    keys: Keys
    """(items,) a random number for each item, from its id and the seed."""
    pool: Ints
    rest: Ints
    both_orders: bool

    @property
    def place(self) -> Ints:
        """(items,) the place in the pool of every item, or -1."""
        place = np.full(self.items, -1)
        place[self.pool] = np.arange(len(self.pool))
        return place

    @property
    def pool_pairs(self) -> Ints:
        """(C(N, 2) or twice, 2) every pair of the pool, first shown first."""
        i, j = np.triu_indices(len(self.pool), 1)
        return self.questions(self.pool[i], self.pool[j])

    def opponents(self, count: int) -> Ints:
        """(rest, count) places in the pool, drawn without replacement; fewer are the first of more."""
        lots = _mix_keys(self.keys[self.rest][:, None], self.keys[self.pool][None, :])
        return np.argsort(lots, axis=1, kind="stable")[:, :count]

    def questions(self, first: Ints, second: Ints) -> Ints:
        """Pairs to ask: which item is shown first is drawn by chance, or both are once."""
        a, b = self.keys[first], self.keys[second]
        swap = _mix_keys(~a, b) > _mix_keys(~b, a)  # not the numbers that chose the opponent: those are small
        pairs = np.stack([np.where(swap, second, first), np.where(swap, first, second)], axis=1)
        return np.concatenate([pairs, pairs[:, ::-1]]) if self.both_orders else pairs

    def unasked(self, pairs: Ints, answers: BridgeAnswers) -> Ints:
        """The pairs that no call has asked (in that order, where both orders are wanted)."""
        asked_names = self._names(answers.pairs)
        return pairs[~np.isin(self._names(pairs), asked_names)]

    def _names(self, pairs: Ints) -> Ints:
        ordered = pairs if self.both_orders else np.sort(pairs, axis=1)
        return np.asarray(ordered[:, 0] * self.items + ordered[:, 1])


def plan_group(ids: Sequence[str], settings: BridgeSettings) -> BridgePlan:
    """The pool of a group of items; a group no larger than the pool is compared exhaustively."""
    if len(ids) < 2:
        raise TooFew("a bridge needs at least 2 items that may be compared", found=len(ids))
    hashes = (hashlib.blake2b(f"{settings.seed}\0{id}".encode(), digest_size=8).digest() for id in ids)
    keys = np.array([int.from_bytes(digest) for digest in hashes], dtype=np.uint64)
    order = np.argsort(keys, kind="stable")
    pool, rest = np.sort(order[: settings.pool]), np.sort(order[settings.pool :])
    return BridgePlan(len(ids), keys, pool, rest, settings.both_orders)


def planned_calls(items: int, settings: BridgeSettings) -> int:
    """C(N, 2) + (n - N) K calls in one order."""
    pool = min(items, settings.pool)
    return pool * (pool - 1) // 2 + (items - pool) * min(settings.opponents, pool)


def _mix_keys(x: Keys, y: Keys) -> Keys:
    """A random number for each ordered pair (splitmix64)."""
    z = x * np.uint64(0x9E3779B97F4A7C15) + y
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)))
