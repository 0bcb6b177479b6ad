"""Four statistics of agreement within one prompt: T, mean tau, p_max and majority cycles.

Model. One prompt, p items, R raters, each giving a strict ranking. For items a < b let k[a,b] be the number
of raters placing a above b (the votes). With m = C(p,2) item pairs:

    T      = sum over pairs of ((2k - R)^2 - R) / (2 m C(R,2))     mean Kendall tau over the C(R,2) rater pairs
    p_max  = max(k, R - k) / R                                     per pair: share of the larger side
    cycle  = some triple has strict majorities a > b > c > a       1 or 0 per prompt

Facts. T depends on the votes only through the histogram of max(k, R - k) over the m pairs, that is through
the p_max histogram: T and p_max are one piece of evidence, not two. Hence the pair (p_max histogram, cycle
flag), here called a *cell*, is sufficient for all four statistics, and a million prompts shrink to a few
dozen cells with counts (`Cells`). Resampling prompts is a multinomial draw of these counts.

Assumptions. None on the raters; rankings must be strict (break or drop ties before) and complete.

Edges. R = 1 has no rater pairs: T is undefined (`TooFew`). Even R: a tied majority is no majority, so cycles
are rarer, and impossible at R = 2 and R = 4. p = 2 has no triples, so no cycles.

Source. Kendall (1938) for tau; Kendall and Babington Smith (1940) for votes and cycles; the identity for T is
sum over rater pairs of (concordant - discordant) = sum over item pairs of C(k,2) + C(R-k,2) - k(R-k).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
import numpy.typing as npt

from salon.errors import BadValue, TiesNotAllowed, TooFew
from salon.stats.jit import FEW, compiled_above

Ints = npt.NDArray[np.int64]
Votes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def item_pairs(items: int) -> Ints:
    """The m = C(p,2) pairs (a, b), a < b, in lexicographic order: the column order of every votes array."""
    return np.array(list(combinations(range(items), 2)), dtype=np.int64).reshape(-1, 2)


def item_triples(items: int) -> Ints:
    """For each triple a < b < c the columns of the pairs (a,b), (b,c), (a,c)."""
    a, b, c = np.array(list(combinations(range(items), 3)), dtype=np.int64).reshape(-1, 3).T
    before = np.arange(items) * (2 * items - np.arange(items) - 1) // 2  # pairs whose first item comes before
    return np.stack([before[a] + b - a - 1, before[b] + c - b - 1, before[a] + c - a - 1], axis=1)


def votes_rankings(ranks: npt.ArrayLike) -> Votes:
    """Votes k (n, m) of strict rankings.

    `ranks` is an integer array (n prompts, R raters, p items), 0 = best, each row a permutation of 0..p-1.
    Raises `TiesNotAllowed` when a row has equal ranks, `BadValue` when it is no permutation otherwise.
    """
    array = np.asarray(ranks)
    if array.ndim != 3 or not np.issubdtype(array.dtype, np.integer):
        raise BadValue(
            "rankings must be an integer array (prompts, raters, items)",
            found=f"{array.dtype} array of shape {array.shape}",
            remedy="give ranks 0..p-1, 0 for the best; drop or complete missing rankings first",
        )
    _check_shape(array.shape[2], array.shape[1])
    bad = _first_bad_ranking(array)
    if bad >= 0:
        _raise_bad_ranking(array, bad)
    k = np.zeros((array.shape[0], comb(array.shape[2], 2)), dtype=np.int32)
    _count_votes(array, k)
    return k


def t_denominator(items: int, raters: int) -> int:
    """m C(R,2): T is an integer over this number."""
    return comb(items, 2) * comb(raters, 2)


def t_numerators(k: npt.ArrayLike, raters: int) -> Ints:
    """Integers S (n,) with T = S / `t_denominator`: concordant minus discordant over item and rater pairs."""
    lead = 2 * np.asarray(k, dtype=np.int64) - raters
    numerators: Ints = ((lead * lead - raters) // 2).sum(axis=1)
    return numerators


def kendall_t(k: npt.ArrayLike, raters: int) -> Floats:
    """T (n,) of each prompt: the mean Kendall tau over its rater pairs."""
    votes = check_votes(k, raters)
    items = items_of_pairs(votes.shape[1])
    return t_numerators(votes, raters) / t_denominator(items, raters)


def p_max(k: npt.ArrayLike, raters: int) -> Floats:
    """p_max (n, m): the share of the larger side for each item pair."""
    votes = check_votes(k, raters)
    shares: Floats = np.maximum(votes, raters - votes) / raters
    return shares


def cycles(k: npt.ArrayLike, raters: int, items: int) -> Bools:
    """True (n,) where the strict-majority tournament holds an intransitive triple."""
    votes = check_votes(k, raters, items)
    cyclic = np.zeros(len(votes), dtype=np.bool_)
    if cycles_possible(items, raters):
        _flag_cycles(votes, raters, item_triples(items), cyclic)
    return cyclic


def cycles_possible(items: int, raters: int) -> bool:
    """Can strict majorities of R raters cycle at all? Each rater backs at most 2 of the 3 edges of a cycle, and
    each edge needs floor(R/2) + 1 of them: impossible at R = 1, 2, 4 and with fewer than three items."""
    return items >= 3 and 3 * (raters // 2 + 1) <= 2 * raters


def pmax_bins(raters: int) -> Ints:
    """The values ceil(R/2)..R of max(k, R - k): the bins of every p_max histogram."""
    return np.arange((raters + 1) // 2, raters + 1, dtype=np.int64)


def histogram_t_numerators(histograms: npt.ArrayLike, raters: int) -> Ints:
    """`t_numerators` from p_max histograms (c, bins): T is a function of the histogram."""
    lead = 2 * pmax_bins(raters) - raters
    numerators: Ints = np.asarray(histograms, dtype=np.int64) @ ((lead * lead - raters) // 2)
    return numerators


@dataclass(frozen=True, eq=False)
class SignalCells:
    """Prompts of one shape (p, R), counted by cell = (p_max histogram, cycle flag)."""

    items: int
    raters: int
    histograms: Ints
    """(c, bins): pairs per value ceil(R/2)..R of max(k, R - k); each row sums to C(p,2)."""
    cyclic: Bools
    """(c,)"""
    counts: Ints
    """(c,) prompts per cell."""

    @cached_property
    def n(self) -> int:
        """Number of prompts."""
        return int(self.counts.sum())

    @cached_property
    def t_numerators(self) -> Ints:
        """(c,) T of each cell times `t_denominator`."""
        return histogram_t_numerators(self.histograms, self.raters)

    @property
    def t_denominator(self) -> int:
        """T is `t_numerators` over this."""
        return t_denominator(self.items, self.raters)

    @property
    def T(self) -> Floats:
        """(c,) T of each cell."""
        return self.t_numerators / self.t_denominator

    @cached_property
    def pmax_means(self) -> Floats:
        """(c,) mean p_max over the pairs of a prompt in each cell."""
        means: Floats = self.histograms @ pmax_bins(self.raters) / (self.raters * comb(self.items, 2))
        return means

    @property
    def pmax_counts(self) -> Ints:
        """(bins,) pairs of all prompts per value of max(k, R - k)."""
        counts: Ints = self.counts @ self.histograms
        return counts

    @property
    def cycle_count(self) -> int:
        """Prompts with a majority cycle."""
        return int(self.counts[self.cyclic].sum())

    @property
    def median_T(self) -> float:
        """Median of T over prompts (the mean of the two middle ones for even n)."""
        return self._statistic("median_T")

    @property
    def mean_tau(self) -> float:
        """Mean of T over prompts, that is the mean tau over rater pairs and prompts."""
        return self._statistic("mean_tau")

    @property
    def mean_pmax(self) -> float:
        """Mean p_max over pairs and prompts."""
        return self._statistic("mean_pmax")

    @property
    def cycle_rate(self) -> float:
        """Share of prompts with a majority cycle; 0 where there can be none."""
        return self._statistic("cycle_rate")

    def _statistic(self, name: str) -> float:
        value = statistics_cells([self])[name]
        return 0.0 if value is None else float(value[0])


def statistics_cells(cells: Sequence[SignalCells], counts: Ints | None = None) -> dict[str, Floats | None]:
    """The four statistics of prompts of all these shapes, for each row of `counts` (draws, cells of all shapes).

    Left out, the counts are those of the cells: one row. The cycle rate is that of the shapes in which majorities can
    cycle; None where there is none, NaN in a row without a prompt of theirs.
    """
    if counts is None:
        counts = _counts(cells)[None]
    n = counts.sum(axis=1)
    T = np.concatenate([c.T for c in cells])
    can_cycle = np.concatenate([np.full(len(c.counts), cycles_possible(c.items, c.raters)) for c in cells])
    cyclic = np.concatenate([c.cyclic for c in cells])
    cyclable = counts @ can_cycle.astype(float)
    with np.errstate(invalid="ignore"):
        rate = counts @ (cyclic & can_cycle).astype(float) / cyclable
    return {
        "median_T": median_of_counts(T, counts),
        "mean_tau": counts @ T / n,
        "mean_pmax": counts @ np.concatenate([c.pmax_means for c in cells]) / n,
        "cycle_rate": rate if can_cycle.any() else None,
    }


def resample_cells(cells: Sequence[SignalCells], *, draws: int, rng: np.random.Generator) -> dict[str, Floats | None]:
    """Each statistic on `draws` bootstrap samples of the prompts of all shapes; cycle rates where they are defined.

    n prompts drawn with replacement fall on the cells as Multinomial(n, counts / n): nothing else of the prompts
    matters, so the cost does not depend on n.
    """
    counts = _counts(cells)
    replicates = statistics_cells(cells, rng.multinomial(counts.sum(), counts / counts.sum(), size=draws))
    rate = replicates["cycle_rate"]
    return replicates | {"cycle_rate": None if rate is None else rate[np.isfinite(rate)]}


def median_of_counts(values: Floats, counts: npt.NDArray[np.generic]) -> Floats:
    """Median of `values` repeated `counts` times, for every row of counts."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(counts[:, order], axis=1)
    half = counts.sum(axis=1, keepdims=True) / 2
    low = values[order][(reached >= half).argmax(axis=1)]
    high = values[order][(reached > half).argmax(axis=1)]
    return np.asarray((low + high) / 2)


