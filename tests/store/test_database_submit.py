"""Answers are saved exactly once, on the disk, by those they belong to; on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest
from postgres import KINDS, fresh_url
from sqlalchemy import insert, select, text
from sqlalchemy.exc import DBAPIError
from studies import example

from salon.errors import BadValue, UnknownReference, WrongPrompt
from salon.store import (
    AlreadyAnswered,
    Database,
    KeyReused,
    NotActive,
    NothingToUndo,
    NotYours,
    OtherAnswer,
    RaterTask,
    SavedSubmission,
    Unavailable,
    open_database,
)
from salon.store.database import tables
from salon.study import Comparison, Judgment, Ranking, Rater, Rating


@pytest.fixture(params=KINDS)
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    with open_database(fresh_url(request.param, tmp_path)) as database:
        database.put_study(example())
        database.add_rater(Rater(id="zoe"), status="active")
        database.add_rater(Rater(id="max"), status="active")
        yield database


def ask(database: Database, position: int = 0, rater: str = "zoe") -> RaterTask:
    return database.add_task(rater, position, about=f"pair {position}", question={"kind": "compare"}, screen={})


def pair(outcome: str = "a", rater: str = "zoe", **more: object) -> Comparison:
    return Comparison(criterion="overall", rater=rater, a="p1-a", b="p1-b", outcome=outcome, **more)


def send(
    database: Database, task: RaterTask, *answers: Judgment | OtherAnswer, key: str = "k", **more: object
) -> SavedSubmission:
    rest = {"rater": "zoe", "started_at": 1000, "answered_at": 2000} | more
    return database.submit(task.id, answers=answers or (pair(),), key=key, **rest)


def rows(database: Database) -> list[int]:
    with database.reading() as connection:
        return list(connection.scalars(select(tables.judgments.c.id).where(tables.judgments.c.rater == "zoe")))


def test_an_answer_is_read_with_the_study(database: Database) -> None:
    before = database.read_study()
    saved = send(
        database, ask(database), pair(seconds=1.5), Rating(criterion="color", rater="zoe", item="p1-a", value=2)
    )
    after = database.read_study()
    assert len(saved.ids) == 2
    assert not saved.repeated
    assert after.counts["comparisons"] == before.counts["comparisons"] + 1
    assert list(after.nouns("comparisons"))[-1] == pair(seconds=1.5)
    assert list(after.nouns("ratings"))[-1].value == 2
    assert after.revision == before.revision + 2
    assert database.task(1, "zoe").answered_at == 2000


def test_the_same_key_again_gives_the_same_ids_and_writes_nothing(database: Database) -> None:
    task = ask(database)
    first = send(database, task, pair(seconds=1))
    again = send(database, task, pair(seconds=9), answered_at=9000)  # the clock ran on, the answer is the same
    assert again == replace(first, repeated=True)
    assert rows(database) == list(first.ids)


def test_another_key_or_another_answer_is_refused(database: Database) -> None:
    task, other = ask(database), ask(database, 1)
    send(database, task)
    with pytest.raises(AlreadyAnswered):
        send(database, task, key="another")
    with pytest.raises(KeyReused):
        send(database, task, pair("b"))
    with pytest.raises(KeyReused):
        send(database, other)
    assert len(rows(database)) == 1
    assert database.task(other.id, "zoe").answered_at is None


def test_two_raters_may_use_one_key(database: Database) -> None:
    first = send(database, ask(database))
    second = send(database, ask(database, 0, "max"), pair(rater="max"), rater="max")
    assert not second.repeated
    assert set(first.ids).isdisjoint(second.ids)


def test_nobody_answers_for_another(database: Database) -> None:
    task = ask(database)
    for attempt in (
        lambda: send(database, task, pair(rater="max"), rater="max"),
        lambda: send(database, task, pair(rater="max")),
        lambda: send(database, replace(task, id=999)),
        lambda: database.task(task.id, "max"),
        lambda: database.mark_ready(task.id, "max"),
    ):
        with pytest.raises(NotYours):
            attempt()
    assert rows(database) == []
    assert database.task(task.id, "zoe").ready_at is None


def test_someone_elses_task_and_no_task_sound_alike(database: Database) -> None:
    task = ask(database)
    with pytest.raises(NotYours) as theirs:
        database.task(task.id, "max")
    with pytest.raises(NotYours) as nobodys:
        database.task(task.id + 1, "max")
    assert str(theirs.value) == str(nobodys.value).replace(str(task.id + 1), str(task.id))


@pytest.mark.parametrize("status", ["paused", "removed", "withdrawn"])
def test_who_was_stopped_saves_nothing_new_but_hears_what_was_saved(database: Database, status: str) -> None:
    task, other = ask(database), ask(database, 1)
    first = send(database, task)
    database.set_status("zoe", status)
    assert send(database, task).ids == first.ids
    with pytest.raises(NotActive):
        send(database, other, key="new")
    database.set_status("zoe", "active")
    assert not send(database, other, key="new").repeated


def test_an_answer_that_would_spoil_the_study_is_refused(database: Database) -> None:
    task, by = ask(database), {"criterion": "overall", "rater": "zoe"}
    for answer, error in (
        (Comparison(a="p1-a", b="p2-a", outcome="a", **by), WrongPrompt),
        (Comparison(a="p1-a", b="no such", outcome="a", **by), UnknownReference),
        (Comparison(a="p1-a", b="p1-b", outcome="a", **by | {"criterion": "no such"}), UnknownReference),
        (Ranking(items=("p1-a", "p2-a"), ranks=(1, 2), **by), WrongPrompt),
        (Rating(item="p1-a", value=4.25, **by | {"criterion": "color"}), BadValue),
        (Rating(item="p1-a", value=6, **by | {"criterion": "color"}), BadValue),
        (OtherAnswer("comparisons", {}), BadValue),
        (OtherAnswer("text", {"text": "\ud800"}), BadValue),
        (OtherAnswer("text", {"text": "x" * 1_000_001}), BadValue),
        (OtherAnswer("text", {"number": float("nan")}), BadValue),
    ):
        with pytest.raises(error):
            send(database, task, pair(), answer)
    with pytest.raises(BadValue):
        database.submit(task.id, "zoe", [], key="k", started_at=1, answered_at=2)
    for key in ("", " ", "x" * 201, "a\x00b", "\ud800"):
        with pytest.raises(BadValue):
            send(database, task, key=key)
    assert rows(database) == []
    assert not send(database, task).repeated  # the task is open still


def test_texts_are_only_ever_data(database: Database) -> None:
    awkward = "'; DROP TABLE judgments; -- \x00 \\ \" %s :x 漢字 🎨\n"
    task = database.add_task("zoe", 0, about="x' OR 1=1", question={"text": awkward}, screen={"order": [awkward]})
    send(database, task, pair(rationale=awkward), OtherAnswer("text", {"text": awkward}), key="k'; --")
    assert database.tasks_of("zoe")[0].question == {"text": awkward}
    assert list(database.read_study().nouns("comparisons"))[-1].rationale == awkward
    assert database.given("zoe", kind="text")[0].record == {"text": awkward}
    assert database.given("zoe' OR '1'='1") == []


def test_what_is_not_counted_is_kept_and_not_read(database: Database) -> None:
    before = database.read_study().counts
    send(database, ask(database), pair(), counted=False)
    send(database, ask(database, 1), OtherAnswer("text", {"points": ["red"]}, criterion="overall"), key="k2")
    assert database.read_study().counts == before | {"raters": before["raters"]}
    assert [(one.kind, one.counted) for one in database.given("zoe")] == [("comparisons", False), ("text", True)]


def test_undo_reopens_the_last_task_and_keeps_the_history(database: Database) -> None:
    first, second = ask(database), ask(database, 1)
    send(database, first, answered_at=1000)
    send(database, second, pair("b", repeat=1), key="k2", answered_at=2000)
    before = database.read_study()
    assert database.undo_last("zoe").id == second.id
    after = database.read_study()
    assert after.counts["comparisons"] == before.counts["comparisons"] - 1
    assert after.revision == before.revision + 1
    assert send(database, second, pair("b", repeat=1), key="k2").repeated  # an old key brings nothing back
    assert database.read_study().hash == after.hash
    send(database, second, pair("a", repeat=1), key="k3", answered_at=3000)
    assert [(one.record["outcome"], one.undone) for one in database.given("zoe")] == [
        ("a", False),
        ("b", True),
        ("a", False),
    ]
    with pytest.raises(NothingToUndo):
        database.undo_last("zoe", since=3001)
    with pytest.raises(NothingToUndo):
        database.undo_last("max")


def test_what_was_written_cannot_be_changed(database: Database) -> None:
    send(database, ask(database))
    for change in ("UPDATE judgments SET payload = '{}'", "UPDATE audit SET who = 'x'", "DELETE FROM audit"):
        with pytest.raises((DBAPIError, Unavailable)), database.writing() as connection:
            connection.execute(text(change))


def test_a_failed_transaction_leaves_nothing(database: Database) -> None:
    ask(database)
    row = {"task": 1, "rater": "zoe", "kind": "comparisons", "payload": "{}", "counted": True, "part": 0}

    def fail_after_writing() -> None:
        with database.writing() as connection:
            connection.execute(insert(tables.judgments), row)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail_after_writing()
    assert rows(database) == []


# -- at the same time ------------------------------------------------------------------------------------------


def at_once(*works: object) -> list[object]:
    """All functions at the same moment, each in a thread; what each gave or raised."""
    barrier = Barrier(len(works), timeout=60)

    def run(work: object) -> object:
        barrier.wait()
        try:
            return work()
        except Exception as error:
            return error

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def test_one_submission_from_many_places_at_once_is_saved_once(database: Database) -> None:
    for position in range(5):
        task, answer = ask(database, position), pair(repeat=position)
        got = at_once(*[lambda: send(database, task, answer, key=f"k{position}")] * 6)  # noqa: B023
        assert len({saved.ids for saved in got}) == 1
        assert sorted(saved.repeated for saved in got) == [False] + [True] * 5
    assert len(rows(database)) == 5


def test_of_two_answers_at_once_one_is_saved(database: Database) -> None:
    task = ask(database)
    got = at_once(*[lambda key=key: send(database, task, key=key) for key in "abcd"])
    assert sorted(type(one).__name__ for one in got) == ["AlreadyAnswered"] * 3 + ["SavedSubmission"]
    assert len(rows(database)) == 1


def test_one_key_for_two_tasks_at_once_is_saved_once(database: Database) -> None:
    tasks = [ask(database, position) for position in range(4)]
    got = at_once(*[lambda task=task: send(database, task, pair(repeat=task.position)) for task in tasks])
    assert sorted(type(one).__name__ for one in got) == ["KeyReused"] * 3 + ["SavedSubmission"]


def test_two_devices_that_ask_for_the_next_question_see_the_same(database: Database) -> None:
    def next_task(number: int) -> RaterTask:
        return database.add_task("zoe", 0, about=f"pair {number}", question={"n": number}, screen={"left": number})

    got = at_once(*[lambda number=number: next_task(number) for number in range(6)])
    assert len({task.question["n"] for task in got}) == 1
    assert len(database.tasks_of("zoe")) == 1


def test_a_rater_is_asked_the_same_once(database: Database) -> None:
    first = ask(database)
    assert ask(database) == first
    with pytest.raises(BadValue, match="the same once"):
        database.add_task("zoe", 1, about=first.about, question={}, screen={})


def test_the_first_time_a_rater_is_ready_counts(database: Database) -> None:
    task = ask(database)
    assert database.mark_ready(task.id, "zoe", at=5).ready_at == 5
    assert database.mark_ready(task.id, "zoe", at=9).ready_at == 5


def test_readers_wait_for_no_writer(database: Database) -> None:
    """A reader in the middle of another's transaction sees what was committed before it, at once."""
    before = database.read_study().hash
    task = ask(database)
    with database.snapshot() as reader:
        count = select(tables.judgments.c.id).where(tables.judgments.c.rater == "zoe")
        assert reader.execute(count).all() == []
        send(database, task)
        assert reader.execute(count).all() == []
    with database.writing() as connection:
        connection.execute(text("DELETE FROM undos"))
        assert database.read_study().hash != before


def test_a_commit_is_flushed_before_it_returns(database: Database) -> None:
    with database.writing() as connection:
        if database.sqlite:
            found = [connection.execute(text(f"PRAGMA {name}")).scalar() for name in ("journal_mode", "synchronous")]
            assert found == ["wal", 2]
        else:
            assert connection.execute(text("SHOW synchronous_commit")).scalar() == "on"
            assert connection.execute(text("SHOW transaction_isolation")).scalar() == "read committed"
