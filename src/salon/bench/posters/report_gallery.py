"""What went wrong as a gallery: the poster, what was wanted, what was said, and what was read of it."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from salon.bench.posters.files import find_picture
from salon.bench.posters.results import Failure, PosterReport
from salon.errors import SalonError
from salon.report import Block, Details, Section
from salon.report.svg import element
from salon.report.words import brief, counted, one_way
from salon.store.pictures import read_picture

_SIDE = 480
"""Pixels of the longer side of a picture on the page."""
_GRID = (
    "display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,15rem),1fr));gap:2rem 1.6rem;"
    "align-items:start;margin:1.2rem 0"
)
_IMAGE = "display:block;width:100%;height:12rem;object-fit:contain;background:var(--null-wash)"
_NONE = (
    "display:flex;height:5rem;align-items:center;justify-content:center;background:var(--null-wash);color:var(--soft);"
    "font-size:.8125rem"
)
_LINE = "margin:.45rem 0 0;font-size:.8125rem;line-height:1.4;overflow-wrap:anywhere"
_LABEL = "color:var(--soft);display:block;font-size:.6875rem;letter-spacing:.06em;text-transform:uppercase"


@dataclass(frozen=True)
class FailureGallery(Block):
    """Answers side by side; pictures are data URLs by the number of their item."""

    cases: tuple[Failure, ...]
    pictures: dict[int, str]

    def __html__(self) -> str:
        return element("div", *(self._case(case) for case in self.cases), style=_GRID)

    def _case(self, case: Failure) -> Markup:
        if case.number in self.pictures:
            shown = Markup('<img src="{}" alt="{}" style="{}">').format(
                self.pictures[case.number], brief(case.name), _IMAGE
            )
        else:
            shown = element("div", "no picture", style=_NONE)
        return element("div", shown, _line("wanted", case.wanted), _line("said", case.said), _line("read", case.read))


def _line(label: str, words: str) -> Markup:
    return element("p", element("span", label, style=_LABEL), one_way(words) or "nothing", style=_LINE)


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
    if folder is None:
        return {}
    paths = {case.number: find_picture(folder, case.path) for case in cases}
    return {number: url for number, path in paths.items() if path is not None and (url := picture_url(path))}


def picture_url(path: Path) -> str | None:
    """The picture small; None for one that cannot be read."""
    try:
        image = read_picture(path).image
    except SalonError:
        return None
    image.thumbnail((_SIDE, _SIDE), reducing_gap=2.0)
    target = io.BytesIO()
    image.save(target, "WEBP", quality=80, method=3)
    return "data:image/webp;base64," + base64.b64encode(target.getvalue()).decode()