def _counts(cells: Sequence[SignalCells]) -> Ints:
    counts: Ints = np.concatenate([c.counts for c in cells])
    if not counts.any():
        raise TooFew("at least one prompt is needed", found="no prompts", remedy="add complete prompts")
    return counts


def cells_votes(k: npt.ArrayLike, raters: int, items: int) -> SignalCells:
    """The cells of votes k (n, m): every statistic of this module, its tests and its bootstrap need no more."""
    votes = check_votes(k, raters, items)
    histograms, cyclic = tally_votes(votes, raters, items)
    rows, counts, _ = distinct_rows(np.column_stack([histograms, cyclic]), radix=comb(items, 2) + 1)
    return SignalCells(items, raters, rows[:, :-1], rows[:, -1].astype(np.bool_), counts)


def distinct_rows(rows: npt.NDArray[np.integer], radix: int) -> tuple[Ints, Ints, Ints]:
    """(distinct rows in lexicographic order, how often each occurs, which of them each row is).

    Entries lie in 0..radix-1. Rows are compared as numbers to that base where these fit an int64, and counted
    without sorting where they are small: a hundred times faster than comparing rows.
    """
    width = rows.shape[1]
    if radix**width >= 2**63:
        distinct, which, counts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        return distinct.astype(np.int64), counts, which
    codes = np.zeros(len(rows), dtype=np.int64)
    for column in rows.T:
        codes = codes * radix + column
    if radix**width <= 1 << 22:
        counts = np.bincount(codes, minlength=radix**width)
        values = np.flatnonzero(counts)
        counts, which = counts[values], (np.cumsum(counts > 0) - 1)[codes]
    else:
        values, which, counts = np.unique(codes, return_inverse=True, return_counts=True)
    places = np.array([radix ** (width - 1 - i) for i in range(width)], dtype=np.int64)
    return values[:, None] // places % radix, counts, which


