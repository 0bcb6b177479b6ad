"""Reading order of mixed scripts: by hand from the rules, and against a browser on random strings."""

from __future__ import annotations

import numpy as np
import pytest

from salon.render.typeset.shape import base_level, levels, visual_order


def seen(text: str) -> str:
    return "".join(text[place] for place in visual_order(levels(text)))


@pytest.mark.parametrize(
    ("stored", "expected"),
    [
        # Capitals stand for Hebrew, in the manner of UAX #9; digits keep their order, brackets their side.
        ("abc DEF ghi", "abc FED ghi"),
        ("ABC def GHI", "IHG def CBA"),
        ("ABC 123 DEF", "FED 123 CBA"),
        ("price A 12.50 B", "price B 12.50 A"),
        ("ABC 12:30-13:45!", "!12:30-13:45 CBA"),
        ("abc (DEF) ghi", "abc (FED) ghi"),
        ("ABC (def) GHI", "IHG )def( CBA"),
        ("ABC (def", "def( CBA"),
        ("(ABC) 5%", "5% )CBA("),
        ("abc DEF, GHI jkl", "abc IHG ,FED jkl"),
    ],
)
def test_by_hand(stored, expected):
    hebrew = str.maketrans("ABCDEFGHI", "אבגדהוזחט")
    assert seen(stored.translate(hebrew)) == expected.translate(hebrew)


def test_digits_after_arabic_letters_are_arabic_numbers():
    # W2: after an Arabic letter 1-2 is two numbers around a neutral sign (W4 joins only European ones).
    assert levels("ع 1-2") == (1, 1, 2, 1, 2)
    assert levels("ש 1-2") == (1, 1, 2, 2, 2)


def test_the_first_letter_decides_the_direction():
    assert [base_level(text) for text in ("12 abc", "12 שלום", "...", "«مرحبا»")] == [0, 1, 0, 1]


def test_trailing_space_stays_at_the_end_of_its_paragraph():
    assert levels("abc שם ")[-1] == 0
    assert levels("שם abc ")[-1] == 1


def test_left_to_right_text_is_left_alone():
    assert levels("Grüße, 東京 №5!") == (0,) * 13
    assert visual_order([]) == []


def test_order_is_a_permutation_and_two_levels_reverse_twice():
    assert visual_order([1, 1, 2, 2, 1]) == [4, 2, 3, 1, 0]
    rng = np.random.default_rng(3)
    for _ in range(50):
        deep = rng.integers(0, 4, rng.integers(1, 20)).tolist()
        assert sorted(visual_order(deep)) == list(range(len(deep)))


PLACES = """texts => texts.map(text => {
  const line = document.createElement("p");
  line.dir = "auto"; line.style = "white-space: pre; font: 20px monospace; width: 3000px; unicode-bidi: plaintext";
  line.textContent = text; document.body.replaceChildren(line);
  const range = document.createRange(), node = line.firstChild;
  return Array.from(text, (_, i) => {
    range.setStart(node, i); range.setEnd(node, i + 1);
    const box = range.getBoundingClientRect(); return (box.left + box.right) / 2;
  });
})"""


@pytest.mark.browser
def test_a_browser_puts_random_strings_in_the_same_order(chromium):
    rng = np.random.default_rng(11)
    alphabet = list("abאבגدعر12٣ .,:-+%$()[]!")
    texts = ["x" + "".join(rng.choice(alphabet, rng.integers(3, 16))) + "x" for _ in range(150)]
    texts += ["ש" + text[1:-1] + "ש" for text in texts] + ["ع" + text[1:-1] + "y" for text in texts]
    page = chromium.new_page()
    places = page.evaluate(PLACES, texts)
    page.close()
    wrong = [t for t, xs in zip(texts, places) if visual_order(levels(t)) != np.argsort(xs, kind="stable").tolist()]
    assert wrong == []
