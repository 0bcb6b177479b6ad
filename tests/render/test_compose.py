"""Plans and posters: the same by seed, obedient to the brief, readable, and honest about what does not fit."""

import hashlib
from dataclasses import replace

import pytest

from salon.errors import BadValue
from salon.render import (
    NAMES,
    SIZES,
    STYLES,
    Brief,
    DrawingHabits,
    Element,
    Layout,
    Poster,
    TooMuchText,
    compose,
    contrast,
    difference,
    lay_out,
    layout_json,
    plan_poster,
)
from salon.render.arrangements import ARRANGEMENTS
from salon.render.brief import FORMATS
from salon.render.layout import TEXT_ROLES
from salon.render.plan import Style
from salon.render.styles import style_named

HAND = DrawingHabits("plain")
FULL = Brief(
    id="full",
    headline="Blue Hour Jazz",
    subhead="Five nights of quartets by the harbour",
    body="Doors open at seven. Bring a friend, a coat and an open ear; the last boat leaves at midnight.",
    cta="Book your table",
    when="12-16 June, 8 pm",
    where="Pier 4 Warehouse, Old Port",
    brand="Harbour Arts",
    subject="boat",
    palette=("navy", "gold", "cream"),
)
BARE = Brief(id="bare", headline="Bread", subject="bread", mood="warm")


def made(brief: Brief, seed: int = 0, **changes) -> Poster:
    plan = plan_poster(brief, HAND, seed)
    return lay_out(replace(plan, **changes))


def texts(layout: Layout) -> list[Element]:
    return [element for element in layout.elements if element.kind == "text"]


def test_same_seed_same_bytes_other_seed_other_poster():
    first, again, other = (layout_json(made(FULL, seed).layout) for seed in (3, 3, 4))
    assert first == again
    assert first != other


class PlainStyle(Style):
    """No drawing that could change: what is left is the layout."""

    name = "Minimalist"
    moods = ("bold",)
    displays = (("Inter", 700),)
    texts = (("Inter", 400),)
    arrangements = ("hero-bottom",)

    def picture(self, stage, box):
        return self.panel(stage, box)


def test_the_layout_is_the_one_it_was(monkeypatch):
    monkeypatch.setattr(compose, "style_named", lambda name: PlainStyle())
    brief = FULL.model_copy(update={"style": "Minimalist", "headline_at": "top", "align": "left"})
    layout = lay_out(plan_poster(brief, HAND, 7)).layout
    assert layout.arrangement == "hero-bottom"
    assert hashlib.sha256(layout_json(layout).encode()).hexdigest()[:16] == "27b59f6d1b727ba6"


def test_the_record_survives_json():
    layout = made(FULL).layout
    assert Layout.model_validate_json(layout_json(layout)) == layout


def test_seeds_vary_arrangement_palette_and_type():
    plans = [plan_poster(BARE, HAND, seed) for seed in range(30)]
    for choice in ("style", "arrangement", "palette", "display", "cta"):
        assert len({str(getattr(plan, choice)) for plan in plans}) >= 3, choice


@pytest.mark.parametrize("style", STYLES)
def test_text_reads_on_what_it_stands_on_in_every_style_and_format(style):
    for seed, format in enumerate(FORMATS):
        brief = FULL.model_copy(update={"style": style, "format": format, "palette": () if seed % 2 else FULL.palette})
        for element in texts(made(brief, seed).layout):
            assert contrast(element.color, element.over) >= 4.5, (format, element.id)


@pytest.mark.parametrize("format", FORMATS)
def test_what_the_brief_says_is_what_is_set(format):
    for brief in (FULL, BARE):
        layout = made(brief.model_copy(update={"format": format})).layout
        assert (layout.width, layout.height) == SIZES[format]
        found = {element.role: element.lettering for element in texts(layout)}
        asked = {role: getattr(brief, role) for role in TEXT_ROLES if getattr(brief, role)}
        assert {role: lettering.asked for role, lettering in found.items()} == asked
        for role, lettering in found.items():
            assert lettering.text.casefold() == asked[role].casefold()
            assert " ".join(line.text for line in lettering.lines).split() == lettering.text.split()


@pytest.mark.parametrize("place", ["top", "middle", "bottom"])
@pytest.mark.parametrize("align", ["left", "center", "right"])
def test_place_and_alignment_asked_for_are_obeyed(place, align):
    third = ("top", "middle", "bottom").index(place)
    for seed, format in enumerate(("poster", "square", "slide", "card")):
        brief = FULL.model_copy(update={"format": format, "headline_at": place, "align": align})
        layout = made(brief, seed).layout
        (headline,) = layout.of_role("headline")
        centre = headline.box.y + headline.box.height / 2
        assert third / 3 < centre / layout.height < (third + 1) / 3
        assert headline.lettering.align == align


def test_right_to_left_text_starts_at_the_right():
    brief = Brief(id="rtl", headline="مهرجان الموسيقى", subhead="ثلاث ليال تحت النجوم", format="flyer")
    aligns = {plan_poster(brief, HAND, seed).align for seed in range(25)}
    assert "left" not in aligns
    assert "right" in aligns


