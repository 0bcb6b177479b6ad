"""Checklists: one question for each point, answered by one of two words.

Points come from the study, where people ticked them, or from a file (`salon.store.point_files`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from salon.errors import BadValue, UnknownReference
from salon.judge.pairs import limited
from salon.judge.question import Question
from salon.judge.settings import JudgeSettings
from salon.study import Study
from salon.study.point import Point


def ticked_points(study: Study) -> list[Point]:
    """The points that people ticked in the study, for the prompts they ticked them for."""
    prompts = {item.id: item.prompt for item in study.nouns("items")}
    kinds = {rater.id: rater.kind for rater in study.nouns("raters")}
    found = {
        (point, prompts[noun.item], noun.criterion): None
        for noun in study.nouns("checklists")
        if kinds[noun.rater] != "model"
        for point in noun.points
    }
    return [Point(id=id, prompt=prompt, criterion=criterion) for id, prompt, criterion in found]


def checklist_questions(
    study: Study, criteria: Sequence[str], settings: JudgeSettings, points: Sequence[Point]
) -> list[Question]:
    """One question for each point and item it is about, still without its sample."""
    prompts = {item.id: item.prompt for item in study.nouns("items")}
    chosen = {item for (item,) in limited(((item,) for item in prompts), settings.limit)}
    questions: dict[tuple[str, str, str], Question] = {}
    for point in _checked(study, criteria, points):
        for item, prompt in prompts.items():
            if item in chosen and point.prompt in (None, prompt):
                criterion = point.criterion or criteria[0]
                questions[criterion, item, point.id] = Question(
                    protocol="checklist", criteria=(criterion,), prompt=prompt, a=item, point=point.id
                )
    return [questions[key] for key in sorted(questions)]


def _checked(study: Study, criteria: Sequence[str], points: Sequence[Point]) -> Iterator[Point]:
    """The points of these criteria; each must belong to one, and two points of one item may not share a name."""
    prompts = set(study.ids("prompts").to_pylist())
    texts: dict[tuple[str | None, str], str | None] = {}
    for point in points:
        if point.prompt is not None and point.prompt not in prompts:
            raise UnknownReference("a point's prompt must be in the study", found=repr(point.prompt), where=point.id)
        if point.criterion is None and len(criteria) != 1:
            some = "add criterion to the point, or name one with --criterion"
            raise BadValue(
                f"the point {point.id!r} needs a criterion",
                found=f"none, and {len(criteria)} to choose from",
                remedy=some if criteria else "add [[criteria]] with an id to study.toml",
            )
        if texts.setdefault((point.prompt, point.id), point.text) != point.text:
            raise BadValue("a point's name stands for one text", found=f"{point.id!r} with two texts")
        if point.criterion is None or point.criterion in criteria:
            yield point
