"""A real HTTP server that speaks the OpenAI chat protocol, and misbehaves when told to.

    with ChatServer(lambda body: "A") as server:         # what the model says to a request
        server.script["which?"] = ["429 1", "ok"]   # what befalls requests that begin with this, one by one
        server.refuses = {"json_schema": "response_format"}   # a word in a request, and what its 400 complains about

`seen` holds every request, and `questions` counts them by what they ask.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

from images_server import ImagesServer, Seen, send

Brain = Callable[[dict[str, Any]], str | dict[str, Any]]
_TOLD = ("model", "messages", "temperature", "seed")
_ERRORS = {
    "too long": (400, "context_length_exceeded", "This model's maximum context length is 4096 tokens; max_tokens is 9"),
    "filtered": (400, "content_filter", "The response was filtered due to our content management policy"),
    "bad image": (400, None, "Invalid image: cannot decode the data URL"),
    "no model": (404, "model_not_found", "The model `x` does not exist"),
    "invalid model": (400, None, "x is not a valid model ID: model x not found"),
}
_SAID = {
    "wrong letter": ('{"verdict": "C"}', "stop"),
    "cut": ('{"verdict": "', "length"),
    "gibberish": ("\u0410 \ufffd {{{", "stop"),
    "held back": ("", "content_filter"),
}


class ChatSeen(Seen):
    """One request; its prompt is its first text, its question what it asks, however it is put."""

    @property
    def prompt(self) -> str:
        contents = [message["content"] for message in self.fields.get("messages", [])]
        parts = [part for content in contents for part in (content if isinstance(content, list) else [])]
        return next((part["text"] for part in parts if part["type"] == "text"), "")

    @property
    def question(self) -> str:
        told = {name: self.fields.get(name) for name in _TOLD}
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()


class ChatServer(ImagesServer):
    """Runs on a thread from `with` to its end."""

    def __init__(self, brain: Brain = lambda _: '{"verdict": "A"}', *, model: str = "tiny-1", **more: float) -> None:
        super().__init__(**more)
        self.brain, self.model = brain, model
        self.refuses: dict[str, str] = {}

    @property
    def questions(self) -> Counter[str]:
        """Requests by what they ask."""
        return Counter(one.question for one in self.seen if one.method == "POST")

    async def _read(self, reader: asyncio.StreamReader) -> Seen | None:
        seen = await super()._read(reader)
        return seen and ChatSeen(seen.method, seen.path, seen.headers, seen.body, seen.at)

    def _fetched(self, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        send(writer, 200, {"object": "list", "data": [{"id": self.model, "object": "model"}]})
        return True

    def _plain_reply(self, what: str, seen: Seen, writer: asyncio.StreamWriter) -> bool:
        told = {name: value for name, value in seen.fields.items() if name != "messages"}
        refused = [why for word, why in self.refuses.items() if word in json.dumps(told)]
        if refused:
            send(writer, 400, {"error": {"message": f"Unsupported parameter: {refused[0]}", "param": refused[0]}})
        elif what in _ERRORS:
            status, code, message = _ERRORS[what]
            send(writer, status, {"error": {"code": code, "message": message}})
        else:
            return super()._plain_reply(what, seen, writer)
        return True

    def answer(self, seen: Seen, what: str = "ok") -> dict[str, Any]:
        """The body of an answer; `said` may bring its own finish_reason and logprobs."""
        if what == "no choices":
            return {"choices": []}
        if what in _SAID:
            text, ended = _SAID[what]
            said: dict[str, Any] = {"content": text, "finish_reason": ended}
        else:
            found = self.brain(seen.fields)
            said = {"content": found} if isinstance(found, str) else found
        message = {"role": "assistant", "content": said["content"]}
        if what == "declined":
            message = {"role": "assistant", "content": None, "refusal": "I can't help with that"}
        choice = {"index": 0, "message": message, "finish_reason": said.get("finish_reason", "stop")}
        choice["logprobs"] = said.get("logprobs")
        usage = said.get("usage", {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105})
        return {"id": "chat-1", "object": "chat.completion", "model": self.model, "choices": [choice], "usage": usage}
