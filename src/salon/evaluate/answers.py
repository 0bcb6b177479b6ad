"""What judges say about the pairs of people: verdicts in their orders, numbers of items, raters that are models.

Each source answers one question: what does this judge say about these pairs? `on(pairs)` gives `PairAnswers`, whether
it was asked in two orders, gave numbers, or is a model with log-odds.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import BadFile, BadValue, UnknownReference
from salon.evaluate.leaks import Leaks
from salon.evaluate.pair_results import JudgeKind
from salon.evaluate.people import Bools, Ints, ItemOrder, TestPairs, is_person
from salon.judge import SCORES_FOLDER, TableScorer
from salon.stats import AGAINST, TIE, UNREAD, WITH, pair_kinds, pair_scores
from salon.study import ScorerCard, Study

Floats = NDArray[np.float64]
OUTCOMES = {"a": 0, "b": 1, "tie": 2, "both_bad": 2}
SIDES = {"a": 0, "b": 1}
_UNREAD = 3
_NO_WORDING = -1


@dataclass(frozen=True)
class PairAnswers:
    """What a judge says about pairs, in their order."""

    pairs: TestPairs
    asked: Bools
    """(pairs,)"""
    said: Ints
    """(pairs, orders): WITH for a, AGAINST for b, TIE, UNREAD; of two orders the one with a first stands first.
    Several samples of a question count as their vote; split evenly, as a TIE."""
    wording: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    """(pairs,) number of the wording, -1 where there is none."""
    samples: Ints = field(default_factory=lambda: np.empty((0, 3), np.int64))
    """(pairs * orders, 3): samples for a, for b, ties."""
    unvoted: tuple[int, ...] = ()
    """By criterion, pairs asked about on which nobody voted."""
    own: Ints | None = None
    """(pairs, 3) votes of a person of the panel, already taken out of `pairs`; None for anybody else."""

    @cached_property
    def rows(self) -> Ints:
        """Pairs asked about that people decided."""
        return np.flatnonzero(self.asked & self.pairs.decided)

    @cached_property
    def choice(self) -> Ints:
        """One verdict a pair: what all orders say, TIE where they differ, UNREAD where one is."""
        same = (self.said == self.said[:, :1]).all(axis=1)
        unread = (self.said == UNREAD).any(axis=1)
        return np.where(unread, UNREAD, np.where(same, self.said[:, 0], TIE))

    @cached_property
    def verdicts(self) -> Ints:
        """By the majority: its item shown first, then second; one column for one order. Tied panels mean nothing."""
        winner = self.pairs.winner[:, None]
        ordered = self.said if self.said.shape[1] == 1 else np.where(winner > 0, self.said, self.said[:, ::-1])
        turned = np.where(ordered == UNREAD, UNREAD, ordered * winner)
        return turned[:, 0] if turned.shape[1] == 1 else turned

    @cached_property
    def scores(self) -> Floats:
        """1, 1/2 or 0 for each pair in `rows`; NaN elsewhere."""
        scores = np.full(len(self.pairs), np.nan)
        if len(self.rows):
            scores[self.rows] = pair_scores(pair_kinds(self.verdicts[self.rows]))
        return scores

    def without(self, person: PairAnswers) -> PairAnswers:
        """The same against a panel that also lacks the votes of `person`, who may be nobody of the panel."""
        if person is self or person.own is None:
            return self
        return replace(self, pairs=replace(self.pairs, votes=self.pairs.votes - person.own))


class AnswersPairs(Protocol):
    """Whatever answers about pairs."""

    def on(self, pairs: TestPairs) -> PairAnswers:
        """What is said about `pairs`."""
        ...


@dataclass(frozen=True, kw_only=True)
class JudgeSource:
    """Where a judge's answers came from."""

    table: pa.Table | None = None
    """The verdicts, call by call, where they are known."""
    simulated: bool = False
    signature: str | None = None


