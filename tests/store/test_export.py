"""Every export opens again as the identical study."""

from __future__ import annotations

import csv
import re
import tempfile
from pathlib import Path
from unittest import mock

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from studies import example, studies

from salon.errors import InputError
from salon.store import EXPORTS, export_study, open_study
from salon.study import Cohort, Criterion, Design, Prompt, Study

# Shrinking a study of five tables takes minutes and the first failing one is small already.
NO_SHRINK = (Phase.explicit, Phase.reuse, Phase.generate)


def assert_identical(found: Study, wanted: Study) -> None:
    for name in ("name", "criteria", "cohorts", "compare_within", "design", "revisions", "simulated", "note"):
        assert getattr(found, name) == getattr(wanted, name), name
    assert found.counts == wanted.counts
    for kind in wanted.counts:
        assert found.table(kind).schema == wanted.table(kind).schema
        assert found.table(kind).to_pylist() == wanted.table(kind).to_pylist()
    assert found.hash == wanted.hash


@pytest.mark.parametrize("to", EXPORTS)
def test_an_export_of_every_kind_of_record_opens_as_the_identical_study(to: str, tmp_path: Path) -> None:
    export_study(example(), tmp_path / to, to)
    assert_identical(open_study(tmp_path / to), example())


@settings(max_examples=15, suppress_health_check=list(HealthCheck), phases=NO_SHRINK)
@given(study=studies())
def test_no_text_or_number_is_lost_on_the_way(study: Study) -> None:
    with tempfile.TemporaryDirectory() as folder, mock.patch("os.fsync"):  # nobody kills this one
        for to in EXPORTS:
            export_study(study, Path(folder) / to, to)
            assert_identical(open_study(Path(folder) / to), study)
        export_study(study, Path(folder) / "safe", "csv", excel_safe=True)
        assert_identical(open_study(Path(folder) / "safe"), study)


def test_csv_tells_an_empty_text_from_no_text(tmp_path: Path) -> None:
    export_study(example(), tmp_path / "csv", "csv")
    lines = (tmp_path / "csv" / "comparisons.csv").read_text().splitlines()
    # third comparison: rationale "" is quoted, the first has none
    assert lines[0].split(",")[7] == '"rationale"'
    assert lines[3].split(",")[7] == '""'
    assert lines[1].split(",")[7] == ""


def test_csv_keeps_lists_as_json_text(tmp_path: Path) -> None:
    export_study(example(), tmp_path / "csv", "csv")
    assert (
        (tmp_path / "csv" / "rankings.csv")
        .read_text()
        .splitlines()[1]
        .startswith('"overall","ann","[""p1-c"",""p1-a"",""p1-b""]","[1,2,2]"')
    )


def test_jsonl_leaves_out_what_has_no_value(tmp_path: Path) -> None:
    export_study(example(), tmp_path / "jsonl", "jsonl")
    assert (tmp_path / "jsonl" / "ratings.jsonl").read_text().splitlines() == [
        '{"criterion":"color","rater":"ann","item":"p1-a","value":4.5,"at":"2026-03-01T09:30:00Z"}',
        '{"criterion":"color","rater":"bob","item":"p1-a","skipped":"cannot judge"}',
    ]


def test_an_unknown_form_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="parquet, csv, jsonl, huggingface"):
        export_study(example(), tmp_path / "x", "excel")
    assert not list(tmp_path.iterdir())


def test_hugging_face_tables_are_plain_columns(tmp_path: Path) -> None:
    export_study(example(), tmp_path / "hub", "huggingface")
    schema = pq.read_schema(tmp_path / "hub" / "data" / "rankings.parquet")
    assert str(schema.field("rater").type) == "string"
    assert str(schema.field("items").type) == "list<element: string>"
    assert b"ARROW:schema" not in (tmp_path / "hub" / "data" / "rankings.parquet").read_bytes()


