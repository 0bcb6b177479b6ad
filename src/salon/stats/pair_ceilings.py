"""What accuracy can a model reach against this panel? Buckets, ceilings and the warnings that go with them.

Data: for each item pair, k of R raters prefer the first item (R may vary by pair) and the prompt it belongs to. m =
max(k, R - k) is the size of the larger camp. Everything is a function of how many pairs have each (R, m), so the
bootstrap over prompts runs on count tables, never on rows. Pairs with fewer than two raters are left out and counted.

A model is scored against the panel's majority. A tied panel (even R) names no winner: such pairs cannot be scored and
are out of the denominator of `next_rater` and `oracle`, as they are out of a model's accuracy; `tied_share` reports
them.

* panel: mean of m/R. A rater against a majority that contains that rater (TASTE calls this leave-one-out).
* leave_one_out: a rater against the majority of the other R - 1; ties of the others count half.
* leave_one_out_dropped: the same over the judgments where the others are not tied.
* cap: 1 for each pair decided by more than one vote, 1/2 for the rest (3-2 at R = 5; 2-2 at R = 4). No bound.
* next_rater: one more rater drawn from the same population. oracle: a predictor that knows every p, the chance that a
  rater prefers the first item. Quote these two, as ranges.

R votes fix only the first R//2 even moments of the law of p, and the oracle needs more. So `next_rater_range` and
`oracle_range` hold the values over *all* laws of p that fit the observed splits best, and the intervals of
`next_rater` and `oracle` those over all laws whose expected splits lie in the joint bounds of the observed ones
(Bonferroni over splits, prompts drawn again): unknown shape and sampling error together. Their `value` is one point
of the range: that of the symmetric beta law (`beta_binomial_fit`), p given the votes being Beta(m + a, R - m + a) for
the larger camp, so that the next rater reaches the mean of (m + a)/(R + 2a) and the oracle that of P(p > 1/2 |
votes). Where the beta law does not fit the splits, its value may lie outside; then the nearest end of the range is
the value, and `beta` keeps what the beta law gives. Where every pair has p = .7 the beta oracle says .765; the truth,
.837, lies in the range.

Where all prompts agree on a share of 0 or 1 (every pair unanimous; no pair split 3-2), its interval is the exact bound
for as many prompts (`intervals`).

Sources: TASTE 7.1 for panel and cap; Williams 1975 for the beta-binomial; Lord & Cressie 1975 for the ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, NotIdentified, TooFew
from salon.stats.intervals import SHARE, check_settings, draw_totals, interval, ratio, row_kinds
from salon.stats.result import Estimate
from salon.stats.signal import SignalCells, pmax_bins
from salon.stats.vote_laws import (
    PairLaws,
    allowed_laws,
    beta_binomial_rho,
    ceiling_estimate,
    law_cells,
    leak_warnings,
    widen_to_beta,
)

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
ODDS = "pair odds"


@dataclass(frozen=True, slots=True)
class Bucket:
    """Pairs on which `larger` of `raters` agree, e.g. 4 of 5."""

    raters: int
    larger: int
    share: Estimate
    """Share among the pairs with this number of raters."""

    @property
    def name(self) -> str:
        return f"{self.larger}-{self.raters - self.larger}"


@dataclass(frozen=True, slots=True)
class BetaFit:
    """Symmetric beta law of pair probabilities. `a` is inf for coin flips, 0 for all-unanimous panels."""

    a: float
    rho: float
    """1/(2a + 1) = E(2p - 1)^2: the correlation of two raters' votes on a pair."""
    boundary: str | None
    """Words for a fit on the edge of its range, None inside."""


