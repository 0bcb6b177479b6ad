"""Before a study is shown to anybody: is every picture there, whole, of one shape within its prompt, and different?

A rater who sees a broken picture, or a square beside a banner, answers another question than the one asked.
"""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from salon.errors import BadFile
from salon.generate.record import Generation, read_generations
from salon.store import is_inside, open_study, present_folder, read_picture
from salon.study import Item, Noun, Study

READY_FORMAT: Final = "salon-ready-1"
ProblemKind = Literal[
    "no picture", "broken picture", "aspect ratio", "same picture twice", "failed", "missing", "nothing"
]


class ReadySettings(Noun):
    """How `salon ready` works."""

    tolerance: float = Field(
        0.01, ge=0, lt=1, description="How far aspect ratios of one prompt may differ, as a share of the ratio."
    )
    partial: bool = Field(False, description="Prompts may lack the item of a generator.")


class ReadyProblem(Noun):
    """Something that raters should not meet."""

    kind: ProblemKind = Field(description="What is wrong, in a word or two.")
    where: str = Field(description="Id of the item or of the prompt.")
    told: str = Field(description="What was found, in one sentence.")


class SizeCount(Noun):
    """Items of one size."""

    width: int = Field(description="Pixels from left to right.")
    height: int = Field(description="Pixels from top to bottom.")
    items: int = Field(description="How many items have it.")


class ReadyReport(Noun):
    """Is a study ready to be shown, and if not, why."""

    format: Literal["salon-ready-1"] = Field(READY_FORMAT, description="Name and version of this shape.")
    study: str = Field(description="The study folder.")
    ready: bool = Field(description="The answer: no problem was found.")
    prompts: int = Field(description="Prompts in the study.")
    items: int = Field(description="Items in the study.")
    generators: tuple[str, ...] = Field(description="Generators of the items.")
    sizes: tuple[SizeCount, ...] = Field(description="Sizes of the pictures, the most frequent first.")
    problems: tuple[ReadyProblem, ...] = Field(description="Everything that was found.")
    notes: tuple[str, ...] = Field(description="What is no problem but should be known.")

    def kinds(self) -> list[tuple[ProblemKind, int]]:
        """Problems by kind, the most frequent first."""
        return Counter(problem.kind for problem in self.problems).most_common()


@dataclass(frozen=True)
class _DecodedItem:
    """A picture that was decoded."""

    item: Item
    width: int
    height: int
    sha256: str


def check_ready(
    folder: Path | str, settings: ReadySettings | None = None, progress: Callable[[str], None] | None = None
) -> ReadyReport:
    """Look at every picture of the study in `folder`."""
    settings = settings or ReadySettings()
    study = open_study(folder)
    place = present_folder(Path(folder))
    items = list(study.nouns("items"))
    lines, torn = read_generations(place)
    # every picture decoded whole, on all cores
    step = progress or (lambda _: None)
    pictures: list[_DecodedItem] = []
    problems: list[ReadyProblem] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for item, result in zip(items, pool.map(lambda item: _decode(item, place), items)):
            step(item.id)
            if isinstance(result, ReadyProblem):
                problems.append(result)
            else:
                pictures.append(result)
    problems += _shapes(pictures, settings.tolerance)
    problems += _twins(pictures)
    problems += _failed(items, lines.values())
    problems += [] if settings.partial else _missing(study, items, lines.values())
    if not items:
        problems.append(ReadyProblem(kind="nothing", where=study.name, told="the study has no items"))
    sizes = Counter((picture.width, picture.height) for picture in pictures)
    return ReadyReport(
        study=str(folder),
        ready=not problems,
        prompts=study.table("prompts").num_rows,
        items=len(items),
        generators=tuple(_generators(items)),
        sizes=tuple(SizeCount(width=w, height=h, items=count) for (w, h), count in sizes.most_common()),
        problems=tuple(problems),
        notes=tuple(_notes(items, pictures, torn)),
    )


def _decode(item: Item, folder: Path) -> _DecodedItem | ReadyProblem:
    if item.image is None:
        return ReadyProblem(kind="no picture", where=item.id, told="the item names no picture")
    path = folder / item.image
    if not is_inside(path, folder):
        return ReadyProblem(kind="no picture", where=item.id, told=f"{item.image} leads out of the study folder")
    try:
        picture = read_picture(path)
    except BadFile as error:
        kind: ProblemKind = "broken picture" if path.exists() else "no picture"
        return ReadyProblem(kind=kind, where=item.id, told=f"{item.image}: {error.found}")
    return _DecodedItem(item, picture.width, picture.height, picture.sha256)


def _by_prompt(pictures: Iterable[_DecodedItem]) -> dict[str, list[_DecodedItem]]:
    groups: dict[str, list[_DecodedItem]] = defaultdict(list)
    for picture in pictures:
        if picture.item.prompt is not None:
            groups[picture.item.prompt].append(picture)
    return groups


def _shapes(pictures: Sequence[_DecodedItem], tolerance: float) -> Iterator[ReadyProblem]:
    """Prompts whose widest and tallest pictures differ by more than `tolerance`."""
    for prompt, group in _by_prompt(pictures).items():
        ratios = sorted(group, key=lambda picture: picture.width / picture.height)
        tall, wide = ratios[0], ratios[-1]
        if wide.width * tall.height > tall.width * wide.height * (1 + tolerance):
            sizes = " and ".join(f"{picture.width}x{picture.height} ({picture.item.id})" for picture in (tall, wide))
            yield ReadyProblem(kind="aspect ratio", where=prompt, told=sizes)


def _twins(pictures: Sequence[_DecodedItem]) -> Iterator[ReadyProblem]:
    for prompt, group in _by_prompt(pictures).items():
        same: dict[str, list[str]] = defaultdict(list)
        for picture in group:
            same[picture.sha256].append(picture.item.id)
        for ids in same.values():
            if len(ids) > 1:
                yield ReadyProblem(kind="same picture twice", where=prompt, told=" and ".join(ids))


def _failed(items: Sequence[Item], lines: Iterable[Generation]) -> Iterator[ReadyProblem]:
    there = {item.id for item in items}
    for line in lines:
        if not line.ok and line.item not in there:
            yield ReadyProblem(kind="failed", where=line.item, told=f"{line.kind}: {line.reason}")


def _missing(study: Study, items: Sequence[Item], lines: Iterable[Generation]) -> Iterator[ReadyProblem]:
    """Prompts without the item of a generator that others have; recorded failures are told already."""
    pairs = {(item.prompt, item.generator) for item in items}
    pairs |= {(line.prompt, line.generator) for line in lines if not line.ok}
    for prompt in study.ids("prompts").to_pylist():
        for generator in _generators(items):
            if (prompt, generator) not in pairs:
                yield ReadyProblem(kind="missing", where=prompt, told=f"no item by {generator}")


def _generators(items: Sequence[Item]) -> list[str]:
    return list(dict.fromkeys(item.generator for item in items if item.generator is not None))


def _notes(items: Sequence[Item], pictures: Sequence[_DecodedItem], torn: str | None) -> Iterator[str]:
    if torn:
        yield torn
    photographs = sum(item.source == "photograph" for item in items)
    if photographs:
        yield f"{photographs} items are photographs"
    mixed = [
        prompt
        for prompt, group in _by_prompt(pictures).items()
        if len({(picture.width, picture.height) for picture in group}) > 1
    ]
    if mixed:
        yield f"{len(mixed)} prompts have pictures of different sizes, first {mixed[0]}"
