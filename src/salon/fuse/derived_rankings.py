"""Each rater's ranking of a prompt's items, derived from the rater's own comparisons of them.

A rater who compared four items in pairs has ranked them, and TASTE releases both forms. The rule, for one rater, one
group (a prompt, or what items are compared within) and one criterion:

1. **Strength.** Bradley-Terry with a normal prior of 3 logits on this rater's first answers. Without a prior a rater
   who never contradicts themselves has no finite strengths. Where every pair was answered equally often, the order is
   that of wins, ties counting half, and nothing is fitted.
2. **Cycles** (a over b, b over c, c over a) are kept and counted; their items often come out equal.
3. **Equal strengths**: `shared`, the better rank for all of them (1, 2, 2, 4); `drawn`, a seeded lot of its own for
   each rater and group, never the order of the items; or `leave-out`, no ranking.
4. **Missing pairs**: a ranking is derived when the answered pairs join all items that the rater saw; otherwise it is
   left out and counted. 'Both bad' and skipped answers order nothing and count as missing. Repeats are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa

from salon.errors import DesignError
from salon.fuse.groups import TIE, Floats, FuseGroup, Ints, study_groups
from salon.fuse.results import FuseSettings
from salon.stats import PairCounts, connectivity, count_pairs, fit_pairs
from salon.study import Signature, Study

Equal = Literal["shared", "drawn", "leave-out"]
PRIOR = 3.0
ALIKE = 1e-6
"""Strengths closer than this, in logits, are equal."""
SCHEMA = pa.schema(
    [
        ("criterion", pa.string()),
        ("prompt", pa.string()),
        ("rater", pa.string()),
        ("item", pa.string()),
        ("rank", pa.int32()),
        ("strength", pa.float64()),
        ("pairs", pa.int32()),
        ("missing_pairs", pa.int32()),
        ("cycles", pa.int32()),
        ("signature", pa.string()),
    ]
)


@dataclass(frozen=True)
class DerivedRankings:
    """Rankings made from comparisons, one row for each rater, group and item; best first."""

    table: pa.Table
    """criterion, prompt (or group), rater, item, rank (1 = best), strength (share of points won, or logits where pairs
    are missing), pairs answered, pairs missing, cyclic triples of the ranking, signature of data and rule."""
    rankings: int
    counts: dict[str, int]
    """Rankings with cycles, with equal strengths, with missing pairs; and those left out, by reason."""
    policies: tuple[str, ...]
    signature: Signature


def derive_rankings(
    study: Study, *, equal: Equal = "shared", seed: int = 42, criteria: Sequence[str] = ()
) -> DerivedRankings:
    """The ranking of every rater in every group that the rater's own comparisons give."""
    groups = [g for g in study_groups(study, FuseSettings(), criteria) if len(g.compared)]
    if not groups:
        raise DesignError(
            "derived rankings need comparisons of items",
            found=", ".join(f"{n:,} {kind}" for kind, n in study.counts.items()) or "an empty study",
            where=f"study {study.name!r}",
        )
    settings = {"equal": equal, "prior": PRIOR} | ({"criteria": ",".join(criteria)} if criteria else {})
    signature = Signature(method="derived-rankings", data=study.hash[:12], revision=study.revision, settings=settings,
                          seed=seed)  # fmt: skip
    counts: Counter[str] = Counter()
    columns: dict[str, list[object]] = {name: [] for name in SCHEMA.names}
    count = 0
    for number, group in enumerate(groups):
        for rater, ranking in _group_rankings(group, equal, np.random.default_rng([seed, number]), counts):
            count += 1
            for item, rank, strength in ranking.rows():
                values = (group.criterion, group.label, group.rater_labels[rater], group.members[item], rank, strength,
                          ranking.pairs, ranking.missing, ranking.cycles, str(signature))  # fmt: skip
                for name, value in zip(columns, values):
                    columns[name].append(value)
    fate = {
        "shared": "share the better rank",
        "drawn": f"are ordered by lot (seed {seed}), anew for each rater and group",
        "leave-out": "leave the ranking out",
    }[equal]
    bad, repeats = sum(group.both_bad for group in groups), sum(group.repeats for group in groups)
    ties = sum(int((group.compared.outcome == TIE).sum()) for group in groups)
    policies = (
        "Each ranking rests on one rater's own comparisons in one group under one criterion.",
        "Order: share of points won (a tie is half a win) where every pair was answered equally often, else "
        f"Bradley-Terry strength with a normal prior of {PRIOR:g} logits.",
        f"Equal strengths {fate}; {ties:,} comparisons are ties.",
        "Cycles are kept and counted in the column 'cycles'; no answer is dropped for one.",
        "Missing pairs: a ranking is derived when the answered pairs join all items that the rater saw, else left out; "
        f"{bad:,} 'both bad' answers count as missing, {repeats:,} repeated ones are left out.",
    )
    return DerivedRankings(pa.table(columns, schema=SCHEMA), count, dict(+counts), policies, signature)


