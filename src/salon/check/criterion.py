"""All figures of one criterion: its answers, their signal, ceilings and raters; and the ceilings of all criteria.

Complete orders are checked as orders, everything else as votes on pairs. A rater of 2,000 films orders two million
pairs of them, so items of a large catalogue are sampled (`sample_items`) before anyone looks at a rating, and all
ratings of these items count: two votes on a pair agree as often among them as among all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from salon.check.raters import faction_figures, rater_figures
from salon.check.results import (
    CeilingFigures,
    CheckSettings,
    CriterionFigures,
    PanelCeilings,
    Statistics,
    StudyCeilings,
    TestFigures,
)
from salon.check.signal import (
    MOST_ITEMS,
    CompleteAnswers,
    Longs,
    NullLookup,
    Protocol,
    Signal,
    answers_comparisons,
    answers_rankings,
    answers_ratings,
    count_skipped,
    criterion_signal,
    ranked_groups,
)
from salon.errors import StatsError
from salon.stats import (
    SHARE,
    Ceilings,
    Estimate,
    Resampling,
    VoteTable,
    alpha_bootstrap,
    alpha_from_w,
    bootstrap_totals,
    cells_table,
    group_concordances,
    kendall_t,
    table_ceilings,
    vote_power,
    vote_table,
    vote_test,
    votes_rankings,
)
from salon.study import TIE, Bools, JudgmentView, Study, Votes, pair_votes

Result = TypeVar("Result")
Views = dict[Protocol, JudgmentView]
_READERS: tuple[Callable[[Study, int], CompleteAnswers], ...] = (answers_rankings, answers_comparisons, answers_ratings)


@dataclass(frozen=True)
class CriterionCheck:
    """Everything of a criterion but its verdict, which needs the other criteria for Holm."""

    figures: CriterionFigures
    power: Callable[[float], Estimate | None]
    """The chance that this design shows the smallest tau worth seeing, at a level."""


@dataclass(frozen=True)
class RandomStreams:
    """A stream of random numbers for every part: no part's draws move another's."""

    seed: int
    criterion: int

    def __call__(self, part: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.criterion, crc32(part.encode())])


def check_criterion(study: Study, number: int, settings: CheckSettings, null: NullLookup) -> CriterionCheck | None:
    """The figures of one criterion; None when nobody judged it."""
    streams = RandomStreams(settings.seed, number)
    answers_by_protocol = {}
    for reader in _READERS:
        answers = reader(study, number)
        shared = (answers.group[1:] == answers.group[:-1]).any()  # a group with two complete answers
        if shared and answers.incomplete <= len(answers):  # mostly incomplete answers serve better as votes
            return _check_orders(study, number, answers, settings, null, streams)
        answers_by_protocol[answers.protocol] = answers
    return _check_votes(study, number, settings, streams) or _check_unshared(study, number, answers_by_protocol)


def _check_orders(
    study: Study,
    number: int,
    answers: CompleteAnswers,
    settings: CheckSettings,
    null: NullLookup,
    streams: RandomStreams,
) -> CriterionCheck:
    """Figures from complete orders."""
    signal = criterion_signal(answers, settings, null, streams("ties"))
    starts = answers.starts
    w = group_concordances(answers.scores, answers.size, starts)
    w = np.round(w[np.isfinite(w)], 9)  # equal values become one kind of row for the bootstrap
    resampling: Resampling = {"draws": settings.draws, "rng": streams("W"), "level": settings.level}
    w_table = np.column_stack([w, np.ones(len(w))])
    mean_w = result_or_none(lambda: bootstrap_totals(lambda t: t[:, 0] / t[:, 1], w_table, ends=SHARE, **resampling))
    alpha = result_or_none(lambda: _alpha(answers, starts, mean_w, settings, streams("alpha")))
    table = _vote_table(study, number, answers, signal, settings)
    views = (study.comparisons, study.rankings, study.ratings)
    of_crowds = sum(int(((view.criterion == number) & study.crowds[view.rater]).sum()) for view in views)
    crowd = (f"answers left out because their raters are unknown (a crowd): {of_crowds:,}",)
    figures = CriterionFigures(
        criterion=study.criteria[number].id,
        name=study.criteria[number].title,
        protocol=answers.protocol,
        cohort=_cohort(study, answers.rater),
        prompts=signal.prompts,
        judgments=len(answers),
        statistics=signal.statistics(settings, streams("statistics")),
        null=signal.null_figures(),
        tests=signal.tests(streams("agreement")),
        shapes=signal.shape_figures(),
        alpha=alpha,
        mean_W=mean_w,
        ceilings=None if table is None else _ceilings(table, settings, streams("ceilings")),
        raters=rater_figures(study, signal.shapes),
        factions=faction_figures(study, signal.shapes, settings, streams("factions")),
        tie_rate=answers.tie_rate,
        tie_control=_tie_control(answers, streams("control"))
        if settings.ties == "stable" and answers.tie_rate
        else None,
        policies=(
            *_policies(answers, signal, starts, settings),
            *_unused_answers(study, number, table, answers.protocol),
            *(crowd if of_crowds else ()),
        ),
    )
    return CriterionCheck(figures, lambda level: signal.power(settings, level, streams("power")))


def _vote_table(
    study: Study, number: int, answers: CompleteAnswers, signal: Signal, settings: CheckSettings
) -> VoteTable | None:
    """The votes on pairs that ceilings rest on, counted as an accuracy counts them: every vote that names an item.

    Strict complete orders are all votes there are, and are counted already. A tie broken by lot would be a vote that
    nobody gave: it lowers every ceiling, and no judge or model is ever held against it.
    """
    kinds = sum(bool((view.criterion == number).any()) for view in (study.comparisons, study.rankings))
    gaps = answers.incomplete or answers.too_large or answers.ungrouped or study.crowds.any()
    if not (answers.tie_rate or gaps) and kinds == (answers.protocol != "ratings"):
        return cells_table([cells for cells, _ in signal.repeats[0]])
    return catalogue_table(study, number, settings)


def _check_votes(study: Study, number: int, settings: CheckSettings, streams: RandomStreams) -> CriterionCheck | None:
    """Figures from votes that form no complete orders: arenas, fractions, crowds, orders of some of the items."""
    votes = _gather_votes(study, number, settings)
    if not len(votes.rater):
        return None
    cluster = votes.pair if study.compare_within == "all" else votes.group
    views: Views = {"comparisons": study.comparisons, "rankings": study.rankings, "ratings": study.ratings}
    kind = next(kind for kind, view in views.items() if (view.criterion == number).any())
    try:
        result = vote_test(
            votes.pair, votes.block, votes.sign, cluster, draws=settings.draws, rng=streams("votes"),
            level=settings.level,
        )  # fmt: skip
        test, agreement = TestFigures.of("pairs", result.test), result.agreement
    except StatsError as error:
        if kind != "comparisons":
            return None
        test, agreement = TestFigures(name="pairs", refused=f"{error.needed} (found {error.found})"), None
    table = catalogue_table(study, number, settings, by_pair=study.compare_within == "all")
    figures = CriterionFigures(
        criterion=study.criteria[number].id,
        name=study.criteria[number].title,
        protocol="votes",
        cohort=_cohort(study, votes.rater),
        prompts=len(np.unique(votes.group)),
        judgments=votes.judgments,
        statistics=Statistics(),
        tests=(test,),
        pair_agreement=agreement,
        ceilings=None if table is None else _ceilings(table, settings, streams("ceilings")),
        tie_rate=float((votes.sign == 0).mean()),
        policies=(
            *_vote_policies(study, votes.rater, kind, count_skipped(study, kind, number)),
            *catalogue_policy(study, number, settings),
            *_unused_answers(study, number, table, kind if kind == "comparisons" else None),
        ),
    )
    pairs = (votes.pair, votes.block, votes.first, votes.second, votes.sign)
    power = partial(vote_power, *pairs, tau=settings.smallest_tau, rng=streams("power"))
    return CriterionCheck(figures, lambda level: result_or_none(lambda: power(alpha=level)))


@dataclass(frozen=True)
class _CriterionVotes:
    """Votes on pairs under one criterion; one block for each rater and group, and for each vote of a crowd."""

    rater: NDArray[np.int32]
    group: NDArray[np.int32]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    pair: NDArray[np.int64]
    block: NDArray[np.int64]
    sign: NDArray[np.int64]
    judgments: int


def _gather_votes(study: Study, number: int, settings: CheckSettings) -> _CriterionVotes:
    """Comparisons as they are; where there are none, what rankings or ratings of some items say of their pairs."""
    view = study.comparisons
    rows = np.flatnonzero((view.criterion == number) & (view.repeat == 0))
    if len(rows):
        rater, group, a, b, outcome = (
            view.rater[rows], view.group[rows], view.a[rows], view.b[rows], view.outcome[rows]
        )  # fmt: skip
        judgments = len(rows)
    else:
        votes = catalogue_votes(study, number, settings)
        rater, a, b, outcome = votes.rater, votes.a, votes.b, votes.outcome
        group = study.item_groups[a]
        judgments = len(np.unique(rater.astype(np.int64) * (int(group.max(initial=0)) + 1) + group))
    low, high = np.minimum(a, b), np.maximum(a, b)
    _, pair = np.unique(low.astype(np.int64) * len(study.item_groups) + high, return_inverse=True)
    won = np.where(outcome > 1, 0, np.where(outcome == 0, 1, -1))
    block = rater.astype(np.int64) * (np.int64(group.max(initial=0)) + 1) + group
    crowd = study.crowds[rater]
    block[crowd] = block.max(initial=0) + 1 + np.arange(int(crowd.sum()))
    _, dense = np.unique(block, return_inverse=True)
    return _CriterionVotes(rater, group, low, high, pair, dense, np.where(a < b, won, -won), judgments)


def _check_unshared(
    study: Study, number: int, answers_by_protocol: Mapping[Protocol, CompleteAnswers]
) -> CriterionCheck | None:
    """A criterion on which no two raters answered the same question; it is reported without a test."""
    views: Views = {"rankings": study.rankings, "ratings": study.ratings}
    kind = next((kind for kind, view in views.items() if (view.criterion == number).any()), None)
    if kind is None:
        return None
    rows = views[kind].criterion == number
    answers = answers_by_protocol[kind]
    groups = np.unique(views[kind].group[rows & (views[kind].group >= 0)])
    refused = "two raters who answered for the same items are needed"
    figures = CriterionFigures(
        criterion=study.criteria[number].id,
        name=study.criteria[number].title,
        protocol=kind,
        cohort=_cohort(study, views[kind].rater[rows]),
        prompts=0,
        judgments=len(answers),
        statistics=Statistics(),
        tests=(TestFigures(name="agreement", refused=f"{refused} (found none in {len(groups):,} prompts)"),),
        tie_rate=answers.tie_rate,
        policies=_exclusions(answers, len(answers)),
    )
    return CriterionCheck(figures, lambda level: None)


def criterion_power(checked: CriterionCheck, settings: CheckSettings, silent: int) -> Estimate | None:
    """The power of this design at the level that Holm's first step leaves to `silent` criteria."""
    return checked.power(settings.alpha / max(silent, 1))


