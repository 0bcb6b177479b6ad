"""Questions that follow the answers: which pairs to compare next, and where new items stand on the scale of a pool.

`next_pairs` chooses pairs by expected information, `order_gains` by what they add to the order; `place` puts new items
on a pool's scale and `choose_opponents` picks whom they meet next.

Model. The scores q of a comparison study have an approximate normal posterior: its mean is the mode of Bradley-Terry
under a normal prior, its covariance the inverse of the information there (Laplace). A difference d = q_i - q_j is then
N(m, v) with v = C_ii + C_jj - 2 C_ij, and a comparison of i and j is expected to tell

    I = H(E[S(d)]) - E[H(S(d))]   nats,     H(p) = -p ln p - (1-p) ln(1-p),  S the logistic function,

the mutual information of the answer and d, by the trapezoidal rule on steps of at most 2 logits (off by less than 2e-4;
Gauss-Hermite of that size is worse, as S(d) has poles near the real line). One formula for each pair replaces the
posterior recomputed for each pair and answer.

Batch. Pairs are asked in parallel, and the n - 1 best pairs would circle around few items. A maximum spanning tree of
the gains holds every item, keeps the graph connected and has the highest total gain of all trees. A smaller batch takes
the best pairs of the tree; a larger one takes further trees, in which the gain of a pair counts half for each time it
was chosen already. Equal gains (no answers yet) are broken at random: the first batch is a random tree.

What it buys is the order. The scores themselves need not be closer than after as many random pairs: where they differ
little beside the prior they were further off in simulations (docs/methods/bridge.md).

Edges. Ties count as half wins, as in the fit. Up to 5,000 items (a dense covariance). An active design is adaptive: the
study's design must say so, and no test of random raters applies to its answers.

Source: Lindley 1956; Mikhailiuk et al. 2020 (ASAP: expected information for each pair, spanning trees as batches).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from salon.errors import BadValue, NotIdentified, TooFew
from salon.stats.comparisons import PairCounts
from salon.stats.jit import compiled
from salon.stats.pair_errors import hessian_errors
from salon.stats.pair_fit import fit_pairs
from salon.stats.pair_models import DENSE_ITEMS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_POSTERIOR_REACH = 5.5  # standard deviations


@dataclass(frozen=True, slots=True)
class PairPosterior:
    """A normal posterior of scores; only differences of scores count."""

    scores: Floats
    covariance: Floats


def prior_posterior(items: int, *, prior: float = 3.0) -> PairPosterior:
    """What is known before the first answer: independent scores with standard deviation `prior`."""
    _check_items(items)
    return PairPosterior(np.zeros(items), prior**2 * np.eye(items))


def pair_posterior(counts: PairCounts, *, prior: float = 3.0) -> PairPosterior:
    """The posterior after the counted answers, by Laplace's approximation at the mode of Bradley-Terry."""
    _check_items(counts.items)
    fit = fit_pairs(counts, prior=prior)
    covariance = hessian_errors(fit, counts).covariance
    assert covariance is not None  # there is one up to DENSE_ITEMS
    return PairPosterior(fit.scores, covariance)


