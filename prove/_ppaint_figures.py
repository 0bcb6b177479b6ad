"""Simulated painting studies, and PPaint's published figures measured on them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from salon.collect.simulate.ppaint_like import (
    CRITERIA,
    Floats,
    PpaintSettings,
    Profiles,
    draw_comparisons,
    draw_latent,
    draw_pairs,
    draw_ratings,
    tiers,
)
from salon.stats import agreement, stability
from salon.stats.agreement import kendall_w

Law = dict[str, float]
PAPER = {  # name: (comparisons, ratings); None where the paper prints no figure
    "fleiss_kappa": (0.373, 0.306),
    "unanimous": (0.424, 0.287),
    "four_of_five": (0.656, 0.527),
    "rater_spearman": (0.739, 0.621),
    "rater_kendall": (0.552, 0.532),
    "kendall_w": (0.795, 0.697),
    "split_half": (0.836, 0.757),
    "triplets": (0.92, 0.86),
    "to_consensus_accuracy": (0.787, 0.694),
    "rank_error": (5.38, 6.64),
    "rank_error_sd": (0.99, 1.34),
    "least_to_consensus": (0.777, 0.714),
    "most_to_consensus": (0.923, 0.870),
    "leave_one_out": (0.975, 0.953),
    "leave_one_out_top10": (0.856, 0.707),
    "one_rater": (0.860, 0.791),
    "three_raters": (0.947, 0.910),
    "native_unanimous": (0.424, 0.057),
    "native_four_of_five": (0.656, 0.231),
}
RANGES = {  # over the fifteen raters
    "tie_rate": (0.0, 0.257),
    "left_wins": (0.528, 0.700),
    "mean_rating": (2.30, 3.65),
    "extreme_share": (0.10, 0.81),
    "repeat_agreement": (0.783, 0.933),
    "intransitive": (0.0010, 0.0447),
}


# ---------------------------------------------------------------------------------------------- studies
@dataclass(frozen=True)
class Group:
    """One category under one criterion."""

    pairs: NDArray[np.int64]
    outcome: Floats
    """(pairs, raters) 1, 0, -1"""
    ratings: Floats
    elo_seed: int
    tiers: NDArray[np.int64]
    """2 high, 1 medium, 0 low"""

    @property
    def elo(self) -> Floats:
        """(raters, items) each rater's Elo ranking."""
        rater = np.repeat(np.arange(self.outcome.shape[1]), len(self.pairs))
        first, second = np.tile(self.pairs, (self.outcome.shape[1], 1)).T
        result = (self.outcome.T.ravel() + 1) / 2
        rng = np.random.default_rng(self.elo_seed)
        return stability.rater_elo(first, second, result, rater, self.ratings.shape[1], rng=rng)


@dataclass(frozen=True)
class Answers:
    """All answers of one study, comparisons also a second time."""

    q: Floats
    pairs: NDArray[np.int64]
    outcome: NDArray[np.int8]
    again: NDArray[np.int8]
    ratings: Floats
    tiers: NDArray[np.int64]

    def groups(self) -> Iterator[Group]:
        """Category by category, criterion by criterion."""
        for category in range(self.q.shape[0]):
            for criterion in range(len(CRITERIA)):
                signed = np.array([1.0, -1.0, 0.0])[self.outcome[category, :, :, criterion]].T
                rated = self.ratings[category, :, :, criterion]
                yield Group(self.pairs[category], signed, rated, criterion, 2 - self.tiers)


def _settings(law: Law, seed: int) -> PpaintSettings:
    return PpaintSettings(seed=seed, **({"steepness": 1.0, "rating_noise": 0.0} | law))


def studies(law: Law, profile: Profiles, count: int, seed: int) -> Iterator[Answers]:
    """`count` studies under this law and these raters."""
    for number in range(count):
        settings = _settings(law, 0)
        latent, design, compare, again, rate = np.random.default_rng([seed, number]).spawn(5)
        q, u = draw_latent(settings, latent)
        seen = q[:, None] + u
        pairs = draw_pairs(settings, design)
        yield Answers(
            q,
            pairs,
            draw_comparisons(seen, pairs, profile, compare),
            draw_comparisons(seen, pairs, profile, again),
            draw_ratings(settings, seen, profile, rate),
            tiers(settings),
        )


