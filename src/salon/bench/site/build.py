"""A board as a folder of pages: written whole, only over an earlier site of Salon's, the same bytes every time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from salon.bench.board import Board
from salon.bench.site.frame import SitePage, asset_names, assets
from salon.bench.site.index_page import index_page
from salon.bench.site.material import Material, read_material
from salon.errors import BadFile
from salon.report.page import GENERATOR
from salon.store.atomic import whole_folder
from salon.store.quick_file import put_file


@dataclass(frozen=True)
class Site:
    """What was written."""

    folder: Path
    pages: int
    pictures: int
    broken: int


def build_site(
    board: Board,
    out: Path | str,
    *,
    title: str | None = None,
    width: int = 480,
    progress: Callable[[int, int], None] | None = None,
) -> Site:
    """Write the pages of `board` into the folder `out`; `progress` is told how much is done, and of how much."""
    folder = site_target(out)
    material = read_material(board, title)
    with whole_folder(folder) as stage:
        pages = 0
        for page in site_pages(material):
            put_file(stage / page.path, page.html().encode())
            pages += 1
        for name, path in asset_names().items():
            put_file(stage / path, assets()[name].encode())
    return Site(folder, pages, 0, 0)


def site_pages(material: Material) -> Iterator[SitePage]:
    """Every page, one at a time: a large site never stands whole in memory."""
    yield index_page(material)


def site_target(out: Path | str) -> Path:
    """Where a site may be written: a new or empty folder, or an earlier site. BadFile for anything else."""
    folder = Path(out).resolve()
    if folder.exists() and not (folder.is_dir() and (_is_site(folder) or not any(folder.iterdir()))):
        raise BadFile(
            "a site is written into a new folder, or over an earlier site",
            found="a folder with other files" if folder.is_dir() else "a file",
            where=str(out),
            remedy="choose another folder, or move what is there",
        )
    return folder


def _is_site(folder: Path) -> bool:
    page = folder / "index.html"
    if not page.is_file() or not (folder / "assets").is_dir():
        return False
    with page.open("rb") as file:
        return GENERATOR in file.read(2000)
