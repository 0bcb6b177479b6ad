"""Simulated judgments with a known truth: rankings, comparisons, ratings.

Every law here shares one picture: each prompt (or item) has a hidden truth, and each rater sees it through
noise of their own. `noise`, `theta` and `careless` may be one number or one per rater.

| function | hidden truth | noise of a rater |
|---|---|---|
| `uniform_rankings` | none | all p! rankings equally likely |
| `mallows_rankings` | a centre ranking | P(ranking) ∝ exp(-theta d), d = discordant pairs to the centre |
| `thurstone_rankings` | utilities N(0, 1) | Gaussian, standard deviation `noise` |
| `plackett_luce_rankings` | utilities N(0, spread²) | standard Gumbel |
| `faction_rankings` | independent utilities for each faction | Gaussian, standard deviation `noise` |
| `bradley_terry_comparisons` | item strengths q | logistic, Davidson ties, position bias |
| `ratings_from_utilities` | item utilities | Gaussian, own offset and stretch, cut at thresholds |

Rankings are ranks, int8 of shape (prompts, raters, items), 0 = best. Closed-form moments: `stats/laws.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew
from salon.stats.compiled import compiled

Ranks = NDArray[np.int8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MAX_ITEMS = 127
"""Ranks are int8."""

A_WINS, B_WINS, TIE = 0, 1, 2


# ---------------------------------------------------------------------------------------------- rankings
def uniform_rankings(prompts: int, raters: int, items: int, *, rng: np.random.Generator) -> Ranks:
    """Random raters: independent, every ranking equally likely. The null hypothesis of every signal test."""
    return mallows_rankings(prompts, raters, items, 0.0, rng=rng)


def mallows_rankings(
    prompts: int,
    raters: int,
    items: int,
    theta: ArrayLike,
    *,
    careless: ArrayLike = 0.0,
    centers: ArrayLike | None = None,
    rng: np.random.Generator,
) -> Ranks:
    """Rankings around one centre per prompt, P(ranking) ∝ exp(-theta d), d the Kendall distance (Mallows).

    Repeated insertion (Doignon et al. 2004; the law: Mallows 1957): the item j-th in the centre (from 0) is
    put v places before the end of those already placed, P(v) ∝ exp(-theta v), v = 0..j: exact, no Markov
    chain. theta = 0 is the uniform law, theta = inf repeats the centre. `centers` (prompts, items) are ranks;
    default: a random order for each prompt.
    """
    _check_shape(prompts, raters, items)
    thetas = per_rater("theta", theta, raters, finite=False)
    phi = np.exp(-np.append(thetas, 0.0))  # the last row serves careless answers: theta = 0
    share = _shares("careless", careless, raters)
    if centers is None:
        centers = rng.permuted(np.tile(np.arange(items, dtype=np.int8), (prompts, 1)), axis=1)
    center_ranks = np.asarray(centers, dtype=np.int64)
    order = np.argsort(center_ranks, axis=-1)
    if order.shape != (prompts, items) or np.any(np.sort(center_ranks, axis=1) != np.arange(items)):
        raise BadValue(f"centers must be {prompts} rankings of {items} items", found=center_ranks)
    ranks: Ranks = _insert(order, _insertion_cdf(phi, items), share, rng)
    return ranks


def thurstone_rankings(
    prompts: int,
    raters: int,
    items: int,
    noise: ArrayLike,
    *,
    careless: ArrayLike = 0.0,
    utilities: ArrayLike | None = None,
    rng: np.random.Generator,
) -> Ranks:
    """Rank by u_i + noise_r e, e ~ N(0, 1), the utilities u shared by all raters of a prompt.

    Thurstone 1927. u ~ N(0, 1) unless `utilities` (prompts, items) plants them.
    """
    _check_shape(prompts, raters, items)
    sd = per_rater("noise", noise, raters)
    u = _planted(utilities, prompts, items, 1.0, rng)
    share = _shares("careless", careless, raters)
    ranks: Ranks = _rank_noisy(u[:, None, :], np.zeros(raters, np.int64), sd, share, False, rng)
    return ranks


def plackett_luce_rankings(
    prompts: int,
    raters: int,
    items: int,
    spread: float,
    *,
    careless: ArrayLike = 0.0,
    utilities: ArrayLike | None = None,
    rng: np.random.Generator,
) -> Ranks:
    """Rank by u_i + g, g standard Gumbel: the best is chosen with P ∝ exp(u), then the next, and so on.

    Of any two items P(i above j) = 1 / (1 + exp(u_j - u_i)), as in Bradley-Terry. u ~ N(0, spread²) unless
    `utilities` plants them (then `spread` is not used). Source: Luce 1959, Plackett 1975, Yellott 1977.
    """
    _check_shape(prompts, raters, items)
    per_rater("spread", spread, 1)
    u = _planted(utilities, prompts, items, float(spread), rng)
    share = _shares("careless", careless, raters)
    everyone = np.zeros(raters, np.int64)
    ranks: Ranks = _rank_noisy(u[:, None, :], everyone, np.ones(raters), share, True, rng)
    return ranks


def faction_rankings(
    prompts: int,
    sizes: Sequence[int],
    items: int,
    noise: ArrayLike,
    *,
    careless: ArrayLike = 0.0,
    rng: np.random.Generator,
) -> Ranks:
    """Factions with nothing in common: each has its own independent utilities N(0, 1) for every prompt.

    The first sizes[0] raters form the first faction, and so on, the same for all prompts. Within a faction
    raters differ by Gaussian noise as in `thurstone_rankings`. One faction is that law itself.
    """
    counts = np.asarray(sizes)
    if counts.ndim != 1 or counts.size == 0 or np.any(counts < 1):
        raise BadValue("every faction needs at least one rater", found=sizes)
    raters = int(counts.sum())
    _check_shape(prompts, raters, items)
    u = rng.standard_normal((prompts, counts.size, items))
    faction = np.repeat(np.arange(counts.size), counts)
    sd = per_rater("noise", noise, raters)
    ranks: Ranks = _rank_noisy(u, faction, sd, _shares("careless", careless, raters), False, rng)
    return ranks


# ------------------------------------------------------------------------------------------- comparisons
@dataclass(frozen=True, slots=True)
class SimulatedComparisons:
    """Answers in columns, one row per comparison."""

    a: Ints
    b: Ints
    rater: Ints
    left: NDArray[np.int8]
    """0: item a was shown on the left; 1: item b."""
    outcome: NDArray[np.int8]
    """0: a wins; 1: b wins; 2: tie."""


def bradley_terry_comparisons(
    q: ArrayLike,
    pairs: ArrayLike,
    raters: ArrayLike,
    *,
    tie: float = 0.0,
    bias: ArrayLike = 0.0,
    careless: ArrayLike = 0.0,
    rng: np.random.Generator,
) -> SimulatedComparisons:
    """Row k: rater raters[k] compares items pairs[k] = (a, b), the sides drawn by a fair coin.

    With d = q_left - q_right + bias_r, P(left) : P(right) : P(tie) = exp(d/2) : exp(-d/2) : tie. tie = 0 and
    bias = 0 is Bradley-Terry; tie > 0 Davidson (1970), where equal items tie with share tie / (2 + tie);
    bias is the log-odds for the left side (Davidson and Beaver 1977). `bias` and `careless` may be one per
    rater. A careless answer does not look at the items: q_left - q_right counts as 0, bias and ties stay.
    """
    strength = _finite("q", q)
    rows = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    who = np.asarray(raters, dtype=np.int64)
    _check_rows(rows, who, strength.size)
    if not (np.isfinite(tie) and tie >= 0):
        raise BadValue("a tie weight of at least 0 is needed", found=tie)
    many = int(who.max()) + 1 if who.size else 1
    beta = np.broadcast_to(_finite("bias", bias), (many,))
    attends = rng.random(len(rows)) >= _shares("careless", careless, many)[who]
    left = rng.integers(0, 2, len(rows)).astype(np.int8)
    sign = 1 - 2 * left  # +1 where a is on the left
    d_left = sign * attends * (strength[rows[:, 0]] - strength[rows[:, 1]]) + beta[who]
    left_wins, tied = _davidson(d_left, tie)
    u = rng.random(len(rows))
    wins_left = u < left_wins
    a_wins = wins_left == (left == 0)
    outcome = np.where(u >= 1 - tied, TIE, np.where(a_wins, A_WINS, B_WINS)).astype(np.int8)
    return SimulatedComparisons(rows[:, 0], rows[:, 1], who, left, outcome)


def _davidson(d: Floats, tie: float) -> tuple[Floats, Floats]:
    """P(left wins) and P(tie), scaled by exp(-|d|/2) so that no exponent overflows."""
    small = np.exp(-np.abs(d))
    tied = tie * np.exp(-np.abs(d) / 2)
    total = 1 + small + tied
    return np.where(d >= 0, 1.0, small) / total, tied / total


# ----------------------------------------------------------------------------------------------- ratings
def ratings_from_utilities(
    utilities: ArrayLike,
    raters: int,
    thresholds: ArrayLike,
    *,
    offset: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    noise: ArrayLike = 1.0,
    careless: ArrayLike = 0.0,
    rng: np.random.Generator,
) -> NDArray[np.int8]:
    """Ordinal levels 0..L of shape (raters, items): how many of L rising thresholds the impression passes.

    Impression of rater r on item i: offset_r + scale_r u_i + noise_r e, e ~ N(0, 1). An offset is leniency, a
    scale how far a rater stretches; a careless answer draws its level uniformly. A flag is the case L = 2.
    """
    u = _finite("utilities", utilities)
    cuts = _finite("thresholds", thresholds)
    if cuts.ndim != 1 or cuts.size == 0 or np.any(np.diff(cuts) <= 0):
        raise BadValue("rising thresholds are needed", found=cuts)
    a, s = (np.broadcast_to(_finite(k, v), (raters,)) for k, v in (("offset", offset), ("scale", scale)))
    sd = per_rater("noise", noise, raters)
    seen = a[:, None] + s[:, None] * u[None, :] + sd[:, None] * rng.standard_normal((raters, u.size))
    levels = np.searchsorted(cuts, seen, side="right")
    asleep = rng.random(seen.shape) < _shares("careless", careless, raters)[:, None]
    return np.where(asleep, rng.integers(0, cuts.size + 1, seen.shape), levels).astype(np.int8)


# ----------------------------------------------------------------------------------------------- kernels
@compiled
def _insert(order: Ints, cdf: Floats, careless: Floats, rng: np.random.Generator) -> Ranks:
    """`order[k, j]`: the item j-th in prompt k's centre; `cdf[r, j]`: the law of v, its last row uniform."""
    prompts, items = order.shape
    raters = careless.size
    ranks = np.empty((prompts, raters, items), np.int8)
    place = np.empty(items, np.int8)
    for k in range(prompts):
        for r in range(raters):
            row = raters if careless[r] > 0 and rng.random() < careless[r] else r
            place[0] = 0
            for j in range(1, items):
                u = rng.random()
                v = 0
                while v < j and u >= cdf[row, j, v]:
                    v += 1
                place[j] = j - v
                for i in range(j):
                    place[i] += place[i] >= j - v
            for j in range(items):
                ranks[k, r, order[k, j]] = place[j]
    return ranks


