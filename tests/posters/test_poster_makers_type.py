"""Made type: attributes, effects, patterns and colors are in the ink, not only in the record."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.ndimage import label as components

from salon.bench.posters.make import fonts, materials
from salon.bench.posters.make.fonts import IMPRESSIONS
from salon.bench.posters.make.items import LATIN, PLAIN
from salon.bench.posters.make.lettering import line_in, paint_marks
from salon.bench.posters.tasks import ATTRIBUTES, CLASSIC_EFFECTS, COLORS
from salon.render import Box, Face, chance, to_rgb

SHEET = Box(x=40, y=40, width=1120, height=320)


@cache
def ink(text: str, face: Face, size: float = 160) -> np.ndarray:
    """The text's ink, cut to its box."""
    marks = line_in(text, face, SHEET, paint="#000000", size=size).glyphs
    black = paint_marks(marks, 1200, 400, "#ffffff")[:, :, 0] < 128
    rows, columns = np.flatnonzero(black.any(axis=1)), np.flatnonzero(black.any(axis=0))
    return black[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def pairs(attribute: str, n: int = 12) -> list[tuple[Face, Face]]:
    """Faces that have the attribute and faces that lack it, as items would get them."""
    rng = chance(0, "test", attribute)
    return [fonts.ATTRIBUTES[attribute][1](rng) for _ in range(n)]


def lean(face: Face) -> float:
    """How far the head of a stem stands right of its foot, in heights."""
    stem = ink("I", face)
    third = len(stem) // 3
    top, bottom = (np.argwhere(part)[:, 1].mean() for part in (stem[:third], stem[-third:]))
    return float(top - bottom) / len(stem)


def flare(face: Face) -> float:
    """How much broader a stem is at its very foot than half-way up."""
    stem = ink("I", face)
    return float(stem[-4:-1].sum(axis=1).max() / np.median(stem[len(stem) // 3 : -len(stem) // 3].sum(axis=1)))


# -- matching and attributes ---------------------------------------------------------------------------------------


def test_the_letter_names_the_face_of_the_panel() -> None:
    kinds = {family.name: family.kind for family in LATIN}
    halves = set()
    for number in range(6):
        made = fonts.font_matching(number, 1)
        options, font = made.truth["options"], made.truth["font"]
        assert options["ABCDEFGHI".index(made.truth["gt"])] == font
        assert len(set(options)) == 9
        assert sum(kinds[name] == kinds[font] for name in options) - 1 == made.difficulty["alike"]
        halves.add((made.string, made.subtask))
    assert halves == {("font matching 1", "same words"), ("font matching 2", "other words")}


def test_no_two_families_of_the_options_look_the_same() -> None:
    """Letters of one size in two faces differ in width or in a part of their ink."""
    drawn = {family.name: ink("Hagen", Face(family=family.name), 90) for family in LATIN if not family.caps}
    names = list(drawn)
    for at, name in enumerate(names):
        for other in names[:at]:
            one, two = drawn[name], drawn[other]
            high, wide = max(len(one), len(two)), max(one.shape[1], two.shape[1])
            apart = sum(np.pad(x, ((0, high - len(x)), (0, wide - x.shape[1]))).astype(int) * s
                        for x, s in ((one, 1), (two, -1)))  # fmt: skip
            assert np.abs(apart).sum() > 0.08 * one.sum(), (name, other)


def test_attributes_are_known_and_the_sample_has_them() -> None:
    assert {*fonts.ATTRIBUTES, *IMPRESSIONS} == set(ATTRIBUTES)
    assert not fonts.ATTRIBUTES.keys() & IMPRESSIONS.keys()
    seen = set()
    for number in range(len(ATTRIBUTES)):
        made = fonts.font_attributes(number, 2)
        seen.add(made.subtask)
        assert made.subtask in made.prompt
        right, wrong = (
            made.truth["font"]["AB".index(letter)] for letter in (made.truth["gt"], _other(made.truth["gt"]))
        )
        if made.subtask == "italic":
            assert right == f"{wrong}:italic"
        if made.subtask == "thin":
            assert int(right.split(":")[1]) < int(wrong.split(":")[1])
    assert seen == set(ATTRIBUTES)


@pytest.mark.parametrize(
    ("attribute", "measured"),
    [
        *((name, 1) for name in ("attention-grabbing", "strong")),
        *((name, -1) for name in ("delicate", "gentle", "fresh", "calm")),
    ],
)
def test_impressions_of_weight_are_in_the_ink(attribute: str, measured: int) -> None:
    meant = IMPRESSIONS[attribute]
    having, lacking = ([ink("Handgloves", face).mean() for face in faces] for faces in (meant.having, meant.lacking))
    assert min(having) > max(lacking) if measured > 0 else max(having) < min(lacking)


@pytest.mark.parametrize("attribute", [name for name, one in IMPRESSIONS.items() if one.same_face])
def test_unrest_takes_letters_off_their_line(attribute: str) -> None:
    """In one face, so that nothing else tells: the feet of the letters stand at one height, or at many."""
    _, having, lacking = fonts.attribute_samples(attribute, "Handsome Nun", chance(0, attribute))
    assert having.face == lacking.face
    spread = {}
    for sample in (having, lacking):
        marks = fonts._sample_marks(sample, SHEET, 90, "#000000", chance(1, attribute))
        spread[sample.unrest > 0] = np.ptp([y for run in marks for y in run.ys])
    assert spread[True] > 12
    assert spread[False] == 0


def _other(letter: str) -> str:
    return {"A": "B", "B": "A"}[letter]


def test_monospaced_letters_share_a_width() -> None:
    for having, lacking in pairs("monospace"):
        wide, narrow = ([ink(text, face).shape[1] for text in ("nnnnn", "nmmmn")] for face in (having, lacking))
        assert abs(wide[0] - wide[1]) <= 2
        assert narrow[1] > 1.15 * narrow[0]


def test_italics_lean_and_their_twins_do_not() -> None:
    for having, lacking in pairs("italic"):
        assert lean(having) > 0.05 > abs(lean(lacking)), having.family


def test_serifs_stand_out_from_the_stem() -> None:
    for having, lacking in pairs("serif", 30):
        assert flare(having) > 1.3, having.family
        assert flare(lacking) < 1.15, lacking.family


def test_thin_strokes_have_less_ink() -> None:
    for having, lacking in pairs("thin"):
        assert ink("Handgloves", having).mean() < 0.6 * ink("Handgloves", lacking).mean()


def test_wide_letters_are_wider_at_one_height() -> None:
    for having, lacking in pairs("wide"):
        wide, narrow = (ink("HANE", face) for face in (having, lacking))
        assert wide.shape[1] / len(wide) > 1.3 * narrow.shape[1] / len(narrow), (having.family, lacking.family)


def test_script_letters_join() -> None:
    for having, lacking in pairs("cursive"):
        joined, apart = (components(ink("nnnn", face))[1] for face in (having, lacking))
        assert joined == 1
        assert apart >= 4  # more where hair lines are thinner than a pixel


def test_capitals_are_set_in_the_same_face() -> None:
    for number in range(len(ATTRIBUTES)):
        made = fonts.font_attributes(number, 3)
        if made.subtask == "capitals":
            assert made.truth["font"][0] == made.truth["font"][1]
            return
    pytest.fail("no item about capitals")


def test_display_faces_are_not_those_for_reading() -> None:
    kinds = {family.name: family.kind for family in LATIN}
    for having, lacking in pairs("display"):
        assert kinds[having.family] == "display"
        assert lacking in PLAIN


# -- classic effects -----------------------------------------------------------------------------------------------


def word(strength: float, family: str = "Inter") -> fonts.EffectWord:
    ground, paint = fonts.LOOKS[0]
    frame = Box(x=60, y=235, width=fonts.WIDTH - 120, height=180)
    return fonts.EffectWord("Harbor", Face(family=family), frame, paint, ground, strength)


def changed(effect: str, strength: float = 1.0) -> np.ndarray:
    one = word(strength)
    marks = one.set().glyphs if effect == "plain" else fonts.EFFECT_DRAWERS[effect](one)
    return paint_marks(marks, fonts.WIDTH, fonts.HEIGHT, one.ground)


def is_color(pixels: np.ndarray, color: str) -> np.ndarray:
    return (pixels == to_rgb(color)).all(axis=2)


def test_nine_effects_look_unlike_each_other_and_unlike_nothing() -> None:
    drawn = {effect: changed(effect, 0.4).astype(int) for effect in ("plain", *CLASSIC_EFFECTS)}
    names = list(drawn)
    for at, name in enumerate(names):
        for other in names[:at]:
            assert (np.abs(drawn[name] - drawn[other]).max(axis=2) > 40).sum() > 600, (name, other)


def test_effects_do_what_their_names_say() -> None:
    one = word(1.0)
    plain = is_color(changed("plain"), one.ink)
    assert is_color(changed("bold"), one.ink).sum() > 1.3 * plain.sum()
    underlined = is_color(changed("underline"), one.ink)
    below = slice(np.flatnonzero(plain.any(axis=1))[-1] + 3, None)
    assert underlined[below].sum(axis=1).max() >= np.ptp(np.flatnonzero(plain.any(axis=0)))
    assert not plain[below].any()
    marked = ~is_color(changed("highlight"), one.ground) & ~is_color(changed("highlight"), one.ink)
    assert marked.sum() > plain.sum()
    assert len(np.unique(changed("gradient_fill").reshape(-1, 3), axis=0)) > 2 * len(
        np.unique(changed("plain").reshape(-1, 3), axis=0)
    )
    for around in ("glow", "outline", "shadow", "reflection"):
        picture = changed(around)
        assert (is_color(picture, one.ink) >= plain).mean() > 0.98, around  # the word itself is as it was
        assert (~is_color(picture, one.ground)).sum() > 1.25 * (~is_color(changed("plain"), one.ground)).sum(), around


def test_the_letter_names_the_effect() -> None:
    for number in range(9):
        made = fonts.font_effect(number, 1)
        assert made.truth["options"]["ABCD".index(made.truth["gt"])] == made.subtask
        assert len(set(made.truth["options"])) == 4
        assert f"{made.truth['gt']}) {fonts.ABOUT[made.subtask]}" in made.prompt


# -- colors and materials ------------------------------------------------------------------------------------------


def lettered(effect: str, color: str) -> tuple[np.ndarray, str]:
    letters = materials.color_letters("MAPLE", materials.FACES[0], color, chance(1, "letters"))
    return paint_marks(
        materials.EFFECTS[effect](letters), materials.WIDTH, materials.HEIGHT, letters.ground
    ), letters.ground


def test_there_are_48_effects_and_16_colors_on_the_menu() -> None:
    assert len(materials.EFFECTS) == 48
    assert {*materials.INKS, "colorful", "silvery"} == set(COLORS)
    made = materials.font_effect_2(0, 0)
    for name in (*materials.EFFECTS, *COLORS):
        assert name in made.prompt
    assert made.truth["gt"] == [made.truth["color"], *made.truth["effects"]]


def test_no_two_effects_look_alike() -> None:
    drawn = {effect: lettered(effect, "red")[0][::4, ::4].astype(np.int16) for effect in materials.EFFECTS}
    names = list(drawn)
    inked = (np.abs(drawn["stencil"] - drawn["stencil"][0, 0]).max(axis=2) > 30).sum()
    for at, name in enumerate(names):
        for other in names[:at]:
            assert (np.abs(drawn[name] - drawn[other]).max(axis=2) > 30).sum() > 0.05 * inked, (name, other)


@pytest.mark.parametrize("color", ["blue", "white", "black", "indigo"])
def test_the_named_color_is_the_commonest_ink(color: str) -> None:
    for effect in materials.EFFECTS:
        pixels, ground = lettered(effect, color)
        codes = (pixels[~is_color(pixels, ground)].astype(np.int64) * (65536, 256, 1)).sum(axis=1)
        kinds, counts = np.unique(codes, return_counts=True)
        wanted = int(materials.INKS[color][1:], 16)
        share = counts[kinds == wanted].sum() / len(codes)
        assert share > 0.3, (effect, color, share)
        if effect not in ("3D block", "sticker border"):  # where a plain body lies behind
            assert kinds[counts.argmax()] == wanted, (effect, color)


def test_colorful_has_many_hues_and_silver_none() -> None:
    for color, least, most in (("colorful", 100, 256), ("silvery", 0, 15)):
        pixels, ground = lettered("stencil", color)
        on = pixels[~is_color(pixels, ground)].astype(int)
        chroma = np.median(on.max(axis=1) - on.min(axis=1))
        assert least <= chroma <= most
        assert np.ptp(on.mean(axis=1)) > 60
