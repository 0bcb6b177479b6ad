"""Contact sheets of a study: one HTML page (prompts down, generators across), or one PNG for a README or a talk.

The page needs no network and works without JavaScript; filters and the viewer come with it. Everything a user wrote is
escaped, and a content policy stands behind that.
"""

from __future__ import annotations

import base64
import hashlib
import io
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from PIL import Image

from salon.errors import UnknownReference, shorten
from salon.generate.record import read_generations
from salon.report import SIMULATED, asset, brief, clean, icon, one_way, page_target, style
from salon.store import (
    Thumb,
    held,
    is_inside,
    make_thumbs,
    open_study,
    present_folder,
    read_picture,
    sweep_thumbs,
    whole_file,
)
from salon.study import Item, Prompt, Signature, Study

SHORT_TEXT = 320
"""Characters of a prompt shown at once; the rest opens by a click."""
NO_PROMPT = "(no prompt)"
NO_GENERATOR = "(no generator)"


@dataclass(frozen=True)
class GalleryTile:
    """One picture, or why there is none."""

    item: str
    thumb: Thumb | None = None
    full: str = ""
    """Address of the picture itself, from the page."""
    label: str = ""
    """What tells it from others of the same prompt and generator."""
    kind: str = ""
    """Of a failure."""
    reason: str = ""


@dataclass(frozen=True)
class GalleryCell:
    """What one generator made of one prompt."""

    generator: str
    tiles: Sequence[GalleryTile]


@dataclass(frozen=True)
class GalleryRow:
    """One prompt."""

    name: str
    category: str
    start: str
    """The text, or its beginning."""
    rest: Sequence[str]
    """Paragraphs behind a click; empty when the beginning is all."""
    cells: Sequence[GalleryCell]

    @property
    def words(self) -> str:
        """What a search looks at."""
        return " ".join([self.name, self.category, self.start, *self.rest]).casefold()


@dataclass(frozen=True)
class StudyGallery:
    """A page that is ready to be written."""

    study: str
    rows: Sequence[GalleryRow]
    generators: Sequence[str]
    simulated: bool
    signature: str
    embedded: bool

    @property
    def categories(self) -> list[str]:
        """Categories in the order they appear."""
        return list(dict.fromkeys(row.category for row in self.rows if row.category))

    @property
    def tiles(self) -> list[GalleryTile]:
        """Everything on the page."""
        return [tile for row in self.rows for cell in row.cells for tile in cell.tiles]

    @property
    def pictures(self) -> int:
        """How many of the tiles are pictures."""
        return sum(tile.thumb is not None for tile in self.tiles)

    @property
    def failed(self) -> int:
        """How many are not."""
        return len(self.tiles) - self.pictures

    def html(self) -> str:
        """The whole page as text."""
        scripts = [asset("page.js"), _template_text("gallery.js")]
        digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
        allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
        policy = f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src 'self' data: file:"
        page = _templates().get_template("gallery.html").render(
            page=self,
            banner=SIMULATED if self.simulated else "",
            style=Markup(style() + _template_text("gallery.css")),
            scripts=[Markup(script) for script in scripts],
            policy=policy,
            brief=brief,
            icon=icon(),
        )  # fmt: skip
        return clean(page)


def write_gallery(
    folder: Path | str,
    target: Path | str,
    *,
    embed: bool = False,
    width: int = 480,
    progress: Callable[[str], None] | None = None,
) -> StudyGallery:
    """Write the contact sheet of the study in `folder` as the page `target`.

    Thumbnails go into a folder beside the page and a click opens the picture in the study; with `embed` they are in
    the page itself, which then needs no other file.
    """
    path = page_target(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    on_progress = progress or (lambda _: None)
    if embed:
        gallery = make_gallery(folder, path.parent, None, width, on_progress)
        _write(gallery, path)
        return gallery
    files = path.with_name(f"{path.stem}_files")
    files.mkdir(exist_ok=True)
    with held(files):  # another gallery at this place would remove what this one is about to show
        gallery = make_gallery(folder, path.parent, files, width, on_progress)
        _write(gallery, path)
        sweep_thumbs(files, [tile.thumb for tile in gallery.tiles if tile.thumb])
    return gallery


def _write(gallery: StudyGallery, path: Path) -> None:
    with whole_file(path) as file:
        file.write(gallery.html().encode())


def make_gallery(
    folder: Path | str, page: Path, files: Path | None, width: int, progress: Callable[[str], None]
) -> StudyGallery:
    """The gallery of a study, its addresses relative to the folder `page`, its thumbnails in `files` or embedded."""
    study = open_study(folder)
    place = present_folder(Path(folder)).resolve()
    tiles: dict[tuple[str, str], list[GalleryTile]] = defaultdict(list)
    items = list(study.nouns("items"))
    named = [place / item.image if item.image else None for item in items]
    addresses = [path if path is not None and is_inside(path, place) else None for path in named]
    there = [path for path in addresses if path is not None]
    thumbnails = iter(make_thumbs(there, width, files, progress))
    for item, path in zip(items, addresses):
        thumb = next(thumbnails) if path is not None else None
        full = quote(Path(os.path.relpath(path, page)).as_posix()) if path is not None and files else ""
        if isinstance(thumb, Thumb):
            tile = GalleryTile(item.id, thumb, full, "photograph" if item.source == "photograph" else "")
        elif thumb is None:
            tile = GalleryTile(item.id, kind="no picture", reason="the item names none inside the study")
        else:
            tile = GalleryTile(item.id, kind="broken", reason=one_way(str(thumb.found)))
        tiles[item.prompt or "", item.generator or NO_GENERATOR].append(tile)
    for line in read_generations(place)[0].values():
        if not line.ok and line.item not in {tile.item for tile in tiles[line.prompt, line.generator]}:
            reason = one_way(shorten(line.reason or "", 200))
            tiles[line.prompt, line.generator].append(GalleryTile(line.item, kind=line.kind or "failed", reason=reason))
    generators = list(dict.fromkeys(generator for (_, generator), cell_tiles in tiles.items() if cell_tiles))
    return StudyGallery(
        study=study.name,
        rows=list(_gallery_rows(study, tiles, generators)),
        generators=generators,
        simulated=study.simulated,
        signature=str(Signature(method="gallery", data=study.hash[:12], revision=study.revision)),
        embedded=files is None,
    )


def _gallery_rows(
    study: Study, tiles: dict[tuple[str, str], list[GalleryTile]], generators: Sequence[str]
) -> Iterator[GalleryRow]:
    """Every prompt of the study in its order, and at the end what has no prompt."""
    prompts: list[Prompt | None] = [*study.nouns("prompts")]
    if any(key[0] == "" and cell_tiles for key, cell_tiles in tiles.items()):
        prompts.append(None)
    for prompt in prompts:
        id = "" if prompt is None else prompt.id
        cells = [GalleryCell(generator, tiles.get((id, generator), [])) for generator in generators]
        start, rest = _prompt_paragraphs(prompt)
        category = one_way(prompt.category or "") if prompt else ""
        yield GalleryRow(brief(id) if prompt else NO_PROMPT, category, start, rest, cells)


def _prompt_paragraphs(prompt: Prompt | None) -> tuple[str, list[str]]:
    """The beginning of a prompt, and the paragraphs that a click adds to it."""
    text = one_way(prompt.view()) if prompt else ""
    first, *rest = [part.strip() for part in text.split("\n\n") if part.strip()] or [""]
    if len(first) <= SHORT_TEXT:
        return first, rest
    start = first[:SHORT_TEXT].rsplit(" ", 1)[0]
    return f"{start} …", [f"… {first[len(start) :].strip()}", *rest]


@cache
def _templates() -> Environment:
    loader = PackageLoader("salon.generate", "templates")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)


