"""Ranking laws as values, and how much agreement each implies, in closed form.

A `RankingLaw` names one of the simulators of `stats/simulate.py` with its parameter, so that planning, fitting
and tests speak of the same thing. Its mean pair tau is the expectation of Kendall's tau between two raters of
one prompt, averaged over the pairs of raters:

    tau_rs = (1 - c_r)(1 - c_s) E[sign_r(i, j) sign_s(i, j)],  i, j two random items, c the careless shares.

| law | E[sign_r sign_s] |
|---|---|
| mallows | mean over item pairs at distance m in the centre of g_r(m) g_s(m), where g(m) = 2 P_m - 1 and P_m = h(m+1) - h(m), h(k) = k / (1 - exp(-k theta)) (Mallows 1957) |
| thurstone | (2/π) arcsin(1 / sqrt((1 + noise_r²)(1 + noise_s²))) (Sheppard 1899) |
| plackett_luce | E[tanh²(D / 2)], D ~ N(0, 2 spread²), by quadrature |
| factions | as thurstone within a faction, 0 between two |
| uniform | 0 |
"""  # noqa: E501

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
from scipy.optimize import brentq

from salon.errors import BadValue, TooFew
from salon.stats.simulate import (
    Floats,
    Ranks,
    faction_rankings,
    mallows_rankings,
    per_rater,
    plackett_luce_rankings,
    thurstone_rankings,
    uniform_rankings,
)

Kind = Literal["uniform", "mallows", "thurstone", "plackett_luce", "factions"]


