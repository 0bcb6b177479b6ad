"""One poster from one brief: plan, flaws, layout, and the files that come of it."""

from __future__ import annotations

from dataclasses import replace

from salon.errors import BadValue
from salon.render.brief import Brief
from salon.render.compose import Hand, lay_out, plan_poster
from salon.render.defects import Knobs, bend, disturb
from salon.render.layout import DefectKind
from salon.render.poster import Poster
from salon.render.quality import true_quality

PLAIN = Hand()
NEEDS_ROOM: tuple[DefectKind, ...] = ("wrong-position", "crowding", "wrong-font-pairing", "broken-hierarchy")
"""Flaws that can leave no room for the texts; given up in this order where they do."""


def draw_poster(
    brief: Brief,
    hand: Hand = PLAIN,
    *,
    seed: int = 0,
    knobs: Knobs | None = None,
    width: int | None = None,
    height: int | None = None,
) -> Poster:
    """The poster that a house makes of a brief, with the flaws of `knobs`; its record says what was planted.

    A flaw that would leave no room for the texts is not planted, and then not on record.
    """
    plan = plan_poster(brief, hand, seed, width=width, height=height)
    wanted = dict(knobs or {})
    for given_up in (None, *NEEDS_ROOM):
        if given_up is not None and not wanted.pop(given_up, 0.0):
            continue
        bent, planted = bend(plan, hand, wanted)
        try:
            poster = lay_out(bent)
        except BadValue:
            continue
        break
    else:
        poster, planted = lay_out(plan), ()
    poster = replace(poster, layout=poster.layout.model_copy(update={"defects": planted}))
    poster = disturb(poster, wanted)
    quality = true_quality(poster.layout.defects)
    return replace(poster, layout=poster.layout.model_copy(update={"quality": quality}))
