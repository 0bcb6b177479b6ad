"""The one-pass question and its strict reading."""

from __future__ import annotations

import pytest

from salon.errors import BadValue
from salon.judge import OnePass
from salon.judge.model_scorers import OUT_OF_RANGE
from salon.study import Criterion, Scale

FIVE = Scale(low=1, high=5)
TWO = OnePass(criteria=(Criterion(id="mood", scale=FIVE), Criterion(id="color", name="Color", scale=FIVE)))


def test_the_question_follows_the_paper() -> None:
    assert TWO.question() == (
        "You are an expert in visual design and aesthetics.\n"
        "Evaluate this image on 2 criteria.\n"
        "1) mood. A number from 1.00 to 5.00 (1.00 = poor, 3.00 = moderate, 5.00 = excellent).\n"
        "2) color: Color. A number from 1.00 to 5.00 (1.00 = poor, 3.00 = moderate, 5.00 = excellent).\n"
        "First output the thinking process in <think> </think> tags and then output the final answer as valid JSON in "
        "<answer> </answer> tags:\n"
        '{"mood": <1.00-5.00>, "color": <1.00-5.00>}'
    )


def test_scales_prompts_and_thoughts_are_in_the_question() -> None:
    flag = Criterion(id="flag", rate_question="Is it marred?", scale=Scale(kind="ordinal", low=0, high=2, step=1))
    noise = Criterion(id="noise", scale=Scale(low=0, high=10, higher_is_better=False))
    asked = OnePass(criteria=(flag, noise), think=False, decimals=1).question("a {poster}")
    assert "1) flag: Is it marred? One of 0, 1, 2." in asked
    assert "(0.0 = excellent, 5.0 = moderate, 10.0 = poor)" in asked
    assert "It was made for this prompt:\na {poster}\nOutput the final answer" in asked
    assert asked.endswith('{"flag": <0-2>, "noise": <0.0-10.0>}')


def test_what_it_says_in_the_right_form_it_reads() -> None:
    text = TWO.answer([1.234, 5], thought="hm")
    assert text == '<think>hm</think><answer>{"mood": 1.23, "color": 5.00}</answer>'
    read = TWO.read(text)
    assert (read.scores, read.problem, read.thought, read.is_read) == ((1.23, 5.0), None, True, True)
    assert TWO.model_copy(update={"think": False}).answer([1, 2]).startswith("<answer>")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no answer"),
        ('{"mood": 3, "color": 3}', "no answer"),
        ('<answer>{"mood": 3, "color": 3}', "breaks off"),
        ('<answer>{"mood": 3, "color": 3}</answer> or rather <answer>{"mood"', "breaks off"),
        ('<think><answer>{"mood": 3, "color": 3}</answer>', "no answer"),
        ('<think><answer>{"mood": 3, "color": 3}</answer></think> done', "no answer"),
        ('<answer>{"mood": 3}</answer>', "criterion missing"),
        ('<answer>{"Mood": 3, "color": 3}</answer>', "criterion missing"),
        ('<answer>{"mood": 3, "color": "3"}</answer>', "not a number"),
        ('<answer>{"mood": 3, "color": null}</answer>', "not a number"),
        ('<answer>{"mood": true, "color": 3}</answer>', "not a number"),
        ('<answer>{"mood": NaN, "color": 3}</answer>', "not a number"),
        ('<answer>{"mood": 3, "mood": 4, "color": 3}</answer>', "criterion answered twice"),
        ("<answer>[3, 3]</answer>", "not JSON"),
        ("<answer>mood: 3, color: 3</answer>", "not JSON"),
        ('<answer>{"mood": 3, "color": 3} thanks</answer>', "not JSON"),
        ('<answer>{"mood": 0.99, "color": 3}</answer>', OUT_OF_RANGE),
        ('<answer>{"mood": 3, "color": 1e400}</answer>', "not a number"),
        ('<answer>{"mood": 3, "color": 50}</answer>', OUT_OF_RANGE),
        ('<answer>{"mood": 3, "color": 1' + 400 * "0" + "}</answer>", OUT_OF_RANGE),  # no float holds it
        ('<think>so</think><think><answer>{"mood": 3, "color": 3}</answer>', "no answer"),
    ],
)
def test_nothing_is_guessed(text: str, problem: str) -> None:
    read = TWO.read(text)
    assert read.scores is None
    assert read.problem == problem
    assert read.is_read == (problem == OUT_OF_RANGE)


@pytest.mark.parametrize(
    "text",
    [
        '<answer>{"mood": 2, "color": 4.5}</answer>',
        '<answer>\n```json\n{"mood": 2, "color": 4.5}\n```\n</answer>',
        '<answer>{"mood": 1, "color": 1}</answer><answer>{"color": 4.5, "mood": 2, "sure": "yes"}</answer> bye',
        '<think>say <answer>{"mood": 5, "color": 5}</answer></think>\n<answer>{"mood": 2, "color": 4.5}</answer>',
    ],
)
def test_the_last_answer_binds(text: str) -> None:
    assert TWO.read(text).scores == (2.0, 4.5)


def test_a_fence_full_of_empty_lines_is_read_at_once() -> None:
    text = "<answer>```json" + "\n" * 90_000 + "</answer>"
    assert TWO.read(text).problem == "not JSON"  # by a pattern that goes back over them it would take months


def test_criteria_need_scales_and_stand_once() -> None:
    with pytest.raises(BadValue, match="scale"):
        OnePass(criteria=(Criterion(id="mood"),))
    with pytest.raises(BadValue, match="once each"):
        OnePass.parse({"criteria": [{"id": "m", "scale": {"low": 1, "high": 5}}] * 2})
    assert TWO.hash != TWO.model_copy(update={"think": False}).hash
    assert OnePass.parse(TWO.record()) == TWO
