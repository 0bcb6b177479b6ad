"""Compiled loops of `orbits`: canonical forms of vote vectors, and adding one rater to all states of a layer.

Canonical forms: the one packed state that stands for all relabellings and the reversal of a state.

Letters, as in `orbits`: p items, m = C(p,2) pairs, r raters. A state is the vote vector of r raters packed into 64
bits, `width` bits per pair. A *directed* pair is numbered e for "a above b" and m + e for "b above a", where e is the
column of a < b; a set of directed pairs is a mask of 2m bits.

The loops run over the columns of a block of states, with the pair or item outside and no branches inside: the compiler
turns them into vector instructions, which is what makes plain loops fast enough here.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit, uint64
from numba.cpython.unsafe.numbers import trailing_zeros

from salon.stats.jit import compiled

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
    steps: Words
    """(p!,) the votes of each ranking, packed: adding them to a state adds the rater."""
    casts: Words
    """(p!,) mask of the directed pairs that each ranking votes for; neighbours differ by one swap."""
    above: Words
    """(2m, words) the rankings that vote for each directed pair, as a bit set."""
    walk: Ints
    """(p!,) the directed pair whose vote is lost in the swap that leads to each ranking (the first: unused)."""
    cycles: Ints
    """(t, 3) the directed pairs of every possible cycle a > b > c > a."""


class Candidates(NamedTuple):
    """States reached from one source by rankings that may be witnesses: one column each."""

    state: Words
    """The votes, packed."""
    cast: Words
    """Mask of the votes that the ranking casts."""
    rarest: Words
    """Mask of the rarest votes of the state."""
    score: SmallInts
    """(p, columns)"""
    best: SmallInts
    times: SmallInts


class WitnessBlock(NamedTuple):
    """Witnesses of several sources side by side: one column each; two-dimensional rows are items."""

    source: Ints
    state: Words
    times: SmallInts
    score: SmallInts
    fine: Ints
    place: Ints
    start: Ints
    reading: Ints
    tied: Ints
    keys: Words


@compiled
def new_candidates(items: int, columns: int) -> Candidates:
    """Room for the rankings of one source."""
    return Candidates(
        np.zeros(columns, np.uint64),
        np.zeros(columns, np.uint64),
        np.zeros(columns, np.uint64),
        np.zeros((items, columns), np.int32),
        np.zeros(columns, np.int32),
        np.zeros(columns, np.int32),
    )


@compiled
def new_block(items: int, columns: int) -> WitnessBlock:
    """Room for `columns` witnesses."""
    return WitnessBlock(
        np.zeros(columns, np.int64),
        np.zeros(columns, np.uint64),
        np.zeros(columns, np.int32),
        np.zeros((items, columns), np.int32),
        np.zeros((items, columns), np.int64),
        np.zeros((items, columns), np.int64),
        np.zeros((items, columns), np.int64),
        np.zeros(columns, np.int64),
        np.zeros(columns, np.int64),
        np.zeros(columns, np.uint64),
    )


@njit(inline="always")
def bit(word: Any, place: Any) -> Any:
    """The bit of `word` at `place`."""
    return (word >> uint64(place)) & uint64(1)


@compiled
def score_items(first: Ints, second: Ints, votes: Ints, odd: SmallInts, cast: Words, score: SmallInts, n: int) -> None:
    """score[a] = sum over b of odd[votes of a over b], once each of n rankings is added to the votes.

    Relabelling does not change the scores of the items, reversal negates them.
    """
    score[:, :n] = 0
    for e in range(len(first)):
        plain, gain = odd[votes[e]], odd[votes[e] + 1] - odd[votes[e]]
        score_a, score_b = score[first[e]], score[second[e]]
        for i in range(n):
            amount = plain + (gain & -np.int32(bit(cast[i], e)))
            score_a[i] += amount
            score_b[i] -= amount


@compiled
def choose_witnesses(
    first: Ints, second: Ints, cast: Words, rarest: Words, score: SmallInts, best: SmallInts, times: SmallInts, n: int
) -> None:
    """times = how many of the rarest votes with the largest lead in score the ranking casts; 0 for no witness."""
    m = len(first)
    present = uint64(0)
    for i in range(n):
        best[i] = -(2**31)
        times[i] = 0
        present |= rarest[i]
    for d in range(2 * m):
        if bit(present, d):
            e = d if d < m else d - m
            a, b = (first[e], second[e]) if d < m else (second[e], first[e])
            upper, lower = score[a], score[b]
            for i in range(n):
                lead = np.int32(upper[i] - lower[i])
                counts = np.int32(bit(rarest[i], d))
                better = counts & np.int32(lead > best[i])
                equal = counts & np.int32(lead == best[i])
                voted = np.int32(bit(cast[i], d))
                times[i] = np.int32((times[i] & (better - 1)) + (voted & (better | equal)))
                best[i] = lead if better else best[i]


@compiled
def canonical(g: Geometry, r: int, block: WitnessBlock, n: int) -> None:
    """The canonical keys of the n columns of a block.

    Items are sorted by score. Where scores leave the order or the reading open, `_smallest` tries what is left.
    """
    _refine(g.width, g.first, g.second, block.state, r, block.score, block.fine, n)
    _sort_items(g.first, g.second, block.fine, block.place, block.reading, block.tied, n)
    _pack(g.width, g.first, g.second, block.state, block.place, block.start, block.reading, r, block.keys, n)
    order = np.zeros(g.items, np.int64)
    for j in range(n):
        if block.tied[j] or block.reading[j] == EITHER:
            block.keys[j] = _smallest(g.width, block.state[j], block.fine[:, j], block.reading[j], r, order)


@compiled
def _refine(width: int, first: Ints, second: Ints, state: Words, r: int, score: SmallInts, fine: Ints, n: int) -> None:
    """fine[a] = score[a] + sum over b of (2 votes of a over b - r) |score[b]|: splits most equal scores, still odd."""
    field = (uint64(1) << uint64(width)) - uint64(1)
    for a in range(len(score)):
        for i in range(n):
            fine[a, i] = score[a, i]
    for e in range(len(first)):
        score_a, score_b = score[first[e]], score[second[e]]
        fine_a, fine_b = fine[first[e]], fine[second[e]]
        low = uint64(width * e)
        for i in range(n):
            lead = np.int64(np.int32(2 * np.int64((state[i] >> low) & field) - r))
            fine_a[i] += lead * np.int64(np.int32(abs(score_b[i])))
            fine_b[i] -= lead * np.int64(np.int32(abs(score_a[i])))


@compiled
def _sort_items(first: Ints, second: Ints, fine: Ints, place: Ints, reading: Ints, tied: Ints, n: int) -> None:
    """place[a] by falling fine score; which way to read; and whether equal scores leave the order open.

    The sum of cubes of the scores is odd under reversal: its sign chooses the reading, 0 leaves both.
    """
    place[:, :n] = 0
    tied[:n] = 0
    reading[:n] = 0
    for a in range(len(fine)):
        scores = fine[a]
        for i in range(n):
            reading[i] += scores[i] * scores[i] * scores[i]  # may wrap, which keeps it odd
    for i in range(n):
        reading[i] = np.int64(reading[i] < 0) if reading[i] else np.int64(EITHER)
    for e in range(len(first)):
        fine_a, fine_b = fine[first[e]], fine[second[e]]
        place_a, place_b = place[first[e]], place[second[e]]
        for i in range(n):
            below = np.int64(fine_a[i] < fine_b[i])
            place_a[i] += below
            place_b[i] += 1 - below
            tied[i] |= np.int64(fine_a[i] == fine_b[i])


@compiled
def _pack(
    width: int,
    first: Ints,
    second: Ints,
    state: Words,
    place: Ints,
    start: Ints,
    reading: Ints,
    r: int,
    keys: Words,
    n: int,
) -> None:
    """keys: the votes with items in the order of their places, read backward and reversed where `reading` says so.

    The field of the items at places i < j starts at bit width * (i (2p - 3 - i) / 2 + j - 1).
    """
    p = len(place)
    keys[:n] = uint64(0)
    for a in range(p):
        places, starts = place[a], start[a]
        for i in range(n):
            x = p - 1 - places[i] if reading[i] == BACKWARD else places[i]
            starts[i] = width * (((x * (2 * p - 3 - x)) >> 1) - 1)
            places[i] = width * x
    for e in range(len(first)):
        low, field = uint64(width * e), (uint64(1) << uint64(width)) - uint64(1)
        place_a, place_b = place[first[e]], place[second[e]]
        start_a, start_b = start[first[e]], start[second[e]]
        for i in range(n):
            swapped = np.int64(place_a[i] > place_b[i])
            flip = -(swapped ^ (reading[i] & 1))  # 0 or all ones; k ^ -1 = -1 - k, so this gives k or r - k
            k = (np.int64((state[i] >> low) & field) ^ flip) + (flip & (r + 1))
            ab = start_a[i] + place_b[i]
            shift = ab + (-swapped & (start_b[i] + place_a[i] - ab))
            keys[i] |= uint64(k) << uint64(shift)


@compiled
def _smallest(width: int, state: Any, fine: Ints, reading: int, r: int, order: Ints) -> Any:
    """The smallest key over all orders with falling scores, and over both readings where scores leave it open."""
    for a in range(len(order)):
        place = 0
        for b in range(len(order)):
            place += fine[b] > fine[a] or (fine[b] == fine[a] and b < a)
        order[place] = a
    best = ~uint64(0)
    while True:
        for way in range(2):
            if reading in (EITHER, way):
                best = min(best, _pack_one(width, state, order, way, r))
        if not _next_order(order, fine):
            return best


@compiled
def _pack_one(width: int, state: Any, order: Ints, way: int, r: int) -> Any:
    p = len(order)
    field = (uint64(1) << uint64(width)) - uint64(1)
    key = uint64(0)
    for x in range(p):
        for y in range(x + 1, p):
            a, b = min(order[x], order[y]), max(order[x], order[y])
            k = np.int64((state >> uint64(width * (((a * (2 * p - 3 - a)) >> 1) + b - 1))) & field)
            k = k if order[x] < order[y] else r - k
            i, j = (x, y) if way == FORWARD else (p - 1 - y, p - 1 - x)
            key |= uint64(k) << uint64(width * (((i * (2 * p - 3 - i)) >> 1) + j - 1))
    return key


@compiled
def _next_order(order: Ints, fine: Ints) -> bool:
    """Step to the next arrangement of the runs of equal score, like an odometer of runs; False after the last."""
    start = 0
    while start < len(order):
        stop = start + 1
        while stop < len(order) and fine[order[stop]] == fine[order[start]]:
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


@compiled
def _turn(order: Ints, start: int, stop: int) -> None:
    while start < stop - 1:
        stop -= 1
        order[start], order[stop] = order[stop], order[start]
        start += 1


# -- adding one rater --------------------------------------------------------------------------------------------------


COLUMNS = 256  # of a block: long enough for vector loops, short enough for the first-level cache


class Arrivals(NamedTuple):
    """States reached from a batch of sources, one row per witness."""

    keys: Words
    source: Ints
    times: SmallInts


@njit(inline="always")
def lowest_bit(word: Any) -> Any:
    """Number of the lowest bit that is set."""
    return np.int64(trailing_zeros(word))  # type: ignore[call-arg]  # numba's own function


@compiled
def _unpack(state: Any, r: int, width: int, votes: Ints) -> None:
    """Votes of all 2m directed pairs."""
    m = len(votes) // 2
    field = (uint64(1) << uint64(width)) - uint64(1)
    for e in range(m):
        votes[e] = np.int64((state >> uint64(width * e)) & field)
        votes[m + e] = r - votes[e]


@compiled
def _fewest(votes: Ints) -> Any:
    """The smallest number of votes above zero."""
    fewest = votes[0] + votes[len(votes) // 2]
    for d in range(len(votes)):
        if 0 < votes[d] < fewest:
            fewest = votes[d]
    return fewest


@compiled
def _with_votes(votes: Ints, amount: int) -> Any:
    """Mask of the directed pairs that have exactly `amount` votes."""
    mask = uint64(0)
    for d in range(len(votes)):
        if votes[d] == amount:
            mask |= uint64(1) << uint64(d)
    return mask


@compiled
def grow(g: Geometry, keys: Words, start: int, stop: int, r: int, odd: SmallInts, out: Arrivals) -> int:
    """Add one rater to the states start..stop-1 of layer r; write the canonical forms reached; how many.

    Only witnesses arrive (see `orbits`): rankings that cast the chosen rarest vote of the state they lead to.

    The compiled inner loops of `orbits`: add one rater to the states of a layer, and count what comes out.

    A set of rankings is a bit set over the p! rankings in the order of `Geometry.casts`, so that "which rankings place
    a above b" is looked up, not searched.
    """
    fresh = new_candidates(g.items, len(g.casts))
    block = new_block(g.items, COLUMNS + len(g.casts))
    votes = np.zeros(len(g.above), np.int64)
    chosen = np.zeros(g.above.shape[1], np.uint64)
    count: Any = np.int64(0)  # typed, so that what it is passed to is compiled once only
    columns: Any = np.int64(0)
    for i in range(start, stop):
        _unpack(keys[i], r, g.width, votes)
        n = _list_candidates(g, keys[i], votes, chosen, fresh)
        score_items(g.first, g.second, votes, odd, fresh.cast, fresh.score, n)
        choose_witnesses(g.first, g.second, fresh.cast, fresh.rarest, fresh.score, fresh.best, fresh.times, n)
        columns = _append_witnesses(fresh, n, i, block, columns)
        if columns >= COLUMNS or i == stop - 1:
            canonical(g, r + 1, block, columns)
            for j in range(columns):
                out.keys[count + j] = block.keys[j]
                out.source[count + j] = block.source[j]
                out.times[count + j] = block.times[j]
            count += columns
            columns = np.int64(0)
    return int(count)


@compiled
def _list_candidates(g: Geometry, key: Any, votes: Ints, chosen: Words, fresh: Candidates) -> int:
    """List the rankings that may be witnesses, with the states they lead to and their rarest votes; how many.

    A ranking casts a rarest vote of the state it leads to if it breaks a silence (then that vote is the only one of
    its kind so far), or else if it casts all of the votes that were the rarest (had it left one alone, that one
    would be rarer than any it casts).
    """
    fewest = _fewest(votes)
    silent, single = _with_votes(votes, 0), _with_votes(votes, 1)
    few, more = _with_votes(votes, fewest), _with_votes(votes, fewest + 1)
    _possible_witnesses(g.above, silent, few, chosen)
    n: Any = np.int64(0)
    for w in range(len(chosen)):
        word = chosen[w]
        while word:
            ranking = 64 * w + lowest_bit(word)
            word &= word - uint64(1)
            vote = g.casts[ranking]
            fresh.state[n] = key + g.steps[ranking]
            fresh.cast[n] = vote
            if vote & silent:
                fresh.rarest[n] = (vote & silent) | (~vote & single)
            else:
                fresh.rarest[n] = few | (~vote & more)
            n += 1
    return int(n)


@compiled
def _append_witnesses(fresh: Candidates, n: int, source: int, block: WitnessBlock, columns: int) -> int:
    """Copy the candidates with times > 0 behind the first `columns` columns of the block; columns then in use."""
    for i in range(n):
        if fresh.times[i]:
            block.source[columns] = source
            block.state[columns] = fresh.state[i]
            block.times[columns] = fresh.times[i]
            for a in range(len(fresh.score)):
                block.score[a, columns] = fresh.score[a, i]
            columns += 1
    return columns


@compiled
def _possible_witnesses(above: Words, silent: Any, few: Any, chosen: Words) -> None:
    """The rankings that cast any vote in `silent` or all votes in `few`, as a bit set."""
    for w in range(len(chosen)):
        some, every = uint64(0), ~uint64(0)
        for d in range(above.shape[0]):
            if bit(silent, d):
                some |= above[d, w]
            elif bit(few, d):
                every &= above[d, w]
        chosen[w] = some | every


@compiled
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


@compiled
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


@compiled
def _carry(row: Words) -> None:
    """Bring the digits of a wide count below 2^32; a count of one column is a plain word and stays."""
    for c in range(1, len(row) - 1):
        row[c + 1] += row[c] >> uint64(32)
        row[c] &= uint64(2**32 - 1)


@compiled
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


@compiled
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
