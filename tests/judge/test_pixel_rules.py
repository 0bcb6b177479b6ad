"""Rules of points by hand from readings and pixels, and from the records of posters with planted flaws."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw

from salon.errors import BadValue
from salon.judge import answer_from_layout, read_rule
from salon.judge.measurements.pixels import PictureView
from salon.judge.point_rules import answer_from_pixels, ink_height, lines_of
from salon.models import Reading, ReadingLine
from salon.render import Brief, draw_poster

BRIEF = Brief(
    id="b", headline="Night Market", subhead="Soup, songs and lamps", cta="Come hungry", where="Quay-Side 40",
    subject="fish", style="Flat Design", mood="joyful", palette=("turquoise", "coral", "indigo"), headline_at="top",
)  # fmt: skip
TEXTS = [BRIEF.headline, BRIEF.subhead, BRIEF.cta, BRIEF.where]


def line(text, left, top, right, bottom, confidence=1.0):
    return ReadingLine(text, ((left, top), (right, top), (right, bottom), (left, bottom)), confidence)


def picture(*lines, image=None):
    image = image or Image.new("RGB", (100, 200), "white")
    return PictureView(image, None, lambda: Reading(*image.size, lines))


def rule(kind, **told):
    return read_rule({"kind": kind, **told}, where="a test")


def holds(seen, kind, **told):
    return answer_from_pixels(rule(kind, **told), seen).holds


# -- by hand, from pixels ---------------------------------------------------------------------------------------------


def test_every_word_must_be_read_right():
    # accents that touching strokes make, a line that ends at a hyphen, and a 0 drawn as O are no slips of the poster
    read = ("NIGHT", "MARKÉT", "Quay-", "Side 4O")
    seen = picture(*(line(text, 0, 10 * row, 9, 10 * row + 9) for row, text in enumerate(read)))
    assert holds(seen, "text", text="Night Market")
    assert holds(seen, "text", text="Quay-Side 40")
    slip = answer_from_pixels(rule("text", text="Night Market"), picture(line("Nihgt Market", 0, 0, 9, 9)))
    assert slip == (False, "1 of 2 words read, not: night")


def test_other_words_are_those_nobody_asked_for():
    asked = {"texts": ["Night Market", "by the sea"]}
    assert holds(
        picture(line("NIGHTMARKET by", 0, 0, 9, 9), line("Fair", 0, 10, 9, 19, confidence=0.5)), "only", **asked
    )
    assert holds(picture(line("oo Xi", 0, 0, 9, 9)), "only", **asked)  # too short: pictures look like that
    assert answer_from_pixels(rule("only", **asked), picture(line("Night Fair", 0, 0, 9, 9))).why == "other words: fair"


@pytest.mark.parametrize(
    ("rows", "there", "leads"), [(3, False, False), (5, True, False), (29, True, False), (31, True, True)]
)
def test_a_color_covers_a_share(rows, there, leads):
    image = Image.new("RGB", (100, 200), "white")
    image.paste("#1b2a5c", (0, 0, 100, rows))  # navy on rows / 200 of the picture; 2% are there, 15% lead
    seen = picture(image=image)
    assert (holds(seen, "color", color="navy"), holds(seen, "color", color="navy", leads=True)) == (there, leads)


def test_a_place_is_a_third():
    seen = picture(line("Night", 60, 0, 100, 60), line("Market", 60, 60, 100, 120), line("small", 0, 190, 9, 199))
    # the two lines of the headline have their middle at 60 of 200, and at 80 of 100
    assert [at for at in ("top", "middle", "bottom", "left", "center", "right")
            if holds(seen, "place", text="Night Market", at=at)] == ["top", "right"]  # fmt: skip
    assert answer_from_pixels(rule("place", text="Day Trip", at="top"), seen) == (False, "“Day Trip” is not found")


def test_misspelled_lines_still_belong_to_their_text():
    night, market, other = line("Nigth", 0, 0, 9, 9), line("Makret", 0, 10, 9, 19), line("Matinee", 0, 20, 9, 29)
    assert lines_of("Night Market", (night, market, other)) == [night, market]


def test_sizes_are_those_of_the_ink():
    image = Image.new("RGB", (100, 200), "white")
    ImageDraw.Draw(image).rectangle((10, 20, 60, 49), fill="black")  # 30 rows of ink in a box of 42
    ImageDraw.Draw(image).rectangle((10, 100, 60, 109), fill="black")  # 10 rows in a box of 14
    tall, low = line("Night Market", 4, 14, 66, 56), line("by the sea", 8, 98, 62, 112)
    seen = picture(tall, low, image=image)
    assert (ink_height(tall, seen), ink_height(low, seen)) == (30, 10)
    assert holds(seen, "size", text="Night Market", least=0.15)
    assert not holds(seen, "size", text="Night Market", least=0.151)
    assert holds(seen, "largest", text="Night Market", times=3)
    assert not holds(seen, "largest", text="Night Market", times=3.1)
    assert holds(picture(tall, image=image), "largest", text="Night Market", times=9)  # nothing else is there


def test_contrast_and_margin():
    image = Image.new("RGB", (100, 200), "white")
    ImageDraw.Draw(image).rectangle((10, 20, 60, 49), fill="#767676")  # 4.54 on white, by WCAG's own example
    seen = picture(line("Night Market", 5, 10, 65, 60), image=image)
    assert holds(seen, "contrast", least=4.5)
    assert not holds(seen, "contrast", least=4.6)
    assert not holds(picture(), "contrast", least=1.1)  # what cannot be read at all has none
    # 5 to the edge, and 0.15 of the box's 50 rows that the engine leaves around the ink: 12.5 of 100
    assert holds(seen, "margin", texts=["Night Market"], least=0.125)
    assert not holds(seen, "margin", texts=["Night Market"], least=0.13)
    assert not holds(seen, "margin", texts=["Day Trip"], least=0.01)


# -- from the record, with planted flaws ------------------------------------------------------------------------------

FLAWS = {
    "text": ("misspelling", {"text": BRIEF.subhead}),
    "text missing": ("missing-text", {"text": BRIEF.cta}),
    "only": ("misspelling", {"texts": TEXTS}),
    "color": ("wrong-color", {"color": "coral"}),
    "color leads": ("wrong-color", {"color": "turquoise", "leads": True}),
    "place": ("wrong-position", {"text": BRIEF.headline, "at": "top"}),
    "largest": ("broken-hierarchy", {"text": BRIEF.headline, "times": 1.8}),
    "size": ("broken-hierarchy", {"text": BRIEF.headline, "least": 0.05}),
    "contrast": ("low-contrast", {"least": 3}),
    "margin": ("crowding", {"texts": TEXTS, "least": 0.03}),
}


@pytest.mark.parametrize("name", FLAWS)
def test_the_oracle_sees_what_was_planted(name):
    flaw, told = FLAWS[name]
    asked = rule(name.split()[0], **told)
    size = {"seed": 3, "width": 736, "height": 1040}
    assert answer_from_layout(asked, draw_poster(BRIEF, **size).layout).holds
    assert not answer_from_layout(asked, draw_poster(BRIEF, knobs={flaw: 1.0}, **size).layout).holds


# -- wrong rules ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"kind": "smell"}, "smell"),
        ({}, "kind"),
        ({"kind": "text"}, "text"),
        ({"kind": "color", "color": "navvy"}, "nearest names: navy"),
        ({"kind": "contrast", "least": 40}, "40"),
        ({"kind": "place", "text": "x", "at": "above"}, "above"),
        ({"kind": "margin", "texts": [], "least": 0.1}, "texts"),
        ({"kind": "size", "text": "x", "least": 0.1, "most": 1}, "most"),
    ],
)
def test_wrong_rules_say_what_is_wrong(record, told):
    with pytest.raises(BadValue, match=told) as caught:
        read_rule(record, where="point 'x'")
    assert "point 'x'" in str(caught.value)
