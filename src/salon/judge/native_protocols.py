"""Requests in the own protocols of Anthropic and Gemini, made from chat requests, and their answers as chat answers.

Both services also speak OpenAI's protocol, through a layer that drops fields without a word: Anthropic's ignores
`response_format`, `seed` and `logprobs`. Asked in their own protocol they hold the model to a JSON schema, and refuse a
field that they do not know, so that a run can say what it had to do without.

    anthropic   POST {base}/messages                          output_config.format; no seed, no log-probabilities
    gemini      POST {base}/models/{model}:generateContent    generationConfig: responseJsonSchema, seed, logprobs

Read in platform.claude.com/docs (Messages, Message Batches, structured outputs, OpenAI SDK compatibility) and
ai.google.dev/api/generate-content.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

from salon.errors import BadValue

Api = Literal["openai", "anthropic", "gemini"]
HOME = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta",
}
"""Where each service is."""
KEY_VARIABLES = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY"}
KEY_HEADERS = {
    "openai": ("Authorization", "Bearer {}"),
    "anthropic": ("x-api-key", "{}"),
    "gemini": ("x-goog-api-key", "{}"),
}
"""The header that carries the key, and how."""
HEADERS: dict[str, dict[str, str]] = {"openai": {}, "anthropic": {"anthropic-version": "2023-06-01"}, "gemini": {}}
_OWN = {
    "openai": {
        "model", "messages", "temperature", "seed", "max_tokens", "max_completion_tokens", "response_format", "n",
        "logprobs", "top_logprobs", "stream",
    },
    "anthropic": {"model", "messages", "system", "max_tokens", "temperature", "output_config.format", "stream"},
    "gemini": {
        "contents", "systemInstruction", "generationConfig.maxOutputTokens", "generationConfig.temperature",
        "generationConfig.seed", "generationConfig.responseMimeType", "generationConfig.responseJsonSchema",
        "generationConfig.responseSchema", "generationConfig.responseLogprobs", "generationConfig.logprobs",
        "generationConfig.candidateCount",
    },
}  # fmt: skip
"""Fields of a request that have a setting of their own, or belong to the question."""


def split_endpoint(word: str) -> tuple[Api, str, str | None]:
    """(protocol, model, address) of `MODEL`, `openai:MODEL@URL`, `anthropic:MODEL` ...; None where none is named."""
    kind, mark, rest = word.partition(":")
    api: Api = kind if mark and kind in HOME else "openai"  # type: ignore[assignment]  # checked
    name = rest if mark and kind in HOME else word
    model, mark, url = name.rpartition("@http")
    return (api, model, f"http{url}") if mark else (api, name, None)


def request_url(api: Api, base_url: str, model: str) -> str:
    """Where questions go."""
    if api == "gemini":
        return f"{base_url}/models/{quote(model.removeprefix('models/'), safe='')}:generateContent"
    return f"{base_url}/{'messages' if api == 'anthropic' else 'chat/completions'}"


def native_body(
    api: Api, model: str, messages: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]
) -> dict[str, Any]:
    """A chat request in the service's own protocol; `fields` are those beside model and messages."""
    if api == "anthropic":
        return _anthropic_body(model, messages, fields)
    if api == "gemini":
        return _gemini_body(messages, fields)
    return {"model": model, "messages": list(messages), **fields}