def check_votes(k: npt.ArrayLike, raters: int, items: int | None = None) -> Votes:
    """`k` as int32 votes (n, m) after checking its shape and range."""
    array = np.asarray(k)
    if array.ndim != 2 or not np.issubdtype(array.dtype, np.integer):
        raise BadValue(
            "votes must be an integer array (prompts, item pairs)",
            found=f"{array.dtype} array of shape {array.shape}",
        )
    found_items = items_of_pairs(array.shape[1])
    if items is not None and items != found_items:
        raise BadValue(f"votes on {items} items have {comb(items, 2)} columns", found=f"{array.shape[1]} columns")
    _check_shape(found_items, raters)
    if array.size and (array.min() < 0 or array.max() > raters):
        raise BadValue(
            f"votes must lie between 0 and the number of raters, {raters}",
            found=f"values from {array.min()} to {array.max()}",
        )
    return np.ascontiguousarray(array, dtype=np.int32)


def items_of_pairs(pairs: int) -> int:
    """p from m = C(p,2)."""
    items = int((1 + (1 + 8 * pairs) ** 0.5) / 2)
    if pairs < 1 or comb(items, 2) != pairs:
        raise BadValue("the columns of votes are the C(p,2) item pairs", found=f"{pairs} columns")
    return items


def _check_shape(items: int, raters: int) -> None:
    if items < 2:
        raise TooFew("at least 2 items are needed to rank", found=f"{items} items")
    if raters < 2:
        raise TooFew(
            "agreement needs at least 2 raters on a prompt",
            found=f"{raters} rater" + ("s" if raters != 1 else ""),
            remedy="collect a second answer for each prompt",
        )


