"""Arrangements: how picture and texts share a canvas."""

from __future__ import annotations

NAMES = (
    "hero-top",
    "hero-bottom",
    "full-bleed",
    "split",
    "centred-stack",
    "big-type",
    "framed",
    "diagonal",
    "corner-grid",
    "band",
    "sidebar",
    "mark-above",
    "mark-left",
    "badge",
)
