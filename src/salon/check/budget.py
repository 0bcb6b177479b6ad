"""How many pairs must be compared? Simulated before a study is run, or read off a study's own comparisons.

Without a study: items with known scores, compared in full and in part (`stats.budget`). With one: its comparisons are
thinned to fractions of their pairs, with all answers, and scored anew (`stats.thinning`), in every group of every
criterion; the figures are means over these groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from salon.errors import StatsError, TooFew
from salon.stats.budget import BudgetRow, comparison_budget, simulated_mean, smallest_fraction
from salon.stats.graph import connectivity
from salon.stats.result import Estimate
from salon.stats.thinning import Thinning, thin_comparisons
from salon.study import Signature, Study
from salon.study.noun import Noun

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
LEAST_ITEMS = 10
"""Smaller groups hold too few pairs to thin."""
BOTH_BAD = 3


class SimulatedBudgetSettings(Noun):
    """What `salon plan budget` is asked without a study."""

    items: int = Field(50, ge=4, le=400, description="Without STUDY: items to be compared.")
    raters: int = Field(5, ge=1, le=1000, description="Without STUDY: raters who answer every pair.")
    spread: float = Field(2.0, gt=0, le=20, description="Without STUDY: standard deviation of true scores, in logits.")
    target: float = Field(0.98, gt=0, lt=1, description="Without STUDY: rank correlation with the full design to keep.")
    studies: int = Field(100, ge=10, le=5000, description="Without STUDY: simulated studies behind every figure.")


class ThinSettings(Noun):
    """What `salon plan budget STUDY` is asked."""

    fraction: tuple[float, ...] = Field(
        (), description="With STUDY: share of its compared pairs to keep (repeatable)  [default: 0.1, 0.2, ... 1]"
    )
    repeats: int = Field(10, ge=2, le=1000, description="With STUDY: random choices of the pairs for each fraction.")
    prior: float = Field(
        3.0, gt=0, description="With STUDY: sd of the normal prior of Bradley-Terry scores, in logits."
    )


class PlanBudget(Noun):
    """One thinned design."""

    fraction: float
    pairs: int
    judgments: int
    to_full: Estimate = Field(description="Rank correlation (SRCC) of its scores with the full design's.")
    to_truth: Estimate = Field(description="Rank correlation of its scores with the true scores.")
    connected: bool
    diameter: float
    mean_path: float


class BudgetReport(Noun):
    """The JSON of `salon plan budget --json`."""

    format: Literal["salon.budget/1"] = "salon.budget/1"
    items: int
    raters: int
    spread: float
    rows: tuple[PlanBudget, ...]
    smallest: PlanBudget | None = Field(description="The thinnest design that reaches the target; null if none does.")
    signature: Signature
    signature_line: str


class ThinRow(Noun):
    """One fraction of the compared pairs: means over groups and random choices."""

    fraction: float = Field(description="Share of the compared pairs that is kept.")
    of_all: float = Field(description="Share of all possible pairs.")
    pairs: float
    judgments: float
    elo_srcc: Estimate | None = Field(description="Elo's rank correlation with the whole graph's; at 1: its own noise.")
    elo_plcc: Estimate | None
    bradley_terry_srcc: Estimate | None
    bradley_terry_plcc: Estimate | None
    lowest: float | None = Field(description="Elo's mean SRCC in the worst group.")
    connected: float = Field(description="Share of thinned graphs in one piece.")
    diameter: float | None = Field(description="Mean over graphs in one piece; null if none is.")
    mean_path: float | None


class ThinGroup(Noun):
    """The whole comparison graph of one group."""

    criterion: str
    group: str
    items: int
    pairs: int
    judgments: int
    connected: bool
    diameter: int | None
    mean_path: float | None


class ThinReport(Noun):
    """The JSON of `salon plan budget STUDY --json`."""

    format: Literal["salon.thinning/1"] = "salon.thinning/1"
    study: str
    simulated: bool
    rows: tuple[ThinRow, ...]
    groups: tuple[ThinGroup, ...]
    left_out: int = Field(description=f"Groups of fewer than {LEAST_ITEMS} items, left out.")
    level: float = 0.95
    signature: Signature
    signature_line: str


def simulated_budget(settings: SimulatedBudgetSettings, seed: int) -> BudgetReport:
    """Rank correlation with the full design and with the truth as simulated comparisons shrink."""
    s = settings
    rng = np.random.default_rng(seed)
    rows = [_design(row) for row in comparison_budget(s.items, s.raters, s.spread, studies=s.studies, rng=rng)]
    signature = Signature(method="budget", settings=dict(s), seed=seed)
    return BudgetReport(
        items=s.items,
        raters=s.raters,
        spread=s.spread,
        rows=tuple(rows),
        smallest=_thinnest(s, rng),
        signature=signature,
        signature_line=str(signature),
    )


def _thinnest(settings: SimulatedBudgetSettings, rng: np.random.Generator) -> PlanBudget | None:
    """The thinnest design that reaches the target; None where none does."""
    s = settings
    try:
        return _design(smallest_fraction(s.target, s.items, s.raters, s.spread, studies=s.studies, rng=rng))
    except StatsError:
        return None


def _design(row: BudgetRow) -> PlanBudget:
    names = ("fraction", "pairs", "judgments", "connected", "diameter", "mean_path")
    return PlanBudget(
        **{name: getattr(row, name) for name in names},
        to_full=row.to_full,
        to_truth=row.to_truth,
    )


# -- a study's own comparisons -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Group:
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
    groups, left_out = _groups(study, criteria)
    fractions = settings.fraction or FRACTIONS
    made = []
    for number, one in enumerate(groups):
        progress(f"group {number + 1} of {len(groups)}")
        rng = np.random.default_rng([seed, one.criterion, one.group])
        made.append(
            thin_comparisons(
                one.a,
                one.b,
                one.outcome,
                one.items,
                fractions=fractions,
                repeats=settings.repeats,
                prior=settings.prior,
                rng=rng,
            )
        )
    signature = _signature(study, fractions, settings, criteria, seed)
    return ThinReport(
        study=study.name,
        simulated=study.simulated,
        rows=tuple(_row(number, fraction, groups, made) for number, fraction in enumerate(fractions)),
        groups=tuple(_graph(study, one) for one in groups),
        left_out=left_out,
        signature=signature,
        signature_line=str(signature),
    )


def _groups(study: Study, criteria: Sequence[str]) -> tuple[list[_Group], int]:
    """Groups with enough items, and how many have too few. First answers only, "both bad" left out."""
    found = list(_compared(study, study.ranking_criteria(criteria)))
    large = [one for one in found if one.items >= LEAST_ITEMS]
    if not large:
        most = max((one.items for one in found), default=0)
        raise TooFew(
            f"a budget needs a group of at least {LEAST_ITEMS} compared items",
            found=f"{len(found)} groups, the largest of {most}" if found else "no comparisons",
            where=f"study {study.name!r}",
            remedy="leave STUDY out for a simulated budget",
        )
    return large, len(found) - len(large)


def _compared(study: Study, criteria: Sequence[int]) -> Iterator[_Group]:
    view = study.comparisons
    for criterion in criteria:
        first = (view.criterion == criterion) & (view.repeat == 0) & (view.group >= 0)
        mine = np.flatnonzero(first & (view.outcome != BOTH_BAD))
        mine = mine[np.argsort(view.group[mine], kind="stable")]
        numbers, starts = np.unique(view.group[mine], return_index=True)
        for group, rows in zip(numbers.tolist(), np.split(mine, starts[1:])):
            items, place = np.unique(np.concatenate([view.a[rows], view.b[rows]]), return_inverse=True)
            a, b = np.split(place, 2)
            yield _Group(criterion, group, len(items), a, b, view.outcome[rows].astype(np.int64))


def _row(number: int, fraction: float, groups: Sequence[_Group], made: Sequence[Thinning]) -> ThinRow:
    def stack(name: str) -> Floats:
        return np.array([getattr(one, name)[number] for one in made])

    possible = np.mean([one.items * (one.items - 1) / 2 for one in groups])
    elo = stack("elo_srcc")
    known = elo[np.isfinite(elo).all(axis=1)].mean(axis=1)
    return ThinRow(
        fraction=fraction,
        of_all=float(stack("pairs").mean() / possible),
        pairs=float(stack("pairs").mean()),
        judgments=float(stack("judgments").mean()),
        elo_srcc=_mean(elo),
        elo_plcc=_mean(stack("elo_plcc")),
        bradley_terry_srcc=_mean(stack("bt_srcc")),
        bradley_terry_plcc=_mean(stack("bt_plcc")),
        lowest=float(known.min()) if len(known) else None,
        connected=float(stack("connected").mean()),
        diameter=_known_mean(stack("diameter")),
        mean_path=_known_mean(stack("mean_path")),
    )


def _mean(values: Floats) -> Estimate | None:
    """Mean over (groups, repeats) with the t interval over repeats, each a mean over the groups that have a value."""
    known = values[np.isfinite(values).all(axis=1)]
    if not len(known):
        return None
    method = f"t interval over random choices, {len(known)} groups"
    return simulated_mean(known.mean(axis=0), "choice", method)


def _known_mean(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


def _graph(study: Study, one: _Group) -> ThinGroup:
    health = connectivity(one.items, np.column_stack([one.a, one.b]))
    return ThinGroup(
        criterion=study.criteria[one.criterion].id,
        group=study.label("groups", one.group),
        items=one.items,
        pairs=health.edges,
        judgments=len(one.a),
        connected=health.connected,
        diameter=health.diameter,
        mean_path=health.mean_path,
    )


def _signature(
    study: Study, fractions: Sequence[float], settings: ThinSettings, criteria: Sequence[str], seed: int
) -> Signature:
    made = {"fractions": ",".join(f"{one:g}" for one in fractions), "repeats": settings.repeats}
    made |= {"prior": settings.prior} | ({"criteria": ",".join(criteria)} if criteria else {})
    return Signature(method="thinning", data=study.hash[:12], revision=study.revision, settings=made, seed=seed)
