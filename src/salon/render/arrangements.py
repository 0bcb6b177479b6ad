"""Arrangements: how picture and texts share a canvas.

Each is a function that fills a `PosterSheet` and raises `NoRoom` when the texts are too much for it. It obeys the
plan's alignment and puts the headline's centre into the third of the canvas that the plan names.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from salon.render.brief import Align, Format, Place
from salon.render.colors import oklch
from salon.render.layout import Box
from salon.render.sheet import (
    NoRoom,
    Over,
    PosterSheet,
    TextBlock,
    across,
    set_action,
    set_body,
    set_brand,
    set_closing,
    set_facts,
    set_footer,
    set_headline,
    set_rule,
    set_subhead,
    set_wide_facts,
)

__all__ = ["ARRANGEMENTS", "Arrangement", "suitable"]


def suitable(format: Format, width: int, height: int, place: Place | None = None) -> tuple[Arrangement, ...]:
    """Arrangements for a format on a canvas of this shape that can put the headline at `place`."""
    ratio = width / height
    return tuple(
        arrangement
        for arrangement in ARRANGEMENTS.values()
        if format in arrangement.formats
        and arrangement.ratios[0] <= ratio <= arrangement.ratios[1]
        and (place is None or place in arrangement.places)
    )


@dataclass(frozen=True, slots=True)
class Arrangement:
    """One way for picture and texts to share a canvas."""

    name: str
    formats: tuple[Format, ...]
    """Formats it is made for."""
    places: tuple[Place, ...]
    """Where it can put the headline, best first."""
    aligns: tuple[Align, ...]
    """Alignments it looks well in, best first; it obeys any."""
    draw: Callable[[PosterSheet], None]
    ratios: tuple[float, float] = (0.33, 3.0)
    """Width over height of canvases it works on."""


PRINT: tuple[Format, ...] = ("poster", "flyer", "square")
ALL_BUT_LOGO: tuple[Format, ...] = (*PRINT, "card", "slide")

GAPS = {
    "headline": 0.0,
    "subhead": 1.15,
    "body": 1.25,
    "facts": 1.7,
    "action": 1.5,
    "closing": 1.8,
    "footer": 1.8,
    "brand": 1.9,
}
"""Space above each part, in gaps."""


def part(s: PosterSheet, name: str, width: float, over: Over = "ground") -> TextBlock | None:
    """A text or a group of texts by name."""
    ways = {
        "subhead": set_subhead,
        "body": set_body,
        "facts": set_facts,
        "action": set_action,
        "closing": set_closing,
        "footer": set_footer,
        "brand": set_brand,
    }
    return ways[name](s, width, over=over)


def parts(s: PosterSheet, names: tuple[str, ...], width: float, over: Over = "ground") -> TextBlock | None:
    """Several below each other."""
    return s.stack([part(s, name, width, over) for name in names], [GAPS[name] for name in names], width)


def high(block: TextBlock | None, gap: float = 0.0) -> float:
    """The height a block takes, with the gap that parts it from its neighbour: nothing for no block."""
    return 0.0 if block is None else block.height + gap


def lead(
    s: PosterSheet, names: tuple[str, ...], width: float, limit: float, *, over: Over = "ground", loud: float = 1.0
) -> TextBlock:
    """The headline, at most `limit` high, with other parts below it."""
    head = set_headline(s, width, limit, over=over, loud=loud)
    below = parts(s, names, width, over)
    group = s.stack((head, below), (0.0, GAPS["subhead"] + breath(s, head)), width)
    if group is None:
        raise NoRoom
    return group


def breath(s: PosterSheet, head: TextBlock) -> float:
    """What a large headline needs below it beyond the usual gap, in gaps."""
    return 0.1 * head.piece("headline").text.size / s.gap


def left_for_headline(
    s: PosterSheet, names: tuple[str, ...], width: float, room: float, *, over: Over = "ground", share: float = 1.0
) -> float:
    """The height a headline may have, if `share` of it, its breath and the parts `names` below are to fit `room`."""
    below = parts(s, names, width, over)
    if below is None:
        return room / share
    # The breath is a tenth of the type size, and that at most 1.3 times the height of the headline's ink.
    return (room - below.height - GAPS["subhead"] * s.gap) / (share + 0.13)


WAYS_DOWN: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("subhead", "body", "closing"), ()),
    (("subhead", "body", "action"), ("facts",)),
    (("subhead", "action"), ("body", "facts")),
    (("subhead", "body"), ("closing",)),
    (("subhead",), ("body", "closing")),
    ((), ("body", "closing")),
)
"""How the parts may be shared out below and above a headline that stands low, best first; in the last way the sub-head
leads in to the headline."""


def low_lead(
    s: PosterSheet, width: float, bottom: float, *, over: Over = "ground", tallest: float = 0.3
) -> tuple[TextBlock, tuple[str, ...]]:
    """The headline in the lower third with what fits below it, ending at `bottom`; and the parts left for above."""
    low, _ = s.third("bottom")
    # Where lines are short against the height, a headline needs more of them.
    enough = (0.2 if s.landscape or width < 0.7 * s.width else 0.11) * s.height
    for names, left in WAYS_DOWN:
        limit = left_for_headline(s, names, width, bottom - low, over=over, share=0.5)
        limit = min(limit, tallest * s.height)
        if names and limit >= enough:
            return lead(s, names, width, limit, over=over), left
    head = set_headline(s, width, limit, over=over)
    led = s.stack((set_subhead(s, width, over=over), head), (0, 1.3), width)
    return led or head, left


def set_bar(s: PosterSheet, block: TextBlock | None, pad: float, *, at_top: bool) -> float:
    """Text on a bar along the head or the foot of the canvas; the bar's height, nothing for no text."""
    if block is None:
        return 0.0
    height = block.height + s.margin + pad
    s.put_bar(*((0, height) if at_top else (s.height - height, s.height)))
    s.put(block, s.margin, s.margin if at_top else s.foot - block.height)
    return height


