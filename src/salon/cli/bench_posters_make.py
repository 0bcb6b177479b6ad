"""The command that draws poster tasks with their truth."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

from salon.bench.posters.task import task_named
from salon.cli.console import counting, json_option, print_json, say, seed_option
from salon.errors import BadFile


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--task", "tasks", multiple=True, help="Only this task (repeatable)  [default: all that can be drawn]")
@click.option(
    "-n", "--items", type=click.IntRange(1, 100_000), default=50, show_default=True, help="Items of each task."
)
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes that draw.")
@seed_option
@json_option
def make(folder: Path, tasks: tuple[str, ...], items: int, workers: int, seed: int, as_json: bool) -> None:
    """Draw a task set into FOLDER: pictures, and files in PosterIQ's public layout with the truth in them.

    Everything is drawn here from open fonts, so that no model can have seen it. The same seed gives the same bytes.

    \b
      salon bench posters make set -n 200 --workers 2
      salon bench posters make ocr --task simple_ocr --task hard_ocr --task font_size_ocr -n 280
    """
    makers = importlib.import_module("salon.bench.posters.make")  # drawing only for those who draw
    names = [task_named(name).name for name in tasks] or list(makers.MADE)
    cannot = [name for name in names if name not in makers.MADE]
    if cannot:
        raise BadFile(
            "a task that can be drawn is needed", found=", ".join(cannot), remedy="one of " + ", ".join(makers.MADE)
        )
    there = [task_named(name).place for name in names if (folder / task_named(name).place).exists()]
    if there:
        raise BadFile("a folder without these files is needed", found=", ".join(there), where=str(folder))
    with counting("drawing", quiet=as_json) as watch:
        for done, name in enumerate(names):
            watch(done, len(names))
            makers.make_task(name, items, seed, folder, workers=workers)
    places = [task_named(name).place for name in names]
    if as_json:
        print_json({"folder": str(folder), "seed": seed, "items": items, "files": places})
    else:
        say(f"{len(names)} tasks of {items:,} items in {folder}", bold=True)
        say(f"salon bench posters run {folder} --contestant rapidocr", dim=True)
