"""Every kind of answer in sixty hands and more: read as it is meant; of a list never a part."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, strategies as st

from salon.bench.posters.answers_choice import read_label, read_letter
from salon.bench.posters.answers_lists import read_attributes, read_effects, read_yes
from salon.bench.posters.answers_numbers import BoxAnswer, read_boxes, read_patches, read_rating
from salon.bench.posters.answers_text import ReadAnswer, UnreadAnswer, letters_only, read_text, read_texts
from salon.bench.posters.tasks import ALIGNMENTS, ATTRIBUTES, COLORS, ROTATIONS, STYLES

WRAPS = (
    "{}", " {}\n", "**{}**", "```\n{}\n```", "```json\n{}\n```", "```python\n{}\n```\n",
    "<think>A? 3? [1, 2]</think>{}",
    "<think>\nmaybe B, 4\n</think>\n\n{}", "<answer>{}</answer>", "<answer>\n{}\n</answer>", "Answer: {}",
    "**Answer:** {}", "The answer is {}", "Final answer: {}", "Final Answer:\n{}", "<|begin_of_box|>{}<|end_of_box|>",
    "{}<|im_end|>", "\ufeff{}", "答案：{}", "<reasoning>7 or 8, C</reasoning>\n{}",
)  # fmt: skip
"""Hands that any answer may come in."""
EFFECTS = ("furry", "outline", "composed of stars and nebulae", "pink and purple gradient", "glossy finish", "smoke",
           "pebble-colored spots", "wood grain texture")  # fmt: skip
MENU = (*COLORS, *EFFECTS)


def quoted(words: Sequence[Any]) -> str:
    return json.dumps(list(words))


LISTS: tuple[Callable[[Sequence[str]], str], ...] = (
    quoted, lambda words: str(list(words)), lambda words: f"[{', '.join(words)}]", ", ".join, ",".join, "; ".join,
    "\n".join, lambda words: "\n".join(f"- {word}" for word in words),
    lambda words: "\n".join(f"{i}. {word}" for i, word in enumerate(words, 1)),
    lambda words: ", ".join(f'"{word}"' for word in words), lambda words: ", ".join(f"“{word}”" for word in words),
    " | ".join, "，".join, "、".join, lambda words: json.dumps(list(words), indent=2),
    lambda words: str(list(words)).replace("]", ",]"), lambda words: ", ".join(word.capitalize() for word in words),
)  # fmt: skip
"""Hands that a list of words may come in."""


def value(answer: ReadAnswer | UnreadAnswer) -> Any:
    return answer.value if isinstance(answer, ReadAnswer) else answer.reason


def forms(bodies: Sequence[str], more: Sequence[str] = ()) -> list[str]:
    """Every body in every hand, and more; at least sixty."""
    texts = [*(wrap.format(body) for body in bodies for wrap in WRAPS), *more]
    assert len(set(texts)) >= 60
    return texts


def wrong(texts: Sequence[str], read: Callable[[str], ReadAnswer | UnreadAnswer], wanted: Any) -> list[tuple[str, Any]]:
    return [(text, found) for text in texts if (found := value(read(text))) != wanted]


def test_letters() -> None:
    more = ["B – the serifs match", "B — it is wider", "B: the letters match", "B, because it is wider",
            "B because it fits",
            "Poster B has a more balanced layout.", "Poster B has better spacing than poster A.",
            "B is better than A.",
            "The font that matches is B.", "The option with the glow effect is B.", "I think B fits best.",
            "Option B is the one.", "B looks right to me, because the others differ.", "I'd go with B.", "It's B",
            "Definitely B.", "{'answer': 'B'}", '{"answer": "B", "reason": "A is crowded"}', '{"choice": "B) bold"}',
            "['B']", "（B）", "【B】", "Ｂ", "B。", "\\boxed{\\text{B}}", "$B$", "\\(B\\)", "B [sure]", "B. B", "- B",
            "1. B",
            "> B", "Letter B", "Target font: B", "The correct option is (B).", "La respuesta es B", "Antwort: B",
            "<b>B</b>", "B\n\nExplanation: A is thinner.", "The layout of poster B is more visually appealing.",
            "Image B is more appealing. Image A is crowded."]  # fmt: skip
    assert wrong(forms(["B", "b", "(B)", "Option B", '"B"'], more), lambda text: read_letter(text, "ABCD"), "B") == []


@pytest.mark.parametrize(
    "text",
    ["A, B", "A or B", "AB", "A/B", "A and B", "Font A is bolder", "A bold font is shown",
    "Poster A has cluttered text.",
     "The worst is B.", "not B: A", "A, because B is crowded", "Neither",
     "Comparing them, A seems close, but B it is.",
     "A is better than B in color, but B is better in layout", "A is the better one? No, B is.", "A\n\nWait, B",
     "A\nB", "[A, B]", "Both A and B", "Option B is not the one", "I cannot choose between A and B", "Number 1"],
)  # fmt: skip
def test_letters_that_are_not_chosen(text: str) -> None:
    assert isinstance(read_letter(text, "ABCD"), UnreadAnswer)


@pytest.mark.parametrize("options", [STYLES, ALIGNMENTS, ROTATIONS], ids=["styles", "alignments", "rotations"])
def test_labels(options: tuple[str, ...]) -> None:
    for label in options:
        bodies = [label, label.lower(), label.upper(), f"'{label}'", f"['{label}']", quoted([label]), f"[{label}]",
                  json.dumps({"answer": label}), str({"label": label})]  # fmt: skip
        texts = forms(bodies, [f"My reading: {label}.", f"I would say: {label}.", f"It must be {label}.", f"{label}。"])
        assert wrong(texts, lambda text: read_label(text, options), label) == []
    both = "Rotation: clockwise\nAlignment: left"
    assert [value(read_label(both, known)) for known in (ROTATIONS, ALIGNMENTS)] == [
        "clockwise rotation",
        "left-aligned",
    ]
    denied = f"['{options[0]}'] (not ['{options[1]}'])"
    assert value(read_label(denied, options)) == options[0]
    assert isinstance(read_label(str(list(options[:2])), options), UnreadAnswer)


def test_styles_with_and_without_the_word() -> None:
    for label in STYLES:
        bare = label.removesuffix(" Style")
        for text in (
            bare,
            f"{bare} style",
            f"{bare} Style",
            f"The poster is in the {bare} style.",
            bare.replace(" ", "-"),
        ):
            assert value(read_label(text, STYLES)) == label, text


def test_ratings() -> None:
    more = ["[7]", "7 (good)", "7 points", "7 pts", "\\boxed{7}", "seven", "seven out of ten", "Seven", "7 out of 10",
            "7/10", "7 / 10", "A 7/10 poster.", "Overall rating: 7 (good layout)",
            "Typography 6, layout 8, overall 7",
            "{'overall': 7}", '{"typography": 5, "overall": 7.0}', "7.0", "7.", "7!", "$7$", "7分", "评分：7",
            "7 – strong",
            "7 - strong", "Rating - 7", "I'd give it a 7.", "I rate this poster 7", "It deserves a 7", "about 7",
            "~7",
            "about seven, say 7", "７", "Score: **7**", "Score = 7", "7 because it is clean", "7 of 10", "7 stars",
            "Layout: 6\nColor: 8\n\nOverall: 7", "On a scale of 1-10, I'd give it a 7."]  # fmt: skip
    assert wrong(forms(["7", "7.0", "**7**", '"7"'], more), read_rating, 7.0) == []
    for text in (
        "7-8",
        "7 or 8",
        "between 7 and 8",
        "7/100",
        "70%",
        "[7, 8]",
        "3 fonts",
        "11",
        "Score: 7 or 8",
        "Score: 7 for layout, 8 for type",
        "It gets 3 things right. 7",
        "Overall 2 of 3 aspects: 6",
        "-7",
        "1, 2, 3, 4",
        "",
    ):
        assert isinstance(read_rating(text), UnreadAnswer), text


def test_patches() -> None:
    more = ["(1, 22, 8)", "[1, 22, 8,]", "[[1, 22, 8]]", "{1, 22, 8}", "1 22 8", "Patches: 1 22 8",
            "Patches: 1, 22, 8.",
            "ids = [1, 22, 8]", "patches one, twenty-two, 8", "[1; 22; 8]", "[1 22 8]", "1, 22 and 8",
            "Patch 1, Patch 22, Patch 8",
            "#1, #22, #8", '{"patches": [1, 22, 8]}', "{'ids': '1, 22, 8'}", "[1, 22] are clear, so [1, 8, 22]",
            "Row 1: 1, 8\nRow 4: 22", "1\n22\n8", "- 1\n- 22\n- 8", "1. 1\n2. 22\n3. 8", "[“1”, “22”, “8”]",
            "Here are the 3 patches:\n[1, 22, 8]", "【1，22，8】", "My reading: [1, 22, 8]."]  # fmt: skip
    texts = forms(["[1, 22, 8]", "1, 22, 8", "['1', '22', '8']"], more)
    assert wrong(texts, read_patches, frozenset({1, 8, 22})) == []


def test_boxes() -> None:
    wanted = ((0.1, 0.2, 0.5, 0.6), (0.2, 0.3, 0.6, 0.7))
    bodies = ["[[0.1, 0.2, 0.5, 0.6], [0.2, 0.3, 0.6, 0.7]]", "[0.1, 0.2, 0.5, 0.6]\n[0.2, 0.3, 0.6, 0.7]",
              "[(0.1, 0.2, 0.5, 0.6), (0.2, 0.3, 0.6, 0.7)]"]  # fmt: skip
    more = ["0.1, 0.2, 0.5, 0.6\n0.2, 0.3, 0.6, 0.7", "0.1, 0.2, 0.5, 0.6; 0.2, 0.3, 0.6, 0.7",
            "- 0.1, 0.2, 0.5, 0.6\n- 0.2, 0.3, 0.6, 0.7", "[0.1, 0.2, 0.5, 0.6, 0.2, 0.3, 0.6, 0.7]",
            "left 0.1 top 0.2 right 0.5 bottom 0.6; left 0.2 top 0.3 right 0.6 bottom 0.7",
            "(0.1, 0.2), (0.5, 0.6)\n(0.2, 0.3), (0.6, 0.7)", "[[[0.1, 0.2], [0.5, 0.6]], [[0.2, 0.3], [0.6, 0.7]]]",
            "{'one': [0.1, 0.2, 0.5, 0.6], 'two': [0.2, 0.3, 0.6, 0.7]}", "[[.1, .2, .5, .6], [.2, .3, .6, .7]]",
            "[{'text': 'one', 'box': [0.1, 0.2, 0.5, 0.6]}, {'text': 'two', 'box': [0.2, 0.3, 0.6, 0.7]}]",
            '{"text": "one", "bbox": [0.1, 0.2, 0.5, 0.6]}\n{"text": "two", "bbox": [0.2, 0.3, 0.6, 0.7]}',
            "1. one: [0.1, 0.2, 0.5, 0.6]\n2. two: [0.2, 0.3, 0.6, 0.7]",
            "xmin: 0.1, ymin: 0.2, xmax: 0.5, ymax: 0.6\nxmin: 0.2, ymin: 0.3, xmax: 0.6, ymax: 0.7",
            "Here are 2 boxes: [[0.1, 0.2, 0.5, 0.6], [0.2, 0.3, 0.6, 0.7]] (version 1.0)"]  # fmt: skip
    for text in forms(bodies, more):
        read = value(read_boxes(text, "share", (100, 100)))
        assert isinstance(read, BoxAnswer), text
        assert read.placed(["one", "two"], 2) == list(wanted), text


def test_boxes_keep_their_places() -> None:
    box = (0.1, 0.2, 0.5, 0.6)
    for nothing in ("null", "[]", "[0.1, 0.2]", "[1.7, 0, 0.2, 3]"):
        read = value(read_boxes(f"[{nothing}, [0.1, 0.2, 0.5, 0.6]]", "share", (100, 100)))
        assert read.boxes == (None, box), nothing
    edge = value(read_boxes("[[-0.01, 0.2, 1.03, 1.0004], [0.1, 0.2, 1.2, 0.5]]", "share", (100, 100)))
    assert edge.boxes == ((0.0, 0.2, 1.0, 1.0), None)  # just past the edge is cut, far outside is none
    misspelt = '[{"text": "Friday 28 Feb", "box": [0.1, 0.2, 0.5, 0.6]}, {"text": "SHOW!", "box": [0, 0, 1, 1]}]'
    assert value(read_boxes(misspelt, "share", (9, 9))).placed(["Show", "FRIDAY, 28 FEB."], 2) == [(0, 0, 1, 1), box]
    for several in ("[[0,0,1,1],[0,0,1,1]] or [[0,0,1,0.5],[0,0,1,1]]", "[0,0,1,1] (0; 0; 1; 1)"):
        assert isinstance(read_boxes(several, "share", (9, 9)), UnreadAnswer), several


def test_attributes() -> None:
    words = ("modern", "strong", "attention-grabbing")
    more = ["modern, strong and attention-grabbing", "The letters look modern and strong and attention grabbing.",
            "Attributes: modern, strong, attention-grabbing",
            "{'attributes': ['modern', 'strong', 'attention-grabbing']}",
            "[modern; strong; attention_grabbing]", "{'modern', 'strong', 'attention-grabbing'}"]  # fmt: skip
    texts = [*(wrap.format(hand(words)) for hand in LISTS for wrap in WRAPS), *more]
    assert len(texts) > 60
    assert wrong(texts, read_attributes, frozenset(words)) == []


def test_effects() -> None:
    words = ("pink", "composed of stars and nebulae", "furry", "pebble-colored spots")
    wanted = ("pink", frozenset(("composed of stars and nebulae", "furry", "pebble colored spots")))
    a, b, c = words[1:]
    more = [f"Color: pink\nEffects: {a}, {b}, {c}", f"Color: pink; Effects: {a}, {b}, {c}",
            f"color: pink, effects: {a}, {b}, {c}",
            f"['pink'], ['{a}', '{b}', '{c}']", f"Color: ['pink'] Effects: ['{a}', '{b}', '{c}']",
            f"pink, ['{a}', '{b}', '{c}']",
            f"**Color**: pink\n**Effects**:\n- {a}\n- {b}\n- {c}", f"pink, {a}, {b} and {c}", f"{a}, {b}, {c}, pink",
            f"The primary text color is pink, and the effects are {a}, {b} and {c}.",
            f"Effects: {a}, {b}, {c}. Color: pink.",
            json.dumps({"color": "pink", "effects": [a, b, c]}), str({"Color": ["pink"], "Effects": [a, b, c]}),
            f"pink, {a}, {b}, {c}\n\nNote: 3 more lines were too small to read.",
            f"颜色：pink；效果：{a}，{b}，{c}"]  # fmt: skip
    texts = [*(wrap.format(hand(words)) for hand in LISTS for wrap in WRAPS), *more]
    assert wrong(texts, lambda text: read_effects(text, MENU), wanted) == []
    assert value(read_effects("pink and lightning", MENU)) == ("pink", {"lightning"})
    assert value(read_effects("The text is pink with a furry effect.", MENU)) == ("pink", {"furry"})
    assert isinstance(read_effects("pink, furry, or outline", MENU), UnreadAnswer)


def test_verdicts() -> None:
    more = ["Yes, it does.", "Yes. The title is there.", "Answer: Yes", "**Yes**", "Yes\n", '{"answer": "Yes"}',
            "{'verdict': True}",
            '{"match": true}', "[Yes]", "['Yes']", "Yes - the fox is there", "It is there.\nYes", "是", "✅ Yes",
            "yes!"]  # fmt: skip
    assert wrong(forms(["Yes", "yes", "YES", "Yes.", '"Yes"'], more), read_yes, True) == []
    for text in ("error", "", "maybe", "Yes and no", "No picture was given", "Yes\nNo", "yesterday", "No. Yes."):
        assert isinstance(read_yes(text), UnreadAnswer), text


def test_logos_and_lines() -> None:
    more = ["Text: NIKE", 'The logo reads "NIKE".', "The answer is NIKE.", "The logo says NIKE", "['NIKE']",
            '{"text": "NIKE"}',
            "NI\nKE", "NIKE\n\nNote: the rest is too small.", "Here is the text:\n\nNIKE",
            "The text in the image is: NIKE"]  # fmt: skip
    texts = [wrap.format(body) for body in ("NIKE", '"NIKE"', "'NIKE'") for wrap in WRAPS if "答案" not in wrap]
    assert len(texts) + len(more) > 60
    assert [text for text in (*texts, *more) if letters_only(value(read_text(text))) != "NIKE"] == []
    lines = ("# Late Supper", "3. 09. 2017", "- QUIET PIER -", "Don't stop", "*Gates: SEP 3RD")
    hands = ("\n".join(lines), json.dumps(lines), str(list(lines)), json.dumps({"texts": lines}),
             json.dumps(lines, indent=1),
             "\n".join(f"- {line}" for line in lines),
             "\n".join(f"{i}. {line}" for i, line in enumerate(lines, 1)))  # fmt: skip
    for hand in hands:
        assert value(read_texts(hand)) == lines, hand
        assert value(read_texts(f"```text\n{hand}\n```")) == lines, hand


LINES = ("Grand Opening", "20% off all shoes!", "Sat 14 May, 9:30 - 17:00", "#1 in town")
SHEETS: tuple[Callable[[Sequence[str]], str], ...] = (
    "\n".join, "\r\n".join, "\n\n".join, json.dumps, lambda lines: str(list(lines)), lambda lines: str(tuple(lines)),
    lambda lines: json.dumps(lines, indent=2), lambda lines: json.dumps({"texts": lines}),
    lambda lines: json.dumps([{"text": line} for line in lines]),
    lambda lines: "\n".join(json.dumps({"text": line}) for line in lines),
    *(lambda lines, mark=mark: "\n".join(mark.format(n, line) for n, line in enumerate(lines, 1))
      for mark in ("- {1}", "* {1}", "• {1}", "+ {1}", "{0}. {1}", "{0}) {1}", "({0}) {1}", '"{1}"', "“{1}”", "**{1}**",
                   '- "{1}"', "{0}. **{1}**", "  {1}  ")),
)  # fmt: skip
"""Hands that the lines of a poster may come in."""
HEADINGS = ("{}", "```\n{}\n```", "```json\n{}\n```", "<think>7 or 8</think>\n{}", "<answer>\n{}\n</answer>",
            "Here is the text:\n{}", "The texts are:\n\n{}", "**Texts:**\n{}", "Answer:\n{}",
            "Sure! Here is the extracted text:\n\n```\n{}\n```")  # fmt: skip


def test_lines_of_a_poster() -> None:
    texts = [heading.format(sheet(LINES)) for sheet in SHEETS for heading in HEADINGS]
    assert len(set(texts)) > 200
    assert wrong(texts, read_texts, LINES) == []


def test_marks_of_the_poster_itself_stay() -> None:
    for lines in (("Doors open:", "9 pm"), ("- QUIET PIER -", "Late"), ('"Quoted"', "plain"), ("*Gates", "SEP 3RD"),
                  ("(1) One", "(3) Three"), ("Here we are", "Text us: 555")):  # fmt: skip
        assert value(read_texts("\n".join(lines))) == lines


# -- never a part ----------------------------------------------------------------------------------------------------

HAND = st.sampled_from(LISTS)
WRAP = st.sampled_from(
    [*WRAPS, "{} ", "I see {}", "{}\n\nI hope this helps!", "Menu: [x, y]. Choice: {}", "{} (of 49)"]
)


def words_of(options: Sequence[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(options), min_size=1, max_size=12, unique=True)


@given(words=words_of(ATTRIBUTES), hand=HAND, wrap=WRAP)
def test_no_list_of_attributes_is_read_in_part(words: list[str], hand: Callable[..., str], wrap: str) -> None:
    read = read_attributes(wrap.format(hand(words)))
    assert isinstance(read, UnreadAnswer) or not read.value < set(words)


@given(color=st.sampled_from(COLORS), words=words_of(EFFECTS), hand=HAND, wrap=WRAP)
def test_no_list_of_effects_is_read_in_part(color: str, words: list[str], hand: Callable[..., str], wrap: str) -> None:
    read = read_effects(wrap.format(hand([color, *words])), MENU)
    wanted = {word.replace("-", " ") for word in words}
    assert isinstance(read, UnreadAnswer) or not read.value[1] < wanted


@given(ids=st.lists(st.integers(0, 60), min_size=1, max_size=45, unique=True), hand=HAND, wrap=WRAP)
def test_no_list_of_patches_is_read_in_part(ids: list[int], hand: Callable[..., str], wrap: str) -> None:
    read = read_patches(wrap.format(hand([str(one) for one in ids])))
    assert isinstance(read, UnreadAnswer) or not read.value < set(ids)


@given(
    boxes=st.lists(st.tuples(*[st.integers(0, 400)] * 2, *[st.integers(500, 999)] * 2), min_size=1, max_size=8),
    hand=st.sampled_from(["[{}]", "{}", "[\n {}\n]"]),
    between=st.sampled_from([", ", "\n", "; ", ",\n"]),
    wrap=WRAP,
)
def test_no_list_of_boxes_is_read_in_part(boxes: list[tuple[int, ...]], hand: str, between: str, wrap: str) -> None:
    written = hand.format(between.join(str([n / 1000 for n in box]) for box in boxes))
    read = read_boxes(wrap.format(written), "share", (9, 9))
    assert isinstance(read, UnreadAnswer) or len(read.value.boxes) >= len(boxes)


@given(labels=words_of(STYLES), hand=HAND, wrap=WRAP)
def test_of_several_labels_none_is_chosen(labels: list[str], hand: Callable[..., str], wrap: str) -> None:
    read = read_label(wrap.format(hand(labels)), STYLES)
    assert isinstance(read, UnreadAnswer) or [read.value] == labels


@given(
    words=words_of(ATTRIBUTES), ids=st.lists(st.integers(0, 48), min_size=2, unique=True), share=st.floats(0.05, 0.95)
)
def test_lists_that_are_cut_off_are_refused(words: list[str], ids: list[int], share: float) -> None:
    for text, read in ((quoted(words), read_attributes), (quoted(ids), read_patches), (str(words), read_attributes)):
        cut = text[: max(1, int(len(text) * share))]
        assert isinstance(read(cut), UnreadAnswer), cut
