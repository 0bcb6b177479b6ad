"""What the record of a drawn poster says beyond the rules of judges: which motif it shows, how its lettering looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from salon.bench.posters.vocabulary import ATTRIBUTES
from salon.judge.pixel_rules import Finding
from salon.render.layout import Layout, Lettering
from salon.render.typeset.families import FAMILIES, Family

DRAWN_ONLY = ("picture",)
"""Kinds of rules that only the record answers: which motif a picture shows is beyond a measurement of pixels."""
THIN = 200
"""The heaviest weight that counts as thin."""


def layout_picture(rule: Mapping[str, Any], layout: Layout) -> Finding:
    """Whether the motif of `rule` was drawn."""
    drawn = [element.recipe or "" for element in layout.of_role("picture")]
    return Finding(any(one.startswith(f"{rule.get('of')} in ") for one in drawn), ", ".join(drawn) or "no picture")


def layout_attributes(layout: Layout) -> list[str]:
    """The attributes of the vocabulary that the faces settle; the other 29 a record does not know."""
    letterings = [element.lettering for element in layout.elements if element.lettering is not None]
    found = {name for one in letterings for name, has in _ATTRIBUTES.items() if has(one, FAMILIES[one.face.family])}
    return [name for name in ATTRIBUTES if name in found]


_ATTRIBUTES: dict[str, Callable[[Lettering, Family], bool]] = {
    "capitals": lambda one, family: family.caps or one.text.isupper(),
    "cursive": lambda one, family: family.kind == "script",
    "display": lambda one, family: family.kind == "display",
    "italic": lambda one, family: one.face.italic,
    "monospace": lambda one, family: family.kind == "mono",
    "serif": lambda one, family: family.serif or family.kind in ("serif", "slab"),
    "thin": lambda one, family: (family.looks or one.face.weight) <= THIN,
    "wide": lambda one, family: family.width == "wide",
}
