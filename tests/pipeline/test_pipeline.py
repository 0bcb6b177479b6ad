"""From a file to a report and back: whatever road the judgments take, the same data give the same numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from drawn_studies import Drawn, random_ranks, shared_ranks

from salon.cli.main import run
from salon.report import disagreements
from salon.store import save_study

QUICK = ("--draws", 200, "--tie-repeats", 3)


@pytest.fixture
def salon(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.chdir(tmp_path)

    def command(*arguments: object) -> dict:
        with pytest.raises(SystemExit) as left:
            run([str(argument) for argument in (*arguments, "--json")])
        printed = capsys.readouterr()
        assert not left.value.code, printed.err
        return json.loads(printed.out)

    return command


def numbers(report: dict) -> dict:
    """A report without the clock and the study's name."""
    return {name: value for name, value in report.items() if name not in ("seconds", "study")}


def votes(path: str) -> None:
    rng = np.random.default_rng(1)
    ranks = shared_ranks(40, 5, 4, 1.0, rng)
    lines = ["left,right,winner,worker,prompt,seconds"]
    for prompt, panel in enumerate(ranks):
        for rater, row in enumerate(panel):
            for i in range(4):
                for j in range(i):
                    one, other = (i, j) if rng.random() < 0.5 else (j, i)
                    winner = "tie" if rng.random() < 0.05 else "left" if row[one] < row[other] else "right"
                    seconds = f"{rng.lognormal(2, 0.5):.2f}"
                    lines.append(f"gen-{one},gen-{other},{winner},designer {rater},brief {prompt},{seconds}")
    Path(path).write_text("\n".join(lines) + "\n")


def test_import_check_export_check(salon) -> None:
    votes("votes.csv")
    imported = salon("import", "comparisons", "votes.csv", "-o", "study")
    first = salon("check", "study", *QUICK, "--html", "check.html")
    assert first["signature"]["data"] == imported["data"]
    assert first["criteria"][0]["agree"] == "yes"
    assert disagreements(Path("check.html").read_text(encoding="utf-8"), first) == []
    for form in ("parquet", "csv", "jsonl", "huggingface"):
        exported = salon("export", "study", "--to", form, "-o", f"as-{form}")
        assert exported["data"] == imported["data"]
        assert numbers(salon("check", f"as-{form}", *QUICK)) == numbers(first)


def test_a_file_is_checked_as_its_import_is(salon) -> None:
    votes("votes.csv")
    salon("import", "comparisons", "votes.csv", "-o", "study")
    assert numbers(salon("check", "votes.csv", *QUICK)) == numbers(salon("check", "study", *QUICK))


def test_two_halves_merged_are_the_whole(salon) -> None:
    ranks = random_ranks(30, 5, 4, np.random.default_rng(2))
    save_study(Drawn(30, 4).rank(ranks).study(name="all"), Path("whole"))
    save_study(Drawn(30, 4).rank(ranks[:15]).study(name="all"), Path("one"))
    save_study(Drawn(30, 4).rank(ranks[15:], first=15).study(name="all"), Path("two"))
    salon("merge", "one", "two", "-o", "both", "--name", "all")
    whole, both = (salon("check", folder, *QUICK) for folder in ("whole", "both"))
    for name in ("statistics", "tests", "raters", "ceilings"):
        assert both["criteria"][0][name] == whole["criteria"][0][name]


def test_a_simulated_study_goes_all_the_way(salon) -> None:
    made = salon("simulate", "-o", "study", "--prompts", 60, "--tau", 0.3, "--criteria", 2, "--seed", 5)
    anchor = salon("anchor", "study", "--criterion", "simulated-1", "--draws", 1000)
    Path("anchor.json").write_text(json.dumps(anchor))
    report = salon("check", "study", *QUICK, "--anchor", "anchor.json", "--html", "check.html")
    assert report["simulated"]
    assert report["signature"]["data"] == made["data"] == anchor["signature"]["data"]
    assert report["anchors"][0]["mean_tau"] == anchor["mean_tau"]
    for criterion in report["criteria"]:
        assert (criterion["agree"], criterion["taste"]) == ("yes", "one taste")
        assert criterion["statistics"]["mean_tau"] == pytest.approx(0.3, abs=0.08)
    page = Path("check.html").read_text(encoding="utf-8")
    assert disagreements(page, report) == []
    assert "no person gave these answers" in page.lower()
