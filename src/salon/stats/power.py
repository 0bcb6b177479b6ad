"""Power of the signal tests: would this design notice raters who agree this much?

Model. n independent prompts of one shape (p, R), raters following a `RankingLaw` (the alternative). Each test of
`signal_tests` sees a prompt only through its cell (p_max histogram, cycle flag), so the alternative is the law of
one prompt's cell:

    1. estimate that law from a pool of simulated prompts (at least 200,000, and 400 n);
    2. draw `sims` sets of n prompts from it, as multinomial counts of cells;
    3. test every set; power is the share of sets that reject, with Wilson's interval.

The vectorised tests equal `t_test`, `pmax_test` and `cycle_test` on the same counts (proved in the tests).
The error of step 1 moves power by a standard deviation of at most 0.02 (n up to 16,000; about 0.01 at n = 80).

Holm. With K criteria each of the three tests is one of 3K; power after Holm is the chance that a given criterion's
test is still rejected, when all K criteria follow the same law on different prompts.

Edges. A test that a design cannot do has power None: cycles at R = 2 or 4 or p = 2; T or p_max where n is too
small for two groups that each expect 5. Power is a saw-tooth in n, as bins regroup and exact tests are discrete.

Source. Cohen (1988) for the idea; Wilson (1927) for the interval; Holm (1979).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil, comb, log2
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc

from salon.errors import BadValue, TooFew
from salon.stats.agreement import wilson
from salon.stats.nulls import Null, folded_binomial
from salon.stats.result import Estimate
from salon.stats.signal import SignalCells, cells_votes, cycles_possible, votes_rankings
from salon.stats.signal_tests import cycle_test, merge_rare, merged_pmax_weights, t_test, weighted_chi2_sf
from salon.stats.simulate import RankingLaw, expected_tau

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
TestName = Literal["T", "p_max", "cycles"]
TESTS: tuple[TestName, ...] = get_args(TestName)

_POOL, _POOL_PER_PROMPT, _POOL_MAX = 200_000, 400, 6_400_000
_DRAW_BLOCK = 4_000_000  # counts held at once


@dataclass(frozen=True, slots=True)
class Power:
    """Chance that each test rejects. None: the design cannot do that test."""

    items: int
    raters: int
    prompts: int
    tau: float
    """Expected mean pair tau of the alternative."""
    alpha: float
    criteria: int
    plain: Mapping[TestName, Estimate | None]
    """Each test alone, at level alpha."""
    holm: Mapping[TestName, Estimate | None]
    """After Holm over all tests of all criteria."""
    any_holm: Estimate
    """At least one of the criterion's tests, after Holm."""

    def of(self, test: TestName, holm: bool) -> Estimate | None:
        """The power of one test, after Holm or alone."""
        return (self.holm if holm else self.plain)[test]


@dataclass(frozen=True, slots=True)
class SmallestDesign:
    """The smallest design that reaches a power, or the statement that none in the range does."""

    value: int | None
    """Prompts or raters; None: not reached."""
    target: float
    test: TestName
    low: int
    high: int
    """The range searched."""
    power: Estimate | None
    """At `value`, or at the end of the range when not reached; None: that design cannot do the test."""

    @property
    def reached(self) -> bool:
        return self.value is not None


def power_signal(
    null: Null,
    law: RankingLaw,
    prompts: int,
    *,
    alpha: float = 0.05,
    criteria: int = 1,
    sims: int = 2_000,
    rng: np.random.Generator,
) -> Power:
    """Power of the three tests for `prompts` prompts of the null's shape when raters follow `law`."""
    _check(prompts, alpha, criteria, sims)
    pool = simulate_cells(law, null.items, null.raters, prompts, rng=rng)
    return _power(pool, null, law, prompts, alpha, criteria, sims, rng)


def smallest_prompts(
    null: Null,
    law: RankingLaw,
    *,
    test: TestName = "T",
    target: float = 0.8,
    low: int = 5,
    high: int = 5_000,
    alpha: float = 0.05,
    criteria: int = 1,
    holm: bool = True,
    sims: int = 2_000,
    rng: np.random.Generator,
) -> SmallestDesign:
    """The smallest number of prompts in low..high from which `test` has power `target`, after Holm unless `holm=False`.

    Doubling, then bisection. Power is a saw-tooth in n (bins regroup, exact tests are discrete), so the answer moves up
    past any dip clearly below the target among eight designs up to 20% larger.
    """
    _check_search(low, high, target)
    _check(low, alpha, criteria, sims)
    pools: dict[int, SignalCells] = {}

    def power_at(n: int) -> Estimate | None:
        size = pool_size(n)
        if size not in pools:
            pools[size] = simulate_cells(law, null.items, null.raters, n, rng=rng)
        return _power(pools[size], null, law, n, alpha, criteria, sims, rng).of(test, holm)

    return _past_dips(_search(range(low, high + 1), power_at, target, test), power_at)


