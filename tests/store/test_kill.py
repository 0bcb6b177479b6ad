"""A writer killed at any moment leaves the old study or the new one, whole, with everything else in the folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from loaded import run_loaded

WRITER = Path(__file__).with_name("killed_writer.py")


def run(folder: Path, how: str, swap: str, rounds: int = 0) -> dict[str, int]:
    done = run_loaded(WRITER, folder / "shelf" / "study", how, swap, rounds, timeout=240)
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("swap", ["exchange", "aside"])
def test_killed_before_each_call_that_changes_the_disk(swap: str, tmp_path: Path) -> None:
    found = run(tmp_path, "step", swap)
    # every step was tried, from nothing done to all done, and only whole studies were ever found
    assert found["steps"] > 20
    assert found["old"] + found["new"] == found["steps"]
    assert min(found["old"], found["new"]) > 1
    assert found["leftovers"] == 0


@pytest.mark.parametrize("swap", ["exchange", "aside"])
def test_killed_at_random_moments_while_saving_over_and_over(swap: str, tmp_path: Path) -> None:
    found = run(tmp_path, "time", swap, rounds=16)
    assert found["old"] + found["new"] == 16
    assert min(found["old"], found["new"]) > 0
    assert found["leftovers"] == 0
