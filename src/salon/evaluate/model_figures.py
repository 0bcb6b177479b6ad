"""The ceilings that accuracies of a trial stand beside; without them no accuracy is given."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from salon.errors import StatsError, TooFew
from salon.evaluate.model_results import (
    UNGUARDED,
    AccuracyAndCeilings,
    BinFigures,
    BucketAndCeilings,
    CalibrationFigures,
    ContestantCriterion,
    ContestantFigures,
    EvaluateReport,
    EvaluateSettings,
    GeneratorFigures,
    GeneratorOrder,
    LeakFigures,
    LearningCurve,
    PairCeilings,
    PairedFigures,
    SeedSpread,
    StudyFigures,
)
from salon.evaluate.model_words import policies, study_warnings
from salon.evaluate.models import Bools, Floats, Ints, PairContestant, TestPairs
from salon.stats.ceilings import Ceilings, accuracy_warnings, bucket_ceilings, ceilings
from salon.stats.intervals import BOTH_SIDES, bootstrap_totals, paired_difference
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
from salon.stats.judge_quality import pair_calibration
from salon.stats.rank_agreement import generator_ranks, kendall
from salon.stats.result import Estimate
from salon.stats.signal_tests import holm
from salon.study import Signature

NO_CEILING = "ceilings need pairs with two votes, and a majority on some"


class Tops:
    """The ceilings of a trial, for any set of its criteria; each worked out once."""

    def __init__(self, trial: TestPairs, settings: EvaluateSettings) -> None:
        self.trial, self.settings = trial, settings
        self._of = cache(self._make)

    def __call__(self, criteria: Sequence[int]) -> Ceilings | None:
        """Of the pairs of these criteria; None where panels are too small or all tied."""
        return self._of(tuple(sorted(criteria)))

    def _make(self, criteria: tuple[int, ...]) -> Ceilings | None:
        rows = np.isin(self.trial.criterion, criteria)
        votes, given = self.trial.votes[rows], self.settings
        rng = np.random.default_rng([given.seed, *criteria])
        try:
            return ceilings(
                votes[:, 0],
                votes[:, :2].sum(axis=1),
                self.trial.group[rows],
                draws=given.draws,
                rng=rng,
                level=given.level,
            )
        except StatsError as error:
            if given.ceiling:
                names = ", ".join(self.trial.criteria[number][1] for number in criteria)
                raise TooFew(
                    "an accuracy is printed only beside its ceiling, and that needs several votes on a pair",
                    found=error.found or error.needed,
                    where=f"study {self.trial.study!r}, {names}",
                    remedy="collect a second vote on some pairs; --no-ceiling prints accuracies marked as having none",
                ) from None
            return None


def ceiling_figures(top: Ceilings | None) -> PairCeilings | None:
    """Ceilings as part of a report."""
    if top is None:
        return None
    names = ("next_rater", "oracle", "leave_one_out", "leave_one_out_dropped", "panel", "cap")
    return PairCeilings(
        **{name: getattr(top, name) for name in names},
        next_rater_range=top.next_rater_range,
        oracle_range=top.oracle_range,
        pairs=top.pairs,
        tied_share=top.tied_share,
        left_out=top.left_out,
    )


# --------------------------------------------------------------------------------------------------
# The figures of one contestant: accuracy beside ceilings, buckets, Kendall's tau, calibration, order of generators.
# --------------------------------------------------------------------------------------------------

# -- accuracy ----------------------------------------------------------------------------------------------------------


def verdicts(trial: TestPairs, one: PairContestant) -> Ints:
    """With the majority, against it, a tie, or no number; for every pair with a majority that it speaks about."""
    rows = trial.decided & one.speaks
    side = np.sign(np.nan_to_num(one.margin[rows])) * trial.winner[rows]
    said = np.where(side > 0, WITH, np.where(side < 0, AGAINST, TIE))
    return np.where(np.isnan(one.margin[rows]), UNREAD, said)


def hits(trial: TestPairs, one: PairContestant) -> Floats:
    """The points of each of these pairs: 1, 0, or 1/2 for a tie; 0 without a number."""
    return pair_scores(pair_kinds(verdicts(trial, one)))


def accuracies(
    trial: TestPairs, one: PairContestant, tops: Tops, rng: np.random.Generator
) -> tuple[AccuracyAndCeilings, list[AccuracyAndCeilings | None]]:
    """Over all criteria, and for each."""
    rows = trial.decided & one.speaks
    table = kind_table(verdicts(trial, one), trial.group[rows], trial.criterion[rows], of=len(trial.criteria))
    found = judge_accuracy(table, draws=tops.settings.draws, rng=rng, level=tops.settings.level)
    spoken = np.unique(trial.criterion[rows]).tolist()
    each = [
        None if part is None else _accuracy_and_ceilings(part, tops([number]))
        for number, part in enumerate(found.by_criterion)
    ]
    return _accuracy_and_ceilings(found.pooled, tops(spoken)), each


def _accuracy_and_ceilings(part: Accuracy, top: Ceilings | None) -> AccuracyAndCeilings:
    return AccuracyAndCeilings(
        accuracy=part.accuracy,
        scored_only=part.parsed_only,
        ceilings=ceiling_figures(top),
        no_ceiling=NO_CEILING if top is None else None,
        pairs=part.pairs,
        unscored=round(part.unseen.value * part.pairs),
    )


def buckets(
    trial: TestPairs,
    one: PairContestant,
    rows: Bools,
    top: Ceilings | None,
    given: EvaluateSettings,
    rng: np.random.Generator,
) -> tuple[BucketAndCeilings, ...]:
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


def _bucket(m: int, l: int, t: int, rate: Estimate, pairs: int, top: Ceilings | None) -> BucketAndCeilings:
    reach = None if top is None or m + l < 2 else bucket_ceilings(m + l, m, top)
    names = ("next_rater", "oracle", "next_rater_range", "oracle_range", "leave_one_out", "panel")
    return BucketAndCeilings(
        split=f"{m}-{l}-{t}" if t else f"{m}-{l}",
        accuracy=rate,
        pairs=pairs,
        **{name: None if reach is None else getattr(reach, name) for name in names},
    )


# -- order within a prompt ---------------------------------------------------------------------------------------------


def tau(
    trial: TestPairs, one: PairContestant, rows: Bools, given: EvaluateSettings, rng: np.random.Generator
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


def _orders(trial: TestPairs, one: PairContestant, rows: Bools) -> list[tuple[int, Floats, Floats]]:
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
    trial: TestPairs, one: PairContestant, given: EvaluateSettings, rng: np.random.Generator
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


def order_flips(
    trial: TestPairs, one: PairContestant, given: EvaluateSettings, rng: np.random.Generator
) -> Estimate | None:
    """Share of pairs whose winner changes when they are shown the other way round."""
    if one.turned is None or not one.known.any():
        return None
    rows = one.known
    changed = _straight(one)[rows] * one.turned[rows] < 0
    return match_rate(changed, trial.group[rows], draws=given.draws, rng=rng, level=given.level)


def _straight(one: PairContestant) -> Floats:
    """`margin` is the mean of both orders, so this is the first of them."""
    assert one.turned is not None
    return 2 * one.margin - one.turned


# -- generators --------------------------------------------------------------------------------------------------------


def generator_order(
    trial: TestPairs, one: PairContestant, given: EvaluateSettings, rng: np.random.Generator
) -> GeneratorOrder:
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


def contestant_criterion(
    trial: TestPairs,
    one: PairContestant,
    number: int,
    reached: AccuracyAndCeilings,
    tops: Tops,
    rng: np.random.Generator,
) -> ContestantCriterion:
    """All figures of one criterion."""
    rows, top = trial.criterion == number, tops([number])
    accuracy = reached.accuracy
    estimate = Estimate(accuracy.value, accuracy.low, accuracy.high, accuracy.n, accuracy.unit)
    return ContestantCriterion(
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


# --------------------------------------------------------------------------------------------------
# What models are worth: every contestant on every study, one report for all of them.
# --------------------------------------------------------------------------------------------------

StudyEntry = tuple[TestPairs, Sequence[PairContestant]]
_SEED = "seed"


def evaluate(
    entered: Sequence[StudyEntry],
    settings: EvaluateSettings | None = None,
    *,
    learning_curve: LearningCurve | None = None,
    notes: Sequence[str] = (),
    progress: Callable[[str], None] = lambda name: None,
) -> EvaluateReport:
    """The report about contestants on one study or several; names of contestants tell them apart within a study."""
    settings = settings or EvaluateSettings()
    studies = tuple(study_figures(trial, contestants, settings, progress) for trial, contestants in entered)
    signature = _signature(entered, settings)
    leaking = any(_leaks(one) for _, contestants in entered for one in contestants)
    return EvaluateReport(
        signature=signature,
        signature_line=str(signature),
        level=settings.level,
        leaking=leaking,
        studies=studies,
        seeds=seed_spreads(entered[0][1], studies[0]),
        learning_curve=learning_curve,
        policies=policies(studies, notes),
    )


def study_figures(
    trial: TestPairs,
    contestants: Sequence[PairContestant],
    settings: EvaluateSettings,
    progress: Callable[[str], None] = lambda name: None,
) -> StudyFigures:
    """All contestants on one study, the most accurate first."""
    useful = [one for one in contestants if (trial.decided & one.speaks).any()]
    if not useful:
        raise TooFew(
            "a pair with a majority that a model or scorer speaks about is needed",
            found=f"{int(trial.decided.sum()):,} pairs with a majority of {len(trial):,}",
            where=f"study {trial.study!r}, criteria {', '.join(id for id, _ in trial.criteria)}",
            remedy="evaluate on the criteria that the model was trained on",
        )
    tops = Tops(trial, settings)
    made = []
    for one in useful:
        progress(one.name)
        made.append(_figures(trial, one, tops))
    made.sort(key=lambda one: (-one.overall.accuracy.value, one.name))
    order = {one.name: place for place, one in enumerate(made)}
    ranked = sorted(useful, key=lambda one: order[one.name])
    return StudyFigures(
        study=trial.study,
        simulated=trial.simulated,
        data=trial.data,
        split=trial.split,
        prompts=len(np.unique(trial.group)),
        pairs=len(trial),
        tied=int((~trial.decided).sum()),
        votes=int(trial.votes.sum()),
        contestants=tuple(made),
        comparisons=compare_contestants(trial, ranked, settings),
        warnings=study_warnings(trial, contestants, made),
    )


def _figures(trial: TestPairs, one: PairContestant, tops: Tops) -> ContestantFigures:
    given, rng = tops.settings, own_rng(tops.settings, one.name)
    overall, each = accuracies(trial, one, tops, rng)
    every = np.ones(len(trial), bool)
    spoken = [number for number, part in enumerate(each) if part is not None]
    return ContestantFigures(
        name=one.name,
        kind=one.kind,
        form=one.form,
        signature=one.signature,
        overall=overall,
        buckets=buckets(trial, one, every, tops(spoken), given, rng),
        tau=tau(trial, one, every, given, rng),
        criteria=tuple(
            contestant_criterion(trial, one, number, part, tops, rng)
            for number, part in enumerate(each)
            if part is not None
        ),
        calibration=calibration(trial, one, given, rng),
        generators=generator_order(trial, one, given, rng),
        order_flips=order_flips(trial, one, given, rng),
        leak=_leak_figures(one),
        unscored=dict(one.unscored),
    )


def _leak_figures(one: PairContestant) -> LeakFigures | None:
    if one.kind in UNGUARDED:
        return None
    found = one.leaks
    if found is None:
        words = "no leak guard" if not one.guarded else ""
        return LeakFigures(guarded=one.guarded, pictures=0, near=0, texts=0, words=words)
    return LeakFigures(
        guarded=True, pictures=len(found.pictures), near=len(found.near), texts=len(found.texts), words=found.words
    )


def _leaks(one: PairContestant) -> bool:
    """Trained on what it is tested on, or nobody knows."""
    return one.kind not in UNGUARDED and (bool(one.leaks) or not one.guarded)


# -- between contestants -----------------------------------------------------------------------------------------------


def compare_contestants(
    trial: TestPairs, ranked: Sequence[PairContestant], settings: EvaluateSettings
) -> tuple[PairedFigures, ...]:
    """Every two contestants on the pairs both speak about, the one named first being the more accurate overall."""
    points = {one.name: _points(trial, one) for one in ranked}
    tests = []
    for first, second in combinations([one.name for one in ranked], 2):
        rows = ~np.isnan(points[first]) & ~np.isnan(points[second])
        if rows.any():
            rng = own_rng(settings, first, second)
            found = paired_difference(
                points[first][rows], points[second][rows], trial.group[rows],
                draws=settings.draws, rng=rng, level=settings.level,
            )  # fmt: skip
            tests.append((first, second, found))
    adjusted = holm([found.p for _, _, found in tests]).tolist()
    return tuple(
        PairedFigures(
            first=first, second=second, difference=found.difference, p=found.p, p_holm=p_holm, law=found.law,
            pairs=found.questions, first_only=found.first_only, second_only=found.second_only,
        )
        for (first, second, found), p_holm in zip(tests, adjusted)
    )  # fmt: skip


def _points(trial: TestPairs, one: PairContestant) -> np.ndarray:
    """1, 0 or 1/2 for each pair with a majority that it speaks about; NaN elsewhere."""
    points = np.full(len(trial), np.nan)
    points[trial.decided & one.speaks] = hits(trial, one)
    return points


def seed_spreads(contestants: Sequence[PairContestant], study: StudyFigures) -> tuple[SeedSpread, ...]:
    """Models whose settings differ in their seed alone, two or more of a kind."""
    reached = {one.name: one.overall.accuracy.value for one in study.contestants}
    alike: dict[str, list[str]] = {}
    for one in contestants:
        if one.name in reached and _SEED in one.settings:
            alike.setdefault(_without_seed(one.settings), []).append(one.name)
    return tuple(_spread(names, [reached[name] for name in names]) for names in alike.values() if len(names) > 1)


def _without_seed(settings: Mapping[str, object]) -> str:
    return json.dumps({key: value for key, value in settings.items() if key != _SEED}, sort_keys=True, default=str)


def _spread(names: Sequence[str], values: Sequence[float]) -> SeedSpread:
    x = np.array(values)
    return SeedSpread(
        names=tuple(names),
        mean=float(x.mean()),
        sd=float(x.std(ddof=1)),
        low=float(x.min()),
        high=float(x.max()),
        n=len(x),
    )


def _signature(entered: Sequence[StudyEntry], settings: EvaluateSettings) -> Signature:
    digest = hashlib.sha256()
    for trial, contestants in entered:
        digest.update(f"{trial.data}\0{trial.split}\0".encode())
        for one in sorted(contestants, key=lambda one: one.name):
            digest.update(f"{one.name}\0{one.signature}\0".encode("utf-8", "surrogatepass"))
            digest.update(np.ascontiguousarray(one.margin).tobytes())
    return Signature(
        method="evaluate",
        data=entered[0][0].data[:12],
        settings={**settings.model_dump(exclude={"seed"}), "contestants": digest.hexdigest()[:12]},
        seed=settings.seed,
    )
