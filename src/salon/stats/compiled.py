"""Loops as machine code, kept on disk wherever there is a place for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(loop: Callable[..., Any]) -> Any:
    """`loop` compiled by numba when it is first called, and kept for the next process.

    It is kept in NUMBA_CACHE_DIR, else beside the source, else in the user's cache. Where none of these can be written,
    as in a service that may write nothing but its study, every process compiles it anew.
    """
    try:
        return numba.njit(cache=True)(loop)
    except RuntimeError:
        return numba.njit(loop)
