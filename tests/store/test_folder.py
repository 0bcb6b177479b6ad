"""A study folder: opened when it is sound, refused with a named error when it is not, replaced only when asked to."""

from __future__ import annotations

import json
import os
import random
import re
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from studies import example

from salon.collect.studio.removal import without_raters
from salon.errors import BadColumns, BadFile, BadValue, InputError, SalonError, UnknownReference
from salon.store import Metadata, TableWriter, folder, is_study, open_study, read_metadata, save_study, write_metadata
from salon.study import Comparison, Criterion, Item, Rater, Study

ROOT = Path(__file__).parent.parent.parent
TOML = 'format = 1\nname = "small"\ncompare_within = "all"\n[[criteria]]\nid = "c"\n'
ITEMS = '{"id":"x"}\n{"id":"y"}\n'
RATERS = '{"id":"ann"}\n'
ANSWER = '{"criterion":"c","rater":"ann","a":"x","b":"y","outcome":"a"}\n'
HEADER = "criterion,rater,a,b,outcome,seconds\n"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A small study of text files, to be spoiled by a test."""
    path = tmp_path / "small"
    path.mkdir()
    (path / "study.toml").write_text(TOML)
    (path / "items.jsonl").write_text(ITEMS)
    (path / "raters.jsonl").write_text(RATERS)
    (path / "comparisons.jsonl").write_text(ANSWER)
    return path


def replace(path: Path, name: str, content: str | bytes) -> None:
    """Give the study another file for the kind that `name` begins with."""
    for old in path.glob(name.split(".")[0] + ".*"):
        old.unlink()
    (path / name).write_bytes(content.encode() if isinstance(content, str) else content)


def refusal(path: Path, error: type[SalonError]) -> SalonError:
    with pytest.raises(error) as caught:
        open_study(path)
    assert caught.value.where or "://" in str(path)
    return caught.value


# -- the documentation -------------------------------------------------------------------------------------


def test_the_examples_in_the_documentation_form_a_study(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "data.md").read_text()
    files = re.findall(r"^`([a-z]+\.(?:toml|jsonl|csv))`\n\n```\w+\n(.*?)^```", text, re.M | re.S)
    assert len(files) == 9  # study.toml and all eight tables
    for name, content in files:
        (tmp_path / name).write_text(content)
    study = open_study(tmp_path)
    assert study.counts == {
        "prompts": 2,
        "items": 5,
        "raters": 3,
        "comparisons": 6,
        "rankings": 2,
        "ratings": 3,
        "checklists": 1,
        "choices": 1,
    }
    assert study.comparisons.skipped == 1
    assert study.revision == 2
    rationales = study.table("ratings").column("rationale").to_pylist()
    assert rationales == ["Warm, and legible.", "", None]
    for kind in study.counts:
        assert len(list(study.nouns(kind))) == study.counts[kind]


def test_the_documentation_shows_every_column(tmp_path: Path) -> None:
    from salon.study import KINDS

    text = (ROOT / "docs" / "data.md").read_text()
    for kind, spec in KINDS.items():
        block = re.search(rf"^`{kind}\.\w+`\n\n```\w+\n(.*?)^```", text, re.M | re.S)
        assert block, kind
        facts = {"repeat", "rationale", "confidence", "seconds", "at", "skipped"}
        for column in set(spec.columns) - facts:
            assert column in block[1], (kind, column)


# -- reading -----------------------------------------------------------------------------------------------


def test_a_small_folder_opens(small: Path) -> None:
    study = open_study(small)
    assert study.counts == {"items": 2, "raters": 1, "comparisons": 1}
    assert study.comparisons.outcome.tolist() == [0]
    assert is_study(small)
    assert open_study(str(small)).hash == study.hash


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("comparisons.csv", "criterion,rater,a,b,outcome\nc,ann,x,y,a\n"),
        ("comparisons.csv", "\ufeffcriterion,rater,a,b,outcome\r\nc,ann,x,y,a\r\n"),
        ("comparisons.csv", 'outcome,b,a,"rater",criterion\n"a",y,"x",ann,c\n'),
        ("comparisons.jsonl", "\ufeff" + ANSWER),
        ("comparisons.jsonl", "\n" + ANSWER.rstrip() + "\r\n\n"),
        ("comparisons.jsonl", ANSWER.replace('"a"}', '"a","left":null,"seconds":null}')),
    ],
)
def test_forms_of_the_same_table_give_the_same_study(small: Path, name: str, content: str) -> None:
    wanted = open_study(small).hash
    replace(small, name, content)
    assert open_study(small).hash == wanted


def test_parquet_of_another_writer_opens(small: Path) -> None:
    wanted = open_study(small).hash
    answer = {key: [value] for key, value in json.loads(ANSWER).items()}
    (small / "comparisons.jsonl").unlink()
    columns = {key: pa.array(value, pa.large_string()) for key, value in answer.items()}
    columns["rater"] = pa.array(["ann"]).dictionary_encode().cast(pa.dictionary(pa.int8(), pa.string()))
    pq.write_table(pa.table(columns), small / "comparisons.parquet", use_dictionary=False)
    assert open_study(small).hash == wanted


def test_lists_are_read_as_dictionaries_from_parquet(tmp_path: Path) -> None:
    save_study(example(), tmp_path / "s")
    column = open_study(tmp_path / "s").table("rankings").column("items")
    assert str(column.type.value_type) == "dictionary<values=string, indices=int32, ordered=0>"
    assert column.num_chunks == 1


@pytest.mark.parametrize("writer", ["ours", "another"])
def test_lists_of_more_labels_than_a_dictionary_page_holds_are_read(tmp_path: Path, writer: str) -> None:
    ids = [f"an item with a rather long name, number {number:06}" for number in range(40_000)]  # 2 MB of labels
    rows = len(ids) // 4
    four = pa.FixedSizeListArray.from_arrays(pa.array(ids), 4).cast(pa.list_(pa.string()))
    ranks = pa.array([[1, 2, 3, 4]] * rows, pa.list_(pa.int32()))
    rankings = pa.table({"criterion": ["c"] * rows, "rater": ["r"] * rows, "items": four, "ranks": ranks})
    tables = {"items": pa.table({"id": ids}), "raters": [Rater(id="r")], "rankings": rankings}
    study = Study.build("many", [Criterion(id="c")], compare_within="all", tables=tables)
    save_study(study, tmp_path / "s")
    if writer == "another":
        pq.write_table(rankings, tmp_path / "s" / "rankings.parquet", row_group_size=4_000)
    assert open_study(tmp_path / "s").hash == study.hash


def test_a_cell_of_a_million_characters_is_read_and_a_longer_name_is_cut_in_messages(small: Path) -> None:
    long = "é" * 1_000_000
    for name, content in {
        "comparisons.jsonl": ANSWER.replace('"a"}', f'"a","rationale":"{long}"}}'),
        "comparisons.csv": f"criterion,rater,a,b,outcome,rationale\nc,ann,x,y,a,{long}\n",
    }.items():
        replace(small, name, content)
        assert open_study(small).table("comparisons").column("rationale").to_pylist() == [long]
    replace(small, "comparisons.jsonl", ANSWER.replace("ann", long))
    assert len(str(refusal(small, UnknownReference))) < 1000


# -- what is no study --------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["sqlite:///x.db", "postgresql://user:secret@host/db"])
def test_an_address_is_refused_without_repeating_its_password(address: str) -> None:
    with pytest.raises(BadFile, match="STUDY must be a folder") as caught:
        open_study(address)
    assert "secret" not in str(caught.value)
    with pytest.raises(BadFile, match="STUDY must be a folder"):
        save_study(example(), address)


def test_what_is_no_study_is_named(tmp_path: Path) -> None:
    assert "nothing there" in str(refusal(tmp_path / "none", BadFile))
    assert "nothing in it" in str(refusal(tmp_path, BadFile))
    (tmp_path / "a.txt").write_text("")
    assert "a folder with a.txt" in str(refusal(tmp_path, BadFile))
    assert "found: a file" in str(refusal(tmp_path / "a.txt", BadFile))


@pytest.mark.parametrize(
    ("content", "error", "says"),
    [
        ("", BadFile, "no format"),
        ("format = 2\n" + TOML[11:], BadFile, "update Salon"),
        ("format = 0\n" + TOML[11:], BadFile, "format = 0"),
        ("format = true\n" + TOML[11:], BadFile, "format = True"),
        ('format = "1"\n' + TOML[11:], BadFile, "format = '1'"),
        (TOML + "x = = 1", BadFile, "study.toml:6"),
        (b"\xff\xfe" + TOML.encode("utf-16-le"), BadFile, "UTF-8"),
        ("format = 1", BadValue, "Metadata.name"),
        (TOML.replace('"all"', '"both"'), BadValue, "compare_within"),
        ("colour = 1\n" + TOML, BadValue, "Metadata.colour"),
        (TOML + "[criteria.scale]\nlow = 5\nhigh = 1", BadValue, "low < high"),
        (TOML + "[criteria.scale]\nlow = nan\nhigh = 1", BadValue, "finite"),
        (TOML + '[[criteria]]\nid = "c"', BadValue, "criterion may stand once"),
        (
            TOML + '[[revisions]]\nnumber = 2\nreason = "a"\n[[revisions]]\nnumber = 1\nreason = "b"',
            BadValue,
            "upwards",
        ),
        ("revisions = []\n" + TOML, BadValue, "revisions"),
    ],
)
def test_a_bad_study_toml_is_named(small: Path, content: str | bytes, error: type[SalonError], says: str) -> None:
    replace(small, "study.toml", content)
    caught = refusal(small, error)
    assert says in str(caught)
    assert "study.toml" in str(caught)


def test_two_files_for_one_kind_are_both_named(small: Path) -> None:
    (small / "data").mkdir()
    (small / "data" / "comparisons.csv").write_text(HEADER)
    assert "comparisons.jsonl and data/comparisons.csv" in str(refusal(small, BadFile))


# -- what is no table --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "error", "says"),
    [
        (ANSWER.replace('"a"}', '"a","seconds":NaN}'), BadValue, "seconds"),
        (ANSWER.replace('"a"}', '"a","seconds":1e400}'), BadValue, "seconds"),
        (ANSWER.replace('"a"}', '"a","seconds":"4"}'), BadValue, "seconds"),
        (ANSWER.replace('"a"}', '"a","repeat":1.5}'), BadValue, "repeat"),
        (ANSWER.replace('"a"}', '"a","repeat":99999}'), BadValue, "repeat"),
        (ANSWER.replace('"ann"', "7"), BadValue, "rater"),
        (ANSWER.replace('"ann"', '"\\ud800"'), BadValue, ""),
        (ANSWER.replace("rater", "worker"), BadColumns, "worker"),
        (ANSWER.replace('"a":"x"', '"a":"x","a":"y"'), BadFile, "twice"),
        (ANSWER.replace("}", ""), BadFile, "JSON"),
        (ANSWER.rstrip() + " and more\n", BadFile, "Extra data"),
        ("[1,2]\n", BadFile, "list"),
        ("7\n", BadFile, "int"),
        ("[" * 100_000 + "\n", BadFile, ""),
        (ANSWER.encode().replace(b"ann", b"\xe9"), BadFile, "0xe9"),
    ],
)
def test_a_bad_line_of_jsonl_is_named_with_its_number(
    small: Path, line: str | bytes, error: type[SalonError], says: str
) -> None:
    raw = line if isinstance(line, bytes) else line.encode()
    replace(small, "comparisons.jsonl", ANSWER.encode() + b"\n" + raw + ANSWER.encode())
    caught = refusal(small, error)
    assert str(caught.where).endswith("comparisons.jsonl:3")
    assert says in str(caught)


@pytest.mark.parametrize(
    ("row", "error", "says"),
    [
        ("c,ann,x,y,a,soon\n", BadValue, "'soon'"),
        ("c,ann,x,y,a\n", BadFile, "5 cells"),
        ("c,ann,x,y,a,1,2\n", BadFile, "7 cells"),
        (b"c,\xe9,x,y,a,1\n", BadFile, "0xe9"),
    ],
)
def test_a_bad_row_of_csv_is_named_with_its_line(
    small: Path, row: str | bytes, error: type[SalonError], says: str
) -> None:
    raw = row if isinstance(row, bytes) else row.encode()
    replace(small, "comparisons.csv", HEADER.encode() + b"c,ann,x,y,a,1.5\n" + raw)
    caught = refusal(small, error)
    assert str(caught.where).endswith("comparisons.csv:3")
    assert says in str(caught)


def test_a_file_that_starts_with_null_is_refused(small: Path) -> None:
    replace(small, "comparisons.jsonl", "null\n" + ANSWER)  # crashes Arrow's reader
    assert str(refusal(small, BadFile).where).endswith("comparisons.jsonl:1")


def test_lines_across_blocks_are_read_whole(small: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raters = "".join(f'{{"id":"r{number}"}}\n' for number in range(100))
    replace(small, "raters.jsonl", RATERS + raters.rstrip())
    monkeypatch.setattr("salon.store.jsonl_table.BLOCK", 7)
    assert open_study(small).ids("raters").to_pylist() == ["ann", *(f"r{number}" for number in range(100))]


def test_nan_in_csv_is_refused(small: Path) -> None:
    replace(small, "comparisons.csv", HEADER + "c,ann,x,y,a,nan\n")
    assert "finite" in str(refusal(small, BadValue))


@pytest.mark.parametrize("cell", ['"[""x"",""y"""', "x;y", '"{}"', '"[[""x""]]"', '"[1,2]"', '"[""x""]}{""v"":[]"'])
def test_a_list_in_csv_must_be_json(small: Path, cell: str) -> None:
    replace(small, "rankings.csv", f'criterion,rater,items,ranks\nc,ann,{cell},"[1,2]"\n')
    assert "items must be lists as JSON text" in str(refusal(small, BadValue))


