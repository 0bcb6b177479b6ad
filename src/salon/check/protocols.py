"""The same raters and items under comparisons and under ratings: which protocol carries more agreement?

Made where a criterion has both, by at least two raters who rated every item of a group and compared every one of
them with another. A figure is the mean over groups, per criterion and over all criteria together. Few groups (say,
three categories of paintings) are taken as they are and every item is left out in turn; ten or more are drawn again.
Criteria of one group share its items, so an item is left out of all of them at once, a group drawn with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from salon.check.protocol_groups import Floats, Matched, matched_groups
from salon.check.protocol_measures import MEASURES, Measure, folds, measured
from salon.check.protocol_raters import protocol_raters
from salon.check.results import ProtocolFigures, ProtocolRater, ProtocolRow
from salon.check.settings import CheckSettings
from salon.errors import StatsError
from salon.stats import stability
from salon.stats.resample import bootstrap_totals, with_width
from salon.stats.result import Estimate
from salon.study import Study

DRAWN_GROUPS = 10
"""From this many groups on they are a sample that can be drawn again."""
MOST_FOLDS = 400
"""Items of a group beyond which none is left out in turn: the group then has no interval."""
EQUAL_REPEATS = 20
EQUAL = Measure("Kendall's W at equal judgment counts", note="comparisons thinned at random")
COMPARISONS, RATINGS = 0, 1


@dataclass(frozen=True)
class Protocols:
    """What a report says of the two protocols."""

    criteria: tuple[ProtocolFigures, ...] = ()
    together: ProtocolFigures | None = None
    raters: tuple[ProtocolRater, ...] = ()


@dataclass(frozen=True)
class Cell:
    """A matched group with its measures."""

    of: Matched
    values: Floats
    """(2, measures)"""
    folds: Floats | None
    """(items, 2, measures) without each item; None where that is not asked for."""
    equal: Floats | None
    """(repeats,) Kendall's W of comparisons thinned to the number of ratings; None where there are fewer."""


def protocol_figures(study: Study, settings: CheckSettings) -> Protocols:
    """A table for each criterion that has both protocols, and one of all together; nothing when no group is matched."""
    if not len(study.ratings) or not len(study.comparisons):
        return Protocols()
    groups = list(matched_groups(study, seed=settings.seed))
    few = len({one.group for one in groups}) < DRAWN_GROUPS
    rng = np.random.default_rng([settings.seed, len(study.criteria)])
    cells = [_cell(one, few, rng) for one in groups]
    by_criterion = [[cell for cell in cells if cell.of.criterion == number] for number in range(len(study.criteria))]
    made = [
        _figures(criterion.id, mine, settings, rng) for criterion, mine in zip(study.criteria, by_criterion) if mine
    ]
    together = _figures(None, cells, settings, rng) if len(made) > 1 else None
    return Protocols(tuple(made), together, protocol_raters(study, groups))


def _cell(one: Matched, few: bool, rng: np.random.Generator) -> Cell:
    small = few and len(one.items) <= MOST_FOLDS
    return Cell(one, measured(one), folds(one) if small else None, _equal(one, rng))


def _equal(one: Matched, rng: np.random.Generator) -> Floats | None:
    table = (one.first, one.second, one.outcome, one.rater)
    n = len(one.items)

    def w(scores: Floats) -> float:
        return float(stability.kendall_ws(scores))

    try:
        return stability.equal_judgments(w, table, n, n, repeats=EQUAL_REPEATS, rng=rng)
    except StatsError:
        return None


def _figures(
    criterion: str | None, cells: list[Cell], settings: CheckSettings, rng: np.random.Generator
) -> ProtocolFigures:
    rows = [_row(number, measure, cells, settings, rng) for number, measure in enumerate(MEASURES.values())]
    return ProtocolFigures(
        criterion=criterion,
        group=f"{len(cells)} groups" if len(cells) > 1 else "one group",
        items=len(np.unique(np.concatenate([cell.of.items for cell in cells]))),
        raters=max(len(cell.of.raters) for cell in cells),
        rows=(*(row for row in rows if row is not None), _equal_row(cells, settings, rng)),
    )


# -- rows --------------------------------------------------------------------------------------------------------


