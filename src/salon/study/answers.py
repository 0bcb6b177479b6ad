"""What judges are asked, and how their answers are read: points of a checklist, routes, remarks, reasoning left out.

A point is one thing that is so or not. A route says which judges answer points with a tag, and how they are combined.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from salon.errors import UnknownReference
from salon.study.nouns import Noun, Prompt

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


def find_route(point: Point, routes: Sequence[Route]) -> Route:
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
    return [point for point in points if judge in find_route(point, routes).judges]


def majority_of_samples(values: Sequence[float | None]) -> bool | None:
    """What more than half of the samples say of a point; None where there is no such half."""
    yes, no = (sum(value == answer for value in values) for answer in (1.0, 0.0))
    return True if 2 * yes > len(values) else False if 2 * no > len(values) else None


def agreed(answers: Sequence[bool | None], rule: Rule) -> bool | None:
    """One answer out of several. Unanimous: yes where all say yes, no as soon as one says no."""
    if rule == "majority":
        return majority_of_samples([None if answer is None else float(answer) for answer in answers])
    if False in answers:
        return False
    return None if None in answers else True


# -- remarks about a picture -------------------------------------------------------------------------------------------


class Remark(Noun):
    """One thing that was noticed."""

    about: str = Field(min_length=1, description="A word or two: style, mood, typography.")
    """A word or two: style, mood, typography, hierarchy ..."""
    finding: str = Field(description="What was found, in a sentence.")
    """What was found, in a sentence."""


class Diagnosis(Noun):
    """Remarks about a picture, and the prompt revised by them."""

    remarks: tuple[Remark, ...]
    """None where nothing is to be mended."""
    prompt: Prompt
    """Under the id and category of the original."""


# -- answers without reasoning -----------------------------------------------------------------------------------------

_THINK_TAG = re.compile(r"<(/?)think>|◁(/?)think▷", re.IGNORECASE)
_REASONING_TAG = re.compile(r"<(/?)(thinking|thoughts?|reasoning)>", re.IGNORECASE)
_CHANNEL, _FINAL = "<|channel|>", "<|channel|>final<|message|>"


def strip_reasoning(text: str) -> str | None:
    """What follows the last thought, or stands around blocks of reasoning; None where a thought never ends."""
    text = text.rpartition(_FINAL)[2]
    ends = [tag.end() for tag in _THINK_TAG.finditer(text) if tag[1] or tag[2]]
    text = text[ends[-1] :] if ends else text
    if _CHANNEL in text or _THINK_TAG.search(text):
        return None
    # A block that ends without having begun began in the question: nothing before it was said
    parts: list[str] = []
    at, inside = 0, ""
    for tag in _REASONING_TAG.finditer(text):
        name = tag[2].lower()
        if not inside and tag[1]:
            parts, at = [], tag.end()
        elif not inside:
            parts.append(text[at : tag.start()])
            inside = name
        elif inside == name and tag[1]:
            at, inside = tag.end(), ""
    return None if inside else "".join(parts) + text[at:]