def next_pairs(posterior: PairPosterior, *, rng: np.random.Generator, batch: int | None = None) -> Ints:
    """(batch, 2) the next pairs to compare, the most telling first; `batch` None: one spanning tree of n - 1 pairs."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    n = len(posterior.scores)
    _check_items(n)
    size = n - 1 if batch is None else batch
    if size < 1:
        raise BadValue("a batch holds at least one pair", found=size)
    gains = pair_gains(posterior.scores, posterior.covariance)
    trees: list[Ints] = []
    while len(trees) * (n - 1) < size:  # the maximum spanning tree, its best pairs first
        i, j = np.triu_indices(len(gains), 1)
        cost = 1.0 + gains.max() - gains[i, j]  # positive: the solver takes 0 for no edge
        cost += 1e-9 * rng.random(len(cost))  # equal pairs in the order of their numbers would make a star
        tree = minimum_spanning_tree(csr_array((cost, (i, j)), shape=gains.shape)).tocoo()
        best = np.argsort(tree.data, kind="stable")
        trees.append(np.stack([tree.coords[0], tree.coords[1]], axis=1)[best].astype(np.int64))
        gains[trees[-1][:, 0], trees[-1][:, 1]] /= 2
    return np.concatenate(trees)[:size]


def pair_gains(scores: ArrayLike, covariance: ArrayLike) -> Floats:
    """(n, n) expected information of comparing i with j, in nats, for i < j; zero elsewhere."""
    q, c = np.asarray(scores, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    if c.shape != (len(q), len(q)) or not (np.isfinite(q).all() and np.isfinite(c).all()):
        raise BadValue("finite scores (n,) and their covariance (n, n) are needed", found=f"{q.shape} and {c.shape}")
    gains = np.zeros_like(c)
    widest = 2 * np.sqrt(c.diagonal().max(initial=0.0))
    nodes = np.linspace(-_POSTERIOR_REACH, _POSTERIOR_REACH, max(13, int(_POSTERIOR_REACH * widest) + 2))
    _gains(q, c, nodes, np.exp(-0.5 * nodes**2) / np.exp(-0.5 * nodes**2).sum(), gains)
    return gains


def _check_items(items: int) -> None:
    if items < 2:
        raise TooFew("pairs need at least 2 items", found=items)
    if items > DENSE_ITEMS:
        raise BadValue(
            f"active pairs are chosen among at most {DENSE_ITEMS:,} items",
            found=f"{items:,}",
            remedy="compare within categories, or place items on a pool's scale (the bridge)",
        )


@compiled
def _gains(q: Floats, c: Floats, nodes: Floats, weights: Floats, gains: Floats) -> None:
    for i in range(len(q)):
        for j in range(i + 1, len(q)):
            spread = np.sqrt(max(c[i, i] + c[j, j] - 2 * c[i, j], 0.0))
            gains[i, j] = _expected_information(q[i] - q[j], spread, nodes, weights)


@compiled
def _expected_information(mean: float, spread: float, nodes: Floats, weights: Floats) -> float:
    win, left = 0.0, 0.0
    for k in range(len(nodes)):
        d = mean + spread * nodes[k]
        e = np.exp(-abs(d))
        lower = e / (1.0 + e)  # the chance of the less likely answer
        win += weights[k] * (lower if d < 0 else 1.0 - lower)
        left += weights[k] * (np.log1p(e) + abs(d) * lower)  # the entropy of S(d)
    if win <= 0.0 or win >= 1.0:
        return 0.0
    return float(max(0.0, -win * np.log(win) - (1.0 - win) * np.log(1.0 - win) - left))


# -- gain in order -----------------------------------------------------------------------------------------------------


_LOGISTIC = 8 / np.pi
"""Variance of the normal density as high as the logistic one."""


def order_gains(posterior: PairPosterior) -> Floats:
    """(n, n) by how much the loss is expected to fall after one answer about i and j; symmetric, zero for i = j.

    How much nearer to the right order does one more answer bring?

    The scores q of a comparison study have a normal posterior (`PairPosterior`): differences d_ij = q_i - q_j are
    N(m_ij, v_ij), v_ij = C_ii + C_jj - 2 C_ij. Two items whose scores differ by d, with density
    w_ij = N(0; m_ij, v_ij) near d = 0, and whose difference is known with variance v are put in the wrong order with
    chance Phi(-|d| / sqrt v). What is lost by it is |d|, on average w_ij times the integral of |d| Phi(-|d| / sqrt v),
    which is v / 2. Over all pairs:

        loss = 1/2 sum_{i<j} w_ij v_ij = 1/2 tr(L C),      L the Laplacian of w: row sums on the diagonal, else -w_ij.

    An answer about a and b adds the information t_ab x x' with x = e_a - e_b and t_ab = E[S(d)(1 - S(d))], so C becomes
    C - t C x x' C / (1 + t v_ab), and the loss falls by

        gain_ab = 1/2 t_ab x' C L C x / (1 + t_ab v_ab).

    So an answer counts for what it tells about all pairs still in doubt, not only about its own; pairs that are far
    apart have small t, items whose neighbours are known have small L. E[S(1 - S)] is taken as N(m; 0, 8/pi + v): the
    logistic density replaced by the normal one of the same height. It steers a choice and enters no estimate.

    Answers that are awaited are counted as given, at the information expected from them (`expecting`): several raters
    at once do not crowd around one pair.

    Edges. Up to 5,000 items (dense matrices). Equal gains before the first answer: the caller draws.

    Source: Bayesian A-optimal design (Chaloner & Verdinelli 1995) with the weights of the order; own derivation.
    """
    mean, variance = _differences(posterior)
    information = _normal_density(mean, variance + _LOGISTIC)
    doubt = _normal_density(mean, np.where(variance > 0, variance, np.inf))
    np.fill_diagonal(doubt, 0.0)
    laplacian = np.diag(doubt.sum(axis=1)) - doubt
    spread = posterior.covariance @ laplacian @ posterior.covariance
    own = np.diag(spread)
    reached = np.maximum(own[:, None] + own[None, :] - 2 * spread, 0.0)
    return np.asarray(0.5 * information * reached / (1 + information * variance), np.float64)


def expected_posterior(posterior: PairPosterior, pairs: Ints) -> PairPosterior:
    """The posterior as it will be when `pairs` (m, 2) are answered, one row for each answer; scores stay."""
    q, covariance = posterior.scores, posterior.covariance.copy()
    for a, b in pairs:
        column = covariance[:, a] - covariance[:, b]
        variance = max(float(column[a] - column[b]), 0.0)
        information = float(_normal_density(np.array(q[a] - q[b]), np.array(variance + _LOGISTIC)))
        covariance -= np.outer(column, column) * (information / (1 + information * variance))
    return PairPosterior(q, covariance)


def _differences(posterior: PairPosterior) -> tuple[Floats, Floats]:
    q, own = posterior.scores, np.diag(posterior.covariance)
    variance = own[:, None] + own[None, :] - 2 * posterior.covariance
    return q[:, None] - q[None, :], np.maximum(variance, 0.0)


def _normal_density(x: Floats, variance: Floats) -> Floats:
    """The normal density with mean 0."""
    return np.asarray(np.exp(-0.5 * x**2 / variance) / np.sqrt(2 * np.pi * variance), np.float64)


# -- placing new items on a pool's scale -------------------------------------------------------------------------------


_PRIOR_REACH, _BEYOND, _FINE, _MAX_POINTS = 7.0, 4.0, 6.0, 100_000


@dataclass(frozen=True, slots=True)
class Pool:
    """A scale to place items on: the pool's scores, the prior, and the likelihood of every answer on a grid."""

    scores: Floats
    errors: Floats | None
    """Standard errors folded into the likelihood; None: scores taken as exact."""
    prior_mean: float
    prior_sd: float
    scale: float
    tie: float | None
    """nu of Davidson's ties; None: a tie is half a win."""
    grid: Floats
    """(G,) values of q, equally spaced."""
    log_prior: Floats
    log_likelihood: Floats
    """(pool, 3, G): the item is better, the pool item is better, tie."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Posterior of every item's score, in the units of the pool's scores."""

    mean: Floats
    sd: Floats
    low: Floats
    """Lower end of the central posterior interval at `level`."""
    high: Floats
    answers: Ints
    """Answers behind each item; 0 means that it keeps the prior."""
    level: float


