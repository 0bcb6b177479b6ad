"""Suites, bundles and boards at the terminal."""

from __future__ import annotations

import json

import pytest
import ran_salon
from suite_example import CARD, SCORER, judged, picture, published, small_suite

from salon.bench import new_board, open_board, open_suite, save_suite


def salon(capsys, *arguments):
    """Exit code, and what was printed."""
    code, said = ran_salon.salon(capsys, "bench", *arguments)
    return code, said.out, said.err


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(3):
        (folder / f"p{number}.png").write_bytes(picture(number))
    return folder


@pytest.fixture
def suite(tmp_path):
    save_suite(small_suite(), tmp_path / "suite")
    return tmp_path / "suite"


def test_built_in_suites_are_listed(capsys):
    code, out, _ = salon(capsys, "list")
    assert code == 0
    assert "posters/1" in out
    code, out, _ = salon(capsys, "list", "posters", "--json")
    assert {row["tag"] for row in json.loads(out)["tags"]} == {tag.id for tag in open_suite("posters").tags}


def test_from_prompts_to_a_frozen_suite_with_private_prompts(capsys, tmp_path):
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("a fox\na hare\n")
    home = tmp_path / "ours"
    assert salon(capsys, "new", home, "--from", prompts)[0] == 0
    code, out, _ = salon(capsys, "hide", home, "p1", "-o", tmp_path / "kept.jsonl", "--json")
    assert (code, json.loads(out)["private"]) == (0, ["p1"])
    code, out, _ = salon(capsys, "freeze", home, "--json")
    assert (code, json.loads(out)["hash"]) == (0, open_suite(home).hash)
    assert salon(capsys, "verify", home)[0] == 0
    (home / "routes.toml").write_text('[[route]]\ntag = "*"\njudges = ["friend"]\n')
    code, out, _ = salon(capsys, "verify", home)
    assert (code, "routes.toml with the hash" in out) == (1, True)
    code, _, err = salon(capsys, "list", home)
    assert (code, "a frozen suite stays as it was" in err) == (2, True)


def test_a_copy_of_a_built_in_suite_and_a_study(capsys, tmp_path):
    assert salon(capsys, "new", tmp_path / "mine", "--from", "posters")[0] == 0
    assert open_suite(tmp_path / "mine").card.name == "mine"
    code, _, err = salon(capsys, "new", tmp_path / "mine")
    assert (code, "new folder" in err) == (2, True)
    code, _, err = salon(capsys, "new", tmp_path / "other", "--from", "poster")
    assert (code, "nothing there" in err) == (2, True)


def test_from_pictures_to_a_bundle_to_a_board(capsys, suite, pictures, tmp_path):
    bundle, board = tmp_path / "fox.salon.zip", tmp_path / "board"
    terms = ("--name", "fox", "--licence", "CC-BY-4.0", "--by", "a reader")
    code, out, _ = salon(capsys, "pack", suite, pictures, "-o", bundle, *terms)
    assert code == 0
    assert "3 of 4 pictures" in out
    assert "1 missing: each counts as a failure" in out
    assert salon(capsys, "verify", bundle, "--suite", suite)[0] == 0
    assert salon(capsys, "add", board, bundle)[0] == 2
    code, out, _ = salon(capsys, "add", board, bundle, "--suite", suite, "--json")
    assert (code, json.loads(out)["missing"]) == (0, 1)
    code, _, err = salon(capsys, "add", board, pictures, "--name", "Fox", "--licence", "CC0-1.0")
    assert (code, "the board has 'fox'" in err) == (2, True)
    code, out, _ = salon(capsys, "list", board)
    assert (code, "not judged yet" in out) == (0, True)


def test_what_is_refused_makes_no_board(capsys, suite, pictures, tmp_path):
    (pictures / "p9.png").write_bytes(picture(9))
    code, _, err = salon(capsys, "add", tmp_path / "b", pictures, "--name", "a", "--licence", "x", "--suite", suite)
    assert (code, "p9.png" in err, (tmp_path / "b").exists()) == (2, True, False)


def test_retracting_and_packing_an_entry(capsys, tmp_path):
    board = new_board(tmp_path / "board", small_suite())
    published(board)
    assert salon(capsys, "retract", board.folder, "one")[0] == 2
    assert salon(capsys, "retract", board.folder, "one", "--reason", "chosen pictures")[0] == 0
    assert "retracted: chosen pictures" in salon(capsys, "list", board.folder)[1]
    assert salon(capsys, "retract", board.folder, "one", "--undo")[0] == 0
    assert salon(capsys, "pack", board.folder, "one", "-o", tmp_path / "one.salon.zip")[0] == 0
    code, out, _ = salon(capsys, "verify", board.folder, "--json")
    assert (code, json.loads(out)["holds"]) == (0, True)


def test_a_reference_is_frozen_from_a_field(capsys, suite, tmp_path):
    field = new_board(tmp_path / "field", small_suite())
    for name in ("a", "b", "c"):
        folder = judged(field, name)
        (folder / "scores").mkdir()
        told = {"signature": SCORER, "scorer": "tests", "card": CARD.record()}
        (folder / "scores" / "tests.json").write_text(json.dumps(told))
    (suite / "README.md").write_text("mine")
    code, out, err = salon(capsys, "freeze", suite, "--field", field.folder)
    assert code == 0, err
    assert "the median of 3 entries (a, b, c)" in out
    frozen = open_suite(suite)
    assert [point.value for point in frozen.reference.preferences[0].points] == [0.5, 0.5]
    assert (suite / "README.md").read_text() == "mine"
    code, _, err = salon(capsys, "freeze", suite, "--field", field.folder, "--note", "another")
    assert (code, "not frozen is needed" in err) == (2, True)
    code, _, err = salon(capsys, "freeze", "posters", "--field", field.folder, "-o", tmp_path / "posters")
    assert (code, "one of other prompts" in err) == (2, True)
    assert salon(capsys, "freeze", "posters")[0] == 2
    assert open_board(field.folder).suite.reference is None


def test_an_empty_field_is_refused(capsys, suite, tmp_path):
    new_board(tmp_path / "field", small_suite())
    code, _, err = salon(capsys, "freeze", suite, "--field", tmp_path / "field")
    assert (code, "needed to freeze a reference" in err) == (2, True)
    assert "a board without entries" in err
    assert not open_suite(suite).frozen
