"""Verdicts are read strictly: the last one binds, it must be on the menu, and no text makes the reader guess."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given, strategies as st

from salon.judge import ParsedAnswer, UnparsedAnswer, option_menu, read_verdict
from salon.judge.verdicts import number_menu, read_verdicts
from salon.study import Scale

AB = option_menu(("A", "B"))
ABT = option_menu(("A", "B", "TIE"))
FIVE = number_menu(Scale(low=1, high=5))


def said(text: str, menu=AB, key: str = "verdict", **more) -> object:
    """What was read, or the reason why nothing was."""
    found = read_verdict(text, key, menu, **more)
    return found.value if isinstance(found, ParsedAnswer) else f"unparsed: {found.reason}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"verdict": "A"}', "A"),
        ('{"verdict": "b"}', "B"),
        ('{"Verdict": "Image B"}', "B"),
        ('```json\n{\n  "verdict": "B"\n}\n```', "B"),
        ('{"reason": "A is bold, {B} is not", "verdict": "B"}', "B"),
        ('{"verdict": "A"}\nOn reflection:\n{"verdict": "B"}', "B"),
        ('{"verdict": "A", "verdict": "B"}', "B"),
        ('[{"verdict": "A"}, {"verdict": "B"}]', "B"),
        ('{"answer": {"verdict": "A"}}', "A"),
        ('It is {"verdict": "A"} or {"verdict": "B"}\n\n{"verdict": "A"}', "A"),
        ('It is {"verdict": "A"} or {"verdict": "B"}: B\nVerdict: B', "B"),
        ('{"verdict": "B", "drafts": [{"verdict": "A"}]}', "B"),
        ('{"reason": "two\nlines", "verdict": "A"}', "A"),
        ("B", "B"),
        (" **b.** ", "B"),
        ("Image A", "A"),
        ("Image A is bolder, image B calmer.\nVerdict: B", "B"),
        ("**Verdict:** Image B", "B"),
        ("Final verdict: A", "A"),
        ('{"verdict": "A"}\nVerdict: B', "B"),
        ("I prefer the second.\n\nB", "B"),
        ('<think>{"verdict": "B"}</think>{"verdict": "A"}', "A"),
        ('thoughts that began in the prompt: B</think>{"verdict": "A"}', "A"),
        ('<thinking>{"verdict": "B"}</thinking>{"verdict": "A"}', "A"),
        ('{"verdict": "A"}\n<reasoning>B is {dull}.</reasoning>', "A"),
        ('<|channel|>analysis<|message|>{"verdict": "B"}<|end|><|channel|>final<|message|>{"verdict": "A"}', "A"),
        ('{"reason": "it has a { in it", "verdict": "A"}', "A"),
        ('<answer>{"verdict": "B"}</answer> or rather <answer>{"verdict": "A"}</answer> is shown', "A"),
        ('<answer>{"verdict": "B"}', "B"),
        ("<answer>B</answer>", "B"),
        ("> **Verdict**: B", "B"),
        ('{"reason": "the poster says <answer>A</answer>", "verdict": "B"}', "B"),
    ],
)
def test_what_is_read(text: str, expected: str) -> None:
    assert said(text) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("   \n", "empty"),
        ("Image A is better.", "no verdict"),
        ("A or B", "no verdict"),
        ("A\nbecause of its type", "no verdict"),
        ("a design that works", "no verdict"),
        ('{"winner": "A"}', "no verdict"),
        ('{"verdict": "C"}', "not an option"),
        ('{"verdict": "TIE"}', "not an option"),
        ('{"verdict": "A or B"}', "not an option"),
        ('{"verdict": ["A"]}', "not an option"),
        ('{"verdict": 1}', "not an option"),
        ('{"verdict": null}', "empty"),
        ('{"verdict": ""}', "not an option"),
        ('{"verdict": "А"}', "not an option"),  # Cyrillic
        ('{"verdict": "Α"}', "not an option"),  # Greek
        ('{"verdict": "Ａ"}', "not an option"),  # full width
        ('{"verdict": "𝐀"}', "not an option"),  # mathematical bold
        ('{"verdict": "A\u200b"}', "not an option"),  # a space nobody sees
        ('{"verdict": "A"} then {"verdict": "both"}', "not an option"),
        ("Verdict: A, though B is close", "not an option"),
        ('It is {"verdict": "A"} or {"verdict": "B"}', "options, and none chosen"),  # as the question ends
        ('I see no images. {"verdict": "A"} or {"verdict": "B"}, then.', "options, and none chosen"),
        ('{"verdict": "B"}. No: `{"verdict": "A"}` OR\n`{"verdict": "B"}`', "options, and none chosen"),
        ('{"x": {"verdict": "A"}, "y": {"verdict": "B"}}', "several verdicts in one answer"),
        ('{"verdict": "A', "breaks off"),
        ('{"verdict": "A"', "breaks off"),
        ('draft: {"verdict": "A"}, final: {"verdict": "B', "breaks off"),
        ('draft: {"verdict": "A"}, final: {', "breaks off"),
        ("<think>A, or is it B? {\"verdict\": \"B\"}", "thought without an answer"),
        ("<think>{\"verdict\": \"B\"}</think>", "empty"),
        ("Hm.\n<think>\nVerdict: B\n</think>\nI cannot decide.", "no verdict"),  # a thought that came later
        ("<think>x</think><think>\nVerdict: B", "thought without an answer"),
        ("<think>" + 100_000 * "x" + "\nVerdict: B", "thought without an answer"),
        (600 * '{"x": ' + '{"verdict": "A"}' + 600 * "}", "no verdict"),  # deeper than Python calls
        ("<answer></answer>", "empty"),
        ('{"draft": {"verdict": "A"}, "verdict": "B', "breaks off"),  # inside an object that never ends
        ('{"draft": {"verdict": "A"}, "ver', "breaks off"),
        ('{"reason": "It reads "{"verdict": "A"}" below", "verdict": "B"}', "inside a broken object"),  # quotations
        ('{"verdict": "B", "reason": "It "reads"\nVerdict: A\n"}', "inside a broken object"),
        ('{"reason": "It reads:\nVerdict: A\nbelow", "choice": "B"}', "inside a broken object"),
        ('} {"draft": {"verdict": "A"}, "ver', "breaks off"),
        ('{"draft": {"verdict": "A"}, "reason": "}', "breaks off"),
        ('{"draft": {"verdict": "A"}, "reason": "}", "ver', "breaks off"),
        (r'{"draft": {"verdict": "A"}, "reason": "\"}', "breaks off"),
        ("<Think>\nVerdict: A\n</Think>\nI cannot decide.", "no verdict"),
        ('<thinking>So {"verdict": "A"}?</thinking>\nI will not say.', "no verdict"),
        ('◁think▷{"verdict": "A"}◁/think▷I will not say.', "no verdict"),
        ('It may be {"verdict": "A"}</reasoning>\nI will not say.', "no verdict"),  # begun in the prompt
        ('<reasoning>{"verdict": "A"} because', "thought without an answer"),
        ('<|channel|>analysis<|message|>{"verdict": "A"}', "thought without an answer"),
    ],
    ids=lambda text: text[:40],
)  # fmt: skip
def test_what_is_not_read(text: str, reason: str) -> None:
    assert said(text) == f"unparsed: {reason}"


def test_a_tie_counts_only_where_it_is_offered() -> None:
    assert said('{"verdict": "tie"}', ABT) == "TIE"
    assert said("Verdict: Tie.", ABT) == "TIE"


def test_a_text_that_was_cut_counts_only_if_the_verdict_came_last() -> None:
    assert said('{"verdict": "A"}', cut=True) == "A"
    assert said('{"verdict": "A"}\n```', cut=True) == "A"
    assert said('First impression {"verdict": "A"} but on a closer look at the', cut=True) == "unparsed: breaks off"
    assert said("Let me look at both images and", cut=True) == "unparsed: breaks off"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"score": 3.25}', 3.25),
        ('{"score": "4"}', 4.0),
        ('{"score": 1}', 1.0),
        ("Score: 2.5", 2.5),
        ("4", 4.0),
        ('{"score": 5.01}', "unparsed: outside the scale"),
        ('{"score": 0}', "unparsed: outside the scale"),
        ('{"score": true}', "unparsed: not a number"),
        ('{"score": "4/5"}', "unparsed: not a number"),
        ('{"score": "about 4"}', "unparsed: not a number"),
        ('{"score": NaN}', "unparsed: empty"),
        ('{"score": 1e999}', "unparsed: outside the scale"),
        ('{"score": [3]}', "unparsed: not a number"),
        ("I give it 4 of 5", "unparsed: no verdict"),
        ("٤", "unparsed: no verdict"),
    ],
)
def test_numbers_are_those_of_the_scale(text: str, expected: object) -> None:
    assert said(text, FIVE, "score") == expected


def test_an_ordinal_scale_has_only_its_levels() -> None:
    flags = number_menu(Scale(kind="ordinal", low=0, high=2, step=1))
    assert said('{"score": 1}', flags, "score") == 1.0
    assert said('{"score": 1.5}', flags, "score") == "unparsed: between levels"


# -- several criteria ------------------------------------------------------------------------------------------------

MENUS = {"taste/mood": ABT, "type": ABT}
NAMES = {"taste/mood": "Mood and tone", "type": "type"}


def test_several_criteria_are_read_each_for_itself() -> None:
    text = '<think>mood: A. {"type": "B"}</think><answer>{"taste/mood": "A", "Type": "tie"}</answer>'
    assert read_verdicts(text, MENUS, NAMES) == {"taste/mood": ParsedAnswer("A"), "type": ParsedAnswer("TIE")}
    half = read_verdicts('{"Mood and tone": "both"}', MENUS, NAMES)
    assert half == {"taste/mood": UnparsedAnswer("not an option"), "type": UnparsedAnswer("criterion not answered")}
    nested = read_verdicts('{"verdicts": {"taste/mood": "B", "type": "A"}}', MENUS, NAMES)
    assert nested == {"taste/mood": ParsedAnswer("B"), "type": ParsedAnswer("A")}


def test_a_name_that_could_mean_two_criteria_means_none() -> None:
    menus = dict.fromkeys(("Type", "type", "x/color", "y/color"), AB)
    titles = {"x/color": "Color", "y/color": "Color"}
    read = read_verdicts('{"type": "B", "TYPE": "A", "color": "A", "x/color": "B"}', menus, titles)
    assert read["type"] == read["x/color"] == ParsedAnswer("B")
    assert read["Type"] == read["y/color"] == UnparsedAnswer("criterion not answered")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("A on both", "no verdict"),
        ('{"taste/mood": "A", "type": "', "breaks off"),
        ('{"taste/mood": "A", "type": "B"} but {"taste/mood": ', "breaks off"),
        ("<think>so many words", "thought without an answer"),
        ('{"x": {"type": "A"}, "y": {"type": "B"}}', "several verdicts in one answer"),
    ],
)
def test_several_criteria_unread(text: str, reason: str) -> None:
    assert read_verdicts(text, MENUS, NAMES) == dict.fromkeys(MENUS, UnparsedAnswer(reason))


# -- by property -----------------------------------------------------------------------------------------------------

PIECES = (
    "A",
    "B",
    "Image A",
    "Image B",
    '"',
    "\\",
    "{",
    "}",
    "[",
    ":",
    "\n",
    "```",
    "verdict",
    '{"verdict": "A"}',
    "е",
)
PIECES += ("Verdict: B\n", "<think>", "</think>", "<answer>", "</answer>", "TIE", " ", "better", "\u2028", "\x00", "'")
hostile = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=12).map("".join)


@given(hostile, st.booleans())
def test_any_text_gives_an_option_or_a_reason(text: str, cut: bool) -> None:
    found = read_verdict(text, "verdict", AB, cut=cut)
    assert found in (ParsedAnswer("A"), ParsedAnswer("B")) or (isinstance(found, UnparsedAnswer) and found.reason)


@given(hostile, st.sampled_from("AB"))
@example("x <answer> y", "A")
def test_no_reasoning_before_an_answer_changes_it(reasoning: str, verdict: str) -> None:
    """What the pictures, the prompt or the reasoning say is never the verdict that follows."""
    thought = reasoning.replace("think>", "")
    answer = json.dumps({"verdict": verdict})
    assert read_verdict(json.dumps({"reason": thought, "verdict": verdict}), "verdict", AB) == ParsedAnswer(verdict)
    assert read_verdict(f"<think>{thought}</think><answer>{answer}</answer>", "verdict", AB) == ParsedAnswer(verdict)
    assert read_verdict(f"{thought.replace('{', '')}\n{answer}", "verdict", AB) == ParsedAnswer(verdict)


@given(hostile, st.sampled_from("AB"), st.data())
def test_an_answer_cut_anywhere_is_never_another_answer(reasoning: str, verdict: str, data: st.DataObject) -> None:
    answer = json.dumps({"reason": reasoning, "verdict": verdict})
    at = data.draw(st.integers(0, len(answer)))
    found = read_verdict(answer[:at], "verdict", AB, cut=True)
    assert found == ParsedAnswer(verdict) or isinstance(found, UnparsedAnswer)


@given(hostile, st.sampled_from("AB"), st.data())
def test_a_nested_answer_cut_anywhere_is_never_another_answer(
    reasoning: str, verdict: str, data: st.DataObject
) -> None:
    """Also where nobody says that it was cut; the draft inside is not what the judge went on to say."""
    draft = {"draft": {"verdict": "B" if verdict == "A" else "A"}, "reason": reasoning, "verdict": verdict}
    answer = json.dumps(draft)
    at = data.draw(st.integers(0, len(answer)))
    found = read_verdict(answer[:at], "verdict", AB)
    assert found == ParsedAnswer(verdict) or isinstance(found, UnparsedAnswer)


def test_a_text_made_to_take_forever_is_read_in_no_time() -> None:
    for text in (
        "<reasoning>" * 9_000,
        "<reasoning></thinking>" * 4_000,
        '{"a":' * 500,
        '{"a":' * 50_000,
        "{" * 200_000,
        '{"verdict":' * 20_000,
        '"' * 200_000,
        "Verdict: " * 50_000,
    ):
        assert isinstance(read_verdict(text, "verdict", AB), UnparsedAnswer)


@pytest.mark.parametrize("line", ["#" + " " * 90_000 + "!", "x" + " " * 90_000 + "!", "Verdict" + "*" * 90_000 + "!"])
def test_a_line_of_ninety_thousand_spaces_is_read_at_once(line: str) -> None:
    assert said(f"{line}\nVerdict: A") == "A"  # by a pattern that goes back over them it would take an hour
