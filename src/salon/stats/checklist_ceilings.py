"""What could one more person reach against a panel's ticks? Agreement of people on yes-or-no points, and ceilings.

Data: for each tick (a point of an item) k of R people say yes, and the prompt it belongs to. Ticks with fewer than two
answers tell nothing of agreement: they are left out and counted. Everything is a function of how many ticks have each
(R, k), so prompts are drawn again on count tables.

    pi      sum k / sum R: the share of yes                     q       sum k(k-1) / sum R(R-1): two people both say yes
    two people   1 - 2(pi - q): chance that two of them agree   kappa   (q - pi^2)/(pi(1 - pi))

kappa is the correlation rho of two people's answers to a tick; with equal R it is Fleiss' kappa. A judge is scored
against the majority, on ticks that have one:

    next rater   accuracy of one more person        oracle   accuracy of one who knows every p, the chance of a yes

R answers fix only the first R moments of the law of p, and the oracle needs more. So `next_rater_range` and
`oracle_range` hold the values over *all* laws of p that fit the observed counts of yes best, and the intervals of
`next_rater` and `oracle` those over all laws that fit them within their joint intervals over prompts
(`vote_laws.allowed_laws`).
Their `value` is one point of the range, that of a beta law. Points are not symmetric as pairs are, so the law has its
own mean: p ~ Beta(a, b) with a = pi (1 - rho)/rho and b = (1 - pi)(1 - rho)/rho, from the two moments above. After k of
R it is Beta(k + a, R - k + b); where yes leads, one more person says so with (k + a)/(R + a + b) and the oracle with
P(p > 1/2 | k, R). Where that law does not fit, the nearest end of the range is the value, and `beta` keeps the law's.

Edges: rho is held in [0, 1]; at 0 everybody is a coin that says yes with chance pi, at 1 every panel is unanimous.
Where all say the same there is no kappa, and the beta law has one more person say so too.

Sources: Fleiss 1971; Williams 1975 for the beta-binomial; Lord & Cressie 1975 for the ranges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, NotIdentified, TooFew
from salon.stats.intervals import SHARE, check_settings, interval, ratio
from salon.stats.judge_rates import draw_prompt_totals
from salon.stats.result import Estimate
from salon.stats.vote_laws import TickLaws, allowed_laws, ceiling_estimate, law_cells, widen_to_beta

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Statistic = Callable[[FloatArray], FloatArray]
TICK_ODDS = "the odds of ticks"
_SMALLEST = 1e-7
"""Of rho, and of a beta law's parameters, where the incomplete beta function is still exact."""


@dataclass(frozen=True, slots=True)
class TickCeilings:
    """How far people agree on ticks, and how good one more of them would be."""

    two_people: Estimate
    kappa: Estimate | None
    """None where all people always say the same."""
    next_rater: Estimate
    """A point of the range, and the interval of the range."""
    oracle: Estimate
    next_rater_range: tuple[float, float]
    """Over all laws of p that fit the answers, without sampling error."""
    oracle_range: tuple[float, float]
    beta: tuple[float, float]
    """Next rater and oracle under the beta law."""
    ticks: int
    tied: int
    left_out: int
    """Ticks with fewer than two answers."""


@dataclass(frozen=True, slots=True)
class TickVotes:
    """Counts of ticks by (R, k)."""

    raters: IntArray
    yes: IntArray
    counts: IntArray
    """(prompts, cells)"""

    @property
    def untied(self) -> NDArray[np.bool_]:
        """Cells with a majority."""
        return np.asarray(2 * self.yes != self.raters)


