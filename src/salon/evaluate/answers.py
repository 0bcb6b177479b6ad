"""Judges as arrays: verdicts of pairs in their orders, numbers of items, raters of the study that are models.

Each kind answers one question: what does this judge say about the pairs of a panel? `on(panel)` gives a `Faced`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import BadFile, BadValue, UnknownReference
from salon.evaluate.people import ItemOrder, VotePanel, is_person
from salon.evaluate.results import JudgeKind
from salon.judge.scorers.registry import TableScorer
from salon.judge.scoring import SCORES_FOLDER
from salon.stats.judge_accuracy import AGAINST, TIE, UNREAD, WITH
from salon.study import Study
from salon.study.interfaces import ScorerCard

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
OUTCOMES = {"a": 0, "b": 1, "tie": 2, "both_bad": 2}
_UNREAD = 3
_NO_WORDING = -1


@dataclass(frozen=True)
class PanelAnswers:
    """What a judge says about the pairs of a panel, in the panel's order."""

    asked: NDArray[np.bool_]
    """(pairs,)"""
    said: Ints
    """(pairs, orders): WITH for the smaller id, AGAINST for the other, TIE, UNREAD; of two orders the one with the
    smaller id first stands first. Several samples of a question count as their vote; split evenly, as a TIE."""
    wording: Ints
    """(pairs,) number of the wording, -1 where there is none."""
    samples: Ints
    """(pairs * orders, 3): samples for the smaller id, for the other, ties."""
    unvoted: int
    """Pairs asked about on which nobody voted."""

    @property
    def choice(self) -> Ints:
        """One verdict a pair: what all orders say, TIE where they differ, UNREAD where one is."""
        same = (self.said == self.said[:, :1]).all(axis=1)
        unread = (self.said == UNREAD).any(axis=1)
        return np.where(unread, UNREAD, np.where(same, self.said[:, 0], TIE))

    def by_majority(self, winner: Ints) -> Ints:
        """Verdicts by the panel's winner (1 or -1): its item shown first, then second; one column for one order."""
        if self.said.shape[1] == 1:
            ordered = self.said
        else:
            ordered = np.where(winner[:, None] > 0, self.said, self.said[:, ::-1])
        turned = np.where(ordered == UNREAD, UNREAD, ordered * winner[:, None])
        return turned[:, 0] if turned.shape[1] == 1 else turned


class AnswersPairs(Protocol):
    """Whatever answers about pairs."""

    @property
    def orders(self) -> int:
        """2, or 1 where there is one order or none."""
        ...

    def on(self, panel: VotePanel) -> PanelAnswers:
        """What is said about the pairs of `panel`."""
        ...


@dataclass(frozen=True)
class PairJudge:
    """A judge and where its answers came from."""

    name: str
    kind: JudgeKind
    answers: AnswersPairs
    table: pa.Table | None = None
    """The verdicts, call by call, where they are known."""
    simulated: bool = False
    signature: str | None = None


@dataclass(frozen=True)
class PairAnswers:
    """Verdicts about pairs, one entry a call."""

    criterion: Ints
    keys: Ints
    outcome: Ints
    """0 the smaller id, 1 the other, 2 tie, 3 unread."""
    left: Ints
    """0 the smaller id was shown first, 1 the other, 2 unknown."""
    wording: Ints
    everywhere: bool = False
    """Whether a pair without an entry was asked too, and the answer could not be read."""

    @cached_property
    def orders(self) -> int:
        """2 where some pair was shown both ways round."""
        pairs = np.stack([self.criterion, self.keys])
        both = np.intersect1d(_codes(pairs[:, self.left == 0]), _codes(pairs[:, self.left == 1]))
        return 2 if len(both) else 1

    def named_first(self, criteria: Sequence[int]) -> tuple[Ints, Ints]:
        """For every answer that names an item, shown in a known order: 1 if it is the first, else 0; and the pair."""
        known = (self.outcome < 2) & (self.left < 2) & np.isin(self.criterion, criteria)
        return (self.outcome == self.left)[known].astype(np.int64), self.keys[known]

    def on(self, panel: VotePanel) -> PanelAnswers:
        """Votes of the samples by pair and order; an order that was never asked is unread."""
        here = self.criterion == panel.number
        row = panel.find(self.keys[here])
        known = row >= 0
        pair, outcome, left = row[known], self.outcome[here][known], self.left[here][known]
        orders, n = self.orders, len(panel.keys)
        side = left if orders == 2 else np.zeros(len(pair), np.int64)
        placed = side < 2  # an answer whose order is unknown cannot be held against the other order
        cell = (pair * orders + side) * 4 + outcome
        counts = np.bincount(cell[placed], minlength=n * orders * 4).reshape(-1, 4)[:, :3]
        asked = np.bincount(pair, minlength=n) > 0
        wording = np.full(n, _NO_WORDING)
        wording[pair] = self.wording[here][known]
        unvoted = len(np.unique(self.keys[here][~known]))
        everywhere = self.everywhere and bool(here.any())
        said = _sample_vote(counts).reshape(n, orders)
        return PanelAnswers(asked | everywhere, said, wording, counts, unvoted)