@cache
def _template_text(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")


# -- one picture -------------------------------------------------------------------------------------------------------

PAPER = (246, 244, 238)
TALLEST = 2.0
"""A row is at most this many times as tall as one of its columns would be wide."""


def sheet_items(items: Sequence[Item], count: int) -> list[Item]:
    """Up to `count` items with a picture, spread over prompts and generators: one per prompt before any second one."""
    pictured = [item for item in items if item.image]
    by_prompt: dict[str | None, list[Item]] = {}
    for item in pictured:
        by_prompt.setdefault(item.prompt, []).append(item)
    turned = [row[number % len(row) :] + row[: number % len(row)] for number, row in enumerate(by_prompt.values())]
    rounds = max((len(row) for row in turned), default=0)
    spread = [row[place] for place in range(rounds) for row in turned if place < len(row)]
    if len(turned) > count:  # from all over the study, not only from its beginning
        spread = [turned[place * len(turned) // count][0] for place in range(count)]
    return spread[:count]


def study_sheet(
    folder: Path | str, *, items: Sequence[str] = (), count: int = 12, columns: int = 4, width: int = 1600
) -> bytes:
    """The PNG of a sheet: the named items in their order, or `count` spread over the study."""
    study = open_study(folder)
    by_id = {item.id: item for item in study.nouns("items")}
    for id in items:
        if id not in by_id or not by_id[id].image:
            raise UnknownReference("an item with a picture is needed", found=repr(id), where=f"study {study.name!r}")
    chosen = [by_id[id] for id in items] or sheet_items(list(by_id.values()), count)
    if not chosen:
        raise UnknownReference("items with pictures are needed", found="none", where=f"study {study.name!r}")
    place = present_folder(Path(folder))
    return contact_sheet((read_picture(place / str(item.image)).image for item in chosen), columns, width)


def contact_sheet(images: Iterable[Image.Image], columns: int, width: int) -> bytes:
    """Rows of `columns` pictures; those of a row share one height, so that posters and slides stand well together."""
    gap = max(8, width // 60)
    rows: list[list[Image.Image]] = []
    remaining = iter(images)
    while pictures := list(islice(remaining, columns)):
        limit = rows[-1][0].height if rows and len(pictures) < columns else TALLEST * width / columns
        rows.append(_fit_row(pictures, columns, width - gap, gap, limit))
    sheet = Image.new("RGB", (width, gap + sum(row[0].height + gap for row in rows)), PAPER)
    top = gap
    for row in rows:
        left = gap
        for image in row:
            sheet.paste(image, (left, top))
            left += image.width + gap
        top += row[0].height + gap
    target = io.BytesIO()
    sheet.save(target, "PNG", optimize=True)
    return target.getvalue()


def _fit_row(images: Sequence[Image.Image], columns: int, width: int, gap: int, limit: float) -> list[Image.Image]:
    """The pictures at the height at which as many as there are columns fill `width`; never taller than `limit`."""
    ratios = [image.width / image.height for image in images]
    across = sum(ratios) * columns / len(images)
    height = min((width - columns * gap) / across, limit)
    return [
        image.resize((max(1, int(height * ratio)), max(1, int(height))), Image.Resampling.LANCZOS, reducing_gap=2.0)
        for image, ratio in zip(images, ratios)
    ]
