"""A suite of one's own to start from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from suite_example import small_suite, with_reference

from salon.bench import (
    builtin_suites,
    copy_suite,
    example_suite,
    hide_prompts,
    lock_suite,
    open_suite,
    suite_drafts,
    suite_from_prompts,
    write_draft,
)
from salon.errors import BadFile, BadValue, UnknownReference
from salon.study import Prompt


def test_prompts_of_any_kind_become_a_suite_that_opens(tmp_path: Path) -> None:
    prompts = [
        Prompt(id="Ein Plakat / 1", text="Ein Plakat", category="Plakate & Karten"),
        Prompt(id="ein plakat: 1", text="Noch eines"),
        Prompt(id="again", text="EIN  plakat"),
        Prompt(id="a__b", intent="one", description="two"),
        Prompt(id="日本", text="三つのカップ"),
    ]
    write_draft(suite_from_prompts(prompts, "Öffentliche Suite 1"), tmp_path / "suite")
    suite = open_suite(tmp_path / "suite")
    assert suite.card.name == "offentliche-suite-1"
    assert [one.prompt.id for one in suite.prompts] == ["ein-plakat-1", "ein-plakat-1-2", "a-b", "prompt"]
    assert [one.tag for one in suite.prompts] == ["plakate-karten", *["all-prompts"] * 3]
    assert [point.prompt for point in suite.points] == [one.prompt.id for one in suite.prompts]


def test_a_copy_has_no_reference_and_is_not_frozen(tmp_path: Path) -> None:
    suite = small_suite()
    frozen = replace(with_reference(suite), frozen=True)
    write_draft(copy_suite(frozen, "mine"), tmp_path / "mine")
    found = open_suite(tmp_path / "mine")
    assert (found.reference, found.frozen, found.card.name) == (None, False, "mine")
    assert found.prompts == suite.prompts


def test_a_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    with pytest.raises(BadFile, match="new folder"):
        write_draft(example_suite("x"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["note.txt"]


@pytest.mark.parametrize("name", builtin_suites())
def test_built_in_suites_open_and_can_be_copied(name: str, tmp_path: Path) -> None:
    suite = open_suite(name)
    assert suite.card.name == name
    assert (
        write_draft(copy_suite(suite, "mine"), tmp_path / "mine").hashes["prompts.jsonl"]
        == suite.hashes["prompts.jsonl"]
    )


def test_hiding_moves_texts_to_the_keeper_and_leaves_the_rest(tmp_path: Path) -> None:
    folder, keeper = tmp_path / "suite", tmp_path / "private.jsonl"
    write_draft(example_suite("x"), folder)
    card = (folder / "suite.toml").read_text() + "\n# a note of mine\n"
    (folder / "suite.toml").write_text(card)
    (folder / "README.md").write_text("mine")
    before = open_suite(folder)
    hide_prompts(folder, ["red-kite"], keeper)
    hide_prompts(folder, ["three-cups"], keeper)
    assert (folder / "suite.toml").read_text() == card
    assert (folder / "README.md").read_text() == "mine"
    assert not any("kite is red" in path.read_text() or "three cups" in path.read_text() for path in folder.iterdir())
    filled = open_suite(folder, private=keeper)
    assert [one.prompt for one in filled.prompts] == [one.prompt for one in before.prompts]
    assert filled.points == before.points
    assert keeper.stat().st_mode & 0o077 == 0
    with pytest.raises(UnknownReference, match="not private yet"):
        hide_prompts(folder, ["red-kite"], keeper)


def test_hiding_that_was_interrupted_goes_on_and_spoils_nothing_kept_before(tmp_path: Path, monkeypatch) -> None:
    folder, keeper = tmp_path / "suite", tmp_path / "private.jsonl"
    write_draft(example_suite("x"), folder)
    hide_prompts(folder, ["three-cups"], keeper)
    keeper.write_text(keeper.read_text().strip())  # an editor took the last line's end
    monkeypatch.setattr(suite_drafts, "_rewrite", lambda suite, folder: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        hide_prompts(folder, ["red-kite"], keeper)
    monkeypatch.undo()
    kept = keeper.read_text()
    hide_prompts(folder, ["red-kite"], keeper)
    assert keeper.read_text() == kept
    assert open_suite(folder, private=keeper).prompts[0].prompt.text == example_suite("x").prompts[0].prompt.text
    write_draft(example_suite("y"), tmp_path / "other")
    lines = (tmp_path / "other" / "prompts.jsonl").read_text()
    (tmp_path / "other" / "prompts.jsonl").write_text(lines.replace("red kite", "blue kite"))
    with pytest.raises(BadValue, match="keeper's file"):
        hide_prompts(tmp_path / "other", ["red-kite"], keeper)
    assert keeper.read_text() == kept


def test_hiding_needs_a_draft_and_a_file_elsewhere(tmp_path: Path) -> None:
    write_draft(example_suite("x"), tmp_path / "x")
    with pytest.raises(BadFile, match="outside the suite"):
        hide_prompts(tmp_path / "x", ["red-kite"], tmp_path / "x" / "private.jsonl")
    lock_suite(tmp_path / "x")
    with pytest.raises(BadFile, match="not frozen"):
        hide_prompts(tmp_path / "x", ["red-kite"], tmp_path / "private.jsonl")
    assert not (tmp_path / "private.jsonl").exists()
