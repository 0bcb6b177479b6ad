"""Rules about pixels as a contestant: what they reach on sets of another seed than they were made on."""

from __future__ import annotations

import inspect
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from public_files import made

from salon.bench import PosterScoreSettings, score_files, task_named
from salon.bench.posters.files import new_file
from salon.bench.posters.make import make_tasks
from salon.bench.posters.make.items import MadeItem
from salon.bench.posters.make.sets import make_item
from salon.bench.posters.pixel_contestant import can_measure, measured_answer
from salon.cli.main import salon as command

SEED = 5
LEAST = {"alignment": 0.9, "rotation": 0.9, "empty_space": 0.99, "font_effect": 0.9, "layout_comparison": 0.3}
"""First metric on made items: what eyes alone can do, well below what was measured."""


def reached(name: str, items: Sequence[MadeItem]) -> float:
    records = [one.record(f"{at}", f"{at}.png") for at, one in enumerate(items)]
    said = {at: {"response": measured_answer(name, one.prompt, one.pixels)} for at, one in enumerate(items)}
    task = score_files([new_file(task_named(name), records).edited(said)], PosterScoreSettings(draws=100)).tasks[0]
    assert task.metrics[0].figure is not None
    return task.metrics[0].figure.value


def is_plain(item: MadeItem) -> bool:
    """On one color, without anything beside or across."""
    return not any(item.difficulty.get(name) for name in ("texture", "marks beside", "stripes"))


@pytest.mark.parametrize("name", LEAST)
def test_rules_reach_what_pixels_can_tell_on_plain_sheets_only(name: str) -> None:
    items = [make_item(name, at, SEED) for at in range(24 if name == "rotation" else 20)]
    plain = [one for one in items if is_plain(one)]
    assert reached(name, plain) >= LEAST[name]
    if len(plain) < len(items):  # tasks that rules must not solve
        assert reached(name, items) < 0.8


@pytest.mark.parametrize("boxes", ["share", "thousand", "pixel"])
def test_blocks_of_strokes_are_boxes_of_the_declared_convention(boxes: str) -> None:
    one = make_item("text_localization", 2, SEED)
    said = measured_answer("text_localization", one.prompt, one.pixels, boxes)  # type: ignore[arg-type]
    file = new_file(task_named("text_localization"), [one.record("0", "0.png")]).edited({0: {"response": said}})
    task = score_files([file], PosterScoreSettings(draws=100, boxes=boxes)).tasks[0]  # type: ignore[arg-type]
    assert task.bad_boxes == 0
    top1 = task.metrics[0]
    assert top1.figure is not None and top1.chance is not None  # noqa: PT018
    assert top1.figure.value > top1.chance


def test_nothing_but_the_prompt_and_the_picture_is_seen() -> None:
    assert set(inspect.signature(measured_answer).parameters) == {"task", "prompt", "pixels", "boxes"}
    assert not can_measure("style_understanding")


@pytest.mark.parametrize("name", LEAST)
def test_a_blank_sheet_is_answered_or_not_but_breaks_nothing(name: str) -> None:
    for pixels in (np.full((300, 400, 3), 255, np.uint8), np.zeros((1, 1, 3), np.uint8)):
        said = measured_answer(name, "Which one?", pixels)
        assert said is None or isinstance(said, str)


def test_measure_runs_from_the_terminal(tmp_path: Path) -> None:
    run = lambda *args: CliRunner().invoke(command, ["bench", "posters", *map(str, args)], catch_exceptions=False)  # noqa: E731
    make_tasks(tmp_path / "set", ["alignment"], 3, SEED, processes=1)
    made("logo_ocr", 3).write(tmp_path / "set" / "und_task" / "logo_ocr.json")
    done = run("run", tmp_path / "set", "--contestant", "measure", "--json")
    assert done.exit_code == 0
    report = json.loads(done.output)
    assert (report["answered"], report["not_asked"]) == (3, {"logo_ocr": 3})
    scored = run("score", tmp_path / "set.measure", "--json", "--draws", 100)
    assert json.loads(scored.output)["contestant"] == "measure"
