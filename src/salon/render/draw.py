"""One poster from one brief: plan, flaws, layout, and the files that come of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from salon.errors import BadValue
from salon.render.brief import Brief
from salon.render.compose import DrawingHabits, find_room, lay_out, plan_poster
from salon.render.defects import DISTURBANCES, Knobs, bend, disturb
from salon.render.layout import Defect, DefectKind
from salon.render.plan import PosterPlan
from salon.render.poster import Poster
from salon.render.quality import true_quality
from salon.render.random_streams import Seeds

PLAIN = DrawingHabits()
T = TypeVar("T")
NEEDS_ROOM: tuple[DefectKind, ...] = ("wrong-position", "crowding", "wrong-font-pairing", "broken-hierarchy")
"""Flaws that can leave no room for the texts; given up in this order where they do."""


def draw_poster(
    brief: Brief,
    habits: DrawingHabits = PLAIN,
    *,
    seed: int | Seeds = 0,
    knobs: Knobs | None = None,
    width: int | None = None,
    height: int | None = None,
) -> Poster:
    """The poster that a house makes of a brief, with the flaws of `knobs`; its record says what was planted.

    A flaw that would leave no room for the texts is not planted, and then not on record.
    """
    plan = plan_poster(brief, habits, seed, width=width, height=height)
    strengths = dict(knobs or {})
    poster, planted = _with_room(plan, habits, strengths, lay_out)
    poster = replace(poster, layout=poster.layout.model_copy(update={"defects": planted}))
    poster = disturb(poster, strengths)
    quality = true_quality(poster.layout.defects)
    return replace(poster, layout=poster.layout.model_copy(update={"quality": quality}))


def drawn_quality(
    brief: Brief,
    habits: DrawingHabits = PLAIN,
    *,
    seed: int | Seeds = 0,
    knobs: Knobs | None = None,
    width: int | None = None,
    height: int | None = None,
) -> dict[str, float]:
    """True quality of the poster that `draw_poster` makes of the same, by criterion, without drawing it."""
    strengths = dict(knobs or {})
    _, planted = _with_room(plan_poster(brief, habits, seed, width=width, height=height), habits, strengths, find_room)
    disturbed = {kind: float(strength) for kind, strength in strengths.items() if kind in DISTURBANCES}
    return true_quality({defect.kind: defect.strength for defect in planted} | disturbed)


def _with_room(
    plan: PosterPlan, habits: DrawingHabits, strengths: dict[DefectKind, float], lay: Callable[[PosterPlan], T]
) -> tuple[T, tuple[Defect, ...]]:
    """What `lay` makes of the plan with its flaws, and these; flaws given up for room are taken out of `strengths`."""
    for given_up in (None, *NEEDS_ROOM):
        if given_up is not None and not strengths.pop(given_up, 0.0):
            continue
        bent, planted = bend(plan, habits, strengths)
        try:
            return lay(bent), planted
        except BadValue:
            continue
    return lay(plan), ()
