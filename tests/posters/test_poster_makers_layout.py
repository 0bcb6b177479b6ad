"""Made layouts and posters: boxes against ink, sides and angles measured, patches, violations, operations, worth."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from scipy.ndimage import label as components

from salon.bench.posters.item import area_ratio, box_center, center_distance
from salon.bench.posters.make import composition, fonts, posters, sheets
from salon.bench.posters.make.composition import METAPHORS
from salon.bench.posters.make.lettering import textured_ground
from salon.bench.posters.tasks import OPERATIONS
from salon.render import NAMES, STYLES, Box, Poster, chance, to_rgb, true_quality


def ink_of(pixels: np.ndarray) -> np.ndarray:
    """Where the picture is not of the color of its upper left corner."""
    return (pixels != pixels[0, 0]).any(axis=2)


def around(ink: np.ndarray) -> list[int]:
    """x1, y1, x2, y2 of the ink."""
    rows, columns = np.flatnonzero(ink.any(axis=1)), np.flatnonzero(ink.any(axis=0))
    return [int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1]


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sheets of one color and without lines across, in whose pixels the truth can be measured."""
    for maker in (sheets, fonts):
        monkeypatch.setattr(
            maker, "textured_ground", lambda w, h, ground, texture, rng: textured_ground(w, h, ground, 0.0, rng)
        )
    monkeypatch.setattr(sheets, "_stripes", lambda *_: ())


# -- blocks of text ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("number", range(6))
def test_lines_are_flush_where_the_label_says(number: int) -> None:
    made = sheets.alignment(number, 1)
    x1, y1, x2, y2 = made.truth["text_bbox"][0]
    block = ink_of(made.pixels)[y1:y2, x1:x2]
    assert np.abs(np.subtract(around(block), [0, 0, x2 - x1, y2 - y1])).max() <= 2  # the box is that of the ink
    blank = np.flatnonzero(~block.any(axis=1))
    starts = [0, *(blank[np.flatnonzero(np.diff(blank) > 1)] + 1).tolist(), blank[-1] + 1]
    rows = [block[a:b] for a, b in zip(starts, [*starts[1:], len(block)])]
    ends = np.array([around(row)[::2] for row in rows if row.sum() > 40])
    spreads = np.ptp(ends[:, 0]), np.ptp(ends.sum(axis=1)) / 2, np.ptp(ends[:, 1])
    sides = ("left-aligned", "center-aligned", "right-aligned")
    assert sides[int(np.argmin(spreads))] == made.truth["gt"][0], spreads
    assert min(spreads) < 0.3 * sorted(spreads)[1]


def angle_of(ink: np.ndarray) -> float:
    """Degrees, clockwise, at which rows of ink and blank rows alternate most sharply."""
    y, x = np.nonzero(ink)
    tried = np.arange(-40.0, 40.5, 0.5)
    sharp = []
    for turn in np.radians(tried):
        down = y * np.cos(turn) - x * np.sin(turn)
        sharp.append(np.var(np.histogram(down, bins=np.arange(down.min(), down.max() + 2, 2))[0]))
    return float(tried[int(np.argmax(sharp))])


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("number", range(6))
def test_blocks_are_turned_as_the_label_says(number: int) -> None:
    made = sheets.rotation(number, 3)
    inner = ink_of(made.pixels)[150:-150, :]  # without the upright signs in two corners
    measured = angle_of(inner)
    assert measured == pytest.approx(made.truth["angle"], abs=1.0)
    ways = {0: "no rotation", 1: "clockwise rotation", -1: "counterclockwise rotation"}
    assert made.truth["rotation"] == [ways[int(np.sign(made.truth["angle"]))]]
    assert made.difficulty["rotation"] == abs(made.truth["angle"])


# -- empty patches -------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize("number", range(6))
def test_empty_patches_hold_background_only_and_the_others_plainly_more(number: int) -> None:
    made = sheets.empty_space(number, 2)
    side, ground = sheets.PATCH, to_rgb(made.truth["background"])
    free = slice(20, side - 1), slice(2, side - 1)  # clear of a grid's lines and numbers
    for patch in range(49):
        y, x = divmod(patch, 7)
        pixels = made.pixels[y * side : (y + 1) * side, x * side : (x + 1) * side]
        seen = pixels[free] if made.subtask == "grid" else pixels
        inked = (seen != ground).any(axis=2).mean()
        assert (inked == 0) == (patch in made.truth["gt"]), patch
        assert inked == 0 or inked > 0.03
    assert f"Exactly {len(made.truth['gt'])} patches" in made.prompt


