"""Every decision about a poster before anything has a place: what defects bend and what layout starts from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from salon.render.brief import Align, Brief, Place
from salon.render.chance import Seeds
from salon.render.layout import Face


@dataclass(frozen=True, slots=True)
class Palette:
    """Colors by the part they play; `ink` reads on `ground`, `on_surface` on `surface`, `on_accent` on `accent`."""

    ground: str
    surface: str
    primary: str
    secondary: str
    accent: str
    ink: str
    ink_soft: str
    on_surface: str
    on_accent: str


@dataclass(frozen=True, slots=True)
class TypeScale:
    """Sizes of the text roles in units of the body size: a modular scale."""

    headline: float
    subhead: float
    body: float = 1.0
    small: float = 0.86


@dataclass(frozen=True, slots=True)
class Plan:
    """One poster as intended. `brief` stays what was asked; `texts` is what will be set."""

    brief: Brief
    house: str
    seed: int | Seeds
    width: int
    height: int
    texts: dict[str, str]
    """Role of a text to its words."""
    style: str
    palette: Palette
    display: Face
    """The headline's face."""
    text: Face
    """Everything else's face."""
    arrangement: str
    headline_at: Place
    align: Align
    scale: TypeScale
    margin: float = 0.07
    """Of the shorter side."""
    air: float = 1.0
    """Factor on the distances between blocks."""
    tracking: dict[str, float] = field(default_factory=dict)
    """Role to added letter-space, in units of size."""
    kerning: float = 0.0
    """Standard deviation of random shifts between letters of the headline, in units of size: 0 is the font's own."""
    headline_ink: str = "ink"
    """The color a headline takes where it stands on the ground: ink, primary or accent of the palette, or #rrggbb."""
    cta: Literal["pill", "box", "outline", "line"] = "pill"
    """How the call to action is marked."""
