"""Weights as they are written, and how criteria become one number."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from salon.errors import BadFile, BadValue, NotIdentified, TooFew, UnknownReference
from salon.select import ScorerColumn, blend_columns, read_reference, read_weights, write_sealed
from salon.select.weights import check_weights, make_reference

CRITERIA = ("taste/mood", "taste/aesthetics-typography", "taste/descriptions-typography", "words")
LOGITS = [ScorerColumn(criterion=id, scale="logits of one model") for id in CRITERIA]


def test_weights_are_read_as_written() -> None:
    assert read_weights(None, CRITERIA) == dict.fromkeys(CRITERIA, 1.0)
    assert read_weights("mood=3,words=1", CRITERIA) == dict(zip(CRITERIA, (3, 0, 0, 1)))
    assert read_weights(" aesthetics-typography = 3 , *=1", CRITERIA) == dict(zip(CRITERIA, (1, 3, 1, 1)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mood=-1", "from 0 up"),
        ("mood=nan", "from 0 up"),
        ("mood=inf", "from 0 up"),
        ("mood=much", "from 0 up"),
        ("mood", "NAME=NUMBER"),
        ("=2", "NAME=NUMBER"),
        ("mood=1,taste/mood=2", "one weight"),
        ("mood=0,words=0", "above 0"),
        ("typography=1", "one criterion"),
    ],
)
def test_bad_weights_are_refused_with_what_was_wrong(text: str, said: str) -> None:
    with pytest.raises(BadValue, match=said):
        read_weights(text, CRITERIA)


def test_an_unknown_criterion_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownReference, match="did you mean taste/mood") as error:
        read_weights("moods=1", CRITERIA)
    assert all(id in str(error.value) for id in CRITERIA)
    with pytest.raises(BadValue, match="at least one criterion"):
        check_weights({}, ())


def test_a_weighted_mean_by_hand() -> None:
    columns = [ScorerColumn(criterion="a", scale="1-5"), ScorerColumn(criterion="b", scale="1-5")]
    made = blend_columns(columns, {"a": 3, "b": 1})
    # 3/4 * 4 + 1/4 * 2 = 3.5; sd: sqrt((.75 * .4)² + (.25 * 1.2)²) = .3 sqrt 2
    assert made.totals(np.array([[4.0, 2.0]])) == pytest.approx([3.5])
    assert made.spreads(np.array([[0.4, 1.2]])) == pytest.approx([0.3 * 2**0.5])
    assert made.scale == "1-5"


def test_lower_is_better_is_turned_round() -> None:
    made = blend_columns([ScorerColumn(criterion="flag", higher_is_better=False)])
    assert made.totals(np.array([[2.0], [-1.0]])).tolist() == [-2.0, 1.0]


def test_different_scales_are_not_added() -> None:
    columns = [ScorerColumn(criterion="a", scale="1-5"), ScorerColumn(criterion="b")]
    with pytest.raises(BadValue, match="frozen reference"):
        blend_columns(columns)
    assert blend_columns(columns, {"a": 1}).scale == "1-5"  # only one of them counts
    assert blend_columns(columns, equal=True).shares == {"a": 0.5, "b": 0.5}
    with pytest.raises(BadValue, match="2 times"):
        blend_columns([columns[0], columns[0]])


def test_a_criterion_without_weight_does_not_spoil_an_item() -> None:
    made = blend_columns(LOGITS, {"taste/mood": 1})
    assert made.totals(np.array([[1.0, np.nan, np.nan, 7.0]])) == pytest.approx([1.0])
    assert np.isnan(made.totals(np.array([[np.nan, 1.0, 1.0, 1.0]]))).all()


def test_a_reference_measures_in_its_own_standard_deviations(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    values = rng.normal((10, -400), (2, 50), (200, 2))
    values[0, 1] = np.nan
    columns = [ScorerColumn(criterion="a", signature="A"), ScorerColumn(criterion="b", signature="B")]
    write_sealed(make_reference("posters", ["a", "b"], values, signatures=["A", "B"]), tmp_path / "r.json")
    kept = read_reference(tmp_path / "r.json")
    made = blend_columns(columns, {"a": 1, "b": 1}, reference=kept)
    mean, sd = np.nanmean(values, 0), np.nanstd(values, 0, ddof=1)
    assert made.totals(values[5:6]) == pytest.approx(((values[5:6] - mean) / sd).mean(1))
    assert kept.level("b").missing == 1
    assert made.reference == kept.hash
    # the company an item is in changes nothing
    assert made.totals(values[5:9])[0] == made.totals(values[5:6])[0]
    with pytest.raises(BadValue, match="same scorer"):
        blend_columns([columns[0], ScorerColumn(criterion="b", signature="C")], reference=kept)
    with pytest.raises(UnknownReference, match="'c'"):
        blend_columns([ScorerColumn(criterion="c")], reference=kept)


def test_a_changed_or_foreign_reference_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    write_sealed(make_reference("x", ["a"], np.arange(20.0)[:, None]), path)
    path.write_text(path.read_text().replace('"mean": 9.5', '"mean": 9.0'))
    with pytest.raises(BadFile, match="changed after"):
        read_reference(path)
    path.write_text(json.dumps({"format": "other"}))
    with pytest.raises(BadFile, match="format"):
        read_reference(path)
    path.write_text("{")
    with pytest.raises(BadFile, match="JSON"):
        read_reference(path)
    with pytest.raises(BadFile):
        read_reference(tmp_path / "none.json")


def test_a_reference_needs_items_that_differ() -> None:
    with pytest.raises(TooFew, match="10"):
        make_reference("x", ["a"], np.array([[1.0], [2.0], [np.nan]]))
    with pytest.raises(NotIdentified, match="differ"):
        make_reference("x", ["a"], np.ones((20, 1)))
    with pytest.raises(BadValue, match="by criteria"):
        make_reference("x", ["a", "b"], np.ones((20, 1)))
