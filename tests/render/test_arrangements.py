"""Arrangements by property: nothing collides, nothing leaves the canvas, edges are shared, no text on a picture."""

from dataclasses import replace

import pytest

from salon.render import SIZES, Box, Brief, DrawingHabits, Element, Layout, lay_out, plan_poster
from salon.render.arrangements import ARRANGEMENTS, suitable

RICH = Brief(
    id="rich",
    headline="Take the long way up",
    subhead="Hut to hut along the northern ridge",
    body="Guided walks in small groups of eight, with soup at noon and a bed at night.",
    cta="See the routes",
    when="May to October",
    where="Meet at Upper Station",
    brand="Ridge & Trail",
    subject="mountain",
    style="Minimalist",
    mood="calm",
)
POOR = Brief(id="poor", headline="Listen", subhead="an hour of silence", style="Minimalist")


def drawn(brief: Brief, name: str, format: str, place: str, align: str, seed: int = 1) -> Layout:
    brief = brief.model_copy(update={"format": format, "headline_at": place, "align": align})
    return lay_out(replace(plan_poster(brief, DrawingHabits(), seed), arrangement=name, headline_at=place)).layout


def texts(layout: Layout) -> list[Element]:
    return [element for element in layout.elements if element.kind == "text"]


def meet(one: Box, other: Box) -> bool:
    return one.x < other.right and other.x < one.right and one.y < other.bottom and other.y < one.bottom


def inside(inner: Box, outer: Box, slack: float = 0.5) -> bool:
    return (
        inner.x >= outer.x - slack
        and inner.y >= outer.y - slack
        and inner.right <= outer.right + slack
        and inner.bottom <= outer.bottom + slack
    )


@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_texts_keep_apart_on_the_canvas_and_off_the_picture(name):
    arrangement = ARRANGEMENTS[name]
    for place in arrangement.places:
        for format in arrangement.formats:
            check_texts(drawn(RICH, name, format, place, arrangement.aligns[0]))
        for align in ("left", "center", "right"):
            check_texts(drawn(POOR, name, arrangement.formats[0], place, align))


def check_texts(layout: Layout) -> None:
    found = texts(layout)
    edge = 0.35 * layout.grid.margin
    canvas = Box(x=edge, y=edge, width=layout.width - 2 * edge, height=layout.height - 2 * edge)
    grounds = {layout.palette[color]: color for color in ("accent", "surface", "ground")}
    for at, element in enumerate(found):
        assert inside(element.box, canvas), element.id
        assert not any(meet(element.box, other.box) for other in found[:at]), element.id
        if grounds.get(element.over) == "ground":
            assert not any(meet(element.box, picture.box) for picture in layout.of_role("picture")), element.id
        if grounds.get(element.over) == "surface" and layout.arrangement not in ("badge", "turned"):
            assert any(inside(element.box, panel.box) for panel in layout.of_role("panel")), element.id


def test_left_edges_are_shared():
    for name in ("hero-bottom", "hero-top", "full-bleed", "split", "stack", "framed", "big-type"):
        layout = drawn(RICH, name, "poster", ARRANGEMENTS[name].places[0], "left")
        lefts = sorted(element.box.x for element in texts(layout) if element.role in ("headline", "subhead", "body"))
        assert lefts[-1] - lefts[0] < 0.5, name


def test_each_arrangement_can_hold_what_it_is_made_for():
    for name, arrangement in ARRANGEMENTS.items():
        for format in arrangement.formats:
            place = arrangement.places[0]
            assert drawn(POOR, name, format, place, arrangement.aligns[0]).arrangement == name, (name, format)


def test_words_lie_in_their_lines_and_lines_in_their_element():
    for name in ("hero-top", "turned", "badge"):
        for element in texts(drawn(POOR, name, "logo" if name == "badge" else "poster", "middle", "left")):
            for line in element.lettering.lines:
                assert inside(line.box, element.box)
                assert all(inside(word.box, line.box) for word in line.words)


def test_a_turned_headline_is_recorded_turned():
    (headline,) = drawn(POOR, "turned", "poster", "middle", "left").of_role("headline")
    assert headline.rotation == -7
    assert headline.box.height > headline.frame.height


def test_the_headline_leads():
    for name in ("hero-bottom", "split", "corner-grid", "big-type"):
        layout = drawn(RICH, name, "poster", ARRANGEMENTS[name].places[0], "left")
        sizes = {element.role: element.lettering.size for element in texts(layout)}
        assert sizes["headline"] > 2 * sizes["subhead"] > 2 * sizes["body"] > 1.6 * sizes["brand"], name


def test_every_format_has_arrangements_for_every_place():
    for format, (width, height) in SIZES.items():
        least = 2 if format == "logo" else 4
        for place in ("top", "middle", "bottom"):
            assert len(suitable(format, width, height, place)) >= least, (format, place)
    assert len(suitable("poster", *SIZES["poster"])) >= 9
