"""Null laws at hand: shipped with the package, else kept in the user's cache, else computed.

    null_for(4, 5)    shipped table -> cache folder -> exact, if it fits the time limit -> Monte Carlo

The cache folder is `SALON_CACHE`, or the platform's cache folder for "salon". A file that cannot be read, or whose
masses do not add up, is computed again; a folder that cannot be written costs time, never an error.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from platformdirs import user_cache_dir

from salon.errors import SalonError
from salon.stats import Null, check_shape, exact_null, feasible, monte_carlo_null, sampled_null
from salon.store.atomic_files import whole_file

DRAWS = 200_000
LIMIT_SECONDS = 10.0
CHECK_SECONDS, MOST_EXACT_RATERS = 1.0, 30
"""What a check may spend on the exact law of one shape."""


def null_for(
    items: int,
    raters: int,
    *,
    cache: bool = True,
    draws: int = DRAWS,
    seed: int = 0,
    limit: float = LIMIT_SECONDS,
) -> Null:
    """The null law of one shape: exact where it is at hand or takes at most about `limit` seconds, else Monte Carlo.

    `cache=False` computes afresh, reading neither shipped tables nor the cache folder, and writes nothing.
    """
    check_shape(items, raters)
    if not cache:
        return _compute(items, raters, draws, seed, limit)
    exact_file = cache_folder() / f"{items}_{raters}_exact.json.gz"
    null = shipped_null(items, raters) or _read(exact_file, items, raters)
    if null is not None:
        return null
    sampled_file = cache_folder() / f"{items}_{raters}_draws_{draws}_seed_{seed}.json.gz"
    if not feasible(items, raters, seconds=limit):
        null = _read(sampled_file, items, raters)
    if null is None:
        null = _compute(items, raters, draws, seed, limit)
        _write(exact_file if null.exact else sampled_file, null)
    return null


def quick_null(items: int, raters: int, *, draws: int = DRAWS, seed: int = 0) -> Null:
    """The null law of one shape for a check: exact where it is at hand or takes a second, else draws of T and cycles.

    The draws are made again each time, at a cost that does not grow with the number of raters.
    """
    check_shape(items, raters)
    exact_file = cache_folder() / f"{items}_{raters}_exact.json.gz"
    null = shipped_null(items, raters) or _read(exact_file, items, raters)
    if null is not None:
        return null
    if raters <= MOST_EXACT_RATERS and feasible(items, raters, seconds=CHECK_SECONDS):
        null = exact_null(items, raters)
        _write(exact_file, null)
        return null
    return sampled_null(items, raters, draws=draws, rng=np.random.default_rng([seed, items, raters]))


def shipped_null(items: int, raters: int) -> Null | None:
    """The table that comes with the package, if there is one for this shape."""
    table = resources.files("salon.store") / "null_tables" / table_name(items, raters)
    return decode_null(table.read_bytes()) if table.is_file() else None


def table_name(items: int, raters: int) -> str:
    """File name of a shipped table."""
    return f"{items}_{raters}.json.gz"


def cache_folder() -> Path:
    """Where computed nulls are kept."""
    return Path(os.environ.get("SALON_CACHE") or user_cache_dir("salon", appauthor=False)) / "nulls"


def encode_null(null: Null) -> bytes:
    """The joint law as compressed JSON, byte for byte the same on every run; all else follows from it."""
    fields = ("items", "raters", "method", "draws", "total", "joint")
    data = {name: value for name, value in null.as_json().items() if name in fields}
    return gzip.compress(json.dumps(data, separators=(",", ":")).encode(), compresslevel=9, mtime=0)


def decode_null(data: bytes) -> Null:
    """The inverse of `encode_null`; raises when masses do not add up."""
    content: dict[str, Any] = json.loads(gzip.decompress(data))
    return Null.from_json(content)


def _compute(items: int, raters: int, draws: int, seed: int, limit: float) -> Null:
    if feasible(items, raters, seconds=limit):
        return exact_null(items, raters)
    return monte_carlo_null(items, raters, draws=draws, rng=np.random.default_rng([seed, items, raters]))


def _read(file: Path, items: int, raters: int) -> Null | None:
    """The null kept in a file; None when there is none or it is damaged."""
    try:
        null = decode_null(file.read_bytes())
    except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, SalonError):
        return None
    return null if (null.items, null.raters) == (items, raters) else None


def _write(file: Path, null: Null) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(file) as part:
            part.write(encode_null(null))
    except OSError:
        return
