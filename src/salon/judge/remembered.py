"""A VLM that remembers: its replies are written down as they come, so that a run that was killed goes on.

Endpoints have the call store. A model in this process has none, and may work for hours: `Remembered` gives it a file
with one JSON object a line. A reply counts again for the same question under the same signature, with the same pixels.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import IO

from salon.judge.vlm import Conversation, Measuring, NoReply, Reply, Vlm
from salon.store.folder import written_inside
from salon.study.signature import Signature


class Remembered:
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
        known = self._known()
        asked: list[tuple[int, str]] = []
        ready: list[tuple[int, Reply]] = []

        def unknown() -> Iterator[Conversation]:
            for index, conversation in enumerate(conversations):
                key = conversation_key(self.signature, conversation)
                if key in known:
                    ready.append((index, known[key].model_copy(update={"stored": True})))
                else:
                    asked.append((index, key))
                    yield conversation

        with self._opened() as file:
            file.write("\n" if file.tell() else "")  # a killed run may have left its last line open
            for number, reply in self.vlm.reply(unknown()):
                index, key = asked[number]
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
        if not isinstance(self.vlm, Measuring):
            return
        known = self._known()
        asked: list[int] = []

        def unknown() -> Iterator[Conversation]:
            for index, conversation in enumerate(conversations):
                if conversation_key(self.signature, conversation) not in known:
                    asked.append(index)
                    yield conversation

        for number, reason in self.vlm.too_long(unknown()):
            yield asked[number], reason

    def _known(self) -> dict[str, Reply]:
        """What was written down; a last line that a killed run left unfinished is asked again."""
        found: dict[str, Reply] = {}
        if not self.path.is_file():
            return found
        for line in self.path.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                key, record = json.loads(line)
                found[key] = Reply.model_validate(record)
            except ValueError:
                continue
        return found


def conversation_key(signature: Signature, conversation: Conversation) -> str:
    """What a reply hangs on: who answers, every word, every pixel, and the number of the sample."""
    record = conversation.model_dump(mode="json", exclude={"about", "point", "parts"})
    record["parts"] = [part if isinstance(part, str) else _hash(part.path) for part in conversation.parts]
    text = json.dumps([str(signature), record], ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _hash(path: Path) -> str:
    found = path.stat()
    return _hashed(path, found.st_mtime_ns, found.st_size)


@cache
def _hashed(path: Path, _changed: int, _size: int) -> str:
    """Of the file's bytes, which are read again when the file has changed."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
