"""The plan of a studio: what there is to ask, in which order each rater is asked, and how much work that is.

A unit is what one screen shows: a pair, all items of a prompt, or one item. A run is a phase's units under the criteria
of one screen.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from salon.collect.design import (
    balanced_fraction,
    balanced_sides,
    complete_pairs,
    plan_slots,
    sample_prompts,
    seeded_rng,
    shared_order,
)
from salon.collect.questions import RaterQuestion, Why, question_key
from salon.collect.settings import SEVERAL_ITEMS, CohortSettings, Phase, ScreenKind, StudioSettings, Times
from salon.errors import DesignError, UnknownReference
from salon.study import Design, Item, Part, Study

MOST_RATERS = 1024
"""Raters whose orders are remembered: more than are at work at once, or every question would draw them again."""


@dataclass(frozen=True)
class QuestionUnit:
    """What one screen shows."""

    items: tuple[str, ...]
    prompt: str | None
    """The prompt all items share; None when they share none."""
    category: str | None
    group: str
    """What items are compared within."""


@dataclass(frozen=True, eq=False)
class PairGroup:
    """The pairs of items that are compared with each other."""

    units: NDArray[np.int64]
    """(m,) their numbers in the run."""
    pairs: NDArray[np.int64]
    """(m, 2) their items, as numbers from 0."""
    items: int


@dataclass(frozen=True, eq=False)
class PhaseRun:
    """One walk through a phase's units under the criteria of one screen."""

    seed: int
    cohort: CohortSettings
    phase: Phase
    criteria: tuple[str, ...]
    units: tuple[QuestionUnit, ...]
    view: tuple[Part, ...]
    """Parts of the prompt on its screens; none named: all of it."""
    views: tuple[tuple[Part, ...], ...]
    """The different views of the cohort. A rater never sees one prompt in two of them."""
    levels: tuple[float, ...]
    """Values that can be given on every criterion of the screen."""
    prompt_place: dict[str, int]
    """Place of each prompt in an order drawn for the cohort: it deals prompts to views."""

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The key of every unit's question."""
        return tuple(question_key(self.cohort.id, self.phase.id, self.criteria, unit.items) for unit in self.units)

    @cached_property
    def place(self) -> dict[str, int]:
        """Units by key."""
        return {key: number for number, key in enumerate(self.keys)}

    @cached_property
    def pair_groups(self) -> tuple[PairGroup, ...]:
        """Of a run of pairs: the pairs by what they are compared within."""
        units_by_group: dict[str, list[int]] = defaultdict(list)
        for number, unit in enumerate(self.units):
            units_by_group[unit.group].append(number)
        return tuple(self._pair_group(units) for units in units_by_group.values())

    def _pair_group(self, units: list[int]) -> PairGroup:
        code: dict[str, int] = {}
        pairs = [[code.setdefault(item, len(code)) for item in self.units[unit].items] for unit in units]
        return PairGroup(np.array(units), np.array(pairs), len(code))

    @cached_property
    def group_of_unit(self) -> NDArray[np.int64]:
        """(units,) the place of each unit's group in `pair_groups`."""
        places = np.zeros(len(self.units), np.int64)
        for place, group in enumerate(self.pair_groups):
            places[group.units] = place
        return places

    @cached_property
    def group_budgets(self) -> NDArray[np.int64]:
        """(groups,) answers that an adaptive design spends on each group."""
        each, design = self.phase.stop.raters_each, self.phase.design
        return np.array([design.pairs_of(group.items) * each for group in self.pair_groups], np.int64)

    def group_name(self, place: int) -> str:
        """A name for the pair group at `place`, unlike that of any other run's."""
        first = self.units[self.pair_groups[place].units[0]]
        return question_key(self.cohort.id, self.phase.id, self.criteria, ("group", first.group))

    @cached_property
    def code_of_prompt(self) -> dict[str | None, int]:
        """A number for each prompt."""
        return {prompt: code for code, prompt in enumerate(dict.fromkeys(unit.prompt for unit in self.units))}

    @cached_property
    def prompt_codes(self) -> NDArray[np.int64]:
        """(units,) the number of each unit's prompt."""
        return np.array([self.code_of_prompt[unit.prompt] for unit in self.units], np.int64)

    @property
    def name(self) -> tuple[str, ...]:
        """What chance in this run is seeded with."""
        return (self.cohort.id, self.phase.id, *self.criteria)

    def question(self, unit: int) -> RaterQuestion:
        """The ordinary question about `unit`."""
        chosen = self.units[unit]
        return RaterQuestion(
            kind=self.phase.protocol,
            cohort=self.cohort.id,
            phase=self.phase.id,
            criteria=self.criteria,
            items=chosen.items,
            prompt=chosen.prompt,
            view=self.view,
            points=self.phase.points,
            grid=self.phase.grid,
        )

    @lru_cache(maxsize=MOST_RATERS)  # noqa: B019 - a run lives as long as its studio
    def allowed(self, number: int) -> NDArray[np.bool_]:
        """(units,) which ones the rater with this `number` may see: each prompt in one view only."""
        if len(self.views) < 2:
            return np.ones(len(self.units), bool)
        mine = self.views.index(self.view)
        dealt = [unit.prompt is None or self._dealt(unit.prompt, number) == mine for unit in self.units]
        return np.array(dealt, bool)

    def _dealt(self, prompt: str, number: int) -> int:
        return (self.prompt_place[prompt] + number) % len(self.views)

    @lru_cache(maxsize=MOST_RATERS)  # noqa: B019
    def order(self, rater: str, number: int) -> NDArray[np.int64]:
        """All units this rater may see, in the rater's own order.

        Categories are mixed so that every beginning of the order holds them in their shares; the questions about one
        prompt follow each other where the phase asks for it.
        """
        rng = seeded_rng(self.seed, "order", *self.name, rater)
        may = np.flatnonzero(self.allowed(number)).tolist()
        rows: dict[object, list[int]] = defaultdict(list)
        for unit in rng.permutation(may).tolist() if may else []:
            prompt = self.units[unit].prompt
            rows[prompt if self.phase.prompt_in_a_row and prompt is not None else ("alone", unit)].append(unit)
        blocks = list(rows.values())
        categories = [self.units[block[0]].category for block in blocks]
        mixed = shared_order(categories, self.phase.prompts.shares, rng=rng)
        return np.array([unit for block in mixed for unit in blocks[block]], np.int64)

    @lru_cache(maxsize=MOST_RATERS)  # noqa: B019
    def planned(self, rater: str, ordinary: int) -> tuple[Why, ...]:
        """What stands at every place for this rater, with so many ordinary questions."""
        checks = self.phase.checks
        return plan_slots(
            ordinary,
            repeats=self.phase.repeats,
            gap=self.phase.gap,
            gold=checks.gold,
            attention=checks.attention,
            rng=seeded_rng(self.seed, "slots", *self.name, rater),
        )

    @lru_cache(maxsize=MOST_RATERS)  # noqa: B019
    def first_left(self, couple: int) -> NDArray[np.bool_]:
        """(units,) of pairs: is the first item on the left, for the first rater of a couple?"""
        pairs = [(unit.items[0], unit.items[1]) for unit in self.units]
        return balanced_sides(pairs, rng=seeded_rng(self.seed, "sides", *self.name, couple))