def steer(s: PosterSheet, group: TextBlock, top: float, bottom: float, share: float = 0.5) -> float:
    """The y for a group between `top` and `bottom`: at `share` of the free room, its headline's centre in its third."""
    lowest, highest = s.third()
    ink = group.piece("headline").ink
    centre = ink.y + ink.height / 2 - group.y
    y = top + share * (bottom - top - group.height)
    y = min(max(y, lowest - centre), highest - centre)
    if y < top - 0.01 or y + group.height > bottom + 0.01:
        raise NoRoom
    return y


def column_of_text(s: PosterSheet, x: float, width: float) -> None:
    """All texts in one column between the margins: the headline in its third, the rest at the ends."""
    if s.plan.headline_at == "bottom":
        group, left = low_lead(s, width, s.foot, tallest=0.45)
        above = parts(s, ("brand", *left), width)
        if s.margin + high(above, 2 * s.gap) + group.height > s.foot:
            raise NoRoom
        s.put(above, x, s.margin)
        s.put(group, x, s.foot - group.height)
        return
    at_top = s.plan.headline_at == "top"
    first = None if at_top else parts(s, ("brand",), width)
    foot = parts(s, ("footer",) if at_top else ("closing",), width)
    start, end = s.margin + high(first, 2 * s.gap), s.foot - high(foot, 2 * s.gap)
    limit = min(left_for_headline(s, ("subhead", "body"), width, end - start), 0.5 * s.height)
    if at_top:
        limit = min(limit, 2 * (s.third()[1] - start))
    group = lead(s, ("subhead", "body"), width, limit)
    s.put(first, x, s.margin)
    s.put(group, x, steer(s, group, start, end, share=0.0 if at_top else 0.5))
    s.put(foot, x, s.foot - high(foot))


# Led by a large picture: below the text, above it, or behind a panel or a band


def hero_bottom(s: PosterSheet) -> None:
    """Text at the top, a picture that bleeds off the foot; sometimes the facts below it."""
    m, width = s.margin, s.measure
    brand = s.put(parts(s, ("brand",), width), m, m)
    top = m + high(brand, 1.8 * s.gap)
    under = s.rng.random() < 0.5
    foot = parts(s, ("closing",), width) if under else None
    names = ("subhead", "body") if under else ("subhead", "body", "closing")
    end = s.foot - foot.height - 1.8 * s.gap if foot else s.height
    room = end - 0.3 * s.height - 1.8 * s.gap - top
    limit = min(2 * (s.third()[1] - top), 0.36 * s.height, left_for_headline(s, names, width, room))
    group = s.put(lead(s, names, width, limit), m, top)
    s.put(foot, m, s.foot - high(foot))
    start = group.bottom + 1.8 * s.gap
    s.put_picture(0, start, s.width, end - start, least=0.28)


