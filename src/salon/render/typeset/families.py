"""The catalogue of typefaces: what each family is, by attributes a reader could tick off by eye.

Data only, so that styles and benchmarks can choose a face without loading a font. The attributes that can be measured
(monospaced, capitals only, condensed or wide) are checked against the fonts themselves in the tests.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Literal, TypedDict, Unpack

from salon.errors import BadValue

Kind = Literal["serif", "sans", "slab", "display", "script", "hand", "mono", "pixel"]
Width = Literal["condensed", "normal", "wide"]
Script = Literal["latin", "greek", "cyrillic", "arabic", "hebrew", "cjk", "devanagari", "thai"]

THIN_TO_BLACK = (100, 200, 300, 400, 500, 600, 700, 800, 900)
SINGLE_CUT = (400,)


@dataclass(frozen=True, slots=True)
class Family:
    """One typeface family and where it comes from."""

    name: str
    package: str
    """The fontpkg family it is read from, or the file's stem in the CJK pack."""
    kind: Kind
    weights: tuple[int, ...]
    """The cuts there are. For a variable family the ends of its range count, and every weight between is exact."""
    variable: bool = False
    looks: int | None = None
    """For a family of one cut: the weight it has to the eye, whatever the file says."""
    italic: bool = False
    """Whether it has drawn italics; otherwise they are slanted."""
    serif: bool = False
    """Whether strokes end in serifs, whatever the kind."""
    width: Width = "normal"
    caps: bool = False
    """Lower-case letters look like capitals."""
    joined: bool = False
    """Letters touch their neighbours: letter-spacing tears them apart, so tracking is ignored."""
    scripts: tuple[Script, ...] = ("latin",)
    axes: dict[str, float] = field(default_factory=dict)
    """Axes held at one place, besides weight: the optical size, the width."""

    def nearest(self, weight: int) -> int:
        """The weight it can be set in that is closest to `weight`; of two equally close, the heavier."""
        if self.variable:
            return min(max(weight, self.weights[0]), self.weights[-1])
        return min(self.weights, key=lambda cut: (abs(cut - weight), -cut))


def _weights(lightest: int, heaviest: int) -> tuple[int, ...]:
    return tuple(range(lightest, heaviest + 1, 100))


GREEK_CYRILLIC: tuple[Script, ...] = ("latin", "greek", "cyrillic")
LATIN_CYRILLIC: tuple[Script, ...] = ("latin", "cyrillic")


class _Traits(TypedDict, total=False):
    """The fields of a family that have defaults."""

    looks: int
    italic: bool
    serif: bool
    width: Width
    caps: bool
    joined: bool
    scripts: tuple[Script, ...]
    axes: dict[str, float]


def _cut(
    name: str,
    kind: Kind,
    weights: tuple[int, ...] = SINGLE_CUT,
    *,
    package: str | None = None,
    **traits: Unpack[_Traits],
) -> Family:
    """A family of static files."""
    return Family(name, package or name, kind, weights, **traits)


def _variable(
    name: str, kind: Kind, lightest: int, heaviest: int, *, package: str | None = None, **traits: Unpack[_Traits]
) -> Family:
    """A family with a weight axis."""
    return Family(name, package or name, kind, _weights(lightest, heaviest), variable=True, **traits)


