"""Palettes: asked colors kept, inks readable, harmony by mood, chance by seed."""

from dataclasses import astuple, replace

import numpy as np
import pytest

from salon.errors import BadValue
from salon.render import BY_MOOD, NAMES, contrast, difference
from salon.render.brief import MOODS
from salon.render.palettes import harmonise, rechecked

INKS = (("ink", "ground"), ("ink_soft", "ground"), ("on_surface", "surface"), ("on_accent", "accent"))


def drawn(count=400):
    rng = np.random.default_rng(5)
    for _ in range(count):
        asked = tuple(rng.choice(list(NAMES), rng.integers(0, 6), replace=False).tolist())
        mood = MOODS[rng.integers(len(MOODS))]
        yield asked, harmonise(asked, mood, np.random.default_rng(rng.integers(1 << 30)))


def test_every_ink_reads_on_what_it_stands_on():
    for asked, palette in drawn():
        for ink, on in INKS:
            assert contrast(getattr(palette, ink), getattr(palette, on)) >= 4.5, (asked, ink)


def test_ink_on_the_ground_reaches_seven_where_black_or_white_would():
    for asked, palette in drawn():
        best = max(contrast(end, palette.ground) for end in ("#000000", "#ffffff"))
        if best > 12:
            assert contrast(palette.ink, palette.ground) >= 7, asked


def test_the_dominant_color_leads_and_all_asked_for_are_used_exactly():
    for asked, palette in drawn():
        wanted = [NAMES[name] for name in asked]
        if wanted:
            assert wanted[0] in (palette.ground, palette.primary), asked
        if len(wanted) <= 3:
            seen = [color for color in wanted if difference(color, palette.ground) > 0.16]
            assert set(seen) <= set(astuple(palette)), asked


def test_picture_colors_stand_out_from_the_ground():
    for asked, palette in drawn():
        for color in (palette.primary, palette.secondary, palette.accent):
            assert difference(color, palette.ground) >= 0.15, asked


def test_without_colors_the_mood_decides():
    for mood in MOODS:
        grounds = {NAMES[words[0]] for words in BY_MOOD[mood]}
        found = {harmonise((), mood, np.random.default_rng(seed)).ground for seed in range(40)}
        assert found == grounds


def test_rechecked_repairs_inks_and_nothing_else():
    palette = harmonise(("navy", "gold"), "bold", np.random.default_rng(0))
    spoiled = replace(palette, ink=palette.ground, on_accent=palette.accent, ink_soft=palette.ground)
    repaired = rechecked(spoiled)
    for ink, on in INKS:
        assert contrast(getattr(repaired, ink), getattr(repaired, on)) >= 4.5
    assert (repaired.ground, repaired.primary, repaired.on_surface) == (
        palette.ground,
        palette.primary,
        palette.on_surface,
    )
    assert rechecked(palette) == palette


def test_an_unknown_color_is_refused():
    with pytest.raises(BadValue, match="nearest"):
        harmonise(("bluu",), "calm", np.random.default_rng(0))
