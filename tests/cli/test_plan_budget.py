"""`salon plan budget` from the terminal, with and without a study."""

from __future__ import annotations

from pathlib import Path

import pytest
from ran_salon import exit_code as salon

from salon.check import BudgetReport, ThinReport
from salon.collect import ppaint_like_study
from salon.store import save_study

OVERALL = "ppaint/overall"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("budget") / "study"
    save_study(ppaint_like_study(categories=1, items=12, pairs=60), place)
    return place


def test_a_study_s_own_comparisons(study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = (
        "plan",
        "budget",
        study,
        "--fraction",
        0.5,
        "--fraction",
        1,
        "--repeats",
        3,
        "--criterion",
        "ppaint/overall",
    )
    assert salon(*line, "--json") == 0
    report = ThinReport.model_validate_json(capsys.readouterr().out)
    assert [row.pairs for row in report.rows] == [30, 60]
    assert report.rows[1].bradley_terry_srcc.value == pytest.approx(1.0)
    assert salon(*line) == 0
    said = capsys.readouterr().out
    assert "simulated study: no person gave these answers" in said
    assert report.signature_line in said
    assert f"{report.rows[0].lowest:.3f}" in said


def test_without_a_study_it_is_simulated(capsys: pytest.CaptureFixture[str]) -> None:
    line = ("plan", "budget", "--items", 10, "--studies", 10, "--target", 0.9)
    assert salon(*line, "--json") == 0
    report = BudgetReport.model_validate_json(capsys.readouterr().out)
    assert report.smallest.to_full.value >= 0.9
    assert salon(*line) == 0
    said = capsys.readouterr().out
    assert said.startswith("simulated: 10 items, 5 raters")
    assert f"enough: {report.smallest.pairs} pairs" in said


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (("plan", "--tau", "0.2", "budget"), "--tau"),
        (("plan", "budget", "--repeats", "3"), "need a STUDY"),
        (("plan", "budget", "--criterion", "c"), "need a STUDY"),
        (("plan", "budget", "{study}", "--items", "4"), "--items"),
        (("plan", "budget", "{study}", "--criterion", "beauty"), "beauty"),
        (("plan", "budget", "{study}", "--fraction", "2"), "fractions above 0"),
        (("plan", "budget", "{study}", "--prior", "0"), "--prior"),
        (("plan", "budget", "nowhere"), "nowhere"),
        (("plan", "budget", "--spread", "-1"), "--spread"),
        (
            (
                "plan",
                "budgets",
            ),
            "budgets",
        ),
    ],
)
def test_misuse_is_named(line: tuple[str, ...], says: str, study: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert salon(*(part.format(study=study) for part in line)) == 2
    said = capsys.readouterr().err
    assert says in said
    assert "Traceback" not in said
