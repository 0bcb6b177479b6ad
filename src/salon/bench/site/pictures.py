"""Thumbnails of every picture that may be shown, named by what is in them; those of an earlier site are kept."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from salon.bench.site.material import Material
from salon.errors import BadFile
from salon.store.pictures import is_inside
from salon.store.thumbs import Thumb, thumbs

FOLDER = "images"
Pictures = Mapping[tuple[str, str], Thumb | BadFile]
"""By name of the entry and id of the item. Pictures of private prompts and of retracted entries are not in it."""


def make_pictures(
    material: Material, stage: Path, earlier: Path, width: int, step: Callable[[str], None]
) -> dict[tuple[str, str], Thumb | BadFile]:
    """Thumbnails in `stage`/images; the same pictures as in the site `earlier` are not drawn again."""
    folder = stage / FOLDER
    folder.mkdir()
    for path in (earlier / FOLDER).glob("*.webp"):
        if not path.is_symlink():
            _reuse(path, folder / path.name)
    found = shown_pictures(material)
    return dict(zip(found, thumbs([*found.values()], width, folder, step)))


def shown_pictures(material: Material) -> dict[tuple[str, str], Path]:
    """Files of the pictures that pages show; none that lies outside its entry's folder."""
    private = {one.prompt.id for one in material.suite.prompts if one.private}
    return {
        (one.name, picture.item): one.folder / picture.image
        for one in material.ordered
        for picture in one.entry.pictures
        if picture.image and picture.prompt not in private and is_inside(one.folder / picture.image, one.folder)
    }


def _reuse(path: Path, target: Path) -> None:
    try:
        os.link(path, target)
    except OSError:  # a file system without links
        shutil.copyfile(path, target)
