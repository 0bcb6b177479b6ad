"""Whatever a server puts into an answer of the protocol, it is read or turned down, and never ends a run."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from salon.calls import CallAnswer
from salon.judge import Conversation, NoReply, Reply
from salon.judge.chat_protocol import LONGEST_REPLY, read_reply, why_unusable

ASKED = Conversation(parts=("which?",), options=("A", "B"))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["A", '"B"'])
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "token", "bytes", "logprob", "top_logprobs", "content"]), inner)
    ),
    max_leaves=8,
)


def answer(choice: Any, **more: Any) -> CallAnswer:
    body = json.dumps({"choices": [choice], "model": "m"} | more).encode()
    return CallAnswer("key", 200, {"content-type": "application/json"}, body, 0.1, 1, "now")


@given(JSON, JSON, JSON, JSON)
@example("A", {"content": [{"token": "A", "bytes": 10**12, "logprob": 10**400}]}, None, 7)
@example("A", {"content": [{"token": "A", "logprob": -1, "top_logprobs": 3}]}, "stop", None)
def test_anything_in_an_answer(content: Any, logprobs: Any, ended: Any, model: Any) -> None:
    message = {"content": content, "refusal": None}
    found = answer({"message": message, "logprobs": logprobs, "finish_reason": ended}, model=model)
    if why_unusable(found) is None:
        reply = read_reply(found, ASKED)
        assert isinstance(reply, Reply) or ended == "content_filter"
        if isinstance(content, str) and isinstance(reply, Reply):
            assert reply.text == content.encode("utf-8", "replace").decode()


@given(JSON)
def test_anything_in_place_of_an_answer(choice: Any) -> None:
    assert why_unusable(answer(choice)) is not None or isinstance(choice, dict)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "text", "text": "A"}, {"type": "image"}, {"type": "text", "text": "B"}], "AB"),
        (None, ""),  # all tokens went into thoughts
    ],
)
def test_texts_in_parts_and_none_at_all(content: Any, text: str) -> None:
    reply = read_reply(answer({"message": {"content": content}, "finish_reason": "length"}), ASKED)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.cut, reply.chances) == (text, True, None)


def test_a_text_without_end_is_no_answer() -> None:
    assert "characters" in (why_unusable(answer({"message": {"content": "x" * (LONGEST_REPLY + 1)}})) or "")
    assert why_unusable(answer({"message": {"content": "x" * LONGEST_REPLY}})) is None


def test_a_refusal_is_told_in_its_own_words() -> None:
    reply = read_reply(answer({"message": {"content": None, "refusal": "I won't."}}), ASKED)
    assert reply == NoReply(kind="refused", reason="I won't.")
