"""Nine styles: pure, in their place, calm under text, faithful to the palette, and clearly apart from one another."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
from styles_example import CALM, LOUD, PICTURE, QUIET, hexed, letters, seen, stage

from salon.render import (
    FAMILIES,
    NAMES,
    Box,
    Brief,
    DrawingHabits,
    Fill,
    contrast,
    difference,
    lay_out,
    plan_poster,
    rect,
)
from salon.render.arrangements import ARRANGEMENTS
from salon.render.brief import MOODS
from salon.render.colors import oklch
from salon.render.paint.raster import paint
from salon.render.palettes import harmonise
from salon.render.styles import style_named
from salon.render.styles.ways import apart, freest, in_view, is_free, stands_out, toward

STYLES = CALM
every_style = pytest.mark.parametrize("style", [style_named(name) for name in STYLES], ids=STYLES)
all_styles = pytest.mark.parametrize("style", [style_named(name) for name in CALM + LOUD], ids=CALM + LOUD)


@all_styles
def test_choices_are_in_the_catalogues(style):
    for family, weight in (*style.displays, *style.texts):
        assert FAMILIES[family].nearest(weight) == weight
    assert set(style.arrangements) <= set(ARRANGEMENTS)
    assert set(style.moods) <= set(MOODS)


@all_styles
@pytest.mark.parametrize("format", ["poster", "slide", "logo"])
def test_the_same_stage_draws_the_same_marks(style, format):
    box = Box(x=100, y=100, width=600, height=500)
    for part in (style.ground, style.finish, lambda at: style.picture(at, box), lambda at: style.panel(at, box)):
        assert part(stage(style, format=format)) == part(stage(style, format=format))


@every_style
@pytest.mark.parametrize("colors", [("cream", "navy", "coral"), ("midnight", "gold", "lavender"), ("scarlet", "white")])
def test_text_areas_are_calm_and_near_the_ground(style, colors):
    at = stage(style, colors=colors)
    drawn = seen((*style.ground(at), *style.picture(at, PICTURE), *style.finish(at)), at)
    quiet = drawn[int(QUIET.y / 4) + 4 : int(QUIET.bottom / 4) - 4, int(QUIET.x / 4) + 4 : int(QUIET.right / 4) - 4]
    assert difference(hexed(quiet.mean(axis=(0, 1))), at.palette.ground) < 0.04
    assert quiet.std(axis=(0, 1)).max() < 12


@every_style
@pytest.mark.parametrize("subject", ["sea", "flower", "city"])
def test_pictures_stay_in_their_box_and_fill_it_with_more_than_nothing(style, subject):
    at = stage(style, subject=subject)
    blank = seen((Fill(rect(0, 0, at.width, at.height), "#808080"),), at)
    drawn = seen((Fill(rect(0, 0, at.width, at.height), "#808080"), *style.picture(at, PICTURE)), at)
    changed = (np.abs(drawn - blank) > 6).any(axis=2)
    rows, columns = np.nonzero(changed)
    rim = 4  # at a quarter of the size: a border may stand astride the edge of its box
    assert PICTURE.x / 4 - rim <= columns.min() <= columns.max() <= PICTURE.right / 4 + rim
    assert PICTURE.y / 4 - rim <= rows.min() <= rows.max() <= PICTURE.bottom / 4 + rim
    assert changed.mean() > 0.02


@every_style
def test_tuning_keeps_the_colors_a_brief_names(style):
    rng = np.random.default_rng(7)
    names = sorted(NAMES)
    for _ in range(60):
        palette = harmonise(tuple(rng.choice(names, 3, replace=False)), str(rng.choice(MOODS)), rng)
        tuned = style.tune(palette, rng)
        for role in ("ground", "primary", "accent"):
            before, after = getattr(palette, role), getattr(tuned, role)
            assert difference(before, after) < 0.13, (role, before, after)
            if oklch(before)[1] > 0.06:
                turn = abs((oklch(before)[2] - oklch(after)[2] + 180) % 360 - 180)
                assert turn < 12, (role, before, after)


@every_style
def test_only_headlines_carry_effects_and_their_letters_stay_on_top(style):
    at = stage(style)
    for role in ("body", "cta", "when", "subhead"):
        assert style.letter(at, role, letters(at.palette.ink)).marks == letters(at.palette.ink)
    lettered = style.letter(at, "headline", letters(at.palette.ink))
    assert lettered.marks[-1:] == letters(at.palette.ink)
    assert bool(lettered.effects) == (len(lettered.marks) > 1)


@all_styles
def test_an_effect_never_rescues_faint_letters(style):
    at = stage(style)
    faint = letters(toward(at.palette.ground, at.palette.ink, 0.15))
    assert style.letter(at, "headline", faint).marks == faint


@all_styles
def test_panels_are_filled_with_the_surface(style):
    at = stage(style)
    middle = seen(style.panel(at, Box(x=200, y=200, width=600, height=400)), at)[100, 125]
    assert difference(hexed(middle), at.palette.surface) < (0.02 if style.name in CALM else 0.03)


def test_styles_are_told_apart_by_their_pictures():
    small = {}
    for name in STYLES:
        brief = Brief(
            id="b", headline="Harbor Lights", subject="mountain", style=name, palette=("cream", "teal", "rust")
        )
        poster = lay_out(plan_poster(brief, DrawingHabits(arrangements=("hero-top",)), 3))
        small[name] = paint(poster.layers, poster.layout.width, poster.layout.height, 0.125)[:80].astype(float)
    for one, other in itertools.combinations(STYLES, 2):
        assert np.abs(small[one] - small[other]).mean() > 6, (one, other)


def test_far_hues_are_approached_without_grey():
    blue, yellow = NAMES["cobalt"], NAMES["yellow"]
    assert oklch(toward(blue, yellow, 0.5))[1] > 0.1  # the straight way through OKLab has chroma 0.03 here
    assert toward(blue, yellow, 0.0) == blue


@pytest.mark.parametrize("ground", ["white", "black", "gray", "scarlet", "yellow"])
@pytest.mark.parametrize("color", ["white", "black", "gray", "scarlet", "lemon"])
def test_apart_reaches_its_contrast(color, ground):
    assert contrast(apart(NAMES[color], NAMES[ground], 2.0), NAMES[ground]) >= 2.0


def test_the_freest_part_keeps_off_the_text():
    at = stage(style_named("Minimalist"), quiet=(Box(x=0, y=1000, width=1024, height=448),))
    whole = Box(x=0, y=0, width=1024, height=1448)
    assert freest(at, whole) == Box(x=0, y=0, width=1024, height=1000)
    assert freest(at, PICTURE) == PICTURE
    assert is_free(at, PICTURE, gap=150)
    assert not is_free(at, PICTURE, gap=170)


def test_a_scene_is_composed_for_what_a_panel_leaves_to_see():
    whole = Box(x=0, y=0, width=1024, height=1448)
    panel = Box(x=50, y=800, width=924, height=600)
    shapes = in_view(stage(style_named("Flat Design"), quiet=(panel,), subject="mountain"), whole)
    top = [command[2] for shape in shapes if shape.tone == 3 for command in shape.path.commands if len(command) > 2]
    assert min(top) < 700  # the mountain's summit is above the panel
    assert max(command[2] for command in shapes[-1].path.commands if len(command) > 2) == 1448  # soil down to the foot


def test_letters_stand_out_only_with_the_contrast_they_were_promised():
    at = stage(style_named("Retro"))
    assert stands_out(at, letters(at.palette.ink))
    assert stands_out(at, letters(at.palette.on_accent))
    bent = dataclasses.replace(at, palette=dataclasses.replace(at.palette, ink=at.palette.ground))
    assert not stands_out(bent, letters(bent.palette.ink))
