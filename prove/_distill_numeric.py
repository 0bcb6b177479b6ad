"""A policy without language: numbers from features, sampled, rewarded and updated as PSDistill does.

For an item with features x the policy says s_d ~ N(mu_d, sigma_d^2), mu = LOW + (HIGH - LOW) S(x W + b). It starts as
the judge that is asked for a number: high and narrow. Each step shows 64 items, samples G = 6 answers for each, and
rewards them by `salon.stats.score_rewards`; an answer with a number off the scale has no rank reward and loses
RANGE. The
update is GRPO's: advantages within an item, the gradient of the log-probability clipped at 1, a penalty
beta KL(policy, start), Adam with a rate that falls to nothing over ten epochs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from prove._distill_world import HIGH, LOW, POINT_MEAN, World
from salon.evaluate import PseudoScores
from salon.stats import Weighing, closeness_rewards, fidelity_rewards, targets_from_scores, targets_from_votes
from salon.stats.score_rewards import group_advantages

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RANGE = 0.5
"""What an answer off the scale loses; the trainer's default."""


@dataclass(frozen=True)
class Learning:
    """How the policy learns."""

    epochs: int = 10
    images: int = 64
    answers: int = 6
    rate: float = 0.01
    beta: float = 0.04
    sigma: float = 0.25
    """At the start; it is learned."""
    weigh: Weighing = "gap"
    tau: float = 0.5
    apart: int = 1
    """Parts of a step whose items do not meet: 8 is eight processes that compare only what each of them sees."""
    absolute: float = 0.0
    """Weight of the absolute term (`salon.stats.score_rewards`); 0: the paper's reward."""


class Policy:
    """Weights, and what they say."""

    def __init__(self, world: World, sigma: float) -> None:
        share = (POINT_MEAN - LOW) / (HIGH - LOW)
        slope = (HIGH - LOW) * share * (1 - share)
        self.w = world.point_weights / slope
        self.b = np.full(world.settings.criteria, logit(share))
        self.log_sigma = np.full(world.settings.criteria, np.log(sigma))

    def mean(self, x: Floats) -> Floats:
        """(n, D) mu"""
        return np.asarray(LOW + (HIGH - LOW) * expit(x @ self.w + self.b))

    @property
    def sigma(self) -> Floats:
        """(D,)"""
        return np.exp(self.log_sigma)


class Adam:
    """Kingma and Ba's, upwards, on all weights of a policy."""

    def __init__(self, policy: Policy) -> None:
        self.weights, self.t = [policy.w, policy.b, policy.log_sigma], 0
        self.m, self.v = ([np.zeros_like(weight) for weight in self.weights] for _ in range(2))

    def step(self, gradients: list[Floats], rate: float) -> None:
        """One update in place; the gradient is clipped at 1, as in the paper."""
        self.t += 1
        size = np.sqrt(sum((gradient**2).sum() for gradient in gradients))
        for k, gradient in enumerate(gradients):
            clipped = gradient / max(size, 1.0)
            self.m[k] = 0.9 * self.m[k] + 0.1 * clipped
            self.v[k] = 0.999 * self.v[k] + 0.001 * clipped**2
            up = self.m[k] / (1 - 0.9**self.t) / (np.sqrt(self.v[k] / (1 - 0.999**self.t)) + 1e-8)
            self.weights[k] += rate * up


class Targets:
    """Labels as a trainer uses them: which items meet in a step, and what is asked of their order."""

    def __init__(self, labels: PseudoScores, how: Learning) -> None:
        self.labels, self.how, self.values = labels, how, labels.values
        if labels.pairs is not None:
            d, pairs = len(labels.criteria), labels.pairs
            self.first, self.second, self.share = pairs.a[::d], pairs.b[::d], pairs.p.reshape(-1, d)

    def batches(self, rng: np.random.Generator) -> Iterator[Ints]:
        """Items in random order; where only pairs have labels, along their ring, so that partners meet."""
        n, size = len(self.labels.items), self.how.images
        order = rng.permutation(n) if self.labels.pairs is None else np.roll(self.first, rng.integers(n))
        for start in rng.permutation(np.arange(0, n - size + 1, size)):
            yield order[start : start + size]

    def among(self, items: Ints) -> tuple[Floats, Floats]:
        """p_gt and w of every two of `items`."""
        if self.labels.pairs is None:
            sd = self.labels.sd[items] if self.how.weigh == "posterior" else None
            wins, weights = targets_from_scores(self.values[items], self.how.tau, sd, weigh=self.how.weigh)
            part = np.arange(len(items)) * self.how.apart // len(items)
            return wins, np.where((part[:, None] == part)[:, :, None], weights, 0.0)
        inside = np.isin(self.first, items) & np.isin(self.second, items)
        return targets_from_votes(self.first[inside], self.second[inside], self.share[inside], items)


def trained(world: World, labels: PseudoScores, how: Learning, seed: int) -> Policy:
    """The policy after all epochs."""
    rng = np.random.default_rng(seed)
    policy, start = Policy(world, how.sigma), Policy(world, how.sigma)
    adam, targets = Adam(policy), Targets(labels, how)
    steps = how.epochs * (world.settings.items // how.images)
    for _ in range(how.epochs):
        for items in targets.batches(rng):
            gradients = _gradients(policy, start, world.x[items], items, targets, how, rng)
            adam.step(gradients, how.rate * (1 - adam.t / steps))
    return policy


def _gradients(
    policy: Policy, start: Policy, x: Floats, items: Ints, targets: Targets, how: Learning, rng: np.random.Generator
) -> list[Floats]:
    n, d, g = len(items), len(policy.b), how.answers
    mu, sigma = policy.mean(x), policy.sigma
    noise, image = rng.normal(size=(n * g, d)), np.repeat(np.arange(n), g)
    advantage = group_advantages(_rewards(mu[image] + sigma * noise, image, items, targets), image)[:, None]
    by_mu = (advantage * noise).reshape(n, g, d).mean(axis=1) / sigma
    by_mu -= how.beta * (mu - start.mean(x)) / start.sigma**2
    share = (mu - LOW) / (HIGH - LOW)
    by_z = by_mu * (HIGH - LOW) * share * (1 - share) / n
    by_sigma = (advantage * (noise**2 - 1)).mean(axis=0) - how.beta * (sigma**2 / start.sigma**2 - 1)
    return [x.T @ by_z, by_z.sum(axis=0), by_sigma]


def _rewards(said: Floats, image: Ints, items: Ints, targets: Targets) -> Floats:
    """rank - RANGE off the scale + the absolute term."""
    off = ((said < LOW) | (said > HIGH)).any(axis=1)
    found = fidelity_rewards(np.where(off[:, None], np.nan, said), image, *targets.among(items))
    reward = np.where(np.isfinite(found.rank), found.rank, 0.0) - RANGE * off
    if targets.how.absolute and targets.labels.pairs is None:
        near = closeness_rewards(said, targets.values[items][image], low=LOW, high=HIGH)
        reward = reward + targets.how.absolute * np.where(off, 0.0, near)
    return np.asarray(reward)