@dataclass(frozen=True, slots=True)
class PlacementAnswers:
    """Answers sorted by item: item i has rows offsets[i] to offsets[i+1]."""

    offsets: Ints
    opponent: Ints
    outcome: Ints


def placement_pool(
    scores: ArrayLike,
    *,
    errors: ArrayLike | None = None,
    prior_mean: float | None = None,
    prior_sd: float | None = None,
    scale: float = 1.0,
    tie: float | None = None,
    most: int | None = None,
) -> Pool:
    """The pool with its prior and likelihoods; `most` answers for an item (default: two for each opponent) are fine.

    Place new items on the scale of a pool: the posterior of each item's score from a few comparisons with the pool.

    Model. The pool items p have scores r_p. A new item has score q ~ N(m, s^2), m and s the mean and standard deviation
    of the pool's scores unless given. With d = (q - r_p) / scale and S the logistic function, an answer has the
    likelihood

        the item is better   S(d)
        the pool item is     S(-d)
        tie                  S(d)^(1/2) S(-d)^(1/2)            half a win and half a loss (the papers' rule), or
                             by Davidson, with e^(d/2), e^(-d/2), nu over their sum for better, worse, tie

    `scale` is 1 for scores in logits and 400 / ln 10 for Elo points. Given the pool, items are independent of each
    other.

    Quadrature. An answer's likelihood depends on q only through the pool item and the outcome, so it is tabulated once
    on a grid of q; a posterior is a sum of K rows of the table. The grid reaches 7 s from the prior mean, 4 s beyond
    the pool, with six points to the smallest standard deviation that `most` answers can leave: 1 / sqrt(1/s^2 + most /
    (4 scale^2)). On smooth densities the rule is then exact to rounding.

    Errors of the pool. Pool scores taken as exact ("frozen", the papers' choice) make intervals too short: 94.7% for
    95% at the papers' size (50 pool items with errors of .37 logits, 10 answers), 90% where errors are as large as the
    spread. With `errors` each answer's likelihood is averaged over r_p ~ N(r_p, error_p^2) by 9-point Gauss-Hermite.
    That treats the pool's errors as independent between answers: right for one answer for each opponent, a little short
    where an item meets the same opponent in both orders.

    Edges. An item without answers keeps the prior, and its count says so. Ties as halves have no probability model: the
    posterior is then a little too wide (a tie counts as much as a decision). A pool of equal scores has no scale:
    NotIdentified.

    Source: PPaint section 4.1 and Algorithm 1; Davidson 1970. The papers give the posterior mean only.
    """
    r = _finite_list("pool scores", scores)
    if len(r) < 2:
        raise TooFew("a pool needs at least 2 items", found=len(r))
    e = None if errors is None else _finite_list("pool errors", errors)
    if e is not None and (len(e) != len(r) or (e < 0).any()):
        raise BadValue("pool errors are one number of at least 0 for each pool item", found=f"{len(e)} for {len(r)}")
    m = float(r.mean()) if prior_mean is None else float(prior_mean)
    s = float(r.std(ddof=1)) if prior_sd is None else float(prior_sd)
    if prior_sd is None and s == 0:
        raise NotIdentified(
            "a pool whose scores differ is needed to place items",
            found="all pool scores are equal",
            remedy="compare more pool items, or give the prior's standard deviation",
        )
    if not (np.isfinite(m) and np.isfinite(s) and s > 0 and np.isfinite(scale) and scale > 0):
        raise BadValue("the prior's sd and the scale are positive, the mean finite", found=f"{m}, {s}, {scale}")
    if tie is not None and not (np.isfinite(tie) and tie >= 0):
        raise BadValue("Davidson's nu is at least 0", found=tie)
    grid = _grid(r, m, s, scale, 2 * len(r) if most is None else most)
    log_prior = -0.5 * ((grid - m) / s) ** 2
    return Pool(r, e, m, s, scale, tie, grid, log_prior, _log_likelihood(grid, r, e, scale, tie))


