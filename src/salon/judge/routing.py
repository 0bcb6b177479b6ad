"""Several judges for one checklist: which judge answers which kind of point, and what they say together.

Routes are a TOML file. A point goes by its tag to the first route that names it; `*` stands for every other tag:

    [[route]]
    tag = "text"
    judges = ["ocr-vlm"]

    [[route]]
    tag = "*"
    judges = ["gpt", "qwen", "gemma"]
    rule = "majority"          # or "unanimous": yes only where all say yes

A judge that gave no readable answer counts among those asked: two of three must agree, not one of one.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import pyarrow as pa
from pydantic import Field

from salon.errors import BadFile, UnknownReference
from salon.judge.checklist import Point
from salon.judge.folder import judge_folder, judge_names, read_verdicts
from salon.judge.judgments import settled_point
from salon.study.noun import Noun

Rule = Literal["majority", "unanimous"]
Answers = dict[tuple[str, str, str], bool | None]
"""(criterion, item, point) -> what one judge says of it; None where it could not be read."""


class Route(Noun):
    """Who answers points with this tag."""

    tag: str
    judges: tuple[str, ...] = Field(min_length=1)
    rule: Rule = "majority"


class Settled(Noun):
    """What the judges of its route say of one point of one item."""

    criterion: str
    item: str
    point: str
    tag: str | None
    rule: Rule
    answer: bool | None
    """None where the rule gives none: no majority, or nothing that could be read."""
    yes: int
    no: int
    unread: int

    @property
    def disputed(self) -> bool:
        """Whether some said yes and some no."""
        return bool(self.yes and self.no)


def read_routes(path: Path) -> list[Route]:
    """The routes in a TOML file."""
    try:
        records = tomllib.loads(path.read_text(encoding="utf-8-sig")).get("route", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadFile("routes in TOML are needed", found=str(error), where=str(path)) from None
    if not isinstance(records, list) or not records:
        raise BadFile("at least one [[route]] is needed", found="none", where=str(path))
    return [Route.parse(record, where=f"{path}, route {number}") for number, record in enumerate(records, 1)]


def route_of(point: Point, routes: Sequence[Route]) -> Route:
    """The first route for the point's tag, or for `*`."""
    for route in routes:
        if route.tag == "*" or route.tag == point.tag:
            return route
    raise UnknownReference(
        f"a route for the tag {point.tag!r} is needed",
        found="routes for " + ", ".join(repr(route.tag) for route in routes),
        where=f"point {point.id!r}",
        remedy='add a [[route]] with that tag, or one with tag = "*"',
    )


def points_for(judge: str, points: Sequence[Point], routes: Sequence[Route]) -> list[Point]:
    """The points that `judge` has to answer, so that it is asked no others."""
    return [point for point in points if judge in route_of(point, routes).judges]


def agreed(answers: Sequence[bool | None], rule: Rule) -> bool | None:
    """One answer out of several. Unanimous: yes where all say yes, no as soon as one says no."""
    if rule == "majority":
        return settled_point([None if answer is None else float(answer) for answer in answers])
    if False in answers:
        return False
    return None if None in answers else True


def settle(points: Sequence[Point], routes: Sequence[Route], judges: Mapping[str, Answers]) -> list[Settled]:
    """What the judges say together of every point and item that any judge of its route was asked about."""
    found = []
    by_point: dict[str, list[tuple[str, str, str]]] = {}
    for key in sorted({key for answers in judges.values() for key in answers}):
        by_point.setdefault(key[2], []).append(key)
    for point in {point.id: point for point in points}.values():
        route = route_of(point, routes)
        for key in by_point.get(point.id, []):
            said = [judges[name].get(key) for name in route.judges]
            found.append(_settled(key, point, route, said))
    return found


def _settled(key: tuple[str, str, str], point: Point, route: Route, said: Sequence[bool | None]) -> Settled:
    criterion, item, name = key
    return Settled(
        criterion=criterion,
        item=item,
        point=name,
        tag=point.tag,
        rule=route.rule,
        answer=agreed(said, route.rule),
        yes=sum(answer is True for answer in said),
        no=sum(answer is False for answer in said),
        unread=sum(answer is None for answer in said),
    )


def judges_answers(study: Path, routes: Sequence[Route]) -> dict[str, Answers]:
    """What every judge of the routes said, from its folder; UnknownReference for one that was not run."""
    known = judge_names(study)
    answers = {}
    for name in dict.fromkeys(name for route in routes for name in route.judges):
        folder = judge_folder(study, name)
        if folder.name not in known:
            raise UnknownReference(
                "the judges of every route must have answered",
                found=f"no answers of {name!r}",
                where=str(study),
                remedy=f"salon judge run STUDY --protocol checklist --name {name} ...; there are {', '.join(known)}",
            )
        answers[name] = _answers(read_verdicts(folder))
    return answers


def _answers(verdicts: pa.Table) -> Answers:
    samples: dict[tuple[str, str, str], list[float | None]] = {}
    columns = verdicts.select(["criterion", "a", "point", "value"]).to_pylist()
    for row in columns:
        if row["point"] is not None:
            samples.setdefault((row["criterion"], row["a"], row["point"]), []).append(row["value"])
    return {key: settled_point(values) for key, values in samples.items()}
