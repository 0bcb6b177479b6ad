"""Pairs in many files, pictures in folders, tars and tables: the same pairs, the same pictures, the same order."""

import io
import json
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import webdataset
from datasets import Dataset, Features, Image as ImageFeature, Value
from PIL import Image

from salon.errors import BadColumns, BadFile, BadValue, DesignError
from salon.evaluate import load_guard, text_key
from salon.store import content_hash, picture_key
from salon.train import RewardSettings
from salon.train.name_hashes import (
    GuardLog,
    NameSet,
    contains,
    guarded_names,
    hash_name,
    hash_names,
    place_in,
    write_guard,
)
from salon.train.pair_files import PairShards, ParquetPictures
from salon.train.reward_data import PairFile, pair_rows, pooled_order, read_pair
from salon.train.reward_survey import survey_pairs, surveyed_pictures

ROWS, PICTURES = 60, 20


def color(number):
    return (10 * number, 255 - 10 * number, 7)


def encoded(number):
    sink = io.BytesIO()
    Image.new("RGB", (5, 4), color(number)).save(sink, "PNG")
    return sink.getvalue()


def rows(**columns):
    """Pair n shows pictures n and n + 7, modulo 20; the last ten are for validation, under pictures of their own."""
    numbers = np.arange(ROWS)
    a, b = numbers % (PICTURES - 4), (numbers + 7) % (PICTURES - 4)
    a[50:], b[50:] = PICTURES - 4 + numbers[50:] % 2, PICTURES - 2 + numbers[50:] % 2
    plain = {
        "image_a": [f"shots/{n}.png" for n in a], "image_b": [f"shots/{n}.png" for n in b],
        "text": [f"t{n}" for n in numbers], "share": (numbers % 3 / 2).tolist(),
        "split": ["train"] * 50 + ["validation"] * 10,
    }  # fmt: skip
    return pa.table(plain | columns), a, b


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """The same pairs in every layout."""
    folder = tmp_path_factory.mktemp("shards")
    table, a, b = rows()
    (folder / "shots").mkdir()
    for number in range(PICTURES):
        (folder / "shots" / f"{number}.png").write_bytes(encoded(number))
    pq.write_table(table, folder / "one.parquet", row_group_size=7)
    (folder / "parquet").mkdir()
    for number in range(3):
        pq.write_table(table.slice(20 * number, 20), folder / "parquet" / f"part-{number}.parquet", row_group_size=6)
    (folder / "feather").mkdir()
    for number in range(3):
        feather.write_feather(table.slice(20 * number, 20), folder / "feather" / f"{number}.feather", chunksize=6)
    (folder / "tars").mkdir()
    with webdataset.ShardWriter(f"{folder}/tars/%03d.tar", maxcount=6, verbose=0) as writer:
        for number in range(PICTURES):
            writer.write({"__key__": f"shots/{number}", "png": encoded(number), "json": {"n": number}})
    pictures = {
        "image_a": [{"bytes": encoded(n), "path": None} for n in a],
        "image_b": [{"bytes": encoded(n), "path": None} for n in b],
    }
    kinds = Features({name: Value(str(table.schema.field(name).type).replace("double", "float64"))
                      for name in ("text", "share", "split")})  # fmt: skip
    whole = Dataset.from_dict(
        pictures | {name: table[name].to_pylist() for name in kinds},
        features=Features({"image_a": ImageFeature(), "image_b": ImageFeature(), **kinds}),
    )
    whole.save_to_disk(folder / "datasets", num_shards=2)
    (folder / "exported").mkdir()
    whole.to_parquet(folder / "exported" / "pairs.parquet", batch_size=9)
    return folder


LAYOUTS = {
    "one.parquet": ".", "parquet": ".", "feather": ".", "tars": "tars", "datasets": "datasets", "exported": "exported",
}  # fmt: skip


