"""Arrangements on one axis: everything stacked, freely, within a frame, or as a logo."""

from __future__ import annotations

from salon.render.arrangements.arrangement import (
    ALL_BUT_LOGO,
    Arrangement,
    high,
    lead,
    left_for_headline,
    low_lead,
    parts,
    steer,
)
from salon.render.arrangements.blocks import across
from salon.render.arrangements.sheet import Over, Sheet
from salon.render.layout import Box


def stack(s: Sheet) -> None:
    """One axis: brand, picture, headline and facts, or headline first."""
    _stack(s, Box(x=s.margin, y=s.margin, width=s.measure, height=s.height - 2 * s.margin), "ground")


def framed(s: Sheet) -> None:
    """The same axis on a sheet within a frame of the ground."""
    rim = 0.55 * s.margin
    pad = 0.75 * s.margin
    s.put_panel(rim, rim, s.width - 2 * rim, s.height - 2 * rim, below=True)
    inside = rim + pad
    _stack(s, Box(x=inside, y=inside, width=s.width - 2 * inside, height=s.height - 2 * inside), "surface")


def _stack(s: Sheet, area: Box, over: Over) -> None:
    brand = s.put(parts(s, ("brand",), area.width, over), area.x, area.y)
    top = area.y + high(brand, 1.7 * s.gap)
    {"top": _head_first, "middle": _head_between, "bottom": _head_last}[s.plan.headline_at](s, area, top, over)


def _head_first(s: Sheet, area: Box, top: float, over: Over) -> None:
    foot = parts(s, ("body", "closing"), area.width, over)
    room = area.bottom - high(foot, 1.7 * s.gap) - top - 0.3 * s.short
    limit = min(left_for_headline(s, ("subhead",), area.width, room, over=over), 0.34 * s.height)
    limit = min(limit, 2 * (s.third()[1] - top))
    group = s.put(lead(s, ("subhead",), area.width, limit, over=over), area.x, top)
    s.put(foot, area.x, area.bottom - high(foot))
    _picture(s, area, group.bottom + 1.7 * s.gap, area.bottom - high(foot, 1.7 * s.gap))


def _head_between(s: Sheet, area: Box, top: float, over: Over) -> None:
    foot = parts(s, ("body", "closing"), area.width, over)
    end = area.bottom - high(foot, 1.7 * s.gap)
    room = end - top - 0.26 * s.short
    limit = min(left_for_headline(s, ("subhead",), area.width, room, over=over), 0.26 * s.height)
    group = lead(s, ("subhead",), area.width, limit, over=over)
    y = steer(s, group, top, end, share=1.0)
    s.put(group, area.x, y)
    s.put(foot, area.x, area.bottom - high(foot))
    _picture(s, area, top, y - 1.6 * s.gap)


def _head_last(s: Sheet, area: Box, top: float, over: Over) -> None:
    group, left = low_lead(s, area.width, area.bottom, over=over, tallest=0.26)
    above = s.put(parts(s, left, area.width, over), area.x, top)
    group = s.put(group, area.x, area.bottom - group.height)
    _picture(s, area, above.bottom + 1.6 * s.gap if above else top, group.y - 1.7 * s.gap)


def _picture(s: Sheet, area: Box, top: float, bottom: float) -> None:
    """The picture between two heights, as wide as the area or squarer."""
    height = bottom - top
    narrow = s.align == "center" and s.rng.random() < 0.5
    wide = min(area.width, max(height * 1.15, 0.5 * area.width)) if narrow else area.width
    s.put_picture(area.x + (area.width - wide) / 2, top, wide, height, least=0.2)


def mark_above(s: Sheet) -> None:
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


def mark_left(s: Sheet) -> None:
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


def badge(s: Sheet) -> None:
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


STACKS = (
    Arrangement("stack", ALL_BUT_LOGO, ("middle", "top", "bottom"), ("center", "left", "right"), stack),
    Arrangement("framed", ALL_BUT_LOGO, ("middle", "top", "bottom"), ("center", "left", "right"), framed),
    Arrangement("mark-above", ("logo",), ("middle", "bottom", "top"), ("center", "left", "right"), mark_above),
    Arrangement("mark-left", ("logo",), ("middle", "top", "bottom"), ("left", "right", "center"), mark_left),
    Arrangement("badge", ("logo",), ("middle",), ("center", "left", "right"), badge, (0.7, 1.45)),
)
