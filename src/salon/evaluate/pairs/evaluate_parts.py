"""What the sections of an evaluation share: names of ceilings, their columns and cells, badges."""

from __future__ import annotations

from collections.abc import Iterable

from salon.evaluate.pairs.evaluate_results import PairedFigures, Reached, StudyFigures
from salon.report import Badge, Cell, Column
from salon.report.table import Kind
from salon.report.words import law_range, law_range_note

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

RANGES = ("next_rater", "oracle")
"""Ceilings that votes do not fix: ranges over all laws of the odds that fit."""


def ceiling_columns(names: Iterable[str]) -> list[Column]:
    """A column for each ceiling."""
    kinds: dict[str, Kind] = {name: "text" if name in RANGES else "estimate" for name in names}
    return [Column(name, CEILINGS[name][0], kind, 3, CEILINGS[name][1]) for name, kind in kinds.items()]


def ceiling_cells(reached: Reached, names: Iterable[str]) -> dict[str, Cell]:
    """A cell for each ceiling, with the reason where there is none."""
    tops = reached.ceilings
    if tops is None:
        return {name: Cell(None, reached.no_ceiling or "") for name in names}
    cells = {}
    for name in names:
        figure = getattr(tops, name)
        cells[name] = Cell(figure)
        if name in RANGES:
            cells[name] = Cell(law_range(getattr(tops, f"{name}_range")), figure.method, law_range_note(figure))
    return cells


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
