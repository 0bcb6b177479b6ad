"""The one decoder: sizes against Pillow's, odd pixels against arithmetic, and files that want to do harm."""

from __future__ import annotations

import io
import os
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from salon.errors import BadFile
from salon.store import read_picture
from salon.store.pictures import MOST_PIXELS, read_header


def encoded(image: Image.Image, format: str, **options: object) -> bytes:
    target = io.BytesIO()
    image.save(target, format, **options)
    return target.getvalue()


def noise(width: int = 90, height: int = 61, seed: int = 1) -> Image.Image:
    return Image.fromarray(np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8))


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png_of(width: int, height: int, data: bytes) -> bytes:
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b"")


WAYS = [
    ("PNG", {}),
    ("PNG", {"compress_level": 0}),
    ("JPEG", {}),
    ("JPEG", {"progressive": True, "comment": b"\xff\xc0\x00\x11 no frame"}),
    ("WEBP", {}),
    ("WEBP", {"lossless": True}),
    ("WEBP", {"exif": b"Exif\0\0II*\0\x08\0\0\0\0\0\0\0\0\0"}),
    ("GIF", {}),
]


@pytest.mark.parametrize(("format", "options"), WAYS)
@pytest.mark.parametrize("size", [(1, 1), (90, 61), (257, 3)])
def test_the_header_tells_what_pillow_decodes(format, options, size):
    data = encoded(noise(*size), format, **options)
    header = read_header(data)
    picture = read_picture(data)
    assert (header.width, header.height) == size == (picture.width, picture.height)
    assert header.format.upper() == format
    assert picture.image.mode == "RGB"
    assert picture.is_plain
    assert picture.plain() == (data, header.format)


def test_lossless_pixels_are_the_same_pixels():
    for format, options in (("PNG", {}), ("WEBP", {"lossless": True})):
        assert np.array_equal(np.asarray(read_picture(encoded(noise(), format, **options)).image), np.asarray(noise()))


# -- odd pixels ------------------------------------------------------------------------------------------------------


def test_sixteen_bits_are_divided_not_cut_off():
    deep = np.array([[0, 255, 257, 25_700, 65_535]], np.uint16)
    picture = read_picture(encoded(Image.fromarray(deep), "PNG"))
    assert np.asarray(picture.image)[0, :, 0].tolist() == [0, 1, 1, 100, 255]
    assert picture.notes == ("16 bits became 8",)


def test_exif_turns_a_picture_upright():
    wide = Image.new("RGB", (8, 2), "white")
    wide.paste("black", (0, 0, 4, 2))  # black left
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise: what was left is on top
    picture = read_picture(encoded(wide, "PNG", exif=exif))
    assert (picture.width, picture.height) == (2, 8)
    assert np.asarray(picture.image)[:, 0, 0].tolist() == [0] * 4 + [255] * 4
    data, format = picture.plain()
    again = read_picture(data)
    assert (format, again.notes, again.image.tobytes()) == ("PNG", (), picture.image.tobytes())


def test_a_photograph_turned_upright_stays_a_jpeg_and_looks_the_same():
    exif = Image.Exif()
    exif[0x0112] = 8
    smooth = noise(12, 9).resize((120, 90), Image.Resampling.BICUBIC)
    picture = read_picture(encoded(smooth, "JPEG", quality=95, exif=exif))
    data, format = picture.plain()
    again = read_picture(data)
    assert (format, again.notes, again.image.size) == ("JPEG", (), (90, 120))
    assert np.abs(np.asarray(again.image, float) - np.asarray(picture.image, float)).mean() < 2


def test_transparency_becomes_white_paper():
    clear = Image.new("RGBA", (4, 4), (200, 0, 0, 51))
    picture = read_picture(encoded(clear, "PNG"))
    assert picture.image.getpixel((0, 0)) == (244, 204, 204)  # 0.2 * color + 0.8 * 255
    assert picture.notes == ("transparent parts became white",)
    assert read_picture(encoded(Image.new("RGBA", (4, 4), (9, 9, 9, 255)), "PNG")).is_plain