_ALL = (
    # Serif. Optical sizes are held near those of a poster's headline and sub-head.
    _cut("Abril Fatface", "serif", looks=900, serif=True),
    _variable("Bodoni Moda", "serif", 400, 900, italic=True, serif=True, axes={"opsz": 28}),
    _variable("Cinzel", "serif", 400, 900, serif=True, caps=True),
    _variable("Cormorant Garamond", "serif", 300, 700, italic=True, serif=True, scripts=LATIN_CYRILLIC),
    _cut("DM Serif Display", "serif", looks=700, italic=True, serif=True),
    _variable("EB Garamond", "serif", 400, 800, italic=True, serif=True, scripts=GREEK_CYRILLIC),
    _variable("Fraunces", "serif", 100, 900, italic=True, serif=True, axes={"opsz": 72, "SOFT": 0, "WONK": 0}),
    _variable("Lora", "serif", 400, 700, italic=True, serif=True, scripts=LATIN_CYRILLIC),
    _variable("Noto Serif", "serif", 100, 900, italic=True, serif=True, scripts=GREEK_CYRILLIC),
    _variable("Playfair Display", "serif", 400, 900, italic=True, serif=True, scripts=LATIN_CYRILLIC),
    # Sans.
    _variable("Archivo", "sans", 100, 900, italic=True),
    _variable("Archivo Condensed", "sans", 100, 900, italic=True, package="Archivo", width="condensed",
              axes={"wdth": 68}),
    _variable("Archivo Expanded", "sans", 100, 900, italic=True, package="Archivo", width="wide", axes={"wdth": 125}),
    _cut("Archivo Black", "sans", looks=900, width="wide"),
    _cut("Barlow Condensed", "sans", THIN_TO_BLACK, italic=True, width="condensed"),
    _cut("Chakra Petch", "sans", _weights(300, 700), italic=True, scripts=("latin", "thai")),
    _variable("DM Sans", "sans", 100, 1000, italic=True, axes={"opsz": 24}),
    _variable("Fredoka", "sans", 300, 700, scripts=("latin", "hebrew")),
    _variable("Heebo", "sans", 100, 900, scripts=("latin", "hebrew")),
    _variable("Inter", "sans", 100, 900, italic=True, scripts=GREEK_CYRILLIC, axes={"opsz": 24}),
    _variable("Josefin Sans", "sans", 100, 700, italic=True),
    _variable("Montserrat", "sans", 100, 900, italic=True, width="wide", scripts=LATIN_CYRILLIC),
    _variable("Oswald", "sans", 200, 700, width="condensed", scripts=LATIN_CYRILLIC),
    _cut("Poppins", "sans", THIN_TO_BLACK, italic=True, scripts=("latin", "devanagari")),
    _variable("Roboto Flex", "sans", 100, 1000, italic=True, scripts=GREEK_CYRILLIC, axes={"opsz": 28}),
    _variable("Space Grotesk", "sans", 300, 700),
    _variable("Work Sans", "sans", 100, 900, italic=True),
    # Display.
    _cut("Anton", "display", looks=800, width="condensed"),
    _cut("Bebas Neue", "display", looks=600, width="condensed", caps=True),
    _cut("Bungee", "display", looks=900, width="wide", caps=True),
    _cut("Luckiest Guy", "display", looks=900, caps=True),
    _variable("Orbitron", "display", 400, 900, width="wide"),
    _cut("Righteous", "display", looks=700),
    _cut("Russo One", "display", looks=800, scripts=LATIN_CYRILLIC),
    _variable("Syne", "display", 400, 800, width="wide"),
    _variable("Unbounded", "display", 200, 900, width="wide", scripts=LATIN_CYRILLIC),
    # Slab.
    _cut("Alfa Slab One", "slab", looks=900, serif=True, width="wide"),
    _cut("Zilla Slab", "slab", _weights(300, 700), italic=True, serif=True),
    # Script and hand.
    _variable("Dancing Script", "script", 400, 700, joined=True),
    _cut("Great Vibes", "script", looks=300, joined=True, scripts=LATIN_CYRILLIC),
    _cut("Lobster", "script", looks=700, joined=True, scripts=LATIN_CYRILLIC),
    _cut("Pacifico", "script", looks=700, joined=True, scripts=LATIN_CYRILLIC),
    _cut("Yellowtail", "script", looks=500, joined=True),
    _variable("Caveat", "hand", 400, 700, scripts=LATIN_CYRILLIC),
    _cut("Permanent Marker", "hand", looks=800, caps=True),
    # Monospaced and pixel.
    _variable("JetBrains Mono", "mono", 100, 800, italic=True, scripts=GREEK_CYRILLIC),
    _cut("Space Mono", "mono", (400, 700), italic=True),
    _cut("Press Start 2P", "pixel", looks=900, width="wide", scripts=GREEK_CYRILLIC),
    # Other scripts.
    _cut("Amiri", "serif", (400, 700), italic=True, serif=True, scripts=("latin", "arabic")),
    _variable("Noto Sans Arabic", "sans", 100, 900, scripts=("latin", "arabic")),
    _variable("Noto Sans JP", "sans", 100, 900, package="NotoSansJP", scripts=("cjk", "latin")),
    _variable("Noto Sans KR", "sans", 100, 900, package="NotoSansKR", scripts=("cjk", "latin")),
    _variable("Noto Sans SC", "sans", 100, 900, package="NotoSansSC", scripts=("cjk", "latin")),
    _variable("Noto Sans TC", "sans", 100, 900, package="NotoSansTC", scripts=("cjk", "latin")),
)  # fmt: skip

FAMILIES: dict[str, Family] = {family.name: family for family in _ALL}


def find_family(name: str) -> Family:
    """The family of this name, or BadValue with the nearest names."""
    if name in FAMILIES:
        return FAMILIES[name]
    by_lower = {family.lower(): family for family in FAMILIES}
    near = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)
    close = ", ".join(repr(by_lower[key]) for key in near)
    raise BadValue(
        "the name of a typeface in the catalogue is needed",
        found=repr(name),
        remedy=f"nearest: {close}" if near else f"one of the {len(FAMILIES)} in docs/methods/typesetting.md",
    )
