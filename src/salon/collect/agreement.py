"""Answers as plain rows, agreement between raters, and disagreements for an adjudicator.

Answers about several items become pairs (a ranking of p items is p (p - 1) / 2 of them, a choice the chosen item
against each other one); answers about one item become values. Rows of one screen share its number, because answers
given together are not independent evidence.

A ruling never changes what raters said. It gives a disputed question a final answer, or takes an item out of the study.
Agreement is measured in two ways: Fleiss' kappa of the raters (without dropped items after the rulings), and the share
of answers that equal the final one (the majority before, the ruling where there is one after).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from salon.collect.questions import RaterScreen, Why
from salon.errors import StatsError
from salon.stats import Estimate
from salon.study import Checklist, Choice, Comparison, Judgment, Ranking, Rating, vote_word


@dataclass(frozen=True, slots=True)
class PairAnswerRow:
    """One rater's answer about two items under one criterion."""

    rater: str
    screen: int
    why: Why
    criterion: str
    low: str
    """The items in the order of their ids, so that the same pair is the same for everyone."""
    high: str
    outcome: int
    """1 low is better, -1 high is better, 0 neither."""
    left: int | None = None
    """1 the left one was preferred, -1 the right one, 0 neither; None where the items did not stand side by side."""


@dataclass(frozen=True, slots=True)
class ValueRow:
    """One rater's value for one item under one criterion."""

    rater: str
    screen: int
    why: Why
    criterion: str
    item: str
    value: float
    step: float = 1.0
    """Distance of two levels of the scale."""


@dataclass(frozen=True, slots=True)
class ScreenRow:
    """One answered screen."""

    rater: str
    screen: int
    why: Why
    seconds: float
    least: float
    """Least seconds the server asks for on such a screen."""
    right: bool | None = None
    """Whether a known answer was hit."""


@dataclass(frozen=True)
class AnswerRecords:
    """All answers of a studio, or of one phase."""

    screens: tuple[ScreenRow, ...]
    pairs: tuple[PairAnswerRow, ...] = ()
    values: tuple[ValueRow, ...] = ()


def answer_rows(
    rater_screen: RaterScreen, judgments: Iterable[Judgment], screen: int, *, step: float = 1.0
) -> Iterator[PairAnswerRow | ValueRow]:
    """The rows of one answered screen; nothing for what was skipped, and for checklists."""
    why = rater_screen.question.why
    for judgment in judgments:
        if judgment.skipped is not None:
            continue
        if isinstance(judgment, Rating) and judgment.value is not None:
            yield ValueRow(judgment.rater, screen, why, judgment.criterion, judgment.item, judgment.value, step)
        elif isinstance(judgment, Comparison):
            won = {"a": 1, "b": -1}.get(str(judgment.outcome), 0)
            left = won if judgment.left == "a" else -won
            yield _pair(judgment, screen, why, judgment.a, judgment.b, won, left)
        else:
            for a, b, won in _ordered_pairs(judgment):
                yield _pair(judgment, screen, why, a, b, won, None)


def _pair(judgment: Judgment, screen: int, why: Why, a: str, b: str, won: int, left: int | None) -> PairAnswerRow:
    low, high = sorted((a, b))
    return PairAnswerRow(judgment.rater, screen, why, judgment.criterion, low, high, won if low == a else -won, left)


def _ordered_pairs(judgment: Judgment) -> Iterator[tuple[str, str, int]]:
    """(better, worse, 1), or 0 where two items share a rank."""
    if isinstance(judgment, Ranking):
        ranked = list(zip(judgment.items, judgment.ranks))
        for (a, high), (b, low) in combinations(ranked, 2):
            yield a, b, int(high < low)
    elif isinstance(judgment, Choice) and judgment.chosen is not None:
        for loser in judgment.items:
            if loser != judgment.chosen:
                yield judgment.chosen, loser, 1


# -- agreement with the panel and with oneself -------------------------------------------------------------------------

PairKey = tuple[str, str, str]

_FEWEST_ITEMS = 5


@dataclass(frozen=True, slots=True)
class PanelCorrelation:
    """Pearson's r over n items."""

    r: float
    n: int