def place(
    pool: Pool, item: ArrayLike, opponent: ArrayLike, outcome: ArrayLike, items: int, *, level: float = 0.95
) -> Placement:
    """Posterior of items 0..items-1 from answers: `item` met pool item `opponent`; outcome 0 the item is better,
    1 the opponent is, 2 tie."""
    if not 0 < level < 1:
        raise BadValue("level lies between 0 and 1", found=level)
    answers = sort_answers(pool, item, opponent, outcome, items)
    summaries = np.empty((4, items))
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    _place(answers.offsets, answers.opponent, answers.outcome, pool.grid, pool.log_prior, pool.log_likelihood, tails,
           summaries)  # fmt: skip
    mean, sd, low, high = summaries
    return Placement(mean, sd, low, high, np.diff(answers.offsets), level)


def posterior_weights(pool: Pool, answers: PlacementAnswers, items: ArrayLike) -> Floats:
    """(len(items), G) posterior mass of the named items at the grid points; each row sums to 1."""
    chosen = np.asarray(items, dtype=np.int64)
    weights = np.empty((len(chosen), len(pool.grid)))
    _weigh_all(chosen, answers.offsets, answers.opponent, answers.outcome, pool.log_prior, pool.log_likelihood, weights)
    return weights


def sort_answers(pool: Pool, item: ArrayLike, opponent: ArrayLike, outcome: ArrayLike, items: int) -> PlacementAnswers:
    """Answers checked and sorted by item."""
    i, p, o = (np.atleast_1d(np.asarray(x, dtype=np.int64)) for x in (item, opponent, outcome))
    if not i.shape == p.shape == o.shape:
        raise BadValue("item, opponent and outcome must be equally long", found=f"{len(i)}, {len(p)}, {len(o)}")
    for name, values, stop in (("items", i, items), ("opponents", p, len(pool.scores)), ("outcomes", o, 3)):
        bad = values[(values < 0) | (values >= stop)]
        if len(bad):
            raise BadValue(f"{name} are numbered 0 to {stop - 1}", found=int(bad[0]))
    order = np.argsort(i, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=items))]).astype(np.int64)
    return PlacementAnswers(offsets, p[order], o[order])


