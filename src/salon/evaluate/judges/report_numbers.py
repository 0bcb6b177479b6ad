"""Judges that give numbers: which part of the scale they use, and whether they tell strong items from weak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from salon.errors import StatsError
from salon.evaluate.judges.report_judges import ItemValues, Judge
from salon.evaluate.judges.report_panel import Panel, Places
from salon.evaluate.judges.report_settings import ReportSettings
from salon.evaluate.judges.results import BandFigures
from salon.stats.judge_spread import band, separation
from salon.stats.result import Estimate
from salon.study import Study

Ints = NDArray[np.int64]
BY_TIER = "items of the high tier against items of the low tier"
BY_VOTES = "within each group, the third of items that won most of its votes against the third that won fewest"
NO_SIDES = "no group with strong and weak items"


def band_figures(
    study: Study, judge: Judge, panels: Sequence[Panel], settings: ReportSettings, rng: np.random.Generator
) -> tuple[BandFigures, ...]:
    """One entry for a scorer, one for each criterion of a judge asked for numbers, none for a judge of pairs."""
    if not isinstance(judge.answers, ItemValues):
        return ()
    answers = judge.answers
    numbers = sorted(answers.by_criterion)
    if judge.kind == "scorer":
        return tuple(_bands(study, answers, numbers[:1], panels, settings, rng, shared=True))
    return tuple(_bands(study, answers, numbers, panels, settings, rng, shared=False))


def _bands(
    study: Study,
    answers: ItemValues,
    numbers: Sequence[int],
    panels: Sequence[Panel],
    settings: ReportSettings,
    rng: np.random.Generator,
    *,
    shared: bool,
) -> Iterator[BandFigures]:
    for number in numbers:
        x, known = answers.by_criterion[number], ~np.isnan(answers.by_criterion[number])
        asked = answers.asked.get(number, np.ones(len(x), bool))
        if not known.any():
            continue
        criterion = study.criteria[number]
        ends = (None, None) if shared or criterion.scale is None else (criterion.scale.low, criterion.scale.high)
        turn = -1 if not shared and criterion.scale is not None and not criterion.scale.higher_is_better else 1
        made = band(turn * x[known], *ends)
        voted = panels if shared else [panel for panel in panels if panel.number == number]
        side, told = _sides(study, answers.places, voted)
        yield BandFigures(
            criterion=None if shared else criterion.id,
            **{name: getattr(made, name) for name in ("low", "median", "high", "width", "levels", "commonest", "n")},
            missing=int((asked & ~known).sum()),
            separation=_separated(x, side, study, known, settings, rng),
            strong_is=told,
        )


def _separated(
    x: NDArray[np.float64],
    side: Ints,
    study: Study,
    known: NDArray[np.bool_],
    settings: ReportSettings,
    rng: np.random.Generator,
) -> Estimate | None:
    groups = study.item_groups
    try:
        found = separation(x[known], side[known], groups[known], draws=settings.draws, rng=rng, level=settings.level)
    except StatsError:
        return None
    return found


def _sides(study: Study, places: Places, panels: Sequence[Panel]) -> tuple[Ints, str]:
    """1 for strong items, -1 for weak ones: by tier where experts gave one, else by the panel's votes."""
    items = study.table("items")
    if "tier" in items.column_names:
        tiers = items.column("tier").cast(pa.string()).to_pylist()
        side = np.array([{"high": 1, "low": -1}.get(tier, 0) for tier in tiers])
        if {1, -1} <= set(side.tolist()):
            return side, BY_TIER
    won = _won(places, panels, len(study.item_groups))
    side = np.zeros(len(won), np.int64)
    known = np.flatnonzero(~np.isnan(won))
    order = known[np.lexsort((won[known], study.item_groups[known]))]
    groups = study.item_groups[order]
    for members in np.split(order, np.flatnonzero(groups[1:] != groups[:-1]) + 1):
        third = max(len(members) // 3, 1)
        if len(members) > 1 and won[members[0]] < won[members[-1]]:
            side[members[:third]], side[members[-third:]] = -1, 1
    return side, BY_VOTES if side.any() else NO_SIDES


def _won(places: Places, panels: Sequence[Panel], items: int) -> NDArray[np.float64]:
    """Share of its decided votes that each item won; NaN without any."""
    wins, all_ = np.zeros(items), np.zeros(items)
    for panel in panels:
        a, b = places.items(panel.keys)
        for item, column in ((a, 0), (b, 1)):
            wins += np.bincount(item, weights=panel.votes[:, column], minlength=items)
            all_ += np.bincount(item, weights=panel.votes[:, :2].sum(axis=1), minlength=items)
    return np.where(all_ > 0, wins / np.maximum(all_, 1), np.nan)