@dataclass(frozen=True)
class ItemValues:
    """Numbers of items; a pair's verdict is the larger one."""

    places: ItemOrder
    by_criterion: Mapping[int, Floats]
    """For each criterion a number per item, higher is better; NaN where there is none."""
    asked: Mapping[int, NDArray[np.bool_]] = field(default_factory=dict)
    """Items that were asked about; without an entry, all."""
    orders: int = 1

    def on(self, panel: VotePanel) -> PanelAnswers:
        """The larger of two numbers; unread where one is missing."""
        n = len(panel.keys)
        a, b = self.places.items(panel.keys)
        if panel.number not in self.by_criterion:
            nothing = np.zeros((n, 3), np.int64)
            return PanelAnswers(np.zeros(n, bool), np.full((n, 1), UNREAD), np.full(n, _NO_WORDING), nothing, 0)
        x = self.by_criterion[panel.number]
        gap = x[a] - x[b]
        said = np.where(np.isnan(gap), UNREAD, np.sign(np.nan_to_num(gap))).astype(np.int64)[:, None]
        met = self.asked.get(panel.number, np.ones(len(x), bool))
        counts = np.stack([said[:, 0] == side for side in (WITH, AGAINST, TIE)], axis=1).astype(np.int64)
        return PanelAnswers(met[a] & met[b], said, np.full(n, _NO_WORDING), counts, 0)


def verdict_judge(
    name: str,
    table: pa.Table,
    study: Study,
    places: ItemOrder,
    *,
    simulated: bool = False,
    signature: str | None = None,
) -> PairJudge | None:
    """The judge behind a table of verdicts: about pairs, or numbers of items; None for checklists alone."""
    protocol = set(table.column("protocol").cast(pa.string()).to_pylist()) - {None}
    if protocol == {"checklist"}:
        return None
    if protocol == {"rate"}:
        return PairJudge(name, "points", _item_values(table, study, places, name), table, simulated, signature)
    rows = table.filter(pc.equal(table.column("protocol").cast(pa.string()), "compare"))
    return PairJudge(name, "pairs", _pair_answers(rows, study, places, name), table, simulated, signature)


def rater_judges(study: Study, places: ItemOrder, *, everywhere: bool) -> list[PairJudge]:
    """The raters of the study that are models and compared items, by name."""
    view, asked = study.comparisons, is_person(study)
    found = []
    for rater in np.unique(view.rater[~asked[view.rater]]).tolist():
        rows = view.rater == rater
        a, b = view.a[rows].astype(np.int64), view.b[rows].astype(np.int64)
        turned = places.turned(a, b)
        outcome = np.minimum(view.outcome[rows].astype(np.int64), 2)
        outcome = np.where(turned & (outcome < 2), 1 - outcome, outcome)
        left = view.left[rows].astype(np.int64)
        left = np.where(turned & (left < 2), 1 - left, left)
        wording = np.full(len(a), _NO_WORDING)
        criterion = view.criterion[rows].astype(np.int64)
        answers = PairAnswers(criterion, places.keys(a, b), outcome, left, wording, everywhere)
        found.append(PairJudge(study.label("raters", rater), "rater", answers))
    return found


def _pair_answers(table: pa.Table, study: Study, places: ItemOrder, judge: str) -> PairAnswers:
    criterion = _numbers(study, "criteria", table.column("criterion"), judge)
    a, b = (_numbers(study, "items", table.column(side), judge) for side in ("a", "b"))
    turned = places.turned(a, b)
    outcome = _words(table.column("outcome"), OUTCOMES, _UNREAD)
    outcome = np.where(turned & (outcome < 2), 1 - outcome, outcome)
    left = _words(table.column("left"), {"a": 0, "b": 1}, 2)
    left = np.where(turned & (left < 2), 1 - left, left)
    wording = table.column("paraphrase").fill_null(_NO_WORDING).to_numpy().astype(np.int64)
    return PairAnswers(criterion, places.keys(a, b), outcome, left, wording)


