"""Questions as OpenAI batch files, and their results as stored answers: half the price for a day's patience.

`write_batch` writes the questions that the store has no answer to; custom_id is the key of the question. `read_batch`
takes the result files back, in any order and number, and keeps each answer under its key: a normal run then finds it
like any other. What cannot be taken (failed, foreign, twice, no answer at all) is named line by line, and stays open.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from salon.calls.answer import Answer, read_error, read_json
from salon.calls.prices import Order
from salon.calls.store import now
from salon.calls.usage import read_usage
from salon.errors import BadFile
from salon.judge.chat_reply import FROM_BATCH, why_unusable
from salon.judge.openai_chat import OpenAIChat
from salon.judge.vlm import Conversation
from salon.store.atomic import whole_file

MOST_LINES = 50_000
MOST_BYTES = 190_000_000
"""The most that one batch file may hold, a little below the protocol's 200 MB."""


@dataclass
class BatchOut:
    """What was written."""

    files: list[Path] = field(default_factory=list)
    written: int = 0
    stored: int = 0
    """Questions that have an answer already, or are asked twice."""
    broken: list[str] = field(default_factory=list)
    """Questions that cannot be asked, because of a picture, and why."""


@dataclass(frozen=True)
class Fault:
    """A line of a result file that brought no answer."""

    where: str
    kind: str
    """failed, foreign, duplicate or broken."""
    reason: str


@dataclass
class BatchIn:
    """What was taken back."""

    kept: int = 0
    known: int = 0
    """Answers that were in the store before."""
    missing: int = 0
    """Questions that no file so far has answered."""
    faults: list[Fault] = field(default_factory=list)


def write_batch(
    vlm: OpenAIChat,
    conversations: Iterable[Conversation],
    path: Path,
    *,
    most_lines: int = MOST_LINES,
    most_bytes: int = MOST_BYTES,
) -> BatchOut:
    """Write what is not yet answered to `path`, numbered (`judge-001.jsonl` ...) in files that a server takes.

    A batch cannot learn what the endpoint understands: set `structured` to what it is known to take.
    """
    out, seen = BatchOut(), set[str]()
    with ExitStack() as stack:
        file: BinaryIO | None = None
        lines = size = 0
        for conversation in conversations:
            line = _line(vlm, conversation, seen, out)
            if line is None:
                continue
            if file is None or lines >= most_lines or size + len(line) > most_bytes:
                stack.close()
                name = path.with_name(f"{path.stem}-{len(out.files) + 1:03d}{path.suffix or '.jsonl'}")
                file, lines, size = stack.enter_context(whole_file(name)), 0, 0
                out.files.append(name)
            file.write(line)
            lines, size = lines + 1, size + len(line)
            out.written += 1
    return out


def _line(vlm: OpenAIChat, asked: Conversation, seen: set[str], out: BatchOut) -> bytes | None:
    """One question as a line; None, and counted, when there is nothing to ask."""
    try:
        key = vlm.key(asked)
        if key in seen or vlm.store.find(key) is not None:
            out.stored += 1
            return None
        body = vlm.endpoint.body(asked, vlm.endpoint.messages(asked), vlm.dialect)
    except BadFile as error:
        out.broken.append(str(error))
        return None
    seen.add(key)
    url = urlsplit(vlm.endpoint.url).path
    record = {"custom_id": key, "method": "POST", "url": url, "body": body}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read_batch(vlm: OpenAIChat, conversations: Iterable[Conversation], paths: Sequence[Path]) -> BatchIn:
    """Keep the answers in result files. Only answers to `conversations` are taken: any other line is foreign."""
    orders: dict[str, Order] = {}
    for conversation in conversations:
        try:
            orders[vlm.key(conversation)] = vlm.endpoint.order(conversation)
        except BadFile:  # its picture is gone: there is no key, and the run will say so
            continue
    taken = BatchIn()
    answered: set[str] = set()
    with vlm.store.transaction():  # one flush for all of them: a flush takes longer than an answer
        for where, line in _lines(paths):
            fault = _take(vlm, line, orders, answered, taken)
            if fault is not None:
                taken.faults.append(Fault(where, *fault))
    taken.missing = sum(vlm.store.find(key) is None for key in orders)
    return taken


def _lines(paths: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    for path in paths:
        try:
            with open(path, "rb") as file:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        yield f"{path.name}, line {number}", line
        except OSError as error:
            raise BadFile("a batch result file is needed", found=error.strerror, where=str(path)) from None


def _take(
    vlm: OpenAIChat, line: bytes, orders: dict[str, Order], answered: set[str], taken: BatchIn
) -> tuple[str, str] | None:
    """Keep the answer in one line; or (kind, reason) why there is none to keep."""
    try:
        record = read_json(line)
        key, response = record["custom_id"], record.get("response")
    except (ValueError, LookupError, TypeError, AttributeError):
        return "broken", "no line of a batch result"
    if not isinstance(key, str) or key not in orders:
        return "foreign", f"custom_id {key!r} is no question of this run"
    failure = _failure(record, response)
    if failure is not None:
        return "failed", failure
    if key in answered:
        return "duplicate", "this question was answered before in these files; the first answer stays"
    answer = _answer(vlm, key, response, str(record.get("id") or "batch"), orders[key])
    why = why_unusable(answer)
    if why is not None:
        return "broken", why
    answered.add(key)
    if vlm.store.find(key) is not None:
        taken.known += 1
    else:
        vlm.store.keep(answer, vlm.endpoint.url)
        taken.kept += 1
    return None


def _failure(record: dict[str, Any], response: Any) -> str | None:
    """What the server says against this question, if it did not answer."""
    if record.get("error"):
        return ": ".join(filter(None, read_error(json.dumps(record).encode())))
    if not isinstance(response, dict):
        return "no response"
    if response.get("status_code") != 200:
        _, message = read_error(json.dumps(response.get("body")).encode())
        return f"{response.get('status_code')}: {message}"
    return None


def _answer(vlm: OpenAIChat, key: str, response: dict[str, Any], id: str, order: Order) -> Answer:
    body = response.get("body")
    tokens_in, tokens_out = read_usage(body)
    cost = vlm.service.prices.cost(order, tokens_in, tokens_out)
    return Answer(
        key=key,
        status=200,
        headers={FROM_BATCH: id, "content-type": "application/json"},
        body=json.dumps(body, ensure_ascii=False).encode(),
        seconds=0.0,
        attempts=1,
        at=now(),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=None if cost is None else float(cost),
    )