@pytest.mark.parametrize("form", ["parquet", "jsonl", "csv"])
def test_an_empty_file_is_named(small: Path, form: str) -> None:
    replace(small, f"comparisons.{form}", "")
    assert "an empty file" in str(refusal(small, BadFile))


@pytest.mark.parametrize("form", ["parquet", "jsonl", "csv"])
def test_a_missing_column_is_named_with_those_there_are(small: Path, form: str) -> None:
    record = {key: value for key, value in json.loads(ANSWER).items() if key != "rater"}
    contents = {"jsonl": json.dumps(record), "csv": ",".join(record) + "\n" + ",".join(record.values()) + "\n"}
    replace(small, f"comparisons.{form}", contents.get(form, "x"))
    if form == "parquet":
        pq.write_table(pa.table({key: [value] for key, value in record.items()}), small / "comparisons.parquet")
    caught = refusal(small, BadColumns)
    assert "'rater'" in caught.needed
    assert "'outcome'" in str(caught.found)


@pytest.mark.parametrize("name", ["comparisons", "rankings"])
def test_a_column_that_stands_twice_is_named(small: Path, name: str) -> None:
    columns = {"comparisons": "criterion,rater,a,b,outcome,a", "rankings": "criterion,rater,items,ranks,items"}[name]
    cells = {"comparisons": "c,ann,x,y,a,x", "rankings": 'c,ann,"[""x""]",[1],"[""y""]"'}[name]
    replace(small, f"{name}.csv", f"{columns}\n{cells}\n")
    assert "each column may stand once" in str(refusal(small, BadColumns))