def _item_values(table: pa.Table, study: Study, places: ItemOrder, judge: str) -> ItemValues:
    """Mean over samples, turned so that higher is better."""
    criterion = _numbers(study, "criteria", table.column("criterion"), judge)
    item = _numbers(study, "items", table.column("a"), judge)
    value = table.column("value").to_numpy(zero_copy_only=False).astype(float)
    size = len(study.ids("items"))
    found, asked = {}, {}
    for number in np.unique(criterion).tolist():
        here, read = criterion == number, (criterion == number) & ~np.isnan(value)
        count = np.bincount(item[read], minlength=size)
        total = np.bincount(item[read], weights=value[read], minlength=size)
        scale = study.criteria[number].scale
        turn = 1 if scale is None or scale.higher_is_better else -1
        found[number] = np.where(count > 0, turn * total / np.maximum(count, 1), np.nan)
        asked[number] = np.bincount(item[here], minlength=size) > 0
    return ItemValues(places, found, asked)


def _sample_vote(counts: Ints) -> Ints:
    """The vote of samples (questions, 3): the one most of them name, TIE where two lead together, UNREAD for none."""
    most = counts.max(axis=1, keepdims=True)
    leaders = (counts == most).sum(axis=1)
    side = np.array([WITH, AGAINST, TIE])[counts.argmax(axis=1)]
    return np.where(most[:, 0] == 0, UNREAD, np.where(leaders > 1, TIE, side))


def _codes(pairs: Ints) -> Ints:
    """One number for each (criterion, key) column."""
    values: Ints = pairs[0] + pairs[1] * (1 << 16)
    return values


def _numbers(study: Study, kind: str, column: pa.ChunkedArray, judge: str) -> Ints:
    """A column of labels as numbers of the study; UnknownReference for a label it does not hold."""
    labels = column.cast(pa.string())
    found = pc.index_in(labels, value_set=study.ids(kind).cast(pa.string()))
    if found.null_count:
        unknown = labels.filter(pc.is_null(found))[0].as_py()
        noun = {"items": "an item", "criteria": "a criterion"}[kind]
        raise UnknownReference(
            f"a verdict names {noun} of the study",
            found=repr(unknown),
            where=f"judge {judge!r}, study {study.name!r}",
            remedy="these verdicts belong to another study",
        )
    values: Ints = found.to_numpy().astype(np.int64)
    return values


def _words(column: pa.ChunkedArray, words: Mapping[str, int], default: int) -> Ints:
    return np.array([words.get(word, default) for word in column.cast(pa.string()).to_pylist()], np.int64)


# --------------------------------------------------------------------------------------------------
# Tables of scores as judges: STUDY/scores/NAME.parquet with its card, or any file with the columns item and value.
# --------------------------------------------------------------------------------------------------


def score_files(folder: Path) -> list[Path]:
    """The score tables of the study in `folder`, by name."""
    return sorted((folder / SCORES_FOLDER).glob("*.parquet"))


def score_judge(path: Path, study: Study, places: ItemOrder, *, everywhere: bool = True) -> PairJudge:
    """The scorer behind a table; named as its file, turned so that higher is better, as its card says.

    An item without a number is unread where the scorer was asked `everywhere`, else it was not asked.
    """
    card, signature = _card(path.with_suffix(".json"))
    scorer = TableScorer(path, card=card)
    items = list(study.nouns("items"))
    found = scorer.score(items, [None] * len(items))
    x = np.array([np.nan if value is None else value for value in found]) * (1 if card.higher_is_better else -1)
    known = ~np.isnan(x)
    if not known.any():
        raise BadValue(
            "scores of items of the study are needed",
            found="scores of other items, or none",
            where=f"{path}, study {study.name!r}",
        )
    criteria = _scorer_criteria(card, study)
    asked = {} if everywhere else dict.fromkeys(criteria, known)
    answers = ItemValues(places, dict.fromkeys(criteria, x), asked)
    return PairJudge(scorer.name, "scorer", answers, signature=signature or str(scorer.signature))


def _scorer_criteria(card: ScorerCard, study: Study) -> list[int]:
    """Numbers of the criteria a scorer is held against: its own, or all where the study does not have that one."""
    known = [one.id for one in study.criteria]
    return [known.index(card.criterion)] if card.criterion in known else list(range(len(known)))


def _card(path: Path) -> tuple[ScorerCard, str | None]:
    """What is said about the scorer beside its table; a table without a card is one where higher is better."""
    if not path.is_file():
        return ScorerCard(), None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadFile("the card of a scorer is JSON", found=str(error), where=str(path)) from None
    if not isinstance(record, dict):
        raise BadFile("the card of a scorer is a JSON object", found=type(record).__name__, where=str(path))
    signature = record.get("signature")
    return ScorerCard.parse(record.get("card", {}), where=str(path)), None if signature is None else str(signature)