@dataclass(frozen=True)
class _DerivedRanking:
    items: Ints
    strength: Floats
    rank: Ints
    pairs: int
    missing: int
    cycles: int

    def rows(self) -> Iterator[tuple[int, int, float]]:
        """Item, rank and strength, best first."""
        for place in np.argsort(self.rank, kind="stable"):
            yield int(self.items[place]), int(self.rank[place]), float(self.strength[place])


def _group_rankings(
    group: FuseGroup, equal: Equal, rng: np.random.Generator, counts: Counter[str]
) -> Iterator[tuple[int, _DerivedRanking]]:
    c = group.compared
    order = np.argsort(c.rater, kind="stable")
    ends = np.flatnonzero(np.diff(c.rater[order])) + 1
    for rows in np.split(order, ends):
        items, codes = np.unique(np.concatenate([c.a[rows], c.b[rows]]), return_inverse=True)
        a, b = np.split(codes, 2)
        pairs = count_pairs(a, b, c.outcome[rows], len(items))
        lot = rng.permutation(len(items))
        ranking = _ranking(items, pairs, equal, lot, counts)
        if ranking is not None:
            yield int(c.rater[rows[0]]), ranking


def _ranking(items: Ints, pairs: PairCounts, equal: Equal, lot: Ints, counts: Counter[str]) -> _DerivedRanking | None:
    from scipy.stats import rankdata

    n = len(items)
    if connectivity(n, np.stack([pairs.i, pairs.j], axis=1), paths=False).components > 1:
        counts["left out: the pairs do not join the items"] += 1
        return None
    beats = np.zeros((pairs.items, pairs.items), np.int64)
    first, second = pairs.wins > pairs.losses, pairs.losses > pairs.wins
    beats[pairs.i[first], pairs.j[first]] = 1
    beats[pairs.j[second], pairs.i[second]] = 1
    cyclic_triples = int(np.trace(beats @ beats @ beats)) // 3
    missing, cycles = n * (n - 1) // 2 - len(pairs.i), cyclic_triples
    answers = pairs.wins + pairs.losses + pairs.ties
    if not missing and np.ptp(answers) == 0:
        points = np.bincount(pairs.i, pairs.wins + pairs.ties / 2, pairs.items)
        points += np.bincount(pairs.j, pairs.losses + pairs.ties / 2, pairs.items)
        strength = np.asarray(points / (answers[0] * (pairs.items - 1)))
    else:
        strength = fit_pairs(pairs, "bradley-terry", prior=PRIOR).scores
    rank = rankdata(-np.round(strength / ALIKE), method="min").astype(np.int64)
    shared = len(np.unique(rank)) < n
    counts["with a cycle"] += cycles > 0
    counts["with missing pairs"] += missing > 0
    counts["with equal strengths"] += shared
    if shared and equal == "leave-out":
        counts["left out: equal strengths"] += 1
        return None
    if equal == "drawn":
        rank = 1 + np.lexsort((lot, rank)).argsort()
    return _DerivedRanking(items, strength, rank, len(pairs.i), missing, cycles)
