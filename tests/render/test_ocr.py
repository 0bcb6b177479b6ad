"""An OCR engine reads clean posters, and misspelled ones as they are misspelled."""

import pytest

from prove._read_posters import read_poster, sample
from salon.judge.measurements.text import fold_words, found_words
from salon.render import CATEGORIES, STYLES, Brief
from salon.render.brief import FORMATS

# -- which words count as read ----------------------------------------------------------------------------------------


def found(wanted, *lines):
    return found_words([fold_words(line.split()) for line in wanted], lines)


def test_words_are_letters_and_digits_without_case():
    assert fold_words(["Don’t", "—", "wait,", "18:30", "&", "ÉTÉ!"]) == ["dont", "wait", "1830", "été"]
    assert found(["Été"], "Ete") == [[False]]


def test_every_word_read_counts_once():
    assert found(["the sea the sky"], "THE sea", "sky") == [[True, True, False, True]]


def test_spaces_do_not_matter_inside_a_line():
    assert found(["The End Piece"], "THEENDPIECE") == [[True] * 3]
    assert found(["BALLOON night"], "B ALL OON", "night") == [[True] * 2]
    assert found(["party"], "party art") == [[True]]
    assert found(["art"], "party") == [[False]]


def test_a_joined_line_keeps_its_small_words():
    # 'the' of the second line must not be taken for that of the first, which is read inside a longer word
    assert found(["The End", "for the bread"], "THEEND", "for the bread") == [[True] * 2, [True] * 3]


def test_nothing_read():
    assert found(["Night Market"]) == [[False, False]]


# -- posters ----------------------------------------------------------------------------------------------------------


def test_the_sample_spreads():
    cases = list(sample(102))
    assert {brief.style for brief, _ in cases} == set(STYLES)
    assert {brief.category for brief, _ in cases} == set(CATEGORIES)
    assert {brief.format for brief, _ in cases} == set(FORMATS)
    assert len({brief.id for brief, _ in cases}) == 102


FERRY = Brief(
    id="ferry",
    format="poster",
    headline="Slow Ferry North",
    subhead="Six islands in four days, no engine noise after nine",
    body="Cabins for two, bread from the ship's oven, and a librarian on board.",
    when="From 2 June",
    where="Harbour office, pier 4",
    cta="Reserve a bunk",
    subject="boat",
)
SUPPER = Brief(
    id="supper",
    format="square",
    headline="Soup for Strangers",
    subhead="One long table under the plane trees",
    when="Sunday 14 September, 6 pm",
    brand="Canteen Fourteen",
    subject="bread",
)
SQUARE = FERRY.model_copy(update={"format": "square"})
CASES = [
    (brief.model_copy(update={"style": style}), seed)
    for seed, (brief, style) in enumerate(
        [(SQUARE, "Retro"), (SUPPER, "Diffuse Glow"), (FERRY, "Cyberpunk"), (SUPPER, "Illustrative")]
    )
]
MISSPELLED = CASES[:2]


@pytest.fixture(scope="module")
def clean():
    return [read_poster((case, 0.0)) for case in CASES]


def test_clean_posters_are_read(clean):
    words = sum(len(one.words) for one in clean)
    assert words == 2 * 36 + 2 * 17
    assert sum(one.found for one in clean) / words >= 0.95
    assert sum(one.asked_found for one in clean) / words >= 0.95
    assert all(one.changed == 0 for one in clean)


def test_misspelling_costs_what_was_planted(clean):
    before, after = clean[: len(MISSPELLED)], [read_poster((case, 0.5)) for case in MISSPELLED]
    asked, changed = sum(one.asked for one in after), sum(one.changed for one in after)
    lost = sum(one.asked_found for one in before) - sum(one.asked_found for one in after)
    assert 0.3 < changed / asked < 0.6
    assert lost / asked == pytest.approx(changed / asked, abs=0.07)
    assert sum(one.found for one in after) / sum(len(one.words) for one in after) >= 0.93
