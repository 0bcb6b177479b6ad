"""Which pairs stay: each reason to leave one out by hand, counted once; sides in halves; splits apart."""

from __future__ import annotations

from typing import Any

import pytest

from salon.errors import BadValue, TooFew
from salon.select import PairCandidate, PreferencePairSettings
from salon.select.pairs import NO_PICTURE, REASONS, deal_sides, select_pairs

LOOKS = {name: number for number, name in enumerate("abcdefgh")}


def pair(a: str, b: str, gap: float = 1.0, **more: Any) -> PairCandidate:
    told: dict[str, Any] = {"criterion": "mood", "group": "p", "error": 0.5, **more}
    return PairCandidate(a=a, b=b, gap=gap, **told)


def kept(
    *rows: PairCandidate, looks: dict[str, int] | None = None, **settings: Any
) -> tuple[list[str], dict[str, int]]:
    found = select_pairs(rows, LOOKS if looks is None else looks, PreferencePairSettings(**settings))
    return [f"{one.chosen}>{one.rejected}" for one in found.pairs], {k: n for k, n in found.dropped.items() if n}


def test_the_better_item_is_chosen() -> None:
    assert kept(pair("a", "b"), pair("c", "d", -0.2)) == (["a>b", "d>c"], {})


def test_even_pairs_and_pairs_without_pictures_are_left_out() -> None:
    rows = pair("a", "b", 0.0), pair("a", "gone"), pair("c", "d"), pair("a", "empty")
    assert kept(*rows, looks=LOOKS | {"empty": NO_PICTURE}) == (["c>d"], {"no picture": 2, "even": 1})


def test_margins_by_size_and_by_error() -> None:
    """Of 5 votes 4 to 1: gap 3/5, error 1 / sqrt 5, so 1.34 errors; of 1 vote: gap 1, 1 error."""
    votes = pair("a", "b", 0.6, error=5**-0.5, votes=5), pair("c", "d", 1.0, error=1.0, votes=1)
    assert kept(*votes, least_gap=0.7) == (["c>d"], {"gap too small": 1})
    assert kept(*votes, least_gap=0.6) == (["a>b", "c>d"], {})  # below it, not at it
    assert kept(*votes, least_errors=1.2) == (["a>b"], {"gap too uncertain": 1})
    unknown = pair("e", "f", 3.0, error=None)
    assert kept(*votes, unknown, least_errors=0.5) == (["a>b", "c>d"], {"gap too uncertain": 1})
    assert kept(unknown) == (["e>f"], {})


def test_near_copies_are_one_picture() -> None:
    looks = LOOKS | {"b": 0, "d": 2}  # b looks like a, d like c
    assert kept(pair("a", "b"), pair("a", "c"), looks=looks) == (["a>c"], {"same picture": 1})
    twice = pair("a", "c", 0.5), pair("d", "b", -0.9)  # the same two pictures, said again and more clearly
    assert kept(*twice, looks=looks) == (["b>d"], {"again": 1})


def test_a_pair_that_is_judged_both_ways_goes_whole() -> None:
    rows = pair("a", "b"), pair("b", "a", criterion="color"), pair("a", "c"), pair("a", "c", 0.4, criterion="color")
    assert kept(*rows) == (["a>c"], {"judged both ways": 2, "again": 1})
    other_prompt = pair("b", "a", group="q", text="another prompt")
    assert kept(pair("a", "b", text="one prompt"), other_prompt) == (["a>b", "b>a"], {})


def test_no_more_than_so_many_of_a_prompt() -> None:
    rows = [pair("a", name, gap) for name, gap in zip("bcdef", (0.1, 0.5, 0.3, 0.9, 0.2))]
    assert kept(*rows, most=2) == (["a>c", "a>e"], {"over the limit": 3})
    drawn = {tuple(kept(*rows, most=2, order="drawn", seed=seed)[0]) for seed in range(20)}
    assert len(drawn) > 3


def test_a_picture_stands_in_one_split() -> None:
    rows = (
        pair("a", "b", split="train"), pair("c", "d", split="train", group="q"),
        pair("e", "f", split="test", group="r"),
    )  # fmt: skip
    assert kept(*rows, looks=LOOKS | {"f": LOOKS["a"]}) == (["c>d", "e>f"], {"near another split": 1})
    late = rows[::-1]  # whatever comes first: what is tested on stays in the test
    assert kept(*late, looks=LOOKS | {"f": LOOKS["a"]}) == (["e>f", "c>d"], {"near another split": 1})


def test_every_candidate_is_kept_or_counted_once() -> None:
    rows = [
        pair(a, b, gap) for a, b, gap in [("a", "b", 0), ("a", "c", 0.1), ("a", "d", 1), ("d", "a", -1), ("e", "x", 1)]
    ]
    found = select_pairs(rows, LOOKS, PreferencePairSettings(least_gap=0.2))
    assert len(found.pairs) + sum(found.dropped.values()) == len(rows)
    assert tuple(found.dropped) == REASONS


def test_nothing_left_is_an_error_that_says_why() -> None:
    with pytest.raises(TooFew, match="2 even"):
        kept(pair("a", "b", 0.0), pair("c", "d", 0.0))
    with pytest.raises(TooFew, match="no candidates"):
        kept()


def test_the_better_one_stands_first_in_half_of_each_split() -> None:
    rows = [pair("a", "b", group=str(n), split="train" if n % 4 else "test") for n in range(40)]
    first = deal_sides(rows, seed=0)
    assert sum(first) == 20
    assert sum(lead for lead, row in zip(first, rows) if row.split == "test") == 5
    again = dict(zip([row.group for row in rows[::-1]], deal_sides(rows[::-1], seed=0)))
    assert [again[row.group] for row in rows] == first  # whatever their order
    assert deal_sides(rows, seed=1) != first


def test_shares_make_a_whole() -> None:
    with pytest.raises(BadValue, match="sum to 1"):
        PreferencePairSettings(train=0.8, validation=0.1, test=0.2)
