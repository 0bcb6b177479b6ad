"""Whole sets: every item drawn, its picture beside its record, in the layout of the public files.

FOLDER/und_task/<file>.json is written last, so a task that has its file is complete. Pictures stand under
FOLDER/pictures/<task>/. A file that is there is never drawn over: answers may stand in it. With `resume`, tasks that
are complete are left as they are, and the others are drawn from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from salon.bench.posters.files import Record, new_file, open_file
from salon.bench.posters.make import briefs, composition, fonts, materials, posters, sheets
from salon.bench.posters.make.items import MadeItem
from salon.bench.posters.tasks import FOLDERS, task_named
from salon.engine import map_processes
from salon.errors import BadFile, BadValue
from salon.render import encode_png

Maker = Callable[[int, int], MadeItem]
MAKERS: dict[str, Maker] = {
    "logo_ocr": posters.logo_ocr,
    "poster_ocr": posters.poster_ocr,
    "simple_ocr": sheets.simple_ocr,
    "hard_ocr": sheets.hard_ocr,
    "font_size_ocr": sheets.font_size_ocr,
    "font_matching": fonts.font_matching,
    "font_attributes": fonts.font_attributes,
    "font_effect": fonts.font_effect,
    "font_effect_2": materials.font_effect_2,
    "text_localization": posters.text_localization,
    "alignment": sheets.alignment,
    "rotation": sheets.rotation,
    "empty_space": sheets.empty_space,
    "layout_comparison": posters.layout_comparison,
    "layout_generation": posters.layout_generation,
    "style_understanding": posters.style_understanding,
    "composition_understanding": composition.composition_understanding,
    "intention_understanding": posters.intention_understanding,
    "overall_rating": posters.overall_rating,
    **briefs.PROMPTS,
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
    resume: bool = False,
    progress: Callable[[int, int], None] = lambda completed, total: None,
    processes: int | None = None,
) -> list[Path]:
    """Make `n` items of each task under `folder`; the files written, one for each task.

    The same tasks, number and seed give the same bytes. `progress` is told how many items are done, of how many.
    BadValue for an unknown task, a number below 1 or a negative seed; BadFile where a task's file is there already
    (with `resume`: where it is that of another set), or the folder holds something else.
    """
    tasks = list(dict.fromkeys(tasks))
    _check(folder, tasks, n, seed)
    open = [task for task in tasks if not _is_done(folder, task, n, seed, resume)]
    for task in open:
        (folder / _pictures(task)).mkdir(parents=True, exist_ok=True)
    orders = [(task, number, seed, folder) for task in open for number in range(n)]
    records: dict[str, list[Record]] = {task: [{}] * n for task in open}
    left = dict.fromkeys(open, n)
    for number_done, (at, record) in enumerate(map_processes(_draw_item, orders, processes=processes), 1):
        if isinstance(record, Exception):
            raise record
        task, number, _, _ = orders[at]
        records[task][number] = record
        left[task] -= 1
        if not left[task]:
            new_file(task_named(task), records.pop(task)).write(folder / task_named(task).place)
        progress(number_done, len(orders))
    return [folder / task_named(task).place for task in tasks]


def make_item(task: str, number: int, seed: int) -> MadeItem:
    """One item without writing anything."""
    return MAKERS[task](number, seed)


def _check(folder: Path, tasks: Sequence[str], n: int, seed: int) -> None:
    if not tasks:
        raise BadValue("a task to make is needed", found="none", remedy="one or more of " + ", ".join(MADE))
    for task in tasks:
        if task_named(task).name not in MAKERS:
            raise BadValue("a task that can be made is needed", found=task, remedy="one of " + ", ".join(MADE))
    if not 1 <= n <= MOST:
        raise BadValue(f"a number of items from 1 to {MOST:,} is needed", found=n)
    if seed < 0:
        raise BadValue("a seed of 0 or more is needed", found=seed)
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if names and not set(names) & {*FOLDERS.values(), "pictures"}:
        raise BadFile(
            "a new or empty folder, or one with a made set, is needed",
            found=", ".join(names[:3]) + (", ..." if len(names) > 3 else ""),
            where=str(folder),
            remedy="name another folder",
        )


def _is_done(folder: Path, task: str, n: int, seed: int, resume: bool) -> bool:
    """Whether the task's file is there; BadFile where it must not be, or is not that of this number and seed."""
    place = folder / task_named(task).place
    if not place.exists():
        return False
    if not resume:
        raise BadFile(
            "a folder without this task's file is needed",
            found="a file that answers may stand in",
            where=str(place),
            remedy="name another folder, move the file away, or resume to leave complete tasks as they are",
        )
    records = open_file(place).records
    first = make_item(task, 0, seed).record(*_name(task, 0))
    if len(records) != n or any(records[0].get(key) != value for key, value in first.items()):
        raise BadFile(
            f"a file of {n:,} items drawn with seed {seed} is needed to resume",
            found=f"{len(records):,} items of another seed, number or version",
            where=str(place),
            remedy="resume with the number and seed of that set, or name another folder",
        )
    return True


def _draw_item(order: _Order) -> dict[str, Any]:
    """Draw one item, write its picture, give its record."""
    task, number, seed, folder = order
    item = make_item(task, number, seed)
    name, path = _name(task, number)
    if item.pixels is not None:
        (folder / path).write_bytes(encode_png(item.pixels))
    return item.record(name, path)


def _name(task: str, number: int) -> tuple[str, str]:
    """An item's name, and where its picture stands."""
    name = f"{task}_{number:05d}"
    return name, f"{_pictures(task)}/{name}.png"


def _pictures(task: str) -> str:
    return f"pictures/{task}"
