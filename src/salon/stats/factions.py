"""Are there factions: groups of raters, the same on all prompts, who follow different orders?

A low mean tau may come from one shared order with much noise or from factions with little: T, p_max and the
cycle rate cannot tell the two apart. The raters can: in a faction they agree with each other and not with
the rest, prompt after prompt. So the test looks at the R x R matrix of mean taus.

Null: the one-order model (`one_order`): one order per prompt, noise theta_r per rater. One careless rater is
part of the null, and so does not count as a faction. Statistic: the lack of fit Q of the matrix. Law:
parametric simulation at the fitted thetas, refitted each time; p = (1 + #{Q* >= Q}) / (1 + simulations).
Assumption: raters are independent given the prompt's order, and prompts are independent.

Power: the same test against a stated alternative, two factions of ceil(R/2) and floor(R/2) raters with
independent orders and one theta for all, chosen to give the observed mean tau. If the test does not reject
and this power is below 80%, the verdict is "not distinguishable with this design". Rejection says "not one
order"; the split reported is a description, not a second test. With very many prompts any noise that is
not quite Mallows rejects: a contrast (`Split`) below .02 is not called factions.

Edges: R < 4 raises TooFew (three raters have three taus and three thetas: any matrix fits). Mean tau at or
below zero leaves nothing to divide into factions: power equals the level. Raters absent from a prompt have
ranks -1 there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew
from salon.stats.agreement import pair_tau
from salon.stats.one_order import (
    NoiseGrid,
    fit_one_order,
    in_the_limit,
    noise_grid,
    simulated_fits,
    simulated_lack_of_fit,
)
from salon.stats.result import Test

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ONE_ORDER = "one order"
FACTIONS = "factions"
NOT_DISTINGUISHABLE = "not distinguishable with this design"

_LEVEL = 0.05
_ENOUGH_POWER = 0.8
_LEAST_CONTRAST = 0.02
_MOST_RATERS_TO_ENUMERATE = 14


@dataclass(frozen=True, slots=True)
class Split:
    """Two camps of raters and the mean tau within and between them."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    within: float
    between: float
    contrast: float
    """Within minus between once each rater's own level is taken out."""


@dataclass(frozen=True, slots=True)
class Factions:
    """The verdict on factions and all it rests on."""

    verdict: str
    """'one order', 'factions' or 'not distinguishable with this design'."""
    test: Test
    thetas: FloatArray
    """(R,) fitted Mallows noise: 0 is a random rater."""
    tau: FloatArray
    """(R, R) observed mean tau."""
    fitted: FloatArray
    """(R, R) mean tau of the one-order model."""
    split: Split
    power: float
    """Chance that this test finds the reference alternative at this n, R and mean tau."""
    alternative: str
    simulations: int


def faction_test(ranks: ArrayLike, *, rng: np.random.Generator, simulations: int = 999) -> Factions:
    """Test one order against factions from strict ranks (n, R, p) of the same R raters, -1 where absent."""
    if simulations < 199:
        raise BadValue("the simulated law needs at least 199 simulations", found=simulations, remedy="simulations=999")
    observed = pair_tau(ranks)
    present = np.asarray(ranks)[:, :, 0] >= 0
    items = np.asarray(ranks).shape[2]
    _enough(present, observed.prompts)
    tau = np.where(observed.prompts > 0, observed.mean, 0.0)
    prompts = observed.prompts.astype(float)
    grid = noise_grid(items)
    thetas, fitted, q, p = _against_one_order(tau, prompts, present, grid, simulations, rng)
    power, alternative = faction_power(_mean_tau(tau, prompts), present, items, rng=rng)
    split = best_split(tau, prompts)
    return Factions(
        verdict=_verdict(p, split, power),
        test=Test("one order", q, p, f"lack of fit, {simulations} simulated panels", len(present), "prompt"),
        thetas=thetas,
        tau=observed.mean,
        fitted=fitted,
        split=split,
        power=power,
        alternative=alternative,
        simulations=simulations,
    )


