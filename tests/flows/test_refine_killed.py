"""A loop killed at any moment goes on, comes to the same report, and repeats at most what was under way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parent.parent / "refine_example.py"


def test_killed_at_many_moments_nothing_is_lost_and_nothing_paid_twice(tmp_path: Path) -> None:
    with_examples = os.environ | {"PYTHONPATH": str(EXAMPLE.parent)}
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), str(tmp_path)], capture_output=True, text=True, timeout=600, env=with_examples
    )
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