def panel_agreement(rows: Sequence[PairAnswerRow]) -> dict[str, list[float]]:
    """By rater: the share of a screen's decided pairs that are as the majority of the others.

    The others (at least two) must have a majority, and the rater must have decided.
    """
    ordinary = [row for row in rows if row.why == "ordinary"]
    balance: dict[PairKey, int] = defaultdict(int)
    raters: dict[PairKey, int] = defaultdict(int)
    for row in ordinary:
        key = (row.criterion, row.low, row.high)
        balance[key] += row.outcome
        raters[key] += 1
    screens: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in ordinary:
        key = (row.criterion, row.low, row.high)
        balance_of_others = balance[key] - row.outcome
        if row.outcome and balance_of_others and raters[key] > 2:
            screens[row.rater][row.screen].append(float(row.outcome * balance_of_others > 0))
    return {
        rater: [float(np.mean(shares)) for shares in screen_shares.values()] for rater, screen_shares in screens.items()
    }


def panel_correlation(rows: Sequence[ValueRow]) -> dict[str, PanelCorrelation]:
    """By rater: correlation of the values with the mean of the others' (at least two), over items.

    Several criteria are averaged item by item after taking the rater's mean off each. Raters with fewer than five
    such items, or without any spread, are left out.
    """
    ordinary = [row for row in rows if row.why == "ordinary"]
    total: dict[tuple[str, str], float] = defaultdict(float)
    raters: dict[tuple[str, str], int] = defaultdict(int)
    mine: dict[str, dict[str, list[ValueRow]]] = defaultdict(lambda: defaultdict(list))
    for row in ordinary:
        total[row.criterion, row.item] += row.value
        raters[row.criterion, row.item] += 1
        mine[row.rater][row.criterion].append(row)
    correlations = {}
    for rater, by_criterion in mine.items():
        points: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for rows_of_rater in by_criterion.values():
            shared = [row for row in rows_of_rater if raters[row.criterion, row.item] > 2]
            own = _centre([row.value for row in shared])
            keys = [(row.criterion, row.item) for row in shared]
            panel_means = _centre([(total[key] - row.value) / (raters[key] - 1) for key, row in zip(keys, shared)])
            for row, x, y in zip(shared, own, panel_means):
                points[row.item].append((x, y))
        correlation = _correlation(np.array([np.mean(point, axis=0) for point in points.values()]).reshape(-1, 2))
        if correlation is not None:
            correlations[rater] = correlation
    return correlations


def repeat_agreement(pairs: Sequence[PairAnswerRow], values: Sequence[ValueRow]) -> tuple[list[float], float]:
    """One rater's repeats: the share answered alike on each repeated screen, and what chance would give.

    Pairs are alike when the outcome is the same; chance: two draws from the rater's own shares of decided pairs and
    of ties, sides by a fair coin. Values are alike within one level; chance: two draws from the rater's own values.
    """
    by_screen: dict[int, list[float]] = defaultdict(list)
    first = {(row.criterion, row.low, row.high): row.outcome for row in pairs if row.why == "ordinary"}
    for row in pairs:
        key = (row.criterion, row.low, row.high)
        if row.why == "repeat" and key in first:
            by_screen[row.screen].append(float(first[key] == row.outcome))
    rated = {
        (value_row.criterion, value_row.item): value_row.value for value_row in values if value_row.why == "ordinary"
    }
    for value_row in values:
        if value_row.why == "repeat" and (value_row.criterion, value_row.item) in rated:
            near = abs(rated[value_row.criterion, value_row.item] - value_row.value) <= value_row.step + 1e-9
            by_screen[value_row.screen].append(float(near))
    alike = [float(np.mean(shares)) for shares in by_screen.values()]
    if not pairs:
        return alike, _value_chance(values)
    ties = float(np.mean([row.outcome == 0 for row in pairs]))
    return alike, ties**2 + (1 - ties) ** 2 / 2


def _value_chance(values: Sequence[ValueRow]) -> float:
    """Chance that two draws from the rater's values lie within one level, by criterion with most answers."""
    by_criterion: dict[str, list[ValueRow]] = defaultdict(list)
    for row in values:
        by_criterion[row.criterion].append(row)
    if not by_criterion:
        return 0.5
    largest = max(by_criterion.values(), key=len)
    values_given = np.array([row.value for row in largest])
    levels, counts = np.unique(values_given, return_counts=True)
    near = np.abs(levels[:, None] - levels[None, :]) <= largest[0].step + 1e-9
    share = counts / counts.sum()
    return float(share @ near @ share)


def _centre(values: Sequence[float]) -> NDArray[np.float64]:
    x = np.asarray(values, dtype=np.float64)
    return x - x.mean() if len(x) else x


