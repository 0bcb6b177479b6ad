"""`salon judge report` at the terminal: tables, JSON, a page, what it refuses; and the judges of GenAI-Bench."""

from __future__ import annotations

import csv
import json
import re
import shutil

import numpy as np
import pytest
from drawn_studies import Drawn, shared_ranks
from ran_salon import salon

from salon.cli import main
from salon.judge import JudgeSettings, SimulatedVlm, judge_study, panel_truth
from salon.store import save_study
from salon.study import Comparison, Item, Prompt, Rater, Rating, Study, builtin_criteria

QUICK = ("--draws", "100", "--deals", "99", "--no-check")


@pytest.fixture(autouse=True)
def _command(monkeypatch):
    monkeypatch.setitem(main.COMMANDS, "Judge", {"judge": ("salon.cli.judge:judge", "")})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ten prompts ranked by five people, and two judges that were run on them."""
    path = tmp_path_factory.mktemp("judges") / "study"
    study = Drawn(10, 4).rank(shared_ranks(10, 5, 4, 1.0, np.random.default_rng(0))).study()
    save_study(study, path)
    for name, c in (("keen", 0.95), ("dull", 0.5)):
        judge = SimulatedVlm(name, panel_truth(study), accuracy=c, position_bias=0.1)
        judge_study(study, path, judge, JudgeSettings(), looks=False)
    return path


def test_the_table_says_what_the_numbers_rest_on(folder, capsys):
    code, said = salon(capsys, "judge", "report", folder, *QUICK)
    assert code == 0
    assert said.out.index("keen") < said.out.index("dull")
    for words in ("Ties counted", "Next rater", "without a majority", "judge-report|data:"):
        assert words in said.out


def test_json_and_page_are_one_report(folder, capsys, tmp_path):
    page = tmp_path / "judges.html"
    code, said = salon(capsys, "judge", "report", folder, *QUICK, "--html", page, "--json")
    made = json.loads(said.out)
    assert code == 0
    assert [one["name"] for one in made["judges"]] == ["keen", "dull"]
    assert made["judges"][0]["macro"]["accuracy"]["value"] > 0.8
    assert repr(made["judges"][0]["macro"]["accuracy"]["low"]) in page.read_text()


def test_the_people_are_checked_unless_told_otherwise(folder, capsys):
    _, said = salon(capsys, "judge", "report", folder, "--draws", "100", "--deals", "99", "--json", "--judge", "dull")
    made = json.loads(said.out)
    assert len(made["judges"]) == 1
    assert made["panel"][0]["signal"] == "yes; one taste or camps: cannot tell"
    assert "agree more than chance" in made["panel"][0]["sentence"]
    assert any("as one taste or as camps cannot be told" in words for words in made["warnings"])


def test_scores_stand_beside_judges(folder, capsys, tmp_path):
    table = tmp_path / "own.csv"
    table.write_text("item,value\n" + "".join(f"q{q}.{i},{i}\n" for q in range(10) for i in range(4)))
    _, said = salon(capsys, "judge", "report", folder, *QUICK, "--scores", table, "--json")
    made = {one["name"]: one for one in json.loads(said.out)["judges"]}
    assert made["own"]["kind"] == "scorer"
    assert made["own"]["macro"]["position_bias"] is None


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--judge", "nobody"], "one of dull, keen"),
        (["--draws", "5"], "--draws"),
        (["--scores", "missing.csv"], "missing.csv"),
    ],
)
def test_what_cannot_be_done_is_said_with_exit_code_2(folder, capsys, flags, said):
    code, printed = salon(capsys, "judge", "report", folder, "--no-check", *flags)
    assert code == 2
    assert said in printed.err


def test_a_study_without_judges_says_how_to_get_one(capsys, tmp_path):
    save_study(Drawn(2, 3).rank(shared_ranks(2, 3, 3, 1.0, np.random.default_rng(0))).study(), tmp_path / "s")
    code, printed = salon(capsys, "judge", "report", tmp_path / "s", *QUICK)
    assert code == 2
    assert "salon judge run" in printed.err


def test_verdicts_that_break_off_are_named(folder, capsys, tmp_path):
    broken = tmp_path / "study"
    shutil.copytree(folder, broken)
    file = broken / "judges" / "dull" / "verdicts.parquet"
    file.write_bytes(file.read_bytes()[:100])
    code, printed = salon(capsys, "judge", "report", broken, *QUICK)
    assert code == 2
    assert "verdicts.parquet" in printed.err


@pytest.mark.data
def test_the_judges_of_genai_bench(salon_data, capsys):
    """By counting in the CSV itself: 1,306 votes name a winner, and LLaVA names the first picture all but once."""
    path = salon_data / "genai_bench" / "image_generation.csv"
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    decided = [row for row in rows if row["human_vote"] in ("leftvote", "rightvote")]
    side = {"leftvote": "[[A>B]]", "rightvote": "[[B>A]]"}
    right = sum(row["llava"] == side[row["human_vote"]] for row in decided)
    code, said = salon(capsys, "judge", "report", path, *QUICK, "--json")
    made = {one["name"]: one for one in json.loads(said.out)["judges"]}
    assert code == 0
    assert len(set(made) - {"random"}) == 14
    llava = made["llava"]
    assert llava["macro"]["accuracy"]["value"] == pytest.approx(right / len(decided))
    assert llava["macro"]["unseen"]["value"] == pytest.approx(sum(row["llava"] == "" for row in decided) / 1306)
    assert llava["macro"]["position_bias"] is None
    assert llava["says_first"]["value"] == 1
    same = sum(row["gpt4o"] == side.get(row["human_vote"]) or ("A=B" in row["gpt4o"] and row["human_vote"] not in side)
               for row in rows)  # fmt: skip
    assert made["gpt4o"]["with_ties"]["value"] == pytest.approx(same / 1735)


def test_a_judge_that_was_asked_for_flags_is_held_against_people(tmp_path, capsys):
    """Its row was once printed with a function among the cells, which ended the command."""
    known = builtin_criteria()
    flag, mood = known["taste/hallucination"], known["taste/mood"]
    items = [Item(id=f"p{n}-{i}", prompt=f"p{n}") for n in range(8) for i in range(2)]
    raters = [Rater(id=f"r{n}") for n in range(3)]
    ratings = [
        Rating(criterion=flag.id, rater=rater.id, item=item.id, value=2.0 if item.id.endswith("1") else 0.0)
        for rater in raters
        for item in items
    ]
    votes = [
        Comparison(criterion=mood.id, rater=rater.id, a=f"p{n}-0", b=f"p{n}-1", outcome="a")
        for rater in raters
        for n in range(8)
    ]
    prompts = [Prompt(id=f"p{n}", intent="Sell", description="A poster", aesthetics="Bold") for n in range(8)]
    tables = {"prompts": prompts, "items": items, "raters": raters, "ratings": ratings, "comparisons": votes}
    study = Study.build("flags", [flag, mood], tables=tables)
    save_study(study, tmp_path / "study")
    judge = SimulatedVlm("watchful", panel_truth(study), accuracy=0.95)
    settings = JudgeSettings(protocol="rate", criterion=(flag.id,))
    judge_study(study, tmp_path / "study", judge, settings, looks=False)
    code, said = salon(capsys, "judge", "report", tmp_path / "study", *QUICK)
    assert code == 0
    table = said.out.split("Judges that were asked for flags")[1]
    assert re.search(r"watchful +Hallucination +\d\.\d+ .*16 +0\n", table)
