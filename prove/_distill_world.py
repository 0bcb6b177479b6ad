"""A world at the paper's scale: items with features and true scores, a judge that is noisy, biased and self-consistent.

Items have P features x ~ N(0, I). Per criterion the true quality is q = x·a, |a| = 1, and the true score
1 + 4 S(1.5 q - .07): mean 2.95, the mean of PPaint's fused scores.

Asked to compare, the judge sees u = r q + sqrt(1 - r^2) (sqrt(h) x·b + sqrt(1 - h) noise): the share h of its error is
taste, a direction b of the features that people do not share; the rest is a whim about each item that no feature
explains. r is set so that all pairs, asked without end, order items with SRCC .638 (PPaint Table 3, pairwise
aggregation by Qwen3-VL-8B). An answer is the sign of SPREAD (u_i - u_j) plus noise with the variance of a logistic
variable, and a tie where the sum is small: 20% of equals. The share k of the noise belongs to the pair and comes again
when the same pair is asked again; the rest is new each time. With chance BIAS the answer names the first picture.
SPREAD 3.9 is the sharpness that reproduces the paper's 612-of-1,225-pairs figure (prove.bridge).

Asked for a number, the same judge says 4.48 + .45 v + noise in steps of .25, at most 5, with v = x·c a direction whose
correlation with q gives the SRCC .504 of the untrained model (Table 3): high, narrow, coarse.

The seed does not tell h, k, P and BIAS: h = k = .5 (half each), P = 256 and BIAS = .15 are stated; the page says what
was tried before and varies some of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtri

from salon.evaluate import PseudoPairs, PseudoScores, Source
from salon.fuse import BridgePlan, calibration_curve, no_answers, plan_group, score_group
from salon.fuse.bridge import run_bridge
from salon.fuse.bridge_plan import Ints
from salon.train import DistillLabelSettings
from salon.train.distill_label_settings import bridge_settings, plan_budget
from salon.train.distill_label_sources import elo_pairs, majority_questions

Floats = NDArray[np.float64]

ITEMS, HELD_OUT, CRITERIA = 3000, 1000, 5
POOL, OPPONENTS = 50, 10
LOW, HIGH = 1.0, 5.0
SPREAD, TIES = 3.9, 0.2
LOGISTIC = np.pi / np.sqrt(3)
PAIR_SRCC, POINT_SRCC = 0.638, 0.504
POINT_MEAN, POINT_SLOPE, POINT_NOISE, STEP = 4.48, 0.45, 0.25, 0.25


@dataclass(frozen=True)
class WorldSettings:
    """What is drawn."""

    items: int = ITEMS
    held_out: int = HELD_OUT
    criteria: int = CRITERIA
    features: int = 256
    taste: float = 0.5
    """h"""
    stuck: float = 0.5
    """k"""
    bias: float = 0.15
    pool: int = POOL
    opponents: int = OPPONENTS
    spread: float = SPREAD


@dataclass(frozen=True)
class World:
    """Items (those held out last), their true scores, and what the judge sees."""

    settings: WorldSettings
    x: Floats
    truth: Floats
    """(n, D) true scores, 1 to 5."""
    seen: Floats
    """(n, D) u"""
    point: Floats
    """(n, D) what the judge would say of an item, before noise and rounding."""
    point_weights: Floats
    """(P, D) the direction of v: what the judge's own network starts from."""
    rng: np.random.Generator
    whim: int

    @property
    def train(self) -> slice:
        return slice(0, self.settings.items)

    @property
    def test(self) -> slice:
        return slice(self.settings.items, None)


def drawn_world(settings: WorldSettings, seed: int) -> World:
    """Everything from one seed."""
    rng = np.random.default_rng(seed)
    n, p, d = settings.items + settings.held_out, settings.features, settings.criteria
    a, b, c = (_directions(rng, p, d) for _ in range(3))
    b, c = _orthogonal(b, a), _orthogonal(c, a)
    x = rng.normal(size=(n, p))
    q = x @ a
    r, m = (2 * np.sin(np.pi * rho / 6) for rho in (PAIR_SRCC, POINT_SRCC))  # Pearson's from Spearman's, normal
    h = settings.taste
    error = np.sqrt(h) * (x @ b) + np.sqrt(1 - h) * rng.normal(size=(n, d))
    v = m * a + np.sqrt(1 - m**2) * c
    truth = LOW + (HIGH - LOW) * expit(1.5 * q - 0.07)
    return World(
        settings,
        x,
        truth,
        r * q + np.sqrt(1 - r**2) * error,
        POINT_MEAN + POINT_SLOPE * (x @ v),
        POINT_SLOPE * v,
        rng,
        seed % 1000,
    )


