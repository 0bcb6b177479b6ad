"""The one-order model of a panel: per prompt one shared order, per rater r Mallows noise theta_r, nothing
else.

P(ranking of r) is proportional to exp(-theta_r d), d the Kendall distance to the prompt's order. For two
items d places apart in that order (d = 1..p-1) the expected sign of rater r, +1 when the order is kept and
-1 when it is reversed, is

    h_d(theta) = 2 (g(d+1) - g(d)) - 1,   g(k) = k / (1 - exp(-k theta)),   h_d(0) = 0        (Mallows 1957)

Given the order raters are independent, so the mean tau of two raters is a product, summed over item pairs:

    E tau_rs = sum_d (p - d)/C(p,2) h_d(theta_r) h_d(theta_s)

The fit takes the thetas that bring this matrix closest to the observed one, in squares weighted by the
prompts behind each entry; the diagonal is not used. theta >= 0: a rater who reverses the order is evidence
against one order, not a setting of it. The sum of squares that remains is the lack of fit,

    Q = sum_{r<s} n_rs (tau_rs - E tau_rs)^2

R(R-1)/2 entries minus R parameters: R = 3 fits perfectly, R = 4 leaves 2 degrees of freedom, R = 5 leaves 5.
The thetas lie on a grid, even in the mean sign c(theta) (steps of .0025, a twentieth of the sampling error
at n = 80).
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_STEPS = 4000
_STRICT = 0.999  # the largest mean sign on the grid: a rater who almost always repeats the order
_EXACT_PROMPTS = 1000  # above this the mean taus are drawn from their normal limit
_LIMIT_DRAWS = 20_000


@dataclass(frozen=True, slots=True)
class NoiseGrid:
    """Mallows thetas and, for each, features whose inner products are the expected taus."""

    items: int
    thetas: FloatArray
    features: FloatArray

    def at_tau(self, tau: float) -> int:
        """Place of the theta with which two equal raters have this mean tau."""
        return int(np.argmin(np.abs((self.features**2).sum(axis=1) - tau)))


def mallows_signs(thetas: FloatArray, items: int) -> FloatArray:
    """h_d(theta), (thetas, items - 1)."""
    k = np.arange(1, items + 1)
    theta = np.maximum(thetas, 1e-6)[:, None]  # g has a removable pole at 0, where every sign is 0
    g = k / -np.expm1(-k * theta)
    return np.where(thetas[:, None] < 1e-6, 0.0, 2 * np.diff(g, axis=1) - 1)


def noise_grid(items: int) -> NoiseGrid:
    """The grid of thetas for `items` items."""
    share = (items - np.arange(1, items)) / (items * (items - 1) / 2)
    dense = np.append(0.0, np.geomspace(1e-4, 60, 20_000))
    mean_sign = mallows_signs(dense, items) @ share
    thetas = np.interp(np.linspace(0, _STRICT, _STEPS + 1), mean_sign, dense)
    features = mallows_signs(thetas, items) * np.sqrt(share)
    # Six directions carry the inner products to 1e-4 even for 40 items: fewer numbers to search.
    _, _, directions = np.linalg.svd(features, full_matrices=False)
    return NoiseGrid(items, thetas, np.ascontiguousarray(features @ directions[:6].T))


@numba.njit(cache=True)
def fit_one_order(tau: FloatArray, prompts: FloatArray, features: FloatArray) -> tuple[IntArray, float]:
    """Grid places of the best thetas and the lack of fit Q, by coordinate descent from equal raters."""
    raters, width = tau.shape[0], features.shape[1]
    place = _equal_raters(tau, prompts, features)
    a, b = np.zeros((width, width)), np.zeros(width)
    for _ in range(200):
        moved = False
        for r in range(raters):
            # The loss of rater r is f'Af - 2b'f in its own features f, the others held.
            a[:], b[:] = 0.0, 0.0
            for s in range(raters):
                if s != r and prompts[r, s] > 0:
                    for i in range(width):
                        b[i] += prompts[r, s] * tau[r, s] * features[place[s], i]
                        for j in range(width):
                            a[i, j] += prompts[r, s] * features[place[s], i] * features[place[s], j]
            best = _best_place(place[r], a, b, features)
            moved = moved or best != place[r]
            place[r] = best
        if not moved:
            break
    return place, _lack_of_fit(tau, prompts, features, place)


@numba.njit(cache=True)
def _equal_raters(tau: FloatArray, prompts: FloatArray, features: FloatArray) -> IntArray:
    """Everyone at the theta whose tau is nearest the mean (at least .01: zero is a stationary point)."""
    total, weight = 0.0, 0.0
    for r in range(tau.shape[0]):
        for s in range(r):
            total += prompts[r, s] * tau[r, s]
            weight += prompts[r, s]
    target = max(total / weight, 0.01)
    near, least = 0, np.inf
    for g in range(features.shape[0]):
        away = abs(np.sum(features[g] ** 2) - target)
        if away < least:
            near, least = g, away
    return np.full(tau.shape[0], near, dtype=np.int64)


@numba.njit(cache=True)
def _best_place(start: int, a: FloatArray, b: FloatArray, features: FloatArray) -> int:
    """Walk down from `start` in halving steps: the curve is nearly straight, so the loss has one valley."""
    best, least = start, _loss(features[start], a, b)
    step = 512
    while step >= 1:
        walked = False
        for sign in (-1, 1):
            g = best + sign * step
            if 0 <= g < features.shape[0]:
                loss = _loss(features[g], a, b)
                if loss < least - 1e-12:
                    best, least, walked = g, loss, True
                    break
        if not walked:
            step //= 2
    return best


@numba.njit(cache=True)
def _loss(f: FloatArray, a: FloatArray, b: FloatArray) -> float:
    loss = 0.0
    for i in range(len(f)):
        loss -= 2 * b[i] * f[i]
        for j in range(len(f)):
            loss += f[i] * a[i, j] * f[j]
    return loss


@numba.njit(cache=True)
def _lack_of_fit(tau: FloatArray, prompts: FloatArray, features: FloatArray, place: IntArray) -> float:
    q = 0.0
    for r in range(tau.shape[0]):
        for s in range(r):
            if prompts[r, s] > 0:
                q += prompts[r, s] * (tau[r, s] - np.sum(features[place[r]] * features[place[s]])) ** 2
    return q


def simulated_lack_of_fit(
    thetas: FloatArray,
    faction: IntArray,
    present: BoolArray,
    grid: NoiseGrid,
    *,
    simulations: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Q of simulated panels, each refitted: see `simulated_fits`."""
    return simulated_fits(thetas, faction, present, grid, simulations=simulations, rng=rng)[1]


