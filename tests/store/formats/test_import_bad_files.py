"""Files that cannot be read: each a named error that says what, where and what to do."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path

import little_files as little
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from salon.errors import BadColumns, BadFile, BadValue, SalonError
from salon.store import KINDS, Columns, ImportOptions, Policies, open_study, read_plain, read_study, recognize
from salon.store.formats.files import stream_records

HEAD = "left,right,winner,worker,prompt\n"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "content", [b"", b" \n\n\t\n", b"\xef\xbb\xbf", b"[]", b"{}", b"null", b"PAR1", b"\x1f\x8b\x08\x00cut"]
)
def test_nothing_to_read(tmp_path: Path, kind: str, content: bytes) -> None:
    with pytest.raises((BadFile, BadColumns, BadValue)):
        read_study(kind, [little.write(tmp_path, "x.csv", content)])


@pytest.mark.parametrize("kind", [kind for kind, form in KINDS.items() if not form.folder])
def test_folders_and_absent_files(tmp_path: Path, kind: str) -> None:
    with pytest.raises(BadFile, match="a folder"):
        read_study(kind, [tmp_path])
    with pytest.raises(BadFile, match="nothing there"):
        read_study(kind, [tmp_path / "x.csv"])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadFile, match="regular file"):
        read_study(kind, [tmp_path / "pipe"])


def test_column_names_and_no_rows(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="no rows"):
        read_study("comparisons", [little.write(tmp_path, "v.csv", HEAD)])


def test_missing_columns_list_what_was_found_and_the_nearest(tmp_path: Path) -> None:
    path = little.write(tmp_path, "v.csv", "lefft,right,winner\na,b,left\n")
    with pytest.raises(BadColumns) as caught:
        read_study("comparisons", [path])
    assert "'lefft', 'right', 'winner'" in caught.value.found
    assert caught.value.remedy == "name the column with --left lefft (nearest match to 'left')"
    with pytest.raises(BadColumns, match="nearest match to 'wnner'"):
        read_study("comparisons", [path], ImportOptions(columns=Columns(left="lefft", outcome="wnner")))


def test_all_columns_that_have_to_be_named_are_told_at_once(tmp_path: Path) -> None:
    path = little.write(tmp_path, "v.csv", "Bild 1;Bild 2;Wahl\r\na;b;a\r\n")
    with pytest.raises(BadColumns, match="columns for left, right and outcome are needed") as caught:
        read_study("comparisons", [path])
    assert caught.value.remedy == "name them: --left COLUMN --right COLUMN --outcome COLUMN"


def test_a_file_of_another_kind_is_told_its_kind(tmp_path: Path) -> None:
    path = little.write(tmp_path, "v.json", '[{"prompt": "a cat", "path1": "1.jpg", "path2": "2.jpg", "model1": "x"}]')
    with pytest.raises(BadColumns, match=r"do:    it looks like hpdv3: salon import hpdv3 v.json -o STUDY"):
        read_study("label-studio", [path])


def test_broken_json_is_told_where_it_is_broken(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"well-formed JSON[\s\S]*line 1, column 7"):
        recognize(little.write(tmp_path, "v.json", '{"a": }'))


def test_files_with_different_columns_are_not_mixed(tmp_path: Path) -> None:
    one = little.write(tmp_path, "1.csv", "left,right,winner\na,b,left\n")
    two = little.write(tmp_path, "2.csv", "left,right,outcome\na,b,left\n")
    with pytest.raises(BadColumns, match="same columns"):
        read_study("comparisons", [one, two])


def test_a_column_twice(tmp_path: Path) -> None:
    with pytest.raises(BadColumns, match="'left' twice"):
        read_study("comparisons", [little.write(tmp_path, "v.csv", "left,left,right,winner\na,a,b,left\n")])


@pytest.mark.parametrize(
    ("row", "line"), [("fox,owl,left,ann\n", 4), ("fox,owl,left,ann,p1,extra\n", 4), ('"fox\nfox",owl,left,ann\n', 5)]
)
def test_ragged_rows_name_their_line(tmp_path: Path, row: str, line: int) -> None:
    text = HEAD + "fox,owl,left,ann,p1\n" * 2 + row + "fox,owl,left,bob,p1\n"
    with pytest.raises(BadFile, match=f"line {line}\n") as caught:
        read_study("comparisons", [little.write(tmp_path, "v.csv", text)])
    assert "every line needs 5 cells" in caught.value.needed


def test_bytes_that_are_not_utf8_name_their_offset(tmp_path: Path) -> None:
    content = (HEAD + "renard gris,hibou,left,rené,p1\n").encode("latin-1")
    path = little.write(tmp_path, "v.csv", content)
    with pytest.raises(BadFile, match=r"0xe9 at byte offset 58[\s\S]*--encoding latin-1"):
        read_study("comparisons", [path])
    assert content[58] == 0xE9
    study = read_study("comparisons", [path], ImportOptions(policies=Policies(encoding="latin-1")))
    assert study.ids("raters").to_pylist() == ["rené"]
    with pytest.raises(BadValue, match="known text encoding"):
        read_study("comparisons", [path], ImportOptions(policies=Policies(encoding="klingon")))
    with pytest.raises(BadFile):
        read_study("comparisons", [path], ImportOptions(policies=Policies(encoding="base64")))


def test_a_column_name_that_is_not_utf8(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="byte offset 2"):
        read_study("comparisons", [little.write(tmp_path, "v.csv", b"le\xfft,right,winner\na,b,left\n")])


def test_not_utf8_far_behind_the_first_block(tmp_path: Path) -> None:
    content = HEAD.encode() + b"fox,owl,left,ann,p1\n" * 80_000 + b"fox,owl,left,\xff,p1\n"
    with pytest.raises(BadFile, match="0xff at byte offset 1,600,045"):
        read_study("comparisons", [little.write(tmp_path, "v.csv", content)])


def test_json_that_is_broken_or_nested_wrongly(tmp_path: Path) -> None:
    for content in (
        b'[{"left": "a"',
        b'{"a": 1}\n{"a": }\n',
        b"[1, 2]",
        b'[["a"]]',
        b"[" * 100_000,
        b'{"a": 1' + b"0" * 5000 + b"}",
    ):
        with pytest.raises(BadFile):
            read_study("comparisons", [little.write(tmp_path, "v.json", content)])
    with pytest.raises(BadFile, match="line 2"):
        read_study("ratings", [little.write(tmp_path, "v.jsonl", b'{"item": 1, "value": 2}\n{"item": \n')])


def test_half_a_surrogate_pair(tmp_path: Path) -> None:
    content = b'[{"left": "\\ud800", "right": "b", "winner": "left"}]'
    with pytest.raises(BadFile, match="Unicode"):
        read_study("comparisons", [little.write(tmp_path, "v.json", content)])


def test_a_gzip_file_that_would_fill_the_memory_is_not_unpacked(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr("salon.store.formats.files.MOST_UNPACKED", 1 << 20)
    path = little.write(tmp_path, "v.csv.gz", gzip.compress(little.COMPARISONS.encode() + b"\n" * (2 << 20)))
    with pytest.raises(BadFile, match="unpacks to more"):
        read_study("comparisons", [path])


def test_a_parquet_file_that_would_fill_the_memory_is_not_read(tmp_path: Path, monkeypatch) -> None:
    """Equal answers take no room on the disk; long texts are kept once, however often rows name them."""
    monkeypatch.setattr("salon.store.formats.files.MOST_UNPACKED", 1 << 18)
    answer = {"left": "fox", "right": "owl " * 1000, "winner": "left"}
    for name, rows in {"many.parquet": 60_000, "few.parquet": 600}.items():
        once = {key: pa.array([text]) for key, text in answer.items()}
        places = pa.array(np.zeros(rows, np.int32))
        table = pa.table({key: pa.DictionaryArray.from_arrays(places, text) for key, text in once.items()})
        pq.write_table(table, tmp_path / name)
    assert (tmp_path / "many.parquet").stat().st_size < 1 << 16
    with pytest.raises(BadFile, match="unpacks to more") as refused:
        read_study("comparisons", [tmp_path / "many.parquet"])
    assert "fewer rows" in str(refused.value)
    assert len(read_study("comparisons", [tmp_path / "few.parquet"]).comparisons) == 600


def test_a_small_parquet_file_of_very_many_rows_is_refused_before_it_is_decoded(tmp_path: Path, monkeypatch) -> None:
    rows = 3_000_000
    places = pa.array(np.zeros(rows, np.int32))
    answer = {"left": "fox", "right": "owl", "winner": "left"}
    table = pa.table({key: pa.DictionaryArray.from_arrays(places, pa.array([text])) for key, text in answer.items()})
    bomb = tmp_path / "bomb.parquet"
    pq.write_table(table, bomb)
    assert bomb.stat().st_size < 50_000
    for read in ("read_table", "ParquetFile.read", "ParquetFile.read_row_group"):
        monkeypatch.setattr(f"pyarrow.parquet.{read}", lambda *_, **__: pytest.fail("it was decoded"))
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "study.toml").write_text('format = 1\nname = "bomb"\n')
    shutil.copy(bomb, tmp_path / "study" / "comparisons.parquet")
    for reads in (
        lambda: read_study("comparisons", [bomb]),
        lambda: open_study(tmp_path / "study"),
        lambda: read_plain(bomb, "scores"),
    ):
        with pytest.raises(BadFile, match="rows per byte") as refused:
            reads()
        assert "3,000,000 rows" in str(refused.value)


@pytest.mark.parametrize("place", [10, 60, 200])
def test_a_damaged_gzip_file_of_records(tmp_path: Path, place: int) -> None:
    rows = "\n".join(json.dumps({"number": number, "noise": number * 2654435761 % 2**32}) for number in range(200))
    packed = bytearray(gzip.compress(rows.encode()))
    packed[place : place + 40] = bytes(40)
    with pytest.raises(BadFile):
        list(stream_records(little.write(tmp_path, "r.jsonl.gz", bytes(packed))))


def test_truncated_gzip(tmp_path: Path) -> None:
    packed = gzip.compress(little.COMPARISONS.encode() * 200)
    with pytest.raises(BadFile, match="gzip"):
        read_study("comparisons", [little.write(tmp_path, "v.csv.gz", packed[: len(packed) // 2])])


def test_cells_of_a_million_characters(tmp_path: Path) -> None:
    text = HEAD + f"fox,owl,left,ann,{'x ' * 500_000}\n" + "fox,owl,left,bob,p1\n"
    study = read_study("comparisons", [little.write(tmp_path, "v.csv", text)])
    assert len(next(study.nouns("prompts")).text) == 1_000_000
    for size in (1_000_001, 20_000_000):  # also where one row is longer than a block of the reader
        path = little.write(tmp_path, "v.csv", HEAD + f"fox,owl,left,ann,{'x' * size}\n")
        with pytest.raises(BadValue, match=f"found: {size:,} in column 'prompt'"):
            read_study("comparisons", [path])
    with pytest.raises(BadValue) as caught:
        read_study("comparisons", [little.write(tmp_path, "w.csv", text.replace("left,ann", "x" * 1_000_000 + ",ann"))])
    assert len(str(caught.value)) < 2_000


def test_blank_names(tmp_path: Path) -> None:
    for row in (",owl,left,ann,p1", "fox,  ,left,ann,p1", "fox,owl,left,,p1", "fox,owl,left,ann, "):
        path = little.write(tmp_path, "v.csv", HEAD + "fox,owl,left,cyd,p1\n" + row + "\n")
        with pytest.raises(BadValue, match=r"every row needs a[\s\S]*data row 2"):
            read_study("comparisons", [path])


def test_an_item_against_itself(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match="two different items"):
        read_study("comparisons", [little.write(tmp_path, "v.csv", HEAD + "fox,fox,left,ann,p1\n")])


def test_a_spreadsheet_is_no_table(tmp_path: Path) -> None:
    with pytest.raises(SalonError):
        read_study("comparisons", [little.write(tmp_path, "v.xlsx", b"PK\x03\x04" + bytes(range(256)) * 20)])
