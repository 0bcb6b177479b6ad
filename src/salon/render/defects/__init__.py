"""Flaws planted on purpose, each with a strength in [0, 1] and a record of what was changed.

Most are bent into the plan, before anything has a place (`bend`); two are done to the finished poster (`disturb`). A
strength of 0 changes nothing, and so does a flaw that the brief cannot show: wrong colors against a brief that names
none. Only what was really changed goes on record.
"""

from __future__ import annotations

from collections.abc import Mapping

from salon.errors import BadValue
from salon.render.compose import Hand
from salon.render.defects.bent import BENDS
from salon.render.defects.disturbed import DISTURBANCES
from salon.render.layout import DEFECTS, Defect, DefectKind
from salon.render.plan import Plan
from salon.render.poster import Poster

Knobs = Mapping[DefectKind, float]
"""Strengths by kind; kinds that are absent are at 0."""


def check_knobs(knobs: Knobs) -> None:
    """BadValue for an unknown flaw or a strength outside [0, 1]."""
    for kind, strength in knobs.items():
        if kind not in DEFECTS:
            raise BadValue("the name of a defect is needed", found=repr(kind), remedy=f"one of {', '.join(DEFECTS)}")
        if not 0 <= strength <= 1:  # also refuses NaN
            raise BadValue("a defect's strength lies between 0 and 1", found=strength, where=kind)


def bend(plan: Plan, hand: Hand, knobs: Knobs) -> tuple[Plan, tuple[Defect, ...]]:
    """The plan with flaws, and their record. What is about texts, colors and type comes in here."""
    check_knobs(knobs)
    records: list[Defect] = []
    for kind, change in BENDS.items():
        if strength := knobs.get(kind, 0.0):
            plan, detail, elements = change(plan, hand, strength)
            if detail:
                records.append(Defect(kind=kind, strength=strength, detail=detail, elements=elements))
    return plan, tuple(records)


def disturb(poster: Poster, knobs: Knobs) -> Poster:
    """The poster with the flaws that need its places known: elements out of line, elements nobody asked for."""
    check_knobs(knobs)
    for kind, change in DISTURBANCES.items():
        if strength := knobs.get(kind, 0.0):
            poster, detail, elements = change(poster, strength)
            if detail:
                poster = poster.with_defect(Defect(kind=kind, strength=strength, detail=detail, elements=elements))
    return poster
