"""What image-to-image starts from: a picture, and the layout that stands beside it where it is a drawn poster."""

from __future__ import annotations

from pathlib import Path

from pydantic import Field

from salon.errors import BadFile
from salon.generate.record import Generation
from salon.store.pictures import read_bytes
from salon.study.noun import Noun

LONGEST_LAYOUT = 1_000_000
"""Bytes of a layout that are read; those of the houses have some ten thousand."""


class Start(Noun):
    """A picture to start from."""

    image: bytes = Field(repr=False)
    layout: str | None = Field(default=None, repr=False)


def start_of(line: Generation, folder: Path) -> Start:
    """A picture that was made here before, as a start; BadFile where it is gone or is not the one it was."""
    if line.image is None or not line.is_stored(folder):
        raise BadFile(
            "the picture to start from is needed as it was made", found="none, or another one", where=line.item,
            remedy="put the file back, or begin anew in another folder",
        )  # fmt: skip
    layout = None if line.layout is None else (folder / line.layout).read_text(encoding="utf-8")
    return Start(image=(folder / line.image).read_bytes(), layout=layout)


def read_start(path: Path) -> Start:
    """A picture file as a start. One in the images/ of a study takes its layout from layouts/, where it has one."""
    return Start(image=read_bytes(path), layout=layout_beside(path))


def layout_beside(path: Path | str) -> str | None:
    """The layout of a picture in a study: images/X.png has layouts/X.json; None where there is none."""
    parts = list(Path(path).resolve().with_suffix(".json").parts)
    if "images" not in parts:
        return None
    at = len(parts) - 1 - parts[::-1].index("images")
    beside = Path(*parts[:at], "layouts", *parts[at + 1 :])
    if not beside.is_file() or beside.stat().st_size > LONGEST_LAYOUT:
        return None
    try:
        return beside.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadFile("a layout in UTF-8 is needed", found=str(error), where=str(beside)) from None
