"""What was worked out once and need not be again: readings, features and scores, in one SQLite file.

A key says all that the value depends on: the content hash of the picture, and the signature of what looked at it.
The file is a cache: it may be deleted at any time, and one that cannot be opened costs time, never an error.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from platformdirs import user_cache_dir

_SCHEMA = "CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_ASKED = 500
"""Keys looked up in one query."""


def kept_file() -> Path:
    """Where values are kept unless told otherwise: SALON_CACHE, or the platform's cache folder."""
    return Path(os.environ.get("SALON_CACHE") or user_cache_dir("salon", appauthor=False)) / "kept.sqlite"


class Kept:
    """Values by key, in a file that any number of processes may share."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = kept_file() if path is None else Path(path)
        self._connection = self._open() or sqlite3.connect(":memory:", isolation_level=None)
        self._connection.execute(_SCHEMA)

    def _open(self) -> sqlite3.Connection | None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute(_SCHEMA)
        except (sqlite3.Error, OSError):
            return None
        return connection

    def many(self, keys: Iterable[str]) -> dict[str, Any]:
        """The values known of `keys`."""
        asked, found = list(keys), {}
        for start in range(0, len(asked), _ASKED):
            part = asked[start : start + _ASKED]
            marks = ",".join("?" * len(part))
            with suppress(sqlite3.Error):
                rows = self._connection.execute(f"SELECT key, value FROM kept WHERE key IN ({marks})", part)
                found.update({key: json.loads(value) for key, value in rows})
        return found

    def keep(self, values: Mapping[str, Any]) -> None:
        """Remember values; those known already are replaced."""
        rows = [(key, json.dumps(value, ensure_ascii=False, allow_nan=False)) for key, value in values.items()]
        with suppress(sqlite3.Error):
            self._connection.execute("BEGIN")
            self._connection.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?)", rows)
            self._connection.execute("COMMIT")

    def close(self) -> None:
        """Give the file back."""
        self._connection.close()
