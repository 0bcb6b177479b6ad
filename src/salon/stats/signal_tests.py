"""Is there signal? Three tests of prompts against the null of random raters, and Holm's correction.

Model. n prompts, independent; under the null each prompt's cell follows the joint law of its shape (`nulls`).

    t_test      X2 = sum (O - E)^2 / E over the values of T, neighbours merged while E < 5;   chi2(groups - 1)
    pmax_test   the same X2 over the p_max histogram of all pairs. The C(p,2) pairs of a prompt are dependent, so
                X2 -> sum of w_i chi2(1) with w = eigenvalues of D^-1/2 C D^-1/2, C the exact covariance of one
                prompt's histogram and D its expectation. Without merging w_i = 1 + 2(p-2)/9^i. The usual
                chi2(groups - 1) is anti-conservative (true size 9% at p = 4, R = 5); it is kept as `p_naive`.
    cycle_test  number of prompts with a majority cycle: two-sided exact binomial (sums the outcomes that are no
                likelier than the one seen).

Several shapes of one criterion (ragged data): prompts of different shapes are independent, so the X2 add, degrees
of freedom add and weights are put together; the cycle count is a sum of binomials, by convolution.

A Monte Carlo null is itself a sample of `draws` prompts. It is compared as such: X2 of two samples for T, a
beta-binomial (Jeffreys) for the cycle count. p_max needs no simulation: its law is known in closed form.

Assumptions. Prompts independent, raters answering blindly of each other, the design fixed beforehand.

Edges. No two groups with E >= 5: `TooFew`. Cycles impossible (p = 2, R = 2, R = 4): `NotIdentified`. Shapes that
cannot be tested are left out of a combined test and counted in its `law`. T is a function of the p_max histogram:
the first two tests are not independent evidence.

Source. Pearson (1900); Imhof (1961) and Ruben (1962) for the weighted sum; Holm (1979).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import comb

import numpy as np
import numpy.typing as npt

from salon.errors import BadValue, NotConverged, NotIdentified, TooFew
from salon.stats.binomial import binomial_pmf
from salon.stats.nulls import Null, pmax_weights
from salon.stats.result import Test
from salon.stats.signal import Floats, Ints, SignalCells, cycles_possible, pmax_bins

CellsAndNull = tuple[SignalCells, Null]
Shapes = Sequence[CellsAndNull]

LEAST_EXPECTED = 5.0
MOST_RATERS = 500
"""Larger panels have no p_max test: the covariance of their histogram costs R^3, and T says the same."""


def t_test(cells: SignalCells | Shapes, null: Null | None = None) -> Test:
    """Chi-square of the T histogram against its null law. Give `cells, null` or a list of such pairs."""
    from scipy import special

    shapes = _as_shapes(cells, null)
    parts = [part for part in (_t_chi_square(*shape) for shape in shapes) if part is not None]
    statistic, df, n = (sum(column) for column in zip(*parts)) if parts else (0.0, 0, 0)
    _needs_groups(df, shapes, "values of T")
    law = f"chi-square, {df} degrees of freedom" + _left_out(shapes, n)
    return Test("T", float(statistic), float(special.chdtrc(df, statistic)), law, int(n), "prompt")


def pmax_test(cells: SignalCells | Shapes, null: Null | None = None) -> Test:
    """Chi-square of the p_max histogram against its right law; `p_naive` treats pairs as independent."""
    from scipy import special

    shapes = _as_shapes(cells, null)
    statistic, n, weights = 0.0, 0, np.zeros(0)
    for shape_cells, _ in shapes:
        if shape_cells.raters > MOST_RATERS:
            continue
        groups = merge_rare(shape_cells.n * comb(shape_cells.items, 2) * folded_pmf(shape_cells.raters))
        if groups[-1] > 0:
            expected = shape_cells.n * comb(shape_cells.items, 2) * folded_pmf(shape_cells.raters)
            statistic += _chi_square(shape_cells.pmax_counts.astype(np.float64), expected, groups)
            weights = np.concatenate([weights, merged_pmax_weights(shape_cells.items, shape_cells.raters, groups)])
            n += shape_cells.n
    _needs_groups(len(weights), shapes, "values of p_max")
    law = " + ".join(f"{w:.4g} chi2(1)" for w in weights[:6]) + (" + ..." if len(weights) > 6 else "")
    right = weighted_chi2_sf(statistic, weights)
    naive = float(special.chdtrc(len(weights), statistic))
    return Test("p_max", statistic, right, law + _left_out(shapes, n), n, "prompt", p_naive=naive)


def cycle_test(cells: SignalCells | Shapes, null: Null | None = None) -> Test:
    """Two-sided exact test of the number of prompts with a majority cycle."""
    shapes = [shape for shape in _as_shapes(cells, null) if shape[0].n]
    testable = [shape for shape in shapes if cycles_possible(shape[1].items, shape[1].raters)]
    if not testable:
        if not shapes:
            raise TooFew("at least one prompt is needed", found="no prompts")
        sizes = ", ".join(f"{shape_cells.items} items and {shape_cells.raters} raters" for shape_cells, _ in shapes)
        raise NotIdentified(
            "majority cycles need 3 items and 3, 5 or more raters",
            found=sizes,
            remedy="read T and p_max; with an odd number of raters cycles can be tested",
        )
    n = sum(shape_cells.n for shape_cells, _ in testable)
    count = sum(shape_cells.cycle_count for shape_cells, _ in testable)
    first, pmf = 0, np.ones(1)
    for shape_cells, law in testable:
        start, part = _cycle_pmf(shape_cells.n, float(law.cycle_rate), law.draws)
        first, pmf = first + start, np.convolve(pmf, part)
    p = _no_likelier(pmf, count - first)
    rates = ", ".join(f"{float(law.cycle_rate):.6g}" for _, law in testable)
    words = "binomial" if len(testable) == 1 else "sum of binomials"
    return Test("cycles", float(count), p, f"{words}, rate {rates}" + _left_out(shapes, n), n, "prompt")


def holm(p_values: npt.ArrayLike) -> Floats:
    """Holm's adjusted p values, in the order given: reject where they are at most the level.

    adjusted_(i) = max over j <= i of min(1, (count - j + 1) p_(j)); holds under any dependence.
    """
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not np.all((p >= 0) & (p <= 1)):
        raise BadValue("p values must lie between 0 and 1", found=p)
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, p[order] * np.arange(len(p), 0, -1)))
    return adjusted


def merge_rare(expected: npt.ArrayLike, least: float = LEAST_EXPECTED) -> Ints:
    """Group number (bins,) of each bin after merging neighbours, left to right, until each group expects `least`.

    What remains at the right end joins the last group. One group only means that nothing can be tested.
    """
    groups = np.zeros(len(np.asarray(expected)), dtype=np.int64)
    group, expected_in_group = 0, 0.0
    for i, amount in enumerate(np.asarray(expected, dtype=np.float64)):
        groups[i] = group
        expected_in_group += amount
        if expected_in_group >= least:
            group, expected_in_group = group + 1, 0.0
    groups[groups == group] = max(group - 1, 0)
    return groups


def merged_pmax_weights(items: int, raters: int, groups: npt.ArrayLike) -> Floats:
    """Weights of the limit law of the p_max chi-square when its bins are merged into `groups`, largest first."""
    group = np.asarray(groups)
    if len(np.unique(group)) == len(group):
        return np.array([float(w) for w in pmax_weights(items, raters)])
    merge = (group[None, :] == np.arange(group.max() + 1)[:, None]).astype(np.float64)
    scale = 1 / np.sqrt(comb(items, 2) * merge @ folded_pmf(raters))
    covariance = merge @ pmax_covariance(items, raters) @ merge.T
    eigenvalues: Floats = np.linalg.eigvalsh(scale[:, None] * covariance * scale)[::-1]
    return eigenvalues[:-1]  # the last is 0: the histogram has a fixed sum


@lru_cache(maxsize=64)
def pmax_covariance(items: int, raters: int) -> Floats:
    """Covariance (bins, bins) of one prompt's p_max histogram under random raters.

    C = m [diag(q) - qq' + 2(p-2)(J - qq')]: each pair shares an item with 2(p-2) others, and J is the joint law of
    two such pairs. Given x votes for a over b, those for a over c are Bin(x, 2/3) + Bin(R - x, 1/3).
    """
    R = raters
    fold = np.maximum(np.arange(R + 1), R - np.arange(R + 1)) - (R + 1) // 2
    joint = np.zeros((R // 2 + 1, R // 2 + 1))
    for x in range(R + 1):
        conditional = np.convolve(
            binomial_pmf(np.arange(x + 1), x, 2 / 3), binomial_pmf(np.arange(R - x + 1), R - x, 1 / 3)
        )
        np.add.at(joint[fold[x]], fold, binomial_pmf(x, R, 0.5) * conditional)
    q = joint.sum(axis=1)
    covariance: Floats = comb(items, 2) * (np.diag(q) - np.outer(q, q) + 2 * (items - 2) * (joint - np.outer(q, q)))
    return covariance


def weighted_chi2_sf(x: float, weights: npt.ArrayLike) -> float:
    """P(sum of w_i chi2(1) > x) for positive weights, by Ruben's series.

    With b = min w the sum is a mixture of b chi2(v + 2k), k = 0, 1, ..., whose probabilities c_k are positive:

        c_0 = prod sqrt(b / w_i),   c_k = (1 / k) sum_{r<k} g_{k-r} c_r,   g_k = (1/2) sum_i (1 - b / w_i)^k

    All terms are positive, so the tail keeps its relative accuracy. Stops when what is left is below 1e-13 of it.
    """
    from scipy import special

    w = np.asarray(weights, dtype=np.float64)
    if w.ndim != 1 or len(w) == 0 or not np.all(np.isfinite(w) & (w > 0)):
        raise BadValue("weights must be positive", found=w)
    shrink = float((1 - w.min() / w).max())
    terms = 64
    while terms <= 2**15:
        c = _mixture(tuple(w.tolist()), terms)
        tail = float(c @ special.chdtrc(len(w) + 2.0 * np.arange(terms), x / w.min()))
        if c[-1] * shrink <= 1e-13 * (1 - shrink) * tail or tail == 0.0:
            return min(1.0, tail)
        terms *= 2
    raise NotConverged("weights closer to each other are needed", found=f"{w.min():.3g} to {w.max():.3g}")


@lru_cache(maxsize=64)
def _mixture(weights: tuple[float, ...], terms: int) -> Floats:
    """c_0, c_1, ...: of the weights alone, and a curve of tails asks for those of the same weights many times."""
    w = np.array(weights)
    ratio = 1 - w.min() / w
    g = 0.5 * (ratio[None, :] ** np.arange(1, terms)[:, None]).sum(axis=1)
    c = np.zeros(terms)
    c[0] = np.prod(np.sqrt(w.min() / w))
    for k in range(1, terms):
        c[k] = g[:k][::-1] @ c[:k] / k
    return c


def _t_chi_square(cells: SignalCells, null: Null) -> tuple[float, int, int] | None:
    """(X2, degrees of freedom, prompts) of one shape; None when it has too few prompts to test."""
    values, masses = null.t_law
    support = np.union1d(values, cells.t_numerators)
    places = np.searchsorted(support, cells.t_numerators)
    observed = np.bincount(places, cells.counts, len(support)).astype(np.float64)
    mass = np.zeros(len(support))
    mass[np.searchsorted(support, values)] = masses
    stretch = 1.0
    expected = cells.n * mass
    if null.draws is not None:  # two samples, of n and of `draws` prompts, with pooled expectation
        expected = (observed + null.draws * mass) * cells.n / (cells.n + null.draws)
        stretch = (cells.n + null.draws) / null.draws
    groups = merge_rare(expected)
    if groups[-1] == 0:
        return None
    return stretch * _chi_square(observed, expected, groups), int(groups[-1]), cells.n


def _chi_square(observed: Floats | Ints, expected: Floats, groups: Ints) -> float:
    o, e = np.bincount(groups, observed), np.bincount(groups, expected)
    return float(((o - e) ** 2 / e).sum())


@lru_cache(maxsize=256)
def folded_pmf(raters: int) -> Floats:
    """P(max(k, R - k) = v) as floats, by logarithms so that very large R does not overflow."""
    bins = pmax_bins(raters)
    pmf: Floats = binomial_pmf(bins, raters, 0.5) * np.where(2 * bins == raters, 1, 2)
    return pmf


@lru_cache(maxsize=256)
def _cycle_pmf(n: int, rate: float, draws: int | None) -> tuple[int, Floats]:
    """(first, pmf) of the cycle count of n prompts, cut where it is below any printable probability.

    `rate` is exact, or what `draws` of a Monte Carlo null gave.
    """
    spread = np.sqrt(n * rate * (1 - rate))
    if draws is not None:
        from scipy import stats

        law = stats.betabinom(n, rate * draws + 0.5, (1 - rate) * draws + 0.5)
        spread = law.std()
    reach = 40 * float(spread) + 40
    first, last = max(0, int(n * rate - reach)), min(n, int(n * rate + reach))
    counts = np.arange(first, last + 1)
    return first, binomial_pmf(counts, n, rate) if draws is None else law.pmf(counts)


def _no_likelier(pmf: Floats, index: int) -> float:
    """Total probability of the outcomes that are no likelier than the one at `index`."""
    if not 0 <= index < len(pmf):
        return 0.0
    return min(1.0, float(pmf[pmf <= pmf[index] * (1 + 1e-7)].sum()))


def _as_shapes(cells: SignalCells | Shapes, null: Null | None) -> list[CellsAndNull]:
    if isinstance(cells, SignalCells):
        if null is None:
            raise BadValue("a null law is needed beside the cells", found="none")
        shapes = [(cells, null)]
    else:
        shapes = list(cells)
    for shape_cells, law in shapes:
        if (shape_cells.items, shape_cells.raters) != (law.items, law.raters):
            raise BadValue(
                f"the null law of {shape_cells.items} items and {shape_cells.raters} raters is needed",
                found=f"that of {law.items} items and {law.raters} raters",
            )
    return shapes


def _needs_groups(freedom: int, shapes: Shapes, what: str) -> None:
    if freedom == 0:
        raise TooFew(
            f"the chi-square test needs at least two groups of {what} that each expect {LEAST_EXPECTED:g}",
            found="1 prompt" if (n := sum(shape_cells.n for shape_cells, _ in shapes)) == 1 else f"{n} prompts",
            remedy="collect more prompts of one shape",
        )


def _left_out(shapes: Shapes, n: int) -> str:
    missing = sum(shape_cells.n for shape_cells, _ in shapes) - n
    return f"; {missing} prompts in shapes that cannot be tested left out" if missing else ""