@dataclass(frozen=True, eq=False)
class StudioPlan:
    """Everything a studio may ask, cohort by cohort, in order."""

    settings: StudioSettings
    gold_prompts: tuple[str | None, ...]
    """The prompt of each gold question's items."""
    runs: dict[str, tuple[PhaseRun, ...]]

    def find_run(self, question: RaterQuestion) -> PhaseRun:
        """The run a question belongs to."""
        for run in self.runs[question.cohort]:
            if run.phase.id == question.phase and run.criteria == question.criteria:
                return run
        raise UnknownReference("a question of this studio is needed", found=f"phase {question.phase!r}")


# -- from study and settings to a plan ---------------------------------------------------------------------------------

_KEPT_AS: dict[ScreenKind, str] = {
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


def make_plan(study: Study, settings: StudioSettings) -> StudioPlan:
    """The plan of a studio, or an error that names the TOML key that does not fit the study."""
    items = {item.id: item for item in study.nouns("items")}
    _check_criteria(study, settings)
    _check_gold(study, settings, items)
    aside = {item for gold in settings.gold for item in gold.items}
    askable = [item for item in items.values() if item.id not in aside]
    categories = {prompt.id: prompt.category for prompt in study.nouns("prompts")}
    runs = {cohort.id: _cohort_runs(study, settings, cohort, askable, categories) for cohort in settings.cohorts}
    gold_prompts = tuple(_unit([items[id] for id in gold.items], categories, "").prompt for gold in settings.gold)
    return StudioPlan(settings, gold_prompts, runs)


def check_views(study: Study, plan: StudioPlan) -> None:
    """DesignError if a prompt lacks a part that it would be shown by: found at the start, not in front of a rater."""
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


def join_designs(before: Design, now: Design) -> Design:
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
    study: Study, settings: StudioSettings, cohort: CohortSettings, items: list[Item], categories: dict[str, str | None]
) -> tuple[PhaseRun, ...]:
    rng = seeded_rng(settings.seed, "prompts", cohort.id)
    prompts = sorted({item.prompt for item in items if item.prompt is not None})
    place = {prompts[k]: n for n, k in enumerate(rng.permutation(len(prompts)).tolist())}
    used_prompts: set[str] = set()
    runs = []
    screens = [(phase, screen) for phase in cohort.phases for screen in phase.screens]
    views = tuple(dict.fromkeys(_view(study, cohort, phase, screen) for phase, screen in screens))
    for phase in cohort.phases:
        chosen = _phase_prompts(phase, prompts, categories, used_prompts, rng)
        used_prompts |= chosen
        among = [item for item in items if item.prompt is None or item.prompt in chosen]
        units = tuple(_units(study, phase, among, categories, seeded_rng(settings.seed, "design", cohort.id, phase.id)))
        if not units:
            needs = f"two items of one {study.compare_within}" if phase.protocol in SEVERAL_ITEMS else "items"
            raise DesignError(
                f"phase {phase.id!r} needs something to ask",
                found="no items that fit",
                where=f"cohort {cohort.id!r}",
                remedy=f"{phase.protocol} needs {needs}",
            )
        for screen in phase.screens:
            scales = [criterion.scale for criterion in study.criteria if criterion.id in screen]
            shared = set.intersection(*(set(scale.levels) if scale else set() for scale in scales))
            levels = tuple(sorted(shared))
            view = _view(study, cohort, phase, screen)
            runs.append(PhaseRun(settings.seed, cohort, phase, screen, units, view, views, levels, place))
    _check_asked_once(cohort, runs)
    return tuple(runs)


