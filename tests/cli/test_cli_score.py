"""`salon score`: names, tables, gaps and exit codes."""

import json

import pytest
from click.testing import CliRunner

from salon.cli.score import score
from salon.errors import BadValue
from salon.store.folder import save_study
from salon.study import Criterion, Item, Study


@pytest.fixture
def study(tmp_path):
    items = [Item(id=name) for name in "abc"]
    made = Study.build("s", [Criterion(id="c", name="C", question="Which?")], tables={"items": items})
    save_study(made, tmp_path / "study")
    (tmp_path / "mine.csv").write_text("item,value,sigma\na,1.5,0.1\nb,-1,\n")
    return tmp_path / "study"


def run(*arguments):
    return CliRunner().invoke(score, [str(one) for one in arguments], catch_exceptions=False)


def test_the_list_names_every_kind():
    shown = run("--list", "--json")
    names = [one["name"] for one in json.loads(shown.output)["scorers"]]
    assert {"words", "effnet-lite2+minilm+ocr", "hpsv3:FOLDER", "table:FILE"} <= set(names)
    assert "share of the words" in run("--list").output


def test_a_table_becomes_scores(study, tmp_path):
    done = run(study, "-s", f"table:{tmp_path / 'mine.csv'}", "--name", "hpsv3", "--json")
    (told,) = json.loads(done.output)["scorers"]
    assert done.exit_code == 0
    assert (told["scorer"], told["items"], told["scored"]) == ("hpsv3", 3, 2)
    assert told["unscored"] == {"the table has no value for the item": 1}
    assert (study / "scores" / "hpsv3.parquet").is_file()
    printed = run(study, "-s", f"table:{tmp_path / 'mine.csv'}")
    assert "missing values: items without a value stay" in printed.output
    assert "table|data:" in printed.output


def test_no_number_at_all_is_no_success(study, tmp_path):
    (tmp_path / "other.csv").write_text("item,value\nz,1\n")
    assert run(study, "-s", f"table:{tmp_path / 'other.csv'}").exit_code == 1


def test_misuse(study):
    assert run().exit_code == 2
    assert run(study).exit_code == 2
    with pytest.raises(BadValue, match="name of a scorer"):
        run(study, "-s", "beauty")
