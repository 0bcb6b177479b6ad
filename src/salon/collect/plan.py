"""The plan of a studio: the units of every phase, laid out once from the study and the settings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import product

import numpy as np

from salon.collect.chance import seeded
from salon.collect.design import balanced_fraction, complete_pairs
from salon.collect.runs import Plan, Run, Unit
from salon.collect.sample import sample_prompts
from salon.collect.settings import Cohort, StudioSettings
from salon.collect.settings_phase import TOGETHER, Kind, Phase
from salon.errors import DesignError, UnknownReference
from salon.study import Design, Item, Study
from salon.study.prompt import Part

_KEPT_AS: dict[Kind, str] = {
    "compare": "comparisons",
    "rank": "rankings",
    "rate": "ratings",
    "flag": "ratings",
    "choose": "choices",
    "checklist": "checklists",
    "regions": "checklists",
    "text": "checklists",
}
"""The judgments a study keeps answers as."""


def make_plan(study: Study, settings: StudioSettings) -> Plan:
    """The plan of a studio, or an error that names the TOML key that does not fit the study."""
    items = {item.id: item for item in study.nouns("items")}
    _check_criteria(study, settings)
    _check_gold(study, settings, items)
    aside = {item for gold in settings.gold for item in gold.items}
    asked = [item for item in items.values() if item.id not in aside]
    categories = {prompt.id: prompt.category for prompt in study.nouns("prompts")}
    runs = {cohort.id: _cohort_runs(study, settings, cohort, asked, categories) for cohort in settings.cohorts}
    gold_prompts = tuple(_unit([items[id] for id in gold.items], categories, "").prompt for gold in settings.gold)
    return Plan(settings, gold_prompts, runs)


def check_views(study: Study, plan: Plan) -> None:
    """DesignError where a prompt lacks a part it would be shown by: told at the start, not when a rater meets it."""
    prompts = {prompt.id: prompt for prompt in study.nouns("prompts")}
    for run in (run for runs in plan.runs.values() for run in runs):
        for id in dict.fromkeys(unit.prompt for unit in run.units if unit.prompt in prompts):
            missing = [part for part in run.view if not getattr(prompts[id], part)]
            if missing:
                raise DesignError(
                    f"the view {'+'.join(run.view)} needs these parts of every prompt",
                    found=f"no {', '.join(missing)} in prompt {id!r}",
                    where=f"cohort {run.cohort.id!r}, phase {run.phase.id!r}",
                    remedy="view = [] of the phase in studio.toml shows prompts whole; or give them the parts",
                )


def study_design(settings: StudioSettings) -> Design:
    """What the study must say about how it was collected, because it decides which nulls apply."""
    phases = [phase for cohort in settings.cohorts for phase in cohort.phases]
    thinned = [phase for phase in phases if phase.design.kind == "fraction"]
    if any(phase.design.kind == "adaptive" for phase in phases):
        kind = "adaptive"
    elif any(phase.protocol == "rank" and phase.ranking == "merge" for phase in phases):
        kind = "merge_ranking"
    elif thinned or any(phase.stop.kind != "everyone" or phase.questions_each for phase in phases):
        kind = "fraction"
    else:
        kind = "complete"
    stop = "until_confidence" if any(phase.stop.kind == "agreement" for phase in phases) else "fixed"
    fraction = thinned[0].design.fraction if thinned and thinned[0].design.pairs is None else None
    return Design.parse({"kind": kind, "stop": stop, "fraction": fraction, "order_randomized": True})


def joined_design(before: Design, now: Design) -> Design:
    """The design of a study that holds answers of two: of each part the one under which fewer nulls apply."""
    kinds = ("complete", "fraction", "unknown", "merge_ranking", "adaptive")
    return Design(
        kind=max(before.kind, now.kind, key=kinds.index),
        stop="until_confidence" if "until_confidence" in (before.stop, now.stop) else "fixed",
        fraction=now.fraction if before.fraction == now.fraction else None,
        order_randomized=now.order_randomized if before.order_randomized == now.order_randomized else None,
        note=before.note,
    )


def _cohort_runs(
    study: Study, settings: StudioSettings, cohort: Cohort, items: list[Item], categories: dict[str, str | None]
) -> tuple[Run, ...]:
    rng = seeded(settings.seed, "prompts", cohort.id)
    prompts = sorted({item.prompt for item in items if item.prompt is not None})
    place = {prompts[k]: n for n, k in enumerate(rng.permutation(len(prompts)).tolist())}
    drawn: set[str] = set()
    runs = []
    screens = [(phase, screen) for phase in cohort.phases for screen in phase.screens]
    views = tuple(dict.fromkeys(_view(study, cohort, phase, screen) for phase, screen in screens))
    for phase in cohort.phases:
        chosen = _phase_prompts(phase, prompts, categories, drawn, rng)
        drawn |= chosen
        among = [item for item in items if item.prompt is None or item.prompt in chosen]
        units = tuple(_units(study, phase, among, categories, seeded(settings.seed, "design", cohort.id, phase.id)))
        if not units:
            needs = f"two items of one {study.compare_within}" if phase.protocol in TOGETHER else "items"
            raise DesignError(
                f"phase {phase.id!r} needs something to ask",
                found="no items that fit",
                where=f"cohort {cohort.id!r}",
                remedy=f"{phase.protocol} needs {needs}",
            )
        for screen in phase.screens:
            levels = _shared_levels(study, screen)
            view = _view(study, cohort, phase, screen)
            runs.append(Run(settings.seed, cohort, phase, screen, units, view, views, levels, place))
    _check_asked_once(cohort, runs)
    return tuple(runs)


def _check_asked_once(cohort: Cohort, runs: Sequence[Run]) -> None:
    """No two phases may ask a rater the same: a study holds one answer of each rater to a question."""
    met: dict[tuple[object, ...], str] = {}
    for run in runs:
        for criterion, unit in product(run.criteria, run.units):
            view = run.view if unit.prompt is not None else ()  # a prompt is seen in one view only
            asked = (_KEPT_AS[run.phase.protocol], criterion, view, frozenset(unit.items))
            other = met.setdefault(asked, run.phase.id)
            if other != run.phase.id:
                raise DesignError(
                    f"phases of one cohort ask different things; {_KEPT_AS[run.phase.protocol]} are kept once",
                    found=f"phases {other!r} and {run.phase.id!r}, both about {criterion!r} of the same items",
                    where=f"cohort {cohort.id!r}",
                    remedy="another criterion for one of them, prompts.fresh, or another cohort",
                )


def _view(study: Study, cohort: Cohort, phase: Phase, screen: Sequence[str]) -> tuple[Part, ...]:
    """What a screen shows of a prompt: as the phase says, or the cohort, or all its criteria alike; else all of it."""
    if phase.view is not None:
        return phase.view
    own = {criterion.view for criterion in study.criteria if criterion.id in screen}
    return cohort.view or (own.pop() if len(own) == 1 else ())


def _phase_prompts(
    phase: Phase, prompts: list[str], categories: dict[str, str | None], drawn: set[str], rng: np.random.Generator
) -> set[str]:
    free = [prompt for prompt in prompts if not (phase.prompts.fresh and prompt in drawn)]
    if phase.prompts.number is None:
        return set(free)
    if phase.prompts.number > len(free):
        raise DesignError(
            f"phases.prompts.number: {phase.prompts.number} prompts are to be drawn",
            found=f"{len(free)} to draw from",
            where=f"phase {phase.id!r}",
        )
    kinds = [categories.get(prompt) for prompt in free]
    return {free[k] for k in sample_prompts(kinds, phase.prompts.number, phase.prompts.shares, rng=rng)}


def _units(
    study: Study, phase: Phase, items: list[Item], categories: dict[str, str | None], rng: np.random.Generator
) -> Iterable[Unit]:
    if phase.protocol not in TOGETHER:
        for item in items:
            yield _unit([item], categories, _group(study, item) or item.id)
        return
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in items:
        group = _group(study, item)
        if group is not None:
            groups[group].append(item)
    for group, members in groups.items():
        if len(members) < 2:
            continue
        for chosen in _sets(phase, len(members), rng):
            yield _unit([members[k] for k in chosen], categories, group)


def _sets(phase: Phase, items: int, rng: np.random.Generator) -> Sequence[tuple[int, ...]]:
    """Which of a group's items are shown together."""
    if phase.protocol != "compare":
        return [tuple(range(items))]
    if phase.design.kind == "fraction":
        return balanced_fraction(items, phase.design.pairs_of(items), rng=rng)
    return complete_pairs(items)


