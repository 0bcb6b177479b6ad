"""Plackett-Luce: scores of items from rankings, full or partial, of any lengths.

Model. A rater who orders a set of items picks the best, then the best of those left, and so on; among the items
S still there item i is picked with probability exp(q_i) / sum over j in S of exp(q_j). A ranking of k items has

    log P = sum over places s = 1..k-1 of  q_(s) - log sum over t >= s of exp(q_(t))

and two-item rankings are Bradley-Terry. q is on the logit scale, centred to mean 0.

A ranking lists the items that were ranked *among themselves*. Items that it leaves out say nothing: ranking 4 of
1,000 items does not mean that the other 996 are worse. The best k chosen out of a larger set shown is another kind
of answer (its last place still beats the rest of the set) and must not be passed as a ranking of k.

Equal ranks. The log-likelihood of a ranking with ties is the *average over the strict orders that agree with it*
(see `Runs` for four or more tied items). For two items this is half a win each, as in the pair
models here. A tie so counts as evidence that items are close; if ties are only orders not told, differences come
out too small, but less so than with Breslow's or Efron's denominators, which count a tied pair as a win and a loss.

Fit. The log-likelihood is concave in q: Newton's method with halved steps from q = 0. `prior` is the standard
deviation of independent normal priors N(0, prior^2) and turns maximum likelihood into the posterior mode.
Maximum likelihood exists and is unique exactly when the graph "ranked directly above" is strongly connected
(Hunter 2004); otherwise NotIdentified names the items.

Errors. The pairs that a ranking implies are not independent: taking them so (rank breaking) makes intervals too
narrow. `ranking_errors` is the sandwich H^-1 S'S H^-1 C/(C-1) over C independent clusters, by default every
ranking for itself; give the rater or the prompt of each ranking where rankings share one. A row of weight w is one
unit, not w. Quantiles: Student's t with C - 1 degrees of freedom. A prior adds its precision to H; its pull towards
0 is not in these errors, but in those of `ranking_model_errors`, the spread of the posterior.

Sources: Plackett 1975; Luce 1959; Hunter 2004 (MM algorithms for generalized Bradley-Terry models).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, NotConverged, TooFew
from salon.stats.comparison_graph import check_identified
from salon.stats.comparisons import count_pairs
from salon.stats.jit import compiled
from salon.stats.pair_errors import Errors
from salon.stats.pair_fit import Convergence
from salon.stats.pair_models import DENSE_ITEMS

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_NOTHING = 1e-10  # a variance this small beside the Hessian's is rounding
_DENSE = 500  # items up to which Newton's equations are solved by Cholesky, above by conjugate gradients


@dataclass(frozen=True, slots=True)
class RankFit:
    """Plackett-Luce scores."""

    scores: Floats
    """(items,), logits, mean 0."""
    log_likelihood: float
    convergence: Convergence
    prior: float | None
    """Standard deviation of the normal prior; None: maximum likelihood."""
    ties: int
    """Neighbours of equal rank, over all rankings."""
    runs: Runs
    """The rankings as stages, for `ranking_errors`."""


def fit_rankings(
    offsets: ArrayLike,
    items_flat: ArrayLike,
    ranks_flat: ArrayLike,
    items: int,
    *,
    prior: float | None = None,
    weight: ArrayLike | None = None,
    tolerance: float = 1e-9,
    max_iterations: int = 100,
) -> RankFit:
    """Scores from rankings: ranking r holds entries offsets[r]..offsets[r+1], best first, equal ranks tied.

    `tolerance` bounds the slope in each score, divided by the weight of the rankings that hold the item.
    """
    starts, entry, ranks = _check_rankings(offsets, items_flat, ranks_flat, items)
    rankings = len(starts) - 1
    if weight is None:
        weights = np.ones(rankings)
    else:
        weights = np.asarray(weight, dtype=np.float64)
        if weights.shape != (rankings,):
            raise BadValue("one weight for each ranking is needed", found=f"{weights.size} for {rankings} rankings")
        if not (np.isfinite(weights) & (weights > 0)).all():
            raise BadValue("weights are finite and above 0", found=weights[~(np.isfinite(weights) & (weights > 0))][0])
    if prior is not None and not (np.isfinite(prior) and prior > 0):
        raise BadValue("the standard deviation of a prior is a positive number", found=prior, remedy="--prior 3")
    # every entry against the next one of the same ranking: all that identification needs to know
    inside = np.ones(len(ranks), dtype=np.bool_)
    inside[starts[1:] - 1] = False
    at = np.flatnonzero(inside)
    outcome = np.where(ranks[at] == ranks[at + 1], 2, 0)
    neighbors = count_pairs(entry[at], entry[at + 1], outcome, items)
    check_identified(neighbors, tie_parameter=False, prior=prior is not None, anchored=np.empty(0, np.int64))
    runs = runs_of_rankings(starts, entry, ranks, items, weights)
    scores, value, convergence = _newton(runs, prior, tolerance, max_iterations)
    return RankFit(scores, value, convergence, prior, int(neighbors.ties.sum()), runs)


def ranking_errors(fit: RankFit, *, cluster: ArrayLike | None = None) -> Errors:
    """Sandwich errors of the centred scores; rankings of one `cluster` (rater, prompt) may depend on each other."""
    from scipy.sparse import csr_array

    if fit.runs.items > DENSE_ITEMS:
        raise BadValue(f"errors of rankings take at most {DENSE_ITEMS:,} items", found=f"{fit.runs.items:,}")
    rankings = int(fit.runs.owner[-1]) + 1
    if cluster is None:
        labels = np.arange(rankings)
    else:
        labels = np.asarray(cluster)
        if labels.shape != (rankings,):
            raise BadValue("one cluster for each ranking is needed", found=f"{labels.size} for {rankings} rankings")
        labels = np.asarray(np.unique(labels, return_inverse=True)[1], dtype=np.int64)
    count = int(labels.max()) + 1
    if count < 2:
        raise TooFew("errors need at least 2 independent clusters of rankings", found=count)
    # S (clusters, items): slopes summed over the rankings of each cluster
    _, slope = fit.runs.slopes(fit.scores)
    row = labels[np.repeat(fit.runs.owner, np.diff(fit.runs.offsets))]
    sums = csr_array((slope, (row, fit.runs.entry)), shape=(count, fit.runs.items))
    sums.sum_duplicates()
    # An item whose rankings all lie in one cluster has slope 0 there: its error would come out far too small.
    alone = np.flatnonzero(np.bincount(sums.indices, minlength=sums.shape[1]) == 1)
    if alone.size:
        raise TooFew(
            "errors need every item in at least 2 independent clusters of rankings",
            found=f"items in one cluster: {', '.join(map(str, alone[:8]))}" + (" ..." if alone.size > 8 else ""),
            remedy="cluster by rater instead of prompt, or leave these items out",
        )
    bread = _centred_inverse(_curvature(fit.runs, fit.scores, fit.prior))
    covariance = bread @ _squares(sums) @ bread.T * (count / (count - 1))
    if (np.diag(covariance) <= _NOTHING * np.diag(bread)).any():
        raise TooFew("an error needs rankings that vary", found="no spread at all in the places of some items")
    unit = "rankings" if cluster is None else "clusters of rankings"
    return Errors(np.sqrt(np.diag(covariance)), covariance, count - 1.0, f"sandwich over {count} {unit}")


def ranking_model_errors(fit: RankFit) -> Errors:
    """The inverse information: right when the model is; with a prior, the posterior's spread (Laplace)."""
    half = _centred_inverse(_curvature(fit.runs, fit.scores, fit.prior))
    covariance = half - half.mean(axis=1)[:, None]
    return Errors(np.sqrt(np.diag(covariance)), (covariance + covariance.T) / 2, np.inf, "inverse Hessian")


