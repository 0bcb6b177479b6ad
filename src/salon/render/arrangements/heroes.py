"""Arrangements led by a large picture: below the text, above it, or behind a panel or a band."""

from __future__ import annotations

from salon.render.arrangements.arrangement import (
    ALL_BUT_LOGO,
    PRINT,
    Arrangement,
    high,
    lead,
    left_for_headline,
    low_lead,
    parts,
    set_bar,
    steer,
)
from salon.render.arrangements.blocks import Block, across
from salon.render.arrangements.sheet import NoRoom, Sheet


def hero_bottom(s: Sheet) -> None:
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


def hero_top(s: Sheet) -> None:
    """A picture that bleeds off the head, text below it."""
    (_hero_over_low_text if s.plan.headline_at == "bottom" else _hero_over_text)(s)


def _hero_over_text(s: Sheet) -> None:
    m, width = s.margin, s.measure
    foot = parts(s, ("footer",), width)
    end = s.foot - high(foot, 1.8 * s.gap)
    limit = min(0.3 * s.height, left_for_headline(s, ("subhead", "body"), width, end - 0.36 * s.height))
    group = lead(s, ("subhead", "body"), width, limit)
    group = s.put(group, m, steer(s, group, 0.3 * s.height, end, share=1.0))
    s.put(foot, m, s.foot - high(foot))
    s.put_picture(0, 0, s.width, group.y - 1.8 * s.gap, least=0.28)


def _hero_over_low_text(s: Sheet) -> None:
    m, width = s.margin, s.measure
    group, left = low_lead(s, width, s.foot)
    strip = s.put(parts(s, ("brand", *left), width), m, m)
    group = s.put(group, m, s.foot - group.height)
    start = strip.bottom + 1.6 * s.gap if strip else 0
    s.put_picture(0, start, s.width, group.y - 1.8 * s.gap - start, least=0.28)


def full_bleed(s: Sheet) -> None:
    """The picture everywhere; all text on one panel."""
    pad = 1.9 * s.body
    inset = 0.7 * s.margin
    wide = 0.56 * s.width if s.landscape else s.width - 2 * inset
    x = inset + across(wide, s.width - 2 * inset, s.align)
    group = _panel_text(s, wide - 2 * pad, s.height - inset - pad)
    tall = group.height + 2 * pad
    if tall > (0.86 if s.landscape else 0.62 if s.width < 0.9 * s.height else 0.74) * s.height:
        raise NoRoom
    share = {"top": 0.0, "middle": 1.0 if s.rng.random() < 0.7 else 0.5, "bottom": 1.0}[s.plan.headline_at]
    y = steer(s, group, inset + pad, s.height - inset - pad, share)
    s.put_picture(0, 0, s.width, s.height)
    s.put_panel(x, y - pad, wide, tall)
    s.put(group, x + pad, y)


def _panel_text(s: Sheet, width: float, bottom: float) -> Block:
    """Every text as one group, with as much below the headline as its place allows."""
    if s.plan.headline_at == "bottom":
        group, left = low_lead(s, width, bottom, over="surface", tallest=0.26)
        above = parts(s, ("brand", *left), width, "surface")
        return s.stack((above, group), (0, 1.6), width)
    return lead(s, ("subhead", "body", "footer"), width, 0.28 * s.height, over="surface")


def band(s: Sheet) -> None:
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
    _seen(s, least=0.4)


def _seen(s: Sheet, least: float) -> None:
    """NoRoom unless panels leave `least` of the canvas to the picture."""
    covered = sum(box.width * box.height for box in s.panels)
    if covered > (1 - least) * s.width * s.height:
        raise NoRoom


HEROES = (
    Arrangement("hero-bottom", PRINT, ("top",), ("left", "center", "right"), hero_bottom, (0.33, 1.2)),
    Arrangement("hero-top", PRINT, ("middle", "bottom"), ("left", "center", "right"), hero_top, (0.33, 1.2)),
    Arrangement("full-bleed", ALL_BUT_LOGO, ("middle", "top", "bottom"), ("left", "center", "right"), full_bleed),
    Arrangement("band", ALL_BUT_LOGO, ("middle", "top", "bottom"), ("center", "left", "right"), band),
)