def hero_top(s: PosterSheet) -> None:
    """A picture that bleeds off the head, text below it."""
    m, width = s.margin, s.measure
    if s.plan.headline_at == "bottom":
        group, left = low_lead(s, width, s.foot)
        strip = s.put(parts(s, ("brand", *left), width), m, m)
        group = s.put(group, m, s.foot - group.height)
        start = strip.bottom + 1.6 * s.gap if strip else 0
    else:
        foot = parts(s, ("footer",), width)
        end = s.foot - high(foot, 1.8 * s.gap)
        limit = min(0.3 * s.height, left_for_headline(s, ("subhead", "body"), width, end - 0.36 * s.height))
        group = lead(s, ("subhead", "body"), width, limit)
        group = s.put(group, m, steer(s, group, 0.3 * s.height, end, share=1.0))
        s.put(foot, m, s.foot - high(foot))
        start = 0
    s.put_picture(0, start, s.width, group.y - 1.8 * s.gap - start, least=0.28)


def full_bleed(s: PosterSheet) -> None:
    """The picture everywhere; all text on one panel."""
    pad = 1.9 * s.body
    inset = 0.7 * s.margin
    wide = 0.56 * s.width if s.landscape else s.width - 2 * inset
    x = inset + across(wide, s.width - 2 * inset, s.align)
    width = wide - 2 * pad
    if s.plan.headline_at == "bottom":
        group, left = low_lead(s, width, s.height - inset - pad, over="surface", tallest=0.26)
        group = s.stack((parts(s, ("brand", *left), width, "surface"), group), (0, 1.6), width)
    else:
        group = lead(s, ("subhead", "body", "footer"), width, 0.28 * s.height, over="surface")
    tall = group.height + 2 * pad
    if tall > (0.86 if s.landscape else 0.62 if s.width < 0.9 * s.height else 0.74) * s.height:
        raise NoRoom
    share = {"top": 0.0, "middle": 1.0 if s.rng.random() < 0.7 else 0.5, "bottom": 1.0}[s.plan.headline_at]
    y = steer(s, group, inset + pad, s.height - inset - pad, share)
    s.put_picture(0, 0, s.width, s.height)
    s.put_panel(x, y - pad, wide, tall)
    s.put(group, x + pad, y)


def band(s: PosterSheet) -> None:
    """The picture everywhere, crossed by a band with the headline; the rest on a bar at the far edge."""
    m, width, pad = s.margin, s.measure, 1.5 * s.body
    at_bottom = s.plan.headline_at == "bottom"
    bar = set_bar(s, parts(s, ("body", "footer"), width, "surface"), pad, at_top=at_bottom)
    group = lead(s, ("subhead",), width, 0.26 * s.height, over="surface")
    start, end = (bar, s.height - m) if at_bottom else (m, s.height - bar)
    share = {"top": 0.15, "middle": 0.45, "bottom": 0.85}[s.plan.headline_at]
    y = steer(s, group, start + pad, end - pad, share)
    s.put_picture(0, 0, s.width, s.height)
    s.put_bar(y - pad, y + group.height + pad)
    s.put(group, m, y)
    if sum(box.width * box.height for box in s.panels) > 0.6 * s.width * s.height:
        raise NoRoom


# On columns: picture and text side by side, or around each other on a grid


def split(s: PosterSheet) -> None:
    """Two halves: a picture that bleeds off three edges, and text on a panel; side by side, or stacked if upright."""
    if s.landscape:
        _halves(s, 0.48 if s.rng.random() < 0.6 else 0.42)
        return
    pad = 1.9 * s.body
    if s.plan.headline_at == "top":
        limit = min(0.3 * s.height, 2 * (s.third()[1] - s.margin))
        group = lead(s, ("subhead", "body", "footer"), s.measure, limit, over="surface")
        edge = s.put(group, s.margin, s.margin).bottom + pad
        s.put_picture(0, edge, s.width, s.height - edge, least=0.25)
        s.put_bar(0, edge)
        return
    if s.plan.headline_at == "bottom":
        group, left = low_lead(s, s.measure, s.foot, over="surface")
        group = s.stack((parts(s, ("brand", *left), s.measure, "surface"), group), (0, 1.6), s.measure)
        group = s.put(group, s.margin, s.foot - group.height)
    else:  # as low as the middle allows, the facts at the foot
        foot = parts(s, ("footer",), s.measure, "surface")
        end = s.foot - high(foot, 1.8 * s.gap)
        limit = left_for_headline(s, ("subhead", "body"), s.measure, end - 0.36 * s.height, over="surface")
        group = lead(s, ("subhead", "body"), s.measure, min(0.3 * s.height, limit), over="surface")
        s.put(foot, s.margin, s.foot - high(foot))
        group = s.put(group, s.margin, steer(s, group, 0.3 * s.height, end, share=1.0))
    edge = group.y - pad
    s.put_picture(0, 0, s.width, edge, least=0.25)
    s.put_bar(edge, s.height)


