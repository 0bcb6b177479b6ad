"""The bridge: calibrated scores of many items from one rater's comparisons, without any labels.

A pool of N items is compared exhaustively and scored. Every other item meets K pool items, and its posterior on the
pool's scale is its score (PPaint section 4.1, Algorithm 1). The rater may be a person or a model. The answers live in
the study, so every function here can be called again after more answers arrived:

    plan_bridge(study)       every pair of the plan                 (random opponents)
    next_questions(study)    the pairs to ask now, given the answers (adaptive opponents: round by round)
    score_bridge(study)      scores with intervals, and where the calls went
    run_bridge(items, ask)   all of it with a function that answers
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike
from pydantic import Field

from salon.errors import BadValue, SalonError, TooFew
from salon.fuse.bridge_plan import (
    BOTH_BAD,
    NO_ANSWER,
    BridgeAnswers,
    BridgePlan,
    BridgeSettings,
    Ints,
    no_answers,
    plan_group,
    planned_calls,
    study_answers,
)
from salon.fuse.bridge_scale import (
    PoolAnswers,
    PoolScale,
    calibration_curve,
    latent_scores,
    measure_pool,
    next_round,
    outlier_shift,
    pool_answers,
    random_placements,
)
from salon.stats import Placement
from salon.study import Noun, Score, Scores, Signature, Study

FORMAT: Final = "salon.bridge/1"


class BridgeRow(Noun):
    """One item under one criterion."""

    item: str = Field(description="Item.")
    criterion: str = Field(description="Criterion.")
    group: str = Field(description="The prompt, category or whole study whose items share one scale.")
    pool: bool = Field(description="Whether it belongs to the pool that carries the scale.")
    value: float = Field(description="Calibrated score.")
    low: float | None = Field(description="Lower end at the report's level, the curve taken as exact; None: no error.")
    high: float | None = Field(description="Upper end.")
    mean: float = Field(description="Posterior mean on the latent scale (pool items: the fit).")
    sd: float | None = Field(description="Posterior standard deviation on the latent scale; None for a pool by Elo.")
    calls: int = Field(description="Answers it rests on; 0 means that it keeps the prior.")


class BridgeScale(Noun):
    """The latent scale of one criterion in one group, and how firm it is."""

    criterion: str = Field(description="Criterion.")
    group: str = Field(description="Group of items.")
    items: int = Field(description="Items on the scale.")
    pool: int = Field(description="Items of the pool.")
    unit: Literal["logit", "elo"] = Field(description="Unit of latent scores.")
    prior_mean: float = Field(description="Mean of the pool's scores, the prior of every placement.")
    prior_sd: float = Field(description="Their standard deviation.")
    tie: float | None = Field(description="nu of Davidson's ties; None where ties count as half wins or are absent.")
    ties: float | None = Field(description="Share of ties among the answers used.")
    pool_error: float | None = Field(description="Median error of the pool's scores; None for Elo.")
    median_sd: float | None = Field(description="Median posterior standard deviation of the placed items.")
    reliability: float | None = Field(
        description="Share of the placed items' variance that is not error: var(mean) / (var(mean) + mean sd^2)."
    )
    outlier_shift: float | None = Field(
        description="Largest change of any calibrated score if the single lowest or highest item were left out: the "
        "range from worst to best item fixes the curve."
    )


class BridgeAccounting(Noun):
    """Where the calls went. One call shows two items once and may answer for every criterion."""

    items: int = Field(description="Items to score.")
    pool: int = Field(description="Items in pools.")
    planned_one_order: int = Field(description="C(N, 2) + (n - N) K, summed over groups.")
    planned_both_orders: int = Field(description="Twice that.")
    exhaustive: int = Field(description="All pairs of a group, in one order.")
    asked: int = Field(description="Calls that the study holds for these items.")
    pool_calls: int = Field(description="Of these, calls within a pool.")
    placement_calls: int = Field(description="Calls of another item with a pool item.")
    other_calls: int = Field(description="Calls without a pool item: not used here.")
    answers: int = Field(description="Answers used, over all criteria.")
    both_bad: int = Field(description="'Both bad' answers: they order nothing, and are left out.")
    no_answer: int = Field(description="Skipped or missing answers, over all criteria.")


class BridgeReport(Noun):
    """The JSON of `salon bridge score --json`."""

    format: Literal["salon.bridge/1"] = Field(FORMAT, description="Name and version of this format.")
    study: str = Field(description="Name of the study.")
    simulated: bool = Field(description="True when no person gave these answers.")
    method: str = Field(description="How the pool was scored.")
    scale: str = Field(description="The calibrated scale in words, such as '1-5'.")
    level: float = Field(description="Level of the intervals.")
    rows: tuple[BridgeRow, ...] = Field(description="Every item under every criterion.")
    scales: tuple[BridgeScale, ...] = Field(description="Every criterion in every group.")
    accounting: BridgeAccounting = Field(description="Where the calls went.")
    unplaced: tuple[str, ...] = Field(description="Items without any answer under some criterion: they keep the prior.")
    incomplete: int = Field(description="Items outside the pool with fewer answers than planned under some criterion.")
    policies: tuple[str, ...] = Field(description="How what is missing was treated.")
    warnings: tuple[str, ...] = Field(description="What a reader must know before quoting these scores.")
    signature: Signature = Field(description="What reproduces these numbers.")
    signature_line: str = Field(description="The same in one line.")

    def as_scores(self) -> Scores:
        """The scores alone; n is the number of answers."""
        values = tuple(
            Score(
                of=row.item, criterion=row.criterion, group=row.group, value=row.value, low=row.low, high=row.high,
                n=row.calls,
            )
            for row in self.rows
        )  # fmt: skip
        return Scores(scale=self.scale, values=values, signature=self.signature)


class BridgeQuestions(Noun):
    """What to ask next, in numbers; the pairs themselves are in the table."""

    stage: Literal["pool", "placement", "done"] = Field(description="What is asked now.")
    pairs: int = Field(description="Calls to make now.")
    asked: int = Field(description="Calls made so far.")
    waiting: int = Field(description="Items outside the pool that still wait for answers.")
    planned_one_order: int = Field(description="Calls of the whole plan in one order, without stopping early.")
    planned_both_orders: int = Field(description="Twice that.")
    signature_line: str = Field(description="What reproduces these questions.")


# -- the report --------------------------------------------------------------------------------------------------------

POLICIES = (
    "Items with fewer answers than planned keep a wider posterior; items without any keep the prior and are listed.",
    "'Both bad' answers order nothing: left out and counted. Skipped answers are calls without an answer.",
    "Answers on pairs without a pool item are not used, and counted; salon fuse uses every answer at once.",
    "Answers of all raters asked for count alike; each shown order is an answer of its own.",
    "The range from the worst to the best item fixes the calibrated scale, and intervals take it as exact.",
)
LARGE_SHIFT = 0.025
"""Share of the scale by which one item may move the others without a warning."""


@dataclass(frozen=True)
class BridgeGroupScores:
    """One group, every criterion."""

    rows: list[BridgeRow]
    scales: list[BridgeScale]
    accounting: BridgeAccounting
    unplaced: list[str]
    incomplete: int


def score_group(
    name: str,
    items: Sequence[str],
    plan: BridgePlan,
    answers: BridgeAnswers,
    criteria: Sequence[str],
    settings: BridgeSettings,
) -> BridgeGroupScores:
    """Scores of the items of one group under every criterion."""
    rows, scales = [], []
    fewest, used = np.full(plan.items, np.iinfo(np.int64).max), 0
    for number, criterion in enumerate(criteria):
        met = pool_answers(plan, answers, number)
        scale = _measure_group(met, len(plan.pool), settings, f"criterion {criterion!r}, group {name!r}")
        latent = latent_scores(plan, scale, met, settings.level)
        rows += _rows(name, items, criterion, plan, latent, settings)
        scales.append(_scale(name, criterion, plan, scale, met, latent, settings))
        fewest = np.minimum(fewest, latent.answers)
        used += len(met.pool[0]) + len(met.placements[0])
    planned = min(settings.opponents, len(plan.pool)) * settings.orders
    return BridgeGroupScores(
        rows,
        scales,
        _accounting(plan, answers, used, settings),
        [items[int(number)] for number in np.flatnonzero(fewest == 0)],
        int((fewest[plan.rest] < planned).sum()),
    )


def bridge_report(
    groups: Sequence[BridgeGroupScores], settings: BridgeSettings, *, study: str, simulated: bool, signature: Signature
) -> BridgeReport:
    """All groups in one report."""
    unplaced = sorted({item for group in groups for item in group.unplaced})
    parts = [group.accounting for group in groups]
    names = BridgeAccounting.model_fields
    accounting = BridgeAccounting(**{name: sum(getattr(part, name) for part in parts) for name in names})
    scales = tuple(scale for group in groups for scale in group.scales)
    incomplete = sum(group.incomplete for group in groups)
    return BridgeReport(
        study=study,
        simulated=simulated,
        method=settings.method,
        scale=f"{settings.low:g}-{settings.high:g}",
        level=settings.level,
        rows=tuple(row for group in groups for row in group.rows),
        scales=scales,
        accounting=accounting,
        unplaced=tuple(unplaced),
        incomplete=incomplete,
        policies=POLICIES,
        warnings=tuple(_warnings(scales, accounting, len(unplaced), incomplete, settings)),
        signature=signature,
        signature_line=str(signature),
    )


def _measure_group(met: PoolAnswers, size: int, settings: BridgeSettings, where: str) -> PoolScale:
    try:
        return measure_pool(met, size, settings)
    except SalonError as error:
        raise type(error)(error.needed, found=error.found, where=where, remedy=error.remedy) from None


def _rows(
    group: str, items: Sequence[str], criterion: str, plan: BridgePlan, latent: Placement, settings: BridgeSettings
) -> list[BridgeRow]:
    to_scale = calibration_curve(latent.mean, settings)
    value, low, high = (to_scale.apply(q) for q in (latent.mean, latent.low, latent.high))
    inside = plan.place >= 0
    return [
        BridgeRow(
            item=item,
            criterion=criterion,
            group=group,
            pool=bool(inside[k]),
            value=float(value[k]),
            low=_none_for_nan(low[k]),
            high=_none_for_nan(high[k]),
            mean=float(latent.mean[k]),
            sd=_none_for_nan(latent.sd[k]),
            calls=int(latent.answers[k]),
        )
        for k, item in enumerate(items)
    ]


def _none_for_nan(x: float) -> float | None:
    return None if np.isnan(x) else float(x)


def _scale(
    group: str,
    criterion: str,
    plan: BridgePlan,
    scale: PoolScale,
    met: PoolAnswers,
    latent: Placement,
    settings: BridgeSettings,
) -> BridgeScale:
    outcomes = np.concatenate([met.pool[2], met.placements[2]])
    mean, sd = latent.mean[plan.rest], latent.sd[plan.rest]
    spread = float(np.var(mean, ddof=1)) if len(mean) > 1 else None
    return BridgeScale(
        criterion=criterion,
        group=group,
        items=plan.items,
        pool=len(plan.pool),
        unit="elo" if settings.method == "elo" else "logit",
        prior_mean=scale.pool.prior_mean,
        prior_sd=scale.pool.prior_sd,
        tie=scale.pool.tie,
        ties=float((outcomes == 2).mean()) if len(outcomes) else None,
        pool_error=None if scale.errors is None else float(np.median(scale.errors)),
        median_sd=float(np.median(sd)) if len(sd) else None,
        reliability=None if spread is None else spread / (spread + float(np.mean(sd**2))),
        outlier_shift=outlier_shift(latent.mean, settings),
    )


def _accounting(plan: BridgePlan, answers: BridgeAnswers, used: int, settings: BridgeSettings) -> BridgeAccounting:
    inside = (plan.place[answers.pairs] >= 0).sum(axis=1)
    planned = planned_calls(plan.items, settings)
    return BridgeAccounting(
        items=plan.items,
        pool=len(plan.pool),
        planned_one_order=planned,
        planned_both_orders=2 * planned,
        exhaustive=plan.items * (plan.items - 1) // 2,
        asked=len(answers),
        pool_calls=int((inside == 2).sum()),
        placement_calls=int((inside == 1).sum()),
        other_calls=int((inside == 0).sum()),
        answers=used,
        both_bad=int((answers.outcomes == BOTH_BAD).sum()),
        no_answer=int((answers.outcomes == NO_ANSWER).sum()),
    )


def _warnings(
    scales: Sequence[BridgeScale], calls: BridgeAccounting, unplaced: int, incomplete: int, settings: BridgeSettings
) -> list[str]:
    sentences = []
    if unplaced:
        sentences.append(f"{unplaced:,} items have no answer under some criterion: their scores are the prior's mean.")
    if incomplete and not settings.adaptive:
        sentences.append(f"{incomplete:,} items have fewer answers than planned: their intervals are wider.")
    if calls.other_calls:
        sentences.append(f"{calls.other_calls:,} calls name no pool item and were not used.")
    for scale in scales:
        where = f"{scale.criterion}, {scale.group}"
        if scale.outlier_shift is not None and scale.outlier_shift > LARGE_SHIFT * (settings.high - settings.low):
            sentences.append(
                f"{where}: leaving out one extreme item would move other scores by up to {scale.outlier_shift:.2f}."
            )
        if scale.reliability is not None and scale.reliability < 0.5:
            sentences.append(f"{where}: more than half of the differences between placed items is error.")
    return sentences


# -- running a bridge --------------------------------------------------------------------------------------------------

AskFunction = Callable[[Ints], ArrayLike]
"""Pairs (m, 2) of item numbers, first shown first -> outcomes (m,) or (m, criteria): 0, 1, 2, 3 (both bad) or -1."""


@dataclass(frozen=True)
class BridgeRun:
    """A finished run: the report, and every call, to go on from."""

    report: BridgeReport
    answers: BridgeAnswers


@dataclass(frozen=True)
class _BridgeGroup:
    """Items of a study that share a scale, with their plan and their calls (numbered within the group)."""

    name: str
    items: Ints
    plan: BridgePlan
    answers: BridgeAnswers


# -- a study -------------------------------------------------------------------------------------------------------


def plan_bridge(study: Study, settings: BridgeSettings | None = None) -> tuple[pa.Table, BridgeQuestions]:
    """Every pair of the plan that the study does not answer yet: the pool's and, unless adaptive, the placements'."""
    chosen = settings or BridgeSettings()
    groups = list(_groups(study, chosen))
    parts = []
    for group in groups:
        pairs = group.plan.pool_pairs
        if len(group.plan.rest) and not chosen.adaptive:
            pairs = np.concatenate([pairs, random_placements(group.plan, chosen)])
        parts.append((group, group.plan.unasked(pairs, group.answers)))
    return _question_table(study, parts), _questions(study, groups, parts, chosen, "plan")


def next_questions(study: Study, settings: BridgeSettings | None = None) -> tuple[pa.Table, BridgeQuestions]:
    """The pairs to ask now: the pool's first, then placements; adaptive ones follow from the answers so far."""
    chosen = settings or BridgeSettings()
    groups = list(_groups(study, chosen))
    parts = [(group, next_round(group.plan, group.answers, chosen)) for group in groups]
    return _question_table(study, parts), _questions(study, groups, parts, chosen, "next")


