"""Ceilings inside one bucket: what can be reached on the pairs where m of R raters agreed.

Under the symmetric beta law fitted to *all* pairs (`ceilings.beta_binomial_fit`), p given the votes is
Beta(m + a, R - m + a) for the larger camp. Against the panel's majority, on such pairs,

    panel           m / R                    a rater of the panel against a majority with that rater in it
    leave one out   m / R; m / 2R for a      a rater against the majority of the others, whose ties count half
                    majority of one vote
    next rater      (m + a) / (R + 2a)       one more rater of the same population
    oracle          P(p > 1/2 | votes)       a predictor that knows every p

With the laws of p that the votes allow (`pair_law.PairLaws`) next rater and oracle also have a range over all of
them, sampling error and unknown shape together; the beta law's value is one point, moved to the nearest end where
that law does not fit. a = inf is coin flips (1/2 everywhere), a = 0 unanimous panels (1 everywhere).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betainc

from salon.errors import BadValue
from salon.stats.ceilings import Ceilings

_FLAT = 1e7


@dataclass(frozen=True, slots=True)
class BucketCeilings:
    """What can be reached where `larger` of `raters` agreed."""

    panel: float
    leave_one_out: float
    next_rater: float
    oracle: float
    next_rater_range: tuple[float, float]
    oracle_range: tuple[float, float]


def bucket_ceilings(raters: int, larger: int, of: Ceilings) -> BucketCeilings:
    """Ceilings on pairs with this split, by the law of all pairs; a tied split has no majority to meet."""
    if not raters / 2 < larger <= raters:
        raise BadValue("a split with a majority is needed", found=f"{larger} of {raters}")
    share = larger / raters
    alone = share if 2 * larger > raters + 1 else share / 2  # 2m = R + 1: each of the m faces a tie of the others
    nearest, knows = of.laws.next_rater_of(raters, larger), of.laws.oracle_of(raters, larger)
    follow, right = _beta_ceilings(raters, larger, of.fit.a)
    return BucketCeilings(share, alone, float(np.clip(follow, *nearest)), float(np.clip(right, *knows)), nearest, knows)


def _beta_ceilings(raters: int, larger: int, a: float) -> tuple[float, float]:
    """Next rater and oracle under the beta law."""
    if np.isinf(a) or a > _FLAT:
        return 0.5, 0.5
    oracle = 1.0 if a == 0 and larger == raters else float(betainc(raters - larger + a, larger + a, 0.5))
    return (larger + a) / (raters + 2 * a), oracle
