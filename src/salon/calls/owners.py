"""Who is asking right now: a lock file per open store, held as long as its process lives.

The system frees the lock of a process however it ends, kill -9 included, so "is the one who claimed this call still
there?" has a true answer at once, with no clock to wait for and no process number that could be given out again.
Where there are no such locks (Windows) an owner is believed to live for `LEASE` seconds after its last claim.
"""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows
    fcntl = None  # type: ignore[assignment]  # Windows has none

LEASE = 900.0


class Owner:
    """This process among those that share a store. Its lock files stand in `<store>-owners/`."""

    def __init__(self, store: Path) -> None:
        self.folder = store.with_name(f"{store.name}-owners")
        self.name = secrets.token_hex(8)
        self._file = self._hold(self.folder / self.name)

    @staticmethod
    def _hold(path: Path) -> int:
        """Make and lock the file; again when someone who found it not yet locked has taken it for a leftover, or when
        the last one out took the folder along just before.
        """
        while True:
            path.parent.mkdir(exist_ok=True)
            try:
                number = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            except FileNotFoundError:
                continue
            if fcntl is None:  # pragma: no cover
                return number
            fcntl.flock(number, fcntl.LOCK_EX)
            with suppress(FileNotFoundError):
                if os.stat(path).st_ino == os.fstat(number).st_ino:
                    return number
            os.close(number)

    def lives(self, name: str, since: float) -> bool:
        """Whether the owner called `name`, who last claimed a call at `since`, is still there."""
        if name == self.name:
            return True
        if fcntl is None:  # pragma: no cover
            return time.time() - since < LEASE
        try:
            number = os.open(self.folder / name, os.O_RDWR)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        else:
            (self.folder / name).unlink(missing_ok=True)  # while it is ours, so nobody else can be holding it
            return False
        finally:
            os.close(number)

    def sweep(self) -> None:
        """Remove the files of owners who died."""
        if fcntl is not None:
            for path in self.folder.iterdir():
                self.lives(path.name, 0.0)

    def close(self) -> None:
        """Go."""
        (self.folder / self.name).unlink(missing_ok=True)
        os.close(self._file)
        with suppress(OSError):
            self.folder.rmdir()  # the last one out
