"""Figures of judges on pairs: accuracy beside its ceilings, buckets, ties, wordings, order, calibration, generators.

Everything takes `PairAnswers`, whatever gave them, and rows of its pairs. Intervals draw whole prompts again. Chance is
a generator that the caller seeds by the judge's name: the order of calls is part of the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations, pairwise
from typing import NamedTuple, TypedDict

import numpy as np

from salon.check import CeilingFigures
from salon.errors import StatsError, TooFew
from salon.evaluate.answers import Floats, PairAnswers, PairContestant
from salon.evaluate.pair_results import (
    MACRO_CEILING,
    NO_CEILING,
    AccuracyFigures,
    BucketFigures,
    GeneratorFigures,
    GeneratorOrder,
    JudgeAgreement,
    JudgeCriterion,
    PairedFigures,
    PanelFigures,
)
from salon.evaluate.people import Bools, Ints, TestPairs
from salon.evaluate.results import EvaluateSettings, ReportSettings
from salon.stats import (
    BOTH_SIDES,
    UNREAD,
    Accuracy,
    Ceilings,
    Estimate,
    GeneratorRanks,
    JudgeAccuracy,
    PairCalibration,
    Resampling,
    WordingSpread,
    accuracy_difference,
    accuracy_warnings,
    bootstrap_totals,
    bucket_ceilings,
    ceilings,
    generator_ranks,
    holm,
    identity_gap,
    judge_accuracy,
    kendall,
    kind_table,
    match_rate,
    pair_calibration,
    paired_difference,
    self_agreement,
    wording_spread,
)

Settings = ReportSettings | EvaluateSettings
MOST_SPLITS = 8
"""More different splits than this are gathered by the share of the larger side."""
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def drawing(settings: Settings, rng: np.random.Generator) -> Resampling:
    """How the kernels draw prompts again."""
    return {"draws": settings.draws, "rng": rng, "level": settings.level}


# -- accuracy and ceilings ---------------------------------------------------------------------------------------------


class PairCeilings:
    """The ceilings of pairs, for any set of their criteria; each worked out once.

    Pairs on which fewer than two people named an item are in none. `required` refuses where there are none.
    """

    def __init__(self, pairs: TestPairs, settings: Settings, *, required: bool = False) -> None:
        self.pairs, self.settings, self.required = pairs, settings, required
        self._of = cache(self._make)

    def of(self, answers: PairAnswers) -> PairCeilings:
        """These; of a person those of the other people on the pairs that the person answered."""
        if answers.own is None:
            return self
        votes = np.where(answers.asked[:, None], answers.pairs.votes, 0)
        return PairCeilings(replace(answers.pairs, votes=votes), self.settings)

    def __call__(self, places: Sequence[int]) -> Ceilings | None:
        """Of the pairs of the criteria at these places; None where panels are too small or all tied."""
        return self._of(tuple(sorted(places)))

    def _make(self, places: tuple[int, ...]) -> Ceilings | None:
        rows = np.isin(self.pairs.criterion, places)
        votes, group = self.pairs.votes[rows, :2], self.pairs.group[rows]
        rng = np.random.default_rng([self.settings.seed, *(self.pairs.numbers[place] for place in places)])
        try:
            return ceilings(votes[:, 0], votes.sum(axis=1), group, **drawing(self.settings, rng))
        except StatsError as error:
            if self.required:
                raise TooFew(
                    "an accuracy is printed only beside its ceiling, and that needs several votes on a pair",
                    found=error.found or error.needed,
                    where=f"study {self.pairs.study!r}, {', '.join(self.pairs.criteria[place][1] for place in places)}",
                    remedy="collect a second vote on some pairs; --no-ceiling prints accuracies marked as having none",
                ) from None
            return None


def accuracies(answers: PairAnswers, tops: PairCeilings, rng: np.random.Generator) -> JudgeAccuracy:
    """A judge's rates on all its pairs; TooFew when there is no pair to measure it by."""
    pairs, rows = answers.pairs, answers.rows
    table = kind_table(answers.verdicts[rows], pairs.group[rows], pairs.criterion[rows], of=len(pairs.criteria))
    return judge_accuracy(table, **drawing(tops.settings, rng))


