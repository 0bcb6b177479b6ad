"""A VLM for workers, in a module of its own: each of them imports it, and should import little."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterable, Iterator
from pathlib import Path

from salon.judge import Conversation, NoReply, Reply, Sight
from salon.study import Signature


class Lettered:
    """Prefers the earlier letter; says nothing about, or dies of, what a file in `home` names, as often as it says."""

    signature = Signature(method="lettered")

    def __init__(self, home: Path) -> None:
        self.name, self.home = "lettered", home

    def reply(self, conversations: Iterable[Conversation]) -> Iterator[tuple[int, Reply | NoReply]]:
        for index, asked in enumerate(conversations):
            items = [part.item for part in asked.parts if isinstance(part, Sight)]
            pair = "-".join(items)
            if self._once("dies", pair):
                os.kill(os.getpid(), signal.SIGKILL)
            if self._once("silent", pair):
                yield index, NoReply(kind="error", reason="silent")
                continue
            with open(self.home / "asked", "a") as file:
                file.write(f"{pair}\n")
            yield index, Reply(text=json.dumps({"verdict": "A" if items[0] < items[1] else "B"}))

    def _once(self, what: str, pair: str) -> bool:
        mark = self.home / f"{what}-{pair}"
        if mark.exists():
            mark.unlink()
            return True
        return False
