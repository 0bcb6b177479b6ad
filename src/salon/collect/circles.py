"""Triples of one rater that run in circles: x over y, y over z, z over x."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from salon.collect.records import PairRow


def circular_triples(pairs: Sequence[PairRow]) -> tuple[int, int]:
    """(circular, all) among triples that share no pair, taken greedily in the order the pairs were answered.

    Pairs of different triples are different answers, so triples are independent: a rater who tosses coins has
    Binomial(all, 1/4) circular ones. Triples with a tie are left out. With several criteria the one with most pairs
    counts: criteria of one screen are not independent.
    """
    by_criterion: dict[str, list[PairRow]] = defaultdict(list)
    for row in pairs:
        if row.outcome:
            by_criterion[row.criterion].append(row)
    if not by_criterion:
        return 0, 0
    return _count(max(by_criterion.values(), key=len))


def _count(rows: list[PairRow]) -> tuple[int, int]:
    beats: dict[str, dict[str, int]] = defaultdict(dict)
    circular = triples = 0
    for row in rows:  # `beats` holds pairs of no triple yet
        x, y = (row.low, row.high) if row.outcome > 0 else (row.high, row.low)
        third = next((z for z in beats[x] if z in beats[y] and z not in (x, y)), None)
        if third is None:
            beats[x][y], beats[y][x] = 1, -1
            continue
        triples += 1
        circular += beats[y][third] == 1 and beats[third][x] == 1
        for one in (x, y):
            del beats[one][third], beats[third][one]
    return circular, triples
