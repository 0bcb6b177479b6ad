"""A loop killed at any moment goes on, comes to the same report, and repeats at most what was under way."""

from __future__ import annotations

import json
import signal
from pathlib import Path

from loaded import run_loaded

EXAMPLE = Path(__file__).parent.parent / "refine_example.py"


def test_killed_at_many_moments_nothing_is_lost_and_nothing_paid_twice(tmp_path: Path) -> None:
    done = run_loaded(EXAMPLE, tmp_path, timeout=600)
    assert done.returncode == 0, done.stderr
    found = list(json.loads(done.stdout).values())
    *dead, whole = found
    assert len(dead) >= 3
    assert whole["ends"] == [0, 0]
    assert whole["again"] == 0
    for one in dead:
        assert one["ends"] == [-signal.SIGKILL, 0]
        assert one["again"] <= 1  # the picture or the look that was under way
        assert one["report"] == whole["report"] | {"study": one["report"]["study"]}
