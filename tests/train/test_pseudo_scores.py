"""Pseudo-scores and their folder: what is written comes back, and what cannot be right is refused."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from salon.errors import BadColumns, BadFile, BadValue
from salon.evaluate import PseudoPairs, PseudoScores, read_label_card, read_pseudo_scores, write_pseudo_scores

NAN = float("nan")


def _scores(**changed: object) -> PseudoScores:
    given: dict[str, object] = {
        "items": ("x", "y", "z"),
        "criteria": ("mood", "overall"),
        "values": np.array([[1.0, 2.5], [NAN, 5.0], [3.0, NAN]]),
        "sd": np.array([[0.5, NAN], [NAN, 0.1], [0.2, NAN]]),
        "low": 1.0,
        "high": 5.0,
        "source": "bridge",
        "n": np.array([[10, 10], [0, 9], [10, 0]]),
    }
    return PseudoScores(**(given | changed))  # type: ignore[arg-type]


def test_what_is_written_comes_back(tmp_path) -> None:
    pairs = PseudoPairs(np.array([0, 2]), np.array([1, 0]), np.array([1, 0]), np.array([1.0, 0.5]), np.array([32, 31]))
    written = _scores(source="majority", pairs=pairs)
    write_pseudo_scores(tmp_path / "labels", written)
    found = read_pseudo_scores(tmp_path / "labels")
    assert (found.items, found.criteria, found.source) == (("x", "y", "z"), ("mood", "overall"), "majority")
    for name in ("values", "sd", "n"):
        np.testing.assert_array_equal(getattr(found, name), getattr(written, name))
    assert found.pairs is not None
    for name in ("a", "b", "criterion", "p", "votes"):
        np.testing.assert_array_equal(getattr(found.pairs, name), getattr(pairs, name))
    table = pq.read_table(tmp_path / "labels" / "labels.parquet")
    assert table.column_names == ["item", "criterion", "value", "sd", "n"]
    assert table.column("value").null_count == 2
    assert table.column("sd").null_count == 3
    assert read_label_card(tmp_path / "labels").labelled == 3


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"values": np.full((3, 2), 5.5)}, "between 1 and 5"),
        ({"low": 5.0, "high": 5.0}, "between 5 and 5"),
        ({"items": ("x", "x", "z")}, "once"),
        ({"sd": np.zeros((3, 1))}, "sd of labels"),
    ],
)
def test_labels_that_cannot_be_right_are_refused(changed, said) -> None:
    with pytest.raises(BadValue, match=said):
        _scores(**changed)


def test_a_folder_of_something_else_is_named(tmp_path) -> None:
    with pytest.raises(BadFile, match="salon distill label"):
        read_pseudo_scores(tmp_path)
    write_pseudo_scores(tmp_path / "labels", _scores())
    pq.write_table(pa.table({"item": ["x"], "criterion": ["mood"], "score": [1.0]}), tmp_path / "labels/labels.parquet")
    with pytest.raises(BadColumns, match="'value'"):
        read_pseudo_scores(tmp_path / "labels")
    (tmp_path / "labels" / "card.json").write_text(json.dumps({"format": "salon-labels-9"}))
    with pytest.raises(BadValue):
        read_pseudo_scores(tmp_path / "labels")


def test_pairs_must_be_of_labelled_items(tmp_path) -> None:
    write_pseudo_scores(tmp_path / "labels", _scores())
    rows = {"a": ["x"], "b": ["nobody"], "criterion": ["mood"], "p": [1.0], "votes": [3]}
    pq.write_table(pa.table(rows), tmp_path / "labels" / "pairs.parquet")
    with pytest.raises(BadValue, match="nobody"):
        read_pseudo_scores(tmp_path / "labels")
