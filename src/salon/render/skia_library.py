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

__all__ = ["skia"]
