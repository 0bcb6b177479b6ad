"""Writers who come together: each is saved or refused alone, on either database; on SQLite they share a flush."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from postgres import KINDS, fresh_url
from sqlalchemy import event, func, insert, select
from studies import example
from waiting import LONGEST, until

from salon.errors import BadValue
from salon.store import AlreadyAnswered, Database, NewTask, Unavailable, open_database
from salon.store.database.tables import settings
from salon.study import Comparison, Rater


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    with open_database(fresh_url(request.param, tmp_path)) as opened:
        yield opened


def put(number: int, *, fails: bool = False):
    def work(connection):
        connection.execute(insert(settings), {"text": f"text {number}", "at": number})
        if fails:
            raise BadValue("a good number is needed", found=number)
        return number

    return work


def written(database: Database) -> int:
    with database.reading() as connection:
        return connection.execute(select(func.count()).select_from(settings)).scalar_one()


def together(database: Database, works: list) -> list[object]:
    """The results or errors of `works`, all of which wait for the same turn where there are turns."""
    everyone = threading.Barrier(len(works) + 1, timeout=60)

    def one(work):
        everyone.wait()
        try:
            return database.write(work)
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(works)) as pool:
        with database._turn:
            waiting = [pool.submit(one, work) for work in works]
            everyone.wait()
            until(lambda: not database.sqlite or len(database._waiting) >= len(works), "all who write")
        return [future.result(timeout=LONGEST) for future in waiting]


def test_who_fails_takes_nobody_along(database: Database) -> None:
    found = together(database, [put(n, fails=n % 3 == 0) for n in range(9)])
    assert [type(one) is BadValue for one in found] == [n % 3 == 0 for n in range(9)]
    assert [one for one in found if isinstance(one, int)] == [1, 2, 4, 5, 7, 8]
    assert written(database) == 6


def test_those_who_wait_share_a_flush(tmp_path: Path) -> None:
    with open_database(fresh_url("sqlite", tmp_path)) as database:
        commits = []
        event.listen(database.engine, "commit", commits.append)
        assert together(database, [put(n) for n in range(8)]) == list(range(8))
        assert (len(commits), written(database)) == (1, 8)


def test_nobody_hears_that_it_was_saved_when_the_flush_fails(tmp_path: Path) -> None:
    with open_database(fresh_url("sqlite", tmp_path)) as database:

        def end(connection):
            connection.connection.driver_connection.execute("ROLLBACK")  # as SQLite itself does on a full disk

        found = together(database, [put(0), end, put(2)])
        assert [type(one) for one in found] == [Unavailable] * 3
        assert written(database) == 0
        assert database.write(put(3)) == 3


def test_the_next_task_comes_with_the_answer_or_not_at_all(database: Database) -> None:
    database.put_study(example())
    database.add_rater(Rater(id="zoe"), status="active")
    first = database.add_task("zoe", 0, about="one", question={}, screen={})
    answer = Comparison(criterion="overall", rater="zoe", a="p1-a", b="p1-b", outcome="a")
    moments = {"started_at": 1, "answered_at": 2}
    new = NewTask(1, "two", {"kind": "compare"}, {"order": []}, at=7)
    saved = database.submit(first.id, "zoe", [answer], key="k1", **moments, following=new)
    assert [saved.following] == database.tasks_of("zoe")[1:]
    with pytest.raises(AlreadyAnswered):
        database.submit(first.id, "zoe", [answer], key="k2", **moments, following=NewTask(2, "three", {}, {}))
    taken = database.submit(saved.following.id, "zoe", [answer], key="k3", **moments, following=new)
    assert (taken.following, len(database.tasks_of("zoe"))) == (None, 2)
