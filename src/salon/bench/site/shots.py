"""Pictures with what was said of them: points ticked or not, answers of judges, chances against the reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypedDict

from salon.bench.results import PictureResult
from salon.bench.site.frame import SiteBlock
from salon.bench.site.pictures import Pictures
from salon.errors import BadFile, shorten
from salon.report import numbers
from salon.store.thumbs import Thumb
from salon.study.point import Point

MARKS = {"pass": "✓", "fail": "✗", "unread": "?", "open": "…"}
SPOKEN = {"pass": "holds", "fail": "does not hold", "unread": "answer not read", "open": "not answered yet"}
LONGEST_WHY = 300

Whys = Mapping[tuple[str, str, str], str]
"""What judges gave as reasons, by item, point and judge."""


@dataclass(frozen=True)
class Tick:
    """One point of one picture."""

    number: int
    state: str
    text: str

    @property
    def mark(self) -> str:
        """A shape for it."""
        return MARKS[self.state]

    @property
    def spoken(self) -> str:
        """For a screen reader, and when pointed at."""
        return f"{self.number}. {self.text}: {SPOKEN[self.state]}"


@dataclass(frozen=True)
class Answer:
    """What one judge said of one point."""

    number: int
    judge: str
    said: str
    why: str = ""

    @property
    def mark(self) -> str:
        """A shape for it."""
        return MARKS.get(self.said, "–")


@dataclass(frozen=True)
class Shot:
    """A picture, or why there is none."""

    title: str
    href: str
    alt: str
    src: str = ""
    width: int = 0
    height: int = 0
    missing: str = ""
    ticks: Sequence[Tick] = ()
    answers: Sequence[Answer] = ()
    scores: Sequence[tuple[str, str, str]] = ()
    """(column, chance against the reference, the logit it comes from)."""
    badge: str = ""

    @property
    def passed(self) -> str:
        """`2 of 3`."""
        return f"{sum(tick.state == 'pass' for tick in self.ticks)} of {len(self.ticks)}"


@dataclass(frozen=True)
class Shots(SiteBlock):
    """Pictures side by side."""

    template: ClassVar[str] = "shots.html"

    shots: Sequence[Shot]
    small: bool = False


class _Seen(TypedDict, total=False):
    """The fields of a shot that show the picture, or say why there is none."""

    src: str
    width: int
    height: int
    missing: str


@dataclass(frozen=True)
class ShotMaker:
    """Makes shots of one page: knows the way to the pictures, and what columns and points are called."""

    root: str
    pictures: Pictures
    columns: Mapping[str, str]
    """Ids and titles of EPS columns, the headline first."""
    points: Mapping[str, Sequence[Point]]
    """By prompt."""

    def shot(
        self,
        entry: str,
        prompt: str,
        result: PictureResult,
        *,
        title: str,
        href: str,
        alt: str,
        whys: Whys | None = None,
        badge: str = "",
    ) -> Shot:
        """One picture of one entry."""
        thumb = self.pictures.get((entry, result.item))
        asked = self.points.get(prompt, ())
        return Shot(
            title=title,
            href=href,
            alt=alt,
            badge=badge,
            ticks=_ticks(asked, result),
            answers=_answers(asked, result, whys) if whys is not None else (),
            scores=self._scores(result),
            **self._seen(thumb, result),
        )

    def _seen(self, thumb: Thumb | BadFile | None, result: PictureResult) -> _Seen:
        if isinstance(thumb, Thumb):
            return {"src": self.root + thumb.src, "width": thumb.width, "height": thumb.height}
        if isinstance(thumb, BadFile):
            return {"missing": f"cannot be read: {shorten(str(thumb.found), 120)}"}
        return {"missing": shorten(result.missing or "no picture", 160)}

    def _scores(self, result: PictureResult) -> list[tuple[str, str, str]]:
        return [
            (title, numbers.fixed(100 * result.wins[id], 0), logit_words(result, id))
            for id, title in self.columns.items()
            if id in result.wins
        ]


def logit_words(result: PictureResult, column: str) -> str:
    """`0.57 ± 0.50`."""
    if column not in result.logits:
        return ""
    spread = f" ± {numbers.fixed(result.sigmas[column], 2)}" if column in result.sigmas else ""
    return numbers.fixed(result.logits[column], 2) + spread


def point_text(point: Point) -> str:
    """What is asked."""
    return point.text or point.id


def _ticks(asked: Sequence[Point], result: PictureResult) -> list[Tick]:
    return [
        Tick(number, result.points[point.id], point_text(point))
        for number, point in enumerate(asked, 1)
        if point.id in result.points
    ]


def _answers(asked: Sequence[Point], result: PictureResult, whys: Whys) -> list[Answer]:
    return [
        Answer(number, judge, said, shorten(whys.get((result.item, point.id, judge), ""), LONGEST_WHY))
        for number, point in enumerate(asked, 1)
        for judge, said in sorted(result.said.get(point.id, {}).items())
    ]
