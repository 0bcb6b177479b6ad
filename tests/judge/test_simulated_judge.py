"""A simulated judge does what its settings say."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from salon.errors import BadValue
from salon.judge import Conversation, Sight, SimulatedVlm, Vlm
from salon.judge.simulation import UNREADABLE

ITEMS = [f"item-{number:03d}" for number in range(64)]
TRUTH = {item: float(number) for number, item in enumerate(ITEMS)}
PAIRS = list(itertools.combinations(ITEMS, 2))  # the second of each is the better one


def asked(*items: str, options: tuple[str, ...] = ("A", "B"), **more: object) -> Conversation:
    parts = tuple(Sight(item=item, path=Path(item)) for item in items)
    return Conversation(parts=parts, options=options, about=("mood",), **more)


def texts(judge: SimulatedVlm, conversations: list[Conversation]) -> list[str]:
    return [reply.text for _, reply in judge.reply(conversations)]


def both_orders(judge: SimulatedVlm, **more: object) -> tuple[list[str], list[str]]:
    there = texts(judge, [asked(a, b, **more) for a, b in PAIRS])
    back = texts(judge, [asked(b, a, **more) for a, b in PAIRS])
    return there, back


def test_bias_ties_and_accuracy_are_recovered() -> None:
    judge = SimulatedVlm("j", TRUTH, accuracy=0.7, position_bias=0.3, tie_rate=0.1, seed=1)
    there, back = both_orders(judge, options=("A", "B", "TIE"))
    kinds = np.array(["tie" if x == "TIE" else "position" if x == y else x for x, y in zip(there, back)])
    assert [x == "TIE" for x in there] == [y == "TIE" for y in back]
    settled = (kinds == "A") | (kinds == "B")
    n = len(PAIRS)
    assert np.mean(kinds == "position") == pytest.approx(0.3, abs=4 * (0.21 / n) ** 0.5)
    assert np.mean(kinds == "tie") == pytest.approx(0.1, abs=4 * (0.09 / n) ** 0.5)
    assert np.mean(kinds[settled] == "B") == pytest.approx(0.7, abs=4 * (0.21 / settled.sum()) ** 0.5)


def test_perfect_and_blind() -> None:
    there, back = both_orders(SimulatedVlm("j", TRUTH, accuracy=1))
    assert set(there) == {"B"}
    assert set(back) == {"A"}
    there, back = both_orders(SimulatedVlm("j", TRUTH, accuracy=1, position_bias=1))
    assert set(there) | set(back) == {"A"}


def test_answers_hang_on_the_question_alone() -> None:
    judge = SimulatedVlm("j", TRUTH, accuracy=0.6, position_bias=0.3, unparsed_rate=0.2, seed=5)
    conversations = [asked(a, b) for a, b in PAIRS[:200]]
    again = texts(
        SimulatedVlm("other name", TRUTH, accuracy=0.6, position_bias=0.3, unparsed_rate=0.2, seed=5),
        conversations[::-1],
    )
    assert texts(judge, conversations) == again[::-1]
    assert texts(judge, conversations) != texts(judge, [asked(a, b, sample=1) for a, b in PAIRS[:200]])
    assert 20 <= texts(judge, conversations).count(UNREADABLE) <= 60


def test_equal_items_get_the_same_answer_in_both_orders() -> None:
    judge = SimulatedVlm("j", dict.fromkeys(ITEMS, 1.0), accuracy=0.5)
    there, back = both_orders(judge)
    assert all({x, y} == {"A", "B"} for x, y in zip(there, back))
    assert 0.45 < there.count("A") / len(PAIRS) < 0.55


def test_one_picture() -> None:
    judge = SimulatedVlm("j", lambda topic, items: 4.0 if topic == "title" else -1.0, accuracy=1)
    assert texts(judge, [asked("x", options=("YES", "NO"), point=point) for point in ("title", "logo")]) == [
        "YES",
        "NO",
    ]
    rated = asked("x", options=(), shape={"properties": {"value": {"minimum": 1, "maximum": 5}}})
    assert texts(judge, [rated]) == ["-1.0"]
    wrong = SimulatedVlm("j", TRUTH, accuracy=0)
    assert 1 <= float(texts(wrong, [rated.model_copy(update={"parts": asked(ITEMS[0]).parts})])[0]) <= 5


def test_all_criteria_together() -> None:
    judge = SimulatedVlm("j", lambda topic, _: 1.0 if topic == "mood" else -1.0, accuracy=1)
    both = asked("x", "y").model_copy(update={"about": ("mood", "type")})
    assert texts(judge, [both]) == ['<think>simulated</think><answer>{"mood": "A", "type": "B"}</answer>']


def test_impossible_settings() -> None:
    assert isinstance(SimulatedVlm("j", TRUTH, accuracy=0.5), Vlm)
    with pytest.raises(BadValue, match="between 0 and 1"):
        SimulatedVlm("j", TRUTH, accuracy=1.2)
    with pytest.raises(BadValue, match="at most 1 together"):
        SimulatedVlm("j", TRUTH, accuracy=1, position_bias=0.6, tie_rate=0.6)
    with pytest.raises(BadValue, match="offered a tie"):
        texts(SimulatedVlm("j", TRUTH, accuracy=1, tie_rate=1), [asked("item-000", "item-001")])
