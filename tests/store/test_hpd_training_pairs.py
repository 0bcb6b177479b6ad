"""Training pairs of HPDv3, HPDv2, Pick-a-Pic and ImageReward: by hand, as a study gives them, and as a stream."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from salon.cli.train_reward import pairs
from salon.errors import BadFile, BadValue
from salon.fuse import LabelSettings, make_labels
from salon.store import TrainingPairSettings, read_study, write_pairs
from salon.store.formats import files as stream
from salon.store.formats.files import stream_records
from salon.store.formats.training_pairs import WrittenPairs

ALL = TrainingPairSettings(train=1, validation=0, test=0)
HPDV3 = [
    {"prompt": "an elk", "path1": "z/1.jpg", "path2": "a/2.jpg", "confidence": 0.97, "choice_dist": [9, 3]},
    {"prompt": "an elk", "path1": "a/2.jpg", "path2": "a/3.jpg"},
    {"prompt": "an elk", "path1": "/etc/passwd", "path2": "../up.jpg"},
    {"prompt": "a fox", "path1": "b/1.jpg", "path2": "b/2.jpg", "choice_dist": [4, 4]},
]
RANKED = [{"id": "r1", "prompt": "tea", "generations": ["b", "a", "c"], "ranking": [1, 2, 2]}]


def written(tmp_path: Path, kind: str, records: Any) -> tuple[list[dict[str, Any]], WrittenPairs]:
    (tmp_path / "in.json").write_text(json.dumps(records))
    told = write_pairs(kind, [tmp_path / "in.json"], tmp_path / "out.parquet", ALL)
    return pq.read_table(tmp_path / "out.parquet").to_pylist(), told


def test_hpdv3_by_hand(tmp_path: Path) -> None:
    (first, second), told = written(tmp_path, "hpdv3", HPDV3)
    assert (first["image_a"], first["image_b"], first["label"]) == ("a/2.jpg", "z/1.jpg", "b")  # the winner stood first
    assert (first["for_a"], first["for_b"], first["share"], first["bucket"]) == (3, 9, 0.25, "9-3")
    assert (first["p_max"], first["agreement"], first["text"]) == (0.97, 0.5, "an elk")
    assert (second["label"], second["votes"], second["p_max"]) == ("a", 1, 1.0)
    assert sum(told.left_out.values()) == 2
    assert told.rows == 2


def test_rankings_give_the_pairs_that_a_study_s_labels_have(tmp_path: Path) -> None:
    people = [{"rank": [1, 2, 3], "user_hash": "u1"}, {"rank": [3, 1, 2], "user_hash": "u2"},
              {"rank": [1, 3, 2], "user_hash": "u3"}]  # fmt: skip
    hpdv2 = [{"prompt": "an owl", "image_path": ["b", "a", "c"], "rank": [1, 2, 3], "raw_annotations": people}]
    for kind, records in (("imagereward", RANKED), ("hpdv2", hpdv2)):
        rows, _ = written(tmp_path, kind, records)
        study = read_study(kind, [tmp_path / "in.json"])
        labels = make_labels(study, LabelSettings(train=1, validation=0, test=0)).table.to_pylist()
        wanted = {}
        for row in labels:
            flip = row["item_a"] > row["item_b"]
            pair = tuple(sorted((row["item_a"], row["item_b"])))
            wanted[pair] = (round(1 - row["share"] if flip else row["share"], 12), row["votes"], row["bucket"])
        assert wanted == {
            (row["item_a"], row["item_b"]): (round(row["share"], 12), row["votes"], row["bucket"]) for row in rows
        }


def test_columns_are_those_of_labels(tmp_path: Path) -> None:
    written(tmp_path, "imagereward", RANKED)
    study = read_study("imagereward", [tmp_path / "in.json"])
    labels = make_labels(study, LabelSettings(train=1, validation=0, test=0)).table
    assert set(pq.read_schema(tmp_path / "out.parquet").names) == set(labels.column_names) - {"both_bad"}
    assert {item.image for item in study.nouns("items")} == {"a", "b", "c"}


def test_pick_a_pic_keeps_each_picture_once(tmp_path: Path) -> None:
    one, two, three = b"\xff\xd8one", b"\x89PNGtwo", b"\xff\xd8three"
    columns = {"caption": ["x", "x", "y"], "jpg_0": [one, two, one], "jpg_1": [two, three, three],
               "label_0": [1.0, 0.0, 0.5], "label_1": [0.0, 1.0, 0.5], "has_label": [True, False, True]}  # fmt: skip
    pq.write_table(pa.table(columns), tmp_path / "p.parquet")
    told = write_pairs("pickapic", [tmp_path / "p.parquet"], tmp_path / "o.parquet", ALL, images=tmp_path / "kept")
    (row,) = pq.read_table(tmp_path / "o.parquet").to_pylist()
    better = row["image_a"] if row["label"] == "a" else row["image_b"]
    assert (tmp_path / "kept" / better).read_bytes() == one
    assert told.left_out == {"pairs without a winner": 1}
    (tmp_path / "kept" / better).write_bytes(b"")  # as a power cut may leave it
    write_pairs("pickapic", [tmp_path / "p.parquet"], tmp_path / "o.parquet", ALL, images=tmp_path / "kept")
    assert (tmp_path / "kept" / better).read_bytes() == one
    assert len([path for path in (tmp_path / "kept").rglob("*") if path.is_file()]) == 3
    with pytest.raises(BadValue, match="--images"):
        write_pairs("pickapic", [tmp_path / "p.parquet"], tmp_path / "o.parquet", ALL)


def test_a_prompt_falls_to_one_split_however_it_is_written(tmp_path: Path) -> None:
    settings = TrainingPairSettings(train=0.5, validation=0.25, test=0.25)
    assert settings.split("An  Elk") == settings.split("an elk\n")
    fallen = [settings.split(f"prompt {k}") for k in range(4000)]
    assert fallen.count("train") / 4000 == pytest.approx(0.5, abs=0.04)  # five standard errors
    with pytest.raises(BadValue, match="sum to 1"):
        TrainingPairSettings(train=0.5)


@pytest.mark.parametrize("chunk", [1, 3, 1 << 20])
def test_records_stream_as_json_reads_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(stream, "_CHUNK", chunk)
    records = [{"a": "é, ]}{[", "n": [1, {"b": None}]}, {}, {"x": '"\\'}]
    texts = {
        "list": json.dumps(records, ensure_ascii=False, indent=1),
        "lines": "\n".join(json.dumps(one) for one in records) + "\n",
        "mark": "\ufeff" + json.dumps(records),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert list(stream_records(tmp_path / name)) == records
    (tmp_path / "packed").write_bytes(gzip.compress(texts["list"].encode()))
    assert list(stream_records(tmp_path / "packed")) == records


@pytest.mark.parametrize("text", ['[{"a": 1}, {"b"', "[1, 2]", "no json", '[{"a": 1}] {', "[]", '{"a": nope}'])
def test_broken_json_is_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "in.json").write_text(text)
    with pytest.raises(BadFile):
        list(stream_records(tmp_path / "in.json"))


def test_a_file_is_never_whole_in_memory(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(json.dumps([{"text": "x" * 1000}] * 5000))
    records = stream_records(tmp_path / "in.json")
    next(records)
    held = records.gi_frame.f_locals  # type: ignore[attr-defined]
    assert sum(sys.getsizeof(value) for value in held.values()) < 3 << 20  # of five million characters


def test_the_command_counts_what_it_wrote(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text(json.dumps(RANKED))
    arguments = ["imagereward", str(tmp_path / "in.json"), "-o", str(tmp_path / "o.parquet"), "--train", "1"]
    done = CliRunner().invoke(pairs, [*arguments, "--validation", "0", "--json"], catch_exceptions=False)
    told = json.loads(done.output)
    assert (told["rows"], told["splits"], told["left_out"]) == (2, {"train": 2}, {"pairs without a winner": 1})


@pytest.mark.data
def test_imagereward_s_test_file_has_7230_pairs(salon_data: Path, tmp_path: Path) -> None:
    path = salon_data / "imagereward" / "test.json"
    told = write_pairs("imagereward", [path], tmp_path / "o.parquet", ALL)
    lengths = {4: 194, 5: 2, 6: 45, 7: 159, 8: 43, 9: 23}
    assert told.rows + sum(told.left_out.values()) == sum(n * (n - 1) // 2 * count for n, count in lengths.items())
    assert told.left_out == {"pairs without a winner": 831}
