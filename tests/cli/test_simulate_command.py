"""`salon simulate` from the terminal: what it writes, what it says, what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ran_salon import exit_code as salon

from salon.store import open_study


def test_the_first_line_says_that_it_is_simulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert salon("simulate", "-o", tmp_path / "s", "--prompts", 20, "--tau", 0.2) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("SIMULATED: nobody gave these answers.")
    assert any("simulated-1" in line and "tau 0.200" in line and "one shared order" in line for line in lines)
    study = open_study(tmp_path / "s")
    assert study.simulated
    assert study.counts["rankings"] == 100


def test_the_preset_is_the_demo_study(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert salon("simulate", "-o", tmp_path / "s", "--preset", "taste-like", "--controls") == 0
    said = capsys.readouterr().out
    assert "taste/mood" in said
    assert "control/factions" in said
    assert "aesthetics-A agrees least" in said
    assert len(open_study(tmp_path / "s").criteria) == 12


def test_the_matched_preset_has_both_protocols(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert salon("simulate", "-o", tmp_path / "s", "--preset", "ppaint-like", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert [one["criterion"] for one in record["planted"]][-1] == "ppaint/overall"
    assert record["counts"] == {"items": 150, "raters": 15, "comparisons": 48_150, "ratings": 4_500}
    assert open_study(tmp_path / "s").hash.startswith(record["data"])


def test_the_preset_takes_a_seed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hashes = []
    for number, seed in enumerate(([], ["--seed", 2026], ["--seed", 0])):
        place = tmp_path / str(number)
        assert salon("simulate", "-o", place, "--preset", "taste-like", "--json", *seed) == 0
        hashes.append(json.loads(capsys.readouterr().out)["data"])
    assert hashes[0] == hashes[1] != hashes[2]


def test_json_holds_the_truth_and_the_hash_of_what_was_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["simulate", "-o", tmp_path / "s", "--model", "factions", "--factions", 4, "--factions", 1, "--json"]
    assert salon(*command) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["simulated"] is True
    assert record["planted"][0]["tau"] == pytest.approx(0.15)
    assert "factions of 4 and 1" in record["planted"][0]["truth"]
    assert open_study(tmp_path / "s").hash.startswith(record["data"])


def test_disturbances_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--protocol", "comparisons", "--position-bias", 0.1, "--careless", 2, "--tie-share", 0.05]
    assert salon("simulate", "-o", tmp_path / "s", *flags, "--criteria", 2) == 0
    said = capsys.readouterr().out
    assert said.count("raters 4 to 5 careless") == 2
    assert "5% of pairs tied" in said
    assert "10% of comparisons won by the left item unseen" in said


def test_every_flag_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert salon("simulate", "--help") == 0
    said = capsys.readouterr().out
    for flag in ("--preset", "--model", "--prompts", "--tau", "--careless", "--position-bias", "--tie-share", "--seed"):
        assert flag in said
    assert "salon simulate -o study --preset taste-like" in said


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--tau", "1.5"], "--tau"),
        (["--tau", "nan"], "--tau"),
        (["--items", "1"], "--items"),
        (["--raters", "1"], "--raters"),
        (["--prompts", "0"], "--prompts"),
        (["--seed", "-1"], "--seed"),
        (["--tie-share", "1"], "--tie-share"),
        (["--prompts", "1000000000"], "at most 500,000,000"),
        (["--model", "uniform", "--tau", "0.1"], "random raters agree on nothing"),
        (["--tau", "0.9", "--careless", "2"], "a mean tau between"),
        (["--preset", "taste-like", "--items", "3"], "--items"),
        (["--preset", "taste-like", "--seed", "-1"], "--seed"),
        (["--controls"], "--preset taste-like"),
        (["--preset", "ppaint-like", "--controls"], "--controls"),
        (["--model", "astrology"], "astrology"),
    ],
)
def test_misuse_is_named_and_leaves_nothing_behind(
    flags: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert salon("simulate", "-o", tmp_path / "s", *flags) == 2
    said = capsys.readouterr()
    assert says in said.err
    assert "Traceback" not in said.err
    assert not list(tmp_path.iterdir())


def test_an_existing_study_is_only_replaced_when_asked_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "s"
    assert salon("simulate", "-o", place, "--prompts", 5) == 0
    before = open_study(place).hash
    assert salon("simulate", "-o", place, "--prompts", 6) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert open_study(place).hash == before
    assert salon("simulate", "-o", place, "--prompts", 6, "--overwrite") == 0
    assert open_study(place).counts["prompts"] == 6


def test_a_folder_with_other_files_is_never_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    assert salon("simulate", "-o", tmp_path, "--prompts", 5, "--overwrite") == 2
    assert "nothing was changed" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.txt"]
