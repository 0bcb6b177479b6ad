"""Measurements as scorers, and what each of them measures, in one table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from salon.errors import BadValue
from salon.judge.measurements.balance import balance
from salon.judge.measurements.boxes import alignment, headline_place, hierarchy, room
from salon.judge.measurements.contrast import text_contrast
from salon.judge.measurements.naturalness import naturalness
from salon.judge.measurements.palette import palette_match
from salon.judge.measurements.seen import Seen
from salon.judge.measurements.spacing import even_spacing
from salon.judge.measurements.words import word_accuracy
from salon.judge.scorers.picture import PictureScorer, Result, Scored, Shown, Unscored
from salon.models.kept import Kept
from salon.models.ocr import READER, Reading, remembered_reading
from salon.models.saliency import SALIENCY
from salon.study.scorer import ScorerCard
from salon.study.signature import Signature

VERSION = 1
"""Of the measurements' formulas; a change of any of them makes old scores strangers to new ones."""


class Measurement(NamedTuple):
    """One rule: the function, what it measures, and the range of its values."""

    measure: Callable[[Seen], float | None]
    tells: str
    low: float | None
    high: float | None
    prompt: bool
    """Whether it needs to know what was asked for."""
    rests_on: str
    gap: str
    """Why a picture may have no value."""


MEASUREMENTS: dict[str, Measurement] = {
    "words": Measurement(word_accuracy, "Share of the words asked for that can be read.", 0, 1, True, READER,
                         "the prompt quotes no words"),
    "contrast": Measurement(text_contrast, "WCAG contrast that three quarters of the text have at least.", 1, 21, True,
                            READER, "no text is found, and none was asked for"),
    "palette": Measurement(palette_match, "How near the colors are to those the brief names.", None, 1, True, "pixels",
                           "the brief names no colors, or only grays"),
    "alignment": Measurement(alignment, "Whether blocks of text share their edges or middles.", 0, 1, False, READER,
                             "fewer than two blocks of text are found"),
    "hierarchy": Measurement(hierarchy, "How much larger the largest line is than the text around it.", 0, None, False,
                             READER, "fewer than two lines of text are found"),
    "room": Measurement(room, "Space around the text.", 0, None, False, READER, "no text is found"),
    "place": Measurement(headline_place, "Whether the headline is where the brief asks for it.", 0, 1, True, READER,
                         "the brief names no place, or no headline is found"),
    "spacing": Measurement(even_spacing, "How even the gaps between the headline's letters are.", None, 0, True, READER,
                           "no headline of separate letters is found"),
    "balance": Measurement(balance, "How near the centre of what draws the eye is to the middle.", 0, 1, False,
                           SALIENCY, "the picture is empty"),
    "naturalness": Measurement(naturalness, "How much its fine structure is like that of clean drawn posters.", None, 0,
                               False, "pixels", "the picture is smaller than 96 pixels"),
}  # fmt: skip


def measured(name: str, kept: Kept | None = None) -> PictureScorer:
    """The scorer of one measurement; readings are remembered in `kept`, so that the next one need not read again."""
    if name not in MEASUREMENTS:
        raise BadValue("the name of a measurement is needed", found=repr(name), remedy=", ".join(MEASUREMENTS))
    rule = MEASUREMENTS[name]
    card = ScorerCard(
        reads="image and prompt" if rule.prompt else "image",
        low=rule.low,
        high=rule.high,
        measures=rule.tells,
        licence="Apache-2.0",
        source="docs/methods/measurements.md",
    )
    signature = Signature(method=f"measure-{name}", settings={"formula": VERSION, "rests on": rule.rests_on})
    memory = kept or Kept()

    def look(shown: Sequence[Shown]) -> list[Result]:
        return [_result(rule, Seen(one.image, one.prompt, lambda one=one: kept_reading(one, memory))) for one in shown]

    return PictureScorer(name, card, signature, look, batch=1)


def _result(rule: Measurement, seen: Seen) -> Result:
    value = rule.measure(seen)
    return Unscored(rule.gap) if value is None else Scored(round(float(value), 6))


def kept_reading(shown: Shown, kept: Kept) -> Reading:
    """The text in a picture, read once whoever asks."""
    return remembered_reading(shown.image, shown.sha256, kept)
