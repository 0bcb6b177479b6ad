"""A VLM behind any server that speaks the OpenAI chat protocol: hosted services, vLLM, llama.cpp's server.

A question whose answer is stored is answered from the store, without a server and without decoding a picture. A wrong
key, address or model ends the run at the server's first word, which costs nothing.

A reply that the token limit cut off is no answer: its question is asked again with four times as many tokens (twice as
many where the server refuses that), `ROUNDS` times in a run at the most, and further on the next run. Every size has a
key of its own, so that a reply that was cut off is not bought twice either.

Batch files. `write_batch` writes the questions that the store has no answer to; custom_id is the key of the question.
`read_batch` takes the result files back, in any order and number, and keeps each answer under its key, where a normal
run finds it. Every line that brings no answer (failed, foreign, twice, unusable) is reported, and its question stays
open.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self
from urllib.parse import urlsplit

from salon.calls import (
    Account,
    Budget,
    CallAnswer,
    Caller,
    CallOrder,
    CallStore,
    Client,
    Limits,
    NotServed,
    Prices,
    Refusal,
    Secret,
    Service,
    base_address,
    is_local,
    read_error,
    read_json,
    read_usage,
    utc_now,
)
from salon.errors import BadFile, BadValue
from salon.judge.chat_protocol import (
    FROM_BATCH,
    ChatCall,
    Dialect,
    Endpoint,
    PictureSettings,
    Structured,
    is_cut_off,
    no_reply,
    read_reply,
    why_unusable,
    with_cost_of,
)
from salon.judge.native_protocols import HOME, Api, check_fields
from salon.judge.vlm import MOST_REPLY_TOKENS, Conversation, NoReply, Reply
from salon.store import whole_file
from salon.study import Setting, Signature

if TYPE_CHECKING:
    import httpx2

ROUNDS = 3
"""How often a question is asked in one run, while its replies are cut off."""
_NO_MODEL = re.compile(r"model_not_found|\bmodel\b.*(not (found|exist|a valid)|does not exist)", re.I)


@dataclass(frozen=True)
class Forecast:
    """What a run would take, before anything is spent."""

    questions: int
    stored: int
    """Of these, answered already, or asked twice in the same run."""
    broken: int
    """Of these, with a picture that is missing."""
    tokens_in: int
    """Most tokens read for the rest, pictures by the price list."""
    tokens_out: int
    cost: Decimal | None
    """The most they cost; None without a price."""


@dataclass(frozen=True)
class _PendingQuestion:
    """A conversation on its way."""

    conversation: Conversation
    """With as many tokens as are to be asked for next."""
    key: str
    answer: CallAnswer | None = None
    cut_off: tuple[CallAnswer, ...] = ()
    """Replies with fewer tokens, which were cut off."""
    messages: tuple[dict[str, Any], ...] = ()


class OpenAIChat:
    """A VLM at an endpoint; every answer is in `store` before it is used, and never bought again.

    `most_tokens` is the most that is asked for after a reply was cut off; 0 for never asking again. It is no part of
    the signature: it changes no reply that was whole.

    `secrets` are read from the environment when a request is sent. `fields` go into every request as they are
    (reasoning_effort, chat_template_kwargs ...). `api` is the protocol of the server, where it is not OpenAI's.
    """

    def __init__(
        self,
        name: str,
        *,
        model: str,
        base_url: str,
        store: CallStore,
        secrets: Sequence[Secret] = (),
        limits: Limits | None = None,
        prices: Prices | None = None,
        budget: Budget | None = None,
        pictures: PictureSettings | None = None,
        structured: Structured = "auto",
        fields: Mapping[str, Any] | None = None,
        api: Api = "openai",
        most_tokens: int = MOST_REPLY_TOKENS,
        allow_http: bool = False,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        check_fields(api, fields or {}, name)
        self.name, self.store, self.most_tokens = name, store, most_tokens
        self.asked_again = 0
        """Questions asked with more tokens, because a reply was cut off."""
        base_url = base_address(base_url)
        self.endpoint = Endpoint(base_url, model, pictures or PictureSettings(), structured, dict(fields or {}), api)
        self.dialect = Dialect.first(structured, api)
        """What the endpoint is believed to understand; learnt from its refusals."""
        self.service = Service(
            base_url, tuple(secrets), limits or Limits(), prices or Prices(), budget or Budget(), allow_http
        )
        self.served: Counter[str] = Counter()
        """The model's name as the server gives it, with the number of replies."""
        self._client = Client(self.service, store, transport=transport)

    @property
    def signature(self) -> Signature:
        """Everything that is sent but the question; the key is no part of it."""
        end = self.endpoint
        model: dict[str, Setting] = {"model": end.model, "base_url": end.base_url, "structured": end.structured}
        pictures = {f"pictures.{name}": value for name, value in end.pictures.record().items()}
        further = {f"fields.{name}": json.dumps(value, sort_keys=True) for name, value in end.fields.items()}
        return Signature(method=f"{end.api}-chat", settings=model | pictures | further)

    @property
    def is_hosted(self) -> bool:
        """Whether someone else runs the server, and may change the model behind its name."""
        return not is_local(self.endpoint.base_url)

    def key(self, conversation: Conversation) -> str:
        """The key of a question: the name of its answer in the store and in batch files."""
        return self.endpoint.key(conversation)

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        """(index, reply) as they come. What cannot work is raised before anything is sent."""
        if self.service.budget.money is not None:
            self.service.prices.need(self.endpoint.model, pictures=True)
        self.service.secret_headers(self.endpoint.base_url)
        return self._results(conversations)

    def forecast(
        self, conversations: Iterable[Conversation], is_readable: Callable[[int, Reply | NoReply], bool] | None = None
    ) -> Forecast:
        """What `reply` would have to buy; nothing is sent. Stored replies that are not readable are asked again."""
        price = self.service.prices.models.get(self.endpoint.model)
        keys: set[str] = set()
        count = stored = broken = tokens_in = tokens_out = 0
        cost = None if price is None else Decimal(0)
        for index, conversation in enumerate(conversations):
            count += 1
            question = self._looked_up(conversation)
            if isinstance(question, NoReply):
                broken += 1
            elif question.key in keys or (
                question.answer is not None
                and (is_readable is None or is_readable(index, read_reply(question.answer, question.conversation)))
            ):
                stored += 1
            else:
                keys.add(question.key)
                order = self.endpoint.order(question.conversation)
                tokens_in += order.input_tokens + order.input_images * (price.image_tokens if price else 0)
                tokens_out += order.output_tokens
                cost = None if cost is None else cost + (self.service.prices.most(order) or 0)
        return Forecast(count, stored, broken, tokens_in, tokens_out, cost)

    def put_aside(self, conversation: Conversation, why: str) -> None:
        """Keep the stored answer as evidence and open its question again; its cost is not forgotten."""
        question = self._looked_up(conversation)
        if isinstance(question, _PendingQuestion) and question.answer is not None:
            self.store.set_aside(question.answer, why)

    def notes(self) -> list[str]:
        """What the report of a run should say about the calls."""
        names = ", ".join(f"{name} ({count:,})" for name, count in self.served.most_common())
        notes = [f"the answers are of several models: {names}"] if len(self.served) > 1 else []
        if self.asked_again:
            notes.append(f"asked again with more tokens, because replies were cut off: {self.asked_again:,}")
        layer = self.endpoint.api == "openai" and urlsplit(self.endpoint.base_url).hostname
        if layer == urlsplit(HOME["anthropic"]).hostname:
            notes.append(
                "the endpoint's OpenAI layer ignores response_format, seed and logprobs without a word: "
                f"ask it as anthropic:{self.endpoint.model}"
            )
        return [*notes, *self.dialect.notes(), *self._client.notes()]

    @property
    def account(self) -> Account:
        """What has been asked, sent and spent so far."""
        return self._client.account

    def close(self) -> None:
        """End the connections. The store stays open: it is the caller's."""
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _results(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        with closing(self._client.over(map(self._prepared, conversations), self._ask)) as results:
            for index, result in results:
                if isinstance(result, Reply) and result.model:
                    self.served[result.model] += 1
                yield index, result

    def _looked_up(self, conversation: Conversation) -> _PendingQuestion | NoReply:
        """The answer in the store, past those that were cut off; or the question that is to be asked."""
        cut_off: list[CallAnswer] = []
        current = conversation
        try:
            key = self.key(current)
            answer = self.store.find(key)
            while answer is not None and is_cut_off(read_reply(answer, current), current):
                longer = self._with_more_tokens(current)
                if longer is None:
                    break
                cut_off.append(answer)
                half = self._with_more_tokens(current, factor=2)  # where the server refused more
                if half is not None and self.store.find(self.key(longer)) is None and self.store.find(self.key(half)):
                    longer = half
                current, key = longer, self.key(longer)
                answer = self.store.find(key)
        except BadFile as error:
            return NoReply(kind="broken-image", reason=str(error))
        return _PendingQuestion(current, key, answer, tuple(cut_off))

    def _with_more_tokens(self, conversation: Conversation, factor: int = 4) -> Conversation | None:
        """The same question with more tokens for its answer; None at the most there may be."""
        tokens = min(factor * conversation.decoding.max_tokens, self.most_tokens)
        if tokens <= conversation.decoding.max_tokens:
            return None
        return conversation.model_copy(
            update={"decoding": conversation.decoding.model_copy(update={"max_tokens": tokens})}
        )

    def _prepared(self, conversation: Conversation) -> _PendingQuestion | NoReply:
        """On the consumer's thread: pictures are decoded only for what is not stored, and only a little ahead."""
        question = self._looked_up(conversation)
        if isinstance(question, NoReply) or question.answer is not None:
            return question
        try:
            return replace(question, messages=tuple(self.endpoint.messages(question.conversation)))
        except BadFile as error:
            return NoReply(kind="broken-image", reason=str(error))

    async def _ask(self, caller: Caller, question: _PendingQuestion | NoReply) -> Reply | NoReply:
        """The reply; asked for with more tokens while it is cut off, as far as a run goes."""
        if isinstance(question, NoReply):
            return question
        if question.answer is not None:
            caller.account.asked += 1
            caller.account.from_store += 1
            return with_cost_of(read_reply(question.answer, question.conversation), question.cut_off)
        for _ in range(ROUNDS):
            self.asked_again += bool(question.cut_off)
            outcome = await self._outcome(caller, question)
            if isinstance(outcome, Refusal):
                return self._refused_again(outcome, question)
            question, answer = outcome
            reply = read_reply(answer, question.conversation)
            longer = self._with_more_tokens(question.conversation)
            if longer is None or not is_cut_off(reply, question.conversation):
                break
            question = replace(question, conversation=longer, key=self.key(longer), cut_off=(*question.cut_off, answer))
        return with_cost_of(reply, [earlier for earlier in question.cut_off if earlier is not answer])

    async def _outcome(
        self, caller: Caller, question: _PendingQuestion
    ) -> tuple[_PendingQuestion, CallAnswer] | Refusal:
        """The answer with the question as it was understood, which may be one of half as many further tokens."""
        outcome = await self._sent(caller, question)
        if isinstance(outcome, CallAnswer):
            return question, outcome
        if not question.cut_off or outcome.kind != "rejected":
            return outcome
        fewer = question.conversation.decoding.max_tokens // 2
        decoding = question.conversation.decoding.model_copy(update={"max_tokens": fewer})
        conversation = question.conversation.model_copy(update={"decoding": decoding})
        smaller = replace(question, conversation=conversation, key=self.key(conversation))
        if any(answer.key == smaller.key for answer in question.cut_off):
            return outcome
        again = await self._sent(caller, smaller)
        return (smaller, again) if isinstance(again, CallAnswer) else again

    async def _sent(self, caller: Caller, question: _PendingQuestion) -> CallAnswer | Refusal:
        """Ask in the dialect that the server is believed to speak, until it understands."""
        while True:
            dialect = self.dialect
            outcome = await caller.ask(self._call(question, dialect), why_unusable)
            weaker = dialect.after(outcome) if isinstance(outcome, Refusal) else None
            if weaker is None:
                return outcome
            if self.dialect == dialect:  # else another call has learnt something meanwhile
                self.dialect = weaker

    def _call(self, question: _PendingQuestion, dialect: Dialect) -> ChatCall:
        body = self.endpoint.body(question.conversation, list(question.messages), dialect)
        order = self.endpoint.order(question.conversation)
        return ChatCall(
            url=self.endpoint.url, headers=self.endpoint.headers, body=body, order=order, question=question.key
        )

    def _refused_again(self, refusal: Refusal, question: _PendingQuestion) -> Reply | NoReply:
        """What is known of a question without an answer: a server that allows no more tokens leaves it cut off."""
        if not question.cut_off or refusal.kind != "rejected":
            return self._refused(refusal)
        *before, last = question.cut_off
        return with_cost_of(read_reply(last, question.conversation), before)

    def _refused(self, refusal: Refusal) -> NoReply:
        if not self.served and refusal.kind == "rejected" and _NO_MODEL.search(f"{refusal.code} {refusal.reason}"):
            raise NotServed(
                f"a model that the server knows is needed, not {self.endpoint.model!r}",
                found=refusal.reason,
                where=self.endpoint.url,
                remedy="check the name of the model; the server lists its own at /models",
            )
        return no_reply(refusal)


# -- batch files -------------------------------------------------------------------------------------------------------

MOST_BATCH_LINES = 50_000
MOST_BATCH_BYTES = 190_000_000
"""The most that one batch file may hold, a little below the protocol's 200 MB."""


@dataclass
class BatchWritten:
    """What was written."""

    files: list[Path] = field(default_factory=list)
    written: int = 0
    stored: int = 0
    """Questions that have an answer already, or are asked twice."""
    broken: list[str] = field(default_factory=list)
    """Questions that cannot be asked, because of a picture, and why."""


@dataclass(frozen=True)
class BatchFault:
    """A line of a result file that brought no answer."""

    where: str
    kind: str
    """failed, foreign, duplicate or broken."""
    reason: str


@dataclass
class BatchReceived:
    """What was taken back."""

    kept: int = 0
    known: int = 0
    """Answers that were in the store before."""
    missing: int = 0
    """Questions that no file so far has answered."""
    faults: list[BatchFault] = field(default_factory=list)


def write_batch(
    vlm: OpenAIChat,
    conversations: Iterable[Conversation],
    path: Path,
    *,
    most_lines: int = MOST_BATCH_LINES,
    most_bytes: int = MOST_BATCH_BYTES,
) -> BatchWritten:
    """Write what is not yet answered to `path`, numbered (`judge-001.jsonl` ...) in files that a server takes.

    A batch cannot learn what the endpoint understands: set `structured` to what it is known to take. OpenAI takes
    lines; for Anthropic a file is the body of the request that makes a batch, one object with all its `requests`.
    """
    if vlm.endpoint.api == "gemini":
        raise BadValue("batch files are for OpenAI's and Anthropic's protocols", found="gemini")
    is_document = vlm.endpoint.api == "anthropic"
    out, keys = BatchWritten(), set[str]()
    with ExitStack() as stack:
        file: BinaryIO | None = None
        lines = size = 0
        for conversation in conversations:
            line = _batch_line(vlm, conversation, keys, out)
            if line is None:
                continue
            if file is None or lines >= most_lines or size + len(line) > most_bytes:
                stack.close()
                name = path.with_name(f"{path.stem}-{len(out.files) + 1:03d}{path.suffix or '.jsonl'}")
                file, lines, size = stack.enter_context(whole_file(name)), 0, 0
                out.files.append(name)
                if is_document:
                    file.write(b'{"requests":[\n')
                    stack.callback(file.write, b"]}\n")
            file.write(b"," + line if is_document and lines else line)
            lines, size = lines + 1, size + len(line)
            out.written += 1
    return out


def _batch_line(vlm: OpenAIChat, conversation: Conversation, keys: set[str], out: BatchWritten) -> bytes | None:
    """One question as a line; None, and counted, when there is nothing to ask."""
    try:
        key = vlm.key(conversation)
        if key in keys or vlm.store.find(key) is not None:
            out.stored += 1
            return None
        body = vlm.endpoint.body(conversation, vlm.endpoint.messages(conversation), vlm.dialect)
    except BadFile as error:
        out.broken.append(str(error))
        return None
    keys.add(key)
    record: dict[str, Any] = {"custom_id": key, "params": body}
    if vlm.endpoint.api == "openai":
        record = {"custom_id": key, "method": "POST", "url": urlsplit(vlm.endpoint.url).path, "body": body}
    return json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read_batch(vlm: OpenAIChat, conversations: Iterable[Conversation], paths: Sequence[Path]) -> BatchReceived:
    """Keep the answers in result files. Only answers to `conversations` are taken: any other line is foreign."""
    orders: dict[str, CallOrder] = {}
    for conversation in conversations:
        try:
            orders[vlm.key(conversation)] = vlm.endpoint.order(conversation)
        except BadFile:  # its picture is gone: there is no key, and the run will say so
            continue
    received = BatchReceived()
    answered: set[str] = set()
    with vlm.store.transaction():  # one flush for all of them: a flush takes longer than an answer
        for where, line in _batch_lines(paths):
            fault = _take_answer(vlm, line, orders, answered, received)
            if fault is not None:
                received.faults.append(BatchFault(where, *fault))
    received.missing = sum(vlm.store.find(key) is None for key in orders)
    return received


def _batch_lines(paths: Sequence[Path]) -> Iterator[tuple[str, bytes]]:
    for path in paths:
        try:
            with open(path, "rb") as file:
                for number, line in enumerate(file, 1):
                    if line.strip():
                        yield f"{path.name}, line {number}", line
        except OSError as error:
            raise BadFile("a batch result file is needed", found=error.strerror, where=str(path)) from None


def _as_openai_line(record: dict[str, Any]) -> dict[str, Any]:
    """A line of Anthropic's results, which succeeded, errored, was canceled or expired, as OpenAI has it."""
    result = record.get("result")
    if not isinstance(result, dict):
        return record
    if result.get("type") == "succeeded":
        return {"custom_id": record["custom_id"], "response": {"status_code": 200, "body": result.get("message")}}
    error = result.get("error") or {"message": str(result.get("type"))}
    inner = error.get("error") if isinstance(error, dict) else None  # an error stands in an object of type error
    return {"custom_id": record["custom_id"], "error": inner or error}


def _take_answer(
    vlm: OpenAIChat, line: bytes, orders: dict[str, CallOrder], answered: set[str], received: BatchReceived
) -> tuple[str, str] | None:
    """Keep the answer in one line; or (kind, reason) why there is none to keep."""
    try:
        record = _as_openai_line(read_json(line))
        key, response = record["custom_id"], record.get("response")
    except (ValueError, LookupError, TypeError, AttributeError):
        return "broken", "no line of a batch result"
    if not isinstance(key, str) or key not in orders:
        return "foreign", f"custom_id {key!r} is no question of this run"
    if record.get("error"):
        return "failed", ": ".join(filter(None, read_error(json.dumps(record).encode())))
    if not isinstance(response, dict):
        return "failed", "no response"
    if response.get("status_code") != 200:
        _, message = read_error(json.dumps(response.get("body")).encode())
        return "failed", f"{response.get('status_code')}: {message}"
    if key in answered:
        return "duplicate", "this question was answered before in these files; the first answer stays"
    body = response.get("body")
    tokens_in, tokens_out = read_usage(body)
    cost = vlm.service.prices.cost(orders[key], tokens_in, tokens_out)
    answer = CallAnswer(
        key=key,
        status=200,
        headers={FROM_BATCH: str(record.get("id") or "batch"), "content-type": "application/json"},
        body=json.dumps(body, ensure_ascii=False).encode(),
        seconds=0.0,
        attempts=1,
        at=utc_now(),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        cost=None if cost is None else float(cost),
    )
    why = why_unusable(answer)
    if why is not None:
        return "broken", why
    answered.add(key)
    if vlm.store.find(key) is not None:
        received.known += 1
    else:
        vlm.store.keep(answer, vlm.endpoint.url)
        received.kept += 1
    return None