def test_grounds_and_company_are_dealt() -> None:
    """A third of the sheets are plain; half have marks beside the lines, or lines across: and it can be seen."""
    for draw, extra in ((sheets.alignment, "marks beside"), (sheets.rotation, "stripes"), (fonts.font_effect, "")):
        items = [draw(number, 4) for number in range(6)]
        assert sorted(item.difficulty["texture"] for item in items) == [0.0, 0.0, 0.2, 0.2, 0.4, 0.4]
        for item in items:
            colors = len(np.unique(item.pixels[::4, ::4].reshape(-1, 3), axis=0))
            assert (colors > 1500) == (item.difficulty["texture"] > 0)
        if extra:
            assert sorted(item.difficulty[extra] for item in items) == [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]


def test_half_of_the_sheets_show_their_grid() -> None:
    assert sorted(sheets.empty_space(number, 0).subtask for number in range(4)) == ["bare", "bare", "grid", "grid"]


# -- violations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("violation", posters.VIOLATIONS)
@pytest.mark.parametrize("strength", [0.4, 1.0])
def test_violations_are_in_the_spoiled_layout_and_not_in_the_sound_one(violation: str, strength: float) -> None:
    for number in range(2):
        sound, spoiled = posters.draw_pair(violation, strength, number, 9)
        assert posters.shows_violation(violation, sound, spoiled)
        assert not posters.shows_violation(violation, sound, sound)
        assert sound.layout.defects == ()
        texts = [[e.lettering.text for e in p.layout.elements if e.lettering] for p in (sound, spoiled)]
        assert sorted(texts[0]) == sorted(texts[1])  # nothing but place and size tells them apart


def test_a_stronger_violation_measures_more() -> None:
    for violation in ("overlap", "cut off"):
        faint, strong = (posters.MEASURES[violation][0](*posters.draw_pair(violation, s, 1, 9)) for s in (0.4, 1.0))
        assert strong > 1.3 * faint, violation


def test_the_letter_names_the_sound_layout() -> None:
    for number in range(2):
        made = posters.layout_comparison(number, 4)
        sound, _ = posters.draw_pair(made.subtask, made.difficulty["strength"], number, 4)
        picture = posters.poster_pixels(sound)
        left = 24 + "AB".index(made.truth["gt"]) * (posters.COMPARISON_WIDTH + 24)
        shown = made.pixels[56 : 56 + len(picture), left : left + posters.COMPARISON_WIDTH]
        assert np.array_equal(shown, picture)


# -- whole posters -------------------------------------------------------------------------------------------------


@cache
def poster(number: int) -> Poster:
    return posters.draw_fitting_brief("test", number, 1, texts=6)[0]


@pytest.mark.parametrize("number", range(3))
def test_boxes_are_those_of_the_ink_that_is_gone_without_a_text(number: int) -> None:
    """Exactly, where a style draws letters as they are; with glow or shadow the ink reaches farther, never less far."""
    whole = posters.poster_pixels(poster(number))
    for element in posters.text_elements(poster(number)):
        gone = (posters.poster_pixels(poster(number).drop_element(element.id)) != whole).any(axis=2)
        box = posters.pixel_box(element.box, *whole.shape[1::-1])
        apart = np.subtract(around(gone), box) * (1, 1, -1, -1)
        assert (apart <= 2).all(), element.id
        assert element.lettering is not None
        if not element.lettering.effects:
            assert (apart >= -2).all(), (element.id, apart)


def test_texts_and_boxes_go_together_the_largest_first() -> None:
    truth = posters.text_places(poster(0))
    assert truth["bbox_areas"] == sorted(truth["bbox_areas"], reverse=True)
    drawn = {
        e.lettering.text: posters.pixel_box(e.box, *truth["size"]) for e in poster(0).layout.elements if e.lettering
    }
    assert dict(zip(truth["texts"], truth["text_bbox"])) == drawn
    assert len(drawn) == 6


def test_poster_tasks_ask_for_what_is_drawn() -> None:
    read = posters.poster_ocr(0, 1)
    found = posters.text_localization(0, 1)
    logo = posters.logo_ocr(0, 1)
    assert len(read.truth["texts"]) == read.difficulty["texts"]
    assert all(f"{at}. {text}" in found.prompt for at, text in enumerate(found.truth["texts"], 1))
    assert logo.truth["gt"].replace(" ", "").isalpha()
    assert list(found.truth["size"]) == list(found.pixels.shape[1::-1])