def pair_file(place, layout, run=None, **settings):
    source = "parquet" if layout == "tars" else layout
    return PairFile(place / source, place / LAYOUTS[layout], RewardSettings(**settings), run=run)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_pairs_and_pictures_are_the_same_in_every_layout(place, layout, tmp_path):
    pairs = pair_file(place, layout, tmp_path)
    survey = survey_pairs(pairs)
    assert (survey.rows, survey.pictures) == ({"train": 50, "validation": 10}, PICTURES)
    _, a, b = rows()
    epoch = list(islice(pairs.training(start=0), 50))
    assert sorted(int(row.text[1:]) for row in epoch) == list(range(50))
    for row in [*epoch, *pair_rows([pairs.validation()])]:
        number = int(row.text[1:])
        assert row.share == number % 3 / 2
        first, second = read_pair(row, pairs)
        assert first.getpixel((0, 0)) == color(a[number])
        assert second.getpixel((0, 0)) == color(b[number])
    assert [row.text for row in pair_rows([pairs.validation()])] == [f"t{n}" for n in range(50, 60)]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_run_goes_on_in_the_middle_without_looking_again(place, layout, tmp_path, monkeypatch):
    pairs = pair_file(place, layout, tmp_path)
    survey = survey_pairs(pairs)
    whole = list(islice(pairs.training(start=0), 120))
    again = pair_file(place, layout, tmp_path)
    monkeypatch.setattr(PairShards, "parts", None)  # it would read the source
    assert survey_pairs(again) == survey
    for start in (0, 13, 50, 77):
        assert list(islice(again.training(start=start), 120 - start)) == whole[start:]


def test_the_order_does_not_depend_on_the_layout(place):
    orders = [[row.text for row in islice(pair_file(place, layout).training(start=0), 50)] for layout in LAYOUTS]
    assert all(order == orders[0] for order in orders)


def test_a_changed_source_is_looked_through_again(tmp_path, place):
    source = tmp_path / "pairs.parquet"
    pq.write_table(rows()[0], source)
    pairs = PairFile(source, place, RewardSettings(), run=tmp_path)
    assert survey_pairs(pairs).rows["train"] == 50
    pq.write_table(rows(split=["train"] * 60)[0], source)
    assert survey_pairs(PairFile(source, place, RewardSettings(), run=tmp_path)).rows == {"train": 60}
    hard = RewardSettings(confident=0.9)
    with pytest.raises(BadColumns, match="p_max"):
        survey_pairs(PairFile(source, place, hard, run=tmp_path))


# -- pictures in Parquet ---------------------------------------------------------------------------------------------


