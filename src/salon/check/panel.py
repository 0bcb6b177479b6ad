"""Who agrees with whom under one criterion, and whether the raters fall into factions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from salon.check.answers import Shape
from salon.check.results import FactionFigures, RaterFigures
from salon.check.settings import CheckSettings
from salon.errors import StatsError
from salon.stats.agreement import pair_tau
from salon.stats.factions import faction_test
from salon.study import Study

MOST_RATERS = 24
"""A matrix of more raters than this cannot be read; the most active are shown and the rest counted."""
MOST_PANELS = 10
MOST_FOLLOWED = 100
"""Raters whose camps are looked for: the most active ones."""
MOST_VOTES = 20_000_000
"""Votes the search for camps looks at; of more, prompts are drawn at random."""

NO_ERROR = 1e-7
"""Standard errors below are of taus that are the same on every prompt: they tell nothing of how sure their mean is."""


def rater_figures(study: Study, found: list[Shape]) -> RaterFigures | None:
    """Mean tau of every two raters over all prompts both ranked."""
    raters, left_out = _most_active(found)
    if len(raters) < 2:
        return None
    total = np.zeros((3, len(raters), len(raters)))
    for shape in found:
        tau = pair_tau(_by_rater(shape, raters))
        n, of_shape = tau.prompts.astype(float), np.nan_to_num(tau.mean)
        total[0] += of_shape * n
        # Squares about zero, not about each shape's own mean: a shape with one prompt has no error of its own.
        total[1] += np.nan_to_num(tau.error) ** 2 * n * (n - 1) + n * of_shape**2
        total[2] += n
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total[0] / total[2]
        error = np.sqrt(np.maximum(total[1] / total[2] - mean**2, 0) / (total[2] - 1))
    labels = tuple(study.label("raters", int(rater)) for rater in raters)
    off = ~np.eye(len(raters), dtype=bool)
    known = off & (total[2] > 0)
    with np.errstate(invalid="ignore"):
        to_rest = np.where(known, mean, 0).sum(axis=1) / known.sum(axis=1)
    return RaterFigures(
        raters=labels,
        tau=_rows(mean, off),
        error=_rows(error, off & (total[2] > 1) & (error > NO_ERROR)),
        prompts=tuple(tuple(int(n) for n in row) for row in total[2]),
        mean_tau={label: _number(value) for label, value in zip(labels, to_rest)},
        most_agreeing=_extreme(mean, known, labels, np.nanargmax),
        least_agreeing=_extreme(mean, known, labels, np.nanargmin),
        left_out=left_out,
    )


def faction_figures(
    study: Study, found: list[Shape], settings: CheckSettings, rng: np.random.Generator
) -> FactionFigures:
    """One taste or camps, where raters can be followed from prompt to prompt.

    Cohorts that never meet on a prompt are tested apart: p is the smallest times their number, power the smallest.
    """
    panels = _panels(found)
    if len(panels) > MOST_PANELS:
        return FactionFigures(refused=f"raters fall into {len(panels)} groups that share no prompt")
    results = []
    for raters, rows in panels:
        followed, ranks = _followed(found, raters, rows, rng)
        try:
            result = faction_test(ranks, rng=rng, level=settings.level)
        except StatsError as error:
            return FactionFigures(refused=error.needed + (f" (found {error.found})" if error.found else ""))
        results.append((raters, followed, result))
    raters, followed, result = min(results, key=lambda panel: panel[2].test.p)
    labels = [study.label("raters", int(rater)) for rater in followed]
    p = min(1.0, result.test.p * len(results))
    apart = "" if len(results) == 1 else f"; smallest p of {len(results)} panels, times {len(results)}"
    most = "" if len(followed) == len(raters) else f"; the {len(followed)} most active of {len(raters):,} raters"
    first, second = (tuple(labels[r] for r in camp) for camp in result.camps)
    return FactionFigures(
        p=p,
        power=min(one.power for _, _, one in results),
        gap=result.gap,
        split=(first, second) if p <= settings.alpha else None,
        within=result.within,
        between=result.between,
        least=result.least,
        law=f"{result.test.law}{apart}{most}; power against {result.alternative}",
    )


def _panels(found: list[Shape]) -> list[tuple[NDArray[np.int32], list[NDArray[np.int64]]]]:
    """Raters who meet, directly or through others, and the prompts of each shape that they answered."""
    if len(found) == 1 and found[0].panel is not None:
        return [(found[0].panel, [np.arange(found[0].n)])]
    raters = np.unique(np.concatenate([shape.rater.ravel() for shape in found]))
    codes = [np.searchsorted(raters, shape.rater) for shape in found]
    one = np.concatenate([np.repeat(code[:, 0], code.shape[1] - 1) for code in codes])
    other = np.concatenate([code[:, 1:].ravel() for code in codes])
    links = sparse.coo_array((np.ones(len(one)), (one, other)), shape=(len(raters), len(raters)))
    count, component = csgraph.connected_components(links, directed=False)
    return [
        (raters[component == c], [np.flatnonzero(component[code[:, 0]] == c) for code in codes]) for c in range(count)
    ]


def _followed(
    found: list[Shape], raters: NDArray[np.int32], rows: list[NDArray[np.int64]], rng: np.random.Generator
) -> tuple[NDArray[np.int32], list[NDArray[np.int8]]]:
    """The most active raters of a panel and their ranks by shape, of as many prompts as can be looked at."""
    if len(raters) > MOST_FOLLOWED:
        given = np.concatenate([shape.rater[at].ravel() for shape, at in zip(found, rows)])
        answers = np.bincount(np.searchsorted(raters, given), minlength=len(raters))
        raters = raters[np.sort(np.argsort(-answers, kind="stable")[:MOST_FOLLOWED])]
    votes = sum(len(at) * shape.items * (shape.items - 1) // 2 for shape, at in zip(found, rows)) * len(raters)
    ranks = []
    for shape, at in zip(found, rows):
        if votes > MOST_VOTES:
            at = np.sort(rng.choice(at, max(1, len(at) * MOST_VOTES // votes), replace=False)) if len(at) else at
        if len(at):
            part = Shape(shape.items, shape.raters, shape.ranks[at], shape.group[at], shape.rater[at])
            ranks.append(_by_rater(part, raters))
    return raters, ranks


def _most_active(found: list[Shape]) -> tuple[NDArray[np.int32], int]:
    """The raters of the matrix in their own order, and how many were left out."""
    if len(found) == 1 and found[0].panel is not None and found[0].raters <= MOST_RATERS:
        return found[0].panel, 0
    raters, answers = np.unique(np.concatenate([shape.rater.ravel() for shape in found]), return_counts=True)
    most = np.sort(np.argsort(-answers, kind="stable")[:MOST_RATERS])
    return raters[most], len(raters) - len(most)


def _by_rater(shape: Shape, raters: NDArray[np.int32]) -> NDArray[np.int8]:
    """(n, all raters, p) ranks with one column per rater, -1 where a rater is absent."""
    if shape.panel is not None and np.array_equal(shape.panel, raters):
        return shape.ranks
    spread = np.full((shape.n, len(raters), shape.items), -1, np.int8)
    place = np.searchsorted(raters, shape.rater)
    place[place == len(raters)] = 0
    row, column = np.nonzero(raters[place] == shape.rater)
    spread[row, place[row, column]] = shape.ranks[row, column]
    return spread


def _rows(matrix: NDArray[np.float64], known: NDArray[np.bool_]) -> tuple[tuple[float | None, ...], ...]:
    return tuple(tuple(_number(v) if ok else None for v, ok in zip(row, oks)) for row, oks in zip(matrix, known))


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _extreme(
    mean: NDArray[np.float64],
    known: NDArray[np.bool_],
    labels: Sequence[str],
    pick: Callable[[NDArray[np.float64]], np.intp],
) -> tuple[str, str] | None:
    """The pair of raters with the largest or smallest mean tau."""
    if not known.any():
        return None
    i, j = map(int, np.unravel_index(pick(np.where(known, mean, np.nan)), mean.shape))
    return labels[min(i, j)], labels[max(i, j)]
