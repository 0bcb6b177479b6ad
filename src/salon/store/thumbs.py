"""Small pictures for pages: decoded by the one safe decoder, on all cores, made once for the same bytes and width."""

from __future__ import annotations

import base64
import hashlib
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from PIL import Image

from salon.errors import BadFile, SalonError
from salon.store.picture_header import read_header
from salon.store.pictures import read_bytes, read_picture
from salon.store.quick_file import put_file

QUALITY = 82
TALLEST = 3
"""A picture more than this many times as tall as the thumbnail is wide is made narrower."""
_OURS = re.compile(r"[0-9a-f]{16}-\d+\.webp")


@dataclass(frozen=True)
class Thumb:
    """A small picture: what to put in `src`, and its size."""

    src: str
    width: int
    height: int


def small(image: Image.Image, width: int) -> bytes:
    """The picture as WebP, at most `width` pixels wide; never larger than it is."""
    shown = image.copy()
    shown.thumbnail((width, TALLEST * width), reducing_gap=2.0)
    target = io.BytesIO()
    shown.save(target, "WEBP", quality=QUALITY, method=3)
    return target.getvalue()


def data_url(image: Image.Image, width: int) -> str:
    """The picture small, for pages that are one file."""
    return _embedded(small(image, width))


def picture_url(path: Path, width: int) -> str:
    """The picture in a file small, for pages that are one file; empty for one that is not there or cannot be read."""
    try:
        return data_url(read_picture(path).image, width)
    except SalonError:
        return ""


def thumbs(
    paths: Sequence[Path], width: int, folder: Path | None, step: Callable[[str], None]
) -> Iterator[Thumb | BadFile]:
    """A thumbnail of every picture, in order: a file in `folder`, or where there is none, the data themselves."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = []
        for path, thumb in zip(paths, pool.map(lambda path: _thumb(path, width, folder), paths)):
            step(path.name)
            made.append(thumb)
    return iter(made)


def _thumb(path: Path, width: int, folder: Path | None) -> Thumb | BadFile:
    try:
        data = read_bytes(path)
        if folder is None:
            encoded = small(read_picture(data, path).image, width)
            return _sized(_embedded(encoded), encoded)
        target = folder / f"{hashlib.sha256(data).hexdigest()[:16]}-{width}.webp"
        if not target.is_file() or not target.stat().st_size:
            put_file(target, small(read_picture(data, path).image, width))
        return _sized(f"{quote(folder.name)}/{target.name}", target.read_bytes())
    except BadFile as error:
        return error


def _embedded(data: bytes) -> str:
    return "data:image/webp;base64," + base64.b64encode(data).decode()


def _sized(src: str, data: bytes) -> Thumb:
    header = read_header(data)
    return Thumb(src, *((header.width, header.height) if header else (1, 1)))


def sweep_thumbs(folder: Path, shown: Iterable[Thumb]) -> None:
    """Remove thumbnails of `folder` that no page shows any more, other files stay: once the new page is there."""
    used = {Path(thumb.src).name for thumb in shown}
    for path in folder.iterdir():
        if _OURS.fullmatch(path.name) and path.name not in used:
            path.unlink()
