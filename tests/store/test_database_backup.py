"""A backup holds everything, comes from a running studio, and goes back into either kind of database."""

from __future__ import annotations

import stat
import threading
from pathlib import Path

import pytest
from loaded import start_loaded
from postgres import KINDS, fresh_url
from sqlalchemy import select
from studies import example

from salon.errors import BadFile
from salon.store import Database, open_database, open_place, restore
from salon.store.database import tables
from salon.store.database.connection import DamagedDatabase, StudyThere
from salon.study import Comparison, Rater


def filled(url: str) -> Database:
    database = open_database(url)
    database.put_study(example())
    database.add_rater(Rater(id="zoe"), status="active")
    database.put_profile("zoe", {"years": 3})
    database.put_settings("a = 1")
    for position in range(3):
        answer(database, position)
    database.undo_last("zoe")
    return database


def answer(database: Database, position: int) -> int:
    task = database.add_task("zoe", position, about=str(position), question={}, screen={})
    judgment = Comparison(criterion="overall", rater="zoe", a="p1-a", b="p1-b", outcome="a", repeat=position)
    saved = database.submit(task.id, "zoe", [judgment], key=f"{position}!", started_at=1, answered_at=2 + position)
    return saved.ids[0]


def everything(database: Database) -> dict[str, list[tuple]]:
    with database.snapshot() as connection:
        return {
            table.name: [tuple(row) for row in connection.execute(select(table).order_by(*table.primary_key))]
            for table in tables.metadata.sorted_tables
            if table not in tables.DERIVED
        }


@pytest.mark.parametrize("source", KINDS)
@pytest.mark.parametrize("target", KINDS)
def test_a_backup_goes_back_into_either_database(source: str, target: str, tmp_path: Path) -> None:
    path = tmp_path / "backup.db"
    with filled(fresh_url(source, tmp_path)) as database:
        token = database.new_link("rater", "zoe")
        before = everything(database)
        database.backup(path)
        assert open_place(f"sqlite:///{path}").hash == database.read_study().hash
    with open_database(fresh_url(target, tmp_path)) as back:
        restore(path, back)
        assert everything(back) == before
        assert back.who(token).rater == "zoe"
        assert answer(back, 3) > max(row[0] for row in before["judgments"])  # numbers go on
        with pytest.raises(StudyThere):
            restore(path, back)


@pytest.mark.parametrize("kind", KINDS)
def test_a_backup_of_a_studio_at_work_is_one_moment(kind: str, tmp_path: Path) -> None:
    stop = threading.Event()
    done: list[int] = []

    def work() -> None:
        while not stop.is_set():
            done.append(answer(database, 3 + len(done)))

    with filled(fresh_url(kind, tmp_path)) as database:
        worker = threading.Thread(target=work)
        worker.start()
        try:
            for number in range(3):
                acknowledged = len(done)
                database.backup(tmp_path / f"{number}.db")
                with open_database(f"sqlite:///{tmp_path / f'{number}.db'}") as copy:
                    held = everything(copy)
                    closed = [row for row in held["tasks"] if row[-1] is not None]
                    undone = {row[0] for row in held["undos"]}
                    live = [row for row in held["judgments"] if row[1] is not None and row[0] not in undone]
                    assert len(closed) == len(live) >= 2 + acknowledged
        finally:
            stop.set()
            worker.join()


def test_a_backup_replaces_nothing_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "backup.db"
    path.write_text("mine")
    with filled(fresh_url("sqlite", tmp_path)) as database:
        for place in (path, tmp_path, tmp_path / "none" / "x.db"):
            with pytest.raises(BadFile):
                database.backup(place)
        assert path.read_text() == "mine"
        database.backup(path, overwrite=True)
        assert open_place(f"sqlite:///{path}").hash == database.read_study().hash
    assert not list(tmp_path.glob(".*"))


def test_a_backup_is_the_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "backup.db"
    path.touch(mode=0o666)
    with filled(fresh_url("sqlite", tmp_path)) as database:
        database.backup(path, overwrite=True)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600, "it holds what raters say about themselves, as the database does"


def test_only_whole_backups_are_restored(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("notes " * 500)
    (tmp_path / "empty.db").touch()
    with filled(fresh_url("sqlite", tmp_path)) as database:
        database.backup(tmp_path / "whole.db")
    whole = (tmp_path / "whole.db").read_bytes()
    (tmp_path / "torn.db").write_bytes(whole[: len(whole) // 2])
    other = tmp_path / "other"
    other.mkdir()
    with open_database(fresh_url("sqlite", other)) as database:
        for name in ("none.db", "notes.db", "empty.db", "torn.db"):
            with pytest.raises(BadFile) as error:
                restore(tmp_path / name, database)
            assert error.value.where == str(tmp_path / name), "the file that was named, not a copy of it"
        assert not database.has_study()
        restore(tmp_path / "whole.db", database)
        assert database.has_study()


def test_what_a_killed_backup_left_is_swept_by_the_next_and_one_at_work_is_let_be(tmp_path: Path) -> None:
    path = tmp_path / "backup.db"
    code = "import sys, time; from pathlib import Path; from salon.store.atomic_files import whole_file\n"
    code += "with whole_file(Path(sys.argv[1])): print(flush=True); time.sleep(600)"
    with start_loaded(code, path) as writer:
        writer.stdout.readline()  # it is at work
        (tmp_path / ".backup.db.other.part").touch()  # of another file
        with filled(fresh_url("sqlite", tmp_path)) as database:
            database.backup(path)
            assert len(list(tmp_path.glob(".*.part"))) == 2
            writer.kill()
            writer.wait()
            assert len(list(tmp_path.glob(".*.part"))) == 2
            database.backup(path, overwrite=True)
    assert [left.name for left in tmp_path.glob(".*.part")] == [".backup.db.other.part"]


@pytest.mark.parametrize("how", ["header", "middle", "cut"])
def test_a_damaged_file_is_told_as_such_with_the_way_back(tmp_path: Path, how: str) -> None:
    path = tmp_path / "studio.db"
    with open_database(path, create=True) as database:
        database.put_study(example())
        database.backup(tmp_path / "backup.db")
    whole = bytearray((tmp_path / "backup.db").read_bytes())
    if how == "header":
        whole[:16] = b"x" * 16
    elif how == "middle":
        whole[4096:20_000] = b"\xff" * (20_000 - 4096)
    else:
        del whole[9000:]
    for file in tmp_path.glob("studio.db*"):
        file.unlink()
    path.write_bytes(whole)
    with pytest.raises(DamagedDatabase, match="salon restore"), open_database(path) as database:
        database.check_whole()
    path.unlink()
    with open_database(path, create=True) as database:
        restore(tmp_path / "backup.db", database)
        database.check_whole()
        assert database.read_study().hash == example().hash
