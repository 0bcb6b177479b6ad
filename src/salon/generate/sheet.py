"""A contact sheet as one picture: a grid of items on paper, for a README or a talk."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from PIL import Image

from salon.errors import UnknownReference
from salon.store.atomic import present
from salon.store.folder import open_study
from salon.store.pictures import read_picture
from salon.study import Item

PAPER = (246, 244, 238)
TALLEST = 2.0
"""A row is at most this many times as tall as one of its columns would be wide."""


def sheet_items(items: Sequence[Item], count: int) -> list[Item]:
    """Up to `count` items with a picture, spread over prompts and generators: one per prompt before any second one."""
    shown = [item for item in items if item.image]
    by_prompt: dict[str | None, list[Item]] = {}
    for item in shown:
        by_prompt.setdefault(item.prompt, []).append(item)
    turned = [held[number % len(held) :] + held[: number % len(held)] for number, held in enumerate(by_prompt.values())]
    rounds = max((len(held) for held in turned), default=0)
    spread = [held[place] for place in range(rounds) for held in turned if place < len(held)]
    if len(turned) > count:  # from all over the study, not only from its beginning
        spread = [turned[place * len(turned) // count][0] for place in range(count)]
    return spread[:count]


def study_sheet(
    folder: Path | str, *, items: Sequence[str] = (), count: int = 12, columns: int = 4, width: int = 1600
) -> bytes:
    """The PNG of a sheet: the named items in their order, or `count` spread over the study."""
    study = open_study(folder)
    held = {item.id: item for item in study.nouns("items")}
    for id in items:
        if id not in held or not held[id].image:
            raise UnknownReference("an item with a picture is needed", found=repr(id), where=f"study {study.name!r}")
    chosen = [held[id] for id in items] or sheet_items(list(held.values()), count)
    if not chosen:
        raise UnknownReference("items with pictures are needed", found="none", where=f"study {study.name!r}")
    place = present(Path(folder))
    return contact_sheet((read_picture(place / str(item.image)).image for item in chosen), columns, width)


def contact_sheet(images: Iterable[Image.Image], columns: int, width: int) -> bytes:
    """Rows of `columns` pictures; those of a row share one height, so that posters and slides stand well together."""
    gap = max(8, width // 60)
    rows: list[list[Image.Image]] = []
    for row in _rows(images, columns):
        limit = rows[-1][0].height if rows and len(row) < columns else TALLEST * width / columns
        rows.append(_row(row, columns, width - gap, gap, limit))
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


def _rows(images: Iterable[Image.Image], columns: int) -> Iterator[list[Image.Image]]:
    held: list[Image.Image] = []
    for image in images:
        held.append(image)
        if len(held) == columns:
            yield held
            held = []
    if held:
        yield held


def _row(images: Sequence[Image.Image], columns: int, width: int, gap: int, limit: float) -> list[Image.Image]:
    """The pictures at the height at which as many as there are columns fill `width`; never taller than `limit`."""
    ratios = [image.width / image.height for image in images]
    across = sum(ratios) * columns / len(images)
    height = min((width - columns * gap) / across, limit)
    return [
        image.resize((max(1, int(height * ratio)), max(1, int(height))), Image.Resampling.LANCZOS, reducing_gap=2.0)
        for image, ratio in zip(images, ratios)
    ]
