"""How far the integral of a law and its slopes are from slower ways to the same numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import torch
from scipy.integrate import quad
from scipy.special import expit

from prove._voters import Floats
from salon.stats import normal_points, win_chance
from salon.stats.uncertain_scores import Rule
from salon.train.losses import Law, starting_tie, win_loss


def _exact(m: float, v: float) -> float:
    """E[s(z)] by adaptive integration, told where the logistic step is."""
    step = -m / v
    ends = sorted({-12.0, 12.0, *(min(max(step + k / v, -12.0), 12.0) for k in (-20, 0, 20))})
    inner = [quad(_integrand, x, y, (m, v), epsabs=1e-13, epsrel=1e-13, limit=400)[0] for x, y in pairwise(ends)]
    return float(sum(inner))


def _integrand(x: float, m: float, v: float) -> float:
    return float(expit(m + v * x) * np.exp(-x * x / 2) / np.sqrt(2 * np.pi))


def errors(v: float) -> list[float]:
    """Largest error of P over differences: Gauss-Hermite with 32 and 64 points, trapezoid, and as used."""
    m = np.linspace(-20, 20, 81)
    exact = np.array([_exact(one, v) for one in m])
    rules: Sequence[tuple[int, Rule]] = ((32, "gauss-hermite"), (64, "gauss-hermite"), (64, "trapezoid"))
    found = [_plain(m, v, *rule) for rule in rules] + [win_chance(m, v)]
    return [float(np.abs(one - exact).max()) for one in found]


def _plain(m: Floats, v: float, points: int, rule: Rule) -> Floats:
    x, log_w = normal_points(points, rule)
    return np.asarray(expit(m[:, None] + v * x) @ np.exp(log_w))


def slope_error(law: Law) -> float:
    """Largest difference between automatic and finite-difference slopes over random pairs, in float64."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(4, 500, generator=generator, dtype=torch.float64) * torch.tensor([[3.0], [3.0], [0.7], [0.7]])
    target, ties = torch.rand(500, generator=generator, dtype=torch.float64) * 0.8 + 0.1, torch.full((500,), 0.1)
    tie = torch.tensor(starting_tie(0.2), dtype=torch.float64)

    def loss(at: torch.Tensor) -> torch.Tensor:
        return win_loss(law, *at, target, ties=ties, tie=tie) * at.shape[1]

    x.requires_grad_()
    (auto,) = torch.autograd.grad(loss(x), x)
    worst, h = 0.0, 1e-5
    with torch.no_grad():
        for row in range(4):
            for k in range(0, 500, 25):
                nudge = torch.zeros_like(x)
                nudge[row, k] = h
                plain = (loss(x + nudge) - loss(x - nudge)) / (2 * h)
                worst = max(worst, abs(float(plain - auto[row, k])))
    return worst


def sigma_slopes(law: Law, m: Floats) -> Floats:
    """Slope of the loss in log sigma of both items (sigma = 1) when the first one wins, by mu1 - mu2."""
    log_sigma = torch.zeros(len(m), dtype=torch.float64, requires_grad=True)
    mu = torch.tensor(m)
    loss = win_loss(law, mu, torch.zeros_like(mu), log_sigma, log_sigma, torch.ones_like(mu)) * len(m)
    return torch.autograd.grad(loss, log_sigma)[0].numpy()
