"""Answers to a bridge's questions: one row for each call, one column for each criterion.

A judge that looks at two items once can answer for every criterion, so calls are what costs, and what is counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, UnknownReference
from salon.study import Study

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

    def where(self, kept: NDArray[np.bool_]) -> BridgeAnswers:
        """Only some calls."""
        return BridgeAnswers(self.pairs[kept], self.outcomes[kept])


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
    criterion = _places(study, criteria, study.codes("criteria", table.column("criterion")))
    kept = (criterion >= 0) & _of(study, rater, raters)
    outcome = _words(table, "outcome", ("a", "b", "tie", "both_bad"))
    first = np.where(_words(table, "left", ("a", "b")) == 1, columns["b"], columns["a"])
    outcome = np.where(first == columns["a"], outcome, _SWAPPED[outcome])
    repeat = table.column("repeat").to_numpy() if "repeat" in table.column_names else np.zeros(len(rater), np.int64)
    second = columns["a"] + columns["b"] - first
    key = np.stack([rater, first, second, repeat.astype(np.int64)], axis=1)[kept]
    return _calls(key, criterion[kept], outcome[kept], len(criteria))


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


def _places(study: Study, criteria: tuple[str, ...], codes: NDArray[np.int32]) -> Ints:
    """Criterion numbers of the study as places in `criteria`; -1 for others."""
    place = np.full(len(study.criteria) + 1, -1)
    for number, criterion in enumerate(study.criteria):
        if criterion.id in criteria:
            place[number] = criteria.index(criterion.id)
    return place[codes]


def _of(study: Study, rater: Ints, wanted: tuple[str, ...]) -> NDArray[np.bool_]:
    ids = study.ids("raters").to_pylist()
    unknown = [id for id in wanted if id not in ids]
    if unknown:
        raise UnknownReference("a rater of the study is needed", found=repr(unknown[0]), where=f"study {study.name!r}")
    return np.isin(rater, [ids.index(id) for id in wanted]) if wanted else np.ones(len(rater), bool)


def _words(table: pa.Table, name: str, words: tuple[str, ...]) -> Ints:
    """A column of words as their numbers, -1 for others, nulls and a column that is not there."""
    if name not in table.column_names or not table.num_rows:
        return np.full(table.num_rows, -1)
    column = table.column(name).combine_chunks()
    known = [words.index(word) if word in words else -1 for word in column.dictionary.to_pylist()]
    values: Ints = np.array([*known, -1])[column.indices.fill_null(-1).to_numpy(zero_copy_only=False)]
    return values