def _front_matter(text: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Scalars and lists of the card's front matter, checked line by line against the subset of YAML it may use."""
    head = text.split("---\n")[1]
    scalars, lists, key = {}, {}, ""
    for line in head.splitlines():
        if line.startswith("#"):
            continue
        if plain := re.fullmatch(r"(\w+): (\S.*)", line):
            scalars[plain[1]] = plain[2]
        elif start := re.fullmatch(r"(\w+):", line):
            key = start[1]
            lists[key] = []
        else:
            assert re.fullmatch(r"- \S.*|  \w+:( \S+)?|  - \w+: \S+|    \w+: \S+", line), line
            lists[key].append(line)
    return scalars, lists


def test_the_card_has_front_matter_for_the_hub(tmp_path: Path) -> None:
    export_study(example(), tmp_path / "hub", "huggingface")
    text = (tmp_path / "hub" / "README.md").read_text()
    assert text.startswith("---\n")
    scalars, lists = _front_matter(text)
    assert scalars == {"pretty_name": '"example"', "license": "other", "license_name": "unknown"}
    assert lists["size_categories"] == ['- "n<1K"']
    assert "- simulated" in lists["tags"]
    files = [line.split()[-1] for line in lists["configs"] if "path:" in line]
    assert sorted(files) == sorted(f"data/{kind}.parquet" for kind in example().counts)
    assert all((tmp_path / "hub" / file).is_file() for file in files)
    assert lists["configs"].count("  default: true") == 1


def test_the_card_says_what_a_reader_needs(tmp_path: Path) -> None:
    export_study(example(), tmp_path / "hub", "huggingface")
    text = (tmp_path / "hub" / "README.md").read_text()
    assert "Simulated: no person gave these answers" in text
    assert "| comparisons | 6 |" in text
    assert "| color | color | How good is its color? | interval, 1 to 5 |" in text
    assert "1 of kind crowd, 1 of kind model, 2 of kind person" in text
    assert "| designers | compare | intent + description | paid |" in text
    assert "Fraction asked: 0.5" in text
    assert "Skipped here: 3" in text
    assert example().hash in text


def test_a_card_survives_hostile_names(tmp_path: Path) -> None:
    study = Study.build('x"\n---\nlicense: mit\x7f🎨', [Criterion(id="a|b\nc")], tables={})
    export_study(study, tmp_path / "hub", "huggingface")
    text = (tmp_path / "hub" / "README.md").read_text()
    assert text.split("---\n")[1].count("license") == 3  # the name's own text, license, license_name
    assert r'pretty_name: "x\"\n---\nlicense: mit\U0000007f🎨"' in text
    assert r"| a\|b c |" in text
    assert_identical(open_study(tmp_path / "hub"), study)


def test_nothing_in_a_card_is_a_tag_a_picture_or_invisible(tmp_path: Path) -> None:
    said = "<img src=x onerror=y> ![a](http://tracker) \u202e\x1b[31m"
    study = Study.build(said, [Criterion(id=said, name=said)], tables={}, note=f"two\nlines {said}",
                        cohorts=[Cohort(id=said, note=said)], design=Design(note=said))  # fmt: skip
    export_study(study, tmp_path / "hub", "huggingface")
    text = (tmp_path / "hub" / "README.md").read_text().split("---\n", 2)[2]
    assert not set("\u202e\x1b") & set(text)
    assert "<img" not in text
    assert "![" not in text
    assert text.count("&lt;img src=x onerror=y> !\\[a](http://tracker)") == 7


def test_a_card_is_replaced_by_the_next_save_but_a_readers_own_file_is_not(tmp_path: Path) -> None:
    export_study(example(), tmp_path / "hub", "huggingface")
    export_study(example(), tmp_path / "hub", "jsonl", overwrite=True)
    assert not (tmp_path / "hub" / "README.md").exists()
    assert not (tmp_path / "hub" / "data").exists()
    (tmp_path / "hub" / "README.md").write_text("my notes")
    export_study(example(), tmp_path / "hub", "csv", overwrite=True)
    assert (tmp_path / "hub" / "README.md").read_text() == "my notes"


def test_images_are_copied_along(tmp_path: Path) -> None:
    (tmp_path / "from" / "images").mkdir(parents=True)
    (tmp_path / "from" / "images" / "p2-a.png").write_bytes(b"png")
    export_study(example(), tmp_path / "to", "jsonl", images=tmp_path / "from")
    assert (tmp_path / "to" / "images" / "p2-a.png").read_bytes() == b"png"


FORMULAS = ("=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "'quoted", "''", "plain", "")


def test_an_excel_safe_csv_has_no_cell_that_runs_and_opens_as_the_identical_study(tmp_path: Path) -> None:
    prompts = [Prompt(id=f"p{k}", text=text) for k, text in enumerate(FORMULAS)]
    prompts.append(Prompt(id="=cmd|' /C calc'!A0", text="x"))
    study = Study.build("formulas", [Criterion(id="overall")], tables={"prompts": prompts})
    export_study(study, tmp_path / "safe", "csv", excel_safe=True)
    with open(tmp_path / "safe" / "prompts.csv", encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert len(cells) > len(FORMULAS)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert open_study(tmp_path / "safe").hash == study.hash
    export_study(study, tmp_path / "letters", "csv")
    assert "=1+1" in (tmp_path / "letters" / "prompts.csv").read_text(), "to the letter unless asked otherwise"
    assert "excel_safe" not in (tmp_path / "letters" / "study.toml").read_text()
    with pytest.raises(InputError, match="for CSV"):
        export_study(study, tmp_path / "other", "jsonl", excel_safe=True)
