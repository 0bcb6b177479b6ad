"""A second writer beside the first, at a moment that a test chooses: without a second process and without sleeping."""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Callable

import pytest
from waiting import until


class Beside:
    """Something that a second process would do, in a thread: begun, and either done or waiting for its turn."""

    def __init__(self, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
        self.act, self.patch, self.waits, self.failed = act, monkeypatch, threading.Event(), ""
        self.thread = threading.Thread(target=self._run)

    def begin(self) -> None:
        flock = fcntl.flock

        def seen(file: int, how: int) -> None:
            try:
                flock(file, how)
            except BlockingIOError:
                if threading.current_thread() is self.thread:
                    self.waits.set()
                raise

        self.patch.setattr(fcntl, "flock", seen)
        self.thread.start()
        until(lambda: self.waits.is_set() or not self.thread.is_alive(), "a second writer")

    def end(self) -> None:
        self.thread.join(60)
        assert not self.thread.is_alive()
        assert not self.failed

    def _run(self) -> None:
        try:
            self.act()
        except Exception as error:
            self.failed = repr(error)
