"""Laws of the chance p behind votes: a beta law, all laws that the votes allow, and the ceilings they leave.

p is the chance that a random rater prefers the first item of a pair; its law is over pairs.

Data: counts N of pairs by (R, m), m the larger camp among R raters. Which item comes first is arbitrary, so
laws of p are taken symmetric about 1/2.

`beta_binomial_rho`: p ~ Beta(a, a), maximum likelihood. In rho = 1/(2a + 1), the correlation of two raters'
votes on a pair, the likelihood of k votes of R is a ratio of products and smooth on the closed range [0, 1]:

    P(k) = C(R,k) prod_{i<k} (b + i rho) prod_{i<R-k} (b + i rho) / prod_{i<R} (1 - rho + i rho),   b = (1 -
    rho)/2

so the log-likelihood depends on the data only through A_i, the camps with more than i raters, and C_i, the
pairs with more than i raters. Its slope at rho = 0 is sum((2k - R)^2 - R)/2: the fit is at rho = 0 (a = inf,
coin flips) exactly when raters agree no more than by chance. If every pair is unanimous it is at rho = 1 (a
= 0).

`Laws`: no shape assumed. Among all laws on a grid of p whose expected table lies between the bounds given
for every cell (and the law nearest to the observed table), a linear programme finds the least and the
greatest accuracy. Large panels have many cells: those of neighboring m are put together, which leaves out
constraints and so never makes a range too short. `PairLaws` are the symmetric ones; `TickLaws` are those of
yes and no.

Sources: Williams 1975; Kleinman 1973; Laird 1978 and Lord & Cressie 1975 for laws without a shape and their ranges.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from salon.errors import NotConverged
from salon.stats.binomial import binomial_cdf, binomial_pmf, binomial_sf
from salon.stats.result import Estimate

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

GRID = np.unique(np.concatenate([np.linspace(0.5, 1.0, 251), 0.5 + np.geomspace(1e-4, 0.02, 12)]))
"""Chances of the likelier side; closer near 1/2, where the majority of a large panel turns."""
_MOST_SIZES = 6
_MOST_CELLS_OF_SIZE = 24
_SLACK = 1e-7
_EXACT = 1e-6
_EM_STEPS = 4000

Range = tuple[float, float]


def beta_binomial_rho(raters: IntArray, larger: IntArray, totals: FloatArray) -> FloatArray:
    """Maximum-likelihood rho for each row of totals (draws, cells), by bisection of the score."""
    i = np.arange(int(raters.max()))
    smaller = raters - larger
    camps = totals @ ((larger[:, None] > i).astype(float) + (smaller[:, None] > i))
    pairs = totals @ (raters[:, None] > i).astype(float)
    split = totals @ (smaller > 0).astype(float)
    low, high = np.zeros(len(totals)), np.ones(len(totals))
    for _ in range(60):
        middle = (low + high) / 2
        rising = _score(middle, camps, pairs) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    rho = np.where(_score(np.zeros(len(totals)), camps, pairs) <= 0, 0.0, (low + high) / 2)
    return np.where(split == 0, 1.0, rho)


def majority_right(p: FloatArray, raters: int) -> FloatArray:
    """P(the majority of a panel is the likelier side), p >= 1/2 being that side's chance; a tie is wrong."""
    return np.asarray(binomial_sf(raters // 2, raters, p), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class SplitCell:
    """Panels by the size of a camp, the larger or those who say yes: for each number of raters its least and most."""

    camps: dict[int, tuple[int, int]]
    sizes: tuple[int, ...]
    """Numbers of raters of the panels that the cell is a share of."""

    def holds(self, raters: IntArray, camp: IntArray) -> NDArray[np.bool_]:
        """Which pairs belong to it."""
        inside = np.zeros(len(raters), dtype=bool)
        for size, (smallest, largest) in self.camps.items():
            inside |= (raters == size) & (camp >= smallest) & (camp <= largest)
        return inside


def law_cells(raters: IntArray, *, sided: bool = False) -> list[SplitCell]:
    """The possible cells of the panel sizes present, empty ones too: an empty cell is information.

    Cells count the larger camp; `sided` ones those who say yes. Few sizes have cells of their own. Panels of many sizes
    are put together by the share of that camp: each size alone would have too few pairs to tell anything.
    """
    sizes = tuple(np.unique(raters).tolist())
    if len(sizes) > _MOST_SIZES:
        edges = np.linspace(0.0 if sided else 0.5, 1.0, _MOST_CELLS_OF_SIZE // 2 + 1)[1:-1]
        cells: list[dict[int, tuple[int, int]]] = [{} for _ in range(len(edges) + 1)]
        for size in sizes:
            possible = np.arange(0 if sided else (size + 1) // 2, size + 1)
            at = np.digitize(possible / size, edges)
            for part in np.unique(at).tolist():
                inside = possible[at == part]
                cells[part][size] = int(inside[0]), int(inside[-1])
        return [SplitCell(camps, sizes) for camps in cells if camps]
    out = []
    for size in sizes:
        possible = np.arange(0 if sided else (size + 1) // 2, size + 1)
        parts = np.array_split(possible, min(_MOST_CELLS_OF_SIZE, len(possible)))
        out += [SplitCell({size: (int(part[0]), int(part[-1]))}, (size,)) for part in parts]
    return out


@dataclass(frozen=True)
class Laws:
    """All laws of p that a table of votes allows, and what accuracies they give."""

    cells: list[SplitCell]
    observed: FloatArray
    """Pairs in each cell."""
    low: FloatArray | None
    """Bounds of each cell's share, for sampling error; None where there are none."""
    high: FloatArray | None
    sizes: dict[int, float]
    """Pairs by number of raters: the weights of an accuracy over all pairs."""
    grid: ClassVar[FloatArray]

    @cached_property
    def chance(self) -> FloatArray:
        """(cells, grid) chance of each cell among the panels it is a share of."""
        rows = []
        for cell in self.cells:
            total = sum(self.sizes[size] for size in cell.sizes)
            parts = [self.sizes[n] / total * self.camp_chance(n, *ends) for n, ends in cell.camps.items()]
            rows.append(np.sum(parts, axis=0))
        return np.array(rows)

    def camp_chance(self, raters: int, smallest: int, largest: int) -> FloatArray:
        """By p, the chance that the camp which cells count has a size between these two."""
        raise NotImplementedError

    @cached_property
    def fitted(self) -> FloatArray:
        """Shares of the law that fits best. Panels more even than coin flips fit no law exactly."""
        return np.asarray(self.chance @ _nearest_law(self.chance, self.cells, self.observed))

    def next_rater(self, *, sampling: bool) -> Range:
        """Accuracy of one more rater over all pairs with a majority."""
        first, second = self._majority
        return self.range_of(self.grid * first + (1 - self.grid) * second, first + second, sampling)

    def oracle(self, *, sampling: bool) -> Range:
        """Accuracy of a predictor that knows every p, over all pairs with a majority."""
        first, second = self._majority
        return self.range_of(np.where(self.grid >= 0.5, first, second), first + second, sampling)

    @cached_property
    def _majority(self) -> tuple[FloatArray, FloatArray]:
        """Chance by p that the majority is the side that p is the chance of, and that it is the other."""
        first, second = np.zeros_like(self.grid), np.zeros_like(self.grid)
        total = sum(self.sizes.values())
        for size, pairs in self.sizes.items():
            first += pairs / total * majority_right(self.grid, size)
            second += pairs / total * majority_right(1 - self.grid, size)
        return first, second

    def range_of(self, top: FloatArray, bottom: FloatArray, sampling: bool) -> Range:
        """Least and greatest mean of `top` over that of `bottom`, both by p, with sampling error where it is known."""
        low = high = self.fitted
        if sampling and self.low is not None and self.high is not None:  # the best law is always allowed
            low, high = np.minimum(self.low, self.fitted), np.maximum(self.high, self.fitted)
        return _extremes(top, bottom, self.chance, low - _SLACK, high + _SLACK)


class PairLaws(Laws):
    """Of pairs, whose first item is arbitrary: p is the chance of the likelier side, cells count the larger camp."""

    grid = GRID

    def camp_chance(self, raters: int, smallest: int, largest: int) -> FloatArray:
        both = binomial_cdf(largest, raters, GRID) - binomial_cdf(smallest - 1, raters, GRID)
        both = both + binomial_cdf(raters - smallest, raters, GRID) - binomial_cdf(raters - largest - 1, raters, GRID)
        if 2 * smallest == raters:
            both = both - binomial_pmf(smallest, raters, GRID)
        return np.asarray(np.maximum(both, 0.0), dtype=np.float64)

    def next_rater_of(self, raters: int, larger: int) -> Range:
        """Accuracy of one more rater on pairs where `larger` of `raters` agree."""
        likely, unlikely = _split_chances(raters, larger)
        return self.range_of(GRID * likely + (1 - GRID) * unlikely, likely + unlikely, self.low is not None)

    def oracle_of(self, raters: int, larger: int) -> Range:
        """The same of a predictor that knows every p."""
        likely, unlikely = _split_chances(raters, larger)
        return self.range_of(likely, likely + unlikely, self.low is not None)


def _score(rho: FloatArray, camps: FloatArray, pairs: FloatArray) -> FloatArray:
    """Slope of the log-likelihood; the two poles at rho = 1 (i = 0) are merged into one term."""
    i = np.arange(1, camps.shape[1])
    left = 1 - rho[:, None]
    slope = (camps[:, 1:] * (i - 0.5) / (left / 2 + i * rho[:, None])).sum(axis=1)
    slope -= (pairs[:, 1:] * (i - 1) / (left + i * rho[:, None])).sum(axis=1)
    split = camps[:, 0] - pairs[:, 0]
    return np.asarray(slope - split / np.maximum(1 - rho, 1e-300), dtype=np.float64)


def _split_chances(raters: int, larger: int) -> tuple[FloatArray, FloatArray]:
    """Chance by p of a split whose larger camp is the likelier side, and of one where it is the other."""
    return binomial_pmf(larger, raters, GRID), binomial_pmf(raters - larger, raters, GRID)


def _nearest_law(chance: FloatArray, cells: list[SplitCell], observed: FloatArray) -> FloatArray:
    """A law over the grid that gives the observed shares; where none does, that of the greatest likelihood, by EM."""
    from scipy.optimize import nnls

    first = np.array([cell.sizes[0] for cell in cells])
    share = observed / np.maximum([observed[first == size].sum() for size in first], 1)
    rows = np.vstack([chance, np.full(chance.shape[1], 1e3)])  # the last holds the sum of the law at one
    law, residual = nnls(rows, np.append(share, 1e3))
    if residual > _EXACT:
        law = np.full(chance.shape[1], 1 / chance.shape[1])
        positive_chance, positive_share = chance[observed > 0], observed[observed > 0] / observed.sum()
        for _ in range(_EM_STEPS):
            law = law * ((positive_share / (positive_chance @ law)) @ positive_chance)
    return np.asarray(law / law.sum(), dtype=np.float64)


def _extremes(
    top: FloatArray, bottom: FloatArray, chance: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[float, float]:
    """Extremes of (top . law)/(bottom . law), low <= chance @ law <= high: Charnes & Cooper's linear
    programme.

    Unknowns are y = t law and t, scaled so that bottom . y = 1; the last column is t.
    """
    from scipy.optimize import linprog

    above = np.column_stack([chance, -high])
    below = np.column_stack([-chance, low])
    equal = np.array([np.append(bottom, 0.0), np.append(np.ones_like(bottom), -1.0)])
    ends = []
    for sign in (1, -1):
        cost = np.append(sign * top, 0.0)
        best = linprog(cost, np.vstack([above, below]), np.zeros(2 * len(chance)), equal, [1.0, 0.0])
        if best.status != 0:
            raise NotConverged(
                "the linear programme over laws of pair probabilities must have a solution",
                found=best.message,
                remedy="use the beta-binomial ceilings alone",
            )
        ends.append(sign * float(best.fun))
    return ends[0], ends[1]


# -- ticks -------------------------------------------------------------------------------------------------------------


_BOTH_SIDES = np.unique(np.concatenate([1 - GRID, GRID]))


class TickLaws(Laws):
    """All laws of p that a table of ticks allows.

    The law of the chance p that a random person says yes to a tick, over ticks.

    Yes and no are not alike as the sides of a pair are (most posters may pass most points), so p runs over [0, 1] and
    cells count who says yes: R answers fix the first R moments of p, those of pairs only the even ones.
    """

    grid = _BOTH_SIDES

    def camp_chance(self, raters: int, smallest: int, largest: int) -> FloatArray:
        chance = binomial_cdf(largest, raters, self.grid) - binomial_cdf(smallest - 1, raters, self.grid)
        return np.asarray(np.maximum(chance, 0.0), dtype=np.float64)


# -- ceilings over all allowed laws ------------------------------------------------------------------------------------


Share = Callable[[FloatArray, FloatArray, float], tuple[Estimate, int]]
"""From the cells of a share, the cells it is a share of and a level: the share, and the prompts that it rests on."""
_GRID_ERROR = 1e-3
Kind = TypeVar("Kind", bound=Laws)


def allowed_laws(
    kind: type[Kind],
    cells: list[SplitCell],
    raters: IntArray,
    camp: IntArray,
    total: FloatArray,
    share: Share | None,
    level: float,
) -> Kind:
    """The laws that these votes allow; without `share` (one prompt) those that fit best alone.

    Ceilings over all laws of p that the votes allow: their bounds, their intervals, and what is above them.

    A law is allowed if it gives every cell of the votes a share within the joint bounds of the observed ones: each
    share's interval over prompts, Bonferroni over cells. `ceilings` (pairs) and `tick_ceilings` (yes or no) share this.
    """
    of_cell = 1 - (1 - level) / len(cells)
    observed, low, high = np.zeros(len(cells)), np.zeros(len(cells)), np.ones(len(cells))
    for i, cell in enumerate(cells):
        same = np.isin(raters, cell.sizes).astype(float)
        here = cell.holds(raters, camp).astype(float)
        observed[i] = total @ here
        if share is not None:
            estimate, behind = share(here, same, of_cell)
            if estimate.low is None or estimate.high is None:  # alike on all prompts: Hoeffding's bound
                reach = float(np.sqrt(np.log(2 / (1 - of_cell)) / (2 * max(behind, 1))))
                low[i], high[i] = max(estimate.value - reach, 0.0), min(estimate.value + reach, 1.0)
            else:
                low[i], high[i] = estimate.low, estimate.high
    sizes = {int(size): float(total[raters == size].sum()) for size in np.unique(raters)}
    bounded = share is not None
    return kind(cells, observed, low if bounded else None, high if bounded else None, sizes)


def widen_to_beta(span: Range, beta: float) -> Range:
    """A range that holds the beta law's value where only the grid of p keeps it out."""
    near = max(span[0] - beta, beta - span[1]) < _GRID_ERROR
    return (min(span[0], beta), max(span[1], beta)) if near else span


def ceiling_estimate(beta: float, span: Range, bounds: Range, *, n: int, level: float, odds: str) -> Estimate:
    """The beta law's value where the range holds it, else the nearest end, with the interval of the range."""
    value = float(np.clip(beta, *span))
    where = (
        "value: beta law"
        if abs(value - beta) < 1e-6
        else f"value: nearest to a beta law, which does not fit ({beta:.3f})"
    )
    if n == 1:
        return Estimate(value, None, None, 1, "prompt", level, "no interval: one prompt")
    method = f"all laws of {odds} that fit the splits within their intervals over prompts; {where}"
    return Estimate(value, min(bounds[0], value), max(bounds[1], value), n, "prompt", level, method)


def leak_warnings(accuracy: Estimate, oracle: Estimate, odds: str) -> list[str]:
    """Words for an accuracy that no law allows; luck is no leak, so its whole interval must be above."""
    low, top = accuracy.low, oracle.high
    if top is None or low is None or low <= top:
        return []
    return [
        f"Accuracy {accuracy.value:.3f} (from {low:.3f}) is above what an oracle could reach under any law of {odds} "
        f"that fits these votes (to {top:.3f}): suspect a leak."
    ]
