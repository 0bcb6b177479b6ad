"""`salon bridge` from the terminal: plan, answer, score; the rehearsal; what is refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from ran_salon import exit_code as salon

from salon.store import save_study
from salon.study import Comparison, Criterion, Item, Rater, Study

SMALL = ("--pool", "5", "--opponents", "2")


def save(folder: Path, comparisons: list[Comparison]) -> Path:
    items = [Item(id=f"i{k:02}") for k in range(12)]
    tables = {"items": items, "raters": [Rater(id="judge", kind="model")], "comparisons": comparisons}
    made = Study.build("posters", [Criterion(id="overall")], tables=tables, compare_within="all", simulated=True)
    save_study(made, folder, overwrite=True)
    return folder


def answers(file: Path) -> list[Comparison]:
    """Every pair of the file, answered: the higher number is better, neighbours tie."""
    with open(file, newline="") as text:
        rows = list(csv.DictReader(text))
    made = []
    for row in rows:
        step = int(row["a"][1:]) - int(row["b"][1:])
        outcome = "tie" if abs(step) == 1 else "a" if step > 0 else "b"
        facts = {"left": row["left"], "repeat": int(row["repeat"]), "outcome": outcome}
        made.append(Comparison(criterion="overall", rater="judge", a=row["a"], b=row["b"], **facts))
    return made


def test_plan_answer_score(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, pairs = save(tmp_path / "study", []), tmp_path / "pairs.csv"
    assert salon("bridge", "plan", study, "-o", pairs, *SMALL, "--both-orders") == 0
    said = capsys.readouterr().out
    assert "48 pairs to ask now" in said  # (10 + 7 * 2) twice
    assert "24 calls in one order, 48 in both" in said
    save(study, answers(pairs))
    assert salon("bridge", "score", study, *SMALL, "--both-orders") == 0
    said = capsys.readouterr().out
    assert said.startswith("SIMULATED")
    assert "made: 48 (pool 20, placements 28, without a pool item 0)" in said
    assert "keep the prior and are listed" in said
    assert salon("bridge", "score", study, *SMALL, "--both-orders", "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert {"item", "criterion", "value", "low", "high", "mean", "sd", "calls"} <= set(record["rows"][0])
    best = max(record["rows"], key=lambda row: row["value"])
    assert int(best["item"][1:]) >= 10
    assert record["signature_line"].startswith("bridge score|data:")


def test_adaptive_rounds_until_nothing_is_left(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study, pairs, given, rounds = save(tmp_path / "study", []), tmp_path / "pairs.csv", [], []
    while True:
        assert salon("bridge", "next", study, "-o", pairs, *SMALL, "--adaptive", "--overwrite", "--json") == 0
        record = json.loads(capsys.readouterr().out)
        rounds.append((record["stage"], record["pairs"]))
        if record["stage"] == "done":
            break
        given += answers(pairs)
        save(study, given)
    assert rounds == [("pool", 10), ("placement", 7), ("placement", 7), ("done", 0)]
    assert salon("bridge", "next", study, "-o", pairs, *SMALL, "--adaptive", "--overwrite") == 0
    assert "nothing is left to ask" in capsys.readouterr().out


def test_the_rehearsal_prints_the_calls_of_the_paper(capsys: pytest.CaptureFixture[str]) -> None:
    assert salon("bridge", "simulate", "--items", 3000, "--opponents", 10, "--pool", 50) == 0
    said = capsys.readouterr().out
    assert "30,725 calls in one order, 61,450 in both; all pairs: 4,498,500" in said
    assert "random opponents: SRCC with the truth 0.9" in said
    assert "of the placement calls" in said


def test_the_rehearsal_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    command = ("bridge", "simulate", "--items", 200, "--pool", 15, "--opponents", 3, "--lapses", 0.1, "--adaptive")
    assert salon(*command, "--json") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["simulated"] is True
    assert record["opponents"] == "adaptive"
    assert [point["calls"] for point in record["curve"]] == [290, 475, 660]
    assert record["srcc"] == record["curve"][-1]["adaptive"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("score", "{study}"), "answers on pairs of the pool"),
        (("plan", "{study}", "-o", "{folder}/pairs.txt"), ".csv"),
        (("plan", "{study}", "-o", "{folder}/no/pairs.csv"), "folder of the output"),
        (("plan", "{study}", "-o", "{folder}/there.csv"), "--overwrite"),
        (("plan", "{study}", "-o", "{folder}/pairs.csv", "--opponents", "60"), "come from the pool"),
        (("plan", "{folder}/nothing", "-o", "{folder}/pairs.csv"), "study"),
        (("score", "{study}", "--rater", "nobody"), "nobody"),
        (("simulate", "--pool", "5"), "at most as many"),
        (("simulate", "--spread", "-1"), "--spread"),
    ],
)
def test_misuse_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    save(tmp_path / "study", [])
    (tmp_path / "there.csv").write_text("a file")
    named = [one.format(study=tmp_path / "study", folder=tmp_path) for one in arguments]
    assert salon("bridge", *named) == 2
    assert words in capsys.readouterr().err