def score_bridge(study: Study, settings: BridgeSettings | None = None) -> BridgeReport:
    """Scores of every item under every criterion that was asked, from the answers in the study."""
    chosen = settings or BridgeSettings()
    criteria = _criteria(study, chosen)
    ids = study.ids("items").to_pylist()
    scored = []
    for group in _groups(study, chosen):
        names = tuple(ids[number] for number in group.items)
        scored.append(score_group(group.name, names, group.plan, group.answers, criteria, chosen))
    return bridge_report(
        scored, chosen, study=study.name, simulated=study.simulated, signature=_signature(study, chosen, "score")
    )


# -- a function that answers ---------------------------------------------------------------------------------------


def run_bridge(
    items: Sequence[str],
    ask: AskFunction,
    settings: BridgeSettings | None = None,
    *,
    criteria: Sequence[str] = ("overall",),
    answers: BridgeAnswers | None = None,
    save: Callable[[BridgeAnswers], None] = lambda answers: None,
    progress: Callable[[str], None] = lambda step: None,
) -> BridgeRun:
    """Ask until the plan is done or every item is certain enough, and score.

    `save` gets all answers after every round; give them back as `answers` to go on after a stop.
    """
    chosen = settings or BridgeSettings()
    if len(set(items)) != len(items):
        raise BadValue("every item needs an id of its own", found="the same id twice")
    plan = plan_group(items, chosen)
    answers_so_far = no_answers(len(criteria)) if answers is None else answers
    while len(pairs := next_round(plan, answers_so_far, chosen)):
        progress(f"{len(answers_so_far):,} calls made, {len(pairs):,} asked")
        answers_so_far = answers_so_far.plus(pairs, ask(pairs))
        save(answers_so_far)
    scored: BridgeGroupScores = score_group("all", tuple(items), plan, answers_so_far, tuple(criteria), chosen)
    signature = Signature(method="bridge", settings=_plain_settings(chosen), seed=chosen.seed)
    return BridgeRun(bridge_report([scored], chosen, study="", simulated=False, signature=signature), answers_so_far)


