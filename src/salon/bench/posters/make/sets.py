"""Whole sets: every item drawn, its picture beside its record, in the layout of the public files.

FOLDER/und_task/<file>.json is written last, so a set that has its file is complete. Pictures stand under
FOLDER/pictures/<task>/.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from salon.bench.posters.files import Record, new_file
from salon.bench.posters.make import (
    comparison,
    composition,
    effects,
    emptiness,
    fonts,
    generation,
    materials,
    placing,
    posters,
    rating,
    reading,
)
from salon.bench.posters.make.made import Made
from salon.bench.posters.task import task_named
from salon.engine.processes import over_processes
from salon.errors import BadFile, BadValue
from salon.render.paint.png import encode_png

Maker = Callable[[int, int], Made]
MAKERS: dict[str, Maker] = {
    "logo_ocr": posters.logo_ocr,
    "poster_ocr": posters.poster_ocr,
    "simple_ocr": reading.simple_ocr,
    "hard_ocr": reading.hard_ocr,
    "font_size_ocr": reading.font_size_ocr,
    "font_matching": fonts.font_matching,
    "font_attributes": fonts.font_attributes,
    "font_effect": effects.font_effect,
    "font_effect_2": materials.font_effect_2,
    "text_localization": posters.text_localization,
    "alignment": placing.alignment,
    "rotation": placing.rotation,
    "empty_space": emptiness.empty_space,
    "layout_comparison": comparison.layout_comparison,
    "layout_generation": posters.layout_generation,
    "style_understanding": posters.style_understanding,
    "composition_understanding": composition.composition_understanding,
    "intention_understanding": posters.intention_understanding,
    "overall_rating": rating.overall_rating,
    **generation.PROMPTS,
}
"""Task to what draws its item of a number under a seed."""
MADE: tuple[str, ...] = tuple(MAKERS)
MOST = 100_000
"""Items of one task in one set."""
_Order = tuple[str, int, int, Path]


def make_tasks(
    folder: Path,
    tasks: Sequence[str] = MADE,
    n: int = 100,
    seed: int = 0,
    *,
    progress: Callable[[int, int], None] = lambda done, all: None,
    processes: int | None = None,
) -> list[Path]:
    """Make `n` items of each task under `folder`; the files written, one for each task.

    The same tasks, number and seed give the same bytes. `progress` is told how many items are done, of how many.
    BadValue for an unknown task, a number below 1 or a negative seed; BadFile where a task's file is there already.
    """
    tasks = list(dict.fromkeys(tasks))
    _check(folder, tasks, n, seed)
    for task in tasks:
        (folder / _pictures(task)).mkdir(parents=True, exist_ok=True)
    orders = [(task, number, seed, folder) for task in tasks for number in range(n)]
    records: dict[str, list[Record]] = {task: [{}] * n for task in tasks}
    for done, (at, record) in enumerate(over_processes(_drawn, orders, processes=processes), 1):
        if isinstance(record, Exception):
            raise record
        task, number, _, _ = orders[at]
        records[task][number] = record
        progress(done, len(orders))
    return [_written(folder, task, records[task]) for task in tasks]


def make_task(task: str, n: int, seed: int, folder: Path, *, workers: int = 1) -> None:
    """Make `n` items of one task under `folder`."""
    make_tasks(folder, [task], n, seed, processes=workers)


def make_item(task: str, number: int, seed: int) -> Made:
    """One item without writing anything."""
    return MAKERS[task](number, seed)


def _check(folder: Path, tasks: Sequence[str], n: int, seed: int) -> None:
    if not tasks:
        raise BadValue("a task to make is needed", found="none", remedy="one or more of " + ", ".join(MADE))
    for task in tasks:
        if task_named(task).name not in MAKERS:
            raise BadValue("a task that can be made is needed", found=task, remedy="one of " + ", ".join(MADE))
        if (place := folder / task_named(task).place).exists():
            raise BadFile(
                "a folder without this task's file is needed",
                found="a file that answers may stand in",
                where=str(place),
                remedy="name another folder, or move the file away",
            )
    if not 1 <= n <= MOST:
        raise BadValue(f"a number of items from 1 to {MOST:,} is needed", found=n)
    if seed < 0:
        raise BadValue("a seed of 0 or more is needed", found=seed)


def _drawn(order: _Order) -> dict[str, Any]:
    """Draw one item, write its picture, give its record."""
    task, number, seed, folder = order
    made = make_item(task, number, seed)
    name = f"{task}_{number:05d}"
    path = f"{_pictures(task)}/{name}.png"
    if made.pixels is not None:
        (folder / path).write_bytes(encode_png(made.pixels))
    return made.record(name, path)


def _written(folder: Path, task: str, records: Sequence[Record]) -> Path:
    place = folder / task_named(task).place
    new_file(task_named(task), records).write(place)
    return place


def _pictures(task: str) -> str:
    return f"pictures/{task}"