def test_a_damaged_parquet_file_is_named(tmp_path: Path) -> None:
    save_study(example(), tmp_path / "s")
    file = tmp_path / "s" / "comparisons.parquet"
    whole = file.read_bytes()
    for damaged in (whole[:-10], whole[: len(whole) // 2], b"PAR1" + whole[4:20], b"PAR1" * 10, b"not parquet"):
        file.write_bytes(damaged)
        assert "comparisons.parquet" in str(refusal(tmp_path / "s", BadFile))


@pytest.mark.parametrize("kind", ["comparisons", "rankings"])
def test_flipped_bytes_in_parquet_bring_nothing_but_a_named_error(tmp_path: Path, kind: str) -> None:
    """Nor an abort: asking Arrow for the statistics of such a file can end the process, so nothing does."""
    save_study(example(), tmp_path / "s")
    file = tmp_path / "s" / f"{kind}.parquet"
    for other in {"comparisons", "rankings", "ratings", "checklists", "choices"} - {kind}:
        (tmp_path / "s" / f"{other}.parquet").unlink()
    whole, rng, refused = file.read_bytes(), random.Random(3), 0
    for _ in range(200):
        damaged = bytearray(whole)
        for _ in range(rng.randint(1, 3)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        file.write_bytes(bytes(damaged))
        try:
            open_study(tmp_path / "s")
        except InputError:
            refused += 1
    assert refused > 60


def test_text_that_is_not_utf8_in_parquet_is_named(small: Path) -> None:
    bad = pa.Array.from_buffers(pa.string(), 1, pa.array([b"\xff"]).buffers())
    answer = {key: [value] for key, value in json.loads(ANSWER).items()}
    (small / "comparisons.jsonl").unlink()
    pq.write_table(pa.table({**answer, "rationale": bad}), small / "comparisons.parquet")
    assert "comparisons.parquet" in str(refusal(small, InputError))


def test_an_unknown_name_is_refused_with_the_folder(small: Path) -> None:
    replace(small, "raters.jsonl", '{"id":"bob"}')
    caught = refusal(small, UnknownReference)
    assert str(small) in str(caught.where)
    assert "'ann'" in str(caught.found)


@settings(max_examples=120)
@given(data=st.data(), form=st.sampled_from(["jsonl", "csv"]))
def test_no_bytes_bring_anything_but_a_named_error(
    data: st.DataObject, form: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    good = {"jsonl": ANSWER.encode() * 2, "csv": (HEADER + "c,ann,x,y,a,1.5\n").encode()}[form]
    content = bytearray(good)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place : place + data.draw(st.integers(0, 3))] = data.draw(
            st.binary(max_size=3) | st.sampled_from([b'"', b"\n", b"{", b"null", b",", b"\\"])
        )
    path = tmp_path_factory.mktemp("fuzz")
    for name, text in {"study.toml": TOML, "items.jsonl": ITEMS, "raters.jsonl": RATERS}.items():
        (path / name).write_text(text)
    (path / f"comparisons.{form}").write_bytes(bytes(content))
    with suppress(InputError):
        open_study(path)


# -- writing -----------------------------------------------------------------------------------------------


def test_a_study_is_only_replaced_when_asked_to(tmp_path: Path) -> None:
    save_study(example(), tmp_path / "s")
    with pytest.raises(BadFile, match="only replaced when asked to"):
        save_study(example(simulated=False), tmp_path / "s")
    assert open_study(tmp_path / "s").simulated
    save_study(example(simulated=False), tmp_path / "s", overwrite=True, form="jsonl")
    assert not open_study(tmp_path / "s").simulated
    assert not list((tmp_path / "s").glob("*.parquet"))
    assert [name.name for name in tmp_path.iterdir()] == ["s"]


def test_a_folder_that_is_no_study_is_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for place in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(BadFile, match="nothing was changed"):
            save_study(example(), place, overwrite=True)
    assert [name.name for name in tmp_path.iterdir()] == ["mine.txt"]
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_an_empty_folder_and_missing_parents_will_do(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    save_study(example(), tmp_path / "empty")
    save_study(example(), tmp_path / "a" / "b")
    assert open_study(tmp_path / "empty").hash == open_study(tmp_path / "a" / "b").hash == example().hash


def test_everything_else_in_the_folder_stays(tmp_path: Path) -> None:
    save_study(example(), tmp_path / "s")
    (tmp_path / "s" / "images" / "deep").mkdir(parents=True)
    (tmp_path / "s" / "images" / "deep" / "x.png").write_bytes(b"png")
    (tmp_path / "s" / "notes.txt").write_text("mine")
    os.symlink("notes.txt", tmp_path / "s" / "link.txt")
    (tmp_path / "elsewhere").mkdir()
    os.symlink("../elsewhere", tmp_path / "s" / "photographs")
    (tmp_path / "s" / "empty").mkdir()
    (tmp_path / "s" / ".comparisons.parquet.1234.part").write_text("left by a killed writer")
    save_study(example(), tmp_path / "s", overwrite=True, form="csv")
    assert (tmp_path / "s" / "images" / "deep" / "x.png").read_bytes() == b"png"
    assert (tmp_path / "s" / "link.txt").read_text() == "mine"
    assert os.readlink(tmp_path / "s" / "link.txt") == "notes.txt"
    assert os.readlink(tmp_path / "s" / "photographs") == "../elsewhere"
    assert (tmp_path / "s" / "empty").is_dir()
    assert not list((tmp_path / "s").glob(".*"))


def test_a_link_to_a_study_stays_a_link(tmp_path: Path) -> None:
    save_study(example(), tmp_path / "s")
    os.symlink("s", tmp_path / "link")
    save_study(example(simulated=False), tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert not open_study(tmp_path / "s").simulated


def test_a_failure_half_way_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_study(example(), tmp_path / "s")

    def full(*args: object, **options: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(folder, "write_table", full)
    with pytest.raises(BadFile, match="No space left on device"):
        save_study(example(simulated=False), tmp_path / "s", overwrite=True)
    assert open_study(tmp_path / "s").simulated
    assert [name.name for name in tmp_path.iterdir()] == ["s"]


def test_an_unknown_form_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="parquet, jsonl, csv"):
        save_study(example(), tmp_path / "s", form="xlsx")


@pytest.mark.parametrize("form", ["parquet", "jsonl", "csv"])
def test_an_erased_rater_leaves_no_trace(tmp_path: Path, form: str) -> None:
    erased = without_raters(example(), ["vlm"])
    save_study(erased, tmp_path / "s", form=form)
    assert not [file for file in (tmp_path / "s").iterdir() if b"vlm" in file.read_bytes()]
    assert open_study(tmp_path / "s").hash == erased.hash


def test_a_study_replaced_while_it_is_read_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_study(example(), tmp_path / "s")
    read, asked = folder.read_table, []

    def interrupted(kind: str, path: Path, **options: bool) -> pa.Table:
        if not asked:
            save_study(example(simulated=False), tmp_path / "s", overwrite=True, form="csv")
        asked.append(kind)
        return read(kind, path, **options)

    monkeypatch.setattr(folder, "read_table", interrupted)
    assert open_study(tmp_path / "s").hash == example(simulated=False).hash


def test_study_toml_is_written_the_same_way_each_time_and_read_back(tmp_path: Path) -> None:
    metadata = Metadata.of(example())
    write_metadata(tmp_path, metadata)
    first = (tmp_path / "study.toml").read_text()
    assert first.startswith('format = 1\nname = "example"\n')
    assert first.count("[[revisions]]") == 2
    write_metadata(tmp_path, read_metadata(tmp_path))
    assert (tmp_path / "study.toml").read_text() == first
    assert read_metadata(tmp_path) == metadata


# -- writing piece by piece --------------------------------------------------------------------------------


def answers(rater: str) -> list[Comparison]:
    return [Comparison(criterion="c", rater=rater, a="x", b="y", outcome="a")]


def test_a_table_written_in_pieces_appears_at_the_end(tmp_path: Path) -> None:
    write_metadata(tmp_path, Metadata(name="s", compare_within="all", criteria=(Criterion(id="c"),)))
    for kind, nouns in (("items", [Item(id="x"), Item(id="y")]), ("raters", [Rater(id="r1"), Rater(id="r2")])):
        with TableWriter(tmp_path, kind) as writer:
            writer.write(nouns)
    with TableWriter(tmp_path, "comparisons") as writer:
        writer.write(answers("r1"))
        assert not (tmp_path / "comparisons.parquet").exists()
        assert "comparisons" not in open_study(tmp_path).counts
        writer.write(pa.table({key: [value] for key, value in answers("r2")[0].record().items()}))
    assert writer.rows == 2
    items, raters = [Item(id="x"), Item(id="y")], [Rater(id="r1"), Rater(id="r2")]
    tables = {"items": items, "raters": raters, "comparisons": answers("r1") + answers("r2")}
    wanted = Study.build("s", [Criterion(id="c")], compare_within="all", tables=tables)
    assert open_study(tmp_path).hash == wanted.hash


def _write_badly(folder: Path) -> None:
    with TableWriter(folder, "comparisons") as writer:
        writer.write(answers("r1"))
        writer.write(pa.table({"a": ["x"]}))


def test_a_table_that_failed_half_way_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadColumns):
        _write_badly(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_table_is_only_replaced_when_asked_to(tmp_path: Path) -> None:
    for rater, overwrite in (("r1", False), ("r2", True)):
        with TableWriter(tmp_path, "comparisons", overwrite=overwrite) as writer:
            writer.write(answers(rater))
    assert pq.read_table(tmp_path / "comparisons.parquet").column("rater").to_pylist() == ["r2"]
    with pytest.raises(BadFile, match="only replaced when asked to"):
        TableWriter(tmp_path, "comparisons")
