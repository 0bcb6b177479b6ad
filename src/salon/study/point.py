"""Points of a checklist, and routes: which judges answer which kind of point, and how they agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from salon.errors import UnknownReference
from salon.study.noun import Noun

Rule = Literal["majority", "unanimous"]


class Point(Noun):
    """One thing that is so or not."""

    id: str = Field(min_length=1)
    text: str | None = None
    """What is asked; the id where it is left out."""
    prompt: str | None = None
    """The prompt whose items it is asked about; every item where it is left out."""
    criterion: str | None = None
    """The criterion it belongs to; may be left out where a run has only one."""
    tag: str | None = None
    """The kind of task, for routing: text, counting, color ..."""
    rule: dict[str, Any] | None = None
    """How pixels answer it, for judges that measure: the measurement and what it must reach."""


class Route(Noun):
    """Who answers points with this tag."""

    tag: str
    judges: tuple[str, ...] = Field(min_length=1)
    rule: Rule = "majority"


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


def settled_point(values: Sequence[float | None]) -> bool | None:
    """What more than half of the samples say of a point; None where there is no such half."""
    yes, no = (sum(value == answer for value in values) for answer in (1.0, 0.0))
    return True if 2 * yes > len(values) else False if 2 * no > len(values) else None


def agreed(answers: Sequence[bool | None], rule: Rule) -> bool | None:
    """One answer out of several. Unanimous: yes where all say yes, no as soon as one says no."""
    if rule == "majority":
        return settled_point([None if answer is None else float(answer) for answer in answers])
    if False in answers:
        return False
    return None if None in answers else True
