"""The one way pictures are decoded here: safely, wholly, and always to the same kind of pixels.

The size is read from the header and refused above a limit before any memory is given to it; then the whole picture
is decoded, so a file that breaks off in the middle is found now and not in front of a rater. What comes out is always
upright 8-bit RGB, and `notes` says what had to be done for that.
"""

from __future__ import annotations

import hashlib
import io
import math
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image, ImageOps

from salon.errors import BadFile, SalonError
from salon.store.picture_header import FORMATS, Header, read_header

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
    """The bytes of a picture file, or BadFile where there is none, an empty one, a huge one, or no file at all."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # reading a pipe or a device may never end
            raise _bad("something that is no file", path)
        if not found.st_size:
            raise _bad("an empty file", path)
        if found.st_size > MOST_BYTES:
            raise _bad(f"{found.st_size:,} bytes; at most {MOST_BYTES:,} are read", path)
        return path.read_bytes()
    except FileNotFoundError:
        raise _bad(
            "no such file", path, remedy="put it there; items name their pictures by paths in the study"
        ) from None
    except OSError as error:
        raise _bad(error.strerror or str(error), path) from None


def is_inside(path: Path, folder: Path) -> bool:
    """Whether `path`, links followed, is below `folder`; a link that turns in circles leads nowhere."""
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError):
        return False


def open_header(data: bytes, where: str | os.PathLike[str] | None = None) -> Header:
    """The checked header of a picture; BadFile when the format is unknown or the picture larger than the limit."""
    header = read_header(data)
    if header is None:
        found = "no bytes" if not data else f"something else, beginning with {data[:8]!r}"
        raise _bad(found, where)
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
        raise _bad(f"a broken {header.format}: {error or type(error).__name__}", where) from None
    return Picture(image, header.format, source, notes)


def within(image: Image.Image, pixels: int) -> Image.Image:
    """`image`, made smaller where it has more than `pixels`; its shape is kept as nearly as whole pixels can."""
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
    if image.mode == "RGB" and "transparency" not in image.info:
        return image, ()
    if image.mode in ("L", "1"):
        return image.convert("RGB"), ()
    if image.mode.startswith("I") or image.mode == "F":
        # Pillow's own conversion cuts values above 255 off: 16 bits become 8 by division
        return image.point(lambda value: value / 257 + 0.5).convert("L").convert("RGB"), ("16 bits became 8",)
    if image.has_transparency_data:
        return _on_paper(image)
    if image.mode == "P":
        return image.convert("RGB"), ()
    return image.convert("RGB"), (f"{image.mode} became RGB",)


def _on_paper(image: Image.Image) -> tuple[Image.Image, tuple[str, ...]]:
    """Transparent parts as white, as a browser shows them on a white page."""
    clear = image.convert("RGBA")
    if clear.getchannel("A").getextrema() == (255, 255):
        return clear.convert("RGB"), ()
    paper = Image.new("RGBA", clear.size, (*_PAPER, 255))
    return Image.alpha_composite(paper, clear).convert("RGB"), ("transparent parts became white",)


def _bad(found: str, where: str | os.PathLike[str] | None, *, remedy: str = "save it again as PNG or JPEG") -> BadFile:
    return BadFile(
        f"a picture as {', '.join(FORMATS[:-1])} or {FORMATS[-1]} is needed",
        found=found,
        where=None if where is None else os.fspath(where),
        remedy=remedy,
    )
