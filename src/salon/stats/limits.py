"""Limits and names that settings share with the kernels."""

from __future__ import annotations

from typing import Literal

MAX_ITEMS = 127
"""Ranks are int8."""


LawKind = Literal["uniform", "mallows", "thurstone", "plackett_luce", "factions"]


LEAST_VALUES = 20
"""Values that a reference or a window needs at least: with fewer no shift of any size could alarm at later looks."""