def tick_ceilings(
    yes: ArrayLike,
    raters: ArrayLike,
    prompts: ArrayLike,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> TickCeilings:
    """Agreement and ceilings with intervals from whole prompts drawn again; see the module for definitions."""
    k, size, labels = (np.atleast_1d(np.asarray(values)) for values in (yes, raters, prompts))
    if not k.shape == size.shape == labels.shape:
        raise BadValue("yes, raters and prompts of every tick", found=f"shapes {k.shape}, {size.shape}, {labels.shape}")
    if ((k < 0) | (k > size)).any():
        raise BadValue("yes lies between 0 and the number of raters", found=k[(k < 0) | (k > size)][0])
    keep = size >= 2
    if not keep.any():
        raise TooFew("ceilings need a point with two answers or more", found=f"{len(k)} points, none with two")
    votes = _count_ticks(k[keep].astype(np.int64), size[keep].astype(np.int64), labels[keep])
    if not votes.untied.any():
        raise NotIdentified(
            "accuracy against the majority needs a point with a majority",
            found="every panel is evenly split",
            remedy="ask one more rater: odd panels are never split evenly",
        )
    check_settings(len(votes.counts), draws, level)
    replicates = draw_prompt_totals(votes.counts, draws, rng)
    n, total = len(votes.counts), votes.counts.sum(axis=0)
    both = total[None].astype(float)
    beta = float(_tick_next_rater(votes, both)[0]), float(_tick_oracle(votes, both)[0])
    laws = _tick_laws(votes, replicates, level)
    next_range = widen_to_beta(laws.next_rater(sampling=False), beta[0])
    oracle_range = widen_to_beta(laws.oracle(sampling=False), beta[1])
    ranged = partial(ceiling_estimate, n=n, level=level, odds=TICK_ODDS)
    kappa = float(_people_kappa(votes, both)[0])
    return TickCeilings(
        two_people=_tick_estimate(partial(_two_people, votes), votes, replicates, level, ends=SHARE),
        kappa=None if np.isnan(kappa) else _tick_estimate(partial(_people_kappa, votes), votes, replicates, level),
        next_rater=ranged(beta[0], next_range, laws.next_rater(sampling=True)),
        oracle=ranged(beta[1], oracle_range, laws.oracle(sampling=True)),
        next_rater_range=next_range,
        oracle_range=oracle_range,
        beta=beta,
        ticks=int(total.sum()),
        tied=int(total[~votes.untied].sum()),
        left_out=int((~keep).sum()),
    )


def _count_ticks(k: IntArray, size: IntArray, labels: NDArray[np.generic]) -> TickVotes:
    top = int(size.max()) + 1
    cells, cell = np.unique(size * top + k, return_inverse=True)
    distinct, row = np.unique(labels, return_inverse=True)
    flat = np.bincount(row * len(cells) + cell, minlength=len(distinct) * len(cells))
    return TickVotes(cells // top, cells % top, flat.reshape(len(distinct), len(cells)))


# -- the statistics, as functions of totals (draws, cells) -------------------------------------------------------------


def _tick_moments(votes: TickVotes, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """pi and q."""
    R, k = votes.raters, votes.yes
    return ratio(t @ k, t @ R), ratio(t @ (k * (k - 1)), t @ (R * (R - 1)))


def _two_people(votes: TickVotes, t: FloatArray) -> FloatArray:
    R, k = votes.raters, votes.yes
    return ratio(t @ (k * (k - 1) + (R - k) * (R - k - 1)), t @ (R * (R - 1)))


def _people_kappa(votes: TickVotes, t: FloatArray) -> FloatArray:
    pi, q = _tick_moments(votes, t)
    return ratio(q - pi**2, pi * (1 - pi))


def _tick_beta(votes: TickVotes, t: FloatArray) -> tuple[FloatArray, FloatArray]:
    """pi and rho as columns; rho in [0, 1], and 0 where all say the same, which gives them all pi."""
    rho = np.clip(np.nan_to_num(_people_kappa(votes, t), nan=0.0), 0.0, 1.0)
    return _tick_moments(votes, t)[0][:, None], rho[:, None]


def _tick_next_rater(votes: TickVotes, t: FloatArray) -> FloatArray:
    pi, rho = _tick_beta(votes, t)
    says_yes = (rho * votes.yes + pi * (1 - rho)) / (rho * votes.raters + 1 - rho)
    return _follows(votes, t, says_yes)


def _tick_oracle(votes: TickVotes, t: FloatArray) -> FloatArray:
    from scipy.special import betainc

    pi, rho = _tick_beta(votes, t)
    rho = np.clip(rho, _SMALLEST, 1 - _SMALLEST)
    a, b = (np.maximum(share * (1 - rho) / rho, _SMALLEST) for share in (pi, 1 - pi))
    return _follows(votes, t, betainc(votes.raters - votes.yes + b, votes.yes + a, 0.5))


def _follows(votes: TickVotes, t: FloatArray, says_yes: FloatArray) -> FloatArray:
    """Mean over the ticks with a majority of the chance of what it says."""
    chance = np.where(2 * votes.yes > votes.raters, says_yes, 1 - says_yes)
    untied = t * votes.untied
    return ratio((untied * chance).sum(axis=1), untied.sum(axis=1))


def _tick_laws(votes: TickVotes, replicates: FloatArray, level: float) -> TickLaws:
    """All laws of p that these answers allow."""

    def share(here: FloatArray, same: FloatArray, of_cell: float) -> tuple[Estimate, int]:
        behind = int((votes.counts @ same > 0).sum())
        of = partial(_tick_share, here, same)
        return _tick_estimate(of, votes, replicates, of_cell, ends=SHARE, behind=behind), behind

    cells, total = law_cells(votes.raters, sided=True), votes.counts.sum(axis=0).astype(float)
    share_or_none = share if len(votes.counts) > 1 else None
    return allowed_laws(TickLaws, cells, votes.raters, votes.yes, total, share_or_none, level)


def _tick_share(here: FloatArray, same: FloatArray, t: FloatArray) -> FloatArray:
    return ratio(t @ here, t @ same)


def _tick_estimate(
    of: Statistic,
    votes: TickVotes,
    replicates: FloatArray,
    level: float,
    *,
    ends: tuple[float, float] | None = None,
    behind: int | None = None,
) -> Estimate:
    n, total = len(votes.counts), votes.counts.sum(axis=0, keepdims=True).astype(float)
    value = float(of(total)[0])
    if n == 1:
        return Estimate(value, None, None, 1, "prompt", level, "no interval: one prompt")
    return interval(value, of(replicates), n=n, unit="prompt", level=level, ends=ends, behind=behind)
