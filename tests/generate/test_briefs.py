"""The built-in briefs: 240, all different, every vocabulary covered, and each can be laid out."""

import re
from collections import Counter
from pathlib import Path

import pytest

from salon.generate import builtin_briefs
from salon.render import CATEGORIES, LABELS, STYLES, SUBJECTS, brief_prompt, draw_poster, parse_color, read_brief
from salon.render.brief import MOODS

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "generate.md"
BRIEFS = builtin_briefs()
FEWER = {"presentations", "cards & invitations", "logo"}
FORMATS = {
    "presentations": {"slide"},
    "flyers": {"flyer"},
    "instagram posts": {"square"},
    "social media": {"square", "slide", "flyer"},
    "print products": {"flyer", "card", "poster"},
    "cards & invitations": {"card"},
    "posters": {"poster"},
    "art & design": {"poster", "square", "card"},
    "logo": {"logo"},
}
LONGEST = {"headline": 12, "subhead": 12, "body": 40, "cta": 8, "when": 8, "where": 8, "brand": 7}
REAL_BRANDS = re.compile(
    r"\b(adidas|adobe|airbnb|amazon|apple|audi|bmw|canva|coca|disney|facebook|ferrari|figma|google|gucci|honda|ikea|"
    r"instagram|intel|lego|leica|mcdonald|microsoft|netflix|nike|nintendo|openai|oreo|pepsi|playstation|porsche|puma|"
    r"rolex|samsung|sony|spotify|starbucks|tesla|tiktok|toyota|uber|vogue|whatsapp|wurlitzer|xbox|youtube|zara)(?:s|’s)?\b",
    re.IGNORECASE,
)


def texts(brief):
    return [text for role in LABELS if (text := getattr(brief, role)) is not None]


def counts(field):
    return Counter(getattr(brief, field) for brief in BRIEFS)


def test_240_over_nine_categories():
    assert counts("category") == {category: 26 if category in FEWER else 27 for category in CATEGORIES}
    assert len(BRIEFS) == 240


@pytest.mark.parametrize("field", ["id", "headline", "intent", "aesthetics"])
def test_no_two_alike(field):
    found = Counter(getattr(brief, field).casefold() for brief in BRIEFS)
    assert [text for text, times in found.items() if times > 1 or not text] == []


def test_ids_are_slugs_that_begin_with_the_category():
    for brief in BRIEFS:
        slug = brief.category.replace(" & ", "-").replace(" ", "-")
        assert re.fullmatch(rf"{slug}-[a-z0-9]+(-[a-z0-9]+)*", brief.id), brief.id


def test_formats_fit_the_category():
    assert [brief.id for brief in BRIEFS if brief.format not in FORMATS[brief.category]] == []


@pytest.mark.parametrize(
    ("field", "words", "least"), [("subject", SUBJECTS, 3), ("style", STYLES, 6), ("mood", MOODS, 15)]
)
def test_vocabularies_are_covered(field, words, least):
    found = counts(field)
    assert {word: found[word] for word in words if found[word] < least} == {}


def test_some_choices_are_left_to_the_house():
    shares = {field: sum(bool(getattr(brief, field)) for brief in BRIEFS) / 240
              for field in ("style", "palette", "headline_at", "align")}  # fmt: skip
    assert shares == pytest.approx({"style": 0.67, "palette": 0.86, "headline_at": 0.54, "align": 0.53}, abs=0.06)


def test_colors_are_known():
    assert {color for brief in BRIEFS for color in brief.palette if not parse_color(color)} == set()


def test_texts_are_as_short_as_a_design_needs():
    long = [(brief.id, role) for brief in BRIEFS for role, most in LONGEST.items()
            if len((getattr(brief, role) or "").split()) > most]  # fmt: skip
    assert long == []


def test_logos_carry_a_name_and_little_else():
    logos = [brief for brief in BRIEFS if brief.category == "logo"]
    assert {brief.id for brief in logos if brief.body or brief.cta or brief.where or brief.brand} == set()


def test_latin_letters_only_and_some_with_marks():
    foreign = [brief.id for brief in BRIEFS if re.search(r"[^\x00-\u024f‘’]", " ".join(texts(brief)))]
    marked = [brief.id for brief in BRIEFS if re.search(r"[\u00c0-\u024f]", " ".join(texts(brief)))]
    assert foreign == []
    assert len(marked) >= 12


def test_no_real_brands():
    written = ((brief.id, " ".join([*texts(brief), brief.intent, brief.aesthetics])) for brief in BRIEFS)
    assert [(name, found[0]) for name, text in written if (found := REAL_BRANDS.search(text))] == []


def test_a_prompt_gives_its_brief_back():
    assert [brief.id for brief in BRIEFS if read_brief(brief_prompt(brief)) != brief] == []


@pytest.mark.parametrize("category", CATEGORIES)
def test_every_brief_can_be_laid_out_with_all_its_texts(category):
    for brief in (brief for brief in BRIEFS if brief.category == category):
        elements = draw_poster(brief, seed=0).layout.elements
        shown = Counter(element.role for element in elements)
        assert all(shown[role] for role in LABELS if getattr(brief, role)), brief.id


def test_the_page_tells_the_numbers():
    page = PAGE.read_text(encoding="utf-8")
    (sentence,) = re.findall(r"^Nine categories with 26 or 27 briefs each: (.*?)\.\s", page, re.MULTILINE | re.DOTALL)
    told = " ".join(sentence.split())
    assert set(counts("category").values()) == {26, 27}
    assert len(CATEGORIES) == 9
    assert [name for name in CATEGORIES if name.replace("&", "and") not in told] == []
