"""The one way pictures are decoded: safely, wholly, and always to the same kind of pixels; and thumbnails for pages.

A file of a few kilobytes can claim a picture of gigabytes (a decompression bomb). So the size is read from the header
(PNG, JPEG, WebP, GIF) and refused above a limit before any memory is given to it. Then the whole picture is decoded, so
that a file that breaks off in the middle is found now and not in front of a rater. The result is always upright 8-bit
RGB, and `notes` says what had to be done for that.
"""

from __future__ import annotations

import base64
import hashlib
import io
import math
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from salon.errors import BadFile, SalonError
from salon.store.atomic_files import put_file
from salon.store.picture_store import stored_picture

if TYPE_CHECKING:
    from PIL import Image

FORMATS = ("PNG", "JPEG", "WebP", "GIF")
"""The formats Salon reads."""
_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""JPEG markers that start a frame and hold its size."""
_EMPTY_MARKERS = frozenset({0x01, *range(0xD0, 0xD9)})
"""JPEG markers without contents."""
_MARKER = re.compile(rb"\xff[^\xff]", re.DOTALL)
_SCAN, _END = 0xDA, 0xD9


@dataclass(frozen=True)
class PictureHeader:
    """What a picture says about itself."""

    format: str
    width: int
    height: int

    @property
    def pixels(self) -> int:
        """Width times height."""
        return self.width * self.height


def read_header(data: bytes) -> PictureHeader | None:
    """The header of a PNG, JPEG, WebP or GIF; None when `data` begin like none of them, or end before the size."""
    for starts, format, size in _READERS:
        if starts(data):
            dimensions = size(data)
            return None if dimensions is None or min(dimensions) < 1 else PictureHeader(format, *dimensions)
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
        match = _MARKER.search(data, place)
        if match is None:
            break
        place, marker = match.end() - 2, data[match.end() - 1]
        if marker in (_SCAN, _END):
            break
        if marker in _EMPTY_MARKERS:
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


# -- decoding ----------------------------------------------------------------------------------------------------------

MOST_PIXELS = 8192 * 8192
"""The largest picture that is decoded."""
MOST_BYTES = 256 << 20
"""The largest file that is read."""
ENDINGS = {"PNG": ".png", "JPEG": ".jpg", "WebP": ".webp", "GIF": ".gif"}
MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "WebP": "image/webp", "GIF": "image/gif"}
_PAPER = (255, 255, 255)
_ORIENTATION = 0x0112


@dataclass(frozen=True)
class Picture:
    """A decoded picture."""

    image: Image.Image
    """Upright, 8-bit RGB."""
    format: str
    data: bytes = field(repr=False)
    """The bytes as they were read."""
    notes: tuple[str, ...] = ()
    """What was done to the pixels: turned upright, colors converted, first frame taken."""

    @property
    def width(self) -> int:
        """Pixels from left to right, once upright."""
        return self.image.width

    @property
    def height(self) -> int:
        """Pixels from top to bottom, once upright."""
        return self.image.height

    @property
    def is_plain(self) -> bool:
        """Do the bytes as they were show the same picture everywhere?"""
        return not self.notes

    @property
    def sha256(self) -> str:
        """Of the bytes as they were read."""
        return hashlib.sha256(self.data).hexdigest()

    def plain(self) -> tuple[bytes, str]:
        """Bytes that show this picture everywhere, and their format.

        As they were read where that is enough; else the pixels as a PNG, or as a fine JPEG where they were a JPEG's: a
        photograph turned upright need not become ten times as large.
        """
        if self.is_plain:
            return self.data, self.format
        target = io.BytesIO()
        if self.format == "JPEG":
            self.image.save(target, "JPEG", quality=95, subsampling=0)
            return target.getvalue(), "JPEG"
        self.image.save(target, "PNG", compress_level=4)
        return target.getvalue(), "PNG"


def read_bytes(path: Path) -> bytes:
    """The bytes of a picture, or BadFile where there is none, an empty one, a huge one, or something that is no file.

    One that is not in its study's folder is looked for in the object store that the study points to.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # reading a pipe or a device may never end
            raise _bad_picture("something that is no file", path)
        if not status.st_size:
            raise _bad_picture("an empty file", path)
        if status.st_size > MOST_BYTES:
            raise _bad_picture(f"{status.st_size:,} bytes; at most {MOST_BYTES:,} are read", path)
        return path.read_bytes()
    except FileNotFoundError:
        stored = stored_picture(path)
        if stored is not None:
            store, name = stored
            return store.read(name, MOST_BYTES)
        raise _bad_picture(
            "no such file", path, remedy="put it there; items name their pictures by paths in the study"
        ) from None
    except OSError as error:
        raise _bad_picture(error.strerror or str(error), path) from None


