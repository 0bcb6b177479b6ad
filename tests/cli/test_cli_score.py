"""`salon score`: names, tables, gaps and exit codes."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from PIL import Image

from salon.cli.score import score
from salon.errors import BadValue
from salon.store import save_study
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
    assert "Share of the words" in run("--list").output


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


def test_a_pool_of_workers_gives_the_same_table_and_goes_on_where_it_stopped(tmp_path, monkeypatch):
    monkeypatch.setenv("SALON_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    items = [Item(id=f"i{k}", image=f"images/{k}.png") for k in range(7)]
    criteria = [Criterion(id="c", name="C", question="Which?")]
    save_study(Study.build("s", criteria, tables={"items": items}), tmp_path / "study")
    (tmp_path / "study" / "images").mkdir()
    for k in range(6):  # the last picture is missing
        pixels = rng.integers(0, 255, (96, 96, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / "study" / "images" / f"{k}.png")
    run(tmp_path / "study", "-s", "naturalness", "--name", "alone")
    monkeypatch.setenv("SALON_CACHE", str(tmp_path / "another"))
    told = run(
        tmp_path / "study", "-s", "naturalness", "--name", "spread", "--engine", "pool", "--workers", 2, "--json"
    )
    (counts,) = json.loads(told.output)["scorers"]
    assert (counts["scored"], sum(counts["unscored"].values())) == (6, 1)
    tables = [pq.read_table(tmp_path / "study" / "scores" / f"{name}.parquet") for name in ("alone", "spread")]
    assert tables[0].column("value").to_pylist() == tables[1].column("value").to_pylist()
    assert tables[0].column("item").to_pylist() == tables[1].column("item").to_pylist()
    assert len(list((tmp_path / "study" / "scores").glob(".shards-*/part-*.parquet"))) == 1