def simulated_fits(
    thetas: FloatArray,
    faction: IntArray,
    present: BoolArray,
    grid: NoiseGrid,
    *,
    simulations: int,
    rng: np.random.Generator,
) -> tuple[IntArray, FloatArray]:
    """Grid places (simulations, R) and Q of panels simulated with these thetas; a `faction` shares an order.

    With more than 1,000 prompts the mean taus are drawn from their normal limit, whose covariance comes from
    20,000 simulated prompts: the mean of so many prompts is normal for all purposes here.
    """
    if in_the_limit(present):
        taus = _limit_taus(thetas, faction, present, grid.items, simulations, rng)
    else:
        taus = _draw_taus(thetas, faction, present, grid.items, simulations, rng)
    places, q = _refit(taus, _shared_prompts(present), grid.features)
    return places, q


def in_the_limit(present: BoolArray) -> bool:
    """Are there so many prompts that mean taus are drawn from their normal limit?"""
    return len(present) > _EXACT_PROMPTS


@numba.njit(cache=True)
def _refit(taus: FloatArray, prompts: FloatArray, features: FloatArray) -> tuple[IntArray, FloatArray]:
    places, q = np.empty(taus.shape[:2], dtype=np.int64), np.empty(len(taus))
    for i in range(len(taus)):
        places[i], q[i] = fit_one_order(taus[i], prompts, features)
    return places, q