def spoken_criteria(rates: JudgeAccuracy) -> list[int]:
    """Places of the criteria that a judge has pairs of."""
    return [place for place, part in enumerate(rates.by_criterion) if part is not None]


class AccuracyLevels(TypedDict):
    """The two fields of `JudgeFigures` that put criteria together."""

    macro: AccuracyFigures
    pooled: AccuracyFigures


def accuracy_levels(rates: JudgeAccuracy, tops: PairCeilings) -> AccuracyLevels:
    """Accuracy as the mean over criteria and on all pairs, the latter beside its ceilings."""
    return {
        "macro": AccuracyFigures.of(rates.macro, None, gap=None, why=MACRO_CEILING),
        "pooled": AccuracyFigures.of(rates.pooled, tops(spoken_criteria(rates)), gap=identity_gap(rates.pooled)),
    }


def judge_criterion(
    answers: PairAnswers, place: int, rates: Accuracy | None, top: Ceilings | None, **more: object
) -> JudgeCriterion:
    """One judge on one criterion, beside its ceilings; `more` are the figures that only some judges have."""
    pairs, rows = answers.pairs, answers.pairs.on(place)
    figures = None if rates is None else AccuracyFigures.of(rates, top, gap=identity_gap(rates))
    warnings: list[str] = []
    if figures is not None and top is not None:
        warnings = accuracy_warnings(figures.accuracy, top)
    return JudgeCriterion(
        criterion=pairs.criteria[place][0],
        name=pairs.criteria[place][1],
        figures=figures,
        asked=int(answers.asked[rows].sum()),
        decided=int((answers.asked & pairs.decided)[rows].sum()),
        panel_pairs=int(pairs.decided[rows].sum()),
        unvoted=answers.unvoted[place] if answers.unvoted else 0,
        warnings=tuple(warnings),
        **more,
    )


def panel_figures(pairs: TestPairs, place: int, top: Ceilings | None, signal: Sequence[str | None]) -> PanelFigures:
    """The people on one criterion; `signal` is what a check says of them, as an answer and a sentence."""
    rows = pairs.on(place)
    votes = pairs.votes[rows].sum(axis=1)
    low, high = int(votes.min()), int(votes.max())
    return PanelFigures(
        criterion=pairs.criteria[place][0],
        name=pairs.criteria[place][1],
        votes=int(votes.sum()),
        pairs=len(votes),
        tied=int((~pairs.decided[rows]).sum()),
        raters=str(low) if low == high else f"{low} to {high}",
        lone=int((pairs.votes[rows, :2].sum(axis=1) == 1).sum()),
        ceilings=CeilingFigures.of(top),
        no_ceiling=NO_CEILING if top is None else None,
        signal=signal[0],
        sentence=signal[1],
    )


# -- how the panel split -----------------------------------------------------------------------------------------------


def panel_splits(larger: Ints, smaller: Ints) -> list[tuple[str, Bools]]:
    """(name, rows) of every split of a panel; of shares of the larger side where there are too many splits."""
    splits = sorted(set(zip(larger.tolist(), smaller.tolist())), key=lambda s: (-s[0] / sum(s), -sum(s)))
    if len(splits) <= MOST_SPLITS:
        return [(f"{m}-{k}", (larger == m) & (smaller == k)) for m, k in splits]
    share = larger / (larger + smaller)
    ends = list(pairwise(SHARES))[::-1]
    return [(f"{100 * low:.0f}-{100 * high:.0f}%", (share > low) & (share <= high)) for low, high in ends]


def judge_buckets(answers: PairAnswers, rows: Ints, resampling: Resampling) -> tuple[BucketFigures, ...]:
    """Accuracy by how those who named an item split, clearest first."""
    votes = answers.pairs.votes[rows, :2]
    splits = panel_splits(votes.max(axis=1), votes.min(axis=1))
    return tuple(_bucket(answers, name, rows[members], resampling) for name, members in splits if members.any())


