"""Planted questions: a repeat, gold, and a screen that says which answer to give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from salon.collect.chance import seeded
from salon.collect.question import Question, Why
from salon.collect.runs import Plan, Run
from salon.collect.settings_phase import TOGETHER
from salon.collect.slots import free_to_repeat


def repeat_question(plan: Plan, run: Run, rater: str, history: Sequence[Question]) -> Question | None:
    """One of the run's ordinary questions again; None when none is far enough back. `repeat_of` counts in the run."""
    places = free_to_repeat([(question.why, question.repeat_of) for question in history], run.phase.gap)
    if not places:
        return None
    chosen = places[int(seeded(run.seed, "repeat", *run.name, rater, len(history)).integers(len(places)))]
    return history[chosen].model_copy(update={"why": "repeat", "repeat_of": chosen})


def attention_question(plan: Plan, run: Run, rater: str, history: Sequence[Question]) -> Question | None:
    """Items seen before, under an instruction. None before the first question, or where no answer can be asked for."""
    ordinary = [question for question in history if question.why == "ordinary"]
    if not ordinary:
        return None
    rng = seeded(run.seed, "attention", *run.name, rater, len(history))
    chosen = ordinary[int(rng.integers(len(ordinary)))]
    if run.phase.protocol in TOGETHER:
        item = chosen.items[int(rng.integers(len(chosen.items)))]
        return chosen.model_copy(update={"why": "attention", "expected_item": item})
    if run.phase.protocol not in ("rate", "flag") or not run.levels:
        return None
    value = run.levels[int(rng.integers(len(run.levels)))]
    return chosen.model_copy(update={"why": "attention", "expected_value": value})


def gold_question(plan: Plan, run: Run, rater: str, history: Sequence[Question]) -> Question | None:
    """A gold question of the run's protocol that the rater has not met in this run; None without one.

    On a screen of several criteria all are asked, so that gold looks like any question; only its own is checked.
    """
    met = {question.items for question in history if question.why == "gold"}
    free = [
        number
        for number, gold in enumerate(plan.settings.gold)
        if gold.protocol == run.phase.protocol and gold.criterion in run.criteria and gold.items not in met
    ]
    if not free:
        return None
    chosen = free[int(seeded(run.seed, "gold", *run.name, rater, len(history)).integers(len(free)))]
    about = {"phase": run.phase.id, "criteria": run.criteria, "view": run.view}
    return known_question(plan, chosen, run.cohort.id, "gold", **about)


def known_question(plan: Plan, number: int, cohort: str, why: Why, **more: Any) -> Question:
    """Gold `number` as it is asked."""
    gold = plan.settings.gold[number]
    return Question(
        kind=gold.protocol,
        cohort=cohort,
        items=gold.items,
        prompt=plan.gold_prompts[number],
        why=why,
        expected_item=gold.better,
        expected_value=gold.value,
        expected_within=gold.within,
        expected_for=(gold.criterion,),
        **more,
    )