def _check_asked_once(cohort: CohortSettings, runs: Sequence[PhaseRun]) -> None:
    """No two phases may ask a rater the same: a study holds one answer of each rater to a question."""
    met: dict[tuple[object, ...], str] = {}
    for run in runs:
        for criterion, unit in product(run.criteria, run.units):
            view = run.view if unit.prompt is not None else ()  # a prompt is seen in one view only
            question = (_KEPT_AS[run.phase.protocol], criterion, view, frozenset(unit.items))
            phase_id = met.setdefault(question, run.phase.id)
            if phase_id != run.phase.id:
                raise DesignError(
                    f"phases of one cohort ask different things; {_KEPT_AS[run.phase.protocol]} are kept once",
                    found=f"phases {phase_id!r} and {run.phase.id!r}, both about {criterion!r} of the same items",
                    where=f"cohort {cohort.id!r}",
                    remedy="another criterion for one of them, prompts.fresh, or another cohort",
                )


def _view(study: Study, cohort: CohortSettings, phase: Phase, screen: Sequence[str]) -> tuple[Part, ...]:
    """What a screen shows of a prompt: as the phase says, or the cohort, or all its criteria alike; else all of it."""
    if phase.view is not None:
        return phase.view
    own = {criterion.view for criterion in study.criteria if criterion.id in screen}
    return cohort.view or (own.pop() if len(own) == 1 else ())


