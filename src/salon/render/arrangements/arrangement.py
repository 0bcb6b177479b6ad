"""What an arrangement is, and the ways of placing a headline that several share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from salon.render.arrangements import groups
from salon.render.arrangements.blocks import Block
from salon.render.arrangements.sheet import NoRoom, Over, Sheet
from salon.render.brief import Align, Format, Place


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
    draw: Callable[[Sheet], None]
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


def part(s: Sheet, name: str, width: float, over: Over = "ground") -> Block | None:
    """A text or a group of texts by name."""
    ways = {
        "subhead": groups.subhead,
        "body": groups.running,
        "facts": groups.facts,
        "action": groups.action,
        "closing": groups.closing,
        "footer": groups.footer,
        "brand": groups.brand,
    }
    return ways[name](s, width, over=over)


def parts(s: Sheet, names: tuple[str, ...], width: float, over: Over = "ground") -> Block | None:
    """Several below each other."""
    return s.stack([part(s, name, width, over) for name in names], [GAPS[name] for name in names], width)


def high(block: Block | None, gap: float = 0.0) -> float:
    """The height a block takes, with the gap that parts it from its neighbour: nothing for no block."""
    return 0.0 if block is None else block.height + gap


def lead(
    s: Sheet, names: tuple[str, ...], width: float, limit: float, *, over: Over = "ground", loud: float = 1.0
) -> Block:
    """The headline, at most `limit` high, with other parts below it."""
    head = groups.headline(s, width, limit, over=over, loud=loud)
    below = parts(s, names, width, over)
    group = s.stack((head, below), (0.0, GAPS["subhead"] + breath(s, head)), width)
    if group is None:
        raise NoRoom
    return group


def breath(s: Sheet, head: Block) -> float:
    """What a large headline needs below it beyond the usual gap, in gaps."""
    return 0.1 * head.piece("headline").text.size / s.gap


def left_for_headline(
    s: Sheet, names: tuple[str, ...], width: float, room: float, *, over: Over = "ground", share: float = 1.0
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
    s: Sheet, width: float, bottom: float, *, over: Over = "ground", tallest: float = 0.3
) -> tuple[Block, tuple[str, ...]]:
    """The headline in the lower third with what fits below it, ending at `bottom`; and the parts left for above."""
    low, _ = s.third("bottom")
    # Where lines are short against the height, a headline needs more of them.
    enough = (0.2 if s.landscape or width < 0.7 * s.width else 0.11) * s.height
    for names, left in WAYS_DOWN:
        limit = left_for_headline(s, names, width, bottom - low, over=over, share=0.5)
        limit = min(limit, tallest * s.height)
        if names and limit >= enough:
            return lead(s, names, width, limit, over=over), left
    head = groups.headline(s, width, limit, over=over)
    led = s.stack((groups.subhead(s, width, over=over), head), (0, 1.3), width)
    return led or head, left


def set_bar(s: Sheet, block: Block | None, pad: float, *, at_top: bool) -> float:
    """Text on a bar along the head or the foot of the canvas; the bar's height, nothing for no text."""
    if block is None:
        return 0.0
    height = block.height + s.margin + pad
    s.put_bar(*((0, height) if at_top else (s.height - height, s.height)))
    s.put(block, s.margin, s.margin if at_top else s.foot - block.height)
    return height


def steer(s: Sheet, group: Block, top: float, bottom: float, share: float = 0.5) -> float:
    """The y for a group between `top` and `bottom`: at `share` of the free room, its headline's centre in its third."""
    lowest, highest = s.third()
    ink = group.piece("headline").ink
    centre = ink.y + ink.height / 2 - group.y
    y = top + share * (bottom - top - group.height)
    y = min(max(y, lowest - centre), highest - centre)
    if y < top - 0.01 or y + group.height > bottom + 0.01:
        raise NoRoom
    return y


def column_of_text(s: Sheet, x: float, width: float) -> None:
    """All texts in one column between the margins: the headline in its third, the rest at the ends."""
    (_low_column if s.plan.headline_at == "bottom" else _high_column)(s, x, width)


def _low_column(s: Sheet, x: float, width: float) -> None:
    group, left = low_lead(s, width, s.foot, tallest=0.45)
    above = parts(s, ("brand", *left), width)
    if s.margin + high(above, 2 * s.gap) + group.height > s.foot:
        raise NoRoom
    s.put(above, x, s.margin)
    s.put(group, x, s.foot - group.height)


def _high_column(s: Sheet, x: float, width: float) -> None:
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