@dataclass(frozen=True)
class PairJudge(JudgeSource):
    """A judge of pairs."""

    name: str
    kind: JudgeKind
    answers: AnswersPairs


@dataclass(frozen=True)
class PairContestant:
    """A model or scorer that speaks about test pairs by numbers, or a person of the panel."""

    name: str
    kind: JudgeKind
    margin: Floats
    """(pairs,) above 0: a is better; log-odds where `is_logit`. NaN: no number."""
    speaks: Bools
    """(pairs,) whether the pair is one of its criteria."""
    is_logit: bool = False
    turned: Floats | None = None
    """The margin with the pair shown the other way round, sign turned back; None where order leaves no trace."""
    form: str = ""
    signature: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How it was trained, for telling seeds from other differences."""
    leaks: Leaks | None = None
    guarded: bool = False
    unscored: Mapping[str, int] = field(default_factory=dict)
    """Items without a number, by reason."""
    answers: AnswersPairs | None = None
    """What a person says; of any other the larger number wins, and equal numbers tie."""

    @property
    def known(self) -> Bools:
        """Pairs with a number."""
        return self.speaks & ~np.isnan(self.margin)

    def on(self, pairs: TestPairs) -> PairAnswers:
        """What it says about the pairs that its numbers are of."""
        if self.answers is not None:
            return self.answers.on(pairs)
        return PairAnswers(pairs, self.speaks, margin_verdicts(self.margin)[:, None])


def margin_verdicts(margin: Floats) -> Ints:
    """WITH where a has the larger number, AGAINST where b has, TIE where they are equal, UNREAD without a number."""
    return np.where(np.isnan(margin), UNREAD, np.sign(np.nan_to_num(margin))).astype(np.int64)


# -- verdicts and numbers ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairVerdicts:
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
        codes = self.criterion + self.keys * (1 << 16)
        return 2 if len(np.intersect1d(codes[self.left == 0], codes[self.left == 1])) else 1

    def named_first(self, criteria: Sequence[int]) -> tuple[Ints, Ints]:
        """For every answer that names an item, shown in a known order: 1 if it is the first, else 0; and the pair."""
        rows = (self.outcome < 2) & (self.left < 2) & np.isin(self.criterion, criteria)
        return (self.outcome == self.left)[rows].astype(np.int64), self.keys[rows]

    def on(self, pairs: TestPairs) -> PairAnswers:
        """Votes of the samples by pair and order; an order that was never asked is unread."""
        orders, n = self.orders, len(pairs)
        row, unvoted = np.full(len(self.keys), -1), []
        was_asked = np.zeros(n, bool)
        for place, number in enumerate(pairs.numbers):
            here = np.flatnonzero(self.criterion == number)
            row[here] = pairs.find(place, self.keys[here])
            unvoted.append(len(np.unique(self.keys[here][row[here] < 0])))
            was_asked[pairs.on(place)] = self.everywhere and len(here) > 0
        has_row = row >= 0
        pair, outcome, left = row[has_row], self.outcome[has_row], self.left[has_row]
        side = left if orders == 2 else np.zeros(len(pair), np.int64)
        placed = side < 2  # an answer whose order is unknown cannot be held against the other order
        cell = (pair * orders + side) * 4 + outcome
        counts = np.bincount(cell[placed], minlength=n * orders * 4).reshape(-1, 4)[:, :3]
        was_asked[pair] = True
        wording = np.full(n, _NO_WORDING)
        wording[pair] = self.wording[has_row]
        return PairAnswers(pairs, was_asked, _sample_vote(counts).reshape(n, orders), wording, counts, tuple(unvoted))


@dataclass(frozen=True)
class ItemValues:
    """Numbers of items; a pair's verdict is the larger one."""

    order: ItemOrder
    by_criterion: Mapping[int, Floats]
    """For each criterion a number per item, higher is better; NaN where there is none."""
    asked: Mapping[int, Bools] = field(default_factory=dict)
    """Items that were asked about; without an entry, all."""

    def on(self, pairs: TestPairs) -> PairAnswers:
        """The larger of two numbers; unread where one is missing."""
        n = len(pairs)
        a, b = self.order.items(pairs.keys)
        margin, was_asked = np.full(n, np.nan), np.zeros(n, bool)
        for place, number in enumerate(pairs.numbers):
            if number in self.by_criterion:
                rows, x = pairs.on(place), self.by_criterion[number]
                margin[rows] = x[a[rows]] - x[b[rows]]
                items_asked = self.asked.get(number, np.ones(len(x), bool))
                was_asked[rows] = items_asked[a[rows]] & items_asked[b[rows]]
        verdicts = margin_verdicts(margin)
        counts = np.stack([verdicts == side for side in (WITH, AGAINST, TIE)], axis=1).astype(np.int64)
        nothing = (0,) * len(pairs.numbers)
        return PairAnswers(pairs, was_asked, verdicts[:, None], np.full(n, _NO_WORDING), counts, nothing)