def test_long_words_long_headlines_and_ideographs_find_room():
    for headline in ("Donaudampfschifffahrtsgesellschaft", "春の茶会", "word " * 79):
        layout = made(FULL.model_copy(update={"headline": headline.strip()})).layout
        assert layout.of_role("headline")[0].lettering.size > layout.of_role("brand")[0].lettering.size


def test_blank_texts_are_absent_but_a_blank_headline_is_refused():
    assert [e.role for e in texts(made(BARE.model_copy(update={"body": " ", "cta": "\n"})).layout)] == ["headline"]
    with pytest.raises(BadValue, match="something to read"):
        made(BARE.model_copy(update={"headline": "  "}))


def test_a_bent_plan_is_drawn_bent():
    plan = plan_poster(BARE, HAND, 1)
    faint = replace(plan.palette, ink=plan.palette.ground)
    poster = lay_out(replace(plan, palette=faint, headline_ink="ink", arrangement="stack", headline_at="middle"))
    assert poster.element("headline").color == plan.palette.ground
    small = lay_out(replace(plan, scale=replace(plan.scale, headline=1.2)))
    assert small.element("headline").lettering.size < 0.5 * lay_out(plan).element("headline").lettering.size


@pytest.mark.parametrize("size", [(64, 64), (300, 900), (900, 300), (2000, 1000), (700, 8192 // 4), (8192, 8192)])
def test_any_canvas_within_reason(size):
    plan = plan_poster(FULL, HAND, 2, width=size[0], height=size[1])
    layout = lay_out(plan).layout
    assert (layout.width, layout.height) == size


def test_the_same_poster_at_twice_the_size():
    one, two = (lay_out(plan_poster(FULL, HAND, 5, width=width)).layout for width in (1024, 2048))
    assert one.arrangement == two.arrangement
    for small, large in zip(one.elements, two.elements, strict=True):
        assert large.box.x / 2 == pytest.approx(small.box.x, abs=6)
        assert large.box.y / 2 == pytest.approx(small.box.y, abs=6)


@pytest.mark.parametrize("size", [(63, 500), (500, 8193), (100, 1000)])
def test_canvases_beyond_reason_are_refused(size):
    with pytest.raises(BadValue, match="needed"):
        plan_poster(FULL, HAND, 0, width=size[0], height=size[1])


def test_too_much_text_is_refused_with_its_role_and_a_remedy():
    brief = FULL.model_copy(update={"format": "slide", "body": "lorem ipsum " * 99, "subhead": "dolor " * 66})
    with pytest.raises(TooMuchText, match="shorten the") as caught:
        made(brief)
    assert caught.value.where == "subhead of brief full"


def test_comfortable_lengths_fit_every_format_and_place():
    words = "lorem ipsum dolor sit amet consetetur " * 10
    sizes = {"headline": 60, "subhead": 80, "body": 240, "cta": 30, "when": 40, "where": 60, "brand": 30}
    brief = Brief(id="all", **{role: words[:size] for role, size in sizes.items()})
    assert sizes == compose.COMFORTABLE
    for format in FORMATS:
        for place in ("top", "middle", "bottom"):
            made(brief.model_copy(update={"format": format, "headline_at": place, "style": "Minimalist"}))


def test_a_poster_is_changed_element_by_element():
    poster = made(FULL)
    headline = poster.element("headline")
    moved = poster.replace_element(headline.model_copy(update={"rotation": 3.0}))
    assert moved.element("headline").rotation == 3
    assert moved.layer("headline") == poster.layer("headline")
    fewer = poster.drop_element("brand")
    assert [element.z for element in fewer.layout.elements] == list(range(len(fewer.layers)))
    more = fewer.add_element(headline.model_copy(update={"id": "extra-1", "role": "extra"}), (), below="headline")
    ids = [layer.element for layer in more.layers]
    assert ids.index("extra-1") + 1 == ids.index("headline")
    with pytest.raises(BadValue, match="brand"):
        fewer.element("brand")
    with pytest.raises(BadValue, match="one layer"):
        Poster(poster.layout, poster.layers[1:])


def test_a_house_has_its_favourites_but_the_brief_wins():
    habits = DrawingHabits("quiet", styles=("Japanese",), arrangements=("framed",))
    assert plan_poster(BARE, habits, 0).style == "Japanese"
    assert plan_poster(BARE, habits, 0).arrangement == "framed"
    asked = BARE.model_copy(update={"style": "Retro", "palette": ("teal",)})
    plan = plan_poster(asked, habits, 0)
    assert plan.style == "Retro"
    assert min(difference(NAMES["teal"], color) for color in (plan.palette.ground, plan.palette.primary)) < 0.05


def test_arrangement_names_in_styles_exist():
    unknown = {name for style in STYLES for name in style_named(style).arrangements} - set(ARRANGEMENTS)
    assert not unknown
