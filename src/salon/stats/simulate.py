"""Simulated judgments with a known truth, and the ranking laws behind them with the agreement that each implies.

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

Rankings are ranks, int8 of shape (prompts, raters, items), 0 = best. Closed-form moments: `stats/simulate.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew
from salon.stats.jit import compiled
from salon.stats.limits import MAX_ITEMS, LawKind
from salon.stats.roots import bracketed_root

Ranks = NDArray[np.int8]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


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
    u = _utilities(utilities, prompts, items, 1.0, rng)
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
    u = _utilities(utilities, prompts, items, float(spread), rng)
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
class ComparisonColumns:
    """Answers in columns, one row per comparison."""

    a: Ints
    b: Ints
    rater: Ints
    left: NDArray[np.signedinteger[Any]]
    """0: item a was shown on the left; 1: item b; 2: nobody knows."""
    outcome: NDArray[np.signedinteger[Any]]
    """0: a wins; 1: b wins; 2: tie."""

    def __len__(self) -> int:
        return len(self.a)


def bradley_terry_comparisons(
    q: ArrayLike,
    pairs: ArrayLike,
    raters: ArrayLike,
    *,
    tie: float = 0.0,
    bias: ArrayLike = 0.0,
    careless: ArrayLike = 0.0,
    rng: np.random.Generator,
) -> ComparisonColumns:
    """Row k: rater raters[k] compares items pairs[k] = (a, b), the sides drawn by a fair coin.

    With d = q_left - q_right + bias_r, P(left) : P(right) : P(tie) = exp(d/2) : exp(-d/2) : tie. tie = 0 and
    bias = 0 is Bradley-Terry; tie > 0 Davidson (1970), where equal items tie with share tie / (2 + tie);
    bias is the log-odds for the left side (Davidson and Beaver 1977). `bias` and `careless` may be one per
    rater. A careless answer does not look at the items: q_left - q_right counts as 0, bias and ties stay.
    """
    strength = _finite("q", q)
    rows = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    who = np.asarray(raters, dtype=np.int64)
    if who.shape != (len(rows),):
        raise BadValue("one rater for each pair is needed", found=f"{len(rows)} pairs, raters of shape {who.shape}")
    if rows.size and (rows.min() < 0 or rows.max() >= strength.size or who.min() < 0):
        raise BadValue(
            f"items must be 0..{strength.size - 1} and raters at least 0", found=f"largest item {rows.max()}"
        )
    if np.any(rows[:, 0] == rows[:, 1]):
        raise BadValue("an item cannot be compared with itself", found=rows[rows[:, 0] == rows[:, 1]][0])
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
    return ComparisonColumns(rows[:, 0], rows[:, 1], who, left, outcome)


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
    impression = a[:, None] + s[:, None] * u[None, :] + sd[:, None] * rng.standard_normal((raters, u.size))
    levels = np.searchsorted(cuts, impression, side="right")
    asleep = rng.random(impression.shape) < _shares("careless", careless, raters)[:, None]
    return np.where(asleep, rng.integers(0, cuts.size + 1, impression.shape), levels).astype(np.int8)


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
    impression = np.empty(items)
    for k in range(prompts):
        for r in range(raters):
            attends = not (careless[r] > 0 and rng.random() < careless[r])
            for i in range(items):
                e = -np.log(rng.standard_exponential()) if gumbel else rng.standard_normal()
                impression[i] = utilities[k, faction[r], i] + noise[r] * e if attends else e
            for i in range(items):
                for j in range(i):
                    ahead = impression[i] > impression[j]
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


def _utilities(
    utilities: ArrayLike | None, prompts: int, items: int, spread: float, rng: np.random.Generator
) -> Floats:
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


# -- ranking laws ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RankingLaw:
    """How raters rank: a simulator and its settings. `RankingLaw("mallows", 0.5)`.

    Ranking laws as values, and how much agreement each implies, in closed form.

    A `RankingLaw` names one of the simulators of `stats/simulate.py` with its parameter, so that planning, fitting
    and tests speak of the same thing. Its mean pair tau is the expectation of Kendall's tau between two raters of
    one prompt, averaged over the pairs of raters:

        tau_rs = (1 - c_r)(1 - c_s) E[sign_r(i, j) sign_s(i, j)],  i, j two random items, c the careless shares.

    mallows         mean over item pairs at distance m in the centre of g_r(m) g_s(m), g(m) = 2 P_m - 1,
                    P_m = h(m+1) - h(m), h(k) = k / (1 - exp(-k theta)) (Mallows 1957)
    thurstone       (2/π) arcsin(1 / sqrt((1 + noise_r²)(1 + noise_s²))) (Sheppard 1899)
    plackett_luce   E[tanh²(D / 2)], D ~ N(0, 2 spread²), by quadrature
    factions        as thurstone within a faction, 0 between two
    uniform         0
    """

    kind: LawKind
    parameter: float = 0.0
    """mallows: theta. thurstone, factions: noise. plackett_luce: spread of utilities. uniform: not used."""
    pattern: tuple[float, ...] = ()
    """One factor of the parameter for each rater; empty: all alike. Not for plackett_luce or uniform."""
    careless: tuple[float, ...] = (0.0,)
    """Share of answers given at random: one number, or one for each rater."""
    shares: tuple[float, ...] = (0.5, 0.5)
    """Of the raters, by faction; sizes are rounded to the nearest that add up."""

    def __post_init__(self) -> None:
        if self.kind not in get_args(LawKind):
            raise BadValue(f"a ranking law is one of {', '.join(get_args(LawKind))}", found=self.kind)
        if self.pattern and self.kind in ("plackett_luce", "uniform"):
            raise BadValue(f"{self.kind} raters are all alike: no pattern", found=self.pattern)

    def parameters(self, raters: int) -> Floats:
        """The parameter of each rater."""
        pattern = per_rater("pattern", self.pattern or 1.0, raters)
        return per_rater("parameter", self.parameter * pattern, raters, finite=self.kind != "mallows")

    def faction_sizes(self, raters: int) -> tuple[int, ...]:
        """`raters` split by `shares`, largest remainders first."""
        shares = np.asarray(self.shares) / np.sum(self.shares)
        sizes = np.floor(shares * raters + 1e-9).astype(int)
        short = raters - int(sizes.sum())
        sizes[np.argsort(sizes - shares * raters, kind="stable")[:short]] += 1
        return tuple(int(s) for s in sizes)

    def draw(self, prompts: int, raters: int, items: int, *, rng: np.random.Generator) -> Ranks:
        """Ranks (prompts, raters, items) from this law."""
        x, careless = self.parameters(raters), np.asarray(self.careless)
        if self.kind == "uniform":
            return uniform_rankings(prompts, raters, items, rng=rng)
        if self.kind == "mallows":
            return mallows_rankings(prompts, raters, items, x, careless=careless, rng=rng)
        if self.kind == "thurstone":
            return thurstone_rankings(prompts, raters, items, x, careless=careless, rng=rng)
        if self.kind == "plackett_luce":
            return plackett_luce_rankings(prompts, raters, items, float(x[0]), careless=careless, rng=rng)
        return faction_rankings(prompts, self.faction_sizes(raters), items, x, careless=careless, rng=rng)


def expected_taus(law: RankingLaw, raters: int, items: int) -> Floats:
    """Expected Kendall tau of every two raters of a prompt, (raters, raters); 1 on the diagonal."""
    if raters < 2 or items < 2:
        raise TooFew("agreement needs 2 raters and 2 items", found=f"{raters} raters, {items} items")
    attends = 1 - per_rater("careless", law.careless, raters)
    taus = _attentive_taus(law, raters, items) * attends[:, None] * attends[None, :]
    np.fill_diagonal(taus, 1.0)
    return taus


def expected_tau(law: RankingLaw, raters: int, items: int) -> float:
    """The mean pair tau: `expected_taus` averaged over the pairs of raters. It is also the mean of T."""
    return float(expected_taus(law, raters, items)[np.triu_indices(raters, 1)].mean())


def fit_tau(law: RankingLaw, target: float, raters: int, items: int) -> RankingLaw:
    """`law` with the parameter that makes its mean pair tau `target`; all else is kept."""

    def excess(log_x: float) -> float:
        return expected_tau(replace(law, parameter=float(np.exp(log_x))), raters, items) - target

    ends = (-12.0, 7.0)
    reachable = sorted(excess(x) + target for x in ends)
    if not reachable[0] < target < reachable[1]:
        raise BadValue(
            f"a mean tau between {reachable[0]:.3g} and {reachable[1]:.3g} is needed",
            found=target,
            where=f"{law.kind} law, {raters} raters, {items} items",
        )
    return replace(law, parameter=float(np.exp(bracketed_root(excess, *ends))))


def noise_for_tau(target: float, items: int, kind: LawKind) -> float:
    """The parameter of a law with like raters whose mean pair tau is `target`: theta, noise or spread."""
    return fit_tau(RankingLaw(kind), target, 2, items).parameter


def _attentive_taus(law: RankingLaw, raters: int, items: int) -> Floats:
    x = law.parameters(raters)
    if law.kind == "uniform":
        return np.zeros((raters, raters))
    if law.kind == "mallows":
        g, weight = _mallows_lean(x, items)
        return (g * weight) @ g.T
    if law.kind == "plackett_luce":
        # E[tanh²(spread z / sqrt 2)], z ~ N(0, 1), by the trapezoid rule (spectrally exact here)
        z = np.linspace(-9, 9, 200_001)
        density = np.exp(-(z**2) / 2)
        tau = float(np.sum(density * np.tanh(float(x[0]) * z / np.sqrt(2)) ** 2) / np.sum(density))
        return np.full((raters, raters), tau)
    # 1 / sqrt((1 + a²)(1 + b²)) as cosines of arctan: nothing overflows for large noise.
    cos = 1 / np.hypot(1, x)
    taus = 2 / np.pi * np.arcsin(np.outer(cos, cos))
    if law.kind == "factions":
        faction = np.repeat(np.arange(len(law.shares)), law.faction_sizes(raters))
        taus = np.where(faction[:, None] == faction[None, :], taus, 0.0)
    return np.asarray(taus, dtype=np.float64)


def _mallows_lean(theta: Floats, items: int) -> tuple[Floats, Floats]:
    """g(m) = 2 P_m - 1 for m = 1..p-1, (raters, p-1), and the share of item pairs at distance m."""
    m = np.arange(1, items)
    t = theta[:, None]
    small = t < 1e-3  # where the two terms of P_m cancel; the series is then exact to 1e-14
    with np.errstate(divide="ignore"):
        h = [k / -np.expm1(-k * np.where(small, 1.0, t)) for k in (m, m + 1)]
    series = (2 * m + 1) * t / 6 - ((m + 1.0) ** 4 - m**4.0) * t**3 / 360
    g = np.where(small, series, 2 * (h[1] - h[0]) - 1)
    return g, (items - m) / (items * (items - 1) / 2)