def result_or_none(make: Callable[[], Result]) -> Result | None:
    """A result; None where the data cannot give it."""
    try:
        return make()
    except StatsError:
        return None


def _ceilings(table: VoteTable, settings: CheckSettings, rng: np.random.Generator) -> PanelCeilings | None:
    return result_or_none(
        lambda: ceiling_figures(table_ceilings(table, draws=settings.draws, rng=rng, level=settings.level))
    )


def ceiling_figures(ceilings: Ceilings) -> PanelCeilings:
    """A kernel's ceilings with their buckets by name."""
    sizes = {bucket.raters for bucket in ceilings.buckets}
    return PanelCeilings(
        **{name: getattr(ceilings, name) for name in CeilingFigures.model_fields},
        buckets={
            bucket.name if len(sizes) == 1 else f"{bucket.name} of {bucket.raters}": bucket.share
            for bucket in ceilings.buckets
        },
    )


def _alpha(
    answers: CompleteAnswers, starts: Longs, mean_w: Estimate | None, settings: CheckSettings, rng: np.random.Generator
) -> Estimate:
    """Krippendorff's alpha, ordinal: of ratings as given, or of places in the order."""
    raters = np.diff(np.append(starts, len(answers)))
    strict = answers.protocol == "rankings" and not answers.tie_rate
    if strict and mean_w is not None and np.ptp(raters) == np.ptp(answers.size) == 0:
        return alpha_from_w(mean_w, answers.scores.size, int(raters[0]))
    slot = np.arange(len(answers)) - np.repeat(starts, raters)
    width = answers.scores.shape[1]
    units = np.full((len(starts), width, int(raters.max())), np.nan, np.float32)
    units[np.repeat(np.arange(len(starts)), raters), :, slot] = answers.scores
    clusters = np.repeat(np.arange(len(starts)), width)
    flat = units.reshape(-1, units.shape[2])
    return alpha_bootstrap(flat, clusters, level="ordinal", draws=settings.draws, rng=rng, confidence=settings.level)