def _finite_list(what: str, values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise BadValue(f"{what} are a list of finite numbers", found="something else, or NaN")
    return array


def _grid(r: Floats, m: float, s: float, scale: float, most: int) -> Floats:
    low, high = min(m - _PRIOR_REACH * s, r.min() - _BEYOND * s), max(m + _PRIOR_REACH * s, r.max() + _BEYOND * s)
    step = 1 / np.sqrt(1 / s**2 + most / (4 * scale**2)) / _FINE
    points = int(np.ceil((high - low) / step)) + 1
    if points > _MAX_POINTS:
        raise BadValue(
            "the pool's scores must lie within reach of the prior",
            found=f"scores from {r.min():g} to {r.max():g}, prior {m:g} ± {s:g}: {points:,} grid points",
        )
    return np.linspace(low, high, points)


def _log_likelihood(grid: Floats, r: Floats, errors: Floats | None, scale: float, tie: float | None) -> Floats:
    """(pool, 3, G), averaged over the error of each pool score."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(9 if errors is not None else 1)
    e = np.zeros(len(r)) if errors is None else errors
    total = np.zeros((len(r), 3, len(grid)))
    for node, weight in zip(nodes, weights / weights.sum()):
        total += weight * _likelihood((grid - (r + e * node)[:, None]) / scale, tie)
    # Far out a likelihood may round to zero; its logarithm must stay a number that a posterior can lose to.
    return np.log(np.maximum(total, np.finfo(float).tiny))


def _likelihood(d: Floats, tie: float | None) -> Floats:
    """(pool, 3, G) at differences d (pool, G)."""
    win, lose = expit(d), expit(-d)
    both = np.sqrt(win * lose)
    if tie is None:
        return np.stack([win, lose, both], axis=1)
    norm = 1 + tie * both  # e^(d/2) + e^(-d/2) + nu, divided by the first two
    return np.stack([win / norm, lose / norm, tie * both / norm], axis=1)


@compiled
def _weigh(start: int, stop: int, opponent: Ints, outcome: Ints, log_prior: Floats, table: Floats, w: Floats) -> None:
    """Fill w with one item's posterior masses."""
    for g in range(len(w)):
        w[g] = log_prior[g]
    for row in range(start, stop):
        w += table[opponent[row], outcome[row]]
    top = w.max()
    total = 0.0
    for g in range(len(w)):
        w[g] = np.exp(w[g] - top)
        total += w[g]
    w /= total


@compiled
def _weigh_all(
    items: Ints, offsets: Ints, opponent: Ints, outcome: Ints, log_prior: Floats, table: Floats, weights: Floats
) -> None:
    for k in range(len(items)):
        i = items[k]
        _weigh(offsets[i], offsets[i + 1], opponent, outcome, log_prior, table, weights[k])


@compiled
def _quantile(w: Floats, grid: Floats, tail: float) -> float:
    """Where the mass below reaches `tail`; the mass of a grid point is spread evenly over its cell."""
    below = 0.0
    for g in range(len(w)):
        if below + w[g] >= tail:
            return float(grid[g] + ((tail - below) / w[g] - 0.5) * (grid[1] - grid[0]))
        below += w[g]
    return float(grid[-1])


@compiled
def _place(
    offsets: Ints,
    opponent: Ints,
    outcome: Ints,
    grid: Floats,
    log_prior: Floats,
    table: Floats,
    tails: Floats,
    summaries: Floats,
) -> None:
    w = np.empty(len(grid))
    for i in range(len(offsets) - 1):
        _weigh(offsets[i], offsets[i + 1], opponent, outcome, log_prior, table, w)
        mean = (w * grid).sum()
        summaries[0, i] = mean
        summaries[1, i] = np.sqrt((w * (grid - mean) ** 2).sum())
        summaries[2, i] = _quantile(w, grid, tails[0])
        summaries[3, i] = _quantile(w, grid, tails[1])


# -- choosing opponents ------------------------------------------------------------------------------------------------


_ITEMS_AT_ONCE = 4096
_DIGITS = 9
"""Gains that differ by less are the same: sums of floats in another order differ in their last digits."""


def expected_gains(pool: Pool, answers: PlacementAnswers, items: Ints) -> Floats:
    """(len(items), pool) expected information, in nats, of the next meeting of each item with each pool item.

    Which pool item should a new item meet next? The one whose answer is expected to tell most about its score.

    Gain of a meeting = mutual information, in nats, between the item's score q and the outcome y, given the answers so
    far:

        I = H(y) - E_q[H(y | q)],    H(y) = -sum_y P(y) ln P(y),   P(y) = E_q[P(y | q)]

    both as sums over the grid of the placement, for all waiting items and all opponents at once:
    two matrix products. With ties as halves there is no probability of a tie, so y is win or loss; with Davidson's ties
    y has three values. Errors of the pool's scores are in P(y | q): a badly known opponent tells less.

    A batch of b opponents (judges are asked in parallel) is the b best; no opponent is met twice. Equal gains, that is
    within 1e-9 nats, are broken at random, so that a seed means the same questions on every machine. Choosing by gain
    is greedy, one step ahead, which for a log-concave posterior loses little against planning.

    Source: Lindley 1956; MacKay 1992.
    """
    outcomes = 2 if pool.tie is None else 3
    chance = np.exp(pool.log_likelihood[:, :outcomes])
    left = _entropy(chance).T
    gains = np.empty((len(items), len(pool.scores)))
    for start in range(0, len(items), _ITEMS_AT_ONCE):
        some = slice(start, start + _ITEMS_AT_ONCE)
        w = posterior_weights(pool, answers, items[some])
        expected = np.stack([w @ chance[:, y].T for y in range(outcomes)], axis=1)
        gains[some] = _entropy(expected) - w @ left
    return gains


def choose_opponents(gains: Floats, met: NDArray[np.bool_], *, batch: int, rng: np.random.Generator) -> Ints:
    """(items, batch) the opponents of highest gain that an item has not met, best first; -1 where none is left."""
    if batch < 1:
        raise BadValue("a batch holds at least one opponent", found=batch)
    shuffled = rng.permutation(gains.shape[1])
    open_gains = np.where(met, -np.inf, np.round(gains, _DIGITS))[:, shuffled]
    best = np.argsort(-open_gains, axis=1, kind="stable")[:, :batch]
    chosen = shuffled[best].astype(np.int64)
    chosen[np.isneginf(np.take_along_axis(open_gains, best, axis=1))] = -1
    return chosen


def _entropy(p: Floats) -> Floats:
    """Entropy over axis 1; outcomes that cannot happen add nothing."""
    return np.asarray(-(p * np.log(np.maximum(p, np.finfo(float).tiny))).sum(axis=1))
