"""Many tasks over processes: all come back, bad ones as errors, and killed workers do not take others along."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from waiting import LONGEST, until

from salon.engine import map_processes, processes
from salon.engine.processes import WorkerDied
from salon.errors import BadValue, UnknownReference


def square(n: int) -> int:
    return n * n


def picky(n: int) -> object:
    """Different ends for different numbers."""
    if n == 2:
        raise UnknownReference("a poster", found="none", where="here", remedy="draw one")
    if n == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    if n == 4:
        return lambda: n  # cannot be pickled
    if n == 5:
        raise ZeroDivisionError(lambda: n)  # neither can its argument
    return n


@pytest.mark.parametrize("count", [1, 2])
def test_every_task_comes_back(count):
    found = dict(map_processes(square, range(9), processes=count))
    assert found == {n: n * n for n in range(9)}


@pytest.mark.parametrize("count", [1, 2])
def test_no_tasks_no_work(count):
    assert list(map_processes(square, [], processes=count)) == []


def test_errors_come_as_results_and_a_killed_worker_is_replaced():
    found = dict(map_processes(picky, range(8), processes=2))
    assert [found[n] for n in (0, 1, 6, 7)] == [0, 1, 6, 7]
    assert isinstance(found[2], UnknownReference)
    assert (found[2].needed, found[2].remedy, str(found[2]).count("\n")) == ("a poster", "draw one", 3)
    assert "in picky" in found[2].__notes__[0]
    assert isinstance(found[3], WorkerDied)
    assert "SIGKILL" in str(found[3])
    assert isinstance(found[4], TypeError)
    assert "cannot be sent back" in str(found[5])


def test_a_task_that_cannot_be_sent_is_its_own_error():
    found = dict(map_processes(square, [2, lambda: 3, 4], processes=2))
    assert (found[0], found[2]) == (4, 16)
    assert isinstance(found[1], Exception)


def test_errors_come_as_results_without_processes_too():
    found = dict(map_processes(picky, [1, 2], processes=1))
    assert found[0] == 1
    assert isinstance(found[1], UnknownReference)


def test_tasks_are_taken_only_when_needed():
    taken = []
    tasks = (taken.append(n) or n for n in itertools.count())
    results = map_processes(square, tasks, processes=2)
    for _ in range(5):
        next(results)
    assert len(taken) <= 5 + 2
    results.close()


def who(n: int) -> tuple[int, str | None]:
    """The worker itself, and a part of its environment."""
    return os.getpid(), os.environ.get("SALON_TEST")


def workers(found) -> set[int]:
    return {answer[0] for _, answer in found}


def test_the_next_call_takes_up_the_workers_of_the_last(monkeypatch, tmp_path):
    first = workers(map_processes(who, range(6), processes=2))
    assert workers(map_processes(who, range(6), processes=2)) <= first
    assert not workers(map_processes(own_id, range(4), processes=2)) & first, "another function has others"
    again = workers(map_processes(who, range(4), processes=2))
    monkeypatch.setenv("SALON_TEST", "new")
    found = list(map_processes(who, range(4), processes=2))
    assert {answer[1] for _, answer in found} == {"new"}, "and so has another environment"
    assert not workers(found) & again
    monkeypatch.chdir(tmp_path)
    assert not workers(map_processes(who, range(4), processes=2)) & workers(found), "or folder"


def test_a_worker_that_died_while_it_rested_costs_nothing():
    (one, *_) = workers(map_processes(who, range(4), processes=2))
    os.kill(one, signal.SIGKILL)
    until(lambda: one not in {child.pid for child in multiprocessing.active_children()}, "the death of a worker")
    found = list(map_processes(who, range(4), processes=2))
    assert len(found) == 4
    assert one not in workers(found)


def test_rested_too_long_a_worker_is_not_taken_up(monkeypatch):
    first = workers(map_processes(who, range(4), processes=2))
    monkeypatch.setattr(processes, "REUSE_SECONDS", 0.0)
    assert not workers(map_processes(who, range(4), processes=2)) & first


def own_id(n: int) -> tuple[int]:
    return (os.getpid(),)


def test_fewer_than_one_process_is_refused():
    with pytest.raises(BadValue, match="at least one process"):
        map_processes(square, [1], processes=0)


INTERRUPTED = """
import os, sys, time
from salon.engine.processes import map_processes
import test_processes
if __name__ == "__main__":
    for index, child in map_processes(test_processes.own_id_then_sleep, range(9), processes=2):
        print(child, flush=True)
"""


def own_id_then_sleep(n: int) -> int:
    """Quick for the first two tasks, slow for the rest."""
    time.sleep(0 if n < 2 else 1)
    return os.getpid()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_its_caller(tmp_path, sent):
    """Interrupted, it stops its workers; killed, they finish their task, find nobody to tell, and end."""
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED)
    folders = [str(folder) for folder in Path(__file__).parents[:2]]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(folders)}
    command = [sys.executable, str(script)]
    caller = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert caller.stdout.readline(), "it is at work"
    caller.send_signal(sent)
    _, said = caller.communicate(timeout=LONGEST)  # returns when the last process that could write has ended
    if sent == signal.SIGINT:
        assert said.count("Traceback") == 1
        assert "KeyboardInterrupt" in said


def test_a_script_without_a_guard_is_not_run_again(tmp_path):
    """The main module of the caller is no business of a worker's."""
    script = tmp_path / "script.py"
    script.write_text(
        "print('once')\n"
        "from math import sqrt\n"
        "from salon.engine.processes import map_processes\n"
        "print(sorted(map_processes(sqrt, [4, 9, 16], processes=2)))\n"
    )
    said = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert said.stdout.splitlines() == ["once", "[(0, 2.0), (1, 3.0), (2, 4.0)]"]
    assert said.returncode == 0
