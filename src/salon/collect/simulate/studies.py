"""Studies whose truth is known: simulated answers, labelled as such, in the shape of real ones.

`simulate_study` draws any number of prompts from one of five laws of ranking. `taste_like_study` has nine
criteria in two cohorts, with the agreement of a published study of designers. `ppaint_like_study` has comparisons
and ratings by the same raters, with the agreement and the scale use of a published study of painting experts.
"""

from __future__ import annotations

import json
from math import comb
from typing import Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator
from scipy.stats import norm

from salon.collect.simulate.panel import (
    PlantedTruth,
    SimulatedPanel,
    SimulatedRatings,
    StudyIds,
    comparisons_table,
    item_ids,
    items_table,
    number_ids,
    panel_comparisons,
    rankings_table,
    ratings_table,
    with_ties,
)
from salon.collect.simulate.ppaint_like import ppaint_like_planted, ppaint_like_study, ppaint_like_truth
from salon.collect.simulate.taste_like import taste_like_study, taste_like_truth
from salon.errors import BadValue
from salon.stats import MAX_ITEMS, LawKind, RankingLaw, expected_tau, fit_tau, ratings_from_utilities
from salon.study import Cohort, Criterion, Design, Noun, Scale, Study

__all__ = [
    "PlantedTruth",
    "SimulateSettings",
    "planted",
    "ppaint_like_planted",
    "ppaint_like_study",
    "ppaint_like_truth",
    "simulate_study",
    "taste_like_study",
    "taste_like_truth",
]

Protocol = Literal["rankings", "comparisons", "ratings"]
USUAL_TAU = 0.15
"""Agreement planted when none is asked for: what designers reach on whole posters."""
MOST_ENTRIES = 500_000_000
"""Ranked, compared or rated items in one study; a little more than ten gigabytes."""


class SimulateSettings(Noun):
    """A simulated study: its size, its law, and what disturbs the answers."""

    model: LawKind = Field(
        "thurstone",
        description="Law of the orders raters have in mind: random (uniform), one shared order for each prompt "
        "(mallows, plackett_luce, thurstone), or one for each faction.",
    )
    prompts: int = Field(80, ge=1, description="Prompts.")
    items: int = Field(4, ge=2, le=MAX_ITEMS, description="Items of each prompt.")
    raters: int = Field(5, ge=2, description="Raters; each answers every prompt.")
    criteria: int = Field(1, ge=1, description="Criteria, each with a truth of its own, on the same prompts and items.")
    protocol: Protocol = Field("rankings", description="What raters are asked for.")
    tau: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="Mean Kendall tau to plant between the raters of a prompt, careless ones included  "
        f"[default: {USUAL_TAU}, unless --parameter is given]",
    )
    parameter: float | None = Field(
        None,
        ge=0,
        description="Instead of --tau: mallows' theta, the noise of thurstone and factions, plackett_luce's spread.",
    )
    factions: tuple[int, ...] = Field(
        (), description="Raters in a faction, one number for each (repeatable)  [default: two halves]"
    )
    careless: int = Field(0, ge=0, description="How many raters, the last ones, answer at random.")
    position_bias: float = Field(
        0.0, ge=0, lt=1, description="Share of comparisons in which a rater takes the left item unseen."
    )
    tie_share: float = Field(0.0, ge=0, lt=1, description="Share of item pairs that a rater leaves tied.")
    levels: int = Field(5, ge=2, le=100, description="Levels of the rating scale, 1 to this.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")

    @model_validator(mode="after")
    def _fit_together(self) -> SimulateSettings:
        for wrong, needed, value, remedy in _conflicts(self):
            if wrong:
                raise BadValue(needed, found=value, remedy=remedy)
        return self


def _conflicts(s: SimulateSettings) -> list[tuple[bool, str, str, str]]:
    """Settings that contradict each other: is it so, what is needed, what was found, what to do."""
    rated = s.protocol == "ratings"
    sized = s.model == "uniform" and (s.tau is not None or s.parameter is not None)
    each = comb(s.items, 2) if s.protocol == "comparisons" else s.items
    entries = s.prompts * s.raters * s.criteria * each
    return [
        (sized, "random raters agree on nothing", "tau or parameter for model uniform", "choose another model"),
        (
            s.tau is not None and s.parameter is not None,
            "agreement is set by tau or by the law's parameter",
            "both",
            "leave one out",
        ),
        (
            bool(s.factions) and s.model != "factions",
            "only the model factions has factions",
            f"factions {s.factions} for model {s.model}",
            "add --model factions",
        ),
        (
            bool(s.factions) and (sum(s.factions) != s.raters or min(s.factions) < 1),
            f"factions of at least one rater that add up to {s.raters} raters are needed",
            f"{s.factions}",
            "name the size of every faction, or change --raters",
        ),
        (
            s.model != "uniform" and s.parameter is None and s.raters - s.careless < 2,
            "at least two attentive raters are needed to plant agreement",
            f"{s.careless} careless of {s.raters}",
            "lower --careless, or raise --raters",
        ),
        (s.careless > s.raters, f"at most {s.raters} raters can be careless", f"{s.careless}", "lower --careless"),
        (
            s.position_bias > 0 and s.protocol != "comparisons",
            "only comparisons have a left side",
            f"position bias for {s.protocol}",
            "add --protocol comparisons",
        ),
        (
            s.tie_share > 0 and rated,
            "ratings tie where they fall on the same level",
            "a tie share",
            "set --levels instead",
        ),
        (
            rated and s.model in ("mallows", "plackett_luce"),
            "ratings need a law of impressions: uniform, thurstone or factions",
            s.model,
            "choose another --model or --protocol",
        ),
        (
            entries > MOST_ENTRIES,
            f"at most {MOST_ENTRIES:,} answers about items fit in one study",
            f"{entries:,}",
            "ask for fewer prompts or raters, or simulate several studies",
        ),
    ]


