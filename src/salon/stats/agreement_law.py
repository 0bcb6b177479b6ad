"""Do raters agree more than chance? The total agreement S over prompts, and the tails of its law under random raters.

Statistic. In one prompt rater r gives the item pair (a, b) a sign s: +1 (a above b), -1 (b above a) or 0 (a tie, or not
asked). With L the sum of the signs of a pair over its raters,

    S = sum over pairs of (L^2 - sum of s^2) / 2  =  sum over pairs of raters of (concordant - discordant)

summed over prompts. For strict complete rankings S / (C(p,2) C(R,2)) is T, the mean Kendall tau of the prompt. A prompt
weighs by its pairs of votes: a prompt with many raters says more.

Null. Raters answer at random, independently of each other. Then E[S] = 0, and the law of a prompt's S is one of

    strict rankings       the exact law of T (`nulls`); for two items a binomial, for two raters Mahonian
    anything, many raters weighted chi-squares with the exact mean, variance and third cumulant (`chi_law`)
    few blocks of votes   all sign flips of whole blocks (`flip_law`)

Chi-square law. Under random relabelling of the items of an answer the covariance of its signs is alpha P1 + beta P2: P1
projects on differences of item scores (p - 1 dimensions), P2 on the rest. Here alpha (p - 1) = sum over items of
(wins - losses)^2 / p, beta C(p-1,2) = number of signs - alpha (p - 1); a strict ranking has (p+1)/3 and 1/3. Writing
e2, e3 for the elementary symmetric sums over raters, the second and third cumulants of S are

    k2 = (p-1) e2(alpha) + C(p-1,2) e2(beta),     k3 = 6 ((p-1) e3(alpha) + C(p-1,2) e3(beta))

(plus, where answers hold ties, terms of two raters in k3, which are left out). Each of the two parts becomes
w (chi2(d) - d) with w = k3 / (4 k2), d = 8 k2^3 / k3^2. As R grows this is the known limit of T.

Tails over prompts. All laws exact: convolved exactly, by a Fourier transform of the law tilted to the total seen, so
that far tails keep their digits. Otherwise the saddle-point tail of Lugannani and Rice from the sum of the cumulant
generating functions, half a lattice step corrected. Its error is measured in docs/methods/signal.md.

Source. Kendall (1938); Ehrenberg (1952); Lugannani and Rice (1980); Daniels (1987) for the lattice correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, exp, lgamma, log

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx, logsumexp

from salon.errors import BadValue
from salon.stats.nulls import Null

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SMALLEST_P = 1e-300
"""p values below are given as this: no test is that sure of its assumptions."""
_REACH = 40.0  # standard deviations of the tilted law that the Fourier transform must hold


@dataclass(frozen=True, eq=False)
class ExactLaw:
    """The law of one prompt's S: every value with the logarithm of its probability."""

    values: Ints
    log_p: Floats

    def cumulants(self, tilt: float) -> tuple[float, float, float]:
        """K, K' and K'' at `tilt`."""
        terms = self.log_p + tilt * self.values
        K = float(logsumexp(terms))
        weight = np.exp(terms - K)
        mean = float(weight @ self.values)
        return K, mean, float(weight @ (self.values - mean) ** 2)


@dataclass(frozen=True, eq=False)
class ChiLaw:
    """The law of S as a sum of w (chi2(d) - d), or of a normal where w is 0 (then d is its variance)."""

    weights: Floats
    freedom: Floats
    step: int
    """Distance of neighbouring values of S."""

    def cumulants(self, tilt: float) -> tuple[float, float, float]:
        """K, K' and K'' at `tilt`, which must stay below `largest_tilt`."""
        flat = self.weights == 0
        w, d = self.weights[~flat], self.freedom[~flat]
        variance = float(self.freedom[flat].sum())
        u = 1 - 2 * w * tilt
        K = float((d * (-0.5 * np.log(u) - w * tilt)).sum()) + variance * tilt**2 / 2
        slope = float((d * w * (1 / u - 1)).sum()) + variance * tilt
        return K, slope, float((2 * d * w**2 / u**2).sum()) + variance

    @property
    def largest_tilt(self) -> float:
        top = float(self.weights.max(initial=0.0))
        return 1 / (2 * top) if top > 0 else np.inf


Law = ExactLaw | ChiLaw
Part = tuple[Law, int]
"""A law and the number of prompts that follow it."""


@dataclass(frozen=True, slots=True)
class Tail:
    """Two tails of the total: P(S >= seen) and P(S <= seen)."""

    above: float
    below: float
    exact: bool


def total_tail(parts: Sequence[Part], total: int) -> Tail:
    """The chance that prompts of these laws give a total of at least, and at most, `total`."""
    parts = [(law, n) for law, n in parts if n]
    if not parts:
        raise BadValue("at least one prompt is needed for a tail", found="none")
    exact = [(law, n) for law, n in parts if isinstance(law, ExactLaw)]
    if len(exact) == len(parts):
        turned = [(ExactLaw(-law.values[::-1], law.log_p[::-1]), n) for law, n in exact]
        return Tail(_exact_tail(exact, total), _exact_tail(turned, -total), exact=True)
    half = max(law.step for law, _ in parts if isinstance(law, ChiLaw)) / 2 if len(exact) == 0 else 0.5
    return Tail(_saddle_tail(parts, total - half), 1 - _saddle_tail(parts, total + half), exact=False)