@compiled
def _rank_noisy(
    utilities: Floats, faction: Ints, noise: Floats, careless: Floats, gumbel: bool, rng: np.random.Generator
) -> Ranks:
    """Rank utilities[k, faction[r]] + noise; a careless answer ranks noise alone. Equal values: by index."""
    prompts, _, items = utilities.shape
    raters = noise.size
    ranks = np.zeros((prompts, raters, items), np.int8)
    seen = np.empty(items)
    for k in range(prompts):
        for r in range(raters):
            attends = not (careless[r] > 0 and rng.random() < careless[r])
            for i in range(items):
                e = -np.log(rng.standard_exponential()) if gumbel else rng.standard_normal()
                seen[i] = utilities[k, faction[r], i] + noise[r] * e if attends else e
            for i in range(items):
                for j in range(i):
                    ahead = seen[i] > seen[j]
                    ranks[k, r, j] += ahead
                    ranks[k, r, i] += not ahead
    return ranks


def _insertion_cdf(phi: Floats, items: int) -> Floats:
    """cdf[r, j, v] = P(V_j <= v), P(V_j = v) ∝ phi_r^v for v = 0..j; exactly 1 from v = j on."""
    weight = phi[:, None] ** np.arange(items)[None, :]
    cumulative = np.cumsum(weight, axis=1)
    cdf = np.minimum(cumulative[:, None, :] / cumulative[:, :, None], 1.0)
    return np.ascontiguousarray(cdf)