SIZE = re.compile(r": ([\d.]+) % wide, ([\d.]+) % high, (.+), (.+)\.$")


def rebuilt(prompt: str) -> list[tuple[float, float, float, float]]:
    """The boxes that follow from the specification, worked out as a careful reader would."""
    boxes: list[tuple[float, float, float, float]] = []
    for line in prompt.splitlines():
        if not (found := SIZE.search(line)):
            continue
        wide, high = float(found[1]) / 100, float(found[2]) / 100
        x, y = _number(found[3]), _number(found[4])
        if "text" in found[3]:
            other = boxes[int(re.search(r"text (\d+)", found[3])[1]) - 1]  # type: ignore[index]
            x = {"left": other[0], "righ": other[2] - wide, "cent": (other[0] + other[2] - wide) / 2}[found[3][:4]]
        if "text" in found[4]:
            other = boxes[int(re.search(r"text (\d+)", found[4])[1]) - 1]  # type: ignore[index]
            y = other[3] + y if "below" in found[4] else other[1] - y - high
        boxes.append((x, y, x + wide, y + high))
    return boxes


def _number(words: str) -> float:
    found = re.search(r"([\d.]+) %", words)
    return float(found[1]) / 100 if found else 0.0


@pytest.mark.parametrize("number", range(8))
def test_the_specification_says_where_texts_stood(number: int) -> None:
    made = posters.layout_generation(number, 5)
    width, height = made.truth["size"]
    truth = [(a / width, b / height, c / width, d / height) for a, b, c, d in made.truth["gt"]]
    given = rebuilt(made.prompt)
    assert len(given) == len(truth)
    for one, other in zip(truth, given):
        assert area_ratio(one, other) > 0.93
        assert center_distance(box_center(one), box_center(other)) < 0.006


def test_seventeen_styles_differ_in_more_than_their_names() -> None:
    """One brief in every style: no two pictures are alike in more than 85% of their pixels."""
    drawn = {}
    for style in STYLES:
        one, brief = posters.draw_fitting_brief("styles", 0, 3, texts=3, style=style, width=320)
        assert one.layout.style == style == brief.style
        drawn[style] = posters.poster_pixels(one).astype(np.int16)
    names = list(drawn)
    for at, name in enumerate(names):
        for other in names[:at]:
            same = (np.abs(drawn[name] - drawn[other]).max(axis=2) < 24).mean()
            assert same < 0.85, (name, other)


def test_what_a_poster_wants_can_be_read_off_it() -> None:
    for number in range(4):
        made = posters.intention_understanding(number, 2)
        count = len(made.truth["gt"])
        assert made.difficulty["points"] == count >= 2
        assert any(point.startswith("The poster wants to ") for point in made.truth["gt"])
    one, brief = posters.draw_fitting_brief("wants", 0, 2, texts=7)
    said = " ".join(e.lettering.text for e in one.layout.elements if e.lettering).lower()
    for fact in (brief.when, brief.where, brief.cta, brief.brand):
        assert fact is not None
        assert fact.lower() in said
        assert any(fact in point for point in posters.intentions(brief, one.layout.style))


def test_half_of_the_intentions_are_metaphors() -> None:
    items = [posters.intention_understanding(number, 5) for number in range(4)]
    spoken = [item for item in items if item.difficulty["metaphor"]]
    assert len(spoken) == 2
    for item in spoken:
        outer, inner = (composition.NOUNS[name] for name in item.truth["metaphor"])
        assert item.truth["gt"][0] == f"The picture shows a {inner} inside a {outer}."
        assert sum("stands for" in point for point in item.truth["gt"]) == 2
    assert all(one.outer in composition.ROOMY for one in METAPHORS)
    assert all(one.inner in composition.NOUNS for one in METAPHORS)
    for one in METAPHORS:  # the words do not give the meaning away
        said = " ".join(one.headlines).lower().split()
        assert not {composition.NOUNS[one.outer], composition.NOUNS[one.inner]} & set(said)


# -- worth ---------------------------------------------------------------------------------------------------------


def test_worth_follows_from_the_flaws_on_record() -> None:
    loads = {}
    for number in range(7):
        made = posters.overall_rating(number, 1)
        loads[made.difficulty["flaws"]] = made.truth["gt"]
        assert len(made.truth["defects"]) == made.difficulty["flaws"]
    assert sorted(loads) == list(posters.LOADS)
    assert loads[0] == 10.0 > max(loads[3], loads[6])
    assert true_quality(())[posters.CRITERION] == 1.0


# -- composition ---------------------------------------------------------------------------------------------------


