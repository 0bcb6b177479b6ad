"""Reading a zip file from a stranger: what it may hold is known before anything of it is opened, and nothing is
ever extracted under a name that the file chose.
"""

from __future__ import annotations

import re
import stat
import zipfile
from collections import Counter
from pathlib import Path

from salon.errors import BadFile

CARD, LICENCE = "entry.json", "LICENCE.txt"
MOST_FILES = 20_000
MOST_BYTES = 64 << 20
"""Of one picture, unpacked."""
MOST_CARD = 16 << 20
MOST_IN_ALL = 4 << 30
_PICTURE = re.compile(r"images/[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.(?:png|jpg|webp|gif)")
_END, _WIDE = b"PK\x05\x06", b"PK\x06\x07"
_END_BYTES, _LOCATOR_BYTES = 22, 20
_ENTRY_BYTES = 46 + 512
"""The most that one file takes in the list of files: longer names and notes have no use here."""
_ENCRYPTED = 0x1
_TOLD = 3


class BundleZip:
    """An opened bundle. Its members are checked; `read` gives one, never more than was announced."""

    def __init__(self, path: Path) -> None:
        self.path = path
        _check_end(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
            raise _bad(path, str(error)) from None
        try:
            self.members = _checked(self._zip.infolist(), path)
        except BadFile:
            self._zip.close()
            raise

    @property
    def pictures(self) -> list[str]:
        """Names of the pictures."""
        return [name for name in self.members if name not in (CARD, LICENCE)]

    def read(self, name: str) -> bytes:
        """The bytes of one member; BadFile where they are not what the list of files says."""
        if name not in self.members:
            raise _bad(self.path, f"no {name} in it")
        try:
            with self._zip.open(self.members[name]) as file:
                return file.read()
        except (zipfile.BadZipFile, OSError, EOFError, ValueError, NotImplementedError, RuntimeError) as error:
            raise _bad(self.path, f"{name}: {error}") from None
        except Exception as error:  # zlib.error has no public parent of its own
            raise _bad(self.path, f"{name}: {type(error).__name__}: {error}") from None

    def close(self) -> None:
        """Let the file go."""
        self._zip.close()

    def __enter__(self) -> BundleZip:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _check_end(path: Path) -> None:
    """The last bytes say how long the list of files is: a list of a million files is refused before it is read."""
    try:
        size = path.stat().st_size
        if not path.is_file():
            raise _bad(path, "something that is no file")
        with path.open("rb") as file:
            file.seek(max(0, size - _END_BYTES - _LOCATOR_BYTES))
            last = file.read()
    except OSError as error:
        raise _bad(path, error.strerror or str(error)) from None
    end = last[-_END_BYTES:]
    if size < _END_BYTES or not end.startswith(_END) or end[20:22] != b"\0\0":
        raise _bad(path, "an end that is none: cut off, or no zip")
    if last[:-_END_BYTES].startswith(_WIDE):
        raise _bad(path, "a list of files in the wide form (zip64), which no bundle needs")
    files, listed = int.from_bytes(end[10:12], "little"), int.from_bytes(end[12:16], "little")
    if files > MOST_FILES or listed > MOST_FILES * _ENTRY_BYTES:
        raise _bad(path, f"a list of {files:,} files in {listed:,} bytes; at most {MOST_FILES:,} files are read")


def _checked(infos: list[zipfile.ZipInfo], path: Path) -> dict[str, zipfile.ZipInfo]:
    files = [info for info in infos if not (info.is_dir() and info.filename == "images/")]
    twice = [name for name, count in Counter(info.filename.casefold() for info in files).items() if count > 1]
    if twice:
        raise _bad(path, f"{len(twice):,} names that stand twice: {_some(twice)}")
    strange = [info.filename for info in files if not _is_ours(info)]
    if strange:
        raise _bad(path, f"{len(strange):,} files that no bundle holds: {_some(strange)}")
    large = [info.filename for info in files if info.file_size > (MOST_CARD if info.filename == CARD else MOST_BYTES)]
    if large:
        raise _bad(path, f"{len(large):,} files too large unpacked: {_some(large)}")
    if (whole := sum(info.file_size for info in files)) > MOST_IN_ALL:
        raise _bad(path, f"{whole:,} bytes unpacked; at most {MOST_IN_ALL:,}")
    return {info.filename: info for info in files}


def _is_ours(info: zipfile.ZipInfo) -> bool:
    """A plain file of a known name, packed in a plain way: no links, no folders, nothing encrypted."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    known = info.filename in (CARD, LICENCE) or _PICTURE.fullmatch(info.filename) is not None
    plain = info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) and not info.flag_bits & _ENCRYPTED
    return known and plain and kind in (0, stat.S_IFREG)


def _some(names: list[str]) -> str:
    more = f" and {len(names) - _TOLD:,} more" if len(names) > _TOLD else ""
    return ", ".join(repr(name[:80]) for name in names[:_TOLD]) + more


def _bad(path: Path, found: str) -> BadFile:
    return BadFile(
        "a bundle is needed: a zip file with entry.json and images/PROMPT__SEED.png",
        found=found,
        where=str(path),
        remedy="salon bench pack makes one",
    )
