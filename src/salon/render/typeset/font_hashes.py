"""The font files that posters are set in, each checked by its SHA-256 before it is used.

The fonts come in packages of others, at pinned versions. Another file draws other letters, and a parser of fonts reads
whatever it is given. So a file is read once per process, its bytes are compared with a table that
`tools/font_hashes.py` writes, and the bytes that were checked are the bytes that are used.
"""

from __future__ import annotations

import functools
import hashlib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from salon.errors import BadFile

TABLE = Path(__file__).with_name("font_hashes.txt")
"""A line for each file: SHA-256, package==version, name."""


class PinnedFont(NamedTuple):
    """A font file as the pinned version of its package brings it."""

    sha256: str
    package: str
    version: str


@functools.cache
def pinned_fonts() -> dict[str, PinnedFont]:
    """Every font file that may be used, by its name."""
    fonts = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        sha256, requirement, name = line.split("  ")
        package, _, pinned_version = requirement.partition("==")
        fonts[name] = PinnedFont(sha256, package, pinned_version)
    return fonts


@functools.cache
def read_font(file: Path, package: str) -> bytes:
    """The bytes of a font file of an installed package; BadFile where they are not those of the pinned version."""
    pinned = pinned_fonts().get(file.name)
    if pinned is None or pinned.package != package:
        pins = sorted(
            {f"{font.package}=={font.version}" for font in pinned_fonts().values() if font.package == package}
        )
        needed = f"a font file of {pins[0] if pins else 'a font package that Salon names'} is needed"
        raise BadFile(needed, found=_installed(package), where=str(file), remedy=_remedy(pins))
    try:
        data = file.read_bytes()
    except OSError as error:
        needed = f"{file.name} of {package}=={pinned.version} is needed"
        remedy = _remedy([f"{package}=={pinned.version}"])
        raise BadFile(needed, found=error.strerror or str(error), where=str(file), remedy=remedy) from None
    digest = hashlib.sha256(data).hexdigest()
    if digest != pinned.sha256:
        raise BadFile(
            f"{file.name} of {package}=={pinned.version} is needed, a file with the SHA-256 {pinned.sha256}",
            found=f"SHA-256 {digest}, {_installed(package)}",
            where=str(file),
            remedy=_remedy([f"{package}=={pinned.version}"]),
        )
    return data


def _installed(package: str) -> str:
    try:
        return f"{package} {version(package)} installed"
    except PackageNotFoundError:
        return f"{package} not installed"


def _remedy(pins: list[str]) -> str:
    command = f"pip install --force-reinstall --no-deps {pins[0]}" if pins else "pip install --upgrade salon"
    return f"install the pinned version: {command}"
