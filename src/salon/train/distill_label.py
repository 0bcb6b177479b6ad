"""Labels for items that nobody judged, from a VLM's own answers: the plan, its number of calls, the folder LABELS.

    plan = plan_labels(study, folder, named, settings)       everything checked, the number of calls known
    with named_vlm(named, study, folder) as vlm:
        card = write_labels(plan, vlm, output)               asks, scores, writes; run again, it goes on

What was answered is kept by the judge engine, so nothing is asked twice; the folder is written whole at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from salon.errors import BadFile, BadValue, InputError, TooFew
from salon.evaluate import CARD, LabelCard, PseudoScores, read_label_card, write_pseudo_scores
from salon.judge import Conversation, JudgePlan, JudgeSpec, OnePass, OpenAIChat, Vlm, canary, judge_folder
from salon.models import ROLE
from salon.store import present_folder, written_inside
from salon.study import Signature, Study
from salon.train.distill_label_settings import DistillLabelSettings, LabelBudget, bridge_settings, plan_budget
from salon.train.distill_label_sources import (
    SOURCE_LABELS,
    Asker,
    CallTally,
    ItemLabels,
    OnCall,
    asking_plan,
    bridge_pairs,
    broken_pictures,
    broken_pictures_error,
    elo_pairs,
    majority_questions,
    pointwise_questions,
)

ANSWERS = "answers.parquet"
"""Every call, beside the labels: what was shown and what was said."""
CANARY_RANGE = 2000
"""Canaries are chosen among the first questions: those of a pool, of the first pairs or items."""


@dataclass(frozen=True)
class LabelPlan:
    """What will be asked, checked."""

    study: Study
    folder: Path
    settings: DistillLabelSettings
    items: tuple[str, ...]
    """Items asked about."""
    broken: dict[str, str]
    """Items left out for their pictures, and why."""
    budget: LabelBudget
    low: float
    high: float
    asking: JudgePlan

    @property
    def texts(self) -> str:
        """What changes when the words of the questions do."""
        if self.settings.source == "pointwise":
            criteria = tuple(self.study.criterion(id) for id in self.asking.criteria)
            return f"one-pass-{OnePass(criteria=criteria, role=self.settings.role or ROLE).hash}"
        return f"{self.asking.templates.version}-{self.asking.templates.hash}"


@dataclass(frozen=True)
class LabelForecast:
    """A run in figures before it."""

    calls: int
    """Exact; with adaptive opponents, and a target for them, the most."""
    stored: int
    """Of these, answered already, as far as that can be known beforehand."""
    cost_at_most: Decimal | None
    """None without a price list."""


def plan_labels(
    study: Study,
    folder: Path,
    judge: JudgeSpec,
    settings: DistillLabelSettings,
    step: Callable[[str], None] = lambda item: None,
) -> LabelPlan:
    """Everything that can be wrong is found here, before anything is spent. `step` is called for every picture."""
    judge.check()
    for id in settings.criterion:
        study.criterion(id)
    low, high = settings.scale(study)
    items = _select_items(study, settings)
    broken = broken_pictures(study, folder, items, step) if judge.looks else {}
    if broken and settings.broken == "refuse":
        raise broken_pictures_error(broken)
    whole = tuple(item for item in items if item not in broken)
    if settings.source == "pointwise":
        OnePass(criteria=tuple(study.criterion(id) for id in settings.criterion) or study.criteria)
    budget = plan_budget(len(whole), settings)
    repeats = (settings.source == "majority" and budget.each > 2) or (
        settings.source == "pointwise" and budget.each > 1
    )
    if repeats and settings.temperature == 0:
        raise BadValue("answers to one question asked several times need a temperature above 0", found="temperature 0")
    asking = asking_plan(study, folder, judge, settings, whole, repeats=repeats)
    return LabelPlan(study, folder, settings, whole, broken, budget, low, high, asking)


def forecast_labels(plan: LabelPlan, vlm: Vlm) -> LabelForecast:
    """Calls, and what they may cost by the price list; nothing is sent."""
    if not isinstance(vlm, OpenAIChat):
        return LabelForecast(plan.budget.calls, 0, None)
    forecast = vlm.forecast(label_conversations(plan, vlm))
    return LabelForecast(plan.budget.calls, forecast.stored, forecast.cost)


def label_conversations(plan: LabelPlan, vlm: Vlm) -> Iterator[Conversation]:
    """What will be asked, made when it is looked at; for adaptive opponents as many random ones stand in."""
    n, settings = len(plan.items), plan.settings
    asker = Asker(plan.asking, vlm, plan.items, _ignore_progress, 0, role=settings.role)
    if settings.source == "pointwise":
        return asker.item_conversations(*pointwise_questions(n, plan.budget.each))
    if settings.source == "majority":
        return asker.pair_conversations(*majority_questions(n, settings, plan.budget)[1:])
    bridge = bridge_settings(settings, plan.budget, plan.low, plan.high)
    pairs = elo_pairs(n, settings, plan.budget) if settings.source == "elo" else bridge_pairs(plan.items, bridge)
    return asker.pair_conversations(pairs, np.zeros(len(pairs), np.int64))


def drift_warnings(plan: LabelPlan, vlm: Vlm, canaries: int) -> list[str]:
    """What canaries say about a hosted model, before anything else is bought; they come on top of the plan's calls."""
    if not canaries or not isinstance(vlm, OpenAIChat) or not vlm.is_hosted:
        return []
    folder = judge_folder(plan.folder, vlm.name)
    path = folder.with_name(f"{folder.name}.labels.canaries.jsonl")
    some = canary.choose_canaries(islice(label_conversations(plan, vlm), CANARY_RANGE), canaries)
    return canary.watch_canaries(vlm, some, path, day=datetime.now(UTC).date()).warnings()


