"""The bridge: calibrated scores of many items from a rater's comparisons, without any labels.

A pool of N items is compared exhaustively and scored; every other item meets K pool items, and its posterior on the
pool's scale is its score (PPaint section 4.1, Algorithm 1). The rater may be a person or a model. The answers live in
the study, so every function here can be called again after more of them arrived:

    plan_bridge(study)       every pair of the plan                 (random opponents)
    next_questions(study)    the pairs to ask now, given the answers (adaptive opponents: round by round)
    score_bridge(study)      scores with intervals, and where the calls went
    run_bridge(items, ask)   all of it with a function that answers
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from salon.errors import BadValue, TooFew
from salon.fuse.bridge_answers import BridgeAnswers, Ints, no_answers, study_answers
from salon.fuse.bridge_ask import next_round, random_placements
from salon.fuse.bridge_plan import BridgePlan, plan_group, planned_calls
from salon.fuse.bridge_report import Scored, bridge_report, score_group
from salon.fuse.bridge_results import BridgeQuestions, BridgeReport
from salon.fuse.bridge_settings import BridgeSettings
from salon.study import Signature, Study

Ask = Callable[[Ints], ArrayLike]
"""Pairs (m, 2) of item numbers, first shown first -> outcomes (m,) or (m, criteria): 0, 1, 2, 3 (both bad) or -1."""


@dataclass(frozen=True)
class BridgeRun:
    """A finished run: the report, and every call, to go on from."""

    report: BridgeReport
    answers: BridgeAnswers


@dataclass(frozen=True)
class _Group:
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
    parts = [(group, _planned(group, chosen)) for group in groups]
    return _table(study, parts), _questions(study, groups, parts, chosen, "plan")


def next_questions(study: Study, settings: BridgeSettings | None = None) -> tuple[pa.Table, BridgeQuestions]:
    """The pairs to ask now: the pool's first, then placements; adaptive ones follow from the answers so far."""
    chosen = settings or BridgeSettings()
    groups = list(_groups(study, chosen))
    parts = [(group, next_round(group.plan, group.answers, chosen)) for group in groups]
    return _table(study, parts), _questions(study, groups, parts, chosen, "next")


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
    ask: Ask,
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
    known = no_answers(len(criteria)) if answers is None else answers
    while len(pairs := next_round(plan, known, chosen)):
        progress(f"{len(known):,} calls made, {len(pairs):,} asked")
        known = known.plus(pairs, ask(pairs))
        save(known)
    scored: Scored = score_group("all", tuple(items), plan, known, tuple(criteria), chosen)
    signature = Signature(method="bridge", settings=_plain(chosen), seed=chosen.seed)
    return BridgeRun(bridge_report([scored], chosen, study="", simulated=False, signature=signature), known)


# -- the study's side ----------------------------------------------------------------------------------------------


def _planned(group: _Group, settings: BridgeSettings) -> Ints:
    pairs = group.plan.pool_pairs
    if len(group.plan.rest) and not settings.adaptive:
        pairs = np.concatenate([pairs, random_placements(group.plan, settings)])
    return group.plan.unasked(pairs, group.answers)


def _groups(study: Study, settings: BridgeSettings) -> Iterator[_Group]:
    """Groups of at least two items, each with its calls."""
    answers = study_answers(study, _criteria(study, settings), settings.rater)
    ids, of = study.ids("items").to_pylist(), study.item_groups
    found = [number for number in range(int(of.max(initial=-1)) + 1) if (of == number).sum() >= 2]
    if not found:
        raise TooFew(
            "a bridge needs at least 2 items that may be compared",
            found=f"{len(ids):,} items, compared within {study.compare_within}",
            where=f"study {study.name!r}",
            remedy="declare compare_within = 'all' or 'category' in study.toml",
        )
    for number in found:
        items = np.flatnonzero(of == number)
        local = np.full(len(ids), -1)
        local[items] = np.arange(len(items))
        own = answers.where(of[answers.pairs[:, 0]] == number)
        plan = plan_group([ids[item] for item in items], settings)
        yield _Group(study.label("groups", number), items, plan, BridgeAnswers(local[own.pairs], own.outcomes))


def _criteria(study: Study, settings: BridgeSettings) -> tuple[str, ...]:
    """The criteria asked for, or those that the study's comparisons name; all but flags before the first answer."""
    if settings.criterion:
        return tuple(study.criterion(id).id for id in settings.criterion)
    table = study.table("comparisons")
    named = set(study.codes("criteria", table.column("criterion")).tolist())
    found = tuple(study.criteria[number].id for number in sorted(named) or study.ranking_criteria())
    if not found:
        raise TooFew("a bridge needs a criterion", found="none", where=f"study {study.name!r}")
    return found


def _table(study: Study, parts: Sequence[tuple[_Group, Ints]]) -> pa.Table:
    """Pairs as a table that can be filled in and imported: `a` is shown on the left."""
    ids = np.array(study.ids("items").to_pylist(), dtype=object)
    rows = [group.items[pairs] for group, pairs in parts]
    pairs = np.concatenate(rows) if rows else np.empty((0, 2), np.int64)
    stage = [
        "pool" if inside else "placement"
        for group, asked in parts
        for inside in np.asarray((group.plan.place[asked] >= 0).all(axis=1))
    ]
    again = np.concatenate([_again(asked, group.answers) for group, asked in parts])
    return pa.table(
        {
            "a": pa.array(ids[pairs[:, 0]], pa.string()),
            "b": pa.array(ids[pairs[:, 1]], pa.string()),
            "left": pa.array(["a"] * len(pairs), pa.string()),
            "repeat": pa.array(again, pa.int16()),
            "stage": pa.array(stage, pa.string()),
        }
    )


def _again(pairs: Ints, answers: BridgeAnswers) -> Ints:
    """1 for a pair that stands here or in the study in the other order already: a study keeps them apart by this."""
    named = [tuple(pair) for pair in np.sort(pairs, axis=1).tolist()]
    seen = {tuple(pair) for pair in np.sort(answers.pairs, axis=1).tolist()}
    again = np.zeros(len(pairs), np.int64)
    for row, pair in enumerate(named):
        again[row] = pair in seen
        seen.add(pair)
    return again


def _questions(
    study: Study, groups: Sequence[_Group], parts: Sequence[tuple[_Group, Ints]], settings: BridgeSettings, what: str
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
        settings=_plain(settings),
        seed=settings.seed,
    )


def _plain(settings: BridgeSettings) -> dict[str, str | int | float | bool | None]:
    plain = {name: value for name, value in settings if name not in ("seed", "criterion", "rater")}
    lists = {name: ",".join(getattr(settings, name)) for name in ("criterion", "rater") if getattr(settings, name)}
    return plain | lists