@dataclass(frozen=True, slots=True)
class Ceilings:
    """All ceilings of one criterion, each with its interval over prompts."""

    panel: Estimate
    leave_one_out: Estimate
    leave_one_out_dropped: Estimate
    cap: Estimate
    next_rater: Estimate
    """A point of the range, and the interval of the range."""
    oracle: Estimate
    next_rater_range: tuple[float, float]
    """Over all laws of p that fit the splits, without sampling error."""
    oracle_range: tuple[float, float]
    beta: tuple[float, float]
    """Next rater and oracle under the beta law."""
    fit: BetaFit
    laws: PairLaws
    buckets: tuple[Bucket, ...]
    pairs: int
    tied_share: float
    left_out: int
    """Pairs with fewer than two raters."""


MOST_SIZES = 12
"""Numbers of raters whose splits are shown: those with the most pairs."""


@dataclass(frozen=True, slots=True)
class VoteTable:
    """Counts of pairs by (R, m): one row per prompt, one column per cell."""

    raters: IntArray
    larger: IntArray
    counts: IntArray
    """(prompts, cells), or one row for each kind of prompt where `prompts` says how many there are of each."""
    left_out: int
    prompts: IntArray | None = None

    @property
    def n(self) -> int:
        """Number of prompts."""
        return len(self.counts) if self.prompts is None else int(self.prompts.sum())

    @property
    def total(self) -> FloatArray:
        """(cells,) pairs of all prompts."""
        weights = np.ones(len(self.counts)) if self.prompts is None else self.prompts.astype(float)
        total: FloatArray = weights @ self.counts
        return total