def model_buckets(
    answers: PairAnswers, rows: Ints, top: Ceilings | None, resampling: Resampling
) -> tuple[BucketFigures, ...]:
    """Accuracy by how the panel split, beside its ceilings; splits with ties of raters stand for themselves."""
    votes = answers.pairs.votes[rows]
    kinds = np.column_stack([votes[:, :2].max(axis=1), votes[:, :2].min(axis=1), votes[:, 2]])
    buckets = []
    for kind in sorted(np.unique(kinds, axis=0).tolist(), key=lambda k: (-(k[0] - k[1]) / sum(k), -sum(k))):
        m, l, t = kind
        reach = None if top is None or m + l < 2 else bucket_ceilings(m + l, m, top)
        names = ("next_rater", "oracle", "next_rater_range", "oracle_range", "leave_one_out", "panel")
        tops = {} if reach is None else {name: getattr(reach, name) for name in names}
        name = f"{m}-{l}-{t}" if t else f"{m}-{l}"
        buckets.append(_bucket(answers, name, rows[(kinds == kind).all(axis=1)], resampling, **tops))
    return tuple(buckets)


def _bucket(answers: PairAnswers, name: str, rows: Ints, resampling: Resampling, **tops: object) -> BucketFigures:
    rate = match_rate(answers.scores[rows], answers.pairs.group[rows], **resampling)
    return BucketFigures(split=name, accuracy=rate, pairs=len(rows), **tops)


# -- ties, wordings, samples -------------------------------------------------------------------------------------------


def with_ties(answers: PairAnswers, rows: Ints, resampling: Resampling) -> Estimate | None:
    """Share of pairs with the same of first / second / tie as the panel; an unread verdict is none of them."""
    pairs = answers.pairs
    rows = rows[answers.asked[rows] & (pairs.votes[rows].sum(axis=1) > 0)]
    if not len(rows):
        return None
    return match_rate(answers.choice[rows] == pairs.winner[rows], pairs.group[rows], **resampling)


def wordings(answers: PairAnswers, rows: Ints, deals: int, rng: np.random.Generator) -> WordingSpread | None:
    """Spread over wordings within criteria, averaged over them; None where there are no wordings to compare.

    A pair has the same wording under all criteria with as many of them, so it is dealt one for all of those.
    """
    pairs = answers.pairs
    largest = np.array([answers.wording[pairs.on(place)].max(initial=-1) for place in range(len(pairs.criteria))])
    rows = rows[answers.wording[rows] >= 0]
    most = largest[pairs.criterion[rows]]
    _, unit = np.unique(np.stack([pairs.keys[rows], most], axis=1), axis=0, return_inverse=True)
    try:
        return wording_spread(
            answers.scores[rows],
            answers.wording[rows],
            unit,
            most,
            criteria=pairs.criterion[rows],
            deals=deals,
            rng=rng,
        )
    except StatsError:
        return None


def sample_agreement(answers: PairAnswers, resampling: Resampling) -> tuple[Estimate | None, int]:
    """Chance that two samples of a question agree, and the most samples of any question."""
    most = int(answers.samples.sum(axis=1).max(initial=0))
    if most < 2:
        return None, max(most, 1)
    clusters = np.repeat(answers.pairs.group, answers.said.shape[1])
    return self_agreement(answers.samples, clusters, **resampling), most


# -- order within a prompt ---------------------------------------------------------------------------------------------


def tau(answers: PairAnswers, rows: Ints, resampling: Resampling) -> Estimate | None:
    """Kendall's tau-b to the modal rater, mean over prompts (and criteria); None where no prompt has an order.

    The modal rater puts the items of a prompt in the order of the majorities they win (half for a tie), the judge in
    the order of the pairs they win by its answers. A prompt counts when all its pairs were voted on and answered.
    """
    values, groups = [], []
    for group, x, y in _prompt_orders(answers, rows[answers.asked[rows]]):
        value = float(kendall(x[None], y[None])[0])
        if not np.isnan(value):
            values.append(value)
            groups.append(group)
    if not values:
        return None
    _, row = np.unique(groups, return_inverse=True)
    table = np.column_stack([np.bincount(row, weights=values), np.bincount(row)])
    return bootstrap_totals(lambda t: t[:, 0] / t[:, 1], table, ends=BOTH_SIDES, **resampling)


