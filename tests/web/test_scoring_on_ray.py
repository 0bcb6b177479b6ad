"""The scoring service with replicas on a real Ray: the numbers of one process, and no request lost to a death."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


@pytest.mark.slow
def test_replicas_on_ray_give_the_numbers_of_one_process_and_survive_deaths(tmp_path: Path) -> None:
    """In a process of its own: Ray leaves threads and files open."""
    script = TESTS / "ray_service.py"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, str(script), str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=500, env=environment)
    assert run.returncode == 0, run.stderr[-4000:]
    told = json.loads(run.stdout.splitlines()[-1])
    assert told["here"] == told["ray"]
    assert told["here"]["gray"] == list(range(40))
    assert told["after_deaths"] == [*range(100, 112)]
    assert told["deaths"] >= 1
    assert told["ready"] == {"ready": True, "replicas": 2}
    assert told["pids"] == 2
    assert told["swapped"] == [4.0]
    assert told["rolled_back"] == [50.0]
    assert "nosuch" in told["refused"]