def _halves(s: PosterSheet, share: float) -> None:
    """Picture on the side the text turns its back to."""
    wide = share * s.width
    at_left = s.align == "right" or (s.align == "center" and s.rng.random() < 0.5)
    s.put_picture(0 if at_left else s.width - wide, 0, wide, s.height, least=0.2)
    column_of_text(s, wide + s.margin if at_left else s.margin, s.width - wide - 2 * s.margin)


def sidebar(s: PosterSheet) -> None:
    """A tall strip of picture along one edge, text in the wide column beside it."""
    _halves(s, 0.34 if s.landscape else 0.36)


def corner_grid(s: PosterSheet) -> None:
    """A Swiss grid: facts on a line at the head, a headline, and a picture hung from the far corner."""
    facts = set_wide_facts(s, s.measure)
    heading = facts or set_brand(s, s.measure)
    line = set_rule(s, s.measure, s.plan.palette.ink) if heading else None
    first = s.put(s.stack((heading, line), (0, 0.7), s.measure), s.margin, s.margin)
    top = s.margin + high(first, 1.7 * s.gap)
    names = ("body", "action", "brand") if facts else ("body", "action")
    low, up = s.third()
    if s.plan.headline_at == "top":
        group = s.put(lead(s, ("subhead",), s.measure, min(2 * (up - top), 0.4 * s.height)), s.margin, top)
        _hang(s, names, group.bottom + 2 * s.gap, s.height)
    else:
        group = lead(s, ("subhead",), s.measure, min(2 * (s.foot - low), 0.4 * s.height))
        y = steer(s, group, top, s.foot, share=1.0)
        s.put(group, s.margin, y)
        _hang(s, names, top, y - 2 * s.gap)


def _hang(s: PosterSheet, names: tuple[str, ...], top: float, bottom: float) -> None:
    """Notes in a third of the width, the picture in the rest and off the edge."""
    third = (s.measure - s.gap) / 3
    notes = parts(s, names, third)
    at_foot = bottom == s.height
    if high(notes) > bottom - top - (s.margin if at_foot else 0):
        raise NoRoom
    mirrored = s.align == "right"
    x = s.width - s.margin - third if mirrored else s.margin
    s.put(notes, x, s.foot - high(notes) if at_foot else top)
    hung = s.margin + (third + s.gap if notes else 0)
    s.put_picture(0 if mirrored else hung, top, s.width - hung, bottom - top, least=0.28)


# On one axis: everything stacked, freely, within a frame, or as a logo


def stack(s: PosterSheet) -> None:
    """One axis: brand, picture, headline and facts, or headline first."""
    _stack(s, Box(x=s.margin, y=s.margin, width=s.measure, height=s.height - 2 * s.margin), "ground")


def framed(s: PosterSheet) -> None:
    """The same axis on a sheet within a frame of the ground."""
    rim = 0.55 * s.margin
    pad = 0.75 * s.margin
    s.put_panel(rim, rim, s.width - 2 * rim, s.height - 2 * rim, below=True)
    inside = rim + pad
    _stack(s, Box(x=inside, y=inside, width=s.width - 2 * inside, height=s.height - 2 * inside), "surface")


def _stack(s: PosterSheet, area: Box, over: Over) -> None:
    brand = s.put(parts(s, ("brand",), area.width, over), area.x, area.y)
    top = area.y + high(brand, 1.7 * s.gap)
    {"top": _head_first, "middle": _head_between, "bottom": _head_last}[s.plan.headline_at](s, area, top, over)


