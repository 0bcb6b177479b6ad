"""Answers that went wrong, for the gallery: given and read ones first, the worst of them first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from salon.bench.posters.answers import Read, Unread
from salon.bench.posters.answers_boxes import BoxAnswer
from salon.bench.posters.metrics_items import Scored
from salon.bench.posters.results import Failure
from salon.bench.posters.task import Task

MOST = 6
"""Failures kept of each task."""
_LONGEST = 240


def failures(task: Task, scored: Sequence[Scored]) -> list[Failure]:
    """The worst answers of a task."""
    wrong = sorted(
        (one for one in scored if item_worth(task, one) < 1), key=lambda one: (_kind(one), item_worth(task, one))
    )
    return [describe_answer(task, one) for one in wrong[:MOST]]


def item_worth(task: Task, one: Scored) -> float:
    """What an answer is worth by the first metric, 1 for a perfect one."""
    metric = task.metrics[0]
    worth = one.worth.get(metric.id)
    if task.answer == "rating":
        return 0.0 if worth is None else 1 - abs(worth - one.item.truth) / 10
    if worth is None:
        return 0.0
    return 1 - worth if metric.better == "low" else worth


def _kind(one: Scored) -> int:
    """Answers that were read before those that were not, and items without an answer last."""
    return 0 if isinstance(one.answer, Read) else 2 if one.answer.reason in ("missing", "no picture") else 1


def describe_answer(task: Task, one: Scored) -> Failure:
    """An answer in words: wanted, said, read."""
    response = (one.item.response or "") if task.side == "understanding" else " ".join(one.item.judge or ())
    return Failure(
        number=one.item.number,
        name=one.item.name,
        path=one.item.path,
        wanted=_short(_words(one.item.truth)),
        said=_short(" ".join(response[:2000].split())),
        read=_short(one.answer.reason if isinstance(one.answer, Unread) else _words(one.answer.value)),
        worth=item_worth(task, one),
    )


def _words(value: Any) -> str:
    """A truth or an answer in words."""
    if isinstance(value, BoxAnswer):
        return " · ".join("no box" if box is None else _words(box) for box in value.boxes[:4])
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, frozenset):
        return ", ".join(str(one) for one in sorted(value))
    if isinstance(value, tuple) and value and all(isinstance(one, float) for one in value):
        return " ".join(f"{one:.2f}" for one in value)
    if isinstance(value, tuple | list):
        return " · ".join(_words(one) for one in value if one is not None)
    return "" if value is None else str(value)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
