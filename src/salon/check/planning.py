"""Before a study is run: the power of its tests, how large it must be, and how many pairs must be compared.

A budget of comparisons is simulated without a study (`stats.budget.comparison_budget`), or read off a study's own
comparisons (`stats.budget.thin_comparisons`): thinned to fractions of their pairs, with all answers, and scored anew in
every group of every criterion; the figures are means over these groups.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.check.settings import PlanSettings, SimulatedBudgetSettings, ThinSettings
from salon.errors import InputError, StatsError, TooFew
from salon.stats import (
    BudgetRow,
    Estimate,
    Null,
    RankingLaw,
    TestName,
    Thinning,
    comparison_budget,
    connectivity,
    expected_tau,
    fit_tau,
    mean_of_simulations,
    power_signal,
    smallest_fraction,
    smallest_prompts,
    smallest_raters,
    thin_comparisons,
)
from salon.study import Noun, Signature, Study

KERNEL_TESTS: dict[Literal["T", "p_max", "cycle"], TestName] = {"T": "T", "p_max": "p_max", "cycle": "cycles"}
"""The tests as a report names them, and as the power kernel does."""


class PlanPower(Noun):
    """Power of one test: alone, and after Holm over its criteria and tests."""

    test: Literal["T", "p_max", "cycle"] = Field(description="Which test.")
    alone: Estimate | None = Field(description="Power at level alpha; null where the design does not allow the test.")
    holm: Estimate | None = Field(description="Power after Holm over criteria and tests.")


class PlanSmallest(Noun):
    """The smallest design that reaches a power with the T test, after Holm."""

    of: Literal["prompts", "raters"] = Field(description="What was searched over.")
    target: float = Field(description="The power to reach.")
    value: int | None = Field(description="None when no design in the range reaches it.")
    searched: tuple[int, int] = Field(description="From and to.")


class PlanCurve(Noun):
    """Power of the T test after Holm against the number of prompts."""

    prompts: tuple[int, ...] = Field(description="Numbers of prompts.")
    power: tuple[Estimate, ...] = Field(description="Power at each of them.")


class PlanReport(Noun):
    """The JSON of `salon plan --json`."""

    format: Literal["salon.plan/1"] = Field(default="salon.plan/1", description="Name and version of this form.")
    items: int = Field(description="Items per prompt (p).")
    raters: int = Field(description="Raters per prompt (R).")
    prompts: int = Field(description="Prompts per criterion (n).")
    criteria: int = Field(description="Criteria that share Holm's adjustment.")
    model: str = Field(description="Law of the simulated raters.")
    parameter: float = Field(description="Its parameter: Mallows' theta, Thurstone's noise, Plackett-Luce's spread.")
    mean_tau: float = Field(description="Mean tau that the law implies.")
    power: tuple[PlanPower, ...] = Field(description="Power of each test of this design.")
    any_test: Estimate = Field(description="Chance that at least one test of a criterion rejects, after Holm.")
    smallest: tuple[PlanSmallest, ...] = Field(
        description="Smallest numbers of prompts and raters for 80% and 90% power."
    )
    curve: PlanCurve = Field(description="Power of the T test by number of prompts.")
    signature: Signature = Field(description="What reproduces these numbers.")
    signature_line: str = Field(description="The same as one line.")


class _PowerSettings(TypedDict):
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
    if settings.theta is None:
        law = fit_tau(RankingLaw(settings.model), settings.tau or 0.1, settings.raters, settings.items)
    elif settings.tau is not None or settings.model != "mallows":
        raise InputError("one effect is needed: --tau, or --theta with --model mallows", found="both, or another model")
    else:
        law = RankingLaw("mallows", settings.theta)
    share: _PowerSettings = {"alpha": settings.alpha, "criteria": settings.criteria, "sims": settings.sims, "rng": rng}
    progress("power of this design")
    power = power_signal(null(settings.items, settings.raters), law, settings.prompts, **share)
    progress("smallest designs")
    smallest = [_smallest(settings, law, null, target, share) for target in (0.8, 0.9)]
    progress("power curve")
    grid = sorted({max(5, round(settings.prompts * step)) for step in (0.125, 0.25, 0.5, 0.75, 1, 1.5, 2, 3)})
    powers = [(n, power_signal(null(settings.items, settings.raters), law, n, **share).holm["T"]) for n in grid]
    points = [(n, estimate) for n, estimate in powers if estimate is not None]
    values = {name: value for name, value in settings if value is not None and name != "seed"}
    signature = Signature(method="plan", settings=values, seed=settings.seed)
    return PlanReport(
        items=settings.items,
        raters=settings.raters,
        prompts=settings.prompts,
        criteria=settings.criteria,
        model=law.kind,
        parameter=law.parameter,
        mean_tau=expected_tau(law, settings.raters, settings.items),
        power=tuple(
            PlanPower(test=name, alone=power.plain[kernel], holm=power.holm[kernel])
            for name, kernel in KERNEL_TESTS.items()
        ),
        any_test=power.any_holm,
        smallest=tuple(design for pair in smallest for design in pair),
        curve=PlanCurve(prompts=tuple(n for n, _ in points), power=tuple(estimate for _, estimate in points)),
        signature=signature,
        signature_line=str(signature),
    )


def _smallest(
    settings: PlanSettings, law: RankingLaw, null: Callable[[int, int], Null], target: float, share: _PowerSettings
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


# -- budgets of comparisons --------------------------------------------------------------------------------------------

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
LEAST_ITEMS = 10
"""Smaller groups hold too few pairs to thin."""
BOTH_BAD = 3


class BudgetReport(Noun):
    """The JSON of `salon plan budget --json`."""

    format: Literal["salon.budget/1"] = Field(default="salon.budget/1", description="Name and version of this form.")
    items: int = Field(description="Items to be compared.")
    raters: int = Field(description="Raters who answer every pair.")
    spread: float = Field(description="Standard deviation of the true scores, in logits.")
    rows: tuple[BudgetRow, ...] = Field(description="Designs from thin to full.")
    smallest: BudgetRow | None = Field(description="The thinnest design that reaches the target; null if none does.")
    signature: Signature = Field(description="What reproduces these numbers.")
    signature_line: str = Field(description="The same as one line.")


class ThinRow(Noun):
    """One fraction of the compared pairs: means over groups and random choices."""

    fraction: float = Field(description="Share of the compared pairs that is kept.")
    of_all: float = Field(description="Share of all possible pairs.")
    pairs: float = Field(description="Pairs kept, mean over groups.")
    judgments: float = Field(description="Comparisons kept, mean over groups.")
    elo_srcc: Estimate | None = Field(description="Elo's rank correlation with the whole graph's; at 1: its own noise.")
    elo_plcc: Estimate | None = Field(description="Pearson's correlation of Elo scores.")
    bradley_terry_srcc: Estimate | None = Field(description="Rank correlation of Bradley-Terry scores.")
    bradley_terry_plcc: Estimate | None = Field(description="Pearson's correlation of Bradley-Terry scores.")
    lowest: float | None = Field(description="Elo's mean SRCC in the worst group.")
    connected: float = Field(description="Share of thinned graphs in one piece.")
    diameter: float | None = Field(description="Mean over graphs in one piece; null if none is.")
    mean_path: float | None = Field(description="Mean shortest path, as the diameter.")


class ThinGroup(Noun):
    """The whole comparison graph of one group."""

    criterion: str = Field(description="Id of the criterion.")
    group: str = Field(description="The prompt, category or study whose items are compared.")
    items: int = Field(description="Items that were compared.")
    pairs: int = Field(description="Different pairs.")
    judgments: int = Field(description="Comparisons.")
    connected: bool = Field(description="Do all items hang together?")
    diameter: int | None = Field(description="Longest shortest path; null with islands.")
    mean_path: float | None = Field(description="Mean shortest path; null with islands.")


class ThinReport(Noun):
    """The JSON of `salon plan budget STUDY --json`."""

    format: Literal["salon.thinning/1"] = Field(
        default="salon.thinning/1", description="Name and version of this form."
    )
    study: str = Field(description="Name of the study.")
    simulated: bool = Field(description="True when no person gave the answers.")
    rows: tuple[ThinRow, ...] = Field(description="One entry for each fraction.")
    groups: tuple[ThinGroup, ...] = Field(description="Comparison graph of each group, whole.")
    left_out: int = Field(description=f"Groups of fewer than {LEAST_ITEMS} items, left out.")
    level: float = Field(default=0.95, description="Confidence level of all intervals.")
    signature: Signature = Field(description="What reproduces these numbers.")
    signature_line: str = Field(description="The same as one line.")


def simulated_budget(settings: SimulatedBudgetSettings, seed: int) -> BudgetReport:
    """Rank correlation with the full design and with the truth as simulated comparisons shrink."""
    s = settings
    rng = np.random.default_rng(seed)
    rows = comparison_budget(s.items, s.raters, s.spread, studies=s.studies, rng=rng)
    try:
        smallest = smallest_fraction(s.target, s.items, s.raters, s.spread, studies=s.studies, rng=rng)
    except StatsError:
        smallest = None
    signature = Signature(method="budget", settings=dict(s), seed=seed)
    return BudgetReport(
        items=s.items,
        raters=s.raters,
        spread=s.spread,
        rows=rows,
        smallest=smallest,
        signature=signature,
        signature_line=str(signature),
    )


@dataclass(frozen=True)
class _ComparedGroup:
    criterion: int
    group: int
    items: int
    a: Ints
    b: Ints
    outcome: Ints


def thin_study(
    study: Study,
    settings: ThinSettings,
    *,
    criteria: Sequence[str] = (),
    seed: int = 0,
    progress: Callable[[str], None] = lambda step: None,
) -> ThinReport:
    """Scores of a study's thinned comparisons against those of all, in every group of every criterion."""
    groups, left_out = _large_groups(study, criteria)
    fractions = settings.fraction or FRACTIONS
    thinnings = []
    for number, group in enumerate(groups):
        progress(f"group {number + 1} of {len(groups)}")
        rng = np.random.default_rng([seed, group.criterion, group.group])
        thinning = thin_comparisons(
            group.a, group.b, group.outcome, group.items,
            fractions=fractions, repeats=settings.repeats, prior=settings.prior, rng=rng,
        )  # fmt: skip
        thinnings.append(thinning)
    whole_graphs = []
    for group in groups:
        health = connectivity(group.items, np.column_stack([group.a, group.b]))
        whole_graphs.append(
            ThinGroup(
                criterion=study.criteria[group.criterion].id,
                group=study.label("groups", group.group),
                items=group.items,
                pairs=health.edges,
                judgments=len(group.a),
                connected=health.connected,
                diameter=health.diameter,
                mean_path=health.mean_path,
            )
        )
    values = {"fractions": ",".join(f"{fraction:g}" for fraction in fractions), "repeats": settings.repeats}
    values |= {"prior": settings.prior} | ({"criteria": ",".join(criteria)} if criteria else {})
    signature = Signature(method="thinning", data=study.hash[:12], revision=study.revision, settings=values, seed=seed)
    return ThinReport(
        study=study.name,
        simulated=study.simulated,
        rows=tuple(_thin_row(number, fraction, groups, thinnings) for number, fraction in enumerate(fractions)),
        groups=tuple(whole_graphs),
        left_out=left_out,
        signature=signature,
        signature_line=str(signature),
    )


