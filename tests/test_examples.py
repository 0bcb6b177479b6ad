"""Every example runs as its first lines say, and says what it promises."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

import pytest

from salon.collect.settings import read_settings_file
from salon.store import open_study

ROOT = Path(__file__).parent.parent
EXAMPLES = {path.stem: path for path in sorted((ROOT / "examples").glob("*.py"))}


def printed(name: str, *arguments: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "argv", [str(EXAMPLES[name]), *arguments])
    runpy.run_path(str(EXAMPLES[name]), run_name="__main__")
    return capsys.readouterr().out


def test_votes_to_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    said = printed("votes_to_verdict", str(tmp_path), capsys=capsys, monkeypatch=monkeypatch)
    assert said.startswith("overall: yes, one taste.")
    assert (tmp_path / "posters" / "study.toml").exists()
    assert "no person gave these answers" in (tmp_path / "check.html").read_text(encoding="utf-8")


def test_validate_points(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    said = printed("validate_points", str(tmp_path / "ticks"), capsys=capsys, monkeypatch=monkeypatch)
    assert said == "150 points, 300 screens for each person\n"
    assert open_study(tmp_path / "ticks").counts["items"] == 300
    assert read_settings_file(tmp_path / "ticks" / "studio.toml").cohorts[0].phases[0].protocol == "checklist"


def test_same_numbers_two_truths(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = printed("same_numbers_two_truths", capsys=capsys, monkeypatch=monkeypatch)
    assert re.findall(r": (yes, .*)$", said, re.MULTILINE) == ["yes, one taste", "yes, in camps"]
    one, two = (float(tau) for tau in re.findall(r"mean tau ([\d.]+)", said))
    assert abs(one - two) < 0.05
    assert not list(tmp_path.iterdir())


def test_plan_and_rehearse(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = printed("plan_and_rehearse", capsys=capsys, monkeypatch=monkeypatch)
    assert re.match(r"\d+ prompts give 90% power", said)
    assert said.count("Simulated") == 3


def test_fuse_votes(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = printed("fuse_votes", capsys=capsys, monkeypatch=monkeypatch)
    assert said.startswith("davidson, scale logit; drawn anew for the intervals: raters and prompts")
    assert re.findall(r"^  (\w+) +[-\d.]+ \[", said, re.MULTILINE) == ["brocade", "anvil", "cinder", "delft"]
    assert "never lost" in said
    assert not list(tmp_path.iterdir())


def test_anchored_scores(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = printed("anchored_scores", capsys=capsys, monkeypatch=monkeypatch)
    mean, fused = (float(error) for error in re.findall(r"error ([\d.]+) of", said))
    assert fused < 0.9 * mean
    assert all(85 <= int(share) <= 100 for share in re.findall(r"(\d+)% of the intervals", said))
    assert not list(tmp_path.iterdir())


def test_rewards_for_trainers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = printed("rewards_for_trainers", str(tmp_path / "out"), capsys=capsys, monkeypatch=monkeypatch)
    assert said.count("the same numbers") == 5
    for total, palette, balance in re.findall(r" ([-\d.]+) = palette +([-\d.]+) \+ balance +([-\d.]+)", said):
        assert float(total) == pytest.approx(float(palette) + float(balance), abs=0.0021)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["reference.json"]


def test_every_example_is_listed_and_tested() -> None:
    listed = re.findall(r"`python examples/(\w+)\.py", (ROOT / "examples" / "README.md").read_text(encoding="utf-8"))
    here = Path(__file__).read_text(encoding="utf-8")
    assert sorted(listed) == sorted(EXAMPLES)
    for name, path in EXAMPLES.items():
        assert f"def test_{name}(" in here
        assert f"python examples/{name}.py" in path.read_text(encoding="utf-8").split('"""')[1]
