"""`salon labels`: what is written, what is printed, and what is refused before anything is written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
import pytest

from salon.fuse import check_splits


def test_rankings_become_labels(salon) -> None:
    salon("simulate -o study --preset taste-like")
    told = salon("labels study -o labels.parquet")
    assert told.code == 0
    table = pq.read_table("labels.parquet")
    check_splits(table)
    assert table.num_rows == 9 * 80 * 6
    assert re.search(r"taste/mood +480 +2,400 ", told.out)
    assert re.search(r"^3-2 +[\d,]+ +\d", told.out, re.MULTILINE)
    for said in (
        "SIMULATED",
        "taste/hallucination is a flag and orders no items",
        "wrote labels.parquet",
        "labels|data:",
    ):
        assert said in told.out
    assert {path.name for path in Path().iterdir()} == {"study", "labels.parquet"}


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl"])
def test_comparisons_in_every_form(salon, form: str) -> None:
    salon("simulate -o study --prompts 40 --protocol comparisons --tie-share 0.2")
    told = salon(f"labels study -o labels.{form} --ties keep --json")
    record = json.loads(told.out)
    readers = {"parquet": pq.read_table, "csv": pyarrow.csv.read_csv, "jsonl": pyarrow.json.read_json}
    table = readers[form](f"labels.{form}")
    assert table.num_rows == record["criteria"][0]["rows"] == 40 * 6
    assert sum(record["criteria"][0]["splits"].values()) == 240
    assert sum(table.column("votes").to_pylist()) == record["criteria"][0]["judgments"] == 1200
    assert "tie" in table.column("label").to_pylist()
    assert record["signature_line"].startswith("labels|data:")
    assert record["file"] == f"labels.{form}"


def test_the_same_flags_write_the_same_bytes(salon) -> None:
    salon("simulate -o study --prompts 30")
    first, second = (salon(f"labels study -o {name}.csv --seed 3 --json").out for name in ("one", "two"))
    assert Path("one.csv").read_bytes() == Path("two.csv").read_bytes()
    assert json.loads(first)["signature"] == json.loads(second)["signature"]


def test_rated_items(salon) -> None:
    salon("simulate -o study --prompts 20 --protocol ratings")
    told = salon("labels study -o scores.jsonl --rows ratings")
    assert told.code == 0
    assert "bucket" not in told.out
    assert len(Path("scores.jsonl").read_text().splitlines()) == 80
    pairs = salon("labels study -o pairs.csv --json")
    assert pairs.code == 2
    assert json.loads(pairs.out)["error"] == "TooFew"
    assert salon("labels study -o pairs.csv --rating-pairs").code == 0


@pytest.mark.parametrize(
    ("line", "error", "words"),
    [
        ("labels study -o there.csv", "BadFile", "--overwrite"),
        ("labels study -o labels.txt", "BadFile", ".parquet"),
        ("labels study -o nowhere/labels.csv", "BadFile", "folder of the output"),
        ("labels study -o folder.csv", "BadFile", "a folder"),
        ("labels study -o new.csv --train 0.5", "BadValue", "0.5 + 0.1 + 0.1 = 0.7"),
        ("labels study -o new.csv --criterion mood", "UnknownReference", "mood"),
        ("labels absent -o new.csv", "BadFile", "absent"),
    ],
)
def test_refused_before_anything_is_written(salon, line: str, error: str, words: str) -> None:
    salon("simulate -o study --prompts 4")
    Path("there.csv").write_text("kept")
    Path("folder.csv").mkdir()
    told = salon(f"{line} --json")
    assert told.code == 2
    assert json.loads(told.out)["error"] == error
    assert words in told.err
    assert Path("there.csv").read_text() == "kept"
    assert not Path("new.csv").exists()


def test_overwriting_when_asked(salon) -> None:
    salon("simulate -o study --prompts 4")
    Path("there.csv").write_text("old")
    assert salon("labels study -o there.csv --overwrite").code == 0
    assert Path("there.csv").read_text().startswith('"criterion"')
