"""The demo leaves pages, JSON and scores that say the same, and fits on one screen."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow.csv
import pytest

from salon.check import CheckReport
from salon.cli import demo, demo_board
from salon.collect import ppaint_like_study
from salon.fuse import FuseReport
from salon.generate import read_prompts
from salon.report import disagreements
from salon.store import open_study

SCREEN = 40


@pytest.fixture(scope="module")
def paintings(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, CheckReport, FuseReport]:
    made = tmp_path_factory.mktemp("demo")
    return made, *demo.fuse_paintings(made, ppaint_like_study(categories=2, items=20, pairs=95))


@pytest.fixture(scope="module")
def folder(paintings: tuple[Path, CheckReport, FuseReport]) -> Path:
    return paintings[0]


def test_the_scores_are_those_of_the_page_and_the_json(folder: Path) -> None:
    fused = json.loads((folder / "fuse.json").read_text(encoding="utf-8"))
    assert disagreements((folder / "fuse.html").read_text(encoding="utf-8"), fused) == []
    table = pyarrow.csv.read_csv(folder / "scores.csv").to_pylist()
    assert [(row["item"], row["criterion"]) for row in table] == [(r["item"], r["criterion"]) for r in fused["scores"]]
    assert table[0]["value"] == pytest.approx(fused["scores"][0]["value"])
    assert {row["signature"] for row in table} == {fused["signature_line"]}
    assert fused["compare"]["pairs"]


def test_everything_says_that_it_is_simulated(folder: Path) -> None:
    assert open_study(folder / "paintings").simulated
    for page in ("paintings-check.html", "fuse.html"):
        assert "no person gave these answers" in (folder / page).read_text(encoding="utf-8")


SHARE = r"\d+% \[\d+%, \d+%\]"
NUMBER = r"[−\d.]+ \[[−\d.]+, [−\d.]+\]"


def test_what_is_told_has_intervals(
    paintings: tuple[Path, CheckReport, FuseReport], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    demo.draw_posters(tmp_path, read_prompts("briefs")[:2])
    demo._print_studio(tmp_path)
    demo._print_paintings(*paintings[1:])
    told = capsys.readouterr().out
    assert re.search(rf"; {SHARE} name the better poster", told)
    assert re.search(rf"comparing {NUMBER}, rating {NUMBER}\n", told)


@pytest.mark.slow
def test_the_whole_demo_fits_on_a_screen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "EVERY", 40)  # a quarter of the posters
    monkeypatch.setattr(demo_board, "EVERY", 12)
    demo.run(tmp_path)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= SCREEN
    assert max(map(len, lines)) <= 100 + len(str(tmp_path))
    said = "Simulated raters: no person gave these answers. Four houses draw 6 briefs ... 24 posters"
    assert lines[0] == said
    assert [line.split()[1:5] for line in lines if line.startswith("  entry ")] == [
        ["Capability", "EPS", "Overall", "rank"]
    ]
    assert sum("best generator: " in line for line in lines) == 9
    assert any(re.search(rf"4 picks [\d.]+, of all drawn [\d.]+: gain {NUMBER}; ", line) for line in lines)
    assert [line.split()[0] for line in lines[-len(demo.FILES) :]] == [str(tmp_path / name) for name in demo.FILES]
    others = ("check.json", "generators.json", "fuse.json", "scores.csv", "posters/study.toml")
    assert all((tmp_path / name).exists() for name in (*demo.FILES, *others))
