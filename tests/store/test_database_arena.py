"""Voters, ballots and votes of a public arena, on both kinds of database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from postgres import KINDS, fresh_url

from salon.store import (
    AlreadyAnswered,
    Limit,
    NewBallot,
    NotActive,
    NotYours,
    TooFrequent,
    open_database,
    restore,
)

PAIR = NewBallot("best", (1, 2), 0.25, 0.5)
DAY = 86_400_000


@pytest.fixture(params=KINDS)
def database(request, tmp_path):
    with open_database(fresh_url(request.param, tmp_path)) as database:
        yield database


def admit(database, name, *, address="a", limits=(), at=1000):
    return database.admit_voter(
        f"key {name}", address=address, device="d", puzzle=f"puzzle {name}", limits=limits, at=at
    )


def rows(database, **options):
    return [row for part in database.arena_votes("best", **options) for row in part]


def test_a_ballot_is_voted_on_once_and_by_its_voter(database):
    one, two = admit(database, "one"), admit(database, "two")
    ballot = database.deal(one, PAIR, at=2000)
    assert database.deal(one, NewBallot("best", (3, 4), 0.1, 0.5)) == ballot
    assert database.open_ballot(one, "best") == ballot
    assert database.open_ballot(two, "best") is None
    with pytest.raises(NotYours):
        database.ballot(ballot.number, two)
    assert database.cast(ballot, 1, mark="m", at=5000) is False
    with pytest.raises(AlreadyAnswered):
        database.cast(ballot, 0, mark="m", at=6000)
    assert rows(database) == [(1, one, 5000, 1, 2, None, None, 1, 0.25, 0.5, 3.0, False)]
    assert database.ballot(ballot.number, one).answer == 1
    assert database.sets_seen(one, "best") == {frozenset({1, 2})}
    assert database.count_votes("best") == (1, 1)
    assert database.count_votes("other") == (0, 0)


def test_a_second_vote_of_one_place_is_kept_and_marked(database):
    repeated = []
    for name in ("one", "two"):
        voter = admit(database, name)
        repeated.append(database.cast(database.deal(voter, PAIR), 0, mark="same place, same pictures"))
    assert repeated == [False, True]
    assert [row[-1] for row in rows(database)] == [False, True]


def test_limits_count_across_voters_and_end_with_their_window(database):
    limit = Limit("address a", 2, DAY)
    admit(database, "one", limits=[limit], at=DAY + 1)
    admit(database, "two", limits=[limit], at=DAY + 2)
    with pytest.raises(TooFrequent) as raised:
        admit(database, "three", limits=[limit], at=DAY + 3)
    assert raised.value.wait == 86_400
    voter = admit(database, "four", limits=[limit], at=2 * DAY)
    votes = Limit(f"voter {voter}", 1, 60_000)
    database.cast(database.deal(voter, PAIR), 0, mark="1", limits=[votes], at=2 * DAY)
    second = database.deal(voter, PAIR)
    with pytest.raises(TooFrequent):
        database.cast(second, 0, mark="2", limits=[votes], at=2 * DAY + 1)
    assert database.open_ballot(voter, "best") == second  # nothing of what was refused is there
    database.cast(second, 0, mark="2", limits=[votes], at=2 * DAY + 60_000)


def test_a_puzzle_is_good_for_one_voter(database):
    admit(database, "one")
    with pytest.raises(NotActive):
        database.admit_voter("another key", address="b", device="d", puzzle="puzzle one", limits=())
    assert database.arena_voter("another key") is None


def test_votes_at_once_on_one_ballot_leave_one_vote(database):
    ballot = database.deal(admit(database, "one"), PAIR)

    def cast(answer):
        try:
            database.cast(ballot, answer, mark=str(answer))
            return answer
        except AlreadyAnswered:
            return None

    with ThreadPoolExecutor(8) as pool:
        taken = [answer for answer in pool.map(cast, [0, 1] * 8) if answer is not None]
    assert len(taken) == 1
    assert [row[7] for row in rows(database)] == taken


def test_deals_at_once_leave_one_open_ballot(database):
    voter = admit(database, "one")
    with ThreadPoolExecutor(8) as pool:
        dealt = set(pool.map(lambda n: database.deal(voter, NewBallot("best", (n, n + 1), 0.5, 0.5)).number, range(16)))
    assert len(dealt) == 1


def test_who_withdraws_leaves_nothing(database):
    voter, other = admit(database, "one"), admit(database, "two")
    for who in (voter, other):
        database.cast(database.deal(who, PAIR), 0, mark=str(who))
    open_still = database.deal(voter, PAIR)
    assert database.withdraw_voter(voter) == 1
    assert [row[1] for row in rows(database)] == [other]
    assert database.arena_voter("key one").withdrawn
    assert database.arena_voter("key one").address is None
    with pytest.raises(NotActive):
        database.deal(voter, PAIR)
    with pytest.raises(AlreadyAnswered):
        database.cast(open_still, 0, mark="x")


def test_places_are_forgotten_after_their_time(database):
    admit(database, "one", at=1000)
    late = admit(database, "two", address="b", at=9 * DAY)
    assert database.voters_since("a", 0) == 1
    database.forget_places(5 * DAY, at=20 * DAY)
    assert database.voter_addresses() == {late: "b"}
    assert database.voters_since("a", 0) == 0
    admit(database, "one again", at=20 * DAY)
    database.admit_voter("k", address="c", device="d", puzzle="puzzle one", limits=())  # used puzzles are forgotten too


def test_items_keep_their_numbers(database):
    assert database.number_items(["x", "y"]) == {"x": 1, "y": 2}
    more = database.number_items(["z", "y"])
    assert more["y"] == 2
    assert set(database.arena_items()) == {"x", "y", "z"}


def test_the_newest_board_is_served_and_old_ones_go(database):
    assert database.newest_board("best") is None
    numbers = [database.put_board("best", f'{{"n": {n}}}', "{}", at=n) for n in range(15)]
    newest = database.newest_board("best")
    assert (newest.number, newest.record) == (numbers[-1], '{"n": 14}')
    assert database.newest_board("best", after=newest.number) is None
    assert database.newest_board("other") is None


def test_one_process_at_a_time_fits_boards(tmp_path):
    url = fresh_url("postgresql", tmp_path)
    with open_database(url) as one, open_database(url) as two:
        with one.fitting() as mine, two.fitting() as theirs:
            assert (mine, theirs) == (True, False)
        with two.fitting() as theirs:
            assert theirs


def test_a_backup_holds_the_arena(database, tmp_path):
    voter = admit(database, "one")
    database.cast(database.deal(voter, PAIR), 2, mark="m", at=5000)
    database.backup(tmp_path / "backup.db")
    with open_database(tmp_path / "new.db", create=True) as other:
        restore(tmp_path / "backup.db", other)
        assert rows(other) == rows(database)
        assert other.arena_voter("key one").number == voter