def has_picture(path: Path) -> bool:
    """Whether there is a picture under this path: in the folder, or in the object store that its study points to."""
    if path.is_file():
        return True
    stored = stored_picture(path)
    return stored is not None and stored[0].has(stored[1])


def is_inside(path: Path, folder: Path) -> bool:
    """Whether `path`, links followed, is below `folder`; a link that turns in circles leads nowhere."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        return False


def open_header(data: bytes, where: str | os.PathLike[str] | None = None) -> PictureHeader:
    """The checked header of a picture; BadFile when the format is unknown or the picture larger than the limit."""
    header = read_header(data)
    if header is None:
        what = "no bytes" if not data else f"something else, beginning with {data[:8]!r}"
        raise _bad_picture(what, where)
    _check_size(header.width, header.height, where)
    return header


def _check_size(width: int, height: int, where: str | os.PathLike[str] | None) -> None:
    if width * height > MOST_PIXELS:
        raise BadFile(
            f"a picture of at most {MOST_PIXELS:,} pixels is needed",
            found=f"{width:,} x {height:,} in its header",
            where=None if where is None else os.fspath(where),
            remedy="make it smaller; it was not decoded",
        )


def read_picture(source: bytes | Path, where: str | os.PathLike[str] | None = None) -> Picture:
    """The picture in a file or in bytes, decoded whole; BadFile says what is wrong with it."""
    from PIL import Image

    if isinstance(source, Path):
        where = where or source
        source = read_bytes(source)
    header = open_header(source, where)
    try:
        with Image.open(io.BytesIO(source), formats=[header.format.upper()]) as opened:
            _check_size(opened.width, opened.height, where)  # a file may name a second size behind the first
            image, notes = _normal(opened)
        if header.format == "PNG":  # Pillow reads over wrong checksums, browsers do not
            with Image.open(io.BytesIO(source), formats=["PNG"]) as opened:
                opened.verify()
    except SalonError:
        raise
    except Exception as error:  # decoders raise almost anything on broken bytes
        raise _bad_picture(f"a broken {header.format}: {error or type(error).__name__}", where) from None
    return Picture(image, header.format, source, notes)


def fit_within(image: Image.Image, pixels: int) -> Image.Image:
    """`image`, made smaller where it has more than `pixels`; its shape is kept as nearly as whole pixels can."""
    from PIL import Image

    size = size_within(image.width, image.height, pixels)
    return image if size == image.size else image.resize(size, Image.Resampling.LANCZOS)


def size_within(width: int, height: int, pixels: int) -> tuple[int, int]:
    """The size that a picture of `width` and `height` is shown in, if it may have so many pixels."""
    if width * height <= pixels:
        return width, height
    scale = math.sqrt(pixels / (width * height))
    return max(1, math.floor(width * scale)), max(1, math.floor(height * scale))


def _normal(opened: Image.Image) -> tuple[Image.Image, tuple[str, ...]]:
    """All pixels, upright and in 8-bit RGB, and what was done to get there."""
    from PIL import ImageOps

    notes = []
    frames = getattr(opened, "n_frames", 1)
    if frames > 1 and opened.format != "MPO":  # an MPO's other pictures are previews and depth, not frames
        notes.append(f"the first of {frames} frames was taken")
    turned = opened.getexif().get(_ORIENTATION, 1)
    opened.load()
    if turned in range(2, 9):
        notes.append("turned upright as its EXIF says")
        opened = ImageOps.exif_transpose(opened)
    image, how = _rgb(opened)
    return image, (*notes, *how)


def _rgb(image: Image.Image) -> tuple[Image.Image, tuple[str, ...]]:
    from PIL import Image

    if image.mode == "RGB" and "transparency" not in image.info:
        return image, ()
    if image.mode in ("L", "1"):
        return image.convert("RGB"), ()
    if image.mode.startswith("I") or image.mode == "F":
        # Pillow's own conversion cuts values above 255 off: 16 bits become 8 by division
        return image.point(lambda value: value / 257 + 0.5).convert("L").convert("RGB"), ("16 bits became 8",)
    if image.has_transparency_data:
        clear = image.convert("RGBA")
        if clear.getchannel("A").getextrema() == (255, 255):
            return clear.convert("RGB"), ()
        paper = Image.new("RGBA", clear.size, (*_PAPER, 255))
        return Image.alpha_composite(paper, clear).convert("RGB"), ("transparent parts became white",)
    if image.mode == "P":
        return image.convert("RGB"), ()
    return image.convert("RGB"), (f"{image.mode} became RGB",)


def _bad_picture(
    what: str, where: str | os.PathLike[str] | None, *, remedy: str = "save it again as PNG or JPEG"
) -> BadFile:
    return BadFile(
        f"a picture as {', '.join(FORMATS[:-1])} or {FORMATS[-1]} is needed",
        found=what,
        where=None if where is None else os.fspath(where),
        remedy=remedy,
    )


# -- thumbnails --------------------------------------------------------------------------------------------------------

QUALITY = 82
TALLEST = 3
"""A picture more than this many times as tall as the thumbnail is wide is made narrower."""
_THUMB_NAME = re.compile(r"[0-9a-f]{16}-\d+\.webp")


@dataclass(frozen=True)
class Thumb:
    """A small picture: what to put in `src`, and its size."""

    src: str
    width: int
    height: int


def encode_thumb(image: Image.Image, width: int) -> bytes:
    """The picture as WebP, at most `width` pixels wide; never larger than it is."""
    copy = image.copy()
    copy.thumbnail((width, TALLEST * width), reducing_gap=2.0)
    target = io.BytesIO()
    copy.save(target, "WEBP", quality=QUALITY, method=3)
    return target.getvalue()


def data_url(image: Image.Image, width: int) -> str:
    """The picture small, for pages that are one file."""
    return _embed(encode_thumb(image, width))


def picture_url(path: Path, width: int) -> str:
    """The picture in a file small, for pages that are one file; empty for one that is not there or cannot be read."""
    try:
        return data_url(read_picture(path).image, width)
    except BadFile:
        return ""


def make_thumbs(
    paths: Sequence[Path], width: int, folder: Path | None, step: Callable[[str], None]
) -> Iterator[Thumb | BadFile]:
    """A thumbnail of every picture, in order: a file in `folder`, or where there is none, the data themselves."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = []
        for path, thumb in zip(paths, pool.map(lambda path: _thumb(path, width, folder), paths)):
            step(path.name)
            results.append(thumb)
    return iter(results)


def _thumb(path: Path, width: int, folder: Path | None) -> Thumb | BadFile:
    try:
        data = read_bytes(path)
        if folder is None:
            encoded = encode_thumb(read_picture(data, path).image, width)
            return _thumb_of(_embed(encoded), encoded)
        target = folder / f"{hashlib.sha256(data).hexdigest()[:16]}-{width}.webp"
        if not target.is_file() or not target.stat().st_size:
            put_file(target, encode_thumb(read_picture(data, path).image, width))
        return _thumb_of(f"{quote(folder.name)}/{target.name}", target.read_bytes())
    except BadFile as error:
        return error


def _embed(data: bytes) -> str:
    return "data:image/webp;base64," + base64.b64encode(data).decode()


def _thumb_of(src: str, data: bytes) -> Thumb:
    header = read_header(data)
    return Thumb(src, *((header.width, header.height) if header else (1, 1)))


def sweep_thumbs(folder: Path, thumbs: Iterable[Thumb]) -> None:
    """Remove thumbnails of `folder` that no page shows any more, other files stay: once the new page is there."""
    used = {Path(thumb.src).name for thumb in thumbs}
    for path in folder.iterdir():
        if _THUMB_NAME.fullmatch(path.name) and path.name not in used:
            path.unlink()
