"""The compiled inner loops of `orbits`: add one rater to the states of a layer, and count what comes out.

Letters, as in `orbits`: p items, m = C(p,2) pairs, r raters. A state is the vote vector of r raters packed into 64
bits, `width` bits per pair. A *directed* pair is numbered e for "a above b" and m + e for "b above a", where e is the
column of a < b; a set of directed pairs is a mask of 2m bits. A set of rankings is a bit set over the p! rankings in
the order of `Geometry.casts`, so that "which rankings place a above b" is looked up, not searched.

The loops of `_arrive` run over a block of rankings with the pair or item outside and no branches inside: the compiler
turns them into vector instructions, which is what makes plain loops fast enough here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, uint64
from numba.cpython.unsafe.numbers import trailing_zeros

Words = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
SmallInts = npt.NDArray[np.int32]

FORWARD, BACKWARD, EITHER = 0, 1, 2  # how to read a state: as it is, reversed, or not settled by its scores


class Geometry(NamedTuple):
    """All that depends on the number of items only."""

    items: int
    width: int
    """Bits per pair in a packed state."""
    first: Ints
    """(m,) item a of each pair a < b."""
    second: Ints
    """(m,) item b."""
    casts: Words
    """(p!,) mask of the directed pairs that each ranking votes for; neighbours differ by one swap."""
    above: Words
    """(2m, words) the rankings that vote for each directed pair, as a bit set."""
    walk: Ints
    """(p!,) the directed pair whose vote is lost in the swap that leads to each ranking (the first: unused)."""
    cycles: Ints
    """(t, 3) the directed pairs of every possible cycle a > b > c > a."""


class Arrivals(NamedTuple):
    """States reached from a batch of sources, one row per witness."""

    keys: Words
    source: Ints
    times: SmallInts


class Block(NamedTuple):
    """Room for the rankings added to one state: rows are items, columns rankings."""

    cast: Words
    score: SmallInts
    best: SmallInts
    times: SmallInts
    fine: Ints
    rank: Ints
    start: Ints
    reading: Ints
    tied: Ints
    keys: Words


@njit(cache=True)
def _new_block(items: int, size: int) -> Block:
    return Block(
        np.zeros(size, np.uint64),
        np.zeros((items, size), np.int32),
        np.zeros(size, np.int32),
        np.zeros(size, np.int32),
        np.zeros((items, size), np.int64),
        np.zeros((items, size), np.int64),
        np.zeros((items, size), np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.int64),
        np.zeros(size, np.uint64),
    )


@njit(inline="always")
def lowest_bit(word: Any) -> Any:
    """Number of the lowest bit that is set."""
    return np.int64(trailing_zeros(word))  # type: ignore[call-arg]


@njit(inline="always")
def _bit(word: Any, place: Any) -> Any:
    return (word >> uint64(place)) & uint64(1)


@njit(cache=True)
def _unpack(state: Any, r: int, width: int, votes: Ints) -> None:
    """Votes of all 2m directed pairs."""
    m = len(votes) // 2
    field = (uint64(1) << uint64(width)) - uint64(1)
    for e in range(m):
        votes[e] = np.int64((state >> uint64(width * e)) & field)
        votes[m + e] = r - votes[e]


@njit(cache=True)
def _fewest(votes: Ints) -> Any:
    """The smallest number of votes above zero."""
    fewest = votes[0] + votes[len(votes) // 2]
    for d in range(len(votes)):
        if 0 < votes[d] < fewest:
            fewest = votes[d]
    return fewest


@njit(cache=True)
def _with_votes(votes: Ints, amount: int) -> Any:
    """Mask of the directed pairs that have exactly `amount` votes."""
    mask = uint64(0)
    for d in range(len(votes)):
        if votes[d] == amount:
            mask |= uint64(1) << uint64(d)
    return mask


@njit(cache=True)
def grow(g: Geometry, keys: Words, start: int, stop: int, r: int, odd: SmallInts, out: Arrivals) -> int:
    """Add one rater to the states start..stop-1 of layer r and write the canonical forms reached.

    Only witnesses arrive (see `orbits`): rankings that cast the rarest vote of the state they lead to. That is either
    a vote nobody had cast before, or, when there is none of these, a vote that had the fewest, provided that the
    ranking casts all such votes (else one it leaves alone is rarer).
    """
    block = _new_block(g.items, len(g.casts))
    votes = np.zeros(len(g.above), np.int64)
    break_silence = np.zeros(g.above.shape[1], np.uint64)
    back_rarest = np.zeros(g.above.shape[1], np.uint64)
    count = 0
    for i in range(start, stop):
        _unpack(keys[i], r, g.width, votes)
        fewest = _fewest(votes)
        silent, rarest = _with_votes(votes, 0), _with_votes(votes, fewest)
        _split_rankings(g.above, silent, rarest, break_silence, back_rarest)
        for cast, spared, rankings in (
            (silent, _with_votes(votes, 1), break_silence),
            (rarest, _with_votes(votes, fewest + 1), back_rarest),
        ):
            n = _list(rankings, g.casts, block.cast)
            n = _arrive(g, votes, r + 1, odd, cast, spared, block, n)
            for j in range(n):
                out.keys[count] = block.keys[j]
                out.source[count] = i
                out.times[count] = block.times[j]
                count += 1
    return count


@njit(cache=True)
def _split_rankings(above: Words, silent: Any, rarest: Any, some_silent: Words, all_rarest: Words) -> None:
    """The rankings that cast any vote in `silent`, and of the others those that cast all votes in `rarest`."""
    some_silent[:] = uint64(0)
    all_rarest[:] = ~uint64(0)
    for d in range(above.shape[0]):
        if _bit(silent, d):
            for w in range(above.shape[1]):
                some_silent[w] |= above[d, w]
        if _bit(rarest, d):
            for w in range(above.shape[1]):
                all_rarest[w] &= above[d, w]
    for w in range(above.shape[1]):
        all_rarest[w] &= ~some_silent[w]


@njit(cache=True)
def _list(rankings: Words, casts: Words, cast: Words) -> int:
    """Write the votes of the rankings in a bit set one after the other; how many there are."""
    n = 0
    for w in range(len(rankings)):
        word = rankings[w]
        while word:
            cast[n] = casts[64 * w + lowest_bit(word)]
            word &= word - uint64(1)
            n += 1
    return n


@njit(cache=True)
def _arrive(g: Geometry, votes: Ints, r: int, odd: SmallInts, cast: Any, spared: Any, block: Block, n: int) -> int:
    """From n rankings in the block to the witnesses among them and their canonical keys; how many remain."""
    if n == 0:
        return 0
    _score(g, votes, odd, block, n)
    _choose_witnesses(g, cast, spared, block, n)
    n = _keep_witnesses(block, n)
    _refine(g, votes, odd, block, n)
    _sort_items(g, block, n)
    _pack(g, votes, r, block, n)
    for j in range(n):
        if block.tied[j] or block.reading[j] == EITHER:
            block.keys[j] = _smallest(g, votes, r, block, j)
    return n


@njit(cache=True)
def _score(g: Geometry, votes: Ints, odd: SmallInts, block: Block, n: int) -> None:
    """score[a] = sum over b of odd[votes of a over b] once the ranking is added; reversal negates it."""
    block.score[:, :n] = 0
    for e in range(len(g.first)):
        without, gain = odd[votes[e]], odd[votes[e] + 1] - odd[votes[e]]
        a, b = block.score[g.first[e]], block.score[g.second[e]]
        for i in range(n):
            amount = without + (gain & -np.int32(_bit(block.cast[i], e)))
            a[i] += amount
            b[i] -= amount


@njit(cache=True)
def _choose_witnesses(g: Geometry, cast: Any, spared: Any, block: Block, n: int) -> None:
    """times[i] = how many of the rarest votes with the largest lead in score the ranking casts: 0 for no witness.

    The rarest votes after the ranking are those in `cast` that it casts and those in `spared` that it does not.
    """
    m = len(g.first)
    block.best[:n] = -(2**31)
    block.times[:n] = 0
    for d in range(2 * m):
        if _bit(cast | spared, d):
            e = d if d < m else d - m
            a, b = (g.first[e], g.second[e]) if d < m else (g.second[e], g.first[e])
            upper, lower = block.score[a], block.score[b]
            wanted = np.int32(_bit(cast, d))
            for i in range(n):
                lead = np.int32(upper[i] - lower[i])
                counts = np.int32(np.int32(_bit(block.cast[i], d)) == wanted)
                better = counts & np.int32(lead > block.best[i])
                equal = counts & np.int32(lead == block.best[i])
                block.times[i] = np.int32((block.times[i] & (better - 1)) + (wanted & (better | equal)))
                block.best[i] = lead if better else block.best[i]


@njit(cache=True)
def _keep_witnesses(block: Block, n: int) -> int:
    """Move the rankings with times > 0 to the front."""
    kept = 0
    for i in range(n):
        if block.times[i]:
            block.cast[kept] = block.cast[i]
            block.times[kept] = block.times[i]
            for a in range(len(block.score)):
                block.score[a, kept] = block.score[a, i]
            kept += 1
    return kept


@njit(cache=True)
def _refine(g: Geometry, votes: Ints, odd: SmallInts, block: Block, n: int) -> None:
    """fine[a] = score[a] + sum over b of odd[votes of a over b] |score[b]|: splits most equal scores, still odd."""
    for a in range(g.items):
        for i in range(n):
            block.fine[a, i] = block.score[a, i]
    for e in range(len(g.first)):
        without, gain = odd[votes[e]], odd[votes[e] + 1] - odd[votes[e]]
        score_a, score_b = block.score[g.first[e]], block.score[g.second[e]]
        fine_a, fine_b = block.fine[g.first[e]], block.fine[g.second[e]]
        for i in range(n):
            amount = np.int64(np.int32(without + (gain & -np.int32(_bit(block.cast[i], e)))))
            fine_a[i] += amount * np.int64(np.int32(abs(score_b[i])))
            fine_b[i] -= amount * np.int64(np.int32(abs(score_a[i])))


@njit(cache=True)
def _sort_items(g: Geometry, block: Block, n: int) -> None:
    """rank[a] by falling fine score; which way to read; and whether equal scores leave the order open.

    The sum of cubes of the scores is odd under reversal: its sign chooses the reading, 0 leaves both.
    """
    block.rank[:, :n] = 0
    block.tied[:n] = 0
    block.reading[:n] = 0
    for a in range(g.items):
        fine = block.fine[a]
        for i in range(n):
            block.reading[i] += fine[i] * fine[i] * fine[i]  # may wrap, which keeps it odd
    for i in range(n):
        block.reading[i] = np.int64(block.reading[i] < 0) if block.reading[i] else np.int64(EITHER)
    for e in range(len(g.first)):
        fine_a, fine_b = block.fine[g.first[e]], block.fine[g.second[e]]
        rank_a, rank_b = block.rank[g.first[e]], block.rank[g.second[e]]
        for i in range(n):
            below = np.int64(fine_a[i] < fine_b[i])
            rank_a[i] += below
            rank_b[i] += 1 - below
            block.tied[i] |= np.int64(fine_a[i] == fine_b[i])


@njit(cache=True)
def _pack(g: Geometry, votes: Ints, r: int, block: Block, n: int) -> None:
    """keys: the state with items in the order of their ranks, read backward and reversed where `reading` says so.

    The field of items at places i < j starts at bit width * (i (2p - 3 - i) / 2 + j - 1).
    """
    p = g.items
    block.keys[:n] = uint64(0)
    for a in range(p):
        place, start = block.rank[a], block.start[a]
        for i in range(n):
            x = p - 1 - place[i] if block.reading[i] == BACKWARD else place[i]
            start[i] = g.width * (((x * (2 * p - 3 - x)) >> 1) - 1)
            place[i] = g.width * x
    for e in range(len(g.first)):
        place_a, place_b = block.rank[g.first[e]], block.rank[g.second[e]]
        start_a, start_b = block.start[g.first[e]], block.start[g.second[e]]
        for i in range(n):
            swapped = np.int64(place_a[i] > place_b[i])
            flip = -(swapped ^ (block.reading[i] & 1))  # 0 or all ones; x ^ -1 = -1 - x
            x = ((votes[e] + np.int64(_bit(block.cast[i], e))) ^ flip) + (flip & (r + 1))
            ab = start_a[i] + place_b[i]
            shift = ab + (-swapped & (start_b[i] + place_a[i] - ab))
            block.keys[i] |= uint64(x) << uint64(shift)


@njit(cache=True)
def _smallest(g: Geometry, votes: Ints, r: int, block: Block, j: int) -> Any:
    """The smallest key over all orders with falling scores, and over both readings where the scores leave it open."""
    order = np.zeros(g.items, np.int64)
    for a in range(g.items):
        place = 0
        for b in range(g.items):
            place += block.fine[b, j] > block.fine[a, j] or (block.fine[b, j] == block.fine[a, j] and b < a)
        order[place] = a
    best = ~uint64(0)
    while True:
        for i in range(g.items):
            block.rank[order[i], j] = i
        for reading in range(2):
            if block.reading[j] == EITHER or block.reading[j] == reading:
                best = min(best, _pack_one(g, votes, r, block, j, reading))
        if not _next_order(order, block.fine, j):
            return best


@njit(cache=True)
def _pack_one(g: Geometry, votes: Ints, r: int, block: Block, j: int, reading: int) -> Any:
    key = uint64(0)
    for e in range(len(g.first)):
        x, y = block.rank[g.first[e], j], block.rank[g.second[e], j]
        k = votes[e] + np.int64(_bit(block.cast[j], e))
        if x > y:
            x, y, k = y, x, r - k
        if reading == BACKWARD:
            x, y = g.items - 1 - y, g.items - 1 - x
        key |= uint64(k) << uint64(g.width * (((x * (2 * g.items - 3 - x)) >> 1) + y - 1))
    return key


@njit(cache=True)
def _next_order(order: Ints, fine: Ints, j: int) -> bool:
    """Step to the next arrangement of the runs of equal score, like an odometer of runs; False after the last."""
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and fine[order[stop], j] == fine[order[start], j]:
            stop += 1
        i = stop - 2
        while i >= start and order[i] > order[i + 1]:
            i -= 1
        if i >= start:
            t = stop - 1
            while order[t] < order[i]:
                t -= 1
            order[i], order[t] = order[t], order[i]
            _turn(order, i + 1, stop)
            return True
        _turn(order, start, stop)
        start = stop
    return False


@njit(cache=True)
def _turn(order: Ints, start: int, stop: int) -> None:
    while start < stop - 1:
        stop -= 1
        order[start], order[stop] = order[stop], order[start]
        start += 1


@njit(cache=True)
def settle(g: Geometry, rows: Words, r: int, odd: SmallInts) -> bool:
    """Turn counts of witnesses into counts of ways, in place; False when a division leaves a remainder.

    A state whose rarest vote was cast by `fewest` of its r raters, with `equals` such votes of the same largest lead,
    has ways = witnesses * r / (fewest * equals).
    """
    m = len(g.first)
    votes = np.zeros(2 * m, np.int64)
    score = np.zeros(g.items, np.int64)
    for i in range(len(rows)):
        _unpack(rows[i, 0], r, g.width, votes)
        fewest = _fewest(votes)
        score[:] = 0
        for e in range(m):
            score[g.first[e]] += odd[votes[e]]
            score[g.second[e]] -= odd[votes[e]]
        best, equals = np.int64(-(2**62)), 0
        for e in range(m):
            lead = score[g.first[e]] - score[g.second[e]]
            for d, signed in ((e, lead), (m + e, -lead)):
                if votes[d] == fewest and signed >= best:
                    equals = equals + 1 if signed == best else 1
                    best = signed
        if not _rescale(rows[i], r, fewest * equals):
            return False
    return True


@njit(cache=True)
def _rescale(row: Words, multiply: int, divide: int) -> bool:
    """The count in row[1:] times multiply / divide; reduced first, so that nothing exceeds the result."""
    common, rest = multiply, divide
    while rest:
        common, rest = rest, common % rest
    _carry(row)
    remainder = uint64(0)
    for c in range(len(row) - 1, 0, -1):
        digit = (remainder << uint64(32)) | row[c]
        row[c] = digit // uint64(divide // common)
        remainder = digit % uint64(divide // common)
    for c in range(1, len(row)):
        row[c] *= uint64(multiply // common)
    _carry(row)
    return bool(remainder == uint64(0))


@njit(cache=True)
def _carry(row: Words) -> None:
    """Bring the digits of a wide count below 2^32; a count of one column is a plain word and stays."""
    for c in range(1, len(row) - 1):
        row[c + 1] += row[c] >> uint64(32)
        row[c] &= uint64(2**32 - 1)


@njit(cache=True)
def add_last_rater(g: Geometry, keys: Words, ways: Words, r: int, worth: Ints, cycles: Ints, tally: Words) -> None:
    """tally[code, flag] += ways for every state of layer r and every last ranking; nothing is stored.

    code is the sum of worth[k] over the pairs. The walk passes from one ranking to the next by one swap, which
    changes one vote: the code is updated by one addition.
    """
    m = len(g.first)
    votes = np.zeros(2 * m, np.int64)
    gain = np.zeros(2 * m, np.int64)
    cyclic = np.zeros(g.above.shape[1], np.uint64)
    flat = tally.reshape(-1)
    for i in range(len(keys)):
        _unpack(keys[i], r, g.width, votes)
        _cyclic_rankings(g, votes, r + 1, cycles, cyclic)
        code = np.int64(0)  # twice the code, to make room for the flag
        for e in range(m):
            code += 2 * worth[votes[e] + 1]  # the walk starts at the identity: a above b for all a < b
            gain[e] = 2 * (worth[votes[e]] - worth[votes[e] + 1])
            gain[m + e] = -gain[e]
        code -= gain[g.walk[0]]
        for w in range(len(cyclic)):
            flags = cyclic[w]
            for t in range(64 * w, min(64 * w + 64, len(g.walk))):
                code += gain[g.walk[t]]
                flat[code + np.int64(flags & uint64(1))] += ways[i]
                flags >>= uint64(1)


@njit(cache=True)
def _cyclic_rankings(g: Geometry, votes: Ints, raters: int, cycles: Ints, cyclic: Words) -> None:
    """The last rankings after which some a, b, c have strict majorities a > b > c > a, as a bit set.

    Each of the three majorities stands already, or stands for the rankings that vote for it, or is out of reach.
    """
    cyclic[:] = uint64(0)
    for t in range(len(cycles)):
        x, y, z = cycles[t, 0], cycles[t, 1], cycles[t, 2]
        if 2 * (min(votes[x], votes[y], votes[z]) + 1) > raters:
            for w in range(len(cyclic)):
                rankings = ~uint64(0)
                for d in (x, y, z):
                    if 2 * votes[d] <= raters:
                        rankings &= g.above[d, w]
                cyclic[w] |= rankings