# -- the study's side ----------------------------------------------------------------------------------------------


def _groups(study: Study, settings: BridgeSettings) -> Iterator[_BridgeGroup]:
    """Groups of at least two items, each with its calls."""
    answers = study_answers(study, _criteria(study, settings), settings.rater)
    ids, of = study.ids("items").to_pylist(), study.item_groups
    numbers = [number for number in range(int(of.max(initial=-1)) + 1) if (of == number).sum() >= 2]
    if not numbers:
        raise TooFew(
            "a bridge needs at least 2 items that may be compared",
            found=f"{len(ids):,} items, compared within {study.compare_within}",
            where=f"study {study.name!r}",
            remedy="declare compare_within = 'all' or 'category' in study.toml",
        )
    for number in numbers:
        items = np.flatnonzero(of == number)
        local = np.full(len(ids), -1)
        local[items] = np.arange(len(items))
        own = answers.where(of[answers.pairs[:, 0]] == number)
        plan = plan_group([ids[item] for item in items], settings)
        yield _BridgeGroup(study.label("groups", number), items, plan, BridgeAnswers(local[own.pairs], own.outcomes))


def _criteria(study: Study, settings: BridgeSettings) -> tuple[str, ...]:
    """The criteria asked for, or those that the study's comparisons name; all but flags before the first answer."""
    if settings.criterion:
        return tuple(study.criterion(id).id for id in settings.criterion)
    table = study.table("comparisons")
    codes = set(study.codes("criteria", table.column("criterion")).tolist())
    criteria = tuple(study.criteria[number].id for number in sorted(codes) or study.ranking_criteria())
    if not criteria:
        raise TooFew("a bridge needs a criterion", found="none", where=f"study {study.name!r}")
    return criteria


