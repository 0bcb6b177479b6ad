"""What is decided about a poster before anything has a place (`PosterPlan`), and what draws it (`Style`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from salon.render.brief import Align, Brief, Format, Mood, Place, Subject
from salon.render.layout import Box, Face
from salon.render.marks import Fill, Glyphs, Mark
from salon.render.random_streams import Seeds
from salon.render.shapes import rect


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
class PosterPlan:
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


# Styles


@dataclass(frozen=True, slots=True)
class Stage:
    """What a style may look at while it draws."""

    width: int
    height: int
    format: Format
    palette: Palette
    subject: Subject
    mood: Mood
    align: Align
    quiet: tuple[Box, ...]
    """Where text will stand: keep these calm and near the color the text was promised (palette.ground, unless on a
    panel), so that it stays readable."""
    rng: np.random.Generator
    """Fresh for every call, from the plan's seed: the same stage draws the same marks."""

    @property
    def unit(self) -> float:
        """One thousandth of the shorter side: measure strokes and gaps in it, so that sizes scale."""
        return min(self.width, self.height) / 1000


@dataclass(frozen=True, slots=True)
class StyledText:
    """Text as a style draws it, and the effects by name."""

    marks: tuple[Mark, ...]
    effects: tuple[str, ...] = ()


class Style:
    """One visual style: choices, and six methods that draw. A style overrides what it does in its own manner.

    All methods are pure: marks out, nothing kept.
    """

    name: str
    moods: tuple[Mood, ...]
    """Moods it suits, best first."""
    displays: tuple[tuple[str, int], ...]
    """Family and weight for headlines, best first."""
    texts: tuple[tuple[str, int], ...]
    """Family and weight for the rest."""
    case: Literal["upper", "as is"] = "as is"
    """How a headline is set."""
    arrangements: tuple[str, ...]
    """Names in `render.arrangements` that suit it, best first."""
    tracking: float = 0.0
    """Letter-space of headlines, in units of size."""
    scale: float = 1.0
    """How loud the headline is against the default hierarchy."""

    def tune(self, palette: Palette, rng: np.random.Generator) -> Palette:
        """The palette as this style would use it; colors the brief names must stay recognisable."""
        return palette

    def ground(self, stage: Stage) -> tuple[Mark, ...]:
        """The whole canvas, from edge to edge: plain, in the palette's ground."""
        return (Fill(rect(0, 0, stage.width, stage.height), stage.palette.ground),)

    def picture(self, stage: Stage, box: Box) -> tuple[Mark, ...]:
        """The illustration of `stage.subject` inside the box."""
        raise NotImplementedError

    def finish(self, stage: Stage) -> tuple[Mark, ...]:
        """Above picture and panels, below text: borders, grain, scan lines. None, unless a style has one."""
        return ()

    def panel(self, stage: Stage, box: Box) -> tuple[Mark, ...]:
        """What carries text that stands over a picture, filled with palette.surface (or near it)."""
        return (Fill(rect(box.x, box.y, box.width, box.height), stage.palette.surface),)

    def letter(self, stage: Stage, role: str, glyphs: tuple[Glyphs, ...]) -> StyledText:
        """The glyphs of one text element (role given) with the style's treatment: as set, unless a style has one."""
        return StyledText(glyphs)
