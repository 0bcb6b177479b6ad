"""Studies whose truth is known: simulated answers, labelled as such, in the shape of real ones.

`simulate_study` draws any number of prompts from one of five laws of ranking. `taste_like_study` has nine
criteria in two cohorts, with the agreement of a published study of designers. `ppaint_like_study` has comparisons
and ratings by the same raters, with the agreement and the scale use of a published study of painting experts.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa

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
from salon.collect.simulate.settings import USUAL_TAU, SimulateSettings
from salon.collect.simulate.taste_like import taste_like_study, taste_like_truth
from salon.stats import RankingLaw, expected_tau, fit_tau, ratings_from_utilities
from salon.study import Cohort, Criterion, Design, Scale, Study

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
    from scipy.stats import norm

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
