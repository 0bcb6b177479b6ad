"""The null law of a prompt's signal when raters have no preference: exact where it can be, else Monte Carlo.

Model. R raters rank p items independently and uniformly over the p! orders. T, the p_max histogram and the
cycle flag are functions of the votes alone (see `signal`), so one enumeration of the votes gives their *joint*
law, kept here as integer counts per cell (p_max histogram, cycle flag). `orbits` does the enumeration.

Facts that hold for every shape, used in closed form and checked against the joint law in the tests:

    max(k, R - k) of one pair     folded Binomial(R, 1/2)
    E[T] = 0,  Var[T] = 2(2p+5) / (9 p (p-1) C(R,2))
    covariance of the p_max histogram: two pairs sharing an item have votes whose correlation is +-1/3, pairs
    sharing none are independent; the even Krawtchouk polynomials of degree 2i diagonalise it, with
    eigenvalues (relative to independent pairs) 1 + 2(p-2)/9^i, i = 1..floor(R/2)
    large R: m((R-1)T + 1)  ->  (p+1)/3 chi2(p-1) + 1/3 chi2(C(p-1,2))

Edges. R = 1 raises `TooFew`. Cycles are impossible for p = 2 and for R = 2 and R = 4 (`cycles_possible`).

Source. The orbit-compressed enumeration is Salon's own (docs/methods/exact-nulls.md). Var[T] and the limit law:
Ehrenberg (1952), Hays (1960) for the average tau; Alvo and Cabilio (1984).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import comb, exp, factorial, lgamma, log, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from salon.errors import BadValue, TooFew
from salon.stats.signal import (
    Floats,
    Ints,
    cells_votes,
    cycles,
    cycles_possible,
    histogram_t_numerators,
    item_pairs,
    pmax_bins,
    t_denominator,
    t_numerators,
    votes_rankings,
)

Cell = tuple[tuple[int, ...], int]
"""(p_max histogram over the bins ceil(R/2)..R, cycle flag 0 or 1)."""

EXACT = "exact"
MONTE_CARLO = "monte carlo"


@dataclass(frozen=True, eq=False)
class Null:
    """The law of one prompt's (p_max histogram, cycle flag) under random raters, and all that follows from it."""

    items: int
    raters: int
    method: str
    """'exact' or 'monte carlo'."""
    total: int
    """Mass of the joint law: p!^(R-1) when exact, the number of draws otherwise."""
    joint: Mapping[Cell, int]
    draws: int | None = None
    """Simulated prompts, None when exact."""

    @property
    def exact(self) -> bool:
        """Is every figure exact?"""
        return self.method == EXACT

    @cached_property
    def histograms(self) -> Ints:
        """(c, bins) the histograms of the joint law, in its order."""
        rows = [histogram for histogram, _ in self.joint]
        return np.array(rows, dtype=np.int64).reshape(len(rows), len(pmax_bins(self.raters)))

    @cached_property
    def probabilities(self) -> Floats:
        """(c,) probability of each cell of the joint law, in its order."""
        return np.array([count / self.total for count in self.joint.values()], dtype=np.float64)

    @cached_property
    def t_counts(self) -> dict[int, int]:
        """Mass of each value of T times `t_denominator`, sorted."""
        counts: dict[int, int] = {}
        for numerator, mass in zip(histogram_t_numerators(self.histograms, self.raters), self.joint.values()):
            counts[int(numerator)] = counts.get(int(numerator), 0) + mass
        return dict(sorted(counts.items()))

    @cached_property
    def t_law(self) -> tuple[Ints, Floats]:
        """The values of T times `t_denominator`, sorted, and their probabilities."""
        masses = [count / self.total for count in self.t_counts.values()]
        return np.fromiter(self.t_counts, np.int64, len(self.t_counts)), np.array(masses)

    @cached_property
    def t_pmf(self) -> dict[Fraction, Fraction]:
        """P(T = t) for every t of the support, sorted."""
        denominator = t_denominator(self.items, self.raters)
        return {Fraction(s, denominator): Fraction(mass, self.total) for s, mass in self.t_counts.items()}

    @property
    def median_T(self) -> Fraction:
        """The smallest t with P(T <= t) >= 1/2; halfway to the next value when equality holds."""
        reached = Fraction(0)
        values = list(self.t_pmf)
        for value, following in zip(values, [*values[1:], values[-1]]):
            reached += self.t_pmf[value]
            if reached == Fraction(1, 2):
                return (value + following) / 2
            if reached > Fraction(1, 2):
                break
        return value

    @property
    def var_T(self) -> Fraction:
        """2(2p+5) / (9 p (p-1) C(R,2)), exact for every shape."""
        p = self.items
        return Fraction(2 * (2 * p + 5), 9 * p * (p - 1) * comb(self.raters, 2))

    @property
    def pmax_pmf(self) -> dict[Fraction, Fraction]:
        """P(p_max = x) of one pair: the folded binomial, exact for every shape."""
        return folded_binomial(self.raters)

    @property
    def mean_pmax(self) -> Fraction:
        """Mean p_max, exact for every shape."""
        return sum((x * q for x, q in self.pmax_pmf.items()), Fraction(0))

    @cached_property
    def cycle_rate(self) -> Fraction:
        """Share of prompts with a majority cycle."""
        return Fraction(sum(mass for (_, cyclic), mass in self.joint.items() if cyclic), self.total)

    @property
    def cycle_rate_error(self) -> float | None:
        """Monte Carlo standard error of `cycle_rate`; None when exact."""
        if self.draws is None:
            return None
        rate = float(self.cycle_rate)
        return sqrt(rate * (1 - rate) / self.draws)

    @property
    def pmax_weights(self) -> tuple[Fraction, ...]:
        """The chi-square of the p_max histogram against its pmf tends to sum of weight_i chi2(1)."""
        return pmax_weights(self.items, self.raters)

    def as_json(self) -> dict[str, Any]:
        """Plain types; every exact number as the text of a fraction or an integer."""
        return {
            "items": self.items,
            "raters": self.raters,
            "method": self.method,
            "draws": self.draws,
            "cycle_rate": str(self.cycle_rate),
            "cycle_rate_error": self.cycle_rate_error,
            "cycles_possible": cycles_possible(self.items, self.raters),
            "median_T": str(self.median_T),
            "var_T": str(self.var_T),
            "mean_pmax": str(self.mean_pmax),
            "t_pmf": {str(t): str(q) for t, q in self.t_pmf.items()},
            "pmax_pmf": {str(x): str(q) for x, q in self.pmax_pmf.items()},
            "pmax_weights": [str(w) for w in self.pmax_weights],
            "total": str(self.total),
            "joint": [[list(h), c, str(mass)] for (h, c), mass in self.joint.items()],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Null:
        """The inverse of `as_json`; only the joint law is read, all else follows from it."""
        joint = {(tuple(int(x) for x in h), int(c)): int(mass) for h, c, mass in data["joint"]}
        null = cls(
            int(data["items"]), int(data["raters"]), str(data["method"]), int(data["total"]), joint, data["draws"]
        )
        null._check()
        return null

    def _check(self) -> None:
        expected = factorial(self.items) ** (self.raters - 1) if self.exact else self.draws
        if self.total != expected or sum(self.joint.values()) != self.total:
            raise BadValue(f"the mass of a null law must be {expected}", found=sum(self.joint.values()))


def exact_null(items: int, raters: int) -> Null:
    """The exact law, by orbit enumeration. Ask `feasible` first: cost grows fast with p and R."""
    from salon.stats import orbits  # imports numba, which a shape whose law is at hand does without

    check_shape(items, raters)
    joint = dict(sorted(orbits.joint_law(items, raters).items()))
    return Null(items, raters, EXACT, factorial(items) ** (raters - 1), joint)


def feasible(items: int, raters: int, *, seconds: float = 10.0, gibibytes: float = 2.0) -> bool:
    """Can `exact_null` be expected to finish within these bounds on one core?"""
    from salon.stats import orbits

    cost = orbits.cost(items, raters)
    return cost.seconds <= seconds and cost.gibibytes <= gibibytes


def monte_carlo_null(items: int, raters: int, *, draws: int, rng: np.random.Generator) -> Null:
    """The law estimated from `draws` simulated prompts."""
    check_shape(items, raters)
    if draws < 1:
        raise TooFew("at least one simulated prompt is needed", found=f"{draws} draws")
    joint: dict[Cell, int] = {}
    block = max(1, 20_000_000 // (items * raters))
    for start in range(0, draws, block):
        size = (min(block, draws - start), raters, items)
        ranks = rng.permuted(np.broadcast_to(np.arange(items), size), axis=2)
        cells = cells_votes(votes_rankings(ranks), raters, items)
        for histogram, cyclic, count in zip(cells.histograms.tolist(), cells.cyclic, cells.counts):
            cell = (tuple(histogram), int(cyclic))
            joint[cell] = joint.get(cell, 0) + int(count)
    return Null(items, raters, MONTE_CARLO, draws, dict(sorted(joint.items())), draws)


def check_shape(items: int, raters: int) -> None:
    """Raise `TooFew` for a shape that has no null law."""
    if items < 2:
        raise TooFew("a null law needs at least 2 items", found=f"{items} items")
    if raters < 2:
        raise TooFew("a null law needs at least 2 raters: one rater agrees with nobody", found=f"{raters} raters")


def folded_binomial(raters: int) -> dict[Fraction, Fraction]:
    """P(p_max = v/R), v = ceil(R/2)..R, for one pair under random raters."""
    ways = {v: comb(raters, v) * (1 if 2 * v == raters else 2) for v in pmax_bins(raters).tolist()}
    return {Fraction(v, raters): Fraction(way, 2**raters) for v, way in ways.items()}


def pmax_weights(items: int, raters: int) -> tuple[Fraction, ...]:
    """1 + 2(p-2)/9^i for i = 1..floor(R/2)."""
    return tuple(1 + Fraction(2 * (items - 2), 9**i) for i in range(1, raters // 2 + 1))


# ------------------------------------------------------------------------------------------------ many raters
FEW_RATERS = 60
"""Up to here rankings are drawn one by one; above, votes are drawn as normal numbers (error of order 1/R)."""
_MOST_RANKINGS = 4_000_000
_MOST_VOTES = 8_000_000


@dataclass(frozen=True, eq=False)
class SampledNull(Null):
    """A null of draws that keeps T and the cycle flag alone: no joint law, so its size does not grow with R."""

    numerators: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """(draws,) T of each simulated prompt times `t_denominator`."""
    cyclic: int = 0
    """Simulated prompts with a majority cycle."""

    @cached_property
    def t_counts(self) -> dict[int, int]:
        """Simulated prompts at each value of T times `t_denominator`, sorted."""
        values, counts = np.unique(self.numerators, return_counts=True)
        return dict(zip(values.tolist(), counts.tolist()))

    @property
    def median_T(self) -> Fraction:
        """Median of the simulated prompts."""
        middle = Fraction(float(np.median(self.numerators)))
        return middle / t_denominator(self.items, self.raters)

    @property
    def mean_pmax(self) -> Fraction:
        """Mean p_max, from the closed form of the mean absolute deviation of a binomial."""
        return Fraction(mean_pmax(self.raters))

    @cached_property
    def cycle_rate(self) -> Fraction:
        """Share of simulated prompts with a majority cycle."""
        return Fraction(self.cyclic, self.total)


def mean_pmax(raters: int) -> float:
    """E max(k, R - k) / R = 1/2 + h C(R, h) / (2^R R) with h = ceil(R / 2), k ~ Bin(R, 1/2)."""
    half = (raters + 1) // 2
    log_ways = lgamma(raters + 1) - lgamma(half + 1) - lgamma(raters - half + 1) - raters * log(2)
    return 0.5 + half * exp(log_ways) / raters


def sampled_null(items: int, raters: int, *, draws: int, rng: np.random.Generator) -> SampledNull:
    """T and cycles of simulated prompts, at a cost that is bounded for any number of raters."""
    check_shape(items, raters)
    if draws < 1:
        raise TooFew("at least one simulated prompt is needed", found=f"{draws} draws")
    draws = max(
        2_000, min(draws, 100_000, _MOST_RANKINGS // raters if raters <= FEW_RATERS else _MOST_VOTES // comb(items, 2))
    )
    numerators, cyclic = np.zeros(draws, np.int64), 0
    block = max(1, 4_000_000 // (comb(items, 2) + (items * raters if raters <= FEW_RATERS else 0)))
    for start in range(0, draws, block):
        size = min(block, draws - start)
        votes = _ranked_votes if raters <= FEW_RATERS else _normal_votes
        k = votes(size, items, raters, rng)
        numerators[start : start + size] = t_numerators(k, raters)
        cyclic += int(cycles(k, raters, items).sum()) if cycles_possible(items, raters) else 0
    return SampledNull(items, raters, MONTE_CARLO, draws, {}, draws, numerators, cyclic)


def _ranked_votes(draws: int, items: int, raters: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    ranks = np.argsort(rng.random((draws, raters, items), dtype=np.float32), axis=2)
    return votes_rankings(ranks)


def _normal_votes(draws: int, items: int, raters: int, rng: np.random.Generator) -> npt.NDArray[np.int32]:
    """Votes with the mean and covariance of random raters: two pairs that share an item correlate by 1/3."""
    a, b = item_pairs(items).T
    item = rng.standard_normal((draws, items)) / sqrt(3)
    lead = item[:, a] - item[:, b] + rng.standard_normal((draws, len(a))) / sqrt(3)
    k = np.rint((raters + sqrt(raters) * lead) / 2)
    return np.clip(k, 0, raters).astype(np.int32)