def _large_groups(study: Study, criteria: Sequence[str]) -> tuple[list[_ComparedGroup], int]:
    """Groups with enough items, and how many have too few. First answers only, "both bad" left out."""
    view = study.comparisons
    groups = []
    for criterion in study.ranking_criteria(criteria):
        first = (view.criterion == criterion) & (view.repeat == 0) & (view.group >= 0)
        mine = np.flatnonzero(first & (view.outcome != BOTH_BAD))
        mine = mine[np.argsort(view.group[mine], kind="stable")]
        numbers, starts = np.unique(view.group[mine], return_index=True)
        for number, rows in zip(numbers.tolist(), np.split(mine, starts[1:])):
            items, place = np.unique(np.concatenate([view.a[rows], view.b[rows]]), return_inverse=True)
            a, b = np.split(place, 2)
            groups.append(_ComparedGroup(criterion, number, len(items), a, b, view.outcome[rows].astype(np.int64)))
    large = [group for group in groups if group.items >= LEAST_ITEMS]
    if not large:
        most = max((group.items for group in groups), default=0)
        raise TooFew(
            f"a budget needs a group of at least {LEAST_ITEMS} compared items",
            found=f"{len(groups)} groups, the largest of {most}" if groups else "no comparisons",
            where=f"study {study.name!r}",
            remedy="leave STUDY out for a simulated budget",
        )
    return large, len(groups) - len(large)


