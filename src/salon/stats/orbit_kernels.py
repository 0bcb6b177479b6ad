"""The compiled inner loops of `orbits`: add one rater to the states of a layer, and count what comes out.

A set of rankings is a bit set over the p! rankings in the order of `Geometry.casts`, so that "which rankings place a
above b" is looked up, not searched. Letters and canonical forms: `orbit_forms`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit, uint64
from numba.cpython.unsafe.numbers import trailing_zeros

from salon.stats.compiled import compiled
from salon.stats.orbit_forms import (
    Block,
    Candidates,
    Geometry,
    Ints,
    SmallInts,
    Words,
    bit,
    canonical,
    choose_witnesses,
    new_block,
    new_candidates,
    score_items,
)

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
def _append_witnesses(fresh: Candidates, n: int, source: int, block: Block, columns: int) -> int:
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
