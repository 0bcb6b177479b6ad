"""Illustrations: every subject in boxes of every shape keeps to its box, fills it, and is drawn anew by each seed."""

from __future__ import annotations

import numpy as np
import pytest

from salon.render import SUBJECTS, Box, Fill, Group, Layer, MotifShape, Stroke, blob, circle, emblem, rect, ring, star
from salon.render.motifs import motif
from salon.render.motifs.drawings import extent
from salon.render.motifs.sketch import cut
from salon.render.paint.raster import paint
from salon.render.shapes import moved

SIZES = {"portrait": (300, 400), "square": (300, 300), "wide": (533, 300), "strip": (160, 400)}
INKS = ("#ffffff", "#cccccc", "#999999", "#333333", "#cc3333", "#ffeeaa")


def box(name: str, scale: float = 1.0) -> Box:
    """A box away from the origin, so that drawings that forget where they are fall out of it."""
    width, height = SIZES[name]
    return Box(x=700.0, y=900.0, width=width * scale, height=height * scale)


def seeded(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def sides(shape: MotifShape) -> tuple[float, float, float, float]:
    left, top, right, bottom = extent([shape.path])
    half = shape.width / 2 if shape.line else 0.0
    return left - half, top - half, right + half, bottom + half


def pixels(shapes: tuple[MotifShape, ...], within: Box, scale: float = 1.0) -> np.ndarray:
    """The shapes in one ink per tone on white, the box's corner at the origin."""
    marks = []
    for shape in shapes:
        path = moved(shape.path, -within.x, -within.y)
        marks.append(Stroke(path, INKS[shape.tone], shape.width) if shape.line else Fill(path, INKS[shape.tone]))
    ground = Fill(rect(0, 0, within.width, within.height), "#ffffff")
    return paint([Layer("picture", (ground, *marks))], round(within.width), round(within.height), scale)


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_scene_stays_in_its_box_in_tones_and_depths_that_exist_back_to_front(subject):
    for name in SIZES:
        for seed in range(4):
            within = box(name)
            shapes = motif(subject, within, seeded(seed))
            edges = np.array([sides(shape) for shape in shapes])
            assert (edges[:, :2].min(axis=0) >= (within.x - 1e-6, within.y - 1e-6)).all()
            assert (edges[:, 2:].max(axis=0) <= (within.right + 1e-6, within.bottom + 1e-6)).all()
            assert {shape.tone for shape in shapes} <= set(range(6))
            depths = [shape.depth for shape in shapes]
            assert depths == sorted(depths)
            assert 0 <= depths[0] <= depths[-1] <= 1


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_same_seed_draws_the_same_scene_and_others_draw_siblings(subject):
    within = box("portrait")
    scenes = [motif(subject, within, seeded(seed)) for seed in (0, 0, 1, 2, 3)]
    assert scenes[0] == scenes[1]
    assert len(set(scenes)) == 4


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_scene_is_more_than_its_backdrop_and_reaches_all_sides_in_three_tones_or_more(subject):
    for name in SIZES:
        within = box(name)
        image = pixels(motif(subject, within, seeded(5)), within)
        drawn = (image < 250).any(axis=2)
        assert drawn.mean() > 0.25, name
        assert np.ptp(np.flatnonzero(drawn.any(axis=0))) > 0.8 * within.width, name
        assert np.ptp(np.flatnonzero(drawn.any(axis=1))) > 0.6 * within.height, name
        _, counts = np.unique(image.astype(int) @ (65536, 256, 1), return_counts=True)
        assert (counts > 0.01 * drawn.size).sum() >= 3, name


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_scene_in_a_box_twice_as_large_is_the_same_scene_twice_as_large(subject):
    small, large = box("square"), box("square", 2.0)
    a = pixels(motif(subject, small, seeded(3)), small).astype(float)
    b = pixels(motif(subject, large, seeded(3)), large, scale=0.5).astype(float)
    assert np.abs(a - b).mean() < 2.5


@pytest.mark.parametrize("subject", SUBJECTS)
def test_a_mark_is_a_few_bold_shapes_that_just_fit_their_box_and_survive_sixty_four_pixels(subject):
    within = Box(x=20.0, y=30.0, width=64.0, height=64.0)
    for seed in range(4):
        shapes = emblem(subject, within, seeded(seed))
        assert 1 <= len(shapes) <= 9
        assert all(shape.tone in (1, 2, 3, 4, 5) for shape in shapes)
        edges = np.array([sides(shape) for shape in shapes])
        left, top = edges[:, :2].min(axis=0)
        right, bottom = edges[:, 2:].max(axis=0)
        assert max(right - left, bottom - top) == pytest.approx(64)
        assert (left + right) / 2 == pytest.approx(52)
        assert (top + bottom) / 2 == pytest.approx(62)
        ink = (pixels(shapes, within) < 250).any(axis=2).mean()
        assert ink > 0.15


def test_abstract_has_six_manners_or_more():
    within = box("square")
    # A manner shows in which depths it uses; the seeds only move and recolor.
    manners = {frozenset(shape.depth for shape in motif("abstract", within, seeded(seed))) for seed in range(40)}
    assert len(manners) >= 6


@pytest.mark.parametrize(
    "path",
    [
        circle(10, 50, 40),
        star(90, 20, 50, 20, 7),
        ring(60, 100, 70, 30),
        blob(100, 60, 60, seeded(4)),
        rect(-9, -9, 300, 300),
    ],
    ids=["disc", "star", "ring", "blob", "all"],
)
def test_cutting_an_outline_shows_what_a_clip_shows(path):
    frame = rect(20, 10, 80, 70)
    clipped = paint(
        [Layer("a", (Fill(rect(0, 0, 120, 120), "#ffffff"), Group((Fill(path, "#000000"),), clip=frame)))], 120, 120
    )
    inside = cut(path, 20, 10, 100, 80)
    ours = paint([Layer("a", (Fill(rect(0, 0, 120, 120), "#ffffff"), Fill(inside, "#000000")))], 120, 120)
    assert np.abs(clipped.astype(float) - ours.astype(float)).mean() < 0.3
    assert extent([inside])[0] >= 20


def test_an_outline_inside_is_left_alone_and_one_outside_is_dropped():
    path = circle(50, 50, 10)
    assert cut(path, 0, 0, 100, 100) is path
    assert cut(path, 60, 0, 100, 100) is None
    assert cut(star(0, 0, 50, 20), 40, 40, 60, 60) is None