# ------------------------------------------------------------------------------------------------ checks
def per_rater(name: str, value: ArrayLike, raters: int, *, finite: bool = True) -> Floats:
    """`value` as one number of at least 0 for each rater."""
    numbers = np.asarray(value, dtype=np.float64)
    if np.any(np.isnan(numbers)) or np.any(numbers < 0) or (finite and np.any(np.isinf(numbers))):
        raise BadValue(f"{name} must be a number of at least 0", found=value)
    if numbers.ndim > 1 or numbers.size not in (1, raters):
        raise BadValue(f"one {name}, or one for each of {raters} raters, is needed", found=numbers.shape)
    return np.broadcast_to(numbers, (raters,)).astype(np.float64)


def _shares(name: str, value: ArrayLike, raters: int) -> Floats:
    numbers = per_rater(name, value, raters)
    if np.any(numbers > 1):
        raise BadValue(f"{name} is a share: between 0 and 1", found=value)
    return numbers


def _finite(name: str, value: ArrayLike) -> Floats:
    numbers = np.asarray(value, dtype=np.float64)
    if not np.all(np.isfinite(numbers)):
        raise BadValue(f"{name} must be finite", found=numbers[~np.isfinite(numbers)][:3])
    return numbers


def _planted(utilities: ArrayLike | None, prompts: int, items: int, spread: float, rng: np.random.Generator) -> Floats:
    if utilities is None:
        return spread * rng.standard_normal((prompts, items))
    u = np.atleast_2d(_finite("utilities", utilities))
    if u.shape not in ((prompts, items), (1, items)):
        raise BadValue(f"utilities of shape ({prompts}, {items}) are needed", found=u.shape)
    return np.ascontiguousarray(np.broadcast_to(u, (prompts, items)))


def _check_shape(prompts: int, raters: int, items: int) -> None:
    if prompts < 1 or raters < 1 or items < 2:
        raise TooFew(
            "at least 1 prompt, 1 rater and 2 items are needed",
            found=f"{prompts} prompts, {raters} raters, {items} items",
        )
    if items > MAX_ITEMS:
        raise BadValue(f"at most {MAX_ITEMS} items can be ranked", found=items)


def _check_rows(rows: Ints, who: Ints, items: int) -> None:
    if who.shape != (len(rows),):
        raise BadValue("one rater for each pair is needed", found=f"{len(rows)} pairs, raters of shape {who.shape}")
    if rows.size and (rows.min() < 0 or rows.max() >= items or who.min() < 0):
        raise BadValue(f"items must be 0..{items - 1} and raters at least 0", found=f"largest item {rows.max()}")
    if np.any(rows[:, 0] == rows[:, 1]):
        raise BadValue("an item cannot be compared with itself", found=rows[rows[:, 0] == rows[:, 1]][0])
