"""Several judges for one checklist: what they say together of every point.

A judge that gave no readable answer counts among those asked: two of three must agree, not one of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from salon.errors import UnknownReference
from salon.judge.folder import judge_folder, judge_names, read_verdicts
from salon.study.noun import Noun
from salon.study.point import Point, Route, Rule, agreed, route_of, settled_point

Answers = dict[tuple[str, str, str], bool | None]
"""(criterion, item, point) -> what one judge says of it; None where it could not be read."""


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
