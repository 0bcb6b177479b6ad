"""A VLM in this process as a judge: conversations in, replies with the exact chances of the options out.

Pictures are made smaller as they are for an endpoint, but handed over as pixels, never as JPEG. The shape of the answer
is not enforced here: a text that does not keep to it is read, or not read, like any other.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

from PIL import Image

from salon.errors import BadFile, BadValue, MissingExtra
from salon.judge.chat_protocol import PictureSettings, option_begun, option_chances
from salon.judge.vlm import Conversation, NoReply, Reply
from salon.models import ContextTooLong, LoadedVlm, Messages, VlmAnswer, fingerprint, resolve_device
from salon.store import fit_within, read_picture
from salon.study import Signature

try:
    import torch
    import transformers
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

_ReadyQuestions = list[tuple[int, Conversation, Messages]]
_BEFORE = b" \t\r\n\"'([{*`:,"
"""What may share a token with the beginning of an option."""


class LocalVlm:
    """A checkpoint by folder or hub name, loaded when the first question comes.

    `batch` conversations are answered at a time; those that are sampled go one by one, so that an answer never hangs
    on its neighbours.
    """

    def __init__(
        self,
        source: str | Path,
        *,
        name: str | None = None,
        device: str = "auto",
        dtype: str = "auto",
        batch: int = 1,
        pictures: PictureSettings | None = None,
    ) -> None:
        if batch < 1:
            raise BadValue("batch is 1 or more", found=batch, where=str(source))
        self.source, self.batch = str(source), batch
        self.name = name or Path(self.source).name
        self.pictures = pictures or PictureSettings()
        self._device, self._dtype = device, dtype
        self._watched: dict[tuple[str, ...], list[int]] = {}
        self._sizes: dict[Path, tuple[int, int]] = {}
        self._taken: dict[tuple[int, int], int] = {}

    @cached_property
    def loaded(self) -> LoadedVlm:
        """The model; MissingWeights where there is none."""
        return LoadedVlm(self.source, device=self._device, dtype=self._dtype)

    @cached_property
    def signature(self) -> Signature:
        """The weights and what runs them, known before they are loaded; device and batch change only rounding."""
        where = Path(self.source)
        _, dtype = resolve_device(self._device, self._dtype)
        model = {"source": where.name if where.is_dir() else self.source, "dtype": dtype}
        versions = {"transformers": transformers.__version__, "torch": torch.__version__.partition("+")[0]}
        pixels = {"pictures.pixels": self.pictures.pixels}
        return Signature(method="transformers-vlm", data=fingerprint(self.source), settings=model | pixels | versions)

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        """(index, reply), batch by batch in the order asked."""
        numbered = enumerate(conversations)
        while chunk := list(islice(numbered, self.batch)):
            ready: _ReadyQuestions = []
            for index, conversation in chunk:
                try:
                    ready.append((index, conversation, self._messages(conversation)))
                except BadFile as error:
                    yield index, NoReply(kind="broken-image", reason=str(error))
            for group in _alike(ready):
                yield from self._answered(group)

    def too_long(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, str]]:
        """(index, reason) of each question that leaves no room for its answer.

        Texts are tokenized, and one picture of each size goes through the processor; the network itself is not run.
        """
        limit = getattr(self.loaded.model.config.get_text_config(), "max_position_embeddings", None)
        if limit is None:
            return
        for index, conversation in enumerate(conversations):
            try:
                tokens = self.tokens(conversation)
            except BadFile:
                continue  # it will be counted as what it is
            if tokens + conversation.decoding.max_tokens > limit:
                most = f"{tokens:,} tokens and {conversation.decoding.max_tokens:,} for the answer"
                yield index, f"{most}; the model takes {limit:,}"

    def tokens(self, conversation: Conversation) -> int:
        """What the network reads for a question: its words, and as many tokens as its pictures' sizes take."""
        parts = [
            {"type": "text", "text": part} if isinstance(part, str) else {"type": "image"}
            for part in conversation.parts
        ]
        pictures = sum(self._picture_tokens(self._size(sight.path)) for sight in conversation.sights)
        return self._words(_chat(conversation.system, parts)) + pictures

    def _size(self, path: Path) -> tuple[int, int]:
        if path not in self._sizes:
            self._sizes[path] = fit_within(read_picture(path).image, self.pictures.pixels).size
        return self._sizes[path]

    def _picture_tokens(self, size: tuple[int, int]) -> int:
        """How many tokens more than its mark in the text a picture of this size takes."""
        if size not in self._taken:
            chat = _chat(None, [{"type": "image", "image": Image.new("RGB", size)}])
            read = self.loaded.processor.apply_chat_template(
                [chat], tokenize=True, add_generation_prompt=True, return_dict=True, return_tensors="pt"
            )
            self._taken[size] = read["input_ids"].shape[1] - self._words(chat)
        return self._taken[size]

    def _words(self, chat: Messages) -> int:
        """Tokens of a chat as it is written, each picture one mark."""
        text = self.loaded.processor.apply_chat_template([chat], tokenize=False, add_generation_prompt=True)[0]
        return len(self.loaded.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _messages(self, conversation: Conversation) -> Messages:
        parts: list[dict[str, Any]] = []
        for part in conversation.parts:
            if isinstance(part, str):
                parts.append({"type": "text", "text": part})
            else:
                image = fit_within(read_picture(part.path).image, self.pictures.pixels)
                parts.append({"type": "image", "image": image})
        return _chat(conversation.system, parts)

    def _answered(self, group: _ReadyQuestions) -> Iterator[tuple[int, Reply | NoReply]]:
        """The replies of one batch. Where memory is short its halves are tried, down to one question."""
        if not group:
            return
        started = time.perf_counter()
        try:
            answers = self._said(group)
        except ContextTooLong as error:
            for row in sorted(error.rows):
                yield group[row][0], NoReply(kind="too-long", reason=error.reason)
            yield from self._answered([entry for row, entry in enumerate(group) if row not in error.rows])
            return
        except RuntimeError as error:
            if len(group) == 1:
                yield group[0][0], NoReply(kind="error", reason=f"{type(error).__name__}: {error}"[:1000])
                return
            half = len(group) // 2
            yield from self._answered(group[:half])
            yield from self._answered(group[half:])
            return
        seconds = (time.perf_counter() - started) / len(group)
        for (index, conversation, _), entry in zip(group, answers):
            yield index, self._reply(conversation, entry, seconds)

    def _said(self, group: _ReadyQuestions) -> list[VlmAnswer]:
        first = group[0][1]
        parts = [part if isinstance(part, str) else part.item for part in first.parts]
        text = json.dumps([first.decoding.seed, first.sample, first.system, *parts])
        seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")
        return self.loaded.say(
            [messages for _, _, messages in group],
            max_tokens=first.decoding.max_tokens,
            temperature=first.decoding.temperature,
            seed=seed,
            watched=self._beginnings(first.options),
        )

    def _reply(self, conversation: Conversation, answer: VlmAnswer, seconds: float) -> Reply:
        return Reply(
            text=answer.text,
            cut=answer.cut,
            chances=option_chances(
                [text for text, _ in answer.tokens], lambda place: answer.tokens[place][1], conversation.options
            ),
            model=self.name,
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
            seconds=round(seconds, 4),
            at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        )

    def _beginnings(self, options: tuple[str, ...]) -> list[int]:
        """All tokens that begin one of the options, with whatever may stand before it in the same token."""
        if options not in self._watched:
            texts = enumerate(self.loaded.vocabulary)
            self._watched[options] = [id for id, text in texts if _begins_one(text, options)]
        return self._watched[options]


def _chat(system: str | None, parts: list[dict[str, Any]]) -> Messages:
    head = [] if system is None else [{"role": "system", "content": [{"type": "text", "text": system}]}]
    return [*head, {"role": "user", "content": parts}]


def _begins_one(text: bytes, options: Sequence[str]) -> bool:
    bare = text.lstrip(_BEFORE)
    return bool(bare) and option_begun(text, text[: len(text) - len(bare)], options) is not None


def _alike(ready: _ReadyQuestions) -> list[_ReadyQuestions]:
    """Questions that may share a batch: greedy ones with the same options and length of answer."""
    groups: dict[object, _ReadyQuestions] = {}
    for index, conversation, messages in ready:
        kind = index if conversation.decoding.temperature else (conversation.options, conversation.decoding.max_tokens)
        groups.setdefault(kind, []).append((index, conversation, messages))
    return list(groups.values())
