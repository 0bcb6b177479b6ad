"""What a visual style is: a handful of choices, and four functions that draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from salon.render.brief import Align, Format, Mood, Subject
from salon.render.layout import Box
from salon.render.marks import Glyphs, Mark
from salon.render.plan import Palette


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
class Lettered:
    """Text as a style draws it, and the effects by name."""

    marks: tuple[Mark, ...]
    effects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Style:
    """One visual style. All drawing functions are pure: marks out, nothing kept."""

    name: str
    moods: tuple[Mood, ...]
    """Moods it suits, best first."""
    displays: tuple[tuple[str, int], ...]
    """Family and weight for headlines, best first."""
    texts: tuple[tuple[str, int], ...]
    """Family and weight for the rest."""
    case: Literal["upper", "as is"]
    """How a headline is set."""
    arrangements: tuple[str, ...]
    """Names in `render.arrangements` that suit it, best first."""
    tune: Callable[[Palette, np.random.Generator], Palette]
    """The palette as this style would use it; colors the brief names must stay recognisable."""
    ground: Callable[[Stage], tuple[Mark, ...]]
    """The whole canvas, from edge to edge."""
    picture: Callable[[Stage, Box], tuple[Mark, ...]]
    """The illustration of `stage.subject` inside the box."""
    finish: Callable[[Stage], tuple[Mark, ...]]
    """Above picture and panels, below text: borders, grain, scan lines. May be empty."""
    panel: Callable[[Stage, Box], tuple[Mark, ...]]
    """What carries text that stands over a picture, filled with palette.surface (or near it)."""
    letter: Callable[[Stage, str, tuple[Glyphs, ...]], Lettered]
    """The glyphs of one text element (role given) with the style's treatment."""
    tracking: float = 0.0
    """Letter-space of headlines, in units of size."""
    scale: float = 1.0
    """How loud the headline is against the default hierarchy."""