def _head_first(s: PosterSheet, area: Box, top: float, over: Over) -> None:
    foot = parts(s, ("body", "closing"), area.width, over)
    room = area.bottom - high(foot, 1.7 * s.gap) - top - 0.3 * s.short
    limit = min(left_for_headline(s, ("subhead",), area.width, room, over=over), 0.34 * s.height)
    limit = min(limit, 2 * (s.third()[1] - top))
    group = s.put(lead(s, ("subhead",), area.width, limit, over=over), area.x, top)
    s.put(foot, area.x, area.bottom - high(foot))
    _picture(s, area, group.bottom + 1.7 * s.gap, area.bottom - high(foot, 1.7 * s.gap))


def _head_between(s: PosterSheet, area: Box, top: float, over: Over) -> None:
    foot = parts(s, ("body", "closing"), area.width, over)
    end = area.bottom - high(foot, 1.7 * s.gap)
    room = end - top - 0.26 * s.short
    limit = min(left_for_headline(s, ("subhead",), area.width, room, over=over), 0.26 * s.height)
    group = lead(s, ("subhead",), area.width, limit, over=over)
    y = steer(s, group, top, end, share=1.0)
    s.put(group, area.x, y)
    s.put(foot, area.x, area.bottom - high(foot))
    _picture(s, area, top, y - 1.6 * s.gap)


def _head_last(s: PosterSheet, area: Box, top: float, over: Over) -> None:
    group, left = low_lead(s, area.width, area.bottom, over=over, tallest=0.26)
    above = s.put(parts(s, left, area.width, over), area.x, top)
    group = s.put(group, area.x, area.bottom - group.height)
    _picture(s, area, above.bottom + 1.6 * s.gap if above else top, group.y - 1.7 * s.gap)


def _picture(s: PosterSheet, area: Box, top: float, bottom: float) -> None:
    """The picture between two heights, as wide as the area or squarer."""
    height = bottom - top
    narrow = s.align == "center" and s.rng.random() < 0.5
    wide = min(area.width, max(height * 1.15, 0.5 * area.width)) if narrow else area.width
    s.put_picture(area.x + (area.width - wide) / 2, top, wide, height, least=0.2)


def mark_above(s: PosterSheet) -> None:
    """A logo: the mark on the axis, the name below it (or above, where it is asked for at the top)."""
    m = 1.4 * s.margin
    width, gap = s.width - 2 * m, 2.2 * s.gap
    group = lead(s, ("subhead", "body", "footer"), width, 0.24 * s.height, loud=1.25)
    largest = 0.48 * s.short
    free = s.height - 2 * m - group.height
    above = s.plan.headline_at != "top"
    spare = max(0.0, (free - gap - largest) / 2)
    y = steer(s, group, m, s.height - m, share=(free - spare if above else spare) / free if free > 0 else 0.0)
    side = min(largest, y - gap - m if above else s.height - m - y - group.height - gap)
    s.put(group, m, y)
    s.put_picture(
        m + across(side, width, s.align), y - gap - side if above else y + group.height + gap, side, side, least=0.2
    )


def mark_left(s: PosterSheet) -> None:
    """A logo: the mark beside the name."""
    m = 1.2 * s.margin
    side = 0.3 * s.width
    gap = 0.05 * s.width
    width = s.width - 2 * m - side - gap
    mirrored = s.align == "right"
    group = lead(s, ("subhead", "body", "footer"), width, 0.4 * s.height, loud=1.25)
    y = steer(s, group, m, s.height - m)
    s.put(group, m if mirrored else m + side + gap, y)
    middle = y + group.height / 2
    s.put_picture(s.width - m - side if mirrored else m, middle - side / 2, side, side, least=0.15)


def badge(s: PosterSheet) -> None:
    """A logo: mark and name within a round badge."""
    r = 0.5 * s.short - 0.6 * s.margin
    cx, cy = s.width / 2, s.height / 2
    width = 1.42 * r
    s.put_shape("disc", Box(x=cx - r, y=cy - r, width=2 * r, height=2 * r), s.plan.palette.surface, below=True)
    rim = 0.94 * r
    s.put_shape(
        "ring", Box(x=cx - rim, y=cy - rim, width=2 * rim, height=2 * rim), s.plan.palette.on_surface, below=True
    )
    group = lead(s, ("subhead",), width, 0.42 * r, over="surface", loud=1.1)
    y = steer(s, group, cy - 0.5 * r, cy + 0.62 * r, share=0.75)
    side = min(0.8 * r, y - (cy - 0.74 * r) - 1.6 * s.gap)
    s.put(group, cx - width / 2, y)
    s.put_picture(cx - side / 2, y - 1.6 * s.gap - side, side, side, least=0.12)