def verdict_judge(
    name: str, table: pa.Table, study: Study, order: ItemOrder, *, simulated: bool = False, signature: str | None = None
) -> PairJudge | None:
    """The judge behind a table of verdicts: about pairs, or numbers of items; None for checklists alone."""
    protocol = set(table.column("protocol").cast(pa.string()).to_pylist()) - {None}
    if protocol == {"checklist"}:
        return None
    if protocol == {"rate"}:
        return PairJudge(
            name,
            "points",
            _item_values(table, study, order, name),
            table=table,
            simulated=simulated,
            signature=signature,
        )
    rows = table.filter(pc.equal(table.column("protocol").cast(pa.string()), "compare"))
    criterion = _numbers(study, "criteria", rows.column("criterion"), name)
    a, b = (_numbers(study, "items", rows.column(side), name) for side in ("a", "b"))
    outcome, left = (_codes(rows.column(column), codes, default)
                     for column, codes, default in (("outcome", OUTCOMES, _UNREAD), ("left", SIDES, 2)))  # fmt: skip
    wording = rows.column("paraphrase").fill_null(_NO_WORDING).to_numpy().astype(np.int64)
    answers = _pair_verdicts(order, criterion, a, b, outcome, left, wording)
    return PairJudge(name, "pairs", answers, table=table, simulated=simulated, signature=signature)


def rater_judges(study: Study, order: ItemOrder, *, everywhere: bool) -> list[PairJudge]:
    """The raters of the study that are models and compared items, by name."""
    view, persons = study.comparisons, is_person(study)
    judges = []
    for rater in np.unique(view.rater[~persons[view.rater]]).tolist():
        rows = view.rater == rater
        criterion, a, b, outcome, left = (
            column[rows].astype(np.int64) for column in (view.criterion, view.a, view.b, view.outcome, view.left)
        )
        wording = np.full(len(a), _NO_WORDING)
        answers = _pair_verdicts(order, criterion, a, b, np.minimum(outcome, 2), left, wording, everywhere=everywhere)
        judges.append(PairJudge(study.label("raters", rater), "rater", answers))
    return judges


def _pair_verdicts(
    order: ItemOrder, criterion: Ints, a: Ints, b: Ints, outcome: Ints, left: Ints, wording: Ints, *,
    everywhere: bool = False,
) -> PairVerdicts:  # fmt: skip
    """Verdicts turned so that the smaller id is the first of each pair."""
    turned = order.is_turned(a, b)
    outcome, left = (np.where(turned & (codes < 2), 1 - codes, codes) for codes in (outcome, left))
    return PairVerdicts(criterion, order.keys(a, b), outcome, left, wording, everywhere)


