"""Measurements as scorers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from salon.errors import BadValue
from salon.judge.measurements.seen import EXTREME, Seen
from salon.judge.measurements.table import MEASUREMENTS, Measurement
from salon.judge.scorers.picture import PictureScorer, Result, Scored, Shown, Unscored
from salon.models.kept import Kept
from salon.models.ocr import Reading, remembered_reading
from salon.study.scorer import ScorerCard
from salon.study.signature import Signature

VERSION = 2
"""Of the measurements' formulas; a change of any of them makes old scores strangers to new ones."""


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
        return [_result(rule, Seen(one.image, one.prompt, partial(kept_reading, one, memory))) for one in shown]

    return PictureScorer(name, card, signature, look, batch=1)


def _result(rule: Measurement, seen: Seen) -> Result:
    if seen.is_extreme:
        return Unscored(EXTREME)
    value = rule.measure(seen)
    return Unscored(rule.gap) if value is None else Scored(round(float(value), 6))


def kept_reading(shown: Shown, kept: Kept) -> Reading:
    """The text in a picture, read once whoever asks."""
    return remembered_reading(shown.image, shown.sha256, kept)
