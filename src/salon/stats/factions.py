"""One taste or camps: do groups of raters, the same on all prompts, follow different orders?

A low mean tau may come from one shared order with much noise or from camps with little: T, p_max and the cycle rate
cannot tell the two apart. The raters can: in a camp they agree with each other and not with the rest, prompt after
prompt.

Null, one taste: on every pair of items of every prompt all raters lean to the same side, each with a strength f_r
between 0 (a coin) and 1 (always), given the prompt raters are independent, and what is easier for one rater is not
harder for another. Nothing else is assumed: raters may be careful, noisy, lazy (random on some prompts) or random,
prompts easy or hard, one item may be plainly bad, noise may be Mallows, Plackett-Luce, Thurstone or any mixture of
them.

Bound: E tau_rs = E f_r f_s over pairs and prompts. Let F and G be the mean strengths of two camps. Both rise with the
ease of a pair and lie between 0 and 1. The mean tau within a camp is at most E F^2 (unequal members lower it),
between the camps it is E FG. Among all such F and G with E F^2 = x and E G^2 = y

    E FG >= least(x, y) = sqrt(x y min(x, y)),

reached where one camp is certain on a share of the pairs and blind on the rest, and the other leans equally on all.
So one taste keeps the tau between two camps at or above `least` of the taus within them, and

    gap = least(within first, within second) - between

is at most 0. Two camps with unrelated orders have a gap of within^1.5. Camps that differ less than the bound allows
are not found: they could be one taste seen with unequal care.

Which camps? Prompts are dealt into ten chunks. The camps that fit the taus of some chunks best are tried on the next
chunk, so that no prompt both chooses the camps and tests them; the gap of all prompts tried gets its error from their
spread (delta method). This is done for several orders of the chunks; gap and error are means over these, and p = P(t
> gap/error) with one degree of freedom less than prompts tried. Means over orders vary less than each, so the test is
cautious, and its answer hangs little on the order. Cost: raters x pairs of items x prompts.

Power: the same test against two camps of unrelated orders and one Gaussian noise for all, chosen to give the observed
mean tau: halves of the raters, or four fifths and a fifth, whichever is harder to find. If this power is below 80%,
or the gap is above 0 but not significant, nobody can tell.

Edges: fewer than four raters or ten prompts raise TooFew: with one prompt two tastes cannot be told from noise. A
camp has at least two raters; one rater who opposes all others is no camp. Raters who copy each other look like a
camp. Raters absent from a prompt have ranks -1 there, and should be absent for reasons that have nothing to do with
how hard it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, stdtr, stdtrit

from salon.errors import TooFew
from salon.stats.agreement import strict_ranks
from salon.stats.result import Estimate, Test

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

ONE_TASTE = "one taste"
CAMPS = "camps"
CANNOT_TELL = "cannot tell"

LEAST_PROMPTS = 10
LEVEL = 0.05
ENOUGH_POWER = 0.8
_CHUNKS = 10
_FIRST_CHUNKS = 2  # only choose camps
_ORDERS = 20
_MOST_RATERS_TO_ENUMERATE = 11
_POWER_PROMPTS = 300
_POWER_STUDIES = 40


@dataclass(frozen=True, slots=True)
class Factions:
    """The answer and all it rests on."""

    answer: str
    """'one taste', 'camps' or 'cannot tell'."""
    test: Test
    gap: Estimate
    """How far the tau between the camps falls below the least that one taste allows; on prompts that did not choose
    the camps. At most 0 under one taste."""
    within: tuple[float, float]
    """Mean tau within the first and the second camp, on the same prompts."""
    between: float
    """Mean tau between the camps, on the same prompts."""
    least: float
    """The least tau between the camps that one taste allows, given those within."""
    camps: tuple[tuple[int, ...], tuple[int, ...]]
    """The two camps that fit all prompts best, the larger first. Only worth naming where the answer is 'camps'."""
    power: float
    """Chance that this test finds the reference alternative with these prompts, raters and mean tau."""
    alternative: str


@dataclass(frozen=True, slots=True)
class _CampSigns:
    """Signs of answers, (prompts, pairs of items, raters): 1 or -1 for the item a rater prefers, 0 where absent."""

    signs: NDArray[np.int8]
    chunk: IntArray


def faction_test(ranks: ArrayLike | Sequence[ArrayLike], *, rng: np.random.Generator, level: float = 0.95) -> Factions:
    """Test one taste against two camps from strict ranks (n, R, p) of the same R raters, -1 where absent.

    Prompts with different numbers of items come as several arrays with the same raters.
    """
    arrays: Sequence[ArrayLike] = ranks if isinstance(ranks, list | tuple) else [cast("ArrayLike", ranks)]
    shapes = [strict_ranks(shape) for shape in arrays]
    present = np.concatenate([shape[:, :, 0] >= 0 for shape in shapes])
    _require_enough(present)
    prompts = len(present)
    deal = rng.permutation(np.arange(prompts) % _CHUNKS)
    votes, first = [], 0
    for shape in shapes:
        votes.append(_CampSigns(_signs(shape), deal[first : first + len(shape)]))
        first += len(shape)
    taus, shared = _chunk_taus(votes, present.shape[1])
    results = []
    for _ in range(_ORDERS):
        results.append(_try_camps(votes, taus, shared, rng.permutation(_CHUNKS)))
    gap, error, x, y, between, tried = np.mean(results, axis=0)
    total, pairs = taus.sum(axis=0), shared.sum(axis=0)
    (camp,) = _choose_camps(total[None], pairs[None])
    p = _upper_tail(gap, error, tried)
    upper = np.triu_indices(len(total), 1)
    mean_tau = float(total[upper].sum() / max(pairs[upper].sum(), 1))
    items = int(np.median(np.repeat([s.shape[2] for s in shapes], [len(s) for s in shapes])))
    power, alternative = faction_power(mean_tau, present, items, rng=rng)
    camp_members = _camp_members(camp)
    if error < 1e-12 or tried < 2:
        gap_interval = Estimate(
            float(gap), None, None, prompts, "prompt", level, "no interval: the same on every prompt"
        )
    else:
        half = float(stdtrit(max(tried - 1, 1), (1 + level) / 2) * error)
        method = "over prompts that did not choose the camps, t"
        gap_interval = Estimate(float(gap), float(gap) - half, float(gap) + half, prompts, "prompt", level, method)
    return Factions(
        answer=CAMPS if p <= LEVEL else ONE_TASTE if gap <= 0 and power >= ENOUGH_POWER else CANNOT_TELL,
        test=Test(
            "gap between camps",
            float(gap / error) if error > 0 else 0.0,
            p,
            f"t with {tried - 1:.0f} degrees of freedom; camps chosen on other prompts, mean over {_ORDERS} orders",
            prompts,
            "prompt",
        ),
        gap=gap_interval,
        within=(float(x), float(y)),
        between=float(between),
        least=float(gap + between),
        camps=camp_members,
        power=power,
        alternative=alternative,
    )


def least_between(x: float, y: float) -> float:
    """The least mean tau between two camps with these taus within, if all raters share one order."""
    x, y = max(x, 0.0), max(y, 0.0)
    return float(np.sqrt(x * y * min(x, y)))


def faction_power(
    mean_tau: float,
    present: BoolArray,
    items: int,
    *,
    rng: np.random.Generator,
    level: float = LEVEL,
) -> tuple[float, str]:
    """Power of the test against two unrelated camps, and that alternative in words.

    Camps are halves of the raters, or four fifths and one fifth: the one that is harder to find. Studies of up to 300
    prompts are simulated and tested with one order of the chunks; more prompts raise their mean statistic by the root.
    """
    raters = present.shape[1]
    powers = []
    for second in sorted({raters // 2, max(2, raters // 5)}):
        sizes = raters - second, second
        within = mean_tau * raters * (raters - 1) / sum(k * (k - 1) for k in sizes)
        words = f"two camps of {sizes[0]} and {sizes[1]} with unrelated tastes, tau {within:.2f} within and 0 between"
        if within <= 0:
            return level, words + ": no agreement to divide"
        if within >= 1:
            powers.append((1.0, words + ": impossible, so much agreement needs one order"))
        else:
            powers.append((_simulated_power(within, second, present, items, level, rng), words))
    return min(powers)


def _simulated_power(
    within: float, second: int, present: BoolArray, items: int, level: float, rng: np.random.Generator
) -> float:
    prompts, raters = present.shape
    of_study = min(prompts, _POWER_PROMPTS)
    studies = _POWER_STUDIES if raters <= _MOST_RATERS_TO_ENUMERATE else _POWER_STUDIES // 4
    camp = np.arange(raters) >= second
    noise = np.sqrt(1 / np.sin(np.pi / 2 * within) - 1)  # Sheppard: tau = 2/pi arcsin(1 / (1 + noise^2))
    chunk = np.arange(of_study) % _CHUNKS
    ratios = []
    for _ in range(studies):
        taste = np.where(camp[:, None], *rng.normal(size=(2, of_study, 1, items)))
        impression = taste + noise * rng.normal(size=(of_study, raters, items))
        impression[~present[rng.integers(0, prompts, of_study)]] = 0.0  # equal everywhere: no sign
        votes = [_CampSigns(_signs(impression), chunk)]
        gap, error, *_ = _try_camps(votes, *_chunk_taus(votes, raters), np.arange(_CHUNKS))
        ratios.append(gap / max(error, 1e-9))
    tried = prompts * (1 - _FIRST_CHUNKS / _CHUNKS)
    away = np.mean(ratios) * np.sqrt(prompts / of_study) - -stdtrit(max(tried - 1, 1), level)
    return float(ndtr(away / max(np.std(ratios), 0.5)))


def _signs(ranks: NDArray[Any]) -> NDArray[np.int8]:
    """(n, pairs, R): 1 where a rater places the first item of a pair above the second; absent raters are all ties."""
    x, y = np.triu_indices(ranks.shape[2], 1)
    above: NDArray[np.int8] = (ranks[:, :, x] < ranks[:, :, y]).astype(np.int8)
    above -= ranks[:, :, x] > ranks[:, :, y]
    return above.transpose(0, 2, 1)


def _chunk_taus(votes: Sequence[_CampSigns], raters: int) -> tuple[FloatArray, FloatArray]:
    """(chunks, R, R) sums of taus over prompts, and numbers of prompts that two raters share."""
    taus, shared = np.zeros((2, _CHUNKS, raters, raters))
    for shape in votes:
        signs = shape.signs.astype(np.float32)
        there = (shape.signs[:, 0] != 0).astype(np.float32)
        for chunk in np.unique(shape.chunk):
            rows = shape.chunk == chunk
            flat = signs[rows].reshape(-1, raters)
            taus[chunk] += flat.T @ flat / signs.shape[1]
            shared[chunk] += there[rows].T @ there[rows]
    return taus, shared


def _choose_camps(sums: FloatArray, shared: FloatArray) -> BoolArray:
    """(K, R) the two camps of two raters or more that explain best each of K matrices of summed taus.

    Model: tau_rs = a_r + a_s + b [same camp]. With E what the a_r leave of the matrix and z = 1 in one camp and -1 in
    the other, the squares explained are (z' E z)^2 over a constant that depends on the sizes of the camps.
    """
    raters = sums.shape[1]
    off = ~np.eye(raters, dtype=bool)
    shares_prompt = off & (shared > 0)
    mean = (sums * shares_prompt).sum(axis=(1, 2)) / np.maximum((shared * shares_prompt).sum(axis=(1, 2)), 1)
    tau = np.where(shares_prompt, sums / np.maximum(shared, 1), mean[:, None, None]) * off
    rows = tau.sum(axis=2)
    effect = (rows - rows.sum(axis=1, keepdims=True) / (2 * (raters - 1))) / (raters - 2)
    left = (tau - effect[:, :, None] - effect[:, None, :]) * off
    weight = shared / np.maximum(shared.max(axis=(1, 2), keepdims=True), 1)
    left = left * weight
    if raters > _MOST_RATERS_TO_ENUMERATE:
        return np.stack([_cut(matrix) for matrix in left])
    sides = _all_sides(raters)
    upper = np.triu_indices(raters, 1)
    explained = left[:, upper[0], upper[1]] @ (sides[:, upper[0]] * sides[:, upper[1]]).T / _norms(sides)
    # Of camps that explain it equally well the first is taken, whatever the last digit of the arithmetic says.
    best = np.argmax(explained >= explained.max(axis=1, keepdims=True) - 1e-9, axis=1)
    return np.asarray(sides[best] > 0)


@cache
def _all_sides(raters: int) -> FloatArray:
    """Every division into two camps of two raters or more, 1 and -1; rater 0 is on side 1."""
    sides = []
    for size in range(1, raters - 2):
        for members in combinations(range(1, raters), size):
            side = -np.ones(raters)
            side[[0, *members]] = 1.0
            sides.append(side)
    return np.array(sides)


def _norms(sides: FloatArray) -> FloatArray:
    """The root of the squares that [same camp] has left once an effect for each rater is taken out."""
    raters = sides.shape[-1]
    first = (sides > 0).sum(axis=-1)
    same = np.stack([first, raters - first]) - 1.0  # row sums of [same camp] in the two camps
    rows = first * same[0] + (raters - first) * same[1]
    effect = (same - rows / (2 * (raters - 1))) / (raters - 2)
    # <same, same - effects> = sum over rows of (row sum - 2 effect * row sum) / 2
    squares = (first * same[0] * (1 - 2 * effect[0]) + (raters - first) * same[1] * (1 - 2 * effect[1])) / 2
    return np.asarray(np.sqrt(np.maximum(squares, 1e-12)))


def _cut(left: FloatArray) -> BoolArray:
    """The best cut along the main direction of a matrix, then improved by moving one rater at a time."""
    raters = len(left)
    order = np.argsort(np.linalg.eigh(left)[1][:, -1], kind="stable")
    sides = np.ones((raters - 3, raters))
    for k in range(2, raters - 1):
        sides[k - 2, order[:k]] = -1.0
    explained = np.einsum("cr,cr->c", sides @ left, sides) / _norms(sides)
    side = sides[int(np.argmax(explained))]
    best = float(explained.max())
    for _ in range(raters):
        moves = np.where(np.eye(raters, dtype=bool), -side, side)
        values = side @ left @ side - 4 * side * (left @ side)
        smallest = np.minimum((moves > 0).sum(axis=1), (moves < 0).sum(axis=1))
        values = np.where(smallest >= 2, values / _norms(moves), -np.inf)
        move = int(np.argmax(values))
        if values[move] <= best + 1e-9:
            break
        side, best = moves[move], float(values[move])
    return np.asarray(side > 0)


def _try_camps(votes: Sequence[_CampSigns], taus: FloatArray, shared: FloatArray, order: IntArray) -> tuple[float, ...]:
    """Gap, error, taus within and between and prompts used; each chunk is tried with camps chosen before it."""
    first = _FIRST_CHUNKS - 1
    chosen = _choose_camps(np.cumsum(taus[order], axis=0)[first:-1], np.cumsum(shared[order], axis=0)[first:-1])
    camp = np.zeros((_CHUNKS, taus.shape[1]), dtype=bool)
    camp[order[_FIRST_CHUNKS:]] = chosen
    tried = np.isin(np.arange(_CHUNKS), order[_FIRST_CHUNKS:])
    return _gap(np.concatenate([_parts(shape.signs, camp[shape.chunk])[tried[shape.chunk]] for shape in votes]))


def _parts(signs: NDArray[np.int8], camp: BoolArray) -> FloatArray:
    """(n, 6) of every prompt: sum of taus and number of pairs of raters, within the first camp, the second, between.

    `camp` is (n, R). The first camp is the larger one, or the one of rater 0, so that prompts with different camps can
    be put together.
    """
    raters, size = camp.shape[1], camp.sum(axis=1)
    camp = camp ^ ((2 * size < raters) | ((2 * size == raters) & ~camp[:, 0]))[:, None]
    there = signs[:, 0] != 0
    sizes = [(there & side).sum(axis=1) for side in (camp, ~camp)]
    votes = [
        np.matmul(signs.astype(np.float32), side[:, :, None].astype(np.float32))[:, :, 0] for side in (camp, ~camp)
    ]
    columns = []
    for vote, count in zip(votes, sizes):
        columns += [((vote**2).mean(axis=1, dtype=np.float64) - count) / 2, count * (count - 1) / 2]
    columns += [(votes[0] * votes[1]).mean(axis=1, dtype=np.float64), sizes[0] * sizes[1]]
    return np.column_stack(columns).astype(np.float64)


def _gap(parts: FloatArray) -> tuple[float, ...]:
    """Gap, its error by the delta method, taus within and between, and how many prompts have raters of both camps."""
    used = parts[parts[:, 5] > 0]
    if len(used) < 2 or not (used[:, 1].any() and used[:, 3].any()):
        return 0.0, 0.0, 0.0, 0.0, 0.0, float(len(used))
    tau, pairs = used[:, ::2], used[:, 1::2]
    x, y, between = tau.sum(axis=0) / pairs.sum(axis=0)
    least = least_between(x, y)
    low, high = (max(v, 1e-12) for v in sorted((x, y)))
    slopes = np.array(
        [np.sqrt(high), low / (2 * np.sqrt(high))] if x <= y else [low / (2 * np.sqrt(high)), np.sqrt(high)]
    )
    slopes = np.append(np.where(np.array([x, y]) > 0, slopes, 0.0), -1.0)
    moves = (tau - np.array([x, y, between]) * pairs) / pairs.mean(axis=0) @ slopes
    error = float(moves.std(ddof=1) / np.sqrt(len(used)))
    return float(least - between), error, float(x), float(y), float(between), float(len(used))


def _upper_tail(gap: float, error: float, tried: float) -> float:
    """P(t > gap / error). Without any spread there is nothing to divide by: unanimous raters are one taste."""
    if error < 1e-12 or tried < 2:
        return 1.0 if gap <= 1e-9 or tried < 2 else float(0.5 ** max(tried - 1, 1))
    return float(stdtr(max(tried - 1, 1), -gap / error))


def _camp_members(camp: BoolArray) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Both camps by rater number, the larger first."""
    first, second = tuple(np.flatnonzero(camp).tolist()), tuple(np.flatnonzero(~camp).tolist())
    return (first, second) if (len(first), second) > (len(second), first) else (second, first)


def _require_enough(present: BoolArray) -> None:
    prompts, raters = present.shape
    if raters < 4:
        raise TooFew(
            "telling one taste from camps needs at least four raters who judge the same prompts",
            found=f"{raters} raters: a camp needs two",
            remedy="ask more raters",
        )
    usable = int((present.sum(axis=1) >= 2).sum())
    if usable < LEAST_PROMPTS:
        raise TooFew(
            f"telling one taste from camps needs at least {LEAST_PROMPTS} prompts that raters share",
            found=f"{usable} prompts: on so few a camp looks like noise",
            remedy="ask the same raters about more prompts",
        )
    presence = present.astype(float)
    met = (presence.T @ presence >= 2) & ~np.eye(raters, dtype=bool)
    if met.sum() / 2 <= raters or not met.any(axis=1).all():
        raise TooFew(
            "telling one taste from camps needs raters who share prompts, two and more",
            found=f"{prompts} prompts, {int(met.sum() / 2)} of {raters * (raters - 1) // 2} pairs of raters share two",
            remedy="use it on raters who judged the same prompts",
        )
