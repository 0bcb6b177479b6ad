"""A record of a public file as an item of its task, with its truth in one form for each kind of answer.

Files hold truths differently: under gt or another field, alone or in a list, as a list or as text that looks like one.
Here a truth becomes one of

    text str · texts, lines, effects, points tuple of str · letter, label one of the options · rating float
    boxes, layout tuple of (x1, y1, x2, y2) as shares of the picture · patches frozenset of int · attributes None
"""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from salon.bench.posters.tasks import GRID, PosterTask, fold_label, option_spellings
from salon.errors import BadValue

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class PosterItem:
    """One question with its truth and, once given, its answer."""

    number: int
    """Its place in the file, from 0."""
    task: PosterTask
    string: str
    """What `task` says: the halves of font matching differ."""
    subtask: str | int | float | None
    name: str
    path: str
    prompt: str
    truth: Any
    response: str | None
    judge: tuple[str, ...] | None
    """What a judge said of the answer, an entry for each point; None where it was not asked."""
    size: tuple[int, int] | None = None
    texts: tuple[str, ...] = ()
    """The texts asked about, where boxes are asked for."""
    difficulty: Mapping[str, float] = field(default_factory=dict)

    @property
    def stratum(self) -> str | int | float | None:
        """The part of its task it is averaged with."""
        return {"none": None, "task": self.string, "subtask": self.subtask}[self.task.strata]


def read_item(task: PosterTask, record: Mapping[str, Any], number: int, *, where: str) -> PosterItem:
    """`record` as an item; BadValue says which field another version's file lacks."""
    for key in ("name", "path", "prompt"):
        if not isinstance(record.get(key), str):
            raise _bad(f"text under {key!r}", record.get(key), where)
    size = _size(record.get("size"), where) if task.answer in ("boxes", "layout") else None
    subtask = record.get("subtask")
    if subtask is not None and not isinstance(subtask, str | int | float):
        raise _bad("a subtask that is a word or a number", subtask, where)
    value = record.get("judge")
    if value is None:
        judge: tuple[str, ...] | None = None
    else:
        replies = value if isinstance(value, list) else [value]
        judge = tuple("" if reply is None else str(response_text(reply)) for reply in replies)
    return PosterItem(
        number=number,
        task=task,
        string=record["task"],
        subtask=subtask,
        name=record["name"],
        path=record["path"],
        prompt=record["prompt"],
        truth=_truth(task, record, size, where),
        response=response_text(record.get("response")),
        judge=judge,
        size=size,
        texts=texts_in(record.get("texts")) if task.answer in ("boxes", "layout") else (),
        difficulty=_difficulty(record.get("difficulty"), where),
    )


def texts_in(value: Any) -> tuple[str, ...]:
    """Texts however they are held: a list (of lists), text that looks like a list, or one text."""
    if isinstance(value, str):
        value = _parse_list(value)
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple):
        return tuple(text for part in value for text in ((part,) if isinstance(part, str) else texts_in(part)))
    return () if value is None else (str(value),)


