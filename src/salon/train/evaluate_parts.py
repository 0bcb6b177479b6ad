"""What the sections of an evaluation share: names of ceilings, their columns and cells, badges."""

from __future__ import annotations

from collections.abc import Iterable

from salon.report import Badge, Cell, Column
from salon.train.evaluate_results import PairedFigures, Reached, StudyFigures

CHANCE = 0.5
SURE = 0.05
"""Adjusted p below which two contestants are told apart."""
Names = dict[str, str]
"""How each contestant is printed."""
CEILINGS: dict[str, tuple[str, str]] = {
    "next_rater": ("Next rater", "Accuracy of one more person against this panel"),
    "oracle": ("Oracle", "Accuracy of a predictor that knows every pair's odds"),
    "leave_one_out": ("Leave one out", "A rater against the majority of the others; ties count half"),
    "leave_one_out_dropped": ("Ties dropped", "The same where the others are not tied"),
    "panel": ("Panel", "A rater against a majority that holds the rater: too high, as the rater is in it"),
    "cap": ("Cap", "1 for majorities of more than one vote, else a half; not a bound"),
}


def ceiling_columns(names: Iterable[str]) -> list[Column]:
    """A column for each ceiling."""
    return [Column(name, CEILINGS[name][0], "estimate", 3, CEILINGS[name][1]) for name in names]


def ceiling_cells(reached: Reached, names: Iterable[str]) -> dict[str, Cell]:
    """A cell for each ceiling, with the reason where there is none."""
    tops = reached.ceilings
    return {name: Cell(getattr(tops, name, None), reached.no_ceiling or "") for name in names}


def standing(reached: Reached) -> Badge:
    """Against chance, and where it is told apart, against one more person."""
    accuracy, tops = reached.accuracy, reached.ceilings
    if accuracy.low is None or accuracy.high is None:
        return Badge("too little data", "thin")
    if tops is not None and tops.next_rater.high is not None and accuracy.low > tops.next_rater.high:
        return Badge("better than one more person", "clear")
    if accuracy.low > CHANCE:
        return Badge("better than chance", "clear")
    if accuracy.high < CHANCE:
        return Badge("worse than chance", "alert")
    return Badge("no better than chance", "none")


def best_only(study: StudyFigures) -> list[PairedFigures]:
    """The comparisons with the best contestant."""
    return [one for one in study.comparisons if one.first == study.contestants[0].name]