def write_labels(
    plan: LabelPlan, vlm: Vlm, output: Path, watch: OnCall | None = None, *, overwrite: bool = False
) -> tuple[LabelCard, CallTally]:
    """Ask, score and write the folder `output`; what is there of other settings is only replaced with `overwrite`."""
    check_labels_target(plan, vlm, output, overwrite=overwrite)
    asker = Asker(plan.asking, vlm, plan.items, watch or _ignore_progress, plan.budget.calls, role=plan.settings.role)
    labels = SOURCE_LABELS[plan.settings.source](asker, plan.settings, plan.budget, plan.low, plan.high)
    card = _card(plan, vlm, labels, asker.tally)
    more, criteria = len(plan.broken), len(plan.asking.criteria)
    empty = np.full((more, criteria), np.nan)
    scores = PseudoScores(
        items=(*plan.items, *plan.broken),
        criteria=plan.asking.criteria,
        values=np.concatenate([labels.values, empty]),
        sd=np.concatenate([labels.sd, empty]),
        low=plan.low,
        high=plan.high,
        source=plan.settings.source,
        pairs=labels.pairs,
        card=card,
        n=np.concatenate([labels.n, np.zeros((more, criteria), np.int64)]),
    )
    tables = {ANSWERS: labels.answers} if isinstance(labels.answers, pa.Table) else {}
    with written_inside(output):
        check_labels_target(plan, vlm, output, overwrite=overwrite)  # again: other labels may have come meanwhile
        write_pseudo_scores(output, scores, card=card, tables=tables)
    return card, asker.tally


def check_labels_target(plan: LabelPlan, vlm: Vlm, output: Path, *, overwrite: bool) -> None:
    """The same labels may be made again, to ask what got no reply; others must not take their place unasked."""
    if overwrite and (present_folder(output) / CARD).is_file():
        return
    if not output.exists() or (output.is_dir() and not any(output.iterdir())):
        return
    try:
        before = read_label_card(output)
    except InputError:
        before = None
    if before is None:
        raise BadFile(
            "a new folder is needed for labels", found="a folder or file of something else", where=str(output)
        )
    now = (plan.settings.source, _settings(plan), plan.study.hash[:12], str(vlm.signature))
    if (before.source, before.settings, before.data, before.judge_signature) != now:
        raise BadFile(
            "labels are only replaced by labels of the same study, judge and settings",
            found=f"labels by {before.source} of {before.judge}: {before.signature}",
            where=str(output),
            remedy="choose another folder, or replace them with --overwrite",
        )


# -- parts -----------------------------------------------------------------------------------------------------------


def _ignore_progress(completed: int, total: int) -> None:
    """Nobody watches."""


def _select_items(study: Study, settings: DistillLabelSettings) -> tuple[str, ...]:
    """Items to label, all on one scale."""
    items, groups = [], set()
    for item, group in zip(study.nouns("items"), study.item_groups.tolist()):
        if settings.category in (None, item.category):
            items.append(item.id)
            groups.add(group)
    if len(items) < 2:
        among = "" if settings.category is None else f" in category {settings.category!r}"
        raise TooFew("labels need at least 2 items", found=f"{len(items)}{among}", where=f"study {study.name!r}")
    if len(groups) > 1 and settings.source != "pointwise" and not settings.across:
        raise BadValue(
            "labels need items that may all be compared with each other: they share one scale",
            found=f"{len(groups):,} groups, compared within {study.compare_within}",
            where=f"study {study.name!r}",
            remedy="--across compares items of different groups too; --category takes one category",
        )
    return tuple(items)


def _settings(plan: LabelPlan) -> dict[str, Any]:
    record = plan.settings.model_dump(mode="json", exclude={"role"} if plan.settings.role is None else None)
    return record | {"texts": plan.texts, "broken_items": len(plan.broken), "calls": plan.budget.calls}


def _card(plan: LabelPlan, vlm: Vlm, labels: ItemLabels, tally: CallTally) -> LabelCard:
    labelled = np.isfinite(labels.values).any(axis=1) if labels.pairs is None else (labels.n > 0).any(axis=1)
    left_out = [f"{len(plan.broken):,} items were left out: their pictures cannot be read."] if plan.broken else []
    failed = sum(tally.failed.values())
    if failed:
        left_out.append(f"{failed:,} calls got no reply; the same command again asks them again.")
    if labels.dead:
        left_out.append(f"{len(labels.dead):,} items stayed without any answer and have no label.")
    changed = plan.settings.model_dump(exclude={"seed", "source"}, exclude_defaults=True)
    plain = {name: ",".join(value) if isinstance(value, tuple) else value for name, value in changed.items()}
    signature = Signature(
        method=f"distill-label-{plan.settings.source}[{vlm.signature}]",
        data=plan.study.hash[:12],
        revision=plan.study.revision,
        settings=plain | {"texts": plan.texts},
        seed=plan.settings.seed,
    )
    return LabelCard(
        source=plan.settings.source,
        items=len(plan.items) + len(plan.broken),
        labelled=int(labelled.sum()),
        criteria=plan.asking.criteria,
        low=plan.low,
        high=plan.high,
        calls_planned=plan.budget.calls,
        calls_made=tally.calls,
        calls_failed=failed,
        unread=tally.unread,
        dead=(*plan.broken, *labels.dead),
        ties=labels.ties,
        cost=tally.cost,
        settings=_settings(plan),
        study=plan.study.name,
        data=plan.study.hash[:12],
        judge=vlm.name,
        judge_signature=str(vlm.signature),
        simulated=plan.study.simulated or vlm.signature.method.startswith("simulated"),
        policies=labels.policies,
        warnings=(*left_out, *labels.warnings),
        signature=str(signature),
    )
