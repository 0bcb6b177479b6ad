"""The compiled inner loops of `orbits`: add one rater to the states of a layer, and count what comes out.

Letters, as in `orbits`: p items, m = C(p,2) pairs, r raters. A state is the vote vector of r raters packed into 64
bits, `width` bits per pair. A *directed* pair is numbered e for "a above b" and m + e for "b above a", where e is the
column of a < b; a set of directed pairs is a mask of 2m bits. A set of rankings is a bit set over the p! rankings in
the order of `Geometry.casts`, so that "which rankings place a above b" is looked up, not searched.

The loops of `_canonical` run over the columns of a block, with the pair or item outside and no branches inside: the
compiler turns them into vector instructions, which is what makes plain loops fast enough here.
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
COLUMNS = 256  # of a block: long enough for vector loops, short enough for the first-level cache


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
    """States reached from a few sources, side by side: one column per ranking added, rows are pairs or items."""

    source: Ints
    cast: Words
    """Mask of the votes that the ranking casts."""
    rarest: Words
    """Mask of the rarest votes of the state reached."""
    value: SmallInts
    """(m, columns) the votes themselves."""
    amount: SmallInts
    """(m, columns) odd[votes]."""
    score: SmallInts
    best: SmallInts
    times: SmallInts
    fine: Ints
    place: Ints
    start: Ints
    reading: Ints
    tied: Ints
    keys: Words


@njit(cache=True)
def _new_block(items: int, columns: int) -> Block:
    pairs = items * (items - 1) // 2
    return Block(
        np.zeros(columns, np.int64),
        np.zeros(columns, np.uint64),
        np.zeros(columns, np.uint64),
        np.zeros((pairs, columns), np.int32),
        np.zeros((pairs, columns), np.int32),
        np.zeros((items, columns), np.int32),
        np.zeros(columns, np.int32),
        np.zeros(columns, np.int32),
        np.zeros((items, columns), np.int64),
        np.zeros((items, columns), np.int64),
        np.zeros((items, columns), np.int64),
        np.zeros(columns, np.int64),
        np.zeros(columns, np.int64),
        np.zeros(columns, np.uint64),
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
    """Add one rater to the states start..stop-1 of layer r; write the canonical forms reached; how many.

    Only witnesses arrive (see `orbits`): rankings that cast the chosen rarest vote of the state they lead to.
    """
    block = _new_block(g.items, COLUMNS + len(g.casts))
    votes = np.zeros(len(g.above), np.int64)
    chosen = np.zeros(g.above.shape[1], np.uint64)
    count, columns = np.int64(0), np.int64(0)  # typed: one compiled version of what they are passed to
    for i in range(start, stop):
        _unpack(keys[i], r, g.width, votes)
        begin = columns
        columns = _add_candidates(g.above, g.casts, votes, chosen, block.cast, block.rarest, columns)
        block.source[begin:columns] = i
        _fill(votes, odd, block.cast, block.value, block.amount, begin, columns)
        if columns >= COLUMNS or i == stop - 1:
            _canonical(g, r + 1, block, columns)
            for j in range(columns):
                if block.times[j]:
                    out.keys[count] = block.keys[j]
                    out.source[count] = block.source[j]
                    out.times[count] = block.times[j]
                    count += 1
            columns = np.int64(0)
    return count


@njit(cache=True)
def _add_candidates(
    above: Words, casts: Words, votes: Ints, chosen: Words, cast: Words, rarest: Words, columns: int
) -> int:
    """List the rankings that may be witnesses, and the rarest votes after each; the number of columns now in use.

    A ranking casts a rarest vote of the state it leads to if it breaks a silence (then that vote is the only one of
    its kind so far), or else if it casts all of the votes that were the rarest (had it left one alone, that one
    would be rarer than any it casts).
    """
    fewest = _fewest(votes)
    silent, single = _with_votes(votes, 0), _with_votes(votes, 1)
    few, more = _with_votes(votes, fewest), _with_votes(votes, fewest + 1)
    _possible_witnesses(above, silent, few, chosen)
    for w in range(len(chosen)):
        word = chosen[w]
        while word:
            vote = casts[64 * w + lowest_bit(word)]
            word &= word - uint64(1)
            cast[columns] = vote
            if vote & silent:
                rarest[columns] = (vote & silent) | (~vote & single)
            else:
                rarest[columns] = few | (~vote & more)
            columns += 1
    return columns


@njit(cache=True)
def _possible_witnesses(above: Words, silent: Any, few: Any, chosen: Words) -> None:
    """The rankings that cast any vote in `silent` or all votes in `few`, as a bit set."""
    for w in range(len(chosen)):
        some, every = uint64(0), ~uint64(0)
        for d in range(above.shape[0]):
            if _bit(silent, d):
                some |= above[d, w]
            elif _bit(few, d):
                every &= above[d, w]
        chosen[w] = some | every


@njit(cache=True)
def _fill(votes: Ints, odd: SmallInts, cast: Words, value: SmallInts, amount: SmallInts, begin: int, end: int) -> None:
    for e in range(len(value)):
        k, plain, gain = votes[e], odd[votes[e]], odd[votes[e] + 1] - odd[votes[e]]
        values, amounts = value[e], amount[e]
        for i in range(begin, end):
            voted = np.int32(_bit(cast[i], e))
            values[i] = k + voted
            amounts[i] = plain + (gain & -voted)


@njit(cache=True)
def _canonical(g: Geometry, r: int, block: Block, n: int) -> None:
    """Choose the witnesses among n columns (times > 0) and find their canonical keys.

    Items are sorted by a score that relabelling cannot change and that reversal negates. Where scores leave the
    order or the reading open, `_smallest` tries what is left.
    """
    _score(g.first, g.second, block.amount, block.score, n)
    _choose_witnesses(g.first, g.second, block.cast, block.rarest, block.score, block.best, block.times, n)
    _refine(g.first, g.second, block.amount, block.score, block.fine, n)
    _sort_items(g.first, g.second, block.fine, block.place, block.reading, block.tied, n)
    _pack(g.width, g.first, g.second, block.value, block.place, block.start, block.reading, r, block.keys, n)
    order = np.zeros(g.items, np.int64)
    for j in range(n):
        if block.times[j] and (block.tied[j] or block.reading[j] == EITHER):
            block.keys[j] = _smallest(
                g.width, g.first, g.second, block.value[:, j], block.fine[:, j], block.reading[j], r, order
            )


@njit(cache=True)
def _score(first: Ints, second: Ints, amount: SmallInts, score: SmallInts, n: int) -> None:
    """score[a] = sum over b of odd[votes of a over b]."""
    score[:, :n] = 0
    for e in range(len(first)):
        amounts, score_a, score_b = amount[e], score[first[e]], score[second[e]]
        for i in range(n):
            score_a[i] += amounts[i]
            score_b[i] -= amounts[i]


@njit(cache=True)
def _choose_witnesses(
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
        if _bit(present, d):
            e = d if d < m else d - m
            a, b = (first[e], second[e]) if d < m else (second[e], first[e])
            upper, lower = score[a], score[b]
            for i in range(n):
                lead = np.int32(upper[i] - lower[i])
                counts = np.int32(_bit(rarest[i], d))
                better = counts & np.int32(lead > best[i])
                equal = counts & np.int32(lead == best[i])
                voted = np.int32(_bit(cast[i], d))
                times[i] = np.int32((times[i] & (better - 1)) + (voted & (better | equal)))
                best[i] = lead if better else best[i]


@njit(cache=True)
def _refine(first: Ints, second: Ints, amount: SmallInts, score: SmallInts, fine: Ints, n: int) -> None:
    """fine[a] = score[a] + sum over b of odd[votes of a over b] |score[b]|: splits most equal scores, still odd."""
    for a in range(len(score)):
        for i in range(n):
            fine[a, i] = score[a, i]
    for e in range(len(first)):
        amounts = amount[e]
        score_a, score_b = score[first[e]], score[second[e]]
        fine_a, fine_b = fine[first[e]], fine[second[e]]
        for i in range(n):
            fine_a[i] += np.int64(amounts[i]) * np.int64(np.int32(abs(score_b[i])))
            fine_b[i] -= np.int64(amounts[i]) * np.int64(np.int32(abs(score_a[i])))


@njit(cache=True)
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


@njit(cache=True)
def _pack(
    width: int,
    first: Ints,
    second: Ints,
    value: SmallInts,
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
        values = value[e]
        place_a, place_b = place[first[e]], place[second[e]]
        start_a, start_b = start[first[e]], start[second[e]]
        for i in range(n):
            swapped = np.int64(place_a[i] > place_b[i])
            flip = -(swapped ^ (reading[i] & 1))  # 0 or all ones; k ^ -1 = -1 - k, so this gives k or r - k
            k = (np.int64(values[i]) ^ flip) + (flip & (r + 1))
            ab = start_a[i] + place_b[i]
            shift = ab + (-swapped & (start_b[i] + place_a[i] - ab))
            keys[i] |= uint64(k) << uint64(shift)


@njit(cache=True)
def _smallest(
    width: int, first: Ints, second: Ints, value: SmallInts, fine: Ints, reading: int, r: int, order: Ints
) -> Any:
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
                best = min(best, _pack_one(width, first, second, value, order, way, r))
        if not _next_order(order, fine):
            return best


@njit(cache=True)
def _pack_one(width: int, first: Ints, second: Ints, value: SmallInts, order: Ints, way: int, r: int) -> Any:
    p = len(order)
    key = uint64(0)
    for e in range(len(first)):
        x = y = 0
        for i in range(p):
            x = i if order[i] == first[e] else x
            y = i if order[i] == second[e] else y
        k = np.int64(value[e])
        if x > y:
            x, y, k = y, x, r - k
        if way == BACKWARD:
            x, y = p - 1 - y, p - 1 - x
        key |= uint64(k) << uint64(width * (((x * (2 * p - 3 - x)) >> 1) + y - 1))
    return key


@njit(cache=True)
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
