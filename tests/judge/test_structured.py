"""What endpoints say when they do not take a field, and what is tried next; where a verdict's place is."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from salon.calls import Refusal
from salon.judge.chat_protocol import Dialect, is_too_long, option_chances, verdict_place


def refused(message: str, status: int = 400, code: str | None = None) -> Refusal:
    return Refusal("key", "rejected", f"{status}: {message}", status, code)


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", "json"),
        ("JSON schema conversion failed: unrecognized schema", "json"),
        ("body.response_format.type: Input should be 'text'", "json"),
        ("This model does not support the 'logprobs' parameter", {"logprobs": 5}),
        ("top_logprobs must be less than or equal to 5", {"logprobs": 5}),
        ("'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "limit"),
        ("'temperature' does not support 0 with this model. Only the default (1) value is supported.", "temperature"),
        ("Unrecognized request argument supplied: seed", "seed"),
    ],
)
def test_the_field_that_was_refused_is_given_up(message: str, change: str | dict[str, int]) -> None:
    expected = {
        "json": {"structured": "json"},
        "limit": {"limit": "max_completion_tokens"},
        "temperature": {"temperature": False},
        "seed": {"seed": False},
    }
    told = expected[change] if isinstance(change, str) else change
    assert Dialect().after(refused(message)) == Dialect(**told)
    assert Dialect().after(refused(message, 422)) == Dialect(**told)
    assert Dialect().after(refused(message, 429)) is None


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens; reduce max_tokens",
        "'max_tokens' or 'max_completion_tokens' is too large: 512. This model's maximum context length is 4096 tokens",
        "the request exceeds the available context size. try increasing the context size",
        "prompt is too long: 210000 tokens > 200000 maximum",
    ],
)
def test_a_question_that_is_too_long_is_about_no_field(message: str) -> None:
    assert is_too_long(refused(message))
    assert Dialect().after(refused(message)) is None


def test_learning_ends() -> None:
    dialect, steps = Dialect(), 0
    everything = refused("response_format logprobs max_completion_tokens temperature seed")
    while (weaker := dialect.after(everything)) is not None:
        dialect, steps = weaker, steps + 1
    assert steps == 7
    assert dialect == Dialect(
        structured="none", logprobs=0, limit="max_completion_tokens", temperature=False, seed=False
    )
    assert Dialect.first("schema").after(refused("no json_schema")) is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"verdict": "B"}', 13),
        ('{"A": 1, "verdict": "B", "why": "A is dull"}', 21),  # a key is no verdict, prose no whole string
        ("Between A and B I take B.", 23),
        ("BAD, ABBA, A_1 and \u00c4A", None),
        ("", None),
    ],
)
def test_the_place_of_a_verdict(text: str, place: int | None) -> None:
    assert verdict_place(text.encode(), ("A", "B")) == place


@given(st.lists(st.text(max_size=5), max_size=8), st.lists(st.sampled_from(["A", "B", "TIE"]), unique=True))
def test_chances_of_any_tokens_are_at_most_one(words: list[str], options: list[str]) -> None:
    """Whatever a server says, an option is named only if it is in the text, and chances never exceed certainty."""
    tokens = [word.encode("utf-8", "surrogatepass") for word in words]
    listed = {text: math.log(1 / (1 + len(tokens))) for text in {*tokens, b"A", b"B", b"TIE", b"T"}}
    total = math.log(sum(math.exp(value) for value in listed.values()))
    found = option_chances(tokens, lambda _: {text: value - total for text, value in listed.items()}, options)
    if found is not None:
        assert set(found) <= set(options)
        assert any(option in b"".join(tokens).decode("utf-8", "replace") for option in options)
        assert sum(math.exp(value) for value in found.values()) <= 1 + 1e-9
