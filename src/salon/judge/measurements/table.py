"""Every measurement in one table: which function, what it tells, and the range of its values.

Functions are imported when they are asked for, so that naming measurements costs nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

_RESTS_ON = {"text": "salon.models.ocr:READER", "eye": "salon.models.saliency_map:SALIENCY"}


class Measurement(NamedTuple):
    """One rule."""

    where: str
    """Module of this folder, and function: from what is seen to a number, or None."""
    tells: str
    low: float | None
    high: float | None
    prompt: bool
    """Whether it needs to know what was asked for."""
    by: Literal["text", "eye", "pixels"]
    """What it goes by: text that was read, what draws the eye, or pixels alone."""
    gap: str
    """Why a picture may have no value."""

    @property
    def measure(self) -> Callable[[Any], float | None]:
        """The function."""
        measure: Callable[[Any], float | None] = _import_object(f"salon.judge.measurements.{self.where}")
        return measure

    @property
    def rests_on(self) -> str:
        """The package it rests on, with its version; or pixels."""
        return str(_import_object(_RESTS_ON[self.by])) if self.by in _RESTS_ON else self.by


def _import_object(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


MEASUREMENTS: dict[str, Measurement] = {
    "words": Measurement("text:word_accuracy", "Share of the words asked for that can be read.", 0, 1, True, "text",
                         "the prompt quotes no words"),
    "contrast": Measurement("pixels:text_contrast", "WCAG contrast that three quarters of the text have at least.", 1,
                            21, True, "text", "no text is found, and none was asked for"),
    "palette": Measurement("pixels:palette_match", "How near the colors are to those the brief names.", None, 1, True,
                           "pixels", "the brief names no colors, or only grays"),
    "alignment": Measurement("text:alignment", "Whether blocks of text share their edges or middles.", 0, 1, False,
                             "text", "fewer than two blocks of text are found"),
    "hierarchy": Measurement("text:hierarchy", "How much larger the largest line is than the text around it.", 0, None,
                             False, "text", "fewer than two lines of text are found"),
    "room": Measurement("text:room", "Space around the text.", 0, None, False, "text", "no text is found"),
    "place": Measurement("text:headline_place", "Whether the headline is where the brief asks for it.", 0, 1, True,
                         "text", "the brief names no place, or no headline is found"),
    "spacing": Measurement("text:even_spacing", "How even the gaps between the headline's letters are.", None, 0,
                           True, "text", "no headline of separate letters is found"),
    "balance": Measurement("pixels:balance", "How near the centre of what draws the eye is to the middle.", 0, 1,
                           False, "eye", "the picture is one plain color"),
    "naturalness": Measurement("naturalness:naturalness", "How much its fine structure is like that of clean drawn "
                               "posters.", None, 0, False, "pixels",
                               "the picture is one plain color, or smaller than 96 pixels"),
}  # fmt: skip
