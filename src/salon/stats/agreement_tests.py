"""Tests of agreement beyond chance: complete orders, orders with ties, and votes on single pairs.

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
from dataclasses import dataclass
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.errors import BadValue, TooFew
from salon.stats.agreement import wilson
from salon.stats.agreement_law import (
    ChiLaw,
    ExactLaw,
    Part,
    chi_law,
    critical_total,
    match_cumulants,
    pair_law,
    ranking_law,
    sign_variances,
    total_tail,
)
from salon.stats.intervals import BOTH_SIDES, bootstrap_totals
from salon.stats.jit import compiled
from salon.stats.nulls import Null
from salon.stats.result import Estimate, Test
from salon.stats.signal import SignalCells
from salon.stats.simulate import noise_for_tau

if TYPE_CHECKING:
    from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ASSIGNMENTS = 20_000
"""Random assignments behind the test of few answers with ties: p is then good to 0.0015 (standard error) at 0.05."""
_MOST_WORK = 150_000_000  # signs drawn, about a second
_POWER_WORK = 40_000_000
_POWER_SIMS = 1_000
_FEW_STEPS = 50_000  # of a simulation that takes less time than loading machine code; the same numbers are drawn


def agreement_test(shapes: Sequence[tuple[SignalCells, Null]]) -> Test:
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
    scores: NDArray[np.float32],
    size: ArrayLike,
    starts: ArrayLike,
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


def _observed(scores: NDArray[np.float32], sizes: Ints, first: Ints, last: Ints) -> tuple[int, int]:
    total, pairs = _totals(scores, sizes, first, last)
    return int(total), int(pairs)


def _prompts(starts: ArrayLike, answers: int) -> tuple[Ints, Ints]:
    """Where the answers of each prompt with two or more begin and end."""
    first = np.asarray(starts, np.int64)
    last = np.append(first[1:], answers)
    several = last - first >= 2
    return first[several], last[several]


def tied_parts(
    scores: NDArray[np.float32], size: ArrayLike, starts: ArrayLike, null: Callable[[int, int], Null]
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
    prompts: Sequence[NDArray[np.float32]],
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
        few = pool * answers.size * answers.shape[1] <= _FEW_STEPS
        simulate = _thurstone_totals.loop if few else _thurstone_totals
        simulated = simulate(ordered, pool, noise[answers.shape[1]], rng)
        if pool == sims * count:
            totals += simulated.reshape(sims, count).sum(axis=1)
        elif count <= 200:
            totals += rng.choice(simulated, (sims, count)).sum(axis=1)
        else:
            totals += count * simulated.mean() + np.sqrt(count) * simulated.std() * rng.standard_normal(sims)
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
def _assign(scores, sizes, first, last, draws, seed, observed):  # type: ignore[no-untyped-def]  # numba knows the types
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
                    swapped = scores[r, i]
                    scores[r, i] = scores[r, j]
                    scores[r, j] = swapped
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
        above += total >= observed
        below += total <= observed
    return above, below


@compiled
def _thurstone_totals(ordered, draws, noise, rng):  # type: ignore[no-untyped-def]  # numba knows the types
    """S of `draws` prompts whose raters see utilities through noise; rater r's i-th worst item gets ordered[r, i]."""
    raters, p = ordered.shape
    totals = np.zeros(draws)
    utility = np.zeros(p)
    impression = np.zeros(p)
    place = np.zeros(p, np.int64)
    for d in range(draws):
        lead = np.zeros((p, p), np.int64)
        decided = 0
        for i in range(p):
            utility[i] = rng.standard_normal()
        for r in range(raters):
            for i in range(p):
                impression[i] = utility[i] + noise * rng.standard_normal()
            for i in range(p):
                below = 0
                for j in range(p):
                    below += impression[j] < impression[i]
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


# -- votes on single pairs ---------------------------------------------------------------------------------------------


FLIPS = 1_999
_MOST_FLIP_WORK = 2_000_000_000
"""Votes x flips that one test may cost: about ten seconds on one core."""
_FLIPS_AT_ONCE = 16
_VOTE_POWER_WORK = 20_000_000
_ALL_FLIPS = 14
"""Blocks of which all flips are taken."""
_MOST_SIDE = 3_000
"""Pairs, or blocks, of a part whose products are laid out in full."""
_MOST_LAWS = 3_000
"""More different laws than this are so many parts that their cumulants are enough."""


