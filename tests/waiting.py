"""Waiting with an end: what never comes fails a test with a sentence and does not hold up all others."""

from __future__ import annotations

import time
from collections.abc import Callable

LONGEST = 120.0
"""Seconds: far more than a busy machine needs."""


def until(holds: Callable[[], object], what: str, *, seconds: float = LONGEST) -> None:
    """Come back when `holds()` does; AssertionError that names `what` when it never does."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"waited {seconds:.0f} s in vain for {what}"
        time.sleep(0.005)