def _phase_prompts(
    phase: Phase,
    prompts: list[str],
    categories: dict[str, str | None],
    used_prompts: set[str],
    rng: np.random.Generator,
) -> set[str]:
    free = [prompt for prompt in prompts if not (phase.prompts.fresh and prompt in used_prompts)]
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
) -> Iterable[QuestionUnit]:
    if phase.protocol not in SEVERAL_ITEMS:
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
        count = len(members)
        together: Sequence[tuple[int, ...]] = [tuple(range(count))]
        if phase.protocol == "compare" and phase.design.kind == "fraction":
            together = balanced_fraction(count, phase.design.pairs_of(count), rng=rng)
        elif phase.protocol == "compare":
            together = complete_pairs(count)
        for chosen in together:
            yield _unit([members[k] for k in chosen], categories, group)


def _group(study: Study, item: Item) -> str | None:
    if study.compare_within == "all":
        return "all"
    return item.prompt if study.compare_within == "prompt" else item.category


def _unit(items: list[Item], categories: dict[str, str | None], group: str) -> QuestionUnit:
    shared = {item.prompt for item in items}
    prompt = shared.pop() if len(shared) == 1 else None
    category = items[0].category or (None if prompt is None else categories.get(prompt))
    return QuestionUnit(tuple(item.id for item in items), prompt, category, group)


def _check_criteria(study: Study, settings: StudioSettings) -> None:
    criteria = {criterion.id: criterion for criterion in study.criteria}
    for c, cohort in enumerate(settings.cohorts):
        for p, phase in enumerate(cohort.phases):
            for criterion in phase.criteria:
                key = f"cohorts[{c}].phases[{p}].criteria"
                if criterion not in criteria:
                    raise _unknown_reference(key, "a criterion of the study", criterion, criteria)
                if phase.protocol in ("rate", "flag") and criteria[criterion].scale is None:
                    raise DesignError(
                        f"{key}: {phase.protocol} needs a criterion with a scale",
                        found=repr(criterion),
                        remedy="give the criterion a scale in study.toml",
                    )


def _check_gold(study: Study, settings: StudioSettings, items: dict[str, Item]) -> None:
    criterion_ids = {criterion.id for criterion in study.criteria}
    for g, gold in enumerate(settings.gold):
        if gold.criterion not in criterion_ids:
            raise _unknown_reference(f"gold[{g}].criterion", "a criterion of the study", gold.criterion, criterion_ids)
        for item in gold.items:
            if item not in items:
                raise _unknown_reference(f"gold[{g}].items", "an item of the study", item, ())


def _unknown_reference(key: str, needed: str, name: str, names: Iterable[str]) -> UnknownReference:
    among = ", ".join(names)
    return UnknownReference(f"{key}: {needed} is needed", found=repr(name), remedy=f"one of {among}" if among else None)


# -- workload ----------------------------------------------------------------------------------------------------------

SECONDS = {"together": 10.0, "alone": 8.0, "prompt": 5.0}
"""What people take when nothing holds them back: for several items, for one, and for reading a new prompt."""


@dataclass(frozen=True)
class Workload:
    """What one rater of a cohort is asked."""

    cohort: str
    questions: int
    minutes: float

    def __str__(self) -> str:
        return f"{self.cohort}: {self.questions:,} questions each, about {max(1, round(self.minutes)):,} minutes"


def workloads(plan: StudioPlan) -> list[Workload]:
    """The work of each cohort's raters, planted questions and waiting times among it."""
    times = plan.settings.times
    work = []
    for cohort, runs in plan.runs.items():
        questions, seconds = 0, 0.0
        for run in runs:
            ordinary = min(len(run.units), run.phase.questions_each or len(run.units))
            count = ordinary + min(run.phase.repeats, ordinary) + run.phase.checks.gold + run.phase.checks.attention
            prompts = min(len({unit.prompt for unit in run.units}), ordinary)
            several = run.phase.protocol in SEVERAL_ITEMS
            each = max(times.compare, SECONDS["together"]) if several else max(times.rate, SECONDS["alone"])
            questions += count
            seconds += count * each + prompts * max(times.ready_after, SECONDS["prompt"])
        work.append(Workload(cohort, questions, seconds / 60))
    return work


def questions_within(minutes: float, times: Times, prompts: int) -> int:
    """Comparisons that one rater answers within `minutes`, about so many prompts."""
    return max(1, int((60 * minutes - prompts * SECONDS["prompt"]) / max(times.compare, SECONDS["together"])))