def faction_power(
    mean_tau: float,
    present: NDArray[np.bool_],
    items: int,
    *,
    rng: np.random.Generator,
    simulations: int = 400,
    level: float = _LEVEL,
) -> tuple[float, str]:
    """Power of the test against two factions of nearly equal size, and that alternative in words.

    Every simulated panel of factions is fitted and one panel is simulated from its fit; the critical value
    is the quantile of these (the warp-speed method of Giacomini, Politis & White 2013). With more than 1,000
    prompts all fits are alike, and the one closest to the alternative serves.
    """
    raters = present.shape[1]
    grid = noise_grid(items)
    faction = np.repeat([0, 1], [(raters + 1) // 2, raters // 2])
    same = faction[:, None] == faction[None, :]
    pairs_within = (same.sum() - raters) / (raters * (raters - 1))
    within = mean_tau / pairs_within
    words = f"two factions of {(raters + 1) // 2} and {raters // 2}, tau {within:.2f} within and 0 between"
    if within <= 0:
        return level, words + ": no agreement to divide"
    if within > (grid.features[-1] ** 2).sum():
        return 1.0, words + ": impossible, so much agreement needs one order"
    thetas = np.full(raters, grid.thetas[grid.at_tau(within)])
    places, found = simulated_fits(thetas, faction, present, grid, simulations=simulations, rng=rng)
    null = _null_of_fits(places, present, grid, rng)
    return float(np.mean(found > np.quantile(null, 1 - level))), words


def _null_of_fits(
    places: IntArray, present: NDArray[np.bool_], grid: NoiseGrid, rng: np.random.Generator
) -> FloatArray:
    together = np.zeros(places.shape[1], dtype=np.int64)
    if in_the_limit(present):
        middle = grid.thetas[np.median(places, axis=0).astype(int)]
        return simulated_lack_of_fit(middle, together, present, grid, simulations=len(places), rng=rng)
    each = [
        simulated_lack_of_fit(grid.thetas[place], together, present, grid, simulations=1, rng=rng)[0]
        for place in places
    ]
    return np.array(each)


def best_split(tau: FloatArray, prompts: FloatArray) -> Split:
    """The division into two camps of two raters or more that explains the matrix best.

    Model: tau_rs = a_r + a_s + b [same camp], least squares weighted by prompts. The a_r take up raters who
    agree less with everybody, so that one careless rater makes no camp; the best division has b > 0 and the
    smallest sum of squares left. Of divisions that explain it equally well the first in the order of raters is taken,
    whatever the last digit of the machine's arithmetic says.
    """
    free = _without_rater_effects(prompts)
    upper = np.triu_indices(len(tau), 1)
    left = free @ np.where(prompts > 0, tau, 0.0)[upper]
    camps = _camps(tau, left)
    same = np.array([(camp[:, None] == camp[None, :])[upper] for camp in camps], dtype=float) @ free.T
    power = np.maximum((same**2).sum(axis=1), 1e-12)
    b = same @ left / power
    explained = b * np.sqrt(power)  # the root of the squares explained, with the sign of b
    best = int(np.argmax(explained >= explained.max() * (1 - 1e-9) - 1e-9))
    within, between = _means(tau, prompts, camps[best])
    first = tuple(np.flatnonzero(camps[best]).tolist())
    second = tuple(np.flatnonzero(~camps[best]).tolist())
    if (len(second), first) > (len(first), second):
        first, second = second, first
    return Split(first, second, within, between, float(b[best]))


def _without_rater_effects(prompts: FloatArray) -> FloatArray:
    """Matrix that weights the pairs of raters and projects out one effect per rater."""
    rows, columns = np.triu_indices(len(prompts), 1)
    effects = np.zeros((len(rows), len(prompts)))
    pairs = np.arange(len(rows))
    effects[pairs, rows] = effects[pairs, columns] = 1.0
    root = np.sqrt(prompts[rows, columns])
    weighted = effects * root[:, None]
    return np.asarray((np.eye(len(rows)) - weighted @ np.linalg.pinv(weighted)) * root)


def _against_one_order(
    tau: FloatArray,
    prompts: FloatArray,
    present: NDArray[np.bool_],
    grid: NoiseGrid,
    simulations: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, float, float]:
    """Fitted thetas, fitted taus, lack of fit and its simulated p value."""
    place, q = fit_one_order(tau, prompts, grid.features)
    together = np.zeros(len(tau), dtype=np.int64)
    null = simulated_lack_of_fit(grid.thetas[place], together, present, grid, simulations=simulations, rng=rng)
    p = float((1 + (null >= q).sum()) / (1 + simulations))
    return grid.thetas[place], grid.features[place] @ grid.features[place].T, q, p


def _verdict(p: float, split: Split, power: float) -> str:
    if p <= _LEVEL and split.contrast >= _LEAST_CONTRAST:
        return FACTIONS
    return ONE_ORDER if power >= _ENOUGH_POWER else NOT_DISTINGUISHABLE


def _camps(tau: FloatArray, left: FloatArray) -> list[NDArray[np.bool_]]:
    """All divisions, rater 0 in the first camp; for many raters only the cuts along the main direction."""
    raters = len(tau)
    if raters > _MOST_RATERS_TO_ENUMERATE:
        matrix = np.zeros((raters, raters))
        matrix[np.triu_indices(raters, 1)] = left
        order = np.argsort(np.linalg.eigh(matrix + matrix.T)[1][:, -1])
        return [np.isin(np.arange(raters), order[:k]) for k in range(2, raters - 1)]
    camps = []
    for size in range(1, raters - 2):
        for others in combinations(range(1, raters), size):
            camps.append(np.isin(np.arange(raters), (0, *others)))
    return camps


def _means(tau: FloatArray, prompts: FloatArray, camp: NDArray[np.bool_]) -> tuple[float, float]:
    same = camp[:, None] == camp[None, :]
    np.fill_diagonal(weight := prompts.copy(), 0.0)
    inside, outside = weight * same, weight * ~same
    return float((tau * inside).sum() / max(inside.sum(), 1)), float((tau * outside).sum() / max(outside.sum(), 1))


def _mean_tau(tau: FloatArray, prompts: FloatArray) -> float:
    upper = np.triu_indices(len(tau), 1)
    return float(np.average(tau[upper], weights=prompts[upper]))


def _enough(present: NDArray[np.bool_], prompts: IntArray) -> None:
    raters = present.shape[1]
    if raters < 4:
        raise TooFew(
            "the test for factions needs at least four raters who judge the same prompts",
            found=f"{raters} raters: any matrix of {raters * (raters - 1) // 2} mean taus fits one order",
            remedy="ask more raters; five leave five degrees of freedom",
        )
    pairs = int((prompts[np.triu_indices(raters, 1)] > 0).sum())
    if len(present) < 2 or pairs <= raters or (prompts.sum(axis=1) == prompts.diagonal()).any():
        raise TooFew(
            "the test for factions needs raters who share prompts",
            found=f"{len(present)} prompts, {pairs} of {raters * (raters - 1) // 2} pairs of raters share one",
            remedy="use it on raters who judged the same prompts",
        )
