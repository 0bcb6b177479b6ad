"""The figures of one contestant: accuracy beside ceilings, buckets, Kendall's tau, calibration, order of generators."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

from salon.evaluate.pairs.evaluate_ceilings import NO_CEILING, Tops, ceiling_figures
from salon.evaluate.pairs.evaluate_data import Bools, Contestant, Floats, Ints, Trial
from salon.evaluate.pairs.evaluate_results import (
    BinFigures,
    BucketReached,
    CalibrationFigures,
    CriterionReached,
    GeneratorFigures,
    GeneratorOrder,
    Reached,
)
from salon.evaluate.pairs.evaluate_settings import EvaluateSettings
from salon.stats.bucket_ceilings import bucket_ceilings
from salon.stats.ceilings import Ceilings, accuracy_warnings
from salon.stats.generator_ranks import generator_ranks, kendall
from salon.stats.judge_accuracy import (
    AGAINST,
    TIE,
    UNREAD,
    WITH,
    Accuracy,
    judge_accuracy,
    kind_table,
    match_rate,
    pair_kinds,
    pair_scores,
)
from salon.stats.pair_calibration import pair_calibration
from salon.stats.resample import BOTH_SIDES, bootstrap_totals
from salon.stats.result import Estimate

# -- accuracy ----------------------------------------------------------------------------------------------------------


def verdicts(trial: Trial, one: Contestant) -> Ints:
    """With the majority, against it, a tie, or no number; for every pair with a majority that it speaks about."""
    rows = trial.decided & one.speaks
    side = np.sign(np.nan_to_num(one.margin[rows])) * trial.winner[rows]
    said = np.where(side > 0, WITH, np.where(side < 0, AGAINST, TIE))
    return np.where(np.isnan(one.margin[rows]), UNREAD, said)


def hits(trial: Trial, one: Contestant) -> Floats:
    """The points of each of these pairs: 1, 0, or 1/2 for a tie; 0 without a number."""
    return pair_scores(pair_kinds(verdicts(trial, one)))


def accuracies(
    trial: Trial, one: Contestant, tops: Tops, rng: np.random.Generator
) -> tuple[Reached, list[Reached | None]]:
    """Over all criteria, and for each."""
    rows = trial.decided & one.speaks
    table = kind_table(verdicts(trial, one), trial.group[rows], trial.criterion[rows], of=len(trial.criteria))
    found = judge_accuracy(table, draws=tops.settings.draws, rng=rng, level=tops.settings.level)
    spoken = np.unique(trial.criterion[rows]).tolist()
    each = [None if part is None else _reached(part, tops([number])) for number, part in enumerate(found.by_criterion)]
    return _reached(found.pooled, tops(spoken)), each


def _reached(part: Accuracy, top: Ceilings | None) -> Reached:
    return Reached(
        accuracy=part.accuracy,
        scored_only=part.parsed_only,
        ceilings=ceiling_figures(top),
        no_ceiling=NO_CEILING if top is None else None,
        pairs=part.pairs,
        unscored=round(part.unseen.value * part.pairs),
    )


def buckets(
    trial: Trial, one: Contestant, rows: Bools, top: Ceilings | None, given: EvaluateSettings, rng: np.random.Generator
) -> tuple[BucketReached, ...]:
    """Accuracy by how the panel split, the clearest split first; splits with ties of raters stand for themselves."""
    inside = trial.decided & one.speaks
    points = np.full(len(trial), np.nan)
    points[inside] = hits(trial, one)
    larger, smaller, ties = np.maximum(*trial.votes.T[:2]), np.minimum(*trial.votes.T[:2]), trial.votes[:, 2]
    kinds = np.unique(np.stack([larger, smaller, ties], axis=1)[inside & rows], axis=0)
    made = []
    for m, l, t in sorted(kinds.tolist(), key=lambda kind: (-(kind[0] - kind[1]) / sum(kind), -sum(kind))):
        here = inside & rows & (larger == m) & (smaller == l) & (ties == t)
        rate = match_rate(points[here], trial.group[here], draws=given.draws, rng=rng, level=given.level)
        made.append(_bucket(m, l, t, rate, int(here.sum()), top))
    return tuple(made)


def _bucket(m: int, l: int, t: int, rate: Estimate, pairs: int, top: Ceilings | None) -> BucketReached:
    reach = None if top is None or m + l < 2 else bucket_ceilings(m + l, m, top)
    names = ("next_rater", "oracle", "next_rater_range", "oracle_range", "leave_one_out", "panel")
    return BucketReached(
        split=f"{m}-{l}-{t}" if t else f"{m}-{l}",
        accuracy=rate,
        pairs=pairs,
        **{name: None if reach is None else getattr(reach, name) for name in names},
    )


# -- order within a prompt ---------------------------------------------------------------------------------------------


def tau(
    trial: Trial, one: Contestant, rows: Bools, given: EvaluateSettings, rng: np.random.Generator
) -> Estimate | None:
    """Kendall's tau-b to the modal rater, mean over prompts (and criteria); None where no prompt has an order.

    The modal rater puts the items of a prompt in the order of the majorities they win (half for a tie), the contestant
    in the order of the pairs they win by its numbers. A prompt counts when all its pairs were voted on and scored.
    """
    values, groups = [], []
    for group, x, y in _orders(trial, one, rows):
        value = float(kendall(x[None], y[None])[0])
        if not np.isnan(value):
            values.append(value)
            groups.append(group)
    if not values:
        return None
    _, row = np.unique(groups, return_inverse=True)
    table = np.column_stack([np.bincount(row, weights=values), np.bincount(row)])
    return bootstrap_totals(
        lambda t: t[:, 0] / t[:, 1], table, draws=given.draws, rng=rng, level=given.level, ends=BOTH_SIDES
    )


def _orders(trial: Trial, one: Contestant, rows: Bools) -> list[tuple[int, Floats, Floats]]:
    """Of each complete prompt its number, majorities won and pairs won by the numbers, item by item."""
    here = np.flatnonzero(rows & one.speaks)
    keys = trial.criterion[here] * (int(trial.group.max()) + 1) + trial.group[here]
    order = here[np.argsort(keys, kind="stable")]
    starts = np.flatnonzero(np.diff(np.sort(keys, kind="stable"))) + 1
    found = []
    for block in np.split(order, starts):
        items, at = np.unique(np.concatenate([trial.item_a[block], trial.item_b[block]]), return_inverse=True)
        p = len(items)
        if p < 3 or 2 * len(block) != p * (p - 1) or np.isnan(one.margin[block]).any():
            continue
        a, b = at[: len(block)], at[len(block) :]
        sides = (trial.winner[block], np.sign(one.margin[block]))
        won = [np.bincount(a, side, p) - np.bincount(b, side, p) for side in sides]
        found.append((int(trial.group[block[0]]), won[0].astype(float), won[1].astype(float)))
    return found


# -- chances -----------------------------------------------------------------------------------------------------------


def calibration(
    trial: Trial, one: Contestant, given: EvaluateSettings, rng: np.random.Generator
) -> CalibrationFigures | None:
    """Whether the chances are honest; None where there are none."""
    rows = one.known & (trial.votes.sum(axis=1) > 0)
    if not one.is_logit or not rows.any():
        return None
    votes = trial.votes[rows]
    found = pair_calibration(
        one.margin[rows], votes[:, 0] + votes[:, 2] / 2, votes.sum(axis=1), trial.group[rows],
        bins=given.bins, draws=given.draws, rng=rng, level=given.level,
    )  # fmt: skip
    return CalibrationFigures(
        brier=found.brier,
        ece=found.ece,
        expected_ece=found.expected_ece,
        slope=found.slope,
        bins=tuple(
            BinFigures(predicted=bin.predicted, observed=bin.observed, pairs=bin.pairs, votes=bin.votes)
            for bin in found.bins
        ),
        pairs=int(rows.sum()),
    )


def order_flips(trial: Trial, one: Contestant, given: EvaluateSettings, rng: np.random.Generator) -> Estimate | None:
    """Share of pairs whose winner changes when they are shown the other way round."""
    if one.turned is None or not one.known.any():
        return None
    rows = one.known
    changed = _straight(one)[rows] * one.turned[rows] < 0
    return match_rate(changed, trial.group[rows], draws=given.draws, rng=rng, level=given.level)


def _straight(one: Contestant) -> Floats:
    """`margin` is the mean of both orders, so this is the first of them."""
    assert one.turned is not None
    return 2 * one.margin - one.turned


# -- generators --------------------------------------------------------------------------------------------------------


def generator_order(trial: Trial, one: Contestant, given: EvaluateSettings, rng: np.random.Generator) -> GeneratorOrder:
    """Generators by the votes and by the pairs they win; pairs of one generator with itself say nothing."""
    made = [
        np.array([trial.generators.get(item, "") for item in side], object) for side in (trial.item_a, trial.item_b)
    ]
    rows = np.flatnonzero(one.known & (made[0] != "") & (made[1] != "") & (made[0] != made[1]))
    names = sorted({*made[0][rows], *made[1][rows]})
    if len(names) < 2:
        return GeneratorOrder(spearman=None, kendall=None, reason="fewer than two known generators", generators=())
    place = {name: number for number, name in enumerate(names)}
    sides = [np.array([place[name] for name in side[rows]]) for side in made]
    votes = trial.votes[rows]
    share = (votes[:, 0] + votes[:, 2] / 2) / votes.sum(axis=1)
    chosen = (np.sign(one.margin[rows]) + 1) / 2
    tables = [_won(sides, trial.group[rows], len(names), points) for points in (share, chosen, np.full(len(rows), 0.5))]
    pairs = 2 * tables[2]  # half a point for either side of each pair, twice
    found = generator_ranks(tables[0], tables[1], pairs, draws=given.draws, rng=rng, level=given.level)
    # Each has a pair, or would not be here.
    people = [estimate for estimate in found.people if estimate is not None]
    predicted = [estimate for estimate in found.predictor if estimate is not None]
    rank = sorted(range(len(names)), key=lambda g: -people[g].value)
    return GeneratorOrder(
        spearman=found.spearman,
        kendall=found.kendall,
        reason=found.reason,
        generators=tuple(
            GeneratorFigures(
                generator=names[g],
                people=people[g],
                predicted=predicted[g],
                pairs=int(pairs.sum(axis=0)[g]),
            )
            for g in rank
        ),
    )


def _won(sides: list[NDArray[np.int64]], group: Ints, generators: int, points: Floats) -> Floats:
    """(groups, generators): `points` to the first of each pair, the rest of 1 to the second."""
    _, row = np.unique(group, return_inverse=True)
    size = (int(row.max()) + 1) * generators
    first = np.bincount(row * generators + sides[0], points, size)
    second = np.bincount(row * generators + sides[1], 1 - points, size)
    return np.asarray(first + second, np.float64).reshape(-1, generators)


# -- one criterion -----------------------------------------------------------------------------------------------------


def criterion_reached(
    trial: Trial, one: Contestant, number: int, reached: Reached, tops: Tops, rng: np.random.Generator
) -> CriterionReached:
    """All figures of one criterion."""
    rows, top = trial.criterion == number, tops([number])
    accuracy = reached.accuracy
    estimate = Estimate(accuracy.value, accuracy.low, accuracy.high, accuracy.n, accuracy.unit)
    return CriterionReached(
        criterion=trial.criteria[number][0],
        name=trial.criteria[number][1],
        reached=reached,
        buckets=buckets(trial, one, rows, top, tops.settings, rng),
        tau=tau(trial, one, rows, tops.settings, rng),
        warnings=tuple(accuracy_warnings(estimate, top)) if top is not None else (),
    )


def own_rng(settings: EvaluateSettings, *names: str) -> np.random.Generator:
    """Chance that depends on the seed and the names alone: a contestant's figures do not move with its neighbours."""
    digest = hashlib.blake2b("\0".join(names).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return np.random.default_rng([settings.seed, int.from_bytes(digest, "big")])
