"""Work done exactly once: here, in a pool and on Ray, with workers and whole runs that die."""

from __future__ import annotations

from pathlib import Path

import pytest
from loaded import start_loaded
from squares import Squares, tasks
from waiting import until

from salon.engine import EngineSettings, WorkTask, read_results, run_work
from salon.errors import BadFile, BadValue


def found(work: Squares, folder: Path) -> dict[str, int]:
    table = read_results(work, folder)
    return dict(zip(table.column("key").to_pylist(), table.column("square").to_pylist()))


def wanted(count: int) -> dict[str, int]:
    return {f"{number:05d}": number * number for number in range(count)}


@pytest.mark.parametrize("engine", ["here", "pool"])
def test_every_task_once_and_a_second_run_makes_nothing(engine: str, tmp_path: Path) -> None:
    work, out, steps = Squares(tmp_path), tmp_path / "out", []
    settings = EngineSettings(engine=engine, workers=2, batch=7)
    done = run_work(work, tasks(50), out, settings, steps.append)
    assert (done.computed, done.reused, sum(steps)) == (50, 0, 50)
    assert found(work, out) == wanted(50)
    assert read_results(work, out).column("note").to_pylist()[:2] == ["even", None]
    again = run_work(work, tasks(60), out, settings.model_copy(update={"batch": 4}))
    assert (again.computed, again.reused) == (10, 50)
    assert found(work, out) == wanted(60)


def test_work_is_opened_once_in_each_worker(tmp_path: Path) -> None:
    run_work(Squares(tmp_path), tasks(40), tmp_path / "out", EngineSettings(engine="pool", workers=2, batch=2))
    assert len(list(tmp_path.glob("opened-*"))) <= 2


def test_a_worker_that_dies_costs_nothing_and_a_task_that_kills_is_named(tmp_path: Path) -> None:
    work = Squares(tmp_path, once=(1,), always=(5,))
    done = run_work(work, tasks(8), tmp_path / "out", EngineSettings(engine="pool", workers=2, batch=2, attempts=2))
    assert [lost.key for lost in done.lost] == ["00005"]
    assert "SIGKILL" in done.lost[0].reason
    assert done.deaths == 1 + 2 * 2  # its batch and then the task itself, each tried twice
    rest = wanted(8)
    del rest["00005"]
    assert found(work, tmp_path / "out") == rest


def test_a_run_that_is_killed_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = (
        "from pathlib import Path; from squares import Squares, tasks\n"
        "from salon.engine.work import run_work; from salon.engine.work import EngineSettings\n"
        f"run_work(Squares(Path({str(tmp_path)!r}), slow=.01), tasks(400), {str(out)!r}, EngineSettings(batch=5))\n"
    )
    with start_loaded(code) as running:
        until(lambda: len(list(out.glob("part-*"))) >= 8 or running.poll() is not None, "eight shards")
        running.kill()
    work = Squares(tmp_path)
    done = run_work(work, tasks(400), out, EngineSettings(batch=50))
    assert done.reused >= 40
    assert done.reused % 5 == 0
    assert done.computed + done.reused == 400
    assert found(work, out) == wanted(400)


def test_what_the_work_raises_ends_the_run_and_keeps_what_is_done(tmp_path: Path) -> None:
    given = [*tasks(20), WorkTask("bad", -1)]
    with pytest.raises(BadValue, match="negative"):
        run_work(Squares(tmp_path), given, tmp_path / "out", EngineSettings(batch=5))
    assert found(Squares(tmp_path), tmp_path / "out") == wanted(20)


def test_keys_and_shards_are_checked(tmp_path: Path) -> None:
    work, out = Squares(tmp_path), tmp_path / "out"
    with pytest.raises(BadValue, match="two with"):
        run_work(work, [WorkTask("a", 1), WorkTask("a", 2)], out)
    assert read_results(work, out).num_rows == 0
    run_work(work, tasks(3), out)
    other = Squares(tmp_path)
    other.signature = "cubes"
    with pytest.raises(BadFile, match="another work"):
        run_work(other, tasks(3), out)
    next(out.glob("part-*")).write_bytes(b"PAR1 torn")
    with pytest.raises(BadFile, match="done again"):
        run_work(work, tasks(3), out)
