"""Arrangements: how picture and texts share a canvas.

Each is a function that fills a `Sheet` and raises `NoRoom` when the texts are too much for it. It obeys the plan's
alignment and puts the headline's centre into the third of the canvas that the plan names.
"""

from __future__ import annotations

from salon.render.arrangements.arrangement import Arrangement
from salon.render.arrangements.columns import COLUMNS
from salon.render.arrangements.heroes import HEROES
from salon.render.arrangements.loud import LOUD
from salon.render.arrangements.stacks import STACKS
from salon.render.brief import Format, Place

__all__ = ["ARRANGEMENTS", "Arrangement", "suitable"]

ARRANGEMENTS: dict[str, Arrangement] = {a.name: a for a in (*HEROES, *COLUMNS, *STACKS, *LOUD)}


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
