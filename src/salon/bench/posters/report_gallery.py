"""What went wrong as a gallery: the poster, what was wanted, what was said, and what was read of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from salon.bench.posters.files import find_picture
from salon.bench.posters.results import Failure, PosterReport
from salon.report import Block, Details, Section
from salon.report.filmstrip import film, shown, told
from salon.report.svg import element
from salon.report.words import counted, one_way
from salon.store.thumbs import picture_url

_SIDE = 480
"""Pixels of the longer side of a picture on the page."""


@dataclass(frozen=True)
class FailureGallery(Block):
    """Answers side by side; pictures are data URLs by the number of their item."""

    cases: tuple[Failure, ...]
    pictures: dict[int, str]

    def __html__(self) -> str:
        return film(*(self._case(case) for case in self.cases))

    def _case(self, case: Failure) -> Markup:
        said = (("wanted", case.wanted), ("said", case.said), ("read", case.read))
        lines = (told(label, one_way(words) or "nothing") for label, words in said)
        return element("div", shown(self.pictures.get(case.number, ""), case.name), *lines)


def gallery_section(report: PosterReport, pictures: Path | None) -> list[Section]:
    """The failures of each task behind a line, those of the first one open."""
    tasks = [task for task in report.tasks if task.failures and not task.posters]
    blocks = [
        Details(
            Markup("{} <span class='soft'>{}</span>").format(task.title, counted(len(task.failures), "answer")),
            [FailureGallery(task.failures, _shown(task.failures, pictures))],
            open=number == 0,
        )
        for number, task in enumerate(tasks)
    ]
    return (
        [Section("Failures", blocks, "The worst answers of each task, those that were read first.")] if blocks else []
    )


def _shown(cases: Sequence[Failure], folder: Path | None) -> dict[int, str]:
    return small_pictures({case.number: case.path for case in cases}, folder)


def small_pictures(files: Mapping[int, str], folder: Path | None) -> dict[int, str]:
    """Pictures for the page by the number of their item; those that are not there or cannot be read are left out."""
    if folder is None:
        return {}
    paths = {number: find_picture(folder, file) for number, file in files.items()}
    return {number: url for number, path in paths.items() if path is not None and (url := picture_url(path, _SIDE))}
