"""A ranking pair by pair goes on from any device, keeps each pair's time, and takes a pair back."""

from __future__ import annotations

import pytest
from test_studio import empty, make

from salon.collect import MergedOrder, TooEarly, next_merge_step
from salon.errors import BadValue

__all__ = ["empty", "make"]

START = 1_000_000
RANK = {"protocol": "rank", "ties": False}
NO_PROMPT = {"prompt": 0, "compare": 10}


@pytest.fixture
def studio(make):
    return make(RANK, times=NO_PROMPT)


@pytest.fixture
def rater(studio):
    return studio.invite("designers")[0].rater


def ask(studio, rater, seconds):
    return studio.next(rater, now=START + 1000 * seconds)


def say(studio, rater, task, before, answer, seconds):
    return studio.answer_pair(rater, task.id, before, answer, now=START + 1000 * seconds)


def test_whoever_asks_next_gets_the_pairs_answered_so_far(studio, rater):
    task = ask(studio, rater, 0)
    assert say(studio, rater, task, (), "first", 10)
    assert ask(studio, rater, 11).pairs == ("first",)
    assert say(studio, rater, task, ("first",), "second", 20)
    assert ask(studio, rater, 21).pairs == ("first", "second")


def test_a_form_sent_twice_and_an_old_one_of_another_device_change_nothing(studio, rater):
    task = ask(studio, rater, 0)
    assert say(studio, rater, task, (), "first", 10)
    assert not say(studio, rater, task, (), "first", 20)
    assert not say(studio, rater, task, (), "second", 30)
    assert ask(studio, rater, 31).pairs == ("first",)


def test_every_pair_has_its_least_time_and_the_order_they_settle_has_none(studio, rater):
    task = ask(studio, rater, 0)
    with pytest.raises(TooEarly):
        say(studio, rater, task, (), "first", 9)
    say(studio, rater, task, (), "first", 10)
    assert ask(studio, rater, 13).wait == 7
    with pytest.raises(TooEarly):
        say(studio, rater, task, ("first",), "first", 19)
    pairs = ("first",)
    for n in range(2, 5):
        if isinstance(next_merge_step(3, pairs), MergedOrder):
            break
        say(studio, rater, task, pairs, "first", 10 * n)
        pairs = (*pairs, "first")
    assert isinstance(next_merge_step(3, pairs), MergedOrder)
    assert ask(studio, rater, 10 * n).wait == 0


def test_undo_asks_the_last_pair_again_and_then_the_answer_before(studio, rater):
    task = ask(studio, rater, 0)
    assert not task.can_undo
    say(studio, rater, task, (), "first", 10)
    assert ask(studio, rater, 11).can_undo
    assert studio.undo(rater, now=START + 12_000) == task.id
    assert ask(studio, rater, 13).pairs == ()


@pytest.mark.parametrize("answer", ["tie", "left", ""])
def test_only_what_the_screen_offers_is_kept(studio, rater, answer):
    task = ask(studio, rater, 0)
    with pytest.raises(BadValue, match="one of first, second is needed"):
        say(studio, rater, task, (), answer, 10)
    assert ask(studio, rater, 11).pairs == ()


def test_no_pairs_where_the_order_is_made_by_hand(make):
    studio = make(RANK | {"ranking": "drag"}, times=NO_PROMPT)
    rater = studio.invite("designers")[0].rater
    with pytest.raises(BadValue, match="a pair to answer"):
        say(studio, rater, ask(studio, rater, 0), (), "first", 10)
