"""Panels of raters simulated with Mallows noise, in one camp or several, and how badly one order fits them.

Rankings come by repeated insertion: item j of the order goes v places before the end with P(v) proportional to
exp(-theta v), which is the Mallows law around the order (Doignon, Pekec & Regenwetter 2004). A panel's mean taus are
added up as its prompts are drawn, and so is one redraw of the same prompts; no prompt is kept.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from salon.stats.compiled import compiled
from salon.stats.one_order import fits, noise_laws, shared_prompts, widening

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_EXACT_PROMPTS = 1000  # above this the mean taus are drawn from their normal limit
_LIMIT_DRAWS = 20_000


def simulated_fits(
    thetas: FloatArray,
    faction: IntArray,
    present: BoolArray,
    items: int,
    *,
    simulations: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray]:
    """Q of panels simulated with these thetas, and Q of one redraw of the prompts of each; a `faction` shares an order.

    Both are in units of the panel's own spread, the sum of the variances of its taus: what a panel's redraws reach goes
    with it, and so they can be told from each other only against it.

    With more than 1,000 prompts the mean taus are drawn from their normal limit, whose covariance comes from
    20,000 simulated prompts: the mean of so many prompts is normal for all purposes here.
    """
    draw = _limit_taus if len(present) > _EXACT_PROMPTS else _draw_taus
    taus, shifts, spread = draw(thetas, faction, present, items, simulations, rng)
    shared, laws = shared_prompts(present), noise_laws(items)
    fitted, q = fits(taus, shared, laws)
    return q / spread, fits(fitted + shifts, shared, laws)[1] / spread


def _limit_taus(
    thetas: FloatArray,
    faction: IntArray,
    present: BoolArray,
    items: int,
    simulations: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """As `_draw_taus`, for so many prompts that both are normal with one covariance."""
    raters = len(thetas)
    rows, columns = np.triu_indices(raters, 1)
    everyone = np.ones((1, raters), dtype=np.bool_)
    parts = [_draw_taus(thetas, faction, everyone, items, _LIMIT_DRAWS // 10, rng)[0] for _ in range(10)]
    single = np.concatenate([part[:, rows, columns] for part in parts])
    both = (present[:, rows] & present[:, columns]).astype(float)
    n = np.maximum(both.sum(axis=0), 1)
    of_one = np.cov(single.T)
    covariance = of_one * (both.T @ both) / np.outer(n, n)
    drawn = rng.multivariate_normal(np.zeros(len(rows)), covariance, size=(2, simulations), method="eigh")
    found = np.zeros((2, simulations, raters, raters))
    found[:, :, rows, columns] = found[:, :, columns, rows] = drawn
    found[0][:, rows, columns] += single.mean(axis=0)
    found[0][:, columns, rows] += single.mean(axis=0)
    return found[0], found[1], np.full(simulations, of_one.trace())


def _draw_taus(
    thetas: FloatArray,
    faction: IntArray,
    present: BoolArray,
    items: int,
    simulations: int,
    rng: np.random.Generator,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Mean tau matrices (simulations, R, R) of simulated panels, how far one redraw of its prompts moves each, and its
    spread.
    """
    raters, prompts = len(thetas), len(present)
    laws = np.stack([_insertion_law(theta, items) for theta in (0.0, *thetas)])
    times = rng.multinomial(prompts, np.full(prompts, 1 / prompts), size=simulations)
    sums = np.zeros((4, simulations, raters, raters))
    _add_taus(laws, faction, np.ascontiguousarray(present), times, rng, sums)
    total, drawn, drawn_prompts, squares = sums + sums.transpose(0, 1, 3, 2)
    shared = shared_prompts(present)
    mean = np.ascontiguousarray(total / np.maximum(shared, 1))
    spread = ((squares - shared * mean**2) * (shared > 1) / np.maximum(shared - 1, 1)).sum(axis=(1, 2)) / 2
    return mean, (drawn - mean * drawn_prompts) * widening(shared), np.maximum(spread, 1e-9)


def _insertion_law(theta: float, items: int) -> FloatArray:
    """Row j: the distribution function of v = 0..j, P(v) proportional to exp(-theta v)."""
    weights = np.tril(np.ones((items, items))) * np.exp(-theta * np.arange(items))
    return np.asarray(np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True))


@compiled
def _add_taus(
    laws: FloatArray,
    faction: IntArray,
    present: BoolArray,
    times: IntArray,
    rng: np.random.Generator,
    sums: FloatArray,
) -> None:
    """Add up, below the diagonal, taus of simulated prompts, the same by how many `times` each is drawn again, these
    times, and squares of taus; laws[0] is uniform, laws[r + 1] is rater r's.
    """
    raters, items = len(faction), laws.shape[1]
    pairs = items * (items - 1) // 2
    center = np.empty((faction.max() + 1, items), dtype=np.int64)
    order, signs = np.empty(items, dtype=np.int64), np.empty((raters, pairs), dtype=np.int64)
    for simulation in range(sums.shape[1]):
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
                        tau, again = balance / pairs, times[simulation, i]
                        sums[0, simulation, r, s] += tau
                        sums[1, simulation, r, s] += again * tau
                        sums[2, simulation, r, s] += again
                        sums[3, simulation, r, s] += tau * tau


@compiled
def _insert(law: FloatArray, rng: np.random.Generator, order: IntArray) -> None:
    """A Mallows order around the identity by repeated insertion: item j goes v places before the end."""
    for j in range(len(order)):
        chance, v = rng.random(), 0
        while v < j and chance >= law[j, v]:
            v += 1
        for k in range(j, j - v, -1):
            order[k] = order[k - 1]
        order[j - v] = j


@compiled
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