def compared(world: World, pairs: Ints) -> NDArray[np.int8]:
    """(m, D) answers about pairs, the first shown first: 0, 1 or 2 (tie)."""
    rng, s = world.rng, world.settings
    first, second = pairs.T
    same = _whims(np.minimum(first, second), np.maximum(first, second), s.criteria, world.whim)
    own = np.where((first < second)[:, None], same, -same)  # a whim is about the pair, whoever is shown first
    noise = LOGISTIC * (np.sqrt(s.stuck) * own + np.sqrt(1 - s.stuck) * rng.normal(size=own.shape))
    lead = s.spread * (world.seen[first] - world.seen[second]) + noise
    said = np.where(np.abs(lead) < LOGISTIC * ndtri((1 + TIES) / 2), 2, (lead < 0).astype(int))
    return np.where(rng.random(lead.shape) < s.bias, 0, said).astype(np.int8)


def _whims(low: Ints, high: Ints, criteria: int, seed: int) -> Floats:
    """(m, D) standard normal numbers that hang on the pair alone."""
    key = (low.astype(np.uint64) << np.uint64(32)) + high.astype(np.uint64)
    z = key[:, None] * np.uint64(criteria) + np.arange(criteria, dtype=np.uint64) + np.uint64(seed << 50)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ndtri(((z ^ (z >> np.uint64(31))) >> np.uint64(11)).astype(float) / 2**53 + 2**-54)


def rated(world: World, item: Ints) -> Floats:
    """(m, D) numbers for items, in steps, on the scale."""
    said = world.point[item] + world.rng.normal(0, POINT_NOISE, (len(item), world.point.shape[1]))
    return np.clip(np.round(said / STEP) * STEP, LOW, HIGH)


def labels(world: World, source: Source, calls: int | None = None) -> PseudoScores:
    """Labels of the training items by one source, at the papers' budget or at `calls`."""
    s = world.settings
    asked = DistillLabelSettings(
        source=source, max_calls=calls, pool=s.pool, opponents=s.opponents, low=LOW, high=HIGH, seed=0
    )
    budget = plan_budget(s.items, asked)
    names, criteria = tuple(map(str, range(s.items))), tuple(f"c{k}" for k in range(s.criteria))
    empty = np.full((s.items, s.criteria), np.nan)
    if source == "pointwise":
        item = np.repeat(np.arange(s.items), budget.each)
        values = rated(world, item).reshape(s.items, budget.each, -1).mean(axis=1)
        return PseudoScores(names, criteria, values, empty, LOW, HIGH, source)
    if source == "majority":
        pairs, shown, _ = majority_questions(s.items, asked, budget)
        told = compared(world, shown).reshape(len(pairs), budget.each, -1)
        flip = (shown[:, 0] != np.repeat(pairs[:, 0], budget.each)).reshape(len(pairs), budget.each, 1)
        lead = ((told == np.where(flip, 1, 0)).sum(axis=1)) - ((told == np.where(flip, 0, 1)).sum(axis=1))
        rows, column = np.divmod(np.arange(lead.size), s.criteria)
        votes = PseudoPairs(
            pairs[rows, 0], pairs[rows, 1], column, (1 + np.sign(lead.ravel())) / 2, np.full(lead.size, budget.each)
        )
        return PseudoScores(names, criteria, empty, empty, LOW, HIGH, source, votes)
    bridge = bridge_settings(asked, budget, LOW, HIGH)
    if source == "elo":
        everyone = np.arange(s.items)
        plan = BridgePlan(s.items, np.zeros(s.items, np.uint64), everyone, everyone[:0], False)
        pairs = elo_pairs(s.items, asked, budget)
        told = no_answers(s.criteria).plus(pairs, compared(world, pairs))
    else:
        plan = plan_group(names, bridge)
        told = run_bridge(names, lambda pairs: compared(world, pairs), bridge, criteria=criteria).answers
    rows = score_group("all", names, plan, told, criteria, bridge).rows
    grid = {
        name: np.array([getattr(row, name) for row in rows], float).reshape(s.criteria, s.items).T
        for name in ("value", "mean", "sd")
    }
    slope = [calibration_curve(grid["mean"][:, k], bridge).slope(grid["mean"][:, k]) for k in range(s.criteria)]
    return PseudoScores(names, criteria, grid["value"], np.stack(slope, axis=1) * grid["sd"], LOW, HIGH, source)


def _directions(rng: np.random.Generator, p: int, d: int) -> Floats:
    """(P, D) unit directions; criteria share half of their variance, as criteria do."""
    w = rng.normal(size=(p, 1)) + rng.normal(size=(p, d))
    return w / np.linalg.norm(w, axis=0)


def _orthogonal(b: Floats, a: Floats) -> Floats:
    """Each column of b without its part along the same column of a."""
    rest = b - a * (a * b).sum(axis=0)
    return rest / np.linalg.norm(rest, axis=0)
