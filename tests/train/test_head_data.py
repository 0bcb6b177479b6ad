"""Labels as tensors: the right rows on the right side, and errors that say what is missing."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from planted import CRITERIA, SPLITS, planted

from salon.errors import BadColumns, BadValue, DesignError, TooFew, UnknownReference
from salon.train import HeadSettings
from salon.train.head_data import head_data

STUDY = planted(prompts=16)
SOFT = HeadSettings()


def changed(table: pa.Table, name: str, values: object) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, pa.array(values))


def test_rows_are_those_of_the_table() -> None:
    data = head_data(STUDY.labels, STUDY.encoded, SOFT)
    first = STUDY.labels.slice(0, 1).to_pylist()[0]
    assert data.criteria == CRITERIA
    assert data.pictures.shape == (64, 24)
    assert data.train.a[0] == STUDY.encoded.items[first["item_a"]]
    assert data.train.share[0] == pytest.approx(first["share"])
    np.testing.assert_array_equal(data.pictures[5, :8], STUDY.encoded.pictures["seen"][5])
    assert len(data.train) == 16 * SPLITS.count("train") // len(SPLITS) * 6 * 2
    assert len(data.validation) == 2 * 6 * 2


def test_the_test_rows_are_never_read() -> None:
    splits = np.array(STUDY.labels.column("split").to_pylist())
    spoiled = np.where(splits == "test", np.nan, np.asarray(STUDY.labels.column("share")))
    one = head_data(STUDY.labels, STUDY.encoded, SOFT)
    two = head_data(changed(STUDY.labels, "share", spoiled), STUDY.encoded, SOFT)
    assert one.train.share.equal(two.train.share)
    assert one.validation.share.equal(two.validation.share)


def test_hard_labels_and_raters_answers() -> None:
    hard = head_data(STUDY.labels, STUDY.encoded, HeadSettings(labels="hard"))
    assert set(hard.train.share.tolist()) == {0.0, 1.0}
    assert len(set(hard.validation.share.tolist())) > 2  # validation stays on shares, so that settings compare
    raters = head_data(STUDY.labels, STUDY.encoded, HeadSettings(labels="raters"), votes=STUDY.votes)
    assert len(raters.train) == 5 * len(hard.train)
    assert raters.raters == ("r0", "r1", "r2", "r3", "r4")


def test_even_pairs_have_no_majority_to_learn() -> None:
    label = ["tie", *STUDY.labels.column("label").to_pylist()[1:]]
    tied = changed(changed(STUDY.labels, "label", label), "share", [0.5, *STUDY.labels.column("share").to_pylist()[1:]])
    assert (
        len(head_data(tied, STUDY.encoded, HeadSettings(labels="hard")).train)
        == len(head_data(tied, STUDY.encoded, SOFT).train) - 1
    )


def test_weights_have_mean_one_and_follow_agreement() -> None:
    data = head_data(STUDY.labels, STUDY.encoded, HeadSettings(weigh="agreement"))
    assert data.train.weight.mean() == pytest.approx(1)
    agreement = (2 * data.train.share - 1).abs()
    ratio = data.train.weight[agreement > 0] / agreement[agreement > 0]
    assert ratio.min() == pytest.approx(float(ratio.max()), rel=1e-4)


def test_what_is_missing_is_named() -> None:
    with pytest.raises(BadColumns, match="share"):
        head_data(STUDY.labels.drop_columns(["share"]), STUDY.encoded, SOFT)
    with pytest.raises(BadValue, match="one row for each rater"):
        head_data(STUDY.labels, STUDY.encoded, HeadSettings(labels="raters"))
    with pytest.raises(UnknownReference, match="item_b"):
        head_data(changed(STUDY.labels, "item_b", ["ghost"] * STUDY.labels.num_rows), STUDY.encoded, SOFT)


def test_too_little_to_learn_from() -> None:
    with pytest.raises(TooFew, match="at least 12"):
        head_data(STUDY.labels.slice(0, 20), STUDY.encoded, SOFT)
    nowhere = changed(STUDY.labels, "split", ["train"] * STUDY.labels.num_rows)
    with pytest.raises(TooFew, match="--split-seed"):
        head_data(nowhere, STUDY.encoded, SOFT)
    with pytest.raises(DesignError, match="all even"):
        head_data(changed(STUDY.labels, "share", [0.5] * STUDY.labels.num_rows), STUDY.encoded, SOFT)
    flags = changed(STUDY.flags, "share", [0.0] * STUDY.flags.num_rows)
    with pytest.raises(DesignError, match="--no-flags"):
        head_data(STUDY.labels, STUDY.encoded, SOFT, flags={"flag": flags})
