"""Pairs off a file: every one once an epoch, in an order that follows from the seed, and errors before training."""

import threading
from collections import Counter
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from salon.errors import BadColumns, BadFile, BadValue, TooFew
from salon.train import RewardSettings
from salon.train.reward_data import ONE_CRITERION, PairFile, pair_rows, read_ahead, read_pair
from salon.train.reward_survey import survey_pairs

N = 40


@pytest.fixture
def folder(tmp_path):
    Image.new("RGB", (4, 4), "red").save(tmp_path / "red.png")
    Image.new("RGB", (4, 4), "navy").save(tmp_path / "navy.png")
    return tmp_path


def labels(folder, rows=N, **columns):
    plain = {
        "image_a": ["red.png"] * rows, "image_b": ["navy.png"] * rows, "text": [f"t{n}" for n in range(rows)],
        "share": [n % 5 / 4 for n in range(rows)], "p_max": [max(n % 5, 4 - n % 5) / 4 for n in range(rows)],
    }  # fmt: skip
    table = pa.table({name: column for name, column in (plain | columns).items() if column is not None})
    pq.write_table(table, folder / "labels.parquet", row_group_size=7)
    return folder / "labels.parquet"


def pair_file(folder, rows=N, columns=None, **settings):
    return PairFile(labels(folder, rows, **columns or {}), folder, RewardSettings(**settings))


def stored(pairs):
    return [pairs.store[number] for number in range(len(pairs.store))]


def texts(pairs, count, start=0):
    return [row.text for row in islice(pairs.training(start=start), count)]


def test_every_epoch_holds_every_pair_once_in_another_order(folder):
    pairs = pair_file(folder, shuffle=8)
    met = texts(pairs, 2 * N)
    assert Counter(met[:N]) == Counter(met[N:]) == Counter(f"t{n}" for n in range(N))
    assert met[:N] != met[N:]
    assert met == texts(pairs, 2 * N)
    assert met != texts(pair_file(folder, shuffle=8, seed=1), 2 * N)


@pytest.mark.parametrize("start", [1, 13, N, N + 9])
def test_a_run_goes_on_with_the_pair_where_it_stopped(folder, start):
    pairs = pair_file(folder, shuffle=8)
    assert texts(pairs, 20, start) == texts(pairs, start + 20)[start:]


def test_all_pairs_are_mixed_unless_a_pool_is_asked_for(folder):
    """Of 1,000 pairs in order, neighbours of an epoch lie a third of the file apart on average; of a pool, less."""
    rows = 1000
    numbers = [
        [int(row.text[1:]) for row in islice(pair_file(folder, rows, shuffle=size).training(start=0), rows)]
        for size in (None, 100, 1)
    ]
    apart = [np.abs(np.diff(order)).mean() / rows for order in numbers]
    assert apart[0] == pytest.approx(1 / 3, abs=0.03)  # drawn at random
    assert apart[1] > 0.2  # a pool has pairs of many places
    spread = [np.ptp(order[:100]) for order in numbers]
    assert min(spread) > 0.8 * rows


def test_what_is_learned_of_votes_and_majorities(folder):
    counts = {"votes": [4] * N, "ties": [n % 2 for n in range(N)], "label": ["a", "b", "tie", "a"] * 10}
    soft = stored(pair_file(folder, columns=counts, weigh="votes"))[0]
    assert (soft.share, soft.ties, soft.weight) == (0.0, 0.0, 4.0)
    hard = stored(pair_file(folder, columns=counts, labels="hard"))[:3]
    assert [(row.share, row.ties) for row in hard] == [(1.0, 0.0), (0.0, 0.0), (0.5, 1.0)]


def test_confident_pairs_only(folder):
    """Of five rows in turn the larger camps are 1, 3/4, 1/2, 3/4, 1."""
    assert survey_pairs(pair_file(folder, confident=0.95)).rows == {"train": 16}
    assert survey_pairs(pair_file(folder, confident=0.95)).dropped == 24
    unknown = {"p_max": [None] * N}
    assert survey_pairs(pair_file(folder, columns={"p_max": pa.array(unknown["p_max"], pa.float64())},
                                  confident=0.95)).rows == {"train": N}  # fmt: skip


def test_votes_of_raters_are_validated_as_pairs(folder):
    votes = {"split": ["train"] * 30 + ["validation"] * 10, "rater": ["r", "s"] * 20, "label": ["a", "b"] * 20}
    weights = {"r": 0.5}
    pairs = PairFile(labels(folder, **votes), folder, RewardSettings(labels="raters"), rater_weights=weights)
    first = stored(pairs)[:2]
    assert [(row.share, row.weight) for row in first] == [(1.0, 0.5), (0.0, 1.0)]
    (once,) = pair_rows([pairs.validation()])
    assert once.share == 30 % 5 / 4
    alone = PairFile(labels(folder, **votes | {"split": ["train"] * N}), folder, RewardSettings(labels="raters"))
    assert alone.validation().num_rows == 0


def test_a_file_needs_no_more_than_pictures_and_shares(folder):
    found = survey_pairs(pair_file(folder, columns={"text": None, "p_max": None}))
    assert (found.criteria, found.pictures) == ((ONE_CRITERION,), 2)


@pytest.mark.parametrize(
    ("columns", "settings", "error", "told"),
    [
        ({"share": None}, {}, BadColumns, "'share'"),
        ({}, {"labels": "raters"}, BadColumns, "'rater'"),
        ({}, {"weigh": "votes"}, BadColumns, "'votes'"),
        ({"image_b": ["gone.png"] * N}, {}, BadFile, "1 missing: gone.png"),
        ({"image_b": pa.nulls(N, pa.string())}, {}, BadFile, "40 rows without a picture"),
        ({"share": [1.5] * N}, {}, BadValue, "between 0 and 1"),
        ({"share": [0.5] * N}, {}, TooFew, "all even"),
        ({"label": ["left"] * N}, {"labels": "hard"}, BadValue, "'left'"),
        ({"split": ["test"] * N}, {}, TooFew, "at least 12 pairs"),
        ({"agreement": [-1.0] * N}, {"weigh": "agreement"}, BadValue, "weights"),
        ({"agreement": [0.0] * N}, {"weigh": "agreement"}, BadValue, "weight above 0"),
    ],
)
def test_what_cannot_be_learned_is_said_before_training(folder, columns, settings, error, told):
    with pytest.raises(error, match=told):
        survey_pairs(pair_file(folder, columns=columns, **settings))


def test_what_is_no_table_and_no_picture(folder):
    (folder / "labels.parquet").write_text("no table")
    with pytest.raises(BadFile, match="Parquet file of labels"):
        survey_pairs(PairFile(folder / "labels.parquet", folder, RewardSettings()))
    pairs = pair_file(folder)
    (folder / "red.png").write_bytes(b"no picture")
    with pytest.raises(BadFile, match=r"red\.png"):
        read_pair(next(pairs.training(start=0)), pairs)


def test_work_is_done_ahead_in_order_and_not_too_far():
    begun = []

    def work(number):
        begun.append(number)
        if number == 30:
            raise BadValue("thirty")
        return number, threading.current_thread() is not threading.main_thread()

    results = read_ahead(work, range(100), threads=3, waiting=5)
    assert [next(results) for _ in range(3)] == [(0, True), (1, True), (2, True)]
    assert max(begun) <= 3 + 5
    with pytest.raises(BadValue, match="thirty"):
        list(results)
    assert max(begun) < 50
