"""Raters, links, consent, hours, progress and the audit; on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres import KINDS, fresh_url
from sqlalchemy import select
from studies import example

from salon.errors import BadValue
from salon.store import BadLink, Database, RaterVisit, open_database
from salon.store.database import JudgmentCount, tables
from salon.store.database.connection import UnknownRater
from salon.study import Comparison, Rater


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    with open_database(fresh_url(request.param, tmp_path)) as database:
        database.put_study(example())
        database.add_rater(Rater(id="zoe", cohort="designers"), status="active", at=1)
        yield database


def answer(database: Database, position: int = 0, at: int = 100, phase: str = "main") -> None:
    task = database.add_task("zoe", position, about=str(position), question={}, screen={}, phase=phase)
    judgment = Comparison(criterion="overall", rater="zoe", a="p1-a", b="p1-b", outcome="a", repeat=position)
    database.submit(task.id, "zoe", [judgment], key=str(position), started_at=1, answered_at=at)


def everything(database: Database) -> str:
    """All the database holds, as one text."""
    with database.reading() as connection:
        return repr([connection.execute(select(table)).all() for table in tables.metadata.sorted_tables])


# -- links -----------------------------------------------------------------------------------------------------


def test_a_link_stands_for_its_holder_until_it_is_revoked(database: Database) -> None:
    token = database.new_link("rater", "zoe")
    owner = database.new_link("owner")
    found = database.who(token)
    assert (found.role, found.rater, found.status) == ("rater", "zoe", "active")
    assert (database.who(owner).role, database.who(owner).rater) == ("owner", None)
    database.revoke(found.link)
    with pytest.raises(BadLink):
        database.who(token)
    assert database.who(owner).role == "owner"


def test_a_link_ends_at_its_time(database: Database) -> None:
    token = database.new_link("adjudicator", expires_at=1000)
    assert database.who(token, at=999).role == "adjudicator"
    with pytest.raises(BadLink):
        database.who(token, at=1000)


def test_tokens_are_long_different_and_not_stored(database: Database) -> None:
    tokens = {database.new_link("rater", "zoe") for _ in range(20)}
    assert len(tokens) == 20
    assert min(map(len, tokens)) >= 43  # 32 bytes in base 64
    held = everything(database)
    assert not any(token in held for token in tokens)


def test_a_forged_link_lets_nobody_in(database: Database) -> None:
    token = database.new_link("rater", "ann")
    forged = ["", "x", "A" * 43, "A" * 10_000, "' OR 1=1 --", "\x00", "\ud800", "漢"]
    for attempt in (*forged, token + "A", token[:-1], token.swapcase(), token + "=" * 200):
        with pytest.raises(BadLink):
            database.who(attempt)


def test_the_stored_hash_is_no_token(database: Database) -> None:
    database.new_link("owner")
    with database.reading() as connection:
        stored = connection.execute(select(tables.links.c.hash)).scalar()
    with pytest.raises(BadLink):
        database.who(stored)


def test_links_are_for_known_raters_and_roles(database: Database) -> None:
    with pytest.raises(UnknownRater):
        database.new_link("rater", "nobody")
    for role, rater in (("admin", None), ("owner", "zoe"), ("rater", None)):
        with pytest.raises(BadValue):
            database.new_link(role, rater)


# -- raters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["removed", "withdrawn"])
def test_who_left_is_not_read_and_can_be_brought_back(database: Database, status: str) -> None:
    answer(database)
    before, token = database.read_study(), database.new_link("rater", "zoe")
    database.set_status("zoe", status)
    after = database.read_study()
    assert after.counts["comparisons"] == before.counts["comparisons"] - 1
    assert "zoe" not in after.ids("raters").to_pylist()
    assert after.revision > before.revision
    assert after.revisions[-1].reason == f"a rater was {status}"
    with pytest.raises(BadLink):
        database.who(token)
    database.set_status("zoe", "active")
    back = database.read_study()
    assert back.hash == before.hash
    assert back.revision > after.revision


def test_a_pause_keeps_the_answers(database: Database) -> None:
    answer(database)
    before = database.read_study()
    database.set_status("zoe", "paused")
    database.set_status("zoe", "paused")
    after = database.read_study()
    assert (after.hash, after.revision) == (before.hash, before.revision)


def test_an_erased_rater_leaves_no_trace(database: Database, tmp_path: Path) -> None:
    never = database.read_study()
    database.add_rater(Rater(id="Ottilie-7"))
    database.new_link("rater", "Ottilie-7")
    database.put_profile("Ottilie-7", {"skill": "kerning"})
    database.consent("Ottilie-7", "1")
    database.seen("Ottilie-7")
    task = database.add_task("Ottilie-7", 0, about="x", question={}, screen={})
    judgment = Comparison(criterion="overall", rater="Ottilie-7", a="p1-a", b="p1-b", outcome="b", rationale="Bodoni")
    database.submit(task.id, "Ottilie-7", [judgment], key="k", started_at=1, answered_at=2)
    database.undo_last("Ottilie-7")
    database.submit(task.id, "Ottilie-7", [judgment], key="k2", started_at=1, answered_at=2)
    before = database.read_study()
    database.withdraw("Ottilie-7")
    database.erase("Ottilie-7")
    held = everything(database)
    assert not any(word in held for word in ("Ottilie", "kerning", "Bodoni"))
    after = database.read_study()
    assert after.hash == never.hash
    assert after.revision > before.revision
    assert [line.what for line in database.audit()][-2:] == ["rater withdrawn", "rater erased"]
    if database.sqlite:  # nor do the bytes of the files
        files = Path(database.url.database).parent.glob(Path(database.url.database).name + "*")
        assert not any(word in file.read_bytes() for file in files for word in (b"Ottilie", b"kerning", b"Bodoni"))
    with pytest.raises(UnknownRater):
        database.erase("Ottilie-7")


def test_revisions_only_grow(database: Database) -> None:
    seen = [database.read_study().revision]
    for position, change in enumerate(
        [
            lambda: answer(database, 0),
            lambda: answer(database, 1),
            lambda: database.undo_last("zoe"),
            lambda: database.add_rater(Rater(id="new")),
            lambda: database.set_status("zoe", "withdrawn"),
            lambda: database.erase("zoe"),
            lambda: database.erase("new"),
            lambda: database.add_rater(Rater(id="zoe")),
            lambda: answer(database, 0),
        ]
    ):
        change()
        seen.append(database.read_study().revision)
        assert database.revision() == seen[-1]
        assert seen[-1] > seen[-2], position


def test_a_pseudonym_is_given_once_and_is_a_text(database: Database) -> None:
    for id in ("zoe", "ann", "a\x00b", " ", "x" * 201):
        with pytest.raises(BadValue):
            database.add_rater(Rater(id=id))
    with pytest.raises(BadValue):
        database.set_status("zoe", "happy")
    with pytest.raises(UnknownRater):
        database.set_status("nobody", "active")
    assert [rater.id for rater in database.raters()] == ["ann", "bob", "vlm", "arena", "zoe"]
    assert database.rater("zoe").cohort == "designers"


def test_profiles_and_consents(database: Database) -> None:
    assert database.profile("zoe") is None
    database.put_profile("zoe", {"years": 3})
    database.put_profile("zoe", {"years": 4, "skill": "type\x00"})
    assert database.profile("zoe") == {"years": 4, "skill": "type\x00"}
    database.consent("zoe", "1", at=5)
    database.consent("zoe", "1", at=9)
    database.consent("zoe", "2", at=9)
    assert database.consents("zoe") == {"1": 5, "2": 9}
    for change in (lambda: database.put_profile("nobody", {}), lambda: database.consent("nobody", "1")):
        with pytest.raises(UnknownRater):
            change()
    assert "years" not in str(database.read_study().tables)


def test_visits_go_on_until_a_pause(database: Database) -> None:
    minute = 60_000
    for at in (0, 5, 19, 60, 61):  # minutes; more than 15 of silence start a new visit
        database.seen("zoe", at=at * minute)
    database.seen("zoe", at=60 * minute)  # a clock set back shortens nothing
    database.seen("ann", at=7)
    assert database.visits("zoe") == [RaterVisit("zoe", 0, 19 * minute), RaterVisit("zoe", 60 * minute, 61 * minute)]
    assert len(database.visits()) == 3


def test_progress_counts_what_stands(database: Database) -> None:
    for position in range(3):
        answer(database, position, at=100 + position, phase="first" if position < 2 else "second")
    answer(database, 3, at=500, phase="second")
    database.undo_last("zoe")
    of_zoe = [one for one in database.progress() if one.rater == "zoe"]
    fixed = {"rater": "zoe", "cohort": "designers", "status": "active", "criterion": "overall"}
    assert of_zoe == [
        JudgmentCount(phase="first", judgments=2, last_at=101, **fixed),
        JudgmentCount(phase="second", judgments=1, last_at=102, **fixed),
    ]
    assert [(one.about, one.answered, one.open) for one in database.asked()] == [
        ("0", 1, 0),
        ("1", 1, 0),
        ("2", 1, 0),
        ("3", 0, 1),
    ]
    database.add_rater(Rater(id="idle"))
    assert database.progress()[-1].judgments == 0


def test_the_audit_and_the_settings_keep_every_version(database: Database) -> None:
    assert database.settings() is None
    assert [database.put_settings(text) for text in ("a = 1", "a = 2")] == [1, 2]
    assert database.settings() == "a = 2"
    database.note("owner", "exported", at=9, rows=3)
    lines = database.audit()
    assert [line.what for line in lines] == ["rater added", "settings changed", "settings changed", "exported"]
    assert (lines[-1].at, lines[-1].detail) == (9, {"rows": 3})
    assert database.audit(after=lines[1].number, most=1) == [lines[2]]
