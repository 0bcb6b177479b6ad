"""Before a study is run: will it see what it looks for, and how large must it be?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypedDict

import numpy as np
from pydantic import Field

from salon.errors import InputError, StatsError
from salon.stats.laws import RankingLaw, expected_tau, fit_tau
from salon.stats.nulls import Null
from salon.stats.power import Power, TestName, power_signal, smallest_prompts, smallest_raters
from salon.stats.result import Estimate
from salon.study import Signature
from salon.study.noun import Noun

TESTS: dict[Literal["T", "p_max", "cycle"], TestName] = {"T": "T", "p_max": "p_max", "cycle": "cycles"}
"""The tests as a report names them, and as the power kernel does."""


class PlanSettings(Noun):
    """What `salon plan` is asked."""

    items: int = Field(4, ge=2, le=12, description="Items per prompt (p).")
    raters: int = Field(5, ge=2, le=60, description="Raters per prompt (R).")
    prompts: int = Field(80, ge=2, le=1_000_000, description="Prompts per criterion (n).")
    criteria: int = Field(1, ge=1, le=1000, description="Criteria that share Holm's adjustment.")
    model: Literal["mallows", "thurstone", "plackett_luce"] = Field("mallows", description="How raters rank.")
    tau: float | None = Field(None, gt=0, lt=1, description="Effect: mean tau between two raters  [default: 0.1]")
    theta: float | None = Field(None, gt=0, description="Effect as Mallows theta, instead of --tau.")
    alpha: float = Field(0.05, gt=0, lt=0.5, description="Level of the tests.")
    sims: int = Field(2000, ge=100, le=100_000, description="Simulated studies behind every power figure.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")


class PlanPower(Noun):
    """Power of one test: alone, and after Holm over its criteria and tests."""

    test: Literal["T", "p_max", "cycle"]
    alone: Estimate | None
    holm: Estimate | None


class PlanSmallest(Noun):
    """The smallest design that reaches a power with the T test, after Holm."""

    of: Literal["prompts", "raters"]
    target: float
    value: int | None = Field(description="None when no design in the range reaches it.")
    searched: tuple[int, int]


class PlanCurve(Noun):
    """Power of the T test after Holm against the number of prompts."""

    prompts: tuple[int, ...]
    power: tuple[Estimate, ...]


class PlanReport(Noun):
    """The JSON of `salon plan --json`."""

    format: Literal["salon.plan/1"] = "salon.plan/1"
    items: int
    raters: int
    prompts: int
    criteria: int
    model: str
    parameter: float
    mean_tau: float
    power: tuple[PlanPower, ...]
    any_test: Estimate
    smallest: tuple[PlanSmallest, ...]
    curve: PlanCurve
    signature: Signature
    signature_line: str


class _Share(TypedDict):
    """What every power of a plan is computed under."""

    alpha: float
    criteria: int
    sims: int
    rng: np.random.Generator


def plan(
    settings: PlanSettings,
    null: Callable[[int, int], Null],
    *,
    progress: Callable[[str], None] = lambda step: None,
) -> PlanReport:
    """Power of the signal tests for a design, and the smallest designs that suffice."""
    rng = np.random.default_rng(settings.seed)
    law = _law(settings)
    share: _Share = {"alpha": settings.alpha, "criteria": settings.criteria, "sims": settings.sims, "rng": rng}
    progress("power of this design")
    power = power_signal(null(settings.items, settings.raters), law, settings.prompts, **share)
    progress("smallest designs")
    smallest = [_smallest(settings, law, null, target, share) for target in (0.8, 0.9)]
    progress("power curve")
    curve = _curve(settings, law, null, share)
    signature = _signature(settings)
    return PlanReport(
        items=settings.items,
        raters=settings.raters,
        prompts=settings.prompts,
        criteria=settings.criteria,
        model=law.kind,
        parameter=law.parameter,
        mean_tau=expected_tau(law, settings.raters, settings.items),
        power=_powers(power),
        any_test=power.any_holm,
        smallest=tuple(one for pair in smallest for one in pair),
        curve=curve,
        signature=signature,
        signature_line=str(signature),
    )


def _law(settings: PlanSettings) -> RankingLaw:
    if settings.theta is None:
        return fit_tau(RankingLaw(settings.model), settings.tau or 0.1, settings.raters, settings.items)
    if settings.tau is not None or settings.model != "mallows":
        raise InputError("one effect is needed: --tau, or --theta with --model mallows", found="both, or another model")
    return RankingLaw("mallows", settings.theta)


def _powers(power: Power) -> tuple[PlanPower, ...]:
    return tuple(
        PlanPower(test=name, alone=power.plain[kernel], holm=power.holm[kernel]) for name, kernel in TESTS.items()
    )


def _smallest(
    settings: PlanSettings, law: RankingLaw, null: Callable[[int, int], Null], target: float, share: _Share
) -> tuple[PlanSmallest, PlanSmallest]:
    prompts = smallest_prompts(null(settings.items, settings.raters), law, target=target, **share)
    try:
        raters = smallest_raters(lambda R: null(settings.items, R), law, settings.prompts, target=target, **share)
        fewest = PlanSmallest(of="raters", target=target, value=raters.value, searched=(raters.low, raters.high))
    except StatsError:
        fewest = PlanSmallest(of="raters", target=target, value=None, searched=(3, 15))
    return (
        PlanSmallest(of="prompts", target=target, value=prompts.value, searched=(prompts.low, prompts.high)),
        fewest,
    )


def _curve(settings: PlanSettings, law: RankingLaw, null: Callable[[int, int], Null], share: _Share) -> PlanCurve:
    grid = sorted({max(5, round(settings.prompts * step)) for step in (0.125, 0.25, 0.5, 0.75, 1, 1.5, 2, 3)})
    made = [(n, power_signal(null(settings.items, settings.raters), law, n, **share).holm["T"]) for n in grid]
    known = [(n, power) for n, power in made if power is not None]
    return PlanCurve(prompts=tuple(n for n, _ in known), power=tuple(power for _, power in known))


def _signature(settings: PlanSettings) -> Signature:
    made = {name: value for name, value in settings if value is not None and name != "seed"}
    return Signature(method="plan", settings=made, seed=settings.seed)