def vote_table(k: ArrayLike, raters: ArrayLike, prompts: ArrayLike | None = None) -> VoteTable:
    """Votes per pair as counts per prompt and (R, m). Without `prompts` every pair is its own cluster."""
    votes, size = _whole(k, "votes"), _whole(raters, "raters")
    size = np.broadcast_to(size, votes.shape)
    if (bad := np.flatnonzero((votes < 0) | (votes > size))).size:
        i = int(bad[0])
        raise BadValue("votes lie between 0 and the number of raters", found=votes[i], where=f"pair {i}")
    labels = np.arange(len(votes)) if prompts is None else np.asarray(prompts)
    if labels.shape != votes.shape:
        raise BadValue(f"one prompt for each of the {len(votes)} pairs is needed", found=f"shape {labels.shape}")
    keep = size >= 2
    if not keep.any():
        raise TooFew("ceilings need pairs with two raters or more", found=f"{len(votes)} pairs, none with two")
    left_out = int((~keep).sum())
    votes, size, labels = votes[keep], size[keep], labels[keep]
    larger = np.maximum(votes, size - votes)
    top = int(size.max()) + 1
    cells, cell = _index(size * top + larger)
    if prompts is None:  # as many kinds of clusters as cells: a table of all pairs would be pairs x cells
        kinds = np.bincount(cell, minlength=len(cells))[::-1].astype(np.int64)
        return VoteTable(cells // top, cells % top, np.eye(len(cells), dtype=np.int64)[::-1], left_out, kinds)
    distinct, row = _index(labels)
    flat = np.bincount(row * len(cells) + cell, minlength=len(distinct) * len(cells))
    return VoteTable(cells // top, cells % top, flat.reshape(len(distinct), len(cells)), left_out)


def cells_table(shapes: Sequence[SignalCells]) -> VoteTable:
    """The votes behind signal cells: a cell's p_max histogram counts its pairs by m, which is all a ceiling needs."""
    sizes = sorted({cells.raters for cells in shapes})
    raters = np.concatenate([np.full(len(pmax_bins(R)), R) for R in sizes])
    first = {R: int(np.flatnonzero(raters == R)[0]) for R in sizes}
    counts = np.zeros((sum(len(cells.counts) for cells in shapes), len(raters)), np.int64)
    row = 0
    for cells in shapes:
        block = cells.histograms
        counts[row : row + len(block), first[cells.raters] : first[cells.raters] + block.shape[1]] = block
        row += len(block)
    larger = np.concatenate([pmax_bins(R) for R in sizes])
    used = counts.any(axis=0)
    prompts = np.concatenate([cells.counts for cells in shapes])
    return VoteTable(raters[used], larger[used], counts[:, used], 0, prompts)


def ceilings(
    k: ArrayLike,
    raters: ArrayLike,
    prompts: ArrayLike,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> Ceilings:
    """All ceilings with intervals from whole prompts drawn again; see the module for definitions."""
    return table_ceilings(vote_table(k, raters, prompts), draws=draws, rng=rng, level=level)


def table_ceilings(table: VoteTable, *, draws: int, rng: np.random.Generator, level: float = 0.95) -> Ceilings:
    """`ceilings` of votes that are counted already."""
    rows, kinds = row_kinds(table.counts) if table.prompts is None else (table.counts.astype(float), table.prompts)
    n, total = table.n, table.total
    check_settings(n, draws, level)
    replicates = draw_totals(rows, kinds, draws=draws, rng=rng)

    behind: dict[bytes, int] = {}  # many shares rest on the same cells

    def estimate(statistic: Callable[[FloatArray], FloatArray], cells: FloatArray, level: float = level) -> Estimate:
        key = cells.tobytes()
        if key not in behind:
            behind[key] = _behind(table, cells)
        return _estimate(statistic, total, replicates, n=n, behind=behind[key], level=level)

    def ceiling(statistic: Callable[[VoteTable, FloatArray], FloatArray]) -> Estimate:
        return estimate(lambda t: statistic(table, t), np.ones(len(table.raters)))

    if (2 * table.larger == table.raters).all():
        raise NotIdentified(
            "accuracy against the majority needs a pair with a majority",
            found="every panel is tied",
            remedy="ask one more rater per pair: odd panels are never tied",
        )
    ranged = partial(ceiling_estimate, n=n, level=level, odds=ODDS)
    laws = _pair_laws(table, total, estimate, level)
    beta = float(next_rater(table, total[None])[0]), float(oracle(table, total[None])[0])
    next_range = widen_to_beta(laws.next_rater(sampling=False), beta[0])
    oracle_range = widen_to_beta(laws.oracle(sampling=False), beta[1])
    return Ceilings(
        panel=ceiling(panel),
        leave_one_out=ceiling(leave_one_out),
        leave_one_out_dropped=ceiling(partial(leave_one_out, drop_ties=True)),
        cap=ceiling(cap),
        next_rater=ranged(beta[0], next_range, laws.next_rater(sampling=True)),
        oracle=ranged(beta[1], oracle_range, laws.oracle(sampling=True)),
        next_rater_range=next_range,
        oracle_range=oracle_range,
        beta=beta,
        fit=beta_binomial_fit(table),
        laws=laws,
        buckets=_buckets(table, estimate),
        pairs=int(total.sum()),
        tied_share=float(total[2 * table.larger == table.raters].sum() / total.sum()),
        left_out=table.left_out,
    )


def panel(table: VoteTable, totals: FloatArray) -> FloatArray:
    """Mean of m/R for each row of totals (draws, cells)."""
    return _mean(totals, table.larger / table.raters)


def leave_one_out(table: VoteTable, totals: FloatArray, *, drop_ties: bool = False) -> FloatArray:
    """A rater against the majority of the others.

    Of the m in the larger camp each faces m - 1 against R - m others: agreement if 2m > R + 1, a tie if 2m =
    R + 1. Everyone else faces a majority of the other side.
    """
    share = table.larger / table.raters
    agree = np.where(2 * table.larger > table.raters + 1, share, 0.0)
    tie = np.where(2 * table.larger == table.raters + 1, share, 0.0)
    if drop_ties:
        return ratio(totals @ agree, totals @ (1 - tie))
    return _mean(totals, agree + tie / 2)


def cap(table: VoteTable, totals: FloatArray) -> FloatArray:
    """1 where the majority is by more than one vote, 1/2 elsewhere."""
    return _mean(totals, np.where(2 * table.larger - table.raters > 1, 1.0, 0.5))


def next_rater(table: VoteTable, totals: FloatArray) -> FloatArray:
    """Accuracy of one more rater against the majority: mean of (m + a)/(R + 2a) over pairs not tied."""
    rho = beta_binomial_rho(table.raters, table.larger, totals)[:, None]
    follows = (2 * rho * table.larger + 1 - rho) / (2 * (rho * table.raters + 1 - rho))
    return _untied_mean(table, totals, follows)


def oracle(table: VoteTable, totals: FloatArray) -> FloatArray:
    """Accuracy of a predictor that knows every p: mean of P(p > 1/2 | votes) over pairs not tied."""
    # betainc is exact enough to rho = 1e-7 (a = 5e6), where the answer is 1/2 to four digits.
    from scipy.special import betainc

    fitted = beta_binomial_rho(table.raters, table.larger, totals)[:, None]
    rho = np.clip(fitted, 1e-7, 1 - 1e-12)
    a = (1 - rho) / (2 * rho)
    knows = betainc(table.raters - table.larger + a, table.larger + a, 0.5)
    return _untied_mean(table, totals, np.where(fitted == 0, 0.5, knows))  # nothing to know about coin flips


def beta_binomial_fit(table: VoteTable) -> BetaFit:
    """The symmetric beta law by maximum likelihood; both ends of its range are answers, and are named."""
    rho = float(beta_binomial_rho(table.raters, table.larger, table.total[None])[0])
    if rho == 0:
        return BetaFit(np.inf, 0.0, "raters split at least as evenly as coin flips: a = inf, every p = 1/2")
    if rho == 1:
        return BetaFit(0.0, 1.0, "every pair is unanimous: a = 0, every p is 0 or 1")
    return BetaFit((1 - rho) / (2 * rho), rho, None)


def accuracy_warnings(accuracy: Estimate, of: Ceilings) -> list[str]:
    """Plain words for an accuracy against this panel's majority that should not be taken at its face."""
    warnings = []
    low, high = accuracy.low, accuracy.high
    if low is not None and high is not None and low <= 0.5 <= high:
        warnings.append(f"The interval {low:.3f} to {high:.3f} holds .5: no better than chance.")
    return [*warnings, *leak_warnings(accuracy, of.oracle, ODDS)]


def _buckets(
    table: VoteTable, estimate: Callable[[Callable[[FloatArray], FloatArray], FloatArray], Estimate]
) -> tuple[Bucket, ...]:
    out = []
    sizes, at = np.unique(table.raters, return_inverse=True)
    pairs = np.bincount(at, weights=table.total)
    for size in np.sort(sizes[np.argsort(-pairs, kind="stable")[:MOST_SIZES]]).tolist():
        same = (table.raters == size).astype(float)
        for m in range(size, (size - 1) // 2, -1):
            cell = same * (table.larger == m)
            out.append(Bucket(size, m, estimate(partial(_share, cell, same), same)))
    return tuple(out)


def _share(part: FloatArray, whole: FloatArray, totals: FloatArray) -> FloatArray:
    """Of cells given as ones among zeros."""
    return ratio(totals[:, part > 0].sum(axis=1), totals[:, whole > 0].sum(axis=1))


def _estimate(
    statistic: Callable[[FloatArray], FloatArray],
    total: FloatArray,
    replicates: FloatArray,
    *,
    n: int,
    behind: int,
    level: float,
) -> Estimate:
    value = float(statistic(total[None])[0])
    if n == 1:
        return Estimate(value, None, None, 1, "prompt", level, "no interval: one prompt")
    return interval(value, statistic(replicates), n=n, unit="prompt", level=level, ends=SHARE, behind=behind)


def _behind(table: VoteTable, cells: FloatArray) -> int:
    """Prompts with a pair in these cells."""
    has_pair = (table.counts[:, cells > 0] > 0).any(axis=1)
    return int(has_pair.sum() if table.prompts is None else table.prompts[has_pair].sum())


def _mean(totals: FloatArray, per_cell: FloatArray) -> FloatArray:
    return np.asarray(totals @ per_cell / totals.sum(axis=1), dtype=np.float64)


def _untied_mean(table: VoteTable, totals: FloatArray, per_cell: FloatArray) -> FloatArray:
    untied = totals * (2 * table.larger != table.raters)
    return ratio((untied * per_cell).sum(axis=1), untied.sum(axis=1))


def _pair_laws(table: VoteTable, total: FloatArray, estimate: Callable[..., Estimate], level: float) -> PairLaws:
    """All laws of p that these votes allow."""

    def share(here: FloatArray, same: FloatArray, of_cell: float) -> tuple[Estimate, int]:
        return estimate(partial(_share, here, same), same, level=of_cell), _behind(table, same)

    share_or_none = share if table.n > 1 else None
    return allowed_laws(PairLaws, law_cells(table.raters), table.raters, table.larger, total, share_or_none, level)


def _index(labels: NDArray[Any]) -> tuple[IntArray, IntArray]:
    """Distinct labels in rising order and each label's place; dense integers need no sorting."""
    if np.issubdtype(labels.dtype, np.integer):
        low, high = int(labels.min()), int(labels.max())
        if high - low <= 4 * len(labels) + 1000:
            used = np.bincount(labels - low, minlength=high - low + 1) > 0
            return np.flatnonzero(used) + low, (np.cumsum(used) - 1)[labels - low]
    distinct, index = np.unique(labels, return_inverse=True)
    return distinct, index.astype(np.int64)


def _whole(values: ArrayLike, name: str) -> IntArray:
    x = np.atleast_1d(np.asarray(values))
    if x.ndim != 1 or not np.issubdtype(x.dtype, np.number) or not np.all(np.equal(np.mod(x, 1), 0)):
        raise BadValue(f"{name} must be a list of whole numbers", found=x[:3])
    return x.astype(np.int64)


# -- ceilings of one split ---------------------------------------------------------------------------------------------


_FLATTEST = 1e7


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
    """Ceilings on pairs with this split, by the law of all pairs; a tied split has no majority to meet.

    Ceilings inside one bucket: what can be reached on the pairs where m of R raters agreed.

    Under the symmetric beta law fitted to *all* pairs (`ceilings.beta_binomial_fit`), p given the votes is
    Beta(m + a, R - m + a) for the larger camp. Against the panel's majority, on such pairs,

        panel           m / R                    a rater of the panel against a majority with that rater in it
        leave one out   m / R; m / 2R for a      a rater against the majority of the others, whose ties count half
                        majority of one vote
        next rater      (m + a) / (R + 2a)       one more rater of the same population
        oracle          P(p > 1/2 | votes)       a predictor that knows every p

    With the laws of p that the votes allow (`vote_laws.PairLaws`) next rater and oracle also have a range over all of
    them, sampling error and unknown shape together; the beta law's value is one point, moved to the nearest end where
    that law does not fit. a = inf is coin flips (1/2 everywhere), a = 0 unanimous panels (1 everywhere).
    """
    from scipy.special import betainc

    if not raters / 2 < larger <= raters:
        raise BadValue("a split with a majority is needed", found=f"{larger} of {raters}")
    share = larger / raters
    alone = share if 2 * larger > raters + 1 else share / 2  # 2m = R + 1: each of the m faces a tie of the others
    nearest, knows = of.laws.next_rater_of(raters, larger), of.laws.oracle_of(raters, larger)
    # next rater and oracle under the beta law
    a = of.fit.a
    if np.isinf(a) or a > _FLATTEST:
        follow, right = 0.5, 0.5
    else:
        oracle = 1.0 if a == 0 and larger == raters else float(betainc(raters - larger + a, larger + a, 0.5))
        follow, right = (larger + a) / (raters + 2 * a), oracle
    return BucketCeilings(share, alone, float(np.clip(follow, *nearest)), float(np.clip(right, *knows)), nearest, knows)