def test_a_pool_of_row_groups_is_mixed_and_each_is_read_once(place, monkeypatch):
    """Six row groups of 9 and fewer rows; pictures of about 20 rows are kept."""
    pairs = pair_file(place, "exported", shuffle=18)
    opened = []
    group = ParquetPictures._group

    def counting(self, shard, number):
        opened.extend([number] if (shard, number) not in self._groups else [])
        return group(self, shard, number)

    monkeypatch.setattr(ParquetPictures, "_group", counting)
    texts = [int(row.text[1:]) for row in islice(pairs.training(start=0), 50) if read_pair(row, pairs)]
    assert sorted(opened) == sorted(set(opened))
    groups = [number // 9 for number in texts]
    assert len(set(groups[:18])) <= 3  # of one pool
    assert len(set(groups[:9])) > 1  # mixed


def test_pools_hold_every_row_once():
    rng = np.random.default_rng(0)
    sizes = np.array([5, 0, 30, 7, 7, 1])
    assert sorted(pooled_order(sizes, 12, rng)) == list(range(50))


def test_how_well_sorted_rows_are_mixed():
    """100,000 rows sorted by prompt, four a prompt; how many of a batch of 64 share a prompt with another."""
    rng = np.random.default_rng(0)
    shared = {}
    for pool in (1024, 16_384):
        order = pooled_order(np.full(100, 1000), pool, rng)[: 64 * 1500].reshape(-1, 64) // 4
        shared[pool] = 1 - np.mean([len(np.unique(batch)) / 64 for batch in order])
    assert shared[1024] < 0.12
    assert shared[16_384] < 0.01


# -- what is refused -------------------------------------------------------------------------------------------------


def test_what_is_missing_or_twice(place, tmp_path):
    table, *_ = rows(image_b=["shots/99.png"] * 50 + ["shots/19.png"] * 10)
    pq.write_table(table, tmp_path / "pairs.parquet")
    for images in (place, place / "tars"):
        with pytest.raises(BadFile, match=r"1 missing: shots/99\.png"):
            survey_pairs(PairFile(tmp_path / "pairs.parquet", images, RewardSettings()))
    twice = tmp_path / "twice"
    twice.mkdir()
    for name in ("0.tar", "1.tar"):
        (twice / name).write_bytes((place / "tars" / "000.tar").read_bytes())
    with pytest.raises(BadFile, match="name of its own"):
        survey_pairs(PairFile(place / "one.parquet", twice, RewardSettings()))
    (twice / "0.tar").write_bytes(b"no tar" * 200)
    with pytest.raises(BadFile, match="uncompressed tar"):
        survey_pairs(PairFile(place / "one.parquet", twice, RewardSettings()))
    compressed = tmp_path / "compressed"
    compressed.mkdir()
    pictured = pq.read_table(place / "exported" / "pairs.parquet")
    feather.write_feather(pictured, compressed / "0.feather", compression="lz4")
    with pytest.raises(BadFile, match="without compression"):
        survey_pairs(PairFile(compressed, compressed, RewardSettings()))
    (compressed / "1.parquet").write_bytes((place / "one.parquet").read_bytes())
    with pytest.raises(BadFile, match=r"\*\.feather and \*\.parquet"):
        survey_pairs(PairFile(compressed, compressed, RewardSettings()))


def test_names_that_are_spelled_differently_are_found(place, tmp_path):
    table, *_ = rows()
    odd = pa.array([name.replace("shots/", ".//shots/") for name in table["image_a"].to_pylist()])
    pq.write_table(table.set_column(0, "image_a", odd), tmp_path / "pairs.parquet")
    assert survey_pairs(PairFile(tmp_path / "pairs.parquet", place, RewardSettings())).rows["train"] == 50


@pytest.mark.parametrize("layout", ["one.parquet", "tars", "datasets", "exported"])
def test_what_stands_on_two_sides_is_refused(place, layout, tmp_path):
    """The same picture in training and validation, under one name or as the same bytes; and a prompt's text."""
    source = tmp_path / "pairs"
    source.mkdir()
    shards = PairShards(place / ("parquet" if layout == "tars" else layout))
    table = pa.concat_tables([part.table for part in shards.parts(shards.names)])
    split = pa.array(["train"] * 40 + ["validation"] * 20)
    leaking = table.set_column(table.column_names.index("split"), "split", split)
    pq.write_table(leaking, source / "pairs.parquet", row_group_size=8)
    with pytest.raises(DesignError, match=r"image .* in train and validation \(\d+ such\)"):
        survey_pairs(PairFile(source, place / LAYOUTS[layout], RewardSettings()))


def test_exports_of_datasets_are_split_by_name(place, tmp_path):
    table = rows()[0].drop_columns("split")
    pq.write_table(table.slice(0, 50), tmp_path / "train-00000-of-00001.parquet")
    pq.write_table(table.slice(50), tmp_path / "test-00000-of-00001.parquet")
    assert survey_pairs(PairFile(tmp_path, place, RewardSettings())).rows == {"train": 50, "test": 10}
    pq.write_table(table.slice(40), tmp_path / "test-00000-of-00001.parquet")
    with pytest.raises(DesignError, match="image"):
        survey_pairs(PairFile(tmp_path, place, RewardSettings()))


def test_a_text_may_hold_anything_and_a_name_no_joint(place, tmp_path):
    table, *_ = rows(text=["a\x1fb\nc"] * 50 + ["d"] * 10)
    pq.write_table(table, tmp_path / "pairs.parquet")
    assert next(PairFile(tmp_path / "pairs.parquet", place, RewardSettings()).training(start=0)).text == "a\x1fb\nc"
    pq.write_table(rows(group=["g\x1f"] * ROWS)[0], tmp_path / "pairs.parquet")
    with pytest.raises(BadValue, match="control"):
        survey_pairs(PairFile(tmp_path / "pairs.parquet", place, RewardSettings()))


# -- hashes ----------------------------------------------------------------------------------------------------------


def test_the_hash_of_files_is_what_sha256sum_makes(place, tmp_path):
    one = PairShards(place / "one.parquet")
    assert one.content_hash() == content_hash(place / "one.parquet")
    many = PairShards(place / "parquet")
    first = many.content_hash(tmp_path / "data.json")
    lines = "".join(f"{content_hash(file)}  {file.name}\n" for file in many.files)
    (tmp_path / "sums").write_text(lines)
    assert first == content_hash(tmp_path / "sums")
    record = json.loads((tmp_path / "data.json").read_text())
    (tmp_path / "data.json").write_text(json.dumps(record | {"sha256": "remembered"}))
    assert many.content_hash(tmp_path / "data.json") == "remembered"


def test_names_are_known_again():
    names = pa.array([f"pictures/{number}.png" for number in range(50_000)])
    hashes = hash_names(names)
    assert len(np.unique(hashes)) == 50_000
    assert hashes[7] == hash_name("pictures/7.png")
    assert (hash_names(names.slice(100, 5)) == hashes[100:105]).all()
    seen = NameSet()
    for start in range(0, 50_000, 5000):
        seen.add(hashes[start : start + 10_000], 1 + start % 2)
    seen.add(hashes[:3], 2)
    assert (len(seen), seen.count(2), seen.count(1, 2)) == (50_000, 3, 49_997)
    assert set(seen.in_several(3) >> np.uint64(8)) == set(hashes[:3] >> np.uint64(8))
    assert contains(seen.entries(), hashes).all()
    assert (place_in(seen.entries(), hash_names(pa.array(["other", None]))) == -1).all()


def test_the_guard_is_filled_while_pictures_are_read(place, tmp_path):
    pairs = pair_file(place, "tars", tmp_path)
    survey_pairs(pairs)
    names = surveyed_pictures(pairs)
    assert len(names) == PICTURES
    for process, numbers in enumerate([range(0, 30, 2), range(1, 30, 2)]):
        log = GuardLog(tmp_path, process, names)
        noted = PairFile(pairs.path, pairs.images, pairs.settings, run=tmp_path, guard=log)
        drawn = list(islice(noted.training(start=0), 30))
        for number in numbers:
            read_pair(drawn[number], noted)
        log.close()
    with open(tmp_path / "guard-1.bin", "ab") as file:
        file.write(b"half a record")
    size = (tmp_path / "guard-0.bin").stat().st_size
    log = GuardLog(tmp_path, 0, names)  # of a run that goes on, with one process
    noted = PairFile(pairs.path, pairs.images, pairs.settings, run=tmp_path, guard=log)
    for row in drawn:
        read_pair(row, noted)
    log.close()
    assert (tmp_path / "guard-0.bin").stat().st_size == size  # nothing is hashed twice
    shown = {name for row in drawn for name in (row.image_a, row.image_b)}
    assert contains(guarded_names(tmp_path), hash_names(pa.array(sorted(shown)))).all()
    (tmp_path / "model").mkdir()
    card = write_guard(tmp_path, [row.text for row in drawn] * 2, tmp_path / "model")
    guard = load_guard(tmp_path / "model", card)
    assert set(guard.pictures) == {picture_key(place / name) for name in shown}
    assert guard.texts == {text_key(row.text) for row in drawn}
