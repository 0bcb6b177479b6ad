"""The illustrator: every subject of a brief as a scene that fills a box of any shape, and as a bold small mark.

What a subject looks like is data: `assets/motifs/<subject>.svg` (see `drawings`). How a scene is composed is a rule in
one of the modules here. A subject without a rule of its own is shown as a still life of the drawings in its file, so
one file is enough to add a subject.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from salon.errors import BadValue
from salon.render.brief import Subject
from salon.render.layout import Box
from salon.render.motifs.abstract import abstract
from salon.render.motifs.drawings import drawing, drawing_names, fitted
from salon.render.motifs.land import bicycle, city, forest, house, mountain, train
from salon.render.motifs.leisure import ball, camera, film, gift, mask, music
from salon.render.motifs.life import bird, cat, eye, flower, fruit, hands, heart, leaf
from salon.render.motifs.rooms import book, bread, candle, chair, coffee, lamp, robot
from salon.render.motifs.sketch import MotifShape, Sketch, still_life
from salon.render.motifs.sky import balloon, globe, moon, rocket, stars, sun
from salon.render.motifs.water import boat, fish, sea, umbrella

__all__ = ["MotifShape", "emblem", "motif"]

_RULES: dict[str, Callable[[Sketch], None]] = {
    scene.__name__: scene
    for scene in (
        abstract, ball, balloon, bicycle, bird, boat, book, bread, camera, candle, cat, chair, city, coffee, eye, film,
        fish, flower, forest, fruit, gift, globe, hands, heart, house, lamp, leaf, mask, moon, mountain, music, robot,
        rocket, sea, stars, sun, train, umbrella,
    )
}  # fmt: skip
"""Subject to the rule that draws its scene into a sketch."""


def motif(subject: Subject, box: Box, rng: np.random.Generator) -> tuple[MotifShape, ...]:
    """The subject as a scene that fills the box, back to front; nothing reaches over its edge."""
    sketch = Sketch(box, rng)
    if subject in _RULES:
        _RULES[subject](sketch)
    else:
        main, *companions = (name for name in drawing_names(subject) if name not in _emblems(subject))
        still_life(sketch, drawing(subject, main), [(drawing(subject, name), 0.7) for name in companions])
    return sketch.shapes_back_to_front()


def emblem(subject: Subject, box: Box, rng: np.random.Generator) -> tuple[MotifShape, ...]:
    """The subject as one to nine bold shapes, as large as the box allows, in its middle; no backdrop."""
    names = _emblems(subject)
    if subject == "ball":  # of two with even odds, but by another draw than the rest: the posters of a seed stay
        names = (names[0 if rng.random() < 0.5 else 1],)
    name = names[int(rng.integers(len(names)))] if len(names) > 1 else names[0]
    parts = fitted(drawing(subject, name), box)
    return tuple(
        MotifShape(part.path, part.tone, i / len(parts), part.width > 0, part.width) for i, part in enumerate(parts)
    )


@cache
def _emblems(subject: str) -> tuple[str, ...]:
    """The drawings that are bold small marks."""
    names = drawing_names(subject)
    emblems = tuple(name for name in names if name.split("-")[0] == "emblem")
    if not emblems or (len(emblems) == len(names) and subject not in _RULES):
        raise BadValue(
            "a subject needs a drawing called emblem and, without a rule for its scene, others to put on a table",
            found=", ".join(names) or "no drawings",
            where=f"{subject}.svg",
        )
    return emblems