def smallest_raters(
    null_of: Callable[[int], Null],
    law: RankingLaw,
    prompts: int,
    *,
    raters: Sequence[int] = (3, 5, 7, 9, 11, 13, 15),
    test: TestName = "T",
    target: float = 0.8,
    alpha: float = 0.05,
    criteria: int = 1,
    holm: bool = True,
    sims: int = 2_000,
    rng: np.random.Generator,
) -> SmallestDesign:
    """The fewest raters among `raters` (rising) at which `test` has power `target`, for a fixed number of prompts.

    `null_of(R)` gives the null law of R raters, so that a caller decides between exact, stored and Monte Carlo.
    The default range is odd: an even panel ties and hides cycles. `law` must not name single raters.
    """
    sizes = list(raters)
    if not sizes or any(a >= b for a, b in pairwise(sizes)):
        raise BadValue("a rising list of rater counts is needed", found=sizes)
    _check_search(sizes[0], sizes[-1], target)

    def power_at(count: int) -> Estimate | None:
        power = power_signal(null_of(count), law, prompts, alpha=alpha, criteria=criteria, sims=sims, rng=rng)
        return power.of(test, holm)

    return _search(sizes, power_at, target, test)


def simulate_cells(law: RankingLaw, items: int, raters: int, prompts: int, *, rng: np.random.Generator) -> SignalCells:
    """Step 1: the cells of a large simulation from `law`, enough for sets of `prompts` prompts."""
    ranks = law.draw(pool_size(prompts), raters, items, rng=rng)
    return cells_votes(votes_rankings(ranks), raters, items)


def pool_size(prompts: int) -> int:
    """200,000 simulated prompts, doubled until there are 400 for each prompt of a set, to 6.4 million at most."""
    doublings = max(0, ceil(log2(_POOL_PER_PROMPT * prompts / _POOL)))
    return int(min(_POOL * 2**doublings, _POOL_MAX))


# ------------------------------------------------------------------------------------------------- power
def _power(
    pool: SignalCells,
    null: Null,
    law: RankingLaw,
    prompts: int,
    alpha: float,
    criteria: int,
    sims: int,
    rng: np.random.Generator,
) -> Power:
    sets = sims * criteria  # steps 2 and 3: p values (sets,) of each test that this design can do
    share = pool.counts / pool.n
    block = max(1, _DRAW_BLOCK // len(share))
    sizes = [min(block, sets - start) for start in range(0, sets, block)]
    parts = [p_values_counts(pool, null, rng.multinomial(prompts, share, size=size)) for size in sizes]
    p = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    table = np.stack(list(p.values()), axis=1).reshape(sims, criteria, len(p)) if p else np.ones((sims, 1, 0))
    alone = table[:, 0] <= alpha
    after = _holm_rows(table.reshape(sims, -1)).reshape(table.shape)[:, 0] <= alpha
    plain: dict[TestName, Estimate | None] = dict.fromkeys(TESTS)
    holm: dict[TestName, Estimate | None] = dict.fromkeys(TESTS)
    for i, name in enumerate(p):
        plain[name], holm[name] = _wilson(alone[:, i]), _wilson(after[:, i])
    tau = expected_tau(law, null.raters, null.items)
    return Power(
        null.items, null.raters, prompts, tau, alpha, criteria, plain, holm, any_holm=_wilson(after.any(axis=1))
    )


def p_values_counts(pool: SignalCells, null: Null, counts: Ints) -> dict[TestName, Floats]:
    """p values of each possible test for every row of `counts` (sets, cells), all rows of equally many prompts."""
    p_values: dict[TestName, Floats | None] = {
        "T": _t_p(pool, null, counts),
        "p_max": _pmax_p(pool, counts),
        "cycles": _cycle_p(pool, null, counts),
    }
    return {name: p for name, p in p_values.items() if p is not None}


def _t_p(pool: SignalCells, null: Null, counts: Ints) -> Floats | None:
    """As `t_test`. An exact null merges bins alike for all sets; a Monte Carlo null pools, so sets differ."""
    if null.draws is not None:
        try:
            return np.array([t_test(replace(pool, counts=row), null).p for row in counts])
        except TooFew:
            return None
    values = np.array(list(null.t_counts))
    expected = int(counts[0].sum()) * np.array([mass / null.total for mass in null.t_counts.values()])
    groups = merge_rare(expected)
    if groups[-1] == 0:
        return None
    group_of_cell = groups[np.searchsorted(values, pool.t_numerators)]
    observed = counts @ _one_hot(group_of_cell, int(groups[-1]) + 1)
    p: Floats = chdtrc(groups[-1], _chi_square(observed, expected, groups))
    return p


def _pmax_p(pool: SignalCells, counts: Ints) -> Floats | None:
    """As `pmax_test`: the weights depend on n and the shape alone."""
    pmf = np.array([float(q) for q in folded_binomial(pool.raters).values()])
    expected = int(counts[0].sum()) * comb(pool.items, 2) * pmf
    groups = merge_rare(expected)
    if groups[-1] == 0:
        return None
    observed = (counts @ pool.histograms) @ _one_hot(groups, int(groups[-1]) + 1)
    statistic = _chi_square(observed, expected, groups)
    return _weighted_tails(statistic, merged_pmax_weights(pool.items, pool.raters, groups))


def _cycle_p(pool: SignalCells, null: Null, counts: Ints) -> Floats | None:
    """`cycle_test` itself, once for every distinct number of cycles."""
    if not cycles_possible(pool.items, pool.raters):
        return None
    cycle_counts, where = np.unique(counts @ pool.cyclic, return_inverse=True)
    n = int(counts[0].sum())
    flags = np.array([False, True])
    histograms = np.repeat(pool.histograms[:1], 2, axis=0)
    p = [
        cycle_test(SignalCells(pool.items, pool.raters, histograms, flags, np.array([n - c, c])), null).p
        for c in cycle_counts.tolist()
    ]
    return np.array(p)[where]


def _weighted_tails(x: Floats, weights: Floats) -> Floats:
    """`weighted_chi2_sf` of many x: a cubic spline of its logarithm, good to 1e-6 of the tail; 0 below 1e-280."""
    from scipy.interpolate import CubicSpline

    top = float(weights.max()) * 1_200  # the tail there is below 1e-250
    grid = np.linspace(0, np.sqrt(min(float(x.max()) * 1.001 + 1, top)), 257) ** 2
    tail = np.array([weighted_chi2_sf(g, weights) for g in grid])
    alive = tail > 1e-280
    curve = CubicSpline(np.sqrt(grid[alive]), np.log(tail[alive]))
    return np.where(x <= grid[alive][-1], np.exp(curve(np.sqrt(x))), 0.0)


def _chi_square(observed: Ints, expected: Floats, groups: Ints) -> Floats:
    e = np.bincount(groups, expected)
    statistic: Floats = ((observed - e) ** 2 / e).sum(axis=1)
    return statistic


def _one_hot(groups: Ints, size: int) -> Ints:
    rows: Ints = np.eye(size, dtype=np.int64)[groups]
    return rows


def _holm_rows(p: Floats) -> Floats:
    """`signal_tests.holm` of every row."""
    order = np.argsort(p, axis=1, kind="stable")
    steps = np.minimum(1.0, np.take_along_axis(p, order, axis=1) * np.arange(p.shape[1], 0, -1))
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.maximum.accumulate(steps, axis=1), axis=1)
    return adjusted