@dataclass(frozen=True, slots=True)
class RankingLaw:
    """How raters rank: a simulator and its settings. `RankingLaw("mallows", 0.5)`."""

    kind: Kind
    parameter: float = 0.0
    """mallows: theta. thurstone, factions: noise. plackett_luce: spread of utilities. uniform: not used."""
    pattern: tuple[float, ...] = ()
    """One factor of the parameter for each rater; empty: all alike. Not for plackett_luce or uniform."""
    careless: tuple[float, ...] = (0.0,)
    """Share of answers given at random: one number, or one for each rater."""
    shares: tuple[float, ...] = (0.5, 0.5)
    """Of the raters, by faction; sizes are rounded to the nearest that add up."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise BadValue(f"a ranking law is one of {', '.join(get_args(Kind))}", found=self.kind)
        if self.pattern and self.kind in ("plackett_luce", "uniform"):
            raise BadValue(f"{self.kind} raters are all alike: no pattern", found=self.pattern)

    def parameters(self, raters: int) -> Floats:
        """The parameter of each rater."""
        pattern = per_rater("pattern", self.pattern or 1.0, raters)
        return per_rater("parameter", self.parameter * pattern, raters, finite=self.kind != "mallows")

    def faction_sizes(self, raters: int) -> tuple[int, ...]:
        """`raters` split by `shares`, largest remainders first."""
        shares = np.asarray(self.shares) / np.sum(self.shares)
        sizes = np.floor(shares * raters + 1e-9).astype(int)
        short = raters - int(sizes.sum())
        sizes[np.argsort(sizes - shares * raters, kind="stable")[:short]] += 1
        return tuple(int(s) for s in sizes)

    def draw(self, prompts: int, raters: int, items: int, *, rng: np.random.Generator) -> Ranks:
        """Ranks (prompts, raters, items) from this law."""
        x, careless = self.parameters(raters), np.asarray(self.careless)
        if self.kind == "uniform":
            return uniform_rankings(prompts, raters, items, rng=rng)
        if self.kind == "mallows":
            return mallows_rankings(prompts, raters, items, x, careless=careless, rng=rng)
        if self.kind == "thurstone":
            return thurstone_rankings(prompts, raters, items, x, careless=careless, rng=rng)
        if self.kind == "plackett_luce":
            return plackett_luce_rankings(prompts, raters, items, float(x[0]), careless=careless, rng=rng)
        return faction_rankings(prompts, self.faction_sizes(raters), items, x, careless=careless, rng=rng)


def expected_taus(law: RankingLaw, raters: int, items: int) -> Floats:
    """Expected Kendall tau of every two raters of a prompt, (raters, raters); 1 on the diagonal."""
    if raters < 2 or items < 2:
        raise TooFew("agreement needs 2 raters and 2 items", found=f"{raters} raters, {items} items")
    attends = 1 - per_rater("careless", law.careless, raters)
    taus = _attentive_taus(law, raters, items) * attends[:, None] * attends[None, :]
    np.fill_diagonal(taus, 1.0)
    return taus


def expected_tau(law: RankingLaw, raters: int, items: int) -> float:
    """The mean pair tau: `expected_taus` averaged over the pairs of raters. It is also the mean of T."""
    return float(expected_taus(law, raters, items)[np.triu_indices(raters, 1)].mean())


def fit_tau(law: RankingLaw, target: float, raters: int, items: int) -> RankingLaw:
    """`law` with the parameter that makes its mean pair tau `target`; all else is kept."""

    def excess(log_x: float) -> float:
        return expected_tau(replace(law, parameter=float(np.exp(log_x))), raters, items) - target

    ends = (-12.0, 7.0)
    reachable = sorted(excess(x) + target for x in ends)
    if not reachable[0] < target < reachable[1]:
        raise BadValue(
            f"a mean tau between {reachable[0]:.3g} and {reachable[1]:.3g} is needed",
            found=target,
            where=f"{law.kind} law, {raters} raters, {items} items",
        )
    return replace(law, parameter=float(np.exp(brentq(excess, *ends, xtol=1e-13))))


def noise_for_tau(target: float, items: int, kind: Kind) -> float:
    """The parameter of a law with like raters whose mean pair tau is `target`: theta, noise or spread."""
    return fit_tau(RankingLaw(kind), target, 2, items).parameter


def _attentive_taus(law: RankingLaw, raters: int, items: int) -> Floats:
    x = law.parameters(raters)
    if law.kind == "uniform":
        return np.zeros((raters, raters))
    if law.kind == "mallows":
        g, weight = _mallows_lean(x, items)
        return (g * weight) @ g.T
    if law.kind == "plackett_luce":
        return np.full((raters, raters), _logistic_tau(float(x[0])))
    # 1 / sqrt((1 + a²)(1 + b²)) as cosines of arctan: nothing overflows for large noise.
    cos = 1 / np.hypot(1, x)
    taus = 2 / np.pi * np.arcsin(np.outer(cos, cos))
    if law.kind == "factions":
        faction = np.repeat(np.arange(len(law.shares)), law.faction_sizes(raters))
        taus = np.where(faction[:, None] == faction[None, :], taus, 0.0)
    return np.asarray(taus, dtype=np.float64)


def _mallows_lean(theta: Floats, items: int) -> tuple[Floats, Floats]:
    """g(m) = 2 P_m - 1 for m = 1..p-1, (raters, p-1), and the share of item pairs at distance m."""
    m = np.arange(1, items)
    t = theta[:, None]
    small = t < 1e-3  # where the two terms of P_m cancel; the series is then exact to 1e-14
    with np.errstate(divide="ignore"):
        h = [k / -np.expm1(-k * np.where(small, 1.0, t)) for k in (m, m + 1)]
    series = (2 * m + 1) * t / 6 - ((m + 1.0) ** 4 - m**4.0) * t**3 / 360
    g = np.where(small, series, 2 * (h[1] - h[0]) - 1)
    return g, (items - m) / (items * (items - 1) / 2)


def _logistic_tau(spread: float) -> float:
    """E[tanh²(spread z / sqrt 2)], z ~ N(0, 1), by the trapezoid rule (spectrally exact here)."""
    z = np.linspace(-9, 9, 200_001)
    density = np.exp(-(z**2) / 2)
    return float(np.sum(density * np.tanh(spread * z / np.sqrt(2)) ** 2) / np.sum(density))
