"""init, import, export, merge: what a user types, what they are told, and what stands on disk afterwards."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from salon.store import KINDS, open_study

ROOT = Path(__file__).parent.parent.parent
VOTES = """left,right,winner,worker,prompt
fox,owl,left,ann,p1
owl,elk,right,ann,p1
fox,owl,tie,bob,p1
fox,owl,left,ann,p2
"""


@pytest.fixture(autouse=True)
def _votes(salon: object) -> None:
    """A file of votes in the folder where commands run."""
    Path("votes.csv").write_text(VOTES)


def test_import_tells_what_it_did(salon) -> None:
    told = salon("import comparisons votes.csv --left left --right right --outcome winner --rater worker -o study")
    assert told.code == 0
    assert told.err == ""
    for said in (
        "read votes.csv as comparisons: study 'study' in study",
        "outcomes: 25.0% ties, 0.0% both bad, of 4",
        "columns guessed by their names: --prompt prompt",
        "item id = prompt/generator",
        "shown on the left",
        "next: salon check study",
    ):
        assert said in told.out
    assert re.search(r"comparisons +4\n", told.out)
    study = open_study("study")
    assert study.counts == {"prompts": 2, "items": 5, "raters": 2, "comparisons": 4}
    assert "imported from votes.csv" in study.note


def test_import_for_machines(salon) -> None:
    told = salon("import comparisons votes.csv -o study --json")
    assert told.json["counts"]["comparisons"] == 4
    assert told.json["columns"]["outcome"] == "winner"
    assert told.json["study"] == "study"
    assert told.json["data"] == open_study("study").hash[:12]
    wrong = salon("import comparisons votes.csv --left lft -o other --json")
    assert wrong.code == 2
    assert wrong.json["error"] == "BadColumns"
    assert "nearest match" in wrong.json["remedy"]


def test_help_lists_every_kind_with_its_sentence(salon) -> None:
    told = salon("import --help")
    assert told.code == 0
    text = " ".join(told.out.split())
    for form in KINDS.values():
        assert f"{form.name} {form.about}" in text
    assert "salon import comparisons votes.csv --left left" in text


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("import comparisons absent.csv -o study", "nothing there"),
        ("import comparisons . -o study", "a folder"),
        ("import comparisons votes.csv -o votes.csv", "another place"),
        ("import comparisons votes.csv -o .", "is needed to write to"),
        ("import comparisons votes.csv --outcome worker -o study", "known word"),
        ("import comparisons votes.csv --value left -o study", "means nothing"),
        ("import ratings votes.csv -o study", "columns for item and value are needed"),
        ("import spreadsheets votes.csv -o study", "Invalid value for 'KIND'"),
        ("import comparisons votes.csv", "Missing option"),
        ("import comparisons -o study", "Missing argument"),
        ("import comparisons votes.csv --compare-within category -o study", "category"),
        ("import comparisons votes.csv --items-are items -o study", "--items-are generators"),
        ("import comparisons votes.csv votes.csv -o study", "DuplicateJudgment|answers a question once"),
        ("export absent -o out", "a study is needed"),
        ("merge votes.csv votes.csv -o out", "a study is needed"),
        ("merge votes.csv -o out", "at least two"),
        ("init study --criteria taste/moood", "built-in criterion"),
        ("init votes.csv", "is needed to write to"),
    ],
)
def test_misuse_leaves_with_2_and_nothing_behind(salon, tmp_path: Path, line: str, error: str) -> None:
    before = {path.name for path in tmp_path.iterdir()}
    told = salon(line)
    assert told.code == 2
    assert re.search(error, told.err), told.err
    assert {path.name for path in tmp_path.iterdir()} == before
    assert Path("votes.csv").read_text() == VOTES


def test_a_study_is_only_replaced_when_asked(salon) -> None:
    assert salon("import comparisons votes.csv -o study").code == 0
    before = open_study("study").hash
    told = salon("import comparisons votes.csv --criterion-id mood -o study")
    assert told.code == 2
    assert "--overwrite" in told.err
    assert open_study("study").hash == before
    broken = salon("import comparisons votes.csv --left nope -o study --overwrite")
    assert broken.code == 2
    assert open_study("study").hash == before
    assert salon("import comparisons votes.csv --criterion-id mood -o study --overwrite").code == 0
    assert open_study("study").criteria[0].id == "mood"


def test_images_travel_with_the_study(salon) -> None:
    rows = {"caption": ["a fox"], "jpg_0": [b"\xff\xd8one"], "jpg_1": [b"\xff\xd8two"], "label_0": [1], "label_1": [0]}
    pq.write_table(pa.table(rows), "p.parquet")
    assert salon("import pickapic p.parquet --images -o study").code == 0
    assert {Path("study", item.image).read_bytes() for item in open_study("study").nouns("items")} == {
        b"\xff\xd8one",
        b"\xff\xd8two",
    }
    assert salon("import comparisons votes.csv --images -o other").code == 2


def test_left_known_and_unknown(salon) -> None:
    salon("import comparisons votes.csv --left-unknown -o unknown")
    assert (open_study("unknown").comparisons.left == 2).all()
    salon("import comparisons votes.csv --left-known -o known")
    assert (open_study("known").comparisons.left == 0).all()


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl", "huggingface"])
def test_export_loses_nothing(salon, form: str) -> None:
    salon("import comparisons votes.csv -o study")
    told = salon(f"export study --to {form} -o out --json")
    assert told.json["to"] == form
    assert open_study("out").hash == open_study("study").hash
    again = salon(f"export study --to {form} -o out")
    assert again.code == 2
    assert "--overwrite" in again.err
    assert salon(f"export study --to {form} -o out --overwrite").code == 0
    assert salon("export study -o study --overwrite").code == 2


def test_merge_joins_and_refuses_the_same_answers(salon) -> None:
    salon("import comparisons votes.csv -o one")
    Path("more.csv").write_text(VOTES.replace("ann", "cyd").replace("bob", "dee"))
    salon("import comparisons more.csv -o two")
    told = salon("merge one two -o all --json")
    assert told.json["counts"] == {"prompts": 2, "items": 5, "raters": 4, "comparisons": 8}
    assert told.json["name"] == "all"
    assert salon("merge one one -o twice").code == 2
    assert not Path("twice").exists()
    assert salon("merge one two -o all").code == 2


def test_merge_brings_the_pictures_along_and_refuses_two_under_one_name(salon) -> None:
    salon("import comparisons votes.csv -o one")
    Path("more.csv").write_text(VOTES.replace("ann", "cyd").replace("bob", "dee"))
    salon("import comparisons more.csv -o two")
    for study, name in (("one", "fox"), ("one", "owl"), ("two", "owl"), ("two", "elk")):
        Path(study, "images").mkdir(exist_ok=True)
        Path(study, "images", f"{name}.png").write_text(name)
    assert salon("merge one two -o all").code == 0
    assert sorted(path.stem for path in Path("all/images").iterdir()) == ["elk", "fox", "owl"]
    Path("two/images/owl.png").write_text("another owl")
    told = salon("merge one two -o again")
    assert told.code == 2
    assert "owl.png" in told.err
    assert not Path("again").exists()


def test_init(salon) -> None:
    told = salon("init posters --criteria taste/... --criteria ppaint/overall --json")
    assert told.code == 0
    assert len(told.json["criteria"]) == 11
    assert open_study("posters").criteria[-1].id == "ppaint/overall"
    assert salon("init posters").code == 2
    assert "built in: taste/" in salon("init bare").out
    assert open_study("bare").counts == {}


def guide_commands() -> list[str]:
    text = (ROOT / "docs" / "guide" / "import.md").read_text()
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if line.startswith("salon ")]


def test_the_guide_has_a_command_for_every_kind() -> None:
    kinds = {shlex.split(line)[2] for line in guide_commands() if shlex.split(line)[1] == "import"}
    assert kinds == {*KINDS, "pictures"}


@pytest.mark.parametrize("line", guide_commands())
def test_the_guide_speaks_the_command_line(salon, line: str) -> None:
    """Every flag in the guide is understood: what can be wrong is only that the reader's files are not here."""
    told = salon(line.removeprefix("salon "))
    assert told.code == 0 or re.search(r"nothing there|a study is needed|a column named", told.err), told.err
    assert "No such option" not in told.err
    assert "Usage:" not in told.err


def test_pictures_are_given_to_imported_items_in_the_exported_table(salon) -> None:
    salon("import comparisons votes.csv -o study")
    salon("export study --to csv -o illustrated")
    table = Path("illustrated/items.csv")
    names, *rows = table.read_text().splitlines()
    told = [f"{row},images/{number}.png" for number, row in enumerate(rows)]
    table.write_text("\n".join([f"{names},image", *told]) + "\n")
    assert [item.image for item in open_study("illustrated").nouns("items")][:2] == ["images/0.png", "images/1.png"]