def _raise_bad_ranking(ranks: npt.NDArray[np.integer], bad: int) -> None:
    prompt, rater = divmod(bad, ranks.shape[1])
    row = ranks[prompt, rater].tolist()
    where = f"prompt {prompt}, rater {rater}"
    if len(set(row)) < len(row):
        raise TiesNotAllowed(
            "a strict ranking is needed", found=f"ranks {row}", where=where, remedy="break ties with a stated policy"
        )
    raise BadValue(
        f"ranks must be 0..{len(row) - 1}, 0 for the best",
        found=f"ranks {row}",
        where=where,
        remedy="re-rank the items",
    )


def tally_votes(votes: Votes, raters: int, items: int) -> tuple[Votes, Bools]:
    """The p_max histogram (n, bins) and the cycle flag (n,) of every prompt."""
    histograms = np.zeros((len(votes), len(pmax_bins(raters))), dtype=np.int32)
    _fill_tally(votes, raters, histograms)
    return histograms, cycles(votes, raters, items)


def _first_bad_ranking_arrays(ranks: npt.NDArray[np.integer]) -> int:
    rows = np.sort(ranks.reshape(-1, ranks.shape[2]), axis=1)
    bad = (rows != np.arange(ranks.shape[2])).any(axis=1)
    return int(np.argmax(bad)) if bad.any() else -1


@compiled_above(FEW, _first_bad_ranking_arrays)
def _first_bad_ranking(ranks: npt.NDArray[np.integer]) -> int:
    """Flat index (prompt * R + rater) of the first row that is no permutation of 0..p-1, or -1."""
    prompts, raters, items = ranks.shape
    seen_at = np.full(items, -1, np.int64)
    for i in range(prompts):
        for j in range(raters):
            row: int = i * raters + j
            for a in range(items):
                rank = ranks[i, j, a]
                if rank < 0 or rank >= items or seen_at[rank] == row:
                    return row
                seen_at[rank] = row
    return -1


def _count_votes_arrays(ranks: npt.NDArray[np.integer], k: Votes) -> None:
    a, b = np.triu_indices(ranks.shape[2], 1)
    np.add(k, np.count_nonzero(ranks[:, :, a] < ranks[:, :, b], axis=1), out=k, casting="unsafe")


@compiled_above(FEW, _count_votes_arrays)
def _count_votes(ranks: npt.NDArray[np.integer], k: Votes) -> None:
    prompts, raters, items = ranks.shape
    for i in range(prompts):
        for j in range(raters):
            e = 0
            for a in range(items):
                for b in range(a + 1, items):
                    k[i, e] += ranks[i, j, a] < ranks[i, j, b]
                    e += 1


def _fill_tally_arrays(votes: Votes, raters: int, histograms: Votes) -> None:
    prompts, bins = histograms.shape
    place = np.maximum(votes, raters - votes).astype(np.int64) - (raters + 1) // 2
    flat = (np.arange(prompts)[:, None] * bins + place).ravel()
    counts = np.bincount(flat, minlength=histograms.size).reshape(prompts, bins)
    np.add(histograms, counts, out=histograms, casting="unsafe")


@compiled_above(FEW, _fill_tally_arrays)
def _fill_tally(votes: Votes, raters: int, histograms: Votes) -> None:
    """Fill the p_max histogram of every prompt."""
    lowest = (raters + 1) // 2
    for i in range(votes.shape[0]):
        for e in range(votes.shape[1]):
            histograms[i, max(votes[i, e], raters - votes[i, e]) - lowest] += 1


def _flag_cycles_arrays(votes: Votes, raters: int, triples: Ints, cyclic: Bools) -> None:
    ab, bc, ca = (np.sign(2 * votes[:, triples[:, k]].astype(np.int64) - raters) for k in range(3))
    cyclic |= ((ab == bc) & (bc == -ca) & (ab != 0)).any(axis=1)


@compiled_above(FEW, _flag_cycles_arrays)
def _flag_cycles(votes: Votes, raters: int, triples: Ints, cyclic: Bools) -> None:
    """Flag prompts whose strict majorities cycle."""
    for i in range(votes.shape[0]):
        for t in range(triples.shape[0]):
            ab = 2 * votes[i, triples[t, 0]] - raters
            bc = 2 * votes[i, triples[t, 1]] - raters
            ca = raters - 2 * votes[i, triples[t, 2]]
            if (ab > 0 and bc > 0 and ca > 0) or (ab < 0 and bc < 0 and ca < 0):
                cyclic[i] = True
                break
