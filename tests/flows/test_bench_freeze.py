"""A field becomes a reference, its entries are carried over, and nothing is made, asked or scored again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny_bench import Colors, eyes, green, tiny_suite

from salon.bench import (
    Board,
    entry_folder,
    field_reference,
    new_board,
    open_board,
    read_logits,
    read_published,
    read_result,
    run_suite,
    with_hashes,
    with_reference,
)
from salon.bench.reference import carry_entries
from salon.errors import BadFile, BadValue, DesignError, TooFew
from salon.judge import TableScorer

NAMES = ("one", "two", "three")


def field(folder: Path, *names: str, scorer: object = None) -> Board:
    run_suite(tiny_suite(), folder, [Colors(name) for name in names], eyes(), {"eps": scorer or green()})
    return open_board(folder)


def test_the_reference_is_the_median_and_eps_counts_against_it(tmp_path: Path) -> None:
    board = field(tmp_path / "field", *NAMES)
    reference = field_reference(board)
    logits = {name: logits_of(board, name) for name in NAMES}
    for point in reference.preferences[0].points:
        assert point.value == pytest.approx(np.median([one[point.prompt] for one in logits.values()]))
    assert reference.note == "How green it is."
    suite = with_reference(board.suite, reference)

    done = run_suite(suite, tmp_path / "board", carry=board)  # neither judges nor scorers are needed
    assert done.is_complete
    assert [one.entry for one in done.entries] == sorted(NAMES)
    target = open_board(tmp_path / "board")
    for name in NAMES:
        result = read_result(entry_folder(target, name))
        expected = [
            1 / (1 + np.exp(-(logits[name][p.prompt] - p.value))) for p in reference.preferences[0].points
        ]  # by definition
        assert result.eps["eps"].figure.value == pytest.approx(100 * np.mean(expected))
        before = read_result(entry_folder(board, name))
        assert result.capability == before.capability


def logits_of(board: Board, name: str) -> dict[str, float]:
    rows = read_logits(entry_folder(board, name)).to_pylist()
    return {row["item"].split("/")[0]: row["value"] for row in rows}


def test_a_field_of_two_makes_no_reference(tmp_path: Path) -> None:
    with pytest.raises(TooFew, match="at least 3 entries"):
        field_reference(field(tmp_path / "field", "one", "two"))


def test_a_field_without_scores_says_how_to_get_them(tmp_path: Path) -> None:
    run_suite(tiny_suite(), tmp_path / "field", [Colors(name) for name in NAMES], eyes())
    with pytest.raises(BadFile, match="--scorer eps=NAME"):
        field_reference(open_board(tmp_path / "field"))


def test_another_scorer_than_the_references_is_refused_before_it_looks(tmp_path: Path) -> None:
    board = field(tmp_path / "field", *NAMES)
    suite = with_reference(board.suite, field_reference(board))
    with pytest.raises(DesignError, match="that the reference was frozen with"):
        run_suite(suite, tmp_path / "board", [Colors("four")], eyes(), {"eps": green(name="greener")})


def hpsv3(folder: Path, boards: Sequence[Board], card: str) -> TableScorer:
    """A table of numbers made elsewhere for the pictures of some boards, with a card beside it."""
    folder.mkdir()
    items = [one.item for board in boards for entry in board.entries for one in entry.pictures]
    rows = [f"{item},{sum(item.encode()) % 7 / 2}" for item in items]
    (folder / "hpsv3.csv").write_text("\n".join(["item,value", *rows]) + "\n")
    if card:
        (folder / "hpsv3.toml").write_text(card)
    return TableScorer(folder / "hpsv3.csv")


def test_eps_of_a_table_of_logits_made_elsewhere(tmp_path: Path) -> None:
    """The field's table makes the reference; a later entry comes with a table of its own, of the same scorer."""
    board = run_field(tmp_path / "field")
    published = [read_published(entry_folder(board, name)) for name in NAMES]
    card = 'scorer = "HPSv3 mu"\nis_logit = true\nmeasures = "Preference."\n'
    with pytest.raises(DesignError, match=r"hpsv3.toml, beside the table: is_logit = true"):
        field_reference(board, tables={"eps": hpsv3(tmp_path / "bare", [board], "")})
    table = hpsv3(tmp_path / "one", [board], card)
    reference = field_reference(board, tables={"eps": table})
    assert reference.note == "Preference."
    assert [read_published(entry_folder(board, name)) for name in NAMES] == published
    suite = with_reference(board.suite, reference)
    target = tmp_path / "board"
    run_suite(suite, target, [Colors("four")], eyes(), {"eps": table}, carry=board)
    four = replace(open_board(target), entries=[one for one in open_board(target).entries if one.name == "four"])
    other = 'scorer = "HPSv2"\nis_logit = true\n'
    with pytest.raises(DesignError, match="say the same `scorer` on their cards"):
        run_suite(suite, target, scorers={"eps": hpsv3(tmp_path / "other", [four], other)})
    later = hpsv3(tmp_path / "two", [four], card)
    done = run_suite(suite, target, scorers={"eps": later})
    assert done.is_complete
    result = read_result(entry_folder(open_board(target), "four"))
    points = {point.prompt: point.value for point in reference.preferences[0].points}
    logits = logits_of(open_board(target), "four")
    chances = [1 / (1 + np.exp(-(logits[prompt] - value))) for prompt, value in points.items()]
    assert result.eps["eps"].figure.value == pytest.approx(100 * np.mean(chances))
    assert read_result(entry_folder(open_board(target), "one")).eps["eps"].figure is not None


def test_a_table_that_knows_half_an_entry_is_refused(tmp_path: Path) -> None:
    board = run_field(tmp_path / "field")
    table = hpsv3(tmp_path / "t", [board], 'is_logit = true\nscorer = "x"\n')
    lines = table.file.read_text().splitlines()
    table.file.write_text("\n".join(lines[:3]) + "\n")
    with pytest.raises(BadValue, match="a value for every picture"):
        field_reference(board, tables={"eps": TableScorer(table.file)})


def run_field(folder: Path) -> Board:
    """Three entries that nobody scored."""
    run_suite(tiny_suite(), folder, [Colors(name) for name in NAMES], eyes())
    return open_board(folder)


def test_entries_go_to_boards_of_the_same_prompts_only(tmp_path: Path) -> None:
    board = field(tmp_path / "field", "one")
    other = new_board(tmp_path / "other", tiny_suite(prompts=2))
    with pytest.raises(BadValue, match="the same prompts"):
        carry_entries(board, other)


def test_answers_stay_behind_where_points_are_others(tmp_path: Path) -> None:
    board = field(tmp_path / "field", "one")
    points = [point.model_copy(update={"text": "Is it otherwise?"}) for point in board.suite.points]
    suite = with_hashes(replace(board.suite, points=tuple(points)))
    first = run_suite(suite, tmp_path / "board", carry=board)
    assert len(first.entries[0].open) == 2
    assert read_published(entry_folder(open_board(tmp_path / "board"), "one")) is None
    assert run_suite(suite, tmp_path / "board", judges=eyes()).is_complete
    assert carry_entries(board, open_board(tmp_path / "board")) == []  # it is there
