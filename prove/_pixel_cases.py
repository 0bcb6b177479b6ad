"""Posters of the built-in briefs, the points they give rise to, and what pixels and records say to them."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from PIL import Image

from salon.generate import builtin_briefs
from salon.generate.houses import HOUSES, poster_seed
from salon.judge import answer_from_layout, read_rule
from salon.judge.measurements.pixels import PictureView
from salon.judge.point_rules import answer_from_pixels
from salon.models import ResultCache, remembered_reading
from salon.render import LABELS, Brief, draw_poster, paint_png

WIDTH, HEIGHT = 736, 1040
SEED = 1
"""Tolerances were set on posters drawn with seed 0."""


class Answer(NamedTuple):
    """One point of one poster, answered twice."""

    kind: str
    brief: str
    record: bool
    pixels: bool


def rules_of(brief: Brief) -> Iterator[tuple[str, dict[str, object]]]:
    """Rows of the table, and rules for them that the brief gives rise to."""
    texts = {role: getattr(brief, role) for role in LABELS if getattr(brief, role)}
    for role, text in texts.items():
        yield ("text: headline" if role == "headline" else "text: other"), {"kind": "text", "text": text}
    yield "only", {"kind": "only", "texts": list(texts.values())}
    for number, color in enumerate(brief.palette):
        yield ("color" if number else "color: leads"), {"kind": "color", "color": color, "leads": number == 0}
    for at in ("top", "middle", "bottom"):
        yield "place", {"kind": "place", "text": brief.headline, "at": at}
    yield "largest: 1.5 times", {"kind": "largest", "text": brief.headline, "times": 1.5}
    for least in (0.05, 0.08):
        yield f"size: {least:.0%}", {"kind": "size", "text": brief.headline, "least": least}
    for least in (3, 4.5):
        yield f"contrast: {least:g}", {"kind": "contrast", "least": least}
    for least in (0.03, 0.05):
        yield f"margin: {least:.0%}", {"kind": "margin", "texts": list(texts.values()), "least": least}


def cases() -> list[tuple[Brief, str]]:
    """Every fourth brief but those of logos, by the house that does a little of everything wrong, and by another."""
    others = [name for name in HOUSES if name != "apprentice"]
    briefs = [brief for brief in builtin_briefs() if brief.format != "logo"][::4]
    return [(brief, name) for k, brief in enumerate(briefs) for name in ("apprentice", others[k % len(others)])]


def answers(case: tuple[Brief, str]) -> list[Answer]:
    """Every point of one poster."""
    brief, name = case
    house, seed = HOUSES[name], poster_seed(name, brief.id, SEED)
    poster = draw_poster(brief, house.habits, seed=seed, knobs=house.knobs(seed), width=WIDTH, height=HEIGHT)
    data = paint_png(poster.layers, WIDTH, HEIGHT)
    image = Image.open(io.BytesIO(data)).convert("RGB")
    seen = PictureView(image, None, lambda: remembered_reading(image, hashlib.sha256(data).hexdigest(), _kept()))
    found = []
    for kind, record in rules_of(brief):
        rule = read_rule(record, where=brief.id)
        found.append(
            Answer(kind, brief.id, answer_from_layout(rule, poster.layout).holds, answer_from_pixels(rule, seen).holds)
        )
    return found


@cache
def _kept() -> ResultCache:
    return ResultCache()
