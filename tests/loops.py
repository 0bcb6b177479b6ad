"""Coroutines in tests, on a thread of their own: a browser's loop may be running on this one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def awaited(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """What the coroutine gives."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, coroutine).result()
