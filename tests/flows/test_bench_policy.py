"""What a run does with pictures that are wrong or gone: counted, told, and never to the entry's gain."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from PIL import Image
from tiny_bench import Colors, eyes, green, tiny_suite

from salon.bench import (
    entry_folder,
    field_reference,
    open_board,
    published_results,
    read_result,
    run_suite,
    with_reference,
)
from salon.errors import BadFile
from salon.judge import NoReply
from salon.study import Ask, FailedPicture, GeneratedPicture


class Sized(Colors):
    """Draws some prompts in a size of its own."""

    def __init__(self, name: str, wrong: Sequence[str]) -> None:
        super().__init__(name)
        self._wrong = wrong

    def make(self, asks: Sequence[Ask]) -> Iterator[tuple[int, GeneratedPicture | FailedPicture]]:
        for index, made in super().make(asks):
            if asks[index].prompt.id in self._wrong:
                target = io.BytesIO()
                Image.new("RGB", (64, 64), "red").save(target, "PNG")
                made = GeneratedPicture(image=target.getvalue())
            yield index, made


def everything_passes() -> dict:
    return eyes(lambda _: "PASS")


def test_wrong_sizes_are_counted_and_fail(tmp_path: Path) -> None:
    done = run_suite(
        tiny_suite(), tmp_path / "board", [Sized("one", ["p1", "p2"])], everything_passes(), {"eps": green()}
    )
    assert done.entries[0].missing == {"wrong-size": 2}
    result = read_result(entry_folder(open_board(tmp_path / "board"), "one"))
    assert (result.capability.figure.value, result.capability.coverage.made) == (50.0, 2)
    reasons = {one.prompt: one.pictures[0].missing for one in result.prompts}
    assert reasons["p1"] == "wrong-size: 64x64, where the suite asks for 32x24"
    assert reasons["p0"] is None
    assert result.policies[0].startswith("A missing picture fails every point")


def test_a_generator_that_makes_nothing_is_published_as_nothing(tmp_path: Path) -> None:
    nothing = Colors("none", fate=lambda ask: FailedPicture(reason="no", kind="refused"))
    done = run_suite(tiny_suite(), tmp_path / "board", [nothing], everything_passes(), {"eps": green()})
    assert (done.is_complete, done.entries[0].missing) == (True, {"refused": 4})
    [result] = published_results(open_board(tmp_path / "board"))
    assert (result.capability.figure.value, result.capability.figure.high > 0) == (0.0, True)
    assert result.capability.coverage.asked == 0


def test_an_outage_of_the_scorer_is_provisional_with_bounds(tmp_path: Path) -> None:
    """Three entries make a reference; a fourth without scores has bounds, no place, and is not published."""
    names = ("a", "b", "c")
    field = [Colors(name) for name in names]
    run_suite(tiny_suite(), tmp_path / "field", field, everything_passes(), {"eps": green()})
    made = open_board(tmp_path / "field")
    suite = with_reference(made.suite, field_reference(made))
    board = tmp_path / "board"
    done = run_suite(suite, board, [Colors("new")], everything_passes(), {})
    assert not done.is_complete
    result = read_result(entry_folder(open_board(board), "new"))
    axis = result.eps["eps"]
    assert (result.status, axis.figure.value, axis.at_best) == ("provisional", 0.0, 100.0)
    assert (axis.coverage.open, result.overall.figure.value, result.overall.at_best) == (3, 50.0, 100.0)
    assert published_results(open_board(board)) == []
    assert run_suite(suite, board, [], everything_passes(), {"eps": green()}).is_complete
    [result] = published_results(open_board(board))
    assert 0 < result.eps["eps"].figure.value < 100


def test_all_judges_out_leave_everything_between_nothing_and_all(tmp_path: Path) -> None:
    out = eyes(lambda _: NoReply(kind="timeout", reason="down"))
    done = run_suite(tiny_suite(), tmp_path / "board", [Colors("one")], out, {"eps": green()})
    assert not done.is_complete
    result = read_result(entry_folder(open_board(tmp_path / "board"), "one"))
    assert (result.capability.figure.value, result.capability.at_best) == (0.0, 100.0)
    assert result.capability.coverage.open == result.capability.coverage.asked == 12
    assert published_results(open_board(tmp_path / "board")) == []


def test_a_deleted_file_is_refused_not_counted_as_missing(tmp_path: Path) -> None:
    """A picture that was there and is gone is no policy's business: the entry is not what it was."""
    board = tmp_path / "board"
    run_suite(tiny_suite(), board, [Colors("one")], {}, {"eps": green()})
    folder = entry_folder(open_board(board), "one")
    (folder / read_result(folder).prompts[0].pictures[0].image).unlink()
    with pytest.raises(BadFile, match="no file"):
        run_suite(tiny_suite(), board, [], everything_passes(), {"eps": green()})
