"""The one place that loads Skia, so that a missing library is a clear word and not a traceback."""

from __future__ import annotations

from salon.errors import MissingExtra, SalonError

try:
    import skia
except ModuleNotFoundError:
    raise MissingExtra("generate") from None
except ImportError as error:  # the wheel is there, a library of the system it links to is not
    raise SalonError(
        "drawing needs the system libraries EGL and GL (Skia links to them, no screen or GPU is used)",
        found=str(error),
        remedy="apt-get install -y libegl1 libgl1 (Debian, Ubuntu); dnf install -y libglvnd-egl libglvnd-glx (Fedora)",
    ) from None

PIXEL = skia.kBGRA_8888_ColorType
"""Skia's own order of bytes here. Its fast paths (4 to 10 times) exist for this one only; the binding's constant
`kN32_ColorType` names another."""


def opaque(width: int, height: int) -> skia.ImageInfo:
    """A canvas without transparency."""
    return skia.ImageInfo.Make(width, height, PIXEL, skia.kOpaque_AlphaType)


def clear(width: int, height: int) -> skia.ImageInfo:
    """A canvas that starts transparent."""
    return skia.ImageInfo.Make(width, height, PIXEL, skia.kPremul_AlphaType)


__all__ = ["PIXEL", "clear", "opaque", "skia"]
