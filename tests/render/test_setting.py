"""Texts in frames: they fit, they are as large as they can be, their edges are true, and too much is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from salon.errors import BadValue
from salon.render import Box, Face, SetText, TooMuchText, set_text
from salon.render.typeset import characters, setting, shape
from salon.render.typeset.setting import STEP

FRAME = Box(x=50, y=80, width=500, height=300)
WORDS = ["Gipsy", "Jazz", "für", "alle", "Ångström", "& co", "—", "Nights", "quay", "Éclair", "2026", "fjord", "if"]
FAMILIES = ["Inter", "Playfair Display", "Great Vibes", "Anton", "Alfa Slab One", "Pacifico", "Unbounded"]


def put(text: str, frame: Box = FRAME, family: str = "Inter", weight: int = 600, **options) -> SetText:
    options = {"size": 90, "smallest": 10, "leading": 1.1, "paint": "#000000"} | options
    return set_text(text, Face(family=family, weight=weight), frame, **options)


def assert_inside(box: Box, frame: Box) -> None:
    assert box.x >= frame.x - 0.02
    assert box.y >= frame.y - 0.02
    assert box.right <= frame.right + 0.02
    assert box.bottom <= frame.bottom + 0.02


@pytest.mark.parametrize("seed", range(40))
def test_ink_is_inside_and_no_larger_size_would_do(seed):
    rng = np.random.default_rng(seed)
    text = " ".join(rng.choice(WORDS, rng.integers(1, 14)))
    frame = Box(x=rng.uniform(-50, 50), y=rng.uniform(0, 99), width=rng.uniform(150, 700), height=rng.uniform(60, 400))
    options = {
        "family": str(rng.choice(FAMILIES)),
        "align": str(rng.choice(["left", "center", "right"])),
        "valign": str(rng.choice(["top", "middle", "bottom"])),
        "tracking": float(rng.choice([0, 0.06])),
        "balanced": bool(rng.integers(2)),
        "leading": float(rng.uniform(0.9, 1.4)),
        "smallest": 4,
    }
    found = put(text, frame, **options)
    assert_inside(found.box, frame)
    assert " ".join(line.text for line in found.lines).split() == text.split()
    if found.size < 90:
        larger = found.size * 1.02 + STEP  # a fit may turn on how lines balance, so not the very next step
        try:
            forced = put(text, frame, **options | {"size": larger, "smallest": larger - STEP})
        except TooMuchText:
            return
        assert any(line.text.endswith("-") for line in forced.lines)


@pytest.mark.parametrize(("align", "edge"), [("left", "x"), ("right", "right")])
def test_edges_are_true_to_the_ink(align, edge):
    found = put("Jolly Wagon Tour Ave", align=align)
    assert len(found.lines) > 1
    for line in found.lines:
        assert getattr(line.box, edge) == pytest.approx(getattr(FRAME, edge), abs=0.02)


def test_centred_lines_share_their_middle():
    for line in put("Wide words over it", align="center").lines:
        assert (line.box.x + line.box.right) / 2 == pytest.approx(300, abs=0.02)


def test_top_hangs_from_capitals_whatever_the_letters():
    small, capital = (put(text, size=60).lines[0].baseline for text in ("onion", "Onion"))
    assert small == capital
    assert put("HHH", size=60).box.y == pytest.approx(FRAME.y, abs=0.01)
    assert put("ÅÉÖ", size=60).box.y == pytest.approx(FRAME.y, abs=0.01)


def test_middle_centres_capitals_and_bottom_rests_on_ink():
    label = put("HOLD", size=60, valign="middle")
    assert (label.box.y + label.box.bottom) / 2 == pytest.approx(230, abs=0.02)
    assert put("gold", size=60, valign="middle").lines[0].baseline == label.lines[0].baseline
    assert put("HOLD", size=60, valign="bottom").box.bottom == pytest.approx(FRAME.bottom, abs=0.02)
    assert put("gyp", size=60, valign="bottom").box.bottom == pytest.approx(FRAME.bottom, abs=0.02)


def test_the_wanted_size_is_kept_when_it_fits():
    found = put("Hi", size=40)
    assert (found.size, len(found.lines), found.text) == (40, 1, "Hi")
    assert found.glyphs[0].face == "Inter:600"
    assert len(found.glyphs[0].ids) == 2


def test_fewer_lines_mean_smaller_type():
    free, held = put("One two three four five six"), put("One two three four five six", max_lines=1)
    assert len(held.lines) == 1 < len(free.lines)
    assert held.size < free.size


def test_words_are_cut_only_when_nothing_else_is_left():
    narrow = Box(x=0, y=0, width=120, height=300)
    assert [line.text for line in put("Unbelievable", narrow).lines] == ["Unbelievable"]
    cut = put("Unbelievable", narrow, smallest=30)
    assert cut.lines[0].text.endswith("-")
    assert_inside(cut.box, narrow)


def test_lines_are_kept_apart_unless_they_may_touch():
    apart = put("gypsy\nÉTUDE", leading=0.7, size=60)
    upper, lower = apart.lines
    assert upper.box.bottom < lower.box.y
    assert put("gypsy\nÉTUDE", leading=0.7, size=60, touching=True).leading == 0.7
    assert put("Anna gypsy\nÉcole", leading=1.0, size=60).leading == 1.0  # the É stands under no descender
    assert put("HOME\nHOME", leading=0.8, size=60).leading == 0.8


def test_boxes_of_words_lie_in_their_lines():
    found = put("A quiet weekend of tastings, talks and music", balanced=False, size=40)
    for line in found.lines:
        assert [word.text for word in line.words] == line.text.split()
        for word in line.words:
            assert_inside(word.box, line.box)
        for left, right in itertools.pairwise(line.words):
            assert left.box.right < right.box.x


def test_right_to_left_lines_read_from_the_top():
    found = put("مهرجان الضوء في برلين كل ليلة", align="right", size=80)
    assert len(found.lines) > 1
    assert " ".join(line.text for line in found.lines) == "مهرجان الضوء في برلين كل ليلة"
    first = found.lines[0].words
    assert first[0].box.right == pytest.approx(FRAME.right, abs=0.02)
    assert first[0].box.x > first[-1].box.x


def test_bad_kerning_has_the_asked_deviation_and_keeps_the_ends():
    text = "minimum illumination millennium aluminium"
    wide = Box(x=0, y=0, width=3000, height=100)
    even = put(text, wide, size=60)
    gaps = []
    for seed in range(60):
        shaken = put(text, wide, size=60, kerning=0.05, shifts_rng=np.random.default_rng(seed))
        assert shaken.glyphs[0].ids == even.glyphs[0].ids
        moves = np.subtract(shaken.glyphs[0].xs, even.glyphs[0].xs)
        assert (moves[0], moves[-1]) == (0, 0)
        gaps += np.diff(moves)[1:-1].tolist()
    assert np.std(gaps) == pytest.approx(0.05 * 60, rel=0.05)
    assert abs(np.mean(gaps)) < 0.1


def test_the_same_text_is_set_the_same_with_cold_and_warm_caches():
    def whole() -> SetText:
        return put("Grüße aus 東京 & الضوء 2026", family="Bodoni Moda", size=70, tracking=0.03)

    warm = whole()
    for cached in (setting.paragraph, shape.em_line, shape.clusters, shape._shaped, characters.font_spans):
        cached.cache_clear()
    assert whole() == warm == whole()


@pytest.mark.parametrize("text", ["word " * 1000, "x" * 5000, "語" * 5000, "سلام " * 1000])
def test_five_thousand_characters_are_too_much(text):
    with pytest.raises(TooMuchText) as caught:
        put(text, role="headline", smallest=24)
    error = caught.value
    assert "headline" in error.needed
    assert f"{len(text.strip()):,} characters" in error.found
    assert "shorten it to about" in error.remedy


def test_the_remedy_is_about_what_fits():
    text = "some words of ordinary length " * 60
    with pytest.raises(TooMuchText) as caught:
        put(text, smallest=24, size=24)
    room = int(caught.value.remedy.split()[4].replace(",", ""))
    assert put(text[: int(room * 0.85)], smallest=24, size=24)
    with pytest.raises(TooMuchText):
        put(text[: int(room * 1.15)], smallest=24, size=24)


def test_a_book_is_refused_without_measuring_it():
    with pytest.raises(TooMuchText, match="at most 20,000"):
        put("x" * 10_000_000, role="body")


@pytest.mark.parametrize("text", ["", "   ", "\n\n", "\u200b", "\u00ad ", "\u200e", "\u3000", "\u2003"])
def test_nothing_to_read_is_refused(text):
    with pytest.raises(BadValue, match="something to read"):
        put(text, role="headline")


@pytest.mark.parametrize("text", ["bell \x07", "lone \udfff", "party 🎉"])
def test_what_cannot_be_drawn_is_refused(text):
    with pytest.raises(BadValue):
        put(text)


def test_invisible_words_make_no_line_and_no_word():
    narrow = Box(x=0, y=0, width=40, height=300)
    for invisible in "\u200b\u200c\u00ad\u200f\u2060":
        found = put(f"ab {invisible} cd", narrow, size=24)
        assert [word.text for line in found.lines for word in line.words] == ["ab", "cd"]
        assert len(found.lines) == 2


@pytest.mark.parametrize(
    "wrong", [{"size": 0}, {"size": float("nan")}, {"size": 5, "smallest": 6}, {"smallest": -1}, {"leading": 0}]
)
def test_absurd_sizes_are_refused(wrong):
    with pytest.raises(BadValue, match="0 < smallest <= size"):
        put("Hello", **wrong)


def test_sizes_between_two_steps_are_served():
    assert put("Hi", size=10.1, smallest=10.05).size == 10.0
    with pytest.raises(TooMuchText):
        put("Hi", Box(x=0, y=0, width=0, height=0))


RANGES = (
    (0x20, 0x7F),
    (0xA0, 0x24F),
    (0x300, 0x36F),
    (0x590, 0x6FF),
    (0x2000, 0x206F),
    (0x2190, 0x27BF),
    (0x3000, 0x30FF),
)


def test_any_text_is_set_inside_or_refused_by_name():
    rng = np.random.default_rng(5)
    outcomes = set()
    for _ in range(200):
        picked = rng.integers(*RANGES[rng.integers(len(RANGES))], size=rng.integers(1, 20))
        text = "".join(chr(code) + " \n"[: rng.integers(3)] for code in picked)
        frame = Box(x=0, y=0, width=rng.uniform(20, 400), height=rng.uniform(20, 400))
        try:
            found = put(text, frame, family=str(rng.choice(FAMILIES)), smallest=6, tracking=rng.choice([0, 0.1, -0.05]))
            assert_inside(found.box, frame)
            assert all(0 not in mark.ids for mark in found.glyphs)  # glyph 0 is the empty box
            outcomes.add("set")
        except BadValue as error:
            outcomes.add(type(error).__name__)
    assert outcomes == {"set", "BadValue", "TooMuchText"}