def _correlation(points: NDArray[np.float64]) -> PanelCorrelation | None:
    if len(points) < _FEWEST_ITEMS or np.ptp(points, axis=0).min() < 1e-9:
        return None
    x, y = (points - points.mean(axis=0)).T
    r = float(x @ y / np.sqrt((x @ x) * (y @ y)))
    return PanelCorrelation(float(np.clip(r, -0.999999, 0.999999)), len(points))


# -- disagreements and rulings -----------------------------------------------------------------------------------------

QuestionKey = tuple[str, tuple[str, ...]]
"""A criterion and the items asked about, in the order of their ids."""


@dataclass(frozen=True)
class Disagreement:
    """A question on which raters are split."""

    criterion: str
    items: tuple[str, ...]
    votes: dict[str, int]
    """Answer: how often. A winning item by id, "tie", "both_bad", or a value."""
    share: float
    """Share of the commonest answer."""


@dataclass(frozen=True)
class Ruling:
    """What an adjudicator decided: a final answer (as in `Disagreement.votes`), or that the items leave the study."""

    criterion: str
    items: tuple[str, ...]
    answer: str | None
    """None: dropped."""


@dataclass(frozen=True)
class Agreement:
    """How well raters agree on one criterion."""

    criterion: str
    questions: int
    answers: int
    kappa: Estimate | None
    """None where it is not defined: one rater only, or one answer only."""
    with_final: float
    """Share of answers that equal the final one; a question without a majority counts with its largest side."""


def disagreements(judgments: Iterable[Judgment], *, least_raters: int = 2, below: float = 0.8) -> list[Disagreement]:
    """Questions with enough raters of whom fewer than a share `below` agree, the most disputed first."""
    disputed = []
    for (criterion, items), votes in _count_votes(judgments).items():
        share = max(votes.values()) / votes.total()
        if votes.total() >= least_raters and share < below:
            disputed.append(Disagreement(criterion, items, dict(votes.most_common()), share))
    return sorted(
        disputed, key=lambda dispute: (dispute.share, -sum(dispute.votes.values()), dispute.criterion, dispute.items)
    )


def agreement(judgments: Iterable[Judgment], rulings: Sequence[Ruling] = ()) -> list[Agreement]:
    """One row for each criterion; with `rulings`, as it stands after them."""
    dropped = {item for ruling in rulings if ruling.answer is None for item in ruling.items}
    final = {
        (ruling.criterion, tuple(sorted(ruling.items))): ruling.answer
        for ruling in rulings
        if ruling.answer is not None
    }
    by_criterion: dict[str, dict[QuestionKey, Counter[str]]] = defaultdict(dict)
    for question, votes in _count_votes(judgments).items():
        if not dropped.intersection(question[1]):
            by_criterion[question[0]][question] = votes
    rows = []
    for criterion, asked_votes in by_criterion.items():
        answers = sum(votes.total() for votes in asked_votes.values())
        hits = sum(votes[final[key]] if key in final else max(votes.values()) for key, votes in asked_votes.items())
        rows.append(Agreement(criterion, len(asked_votes), answers, _kappa(asked_votes), hits / answers))
    return rows


def _kappa(votes_by_question: dict[QuestionKey, Counter[str]]) -> Estimate | None:
    """Answers count by what they say: a value, or the place of the winner among the items' ids."""
    rows = [
        {str(key[1].index(vote)) if vote in key[1] else vote: n for vote, n in votes.items()}
        for key, votes in votes_by_question.items()
        if votes.total() > 1
    ]
    if not rows:
        return None
    from salon.stats import fleiss_kappa

    options = sorted({option for row in rows for option in row})
    counts = np.array([[row.get(option, 0) for option in options] for row in rows])
    try:
        return fleiss_kappa(counts).kappa
    except StatsError:
        return None


def _count_votes(judgments: Iterable[Judgment]) -> dict[QuestionKey, Counter[str]]:
    """First answers only: a repeat tells about the rater."""
    votes_by_question: dict[QuestionKey, Counter[str]] = defaultdict(Counter)
    for judgment in judgments:
        vote = vote_word(judgment)
        if vote is not None and judgment.skipped is None and judgment.repeat == 0:
            votes_by_question[judgment.criterion, _items(judgment)][vote] += 1
    return votes_by_question


def _items(judgment: Judgment) -> tuple[str, ...]:
    if isinstance(judgment, Comparison):
        return tuple(sorted((judgment.a, judgment.b)))
    if isinstance(judgment, Choice | Ranking):
        return tuple(sorted(judgment.items))
    return (judgment.item,) if isinstance(judgment, Rating | Checklist) else ()
