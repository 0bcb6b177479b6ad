"""Work for workers, in a module of its own: each of them imports it, and should import little."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

from salon.engine import WorkTask
from salon.errors import BadValue


class Squares:
    """Squares of numbers, with workers that die when they meet certain numbers for the first time, or always."""

    schema = pa.schema([pa.field("square", pa.int64()), pa.field("note", pa.string())])

    def __init__(
        self, folder: Path, *, once: tuple[int, ...] = (), always: tuple[int, ...] = (), slow: float = 0
    ) -> None:
        self.folder, self.once, self.always, self.slow = folder, once, always, slow
        self.signature = "squares"

    def open(self) -> Any:
        (self.folder / f"opened-{os.getpid()}").touch()
        return lambda values: [self._square(value) for value in values]

    def _square(self, value: int) -> dict[str, Any]:
        time.sleep(self.slow)
        mark = self.folder / f"died-{value}"
        if value in self.always or (value in self.once and not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if value < 0:
            raise BadValue("a number that is not negative", found=value)
        return {"square": value * value, "note": None if value % 2 else "even"}


def tasks(count: int) -> list[WorkTask]:
    return [WorkTask(f"{number:05d}", number) for number in range(count)]
