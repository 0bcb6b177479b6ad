"""Contestants that need no pictures: they show what a number is worth.

perfect          says the truth, in the plainest form
random           draws an answer of the right kind, seeded
always-a         gives every item the first option (or the whole picture, or the first patches)
list-everything  names every option there is
empty            says nothing

Perfect also fills in a judge's yes for every point; the others leave open what needs a judge.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from salon.bench.posters.answers_boxes import SCALES, Convention
from salon.bench.posters.files import PosterFile
from salon.bench.posters.item import Box, PosterItem
from salon.bench.posters.task import Task, task_named
from salon.bench.posters.vocabulary import ATTRIBUTES, GRID

Name = Literal["perfect", "random", "always-a", "list-everything", "empty"]
NAMES: tuple[Name, ...] = get_args(Name)
_LETTERS = list("abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ")
_EFFECTS = task_named("font_effect_2").metric("effect").k or 0
_WHOLE: Box = (0.0, 0.0, 1.0, 1.0)


def fill_in(file: PosterFile, name: Name, *, seed: int = 0, boxes: Convention = "share") -> PosterFile:
    """The file with the contestant's responses (and, of a perfect one, the judge's) in it."""
    rng = np.random.default_rng([seed, zlib.crc32(file.task.name.encode())])
    effects = sorted({one for item in file.items for one in item.truth[1:]}) if file.task.answer == "effects" else []
    answers = {item.number: _fields(item, name, rng, boxes, effects) for item in file.items}
    if file.task.name == "gen_style" and name == "perfect":  # spelled as the record has it
        answers = {item.number: {"judge": file.records[item.number].get("style") or item.truth} for item in file.items}
    return file.edited({number: fields for number, fields in answers.items() if fields})


def _fields(
    item: PosterItem, name: Name, rng: np.random.Generator, boxes: Convention, effects: Sequence[str]
) -> Mapping[str, Any]:
    if name == "empty":
        return {}
    if item.task.side == "generation":
        return {"judge": _verdicts(item)} if name == "perfect" else {}
    if item.task.answer == "points":
        return {"response": "\n".join(item.truth), "judge": _verdicts(item)} if name == "perfect" else {}
    answer = _ANSWERS[name](item, rng, effects)
    return {"response": _written(item, answer, boxes)}


def _verdicts(item: PosterItem) -> list[str] | str:
    """What a judge would write: a list of replies about points, or the text of one reply."""
    if item.task.answer == "points":
        return ["Yes"] * len(item.truth)
    return str(item.truth) if item.task.answer == "label" else json.dumps(ATTRIBUTES)


def _written(item: PosterItem, answer: Any, boxes: Convention) -> str:
    """An answer as a model would write it."""
    match item.task.answer:
        case "boxes" | "layout":
            width, height = item.size if boxes == "pixel" and item.size else (SCALES.get(boxes, 1),) * 2
            return json.dumps([[x1 * width, y1 * height, x2 * width, y2 * height] for x1, y1, x2, y2 in answer])
        case "texts" | "lines":
            return "\n".join(answer)
        case "effects" | "patches":
            return json.dumps(sorted(answer) if item.task.answer == "patches" else list(answer), ensure_ascii=False)
    return str(answer)


def _perfect(item: PosterItem, rng: np.random.Generator, effects: Sequence[str]) -> Any:
    return item.truth


def _random(item: PosterItem, rng: np.random.Generator, effects: Sequence[str]) -> Any:
    task = item.task
    match task.answer:
        case "letter" | "label":
            return str(rng.choice(task.options))
        case "effects":
            return [str(rng.choice(task.options)), *_some_effects(len(item.truth) - 1, rng, effects)]
        case "boxes" | "layout":
            corners = np.sort(rng.random((len(item.truth), 2, 2)), axis=1)
            return [(float(b[0, 0]), float(b[0, 1]), float(b[1, 0]), float(b[1, 1])) for b in corners]
        case "patches":
            return {int(one) for one in rng.choice(GRID**2, len(item.truth), replace=False)}
        case "rating":
            return round(float(rng.uniform(0, 10)), 1)
    return ["".join(rng.choice(_LETTERS, 12)) for _ in range(5)] if task.answer != "text" else _word(rng)


def _some_effects(n: int, rng: np.random.Generator, effects: Sequence[str]) -> list[str]:
    """As many of the 48 as are asked for; those that no item of the file has are all wrong alike."""
    return [_all_effects(effects)[at] for at in rng.choice(_EFFECTS, n, replace=False)]


def _all_effects(effects: Sequence[str]) -> list[str]:
    return [*effects, *(f"another effect {i}" for i in range(_EFFECTS - len(effects)))]


def _word(rng: np.random.Generator) -> str:
    return "".join(rng.choice(_LETTERS, 8))


def _always_a(item: PosterItem, rng: np.random.Generator, effects: Sequence[str]) -> Any:
    return _first(item.task, len(item.truth) if isinstance(item.truth, tuple | frozenset) else 1, effects)


def _first(task: Task, n: int, effects: Sequence[str]) -> Any:
    match task.answer:
        case "letter" | "label":
            return task.options[0]
        case "effects":
            return [task.options[0], *effects[:1]]
        case "boxes" | "layout":
            return [_WHOLE] * n
        case "patches":
            return set(range(n))
        case "rating":
            return 5
    return ["A"] if task.answer != "text" else "A"


def _everything(item: PosterItem, rng: np.random.Generator, effects: Sequence[str]) -> Any:
    task = item.task
    match task.answer:
        case "letter" | "label":
            return ", ".join(task.options)
        case "effects":
            return [*task.options, *_all_effects(effects)]
        case "patches":
            return set(range(GRID**2))
        case "rating":
            return ", ".join(map(str, range(11)))
    return _first(task, len(item.truth) if isinstance(item.truth, tuple) else 1, effects)


_ANSWERS: dict[str, Callable[[PosterItem, np.random.Generator, Sequence[str]], Any]] = {
    "perfect": _perfect, "random": _random, "always-a": _always_a, "list-everything": _everything,
}  # fmt: skip