@dataclass(frozen=True)
class VoteAgreement:
    """Mean agreement of two votes on a pair, and the test that there is none."""

    agreement: Estimate
    test: Test
    pairs: int
    """Pairs with at least two decided votes."""


def vote_test(
    pair: ArrayLike,
    block: ArrayLike,
    sign: ArrayLike,
    cluster: ArrayLike,
    *,
    draws: int,
    rng: np.random.Generator,
    level: float = 0.95,
) -> VoteAgreement:
    """Agreement over votes; `cluster` (one per vote) is what is drawn again for the interval: prompt or pair.

    `draws` belong to the interval alone: the test does not depend on them.

    Signal in votes that form no complete orders: do raters agree on pairs beyond chance?

    Model. Rater r in group g gives signs s in {-1, 0, +1} (a better, tie, b better) to some pairs of g's items. Under
    the random-rater null every order of the items is as likely as its reverse, so all signs of one block (one rater in
    one group) may be flipped together without changing their law: flipping blocks at random gives the null law of any
    statistic, whatever pairs each rater saw and however they depend on each other.

    Statistic. S = sum over pairs of ((sum s)^2 - sum s^2) / 2, the total agreement of `agreement_law`, shown divided by
    the number of pairs of decided votes: the mean product of two different raters' signs on one pair. It is 1 when all
    agree, 0 in expectation under the null, and equals the mean tau when every rater has ranked everything.

    Law. Blocks that share no pair, directly or through others, are independent parts of S:

        a pair with one vote a block     binomial, exact
        up to 14 blocks                  all flips, exact
        more                             w (chi2(d) - d) with the exact second and third cumulant of the flips:
                                         k2 = sum over r < s of G_rs^2, k3 = 6 sum over r < s < t of G_rs G_st G_tr,
                                         G_rs the product of two blocks' signs summed over pairs

    and the tail of their sum is that of `agreement_law`. A part of more than 3,000 pairs and more than 3,000
    blocks is flipped 1,999 times instead.

    Assumptions. Blocks answer independently, and the choice of pairs did not depend on the answers. Votes of a crowd
    have one block each. Edges: no pair with two decided votes raises TooFew. Few blocks have few flips: three raters of
    one prompt reach no p below 1/4. Source: sign-flip (reflection) randomisation test; Kendall & Babington Smith 1940
    for the agreement coefficient.
    """
    from scipy import sparse

    pair_of, block_of = np.asarray(pair, np.int64), np.asarray(block, np.int64)
    signs, cluster_of = np.asarray(sign, np.float64), np.asarray(cluster, np.int64)
    decided: Floats = np.bincount(pair_of, weights=np.abs(signs)).astype(np.float64)
    ordered = float((decided * (decided - 1)).sum())
    if ordered == 0:
        raise TooFew(
            "at least one pair with two decided votes is needed",
            found=f"{len(signs)} votes on {len(np.unique(pair_of))} pairs, none twice",
            remedy="collect more than one answer per pair",
        )
    table = _cluster_table(pair_of, signs, cluster_of, decided)
    intervals, flips = rng.spawn(2)
    estimate = bootstrap_totals(
        lambda totals: totals[:, 0] / totals[:, 1], table, draws=draws, rng=intervals, level=level, ends=BOTH_SIDES
    )
    votes = sparse.csr_array((signs, (pair_of, block_of)), shape=(len(decided), int(block_of.max()) + 1))
    votes.sum_duplicates()
    votes.eliminate_zeros()
    total = round((float((votes.sum(axis=1) ** 2).sum()) - float((votes.data**2).sum())) / 2)
    pairs = int((decided >= 2).sum())
    parts = flip_parts(votes)
    above, below, law = _tails(parts, total) if parts is not None else _flip(votes, total, flips)
    test = Test("pairs", estimate.value, above, f"{law}, one-sided", pairs, "pair", p_opposite=below)
    return VoteAgreement(agreement=estimate, test=test, pairs=pairs)


