"""Capability: what the judges of every route say of every point of every picture.

A point of a picture is settled twice, by the rule of its route (`salon.study.point.agreed`): once with every answer
that is not there yet taken as FAIL, once as PASS. What holds both times is settled; the rest is open.

    holds          the rule says PASS with open answers as FAIL
    may hold       the rule says PASS with open answers as PASS
    a picture      passes where all its points hold (`passes = "all"`), or counts with the share that do

A missing picture fails every point; an answer that could not be read is no PASS. So taking away a picture or an
answer never raises anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import pyarrow as pa

from salon.bench.entry import ANSWERS, Pictured
from salon.bench.results import Coverage
from salon.bench.suite import Suite
from salon.bench.wanted import is_there
from salon.errors import BadColumns, BadValue, ConflictingJudgment, TooFew, UnknownReference
from salon.study.point import Point, Route, agreed, route_of

Said = Literal["pass", "fail", "unread"]
Status = Literal["pass", "fail", "unread", "open"]
Answers = dict[tuple[str, str, str], Said]
"""(item, point, judge) -> what was said."""
_MEANS: dict[Said, bool | None] = {"pass": True, "fail": False, "unread": None}


@dataclass(frozen=True)
class SettledPicture:
    """One picture with all its points settled."""

    picture: Pictured
    points: dict[str, Status]
    may_hold: int
    """Points that hold if every open answer is PASS."""
    said: dict[str, dict[str, str]]
    """By point and judge; judges that were not asked, or have not answered, are not there."""
    asked: int
    """Answers wanted, of a picture that is there."""
    share: bool
    """Whether the picture counts with the share of its points."""

    @property
    def holds(self) -> int:
        """Points that hold."""
        return sum(status == "pass" for status in self.points.values())

    @property
    def passed(self) -> float:
        """1 or 0, or the share of points; everything open fails."""
        return self._worth(self.holds)

    @property
    def passed_at_best(self) -> float:
        """The same if everything open passes."""
        return self._worth(self.may_hold)

    def _worth(self, holds: int) -> float:
        return holds / len(self.points) if self.share else float(holds == len(self.points))


def read_answers(answers: pa.Table, pictures: Sequence[Pictured], points: Iterable[Point]) -> Answers:
    """The table's rows by item, point and judge; a second answer, a strange item, point or word is refused."""
    for name in ANSWERS.names[:4]:
        if name not in answers.column_names:
            raise BadColumns.missing(name, answers.column_names, where="answers")
    items, ids = {picture.item for picture in pictures}, {point.id for point in points}
    found: Answers = {}
    for item, point, judge, said in zip(*(answers.column(name).to_pylist() for name in ANSWERS.names[:4]), strict=True):
        where = f"judge {judge!r} on point {point!r} of item {item!r}"
        if item not in items or point not in ids:
            raise UnknownReference("answers are about the entry's pictures and the suite's points", found=where)
        if said not in get_args(Said):
            raise BadValue("an answer is pass, fail or unread", found=repr(said), where=where)
        if (item, point, judge) in found:
            raise ConflictingJudgment("one answer of every judge to every point", found="two", where=where)
        found[item, point, judge] = said
    return found


def settle_points(suite: Suite, answers: Answers, pictures: Sequence[Pictured]) -> list[SettledPicture]:
    """Every picture by the suite's routes."""
    return _settled(suite, answers, pictures, suite.routes)


def settle_by(judge: str, suite: Suite, answers: Answers, pictures: Sequence[Pictured]) -> list[SettledPicture]:
    """Every picture by one judge alone, such as the suite's oracle."""
    return _settled(suite, answers, pictures, [Route(tag="*", judges=(judge,))])


def routed(suite: Suite) -> dict[str, tuple[str, ...]]:
    """The judges of every point, by its id."""
    return {point.id: route_of(point, suite.routes).judges for point in suite.points}


def capability_coverage(settled: Sequence[SettledPicture]) -> Coverage:
    """What Capability rests on."""
    said = [word for one in settled for by_judge in one.said.values() for word in by_judge.values()]
    asked, unread = sum(one.asked for one in settled), said.count("unread")
    return Coverage(
        wanted=len(settled),
        made=sum(is_there(one.picture) for one in settled),
        asked=asked,
        given=len(said) - unread,
        unread=unread,
        open=asked - len(said),
    )


def _settled(
    suite: Suite, answers: Answers, pictures: Sequence[Pictured], routes: Sequence[Route]
) -> list[SettledPicture]:
    by_prompt = _points_of(suite)
    route = {point.id: route_of(point, routes) for point in suite.points}
    return [_picture(picture, by_prompt[picture.prompt], route, answers, suite) for picture in pictures]


def _points_of(suite: Suite) -> dict[str, list[Point]]:
    """The points of every prompt; those without a prompt belong to all."""
    by_prompt: dict[str, list[Point]] = {one.prompt.id: [] for one in suite.prompts}
    for point in suite.points:
        for prompt in by_prompt if point.prompt is None else [point.prompt]:
            by_prompt[prompt].append(point)
    empty = [prompt for prompt, points in by_prompt.items() if not points]
    if empty:
        raise TooFew("every prompt needs a point", found=f"{len(empty)} without, the first {empty[0]!r}")
    return by_prompt


def _picture(
    picture: Pictured, points: Sequence[Point], route: Mapping[str, Route], answers: Answers, suite: Suite
) -> SettledPicture:
    share = suite.card.passes == "share"
    if not is_there(picture):
        return SettledPicture(picture, {point.id: "fail" for point in points}, 0, {}, 0, share)
    said = {point.id: _said(picture.item, point.id, route[point.id], answers) for point in points}
    states = {point.id: _status(said[point.id], route[point.id]) for point in points}
    return SettledPicture(
        picture=picture,
        points=states,
        may_hold=sum(status in ("pass", "open") for status in states.values()),
        said={point: dict(by_judge) for point, by_judge in said.items()},
        asked=sum(len(route[point.id].judges) for point in points),
        share=share,
    )


def _said(item: str, point: str, route: Route, answers: Answers) -> dict[str, Said]:
    return {judge: answers[item, point, judge] for judge in route.judges if (item, point, judge) in answers}


def _status(said: Mapping[str, Said], route: Route) -> Status:
    """What the judges say together, whatever the open answers turn out to be; else open. A split is no PASS."""
    worst, best = (
        agreed([_MEANS[said[judge]] if judge in said else opened for judge in route.judges], route.rule)
        for opened in (False, True)
    )
    if worst is True:
        return "pass"
    if best is True:
        return "open"
    return "unread" if best is None and "unread" in said.values() else "fail"
