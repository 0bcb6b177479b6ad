"""Measurements by hand: readings and pictures made for one rule each, and a drawn picture that is really read."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from salon.judge import MEASUREMENTS, MissingScore, PictureScore
from salon.judge.measurements.naturalness import naturalness, structure_features
from salon.judge.measurements.pixels import (
    EXTREME,
    PictureView,
    balance,
    oklab_of,
    palette_match,
    split_contrast,
    text_contrast,
)
from salon.judge.measurements.text import (
    alignment,
    blocks,
    even_spacing,
    headline_place,
    hierarchy,
    letter_spans,
    room,
    word_accuracy,
)
from salon.judge.scorers.rules import measurement_scorer
from salon.models import Reading, ReadingLine, ResultCache
from salon.models.ocr import read_text
from salon.render import oklab, parse_color
from salon.study import Item, Prompt

PROMPT = Prompt(id="p", text='A red and navy poster, "Night Market" and "by the old sea", title at the top')


def line(text, left, top, right, bottom):
    return ReadingLine(text, ((left, top), (right, top), (right, bottom), (left, bottom)), 1.0)


def seen(*lines, prompt=PROMPT, image=None):
    image = image or Image.new("RGB", (100, 200), "white")
    return PictureView(image, prompt, lambda: Reading(*image.size, lines))


# -- words ------------------------------------------------------------------------------------------------------------


def test_words_by_hand():
    # six words asked for: night market by the old sea; "sea" is misspelled, spaces do not matter
    assert word_accuracy(seen(line("NIGHTMARKET", 0, 0, 9, 9), line("by the old see", 0, 20, 9, 29))) == 5 / 6
    assert word_accuracy(seen()) == 0
    assert word_accuracy(seen(line("the the", 0, 0, 9, 9))) == 1 / 6  # asked for once


def test_without_quoted_words_there_is_nothing_to_find():
    assert word_accuracy(seen(line("x", 0, 0, 9, 9), prompt=Prompt(id="p", text="a poster for a fair"))) is None
    assert word_accuracy(seen(prompt=None)) is None


# -- contrast ---------------------------------------------------------------------------------------------------------


def test_contrast_is_wcags():
    black_on_white = np.array([[0, 0, 0]] * 30 + [[255, 255, 255]] * 70, np.uint8)
    assert split_contrast(black_on_white) == pytest.approx(21)
    gray = np.array([[119, 119, 119]] * 30 + [[255, 255, 255]] * 70, np.uint8)
    assert split_contrast(gray) == pytest.approx(4.48, abs=0.01)  # #777 on white, the known near miss of 4.5
    assert split_contrast(np.full((9, 3), 80, np.uint8)) == 1


def test_three_quarters_of_the_text_have_it():
    image = Image.new("RGB", (100, 200), "white")
    ImageDraw.Draw(image).rectangle((10, 10, 20, 20), fill="black")
    ImageDraw.Draw(image).rectangle((10, 110, 20, 120), fill="#777777")
    lines = [line("x" * 70, 5, 5, 40, 25), line("x" * 30, 5, 105, 40, 125)]
    assert text_contrast(seen(*lines, image=image)) == pytest.approx(4.48, abs=0.01)
    assert text_contrast(seen()) == 1  # asked for and not to be seen
    assert text_contrast(seen(prompt=None)) is None


# -- colors -----------------------------------------------------------------------------------------------------------


def test_oklab_is_the_renderers():
    np.testing.assert_allclose(oklab_of(np.array([[200, 30, 90]], np.uint8))[0], oklab("#c81e5a"), atol=1e-9)


def test_asked_colors_and_others():
    def picture(color):
        image = Image.new("RGB", (60, 60), color)
        image.paste((27, 42, 92), (0, 0, 20, 60))  # navy
        return palette_match(seen(image=image))

    asked, turned, other = picture("#dc2f2f"), picture("#c08a1f"), picture("#2c9a47")
    assert asked > 0.98
    assert asked > turned > other
    assert palette_match(seen(prompt=Prompt(id="p", text="a poster"))) is None
    assert palette_match(seen(prompt=Prompt(id="p", text="a black and white poster"))) is None


# -- boxes ------------------------------------------------------------------------------------------------------------


def test_lines_of_one_block_are_one():
    lines = [
        line("a", 10, 10, 50, 20),
        line("b", 10, 22, 40, 32),
        line("c", 10, 80, 50, 90),
        line("D", 60, 92, 90, 112),
    ]
    assert [[one.text for one in block] for block in blocks(lines)] == [["a", "b"], ["c"], ["D"]]


def test_alignment_by_hand():
    # left edges 10, 10 and 14: distances 0, 4, 4 of 100, cut at 10: 1 - (0 + .4 + .4) / 3
    lines = [line("a", 10, 0, 30, 10), line("b", 10, 50, 47, 60), line("c", 14, 100, 90, 110)]
    assert alignment(seen(*lines)) == pytest.approx(1 - 0.8 / 3)
    shared_right = [line("a", 10, 0, 80, 10), line("b", 40, 50, 80, 60)]
    assert alignment(seen(*shared_right)) == 1
    assert alignment(seen(lines[0])) is None


def test_hierarchy_room_and_place_by_hand():
    lines = [line("Night Market", 10, 10, 90, 50), line("by the old sea", 10, 90, 60, 100)]
    assert hierarchy(seen(*lines)) == 2  # 40 against 10, and most letters are in the smaller
    # the nearest edge is 10 away from both lines; of 100
    assert room(seen(*lines)) == pytest.approx(0.1)
    # the headline's middle is at 30 of 200; the upper third's is at 1/6
    assert headline_place(seen(*lines)) == pytest.approx(1 - abs(30 / 200 - 1 / 6))
    low = line("Night Market", 10, 150, 90, 190)
    assert headline_place(seen(low)) == pytest.approx(1 - (170 / 200 - 1 / 6))
    assert headline_place(seen(line("other words", 0, 0, 9, 9))) is None


# -- letters ----------------------------------------------------------------------------------------------------------


def bars(gaps):
    """A line of upright bars as letters, ten wide, `gaps` apart; its picture and its reading."""
    image = Image.new("RGB", (400, 64), "white")
    x = 10
    for gap in (*gaps, 0):
        ImageDraw.Draw(image).rectangle((x, 8, x + 9, 55), fill="black")
        x += 10 + gap
    return seen(line("nightmarket", 0, 0, 400, 64), image=image, prompt=Prompt(id="p", text='"nightmarket" in ink'))


def test_even_letters_are_even():
    even, uneven = bars([8] * 10), bars([4, 12] * 5)
    assert letter_spans(even.pixels).tolist()[:2] == [[10, 20], [28, 38]]
    assert even_spacing(even) == 0 or even_spacing(even) is None
    assert even_spacing(uneven) == pytest.approx(-4 / 64)  # sd of 4 and 12 over the height
    assert even_spacing(bars([8, 8])) is None  # three pieces are not eleven letters


# -- the eye, and fine structure --------------------------------------------------------------------------------------


def test_what_stands_to_one_side_is_out_of_balance():
    def at(x):
        image = Image.new("RGB", (160, 160), "#e8e4da")
        ImageDraw.Draw(image).ellipse((x, 50, x + 60, 110), fill="#c02020")
        return balance(seen(image=image))

    assert at(50) > at(80) > at(98)


def test_blur_and_noise_are_unnatural():
    rng = np.random.default_rng(0)
    drawn = Image.new("RGB", (256, 256), "#f4ead5")
    for _ in range(40):
        x, y = rng.integers(0, 220, 2)
        ImageDraw.Draw(drawn).rectangle((x, y, x + 30, y + 12), fill=tuple(int(c) for c in rng.integers(0, 255, 3)))
    clean = naturalness(seen(image=drawn))
    noisy = Image.fromarray(np.clip(np.asarray(drawn) + rng.normal(0, 25, (256, 256, 3)), 0, 255).astype(np.uint8))
    assert naturalness(seen(image=noisy)) < clean < 0
    assert naturalness(seen(image=drawn.resize((60, 60)))) is None
    assert np.isfinite(structure_features(np.full((128, 128, 3), 200, np.uint8))).all()  # a flat picture


# -- as scorers -------------------------------------------------------------------------------------------------------


def test_a_picture_is_really_read_and_only_once(tmp_path, monkeypatch):
    image = Image.new("RGB", (320, 120), "white")
    ImageDraw.Draw(image).text((20, 30), "Night Market", fill="black", font=ImageFont.load_default(44))
    image.save(tmp_path / "a.png")
    kept, item = ResultCache(tmp_path / "kept.sqlite"), Item(id="a", image=str(tmp_path / "a.png"))
    assert measurement_scorer("words", kept).score([item], [PROMPT]) == [pytest.approx(2 / 6, abs=1e-5)]
    monkeypatch.setattr("salon.models.ocr.read_text", lambda pixels: pytest.fail("read twice"))
    (contrast,) = measurement_scorer("contrast", kept).score([item], [PROMPT])
    assert contrast > 15


def test_every_measurement_states_its_gap(tmp_path):
    Image.new("RGB", (64, 64), "white").save(tmp_path / "a.png")
    kept, item = ResultCache(tmp_path / "kept.sqlite"), Item(id="a", image=str(tmp_path / "a.png"))
    kept.keep({measured_key(tmp_path / "a.png"): Reading(64, 64, ()).record()})
    for name, rule in MEASUREMENTS.items():
        scorer = measurement_scorer(name, kept)
        (found,) = scorer.results([item], [Prompt(id="p", text="a thing")])
        assert getattr(found, "reason", rule.gap) == rule.gap, name
        assert scorer.card.measures == rule.tells


def measured_key(path):
    import hashlib

    from salon.models import READER

    return f"{READER}|{hashlib.sha256(path.read_bytes()).hexdigest()}"


# -- plain and extreme pictures ---------------------------------------------------------------------------------------

NOISE = np.random.default_rng(0).integers(0, 256, (300, 200, 4), dtype=np.uint8)
PLAIN = {
    "white": Image.new("RGB", (200, 300), "white"),
    "gray": Image.new("L", (300, 120), 119),
    "colored": Image.new("RGB", (97, 400), "#c02020"),
    "sixteen bits": Image.new("I;16", (200, 300), 30_000),
    "transparent": Image.fromarray(np.dstack([NOISE[..., :3], np.zeros((300, 200), np.uint8)])),
    "barely not": Image.fromarray((128 + NOISE[..., :3] % 3).astype(np.uint8)),
}
EXTREMES = {
    "a pixel": Image.new("RGB", (1, 1), "black"),
    "tiny": Image.fromarray(NOISE[:7, :9, :3]),
    "a row": Image.fromarray(NOISE[:1, :, :3]),
    "long": Image.fromarray(np.resize(NOISE[..., :3], (9, 6000, 3))),
    "tall": Image.fromarray(np.resize(NOISE[..., :3], (2001, 100, 3))),
}


READINGS = ResultCache()


def said(name, image, folder, prompt=PROMPT):
    image.save(folder / "picture.png")
    return measurement_scorer(name, READINGS).results(
        [Item(id="i", prompt="p", image=str(folder / "picture.png"))], [prompt]
    )[0]


@pytest.mark.parametrize("picture", PLAIN)
def test_a_plain_picture_lacks_its_text_and_has_a_color(picture, tmp_path):
    results = {name: said(name, PLAIN[picture], tmp_path) for name in MEASUREMENTS}
    values = {name: one.value for name, one in results.items() if isinstance(one, PictureScore)}
    assert (values.pop("words"), values.pop("contrast")) == (0, 1)
    assert values.keys() == {"palette"}
    assert -1 < values["palette"] <= 1
    for name in results.keys() - {"words", "contrast", "palette"}:
        assert results[name] == MissingScore(MEASUREMENTS[name].gap)
    nothing_asked = Prompt(id="p", text="a poster")
    assert all(isinstance(said(name, PLAIN[picture], tmp_path, nothing_asked), MissingScore) for name in MEASUREMENTS)


def test_one_dot_anywhere_makes_a_picture_not_plain():
    white = np.full((70, 70, 3), 255, np.uint8)
    for row, column, band in ((0, 0, 0), (33, 33, 1), (69, 5, 2)):
        dotted = white.copy()
        dotted[row, column, band] -= 3
        assert not PictureView(Image.fromarray(dotted), None, lambda: None).is_plain
        dotted[row, column, band] += 1
        assert PictureView(Image.fromarray(dotted), None, lambda: None).is_plain


def test_palette_by_definition():
    rng = np.random.default_rng(3)
    view = PictureView(Image.fromarray(rng.integers(0, 256, (60, 50, 3), dtype=np.uint8)), PROMPT, lambda: None)
    named = np.array([oklab(parse_color(word)) for word in view.brief.palette])
    colored = named[np.hypot(named[:, 1], named[:, 2]) > 0.04]
    away = sorted(float(np.linalg.norm(color - named[0])) for color in view.colors)
    gaps, weights = [], []
    for _, a, b in view.colors:
        turns = [abs(np.angle(complex(a, b) / complex(x, y))) for _, x, y in colored]
        gaps.append(min(turns))
        weights.append(max(np.hypot(a, b) - 0.04, 0))
    expected = 1 - np.mean(away[: int(0.3 * len(away))]) - np.average(gaps, weights=weights) / np.pi
    assert palette_match(view) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("picture", EXTREMES)
def test_no_measurement_scores_an_extreme_picture(picture, tmp_path):
    assert {said(name, EXTREMES[picture], tmp_path) for name in MEASUREMENTS} == {MissingScore(EXTREME)}


def test_a_picture_too_thin_to_be_read_holds_no_text():
    assert read_text(np.zeros((9, 6000, 3), np.uint8)).lines == ()


@pytest.mark.parametrize("size", [(8, 8), (600, 30)])
def test_the_least_and_the_longest_pictures_are_measured(size, tmp_path):
    image = Image.fromarray(np.resize(NOISE[..., :3], (*size[::-1], 3)))
    for name in MEASUREMENTS:
        result = said(name, image, tmp_path)
        assert result == MissingScore(MEASUREMENTS[name].gap) or np.isfinite(result.value)
    assert isinstance(said("palette", image, tmp_path), PictureScore)
    assert isinstance(said("balance", image, tmp_path), PictureScore)
