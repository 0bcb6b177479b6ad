"""Faces by what can be seen of them: from the renderer's catalogue, whose entries are held against the font files."""

from __future__ import annotations

from salon.render.layout import Face
from salon.render.typeset.families import FAMILIES, Family

TWINS = ("Heebo",)
"""Families whose Latin letters are those of another one."""
LATIN: tuple[Family, ...] = tuple(
    family
    for family in FAMILIES.values()
    if "latin" in family.scripts and not {"cjk", "arabic"} & set(family.scripts) and family.name not in TWINS
)
PLAIN: tuple[Face, ...] = tuple(
    Face(family=name)
    for name in ("Inter", "Lora", "Noto Serif", "Archivo", "Work Sans", "Zilla Slab", "EB Garamond", "DM Sans",
                 "Roboto Flex", "Poppins")
)  # fmt: skip
"""Faces for reading, upright and of usual weight."""
FANCY: tuple[Face, ...] = tuple(
    Face(family=name, weight=weight)
    for name, weight in (
        ("Abril Fatface", 400), ("Playfair Display", 900), ("Bebas Neue", 400), ("Bungee", 400), ("Luckiest Guy", 400),
        ("Orbitron", 600), ("Righteous", 400), ("Russo One", 400), ("Syne", 700), ("Unbounded", 500),
        ("Alfa Slab One", 400), ("Dancing Script", 600), ("Lobster", 400), ("Pacifico", 400), ("Yellowtail", 400),
        ("Caveat", 600), ("Permanent Marker", 400), ("Space Mono", 700), ("Press Start 2P", 400), ("Anton", 400),
        ("Barlow Condensed", 300), ("Josefin Sans", 200), ("Cinzel", 500), ("Archivo Condensed", 800),
    )
)  # fmt: skip
"""Faces that are harder to read: display, script, hand, very thin and very narrow ones."""


def as_seen(text: str, face: Face) -> str:
    """The text as a reader takes it from this face: capitals where its small letters look like them."""
    return text.upper() if FAMILIES[face.family].caps else text