def _tie_control(answers: CompleteAnswers, rng: np.random.Generator) -> float:
    """Mean tau after every rater's values are shuffled, ties still broken by item order: what the rule alone makes."""
    shuffled = answers.scores.copy()
    for size in np.unique(answers.size):
        rows = answers.size == size
        shuffled[rows, :size] = rng.permuted(answers.scores[rows, :size], axis=1)
    control = ranked_groups(replace(answers, scores=shuffled), ties="stable", rng=rng)
    taus = [kendall_t(votes_rankings(shape.ranks), shape.raters) for shape in control]
    return float(np.concatenate(taus).mean()) if taus else 0.0


def _cohort(study: Study, raters: NDArray[np.int32]) -> str | None:
    """The cohort that all these raters belong to, if there is one."""
    table = study.table("raters")
    if "cohort" not in table.column_names:
        return None
    names = set(table.column("cohort").take(np.unique(raters)).to_pylist())
    return names.pop() if len(names) == 1 else None


def _policies(answers: CompleteAnswers, signal: Signal, starts: Longs, settings: CheckSettings) -> tuple[str, ...]:
    policies = [f"each prompt counts once; complete answers from {answers.protocol}"]
    if answers.tie_rate:
        how = (
            f"broken at random, averaged over {len(signal.repeats)} tie-breaks"
            if settings.ties == "random"
            else "broken by item order, the same for every rater"
        )
        policies.append(f"ties ({answers.tie_rate:.1%} of item pairs within an answer): {how}")
        if len(signal.repeats) > 1:
            policies.append("the matrix of raters and the faction test use the first tie-break")
        policies.append("ceilings count votes as accuracies do: a tie names no item and is no vote")
    if answers.incomplete:
        policies.append("ceilings count the votes of incomplete answers too")
    return (*policies, *_exclusions(answers, len(starts) - signal.prompts))