def _wilson(rejected: ArrayLike) -> Estimate:
    hits = np.asarray(rejected)
    return wilson(int(hits.sum()), hits.size, unit="simulated sets")


# ------------------------------------------------------------------------------------------------ search
def _search(
    sizes: Sequence[int], power_at: Callable[[int], Estimate | None], target: float, test: TestName
) -> SmallestDesign:
    """Doubling, then bisection, over rising `sizes`; a design that cannot do the test counts as power 0.

    Doubling first, because large designs cost more to simulate than small ones.
    """

    def reaches(power: Estimate | None) -> bool:
        return power is not None and power.value >= target

    last = len(sizes) - 1
    low, high = -1, 0  # sizes[low] (if any) is known to miss the target
    power = power_at(sizes[high])
    while not reaches(power):
        if high == last:
            return SmallestDesign(None, target, test, sizes[0], sizes[-1], power)
        low, high = high, min(2 * high + 1, last)
        power = power_at(sizes[high])
    while high - low > 1:
        middle = (low + high) // 2
        here = power_at(sizes[middle])
        if reaches(here):
            high, power = middle, here
        else:
            low = middle
    return SmallestDesign(sizes[high], target, test, sizes[0], sizes[-1], power)


def _past_dips(design: SmallestDesign, power_at: Callable[[int], Estimate | None]) -> SmallestDesign:
    """`found`, moved up until eight larger designs hold the target within their intervals."""
    if design.value is None:
        return design
    best, power, ahead = design.value, design.power, 1
    while ahead <= 8 and best + ahead * max(1, best // 40) <= design.high:
        n = best + ahead * max(1, best // 40)
        here = power_at(n)
        if here is None or (here.high is not None and here.high < design.target):
            best, ahead = n + 1, 0
            continue
        power = here if ahead == 0 else power
        ahead += 1
    if best > design.high:
        return replace(design, value=None, power=power_at(design.high))
    return replace(design, value=best, power=power)


def _check(prompts: int, alpha: float, criteria: int, sims: int) -> None:
    if prompts < 1 or criteria < 1 or sims < 1:
        sizes = f"{prompts} prompts, {criteria} criteria, {sims} simulated sets"
        raise TooFew("at least 1 prompt, 1 criterion and 1 simulated set are needed", found=sizes)
    if not 0 < alpha < 1:
        raise BadValue("alpha must lie between 0 and 1", found=alpha)


def _check_search(low: int, high: int, target: float) -> None:
    if not 0 < target < 1:
        raise BadValue("a power between 0 and 1 is needed as target", found=target)
    if not 1 <= low < high:
        raise BadValue("a range to search is needed", found=f"{low} to {high}")
