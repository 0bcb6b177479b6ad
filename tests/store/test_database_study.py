"""A study goes into the database and comes out the same; the tables are made, checked and brought up to date."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from hypothesis import HealthCheck, given, settings
from postgres import KINDS, empty_url, fresh_url
from sqlalchemy import delete, text
from studies import example, studies

from salon.errors import BadFile, BadValue
from salon.store import Database, NoStudy, Unavailable, open_database, open_place, save_study
from salon.store.database import tables
from salon.store.database.connection import StudyThere, WrongSchema
from salon.store.database.tables import alembic_config, migrate
from salon.study import Comparison, Criterion, Item, Rater, Rating, Study


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return fresh_url(request.param, tmp_path)


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    with open_database(url) as database:
        yield database


def test_a_study_comes_out_as_it_went_in(database: Database) -> None:
    study = example()
    database.put_study(study)
    found = database.read_study()
    assert found.hash == study.hash
    assert (found.name, found.note, found.revisions) == (study.name, study.note, study.revisions)
    assert {kind: found.table(kind) for kind in found.counts} == {kind: study.table(kind) for kind in study.counts}


def storable(study: Study) -> bool:
    """PostgreSQL has no NUL in its texts, so no id may have one in either database."""
    ids = [id for kind in ("prompts", "items", "raters", "criteria") for id in study.ids(kind).to_pylist()]
    return not any("\x00" in id for id in [*ids, *(cohort.id for cohort in study.cohorts)])


@pytest.mark.parametrize("kind", KINDS)
def test_any_study_comes_out_as_it_went_in(kind: str, tmp_path: Path) -> None:
    url = fresh_url(kind, tmp_path)

    @settings(max_examples=15, suppress_health_check=list(HealthCheck), database=None)
    @given(studies().filter(storable))
    def same(study: Study) -> None:
        with open_database(url) as database:
            with database.writing() as connection:
                for table in reversed(tables.metadata.sorted_tables):
                    if table is not tables.audit:
                        connection.execute(delete(table))
            database.put_study(study)
            assert database.read_study().hash == study.hash

    same()


def test_an_id_that_postgresql_could_not_hold_is_refused_by_both(database: Database) -> None:
    study = Study.build("s", [Criterion(id="c")], compare_within="all", tables={"items": [Item(id="a\x00b")]})
    with pytest.raises(BadValue, match="without NUL"):
        database.put_study(study)
    assert not database.has_study()


def test_a_database_holds_one_study(database: Database) -> None:
    with pytest.raises(NoStudy):
        database.read_study()
    assert not database.has_study()
    database.put_study(example())
    with pytest.raises(StudyThere):
        database.put_study(example(note="another"))
    assert database.read_study().note == "Made by hand."


def test_many_blocks_are_one_table(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("salon.store.database.studies.ROWS_AT_ONCE", 7)
    raters = [Rater(id=f"r{number}") for number in range(20)]
    pairs = [Comparison(criterion="c", rater=one.id, a="x", b="y", outcome="a", seconds=1) for one in raters]
    ratings = [Rating(criterion="c", rater=one.id, item="x", value=3, rationale=one.id) for one in raters]
    named = {"items": [Item(id="x"), Item(id="y")], "raters": raters}
    study = Study.build(
        "s", [Criterion(id="c")], compare_within="all", tables=named | {"comparisons": pairs, "ratings": ratings}
    )
    database.put_study(study)
    assert database.read_study().hash == study.hash


# -- places ----------------------------------------------------------------------------------------------------


def test_a_place_is_a_folder_or_an_address(url: str, tmp_path: Path) -> None:
    study = example()
    save_study(study, tmp_path / "folder")
    with open_database(url) as database:
        database.put_study(study)
    assert open_place(tmp_path / "folder").hash == open_place(url).hash == study.hash


def test_reading_makes_no_database(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no such file"):
        open_place(f"sqlite:///{tmp_path / 'typo.db'}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("address", "error"),
    [
        ("mysql://root:secret@host/x", BadFile),
        ("https://secret@host/x", BadFile),
        ("sqlite://", BadFile),
        ("sqlite:///:memory:", BadFile),
        ("://", BadFile),
        ("postgresql://root:secret@localhost:1/x", Unavailable),
        ("postgresql://root@localhost:1/x?password=secret", Unavailable),
    ],
)
def test_a_wrong_address_is_a_named_error_without_its_password(address: str, error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        open_place(address)
    assert "secret" not in str(raised.value)


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_text("these are notes " * 100)
    with pytest.raises(Unavailable):
        open_place(f"sqlite:///{tmp_path / 'notes.db'}")


def test_reading_a_folder_needs_no_database_library() -> None:
    code = (
        "import sys\nfrom salon.store.folder import open_place\n"
        "print([name for name in ('sqlalchemy', 'alembic', 'psycopg') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "[]"


def test_a_connection_that_was_cut_while_it_rested_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("salon.store.database.connection.IDLE_S", 0)
    url = fresh_url("postgresql", tmp_path)
    with open_database(url) as database, open_database(url) as other:
        with other.reading() as connection:
            cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid != pg_backend_pid() AND datname = "
            assert connection.execute(text(cut + "current_database()")).all() == [(True,)]
        assert not database.has_study()


# -- tables ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_the_steps_make_the_tables_of_the_program(kind: str, tmp_path: Path) -> None:
    with open_database(empty_url(kind, tmp_path), create=True) as database, database.reading() as connection:
        options = {"version_table": tables.VERSION_TABLE, "compare_type": True}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), tables.metadata) == []
        assert ScriptDirectory.from_config(alembic_config(connection)).get_current_head() == tables.SCHEMA


def test_bringing_up_to_date_twice_changes_nothing(database: Database) -> None:
    database.put_study(example())
    migrate(database)
    assert database.read_study().hash == example().hash


def pretend(url: str, version: str, oldest_code: str | None = None) -> None:
    """As if a Salon of another version had made the tables."""
    with open_database(url) as database, database.writing() as connection:
        connection.execute(text(f"UPDATE {tables.VERSION_TABLE} SET version_num = :version"), {"version": version})
        if oldest_code is not None:
            connection.execute(tables.shared_state.update().values(value=oldest_code))


@pytest.mark.parametrize(("version", "remedy"), [("9999", "update Salon"), ("0000", "older Salon")])
def test_tables_of_another_version_are_refused(url: str, version: str, remedy: str) -> None:
    pretend(url, version, version)
    with pytest.raises(WrongSchema, match=remedy):
        open_database(url)


def test_tables_of_a_newer_salon_that_this_one_cannot_bear_are_never_touched(url: str) -> None:
    pretend(url, "9999", "9998")
    with pytest.raises(WrongSchema, match="update Salon"):
        open_database(url, create=True)


def test_code_works_on_newer_tables_that_only_add(url: str, tmp_path: Path) -> None:
    """As during an upgrade: the new worker has migrated, the old one still serves, and starts again."""
    with open_database(url) as old:
        old.put_study(example())
        with open_database(url) as new, new.writing() as connection:
            connection.execute(text("ALTER TABLE raters ADD COLUMN color TEXT"))
            connection.execute(text("ALTER TABLE tasks ADD COLUMN weight INTEGER NOT NULL DEFAULT 1"))
            rater = "rater TEXT PRIMARY KEY REFERENCES raters (id) ON DELETE CASCADE"
            connection.execute(text(f"CREATE TABLE badges ({rater}, badge TEXT)"))
            connection.execute(text(f"UPDATE {tables.VERSION_TABLE} SET version_num = '9999'"))
        for database in (old, open_database(url, create=True)):
            name = f"zoe{id(database)}"
            database.add_rater(Rater(id=name), status="active")
            with database.writing() as connection:
                connection.execute(text("INSERT INTO badges VALUES (:name, 'gold')"), {"name": name})
            task = database.add_task(name, 0, about="pair", question={}, screen={})
            answer = Comparison(criterion="overall", rater=name, a="p1-a", b="p1-b", outcome="a")
            database.submit(task.id, name, [answer], key="a key", started_at=1, answered_at=2)
            assert database.read_study().counts["comparisons"] == example().counts["comparisons"] + 1
            database.erase(name)  # with what newer tables say
            with database.reading() as connection:
                assert connection.execute(text("SELECT count(*) FROM badges")).scalar() == 0
                assert tables.is_newer(connection)
        if not old.sqlite:  # what it copies table by table would not be all
            with pytest.raises(WrongSchema, match="update Salon"):
                old.backup(tmp_path / "part.db")
        database.close()


def test_another_programs_database_is_never_touched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    for create in (False, True):
        with pytest.raises(WrongSchema):
            open_database(f"sqlite:///{path}", create=create)
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("recipes",)]
    connection.close()
