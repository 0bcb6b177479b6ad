"""The report as a page and on the terminal: the same numbers, and everything that is missing in sight."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from browser import chromium, page_faults
from click.testing import CliRunner
from public_files import ALL, UNDERSTANDING, made

from salon.bench import PosterReport, PosterScoreSettings, report_page, score_files, with_released
from salon.bench.posters.contestants import fill_responses
from salon.cli.main import salon as command
from salon.report import disagreements

__all__ = ["chromium"]

QUICK = PosterScoreSettings(draws=100)


@cache
def report(contestant: str = "random") -> PosterReport:
    files = [fill_responses(made(name, 28), contestant) for name in ALL]  # type: ignore[arg-type]
    return with_released(score_files(files, QUICK, contestant=contestant), files)


@pytest.mark.parametrize("contestant", ["random", "perfect", "empty"])
def test_every_number_of_the_page_is_the_documents(contestant: str) -> None:
    html = report_page(report(contestant)).html()
    document = json.loads(report(contestant).model_dump_json())
    assert disagreements(html, document) == []
    assert html.count("data-key") > 100
    assert html == report_page(report(contestant)).html()


def test_the_page_shows_what_is_owed_missing_and_wrong() -> None:
    html = report_page(report()).html()
    for words in ("provisional", "Verdicts owed", "Failures", "font size", "Released scoring", "without looking"):
        assert words in html, words


@pytest.mark.browser
def test_nothing_is_wrong_under_axe(chromium, tmp_path: Path) -> None:
    assert page_faults(chromium, report_page(report()).html(), tmp_path) == []


def test_texts_of_strangers_are_only_text(tmp_path: Path) -> None:
    file = made("logo_ocr", 2).edited({0: {"response": "<script>alert(1)</script>"}, 1: {"response": "\u202e<b>"}})
    html = report_page(score_files([file], QUICK, contestant="<i>x</i>"), tmp_path).html()
    assert "<script>alert" not in html
    assert "\u202e" not in html
    assert "<i>x" not in html


def run(*args: str, code: int = 0) -> str:
    done = CliRunner().invoke(command, ["bench", "posters", *args], catch_exceptions=False)
    assert done.exit_code == code, done.output
    return done.output


def test_run_and_score_from_the_terminal(tmp_path: Path) -> None:
    home = tmp_path / "set"
    for name in UNDERSTANDING:
        made(name).write(home / made(name).task.place)
    run("run", str(home), "--contestant", "perfect", "--boxes", "thousand")
    out = str(tmp_path / "set.perfect")
    told = json.loads(run("score", out, "--json", "--draws", "100", "--html", str(tmp_path / "page.html")))
    assert told["contestant"] == "perfect"
    assert told["settings"]["boxes"] == "thousand"  # as its run says
    assert told["overall"]["value"] == pytest.approx(1)
    words = run("score", out, "--draws", "100", "--compat", "released")
    assert "Overall 1.000" in words
    assert "Font effect 2" in words
    assert "poster-tasks|data:" in words
    wrong = run("score", out, "--boxes", "share", "--draws", "100", "--json")
    boxes = next(task for task in json.loads(wrong)["tasks"] if task["task"] == "text_localization")
    assert boxes["bad_boxes"] == 48
    assert boxes["metrics"][0]["figure"]["value"] == 0  # a convention is declared, never found out


def test_curves_keep_to_their_frame() -> None:
    """Layouts by a metric that is better when high, ratings not at all, and scores below 0 inside the drawing."""
    names = ("layout_generation", "overall_rating", "font_attributes")
    hard = {i: {"difficulty": {"texts": i % 3}} for i in range(12)}
    files = [fill_responses(made(name).edited(hard), "random") for name in names]
    curves = {one.task: one for one in score_files(files, QUICK).curves}
    assert {name: one.metric for name, one in curves.items()} == {
        "layout_generation": "area",
        "font_attributes": "score",
    }
    assert all(point.figure.value <= 1 for one in curves.values() for point in one.points)
