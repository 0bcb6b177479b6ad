"""The one test a verdict rests on: do raters agree more than random raters would?

The total agreement S over prompts (`agreement_law`) against its law under random raters, one-sided: p is the chance
of at least so much agreement, `p_opposite` of at most so much. The statistic shown is S over the pairs of decided
votes: the mean product of two raters' signs on a pair, 1 when all agree, 0 in expectation under the null; for strict
rankings of one shape it is the mean tau.

    agreement_test    strict rankings, counted as cells: exact, or the saddle-point tail where a shape has no exact law
    tied_test         orders with ties: a tie is no sign. Null: each answer keeps its pattern of ties, and every
                      assignment of the items to it is as likely. Few answers: 20,000 random assignments. Many: the
                      saddle-point tail; prompts without a tie keep their exact law
    power_agreement   the chance that this design shows raters with a given mean tau

Assumptions. Prompts and raters independent; the questions did not depend on the answers. No interval and no bootstrap
is involved: one prompt with many raters is tested as well as many prompts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb

import numpy as np
import numpy.typing as npt

from salon.errors import BadValue, TooFew
from salon.stats.agreement_law import ChiLaw, Part, chi_law, critical_total, ranking_law, sign_variances, total_tail
from salon.stats.behavior import wilson
from salon.stats.compiled import compiled
from salon.stats.laws import noise_for_tau
from salon.stats.nulls import Null
from salon.stats.result import Estimate, Test
from salon.stats.signal import Cells

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

ASSIGNMENTS = 20_000
"""Random assignments behind the test of few answers with ties: p is then good to 0.0015 (standard error) at 0.05."""
_MOST_WORK = 150_000_000  # signs drawn, about a second
_POWER_WORK = 40_000_000
_POWER_SIMS = 1_000


def agreement_test(shapes: Sequence[tuple[Cells, Null]]) -> Test:
    """Strict rankings against random raters; `shapes` are the cells of each shape with its null law."""
    shapes = [(cells, null) for cells, null in shapes if cells.n]
    if not shapes:
        raise TooFew("at least one prompt with two complete answers is needed", found="none")
    total = sum(int(cells.t_numerators @ cells.counts) for cells, _ in shapes)
    pairs = sum(cells.t_denominator * cells.n for cells, _ in shapes)
    parts: list[Part] = [(ranking_law(null), cells.n) for cells, null in shapes]
    return tail_test(parts, total, pairs, prompts=sum(cells.n for cells, _ in shapes))


def tail_test(parts: Sequence[Part], total: int, pairs: int, *, prompts: int) -> Test:
    """The test of a total of pairs of votes from the laws of its prompts."""
    tail = total_tail(parts, total)
    how = "exact" if tail.exact else "saddle-point tail"
    return Test(
        name="agreement",
        statistic=total / pairs,
        p=tail.above,
        law=f"total agreement over prompts, {how}, one-sided",
        n=prompts,
        unit="prompt",
        p_opposite=tail.below,
    )


def tied_test(
    scores: npt.NDArray[np.float32],
    size: npt.ArrayLike,
    starts: npt.ArrayLike,
    null: Callable[[int, int], Null],
    *,
    rng: np.random.Generator,
) -> Test:
    """Orders with ties: `scores` (N, widest), higher = better, equal = tie, sorted by prompt; `starts` of the prompts.

    `size` (N,) is the number of items of each answer. Prompts with one answer are left out.
    """
    sizes = np.asarray(size, np.int64)
    first, last = _prompts(starts, len(scores))
    if not len(first):
        raise TooFew("at least one prompt with two complete answers is needed", found="none")
    total, pairs = _observed(scores, sizes, first, last)
    if pairs == 0:
        raise TooFew(
            "at least one item pair with two decided votes is needed", found=f"{len(scores):,} answers that tie"
        )
    work = int((sizes + sizes * (sizes - 1) // 2).sum()) * ASSIGNMENTS
    if work > _MOST_WORK:
        return tail_test(tied_parts(scores, sizes, starts, null), total, pairs, prompts=len(first))
    above, below = _assign(scores.copy(), sizes, first, last, ASSIGNMENTS, int(rng.integers(1, 2**62)), total)
    return Test(
        name="agreement",
        statistic=total / pairs,
        p=(1 + above) / (1 + ASSIGNMENTS),
        law=f"total agreement over prompts, {ASSIGNMENTS:,} random assignments of items to answers, one-sided",
        n=len(first),
        unit="prompt",
        p_opposite=(1 + below) / (1 + ASSIGNMENTS),
    )


def _observed(scores: npt.NDArray[np.float32], sizes: Ints, first: Ints, last: Ints) -> tuple[int, int]:
    total, pairs = _totals(scores, sizes, first, last)
    return int(total), int(pairs)


def _prompts(starts: npt.ArrayLike, answers: int) -> tuple[Ints, Ints]:
    """Where the answers of each prompt with two or more begin and end."""
    first = np.asarray(starts, np.int64)
    last = np.append(first[1:], answers)
    kept = last - first >= 2
    return first[kept], last[kept]


def tied_parts(
    scores: npt.NDArray[np.float32], size: npt.ArrayLike, starts: npt.ArrayLike, null: Callable[[int, int], Null]
) -> list[Part]:
    """A law for every prompt: that of its shape without ties, else chi-squares."""
    sizes = np.asarray(size, np.int64)
    first, last = _prompts(starts, len(scores))
    parts: list[Part] = []
    weights, freedom = [], []
    strict: dict[tuple[int, int], int] = {}
    alpha, beta = np.zeros(len(scores)), np.zeros(len(scores))
    for items in np.unique(sizes).tolist():
        rows = np.flatnonzero(sizes == items)
        for block in np.array_split(rows, max(1, len(rows) * items**2 // 20_000_000)):
            alpha[block], beta[block] = sign_variances(scores[block, :items])
    for start, end in zip(first.tolist(), last.tolist()):
        items = int(sizes[start])
        if np.all(alpha[start:end] > (items + 1) / 3 - 1e-9):
            strict[items, end - start] = strict.get((items, end - start), 0) + 1
            continue
        law = chi_law(items, alpha[start:end], beta[start:end], step=1)
        weights.append(law.weights)
        freedom.append(law.freedom)
    parts += [(ranking_law(null(*shape)), n) for shape, n in strict.items()]
    if weights:
        parts.append((ChiLaw(np.concatenate(weights), np.concatenate(freedom), 1), 1))
    return parts


def power_agreement(
    parts: Sequence[Part],
    prompts: Sequence[npt.NDArray[np.float32]],
    counts: Sequence[int],
    *,
    tau: float,
    alpha: float,
    rng: np.random.Generator,
) -> Estimate:
    """Chance that the test rejects at level `alpha` when two raters agree by `tau` in expectation.

    `parts` are the laws of the design. Its prompts are given as kinds: `prompts[i]` holds the answers (R, p) of one
    such prompt, `counts[i]` how many there are like it. Raters follow Thurstone's law, utilities plus own noise; an
    answer keeps its pattern of ties.
    """
    if len(prompts) != len(counts) or not prompts:
        raise BadValue("every kind of prompt needs its number", found=f"{len(prompts)} kinds, {len(counts)} numbers")
    critical = critical_total(parts, alpha)
    votes = sum(count * answers.shape[0] * comb(answers.shape[1], 2) for answers, count in zip(prompts, counts))
    sims = int(np.clip(_POWER_WORK // max(votes, 1), 100, _POWER_SIMS))
    noise = {items: noise_for_tau(tau, items, "thurstone") for items in {answers.shape[1] for answers in prompts}}
    totals = np.zeros(sims)
    for answers, count in zip(prompts, counts):
        ordered = np.sort(answers, axis=1)
        pool = min(sims * count, max(200, _POWER_WORK // (4 * answers.shape[0] * comb(answers.shape[1], 2))))
        drawn = _thurstone_totals(ordered, pool, noise[answers.shape[1]], rng)
        if pool == sims * count:
            totals += drawn.reshape(sims, count).sum(axis=1)
        elif count <= 200:
            totals += rng.choice(drawn, (sims, count)).sum(axis=1)
        else:
            totals += count * drawn.mean() + np.sqrt(count) * drawn.std() * rng.standard_normal(sims)
    return wilson(int((totals >= critical).sum()), sims, unit="simulated studies")


# -------------------------------------------------------------------------------------------------- kernels
@compiled
def _totals(scores, sizes, first, last):  # type: ignore[no-untyped-def]  # numba knows the types
    """S, and the pairs of decided votes, over all prompts."""
    total, pairs = 0, 0
    for g in range(len(first)):
        p = sizes[first[g]]
        for i in range(p):
            for j in range(i):
                lead, decided = 0, 0
                for r in range(first[g], last[g]):
                    if scores[r, i] > scores[r, j]:
                        lead += 1
                        decided += 1
                    elif scores[r, i] < scores[r, j]:
                        lead -= 1
                        decided += 1
                total += (lead * lead - decided) // 2
                pairs += decided * (decided - 1) // 2
    return total, pairs


@compiled
def _assign(scores, sizes, first, last, draws, seed, seen):  # type: ignore[no-untyped-def]  # numba knows the types
    """How often random assignments of items to answers agree at least, and at most, as much as `seen`."""
    state = np.uint64(seed)
    above, below = 0, 0
    lead = np.zeros(scores.shape[1] * scores.shape[1], np.int64)
    decided = 0
    for _ in range(draws):
        total = 0
        for g in range(len(first)):
            p = sizes[first[g]]
            for e in range(p * p):
                lead[e] = 0
            decided = 0
            for r in range(first[g], last[g]):
                for i in range(p - 1, 0, -1):
                    state ^= state << np.uint64(13)
                    state ^= state >> np.uint64(7)
                    state ^= state << np.uint64(17)
                    j = int((state >> np.uint64(11)) % np.uint64(i + 1))
                    kept = scores[r, i]
                    scores[r, i] = scores[r, j]
                    scores[r, j] = kept
                for i in range(p):
                    for j in range(i):
                        if scores[r, i] > scores[r, j]:
                            lead[i * p + j] += 1
                            decided += 1
                        elif scores[r, i] < scores[r, j]:
                            lead[i * p + j] -= 1
                            decided += 1
            squares = 0
            for e in range(p * p):
                squares += lead[e] * lead[e]
            total += (squares - decided) // 2
        above += total >= seen
        below += total <= seen
    return above, below


@compiled
def _thurstone_totals(ordered, draws, noise, rng):  # type: ignore[no-untyped-def]  # numba knows the types
    """S of `draws` prompts whose raters see utilities through noise; rater r's i-th worst item gets ordered[r, i]."""
    raters, p = ordered.shape
    totals = np.zeros(draws)
    utility = np.zeros(p)
    seen = np.zeros(p)
    place = np.zeros(p, np.int64)
    for d in range(draws):
        lead = np.zeros((p, p), np.int64)
        decided = 0
        for i in range(p):
            utility[i] = rng.standard_normal()
        for r in range(raters):
            for i in range(p):
                seen[i] = utility[i] + noise * rng.standard_normal()
            for i in range(p):
                below = 0
                for j in range(p):
                    below += seen[j] < seen[i]
                place[i] = below
            for i in range(p):
                for j in range(i):
                    a, b = ordered[r, place[i]], ordered[r, place[j]]
                    if a > b:
                        lead[i, j] += 1
                        decided += 1
                    elif a < b:
                        lead[i, j] -= 1
                        decided += 1
        squares = 0
        for i in range(p):
            for j in range(i):
                squares += lead[i, j] * lead[i, j]
        totals[d] = (squares - decided) // 2
    return totals
