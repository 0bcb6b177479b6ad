"""PNG: what another reader decodes is what was given."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from salon.errors import BadValue
from salon.render import encode_png


def chunks(data: bytes) -> list[tuple[bytes, bytes]]:
    """Name and content of every chunk; fails on a wrong check sum."""
    found, at = [], 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        name, content, check = data[at + 4 : at + 8], data[at + 8 : at + 8 + size], data[at + 8 + size : at + 12 + size]
        assert struct.unpack(">I", check)[0] == zlib.crc32(name + content)
        found.append((name, content))
        at += 12 + size
    return found


@pytest.mark.parametrize("shape", [(1, 1, 3), (1, 37, 3), (41, 1, 3), (97, 61, 3)])
def test_pixels_survive(shape):
    pixels = np.random.default_rng(3).integers(0, 256, shape, dtype=np.uint8)
    with Image.open(io.BytesIO(encode_png(pixels))) as image:
        assert image.mode == "RGB"
        assert image.info["srgb"] == 0
        assert (np.asarray(image) == pixels).all()


def test_chunks_and_their_sums():
    data = encode_png(np.zeros((5, 4, 3), np.uint8))
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    found = chunks(data)
    assert [name for name, _ in found] == [b"IHDR", b"sRGB", b"IDAT", b"IEND"]
    assert found[0][1] == struct.pack(">IIBBBBB", 4, 5, 8, 2, 0, 0, 0)
    # Five rows of a filter's number and twelve bytes, readable by the plain inflater.
    assert len(zlib.decompress(found[2][1])) == 5 * 13


def test_a_flat_picture_is_small():
    assert len(encode_png(np.full((1448, 1024, 3), 200, np.uint8))) < 60_000


@pytest.mark.parametrize(
    "pixels",
    [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((0, 4, 3), np.uint8)],
)
def test_other_arrays_are_refused(pixels):
    with pytest.raises(BadValue, match="height, width, 3"):
        encode_png(pixels)
