"""The size of a picture from its first bytes, before anything is decoded: PNG, JPEG, WebP, GIF.

A file of a few kilobytes can claim a picture of gigabytes (a decompression bomb). Only the header is read here, so
the claim is known before memory is given to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

FORMATS = ("PNG", "JPEG", "WebP", "GIF")
"""The formats Salon reads."""
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""JPEG markers that start a frame and hold its size."""
_ALONE = frozenset({0x01, *range(0xD0, 0xD9)})
"""JPEG markers without contents."""
_MARKER = re.compile(rb"\xff[^\xff]", re.DOTALL)
_SCAN, _END = 0xDA, 0xD9


@dataclass(frozen=True)
class Header:
    """What a picture says about itself."""

    format: str
    width: int
    height: int

    @property
    def pixels(self) -> int:
        """Width times height."""
        return self.width * self.height


def read_header(data: bytes) -> Header | None:
    """The header of a PNG, JPEG, WebP or GIF; None when `data` begin like none of them, or end before the size."""
    for starts, format, size in _READERS:
        if starts(data):
            found = size(data)
            return None if found is None or min(found) < 1 else Header(format, *found)
    return None


def _png(data: bytes) -> tuple[int, int] | None:
    if data[12:16] != b"IHDR" or len(data) < 24:
        return None
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def _gif(data: bytes) -> tuple[int, int] | None:
    if len(data) < 10:
        return None
    return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")


def _webp(data: bytes) -> tuple[int, int] | None:
    """Lossy, lossless and extended files keep their size in three different ways."""
    kind, body = data[12:16], data[20:30]
    if len(body) < 10:
        return None
    if kind == b"VP8X":
        return 1 + int.from_bytes(body[4:7], "little"), 1 + int.from_bytes(body[7:10], "little")
    if kind == b"VP8L":
        bits = int.from_bytes(body[1:5], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if kind == b"VP8 ":
        return int.from_bytes(body[6:8], "little") & 0x3FFF, int.from_bytes(body[8:10], "little") & 0x3FFF
    return None


def _jpeg(data: bytes) -> tuple[int, int] | None:
    """The largest frame named before the first scan: a file that names two cannot hide one behind the other."""
    sizes: list[tuple[int, int]] = []
    place = 2
    while place + 4 <= len(data):
        found = _MARKER.search(data, place)
        if found is None:
            break
        place, marker = found.end() - 2, data[found.end() - 1]
        if marker in (_SCAN, _END):
            break
        if marker in _ALONE:
            place += 2
            continue
        if marker in _FRAMES and place + 9 <= len(data):
            height, width = (int.from_bytes(data[place + at : place + at + 2], "big") for at in (5, 7))
            sizes.append((width, height))
        place += 2 + max(2, int.from_bytes(data[place + 2 : place + 4], "big"))
    return max(sizes, key=lambda size: size[0] * size[1], default=None)


_READERS: tuple[tuple[Callable[[bytes], bool], str, Callable[[bytes], tuple[int, int] | None]], ...] = (
    (lambda data: data.startswith(b"\x89PNG\r\n\x1a\n"), "PNG", _png),
    (lambda data: data.startswith(b"\xff\xd8\xff"), "JPEG", _jpeg),
    (lambda data: data[:4] == b"RIFF" and data[8:12] == b"WEBP", "WebP", _webp),
    (lambda data: data[:6] in (b"GIF87a", b"GIF89a"), "GIF", _gif),
)