def _newton(runs: Runs, prior: float | None, tolerance: float, limit: int) -> tuple[Floats, float, Convergence]:
    precision = 0.0 if prior is None else prior**-2
    weight = runs.seen() + precision
    q = np.zeros(runs.items)
    likelihood, slope = runs.slopes(q)
    for iteration in range(limit):
        gradient = runs.gradient(slope) - precision * q
        steepest = float(np.max(np.abs(gradient) / weight))
        if steepest <= tolerance:
            return q - q.mean(), likelihood, Convergence("newton", iteration, steepest, tolerance)
        step = _newton_step(runs, q, gradient, prior)
        value = likelihood - precision / 2 * (q @ q)
        for halving in range(60):
            trial = q + step * 0.5**halving
            likelihood, slope = runs.slopes(trial)
            # Near the top a step may change the value by less than its rounding error.
            if likelihood - precision / 2 * (trial @ trial) >= value - 1e-12 * abs(value):
                break
        q = trial
    raise NotConverged(
        f"Newton's method for Plackett-Luce did not settle in {limit} steps",
        found=f"largest slope {steepest:.2g}, wanted {tolerance:.2g}",
        remedy="give a prior (--prior 3), or raise max_iterations",
    )


def _newton_step(runs: Runs, q: Floats, gradient: Floats, prior: float | None) -> Floats:
    from scipy.linalg import cho_factor, cho_solve
    from scipy.sparse.linalg import LinearOperator, cg

    if runs.items <= _DENSE:
        return np.asarray(cho_solve(cho_factor(_curvature(runs, q, prior)), gradient))
    precision = 0.0 if prior is None else prior**-2
    diagonal = runs.information_diagonal(q) + precision
    size = (runs.items, runs.items)
    matrix = LinearOperator(size, matvec=lambda v: runs.information_times(q, v) + precision * v, dtype=np.float64)
    jacobi = LinearOperator(size, matvec=lambda v: v / diagonal, dtype=np.float64)
    step, _ = cg(matrix, gradient, rtol=1e-6, M=jacobi)  # a rough step is still a step uphill
    return np.asarray(step)


