"""A writer killed at any moment leaves the old board or the new one, and the write can be done again."""

from __future__ import annotations

import json
from pathlib import Path

from loaded import run_loaded

WRITER = Path(__file__).with_name("killed_board.py")


def test_killed_before_each_call_that_changes_the_disk(tmp_path: Path) -> None:
    done = run_loaded(WRITER, tmp_path, timeout=240)
    assert done.returncode == 0, done.stderr
    for what, found in json.loads(done.stdout).items():
        assert found["steps"] >= {"new": 20, "add": 20, "result": 4, "retract": 2}[what]
        assert found["old"] + found["new"] == found["steps"], what
        assert min(found["old"], found["new"]) > 0
        assert found["again"] == found["old"]
        assert found["leftovers"] == 0
