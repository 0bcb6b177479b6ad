"""Disagreements, rulings, and agreement before and after."""

from __future__ import annotations

import pytest

from salon.collect.agreement import Ruling, agreement, disagreements
from salon.stats import fleiss_kappa
from salon.study import Comparison, Rating


def votes(a: str, b: str, outcomes: str) -> list[Comparison]:
    return [
        Comparison(criterion="overall", rater=f"r{n}", a=a, b=b, outcome={"t": "tie"}.get(one, one))
        for n, one in enumerate(outcomes)
    ]


JUDGED = [*votes("x", "y", "aaaa"), *votes("y", "z", "aabt"), *votes("z", "x", "abab")]


def test_the_most_disputed_question_comes_first() -> None:
    found = disagreements(JUDGED)
    assert [one.items for one in found] == [("x", "z"), ("y", "z")]
    assert (found[0].votes, found[0].share) == ({"z": 2, "x": 2}, 0.5)
    assert found[1].votes == {"y": 2, "z": 1, "tie": 1}
    assert disagreements(JUDGED, below=0.5) == []
    assert disagreements(JUDGED, least_raters=5) == []


def test_the_same_pair_asked_the_other_way_round_is_one_question() -> None:
    found = disagreements([*votes("x", "y", "a"), *votes("y", "x", "a")])
    assert found[0].votes == {"x": 1, "y": 1}


def test_agreement_before_and_after() -> None:
    """Before: 4 + 2 + 2 of 12 answers equal the largest side. After x over z and dropping y: 2 of 4."""
    (before,) = agreement(JUDGED)
    assert (before.questions, before.answers) == (3, 12)
    assert before.with_final == pytest.approx(8 / 12)
    assert before.kappa.value == pytest.approx(fleiss_kappa([[4, 0, 0], [2, 1, 1], [2, 2, 0]]).kappa.value)
    (after,) = agreement(JUDGED, [Ruling("overall", ("z", "x"), "x"), Ruling("overall", ("y",), None)])
    assert (after.questions, after.with_final) == (1, 0.5)


def test_a_ruling_against_the_majority_lowers_agreement() -> None:
    (after,) = agreement(JUDGED, [Ruling("overall", ("x", "y"), "y")])
    assert after.with_final == pytest.approx(4 / 12)


def test_repeats_and_skipped_answers_do_not_count() -> None:
    rated = [Rating(criterion="c", rater=f"r{n}", item="i", value=n) for n in range(2)]
    again = Rating(criterion="c", rater="r0", item="i", value=5, repeat=1)
    skipped = Rating(criterion="c", rater="r9", item="i", skipped="cannot judge")
    assert disagreements([*rated, again, skipped])[0].votes == {"0": 1, "1": 1}
    assert agreement([skipped]) == []
    assert agreement(rated[:1])[0].kappa is None
