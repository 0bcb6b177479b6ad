"""Pictures as a VLM gets them: within a stated budget of pixels, as bytes that are the same every time.

A picture that is small enough, upright and a PNG or JPEG goes as the bytes of its file. Any other is decoded, made
smaller with a Lanczos filter and written in the format that is set. What identifies it is the hash of its file together
with these settings: known before anything is decoded, and the same under every version of the libraries.
"""

from __future__ import annotations

import base64
import hashlib
import io
from functools import lru_cache
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from pydantic import Field, model_validator

from salon.calls.address import checked_url
from salon.judge.vlm import Sight
from salon.store.pictures import MEDIA_TYPES, Picture, read_bytes, read_picture, within
from salon.study.noun import Noun

_KEPT = 64
"""Pictures kept ready to be sent: those of one prompt meet again and again."""
_HASHES = 1 << 20


class PictureSettings(Noun):
    """How pictures are sent."""

    pixels: int = Field(default=1024 * 1024, ge=64)
    """The most pixels of one; larger ones are made smaller, their shape kept."""
    format: Literal["png", "jpeg"] = "png"
    """Of pictures that cannot go as they are."""
    quality: int = Field(default=95, ge=1, le=100)
    """Of such a JPEG."""
    detail: Literal["low", "high", "auto"] | None = None
    """How closely the server is told to look; not told by default."""
    address: str | None = None
    """Where the server finds the pictures itself, for instance https://host/{item}.png or https://host/{file};
    they are then not sent, and the budget of pixels is the server's."""

    @model_validator(mode="after")
    def _address_can_be_filled(self) -> PictureSettings:
        if self.address is not None:
            checked_url(self.address.replace("{item}", "x").replace("{file}", "x"))
            if "{item}" not in self.address and "{file}" not in self.address:
                raise ValueError("an address of pictures names {item} or {file}, or all of them are the same picture")
        return self


class Pictures:
    """Reads, measures and writes pictures under one set of settings, each as seldom as can be."""

    def __init__(self, settings: PictureSettings) -> None:
        self.settings = settings
        self.digest = lru_cache(_HASHES)(_digest)
        self._inline = lru_cache(_KEPT)(self._written)

    def identity(self, sight: Sight) -> dict[str, object]:
        """What decides which pixels are seen; BadFile where there is no file."""
        return {"sha256": self.digest(sight.path)} | self.settings.record()

    def part(self, sight: Sight) -> dict[str, object]:
        """The picture as a part of a message; BadFile when it is broken."""
        told = {"url": self._url(sight)} | ({"detail": self.settings.detail} if self.settings.detail else {})
        return {"type": "image_url", "image_url": told}

    def _url(self, sight: Sight) -> str:
        if self.settings.address is None:
            return self._inline(sight.path)
        filled = self.settings.address.replace("{item}", quote(sight.item, safe=""))
        return filled.replace("{file}", quote(sight.path.name, safe=""))

    def _written(self, path: Path) -> str:
        picture = read_picture(path)
        data, format = self._as_it_is(picture) or self._again(picture)
        return f"data:{MEDIA_TYPES[format]};base64,{base64.b64encode(data).decode()}"

    def _as_it_is(self, picture: Picture) -> tuple[bytes, str] | None:
        fits = picture.width * picture.height <= self.settings.pixels
        return (picture.data, picture.format) if fits and picture.is_plain and picture.format in _SENT else None

    def _again(self, picture: Picture) -> tuple[bytes, str]:
        target = io.BytesIO()
        image = within(picture.image, self.settings.pixels)
        if self.settings.format == "jpeg":
            image.save(target, "JPEG", quality=self.settings.quality, subsampling=0)
            return target.getvalue(), "JPEG"
        image.save(target, "PNG", compress_level=4)
        return target.getvalue(), "PNG"


_SENT = ("PNG", "JPEG")
"""Formats that every server reads."""


def _digest(path: Path) -> str:
    return hashlib.sha256(read_bytes(path)).hexdigest()
