"""Pixels as PNG: each row as its difference to the row above (filter Up), deflated by ISA-L.

The filter is one subtraction over the whole picture and the deflate the fastest there is, so writing costs about as
much as drawing; any PNG reader can read it. Color is sRGB and says so.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np

from salon.errors import BadValue, MissingExtra

try:
    from isal import isal_zlib
except ModuleNotFoundError:
    raise MissingExtra("generate") from None

SIGNATURE = b"\x89PNG\r\n\x1a\n"
UP = 2
LEVEL = 1
"""ISA-L's levels: 0 fastest to 3 smallest."""


def encode_png(pixels: np.ndarray) -> bytes:
    """(height, width, 3) bytes as a PNG file's content."""
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3 or 0 in pixels.shape:
        raise BadValue("pixels of shape (height, width, 3), bytes", found=f"{pixels.shape}, {pixels.dtype}")
    height, width, _ = pixels.shape
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    filtered = _filtered(pixels)
    packed = isal_zlib.compress(filtered, LEVEL)
    parts = (("IHDR", header), ("sRGB", b"\0"), ("IDAT", packed), ("IEND", b""))
    return SIGNATURE + b"".join(_chunk(name.encode(), content) for name, content in parts)


def _filtered(pixels: np.ndarray) -> np.ndarray:
    """Rows as PNG stores them: the filter's number, then the bytes minus those above."""
    height, width, _ = pixels.shape
    rows = pixels.reshape(height, 3 * width)
    stored = np.empty((height, 3 * width + 1), np.uint8)
    stored[:, 0] = UP
    stored[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=stored[1:, 1:])
    return stored


def _chunk(name: bytes, content: bytes) -> bytes:
    check = zlib.crc32(content, zlib.crc32(name))
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", check)