def _curvature(runs: Runs, q: Floats, prior: float | None) -> Floats:
    """Information of the log-posterior; without a prior the free common shift is held by a ridge along (1..1)."""
    matrix = runs.information(q)
    if prior is None:
        return np.asarray(matrix + matrix.trace() / runs.items**2)
    return np.asarray(matrix + prior**-2 * np.eye(runs.items))


def _centred_inverse(matrix: Floats) -> Floats:
    from scipy.linalg import cho_factor, cho_solve

    inverse = cho_solve(cho_factor(matrix), np.eye(len(matrix)))
    return np.asarray(inverse - inverse.mean(axis=0))  # errors of q_i - mean(q)


def _squares(sums: csr_array) -> Floats:
    """S'S about the mean cluster, which is 0 without a prior."""
    total = np.asarray(sums.sum(axis=0)).ravel()
    crowded = sums.nnz > 0.05 * sums.shape[0] * sums.shape[1]
    dense = sums.toarray() if crowded else sums
    squares = dense.T @ dense
    return np.asarray((squares if crowded else squares.toarray()) - np.outer(total, total) / sums.shape[0])


def _check_rankings(
    offsets: ArrayLike, entry: ArrayLike, ranks: ArrayLike, items: int
) -> tuple[Ints, Ints, NDArray[np.generic]]:
    starts, flat, places = np.asarray(offsets, np.int64), np.asarray(entry, np.int64), np.asarray(ranks)
    if items < 2 or len(starts) < 2:
        raise TooFew("at least 2 items and 1 ranking are needed", found=f"{items} items, {len(starts) - 1} rankings")
    if flat.shape != places.shape or starts[0] != 0 or starts[-1] != len(flat):
        raise BadValue("offsets run from 0 to the number of entries, each an item and its rank", found=starts[-1])
    lengths = np.diff(starts)
    if lengths.min() < 2:
        raise BadValue("a ranking needs at least 2 items", found=int(lengths.min()), where=_where(lengths < 2))
    if flat.min() < 0 or flat.max() >= items:
        raise BadValue(f"items are numbered 0 to {items - 1}", found=flat[(flat < 0) | (flat >= items)][0])
    owner = np.repeat(np.arange(len(lengths)), lengths)
    falls = ~(np.diff(places) >= 0) & (np.diff(owner) == 0)  # NaN falls too
    if falls.any():
        raise BadValue("ranks never decrease: items stand best first", where=_where(falls, owner))
    keys = np.sort(owner * items + flat)
    if (twice := np.diff(keys) == 0).any():
        raise BadValue("a ranking may name an item only once", where=_where(twice, keys // items))
    return starts, flat, places


def _where(wrong: NDArray[np.bool_], owner: Ints | None = None) -> str:
    at = int(np.argmax(wrong))
    return f"ranking {at if owner is None else int(owner[at])}"


# -- rankings as stages ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Runs:
    """Rankings as runs of stages.

    Rankings cut into stages, and compiled passes over them: likelihood, slopes and information of Plackett-Luce.

    A *run* is a list of items of which the first `stages` are chosen one after the other, each from itself and all
    items behind it. A ranking without ties is one run. Equal ranks become several runs of equal weight: tied items in
    every order (two or three of them), or in 2d balanced orders (d >= 4), followed by the items ranked lower. The
    balanced orders are the d rotations of one shuffled order and the d of its reverse: every item takes every place
    equally often and every pair stands both ways equally often, so the first two stages and the last are averaged
    exactly, the stages between over d of the possible sets of items left. The shuffle is fixed (the same data give the
    same fit) and differs from ranking to ranking, so that the order in which tied items happen to be listed carries no
    weight.

    Letters: e_i = exp(q_i), D_s = sum of e over the items left at stage s, A1 = sum of 1/D and A2 = sum of 1/D^2 over
    the stages that item i took part in. Then for one run of weight w

        log-likelihood  sum_s (q_s - log D_s)
        slope           [i was chosen] - e_i A1
        information     e_i A1 [i = j] - e_i e_j A2(the stages of both)
    """

    items: int
    offsets: Ints
    """(runs + 1,): run s holds the entries offsets[s]..offsets[s + 1] of `entry`."""
    entry: Ints
    stages: Ints
    weight: Floats
    owner: Ints
    """The ranking that each run comes from."""

    def slopes(self, q: Floats) -> tuple[float, Floats]:
        """Log-likelihood, and the slope that each entry adds to its item."""
        shifted = q - q.max()
        slope = np.empty(len(self.entry))
        value = _stage_slopes(shifted, np.exp(shifted), self.offsets, self.entry, self.stages, self.weight, slope)
        return float(value), slope

    def gradient(self, slope: Floats) -> Floats:
        """The slopes of entries summed over items."""
        return np.bincount(self.entry, weights=slope, minlength=self.items).astype(np.float64)

    def seen(self) -> Floats:
        """The weight of the runs that hold each item."""
        weight = np.repeat(self.weight, np.diff(self.offsets))
        return np.bincount(self.entry, weights=weight, minlength=self.items).astype(np.float64)

    def information(self, q: Floats) -> Floats:
        """Minus the second derivatives of the log-likelihood, (items, items)."""
        matrix = np.zeros((self.items, self.items))
        _information(np.exp(q - q.max()), self.offsets, self.entry, self.stages, self.weight, matrix)
        return matrix + np.triu(matrix, 1).T

    def information_diagonal(self, q: Floats) -> Floats:
        """The diagonal of `information`."""
        diagonal = np.zeros(self.items)
        _diagonal(np.exp(q - q.max()), self.offsets, self.entry, self.stages, self.weight, diagonal)
        return diagonal

    def information_times(self, q: Floats, v: Floats) -> Floats:
        """`information` @ v without the matrix."""
        product = np.zeros(self.items)
        _product(np.exp(q - q.max()), v, self.offsets, self.entry, self.stages, self.weight, product)
        return product


def runs_of_rankings(offsets: Ints, entry: Ints, ranks: NDArray[np.generic], items: int, weight: Floats) -> Runs:
    """Cut checked rankings (best first, equal ranks tied) into runs."""
    runs, entries = _runs_needed(offsets, ranks)
    stages = Runs(
        items=items,
        offsets=np.zeros(runs + 1, np.int64),
        entry=np.empty(entries, np.int64),
        stages=np.empty(runs, np.int64),
        weight=np.empty(runs),
        owner=np.empty(runs, np.int64),
    )
    _fill_runs(offsets, entry, ranks, weight, stages.offsets, stages.entry, stages.stages, stages.weight, stages.owner)
    return stages


@compiled
def _orders(tied: int) -> int:
    """How many orders of tied items are averaged: all of them up to three."""
    return tied if tied < 3 else 2 * tied


@compiled
def _block_end(ranks: NDArray[np.generic], start: int, stop: int) -> int:
    """The end of the next block: all items tied with the first, or all untied items before the next tie."""
    end = start + 1
    if end < stop and ranks[end] == ranks[start]:
        while end < stop and ranks[end] == ranks[start]:
            end += 1
        return end
    while end < stop and not (end + 1 < stop and ranks[end + 1] == ranks[end]):
        end += 1
    return end


@compiled
def _is_tied(ranks: NDArray[np.generic], start: int, end: int) -> bool:
    return end - start > 1 and ranks[start] == ranks[start + 1]


@compiled
def _runs_needed(offsets: Ints, ranks: NDArray[np.generic]) -> tuple[int, int]:
    runs, entries = 0, 0
    for r in range(len(offsets) - 1):
        start, stop = offsets[r], offsets[r + 1]
        while start < stop - 1:  # a single item left over is no choice
            end = _block_end(ranks, start, stop)
            orders = _orders(end - start) if _is_tied(ranks, start, end) else 1
            runs += orders
            entries += orders * (stop - start)
            start = end
    return runs, entries


@compiled
def _shuffled(entry: Ints, start: int, end: int, state: int) -> tuple[Ints, int]:
    """The tied items in a fixed pseudo-random order (Park & Miller's generator), and its next state."""
    block = entry[start:end].copy()
    for t in range(len(block) - 1, 0, -1):
        state = state * 48271 % 2147483647
        k = state % (t + 1)
        block[t], block[k] = block[k], block[t]
    return block, state


@compiled
def _fill_runs(
    offsets: Ints,
    entry: Ints,
    ranks: NDArray[np.generic],
    weight: Floats,
    run_offsets: Ints,
    run_entry: Ints,
    stages: Ints,
    run_weight: Floats,
    owner: Ints,
) -> None:
    s, at, state = 0, 0, 1
    for r in range(len(offsets) - 1):
        start, stop = offsets[r], offsets[r + 1]
        while start < stop - 1:
            end = _block_end(ranks, start, stop)
            size = end - start
            orders, block = 1, entry[start:end]
            if _is_tied(ranks, start, end):
                orders = _orders(size)
                block, state = _shuffled(entry, start, end, state)
            for k in range(orders):
                for t in range(size):
                    place = (k + t) % size if k < size else (k - t) % size
                    run_entry[at + t] = block[place]
                for t in range(size, stop - start):
                    run_entry[at + t] = entry[start + t]
                at += stop - start
                run_offsets[s + 1] = at
                stages[s] = size if end < stop else size - 1
                run_weight[s] = weight[r] / orders
                owner[s] = r
                s += 1
            start = end


@compiled
def _stage_slopes(
    q: Floats, e: Floats, offsets: Ints, entry: Ints, stages: Ints, weight: Floats, slope: Floats
) -> float:
    value = 0.0
    for s in range(len(stages)):
        start, stop = offsets[s], offsets[s + 1]
        left = 0.0
        for t in range(stop - 1, start - 1, -1):
            left += e[entry[t]]
            slope[t] = left  # D, until it is used below
        run, a1 = 0.0, 0.0
        for t in range(start, stop):
            chosen = t < start + stages[s]
            if chosen:
                run += q[entry[t]] - np.log(slope[t])
                a1 += 1.0 / slope[t]
            slope[t] = weight[s] * ((1.0 if chosen else 0.0) - e[entry[t]] * a1)
        value += weight[s] * run
    return value


@compiled
def _sum_left(e: Floats, entry: Ints, start: int, size: int, left: Floats) -> None:
    """D of every stage, summed from the back: subtracting from the front would lose the small ones."""
    left[size] = 0.0
    for t in range(size - 1, -1, -1):
        left[t] = left[t + 1] + e[entry[start + t]]


@compiled
def _information(e: Floats, offsets: Ints, entry: Ints, stages: Ints, weight: Floats, matrix: Floats) -> None:
    """Fills the diagonal and what is above it."""
    left = np.empty(np.max(np.diff(offsets)) + 1)
    for s in range(len(stages)):
        start, size = offsets[s], offsets[s + 1] - offsets[s]
        _sum_left(e, entry, start, size, left)
        a1, a2 = 0.0, 0.0
        for t in range(size):
            if t < stages[s]:
                a1 += 1.0 / left[t]
                a2 += 1.0 / left[t] ** 2
            i = entry[start + t]
            matrix[i, i] += weight[s] * e[i] * (a1 - e[i] * a2)
            for u in range(t + 1, size):
                j = entry[start + u]
                matrix[min(i, j), max(i, j)] -= weight[s] * e[i] * e[j] * a2


@compiled
def _diagonal(e: Floats, offsets: Ints, entry: Ints, stages: Ints, weight: Floats, diagonal: Floats) -> None:
    left = np.empty(np.max(np.diff(offsets)) + 1)
    for s in range(len(stages)):
        start, size = offsets[s], offsets[s + 1] - offsets[s]
        _sum_left(e, entry, start, size, left)
        a1, a2 = 0.0, 0.0
        for t in range(size):
            if t < stages[s]:
                a1 += 1.0 / left[t]
                a2 += 1.0 / left[t] ** 2
            i = entry[start + t]
            diagonal[i] += weight[s] * e[i] * (a1 - e[i] * a2)


@compiled
def _product(e: Floats, v: Floats, offsets: Ints, entry: Ints, stages: Ints, weight: Floats, product: Floats) -> None:
    longest = np.max(np.diff(offsets)) + 1
    left, moved = np.empty(longest), np.empty(longest)  # sums of e and of e v over the items left
    ev = e * v
    for s in range(len(stages)):
        start, size = offsets[s], offsets[s + 1] - offsets[s]
        _sum_left(e, entry, start, size, left)
        _sum_left(ev, entry, start, size, moved)
        a1, pulled = 0.0, 0.0
        for t in range(size):
            i = entry[start + t]
            if t < stages[s]:
                a1 += 1.0 / left[t]
                pulled += moved[t] / left[t] ** 2
            product[i] += weight[s] * e[i] * (v[i] * a1 - pulled)
