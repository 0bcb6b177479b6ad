"""Image-to-image for the built-in houses: a poster drawn from another poster, some of its decisions kept.

A picture alone does not say how it was drawn, and pictures that were published keep their bytes. So a house starts from
the *layout* that stands beside a picture (`Ask.layout`, a file of the study), which names the brief, the house and the
seed of every decision. That record is held against what the house draws from it: only a record that comes out the same,
byte for byte, is one of its posters. Anything else is refused with a reason, and nothing is made up.

A poster is a set of decisions (`DECISIONS`): its style, colors, arrangement, faces, places, drawing, and for each flaw
whether it befalls the poster and how strongly. Each has a number u in [0, 1), drawn from the ask's seed. Those with
u < strength are made anew, from the ask's seed; the others stay as they were. So

    strength near 0     the same decisions and the same flaws
    strength s          each decision is made anew with probability s; what is made anew at s is so at any larger one
    strength 1          what the same seed draws without a picture, byte for byte

The texts follow the prompt that is asked, and so do flaws that it asks to avoid.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from salon.errors import BadFile, BadValue, SalonError, shorten
from salon.render.chance import Seeds, chance
from salon.render.draw import draw_poster
from salon.render.layout import DEFECTS, DefectKind, Layout
from salon.render.poster import layout_json
from salon.store.pictures import open_header
from salon.study import Ask

if TYPE_CHECKING:
    from salon.generate.houses import House

DECISIONS: tuple[str, ...] = (
    "style", "palette", "arrangement", "faces", "place", "align", "headline ink", "cta", "draw", *DEFECTS,
)  # fmt: skip
"""What a poster keeps of another one, or makes anew; `draw` is the picture and every ornament."""
STRENGTH = 0.8
"""How far a house leaves a picture when the ask does not say."""


def start_from(house: House, ask: Ask, fresh: int) -> tuple[Seeds, Layout]:
    """What each decision is drawn from when `ask` starts from a picture, and the layout of that picture.

    `fresh` is the seed of what is made anew. BadValue or BadFile where this house did not draw the picture.
    """
    before = _poster_of(house, ask)
    strength = STRENGTH if ask.strength is None else ask.strength
    return seeds_from(before.seeds, fresh, strength), before


def seeds_from(before: Seeds, fresh: int, strength: float) -> Seeds:
    """What each decision is drawn from at `strength`, where the picture to start from was drawn from `before`."""
    kept = {name: before.of(name) for name in kept_decisions(fresh, strength)}
    return Seeds(fresh, {name: seed for name, seed in kept.items() if seed != fresh})


def kept_decisions(fresh: int, strength: float) -> list[str]:
    """The decisions that stay as they were at `strength`."""
    return [name for name in DECISIONS if chance(fresh, "leave", name).random() >= strength]


def _poster_of(house: House, ask: Ask) -> Layout:
    """The layout of the picture that `ask` starts from."""
    where = f"prompt {ask.prompt.id!r}"
    if ask.layout is None:
        raise BadValue(
            "a house starts from a poster with its layout beside it", found="a picture alone", where=where,
            remedy=f"start from a picture that {house.name} drew, in its study; or ask a generator that reads pictures",
        )  # fmt: skip
    layout = _redrawn(house, ask.layout)
    header = open_header(ask.image or b"", where)
    if (header.width, header.height) != (layout.width, layout.height):
        raise BadValue("the picture and its layout have one size", found=f"{header.width} x {header.height} px and "
                       f"{layout.width} x {layout.height} px", where=where)  # fmt: skip
    return layout


def _redrawn(house: House, text: str) -> Layout:
    """`text` as a layout that `house` draws, or BadFile with what is wrong with it."""
    try:
        record = json.loads(text)
        if not isinstance(record, dict):
            raise _refused(house, "JSON that is no object")
        layout = Layout.parse(record)
    except BadValue as error:
        raise _refused(house, error.needed) from None
    except (ValueError, RecursionError) as error:
        raise _refused(house, f"no JSON: {shorten(str(error), 200)}") from None
    if layout.house != house.name:
        raise _refused(house, f"one by {layout.house}")
    numbers = {layout.seed, *(layout.kept or {}).values()}
    if not set(layout.kept or {}) <= set(DECISIONS) or any(not 0 <= number < 2**32 for number in numbers):
        raise _refused(house, "decisions or seeds that no poster has")
    if not _draws(house, layout, text):
        raise _refused(house, "a record that it does not draw: changed by hand, or by another version of the house")
    return layout


def _refused(house: House, found: str) -> BadFile:
    return BadFile(
        f"the layout of a poster that {house.name} drew is needed", found=found, where="layout",
        remedy="start from a picture of this house, with the layout that was written beside it",
    )  # fmt: skip


def _draws(house: House, layout: Layout, text: str) -> bool:
    """Whether drawing again gives the same record. Flaws that a prompt asked away, or without room, may be absent."""
    befall = house.knobs(layout.seeds)
    planted: dict[DefectKind, float] = {defect.kind: defect.strength for defect in layout.defects}
    if any(befall.get(kind) != strength for kind, strength in planted.items()):
        return False
    try:
        poster = draw_poster(layout.brief, house.hand, seed=layout.seeds, knobs=planted, width=layout.width,
                             height=layout.height)  # fmt: skip
    except SalonError:
        return False
    return layout_json(poster.layout) == text