def _item_values(table: pa.Table, study: Study, order: ItemOrder, judge: str) -> ItemValues:
    """Mean over samples, turned so that higher is better."""
    criterion = _numbers(study, "criteria", table.column("criterion"), judge)
    item = _numbers(study, "items", table.column("a"), judge)
    value = table.column("value").to_numpy(zero_copy_only=False).astype(float)
    size = len(study.ids("items"))
    values, items_asked = {}, {}
    for number in np.unique(criterion).tolist():
        here, read = criterion == number, (criterion == number) & ~np.isnan(value)
        count = np.bincount(item[read], minlength=size)
        total = np.bincount(item[read], weights=value[read], minlength=size)
        scale = study.criteria[number].scale
        turn = 1 if scale is None or scale.higher_is_better else -1
        values[number] = np.where(count > 0, turn * total / np.maximum(count, 1), np.nan)
        items_asked[number] = np.bincount(item[here], minlength=size) > 0
    return ItemValues(order, values, items_asked)


def _sample_vote(counts: Ints) -> Ints:
    """The vote of samples (questions, 3): the one most of them name, TIE where two lead together, UNREAD for none."""
    most = counts.max(axis=1, keepdims=True)
    leaders = (counts == most).sum(axis=1)
    side = np.array([WITH, AGAINST, TIE])[counts.argmax(axis=1)]
    return np.where(most[:, 0] == 0, UNREAD, np.where(leaders > 1, TIE, side))


def _numbers(study: Study, kind: str, column: pa.ChunkedArray, judge: str) -> Ints:
    """A column of labels as numbers of the study; UnknownReference for a label it does not hold."""
    labels = column.cast(pa.string())
    codes = pc.index_in(labels, value_set=study.ids(kind).cast(pa.string()))
    if codes.null_count:
        raise unknown_label(study, kind, labels.filter(pc.is_null(codes))[0].as_py(), judge)
    values: Ints = codes.to_numpy().astype(np.int64)
    return values


def unknown_label(study: Study, kind: str, label: object, judge: str) -> UnknownReference:
    """Verdicts that belong to another study."""
    return UnknownReference(
        f"a verdict names {'an item' if kind == 'items' else 'a criterion'} of the study",
        found=repr(label),
        where=f"judge {judge!r}, study {study.name!r}",
        remedy="these verdicts belong to another study",
    )


def _codes(column: pa.ChunkedArray, codes: Mapping[str, int], default: int) -> Ints:
    return np.array([codes.get(word, default) for word in column.cast(pa.string()).to_pylist()], np.int64)


# -- tables of scores --------------------------------------------------------------------------------------------------


def score_files(folder: Path) -> list[Path]:
    """The score tables of the study in `folder`, by name."""
    return sorted((folder / SCORES_FOLDER).glob("*.parquet"))


def score_judge(path: Path, study: Study, order: ItemOrder, *, everywhere: bool = True) -> PairJudge:
    """The scorer behind a table with the columns item and value; named as its file, turned so that higher is better.

    An item without a number is unread where the scorer was asked `everywhere`, else it was not asked. A card beside
    the table says what it speaks about; without one it speaks about all criteria, and higher is better.
    """
    card, signature = _read_card(path.with_suffix(".json"))
    scorer = TableScorer(path, card=card)
    items = list(study.nouns("items"))
    numbers = scorer.score(items, [None] * len(items))
    x = np.array([np.nan if value is None else value for value in numbers]) * (1 if card.higher_is_better else -1)
    has_number = ~np.isnan(x)
    if not has_number.any():
        raise BadValue(
            "scores of items of the study are needed",
            found="scores of other items, or none",
            where=f"{path}, study {study.name!r}",
        )
    ids = [criterion.id for criterion in study.criteria]
    criteria = [ids.index(card.criterion)] if card.criterion in ids else list(range(len(ids)))
    answers = ItemValues(order, dict.fromkeys(criteria, x), {} if everywhere else dict.fromkeys(criteria, has_number))
    return PairJudge(scorer.name, "scorer", answers, signature=signature or str(scorer.signature))


def _read_card(path: Path) -> tuple[ScorerCard, str | None]:
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
