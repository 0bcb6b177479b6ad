"""SHA-256 of whole files: what a signature says about weights, and what a package's file is checked by.

A file is read whole once. Its hash is kept by path, size, times of change and inode, in memory and in the cache of
`Kept`, so that tens of gigabytes are not read at every start. A file that was changed less than two seconds ago is read
again: a file system's clock may not tell the next change from the last.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from salon.errors import BadFile
from salon.models.kept import Kept

_SETTLED = 2.0
"""Seconds after which a file's times tell its next change from its last."""
_KEPT_FROM = 8 << 20
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
        found = path.stat()
        return cls(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_dev)

    @property
    def is_settled(self) -> bool:
        """Whether a later change would show."""
        return time.time() - max(self.changed, self.touched) / 1e9 > _SETTLED


_KNOWN: dict[tuple[str, FileStamp], str] = {}


def file_sha256(path: Path) -> str:
    """64 hex digits over all bytes of a file; BadFile where it changes while it is read, or cannot be."""
    path = Path(path)
    try:
        real, stamp = os.path.realpath(path), FileStamp.of(path)
        if (known := _remembered(real, stamp)) is not None:
            return known
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
    _remember(real, stamp, digest)
    return digest


def _remembered(real: str, stamp: FileStamp) -> str | None:
    if (real, stamp) in _KNOWN:
        return _KNOWN[real, stamp]
    if stamp.size < _KEPT_FROM or not stamp.is_settled:
        return None
    kept = Kept()
    try:
        key = _key(real, stamp)
        digest = kept.many([key]).get(key)
    finally:
        kept.close()
    return digest if isinstance(digest, str) and len(digest) == 64 else None


def _remember(real: str, stamp: FileStamp, digest: str) -> None:
    if not stamp.is_settled:
        return
    _KNOWN[real, stamp] = digest
    if stamp.size >= _KEPT_FROM:
        kept = Kept()
        kept.keep({_key(real, stamp): digest})
        kept.close()


def _key(real: str, stamp: FileStamp) -> str:
    return "sha256 of file|" + "|".join(map(str, (real, *stamp)))


# -- folders -----------------------------------------------------------------------------------------------------------


def files_of(place: Path) -> dict[str, Path]:
    """Every file below a folder by its path in it, links followed; a file alone under its own name."""
    if place.is_file():
        return {place.name: place}
    found: dict[str, Path] = {}
    seen: set[str] = set()
    for folder, folders, names in os.walk(place, followlinks=True):
        real = os.path.realpath(folder)
        if real in seen:  # a link that leads back
            folders.clear()
            continue
        seen.add(real)
        folders[:] = sorted(name for name in folders if name not in _IGNORED)
        for name in sorted(names):
            path = Path(folder, name)
            if name not in _IGNORED and path.is_file():
                found[path.relative_to(place).as_posix()] = path
    return found


def model_files(folder: Path) -> dict[str, Path]:
    """The files of a model trained by salon that its numbers depend on, by their paths in the folder."""
    return {name: path for name, path in files_of(folder).items() if name.partition("/")[0] not in _ASIDE}


def folder_sha256(place: Path) -> str:
    """64 hex digits over the paths and SHA-256 of all files of a folder; of a file alone its SHA-256."""
    return file_sha256(place) if place.is_file() else sha256_of_files(files_of(place))


def sha256_of_files(files: Mapping[str, Path]) -> str:
    """64 hex digits: the SHA-256 of what `sha256sum` prints of these files, sorted by path."""
    lines = [f"{file_sha256(path)}  {name}\n" for name, path in sorted(files.items())]
    return hashlib.sha256("".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def stamp(path: Path) -> FileStamp | None:
    """The stamp of a file as it is now; None where there is none."""
    try:
        return FileStamp.of(path)
    except OSError:
        return None


# -- files of packages -------------------------------------------------------------------------------------------------


def check_sha256(path: Path, sha256: str, *, what: str) -> Path:
    """The path, where its file has this SHA-256; BadFile otherwise."""
    found = file_sha256(path)
    if found != sha256:
        raise BadFile(
            f"{what} is needed, a file with the SHA-256 {sha256}",
            found=f"SHA-256 {found}",
            where=str(path),
            remedy="install the package again; do not use a file that somebody changed",
        )
    return path