def _prompt_orders(answers: PairAnswers, rows: Ints) -> Iterator[tuple[int, Floats, Floats]]:
    """Of each complete prompt its number, majorities won and pairs won by the answers, item by item."""
    pairs, choice = answers.pairs, answers.choice
    keys = pairs.criterion[rows] * (int(pairs.group.max()) + 1) + pairs.group[rows]
    order = rows[np.argsort(keys, kind="stable")]
    starts = np.flatnonzero(np.diff(np.sort(keys, kind="stable"))) + 1
    for block in np.split(order, starts):
        items, at = np.unique(np.concatenate([pairs.item_a[block], pairs.item_b[block]]), return_inverse=True)
        p = len(items)
        if p < 3 or 2 * len(block) != p * (p - 1) or (choice[block] == UNREAD).any():
            continue
        a, b = at[: len(block)], at[len(block) :]
        people, judge = (
            (np.bincount(a, side, p) - np.bincount(b, side, p)).astype(float)
            for side in (pairs.winner[block], choice[block])
        )
        yield int(pairs.group[block[0]]), people, judge


# -- chances -----------------------------------------------------------------------------------------------------------


def calibration(
    contestant: PairContestant, pairs: TestPairs, bins: int, resampling: Resampling
) -> PairCalibration | None:
    """Whether the chances are honest; None where there are none."""
    rows = contestant.known & (pairs.votes.sum(axis=1) > 0)
    if not contestant.is_logit or not rows.any():
        return None
    votes = pairs.votes[rows]
    return pair_calibration(
        contestant.margin[rows],
        votes[:, 0] + votes[:, 2] / 2,
        votes.sum(axis=1),
        pairs.group[rows],
        bins=bins,
        **resampling,
    )


def order_flips(contestant: PairContestant, pairs: TestPairs, resampling: Resampling) -> Estimate | None:
    """Share of pairs whose winner changes when they are shown the other way round."""
    if contestant.turned is None or not contestant.known.any():
        return None
    rows = contestant.known
    straight = 2 * contestant.margin - contestant.turned  # the margin is the mean of both orders
    return match_rate(straight[rows] * contestant.turned[rows] < 0, pairs.group[rows], **resampling)


# -- generators --------------------------------------------------------------------------------------------------------


class GeneratorRanking(NamedTuple):
    """Generators that pairs of two of them name, what the kernel says of their order, and the pairs of each."""

    names: list[str]
    ranks: GeneratorRanks | None
    """None for fewer than two generators."""
    pairs: Ints
    """By generator."""
    rows: int
    """Pairs of two generators that were answered."""


def rank_generators(answers: PairAnswers, resampling: Resampling) -> GeneratorRanking:
    """Generators by the votes and by the pairs they win; pairs of one generator with itself say nothing."""
    pairs = answers.pairs
    generators = [
        np.array([pairs.generators.get(item, "") for item in side], object) for side in (pairs.item_a, pairs.item_b)
    ]
    of_two = (generators[0] != "") & (generators[1] != "") & (generators[0] != generators[1])
    rows = np.flatnonzero(answers.asked & (answers.choice != UNREAD) & of_two & (pairs.votes.sum(axis=1) > 0))
    names = sorted({*generators[0][rows], *generators[1][rows]})
    if len(names) < 2:
        return GeneratorRanking(names, None, np.zeros(len(names), np.int64), len(rows))
    place = {name: number for number, name in enumerate(names)}
    sides = [np.array([place[name] for name in side[rows]]) for side in generators]
    votes = pairs.votes[rows]
    share = (votes[:, 0] + votes[:, 2] / 2) / votes.sum(axis=1)
    chosen = (answers.choice[rows] + 1) / 2
    _, group = np.unique(pairs.group[rows], return_inverse=True)
    shape = int(group.max()) + 1, len(names)

    def won(points: Floats) -> Floats:
        """(groups, generators): `points` to the first of each pair, the rest of 1 to the second."""
        cells = [np.bincount(group * shape[1] + side, part, shape[0] * shape[1])
                 for side, part in zip(sides, (points, 1 - points))]  # fmt: skip
        return np.asarray(cells[0] + cells[1], np.float64).reshape(shape)

    met = 2 * won(np.full(len(rows), 0.5))  # half a point for either side of each pair, twice
    ranks = generator_ranks(won(share), won(chosen), met, **resampling)
    return GeneratorRanking(names, ranks, met.sum(axis=0).astype(np.int64), len(rows))


