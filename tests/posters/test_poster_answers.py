"""What responses say: what models really write is read, and nothing is guessed from the rest."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st
from public_files import UNDERSTANDING, made

from salon.bench.posters.answers_choice import read_label, read_letter
from salon.bench.posters.answers_lists import read_attributes, read_effects, read_yes
from salon.bench.posters.answers_numbers import read_boxes, read_patches, read_rating
from salon.bench.posters.answers_text import ReadAnswer, UnreadAnswer, match_texts, read_text, read_texts, text_units
from salon.bench.posters.item_scores import read_answer
from salon.bench.posters.tasks import ALIGNMENTS, ROTATIONS, STYLES


def value(answer: ReadAnswer | UnreadAnswer) -> object:
    return answer.value if isinstance(answer, ReadAnswer) else None


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("B", "B"), ("b", "B"), ("B.", "B"), ("(B)", "B"), ("**B**", "B"), ("Option B", "B"), ("Answer: B", "B"),
        ("B) the bold one", "B"), ("The answer is B.", "B"), ("My final answer is (C).", "C"), ("\\boxed{D}", "D"),
        ('{"answer": "B"}', "B"), ('```json\n{"answer": "C"}\n```', "C"), ('["A"]', "A"), ("I choose B.", "B"),
        ("Both are bold.\n\nB", "B"), ("B\n\nFont A is thinner than B.", "B"), ("Answer: A\nWait.\nAnswer: B", "B"),
        ("<think>A or B? A.</think>B", "B"), ("<Thinking>A</thinking>B", "B"), ("B because it is wider", "B"),
        ("ABCD", None), ("A, B", None), ("A and B", None), ("A or B", None), ("A\nB\nC\nD", None), ('["A", "B"]', None),
        ("A. bold\nB. italic\nC. glow\nD. shadow", None), ("Answer: A and B", None), ("Answer: E", None), ("", None),
        ("A bold font is shown", None), ("Font A is bolder", None), ("The answer is not A", None), ("Answer: АВ", None),
        ("I'm sorry, I can't help with that.", None), ("<think>A", None), ("<thinking>\nA\n</thinking>Hm.", None),
        ("◁think▷\nA\n◁/think▷\nHard to say.", None), ("<reasoning>A", None), ("Answer: A\nAnswer: neither", None),
        ("В", None), ("答案是 B", "B"), ("A: crowded\nB: airy", None),
        ("A: this is not the one.", None), ("A. is wrong", None), ("Hm.\n<think>\nA\n</think>\nHard to say.", None),
    ],
)  # fmt: skip
def test_letters(text: str, letter: str | None) -> None:
    assert value(read_letter(text, "ABCD")) == letter


@pytest.mark.parametrize(
    ("text", "options", "label"),
    [
        ("Memphis", STYLES, "Memphis Style"), ("memphis.", STYLES, "Memphis Style"),
        ("Style: **Pop-Art**", STYLES, "Pop Art"),
        ("The poster is in the Vaporwave style.", STYLES, "Vaporwave Style"),
        ('{"style": "retro"}', STYLES, "Retro Style"), ("Pop Art Style", STYLES, "Pop Art"),
        ("Bold shapes, so:\nTypographic Minimalism", STYLES, "Typographic Minimalism"),
        ('["clockwise rotation", "left-aligned"]', ROTATIONS, "clockwise rotation"),
        ("counter-clockwise", ROTATIONS, "counterclockwise rotation"), ("no rotation", ROTATIONS, "no rotation"),
        ("The text is not rotated.", ROTATIONS, "no rotation"), ("['left-aligned']", ALIGNMENTS, "left-aligned"),
        ("Left", ALIGNMENTS, "left-aligned"), ("The text is centered.", ALIGNMENTS, "center-aligned"),
        ("clockwise, counterclockwise", ROTATIONS, None), (", ".join(STYLES), STYLES, None),
        ("\n".join(STYLES), STYLES, None), ("It is not Memphis.", STYLES, None), ("Retro or Pop Art", STYLES, None),
        ("Unable to tell: it may be Memphis", STYLES, None),
        ('{"style": ' + 600 * "[" + '"Memphis"' + 600 * "]" + "}", STYLES, None),
        (json.dumps(STYLES), STYLES, None), ("That is the right choice: none", ALIGNMENTS, None), ("", STYLES, None),
    ],
)  # fmt: skip
def test_labels(text: str, options: tuple[str, ...], label: str | None) -> None:
    assert value(read_label(text, options)) == label


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("7", 7), ("7.5", 7.5), ("7/10", 7), ("Score: 8", 8), ("**Overall rating:** 6.5/10", 6.5),
        ('{"score": 4}', 4), ('{"layout": 9, "overall": "3.5"}', 3.5), ("It deserves 6 out of 10.", 6),
        ("Layout: 7/10\nColor: 8/10\nOverall score: 7.5", 7.5), ("A poster of 2024 with 3 fonts.\n5", 5),
        ("7-8/10", None), ("Layout 7/10, color 8/10", None), ("11", None), ("-1", None), ("Score: 85/100", None),
        ("Score: NaN", None), ('{"score": NaN}', None), ("Score: 80%", None), ("I cannot rate it", None),
        ("nice, with 3 fonts", None), ('{"score": true}', None), ('{"score": 1' + 400 * "0" + "}", None),
        ("A rating of 10 would be perfect.", None), ("I'm sorry, this is no 9/10.", None), ("The score is 7.", 7),
    ],
)  # fmt: skip
def test_ratings(text: str, number: float | None) -> None:
    assert value(read_rating(text)) == number


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("[0, 1, 8]", {0, 1, 8}), ("I take [1] and more: [0, 1, 8, 8]", {0, 1, 8}), ("Patches: 0, 1, 8", {0, 1, 8}),
        ('{"patches": ["0", 1, 8]}', {0, 1, 8}), ("[]", set()), ("[50, 1]", {50, 1}), ("[1.5]", None),
        ("the top left", None), ("[NaN]", None), ("[[1, 2]]", {1, 2}), ("[[0, 1], [1, 2]]", None),
    ],
)  # fmt: skip
def test_patches(text: str, ids: set[int] | None) -> None:
    assert value(read_patches(text)) == ids


SIZE = (400, 200)
BOX = (0.1, 0.2, 0.5, 0.6)


@pytest.mark.parametrize(
    ("text", "convention"),
    [
        ("[[0.1, 0.2, 0.5, 0.6]]", "share"), ("[0.1, 0.2, 0.5, 0.6]", "share"), ("(.1, .2, .5, .6)", "share"),
        ('[{"text": "one", "bbox": [0.1, 0.2, 0.5, 0.6]}]', "share"), ('{"one": [0.1, 0.2, 0.5, 0.6]}', "share"),
        ('{"x1": 0.1, "y1": 0.2, "x2": 0.5, "y2": 0.6}', "share"), ("```json\n[[10, 20, 50, 60]]\n```", "percent"),
        ("[10%, 20%, 50%, 60%]", "percent"), ("[[100, 200, 500, 600]]", "thousand"), ("[[40, 40, 200, 120]]", "pixel"),
        ('[["0.1", "0.2", "0.5", "0.6"]]', "share"),
    ],
)  # fmt: skip
def test_boxes_are_read_by_the_declared_convention(text: str, convention: str) -> None:
    answer = value(read_boxes(text, convention, SIZE))  # type: ignore[arg-type]
    assert answer.placed(["one"], 1)[0] == pytest.approx(BOX)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    ["[[100, 200, 500, 600]]", "[[0.5, 0.2, 0.1, 0.6]]", "[[0.1, 0.2, 0.1, 0.6]]", "[[-0.1, 0.2, 0.5, 0.6]]",
     "[[NaN, 0.2, 0.5, 0.6]]", '[["a", 0.2, 0.5, 0.6]]', "[[10%, 20%, 50%, 60%]]", "(0.1, nan, 0.5, 0.6)",
     "[[1e999, 0.2, 0.5, 0.6]]", '[["0_0", "0.2", "0.5", "0.6"]]', '[["٠", "0.2", "0.5", "0.6"]]'],
)  # fmt: skip
def test_bad_boxes_are_counted_and_leave_their_place_empty(text: str) -> None:
    answer = value(read_boxes(text, "share", SIZE))
    assert (answer.boxes, answer.unread) == ((None,), 1)  # type: ignore[union-attr]


def test_boxes_are_placed_by_name_or_else_in_order() -> None:
    text = '[{"label": "Two", "box": [0, 0, 1, 1]}, {"label": "one", "box": [0.1, 0.2, 0.5, 0.6]}]'
    answer = value(read_boxes(text, "share", SIZE))
    assert answer.placed(["one", "two", "three"], 3) == [BOX, (0, 0, 1, 1), None]  # type: ignore[union-attr]
    assert answer.placed(["x", "y"], 2) == [(0, 0, 1, 1), BOX]  # type: ignore[union-attr]
    prose = "- two: [0, 0, 1, 1]\n- one: (0.1, 0.2, 0.5, 0.6)"
    assert value(read_boxes(prose, "share", SIZE)).placed(["one", "two"], 2) == [BOX, (0, 0, 1, 1)]  # type: ignore[union-attr]
    assert read_boxes("there is none", "share", SIZE) == UnreadAnswer("no answer")


def test_texts() -> None:
    for text in ("NIKE", '"NIKE"', "Text: NIKE", '{"text": "NIKE"}', 'The logo reads "NIKE".', "NI KE\n"):
        assert "".join(value(read_text(text)).split()) == "NIKE", text  # type: ignore[union-attr]
    assert read_text("I'm sorry, I can't read logos.") == UnreadAnswer("refusal")
    for text in (
        "SALE\n7 July",
        '["SALE", "7 July"]',
        '```json\n{"texts": ["SALE", "7 July"]}\n```',
        "- SALE\n- 7 July",
        "1. SALE\n2. 7 July",
    ):
        assert value(read_texts(text)) == ("SALE", "7 July"), text


def test_poster_texts_are_whole_words_and_serve_once() -> None:
    assert match_texts(["SUMMER SALE", "7"], ["SUMMER", "SALE 7"]) == [True, True]
    assert match_texts(["A", "7"], ["SALE 17"]) == [False, False]
    assert match_texts(["SALE", "SALE"], ["SALE"]) == [True, False]
    assert match_texts(["限时特价"], ["限时 特价"]) == [True]
    assert match_texts(["Café"], ["Cafe\u0301"]) == [True]


def test_units_are_five_visible_characters() -> None:
    assert text_units(["ab cd", "efg\u200bhi", "jkl"]) == ["abcde", "fghij"]
    assert text_units(["ab"]) == ["ab"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("red, ice cubes", ("red", {"ice cubes"})), ('["red", "Ice-cubes", "fur"]', ("red", {"ice cubes", "fur"})),
        ('{"color": "reddish brown", "effects": ["stone"]}', ("reddish-brown", {"stone"})),
        ("Color: grey\nEffect: stone, fur", ("gray", {"stone", "fur"})), ("red\nstone", ("red", {"stone"})),
        ("red, blue, stone", (None, {"stone"})), ("It looks like something cold and shiny to me", None), ("", None),
    ],
)  # fmt: skip
def test_effects(text: str, wanted: tuple[str | None, set[str]] | None) -> None:
    assert value(read_effects(text)) == wanted


def test_judges() -> None:
    assert [value(read_yes(text)) for text in ("Yes", "no.", "Yes, it is", "**No**", "So: it is there.\nYes")] == [
        True, False, True, False, True,
    ]  # fmt: skip
    for text in ("", "Error 500", "maybe", "Yes\nNo", "nothing", "Yes and no", "No picture was given", "Yes or no?"):
        assert value(read_yes(text)) is None, text
    listed = {"serif", "attention-grabbing", "unheard of"}  # nothing of a list is lost
    assert value(read_attributes("serif, Attention grabbing; unheard-of")) == listed
    assert value(read_attributes("boldness")) is None


LONG = 100_000
FLOODS = ("[" * LONG, "{" * LONG, "(" * LONG, " " * LONG + "x", "A " * LONG, "1," * LONG, "0.1, " * LONG, '"' * LONG,
          "answer: " * LONG, "[0.1,0.2,0.3,0.4]," * 6000, "\n" * LONG + "B", "the " * LONG, "\u202e" * LONG,
          "7/10 " * LONG, "is is is" * LONG, "a\n" * LONG, "[1," * LONG, "*" * LONG,
          "-" * LONG, "```" * LONG, 600 * "[" + '"A"' + 600 * "]", 600 * '{"answer": ' + '"A"' + 600 * "}")  # fmt: skip


ITEMS = [made(name, 2).items[0] for name in UNDERSTANDING]


@pytest.mark.parametrize("flood", FLOODS, ids=lambda flood: repr(flood[:8]))
def test_no_flood_breaks_a_parser(flood: str) -> None:
    """100 KB and more, for every parser: a pattern that backtracks would never end."""
    for item in ITEMS:
        assert isinstance(read_answer(replace(item, response=flood)), ReadAnswer | UnreadAnswer)


@given(text=st.text(max_size=300))
def test_any_text_is_read_or_not_but_never_breaks(text: str) -> None:
    for item in ITEMS:
        assert isinstance(read_answer(replace(item, response=text)), ReadAnswer | UnreadAnswer)
