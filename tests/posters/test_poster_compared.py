"""Several contestants side by side: whose row it is, who is not told apart, and one number on page and in JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from browser import chromium, page_faults
from click.testing import CliRunner
from public_files import ALL, UNDERSTANDING, made

from salon.bench.posters.compared import ComparedReport, Contestant, apart, compare_files
from salon.bench.posters.contestants import Name, fill_in
from salon.bench.posters.files import PosterFile
from salon.bench.posters.report_compared import compared_page
from salon.bench.posters.results import ScoreSettings
from salon.bench.posters.score import score_files
from salon.cli.main import salon as command
from salon.errors import BadFile, BadValue
from salon.report import disagreements

__all__ = ["chromium"]

QUICK = ScoreSettings(draws=200)


def contestant(name: Name, tasks: tuple[str, ...] = ALL, n: int = 28) -> Contestant:
    return Contestant(name, [fill_in(made(task, n), name) for task in tasks], QUICK)


def compared(*names: Name, tasks: tuple[str, ...] = ALL) -> ComparedReport:
    return compare_files([contestant(name, tasks) for name in names])


def test_values_are_those_of_the_single_reports() -> None:
    report = compared("random", "perfect")
    for at, name in enumerate(("random", "perfect")):
        alone = score_files(contestant(name).files, QUICK, contestant=name)  # type: ignore[arg-type]
        assert report.reports[at] == alone
        figures = [metric.figure for task in alone.tasks for metric in task.metrics]
        assert [row.values[at].figure for row in report.rows] == figures
    assert [row.title for row in report.groups] == [
        "OCR", "Font", "Layout", "Understanding", "Rating", "Generation", "Overall",
    ]  # fmt: skip


def test_the_best_of_each_row_and_who_is_behind() -> None:
    report = compared("random", "perfect", tasks=("font_attributes", "alignment", "font_size_ocr"))
    for row in report.rows:
        blind, best = row.values
        if row.metric != "Spread across sizes":
            assert best.best
            assert apart(blind) is True
            assert blind.behind.value == pytest.approx(best.figure.value - blind.figure.value)  # type: ignore[union-attr]
    spread = next(row for row in report.rows if row.metric.startswith("Spread"))
    assert spread.better == "low"
    assert all(value.best for value in spread.values)  # neither has any


def by_hand(name: str, wrong: set[int]) -> Contestant:
    """Font attributes answered right, but for some items."""
    file: PosterFile = made("font_attributes", 40)
    said = {
        i: {"response": "BA"["AB".index(item.truth)] if i in wrong else item.truth} for i, item in enumerate(file.items)
    }
    return Contestant(name, [file.edited(said)], QUICK)


def test_differences_are_paired() -> None:
    """One wrong answer more on the same items: apart by the draws in which that item is, though intervals overlap."""
    half = set(range(20))
    report = compare_files([by_hand("a", half), by_hand("b", half | {20}), by_hand("c", half | set(range(20, 32)))])
    _, b, c = report.rows[0].values
    assert b.behind.value == pytest.approx(2 / 40)  # type: ignore[union-attr]
    assert apart(b) is False  # a draw without the item shows no difference
    assert b.behind.high < 0.2  # type: ignore[union-attr, operator]
    assert b.figure.high - b.figure.low > 0.4  # type: ignore[union-attr, operator]
    assert apart(c) is True


def test_who_was_not_asked_has_no_value_and_groups_of_other_tasks_are_not_compared() -> None:
    report = compare_files([contestant("perfect", ("logo_ocr", "simple_ocr")), contestant("random", ("logo_ocr",))])
    logo, simple = report.rows
    assert logo.values[1].behind is not None
    assert simple.values[1].figure is None
    assert all(value.behind is None and not value.best for row in report.groups for value in row.values)


def test_other_items_and_two_of_one_name_are_refused() -> None:
    with pytest.raises(BadFile, match="same items of logo_ocr"):
        compare_files([contestant("perfect", ("logo_ocr",)), contestant("random", ("logo_ocr",), n=5)])
    with pytest.raises(BadValue, match="different names"):
        compare_files([contestant("perfect", ("logo_ocr",))] * 2)


@pytest.mark.browser
def test_every_number_of_the_page_is_the_documents(chromium, tmp_path: Path) -> None:
    report = compared("random", "perfect", "empty", tasks=UNDERSTANDING)
    html = compared_page(report).html()
    assert disagreements(html, json.loads(report.model_dump_json())) == []
    for words in ("Not told apart", "Difficulty", ">Word recall</text>", "Worth nothing"):
        assert words in html
    assert page_faults(chromium, html, tmp_path) == []


def test_compare_from_the_terminal(tmp_path: Path) -> None:
    def run(*args: str | Path) -> str:
        done = CliRunner().invoke(command, ["bench", "posters", *map(str, args)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    for task in ("font_attributes", "text_localization"):
        made(task).write(tmp_path / "set" / made(task).task.place)
    run("run", tmp_path / "set", "--contestant", "perfect", "--boxes", "thousand")
    run("run", tmp_path / "set", "--contestant", "random")
    page = tmp_path / "page.html"
    places = (tmp_path / "set.perfect", tmp_path / "set.random")
    told = json.loads(run("compare", *places, "--draws", "100", "--json", "--html", page))
    assert told["contestants"] == ["perfect", "random"]
    assert [one["settings"]["boxes"] for one in told["reports"]] == ["thousand", "share"]  # as their runs say
    assert "Text localisation" in page.read_text()
    words = run("compare", *places, "--draws", "100")
    assert "1.000" in words
    assert "the best of its row" in words
