"""Planted defects: nothing at strength 0, more with more, on record, and only where the brief can be got wrong."""

from dataclasses import replace

import numpy as np
import pytest

from salon.errors import BadValue
from salon.render import (
    DEFECTS,
    WEIGHTS,
    Brief,
    DrawingHabits,
    Glyphs,
    contrast,
    draw_poster,
    layout_json,
    plan_poster,
    true_quality,
)
from salon.render.colors import oklch
from salon.render.defects import bend, misspell, slip, wrong_color
from salon.render.styles import style_named

BRIEF = Brief(
    id="market",
    headline="Night Market",
    subhead="Street food and small repairs",
    body="Forty stalls between the old cranes. Bring a friend.",
    cta="Come hungry",
    when="Every Friday",
    where="Harbour Street 4",
    brand="Quay Collective",
    subject="fish",
    mood="joyful",
    style="Flat Design",
    palette=("navy", "coral", "cream"),
    headline_at="top",
    align="left",
)


def drawn(seed=3, brief=BRIEF, **knobs):
    named = {kind.replace("_", "-"): strength for kind, strength in knobs.items()}
    return draw_poster(brief, seed=seed, knobs=named).layout


def text(layout, role):
    return next(element for element in layout.elements if element.role == role and element.lettering)


@pytest.mark.parametrize("kind", DEFECTS)
def test_zero_changes_nothing_and_one_is_on_record(kind):
    clean = draw_poster(BRIEF, seed=3)
    assert layout_json(draw_poster(BRIEF, seed=3, knobs={kind: 0.0}).layout) == layout_json(clean.layout)
    flawed = draw_poster(BRIEF, seed=3, knobs={kind: 1.0})
    (record,) = flawed.layout.defects
    assert (record.kind, record.strength) == (kind, 1.0)
    assert record.detail
    assert flawed.layers != clean.layers
    assert draw_poster(BRIEF, seed=3, knobs={kind: 1.0}).layout == flawed.layout


@pytest.mark.parametrize("kind", ["wrong-color", "wrong-position"])
def test_a_brief_that_asks_for_nothing_cannot_be_got_wrong(kind):
    free = BRIEF.model_copy(update={"palette": (), "headline_at": None, "align": None})
    assert draw_poster(free, seed=3, knobs={kind: 1.0}).layout.defects == ()


# -- what each does, measured in the record ---------------------------------------------------------------------------

STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)


def falls(values):
    return all(np.diff(values) < 0)


def test_contrast_falls_to_the_faintest():
    found = [min(contrast(e.color, e.over) for e in drawn(low_contrast=s).elements if e.over) for s in STEPS]
    assert falls(found)
    assert found[-1] == pytest.approx(1.22, abs=0.03)
    assert found[0] >= 4.5


def test_sizes_draw_together():
    ratios = []
    for s in STEPS:
        layout = drawn(broken_hierarchy=s)
        ratios.append(text(layout, "headline").lettering.size / text(layout, "body").lettering.size)
    assert falls(ratios)
    assert ratios[-1] < 1.6 < 4 < ratios[0]


def test_left_edges_come_apart():
    def scatter(strength):
        layout = drawn(misalignment=strength)
        return np.std([text(layout, role).box.x for role in ("headline", "subhead", "body", "when", "where")])

    assert scatter(0) < 1
    assert scatter(0.3) < scatter(0.6) < scatter(1)


def test_moved_texts_stay_on_the_canvas_and_keep_their_words_in_them():
    for seed in range(6):
        layout = drawn(seed=seed, misalignment=1.0)
        for element in layout.elements:
            if element.lettering:
                box = element.box
                assert min(box.x, box.y, layout.width - box.right, layout.height - box.bottom) >= 0
                for line in element.lettering.lines:
                    assert line.box.x >= box.x - 2
                    assert line.box.right <= box.right + 2


def test_crowding_takes_the_margin():
    assert falls([drawn(crowding=s).grid.margin for s in STEPS])


def test_letters_are_pushed_about_and_words_stay():
    def places(strength):
        layer = draw_poster(BRIEF, seed=3, knobs={"bad-kerning": strength}).layer("headline")
        return np.concatenate([mark.xs for mark in layer.marks if isinstance(mark, Glyphs)])

    moved = [np.abs(places(s) - places(0)).mean() for s in STEPS]
    assert falls([-m for m in moved])
    flawed = drawn(bad_kerning=1.0)
    assert text(flawed, "headline").lettering.text == "Night Market"
    assert text(flawed, "body") == text(drawn(), "body")


def test_hues_leave_those_asked_for():
    def turn(strength):
        angle = oklch(drawn(wrong_color=strength).palette["ground"])[2] - oklch(drawn().palette["ground"])[2]
        return abs((angle + 180) % 360 - 180)

    whole = turn(1)
    assert 45 <= whole <= 180
    np.testing.assert_allclose([turn(s) for s in STEPS], [whole * s for s in STEPS], atol=4)  # eight bits a color


