"""A log that only grows: on the disk before anybody is told, whole after a kill, found again by id."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from loaded import start_loaded
from waiting import until

from salon.errors import BadFile
from salon.store import AppendLog, log_files, log_lines
from salon.store.append_log import find_line

WRITER = """
import sys
from pathlib import Path
from salon.store.append_log import AppendLog
log = AppendLog(Path(sys.argv[1]), "d", rotate_bytes=4096)
n = 0
while True:
    print(log.append({"n": n, "text": "x" * 300}), flush=True)
    n += 1
"""


@pytest.fixture
def opened():
    logs = []

    def open_one(folder, **options):
        logs.append(AppendLog(folder, "d", **options))
        return logs[-1]

    yield open_one
    for log in logs:
        log.close()


def test_lines_come_back_in_order_over_files(opened, tmp_path):
    log = opened(tmp_path, rotate_bytes=200)
    ids = [log.append({"n": n, "text": "Füße\n\u2028"}) for n in range(20)]
    assert [line["n"] for line in log_lines(tmp_path, "d")] == list(range(20))
    assert [log.find(id)["n"] for id in ids] == list(range(20))
    assert len(log_files(tmp_path, "d")) > 3


def test_a_second_opening_goes_on(opened, tmp_path):
    first = opened(tmp_path)
    first.append({"n": 0})
    first.close()
    second = opened(tmp_path)
    second.append({"n": 1})
    assert second.mended == 0
    assert [line["n"] for line in log_lines(tmp_path, "d")] == [0, 1]


def test_two_writers_are_refused(opened, tmp_path):
    log = opened(tmp_path)
    with pytest.raises(BadFile, match="no other process writes"):
        opened(tmp_path)
    log.close()
    opened(tmp_path).close()


def test_a_torn_last_line_is_cut_off_and_its_bytes_counted(opened, tmp_path):
    log = opened(tmp_path)
    id = log.append({"n": 0})
    log.close()
    with open(log_files(tmp_path, "d")[0][1], "ab") as file:
        file.write(b'{"id":"torn')
    assert [line["n"] for line in log_lines(tmp_path, "d")] == [0]  # readers do not stumble either
    again = opened(tmp_path)
    assert again.mended == 11
    again.append({"n": 1})
    assert [line["n"] for line in log_lines(tmp_path, "d")] == [0, 1]
    assert again.find(id)["n"] == 0


def test_made_up_ids_find_nothing(opened, tmp_path):
    log = opened(tmp_path)
    inner = json.dumps({"id": "000001-000000001e-aaaaaaaaaaaa", "n": 9})
    id = log.append({"text": inner})
    number, place, _ = id.split("-")
    for other in ("", "x", id[:-1], f"{number}-{place}-{'a' * 12}", f"{number}-00000000ff-{'a' * 12}", f"../{id}"):
        assert log.find(other) is None
    for offset in range(1, 120):
        assert log.find(f"{number}-{offset:010x}-aaaaaaaaaaaa") is None
    assert find_line(tmp_path / "nowhere", "d", id) is None


def test_one_flush_serves_many_writers(opened, tmp_path, monkeypatch):
    log = opened(tmp_path)
    plain = os.fsync
    waited = []

    def slow(number):
        if not waited:  # the first flush lasts until all others wait behind it
            waited.append(1)
            until(lambda: len(log._waiting) >= 31, "all other writers")
        plain(number)

    monkeypatch.setattr("salon.store.append_log.os.fsync", slow)
    with ThreadPoolExecutor(32) as threads:
        ids = list(threads.map(lambda n: log.append({"n": n}), range(32)))
    assert log.flushes == 2
    assert [log.find(id)["n"] for id in ids] == list(range(32))


def test_a_full_disk_is_told_and_leaves_no_half_line(opened, tmp_path, monkeypatch):
    log = opened(tmp_path)
    log.append({"n": 0})

    def full(number):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("salon.store.append_log.os.fsync", full)
        with pytest.raises(BadFile, match="No space left"):
            log.append({"n": 1})
    id = log.append({"n": 2})
    assert [line["n"] for line in log_lines(tmp_path, "d")] == [0, 2]
    assert log.find(id)["n"] == 2


@contextmanager
def room(size: int) -> Iterator[None]:
    """No file of this process may grow beyond `size`: the last write is taken in part, as on a disk that fills up."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_log_goes_on_once_there_is_room_again(opened, tmp_path):
    """A service does not have to be started again because its disk was full for a moment."""
    log = opened(tmp_path)
    log.append({"n": 0})
    path = tmp_path / "d-000001.jsonl"
    size = path.stat().st_size
    with room(size + 20):
        for _ in range(3):
            with pytest.raises(BadFile, match=r"too large|No space"):
                log.append({"n": 1})
            assert path.stat().st_size == size, "no half line stays"
    id = log.append({"n": 2})
    assert [line["n"] for line in log_lines(tmp_path, "d")] == [0, 2]
    assert log.find(id)["n"] == 2


def test_a_log_that_cannot_begin_its_next_file_tries_again(opened, tmp_path, monkeypatch):
    log = opened(tmp_path, rotate_bytes=10)
    log.append({"n": 0})

    def full(self):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(type(log), "_opened", full)
        for _ in range(2):
            with pytest.raises(BadFile, match="No space left"):
                log.append({"n": 1})
    assert log.find(log.append({"n": 2}))["n"] == 2
    assert sorted(path.name for path in tmp_path.glob("d-*")) == ["d-000001.jsonl", "d-000002.jsonl"]


def test_a_line_that_is_no_object_is_named(tmp_path):
    (tmp_path / "d-000001.jsonl").write_text('{"n":0}\n[1]\n')
    with pytest.raises(BadFile, match=r"d-000001\.jsonl:2"):
        list(log_lines(tmp_path, "d"))


def test_everything_acknowledged_survives_kill_9(opened, tmp_path):
    writer = start_loaded(WRITER, tmp_path)
    told = [writer.stdout.readline().strip() for _ in range(60)]
    writer.kill()
    told += [line for line in writer.communicate()[0].split("\n") if len(line) == len(told[0])]
    log = opened(tmp_path, rotate_bytes=4096)
    assert [log.find(id)["n"] for id in told] == list(range(len(told)))
    assert log.append({"n": -1}) not in told
