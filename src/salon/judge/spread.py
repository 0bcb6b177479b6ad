"""A VLM in many places at once: its questions answered by workers, here, in a pool or on Ray, each exactly once.

Every worker loads a copy of the VLM. Replies are kept as shards before they are used, so a run that was killed goes on,
and a worker that dies costs nothing but time. A question that got no reply is asked anew by the next run.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from salon.engine.run import each_batch, results
from salon.engine.work import EngineSettings, Row, Task
from salon.judge.remembered import conversation_key
from salon.judge.vlm import Conversation, NoReply, Reply, Vlm
from salon.study.signature import Signature

_TRY = "#"
"""Between a question's key and how often it got no reply before."""


class Answering:
    """The work: conversations in, replies out."""

    schema = pa.schema([pa.field("said", pa.bool_()), pa.field("reply", pa.string())])

    def __init__(self, vlm: Vlm) -> None:
        self.vlm, self.signature = vlm, str(vlm.signature)

    def open(self) -> Callable[[Sequence[Any]], list[Row]]:
        """The VLM loads itself when the first question comes."""
        return self._answer

    def _answer(self, conversations: Sequence[Conversation]) -> list[Row]:
        found = dict(self.vlm.reply(conversations))
        return [_row(found[index]) for index in range(len(conversations))]


class Spread:
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
        work = Answering(self.vlm)
        known, failures = self._known(work)
        waiting: dict[str, list[int]] = defaultdict(list)
        tasks: list[Task] = []
        for index, conversation in enumerate(conversations):
            key = conversation_key(self.signature, conversation)
            if key in known:
                yield index, known[key].model_copy(update={"stored": True})
                continue
            if key not in waiting:
                tasks.append(Task(f"{key}{_TRY}{failures[key]}", conversation))
            waiting[key].append(index)
        for batch, rows in each_batch(work, tasks, self.folder, self.settings):
            for task, row in zip(batch, rows):
                for index in waiting.pop(task.key.partition(_TRY)[0]):
                    yield index, _reply(row)
        for indices in waiting.values():
            for index in indices:
                yield index, NoReply(kind="error", reason="the process that worked on it ended each time it was tried")

    def _known(self, work: Answering) -> tuple[dict[str, Reply], dict[str, int]]:
        """Replies there are, by key, and how often the others were asked in vain."""
        known: dict[str, Reply] = {}
        failures: dict[str, int] = defaultdict(int)
        table = results(work, self.folder)
        for full, row in zip(table.column("key").to_pylist(), table.drop_columns("key").to_pylist()):
            key = full.partition(_TRY)[0]
            reply = _reply(row)
            if isinstance(reply, Reply):
                known[key] = reply
            else:
                failures[key] += 1
        return known, failures


def _row(reply: Reply | NoReply) -> Row:
    return {"said": isinstance(reply, Reply), "reply": json.dumps(reply.record(), ensure_ascii=False)}


def _reply(row: Row) -> Reply | NoReply:
    return (Reply if row["said"] else NoReply).model_validate(json.loads(row["reply"]))