# ---------------------------------------------------------------------------------------------- figures
def measure(law: Law, profile: Profiles, count: int, seed: int) -> tuple[dict, dict]:
    """Every published figure over fresh studies: means over groups, and ranges over the fifteen raters."""
    figures: dict[str, list[tuple[float, float]]] = {name: [] for name in PAPER}
    raters: dict[str, list[Floats]] = {name: [] for name in RANGES}
    for study in studies(law, profile, count, seed):
        for group in study.groups():
            for name, values in _group_figures(group).items():
                figures[name].append(values)
        for name, rates in _rater_figures(study).items():
            raters[name].append(rates)
    means = {name: tuple(np.mean(values, axis=0).tolist()) for name, values in figures.items()}
    return means, {name: np.mean(rates, axis=0) for name, rates in raters.items()}


def _group_figures(group: Group) -> dict[str, tuple[float, float]]:
    elo, ratings = group.elo, group.ratings
    induced = agreement.induced_outcomes(ratings, *group.pairs.T)
    judged = [agreement.outcome_agreement(table) for table in (group.outcome, induced)]
    native = np.array([(ratings == level).sum(axis=0) for level in range(1, 6)]).max(axis=0)
    splits = stability.half_splits(5, rng=np.random.default_rng(0))
    chance = np.random.default_rng(0)
    of = {
        "rater_spearman": rater_spearman,
        "rater_kendall": lambda x: stability.rater_correlation(x).tau,
        "kendall_w": lambda x: kendall_w(x).w,
        "split_half": lambda x: stability.split_half(x, splits),
        "to_consensus_accuracy": stability.consensus_accuracy,
        "rank_error": lambda x: stability.rank_displacement(x).mean,
        "rank_error_sd": lambda x: stability.rank_displacement(x).spread,
        "least_to_consensus": lambda x: stability.rank_displacement(x).rho_low,
        "most_to_consensus": lambda x: stability.rank_displacement(x).rho_high,
        "leave_one_out": lambda x: stability.leave_one_rater_out(x).rho,
        "leave_one_out_top10": lambda x: stability.leave_one_rater_out(x).top_overlap,
        "one_rater": lambda x: stability.k_of_raters(x, 1, rng=chance).rho,
        "three_raters": lambda x: stability.k_of_raters(x, 3, rng=chance).rho,
    }
    found = {name: (float(f(elo)), float(f(ratings))) for name, f in of.items()}
    found["fleiss_kappa"] = tuple(one.fleiss.kappa.value for one in judged)
    found["unanimous"] = tuple(one.unanimous for one in judged)
    found["four_of_five"] = tuple(one.supermajority for one in judged)
    found["native_unanimous"] = judged[0].unanimous, float((native == 5).mean())
    found["native_four_of_five"] = judged[0].supermajority, float((native >= 4).mean())
    found["triplets"] = tuple(stability.triplet_separation(x, group.tiers) for x in (elo, ratings))
    return found


def _rater_figures(study: Answers) -> dict[str, Floats]:
    """(15,) each."""
    over = (2, 3)
    decided = (study.outcome != 2).sum(axis=over)
    return {
        "tie_rate": (study.outcome == 2).mean(axis=over).ravel(),
        "left_wins": ((study.outcome == 0).sum(axis=over) / decided).ravel(),
        "mean_rating": study.ratings.mean(axis=over).ravel(),
        "extreme_share": np.isin(study.ratings, (1, 5)).mean(axis=over).ravel(),
        "repeat_agreement": (study.outcome == study.again).mean(axis=over).ravel(),
        "intransitive": _intransitive(study),
    }


def _intransitive(study: Answers) -> Floats:
    """Each rater's share of cyclic triples among the triples whose three pairs they all decided; ties left out."""
    categories, raters, _, criteria = study.outcome.shape
    made = np.zeros((categories, raters))
    for c in range(categories):
        for r in range(raters):
            cyclic = whole = 0.0
            for d in range(criteria):
                beats = _beats(study.pairs[c], study.outcome[c, r, :, d], study.q.shape[1])
                decided = beats + beats.T
                cyclic += np.trace(beats @ beats @ beats) / 3
                whole += np.trace(decided @ decided @ decided) / 6
            made[c, r] = cyclic / whole
    return made.ravel()


def _beats(pairs: NDArray[np.int64], outcome: NDArray[np.int8], items: int) -> Floats:
    beats = np.zeros((items, items))
    left, right = pairs.T
    beats[left[outcome == 0], right[outcome == 0]] = 1
    beats[right[outcome == 1], left[outcome == 1]] = 1
    return beats


def rater_spearman(scores: Floats) -> float:
    """Mean Spearman correlation of two raters."""
    return stability.rater_correlation(scores).rho