def simulate_study(settings: SimulateSettings) -> Study:
    """The study that `settings` describe; the same settings always give the same study."""
    s = settings
    rng = np.random.default_rng(s.seed)
    prompts = number_ids("p", s.prompts)
    items = item_ids(prompts, s.items)
    labels = StudyIds(pa.array([f"simulated-{c + 1}" for c in range(s.criteria)]), number_ids("r", s.raters), items)
    generators = [f"generator-{number + 1}" for number in range(s.items)]
    generator = np.tile(np.arange(s.items, dtype=np.int32), s.prompts)
    cohort = {"rankings": "rank", "comparisons": "compare", "ratings": "rate"}[s.protocol]
    scale = Scale(low=1, high=s.levels, step=1) if s.protocol == "ratings" else None
    return Study.build(
        f"simulated {s.model}",
        [Criterion(id=id, name=id.replace("-", " ").capitalize(), scale=scale) for id in labels.criteria.to_pylist()],
        tables={
            "prompts": pa.table({"id": prompts}),
            "items": items_table(prompts, items, generator, generators),
            "raters": pa.table({"id": labels.raters, "cohort": pa.array(["raters"] * s.raters)}),
            s.protocol: _judgments(s, labels, rng),
        },
        cohorts=(Cohort(id="raters", protocol=cohort),),
        design=Design(kind="complete", order_randomized=s.protocol == "comparisons" or None),
        simulated=True,
        note="Simulated: no person gave these answers. Settings: " + json.dumps(s.record()),
    )


def planted(settings: SimulateSettings) -> tuple[PlantedTruth, ...]:
    """The truth behind each criterion of `simulate_study(settings)`."""
    law = _law(settings)
    parameter = None if settings.model == "uniform" else law.parameter
    tau = expected_tau(law, settings.raters, settings.items)
    first = settings.raters - settings.careless + 1
    who = f"rater {first}" if settings.careless == 1 else f"raters {first} to {settings.raters}"
    sentences = [
        (settings.careless, f"{who} careless: random answers"),
        (settings.tie_share, f"{settings.tie_share:.0%} of pairs tied"),
        (settings.position_bias, f"{settings.position_bias:.0%} of comparisons won by the left item unseen"),
        (settings.protocol == "ratings", f"impressions rounded to {settings.levels} levels"),
    ]
    disturbances = [text for there, text in sentences if there]
    truth = "; ".join([_truth(settings, law), *disturbances])
    ids = [f"simulated-{number + 1}" for number in range(settings.criteria)]
    return tuple(PlantedTruth(id, settings.model, parameter, tau, truth) for id in ids)


def _law(s: SimulateSettings) -> RankingLaw:
    careless = tuple(float(rater >= s.raters - s.careless) for rater in range(s.raters))
    law = RankingLaw(s.model, s.parameter or 0.0, careless=careless, shares=s.factions or (0.5, 0.5))
    if s.model == "uniform" or s.parameter is not None:
        return law
    return fit_tau(law, USUAL_TAU if s.tau is None else s.tau, s.raters, s.items)


def _judgments(s: SimulateSettings, labels: StudyIds, rng: np.random.Generator) -> pa.Table:
    law = _law(s)
    raters = np.arange(s.raters, dtype=np.int32)
    if s.protocol == "ratings":
        return ratings_table([SimulatedRatings(c, raters, 0, _levels(s, law, rng)) for c in range(s.criteria)], labels)
    panels = []
    for criterion in range(s.criteria):
        strict = SimulatedPanel(criterion, raters, 0, law.draw(s.prompts, s.raters, s.items, rng=rng))
        panels.append(with_ties(strict, s.tie_share, rng=rng))
    if s.protocol == "rankings":
        return rankings_table(panels, labels)
    sides = [panel_comparisons(panel, position_bias=s.position_bias, rng=rng) for panel in panels]
    return comparisons_table(panels, sides, labels)


def _levels(s: SimulateSettings, law: RankingLaw, rng: np.random.Generator) -> np.ndarray:
    """Ratings 1..levels, (raters, prompts x items): impressions cut where each level is used equally often."""
    blind = s.model == "uniform"
    noise = 1.0 if blind else law.parameter
    stretch = 0.0 if blind else 1.0
    cuts = norm.ppf(np.arange(1, s.levels) / s.levels) * np.hypot(stretch, noise)
    sizes = law.faction_sizes(s.raters) if s.model == "factions" else (s.raters,)
    careless = np.split(np.array(law.careless), np.cumsum(sizes)[:-1])
    groups = [
        ratings_from_utilities(
            rng.standard_normal(s.prompts * s.items), size, cuts, scale=stretch, noise=noise, careless=share, rng=rng
        )
        for size, share in zip(sizes, careless)
    ]
    return np.concatenate(groups) + np.int8(1)


def _truth(s: SimulateSettings, law: RankingLaw) -> str:
    if s.model == "uniform":
        return "no preference at all: every answer is random"
    name = {"mallows": "theta", "plackett_luce": "spread"}.get(s.model, "noise")
    if s.model == "factions":
        sizes = " and ".join(str(size) for size in law.faction_sizes(s.raters))
        return f"factions of {sizes} raters, an unrelated order each, {name} {law.parameter:.4g}"
    return f"one shared order for each prompt, {name} {law.parameter:.4g}"