def with_fields(body: dict[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """`body` with further fields; objects are merged, so that two can speak of one."""
    merged = dict(body)
    for name, value in fields.items():
        both = isinstance(value, Mapping) and isinstance(merged.get(name), Mapping)
        merged[name] = with_fields(merged[name], value) if both else value
    return merged


# -- further fields ----------------------------------------------------------------------------------------------------


def read_fields(words: Sequence[str]) -> dict[str, Any]:
    """`reasoning_effort=high` as fields. A value is JSON where it can be read as such, else a text; dots nest."""
    fields: dict[str, Any] = {}
    for word in words:
        path, mark, text = word.partition("=")
        names = path.strip().split(".")
        if not mark or not all(names):
            raise BadValue(
                "a further field is given as NAME=VALUE",
                found=repr(word),
                where="--field",
                remedy="for instance reasoning_effort=high, or generationConfig.thinkingConfig.thinkingBudget=0",
            )
        try:
            value = json.loads(text, parse_constant=str)
        except ValueError:
            value = text
        for name in reversed(names):
            value = {name: value}
        fields = with_fields(fields, value)
    return fields


def check_fields(api: Api, fields: Mapping[str, Any], where: str) -> None:
    """Raise BadValue where a further field has a setting of its own."""
    for path in _paths(fields):
        if path in _OWN[api]:
            raise BadValue(f"{path!r} is no further field: it has a setting of its own", where=where)


def _paths(fields: Mapping[str, Any], before: str = "") -> Iterator[str]:
    for name, value in fields.items():
        yield before + name
        if isinstance(value, Mapping):
            yield from _paths(value, f"{before}{name}.")


# -- Anthropic ---------------------------------------------------------------------------------------------------------

_UNKNOWN_IN_SCHEMAS = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
_UNKNOWN_IN_SCHEMAS |= {"minLength", "maxLength", "maxItems"}
"""Keywords that Anthropic's structured outputs refuse; the reader of an answer checks the range itself."""


def _anthropic_body(model: str, messages: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]) -> dict[str, Any]:
    system = [message["content"] for message in messages if message["role"] == "system"]
    turns = [
        {"role": message["role"], "content": [_anthropic_part(part) for part in message["content"]]}
        for message in messages
        if message["role"] != "system"
    ]
    body: dict[str, Any] = {"model": model, "max_tokens": _max_tokens(fields), "messages": turns}
    if system:
        body["system"] = "\n\n".join(system)
    if "temperature" in fields:
        body["temperature"] = fields["temperature"]
    schema = _schema(fields)
    if schema is not None:
        body["output_config"] = {"format": {"type": "json_schema", "schema": _plain_schema(schema)}}
    return body


def _anthropic_part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"type": "text", "text": part["text"]}
    media_type, data = _picture(part)
    if media_type is None:
        return {"type": "image", "source": {"type": "url", "url": data}}
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _plain_schema(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_plain_schema(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    properties = schema.get("properties")
    plain = {name: _plain_schema(value) for name, value in schema.items() if name not in _UNKNOWN_IN_SCHEMAS}
    if isinstance(properties, dict):  # its keys are names of answers, whatever they are called
        plain["properties"] = {name: _plain_schema(value) for name, value in properties.items()}
    return plain


def _chat_of_anthropic(data: Mapping[str, Any]) -> dict[str, Any]:
    texts = [block.get("text") for block in data["content"] if block.get("type") == "text"]
    ended = {"max_tokens": "length", "model_context_window_exceeded": "length", "refusal": "content_filter"}
    reason = data.get("stop_reason")
    message = {"role": "assistant", "content": "".join(text for text in texts if isinstance(text, str))}
    choice = {"index": 0, "message": message, "finish_reason": ended.get(str(reason), "stop")}
    return {"model": data.get("model"), "choices": [choice]}


# -- Gemini ------------------------------------------------------------------------------------------------------------

_HELD_BACK = {"SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE"}


def _gemini_body(messages: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]) -> dict[str, Any]:
    config: dict[str, Any] = {"maxOutputTokens": _max_tokens(fields)}
    config |= {name: fields[name] for name in ("temperature", "seed") if name in fields}
    if fields.get("logprobs"):
        config |= {"responseLogprobs": True, "logprobs": fields["top_logprobs"]}
    if "response_format" in fields:
        config["responseMimeType"] = "application/json"
    schema = _schema(fields)
    if schema is not None:
        config["responseJsonSchema"] = schema
    system = [{"text": message["content"]} for message in messages if message["role"] == "system"]
    contents = [
        {"role": "user", "parts": [_gemini_part(part) for part in message["content"]]}
        for message in messages
        if message["role"] != "system"
    ]
    body: dict[str, Any] = {"contents": contents, "generationConfig": config}
    return body | ({"systemInstruction": {"parts": system}} if system else {})


def _gemini_part(part: Mapping[str, Any]) -> dict[str, Any]:
    if part["type"] == "text":
        return {"text": part["text"]}
    media_type, data = _picture(part)
    if media_type is None:
        return {"fileData": {"fileUri": data}}
    return {"inlineData": {"mimeType": media_type, "data": data}}


def _chat_of_gemini(data: Mapping[str, Any]) -> dict[str, Any]:
    candidates = data.get("candidates") or []
    if not candidates:  # the question itself was held back
        reason = data["promptFeedback"]["blockReason"]
        message = {"role": "assistant", "content": "", "refusal": f"the question was held back: {reason}"}
        return {"model": data.get("modelVersion"), "choices": [{"message": message, "finish_reason": "content_filter"}]}
    first = candidates[0]
    parts = (first.get("content") or {}).get("parts") or []
    texts = [part.get("text") for part in parts if not part.get("thought")]
    reason = str(first.get("finishReason") or "STOP")
    ended = "length" if reason == "MAX_TOKENS" else "content_filter" if reason in _HELD_BACK else "stop"
    message = {"role": "assistant", "content": "".join(text for text in texts if isinstance(text, str))}
    choice = {"message": message, "finish_reason": ended, "logprobs": _gemini_logprobs(first.get("logprobsResult"))}
    return {"model": data.get("modelVersion"), "choices": [choice]}


def _gemini_logprobs(result: Any) -> dict[str, Any] | None:
    """The log-probabilities as the chat protocol has them; None where there are none, or in another form."""
    try:
        chosen, top = result["chosenCandidates"], result.get("topCandidates") or []
        entries = []
        for number, token in enumerate(chosen):
            listed = top[number].get("candidates", []) if number < len(top) else []
            entries.append(_gemini_token(token) | {"top_logprobs": [_gemini_token(other) for other in listed]})
    except (LookupError, TypeError, AttributeError):
        return None
    return {"content": entries}


def _gemini_token(token: Mapping[str, Any]) -> dict[str, Any]:
    return {"token": token["token"], "logprob": token["logProbability"]}


# -- both --------------------------------------------------------------------------------------------------------------


def as_chat(data: Any) -> Any:
    """An answer in any of the protocols as one of the chat protocol; what is of none of them stays as it is."""
    if not isinstance(data, dict) or "choices" in data:
        return data
    try:
        if data.get("type") == "message":
            return _chat_of_anthropic(data)
        if "candidates" in data or "promptFeedback" in data:
            return _chat_of_gemini(data)
    except (LookupError, TypeError, AttributeError):
        return data
    return data


def _max_tokens(fields: Mapping[str, Any]) -> int:
    return int(fields.get("max_tokens") or fields["max_completion_tokens"])


def _schema(fields: Mapping[str, Any]) -> dict[str, Any] | None:
    shape = fields.get("response_format") or {}
    return dict(shape["json_schema"]["schema"]) if shape.get("type") == "json_schema" else None


def _picture(part: Mapping[str, Any]) -> tuple[str | None, str]:
    """(media type, base64) of a picture that is sent along; (None, address) of one that the server fetches."""
    url = str(part["image_url"]["url"])
    if not url.startswith("data:"):
        return None, url
    head, _, data = url.partition(",")
    return head.removeprefix("data:").partition(";")[0], data
