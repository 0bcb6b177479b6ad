"""Arrangements on columns: picture and text side by side, or around each other on a grid."""

from __future__ import annotations

from salon.render.arrangements import groups
from salon.render.arrangements.arrangement import (
    ALL_BUT_LOGO,
    Arrangement,
    column_of_text,
    high,
    lead,
    left_for_headline,
    low_lead,
    parts,
    steer,
)
from salon.render.arrangements.sheet import NoRoom, Sheet


def split(s: Sheet) -> None:
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
    edge = (_low_half if s.plan.headline_at == "bottom" else _middle_half)(s) - pad
    s.put_picture(0, 0, s.width, edge, least=0.25)
    s.put_bar(edge, s.height)


def _low_half(s: Sheet) -> float:
    """Text that ends in a low headline; the y where it starts."""
    group, left = low_lead(s, s.measure, s.foot, over="surface")
    above = parts(s, ("brand", *left), s.measure, "surface")
    group = s.stack((above, group), (0, 1.6), s.measure)
    return s.put(group, s.margin, s.foot - group.height).y


def _middle_half(s: Sheet) -> float:
    """A headline as low as the middle allows, the facts at the foot; the y where the text starts."""
    foot = parts(s, ("footer",), s.measure, "surface")
    end = s.foot - high(foot, 1.8 * s.gap)
    limit = left_for_headline(s, ("subhead", "body"), s.measure, end - 0.36 * s.height, over="surface")
    group = lead(s, ("subhead", "body"), s.measure, min(0.3 * s.height, limit), over="surface")
    s.put(foot, s.margin, s.foot - high(foot))
    return s.put(group, s.margin, steer(s, group, 0.3 * s.height, end, share=1.0)).y


def _halves(s: Sheet, share: float) -> None:
    """Picture on the side the text turns its back to."""
    wide = share * s.width
    at_left = s.align == "right" or (s.align == "center" and s.rng.random() < 0.5)
    s.put_picture(0 if at_left else s.width - wide, 0, wide, s.height, least=0.2)
    column_of_text(s, wide + s.margin if at_left else s.margin, s.width - wide - 2 * s.margin)


def sidebar(s: Sheet) -> None:
    """A tall strip of picture along one edge, text in the wide column beside it."""
    _halves(s, 0.34 if s.landscape else 0.36)


def corner_grid(s: Sheet) -> None:
    """A Swiss grid: facts on a line at the head, a headline, and a picture hung from the far corner."""
    facts = groups.wide_facts(s, s.measure)
    heading = facts or groups.brand(s, s.measure)
    line = groups.rule(s, s.measure, s.plan.palette.ink) if heading else None
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


def _hang(s: Sheet, names: tuple[str, ...], top: float, bottom: float) -> None:
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


COLUMNS = (
    Arrangement("split", ALL_BUT_LOGO, ("top", "bottom", "middle"), ("left", "right", "center"), split),
    Arrangement("sidebar", ALL_BUT_LOGO, ("top", "middle", "bottom"), ("left", "right"), sidebar, (0.6, 3.0)),
    Arrangement("corner-grid", ALL_BUT_LOGO, ("top", "bottom"), ("left", "right"), corner_grid, (0.45, 2.2)),
)