def _question_table(study: Study, parts: Sequence[tuple[_BridgeGroup, Ints]]) -> pa.Table:
    """Pairs as a table that can be filled in and imported: `a` is shown on the left."""
    ids = np.array(study.ids("items").to_pylist(), dtype=object)
    rows = [group.items[pairs] for group, pairs in parts]
    pairs = np.concatenate(rows) if rows else np.empty((0, 2), np.int64)
    stage = [
        "pool" if inside else "placement"
        for group, questions in parts
        for inside in np.asarray((group.plan.place[questions] >= 0).all(axis=1))
    ]
    again = np.concatenate([_repeat_numbers(questions, group.answers) for group, questions in parts])
    return pa.table(
        {
            "a": pa.array(ids[pairs[:, 0]], pa.string()),
            "b": pa.array(ids[pairs[:, 1]], pa.string()),
            "left": pa.array(["a"] * len(pairs), pa.string()),
            "repeat": pa.array(again, pa.int16()),
            "stage": pa.array(stage, pa.string()),
        }
    )


def _repeat_numbers(pairs: Ints, answers: BridgeAnswers) -> Ints:
    """1 for a pair that stands here or in the study in the other order already: a study keeps them apart by this."""
    sorted_pairs = [tuple(pair) for pair in np.sort(pairs, axis=1).tolist()]
    asked_pairs = {tuple(pair) for pair in np.sort(answers.pairs, axis=1).tolist()}
    again = np.zeros(len(pairs), np.int64)
    for row, pair in enumerate(sorted_pairs):
        again[row] = pair in asked_pairs
        asked_pairs.add(pair)
    return again


