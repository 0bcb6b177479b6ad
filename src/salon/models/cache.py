"""Results that were computed once (readings, features, scores, hashes of files), in one SQLite file.

A key says everything its value depends on: the content hash of the picture and the signature of what looked at it. The
file is a cache. It may be deleted at any time, and one that cannot be opened costs time, never an error.

SHA-256 hashes of whole files are kept by path, size, times of change and inode, so that tens of gigabytes of weights
are not read at every start. A file that changed less than two seconds ago is read again, because the clock of a file
system may not distinguish the next change from the last.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from platformdirs import user_cache_dir

from salon.errors import BadFile, MissingExtra

_SCHEMA = "CREATE TABLE IF NOT EXISTS kept (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_KEYS_PER_QUERY = 500
"""Keys looked up in one query."""


def cache_file() -> Path:
    """Where values are kept by default: SALON_CACHE, or the platform's cache folder."""
    return Path(os.environ.get("SALON_CACHE") or user_cache_dir("salon", appauthor=False)) / "kept.sqlite"


class ResultCache:
    """Values by key, in a file that any number of processes may share."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = cache_file() if path is None else Path(path)
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
        wanted_keys, values = list(keys), {}
        for start in range(0, len(wanted_keys), _KEYS_PER_QUERY):
            part = wanted_keys[start : start + _KEYS_PER_QUERY]
            marks = ",".join("?" * len(part))
            with suppress(sqlite3.Error):
                rows = self._connection.execute(f"SELECT key, value FROM kept WHERE key IN ({marks})", part)
                values.update({key: json.loads(value) for key, value in rows})
        return values

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


# -- hashes of files ---------------------------------------------------------------------------------------------------

_SETTLED = 2.0
"""Seconds after which a file's times tell its next change from its last."""
_CACHED_FROM = 8 << 20
"""Bytes from which a hash is worth a row on the disk."""
_IGNORED = frozenset({".git", ".cache", "__pycache__", ".DS_Store", ".gitattributes", ".gitignore"})
"""What download tools leave in a folder of weights; no number depends on it."""
_ASIDE = ("README.md", "guard.parquet", "run")
"""What stands in the folder of a model trained here and changes no number."""


class FileStamp(NamedTuple):
    """What a file system says about a file: another stamp, another content."""

    size: int
    changed: int
    """Nanoseconds, of the content."""
    touched: int
    """Nanoseconds, of content or inode: set by the system, so a restored `changed` does not hide a change."""
    inode: int
    device: int

    @classmethod
    def of(cls, path: Path) -> FileStamp:
        """The stamp of a file as it is now."""
        status = path.stat()
        return cls(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev)

    @property
    def is_settled(self) -> bool:
        """Whether a later change would show."""
        return time.time() - max(self.changed, self.touched) / 1e9 > _SETTLED


_FILE_HASHES: dict[tuple[str, FileStamp], str] = {}


def file_sha256(path: Path) -> str:
    """64 hex digits over all bytes of a file; BadFile where it changes while it is read, or cannot be."""
    path = Path(path)
    try:
        real, stamp = os.path.realpath(path), FileStamp.of(path)
        if (cached := _cached_hash(real, stamp)) is not None:
            return cached
        with open(real, "rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        after = FileStamp.of(path)
    except OSError as error:
        raise BadFile(
            "a file that can be read is needed", found=error.strerror or str(error), where=str(path)
        ) from None
    if after != stamp:
        raise BadFile(
            "a file that stays as it is while it is read is needed", found="a change", where=str(path),
            remedy="try again when it is written",
        )  # fmt: skip
    if stamp.is_settled:
        _FILE_HASHES[real, stamp] = digest
        if stamp.size >= _CACHED_FROM:
            cache = ResultCache()
            cache.keep({_key(real, stamp): digest})
            cache.close()
    return digest


def _cached_hash(real: str, stamp: FileStamp) -> str | None:
    if (real, stamp) in _FILE_HASHES:
        return _FILE_HASHES[real, stamp]
    if stamp.size < _CACHED_FROM or not stamp.is_settled:
        return None
    cache = ResultCache()
    try:
        key = _key(real, stamp)
        digest = cache.many([key]).get(key)
    finally:
        cache.close()
    return digest if isinstance(digest, str) and len(digest) == 64 else None


def _key(real: str, stamp: FileStamp) -> str:
    return "sha256 of file|" + "|".join(map(str, (real, *stamp)))


# -- folders -----------------------------------------------------------------------------------------------------------


def list_files(place: Path) -> dict[str, Path]:
    """Every file below a folder by its path in it, links followed; a file alone under its own name."""
    if place.is_file():
        return {place.name: place}
    files: dict[str, Path] = {}
    visited: set[str] = set()
    for folder, folders, names in os.walk(place, followlinks=True):
        real = os.path.realpath(folder)
        if real in visited:  # a link that leads back
            folders.clear()
            continue
        visited.add(real)
        folders[:] = sorted(name for name in folders if name not in _IGNORED)
        for name in sorted(names):
            path = Path(folder, name)
            if name not in _IGNORED and path.is_file():
                files[path.relative_to(place).as_posix()] = path
    return files


def model_files(folder: Path) -> dict[str, Path]:
    """The files of a model trained by salon that its numbers depend on, by their paths in the folder."""
    return {name: path for name, path in list_files(folder).items() if name.partition("/")[0] not in _ASIDE}


def folder_sha256(place: Path) -> str:
    """64 hex digits over the paths and SHA-256 of all files of a folder; of a file alone its SHA-256."""
    return file_sha256(place) if place.is_file() else sha256_of_files(list_files(place))


def sha256_of_files(files: Mapping[str, Path]) -> str:
    """64 hex digits: the SHA-256 of what `sha256sum` prints of these files, sorted by path."""
    lines = [f"{file_sha256(path)}  {name}\n" for name, path in sorted(files.items())]
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def file_stamp(path: Path) -> FileStamp | None:
    """The stamp of a file as it is now; None where there is none."""
    try:
        return FileStamp.of(path)
    except OSError:
        return None


# -- files of packages -------------------------------------------------------------------------------------------------


def check_sha256(path: Path, sha256: str, *, what: str) -> Path:
    """The path, where its file has this SHA-256; BadFile otherwise."""
    actual = file_sha256(path)
    if actual != sha256:
        raise BadFile(
            f"{what} is needed, a file with the SHA-256 {sha256}",
            found=f"SHA-256 {actual}",
            where=str(path),
            remedy="install the package again; do not use a file that somebody changed",
        )
    return path


# -- files of packages -------------------------------------------------------------------------------------------------


def package_file(package: str, inner: str, sha256: str) -> Path:
    """A file that comes inside an installed package, its content checked; MissingExtra where it is not installed."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise MissingExtra("models")
    path = Path(next(iter(spec.submodule_search_locations))) / inner
    return check_sha256(path, sha256, what=f"{path.name} as {package} brings it")


def package_version(name: str) -> str:
    """The version of an installed package."""
    try:
        return version(name)
    except PackageNotFoundError:  # pragma: no cover - a package without metadata
        return "unknown"
