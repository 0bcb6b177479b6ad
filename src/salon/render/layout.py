"""The record of a poster: every element with its box, type, color, turn and depth, and every planted defect.

Boxes are in pixels of the canvas. `box` is the tight upright rectangle around the ink after turning; `frame` is the
place the element was given, before turning. Text elements carry their lines and words with boxes of their own, from
the shaper's glyph outlines, so they can serve as ground truth for reading and localisation.
"""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from salon.render.brief import Align, Brief
from salon.render.random_streams import Seeds
from salon.study import Noun

Role = Literal[
    "ground", "picture", "panel", "ornament", "headline", "subhead", "body", "cta", "when", "where", "brand", "extra",
]  # fmt: skip
TEXT_ROLES: tuple[Role, ...] = ("headline", "subhead", "body", "cta", "when", "where", "brand")
DefectKind = Literal[
    "low-contrast",
    "clashing-colors",
    "broken-hierarchy",
    "misalignment",
    "crowding",
    "bad-kerning",
    "wrong-font-pairing",
    "misspelling",
    "missing-text",
    "wrong-color",
    "wrong-position",
    "off-mood-style",
    "extra-element",
]
DEFECTS: tuple[DefectKind, ...] = get_args(DefectKind)


class Box(Noun):
    """An upright rectangle."""

    x: float
    y: float
    width: float = Field(ge=0)
    height: float = Field(ge=0)

    @property
    def right(self) -> float:
        """The x of its right edge."""
        return self.x + self.width

    @property
    def bottom(self) -> float:
        """The y of its lower edge."""
        return self.y + self.height

    @property
    def middle(self) -> tuple[float, float]:
        """Its centre."""
        return self.x + self.width / 2, self.y + self.height / 2

    def meets(self, box: Box) -> bool:
        """Whether the two share more than an edge."""
        return self.x < box.right and box.x < self.right and self.y < box.bottom and box.y < self.bottom

    def holds(self, box: Box) -> bool:
        """Whether the box lies inside it."""
        return self.x <= box.x and self.y <= box.y and box.right <= self.right and box.bottom <= self.bottom


class Face(Noun):
    """One cut of a typeface."""

    family: str
    weight: int = Field(default=400, ge=1, le=1000)
    italic: bool = False

    @property
    def key(self) -> str:
        """'Playfair Display:700:italic': how marks name it."""
        return f"{self.family}:{self.weight}" + (":italic" if self.italic else "")


class TextWord(Noun):
    """One word as set, with its ink box."""

    text: str
    box: Box


class TextLine(Noun):
    """One line of text as set."""

    text: str
    box: Box
    baseline: float
    words: tuple[TextWord, ...]


class Lettering(Noun):
    """How a text element is set."""

    text: str
    """As drawn, without line breaks: defects included."""
    asked: str | None
    """As the brief has it; None for words nobody asked for."""
    face: Face
    size: float
    leading: float
    """Distance of baselines in units of size."""
    tracking: float = 0.0
    """Added to every advance, in units of size."""
    align: Align = "left"
    lines: tuple[TextLine, ...]
    effects: tuple[str, ...] = ()
    """Of the nine classic ones where they apply: bold glow gradient_fill highlight italic outline reflection shadow
    underline; else the style's own word."""


class Element(Noun):
    """One thing on the canvas."""

    id: str
    role: Role
    kind: Literal["text", "shape", "picture"]
    box: Box
    frame: Box
    z: int
    rotation: float = 0.0
    """Degrees, clockwise, about the centre of `frame`."""
    color: str | None = None
    """The ink of a text or the main fill of a shape."""
    over: str | None = None
    """What a text stands on: the color its contrast is meant against."""
    opacity: float = 1.0
    lettering: Lettering | None = None
    recipe: str | None = None
    """Which drawing a picture is: 'mountain in Papercut'."""


class Defect(Noun):
    """A flaw planted on purpose."""

    kind: DefectKind
    strength: float = Field(ge=0, le=1)
    elements: tuple[str, ...] = ()
    detail: str
    """What was changed, from what to what."""


class LayoutGrid(Noun):
    """The construction lines text aligns to."""

    margin: float
    columns: int
    gutter: float
    baseline: float


class Layout(Noun):
    """The whole record, as written beside the picture."""

    version: Literal[1] = 1
    width: int
    height: int
    house: str
    seed: int
    kept: dict[str, int] | None = None
    """Of a poster drawn from another one: the decisions it took over, with the seed they were made from."""
    style: str
    arrangement: str
    palette: dict[str, str]
    """Role of a color ('ground', 'ink', 'accent', ...) to '#rrggbb'."""
    grid: LayoutGrid
    brief: Brief
    elements: tuple[Element, ...]
    """Lowest first."""
    defects: tuple[Defect, ...] = ()
    quality: dict[str, float] = Field(default_factory=dict)
    """True quality per criterion in [0, 1], where the house states it."""

    @property
    def seeds(self) -> Seeds:
        """What every decision was drawn from."""
        return Seeds(self.seed, self.kept or {})

    def of_role(self, role: str) -> tuple[Element, ...]:
        """The elements with this role, lowest first."""
        return tuple(element for element in self.elements if element.role == role)
