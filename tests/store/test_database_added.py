"""Judgments that no task asked for: all or nothing, once for each key, taken back as history; on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres import KINDS, fresh_url
from studies import example

from salon.errors import UnknownReference
from salon.store import Database, NothingToUndo, OtherAnswer, open_database
from salon.study import Comparison, Rater


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    with open_database(fresh_url(request.param, tmp_path)) as database:
        database.put_study(example())
        yield database


def vote(a: str = "p1-a", rater: str = "new") -> tuple[str, Comparison]:
    return rater, Comparison(criterion="overall", rater=rater, a=a, b="p1-b", outcome="a")


def test_they_are_read_with_the_study_and_the_same_key_adds_nothing(database: Database) -> None:
    before, revision = database.read_study().counts["comparisons"], database.revision()
    new = [Rater(id="new", cohort="imported")]
    saved = database.add_judgments(
        [vote(), ("new", OtherAnswer("dropped", {"item": "p1-a"}))], key="k", what="x", new=new
    )
    assert (len(saved.ids), saved.repeated) == (2, False)
    again = database.add_judgments([vote()], key="k", what="x", new=new)
    assert (sorted(again.ids), again.repeated) == (sorted(saved.ids), True)
    assert database.has_key("k")
    assert not database.has_key("other")
    assert database.read_study().counts["comparisons"] == before + 1
    assert database.revision() == revision + 3, "a rater and two answers"
    assert [line.what for line in database.newest_audit(most=1)] == ["x"]


def test_one_that_does_not_fit_keeps_all_of_them_out(database: Database) -> None:
    revision = database.revision()
    with pytest.raises(UnknownReference):
        database.add_judgments([vote(), vote("nobody")], key="k", what="x", new=[Rater(id="new")])
    assert database.revision() == revision
    assert not database.has_key("k")


def test_taking_back_is_history_and_only_for_ones_own(database: Database) -> None:
    before = database.read_study().counts["comparisons"]
    (id,) = database.add_judgments([vote()], key="k", what="x", new=[Rater(id="new")]).ids
    with pytest.raises(NothingToUndo):
        database.take_back("somebody", id, what="y", by="somebody")
    database.take_back("new", id, what="y", by="new")
    with pytest.raises(NothingToUndo):
        database.take_back("new", id, what="y", by="new")
    assert database.read_study().counts["comparisons"] == before
    assert [one.undone for one in database.given("new")] == [True]