def generator_order(answers: PairAnswers, resampling: Resampling) -> GeneratorOrder:
    """Do people and the judge put generators in the same order?"""
    names, ranks, pairs, _ = rank_generators(answers, resampling)
    if ranks is None:
        return GeneratorOrder(spearman=None, kendall=None, reason="fewer than two known generators", generators=())
    # Each has a pair, or would not be here.
    people = [estimate for estimate in ranks.people if estimate is not None]
    predicted = [estimate for estimate in ranks.predictor if estimate is not None]
    return GeneratorOrder(
        spearman=ranks.spearman,
        kendall=ranks.kendall,
        reason=ranks.reason,
        generators=tuple(
            GeneratorFigures(generator=names[g], people=people[g], predicted=predicted[g], pairs=int(pairs[g]))
            for g in sorted(range(len(names)), key=lambda g: -people[g].value)
        ),
    )


# -- two judges --------------------------------------------------------------------------------------------------------


def macro_difference(judge: PairAnswers, best: PairAnswers, resampling: Resampling) -> Estimate | None:
    """Macro accuracy less the best judge's on the pairs both met, drawn together; None where they share none.

    Both are held against the people who are neither of them.
    """
    judge, best = judge.without(best), best.without(judge)
    rows, pairs = np.intersect1d(judge.rows, best.rows), judge.pairs
    if not len(rows):
        return None
    about = (pairs.group[rows], pairs.criterion[rows])
    tables = [kind_table(which.verdicts[rows], *about, of=len(pairs.criteria)) for which in (judge, best)]
    return accuracy_difference(*tables, **resampling)


def judge_agreement(
    first: tuple[str, PairAnswers], second: tuple[str, PairAnswers], resampling: Resampling
) -> JudgeAgreement:
    """How often two judges name the same item, where both name one."""
    (first_name, x), (second_name, y) = first, second
    both = x.asked & y.asked & np.isin(x.choice, (1, -1)) & np.isin(y.choice, (1, -1))
    rate = None
    if both.any():
        hits = (x.choice == y.choice)[both].astype(np.int64)
        rate = match_rate(hits, x.pairs.group[both], **resampling)
    return JudgeAgreement(first=first_name, second=second_name, agreement=rate, pairs=int(both.sum()))


def paired_comparisons(
    ranked: Sequence[tuple[str, PairAnswers]], settings: EvaluateSettings
) -> tuple[PairedFigures, ...]:
    """Every two models on the pairs both speak about, the one named first being the more accurate overall.

    Both are held against the people who are neither of them. Two people are tested only where one of them is the most
    accurate of all: tests of every two of many people could find nothing after the adjustment.
    """
    tests = []
    for (first, first_answers), (second, second_answers) in combinations(ranked, 2):
        if first != ranked[0][0] and first_answers.own is not None and second_answers.own is not None:
            continue
        x, y = first_answers.without(second_answers), second_answers.without(first_answers)
        rows = np.intersect1d(x.rows, y.rows)
        if len(rows):
            resampling = drawing(settings, settings.rng(first, second))
            tests.append(
                (first, second, paired_difference(x.scores[rows], y.scores[rows], x.pairs.group[rows], **resampling))
            )
    adjusted = holm([test.p for _, _, test in tests]).tolist()
    return tuple(
        PairedFigures(
            first=first, second=second, difference=test.difference, p=test.p, p_holm=p_holm, law=test.law,
            pairs=test.questions, first_only=test.first_only, second_only=test.second_only,
        )
        for (first, second, test), p_holm in zip(tests, adjusted)
    )  # fmt: skip
