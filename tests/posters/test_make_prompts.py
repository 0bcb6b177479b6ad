"""Prompts for generators: read by houses as they are meant, points with rules, balanced, the same bytes by seed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from salon.bench import find_files
from salon.bench.posters.files import open_file
from salon.bench.posters.make import make_tasks
from salon.bench.posters.make.briefs import HOW, PROMPTS
from salon.bench.posters.tasks import OPERATIONS
from salon.judge import read_rule
from salon.render import STYLES, read_brief
from salon.study import Prompt

TASKS = tuple(PROMPTS)


@pytest.mark.parametrize("task", TASKS)
def test_files_are_public_ones_without_pictures(task: str, tmp_path: Path) -> None:
    make_tasks(tmp_path, [task], 6, 3, processes=1)
    (file,) = find_files([tmp_path])
    assert (file.task.name, len(file.items)) == (task, 6)
    assert file.path == tmp_path / "gen_task" / f"{task}.json"
    assert not list(tmp_path.rglob("*.png"))
    assert [item.response or item.judge for item in file.items] == [None] * 6


def test_a_seed_gives_the_same_bytes_and_a_larger_set_begins_with_the_smaller(tmp_path: Path) -> None:
    for name, n, seed in (("a", 8, 1), ("b", 8, 1), ("c", 3, 1), ("d", 8, 2)):
        make_tasks(tmp_path / name, TASKS, n, seed, processes=1)
    for task in TASKS:
        texts = {name: (tmp_path / name / "gen_task" / f"{task}.json").read_bytes() for name in "abd"}
        assert texts["a"] == texts["b"] != texts["d"]
        small = open_file(tmp_path / "c" / "gen_task" / f"{task}.json").records
        assert small == open_file(tmp_path / "a" / "gen_task" / f"{task}.json").records[:3]


@pytest.mark.parametrize("task", TASKS)
def test_prompts_are_read_as_they_are_meant(task: str) -> None:
    """Every text that a point asks for is one that a house would set, and styles and places are those asked for."""
    for number in range(40):
        made = PROMPTS[task](number, 0)
        brief = read_brief(Prompt(id="p", text=made.prompt))
        texts = [text for text in (brief.headline, brief.subhead, brief.body, brief.cta, brief.when, brief.where,
                                   brief.brand) if text]  # fmt: skip
        assert texts == [line.split("“")[1].rstrip("”") for line in made.prompt.splitlines()[1:]]
        assert brief.style == made.truth.get("style") or task == "gen_dense"
        for rule in made.truth.get("rules", ()):
            kind = rule and rule["kind"]
            if kind in ("text", "place", "largest"):
                assert rule["text"] in texts
            if kind == "place":
                assert (rule["text"], rule["at"]) == (brief.headline, brief.headline_at)
            if kind == "color":
                assert rule["color"] == brief.palette[0 if rule.get("leads") else 1]
            if kind == "picture":
                assert rule["of"] == brief.subject


def test_dense_points_can_all_be_measured() -> None:
    for number in range(12):
        truth = PROMPTS["gen_dense"](number, 0).truth
        assert len(truth["gt"]) == len(truth["rules"]) == len(set(truth["gt"]))
        assert all(read_rule(rule, where="rule") for rule in truth["rules"])
    points = [len(PROMPTS["gen_dense"](number, 0).truth["gt"]) for number in range(6)]
    assert Counter(points) == {8: 2, 10: 2, 12: 2}


def test_styles_and_operations_are_balanced() -> None:
    styles = Counter(PROMPTS["gen_style"](number, 5).truth["style"] for number in range(34))
    assert styles == dict.fromkeys(STYLES, 2)
    asked = Counter(PROMPTS["gen_composition"](number, 5).subtask for number in range(16))
    assert asked == dict.fromkeys(OPERATIONS, 2)
    assert set(HOW) == set(OPERATIONS)
