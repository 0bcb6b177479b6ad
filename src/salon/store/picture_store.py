"""Pictures of a study in an object store instead of its folder: S3, or anything that speaks it.

A file `pictures.toml` beside study.toml names the one place that the owner allows:

    address = "s3://posters/spring"
    endpoint = "https://minio.example.org"     # absent: Amazon's
    cache_mb = 2048

An item's `image` is a path below that address, as it would be below the folder, or the whole address. A file that lies
in the folder goes first. Nothing else is ever asked: an item cannot name another bucket, host or scheme, and
credentials come from the environment alone (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN), never from
files or from the machine's own metadata service. What was read is kept in `.pictures`, the least recently used removed
first. A store that does not answer is an outage, not a broken picture.
"""

from __future__ import annotations

import hashlib
import os
import re
import threading
import time
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import Field, field_validator

from salon.errors import BadFile, MissingExtra, SalonError
from salon.store.atomic_files import put_file
from salon.study import Noun

POINTER = "pictures.toml"
CACHE = ".pictures"
_KEY = re.compile(r"[^\x00-\x1f\\]+")
_SECONDS = 10
_ATTEMPTS = 3
_SWEEP_EVERY = 64
"""Files written between two looks at how large the cache is."""


class PicturesUnavailable(SalonError):
    """The object store with a study's pictures does not answer, or does not let us in."""


class PictureStoreSettings(Noun):
    """Where the pictures of a study are."""

    address: str = Field(
        pattern=r"^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._~-]+)*$",
        description="Bucket and folder, such as s3://posters/spring. Nothing outside of it is read.",
    )
    endpoint: str | None = Field(
        None, pattern=r"^https?://[A-Za-z0-9.:\[\]-]+$", description="Address of the server; absent: Amazon's."
    )
    region: str | None = Field(
        None, pattern=r"^[a-z0-9-]{1,40}$", description="Region of the bucket, where it matters."
    )
    cache_mb: int = Field(2048, ge=1, le=10_000_000, description="Megabytes of pictures kept on the disk.")
    sizes_mb: int = Field(
        1024, ge=1, le=10_000_000, description="Megabytes of the sizes that the studio makes of them."
    )

    @field_validator("address")
    @classmethod
    def _stays_below(cls, address: str) -> str:
        if any(part in (".", "..") for part in address.split("/")):
            raise ValueError("an address without . and .. is needed")
        return address


