"""Eight styles of light, pixels and noise: pure, calm under text, true to the brief's colors, readable, themselves."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from styles_example import LOUD, PICTURE, QUIET, hexed, letters, seen, stage

from salon.render import (
    NAMES,
    SUBJECTS,
    Box,
    Brief,
    DrawingHabits,
    Fill,
    Group,
    MotifShape,
    Tile,
    circle,
    contrast,
    difference,
    lay_out,
    plan_poster,
    rect,
    ring,
)
from salon.render.brief import MOODS
from salon.render.colors import oklch
from salon.render.marks import Soft
from salon.render.paint.raster import paint
from salon.render.palettes import harmonise
from salon.render.shapes import bounds, line
from salon.render.styles import style_named
from salon.render.styles.neon import banded_sun
from salon.render.styles.screen import PixelArt, pixels, runs, torn
from salon.render.styles.ways import clearings, focus, mirror_behind_panel, night, scene, spots, vivid

STYLES = LOUD
NIGHTS = ("Acid Graphics", "Cyberpunk", "Glitch Art", "Vaporwave")
every_style = pytest.mark.parametrize("style", [style_named(name) for name in STYLES], ids=STYLES)


def turn(one: str, other: str) -> float:
    return abs((oklch(one)[2] - oklch(other)[2] + 180) % 360 - 180)


def every_mark(marks):
    for mark in marks:
        yield mark
        if isinstance(mark, Group | Soft | Tile):
            yield from every_mark(mark.marks)


@every_style
@pytest.mark.parametrize("colors", [("cream", "navy", "coral"), ("midnight", "gold", "lavender"), ("scarlet", "white")])
def test_text_areas_are_calm_and_ink_reads_on_every_pixel_of_them(style, colors):
    at = stage(style, colors=colors)
    whole = seen((*style.ground(at), *style.picture(at, PICTURE), *style.finish(at)), at)
    quiet = whole[int(QUIET.y / 4) : int(QUIET.bottom / 4), int(QUIET.x / 4) : int(QUIET.right / 4)]
    assert difference(hexed(quiet.mean(axis=(0, 1))), at.palette.ground) < 0.05
    assert quiet.std(axis=(0, 1)).max() < 14
    for rgb in (np.percentile(quiet, 0.5, axis=(0, 1)), np.percentile(quiet, 99.5, axis=(0, 1))):
        assert contrast(hexed(rgb), at.palette.ink) >= 4.5


@every_style
def test_colors_a_brief_names_are_still_there_after_tuning(style):
    rng = np.random.default_rng(7)
    for _ in range(60):
        palette = harmonise(tuple(rng.choice(sorted(NAMES), 3, replace=False)), str(rng.choice(MOODS)), rng)
        tuned = style.tune(palette, rng)
        after = (tuned.ground, tuned.primary, tuned.secondary, tuned.accent)
        for before in (palette.ground, palette.primary, palette.accent):
            if oklch(before)[1] > 0.06:
                assert any(turn(before, color) < 12 and oklch(color)[1] > 0.02 for color in after), before


@every_style
def test_inks_read_after_tuning(style):
    rng = np.random.default_rng(3)
    for _ in range(40):
        tuned = style.tune(harmonise(tuple(rng.choice(sorted(NAMES), 2, replace=False)), "calm", rng), rng)
        assert contrast(tuned.ink, tuned.ground) >= 7
        assert contrast(tuned.ink_soft, tuned.ground) >= 4.5
        assert contrast(tuned.on_surface, tuned.surface) >= 7
        assert contrast(tuned.on_accent, tuned.accent) >= 4.5


@pytest.mark.parametrize("name", NIGHTS)
def test_night_styles_are_dark_whatever_is_asked(name):
    for colors in (("white", "blue"), ("yellow", "black"), ("pink", "cream")):
        assert oklch(stage(style_named(name), colors=colors).palette.ground)[0] < 0.3


def test_a_bright_ground_lives_on_as_the_primary_of_the_night():
    palette = harmonise(("yellow", "cobalt"), "bold", np.random.default_rng(0))
    assert palette.ground == NAMES["yellow"]
    dark = night(palette, 0.15, chroma=0.05, glow=0.2, hue=300)
    assert turn(dark.primary, NAMES["yellow"]) < 5
    assert turn(dark.secondary, palette.primary) < 5


def test_vivid_keeps_greys_grey_and_yellow_yellow():
    assert oklch(vivid("#808080", 0.7, 0.8, 0.2))[1] < 0.01
    assert vivid("#ffffff", 0.6, 0.8, 0.2) == "#ffffff"
    assert oklch(vivid(NAMES["yellow"], 0.5, 0.8, 0.1))[0] == pytest.approx(oklch(NAMES["yellow"])[0], abs=0.01)


@every_style
def test_only_headlines_carry_effects(style):
    at = stage(style)
    for role in ("body", "cta", "when", "subhead"):
        assert style.letter(at, role, letters(at.palette.ink)).marks == letters(at.palette.ink)
    lettered = style.letter(at, "headline", letters(at.palette.ink))
    assert bool(lettered.effects) == (lettered.marks != letters(at.palette.ink))
    assert bool(lettered.effects) == (style.name != "Diffuse Glow")


@every_style
def test_headlines_with_effects_read_against_the_ground(style):
    at = stage(style, colors=("navy", "coral", "cream"))
    ground = (Fill(rect(0, 0, at.width, at.height), at.palette.ground),)
    plain = np.abs(seen((*ground, *letters(at.palette.ink)), at, 1.0) - seen(ground, at, 1.0)).max(axis=2) > 100
    lettered = seen((*ground, *style.letter(at, "headline", letters(at.palette.ink)).marks), at, 1.0)
    contrasts = [contrast(hexed(rgb), at.palette.ground) for rgb in lettered[plain][::25]]
    assert np.percentile(contrasts, 2) >= 4.5


@every_style
@pytest.mark.parametrize("format", ["poster", "logo"])
def test_every_subject_is_drawn_with_marks_that_can_be_painted(style, format):
    for subject in SUBJECTS:
        marks = style.picture(stage(style, format=format, subject=subject), PICTURE)
        assert 0 < sum(1 for _ in every_mark(marks)) < 6000, subject


@every_style
def test_pictures_stay_in_their_box(style):
    at = stage(style, subject="city")
    blank = (Fill(rect(0, 0, at.width, at.height), "#808080"),)
    changed = (np.abs(seen((*blank, *style.picture(at, PICTURE)), at) - seen(blank, at)) > 6).any(axis=2)
    rows, columns = np.nonzero(changed)
    rim = 4  # at a quarter of the size: a border may stand astride the edge of its box
    assert PICTURE.x / 4 - rim <= columns.min() <= columns.max() <= PICTURE.right / 4 + rim
    assert PICTURE.y / 4 - rim <= rows.min() <= rows.max() <= PICTURE.bottom / 4 + rim
    assert changed[20:200, 30:220].mean() > 0.5


def test_styles_are_told_apart_by_their_posters():
    small = {}
    for name in STYLES:
        brief = Brief(
            id="b", headline="Harbor Lights", subject="mountain", style=name, palette=("navy", "teal", "rust")
        )
        poster = lay_out(plan_poster(brief, DrawingHabits(arrangements=("hero-top",)), 3))
        small[name] = paint(poster.layers, poster.layout.width, poster.layout.height, 0.05).astype(float)
    for one, other in itertools.combinations(STYLES, 2):
        assert np.abs(small[one] - small[other]).mean() > 6, (one, other)


# What the styles are built from


def test_spots_keep_off_text_and_off_one_another():
    at = stage(style_named("Memphis"))
    places = spots(at, Box(x=0, y=0, width=1024, height=1448), 60, 50, gap=10)
    assert len(places) == 60
    for x, y in places:
        assert not (QUIET.x - 35 < x < QUIET.right + 35 and QUIET.y - 35 < y < QUIET.bottom + 35)
    assert all(math.dist(a, b) > 60 for a, b in itertools.combinations(places, 2))


def test_clearings_are_as_far_from_text_as_they_say():
    places = clearings(stage(style_named("Cyberpunk")), 2)
    assert places[0][:2] in ((0, 0), (512, 0), (1024, 0))
    for x, y, free in places:
        assert free == pytest.approx(math.hypot(max(70 - x, 0, x - 950), max(900 - y, 0, y - 1380)))


def test_a_subject_keeps_clear_of_the_panel_over_it_and_runs_on_behind_it():
    beside = stage(style_named("Memphis"), format="card", quiet=(Box(x=40, y=40, width=600, height=944),))
    canvas = Box(x=0, y=0, width=beside.width, height=beside.height)
    assert focus(beside, canvas).x > 600
    left = min(bounds(shape.path).x for shape in scene(beside, canvas))
    assert left >= focus(beside, canvas).x - 1
    mark = Fill(rect(700, 100, 50, 50), "#ff0000")
    painted = seen(mirror_behind_panel(beside, canvas, (mark,)), beside, 1.0)
    edge = focus(beside, canvas).x
    assert tuple(painted[120, 720]) == tuple(painted[120, round(2 * edge - 720)]) == (255, 0, 0)


def test_pixels_cover_what_the_outline_covers():
    box = Box(x=0, y=0, width=400, height=400)
    grid = pixels((MotifShape(circle(200, 200, 150), 3, 1.0),), box, 4)
    assert (grid == 3).sum() * 16 == pytest.approx(math.pi * 150**2, rel=0.01)
    grid = pixels((MotifShape(ring(200, 200, 150, 100), 2, 1.0),), box, 4)
    assert (grid == 2).sum() * 16 == pytest.approx(math.pi * (150**2 - 100**2), rel=0.02)
    grid = pixels((MotifShape(line(20, 200, 380, 200), 4, 1.0, line=True, width=20),), box, 4)
    assert (grid == 4).sum() * 16 == pytest.approx(360 * 20, rel=0.1)


def test_runs_are_the_cells_that_are_on():
    mask = np.array([[1, 1, 0, 1], [0, 0, 0, 0], [0, 1, 1, 1]], dtype=bool)
    corners = {command[1:] for command in runs(mask, 10, 20, 5).commands if command[0] == "M"}
    assert corners == {(10, 20), (25, 20), (15, 30)}


def test_pixel_art_is_made_of_whole_cells_and_few_colors():
    style = style_named("Pixel Art")
    at = stage(style, subject="flower")
    step = PixelArt().cell(at)
    box = Box(x=step * 10, y=step * 8, width=step * 80, height=step * 70)
    part = seen(style.picture(at, box), at, 1.0)[step * 8 : step * 78, step * 10 : step * 90].astype(int)
    cells = part.reshape(70, step, 80, step, 3).swapaxes(1, 2)
    assert (cells == cells[:, :, :1, :1]).all()
    assert len(np.unique(cells[:, :, 0, 0].reshape(-1, 3), axis=0)) <= 16


def test_torn_bands_are_the_scene_moved_sideways():
    at = stage(style_named("Glitch Art"))
    half = (Fill(rect(0, 0, 1024, 1448), "#000000"), Fill(rect(0, 0, 512, 1448), "#ffffff"))
    bands = torn(lambda top, bottom: half, Box(x=0, y=0, width=1024, height=1448), 8, 80, at.rng)
    whites = (seen((*half, *bands), at, 1.0)[:, 90:934, 0] > 128).sum(axis=1) - (512 - 90)
    assert 0.02 < (whites != 0).mean() < 0.6
    assert np.abs(whites).max() <= 81


def test_the_sun_has_bands_below_its_middle_only():
    at = stage(style_named("Vaporwave"))
    column = seen((Fill(rect(0, 0, 1024, 1448), "#000000"), Fill(banded_sun(500, 700, 300), "#ffffff")), at, 1.0)[
        :, 500, 0
    ]
    changes = np.nonzero(np.diff((column > 128).astype(int)))[0]
    assert len(changes) == 12  # five slots make six bands
    assert changes[0] == pytest.approx(400, abs=2)
    assert changes[-1] == pytest.approx(1000, abs=2)
    assert changes[1] > 700
