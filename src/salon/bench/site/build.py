"""A board as a folder of pages: written whole, only over an earlier site of Salon's, the same bytes every time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from salon.bench.board import Board
from salon.bench.site.arena_pages import ArenaPages
from salon.bench.site.downloads import downloads, downloads_page
from salon.bench.site.frame import SitePage, asset_names, assets
from salon.bench.site.generator_pages import GeneratorPages
from salon.bench.site.index_page import index_page
from salon.bench.site.method_page import method_page
from salon.bench.site.prompt_pages import PromptPages, prompts_page, tags_page
from salon.bench.site.raters_page import raters_page
from salon.bench.site.site_data import Pictures, SiteData, make_pictures, read_site_data, shown_pictures
from salon.errors import BadFile
from salon.report import GENERATOR
from salon.store import put_file, whole_folder

OTHER_PAGES = 5
"""Board, prompts, tags, method, data."""


@dataclass(frozen=True)
class Site:
    """What was written."""

    folder: Path
    pages: int
    pictures: int
    broken: int
    """Pictures that are there and cannot be read."""


def build_site(
    board: Board,
    out: Path | str,
    *,
    title: str | None = None,
    width: int = 480,
    progress: Callable[[int, int], None] | None = None,
    on_page: Callable[[SitePage], None] | None = None,
) -> Site:
    """Write the pages of `board` into the folder `out`; `progress` gets the completed and the total number of steps.

    `on_page` is called with every page that was written.
    """
    folder = site_target(out)
    site = read_site_data(board, title)
    step = _counter(site, progress)
    with whole_folder(folder) as stage:
        pictures = make_pictures(site, stage, folder, width, step)
        for name, path in asset_names().items():
            put_file(stage / path, assets()[name].encode())
        pages = 0
        listed = []
        for file in downloads(site):
            put_file(stage / "data" / file.path, file.data)
            listed.append((file.path, file.about, len(file.data)))
        data = downloads_page(site, listed)
        for page in chain(site_pages(site, pictures), [data]):
            put_file(stage / page.path, page.html().encode())
            if on_page is not None:
                on_page(page)
            step(page.path)
            pages += 1
    broken = sum(isinstance(thumbnail, BadFile) for thumbnail in pictures.values())
    return Site(folder, pages, len(pictures) - broken, broken)


def site_pages(site: SiteData, pictures: Pictures) -> Iterator[SitePage]:
    """Every page but the list of downloads, one at a time: a large site never stands whole in memory."""
    yield index_page(site)
    yield prompts_page(site)
    yield tags_page(site)
    yield method_page(site)
    yield from (ArenaPages(site).pages() if site.arenas else [])
    yield from ([raters_page(site)] if site.raters else [])
    yield from GeneratorPages(site, pictures).pages()
    yield from PromptPages(site, pictures).pages()


def _counter(site: SiteData, progress: Callable[[int, int], None] | None) -> Callable[[str], None]:
    total = len(shown_pictures(site)) + len(site.entries) + len(site.suite.prompts) + OTHER_PAGES
    total += bool(site.raters) + (ArenaPages(site).count if site.arenas else 0)
    completed = 0

    def step(_: str) -> None:
        nonlocal completed
        completed += 1
        if progress is not None:
            progress(completed, total)

    return step


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
