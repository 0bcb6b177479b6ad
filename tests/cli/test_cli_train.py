"""`salon train heads` and `salon train sweep` at the terminal."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from red_study import Colors, study_in

from salon.cli.train import train
from salon.store import save_study
from salon.train import train_heads as training

SMALL = [
    "--encoder",
    "colors",
    "--axes",
    "0",
    "--epochs",
    "2",
    "--train",
    "0.6",
    "--validation",
    "0.2",
    "--test",
    "0.2",
]


@pytest.fixture(scope="module")
def red(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pictures, folder = (tmp_path_factory.mktemp("cli") / name for name in ("pictures", "red"))
    study = study_in(pictures)
    save_study(study, folder)
    shutil.copytree(pictures / "images", folder / "images", dirs_exist_ok=True)
    return folder


@pytest.fixture(autouse=True)
def _colors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "open_encoder", lambda name, **options: Colors())


def test_heads_says_what_it_learned_beside_the_ceiling(red: Path, tmp_path: Path) -> None:
    done = CliRunner().invoke(train, ["heads", str(red), "-o", str(tmp_path / "m"), *SMALL], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "SIMULATED" in done.output
    assert "one more rater" in done.output
    assert "pairs without a majority are left out" in done.output
    assert f"next: salon evaluate {tmp_path / 'm'} {red}" in done.output
    assert (tmp_path / "m" / "model.safetensors").is_file()


def test_numbers_of_one_prompt_say_why_they_have_no_interval(red: Path, tmp_path: Path) -> None:
    small = ["--train", "0.95", "--validation", "0.025", "--test", "0.025"]
    done = CliRunner().invoke(train, ["heads", str(red), "-o", str(tmp_path / "m"), *SMALL, *small, "--json"])
    assert json.loads(done.output)["counts"]["validation prompts"] == 1
    done = CliRunner().invoke(train, ["heads", str(red), "-o", str(tmp_path / "n"), *SMALL, *small])
    assert "validation holds one prompt, so its numbers have no interval" in done.output
    done = CliRunner().invoke(train, ["heads", str(red), "-o", str(tmp_path / "o"), *SMALL])
    assert "no interval" not in done.output


def test_heads_as_json(red: Path, tmp_path: Path) -> None:
    asked = ["heads", str(red), "-o", str(tmp_path / "m"), *SMALL, "--width", "4", "--form", "scalar", "--json"]
    told = json.loads(CliRunner().invoke(train, asked, catch_exceptions=False).output)
    assert told["form"] == "scalar"
    assert told["signature"]["settings"]["width"] == 4
    assert told["signature_line"].startswith("heads|data:")
    assert {row["criterion"] for row in told["validation"]} == {None, "mood"}
    assert all(row["ceiling"] is not None for row in told["validation"])


def test_a_sweep_goes_on_where_it_was(red: Path, tmp_path: Path) -> None:
    grid = ["--widths", "4", "--dropouts", "0", "--weight-decays", "0", "--seeds", "2", "--no-flags", "--json"]
    asked = ["sweep", str(red), "-o", str(tmp_path / "s"), *SMALL, *grid, "--label-forms", "soft"]
    first = json.loads(CliRunner().invoke(train, asked, catch_exceptions=False).output)
    assert (first["made"], first["kept"], len(first["points"])) == (2, 0, 1)
    more = json.loads(CliRunner().invoke(train, [*asked, "--label-forms", "hard"], catch_exceptions=False).output)
    assert (more["made"], more["kept"], len(more["points"])) == (2, 2, 2)
    assert [point["chosen"] for point in more["points"]] == [True, False]
    assert more["points"][0]["loss"] <= more["points"][1]["loss"]
    assert (tmp_path / "s" / "model" / "model.json").is_file()


def test_help_loads_no_network() -> None:
    code = (
        "import sys\nfrom salon.cli.train import train\n"
        "for words in (['--help'], ['heads', '--help'], ['sweep', '--help']):\n"
        "    try:\n        train(words)\n    except SystemExit:\n        pass\n"
        "print([m for m in ('torch', 'transformers', 'scipy', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert "reward" in done.stdout
    assert done.stdout.splitlines()[-1] == "[]"
