"""Has a stream moved away from a frozen reference? Tests that stay right however long one watches.

x_1..x_n is the reference, drawn before the watch began and never changed. The stream is cut into windows of m values
that do not overlap; window k is looked at once, when it is full. Look k has its own share of the level alpha:

    alpha_k = alpha / (k (k + 1)),    sum over all k = alpha

A window alarms when its p value is at most alpha_k. Whatever the dependence between looks (they share the reference),
the chance of any false alarm in an endless watch is at most alpha, by the union bound. The price is small: the distance
that alarms grows like the root of log k.

Distance and test: Kolmogorov-Smirnov, D = max |F_n - G_m|, with its exact law for n and m values. The orders of the two
samples are the C(n+m, n) lattice paths; P(D >= d) is the mass of paths that touch |i/n - j/m| >= d, summed where they
first do, so a small p is as exact as a large one. Ties make it conservative.

Beside it the population stability index over bins of the reference's quantiles,

    PSI = sum_b (q_b - p_b) log(q_b / p_b),    p_b, q_b with half a value added to each bin

It measures size, not surprise. Without drift it is about (B - 1)(1/n + 1/m) on average, which is given with it; B
counts the bins that hold values of the reference, fewer where these tie.

Assumes that values are independent draws: pictures of one prompt are not, so callers take one for each decision.

Agreement: k of m later choices fell on the model's pick, against k_0 of m_0 in the reference. One-sided exact test
(Fisher's: hypergeometric law of k given k + k_0) that it has fallen, with the same shares of the level.

Source: Kolmogorov and Smirnov; Hodges 1958 for the paths; PSI as in credit scoring; the shares are an alpha-spending
rule (Bonferroni with unequal weights).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import gcd

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew
from salon.stats.jit import compiled
from salon.stats.limits import LEAST_VALUES

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class DriftLook:
    """One window held against the reference."""

    look: int
    """1 for the first window."""
    n: int
    """Values of the window."""
    n_reference: int
    distance: float
    """D of Kolmogorov and Smirnov."""
    p: float
    level: float
    """This look's share of the whole level."""
    alarm: bool
    psi: float
    psi_expected: float
    """About what the index is without drift."""
    shift: float | None
    """Mean of the window less that of the reference, in its standard deviations; None where it has none."""


@dataclass(frozen=True)
class AgreementLook:
    """Agreement of one window with later choices, held against the reference's."""

    look: int
    agreement: float
    n: int
    reference: float
    n_reference: int
    p: float
    level: float
    alarm: bool


def look_level(alpha: float, look: int) -> float:
    """The share of `alpha` that look number `look` may use; all looks together use no more than `alpha`."""
    if not 0 < alpha < 1:
        raise BadValue("a level between 0 and 1 is needed", found=alpha)
    if look < 1:
        raise BadValue("looks are numbered from 1", found=look)
    return alpha / (look * (look + 1))


def drift_look(reference: ArrayLike, window: ArrayLike, *, look: int, alpha: float, bins: int = 10) -> DriftLook:
    """Hold a window against the reference at its share of the level."""
    x, y = _values(reference, "the reference"), _values(window, "the window")
    distance, h = ks_distance(x, y)
    p, level = ks_tail(h, len(x), len(y)), look_level(alpha, look)
    spread = float(x.std(ddof=1))
    shift = float(y.mean() - x.mean()) / spread if spread > 0 else None
    bins_used = len(np.unique(np.searchsorted(_edges(x, bins), x)))
    return DriftLook(
        look=look, n=len(y), n_reference=len(x), distance=distance, p=p, level=level, alarm=p <= level,
        psi=stability_index(x, y, bins=bins), psi_expected=(bins_used - 1) * (1 / len(x) + 1 / len(y)), shift=shift,
    )  # fmt: skip


