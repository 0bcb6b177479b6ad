"""All figures of one criterion: its answers, their signal, ceilings and raters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from salon.check.answers import (
    MOST_ITEMS,
    Answers,
    Longs,
    Protocol,
    answers_comparisons,
    answers_rankings,
    answers_ratings,
    shapes,
    skipped_of,
)
from salon.check.catalogue import catalogue_policy, catalogue_table, catalogue_votes
from salon.check.panel import faction_figures, rater_figures
from salon.check.results import CeilingFigures, CriterionFigures, Statistics, TestFigures
from salon.check.settings import CheckSettings
from salon.check.signal import Lookup, Signal, signal_of
from salon.errors import StatsError
from salon.stats.alpha import alpha_bootstrap
from salon.stats.ceilings import Ceilings, VoteTable, cells_table, table_ceilings
from salon.stats.concordance import alpha_from_w, group_concordances
from salon.stats.resample import SHARE, Resampling, bootstrap_totals
from salon.stats.result import Estimate
from salon.stats.signal import kendall_t, votes_rankings
from salon.stats.vote_test import vote_power, vote_test
from salon.study import Study
from salon.study.views import View

Result = TypeVar("Result")
Views = dict[Protocol, View]
_READERS: tuple[Callable[[Study, int], Answers], ...] = (answers_rankings, answers_comparisons, answers_ratings)


@dataclass(frozen=True)
class Checked:
    """Everything of a criterion but its verdict, which needs the other criteria for Holm."""

    figures: CriterionFigures
    power: Callable[[float], Estimate | None]
    """The chance that this design shows the smallest tau worth seeing, at a level."""


@dataclass(frozen=True)
class Streams:
    """A stream of random numbers for every part: no part's draws move another's."""

    seed: int
    criterion: int

    def __call__(self, part: str) -> np.random.Generator:
        return np.random.default_rng([self.seed, self.criterion, crc32(part.encode())])


def check_criterion(study: Study, number: int, settings: CheckSettings, null: Lookup) -> Checked | None:
    """The figures of one criterion; None when nobody judged it."""
    streams = Streams(settings.seed, number)
    read = []
    for reader in _READERS:
        answers = reader(study, number)
        if _repeated(answers):
            return _ordered(study, number, answers, settings, null, streams)
        read.append(answers)
    return _voted(study, number, settings, streams) or _alone(study, number, read)


def _repeated(answers: Answers) -> bool:
    """Is there a group with two complete answers? Answers that are mostly incomplete serve better as votes."""
    if answers.incomplete > len(answers):
        return False
    return bool((answers.group[1:] == answers.group[:-1]).any())


def _ordered(
    study: Study, number: int, answers: Answers, settings: CheckSettings, null: Lookup, streams: Streams
) -> Checked:
    """Figures from complete orders."""
    signal = signal_of(answers, settings, null, streams("ties"))
    starts = answers.starts
    mean_w = _estimate(lambda: _mean_w(answers, starts, settings, streams("W")))
    alpha = _estimate(lambda: _alpha(answers, starts, mean_w, settings, streams("alpha")))
    table = _vote_table(study, number, answers, signal, settings)
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
        alpha=None if alpha is None else alpha,
        mean_W=None if mean_w is None else mean_w,
        ceilings=None if table is None else _ceilings(table, settings, streams("ceilings")),
        raters=rater_figures(study, signal.shapes),
        factions=faction_figures(study, signal.shapes, settings, streams("factions")),
        tie_rate=answers.tie_rate,
        tie_control=_tie_control(answers, streams("control"))
        if settings.ties == "stable" and answers.tie_rate
        else None,
        policies=(
            *_policies(answers, signal, starts, settings),
            *_lone_policy(table),
            *_other_policy(study, number, answers.protocol),
            *_crowd_policy(study, number),
        ),
    )
    return Checked(figures, lambda level: signal.power(settings, level, streams("power")))


def _vote_table(
    study: Study, number: int, answers: Answers, signal: Signal, settings: CheckSettings
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


def _voted(study: Study, number: int, settings: CheckSettings, streams: Streams) -> Checked | None:
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
            *_vote_policies(study, votes.rater, kind, skipped_of(study, kind, number)),
            *catalogue_policy(study, number, settings),
            *_lone_policy(table),
            *(_other_policy(study, number, "comparisons") if kind == "comparisons" else ()),
        ),
    )
    pairs = (votes.pair, votes.block, votes.first, votes.second, votes.sign)
    power = partial(vote_power, *pairs, tau=settings.smallest_tau, rng=streams("power"))
    return Checked(figures, lambda level: _estimate(lambda: power(alpha=level)))


@dataclass(frozen=True)
class _GatheredVotes:
    """Votes on pairs under one criterion; one block for each rater and group, and for each vote of a crowd."""

    rater: NDArray[np.int32]
    group: NDArray[np.int32]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    pair: NDArray[np.int64]
    block: NDArray[np.int64]
    sign: NDArray[np.int64]
    judgments: int


def _gather_votes(study: Study, number: int, settings: CheckSettings) -> _GatheredVotes:
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
    return _GatheredVotes(rater, group, low, high, pair, dense, np.where(a < b, won, -won), judgments)


def _alone(study: Study, number: int, read: Sequence[Answers]) -> Checked | None:
    """A criterion that was judged, but where no two raters answered the same question: said, never left out."""
    views: Views = {"rankings": study.rankings, "ratings": study.ratings}
    kind = next((kind for kind, view in views.items() if (view.criterion == number).any()), None)
    if kind is None:
        return None
    rows = views[kind].criterion == number
    answers = next(one for one in read if one.protocol == kind)
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
        policies=_left_out(answers, len(answers)),
    )
    return Checked(figures, lambda level: None)


def power_for(checked: Checked, settings: CheckSettings, silent: int) -> Estimate | None:
    """The power of this design at the level that Holm's first step leaves to `silent` criteria."""
    return None if (power := checked.power(settings.alpha / max(silent, 1))) is None else power


