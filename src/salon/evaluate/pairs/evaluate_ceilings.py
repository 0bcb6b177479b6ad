"""The ceilings that accuracies of a trial stand beside; without them no accuracy is given."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from salon.errors import StatsError, TooFew
from salon.evaluate.pairs.evaluate_data import Trial
from salon.evaluate.pairs.evaluate_results import CeilingFigures
from salon.evaluate.pairs.evaluate_settings import EvaluateSettings
from salon.stats.ceilings import Ceilings, ceilings

NO_CEILING = "ceilings need pairs with two votes, and a majority on some"


class Tops:
    """The ceilings of a trial, for any set of its criteria; each worked out once."""

    def __init__(self, trial: Trial, settings: EvaluateSettings) -> None:
        self.trial, self.settings = trial, settings
        self._of = cache(self._make)

    def __call__(self, criteria: Sequence[int]) -> Ceilings | None:
        """Of the pairs of these criteria; None where panels are too small or all tied."""
        return self._of(tuple(sorted(criteria)))

    def _make(self, criteria: tuple[int, ...]) -> Ceilings | None:
        rows = np.isin(self.trial.criterion, criteria)
        votes, given = self.trial.votes[rows], self.settings
        rng = np.random.default_rng([given.seed, *criteria])
        try:
            return ceilings(
                votes[:, 0],
                votes[:, :2].sum(axis=1),
                self.trial.group[rows],
                draws=given.draws,
                rng=rng,
                level=given.level,
            )
        except StatsError as error:
            if given.ceiling:
                names = ", ".join(self.trial.criteria[number][1] for number in criteria)
                raise TooFew(
                    "an accuracy is printed only beside its ceiling, and that needs several votes on a pair",
                    found=error.found or error.needed,
                    where=f"study {self.trial.study!r}, {names}",
                    remedy="collect a second vote on some pairs; --no-ceiling prints accuracies marked as having none",
                ) from None
            return None


def ceiling_figures(top: Ceilings | None) -> CeilingFigures | None:
    """Ceilings as part of a report."""
    if top is None:
        return None
    names = ("next_rater", "oracle", "leave_one_out", "leave_one_out_dropped", "panel", "cap")
    return CeilingFigures(
        **{name: getattr(top, name) for name in names},
        next_rater_range=top.next_rater_range,
        oracle_range=top.oracle_range,
        pairs=top.pairs,
        tied_share=top.tied_share,
        left_out=top.left_out,
    )
