"""Pictures as trainers hold them, as files that scorers can open.

    path                 str or Path: the file itself
    bytes                of a PNG, JPEG, WebP or GIF
    PIL image            any mode
    {"bytes", "path"}    as the library `datasets` keeps a picture that was not decoded
    array or tensor      numpy or torch, uint8 from 0 to 255 or floats from 0 to 1, 1, 3 or 4 channels: one picture, or
                         all pictures of a call in one with four axes

Channels stand first (CHW) or last (HWC). Where both ends could be the channels, torch has them first and numpy last.
Floats become bytes by round(255 x), as image pipelines do it. Further than .01 outside of 0 to 1 they are refused:
a picture from -1 to 1 would be scored as another picture. Pixels that are no finite numbers are what a network gives
when it overflows: such a picture has no score, and that is no error.
"""

from __future__ import annotations

import io
import math
import os
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from salon.errors import BadValue
from salon.study import Item

_CHANNELS = (1, 3, 4)
_SLACK = 0.01
"""How far outside of 0 to 1 a float may lie: decoders overshoot a little."""
_KEPT = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")
"""Modes that a PNG holds as they are."""
_COLOR_TYPES = {"L": 0, "RGB": 2, "RGBA": 6}
"""Those that are written here, with their number in the format."""
_REMEDY = "a path, the bytes of a PNG or JPEG, a PIL image, or an array or tensor of numpy or torch"


def each_picture(pictures: Any) -> list[Any]:
    """The pictures of one call, one by one; an array or tensor with four axes is cut along the first."""
    if isinstance(pictures, str | bytes | os.PathLike | Image.Image | Mapping):
        raise BadValue("a list of pictures is needed", found=f"one {type(pictures).__name__}", remedy="[picture]")
    if _is_array(pictures):
        if len(pictures.shape) != 4:
            raise BadValue(
                "pictures as one array have four axes: NCHW or NHWC",
                found=f"shape {tuple(pictures.shape)}",
                remedy="a list of pictures, or array[None] for a single one",
            )
        return (
            list(_plain(pictures)) if isinstance(pictures, np.ndarray) else [pictures[n] for n in range(len(pictures))]
        )
    if not isinstance(pictures, Sequence):
        raise BadValue("a list of pictures is needed", found=type(pictures).__name__, remedy=_REMEDY)
    return list(pictures)


def picture_item(picture: Any, place: Path, number: int) -> Item | str:
    """The picture as an item whose image is a file, written to `place` where it is none yet; or why there is none.

    BadValue where it is nothing that a picture could be.
    """
    if picture is None:
        return "there is no picture"
    if isinstance(picture, Mapping):
        return _from_record(picture, place, number)
    if isinstance(picture, str | os.PathLike):
        return Item(id=place.name, image=os.fspath(picture)) if os.fspath(picture) else "an empty path"
    if isinstance(picture, bytes | bytearray | memoryview):
        place.write_bytes(picture)
        return Item(id=place.name, image=str(place))
    if not isinstance(picture, Image.Image):
        if not _is_array(picture):
            raise _no_picture(type(picture).__name__, number)
        pixels = _bytes(picture, number)
        if isinstance(pixels, str):
            return pixels
        picture = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    place.write_bytes(as_png(picture))
    return Item(id=place.name, image=str(place))


def as_png(image: Image.Image) -> bytes:
    """The image as an uncompressed PNG: lossless, as fast to write as to copy, and the same bytes everywhere."""
    if image.mode in _COLOR_TYPES and "transparency" not in image.info:
        return _png(np.asarray(image), _COLOR_TYPES[image.mode])
    target = io.BytesIO()
    (image if image.mode in _KEPT else image.convert("RGB")).save(target, "PNG", compress_level=0)
    return target.getvalue()


def _png(pixels: NDArray[np.uint8], color_type: int) -> bytes:
    """Rows without filters in blocks that are stored and not compressed (Pillow tries five filters for every row)."""
    height, width = pixels.shape[:2]
    rows = np.zeros((height, 1 + pixels.size // height), np.uint8)  # every row begins with the number of its filter, 0
    rows[:, 1:] = pixels.reshape(height, -1)
    header = struct.pack(">IIBBBBB", width, height, 8, color_type, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 0)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )


def _from_record(record: Mapping[str, Any], place: Path, number: int) -> Item | str:
    if not {"bytes", "path"} & set(record):
        raise _no_picture(f"a record of {', '.join(map(repr, list(record)[:5])) or 'nothing'}", number)
    data = record.get("bytes")
    return picture_item(record.get("path") if data is None else data, place, number)


def _is_array(picture: Any) -> bool:
    """An array of numpy or anything that says of itself how it becomes one, as tensors do."""
    return isinstance(picture, np.ndarray) or (hasattr(picture, "shape") and hasattr(picture, "detach"))


def _plain(picture: Any) -> NDArray[Any]:
    """As numpy, off any graph and device; bfloat16 is unknown to numpy."""
    if isinstance(picture, np.ndarray):
        return picture
    there = picture.detach().cpu()
    return np.asarray((there.float() if there.is_floating_point() else there).numpy())


def _bytes(picture: Any, number: int) -> NDArray[np.uint8] | str:
    """(height, width, channels) from 0 to 255, or why the picture has none."""
    pixels = _plain(picture)
    if pixels.ndim == 2:
        pixels = pixels[..., None]
    if pixels.ndim != 3 or not pixels.size:
        raise _no_picture(f"shape {tuple(pixels.shape)}", number)
    first, last = pixels.shape[0] in _CHANNELS, pixels.shape[2] in _CHANNELS
    if not first and not last:
        raise _no_picture(f"shape {tuple(pixels.shape)} without 1, 3 or 4 channels at either end", number)
    made = pixels if pixels.dtype == np.uint8 else _from_floats(pixels, number)
    if isinstance(made, str):
        return made
    turned = first and not (last and isinstance(picture, np.ndarray))
    return np.ascontiguousarray(made.transpose(1, 2, 0) if turned else made)


def _from_floats(pixels: NDArray[Any], number: int) -> NDArray[np.uint8] | str:
    """round(255 x), or why there are no pixels."""
    if not np.issubdtype(pixels.dtype, np.floating):
        raise _no_picture(f"numbers of the kind {pixels.dtype}; uint8 or floats are needed", number)
    low, high = float(pixels.min()), float(pixels.max())  # either is NaN where any number is
    if not (math.isfinite(low) and math.isfinite(high)):
        return "its pixels are no finite numbers"
    if low < -_SLACK or high > 1 + _SLACK:
        raise BadValue(
            "floats of a picture lie from 0 to 1",
            found=f"{low:g} to {high:g}",
            where=f"picture {number}",
            remedy="(x / 2 + 0.5) brings -1 to 1 there, x / 255 brings 0 to 255",
        )
    made = pixels.astype(np.float32) * np.float32(255)
    np.rint(made, out=made)
    return np.clip(made, 0, 255, out=made).astype(np.uint8)


def _no_picture(found: str, number: int) -> BadValue:
    return BadValue("a picture is needed", found=found, where=f"picture {number}", remedy=_REMEDY)