# Led by type: a headline that fills the page, or crosses it


def big_type(s: PosterSheet) -> None:
    """The headline from margin to margin, as tall as it can be; picture and notes share what it leaves."""
    place, tall = s.plan.headline_at, 0.5 * s.height
    low, up = s.third()
    limit = {"top": 2 * (up - s.margin), "middle": tall, "bottom": 2 * (s.foot - low)}[place]
    head = set_headline(s, s.measure, min(limit, tall), loud=1.7)
    head = s.put(head, s.margin, steer(s, head, s.margin, s.foot, {"top": 0.0, "middle": 0.5, "bottom": 1.0}[place]))
    above, below = head.y - 2 * s.gap, head.bottom + 2 * s.gap
    if place == "middle":
        notes = parts(s, ("subhead", "body", "footer"), s.measure)
        if high(notes) > s.foot - below:
            raise NoRoom
        s.put(notes, s.margin, s.foot - high(notes))
        s.put_picture(s.margin, 0, s.width - s.margin, above, least=0.16)
    else:
        _notes_and_picture(s, *((below, s.foot) if place == "top" else (s.margin, above)))


def _notes_and_picture(s: PosterSheet, top: float, bottom: float) -> None:
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


def turned(s: PosterSheet) -> None:
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
    head = set_headline(s, width, limit, over=over, loud=1.3)
    swing, rise = s.width * sine / 2 + 2 * pad, width * sine / 2
    start, end = (bar + swing, s.foot - rise) if place == "bottom" else (s.margin + rise, s.height - bar - swing)
    y = steer(s, head, start, end, share=0.6 if place == "top" else 0.4)
    s.put_picture(0, 0, s.width, s.height)
    # The strip lies on a wider one in another color, so that it parts from any picture.
    bleed, rim = 0.2 * s.width, 0.3 * s.body
    behind = s.color("surface" if over == "accent" else "accent")
    for color, out in ((behind, rim), (s.color(over), 0.0)):
        strip = Box(
            x=-bleed, y=y - pad * 1.4 - out, width=s.width + 2 * bleed, height=head.height + 2.8 * pad + 2 * out
        )
        s.put_shape("slant", strip, color, rotation=angle)
    slanting = replace(head, pieces=tuple(replace(piece, rotation=angle) for piece in head.pieces))
    s.put(slanting, (s.width - width) / 2, y)


ARRANGEMENTS: dict[str, Arrangement] = {
    arrangement.name: arrangement
    for arrangement in (
        Arrangement("hero-bottom", PRINT, ("top",), ("left", "center", "right"), hero_bottom, (0.33, 1.2)),
        Arrangement("hero-top", PRINT, ("middle", "bottom"), ("left", "center", "right"), hero_top, (0.33, 1.2)),
        Arrangement("full-bleed", ALL_BUT_LOGO, ("middle", "top", "bottom"), ("left", "center", "right"), full_bleed),
        Arrangement("band", ALL_BUT_LOGO, ("middle", "top", "bottom"), ("center", "left", "right"), band),
        Arrangement("split", ALL_BUT_LOGO, ("top", "bottom", "middle"), ("left", "right", "center"), split),
        Arrangement("sidebar", ALL_BUT_LOGO, ("top", "middle", "bottom"), ("left", "right"), sidebar, (0.6, 3.0)),
        Arrangement("corner-grid", ALL_BUT_LOGO, ("top", "bottom"), ("left", "right"), corner_grid, (0.45, 2.2)),
        Arrangement("stack", ALL_BUT_LOGO, ("middle", "top", "bottom"), ("center", "left", "right"), stack),
        Arrangement("framed", ALL_BUT_LOGO, ("middle", "top", "bottom"), ("center", "left", "right"), framed),
        Arrangement("mark-above", ("logo",), ("middle", "bottom", "top"), ("center", "left", "right"), mark_above),
        Arrangement("mark-left", ("logo",), ("middle", "top", "bottom"), ("left", "right", "center"), mark_left),
        Arrangement("badge", ("logo",), ("middle",), ("center", "left", "right"), badge, (0.7, 1.45)),
        Arrangement(
            "big-type", ALL_BUT_LOGO, ("top", "bottom", "middle"), ("left", "right", "center"), big_type, (0.4, 2.4)
        ),
        Arrangement("turned", PRINT, ("middle", "top", "bottom"), ("left", "center", "right"), turned, (0.5, 1.6)),
    )
}