@pytest.mark.parametrize(("palette", "worst"), [(("#d04040",), 180), (("#d04040", "#00999b"), 90)])
def test_opposite_colors_do_not_come_back_by_half_a_turn(palette, worst):
    brief = BRIEF.model_copy(update={"palette": palette})
    plan = plan_poster(brief, DrawingHabits(), 7)
    used = replace(plan.palette, **dict.fromkeys(("ground", "surface", "accent"), "#ffffff"))
    used = replace(used, primary=palette[0], secondary=palette[-1])
    _, words, _ = wrong_color(replace(plan, palette=used), DrawingHabits(), 1.0)
    assert float(words.split()[3]) == pytest.approx(worst, abs=10)


def test_the_headline_leaves_its_third():
    box, height = text(drawn(), "headline").box, drawn().height
    assert box.y + box.height / 2 < height / 3
    box = text(drawn(wrong_position=1.0), "headline").box
    assert box.y + box.height / 2 > 2 * height / 3


def test_texts_are_left_out_the_least_needed_first():
    roles = [{e.role for e in drawn(missing_text=s).elements if e.lettering} for s in (0, 0.1, 0.5, 1)]
    assert [len(found) for found in roles] == [7, 6, 4, 1]
    assert "brand" not in roles[1]
    assert roles[3] == {"headline"}


def test_an_extra_element_is_named_and_covers_no_text():
    layout = drawn(extra_element=0.5)
    (extra,) = layout.of_role("extra")
    assert BRIEF.subject not in extra.recipe
    for element in layout.elements:
        if element.lettering:
            a, b = extra.box, element.box
            assert a.right <= b.x or b.right <= a.x or a.bottom <= b.y or b.bottom <= a.y


def test_a_style_that_does_not_suit_the_mood():
    assert BRIEF.mood not in style_named(drawn(off_mood_style=1.0).style).moods


def test_flaws_meet_in_one_poster():
    layout = drawn(low_contrast=0.5, misspelling=0.5, extra_element=0.5, misalignment=0.5)
    assert {defect.kind for defect in layout.defects} == {
        "low-contrast",
        "misspelling",
        "extra-element",
        "misalignment",
    }


# -- misspelling ------------------------------------------------------------------------------------------------------


def test_the_share_of_words_is_kept():
    texts = {"headline": "Night Market", "body": "Forty stalls between the old cranes and the sea"}  # 11 words
    for share, count in ((0.0, 0), (0.01, 1), (0.5, 6), (1.0, 11)):  # 5.5 words are six
        changed, slips = misspell(texts, share, np.random.default_rng(0))
        assert len(slips) == count
        before, after = " ".join(texts.values()).split(), " ".join(changed.values()).split()
        assert sum(one != other for one, other in zip(before, after)) == count


def test_every_slip_is_one():
    rng = np.random.default_rng(0)
    for word in ("the", "AAA", "ooo", "été", "Straße", "ΑΒΓΔ"):
        for _ in range(50):
            wrong = slip(word, rng)
            assert wrong.casefold() != word.casefold()
            assert wrong[0] == word[0]


# -- quality ----------------------------------------------------------------------------------------------------------


def test_quality_by_hand():
    # visual-hierarchy: (1 - .8 * .5)(1 - .4 * .25) = .6 * .9 = .54
    found = true_quality({"broken-hierarchy": 0.5, "low-contrast": 0.25})
    assert found["taste/visual-hierarchy"] == 0.54
    assert found["taste/color-accuracy"] == 1
    assert drawn(wrong_color=1.0).quality["taste/color-accuracy"] == pytest.approx(0.1)


def test_every_defect_costs_something_and_weights_are_shares():
    assert {kind for weights in WEIGHTS.values() for kind in weights} == set(DEFECTS)
    assert all(0 < weight < 1 for weights in WEIGHTS.values() for weight in weights.values())


# -- edges ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("knobs", [{"ugliness": 0.5}, {"crowding": 1.5}, {"crowding": float("nan")}])
def test_unknown_flaws_and_strengths_are_refused(knobs):
    with pytest.raises(BadValue):
        bend(plan_poster(BRIEF, DrawingHabits(), 0), DrawingHabits(), knobs)


def test_a_flaw_without_room_is_not_planted():
    full = BRIEF.model_copy(update={"headline": "A very long headline " * 9, "body": "Much to say. " * 60})
    layout = draw_poster(
        full, seed=1, knobs={"crowding": 1.0, "wrong-font-pairing": 1.0, "broken-hierarchy": 1.0}
    ).layout
    assert text(layout, "body").lettering.text.startswith("Much to say")
    assert len(layout.defects) < 3


def test_a_colored_headline_fades_too():
    """Never to more contrast than it had: a headline in the accent stays in it."""
    colored = [seed for seed in range(40) if plan_poster(BRIEF, DrawingHabits(), seed).headline_ink != "ink"]
    assert colored
    for seed in colored[:4]:
        found = [text(drawn(seed=seed, low_contrast=s), "headline") for s in STEPS]
        assert falls([contrast(element.color, element.over) for element in found])
