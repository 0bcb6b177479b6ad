"""Who agrees with whom under one criterion, and whether the raters fall into factions."""

from __future__ import annotations

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
FACTION_PROMPTS = 2000
"""Prompts the faction test looks at: its simulations cost time in proportion, and power is long complete."""

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
    """The faction test on the largest shape, where raters can be followed from prompt to prompt.

    Cohorts that never meet on a prompt are tested apart: p is the smallest times their number, power the smallest.
    """
    shape = max(found, key=lambda one: one.n)
    panels = _panels(shape)
    if len(panels) > MOST_PANELS or max(len(raters) for raters, _ in panels) > MOST_RATERS:
        return FactionFigures(refused="no panel of raters can be followed over the prompts: too many raters")
    results = []
    for raters, rows in panels:
        chosen = rows if len(rows) <= FACTION_PROMPTS else np.sort(rng.choice(rows, FACTION_PROMPTS, replace=False))
        part = Shape(shape.items, shape.raters, shape.ranks[chosen], shape.group[chosen], shape.rater[chosen])
        try:
            result = faction_test(_by_rater(part, raters), rng=rng, redraws=settings.faction_draws)
        except StatsError as error:
            return FactionFigures(refused=error.needed + (f" (found {error.found})" if error.found else ""))
        results.append((raters, result))
    raters, result = min(results, key=lambda pair: pair[1].test.p)
    labels = [study.label("raters", int(rater)) for rater in raters]
    apart = "" if len(results) == 1 else f"; smallest p of {len(results)} panels, times {len(results)}"
    return FactionFigures(
        p=min(1.0, result.test.p * len(results)),
        power=min(one.power for _, one in results),
        split=(tuple(labels[r] for r in result.split.first), tuple(labels[r] for r in result.split.second)),
        within=result.split.within,
        between=result.split.between,
        contrast=result.split.contrast,
        law=f"{result.test.law}{apart}; power against {result.alternative}",
    )


def _panels(shape: Shape) -> list[tuple[NDArray[np.int32], NDArray[np.int64]]]:
    """Raters who meet, directly or through others, and the prompts they answered."""
    if shape.panel is not None:
        return [(shape.panel, np.arange(shape.n))]
    raters, code = np.unique(shape.rater, return_inverse=True)
    code = code.reshape(shape.rater.shape)
    links = sparse.coo_array(
        (np.ones(code[:, 1:].size), (np.repeat(code[:, 0], shape.raters - 1), code[:, 1:].ravel())),
        shape=(len(raters), len(raters)),
    )
    count, component = csgraph.connected_components(links, directed=False)
    of_prompt = component[code[:, 0]]
    return [(raters[component == c], np.flatnonzero(of_prompt == c)) for c in range(count)]


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


def _extreme(mean, known, labels, pick):  # type: ignore[no-untyped-def]
    """The pair of raters with the largest or smallest mean tau."""
    if not known.any():
        return None
    i, j = np.unravel_index(pick(np.where(known, mean, np.nan)), mean.shape)
    return labels[min(i, j)], labels[max(i, j)]
