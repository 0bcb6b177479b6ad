"""Ordinal flags: how common each level is, how well raters agree, and between which levels they split."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from salon.check.results import CheckReport, FlagFigures
from salon.check.settings import CheckSettings
from salon.errors import StatsError
from salon.stats.agreement import fleiss_kappa
from salon.stats.alpha import alpha_bootstrap
from salon.stats.behavior import split_pattern
from salon.stats.resample import SHARE, bootstrap_totals
from salon.stats.result import Estimate
from salon.study import Study

FLAGS_NOT_RANKED = (
    "Flags say what is wrong with an item, so they have no verdict and no ceiling, and Holm does not count them; "
    "name a flag with --criterion to rank items by it."
)


def unranked_flags(report: CheckReport) -> list[str]:
    """Names of the flags that items are not ranked by."""
    ranked = {criterion.criterion for criterion in report.criteria}
    return list(dict.fromkeys(flag.name for flag in report.flags if flag.criterion not in ranked))


def flag_figures(study: Study, settings: CheckSettings, criteria: Collection[str] = ()) -> tuple[FlagFigures, ...]:
    """One entry for every flag (see `Criterion.is_flag`) and cohort of raters; of all flags, or of `criteria`."""
    view, cohorts = study.ratings, _cohorts(study)
    made = []
    for number, criterion in enumerate(study.criteria):
        if not criterion.is_flag or (criteria and criterion.id not in criteria):
            continue
        given = np.flatnonzero((view.criterion == number) & (view.repeat == 0))
        of = cohorts[view.rater[given]]
        for cohort in sorted(set(of.tolist()), key=lambda name: (name is None, name)):
            made.append(_figures(study, number, given[of == cohort], cohort, settings))
    return tuple(made)


def _cohorts(study: Study) -> NDArray[np.object_]:
    """The cohort of every rater, None where it has none."""
    table = study.table("raters")
    names = table.column("cohort").to_pylist() if "cohort" in table.column_names else [None] * table.num_rows
    return np.array(names, object)


def _figures(
    study: Study, number: int, rows: NDArray[np.int64], cohort: str | None, settings: CheckSettings
) -> FlagFigures:
    view, criterion = study.ratings, study.criteria[number]
    assert criterion.scale is not None
    levels = criterion.scale.levels
    labels = criterion.scale.labels or tuple(f"{level:g}" for level in levels)
    short = tuple(label.split(":")[0] for label in labels)
    items, unit = np.unique(view.item[rows], return_inverse=True)
    level = np.abs(view.value[rows][:, None] - np.array(levels)).argmin(axis=1)
    counts = np.bincount(unit * len(levels) + level, minlength=len(items) * len(levels)).reshape(len(items), -1)
    clusters = np.unique(
        np.where(study.item_groups[items] >= 0, study.item_groups[items], -1 - items), return_inverse=True
    )[1]
    rng = np.random.default_rng([settings.seed, number])
    patterns = split_pattern(counts)
    total = sum(patterns.values())
    return FlagFigures(
        criterion=criterion.id,
        name=criterion.title,
        cohort=cohort,
        items=len(items),
        answers=len(rows),
        levels=levels,
        labels=short,
        shares=_shares(counts, clusters, settings, rng),
        alpha=_alpha(unit, view.value[rows], clusters, settings, rng),
        positive_from=settings.flag_from,
        positive_rate=_rates(study, rows, view.value[rows] >= settings.flag_from),
        top_rate=_rates(study, rows, level == len(levels) - 1),
        splits={" / ".join(short[i] for i in used): n / total for used, n in patterns.items()},
        kappa=_kappa(counts),
    )


def _shares(
    counts: NDArray[np.int64], clusters: NDArray[np.int64], settings: CheckSettings, rng: np.random.Generator
) -> tuple[Estimate, ...]:
    """Share of every level, prompts drawn again."""
    table = np.zeros((int(clusters.max()) + 1, counts.shape[1]))
    np.add.at(table, clusters, counts)

    def share_of(level: int) -> Estimate:
        def share(totals: NDArray[np.float64]) -> NDArray[np.float64]:
            return np.asarray(totals[:, level] / totals.sum(axis=1))

        drawn = bootstrap_totals(share, table, draws=settings.draws, rng=rng, level=settings.level, ends=SHARE)
        return drawn

    return tuple(share_of(level) for level in range(counts.shape[1]))


def _alpha(
    unit: NDArray[np.int64],
    value: NDArray[np.float64],
    clusters: NDArray[np.int64],
    settings: CheckSettings,
    rng: np.random.Generator,
) -> Estimate | None:
    """Krippendorff's alpha, ordinal; it does not ask which rater gave which flag."""
    order = np.argsort(unit, kind="stable")
    slot = np.arange(len(unit)) - np.searchsorted(unit[order], unit[order])
    values = np.full((len(clusters), int(slot.max()) + 1), np.nan)
    values[unit[order], slot] = value[order]
    try:
        estimate = alpha_bootstrap(
            values, clusters, level="ordinal", draws=settings.draws, rng=rng, confidence=settings.level
        )
    except StatsError:
        return None
    return estimate


def _kappa(counts: NDArray[np.int64]) -> Estimate | None:
    try:
        return fleiss_kappa(counts).kappa
    except StatsError:
        return None


def _rates(study: Study, rows: NDArray[np.int64], hit: NDArray[np.bool_]) -> dict[str, float]:
    raters, who = np.unique(study.ratings.rater[rows], return_inverse=True)
    share = np.bincount(who, weights=hit) / np.bincount(who)
    return {study.label("raters", int(rater)): float(value) for rater, value in zip(raters, share)}