def _estimate(make: Callable[[], Result]) -> Result | None:
    """A result, None where the data cannot give it."""
    try:
        return make()
    except StatsError:
        return None


def _ceilings(table: VoteTable, settings: CheckSettings, rng: np.random.Generator) -> CeilingFigures | None:
    try:
        return ceiling_figures(table_ceilings(table, draws=settings.draws, rng=rng, level=settings.level))
    except StatsError:
        return None


def ceiling_figures(made: Ceilings) -> CeilingFigures:
    """A kernel's ceilings as part of a report."""
    names = ("next_rater", "oracle", "panel", "leave_one_out", "leave_one_out_dropped", "cap")
    sizes = {bucket.raters for bucket in made.buckets}
    return CeilingFigures(
        **{name: getattr(made, name) for name in names},
        next_rater_range=made.next_rater_range,
        oracle_range=made.oracle_range,
        buckets={
            bucket.name if len(sizes) == 1 else f"{bucket.name} of {bucket.raters}": bucket.share
            for bucket in made.buckets
        },
        pairs=made.pairs,
        tied_share=made.tied_share,
        left_out=made.left_out,
    )


def _alpha(
    answers: Answers, starts: Longs, mean_w: Estimate | None, settings: CheckSettings, rng: np.random.Generator
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


def _mean_w(answers: Answers, starts: Longs, settings: CheckSettings, rng: np.random.Generator) -> Estimate:
    w = group_concordances(answers.scores, answers.size, starts)
    table = np.column_stack([w[np.isfinite(w)], np.ones(int(np.isfinite(w).sum()))])
    table[:, 0] = np.round(table[:, 0], 9)  # equal values become one kind of row for the bootstrap
    given: Resampling = {"draws": settings.draws, "rng": rng, "level": settings.level}
    return bootstrap_totals(lambda t: t[:, 0] / t[:, 1], table, ends=SHARE, **given)


def _tie_control(answers: Answers, rng: np.random.Generator) -> float:
    """Mean tau after every rater's values are shuffled, ties still broken by item order: what the rule alone makes."""
    shuffled = answers.scores.copy()
    for size in np.unique(answers.size):
        rows = answers.size == size
        shuffled[rows, :size] = rng.permuted(answers.scores[rows, :size], axis=1)
    control = shapes(replace(answers, scores=shuffled), ties="stable", rng=rng)
    taus = [kendall_t(votes_rankings(shape.ranks), shape.raters) for shape in control]
    return float(np.concatenate(taus).mean()) if taus else 0.0


def _cohort(study: Study, raters: NDArray[np.int32]) -> str | None:
    """The cohort that all these raters belong to, if there is one."""
    table = study.table("raters")
    if "cohort" not in table.column_names:
        return None
    names = set(table.column("cohort").take(np.unique(raters)).to_pylist())
    return names.pop() if len(names) == 1 else None


def _policies(answers: Answers, signal: Signal, starts: Longs, settings: CheckSettings) -> tuple[str, ...]:
    said = [f"each prompt counts once; complete answers from {answers.protocol}"]
    if answers.tie_rate:
        how = (
            f"broken at random, averaged over {len(signal.repeats)} tie-breaks"
            if settings.ties == "random"
            else "broken by item order, the same for every rater"
        )
        said.append(f"ties ({answers.tie_rate:.1%} of item pairs within an answer): {how}")
        if len(signal.repeats) > 1:
            said.append("the matrix of raters and the faction test use the first tie-break")
        said.append("ceilings count votes as accuracies do: a tie names no item and is no vote")
    if answers.incomplete:
        said.append("ceilings count the votes of incomplete answers too")
    return (*said, *_left_out(answers, len(starts) - signal.prompts))


def _left_out(answers: Answers, alone: int) -> tuple[str, ...]:
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


def _lone_policy(table: VoteTable | None) -> tuple[str, ...]:
    """Pairs that no ceiling can rest on, counted."""
    if table is None or not table.left_out:
        return ()
    return (f"pairs without two votes that name an item, left out of the ceilings: {table.left_out:,}",)


def _other_policy(study: Study, number: int, used: str) -> tuple[str, ...]:
    """Answers of another kind than the one that orders and tests are made of, counted."""
    views: Views = {"rankings": study.rankings, "comparisons": study.comparisons, "ratings": study.ratings}
    counts = {kind: int((view.criterion == number).sum()) for kind, view in views.items() if kind != used}
    return tuple(
        f"{kind} under this criterion that orders and tests leave out, as they use {used}: {count:,}"
        for kind, count in counts.items()
        if count
    )


def _crowd_policy(study: Study, number: int) -> tuple[str, ...]:
    """Answers of a crowd have no rater to follow, so they form no orders: said, with their number."""
    views = (study.comparisons, study.rankings, study.ratings)
    left_out = sum(int(((view.criterion == number) & study.crowds[view.rater]).sum()) for view in views)
    if not left_out:
        return ()
    return (f"answers left out because their raters cannot be told apart (a crowd): {left_out:,}",)


def _vote_policies(study: Study, raters: NDArray[np.int32], kind: str, skipped: int) -> tuple[str, ...]:
    few = "raters met every pair" if kind == "comparisons" else f"{kind} cover every item"
    said = [
        f"few {few} of a prompt, so votes on single pairs are compared instead of orders",
        "ties and 'both bad' count for neither side and leave a pair's decided votes",
    ]
    if study.compare_within == "all":
        said.append("there are no prompts: for intervals, pairs of items are drawn again in their place")
    if study.crowds[raters].any():
        said.append("raters the source cannot tell apart are taken as one person per vote")
    if skipped:
        said.append(f"judgments skipped by raters with a reason: {skipped:,}")
    return tuple(said)
