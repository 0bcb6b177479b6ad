"""The command that draws poster tasks with their truth."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path

import click

from salon.bench.posters.task import GENERATION, GROUPS, TASKS, task_named
from salon.cli.console import counting, json_option, print_json, say, seed_option
from salon.errors import BadValue


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--task", "named", multiple=True, metavar="NAME",
    help="Only this task, or the tasks of a group: OCR, Font, Layout, Understanding, Rating, Generation (repeatable)  "
    "[default: all that can be made]",
)  # fmt: skip
@click.option(
    "-n", "--items", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Items of each task."
)
@click.option("--workers", type=click.IntRange(1), help="Processes that draw  [default: one a core]")
@click.option(
    "--resume", is_flag=True, help="Leave the tasks that are complete in FOLDER as they are; draw the others."
)
@seed_option
@json_option
def make(
    folder: Path, named: tuple[str, ...], items: int, workers: int | None, resume: bool, seed: int, as_json: bool
) -> None:
    """Draw a task set into FOLDER: pictures, and files in PosterIQ's public layout with the truth in them.

    Everything is drawn here from open fonts, so that no model can have seen it: 19 tasks that ask about a poster,
    and 5 files of prompts for generators. The same seed gives the same bytes, with any number of workers, and a larger
    set begins with the smaller one. A thousand items cost about 30 processor seconds.

    FOLDER is new, empty, or holds such a set. A task whose file is there is not drawn over, since answers may stand
    in it: the command refuses, or with --resume goes on with the other tasks. A task's file is written when its last
    picture is, so nothing half done is ever read.

    \b
    OCR            logo_ocr poster_ocr simple_ocr hard_ocr font_size_ocr
    Font           font_matching font_attributes font_effect font_effect_2
    Layout         text_localization alignment rotation empty_space
                   layout_comparison layout_generation
    Understanding  style_understanding composition_understanding
                   intention_understanding
    Rating         overall_rating
    Generation     gen_dense gen_font gen_style gen_composition gen_intention

    \b
      salon bench posters make set -n 50
      salon bench posters make ocr --task OCR -n 280
      salon bench posters make set -n 50 --resume
      salon bench posters make fonts --task font_matching --task font_effect -n 90 --seed 7
    """
    makers = importlib.import_module("salon.bench.posters.make")  # drawing only for those who draw
    names = _tasks(named, makers.MADE)
    with counting("drawing", quiet=as_json) as watch:
        files = makers.make_tasks(folder, names, items, seed, resume=resume, progress=watch, processes=workers)
    if as_json:
        places = [path.relative_to(folder).as_posix() for path in files]
        print_json({"folder": str(folder), "seed": seed, "items": items, "tasks": names, "files": places})
    else:
        say(f"{len(names)} tasks of {items:,} items in {folder}", bold=True)
        say(f"salon bench posters run {folder} --contestant rapidocr", dim=True)


def _tasks(named: Sequence[str], made: Sequence[str]) -> list[str]:
    """The tasks meant by names of tasks and groups, each once; BadValue for what cannot be made."""
    if not named:
        return list(made)
    groups = {group.lower(): [task.name for task in TASKS if task.group == group and task.name in made]
              for group in (*GROUPS, GENERATION)}  # fmt: skip
    names = [name for word in named for name in groups.get(word.lower()) or [task_named(word).name]]
    cannot = [name for name in names if name not in made]
    if cannot:
        raise BadValue("a task that can be made is needed", found=", ".join(cannot), remedy="one of " + ", ".join(made))
    return list(dict.fromkeys(names))
