"""Place new items on the scale of a pool: the posterior of each item's score from a few comparisons with the pool.

Model. The pool items p have scores r_p. A new item has score q ~ N(m, s^2), m and s the mean and standard deviation of
the pool's scores unless given. With d = (q - r_p) / scale and S the logistic function, an answer has the likelihood

    the item is better   S(d)
    the pool item is     S(-d)
    tie                  S(d)^(1/2) S(-d)^(1/2)            half a win and half a loss (the papers' rule), or
                         by Davidson, with e^(d/2), e^(-d/2), nu over their sum for better, worse, tie

`scale` is 1 for scores in logits and 400 / ln 10 for Elo points. Given the pool, items are independent of each other.

Quadrature. An answer's likelihood depends on q only through the pool item and the outcome, so it is tabulated once on a
grid of q; a posterior is a sum of K rows of the table. The grid reaches 7 s from the prior mean, 4 s beyond the pool,
with six points to the smallest standard deviation that `most` answers can leave: 1 / sqrt(1/s^2 + most / (4 scale^2)).
On smooth densities the rule is then exact to rounding.

Errors of the pool. Pool scores taken as exact ("frozen", the papers' choice) make intervals too short: 94.7% for 95% at
the papers' size (50 pool items with errors of .37 logits, 10 answers), 90% where errors are as large as the spread.
With `errors` each answer's likelihood is averaged over r_p ~ N(r_p, error_p^2) by 9-point Gauss-Hermite. That treats
the pool's errors as independent between answers: right for one answer for each opponent, a little short where an item
meets the same opponent in both orders.

Edges. An item without answers keeps the prior, and its count says so. Ties as halves have no probability model: the
posterior is then a little too wide (a tie counts as much as a decision). A pool of equal scores has no scale:
NotIdentified.

Source: PPaint section 4.1 and Algorithm 1; Davidson 1970. The papers give the posterior mean only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from salon.errors import BadValue, NotIdentified, TooFew
from salon.stats.compiled import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_TAIL, _BEYOND, _FINE, _MAX_POINTS = 7.0, 4.0, 6.0, 100_000


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
class Answers:
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
    """The pool with its prior and likelihoods; `most` answers for an item (default: two for each opponent) are fine."""
    r = _finite("pool scores", scores)
    if len(r) < 2:
        raise TooFew("a pool needs at least 2 items", found=len(r))
    e = None if errors is None else _finite("pool errors", errors)
    if e is not None and (len(e) != len(r) or (e < 0).any()):
        raise BadValue("pool errors are one number of at least 0 for each pool item", found=f"{len(e)} for {len(r)}")
    m = float(r.mean()) if prior_mean is None else float(prior_mean)
    s = float(r.std(ddof=1)) if prior_sd is None else float(prior_sd)
    _check_prior(m, s, scale, tie, spread=prior_sd is None)
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
    found = np.empty((4, items))
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    _place(answers.offsets, answers.opponent, answers.outcome, pool.grid, pool.log_prior, pool.log_likelihood, tails,
           found)  # fmt: skip
    mean, sd, low, high = found
    return Placement(mean, sd, low, high, np.diff(answers.offsets), level)


def posterior_weights(pool: Pool, answers: Answers, items: ArrayLike) -> Floats:
    """(len(items), G) posterior mass of the named items at the grid points; each row sums to 1."""
    chosen = np.asarray(items, dtype=np.int64)
    weights = np.empty((len(chosen), len(pool.grid)))
    _weigh_all(chosen, answers.offsets, answers.opponent, answers.outcome, pool.log_prior, pool.log_likelihood, weights)
    return weights


def sort_answers(pool: Pool, item: ArrayLike, opponent: ArrayLike, outcome: ArrayLike, items: int) -> Answers:
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
    return Answers(offsets, p[order], o[order])


def _finite(what: str, values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise BadValue(f"{what} are a list of finite numbers", found="something else, or NaN")
    return array


def _check_prior(m: float, s: float, scale: float, tie: float | None, *, spread: bool) -> None:
    if spread and s == 0:
        raise NotIdentified(
            "a pool whose scores differ is needed to place items",
            found="all pool scores are equal",
            remedy="compare more pool items, or give the prior's standard deviation",
        )
    if not (np.isfinite(m) and np.isfinite(s) and s > 0 and np.isfinite(scale) and scale > 0):
        raise BadValue("the prior's sd and the scale are positive, the mean finite", found=f"{m}, {s}, {scale}")
    if tie is not None and not (np.isfinite(tie) and tie >= 0):
        raise BadValue("Davidson's nu is at least 0", found=tie)


def _grid(r: Floats, m: float, s: float, scale: float, most: int) -> Floats:
    low, high = min(m - _TAIL * s, r.min() - _BEYOND * s), max(m + _TAIL * s, r.max() + _BEYOND * s)
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
    found: Floats,
) -> None:
    w = np.empty(len(grid))
    for i in range(len(offsets) - 1):
        _weigh(offsets[i], offsets[i + 1], opponent, outcome, log_prior, table, w)
        mean = (w * grid).sum()
        found[0, i] = mean
        found[1, i] = np.sqrt((w * (grid - mean) ** 2).sum())
        found[2, i] = _quantile(w, grid, tails[0])
        found[3, i] = _quantile(w, grid, tails[1])
