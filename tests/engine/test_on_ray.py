"""The same work on a real Ray: exactly once, with workers that are killed under it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from squares import Squares
from test_run_work import found, wanted

HERE = Path(__file__).parent


def on_ray(folder: Path, *, tasks: int, batch: int, **dies: tuple[int, ...]) -> dict:
    """Squares of so many numbers, in a process of its own: Ray leaves threads and files open."""
    code = f"""
import json, sys
sys.path[:0] = [{str(HERE)!r}]
from pathlib import Path
from squares import Squares, tasks
from salon.engine.work import run_work
from salon.engine.work import EngineSettings
settings = EngineSettings(engine="ray", workers=2, batch={batch}, attempts=2)
work = Squares(Path({str(folder)!r}), **{dies!r})
done = run_work(work, tasks({tasks}), {str(folder / "out")!r}, settings)
print(json.dumps([done.computed, done.deaths, [lost.key for lost in done.lost]]))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr[-3000:]
    return dict(zip(("made", "deaths", "lost"), json.loads(run.stdout.splitlines()[-1])))


@pytest.mark.slow
def test_ray_does_everything_once_and_names_the_task_that_kills(tmp_path: Path) -> None:
    done = on_ray(tmp_path, tasks=300, batch=4, once=(55, 170), always=(210,))
    assert done["lost"] == ["00210"]
    assert done["made"] == 299
    assert done["deaths"] >= 4
    rest = wanted(300)
    del rest["00210"]
    assert found(Squares(tmp_path), tmp_path / "out") == rest
