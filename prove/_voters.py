"""Voters who see items through noise of the items' own, and what each law learns from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import spearmanr

from salon.stats import win_chance
from salon.train.losses import UNCERTAIN_LAWS, Law, log_chances, sigma_prior, win_losses

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = Callable[[], tuple[torch.Tensor, torch.Tensor]]

MU_SD = 2.0
SIGMA_RANGE = (0.3, 5.0)
WEAK = 5.0
"""Standard deviation of the normal prior on mu, the same for every law: an undefeated item stays finite."""
FEATURES = 8
EXPLAINED = 0.9
"""Share of the variance of mu and of log sigma that an item's features explain."""


@dataclass(frozen=True)
class Items:
    """The truth: what voters see of item i in one vote is N(mu_i, sigma_i²)."""

    mu: Floats
    sigma: Floats
    features: Floats | None = None

    def chance(self, a: Ints, b: Ints) -> Floats:
        """P(a voter prefers a to b)."""
        return win_chance(self.mu[a] - self.mu[b], np.hypot(self.sigma[a], self.sigma[b]))


@dataclass(frozen=True)
class Votes:
    """Votes on pairs, counted."""

    a: Ints
    b: Ints
    wins: Ints
    n: Ints

    def unanimous(self) -> Votes:
        """The pairs whose voters are of one mind."""
        rows = (self.wins == 0) | (self.wins == self.n)
        return Votes(self.a[rows], self.b[rows], self.wins[rows], self.n[rows])

    def majorities(self) -> Votes:
        """One vote for each pair: its majority's."""
        return Votes(self.a, self.b, (2 * self.wins > self.n).astype(np.int64), np.ones_like(self.n))


@dataclass(frozen=True)
class Learned:
    """What a law made of the votes."""

    mu: Floats
    sigma: Floats

    def agrees(self, truth: Items, rows: slice = slice(None)) -> tuple[float, float]:
        """Spearman of sigma and of mu with the truth; NaN for the sigma of a law that has none."""
        return _spearman(self.sigma[rows], truth.sigma[rows]), _spearman(self.mu[rows], truth.mu[rows])


def own_items(items: int, rng: np.random.Generator) -> Items:
    """Items that have nothing to do with each other."""
    return Items(rng.normal(0, MU_SD, items), np.exp(rng.uniform(*np.log(SIGMA_RANGE), items)))


def featured_items(items: int, rng: np.random.Generator) -> Items:
    """Items whose mu and log sigma are mostly a linear function of features, with the same spread as `own_items`."""
    x = rng.normal(size=(items, FEATURES))
    direction = np.linalg.qr(rng.normal(size=(FEATURES, 2)))[0]
    z = np.sqrt(EXPLAINED) * x @ direction + np.sqrt(1 - EXPLAINED) * rng.normal(size=(items, 2))
    low, high = np.log(SIGMA_RANGE)
    log_sigma = (low + high) / 2 + (high - low) / np.sqrt(12) * z[:, 1]
    return Items(MU_SD * z[:, 0], np.exp(log_sigma), x)


def drawn_votes(
    truth: Items, pairs: int, rng: np.random.Generator, *, each: int = 1, items: int | None = None
) -> Votes:
    """`each` votes on every one of `pairs` random pairs among the first `items`; votes on equal pairs are counted."""
    count = items or len(truth.mu)
    a = rng.integers(0, count, pairs)
    b = (a + rng.integers(1, count, pairs)) % count
    code, n = np.unique(np.minimum(a, b) * count + np.maximum(a, b), return_counts=True)
    a, b, n = code // count, code % count, n * each
    return Votes(a, b, rng.binomial(n, truth.chance(a, b)), n)


def fit_own(law: Law, votes: Votes, items: int, *, prior: bool = True) -> Learned:
    """A free mu and a free log sigma for each item."""
    free = torch.zeros(2, items, requires_grad=True)
    return _fit(law, votes, [free], lambda: (free[0], free[1]), prior)


def fit_featured(law: Law, votes: Votes, features: Floats, *, prior: bool = True) -> Learned:
    """mu and log sigma linear in features: every vote teaches about every item."""
    x = torch.tensor(features, dtype=torch.float32)
    layer = torch.nn.Linear(x.shape[1], 2)
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    return _fit(law, votes, list(layer.parameters()), lambda: layer(x).unbind(-1), prior)


def _fit(law: Law, votes: Votes, parameters: list[torch.Tensor], scores: Scores, prior: bool) -> Learned:
    """All votes at once, by L-BFGS: the sum of the votes' losses and of the priors', over the votes."""
    a, b = torch.tensor(votes.a), torch.tensor(votes.b)
    n = torch.tensor(votes.n, dtype=torch.float32)
    share = torch.tensor(votes.wins / votes.n, dtype=torch.float32)
    optimizer = torch.optim.LBFGS(parameters, max_iter=200, history_size=20, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        optimizer.zero_grad()
        mu, log_sigma = scores()
        losses = win_losses(log_chances(law, mu[a], mu[b], log_sigma[a], log_sigma[b]), share)
        total = (n * losses).sum() + (mu**2).sum() / (2 * WEAK**2)
        if prior and law in UNCERTAIN_LAWS:
            total = total + sigma_prior(log_sigma).sum()
        mean = total / n.sum()
        mean.backward()
        return mean

    optimizer.step(loss)
    with torch.no_grad():
        mu, log_sigma = (each.double().numpy().copy() for each in scores())
    return Learned(mu, np.exp(np.clip(log_sigma, -10, 10)))


def _spearman(x: Floats, y: Floats) -> float:
    return float(spearmanr(x, y).statistic) if np.ptp(x) > 0 else np.nan


def lost(law: Law, learned: Learned, truth: Items, a: Ints, b: Ints) -> float:
    """Nats per vote lost by predicting what was learned instead of the truth: the mean divergence over pairs."""
    chances = log_chances(law if law != "released" else "quadrature", *_sides(learned, a, b))
    p = torch.tensor(truth.chance(a, b))
    entropy = -(torch.xlogy(p, p) + torch.xlogy(1 - p, 1 - p))
    return float((win_losses(chances, p) - entropy).mean())


def _sides(learned: Learned, a: Ints, b: Ints) -> list[torch.Tensor]:
    return [torch.tensor(x[side]) for x in (learned.mu, np.log(learned.sigma)) for side in (a, b)]
