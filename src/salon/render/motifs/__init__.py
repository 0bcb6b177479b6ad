"""The illustrator: every subject of a brief as a scene that fills a box of any shape, and as a bold small mark."""

from __future__ import annotations

import numpy as np

from salon.render.brief import Subject
from salon.render.layout import Box
from salon.render.motifs import (
    abstract,
    animals,
    belongings,
    festive,
    flight,
    food,
    fruit,
    heavens,
    home,
    land,
    lights,
    machines,
    people,
    pictures,
    plants,
    play,
    travel,
    water,
)
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
    "fruit": (fruit.fruit, fruit.fruit_mark),
    "coffee": (food.coffee, food.coffee_mark),
    "bread": (food.bread, food.bread_mark),
    "fish": (water.fish, water.fish_mark),
    "bird": (animals.bird, animals.bird_mark),
    "cat": (animals.cat, animals.cat_mark),
    "bicycle": (travel.bicycle, travel.bicycle_mark),
    "boat": (water.boat, water.boat_mark),
    "train": (travel.train, travel.train_mark),
    "balloon": (flight.balloon, flight.balloon_mark),
    "house": (home.house, home.house_mark),
    "lamp": (lights.lamp, lights.lamp_mark),
    "chair": (home.chair, home.chair_mark),
    "book": (belongings.book, belongings.book_mark),
    "music": (play.music, play.music_mark),
    "camera": (pictures.camera, pictures.camera_mark),
    "film": (pictures.film, pictures.film_mark),
    "mask": (festive.mask, festive.mask_mark),
    "ball": (play.ball, play.ball_mark),
    "gift": (festive.gift, festive.gift_mark),
    "candle": (lights.candle, lights.candle_mark),
    "umbrella": (belongings.umbrella, belongings.umbrella_mark),
    "rocket": (flight.rocket, flight.rocket_mark),
    "robot": (machines.robot, machines.robot_mark),
    "hands": (people.hands, people.hands_mark),
    "heart": (festive.heart, festive.heart_mark),
    "eye": (people.eye, people.eye_mark),
    "globe": (machines.globe, machines.globe_mark),
}
"""Subject to what draws its scene into a sketch and what draws its mark."""


def motif(subject: Subject, box: Box, rng: np.random.Generator) -> tuple[Shape, ...]:
    """The subject as a scene that fills the box, back to front; nothing reaches over its edge."""
    sketch = Sketch(box, rng)
    scene, _ = _SUBJECTS[subject]
    scene(sketch)
    return sketch.done()


def emblem(subject: Subject, box: Box, rng: np.random.Generator) -> tuple[Shape, ...]:
    """The subject as one to nine bold shapes, as large as the box allows, in its middle; no backdrop."""
    _, mark = _SUBJECTS[subject]
    parts = fitted(mark(rng), box)
    return tuple(
        Shape(part.path, part.tone, i / len(parts), part.width > 0, part.width) for i, part in enumerate(parts)
    )