class PictureStore:
    """The pictures below one address of an object store, with a cache on the disk."""

    def __init__(self, folder: Path, settings: PictureStoreSettings) -> None:
        self.folder, self.settings = folder, settings
        self._files: Any = None
        self._turn = threading.Lock()
        self._written = 0

    def key(self, image: str) -> str:
        """Bucket and key of an item's image; BadFile for anything outside of the address."""
        address = self.settings.address
        name = image
        for start in (f"{address}/", f"{address.replace('://', ':/', 1)}/"):  # as a path, two slashes are one
            name = name.removeprefix(start)
        parts = name.split("/")
        if ":" in parts[0] or not _KEY.fullmatch(name) or any(part in ("", ".", "..") for part in parts):
            raise BadFile(
                f"a picture below {address} is needed",
                found=repr(image)[:200],
                where=POINTER,
                remedy="items name paths below the address in pictures.toml; nothing else is fetched",
            )
        return f"{address.removeprefix('s3://')}/{name}"

    def read(self, image: str, most: int) -> bytes:
        """The bytes of a picture, from the cache or the store; BadFile where it is missing or larger than `most`."""
        key = self.key(image)
        place = self._place(key)
        with suppress(OSError):
            data = place.read_bytes()
            os.utime(place)  # used now: the last to go
            return data
        data = self._fetch(key, most)
        put_file(place, data)
        self._sweep_now_and_then()
        return data

    def has(self, image: str) -> bool:
        """Is the picture in the store? Nothing is transferred."""
        key = self.key(image)
        return self._place(key).exists() or bool(self._ask(lambda files: files.exists(key)))

    def _place(self, key: str) -> Path:
        return self.folder / CACHE / hashlib.sha256(f"{self.settings.endpoint}\0{key}".encode()).hexdigest()

    def _fetch(self, key: str, most: int) -> bytes:
        try:
            size = self._ask(lambda files: files.info(key))["size"]
            if size > most:
                raise BadFile(f"a picture of at most {most:,} bytes is needed", found=f"{size:,}", where=f"s3://{key}")
            data: bytes = self._ask(lambda files: files.cat_file(key, start=0, end=most + 1))
        except (FileNotFoundError, IsADirectoryError):
            raise BadFile("a picture is needed", found="no such object", where=f"s3://{key}") from None
        if not data or len(data) > most:
            raise BadFile("a picture is needed", found=f"{len(data):,} bytes", where=f"s3://{key}")
        return data

    def _ask(self, question: Any) -> Any:
        """What the store says; PicturesUnavailable when it says nothing, or that we may not ask."""
        for attempt in range(_ATTEMPTS):
            try:
                return question(self._filesystem())
            except (FileNotFoundError, IsADirectoryError):
                raise
            except (MissingExtra, BadFile):
                raise
            except PermissionError as error:
                raise self._unavailable(error) from None
            except Exception as error:  # s3fs lets errors of four libraries through
                if attempt == _ATTEMPTS - 1:
                    raise self._unavailable(error) from None
                time.sleep(0.2 * 2**attempt)
        raise AssertionError

    def _unavailable(self, error: BaseException) -> PicturesUnavailable:
        return PicturesUnavailable(
            "an object store that answers is needed",
            found=f"{type(error).__name__}: {error}"[:200],
            where=self.settings.address + (f" at {self.settings.endpoint}" if self.settings.endpoint else ""),
            remedy="see that it runs, and that AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY let this program read it",
        )

    def _filesystem(self) -> Any:
        with self._turn:
            if self._files is None:
                try:
                    import s3fs
                except ImportError:
                    raise MissingExtra("objects") from None
                key = os.environ.get("AWS_ACCESS_KEY_ID")
                config = {"connect_timeout": _SECONDS, "read_timeout": 3 * _SECONDS, "retries": {"max_attempts": 1}}
                self._files = s3fs.S3FileSystem(
                    anon=key is None,  # without credentials none are looked for anywhere else
                    key=key,
                    secret=os.environ.get("AWS_SECRET_ACCESS_KEY"),
                    token=os.environ.get("AWS_SESSION_TOKEN"),
                    endpoint_url=self.settings.endpoint,
                    client_kwargs={} if self.settings.region is None else {"region_name": self.settings.region},
                    config_kwargs=config,
                    use_listings_cache=False,
                    skip_instance_cache=True,
                )
            return self._files

    def _sweep_now_and_then(self) -> None:
        with self._turn:
            self._written += 1
            due = self._written % _SWEEP_EVERY == 1
        if due:
            sweep_folder(self.folder / CACHE, self.settings.cache_mb << 20)


def sweep_folder(folder: Path, most: int) -> None:
    """Remove the least recently used files until the folder holds at most `most` bytes."""
    entries = sorted(_entries(folder))
    total = sum(size for _, size, _ in entries)
    for _, size, path in entries:
        if total <= most:
            return
        with suppress(OSError):
            path.unlink()
            total -= size


def _entries(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """When each file was used, its size, and where it is; files being written are left alone."""
    for path in folder.iterdir() if folder.is_dir() else ():
        with suppress(OSError):
            status = path.stat()
            if path.is_file() and not path.name.startswith("."):
                yield status.st_mtime, status.st_size, path


# -- by path -----------------------------------------------------------------------------------------------------------


def picture_store(folder: Path) -> PictureStore | None:
    """The store that the study in `folder` points to; None where its pictures are files."""
    pointer = folder / POINTER
    try:
        mark = pointer.stat().st_mtime_ns
    except OSError:
        return None
    return _opened(folder.absolute(), mark)


def stored_picture(path: Path) -> tuple[PictureStore, str] | None:
    """The store that holds a file which is not in its study's folder, and its name there."""
    for folder in path.parents:
        if (folder / POINTER).is_file():
            store = picture_store(folder)
            return None if store is None else (store, path.relative_to(folder).as_posix())
        if (folder / "study.toml").is_file():
            return None
    return None


@lru_cache(maxsize=64)
def _opened(folder: Path, _: int) -> PictureStore:
    where = str(folder / POINTER)
    try:
        record = tomllib.loads((folder / POINTER).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadFile(f"a {POINTER} that is TOML is needed", found=str(error), where=where) from None
    return PictureStore(folder, PictureStoreSettings.parse(record, where=where))
