"""The illustrator: every subject of a brief as a scene that fills a box of any shape, and as a bold small mark."""

from __future__ import annotations

import numpy as np

from salon.render.brief import Subject
from salon.render.layout import Box
from salon.render.motifs import abstract, heavens, land, plants, water
from salon.render.motifs.sketch import Shape, Sketch, fitted

__all__ = ["Shape", "emblem", "motif"]

_SUBJECTS = {
    "abstract": (abstract.abstract, abstract.abstract_mark),
    "mountain": (land.mountain, land.mountain_mark),
    "sea": (water.sea, water.sea_mark),
    "city": (land.city, land.city_mark),
    "forest": (land.forest, land.forest_mark),
    "sun": (heavens.sun, heavens.sun_mark),
    "moon": (heavens.moon, heavens.moon_mark),
    "stars": (heavens.stars, heavens.stars_mark),
    "flower": (plants.flower, plants.flower_mark),
    "leaf": (plants.leaf, plants.leaf_mark),
    "fish": (water.fish, water.fish_mark),
    "boat": (water.boat, water.boat_mark),
}
"""Subject to what draws its scene into a sketch and what draws its mark."""


def motif(subject: Subject, box: Box, rng: np.random.Generator) -> tuple[Shape, ...]:
    """The subject as a scene that fills the box, back to front; nothing reaches over its edge."""
    sketch = Sketch(box, rng)
    scene, _ = _SUBJECTS.get(subject, _SUBJECTS["abstract"])
    scene(sketch)
    return sketch.done()


def emblem(subject: Subject, box: Box, rng: np.random.Generator) -> tuple[Shape, ...]:
    """The subject as one to nine bold shapes, as large as the box allows, in its middle; no backdrop."""
    _, mark = _SUBJECTS.get(subject, _SUBJECTS["abstract"])
    parts = fitted(mark(rng), box)
    return tuple(
        Shape(part.path, part.tone, i / len(parts), part.width > 0, part.width) for i, part in enumerate(parts)
    )