def test_cmyk_becomes_rgb():
    picture = read_picture(encoded(Image.new("CMYK", (9, 9), (0, 255, 255, 0)), "JPEG", quality=100))
    red, green, blue = picture.image.getpixel((4, 4))
    assert (red > 230, green < 30, blue < 30) == (True, True, True)
    assert picture.notes == ("CMYK became RGB",)


@pytest.mark.parametrize("format", ["GIF", "PNG", "WEBP"])
def test_the_first_frame_of_an_animation_is_taken_and_said(format):
    frames = [Image.new("RGB", (20, 20), color) for color in ("red", "blue", "green")]
    data = encoded(frames[0], format, save_all=True, append_images=frames[1:])
    picture = read_picture(data)
    assert picture.notes == ("the first of 3 frames was taken",)
    assert picture.image.getpixel((5, 5))[0] > 240


@pytest.mark.parametrize("mode", ["L", "1", "P", "LA"])
def test_other_modes_become_rgb(mode):
    assert read_picture(encoded(noise().convert("L").convert(mode), "PNG")).image.mode == "RGB"


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        png_of(50_000, 50_000, b"\0" * 100_000),
        png_of(8193, 8192, b""),
        b"\xff\xd8\xff\xc0\x00\x11\x08" + struct.pack(">HH", 65_535, 65_535) + b"\x03" + b"\0" * 40,
        b"GIF89a" + struct.pack("<HH", 65_535, 65_535) + b"\0" * 40,
        b"RIFF\x30\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff" + b"\0" * 20,
        b"RIFF\x30\0\0\0WEBPVP8L\x0a\0\0\0\x2f\xff\xff\xff\x0f" + b"\0" * 20,
    ],
    ids=["png", "png-just", "jpeg", "gif", "webp-extended", "webp-lossless"],
)
def test_bombs_are_refused_by_their_header(data, monkeypatch):
    monkeypatch.setattr(Image, "open", lambda *_, **__: pytest.fail("it was opened"))
    with pytest.raises(BadFile, match=f"at most {MOST_PIXELS:,} pixels"):
        read_picture(data)


def test_a_small_frame_does_not_hide_a_large_one():
    frame = b"\xff\xc0\x00\x0b\x08%s\x01\x01\x11\x00"
    hidden = b"\xff\xd8\xff\xe0\x00\x02" + frame % struct.pack(">HH", 9, 9) + frame % struct.pack(">HH", 60_000, 60_000)
    assert read_header(hidden).pixels == 60_000**2


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP", "GIF"])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.3, 0.9])
def test_a_file_cut_short_is_refused(format, share):
    data = encoded(noise(), format)
    with pytest.raises(BadFile, match="a picture as PNG, JPEG, WebP or GIF is needed"):
        read_picture(data[: int(len(data) * share)])


@pytest.mark.parametrize("format", ["TIFF", "BMP", "ICO"])
def test_other_formats_are_refused_even_where_pillow_reads_them(format):
    with pytest.raises(BadFile, match="something else"):
        read_picture(encoded(noise(32, 32), format))


def test_random_damage_is_an_error_or_a_picture_never_anything_else():
    rng = np.random.default_rng(5)
    for format in ("PNG", "JPEG", "WEBP", "GIF"):
        whole = encoded(noise(40, 40), format)
        for _ in range(60):
            data = bytearray(whole)
            for place in rng.integers(0, len(data), 6):
                data[place] = rng.integers(256)
            try:
                assert read_picture(bytes(data)).image.mode == "RGB"
            except BadFile:
                continue


def test_files_that_are_no_files(tmp_path):
    (tmp_path / "empty.png").touch()
    os.mkfifo(tmp_path / "pipe.png")
    for name, said in (("empty.png", "empty file"), ("pipe.png", "no file"), ("none.png", "no such"), (".", "no file")):
        with pytest.raises(BadFile, match=said):
            read_picture(tmp_path / name)
