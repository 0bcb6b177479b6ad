"""VLMs whose replies are kept, so that a killed run goes on: in one process (`CachedVlm`) or over workers.

Endpoints have the call store. A model in this process has none, and may work for hours. A reply counts again for the
same question under the same signature, with the same pixels. Over workers every one loads a copy of the VLM, and each
question is answered exactly once; a question without a reply is asked again by the next run.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from salon.engine import EngineSettings, Row, WorkTask, read_results, run_batches
from salon.judge.vlm import Conversation, NoReply, Reply, Vlm, VlmWithContextLimit
from salon.store import written_inside
from salon.study import Signature


class CachedVlm:
    """`vlm` with a memory in the file `path`."""

    def __init__(self, vlm: Vlm, path: Path) -> None:
        self.vlm, self.path = vlm, path

    @property
    def name(self) -> str:
        """The VLM's own."""
        return self.vlm.name

    @property
    def signature(self) -> Signature:
        """The VLM's own: what it remembers is what it would say again."""
        return self.vlm.signature

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        """Each reply is written down before it is used; known ones come in between, as their questions are read."""
        stored = self._known()
        pending: list[tuple[int, str]] = []
        ready: list[tuple[int, Reply]] = []

        def unknown() -> Iterator[Conversation]:
            for index, conversation in enumerate(conversations):
                key = conversation_key(self.signature, conversation)
                if key in stored:
                    ready.append((index, stored[key].model_copy(update={"stored": True})))
                else:
                    pending.append((index, key))
                    yield conversation

        with self._opened() as file:
            file.write("\n" if file.tell() else "")  # a killed run may have left its last line open
            for number, reply in self.vlm.reply(unknown()):
                index, key = pending[number]
                if isinstance(reply, Reply):
                    file.write(json.dumps([key, reply.record()], ensure_ascii=False) + "\n")
                    file.flush()
                yield index, reply
                while ready:
                    yield ready.pop()
        while ready:
            yield ready.pop()

    def _opened(self) -> IO[str]:
        """The file to add to, which from now on every copy of the study around it has."""
        with written_inside(self.path):
            return open(self.path, "a", encoding="utf-8")

    def too_long(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, str]]:
        """The VLM's own, where it can tell, of what it does not remember: what was answered was not too long."""
        if not isinstance(self.vlm, VlmWithContextLimit):
            return
        stored = self._known()
        pending: list[int] = []

        def unknown() -> Iterator[Conversation]:
            for index, conversation in enumerate(conversations):
                if conversation_key(self.signature, conversation) not in stored:
                    pending.append(index)
                    yield conversation

        for number, reason in self.vlm.too_long(unknown()):
            yield pending[number], reason

    def _known(self) -> dict[str, Reply]:
        """What was written down; a last line that a killed run left unfinished is asked again."""
        replies: dict[str, Reply] = {}
        if not self.path.is_file():
            return replies
        for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                key, record = json.loads(line)
                replies[key] = Reply.model_validate(record)
            except ValueError:
                continue
        return replies


def conversation_key(signature: Signature, conversation: Conversation) -> str:
    """What a reply hangs on: who answers, every word, every pixel, and the number of the sample."""
    record = conversation.model_dump(mode="json", exclude={"about", "point", "parts"})
    record["parts"] = [
        part if isinstance(part, str) else _file_hash(part.path, part.path.stat().st_mtime_ns, part.path.stat().st_size)
        for part in conversation.parts
    ]
    text = json.dumps([str(signature), record], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@cache
def _file_hash(path: Path, _changed: int, _size: int) -> str:
    """Of the file's bytes, which are read again when the file has changed."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


# -- workers -----------------------------------------------------------------------------------------------------------

_TRY = "#"
"""Between a question's key and how often it got no reply before."""


class ReplyWork:
    """The work: conversations in, replies out."""

    schema = pa.schema([pa.field("said", pa.bool_()), pa.field("reply", pa.string())])

    def __init__(self, vlm: Vlm) -> None:
        self.vlm, self.signature = vlm, str(vlm.signature)

    def open(self) -> Callable[[Sequence[Any]], list[Row]]:
        """The VLM loads itself when the first question comes."""
        return self._answer

    def _answer(self, conversations: Sequence[Conversation]) -> list[Row]:
        replies = dict(self.vlm.reply(conversations))
        return [_row(replies[index]) for index in range(len(conversations))]


class DistributedVlm:
    """`vlm`, which must not be loaded yet, over workers; replies are kept in `folder`."""

    def __init__(self, vlm: Vlm, folder: Path, settings: EngineSettings) -> None:
        self.vlm, self.folder, self.settings = vlm, folder, settings

    @property
    def name(self) -> str:
        """The VLM's own."""
        return self.vlm.name

    @property
    def signature(self) -> Signature:
        """The VLM's own: who works does not change what is said."""
        return self.vlm.signature

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        """Known replies first, then batch by batch as workers finish; a question that kills its worker last."""
        work = ReplyWork(self.vlm)
        stored, failures = self._known(work)
        waiting: dict[str, list[int]] = defaultdict(list)
        tasks: list[WorkTask] = []
        for index, conversation in enumerate(conversations):
            key = conversation_key(self.signature, conversation)
            if key in stored:
                yield index, stored[key].model_copy(update={"stored": True})
                continue
            if key not in waiting:
                tasks.append(WorkTask(f"{key}{_TRY}{failures[key]}", conversation))
            waiting[key].append(index)
        for batch, rows in run_batches(work, tasks, self.folder, self.settings):
            for task, row in zip(batch, rows):
                for index in waiting.pop(task.key.partition(_TRY)[0]):
                    yield index, _reply(row)
        for indices in waiting.values():
            for index in indices:
                yield index, NoReply(kind="error", reason="the process that worked on it ended each time it was tried")

    def _known(self, work: ReplyWork) -> tuple[dict[str, Reply], dict[str, int]]:
        """Replies there are, by key, and how often the others were asked in vain."""
        stored: dict[str, Reply] = {}
        failures: dict[str, int] = defaultdict(int)
        table = read_results(work, self.folder)
        for full, row in zip(table.column("key").to_pylist(), table.drop_columns("key").to_pylist()):
            key = full.partition(_TRY)[0]
            reply = _reply(row)
            if isinstance(reply, Reply):
                stored[key] = reply
            else:
                failures[key] += 1
        return stored, failures


def _row(reply: Reply | NoReply) -> Row:
    return {"said": isinstance(reply, Reply), "reply": json.dumps(reply.record(), ensure_ascii=False)}


def _reply(row: Row) -> Reply | NoReply:
    return (Reply if row["said"] else NoReply).model_validate(json.loads(row["reply"]))
