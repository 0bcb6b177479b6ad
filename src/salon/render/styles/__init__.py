"""The seventeen visual styles, a class each; `style_named` loads its module when it is first needed."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from salon.render.plan import Style

_MODULES = {
    "Acid Graphics": "liquid",
    "Cinema 4D": "plastic",
    "Cyberpunk": "neon",
    "Diffuse Glow": "liquid",
    "Flat Design": "plain",
    "Glitch Art": "screen",
    "Illustrative": "handmade",
    "Japanese": "east_asian",
    "Memphis": "plastic",
    "Minimalist": "plain",
    "New Chinese Aesthetic": "east_asian",
    "Papercut": "handmade",
    "Pixel Art": "screen",
    "Pop Art": "press",
    "Retro": "press",
    "Typographic Minimalism": "plain",
    "Vaporwave": "neon",
}
"""Style to the module with its class, which is called by the same name without spaces."""


@cache
def style_named(name: str) -> Style:
    """The style called `name`, one of `brief.STYLES`."""
    module = import_module(f"salon.render.styles.{_MODULES[name]}")
    style: Style = getattr(module, name.replace(" ", ""))()
    return style
