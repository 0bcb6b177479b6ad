"""Settings that contradict each other are refused, and the menu follows from them."""

from __future__ import annotations

import hashlib

import pytest

from salon.errors import BadValue
from salon.judge import JudgeQuestion, JudgeSettings, choose_paraphrase
from salon.judge.protocol import every_order_and_sample, stable_hash


def test_the_menu_follows_from_the_protocol() -> None:
    assert JudgeSettings().options == ("A", "B")
    assert JudgeSettings(ties=True).options == ("A", "B", "TIE")
    assert JudgeSettings(together=True).options == ("A", "B", "TIE")
    assert JudgeSettings(protocol="rate").options == ()
    assert JudgeSettings(protocol="checklist").options == ("PASS", "FAIL")
    assert JudgeSettings(protocol="checklist", words="yes-no").options == ("YES", "NO")


@pytest.mark.parametrize(
    "settings",
    [
        {"samples": 2},
        {"samples": 0},
        {"protocol": "checklist", "together": True},
        {"protocol": "rank"},
        {"temperature": -1},
        {"limit": 0},
        {"colour": "red"},
    ],
)
def test_what_makes_no_sense_is_refused(settings: dict) -> None:
    with pytest.raises(BadValue):
        JudgeSettings.parse(settings)


def test_judges_are_greedy_unless_told_otherwise() -> None:
    assert JudgeSettings().decoding.temperature == 0
    assert JudgeSettings(samples=3, temperature=0.7, seed=5).decoding.seed == 5


def test_a_pair_is_asked_in_both_orders_and_as_often_as_told() -> None:
    pair = JudgeQuestion(protocol="compare", criteria=("mood",), a="x", b="y")
    asked = list(every_order_and_sample(pair, 2))
    assert [(one.items, one.sample) for one in asked] == [
        (("x", "y"), 0), (("x", "y"), 1), (("y", "x"), 0), (("y", "x"), 1)
    ]  # fmt: skip
    assert [one.outcome("A") for one in asked] == ["a", "a", "b", "b"]
    assert [one.outcome("B") for one in asked] == ["b", "b", "a", "a"]
    assert {one.outcome("TIE") for one in asked} == {"tie"}


def test_the_wording_hangs_on_prompt_and_items_alone() -> None:
    """The numbers are part of what is stored: another hash would ask everything again in other words."""
    digest = hashlib.blake2b(b'["p1", "x", "y"]', digest_size=8).digest()
    assert stable_hash("p1", "x", "y") == int.from_bytes(digest, "big")
    assert choose_paraphrase(8, "p1", "x", "y") == choose_paraphrase(8, "p1", "y", "x") == digest[-1] % 8 == 7
    assert choose_paraphrase(1, "p1", "x", "y") is None
    used = [choose_paraphrase(8, f"p{prompt}", "x", f"y{item}") for prompt in range(40) for item in range(20)]
    counts = [used.count(number) for number in range(8)]
    assert sum(counts) == 800
    assert all(60 < count < 140 for count in counts)  # 100 expected, sd 9.4