def _exclusions(answers: CompleteAnswers, alone: int) -> tuple[str, ...]:
    """What did not enter the statistics, counted."""
    counts = {
        "answers left out because they do not cover every item of their prompt": answers.incomplete,
        "prompts left out because fewer than two raters answered in full": alone,
        f"groups left out because they hold more than {MOST_ITEMS} items": answers.too_large,
        "ratings left out because their item belongs to no prompt": answers.ungrouped,
        "judgments skipped by raters with a reason": answers.skipped,
        "complete sets of comparisons that were intransitive and went by wins": answers.intransitive,
    }
    return tuple(f"{what}: {count:,}" for what, count in counts.items() if count)


def _unused_answers(study: Study, number: int, table: VoteTable | None, used: str | None) -> tuple[str, ...]:
    """What ceilings, orders and tests leave out, counted; `used` is the kind of answers that orders and tests use."""
    counts = {
        "pairs without two votes that name an item, left out of the ceilings": 0 if table is None else table.left_out
    }
    views: Views = {"rankings": study.rankings, "comparisons": study.comparisons, "ratings": study.ratings}
    for kind, view in views.items():
        if used is not None and kind != used:
            what = f"{kind} under this criterion that orders and tests leave out, as they use {used}"
            counts[what] = int((view.criterion == number).sum())
    return tuple(f"{what}: {count:,}" for what, count in counts.items() if count)


def _vote_policies(study: Study, raters: NDArray[np.int32], kind: str, skipped: int) -> tuple[str, ...]:
    few = "raters met every pair" if kind == "comparisons" else f"{kind} cover every item"
    policies = [
        f"few {few} of a prompt, so votes on single pairs are compared instead of orders",
        "ties and 'both bad' count for neither side and leave a pair's decided votes",
    ]
    if study.compare_within == "all":
        policies.append("there are no prompts: for intervals, pairs of items are drawn again in their place")
    if study.crowds[raters].any():
        policies.append("raters the source cannot tell apart are taken as one person per vote")
    if skipped:
        policies.append(f"judgments skipped by raters with a reason: {skipped:,}")
    return tuple(policies)


# -- votes on pairs, of a sample of items where a catalogue has too many -----------------------------------------------


def catalogue_votes(study: Study, criterion: int, settings: CheckSettings) -> Votes:
    """The votes on pairs of a criterion, of the items drawn where all would be too many."""
    return pair_votes(study, criterion, items=sample_items(study, criterion, settings))


