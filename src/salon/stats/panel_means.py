"""Means over panels of R raters drawn from N, with errors for other raters.

theta = mean of h over panels: a U-statistic of degree R. Panels share raters, so that n panels are no n observations.
The jackknife leaves out one rater at a time: with z = h - theta and S_i the sum of z over the n_i of n panels with i,

    theta_(-i) - theta = - S_i / (n - n_i),        var = (N - 1)/N  sum_i (S_i / (n - n_i))^2.

Panels are drawn by lot, so S_i also holds noise of variance n_i (1 - n_i/n) v, v = var(z); its part is taken out, and
the noise of the mean itself, v/n, is put in. The result is never below v/n.

Assumptions: raters are a random sample; items are fixed. Edges: fewer than 2 R raters raise TooFew, as most panels then
share most of their raters. Source: Arvesen 1969 (jackknife of U-statistics); Wager, Hastie & Efron 2014 (the noise).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t

from salon.errors import BadValue, TooFew

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PanelMeans:
    """Means of several figures over panels."""

    means: FloatArray
    errors: FloatArray
    """Standard errors for other raters, the noise of drawing among them."""
    raters: int
    """Raters in at least one panel."""

    def interval(self, level: float) -> tuple[FloatArray, FloatArray]:
        """Two ends, Student's t with one degree of freedom less than there are raters."""
        half = t.ppf((1 + level) / 2, self.raters - 1) * self.errors
        return self.means - half, self.means + half


def panel_means(values: ArrayLike, raters: ArrayLike) -> PanelMeans:
    """Means of values (n, k) over panels, whose `raters` (n, R) are numbers."""
    h, panel = np.asarray(values, float), np.asarray(raters)
    if h.ndim != 2 or panel.ndim != 2 or len(h) != len(panel):
        raise BadValue("values (n, k) and raters (n, R) of the same panels are needed", found=(h.shape, panel.shape))
    _, place = np.unique(panel, return_inverse=True)
    n, R = panel.shape
    N = int(place.max(initial=-1)) + 1
    if N < 2 * R:
        raise TooFew(f"panels of {R} need {2 * R} raters or more for an error", found=N)
    means = h.mean(axis=0)
    z = h - means
    v = z.var(axis=0)
    flat = place.reshape(-1)
    met = np.bincount(flat, minlength=N)
    left = n - met
    if not left.all():
        raise TooFew("every rater must be absent from some panel", found="a rater who is in all of them")
    variance = np.empty(h.shape[1])
    for column in range(h.shape[1]):
        sums = np.bincount(flat, weights=np.repeat(z[:, column], R), minlength=N)
        noise = met * left / n * v[column]
        variance[column] = (N - 1) / N * ((sums**2 - noise) / left**2).sum()
    return PanelMeans(means, np.sqrt(np.maximum(variance, 0) + v / n), N)
