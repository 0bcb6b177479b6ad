"""A field becomes a reference, its entries are carried over, and nothing is made, asked or scored again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tiny_bench import Colors, eyes, green, tiny_suite

from salon.bench.board import Board, entry_folder, new_board, open_board, read_logits, read_published, read_result
from salon.bench.suite_folder import hashed
from salon.errors import BadFile, BadValue, DesignError, TooFew
from salon.flows.bench.freeze import carry_entries, field_reference, with_reference
from salon.flows.bench.run import run_suite

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


def test_entries_go_to_boards_of_the_same_prompts_only(tmp_path: Path) -> None:
    board = field(tmp_path / "field", "one")
    other = new_board(tmp_path / "other", tiny_suite(prompts=2))
    with pytest.raises(BadValue, match="the same prompts"):
        carry_entries(board, other)


def test_answers_stay_behind_where_points_are_others(tmp_path: Path) -> None:
    board = field(tmp_path / "field", "one")
    points = [point.model_copy(update={"text": "Is it otherwise?"}) for point in board.suite.points]
    suite = hashed(replace(board.suite, points=tuple(points)))
    first = run_suite(suite, tmp_path / "board", carry=board)
    assert len(first.entries[0].open) == 2
    assert read_published(entry_folder(open_board(tmp_path / "board"), "one")) is None
    assert run_suite(suite, tmp_path / "board", judges=eyes()).is_complete
    assert carry_entries(board, open_board(tmp_path / "board")) == []  # it is there
