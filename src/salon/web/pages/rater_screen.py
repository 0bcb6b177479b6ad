"""What the page of a question tells: pictures under code-names, criteria as they are asked, pairs of a ranking."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from fastapi import Request

from salon.collect.language import criterion_question
from salon.collect.merge_ranking import NextPair, Settled, most_questions, next_merge_step
from salon.collect.studio.ranking import is_merged
from salon.collect.studio.steps import ShownTask
from salon.collect.studio.studio import Studio
from salon.study import Criterion
from salon.web.images import Images
from salon.web.pages.rater_form import short_pairs
from salon.web.words import PageWords

_NUMBERED = 7
"""Scales with more levels stand in one narrow row."""


@dataclass(frozen=True)
class Picture:
    """One place on the screen."""

    name: str
    alt: str
    screen: str | None
    full: str | None


def screen_of(task: ShownTask, request: Request, rater: str) -> dict[str, Any]:
    """All that the page of a question tells."""
    studio: Studio = request.app.state.studio
    images: Images = request.app.state.images
    words = PageWords(studio.settings.language)
    question, phase = task.shown.question, task.phase
    rationale = phase.rationale if phase else "none"
    merging = _merging(task)
    return {
        "task": task,
        "kind": "merge" if isinstance(merging, NextPair) else question.kind,
        "key": secrets.token_urlsafe(18),
        "pictures": _pictures(task, images, rater, words),
        "asked": [
            _asked(criterion, question.kind, words) | {"references": _references(criterion.id, studio, images, rater)}
            for criterion in task.criteria
        ],
        "ties": bool(phase and phase.ties),
        "both_bad": bool(phase and phase.both_bad),
        "rationale": rationale,
        "direct": len(task.criteria) == 1 and rationale == "none",
        "instructed": _instructed(task, words),
        "merging": merging,
        "sides": _sides(merging, task.id + len(task.pairs)),
        "ranks": _ranks(merging, len(question.items)),
        "pairs": short_pairs(task.pairs),
        "most_pairs": most_questions(len(question.items)),
    }


def _merging(task: ShownTask) -> NextPair | Settled | None:
    """The next pair of a ranking by pairs, or the order they settle; None for all other screens."""
    if not is_merged(task.shown.question, task.phase):
        return None
    return next_merge_step(len(task.shown.order), task.pairs)


def _sides(merging: NextPair | Settled | None, turn: int) -> list[tuple[int, str]]:
    """The two places of a pair and what choosing each says, left and right by turns: sides must not tell."""
    if not isinstance(merging, NextPair):
        return []
    sides = [(merging.first, "1"), (merging.second, "2")]
    return sides[::-1] if turn % 2 else sides


def _ranks(merging: NextPair | Settled | None, places: int) -> list[int]:
    """The rank that stands beside each place at first."""
    if not isinstance(merging, Settled):
        return list(range(1, places + 1))
    found = {place: rank for rank, tier in enumerate(merging.tiers, 1) for place in tier}
    return [found[place] for place in range(places)]


def _pictures(task: ShownTask, images: Images, rater: str, words: PageWords) -> list[Picture]:
    sides = ("compare.picture_left", "compare.picture_right") if task.shown.question.kind == "compare" else ()
    made = []
    for place, (item, name) in enumerate(zip(task.shown.order, task.shown.code_names)):
        alt = words(sides[place], name=name) if sides else name
        screen, full = (images.rater_address(item, size, rater=rater, task=task.id) for size in ("screen", "full"))
        made.append(Picture(name, alt, screen, full))
    return made


def _asked(criterion: Criterion, kind: str, words: PageWords) -> dict[str, Any]:
    """A criterion as it is asked: its question, and a key on the keyboard for each level."""
    scale = criterion.scale
    levels = scale.levels if scale else ()
    labels = scale.labels if scale and scale.labels else ("",) * len(levels)
    return {
        "title": criterion.title,
        "question": criterion_question(criterion, kind, words),
        "rubric": criterion.rubric,
        "scale": scale,
        "levels": [
            {"value": f"{value:g}", "label": label, "key": _key(value, place)}
            for place, (value, label) in enumerate(zip(levels, labels))
        ],
        "row": len(levels) > _NUMBERED,
    }


def _references(criterion: str, studio: Studio, images: Images, rater: str) -> list[dict[str, Any]]:
    """The pictures of the reference panel for a criterion, lowest level first."""
    panel = [reference for reference in studio.settings.references if reference.criterion == criterion]
    return [
        {
            "address": images.reference_address(reference.image, "thumbnail", rater=rater),
            "level": f"{reference.level:g}",
            "note": reference.note,
        }
        for reference in sorted(panel, key=lambda reference: reference.level)
    ]


def _key(value: float, place: int) -> str:
    """The digit that stands for a level: its own value, 0 for ten; else its place."""
    if value == 10:
        return "0"
    number = int(value) if value == int(value) and 0 <= value <= 9 else place + 1
    return str(number) if number <= 9 else ""


def _instructed(task: ShownTask, words: PageWords) -> str:
    """What an attention check says."""
    wanted = task.shown.screen().get("instructed")
    if wanted is None:
        return ""
    if task.shown.question.expected_item is None:
        return words("attention.choose_value", value=f"{wanted:g}")
    return words("attention.choose_picture", name=task.shown.code_names[wanted])
