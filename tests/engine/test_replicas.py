"""Replicas: processes that hold an object each and answer calls, whichever of them dies."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from waiting import until

from salon.engine import ReplicaDied, Replicas
from salon.errors import BadValue


class Answers:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, task: Any) -> Any:
        if task == "fail":
            raise BadValue("a task that works is needed", found="this one")
        if task == "lambda":
            return lambda: None
        if task == "die" or (task == "die once" and not (self.folder / "died").exists()):
            (self.folder / "died").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        if task == "threads":
            return os.environ.get("OMP_NUM_THREADS")
        return os.getpid(), task


def make(folder: Path) -> tuple[Answers, str]:
    version = (folder / "version").read_text()
    if version == "broken":
        raise BadValue("a version that works is needed", found=version)
    return Answers(folder), version


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "version").write_text("one")
    return tmp_path


def test_calls_are_spread_retried_and_raise_what_was_raised(folder: Path) -> None:
    replicas = Replicas([functools.partial(make, folder)] * 2, places=["cpu", "cuda:0"])
    try:
        assert replicas.start() == ["one", "one"]
        assert [one.place for one in replicas.status()] == ["cpu", "cuda:0"]
        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(replicas.call, range(60)))
        assert [task for _, task in answers] == list(range(60))
        assert len({pid for pid, _ in answers}) == 2
        assert sum(one.answered for one in replicas.status()) == 60
        assert replicas.call("die once", 1, 2)[1] == "die once"
        with pytest.raises(BadValue, match="a task that works"):
            replicas.call("fail")
        with pytest.raises(TypeError, match="cannot be sent back"):
            replicas.call("lambda")
        with pytest.raises(ReplicaDied, match="SIGKILL"):
            replicas.call("die", 1, 2)
        assert replicas.call(5)[1] == 5
        assert sum(one.deaths for one in replicas.status()) == 3
    finally:
        replicas.close()
    assert [one.state for one in replicas.status()] == ["stopped"] * 2
    with pytest.raises(ReplicaDied, match="stopped"):
        replicas.call(1)


def test_who_cannot_start_says_why_and_ends_the_others(folder: Path) -> None:
    (folder / "version").write_text("broken")
    before = threading.active_count()
    replicas = Replicas([functools.partial(make, folder)] * 2)
    with pytest.raises(BadValue, match="a version that works"):
        replicas.start()
    until(lambda: threading.active_count() == before, "the end of all threads")


def test_one_that_comes_back_as_another_is_refused(folder: Path) -> None:
    def refuse(version: str) -> str | None:
        return None if version == "one" else f"version {version} is another"

    replicas = Replicas([functools.partial(make, folder)] * 2, refuse=refuse)
    try:
        replicas.start()
        (folder / "version").write_text("two")
        os.kill(replicas.status()[0].pid or 0, signal.SIGKILL)
        until(lambda: "version two is another" in str(replicas.status()[0].reason), "a refusal")
        assert {replicas.call(task)[0] for task in range(9)} == {replicas.status()[1].pid}
        (folder / "version").write_text("one")
        until(lambda: replicas.status()[0].state == "ready", "the replica, as it was")
    finally:
        replicas.close()


def test_cores_are_shared_unless_the_user_says_otherwise(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    replicas = Replicas([functools.partial(make, folder)])
    try:
        replicas.start()
        assert replicas.call("threads") == "7"
    finally:
        replicas.close()


def test_a_replica_ends_with_who_started_it(folder: Path) -> None:
    """Also when that is killed: the pipe closes."""
    code = f"""
import functools, sys, time
sys.path[:0] = [{str(Path(__file__).parent)!r}]
from pathlib import Path
from test_replicas import make
from salon.engine import Replicas
replicas = Replicas([functools.partial(make, Path({str(folder)!r}))])
replicas.start()
print(replicas.status()[0].pid, flush=True)
time.sleep(600)
"""
    paths = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | paths) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.kill()
    until(lambda: not Path(f"/proc/{pid}").exists() or " Z " in Path(f"/proc/{pid}/stat").read_text(), "its end")