def _group(study: Study, item: Item) -> str | None:
    if study.compare_within == "all":
        return "all"
    return item.prompt if study.compare_within == "prompt" else item.category


def _unit(items: list[Item], categories: dict[str, str | None], group: str) -> Unit:
    shared = {item.prompt for item in items}
    prompt = shared.pop() if len(shared) == 1 else None
    category = items[0].category or (None if prompt is None else categories.get(prompt))
    return Unit(tuple(item.id for item in items), prompt, category, group)


def _shared_levels(study: Study, criteria: Sequence[str]) -> tuple[float, ...]:
    scales = [criterion.scale for criterion in study.criteria if criterion.id in criteria]
    shared = set.intersection(*(set(scale.levels) if scale else set() for scale in scales))
    return tuple(sorted(shared))


def _check_criteria(study: Study, settings: StudioSettings) -> None:
    known = {criterion.id: criterion for criterion in study.criteria}
    for c, cohort in enumerate(settings.cohorts):
        for p, phase in enumerate(cohort.phases):
            for criterion in phase.criteria:
                key = f"cohorts[{c}].phases[{p}].criteria"
                if criterion not in known:
                    raise _unknown(key, "a criterion of the study", criterion, known)
                if phase.protocol in ("rate", "flag") and known[criterion].scale is None:
                    raise DesignError(
                        f"{key}: {phase.protocol} needs a criterion with a scale",
                        found=repr(criterion),
                        remedy="give the criterion a scale in study.toml",
                    )


def _check_gold(study: Study, settings: StudioSettings, items: dict[str, Item]) -> None:
    known = {criterion.id for criterion in study.criteria}
    for g, gold in enumerate(settings.gold):
        if gold.criterion not in known:
            raise _unknown(f"gold[{g}].criterion", "a criterion of the study", gold.criterion, known)
        for item in gold.items:
            if item not in items:
                raise _unknown(f"gold[{g}].items", "an item of the study", item, ())


def _unknown(key: str, needed: str, found: str, known: Iterable[str]) -> UnknownReference:
    among = ", ".join(known)
    return UnknownReference(
        f"{key}: {needed} is needed", found=repr(found), remedy=f"one of {among}" if among else None
    )