def critical_total(parts: Sequence[Part], level: float) -> int:
    """The smallest total whose upper tail is at most `level`."""
    high = 1
    while total_tail(parts, high).above > level:
        high *= 2
        if high > 1 << 60:
            break
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if total_tail(parts, middle).above <= level else (middle, high)
    return high


# ---------------------------------------------------------------------------------------------------- laws
def ranking_law(null: Null) -> Law:
    """The law of S for strict rankings: exact where the null is, else chi-squares."""
    if null.items == 2:
        return pair_law(null.raters)
    if null.raters == 2:
        return mahonian_law(null.items)
    if null.exact:
        mass = log(null.total)
        values = np.fromiter(null.t_counts, dtype=np.int64)
        return ExactLaw(values, np.array([log(count) - mass for count in null.t_counts.values()]))
    return strict_chi_law(null.items, null.raters)


def strict_chi_law(items: int, raters: int) -> ChiLaw:
    """The chi-square law of `raters` strict rankings of `items` items."""
    alike = np.ones(raters)
    return chi_law(items, alike * (items + 1) / 3, alike / 3, step=4 if raters % 2 else 2)


@lru_cache(maxsize=512)
def pair_law(votes: int) -> ExactLaw:
    """The law of S for one pair with this many decided votes, each a fair coin."""
    k = np.arange((votes + 1) // 2, votes + 1)
    log_ways = np.array([lgamma(votes + 1) - lgamma(v + 1) - lgamma(votes - v + 1) for v in k.tolist()])
    log_p = log_ways - votes * log(2) + np.where(2 * k == votes, 0.0, log(2))
    return ExactLaw(((2 * k - votes) ** 2 - votes) // 2, log_p)


@lru_cache(maxsize=64)
def mahonian_law(items: int) -> ExactLaw:
    """The law of S for two strict rankings: concordant minus discordant pairs of a random permutation."""
    p = np.ones(1)
    for size in range(2, items + 1):
        p = np.convolve(p, np.full(size, 1 / size))
    return ExactLaw(comb(items, 2) - 2 * np.arange(len(p))[::-1], np.log(p))


def chi_law(items: int, alpha: Floats, beta: Floats, *, step: int) -> ChiLaw:
    """Chi-squares from the two variances (R,) of each rater's signs: see the head of this module."""
    parts = [_match_part(items - 1, alpha), _match_part(comb(items - 1, 2), beta)]
    return ChiLaw(np.array([w for w, _ in parts]), np.array([d for _, d in parts]), step)


def _match_part(dimensions: int, variance: Floats) -> tuple[float, float]:
    """(w, d) from the second and third cumulant of one of the two parts."""
    s1, s2, s3 = (float((variance**power).sum()) for power in (1, 2, 3))
    e2 = (s1**2 - s2) / 2
    e3 = (s1**3 - 3 * s1 * s2 + 2 * s3) / 6
    return match_cumulants(dimensions * e2, 6 * dimensions * e3)


def match_cumulants(second: float, third: float) -> tuple[float, float]:
    """(w, d) of the w (chi2(d) - d) with these cumulants; a normal, (0, variance), where it has no skewness."""
    if second <= 0:
        return 0.0, 0.0
    w = third / (4 * second)
    if third <= 0 or w**2 < 1e-9 * second:
        return 0.0, second
    return w, second / (2 * w**2)


def sign_variances(scores: npt.NDArray[np.floating]) -> tuple[Floats, Floats]:
    """alpha and beta (N,) of answers given as scores (N, p), higher = better, equal = tie."""
    items = scores.shape[1]
    signs = np.sign(scores[:, :, None] - scores[:, None, :])
    lead = (signs.sum(axis=2) ** 2).sum(axis=1) / items
    decided = np.abs(signs).sum(axis=(1, 2)) / 2
    rest = comb(items - 1, 2)
    return lead / (items - 1), (decided - lead) / rest if rest else np.zeros(len(scores))


# --------------------------------------------------------------------------------------------------- tails
def _exact_tail(parts: Sequence[tuple[ExactLaw, int]], total: int) -> float:
    """P(S >= total) of independent prompts with exact laws."""
    lowest = sum(int(law.values.min()) * n for law, n in parts)
    highest = sum(int(law.values.max()) * n for law, n in parts)
    if total <= lowest:
        return 1.0
    if total > highest:
        return SMALLEST_P
    if total == highest:
        return _clip(exp(max(-800.0, sum(float(law.log_p[np.argmax(law.values)]) * n for law, n in parts))))
    step = int(np.gcd.reduce(np.concatenate([law.values - law.values.min() for law, _ in parts])))
    total_index = -(-(total - lowest) // step)  # in steps above the lowest total
    tilt = _solve(parts, max(float(total), (_sum(parts, 0.0)[1])), np.inf)
    K, _, variance = _sum(parts, tilt)
    size = (highest - lowest) // step + 1
    reach = int(_REACH * np.sqrt(variance) / step) + 64
    length = 1 << int(np.ceil(np.log2(min(size, 2 * reach))))
    spectrum = np.ones(length // 2 + 1, dtype=np.complex128)
    for law, n in parts:
        own, _, _ = law.cumulants(tilt)
        folded = np.zeros(length)
        places = (law.values - int(law.values.min())) // step
        np.add.at(folded, places % length, np.exp(law.log_p + tilt * law.values - own))
        spectrum *= np.fft.rfft(folded) ** n
    tilted = np.maximum(np.fft.irfft(spectrum, length), 0.0)
    first = total_index if size <= length else int(total_index - min(total_index, length // 2))
    places = np.arange(first, min(first + length, size)) if size > length else np.arange(size)
    beyond = places[places >= total_index]
    logs = K - tilt * (lowest + beyond * float(step))
    top = float(logs.max())
    return _clip(float((tilted[beyond % length] * np.exp(logs - top)).sum()) * exp(max(top, -740.0)))


def _saddle_tail(parts: Sequence[Part], x: float) -> float:
    """P(S > x) by Lugannani and Rice."""
    limit = min((law.largest_tilt for law, _ in parts if isinstance(law, ChiLaw)), default=np.inf)
    lowest = _lowest(parts)
    if x <= lowest:
        return 1.0
    _, _, spread = _sum(parts, 0.0)
    if abs(x) < 1e-4 * np.sqrt(spread):
        tilt = 1e-4 / np.sqrt(spread)
        _, x, _ = _sum(parts, tilt)
    tilt = _solve(parts, x, limit)
    K, _, variance = _sum(parts, tilt)
    w = np.sign(tilt) * np.sqrt(max(0.0, 2 * (tilt * x - K)))
    u = tilt * np.sqrt(variance)
    if w > 0:
        mills = float(erfcx(w / np.sqrt(2))) * np.sqrt(np.pi / 2)
        scale = mills + 1 / u - 1 / w
        return _clip(exp(max(-w * w / 2, -740.0)) / np.sqrt(2 * np.pi) * max(scale, 0.0))
    mills = float(erfcx(-w / np.sqrt(2))) * np.sqrt(np.pi / 2)
    below = exp(max(-w * w / 2, -740.0)) / np.sqrt(2 * np.pi) * max(mills - 1 / u + 1 / w, 0.0)
    return _clip(1 - below)


def _lowest(parts: Sequence[Part]) -> float:
    """The lower end of the total; minus infinity with a normal part."""
    low = 0.0
    for law, n in parts:
        if isinstance(law, ExactLaw):
            low += n * float(law.values.min())
        elif ((law.weights == 0) & (law.freedom > 0)).any():
            return -np.inf
        else:
            low -= n * float((law.weights * law.freedom).sum())
    return low


def _sum(parts: Sequence[Part], tilt: float) -> tuple[float, float, float]:
    each = np.array([law.cumulants(tilt) for law, _ in parts])
    K, slope, variance = np.array([n for _, n in parts], float) @ each
    return float(K), float(slope), float(variance)


def _solve(parts: Sequence[Part], x: float, limit: float) -> float:
    """The tilt under which the mean total is x: Newton's method between two ends, the variance being the slope."""
    _, mean, variance = _sum(parts, 0.0)
    if abs(x - mean) <= 1e-12 * np.sqrt(variance):
        return 0.0
    widest = max((float(np.ptp(law.values)) for law, _ in parts if isinstance(law, ExactLaw)), default=1.0)
    side = 1.0 if x > mean else -1.0
    edge = side / np.sqrt(variance)
    for _ in range(200):
        edge = min(edge, limit * (1 - 1e-12)) if side > 0 and np.isfinite(limit) else edge
        if side * (_sum(parts, edge)[1] - x) >= 0:
            break
        if side > 0 and np.isfinite(limit) and edge > limit * 0.4:
            edge = limit - (limit - edge) / 4
        else:
            edge *= 2
        if abs(edge) > 700 / max(1.0, widest) * 50:  # an end of the support: no larger tilt is needed
            return float(edge)
    low, high = min(0.0, edge), max(0.0, edge)
    tilt = (low + high) / 2
    for _ in range(200):
        _, mean, variance = _sum(parts, tilt)
        low, high = (low, tilt) if mean > x else (tilt, high)
        step = (x - mean) / variance if variance > 0 else np.inf
        before, tilt = tilt, tilt + step if low <= tilt + step <= high else (low + high) / 2
        if abs(tilt - before) <= 1e-15 + 1e-13 * abs(tilt):
            break
    return float(tilt)


def _clip(p: float) -> float:
    return float(min(1.0, max(p, SMALLEST_P)))