def vote_power(
    pair: ArrayLike,
    block: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    sign: ArrayLike,
    *,
    tau: float,
    alpha: float,
    rng: np.random.Generator,
) -> Estimate | None:
    """Chance that `vote_test` rejects at level `alpha` when two raters agree by `tau` on a pair in expectation.

    Raters follow Thurstone's law: utilities of items, plus noise of each block and item. Pairs and ties stay as they
    are. None where the law of the design has no closed form.
    """
    from scipy import sparse

    decided = np.asarray(sign) != 0
    pair_of, block_of, a, b = (np.asarray(x, np.int64)[decided] for x in (pair, block, first, second))
    _, pair_of = np.unique(pair_of, return_inverse=True)
    _, block_of = np.unique(block_of, return_inverse=True)
    signs = np.asarray(sign, np.float64)[decided]
    if not len(signs):
        return None
    votes = sparse.csr_array((signs, (pair_of, block_of)), shape=(int(pair_of.max()) + 1, int(block_of.max()) + 1))
    parts = flip_parts(votes)
    if not parts:
        return None
    critical = critical_total(parts, alpha)
    items, place = np.unique(np.concatenate([a, b]), return_inverse=True)
    keys, place_of = np.unique(np.concatenate([block_of, block_of]) * len(items) + place, return_inverse=True)
    noise = noise_for_tau(tau, 2, "thurstone")
    sims = int(np.clip(_VOTE_POWER_WORK // len(signs), 50, 400))
    hits = 0
    for _ in range(sims):
        felt = rng.standard_normal(len(items))[keys % len(items)] + noise * rng.standard_normal(len(keys))
        simulated = np.where(felt[place_of[: len(a)]] > felt[place_of[len(a) :]], 1.0, -1.0)
        lead = np.bincount(pair_of, weights=simulated)
        hits += (float((lead**2).sum()) - len(signs)) / 2 >= critical
    return wilson(hits, sims, unit="simulated studies")


def flip_parts(votes: sparse.csr_array) -> list[Part] | None:
    """The laws of the independent parts of votes (pairs, blocks) under flips; None where a part is too large."""
    from scipy import sparse
    from scipy.sparse import csgraph

    graph = sparse.block_array([[None, votes != 0], [(votes != 0).T, None]], format="csr")
    _, component = csgraph.connected_components(graph, directed=False)
    entries = votes.tocoo()
    owner = component[entries.row]
    order = np.argsort(owner, kind="stable")
    rows, columns, data = entries.row[order], entries.col[order], entries.data[order]
    starts = np.flatnonzero(np.append(True, np.diff(owner[order]) != 0)[: len(order)])
    laws: dict[bytes, tuple[ExactLaw, int]] = {}
    weights, freedom = [], []
    for start, end in zip(starts.tolist(), np.append(starts[1:], len(order)).tolist()):
        own, row = np.unique(rows[start:end], return_inverse=True)
        voters, column = np.unique(columns[start:end], return_inverse=True)
        if len(voters) < 2:
            continue
        if len(own) == 1 and np.all(np.abs(data[start:end]) == 1):
            _count_law(laws, pair_law(len(voters)))
            continue
        if min(len(own), len(voters)) > _MOST_SIDE:
            return None
        signs = sparse.csr_array((data[start:end], (row, column)), shape=(len(own), len(voters)))
        if len(voters) <= _ALL_FLIPS:
            # all values of S over the flips of blocks; the first block stays, as S does not change when all are flipped
            products = np.rint((signs.T @ signs).toarray()).astype(np.int64)
            totals = np.zeros(1 << (len(products) - 1), np.int64)
            _fill_flips(products, totals)
            values, counts = np.unique(totals, return_counts=True)
            _count_law(laws, ExactLaw(values, np.log(counts / len(totals))))
        else:
            w, d = match_cumulants(*flip_cumulants(signs))
            weights.append(w)
            freedom.append(d)
    parts: list[Part] = [*laws.values()]
    if len(parts) > _MOST_LAWS:
        # all parts as one law with their summed cumulants
        second = third = 0.0
        for law, n in parts:
            assert isinstance(law, ExactLaw)
            p = np.exp(law.log_p)
            second += n * float(p @ law.values.astype(float) ** 2)
            third += n * float(p @ law.values.astype(float) ** 3)
        w, d = match_cumulants(second, third)
        parts = [(ChiLaw(np.array([w]), np.array([d]), 1), 1)]
    if weights:
        parts.append((ChiLaw(np.array(weights), np.array(freedom), 1), 1))
    return parts


def flip_cumulants(signs: sparse.csr_array) -> tuple[float, float]:
    """Second and third cumulant of S under flips of the blocks of signs (pairs, blocks), by way of the shorter side."""
    if signs.shape[1] <= signs.shape[0]:
        gram = (signs.T @ signs).toarray()
        np.fill_diagonal(gram, 0.0)
        return float((gram**2).sum()) / 2, float(((gram @ gram) * gram).sum())
    own = np.asarray((signs**2).sum(axis=0))
    M = (signs @ signs.T).toarray()
    second = (float((M**2).sum()) - float((own**2).sum())) / 2
    through = np.asarray(signs.multiply(signs.T.dot(M).T).sum(axis=0))
    third = float(((M @ M) * M).sum()) - 3 * float(own @ through) + 2 * float((own**3).sum())
    return second, third


@compiled
def _fill_flips(gram, totals):  # type: ignore[no-untyped-def]  # numba knows the types
    """S of every flip, in the order of a Gray code: one block turns from each to the next."""
    blocks = len(gram)
    sign = np.ones(blocks, np.int64)
    total = 0
    for r in range(blocks):
        for s in range(r):
            total += gram[r, s]
    totals[0] = total
    for step in range(1, len(totals)):
        turned, rest = 1, step
        while rest % 2 == 0:
            rest //= 2
            turned += 1
        change = 0
        for s in range(blocks):
            if s != turned:
                change += sign[s] * gram[turned, s]
        total -= 2 * sign[turned] * change
        sign[turned] = -sign[turned]
        totals[step] = total


def _count_law(laws: dict[bytes, tuple[ExactLaw, int]], law: ExactLaw) -> None:
    """Count a part under its law; equal laws are one."""
    key = law.values.tobytes() + np.round(law.log_p, 12).tobytes()
    first, count = laws.get(key, (law, 0))
    laws[key] = (first, count + 1)


def _tails(parts: list[Part], total: int) -> tuple[float, float, str]:
    tail = total_tail(parts, total)
    how = "exact" if tail.exact else "saddle-point tail"
    return tail.above, tail.below, f"sign flips of whole answers, {how}"


def _flip(votes: sparse.csr_array, total: int, rng: np.random.Generator) -> tuple[float, float, str]:
    """Tails of S by random flips, as many as the work allows."""
    flips = int(np.clip(_MOST_FLIP_WORK // max(votes.nnz, 1), 199, FLIPS))
    constant = float((votes.data**2).sum())
    exact = np.float32 if abs(votes).sum(axis=1).max() < 2**24 else np.float64
    signs, totals = votes.astype(exact), np.zeros(flips)
    for start in range(0, flips, _FLIPS_AT_ONCE):  # one pass over the votes for all of them
        turned = rng.integers(0, 2, (min(_FLIPS_AT_ONCE, flips - start), votes.shape[1])).astype(exact)
        lead = signs @ np.ascontiguousarray((2 * turned - 1).T)
        totals[start : start + len(turned)] = (np.einsum("ij,ij->j", lead, lead, dtype=np.float64) - constant) / 2
    above, below = int((totals >= total - 0.25).sum()), int((totals <= total + 0.25).sum())
    law = f"sign flips of whole answers, {flips:,} draws"
    return (1 + above) / (1 + flips), (1 + below) / (1 + flips), law


def _cluster_table(pair: Ints, sign: Floats, cluster: Ints, decided: Floats) -> Floats:
    """(clusters, 2): agreeing minus disagreeing ordered vote pairs, and all ordered vote pairs."""
    total = np.bincount(pair, weights=sign)
    of_pair = np.zeros(len(decided), np.int64)
    of_pair[pair] = cluster
    used, dense = np.unique(of_pair[decided > 1], return_inverse=True)
    good = decided > 1
    numerator = np.bincount(dense, weights=(total**2 - decided)[good], minlength=len(used))
    return np.column_stack(
        [numerator, np.bincount(dense, weights=(decided * (decided - 1))[good], minlength=len(used))]
    )
