"""The store: kept before it is used, claimed by one at a time, readable by many, whole after every kind of end."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from salon.calls import CallAnswer, CallStore
from salon.errors import BadFile


def answer(key: str = "k", body: bytes = b"{}", **more) -> CallAnswer:
    return CallAnswer(key, 200, {"content-type": "application/json"}, body, 0.5, 1, "2026-01-01T00:00:00+00:00", **more)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "calls.sqlite"


def test_an_answer_comes_back_as_it_was(path: Path) -> None:
    first = answer(body=bytes(range(256)), tokens_in=3, tokens_out=4, cost=0.25)
    with CallStore(path) as store:
        assert store.claim("k") is True
        store.keep(first, "https://host/v1")
    with CallStore(path) as store:
        (found,) = store
        assert found.stored
        assert found == store.find("k") == store.claim("k")
        assert {n: getattr(found, n) for n in CallAnswer.__slots__ if n != "stored"} == {
            n: getattr(first, n) for n in CallAnswer.__slots__ if n != "stored"
        }
        store.keep(answer(body=b"later"), "https://host/v1")
        assert store.find("k").body == first.body  # of two for one key the first stays


def test_it_is_durable_and_readers_do_not_wait(path: Path) -> None:
    with CallStore(path) as store:
        pragma = {name: store._connection.execute(f"PRAGMA {name}").fetchone()[0] for name in _PRAGMAS}
        assert pragma == _PRAGMAS
        with store.transaction():
            store.keep(answer("a"), "u")
            reader = sqlite3.connect(path, timeout=0)
            assert reader.execute("SELECT count(*) FROM answers").fetchone() == (0,)
            reader.close()
        assert len(store) == 1


_PRAGMAS = {"journal_mode": "wal", "synchronous": 2}


def test_one_claim_at_a_time(path: Path) -> None:
    with CallStore(path) as one, CallStore(path) as other:
        assert one.claim("k") is True
        assert other.claim("k") is False
        assert one.claim("k") is False  # another thread of the same process must wait too
        other.release("k")  # not theirs to end
        assert other.claim("k") is False
        one.release("k")
        assert other.claim("k") is True
        other.keep(answer(), "u")
        assert one.claim("k").body == b"{}"
        assert one.totals().in_flight == 0


CLAIM_AND_WAIT = """
import sys, time
from salon.calls.store import CallStore
store = CallStore(sys.argv[1])
print(store.claim("k"), flush=True)
time.sleep(60)
"""


def test_the_claim_of_a_killed_process_is_free_at_once_and_counted_as_lost(path: Path) -> None:
    with CallStore(path) as store:
        child = subprocess.Popen([sys.executable, "-c", CLAIM_AND_WAIT, str(path)], stdout=subprocess.PIPE, text=True)
        assert child.stdout.readline() == "True\n"
        assert store.claim("k") is False
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
        assert store.claim("k") is True
        assert store.totals().lost == 1
        store.keep(answer(), "u")
    assert not path.with_name("calls.sqlite-owners").exists()


def test_leftovers_of_the_dead_are_swept_when_the_store_is_opened(path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", CLAIM_AND_WAIT, str(path)], stdout=subprocess.PIPE, text=True)
    child.stdout.readline()
    os.kill(child.pid, signal.SIGKILL)
    child.communicate()
    with CallStore(path) as store:
        assert store.totals().lost == 1
        assert store.totals().in_flight == 0
        assert len(list(store.owner.folder.iterdir())) == 1


COUNT = """
import sys
from salon.calls.store import CallStore
from salon.calls.call import CallAnswer
with CallStore(sys.argv[1]) as store:
    mine = 0
    for number in range(300):
        key = f"{number:03d}"
        if store.claim(key) is True:
            mine += 1
            store.keep(CallAnswer(key, 200, {}, b"", 0, 1, ""), "u")
    print(mine)
"""


def test_processes_at_once_buy_every_key_exactly_once(path: Path) -> None:
    children = [
        subprocess.Popen([sys.executable, "-c", COUNT, str(path)], stdout=subprocess.PIPE, text=True) for _ in range(3)
    ]
    bought = [int(child.communicate(timeout=300)[0]) for child in children]
    assert sum(bought) == 300


def test_a_store_opens_although_the_last_one_out_has_just_removed_the_folder_of_owners(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really_open, left = os.open, []

    def late(file, *more):
        if not left:
            left.append(file)
            path.with_name("calls.sqlite-owners").rmdir()
        return really_open(file, *more)

    monkeypatch.setattr(os, "open", late)
    with CallStore(path) as store:
        assert store.claim("k") is True
    assert left


def test_a_store_that_is_never_closed_leaves_no_lock_behind(path: Path) -> None:
    code = "import sys; from salon.calls.store import CallStore; store = CallStore(sys.argv[1]); store.claim('k')"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, timeout=300)
    assert [file.name for file in path.parent.iterdir()] == ["calls.sqlite"]


def test_unusable_answers_are_set_aside_with_their_cost(path: Path) -> None:
    with CallStore(path) as store:
        store.keep(answer(cost=0.5), "u")
        store.set_aside(store.find("k"), "broken")
        assert store.find("k") is None
        totals = store.totals()
        assert (totals.answers, totals.unusable, totals.cost) == (0, 1, 0.5)


def test_export_is_json_lines(path: Path) -> None:
    with CallStore(path) as store:
        store.keep(answer("a", '{"ü": 1}'.encode()), "https://host")
        store.keep(answer("b", b"\x89PNG"), "https://host")
        assert store.export(path.with_name("out.jsonl")) == 2
    lines = [json.loads(line) for line in path.with_name("out.jsonl").read_text().splitlines()]
    assert [line["key"] for line in lines] == ["a", "b"]
    assert lines[0]["body"] == '{"ü": 1}'
    assert lines[1]["body_base64"] == "iVBORw=="


def test_files_that_are_no_store(path: Path, tmp_path: Path) -> None:
    path.write_text("not a database, and long enough that SQLite notices it" * 30)
    with pytest.raises(BadFile, match="not a database"):
        CallStore(path)
    other = tmp_path / "other.sqlite"
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    with pytest.raises(BadFile, match="another program"):
        CallStore(other)
    with pytest.raises(BadFile, match="unable to open"):
        CallStore(tmp_path / "nowhere" / "calls.sqlite")


def test_a_store_of_another_version(path: Path) -> None:
    with CallStore(path) as store:
        store._connection.execute("PRAGMA user_version=99")
    with pytest.raises(BadFile, match="version 99"):
        CallStore(path)


def test_a_failed_transaction_leaves_nothing_and_the_store_usable(path: Path) -> None:
    with CallStore(path) as store:
        with suppress(ZeroDivisionError), store.transaction():
            store.keep(answer(), "u")
            _ = 1 / 0
        assert len(store) == 0
        store._connection.execute("PRAGMA max_page_count=1")
        with pytest.raises(BadFile, match="full"):
            store.keep(answer(body=b"x" * 100_000), "u")
        store._connection.execute("PRAGMA max_page_count=100000")
        store.keep(answer(), "u")
        assert len(store) == 1
