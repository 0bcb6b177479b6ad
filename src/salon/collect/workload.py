"""How much a studio asks of one person: questions and minutes, before anybody is invited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from salon.collect.runs import Plan, Run
from salon.collect.settings import Times
from salon.collect.settings_phase import TOGETHER, Phase

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


def workloads(plan: Plan) -> list[Workload]:
    """The work of each cohort's raters, planted questions and waiting times among it."""
    return [_cohort_workload(cohort, runs, plan.settings.times) for cohort, runs in plan.runs.items()]


def questions_within(minutes: float, times: Times, prompts: int) -> int:
    """Comparisons that one rater answers within `minutes`, about so many prompts."""
    return max(1, int((60 * minutes - prompts * SECONDS["prompt"]) / max(times.compare, SECONDS["together"])))


def _cohort_workload(cohort: str, runs: Sequence[Run], times: Times) -> Workload:
    questions, seconds = 0, 0.0
    for run in runs:
        ordinary = min(len(run.units), run.phase.questions_each or len(run.units))
        asked = ordinary + _planted(run.phase, ordinary)
        prompts = min(len({unit.prompt for unit in run.units}), ordinary)
        questions += asked
        seconds += asked * _seconds(run.phase, times) + prompts * max(times.ready_after, SECONDS["prompt"])
    return Workload(cohort, questions, seconds / 60)


def _planted(phase: Phase, ordinary: int) -> int:
    return min(phase.repeats, ordinary) + phase.checks.gold + phase.checks.attention


def _seconds(phase: Phase, times: Times) -> float:
    if phase.protocol in TOGETHER:
        return max(times.compare, SECONDS["together"])
    return max(times.rate, SECONDS["alone"])
