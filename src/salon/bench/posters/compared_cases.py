"""Items on which contestants differ most, with everybody's answer: what a comparison looks like from near."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pydantic import Field

from salon.bench.posters.failures import describe_answer, item_worth
from salon.bench.posters.metrics_items import Scored
from salon.bench.posters.task import TASKS
from salon.study.noun import Noun

MOST = 4
"""Items shown of each task."""
_LONGEST = 400


class CaseAnswer(Noun):
    """What one contestant made of an item."""

    said: str = Field(description="The response, or the judge's words on a poster, shortened; empty where none.")
    read: str = Field(description="What was read of it, or why nothing was.")
    worth: float = Field(description="What it is worth by the task's first metric.")
    path: str = Field(description="Where the picture stands that it is about: of a generator, its own.")


class ComparedCase(Noun):
    """One item and everybody's answer."""

    task: str = Field(description="Name of the task.")
    number: int = Field(description="Its place in the file, from 0.")
    name: str = Field(description="Its name.")
    path: str = Field(description="Where its picture stands.")
    prompt: str = Field(description="What was asked, shortened.")
    wanted: str = Field(description="The truth.")
    answers: tuple[CaseAnswer | None, ...] = Field(description="In the order of the contestants; null: not asked.")


def compared_cases(scored: Sequence[Mapping[str, Sequence[Scored]]]) -> tuple[ComparedCase, ...]:
    """For each task the items on which contestants are farthest apart; among equals the worse ones first."""
    cases = []
    for task in TASKS:
        asked = [by_task.get(task.name) for by_task in scored]
        items = next((one for one in asked if one is not None), None)
        if items is None:
            continue

        def distance(at: int, asked: list[Sequence[Scored] | None] = asked) -> tuple[float, float]:
            worths = [item_worth(one[at].item.task, one[at]) for one in asked if one is not None]
            return max(worths) - min(worths), -sum(worths)

        chosen = sorted(range(len(items)), key=distance, reverse=True)[:MOST]
        cases += [_case([None if one is None else one[at] for one in asked]) for at in chosen]
    return tuple(cases)


def _case(answers: Sequence[Scored | None]) -> ComparedCase:
    first = next(one for one in answers if one is not None)
    item = first.item
    told = [None if one is None else describe_answer(item.task, one) for one in answers]
    prompt = " ".join(item.prompt.split())
    return ComparedCase(
        task=item.task.name,
        number=item.number,
        name=item.name,
        path=item.path,
        prompt=prompt if len(prompt) <= _LONGEST else prompt[: _LONGEST - 1] + "…",
        wanted=describe_answer(item.task, first).wanted,
        answers=tuple(
            None if one is None else CaseAnswer(said=one.said, read=one.read, worth=one.worth, path=one.path)
            for one in told
        ),
    )
