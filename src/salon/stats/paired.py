"""Two predictors on the same questions: is one better, or was it luck?

Data: for each question i of cluster (prompt) c a score in [0, 1] of either predictor: 1 right, 0 wrong, 1/2 undecided.

    difference = mean(first) - mean(second),   D_c = sum over c of (first - second)

* Interval: whole clusters are drawn again, both predictors together (`salon.stats.resample`). What makes a question
  hard for both cancels, so it is much narrower than two separate intervals suggest.
* p: were the predictors alike, each could have stood in the other's place, cluster by cluster: the sign of every D_c is
  a coin. p is the share of sign patterns with |sum| at least that observed, over all 2^k patterns of the k clusters
  with D_c != 0 where these are no more than `draws`, else over `draws` random ones and the observed one.

`signal_tests.holm` adjusts the p values of a family of such tests.

Edges: no question TooFew; one cluster has no interval, nor has a difference that is the same in all clusters (one of
0 among them); predictors that never differ have p = 1.

Source: Efron & Tibshirani 1993, chapter 16; Noreen 1989 for approximate randomisation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew
from salon.stats.resample import UNBOUNDED, Ends, bootstrap_totals
from salon.stats.result import Estimate

FloatArray = NDArray[np.float64]

_ROUNDING = 1e-9  # sums of halves are exact, but scores may be any numbers
_MAX_CELLS = 20_000_000


@dataclass(frozen=True, slots=True)
class Paired:
    """One predictor less another."""

    difference: Estimate
    p: float
    """Two-sided."""
    law: str
    """How p was made, in words."""
    questions: int
    first_only: int
    """Questions on which the first scored higher."""
    second_only: int
    """Questions on which the second scored higher."""


def paired_difference(
    first: ArrayLike,
    second: ArrayLike,
    clusters: ArrayLike,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
    within: Ends = UNBOUNDED,
) -> Paired:
    """Mean score of the first predictor less the second's, with interval and p; see the module.

    `within` are the ends of the scale of differences: no interval passes them.
    """
    one, other = np.asarray(first, float), np.asarray(second, float)
    labels = np.asarray(clusters)
    if not (one.shape == other.shape == labels.shape) or one.ndim != 1:
        raise BadValue(
            "two scores and a cluster for each question", found=f"{one.shape}, {other.shape}, {labels.shape}"
        )
    if not len(one):
        raise TooFew("a comparison needs a question that both answered", found="none")
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        raise BadValue("scores are finite numbers", found="NaN or infinity")
    _, row = np.unique(labels, return_inverse=True)
    apart = one - other
    sums = np.asarray(np.bincount(row, weights=apart), np.float64)
    table = np.column_stack([sums, np.bincount(row)])
    p, law = _sign_flips(sums, draws, rng)
    return Paired(
        difference=bootstrap_totals(
            lambda t: t[:, 0] / t[:, 1], table, draws=draws, rng=rng, level=level, within=within
        ),
        p=p,
        law=law,
        questions=len(one),
        first_only=int((apart > 0).sum()),
        second_only=int((apart < 0).sum()),
    )


def _sign_flips(sums: FloatArray, draws: int, rng: np.random.Generator) -> tuple[float, str]:
    moving = sums[np.abs(sums) > _ROUNDING]
    k, observed = len(moving), abs(float(moving.sum())) - _ROUNDING
    if not k:
        return 1.0, "the two never differ"
    if 2**k <= draws:
        patterns = (np.arange(2**k)[:, None] >> np.arange(k)) & 1
        extreme = np.abs((2 * patterns - 1) @ moving) >= observed
        return float(extreme.mean()), f"all {2**k} sign patterns of {k} prompts"
    hits, step = 0, max(1, _MAX_CELLS // k)
    for start in range(0, draws, step):
        signs = rng.integers(0, 2, (min(step, draws - start), k), dtype=np.int8) * 2 - 1
        hits += int((np.abs(signs @ moving) >= observed).sum())
    return (hits + 1) / (draws + 1), f"{draws} random sign patterns of {k} prompts"