def catalogue_table(study: Study, number: int, settings: CheckSettings, *, by_pair: bool = False) -> VoteTable | None:
    """All votes on pairs under a criterion, by prompt or each pair for itself; None where no pair has two."""
    first, decided, pair = _votes_by_pair(study, number, settings)
    prompts = None if by_pair else study.item_groups[pair // len(study.item_groups)]
    return result_or_none(lambda: vote_table(first, decided, prompts))


def _votes_by_pair(
    study: Study, number: int, settings: CheckSettings
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Votes for the first item of each pair, votes that name an item, and the pair: items * first + second."""
    votes = catalogue_votes(study, number, settings)
    pair, at = np.unique(votes.a.astype(np.int64) * len(study.item_groups) + votes.b, return_inverse=True)
    first, decided = (np.bincount(at[rows], minlength=len(pair)) for rows in (votes.outcome == 0, votes.outcome < TIE))
    return first, decided, pair


def sample_items(study: Study, criterion: int, settings: CheckSettings) -> Bools | None:
    """Which items of a catalogue are compared; None: all.

    The votes of a share s of the items are about s^2 of all votes. Where the draw makes more than asked for, the last
    items drawn are left out.
    """
    views = (study.comparisons, study.rankings)
    if study.compare_within == "prompt" or any((view.criterion == criterion).any() for view in views):
        return None
    view = study.ratings
    rows = np.flatnonzero(
        (view.criterion == criterion) & (view.repeat == 0) & (view.group >= 0) & ~study.crowds[view.rater]
    )
    answer = view.group[rows].astype(np.int64) * len(study.crowds) + view.rater[rows]
    _, answer = np.unique(answer, return_inverse=True)
    item = view.item[rows]
    items = len(study.item_groups)
    shared = np.flatnonzero(np.bincount(item, minlength=items) > 1)
    if not len(shared) or _count_pairs(answer) <= settings.most_votes:
        return None
    order = np.random.default_rng([settings.seed, criterion, 5]).permutation(shared)
    place = np.full(items, len(order))
    place[order] = np.arange(len(order))
    fewest, most = 2, len(order)
    while fewest < most:  # the largest draw whose votes are few enough
        middle = (fewest + most + 1) // 2
        if _count_pairs(answer[place[item] < middle]) <= settings.most_votes:
            fewest = middle
        else:
            most = middle - 1
    return place < fewest


def catalogue_policy(study: Study, criterion: int, settings: CheckSettings) -> tuple[str, ...]:
    """What was drawn, in words."""
    sampled = sample_items(study, criterion, settings)
    if sampled is None:
        return ()
    rated = len(np.unique(study.ratings.item[study.ratings.criterion == criterion]))
    return (
        f"{int(sampled.sum()):,} of {rated:,} items are compared, drawn at random from those with two ratings: all "
        f"would make more than {settings.most_votes:,} votes on pairs (--most-votes)",
    )


def _count_pairs(answer: np.ndarray) -> int:
    """Pairs of items within the answers."""
    size = np.bincount(answer).astype(np.int64)
    return int((size * (size - 1) // 2).sum())


def study_ceilings(study: Study, criteria: Sequence[CriterionFigures], settings: CheckSettings) -> StudyCeilings | None:
    """Ceilings and buckets over all pairs of these criteria; None where fewer than two of them have ceilings.

    This is the row that a paper prints beside its criteria. A prompt that several criteria judge is one prompt: it is
    drawn again with all of them. The mean of the panel ceiling over criteria is TASTE's mean LOO; with as many pairs
    under every criterion it equals the pooled one.
    """
    panels = {c.criterion: c.ceilings.panel.value for c in criteria if c.ceilings and c.ceilings.panel}
    if len(panels) < 2:
        return None
    ids = study.ids("criteria").to_pylist()
    parts = [_votes_by_pair(study, ids.index(criterion), settings) for criterion in panels]
    first, decided, pair = (np.concatenate(column) for column in zip(*parts))
    cluster = pair if study.compare_within == "all" else study.item_groups[pair // len(study.item_groups)]
    rng = np.random.default_rng([settings.seed, 3])
    try:
        pooled = table_ceilings(
            vote_table(first, decided, cluster), draws=settings.draws, rng=rng, level=settings.level
        )
    except StatsError:
        return None
    return StudyCeilings(
        criteria=len(panels),
        mean_panel=float(np.mean(list(panels.values()))),
        lowest_panel=min(panels.values()),
        lowest=min(panels, key=panels.__getitem__),
        highest_panel=max(panels.values()),
        highest=max(panels, key=panels.__getitem__),
        pooled=ceiling_figures(pooled),
    )
