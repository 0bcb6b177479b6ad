"""From a question to a screen: sides, places and code-names for one rater."""

from __future__ import annotations

from salon.collect.chance import seeded
from salon.collect.question import Question, Shown, code_names
from salon.collect.runs import Plan, Run
from salon.collect.sides import turned


def show(plan: Plan, question: Question, *, rater: str, number: int, position: int) -> Shown:
    """The screen for task `position` of a rater, the same whenever it is made; `number` as in `State`."""
    if question.counts:
        order = _balanced(plan.find_run(question), question, number)
    else:
        order = turned(question.items, 0, rng=seeded(plan.settings.seed, "planted", rater, position))
    return Shown(
        question=question,
        order=order,
        code_names=code_names(len(order), plan.settings.seed, "names", rater, position),
    )


def _balanced(run: Run, question: Question, number: int) -> tuple[str, ...]:
    if question.kind == "compare":
        order = question.items if _first_left(run, question, number) else question.items[::-1]
    else:
        order = turned(question.items, number, rng=seeded(run.seed, "places", *run.name, question.key))
    return order[::-1] if question.why == "repeat" else order


def _first_left(run: Run, question: Question, number: int) -> bool:
    couple, second = divmod(number, 2)
    return bool(run.first_left(couple)[run.place[question.key]]) != bool(second)
