"""From the answers of each group to the report of a bridge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from salon.errors import SalonError
from salon.fuse.bridge_answers import BOTH_BAD, NO_ANSWER, BridgeAnswers
from salon.fuse.bridge_plan import BridgePlan, planned_calls
from salon.fuse.bridge_results import BridgeAccounting, BridgeReport, BridgeRow, BridgeScale
from salon.fuse.bridge_scale import (
    Latent,
    Meetings,
    Scale,
    curve,
    latent_scores,
    measure_pool,
    meetings,
    outlier_shift,
)
from salon.fuse.bridge_settings import BridgeSettings
from salon.study import Signature

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
class Scored:
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
) -> Scored:
    """Scores of the items of one group under every criterion."""
    rows, scales = [], []
    fewest, used = np.full(plan.items, np.iinfo(np.int64).max), 0
    for number, criterion in enumerate(criteria):
        met = meetings(plan, answers, number)
        scale = _measured(met, len(plan.pool), settings, f"criterion {criterion!r}, group {name!r}")
        latent = latent_scores(plan, scale, met, settings.level)
        rows += _rows(name, items, criterion, plan, latent, settings)
        scales.append(_scale(name, criterion, plan, scale, met, latent, settings))
        fewest = np.minimum(fewest, latent.answers)
        used += len(met.pool[0]) + len(met.others[0])
    planned = min(settings.opponents, len(plan.pool)) * settings.orders
    return Scored(
        rows,
        scales,
        _accounting(plan, answers, used, settings),
        [items[int(number)] for number in np.flatnonzero(fewest == 0)],
        int((fewest[plan.rest] < planned).sum()),
    )


def bridge_report(
    groups: Sequence[Scored], settings: BridgeSettings, *, study: str, simulated: bool, signature: Signature
) -> BridgeReport:
    """All groups in one report."""
    unplaced = sorted({item for group in groups for item in group.unplaced})
    accounting = _summed([group.accounting for group in groups])
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


def _measured(met: Meetings, size: int, settings: BridgeSettings, where: str) -> Scale:
    try:
        return measure_pool(met, size, settings)
    except SalonError as error:
        raise type(error)(error.needed, found=error.found, where=where, remedy=error.remedy) from None


def _rows(
    group: str, items: Sequence[str], criterion: str, plan: BridgePlan, latent: Latent, settings: BridgeSettings
) -> list[BridgeRow]:
    to_scale = curve(latent.mean, settings)
    value, low, high = (to_scale.apply(q) for q in (latent.mean, latent.low, latent.high))
    inside = plan.place >= 0
    return [
        BridgeRow(
            item=item,
            criterion=criterion,
            group=group,
            pool=bool(inside[k]),
            value=float(value[k]),
            low=_known(low[k]),
            high=_known(high[k]),
            mean=float(latent.mean[k]),
            sd=_known(latent.sd[k]),
            calls=int(latent.answers[k]),
        )
        for k, item in enumerate(items)
    ]


def _known(x: float) -> float | None:
    return None if np.isnan(x) else float(x)


def _scale(
    group: str,
    criterion: str,
    plan: BridgePlan,
    scale: Scale,
    met: Meetings,
    latent: Latent,
    settings: BridgeSettings,
) -> BridgeScale:
    outcomes = np.concatenate([met.pool[2], met.others[2]])
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


def _summed(parts: Sequence[BridgeAccounting]) -> BridgeAccounting:
    names = BridgeAccounting.model_fields
    return BridgeAccounting(**{name: sum(getattr(part, name) for part in parts) for name in names})


def _warnings(
    scales: Sequence[BridgeScale], calls: BridgeAccounting, unplaced: int, incomplete: int, settings: BridgeSettings
) -> list[str]:
    said = []
    if unplaced:
        said.append(f"{unplaced:,} items have no answer under some criterion: their scores are the prior's mean.")
    if incomplete and not settings.adaptive:
        said.append(f"{incomplete:,} items have fewer answers than planned: their intervals are wider.")
    if calls.other_calls:
        said.append(f"{calls.other_calls:,} calls name no pool item and were not used.")
    for scale in scales:
        where = f"{scale.criterion}, {scale.group}"
        if scale.outlier_shift is not None and scale.outlier_shift > LARGE_SHIFT * (settings.high - settings.low):
            said.append(
                f"{where}: leaving out one extreme item would move other scores by up to {scale.outlier_shift:.2f}."
            )
        if scale.reliability is not None and scale.reliability < 0.5:
            said.append(f"{where}: more than half of the differences between placed items is error.")
    return said
