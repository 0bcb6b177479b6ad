"""All ranking criteria of a study as one: the row that a paper prints beside its criteria.

Votes on all pairs of all criteria are pooled. A prompt that several criteria judge is one prompt: it is drawn again
with all of them. The mean of the panel ceiling over criteria stands beside it: TASTE's mean LOO. With as many pairs
under every criterion the two are the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from salon.check.catalogue import catalogue_votes
from salon.check.criterion import ceiling_figures
from salon.check.results import CriterionFigures, StudyCeilings
from salon.check.settings import CheckSettings
from salon.errors import StatsError
from salon.stats.ceilings import table_ceilings, vote_table
from salon.study import Study
from salon.study.votes import TIE


def study_ceilings(study: Study, criteria: Sequence[CriterionFigures], settings: CheckSettings) -> StudyCeilings | None:
    """Ceilings and buckets over all pairs of these criteria; None where fewer than two of them have ceilings."""
    known = [one for one in criteria if one.ceilings is not None]
    if len(known) < 2:
        return None
    ids = study.ids("criteria").to_pylist()
    parts = [_votes(study, ids.index(one.criterion), settings) for one in known]
    first, decided, cluster = (np.concatenate(column) for column in zip(*parts))
    rng = np.random.default_rng([settings.seed, 3])
    try:
        pooled = table_ceilings(
            vote_table(first, decided, cluster), draws=settings.draws, rng=rng, level=settings.level
        )
    except StatsError:
        return None
    panels = {one.criterion: one.ceilings.panel.value for one in known if one.ceilings is not None}
    return StudyCeilings(
        criteria=len(known),
        mean_panel=float(np.mean(list(panels.values()))),
        lowest_panel=min(panels.values()),
        lowest=min(panels, key=panels.__getitem__),
        highest_panel=max(panels.values()),
        highest=max(panels, key=panels.__getitem__),
        pooled=ceiling_figures(pooled),
    )


def _votes(
    study: Study, number: int, settings: CheckSettings
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Votes for the first item of each pair, votes that name an item, and what is drawn again: prompt, or pair."""
    votes = catalogue_votes(study, number, settings)
    key, at = np.unique(votes.a.astype(np.int64) * len(study.item_groups) + votes.b, return_inverse=True)
    first, decided = (np.bincount(at[rows], minlength=len(key)) for rows in (votes.outcome == 0, votes.outcome < TIE))
    cluster = key if study.compare_within == "all" else study.item_groups[key // len(study.item_groups)]
    return first, decided, cluster.astype(np.int64)