def _questions(
    study: Study,
    groups: Sequence[_BridgeGroup],
    parts: Sequence[tuple[_BridgeGroup, Ints]],
    settings: BridgeSettings,
    what: str,
) -> BridgeQuestions:
    inside = [bool((group.plan.place[pairs] >= 0).all(axis=1).any()) for group, pairs in parts]
    count = sum(len(pairs) for _, pairs in parts)
    planned = sum(planned_calls(group.plan.items, settings) for group in groups)
    waiting = sum(len(np.unique(pairs[group.plan.place[pairs] < 0])) for group, pairs in parts)
    return BridgeQuestions(
        stage="done" if not count else "pool" if any(inside) else "placement",
        pairs=count,
        asked=sum(len(group.answers) for group in groups),
        waiting=waiting,
        planned_one_order=planned,
        planned_both_orders=2 * planned,
        signature_line=str(_signature(study, settings, what)),
    )


def _signature(study: Study, settings: BridgeSettings, what: str) -> Signature:
    return Signature(
        method=f"bridge {what}",
        data=study.hash[:12],
        revision=study.revision,
        settings=_plain_settings(settings),
        seed=settings.seed,
    )


def _plain_settings(settings: BridgeSettings) -> dict[str, str | int | float | bool | None]:
    plain = {name: value for name, value in settings if name not in ("seed", "criterion", "rater")}
    lists = {name: ",".join(getattr(settings, name)) for name in ("criterion", "rater") if getattr(settings, name)}
    return plain | lists
