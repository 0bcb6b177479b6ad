"""The one-order model of a panel: per prompt one shared order, per rater r independent noise, nothing else.

Two laws of noise count as one order. Mallows: P(ranking of r) is proportional to exp(-theta_r d), d the Kendall
distance to the prompt's order. For two items d places apart in that order (d = 1..p-1) the expected sign of rater r,
+1 when the order is kept and -1 when it is reversed, is

    h_d(theta) = 2 (g(d+1) - g(d)) - 1,   g(k) = k / (1 - exp(-k theta)),   h_d(0) = 0        (Mallows 1957)

Given the order raters are independent, so the mean tau of two raters is a product, summed over item pairs:

    E tau_rs = sum_d (p - d)/C(p,2) h_d(theta_r) h_d(theta_s)

Gaussian: items have utilities N(0, 1), new for every prompt, and rater r sees them with noise of variance v_r:

    E tau_rs = (2/pi) arcsin(a_r a_s),   a_r = 1 / sqrt(1 + v_r)                              (Sheppard 1899)

Both are inner products of one vector of features a rater. With raters alike, or nearly, they give the same matrices;
with careful and careless raters in one panel they differ, and many prompts tell which is meant.

The fit takes the raters' places under each law that bring its matrix closest to the observed one, in squares weighted
by the prompts behind each entry, and the law that comes closer; the diagonal is not used. No rater is worse than
random: who reverses the order is evidence against one order, not a setting of it. The sum of squares that remains is
the lack of fit,

    Q = sum_{r<s} n_rs (tau_rs - E tau_rs)^2

R(R-1)/2 entries minus R parameters: R = 3 fits perfectly, R = 4 leaves 2 degrees of freedom, R = 5 leaves 5.

Law of Q under the model: prompts are drawn again with replacement, the moves of the mean taus are added to the
*fitted* matrix, and the model is refitted; p = (1 + #{Q* >= Q}) / (1 + redraws). So the model says only what mean
taus one order can give. How much taus scatter from prompt to prompt is taken from the prompts themselves: prompts of
mixed difficulty scatter more than Mallows prompts would, and panels simulated from a fitted Mallows model rejected one
order up to four times too often (three items, strong agreement). Entries with fewer than two prompts have no spread
and count for nothing. Few prompts make the test cautious, not eager.

Raters lie on a grid (steps of .00025 in the root of the tau of two alike, far below the sampling error).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.stats.compiled import compiled
from salon.stats.result import Test

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

_SIGNS = np.linspace(0, 0.999, 4001)
"""Raters on the grid, by the root of the tau of two alike: at .999 one almost always repeats the order."""
_FARTHEST = 512
"""Places of the first step of a search."""


@dataclass(frozen=True, slots=True)
class OneOrder:
    """The fit of one order, and its test."""

    test: Test
    fitted: FloatArray
    """(R, R) mean taus of the model; the diagonal is that of two raters alike, 0 for one who answers at random."""


def mallows_signs(thetas: FloatArray, items: int) -> FloatArray:
    """h_d(theta), (thetas, items - 1)."""
    k = np.arange(1, items + 1)
    theta = np.maximum(thetas, 1e-6)[:, None]  # g has a removable pole at 0, where every sign is 0
    g = k / -np.expm1(-k * theta)
    return np.where(thetas[:, None] < 1e-6, 0.0, 2 * np.diff(g, axis=1) - 1)


@cache
def mallows_law(items: int) -> tuple[FloatArray, FloatArray]:
    """A grid of thetas for `items` items and, for each, features whose inner products are the expected taus."""
    share = (items - np.arange(1, items)) / (items * (items - 1) / 2)
    dense = np.append(0.0, np.geomspace(1e-4, 60, 20_000))
    mean_sign = mallows_signs(dense, items) @ share
    thetas = np.interp(_SIGNS, mean_sign, dense)
    features = mallows_signs(thetas, items) * np.sqrt(share)
    # Six directions carry the inner products to 1e-4 even for 40 items: fewer numbers to search.
    _, _, directions = np.linalg.svd(features, full_matrices=False)
    return thetas, np.ascontiguousarray(features @ directions[:6].T)


@cache
def gaussian_law() -> FloatArray:
    """Features whose inner products are (2/pi) arcsin(a_r a_s), by Nystrom.

    Six carry it to 1e-3, and but for the strictest raters to 1e-4.
    """
    a = np.sqrt(np.sin(np.pi / 2 * _SIGNS**2))
    marks = a[::10]
    size, direction = np.linalg.eigh(np.arcsin(np.outer(marks, marks)) * 2 / np.pi)
    features = np.arcsin(np.outer(a, marks)) * 2 / np.pi @ direction[:, -6:] / np.sqrt(size[-6:])
    return np.ascontiguousarray(features)


def noise_laws(items: int) -> tuple[FloatArray, ...]:
    """The features of every law of noise that counts as one order."""
    return mallows_law(items)[1], gaussian_law()


@compiled
def fit_one_order(tau: FloatArray, prompts: FloatArray, features: FloatArray) -> tuple[IntArray, float]:
    """Grid places of the best raters under one law and the lack of fit Q, by coordinate descent from equal raters."""
    raters, width = tau.shape[0], features.shape[1]
    place = _equal_raters(tau, prompts, features)
    a, b = np.zeros((width, width)), np.zeros(width)
    stride = np.full(raters, _FARTHEST)  # as far as a rater moved last: later moves are short
    for _ in range(200):
        moved = False
        for r in range(raters):
            # The loss of rater r is f'Af - 2b'f in its own features f, the others held.
            a[:], b[:] = 0.0, 0.0
            for s in range(raters):
                n, g = prompts[r, s], place[s]
                if s != r and n > 0:
                    for i in range(width):
                        f = n * features[g, i]
                        b[i] += tau[r, s] * f
                        for j in range(width):
                            a[i, j] += f * features[g, j]
            best = _best_place(place[r], stride[r], a, b, features)
            moved = moved or best != place[r]
            far = abs(best - place[r])
            stride[r] = 1
            while stride[r] < min(far, _FARTHEST):
                stride[r] *= 2
            place[r] = best
        if not moved:
            break
    return place, _lack_of_fit(tau, prompts, features, place)


@compiled
def _equal_raters(tau: FloatArray, prompts: FloatArray, features: FloatArray) -> IntArray:
    """Everyone at the place whose tau is nearest the mean (at least .01: zero is a stationary point)."""
    total, weight = 0.0, 0.0
    for r in range(tau.shape[0]):
        for s in range(r):
            total += prompts[r, s] * tau[r, s]
            weight += prompts[r, s]
    target = max(total / weight, 0.01)
    low, near = 0, features.shape[0] - 1  # the tau of two equal raters rises along the grid
    while near - low > 1:
        middle = (low + near) // 2
        if _squared(features[middle]) < target:
            low = middle
        else:
            near = middle
    if target - _squared(features[low]) < _squared(features[near]) - target:
        near = low
    return np.full(tau.shape[0], near, dtype=np.int64)


@compiled
def _squared(f: FloatArray) -> float:
    total = 0.0
    for i in range(len(f)):
        total += f[i] * f[i]
    return total


@compiled
def _best_place(start: int, stride: int, a: FloatArray, b: FloatArray, features: FloatArray) -> int:
    """Walk down from `start` in halving steps: the curve is nearly straight, so the loss has one valley."""
    best, least = start, _loss(features, start, a, b)
    step = stride
    while step >= 1:
        walked = False
        for sign in (-1, 1):
            g = best + sign * step
            if 0 <= g < features.shape[0]:
                loss = _loss(features, g, a, b)
                if loss < least - 1e-12:
                    best, least, walked = g, loss, True
                    break
        if not walked:
            step //= 2
    return best


@compiled
def _loss(features: FloatArray, g: int, a: FloatArray, b: FloatArray) -> float:
    loss = 0.0
    for i in range(len(b)):
        row = -2 * b[i]
        for j in range(len(b)):
            row += a[i, j] * features[g, j]
        loss += features[g, i] * row
    return loss


@compiled
def _lack_of_fit(tau: FloatArray, prompts: FloatArray, features: FloatArray, place: IntArray) -> float:
    q = 0.0
    for r in range(tau.shape[0]):
        for s in range(r):
            if prompts[r, s] > 0:
                q += prompts[r, s] * (tau[r, s] - np.sum(features[place[r]] * features[place[s]])) ** 2
    return q


def one_order_test(ranks: ArrayLike, *, rng: np.random.Generator, redraws: int = 999) -> OneOrder:
    """Fit the model to strict ranks (n, R, p), -1 where a rater is absent, and test it; see the module for the law."""
    present = np.asarray(ranks)[:, :, 0] >= 0
    taus, shared = prompt_taus(ranks), shared_prompts(present)
    laws = noise_laws(np.asarray(ranks).shape[2])
    mean = taus.sum(axis=0) / np.maximum(shared, 1)
    fitted, q = fits(mean[None], shared, laws)
    drawn = fitted + redrawn_shifts(taus, present, redraws=redraws, rng=rng)
    p = float((1 + (fits(drawn, shared, laws)[1] >= q).sum()) / (1 + redraws))
    law = f"lack of fit, {redraws} redraws of prompts"
    return OneOrder(Test("one order", float(q[0]), p, law, len(present), "prompt"), fitted[0])


def fits(taus: FloatArray, shared: FloatArray, laws: tuple[FloatArray, ...]) -> tuple[FloatArray, FloatArray]:
    """Fitted taus (..., R, R) and Q of mean tau matrices, each by the noise law that comes closest to it."""
    weights = np.where(shared > 1, shared, 0.0)
    fitted, least = np.empty_like(taus), np.full(len(taus), np.inf)
    for features in laws:
        places, q = _refit(np.ascontiguousarray(taus), weights, features)
        better = q < least
        of = features[places[better]]
        fitted[better], least[better] = of @ of.transpose(0, 2, 1), q[better]
    return fitted, least


def prompt_taus(ranks: ArrayLike) -> FloatArray:
    """(n, R, R) tau of every two raters on every prompt, 0 where one of them is absent."""
    given = np.asarray(ranks)
    x, y = np.triu_indices(given.shape[2], 1)
    signs = np.sign(given[:, :, y].astype(float) - given[:, :, x])  # absent: -1 everywhere, so every sign is 0
    return np.asarray(signs @ signs.transpose(0, 2, 1) / len(x))


def redrawn_shifts(taus: FloatArray, present: BoolArray, *, redraws: int, rng: np.random.Generator) -> FloatArray:
    """(redraws, R, R) how far the mean taus move when as many prompts are drawn again, with replacement.

    Each entry is widened by sqrt(n_rs / (n_rs - 1)), so that its variance is the unbiased one; an entry with one prompt
    has no spread to draw from and stays.
    """
    prompts, raters, _ = taus.shape
    shared = shared_prompts(present)
    both = present[:, :, None] & present[:, None, :]
    away = np.where(both, taus - taus.sum(axis=0) / np.maximum(shared, 1), 0.0).reshape(prompts, -1)
    drawn = rng.multinomial(prompts, np.full(prompts, 1 / prompts), size=redraws).astype(float)
    return np.asarray((drawn @ away).reshape(redraws, raters, raters) * widening(shared))


@compiled
def _refit(taus: FloatArray, prompts: FloatArray, features: FloatArray) -> tuple[IntArray, FloatArray]:
    places, q = np.empty(taus.shape[:2], dtype=np.int64), np.empty(len(taus))
    for i in range(len(taus)):
        places[i], q[i] = fit_one_order(taus[i], prompts, features)
    return places, q


def shared_prompts(present: BoolArray) -> FloatArray:
    """(R, R) how many prompts every two raters both answered."""
    seen = present.astype(float)
    return np.ascontiguousarray(seen.T @ seen)


def widening(shared: FloatArray) -> FloatArray:
    """1 / n_rs, and the root of n_rs / (n_rs - 1) that makes a redraw's variance unbiased; 0 below two prompts."""
    return np.where(shared > 1, 1 / np.sqrt(np.maximum(shared * (shared - 1), 1)), 0.0)
