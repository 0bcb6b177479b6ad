"""Are there factions: groups of raters, the same on all prompts, who follow different orders?

A low mean tau may come from one shared order with much noise or from factions with little: T, p_max and the
cycle rate cannot tell the two apart. The raters can: in a faction they agree with each other and not with
the rest, prompt after prompt. So the test looks at the R x R matrix of mean taus.

Null: the one-order model (`one_order`): one order per prompt, each rater's own noise. One careless rater is
part of the null, and so does not count as a faction. Statistic: the lack of fit Q of the matrix. Law: prompts
drawn again around the fit, refitted each time. Assumption: prompts are independent, and raters are independent
given the prompt's order.

Power: the same test against a stated alternative, two factions of ceil(R/2) and floor(R/2) raters with
independent orders and one theta for all, chosen to give the observed mean tau. If the test does not reject
and this power is below 80%, the verdict is "not distinguishable with this design". Rejection says "not one
order"; the split reported is a description, not a second test. With very many prompts any noise that is
not quite of the model's laws rejects: a contrast (`Split`) below .02 is not called factions.

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
from salon.stats.mallows_panels import simulated_fits
from salon.stats.one_order import mallows_law, one_order_test
from salon.stats.result import Test

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

ONE_ORDER = "one order"
FACTIONS = "factions"
NOT_DISTINGUISHABLE = "not distinguishable with this design"

LEAST_CONTRAST = 0.02
"""With very many prompts any departure from the model rejects; a contrast in tau below this is no faction."""
_LEVEL = 0.05
_ENOUGH_POWER = 0.8
_MOST_RATERS_TO_ENUMERATE = 14


@dataclass(frozen=True, slots=True)
class Split:
    """Two camps of raters and the mean tau within and between them."""

    first: tuple[int, ...]
    second: tuple[int, ...]
    within: float
    between: float
    contrast: float
    """Within minus between, beyond what one order gives and once each rater's own level is taken out."""


@dataclass(frozen=True, slots=True)
class Factions:
    """The verdict on factions and all it rests on."""

    verdict: str
    """'one order', 'factions' or 'not distinguishable with this design'."""
    test: Test
    tau: FloatArray
    """(R, R) observed mean tau."""
    fitted: FloatArray
    """(R, R) mean tau of the one-order model."""
    split: Split
    power: float
    """Chance that this test finds the reference alternative at this n, R and mean tau."""
    alternative: str


def faction_test(ranks: ArrayLike, *, rng: np.random.Generator, redraws: int = 999) -> Factions:
    """Test one order against factions from strict ranks (n, R, p) of the same R raters, -1 where absent."""
    if redraws < 199:
        raise BadValue("the law of the test needs at least 199 redraws", found=redraws, remedy="redraws=999")
    observed = pair_tau(ranks)
    present = np.asarray(ranks)[:, :, 0] >= 0
    items = np.asarray(ranks).shape[2]
    _enough(present, observed.prompts)
    tau = np.where(observed.prompts > 0, observed.mean, 0.0)
    prompts = observed.prompts.astype(float)
    one = one_order_test(ranks, rng=rng, redraws=redraws)
    power, alternative = faction_power(_mean_tau(tau, prompts), present, items, rng=rng)
    split = best_split(tau, prompts, one.fitted)
    return Factions(
        verdict=_verdict(one.test.p, split, power),
        test=one.test,
        tau=observed.mean,
        fitted=one.fitted,
        split=split,
        power=power,
        alternative=alternative,
    )


def faction_power(
    mean_tau: float,
    present: NDArray[np.bool_],
    items: int,
    *,
    rng: np.random.Generator,
    simulations: int = 1000,
    level: float = _LEVEL,
) -> tuple[float, str]:
    """Power of the test against two factions of nearly equal size, and that alternative in words.

    Panels of factions are simulated with Mallows noise; of each the prompts are drawn again once, and the critical
    value is the quantile of these (the warp-speed method of Giacomini, Politis & White 2013).
    """
    raters = present.shape[1]
    faction = np.repeat([0, 1], [(raters + 1) // 2, raters // 2])
    same = faction[:, None] == faction[None, :]
    pairs_within = (same.sum() - raters) / (raters * (raters - 1))
    within = mean_tau / pairs_within
    words = f"two factions of {(raters + 1) // 2} and {raters // 2}, tau {within:.2f} within and 0 between"
    if within <= 0:
        return level, words + ": no agreement to divide"
    thetas, features = mallows_law(items)
    alike = (features**2).sum(axis=1)
    if within > alike[-1]:
        return 1.0, words + ": impossible, so much agreement needs one order"
    everyone = np.full(raters, thetas[np.argmin(np.abs(alike - within))])
    found, null = simulated_fits(everyone, faction, present, items, simulations=simulations, rng=rng)
    return float(np.mean(found > np.quantile(null, 1 - level))), words


def best_split(tau: FloatArray, prompts: FloatArray, fitted: FloatArray) -> Split:
    """The division into two camps of two raters or more that explains best what one order leaves of the matrix.

    Model: tau_rs - fitted_rs = a_r + a_s + b [same camp], least squares weighted by prompts. The a_r take up raters
    who agree less with everybody, so that one careless rater makes no camp; the best division has b > 0 and the
    smallest sum of squares left. Of divisions that explain it equally well the first in the order of raters is taken,
    whatever the last digit of the machine's arithmetic says.
    """
    free = _without_rater_effects(prompts)
    upper = np.triu_indices(len(tau), 1)
    left = free @ np.where(prompts > 0, tau - fitted, 0.0)[upper]
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


def _verdict(p: float, split: Split, power: float) -> str:
    if p <= _LEVEL and split.contrast >= LEAST_CONTRAST:
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
    met = prompts >= 2
    pairs = int(met[np.triu_indices(raters, 1)].sum())
    if pairs <= raters or (met.sum(axis=1) == met.diagonal()).any():
        raise TooFew(
            "the test for factions needs raters who share prompts, two and more",
            found=f"{len(present)} prompts, {pairs} of {raters * (raters - 1) // 2} pairs of raters share two",
            remedy="use it on raters who judged the same prompts",
        )
