"""Ranks with their intervals, tiers and ties (bench/result.py)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from suite_example import asked, result

from salon.bench import EntryResult, standings
from salon.bench.result import shared_covariance
from salon.errors import BadValue, DesignError, UnknownReference

SUITE = asked(["look"] * 20, points=1, judges="a")


def passing(name: str, count: int, mu: float = 0.0, **more) -> EntryResult:
    """An entry that passes the first `count` of 20 prompts, with logits around `mu`."""
    return result(
        SUITE,
        lambda item, *_: "pass" if int(item[1:-2]) < count else "fail",
        lambda item: mu + 0.5 * (-1) ** int(item[1:-2]),
        name=name,
        **more,
    )


# ----------------------------------------------------------------------------------------------- by hand
def test_places_by_hand():
    # 20, 19 and 4 of 20: the first two differ on one prompt, both differ from the third on 15 and more.
    got = standings([passing("b", 19), passing("c", 4), passing("a", 20)], "capability")
    assert [(one.entry, one.rank, one.low, one.high, one.tier) for one in got.places] == [
        ("a", 1, 1, 2, 1), ("b", 2, 1, 2, 1), ("c", 3, 3, 3, 2),
    ]  # fmt: skip
    assert [one.tied for one in got.places] == [("b",), ("a",), ()]
    assert got.groups == (("a", "b"), ("c",))
    assert got.prompts == 20
    assert got.places[0].figure == passing("a", 20).capability.figure


def test_the_covariance_by_hand():
    # Two entries on 4 prompts: 1 1 1 0 and 1 0 1 0. u = (x - m)/4; u'u: .75/16, .5/16, 1/16; times 4/3, plus (1/8)^2.
    x = np.array([[1, 1], [1, 0], [1, 1], [0, 0]], float)
    got = shared_covariance([(1.0, x, np.ones_like(x))])
    expected = 4 / 3 * np.array([[0.75, 0.5], [0.5, 1.0]]) / 16 + np.eye(2) / 64
    # .75: 3 (.25)^2 + .75^2; 1: 4 (.5)^2; between: 3 prompts at +.25 with .5, -.5, .5, and -.75 with -.5 = .5
    np.testing.assert_allclose(got, expected)


def test_every_axis_has_its_own_order():
    results = [passing("able", 18, -2.0), passing("liked", 3, 2.0), passing("both", 17, 1.5)]
    first = {axis: standings(results, axis).places[0].entry for axis in ("capability", "points", "eps", "overall")}
    assert first == {"capability": "able", "points": "able", "eps": "liked", "overall": "both"}


# ----------------------------------------------------------------------------------------------- by definition
def test_the_covariance_is_what_drawing_prompts_again_gives():
    rng = np.random.default_rng(0)
    x, y = rng.random((40, 3)), rng.random((40, 3))
    counts = np.repeat((np.arange(40) < 30)[:, None], 3, axis=1).astype(float)
    w = rng.multinomial(40, np.full(40, 1 / 40), size=20_000).astype(float)
    drawn = 0.3 * w @ x / 40 + 0.7 * (w @ (counts * y)) / (w @ counts)
    got = shared_covariance([(0.3, x, np.ones_like(x)), (0.7, y, counts)])
    own = (0.3 / 80) ** 2 + (0.7 / 60) ** 2
    np.testing.assert_allclose(got - own * np.eye(3), np.cov(drawn.T), atol=2e-4)


# ----------------------------------------------------------------------------------------------- by property
@settings(max_examples=20)
@given(st.permutations(range(4)))
def test_the_order_of_results_does_not_matter(order):
    results = [passing(name, count) for name, count in zip("abcd", (20, 12, 12, 3), strict=True)]
    assert standings([results[k] for k in order], "capability") == standings(results, "capability")


@settings(max_examples=20)
@given(st.lists(st.integers(0, 20), min_size=2, max_size=5))
def test_ranks_fit_their_values(counts):
    got = standings([passing(f"e{k}", count) for k, count in enumerate(counts)], "capability")
    values = [one.figure.value for one in got.places]
    assert values == sorted(values, reverse=True)
    for one in got.places:
        assert one.low <= one.rank <= one.high
        assert one.rank == 1 + sum(value > one.figure.value for value in values)
        for other in one.tied:
            assert one.entry in next(place.tied for place in got.places if place.entry == other)


def test_another_entry_moves_ranks_and_no_figure():
    results = [passing("a", 20), passing("b", 5)]
    before = {one.entry: one.figure for one in standings(results, "overall").places}
    after = {one.entry: one.figure for one in standings([*results, passing("c", 11, 3.0)], "overall").places}
    assert {name: after[name] for name in before} == before


# ----------------------------------------------------------------------------------------------- by recovery
def test_equal_entries_are_rarely_told_apart():
    """Five entries of equal worth, what is hard shared: 5% of boards may say otherwise, and three standard errors."""
    rng = np.random.default_rng(4)
    false = 0
    for _ in range(30):
        hard = rng.normal(0, 1, 20)
        boards = []
        for name in "abcde":
            passed = hard + rng.normal(0, 1, 20) < 1
            boards.append(
                result(SUITE, lambda item, *_, passed=passed: "pass" if passed[int(item[1:-2])] else "fail", name=name)
            )
        false += any(one.tier > 1 for one in standings(boards, "capability").places)
    assert false <= 30 * (0.05 + 3 * math.sqrt(0.05 * 0.95 / 30))


# ----------------------------------------------------------------------------------------------- at the edge
def test_all_alike_are_tied_and_all_apart_are_not():
    got = standings([passing(name, 20) for name in "ab"], "capability")
    assert [(one.rank, one.low, one.high) for one in got.places] == [(1, 1, 2), (1, 1, 2)]
    apart = standings([passing("a", 20), passing("b", 0)], "capability")  # no spread on either side
    assert [(one.rank, one.low, one.high) for one in apart.places] == [(1, 1, 1), (2, 2, 2)]


def test_a_provisional_entry_has_no_place():
    half = result(SUITE, lambda item, *_: None if item == "p0/0" else "pass", name="half")
    got = standings([passing("a", 20), half, passing("b", 3)], "capability")
    assert [one.entry for one in got.places] == ["a", "b"]
    assert got.provisional == ("half",)


def test_few_entries():
    assert standings([], "overall").places == ()
    [one] = standings([passing("a", 20)], "overall").places
    assert (one.rank, one.low, one.high, one.tied) == (1, 1, 1, ())


def test_one_prompt_tells_nothing_apart():
    one = asked(["look"])
    got = standings([result(one, name="a"), result(one, lambda *_: "fail", name="b")], "capability")
    assert [(place.rank, place.low, place.high) for place in got.places] == [(1, 1, 2), (2, 1, 2)]
    assert got.method == "one prompt: no two entries can be compared"


def test_an_axis_without_a_share_puts_nobody_anywhere():
    """Overall of Capability alone stands as Capability does, even where EPS has one prompt."""
    suite = asked(["look", *["words"] * 19], points=1, judges="a", weights={"capability": 1.0, "eps": 0.0})
    entries = [
        result(suite, lambda item, *_, count=count: "pass" if int(item[1:-2]) < count else "fail", name=name)
        for name, count in (("a", 20), ("b", 4))
    ]
    overall, capability = standings(entries, "overall"), standings(entries, "capability")
    for one, other in zip(overall.places, capability.places, strict=True):
        assert (one.figure, one.rank, one.low, one.high) == (other.figure, other.rank, other.low, other.high)
    assert overall.places[0].high == 1


def test_refused():
    with pytest.raises(DesignError, match="same suite"):
        standings([passing("a", 20), result(asked(), name="b")], "overall")
    with pytest.raises(BadValue, match="more than once: a"):
        standings([passing("a", 20), passing("a", 3)], "overall")
    with pytest.raises(UnknownReference, match="capability, points, eps, overall"):
        standings([passing("a", 20), passing("b", 3)], "beauty")
