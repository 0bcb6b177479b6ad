"""salon bench arena and salon bench raters."""

from __future__ import annotations

import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from arena_study import arena_study
from click.testing import CliRunner

from salon.cli.bench_arena import arena, raters
from salon.errors import BadFile, BadValue
from salon.store import save_study


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("arena") / "study"
    study = arena_study(prompts=8)
    save_study(study, place)
    (place / "scores").mkdir()
    items = [(item.id, float(number % 7)) for number, item in enumerate(study.nouns("items"))]
    table = pa.table({"item": [id for id, _ in items], "value": [value for _, value in items]})
    pq.write_table(table, place / "scores/ink.parquet")
    return place


@pytest.fixture
def board(tmp_path):
    (tmp_path / "board.json").write_text("{}")
    return tmp_path


def called(command, *given) -> str:
    done = CliRunner().invoke(command, [str(one) for one in given], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_boards_matrix_and_routing_are_printed(folder):
    said = called(arena, folder, "--criterion", "color", "--covariate", "ink", "--covariate", "position")
    assert "Wins of the row over the column, %" in said
    assert "adjusted by davidson with covariates" in said
    assert "ink: " in said
    assert "144 comparisons by 3 people on 8 prompts; 6 of 6 pairs" in said
    assert "Which generator for which job" in said
    assert "arena|data:" in said


def test_a_snapshot_is_published_once(folder, board):
    assert "published" in called(arena, folder, "--board", board)
    assert "nothing new" in called(arena, folder, "--board", board)
    assert "0002.json" in called(arena, folder, "--board", board, "--by-category")
    made = json.loads((board / "arena/0002.json").read_text())
    assert (made["number"], len(made["boards"])) == (2, 6)
    shown = json.loads(called(arena, folder, "--weights", "color=2", "--weights", "type=1", "--json"))
    assert shown["number"] == 0
    assert [job["name"] for job in shown["routing"]["jobs"]][:2] == ["all criteria alike", "as weighed"]


def test_raters_are_printed_and_published(folder, board):
    said = called(raters, folder, "--no-check", "--draws", 100, "--board", board)
    assert "agreement with the majority of 3 people" in said
    assert "Preference accuracy, %" in said
    assert "Normalised MSE" in said
    made = json.loads((board / "raters/0001.json").read_text())
    assert made["raters"][0]["rater"] == "ink"
    assert json.loads(called(raters, folder, "--no-check", "--draws", 100, "--json"))["format"] == "salon.raters/1"


def test_many_raters_stand_below_each_other_and_none_is_cut(folder, tmp_path):
    place = tmp_path / "study"
    shutil.copytree(folder, place)
    for number in range(12):
        shutil.copy(place / "scores/ink.parquet", place / f"scores/a scorer with a long name {number}.parquet")
    said = called(raters, place, "--no-check", "--draws", 100)
    table = said.partition("people\n")[2].partition("\n\n")[0].splitlines()
    assert "…" not in said
    assert table[0].split()[0] == "rater"
    assert [line.split()[0] for line in table[-4:]] == ["one", "knows", "pairs", "their"]
    assert len(table) == 1 + 13 + 4


def test_what_cannot_be_published_is_refused_before_the_work(folder, tmp_path):
    for command in (arena, raters):
        with pytest.raises(BadFile, match="a board is needed"):
            called(command, folder, "--board", tmp_path)
    for wrong in ("color", "color=much", "=2"):
        with pytest.raises(BadValue, match="CRITERION=NUMBER"):
            called(arena, folder, "--weights", wrong)