def _row(
    number: int, measure: Measure, cells: list[Cell], settings: CheckSettings, rng: np.random.Generator
) -> ProtocolRow | None:
    """One measure over the groups in which both protocols have it; None where no group has."""
    known = [cell for cell in cells if np.isfinite(cell.values[:, number]).all()]
    if not known:
        return None

    def figure(of: Callable[[Floats], Floats]) -> Estimate:
        return _over(known, lambda values: of(values[..., number]), settings, rng)

    gaps = [cell.values[COMPARISONS, number] - cell.values[RATINGS, number] for cell in known]
    return ProtocolRow(
        name=measure.name,
        comparisons=figure(lambda pair: pair[..., COMPARISONS]),
        ratings=figure(lambda pair: pair[..., RATINGS]),
        difference=figure(lambda pair: pair[..., COMPARISONS] - pair[..., RATINGS]) if measure.better else None,
        ahead=sum(gap * measure.better > 0 for gap in gaps) if measure.better else None,
        groups=len(known),
        note=measure.note,
    )


def _over(
    cells: list[Cell], of: Callable[[Floats], Floats], settings: CheckSettings, rng: np.random.Generator
) -> Estimate:
    """The mean of a value over cells: groups drawn again where they are many, else items left out in turn."""
    groups: dict[int, list[Cell]] = {}
    for cell in cells:
        groups.setdefault(cell.of.group, []).append(cell)
    sums = np.array([sum(float(of(cell.values)) for cell in mine) for mine in groups.values()])
    if len(groups) >= DRAWN_GROUPS:
        table = np.column_stack([sums, [len(mine) for mine in groups.values()]])
        return bootstrap_totals(
            lambda t: t[:, 0] / t[:, 1], table, draws=settings.draws, rng=rng, level=settings.level, unit="group"
        )
    share = len(groups) / len(cells)  # the mean over groups of these sums is then the mean over cells
    if any(cell.folds is None for cell in cells):
        items, why = sum(len(cell.of.items) for cell in cells), "no interval: too many items, or too few groups"
        return _plain(float(sums.mean() * share), items, "item", why, settings)
    left_out = [share * _sum_folds(mine, of) for mine in groups.values()]
    return stability.jackknife_mean(share * sums, left_out, level=settings.level)


def _sum_folds(cells: Sequence[Cell], of: Callable[[Floats], Floats]) -> Floats:
    """A value summed over one group's criteria, without each item; a criterion without the item stays whole."""
    items = np.unique(np.concatenate([cell.of.items for cell in cells]))
    total = np.zeros(len(items))
    for cell in cells:
        assert cell.folds is not None
        part = np.full(len(items), float(of(cell.values)))
        part[np.searchsorted(items, cell.of.items)] = of(cell.folds)
        total += part
    return total


def _equal_row(cells: list[Cell], settings: CheckSettings, rng: np.random.Generator) -> ProtocolRow:
    """Kendall's W when every rater gives no more comparisons than ratings."""
    pairs = [(cell, cell.equal) for cell in cells if cell.equal is not None]
    if len(pairs) < len(cells):
        note = "a rater gave fewer comparisons than ratings"
        return ProtocolRow(name=EQUAL.name, comparisons=None, ratings=None, note=note)
    w = list(MEASURES).index("w")
    pairs = [
        (cell, equal) for cell, equal in pairs if np.isfinite(cell.values[:, w]).all() and np.isfinite(equal).all()
    ]
    if not pairs:
        return ProtocolRow(name=EQUAL.name, comparisons=None, ratings=None, note="raters tie all items")
    cells, known = [cell for cell, _ in pairs], [equal for _, equal in pairs]
    full = _row(w, MEASURES["w"], cells, settings, rng)
    thinned = np.mean(known, axis=0)
    low, high = np.quantile(thinned, [(1 - settings.level) / 2, (1 + settings.level) / 2]).tolist()
    method = f"{EQUAL_REPEATS} random choices: the chance of the choice alone"
    gap = [float(np.mean(equal) - cell.values[RATINGS, w]) for equal, cell in zip(known, cells)]
    return ProtocolRow(
        name=EQUAL.name,
        comparisons=with_width(
            Estimate(float(thinned.mean()), low, high, EQUAL_REPEATS, "choice", settings.level, method)
        ),
        ratings=None if full is None else full.ratings,
        difference=_plain(float(np.mean(gap)), len(cells), "group", "no interval", settings),
        ahead=sum(one > 0 for one in gap),
        groups=len(cells),
        note=EQUAL.note,
    )


def _plain(value: float, n: int, unit: str, method: str, settings: CheckSettings) -> Estimate:
    return Estimate(value, None, None, n, unit, settings.level, method)