def _thin_row(number: int, fraction: float, groups: Sequence[_ComparedGroup], thinnings: Sequence[Thinning]) -> ThinRow:
    def stack(name: str) -> Floats:
        return np.array([getattr(thinning, name)[number] for thinning in thinnings])

    possible = np.mean([group.items * (group.items - 1) / 2 for group in groups])
    elo = stack("elo_srcc")
    elo_means = elo[np.isfinite(elo).all(axis=1)].mean(axis=1)
    return ThinRow(
        fraction=fraction,
        of_all=float(stack("pairs").mean() / possible),
        pairs=float(stack("pairs").mean()),
        judgments=float(stack("judgments").mean()),
        elo_srcc=_mean_figure(elo),
        elo_plcc=_mean_figure(stack("elo_plcc")),
        bradley_terry_srcc=_mean_figure(stack("bt_srcc")),
        bradley_terry_plcc=_mean_figure(stack("bt_plcc")),
        lowest=float(elo_means.min()) if len(elo_means) else None,
        connected=float(stack("connected").mean()),
        diameter=_known_mean(stack("diameter")),
        mean_path=_known_mean(stack("mean_path")),
    )


def _mean_figure(values: Floats) -> Estimate | None:
    """Mean over (groups, repeats) with the t interval over repeats, each a mean over the groups that have a value."""
    defined = values[np.isfinite(values).all(axis=1)]
    if not len(defined):
        return None
    method = f"t interval over random choices, {len(defined)} groups"
    return mean_of_simulations(defined.mean(axis=0), "choice", method)


def _known_mean(values: Floats) -> float | None:
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else None
