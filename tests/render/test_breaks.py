"""Where lines may end, by hand and against a browser; which of those ends are chosen, against all choices."""

from __future__ import annotations

import itertools

import pytest

from salon.render import Face
from salon.render.typeset.setting import best, break_places, fewest, paragraph, with_cut_words
from salon.render.typeset.shape import shape_line

INTER = Face(family="Inter", weight=600)


def break_lines(text: str, width: float, size: float, *, balanced: bool = True) -> list[str] | None:
    """The lines of a text within `width` pixels; None where a letter has no room."""
    whole = with_cut_words(paragraph(text, INTER.key), width / size)
    breaks = best(whole, width / size, balanced=balanced)
    return breaks and [whole.line(*pair).text for pair in itertools.pairwise(breaks)]


def parts(text: str) -> list[str]:
    places = break_places(text)
    return [text[start:end].rstrip() for start, end in zip((0, *places), places)]


TEXTS = [
    "The quick brown fox",
    "well-known half-baked re-entry",
    "Monday and 9–17 h",
    "Rock & Roll (live) [sold out] {new}",
    "Don’t “quote me” ‘ever’ again",
    "Is it? Yes! No; maybe: fine, ok.",
    "call 555 or +49 30 1234",
    "50% off $20.99 and €5 today",
    "no\u00a0break here\u2011now",
    "東京の夜、静かな喫茶店で。",
    "今日は「特別」なパーティー！",
    "第3回ジャズ祭り2026",
    "春天，来了。欢迎（免费）",
    "Tokyo東京2026年春",
    "ずっと、きっと、ちょっと…",
    "zero\u200bwidth",
    "مرحبا بالعالم 2026",
    "שלום עולם, ברוכים הבאים!",
]


def test_by_hand():
    assert parts("well-known fact") == ["well-", "known", "fact"]
    assert parts("from -5 to 1-2") == ["from", "-5", "to", "1-2"]
    assert parts("a (b) c") == ["a", "(b)", "c"]
    assert parts("Vraiment ? Oui !") == ["Vraiment ?", "Oui !"]
    assert parts("5\u00a0km") == ["5\u00a0km"]
    assert parts("東京、「夜」だよ。") == ["東", "京、", "「夜」", "だ", "よ。"]
    assert parts("パーティー") == ["パー", "ティー"]
    assert parts("서울의 봄") == ["서울의", "봄"]
    assert parts("") == [""]


def test_stricter_than_browsers_with_numbers_and_dashes():
    # UAX #14 (LB25) keeps 555-0123 whole; a dash stays with the word before it, as typesetters have it.
    assert parts("call 555-0123") == ["call", "555-0123"]
    assert parts("Monday—Friday") == ["Monday—", "Friday"]


ROWS = """texts => texts.map(text => {
  const block = document.createElement("p");
  block.style = "font: 20px sans-serif; width: 1px; line-break: strict; hyphens: manual; white-space: pre-wrap";
  block.textContent = text; document.body.replaceChildren(block);
  const range = document.createRange(), node = block.firstChild;
  return Array.from(text, (_, i) => {
    range.setStart(node, i); range.setEnd(node, i + 1);
    const box = range.getClientRects()[0]; return box ? Math.round((box.top + box.bottom) / 2 / 10) : null;
  });
})"""


@pytest.mark.browser
def test_a_browser_breaks_at_the_same_places(chromium):
    page = chromium.new_page()
    page.set_content("<html lang=ja><body></body></html>")
    rows = page.evaluate(ROWS, TEXTS)
    page.close()
    theirs = {text: _broken(text, found) for text, found in zip(TEXTS, rows)}
    assert {text: parts(text) for text in TEXTS} == theirs


def _broken(text: str, rows: list[int | None]) -> list[str]:
    """The text cut wherever a visible character stands on another row than the one before it."""
    lines, row = [""], None
    for character, found in zip(text, rows):
        if not character.isspace() and character != "\u200b":
            if row is not None and abs(found - row) > 1:
                lines.append("")
            row = found
        lines[-1] += character
    return [line.rstrip() for line in lines]


@pytest.mark.parametrize("width", [180, 260, 400])
def test_the_evenest_of_all_ways_is_chosen(width):
    words = ["Summer", "Nights", "Under", "Golden", "Street", "Lanterns", "Again"]
    whole = paragraph(" ".join(words), INTER.key)
    em = width / 40
    greedy = fewest(whole, em)
    target = sum(whole.width(*pair) for pair in itertools.pairwise(greedy)) / (len(greedy) - 1)

    def cost(inner):
        lengths = [whole.width(*pair) for pair in itertools.pairwise((0, *inner, len(words)))]
        return float("inf") if max(lengths) > em else sum((target - length) ** 2 for length in lengths)

    every = itertools.combinations(range(1, len(words)), len(greedy) - 2)
    assert best(whole, em, balanced=True) == [0, *min(every, key=cost), len(words)]


def test_lines_are_within_the_width_and_lose_nothing():
    text = "Bring your own cup, meet the people behind the beans, and take home something worth waking up for."
    for balanced in (True, False):
        lines = break_lines(text, 300, 24, balanced=balanced)
        assert " ".join(lines) == text
        assert all(shape_line(line, INTER, 24).ink.width <= 300.01 for line in lines)


def test_headlines_do_not_tear_off_small_words():
    assert break_lines("Stories for a Long Winter", 300, 60) == ["Stories", "for a Long", "Winter"]
    assert break_lines("Bread and Butter for All", 300, 60) == ["Bread", "and Butter", "for All"]


def test_ideographs_keep_their_phrases():
    assert break_lines("早春茶會 New Tea", 170, 40) == ["早春茶會", "New Tea"]
    assert break_lines("静かな喫茶店で", 170, 40) == ["静かな", "喫茶店で"]


def test_only_a_word_longer_than_a_line_is_cut():
    lines = break_lines("An Unbelievablylongword indeed", 200, 40)
    assert lines[0] != "An Un-"
    assert [line for line in lines if line.endswith("-")] != []
    assert "".join(lines).replace("-", "").replace(" ", "") == "AnUnbelievablylongwordindeed"
    assert break_lines("Rindfleischetikettierung", 300, 40) == ["Rindfleische-", "tikettierung"]
    assert break_lines("Donau\u00addampf", 170, 40) == ["Donau-", "dampf"]


def test_there_are_no_lines_where_letters_have_no_room():
    assert break_lines("Wide", 3, 40) is None
    assert break_lines("مرحبابالعالم", 30, 40) is None
