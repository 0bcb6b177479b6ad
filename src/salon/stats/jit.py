"""Loops as machine code, kept on disk wherever there is a place for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def compiled(loop: Callable[..., Any]) -> Any:
    """`loop` compiled by numba when it is first called, and kept for the next process.

    It is kept in NUMBA_CACHE_DIR, else beside the source, else in the user's cache. Where none of these can be written,
    as in a service that may write nothing but its study, every process compiles it anew.

    In a loop `x[a:b] = y` with an array y costs four seconds of compiling, for the sentence numba would say if their
    lengths differed: write element by element.
    """
    try:
        return numba.njit(cache=True)(loop)
    except RuntimeError:
        return numba.njit(loop)
