"""Arrangements led by type: a headline that fills the page, or crosses it."""

from __future__ import annotations

import math
from dataclasses import replace

from salon.render.arrangements import groups
from salon.render.arrangements.arrangement import ALL_BUT_LOGO, PRINT, Arrangement, high, parts, set_bar, steer
from salon.render.arrangements.blocks import Block
from salon.render.arrangements.sheet import NoRoom, Over, Sheet
from salon.render.colors import oklch
from salon.render.layout import Box


def big_type(s: Sheet) -> None:
    """The headline from margin to margin, as tall as it can be; picture and notes share what it leaves."""
    place, tall = s.plan.headline_at, 0.5 * s.height
    low, up = s.third()
    limit = {"top": 2 * (up - s.margin), "middle": tall, "bottom": 2 * (s.foot - low)}[place]
    head = groups.headline(s, s.measure, min(limit, tall), loud=1.7)
    head = s.put(head, s.margin, steer(s, head, s.margin, s.foot, {"top": 0.0, "middle": 0.5, "bottom": 1.0}[place]))
    above, below = head.y - 2 * s.gap, head.bottom + 2 * s.gap
    if place == "middle":
        _notes_row(s, below, s.foot)
        s.put_picture(s.margin, 0, s.width - s.margin, above, least=0.16)
    else:
        _notes_and_picture(s, *((below, s.foot) if place == "top" else (s.margin, above)))


def _notes_row(s: Sheet, top: float, bottom: float) -> None:
    notes = parts(s, ("subhead", "body", "footer"), s.measure)
    if high(notes) > bottom - top:
        raise NoRoom
    s.put(notes, s.margin, bottom - high(notes))


def _notes_and_picture(s: Sheet, top: float, bottom: float) -> None:
    """Notes in a narrow column, the picture in a wide one that bleeds off the far corner."""
    m = s.margin
    narrow = 0.4 * s.measure
    notes = parts(s, ("subhead", "body", "facts", "action", "brand"), narrow)
    if high(notes) > bottom - top:
        raise NoRoom
    mirrored = s.align == "right"
    x = s.width - m - narrow if mirrored else m
    s.put(notes, x, top if s.plan.headline_at == "bottom" else bottom - high(notes))
    start = m + narrow + 2 * s.gap if notes else m
    edge_top, edge_bottom = (0, bottom) if s.plan.headline_at == "bottom" else (top, s.height)
    s.put_picture(0 if mirrored else start, edge_top, s.width - start, edge_bottom - edge_top, least=0.28)


def turned(s: Sheet) -> None:
    """The picture everywhere, a slanting strip with the headline across it, the rest on a bar at the far edge."""
    place, pad = s.plan.headline_at, 1.1 * s.body
    # Letters that glow or shine want a dark strip on a dark ground; elsewhere the accent is the stronger one.
    over: Over = "surface" if oklch(s.plan.palette.ground)[0] < 0.35 else "accent"
    angle = -7.0 if s.width < 1.4 * s.height else -4.5
    sine, cosine = abs(math.sin(math.radians(angle))), math.cos(math.radians(angle))
    rest = parts(s, ("subhead", "body", "footer"), s.measure, "surface")
    bar = set_bar(s, rest, 1.4 * s.body, at_top=place == "bottom")
    limit = 0.2 * s.height
    width = (s.measure - limit * sine) / cosine
    head = groups.headline(s, width, limit, over=over, loud=1.3)
    swing, rise = s.width * sine / 2 + 2 * pad, width * sine / 2
    start, end = (bar + swing, s.foot - rise) if place == "bottom" else (s.margin + rise, s.height - bar - swing)
    y = steer(s, head, start, end, share=0.6 if place == "top" else 0.4)
    s.put_picture(0, 0, s.width, s.height)
    _strip(s, over, y - pad * 1.4, head.height + 2.8 * pad, angle)
    s.put(_at_angle(head, angle), (s.width - width) / 2, y)


def _at_angle(block: Block, angle: float) -> Block:
    return replace(block, pieces=tuple(replace(piece, rotation=angle) for piece in block.pieces))


def _strip(s: Sheet, over: Over, y: float, height: float, angle: float) -> None:
    """The strip, on a wider one in another color so that it parts from any picture."""
    bleed, rim = 0.2 * s.width, 0.3 * s.body
    behind = s.color("surface" if over == "accent" else "accent")
    for color, out in ((behind, rim), (s.color(over), 0.0)):
        box = Box(x=-bleed, y=y - out, width=s.width + 2 * bleed, height=height + 2 * out)
        s.put_shape("slant", box, color, rotation=angle)


LOUD = (
    Arrangement(
        "big-type", ALL_BUT_LOGO, ("top", "bottom", "middle"), ("left", "right", "center"), big_type, (0.4, 2.4)
    ),
    Arrangement("turned", PRINT, ("middle", "top", "bottom"), ("left", "center", "right"), turned, (0.5, 1.6)),
)