def agreement_look(agreed: int, n: int, reference: int, n_reference: int, *, look: int, alpha: float) -> AgreementLook:
    """Has the share of later choices that fell on the model's pick fallen below the reference's?"""
    from scipy.stats import hypergeom

    for k, of in ((agreed, n), (reference, n_reference)):
        if not 0 <= k <= of or of < 1:
            raise BadValue("counts of agreement out of one choice or more are needed", found=f"{k} of {of}")
    # P(K <= agreed) where K of the n choices are among the agreed + reference that agree of all n + n_reference
    p = float(hypergeom.cdf(agreed, n + n_reference, agreed + reference, n))
    level = look_level(alpha, look)
    return AgreementLook(look, agreed / n, n, reference / n_reference, n_reference, p, level, p <= level)


def ks_distance(x: Floats, y: Floats) -> tuple[float, int]:
    """D of two samples, and the whole number h = D lcm(n, m)."""
    x, y = np.sort(x), np.sort(y)
    both = np.concatenate([x, y])
    below_x, below_y = np.searchsorted(x, both, side="right"), np.searchsorted(y, both, side="right")
    common = gcd(len(x), len(y))
    h = int(np.abs(below_x * (len(y) // common) - below_y * (len(x) // common)).max())
    return h * common / (len(x) * len(y)), h


@lru_cache(maxsize=65536)
def ks_tail(h: int, n: int, m: int) -> float:
    """P(D lcm(n, m) >= h) for two samples of n and m from one continuous law; exact."""
    common = gcd(n, m)
    return min(1.0, float(_mass_outside(h, n, m, n // common, m // common)))


@compiled
def _mass_outside(h, n, m, step_n, step_m):  # type: ignore[no-untyped-def]  # numba knows the types
    """Mass of the paths from (0, 0) to (n, m), all alike, that come to |i step_m - j step_n| >= h.

    inside[j] is the mass of paths at (i, j) that have not; a path goes on to i + 1 with chance (n-i)/(n-i+m-j).
    """
    if h <= 0:
        return 1.0
    inside = np.zeros(m + 1)
    outside = 0.0
    for i in range(n + 1):
        if i == 0:
            inside[0] = 1.0
        else:  # a step in i from (i - 1, j)
            for j in range(m + 1):
                inside[j] *= (n - i + 1) / (n - i + 1 + m - j)
        for j in range(m + 1):
            if abs(i * step_m - j * step_n) >= h:
                outside += inside[j]
                inside[j] = 0.0
            elif j < m and inside[j] > 0:  # a step in j, the rest of the mass goes on in i
                inside[j + 1] += inside[j] * (m - j) / (n - i + m - j)
    return outside


def stability_index(reference: ArrayLike, window: ArrayLike, *, bins: int = 10) -> float:
    """PSI over bins that hold equal shares of the reference; fewer bins where its values tie."""
    x, y = np.asarray(reference, np.float64), np.asarray(window, np.float64)
    if bins < 2:
        raise BadValue("two bins or more are needed", found=bins)
    edges = _edges(x, bins)
    counts = [
        np.bincount(np.searchsorted(edges, sample, side="left"), minlength=len(edges) + 1) + 0.5 for sample in (x, y)
    ]
    p, q = (sample / sample.sum() for sample in counts)
    return float(((q - p) * np.log(q / p)).sum())


def _edges(x: Floats, bins: int) -> Floats:
    """Upper ends of bins that hold equal shares of the reference, but for the last."""
    return np.asarray(np.unique(np.quantile(x, np.arange(1, bins) / bins)), np.float64)


def _values(values: ArrayLike, name: str) -> Floats:
    array = np.asarray(values, np.float64)
    if array.ndim != 1 or len(array) < LEAST_VALUES:
        raise TooFew(f"at least {LEAST_VALUES} values are needed in {name}", found=array.size)
    if not np.isfinite(array).all():
        raise BadValue(f"finite values are needed in {name}", found=f"{int((~np.isfinite(array)).sum())} that are not")
    return array
