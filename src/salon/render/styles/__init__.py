"""The seventeen visual styles, each a module with one `STYLE`; `style_named` loads it when it is first needed."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from salon.render.brief import STYLES
from salon.render.plan import Style


@cache
def style_named(name: str) -> Style:
    """The style called `name`, one of `brief.STYLES`."""
    if name not in STYLES:
        raise KeyError(name)
    module = import_module(f"salon.render.styles.{name.lower().replace(' ', '_')}")
    style: Style = module.STYLE
    return style