def scene(subject: str = "heart") -> composition.Scene:
    return composition.Scene(subject, NAMES["cream"], NAMES["navy"], NAMES["coral"], chance(2, "scene"))  # type: ignore[arg-type]


def numbers(points: list[str]) -> list[int]:
    return [int(one) for one in re.findall(r"\d+", points[1])]


def test_every_operation_is_dealt_and_named_in_its_points() -> None:
    items = [composition.composition_understanding(number, 1) for number in range(8)]
    assert sorted(one.subtask for one in items) == sorted(OPERATIONS)
    for made in items:
        named = " ".join(made.truth["gt"])
        assert all(f"({operation})" in named for operation in made.truth["operations"])
        assert len(made.truth["gt"]) == 2 * len(made.truth["operations"]) == 2 * made.difficulty["operations"]


@pytest.mark.parametrize("subject", ["heart", "fish", "fruit", "bicycle"])
def test_pieces_are_as_many_as_said(subject: str) -> None:
    pixels, points = composition.OPERATION_DRAWERS["segmentation"](scene(subject))
    way = 0 if "upright" in points[1] else 1
    lines = np.flatnonzero(ink_of(pixels).any(axis=way))
    assert (np.diff(lines) > 8).sum() + 1 == numbers(points)[0]


def test_copies_are_as_many_as_said() -> None:
    pixels, points = composition.OPERATION_DRAWERS["repetition"](scene())
    found = [int((np.diff(np.flatnonzero(ink_of(pixels).any(axis=way))) > 4).sum()) + 1 for way in (0, 1)]
    assert found == numbers(points)
    assert components(ink_of(pixels))[1] == found[0] * found[1]


def test_a_mirror_image_is_the_other_upside_down() -> None:
    pixels, _ = composition.OPERATION_DRAWERS["mirroring"](scene("house"))
    ink = ink_of(pixels)
    upper, lower = ink[582 - 300 : 582 - 4], ink[582 + 4 : 582 + 300][::-1]
    assert upper.sum() > 5000
    assert (upper ^ lower).sum() < 0.02 * upper.sum()


def test_what_breaks_out_does_so_at_the_edge_that_is_named() -> None:
    for seed in range(4):
        one = composition.Scene("balloon", NAMES["cream"], NAMES["navy"], NAMES["coral"], chance(seed, "scene"))
        pixels, points = composition.OPERATION_DRAWERS["extension"](one)
        panel = pixels[700, 360]
        frame = around((pixels == panel).all(axis=2))
        x1, y1, x2, y2 = around(ink_of(pixels))
        out = {"left": frame[0] - x1, "upper": frame[1] - y1, "right": x2 - frame[2]}
        edge = next(name for name in out if f"the {name} edge" in points[1])
        assert out[edge] > 40
        assert all(far <= 2 for name, far in out.items() if name != edge)
        assert y2 <= frame[3] + 2


def test_a_shifted_focus_is_a_small_mark_in_its_corner() -> None:
    pixels, points = composition.OPERATION_DRAWERS["focus shifting"](scene())
    x1, y1, x2, y2 = around(ink_of(pixels))
    assert (x2 < 300) == ("left" in points[1])
    assert y1 > 0.7 * composition.HEIGHT
    assert ink_of(pixels).mean() < 0.05
    assert x2 - x1 <= 160 >= y2 - y1


def test_what_is_nested_lies_inside_and_what_is_cut_out_shows_what_is_behind() -> None:
    outer = ink_of(scene().sheet(composition.subject_marks(scene(), Box(x=80, y=295, width=560, height=560))))
    pixels, points = composition.OPERATION_DRAWERS["nesting"](scene())
    inner = ink_of(pixels) & (pixels != to_rgb(NAMES["navy"])).any(axis=2)
    assert "heart" in points[1]
    assert inner.sum() > 1500
    assert (inner & ~outer).sum() < 0.12 * inner.sum()  # soft edges of the outline apart
    hole, _ = composition.OPERATION_DRAWERS["cutouts"](scene())
    assert len(np.unique(hole[ink_of(hole)] // 32, axis=0)) > 4  # pattern and shadow
    assert not ink_of(hole)[:250].any()


def test_letters_out_of_line_stand_at_different_heights() -> None:
    face = composition.FACES[0]
    still, jumping = (composition.headline("Amber Opera", face, jump, chance(0, "h")) for jump in (False, True))
    assert {y for run in still for y in run.ys} == {still[0].ys[0]}
    assert np.ptp([y for run in jumping for y in run.ys]) > 0.4 * still[0].size