def _parse_list(text: str) -> Any:
    """A list that was written as text, as JSON or as Python; the text itself where it is none."""
    if text.lstrip()[:1] != "[":
        return text
    for read in (json.loads, ast.literal_eval):
        try:
            parsed = read(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            continue
        return parsed if isinstance(parsed, list) else text
    return text


# -- truths --------------------------------------------------------------------------------------------------------


def _truth(task: PosterTask, record: Mapping[str, Any], size: tuple[int, int] | None, where: str) -> Any:
    if not task.truth:
        return None
    value = next((record[key] for key in task.truth if record.get(key) is not None), None)
    if value is None:
        raise _bad(f"the truth of {task.title} under {' or '.join(task.truth)}", None, where)
    if size is not None:
        if not isinstance(value, list) or not value:
            raise _bad("a list of boxes", value, where)
        width, height = size
        boxes: list[Box] = []
        for box in value:
            if not isinstance(box, list) or len(box) != 4 or not all(_is_number(number) for number in box):
                raise _bad("boxes of four numbers, in pixels", box, where)
            x1, y1, x2, y2 = box
            if x2 <= x1 or y2 <= y1:
                raise _bad("boxes with x1 < x2 and y1 < y2", box, where)
            boxes.append((x1 / width, y1 / height, x2 / width, y2 / height))
        return tuple(boxes)
    if task.answer in ("letter", "label"):
        # A letter or a label, alone or as the first of a list
        if isinstance(value, list) and value:
            value = value[0]
        ways = option_spellings(task.options)
        if not isinstance(value, str) or fold_label(value) not in ways:
            raise _bad(f"one of {', '.join(task.options)}", value, where)
        return ways[fold_label(value)]
    return _READERS[task.answer](value, where)


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _bad("a text", value, where)
    return value


def _texts(value: Any, where: str) -> tuple[str, ...]:
    texts = texts_in(value)
    if not any(text.strip() for text in texts):
        raise _bad("a list of texts", value, where)
    return texts


def _lines(value: Any, where: str) -> tuple[str, ...]:
    return tuple(line for text in _texts(value, where) for line in text.splitlines())


def _patches(value: Any, where: str) -> frozenset[int]:
    ids = value if isinstance(value, list) else []
    if not ids or not all(isinstance(patch, int) and 0 <= patch < GRID * GRID for patch in ids):
        raise _bad(f"ids of patches from 0 to {GRID * GRID - 1}", value, where)
    return frozenset(ids)


def _rating(value: Any, where: str) -> float:
    if not _is_number(value) or not 0 <= value <= 10:
        raise _bad("a rating from 0 to 10", value, where)
    return float(value)


_READERS: dict[str, Callable[[Any, str], Any]] = {
    "text": _text, "texts": _texts, "lines": _lines, "effects": _texts, "points": _texts, "patches": _patches,
    "rating": _rating,
}  # fmt: skip


# -- other fields --------------------------------------------------------------------------------------------------


def _size(value: Any, where: str) -> tuple[int, int]:
    if not (isinstance(value, list) and len(value) == 2 and all(_is_number(side) and side > 0 for side in value)):
        raise _bad("the size of the picture, [width, height]", value, where)
    return value[0], value[1]


def response_text(value: Any) -> str | None:
    """A response as text: the parts of a list one below the other; what else an API may give, as JSON."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(text for part in value if (text := response_text(part)) is not None)
    if isinstance(value, dict) and isinstance(value.get("text"), str):  # a part of an API's message
        return str(value["text"])
    return json.dumps(value, ensure_ascii=False)


def _difficulty(value: Any, where: str) -> dict[str, float]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(_is_number(number) for number in value.values()):
        raise _bad("numbers by name under 'difficulty'", value, where)
    return {name: float(number) for name, number in value.items()}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _bad(needed: str, value: Any, where: str) -> BadValue:
    return BadValue(
        f"{needed} is needed",
        found="nothing" if value is None else repr(value),
        where=where,
        remedy="files of another version of the benchmark are not read",
    )


# -- boxes, as shares of the picture -----------------------------------------------------------------------------------

FARTHEST = math.sqrt(2)
"""The largest distance of two centers: what a missing box counts as."""


def box_area(box: Box) -> float:
    """Of the picture's."""
    return (box[2] - box[0]) * (box[3] - box[1])


def box_center(box: Box) -> tuple[float, float]:
    """Half-way between its corners."""
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def iou(first: Box, second: Box) -> float:
    """Area of the intersection over that of the union."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    if width <= 0 or height <= 0:
        return 0.0
    both = width * height
    return both / (box_area(first) + box_area(second) - both)


def center_distance(first: tuple[float, float], second: tuple[float, float]) -> float:
    """Between two centers, in shares of the picture's sides."""
    return math.hypot(first[0] - second[0], first[1] - second[1])


def area_ratio(first: Box, second: Box) -> float:
    """The smaller area over the larger."""
    small, large = sorted((box_area(first), box_area(second)))
    return small / large


def assigned_iou(truth: Sequence[Box], answered: Sequence[Box | None]) -> float:
    """Mean IoU of the true boxes under the one-to-one assignment of given boxes that makes it largest."""
    from scipy.optimize import linear_sum_assignment

    boxes = [box for box in answered if box is not None]
    if not boxes:
        return 0.0
    table = np.array([[iou(true_box, answered_box) for answered_box in boxes] for true_box in truth])
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum()) / len(truth)
