"""Gates: the threshold, its promise, what it costs, and the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from salon.errors import BadFile, BadValue, NotIdentified, TooFew
from salon.select import GateSettings, ScorerColumn, read_gate, write_sealed
from salon.select.gate import make_gate

UP = ScorerColumn(criterion="flag", scorer="head", higher_is_better=False)
TOLD = {"study": "s", "data": "abc"}


def labelled(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    positive = np.arange(n) < n // 3
    return rng.normal(positive * 2.0, 1), positive


def test_a_gate_by_hand() -> None:
    # 9 positives 1..9: on average j = floor(10 x .2) = 2, so held at or above 2; of negatives 0 and 2, 2 is held
    values = [*range(1, 10), 0, 2]
    made = make_gate(
        "flag", "head", UP, values, [True] * 9 + [False] * 2, GateSettings(recall=0.8, confidence=0), **TOLD
    )
    assert (made.threshold, made.holds) == (2.0, "above")
    assert made.row.expected is not None
    assert made.row.expected.value == pytest.approx(0.8)  # 1 - 2/10
    assert made.row.precision is not None
    assert made.row.precision.value == pytest.approx(8 / 9)
    assert made.row.missed == pytest.approx(1000 / 11)
    assert made.row.held_good == pytest.approx(1000 / 11)
    assert made.promise.startswith("On average, at least 0.8")
    assert [one.held for one in made.decide("abcd", [2.0, 1.9, None, float("nan")])] == [True, False, True, True]


def test_where_higher_is_better_the_low_ones_are_held() -> None:
    values, positive = labelled()
    up = make_gate("flag", "s", UP, values, positive, GateSettings(recall=0.8), **TOLD)
    down = make_gate("flag", "s", ScorerColumn(criterion="q"), -values, positive, GateSettings(recall=0.8), **TOLD)
    assert down.threshold == -up.threshold
    assert down.holds == "below"
    assert [down.held(-x) for x in values] == [up.held(x) for x in values]
    assert down.row.precision == up.row.precision


def test_more_recall_never_holds_back_less_and_costs_are_added_up() -> None:
    values, positive = labelled(600)
    made = make_gate("flag", "s", UP, values, positive, GateSettings(miss_cost=5, hold_cost=1), **TOLD)
    thresholds = [row.threshold for row in made.table if row.threshold is not None]
    assert thresholds == sorted(thresholds, reverse=True)
    for row in made.table:
        if row.threshold is not None:
            assert row.cost == pytest.approx(5 * (row.missed or 0) + (row.held_good or 0))
        else:
            assert row.needed == 299  # .99 at .95
    assert made.row in made.table


def test_items_without_a_score_are_held() -> None:
    values, positive = labelled()
    values[:3] = np.nan
    values[-2:] = np.nan
    made = make_gate("flag", "s", UP, values, positive, GateSettings(recall=0.8), **TOLD)
    assert made.unscored == 5
    assert made.held(None)
    # ten flagged ones, 1..7 and three without a score, which are found: j = floor(11 x .5) = 5, held from 5 on; of the
    # others, one without a score is held and 4 passes
    some = [*range(1, 8), *[np.nan] * 3, np.nan, 4]
    by_hand = make_gate(
        "flag", "s", UP, some, [True] * 10 + [False] * 2, GateSettings(recall=0.5, confidence=0), **TOLD
    )
    assert by_hand.threshold == 5
    assert by_hand.row.precision.value == pytest.approx(6 / 7)
    assert by_hand.row.missed == pytest.approx(1000 * 4 / 12)
    with pytest.raises(NotIdentified, match="40 of 40 have none"):
        make_gate("flag", "s", UP, np.full(120, np.nan), positive, GateSettings(recall=0.8), **TOLD)


def test_too_few_positives_say_how_many_are_needed() -> None:
    values, positive = labelled(60)  # 20 positives
    with pytest.raises(TooFew, match="at least 29 positives") as error:
        make_gate("flag", "s", UP, values, positive, GateSettings(), **TOLD)
    assert "20 positives" in str(error.value)


def test_a_promise_about_prompts_is_stricter() -> None:
    values, positive = labelled(600)
    by_item = make_gate("flag", "s", UP, values, positive, GateSettings(recall=0.8), **TOLD)
    units = np.arange(600) % 40
    by_prompt = make_gate(
        "flag", "s", UP, values, positive, GateSettings(recall=0.8, unit="prompt"), units=units, **TOLD
    )
    assert by_prompt.threshold < by_item.threshold
    assert "prompts" in by_prompt.promise


def test_the_file_is_read_back_and_a_changed_one_refused(tmp_path: Path) -> None:
    made = make_gate("flag", "s", UP, *labelled(), GateSettings(recall=0.8), **TOLD)
    path = tmp_path / "gate.json"
    write_sealed(made, path)
    assert read_gate(path) == made
    path.write_text(path.read_text().replace('"threshold": ', '"threshold": 1', 1))
    with pytest.raises(BadFile, match="by hand promises nothing"):
        read_gate(path)
    path.write_text("[]")
    with pytest.raises(BadFile, match="format"):
        read_gate(path)
    path.write_text("nothing")
    with pytest.raises(BadFile, match="JSON"):
        read_gate(path)
    with pytest.raises(BadFile):
        read_gate(tmp_path / "absent.json")
    with pytest.raises(BadValue, match="each item"):
        made.decide(["a"], [])