def _shared_prompts(present: BoolArray) -> FloatArray:
    seen = present.astype(float)
    return np.ascontiguousarray(seen.T @ seen)


def _limit_taus(
    thetas: FloatArray,
    faction: IntArray,
    present: BoolArray,
    items: int,
    simulations: int,
    rng: np.random.Generator,
) -> FloatArray:
    raters = len(thetas)
    rows, columns = np.triu_indices(raters, 1)
    everyone = np.ones((1, raters), dtype=np.bool_)
    single = _draw_taus(thetas, faction, everyone, items, _LIMIT_DRAWS, rng)[:, rows, columns]
    both = (present[:, rows] & present[:, columns]).astype(float)
    n = np.maximum(both.sum(axis=0), 1)
    covariance = np.cov(single.T) * (both.T @ both) / np.outer(n, n)
    drawn = rng.multivariate_normal(single.mean(axis=0), covariance, size=simulations, method="eigh")
    taus = np.zeros((simulations, raters, raters))
    taus[:, rows, columns] = taus[:, columns, rows] = drawn
    return taus


def _draw_taus(
    thetas: FloatArray,
    faction: IntArray,
    present: BoolArray,
    items: int,
    simulations: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Mean tau matrices (simulations, R, R) of simulated panels."""
    raters = len(thetas)
    laws = np.stack([_insertion_law(theta, items) for theta in (0.0, *thetas)])
    sums = np.zeros((simulations, raters, raters))
    _add_taus(laws, faction, np.ascontiguousarray(present), rng, sums)
    means = sums / np.maximum(_shared_prompts(present), 1)
    return np.ascontiguousarray(means + means.transpose(0, 2, 1))


def _insertion_law(theta: float, items: int) -> FloatArray:
    """Row j: the distribution function of v = 0..j, P(v) proportional to exp(-theta v)."""
    weights = np.tril(np.ones((items, items))) * np.exp(-theta * np.arange(items))
    return np.asarray(np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True))


@numba.njit(cache=True)
def _add_taus(
    laws: FloatArray, faction: IntArray, present: BoolArray, rng: np.random.Generator, sums: FloatArray
) -> None:
    """Add up taus of simulated prompts below the diagonal; laws[0] is uniform, laws[r + 1] is rater r's."""
    raters, items = len(faction), laws.shape[1]
    pairs = items * (items - 1) // 2
    center = np.empty((faction.max() + 1, items), dtype=np.int64)
    order, signs = np.empty(items, dtype=np.int64), np.empty((raters, pairs), dtype=np.int64)
    for simulation in range(sums.shape[0]):
        for i in range(present.shape[0]):
            for f in range(center.shape[0]):
                _insert(laws[0], rng, center[f])
            for r in range(raters):
                if present[i, r]:
                    _insert(laws[r + 1], rng, order)
                    _signs(order, center[faction[r]], signs[r])
            for r in range(raters):
                for s in range(r):
                    if present[i, r] and present[i, s]:
                        balance = 0
                        for k in range(pairs):
                            balance += signs[r, k] * signs[s, k]
                        sums[simulation, r, s] += balance / pairs


@numba.njit(cache=True)
def _insert(law: FloatArray, rng: np.random.Generator, order: IntArray) -> None:
    """A Mallows order around the identity by repeated insertion: item j goes v places before the end."""
    for j in range(len(order)):
        chance, v = rng.random(), 0
        while v < j and chance >= law[j, v]:
            v += 1
        for k in range(j, j - v, -1):
            order[k] = order[k - 1]
        order[j - v] = j


@numba.njit(cache=True)
def _signs(order: IntArray, center: IntArray, out: IntArray) -> None:
    """+1 for each item pair x < y with x first, -1 otherwise; `center` names the items of `order`."""
    items = len(order)
    rank = np.empty(items, dtype=np.int64)
    for place in range(items):
        rank[center[order[place]]] = place
    k = 0
    for x in range(items):
        for y in range(x + 1, items):
            out[k] = 1 if rank[x] < rank[y] else -1
            k += 1
