"""Judges asked in the protocols of Anthropic and Gemini, against servers that refuse every field they do not know."""

from __future__ import annotations

import asyncio
import base64
import json
import math
from pathlib import Path
from typing import Any, ClassVar

import pytest
from chat_server import ChatServer
from images_server import Seen, picture, send
from pydantic import ValidationError

from salon.calls import CallStore, Limits, Prices, Secret
from salon.errors import BadValue
from salon.judge import (
    Conversation,
    Decoding,
    JudgeSpec,
    NoReply,
    OpenAIChat,
    Reply,
    Sight,
    endpoint_vlm,
    read_batch,
    write_batch,
)
from salon.judge.native_protocols import read_fields

SHAPE = {
    "type": "object",
    "properties": {"verdict": {"enum": ["A", "B"]}, "minimum": {"type": "number", "minimum": 1, "maximum": 5}},
    "required": ["verdict"],
    "additionalProperties": False,
}
QUICK = Limits(first_wait=0.01, patience=20, attempts=4, start=1, grace=0.5)
PRICES = Prices.parse({"models": {"tiny": {"input": 10, "output": 100, "image_tokens": 1000}}})


class NativeServer(ChatServer):
    """A server that knows these fields, by their dotted names, and says which one it does not know."""

    key, prefix = "", ""
    known: ClassVar[set[str]] = set()

    def _plain_reply(self, what: str, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        unknown = sorted(name for name in _names(seen.fields) if name not in self.known)
        if seen.headers.get(self.key) != "geheim":
            send(writer, 401, {"type": "error", "error": {"type": "authentication_error", "message": "invalid key"}})
        elif not seen.path.endswith(self.prefix):
            send(writer, 404, {"error": {"message": f"no such path {seen.path}"}})
        elif unknown:
            message = f"{unknown[0]}: Extra inputs are not permitted"
            send(writer, 400, {"type": "error", "error": {"type": "invalid_request_error", "message": message}})
        else:
            return super()._plain_reply(what, seen, writer)
        return True


class AnthropicServer(NativeServer):
    key, prefix = "x-api-key", "/messages"
    known: ClassVar = {"model", "messages", "max_tokens", "system", "temperature", "output_config"}
    known |= {"output_config.format", "output_config.effort"}

    def answer(self, seen: Seen, what: str = "ok") -> dict[str, Any]:
        assert seen.headers["anthropic-version"] == "2023-06-01"
        reply = self.brain(seen.fields)
        said: dict[str, Any] = {"text": reply} if isinstance(reply, str) else reply
        blocks = [{"type": "thinking", "thinking": '{"verdict": "B"}'}, {"type": "text", "text": said["text"]}]
        return {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-tiny-1", "content": blocks,
            "stop_reason": said.get("stop", "end_turn"), "usage": {"input_tokens": 11, "output_tokens": 3},
        }  # fmt: skip


class GeminiServer(NativeServer):
    key, prefix = "x-goog-api-key", "/models/tiny:generateContent"
    known: ClassVar = {"contents", "systemInstruction", "generationConfig", "systemInstruction.parts"}
    known |= {f"generationConfig.{name}" for name in ("maxOutputTokens", "temperature", "seed", "responseMimeType")}
    known |= {f"generationConfig.{name}" for name in ("responseJsonSchema", "responseLogprobs", "logprobs")}
    known |= {"generationConfig.thinkingConfig"}

    def answer(self, seen: Seen, what: str = "ok") -> dict[str, Any]:
        reply = self.brain(seen.fields)
        if isinstance(reply, dict):
            return reply
        parts = [{"text": "hmm", "thought": True}, {"text": reply}]
        tokens = [{"token": letter, "logProbability": -0.1} for letter in reply]
        top = [{"candidates": [{"token": "A", "logProbability": -0.5}, {"token": "B", "logProbability": -1.0}]}]
        return {
            "candidates": [
                {
                    "content": {"role": "model", "parts": parts}, "finishReason": "STOP",
                    "logprobsResult": {"chosenCandidates": tokens, "topCandidates": top * len(tokens)},
                }
            ],
            "usageMetadata": {"promptTokenCount": 11, "candidatesTokenCount": 3, "thoughtsTokenCount": 40},
            "modelVersion": "gemini-tiny-1",
        }  # fmt: skip


def _names(fields: dict[str, Any]) -> list[str]:
    """Names of fields, and of those in objects one level down."""
    inner = [f"{name}.{key}" for name, value in fields.items() if isinstance(value, dict) for key in value]
    return [*fields, *inner]


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with CallStore(tmp_path / "calls.sqlite") as store:
        yield store


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATIVE_KEY", "geheim")


@pytest.fixture
def sights(tmp_path: Path) -> tuple[Sight, Sight]:
    made = []
    for name in ("red", "blue"):
        path = tmp_path / f"{name}.png"
        path.write_bytes(picture(name))
        made.append(Sight(item=name, path=path))
    return made[0], made[1]


def question(sights: tuple[Sight, Sight], text: str = "which?", **more: Any) -> Conversation:
    fields = {"options": ("A", "B"), "shape": SHAPE, "system": "Be just.", "decoding": Decoding(seed=5)}
    return Conversation(parts=(text, *sights), **fields | more)


def vlm(api: Any, url: str, store: CallStore, **more: Any) -> OpenAIChat:
    header = {"anthropic": "x-api-key", "gemini": "x-goog-api-key"}[api]
    fields = {"limits": QUICK, "secrets": (Secret("NATIVE_KEY", header, "{}"),), "prices": PRICES}
    return OpenAIChat("judge", model="tiny", base_url=url, store=store, api=api, **fields | more)


def test_anthropic_is_held_to_the_schema(store: CallStore, sights: Any) -> None:
    with AnthropicServer(lambda _: '{"verdict": "A"}') as server, vlm("anthropic", server.url, store) as judge:
        [(_, reply)] = judge.reply([question(sights)])
        assert isinstance(reply, Reply)
        assert (reply.text, reply.model, reply.tokens_in, reply.tokens_out) == (
            '{"verdict": "A"}',
            "claude-tiny-1",
            11,
            3,
        )
        assert reply.cost == pytest.approx((11 * 10 + 3 * 100) / 1e6)
        assert len(server.seen) == 1  # nothing had to be learnt
        sent = server.seen[0].fields
        schema = sent["output_config"]["format"]["schema"]
        assert "minimum" not in schema["properties"]["minimum"]  # keywords that the service refuses
        assert set(schema["properties"]) == {"verdict", "minimum"}  # but not names of answers
        assert sent["system"] == "Be just."
        image = sent["messages"][0]["content"][1]
        assert image["source"]["media_type"] == "image/png"
        assert base64.b64decode(image["source"]["data"]) == picture("red")
        assert "the endpoint takes no seed" in judge.notes()  # said, not dropped in silence
        list(judge.reply([question(sights)]))
        assert len(server.seen) == 1  # bought once
    assert str(judge.signature).startswith("anthropic-chat")


def test_gemini_takes_seed_schema_and_log_probabilities(store: CallStore, sights: Any) -> None:
    with GeminiServer(lambda _: "A") as server, vlm("gemini", server.url, store) as judge:
        [(_, reply)] = judge.reply([question(sights)])
        assert isinstance(reply, Reply)
        assert (reply.text, reply.model) == ("A", "gemini-tiny-1")
        assert (reply.tokens_in, reply.tokens_out) == (11, 43)  # thoughts are paid for
        assert reply.chances == pytest.approx({"A": -0.1, "B": -1.0})
        config = server.seen[0].fields["generationConfig"]
        assert config["seed"] == 5
        assert config["responseJsonSchema"] == SHAPE
        assert config["responseMimeType"] == "application/json"
        assert server.seen[0].fields["systemInstruction"] == {"parts": [{"text": "Be just."}]}
        assert math.isclose(config["temperature"], 0)


def test_what_a_native_server_holds_back_is_no_answer(store: CallStore, sights: Any) -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    with GeminiServer(lambda _: blocked) as server, vlm("gemini", server.url, store) as judge:
        [(_, reply)] = judge.reply([question(sights)])
    assert reply == NoReply(kind="refused", reason="the question was held back: SAFETY")
    with (
        AnthropicServer(lambda _: {"text": "", "stop": "refusal"}) as other,
        vlm("anthropic", other.url, store) as judge,
    ):
        [(_, reply)] = judge.reply([question(sights)])
    assert isinstance(reply, NoReply)
    assert reply.kind == "refused"


def test_a_cut_native_reply_is_asked_again_with_more_tokens(store: CallStore, sights: Any) -> None:
    def brain(body: dict[str, Any]) -> Any:
        return '{"verdict": "B"}' if body["max_tokens"] > 512 else {"text": '{"ver', "stop": "max_tokens"}

    with AnthropicServer(brain) as server, vlm("anthropic", server.url, store) as judge:
        [(_, reply)] = judge.reply([question(sights)])
    assert isinstance(reply, Reply)
    assert reply.text == '{"verdict": "B"}'
    assert [seen.fields["max_tokens"] for seen in server.seen] == [512, 2048]


def test_a_field_that_the_server_refuses_is_left_out_and_said(store: CallStore, sights: Any) -> None:
    class Old(GeminiServer):
        known = GeminiServer.known - {"generationConfig.responseJsonSchema", "generationConfig.seed"}

    with Old(lambda _: "A") as server, vlm("gemini", server.url, store) as judge:
        [(_, reply)] = judge.reply([question(sights)])
        assert isinstance(reply, Reply)
        assert "seed" not in server.seen[-1].fields["generationConfig"]
        assert "the endpoint takes no seed" in judge.notes()
        assert any("no JSON schema" in note for note in judge.notes())


def test_further_fields_go_into_every_request(store: CallStore, sights: Any) -> None:
    fields = read_fields(["output_config.effort=low"])
    with (
        AnthropicServer(lambda _: '{"verdict": "A"}') as server,
        vlm("anthropic", server.url, store, fields=fields) as judge,
    ):
        list(judge.reply([question(sights)]))
    config = server.seen[0].fields["output_config"]
    assert config["effort"] == "low"
    assert config["format"]["type"] == "json_schema"  # both stand in one object
    assert 'fields.output_config:{"effort": "low"}' in str(judge.signature)


def test_fields_are_read_as_json_or_text() -> None:
    words = ["reasoning_effort=high", "n_best=3", 'x={"a": [1]}', "a.b.c=true", "a.b.d=", "q=1e999x"]
    assert read_fields(words) == {
        "reasoning_effort": "high", "n_best": 3, "x": {"a": [1]}, "a": {"b": {"c": True, "d": ""}}, "q": "1e999x",
    }  # fmt: skip
    for bad in ("effort", "=x", "a..b=1"):
        with pytest.raises(BadValue, match="NAME=VALUE"):
            read_fields([bad])


@pytest.mark.parametrize(
    ("api", "field"),
    [("openai", "seed=1"), ("anthropic", "output_config.format=x"), ("gemini", "generationConfig.seed=1")],
)
def test_fields_with_a_setting_of_their_own_are_refused(api: Any, field: str, store: CallStore) -> None:
    with pytest.raises(BadValue, match="setting of its own"):
        OpenAIChat("j", model="m", base_url="https://x.org", store=store, api=api, fields=read_fields([field]))


def test_the_words_of_an_endpoint(store: CallStore) -> None:
    spec = JudgeSpec(model="anthropic:claude-x")
    assert (spec.model, spec.api, spec.key_env) == ("claude-x", "anthropic", "ANTHROPIC_API_KEY")
    assert spec.endpoint == "https://api.anthropic.com/v1"
    assert spec.secrets == (Secret("ANTHROPIC_API_KEY", "x-api-key", "{}"),)
    spec = JudgeSpec(model="gemini:g@http://localhost:1/v1", field=("a=1",))
    assert (spec.endpoint, spec.api, spec.secrets) == ("http://localhost:1/v1", "gemini", ())
    assert JudgeSpec(model="m:7b").model == "m:7b"  # names of models may hold a colon
    assert JudgeSpec(model="openai:m@https://x.org/v1").endpoint == "https://x.org/v1"
    assert JudgeSpec(model="m", api="gemini").key_env == "GEMINI_API_KEY"
    with pytest.raises(ValidationError, match="named twice"):
        JudgeSpec(model="gemini:m", api="anthropic")
    with endpoint_vlm(spec, "g", store) as judge:
        assert judge.endpoint.url == "http://localhost:1/v1/models/g:generateContent"
        assert judge.endpoint.fields == {"a": 1}


def test_the_openai_layer_of_anthropic_is_warned_of(store: CallStore) -> None:
    with OpenAIChat("j", model="claude", base_url="https://api.anthropic.com/v1", store=store) as judge:
        assert any("ask it as anthropic:claude" in note for note in judge.notes())


# -- batches -----------------------------------------------------------------------------------------------------------


def test_anthropic_batches_go_out_and_come_back(store: CallStore, sights: Any, tmp_path: Path) -> None:
    questions = [question(sights, f"question {n}") for n in range(5)]
    judge = vlm("anthropic", "http://127.0.0.1:9/v1", store)
    out = write_batch(judge, questions, tmp_path / "judge.json", most_lines=3)
    assert [path.name for path in out.files] == ["judge-001.json", "judge-002.json"]
    requests = [entry for path in out.files for entry in json.loads(path.read_text())["requests"]]
    assert [entry["custom_id"] for entry in requests] == [judge.key(asked) for asked in questions]
    assert all(len(entry["custom_id"]) <= 64 for entry in requests)
    with AnthropicServer() as server, CallStore(tmp_path / "live.sqlite") as other:
        server.brain = lambda _: '{"verdict": "A"}'
        with vlm("anthropic", server.url, other) as live:
            list(live.reply(questions[:1]))
    assert requests[0]["params"] == server.seen[0].fields  # what a run would send

    message = AnthropicServer(lambda _: '{"verdict": "B"}').answer(
        Seen("POST", "/messages", {"anthropic-version": "2023-06-01"}, b"{}", 0.0)
    )
    error = {"type": "error", "error": {"type": "invalid_request_error", "message": "bad image"}}
    results = [
        {"type": "succeeded", "message": message}, {"type": "succeeded", "message": message},
        {"type": "errored", "error": error}, {"type": "expired"}, {"type": "canceled"},
    ]  # fmt: skip
    lines = [{"custom_id": entry["custom_id"], "result": result} for entry, result in zip(requests, results)]
    back = tmp_path / "results.jsonl"
    back.write_text("".join(json.dumps(line) + "\n" for line in reversed(lines)))
    taken = read_batch(judge, questions, [back])
    assert (taken.kept, taken.missing) == (2, 3)
    assert {(fault.kind, fault.reason) for fault in taken.faults} == {
        ("failed", "invalid_request_error: bad image"), ("failed", "expired"), ("failed", "canceled"),
    }  # fmt: skip
    replies = dict(judge.reply(questions[:2]))  # nobody listens at its address
    assert [replies[n].text for n in range(2)] == ['{"verdict": "B"}'] * 2
    judge.close()


def test_there_are_no_batch_files_for_gemini(store: CallStore, sights: Any, tmp_path: Path) -> None:
    with vlm("gemini", "http://127.0.0.1:9/v1", store) as judge, pytest.raises(BadValue, match="batch files"):
        write_batch(judge, [question(sights)], tmp_path / "judge.jsonl")
