"""Several signs of answering by chance, weighed together.

Each sign is a test of its own: a share of n hits that an honest rater reaches with chance h at worst and a coin with
chance c, or a correlation that is h at worst and c for a coin (Fisher's z, normal with variance 1 / (n - 3)). Its
weight of evidence is ln P(seen | coin) / P(seen | honest at worst); weights of independent signs add up. Of all ways to
combine them their sum finds coins most often at a given rate of false flags (Neyman and Pearson 1933): twenty gold
questions weigh more than three, where Fisher's sum of ln p takes them for equals.

The p value is the chance of this sum or a larger one for the honest rater at worst: exact up to the steps of a grid,
which are rounded in the rater's favour.

Edges. A sign on which a coin is no worse than an honest rater says nothing and is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_STEP = 0.01
_REACH = 8.0  # standard deviations of a correlation's z
_TINIEST = 1e-15  # what the convolution cannot tell from nothing


@dataclass(frozen=True, slots=True)
class Sign:
    """One sign: the weights of evidence there can be, their chances for an honest rater at worst, and what was seen."""

    weights: Floats
    chances: Floats
    seen: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """What all signs say together."""

    weight: float
    """ln of how much likelier a coin is than an honest rater at worst."""
    limit: float
    """The least weight whose p value is `alpha` or less."""
    p: float


def share_sign(hits: float, n: int, *, honest: float, coin: float) -> Sign | None:
    """`hits` of `n`; parts of a hit are rounded towards the honest rater."""
    if n == 0 or not (0 < honest < 1 and 0 < coin < 1) or abs(honest - coin) < 1e-9:
        return None
    from scipy.stats import binom  # takes a third of a second: not at the start of a studio

    count = np.arange(n + 1)
    weights = count * np.log(coin / honest) + (n - count) * np.log((1 - coin) / (1 - honest))
    seen = np.ceil(hits - 1e-9) if honest > coin else np.floor(hits + 1e-9)
    return Sign(weights, binom.pmf(count, n, honest), float(weights[int(seen)]))


def correlation_sign(r: float, n: int, *, honest: float, coin: float = 0.0) -> Sign | None:
    """A correlation `r` over `n` items."""
    if n < 4 or not -1 < coin < honest < 1:
        return None
    from scipy.stats import norm

    error = 1 / np.sqrt(n - 3)
    z, at_worst, tossed = np.arctanh([r, honest, coin])
    there = at_worst + error * np.linspace(-_REACH, _REACH, 2001)
    chances = norm.pdf(there, at_worst, error)

    def weight(z: Floats) -> Floats:
        return np.asarray(((z - at_worst) ** 2 - (z - tossed) ** 2) / (2 * error**2))

    return Sign(weight(there), chances / chances.sum(), float(weight(z)))


def weigh(signs: Sequence[Sign], *, alpha: float) -> Evidence:
    """The evidence of independent signs; of none: nothing at all."""
    from scipy.signal import fftconvolve

    law, first, seen = np.ones(1), 0, 0
    for sign in signs:
        steps = np.ceil(sign.weights / _STEP).astype(np.int64)  # up for the law, down for what was seen
        law = fftconvolve(law, np.bincount(steps - steps.min(), sign.chances))
        first += int(steps.min())
        seen += int(np.floor(sign.seen / _STEP))
    tail = np.clip(np.cumsum(law[::-1])[::-1], 0.0, 1.0)
    p = float(tail[np.clip(seen - first, 0, len(tail) - 1)])
    rare = np.flatnonzero(tail <= alpha)
    limit = first + (int(rare[0]) if len(rare) else len(tail))
    return Evidence(sum(sign.seen for sign in signs), limit * _STEP, max(p, _TINIEST))
