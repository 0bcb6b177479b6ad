"""The judge that looks at pixels alone: it reads the text in a picture and measures colors, places and contrast."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from salon.judge.measurements.seen import Seen
from salon.judge.measuring_judge import Look, MeasuringJudge
from salon.judge.pixel_rules import VERSION, Finding, by_pixels
from salon.models.kept import Kept
from salon.models.ocr import READER, remembered_reading
from salon.store.pictures import read_picture
from salon.study import Study
from salon.study.point import Point
from salon.study.signature import Signature


def pixel_judge(
    name: str, study: Study, points: Sequence[Point], *, kept: Kept | None = None, processes: int | None = None
) -> MeasuringJudge:
    """A judge that answers the rules of `points` from the pictures of `study`."""
    method = Signature(method="pixels", settings={"rules": VERSION, "reader": READER})
    return MeasuringJudge(name, study, points, method=method, look=look_at_pixels, kept=kept, processes=processes)


def look_at_pixels(look: Look) -> list[Finding]:
    """What the picture says to each rule; it is read once, if a rule is about its text."""
    picture = read_picture(look.place)
    seen = Seen(picture.image, None, lambda: remembered_reading(picture.image, picture.sha256, _opened(look.kept)))
    return [by_pixels(rule, seen) for rule in look.rules]


@cache
def _opened(path: Path) -> Kept:
    """One connection for each process and file."""
    return Kept(path)
