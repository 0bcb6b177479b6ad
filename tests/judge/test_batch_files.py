"""Questions out as batch files, results back in as stored answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from images_server import picture

from salon.calls import CallStore, Prices
from salon.errors import BadFile
from salon.judge import Conversation, OpenAIChat, Sight, read_batch, write_batch

PRICES = Prices.parse({"models": {"tiny": {"input": 10, "output": 100}}})


def chat(url: str, store: CallStore) -> OpenAIChat:
    return OpenAIChat("judge", model="tiny", base_url=url, store=store, prices=PRICES)


@pytest.fixture
def vlm(tmp_path: Path) -> Any:
    with CallStore(tmp_path / "calls.sqlite") as store, chat("http://127.0.0.1:9/v1", store) as vlm:
        yield vlm


@pytest.fixture
def questions(tmp_path: Path) -> list[Conversation]:
    path = tmp_path / "red.png"
    path.write_bytes(picture("red"))
    return [Conversation(parts=(f"question {n}", Sight(item="red", path=path)), options=("A", "B")) for n in range(5)]


def result(key: str, text: str = "A", *, status: int = 200, **more: Any) -> str:
    """A line as a server writes it."""
    message = {"role": "assistant", "content": text}
    body = {"model": "tiny-1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
    body |= {"usage": {"prompt_tokens": 7, "completion_tokens": 3}}
    body = body if status == 200 else {"error": {"message": "no"}}
    response = {"status_code": status, "request_id": "r", "body": body}
    return json.dumps({"id": "batch-1", "custom_id": key, "response": response, "error": None} | more)


def test_out_and_in_and_a_run_that_buys_nothing(vlm: OpenAIChat, questions: list[Conversation], tmp_path: Path) -> None:
    out = write_batch(vlm, [*questions, questions[0]], tmp_path / "judge.jsonl", most_lines=2)
    assert [path.name for path in out.files] == ["judge-001.jsonl", "judge-002.jsonl", "judge-003.jsonl"]
    assert (out.written, out.stored, out.broken) == (5, 1, [])
    lines = [json.loads(line) for path in out.files for line in path.read_text().splitlines()]
    assert [line["custom_id"] for line in lines] == [vlm.key(question) for question in questions]
    assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/chat/completions")}

    back = tmp_path / "results.jsonl"  # results come in any order
    results = [result(line["custom_id"], f"answer {n}") for n, line in enumerate(lines)]
    back.write_text("\n".join(results[::-1]) + "\n")
    taken = read_batch(vlm, questions, [back])
    assert (taken.kept, taken.known, taken.missing, taken.faults) == (5, 0, 0, [])
    replies = dict(vlm.reply(questions))  # nobody listens at its address
    assert [replies[n].text for n in range(5)] == [f"answer {n}" for n in range(5)]
    assert replies[0].cost == pytest.approx((7 * 10 + 3 * 100) / 1e6)
    assert replies[0].seconds is None
    assert read_batch(vlm, questions, [back]).known == 5
    assert write_batch(vlm, questions, tmp_path / "again.jsonl").files == []


def test_the_body_is_what_a_run_would_send(vlm: OpenAIChat, questions: list[Conversation], tmp_path: Path) -> None:
    out = write_batch(vlm, questions[:1], tmp_path / "judge.jsonl")
    with ChatServer() as server, CallStore(tmp_path / "other.sqlite") as store, chat(server.url, store) as live:
        list(live.reply(questions[:1]))
    assert json.loads(out.files[0].read_text())["body"] == server.seen[0].fields


def test_what_cannot_be_taken_is_named(vlm: OpenAIChat, questions: list[Conversation], tmp_path: Path) -> None:
    keys = [vlm.key(question) for question in questions]
    back = tmp_path / "results.jsonl"
    lines = [
        result(keys[0], "first"),
        result(keys[0], "second"),
        result("0" * 64),
        result(keys[1], status=429),
        '{"custom_id": "' + keys[2],
        json.dumps({"custom_id": keys[2], "response": {"status_code": 200, "body": {"choices": []}}}),
        result(keys[3], response=None, error={"code": "batch_expired", "message": "too late"}),
        "[]",
        "",
    ]
    back.write_text("\n".join(lines))
    taken = read_batch(vlm, questions, [back])
    assert (taken.kept, taken.missing) == (1, 4)
    assert [(fault.where[-6:], fault.kind) for fault in taken.faults] == [
        ("line 2", "duplicate"),
        ("line 3", "foreign"),
        ("line 4", "failed"),
        ("line 5", "broken"),
        ("line 6", "broken"),
        ("line 7", "failed"),
        ("line 8", "broken"),
    ]
    assert "too late" in taken.faults[5].reason
    assert vlm.store.find(keys[0]).data()["choices"][0]["message"]["content"] == "first"
    with pytest.raises(BadFile, match="batch result file"):
        read_batch(vlm, questions, [tmp_path / "missing"])


def test_a_missing_picture_is_left_out_and_told(vlm: OpenAIChat, questions: list[Conversation], tmp_path: Path) -> None:
    gone = Conversation(parts=(Sight(item="gone", path=tmp_path / "gone.png"),))
    out = write_batch(vlm, [gone, *questions], tmp_path / "judge.jsonl")
    assert out.written == 5
    assert "gone.png" in out.broken[0]
    assert read_batch(vlm, [gone], []).missing == 0
