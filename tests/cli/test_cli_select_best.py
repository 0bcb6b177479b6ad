"""salon select best, gate and route at the terminal."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import ran_salon
from arena_study import arena_study
from beside import Beside
from browser import chromium, page_faults
from PIL import Image

from salon import select
from salon.cli import select_decisions as select_route
from salon.store import save_study
from salon.study import Criterion, Item, Rater, Rating, Scale, Study

__all__ = ["chromium"]


def salon(capsys, *arguments):
    """Exit code, and what was printed."""
    code, said = ran_salon.salon(capsys, "select", *arguments)
    return code, said.out, said.err


@pytest.fixture
def renders(tmp_path: Path) -> Path:
    """Three pictures of one prompt, and scores of theirs by two scorers, one with sigmas."""
    folder = tmp_path / "renders"
    folder.mkdir()
    for name in "abc":
        Image.new("RGB", (8, 8), "white").save(folder / f"{name}.png")
    (tmp_path / "type.csv").write_text("item,value,sigma\na.png,2.0,1.5\nb.png,1.8,0.1\nc.png,0.1,0.1\n")
    (tmp_path / "mood.csv").write_text("item,value\na.png,10\nb.png,20\nc.png,90\n")
    return folder


@pytest.mark.browser
def test_the_best_of_a_folder_with_its_tie_and_its_page(capsys, tmp_path: Path, renders: Path, chromium) -> None:
    common = ("best", renders, "-s", f"table:{tmp_path / 'type.csv'}", "--prompt", "a poster")
    code, said, _ = salon(capsys, *common, "-o", tmp_path / "out", "--table", tmp_path / "picks.parquet")
    assert code == 0
    assert "b.png" in said
    assert "with a tie declared: 1" in said  # a is higher, b surer
    assert "wrote" in said
    assert pq.read_table(tmp_path / "picks.parquet").to_pylist()[0]["chosen"] == "b.png"
    page = (tmp_path / "out" / "index.html").read_text()
    assert "chosen" in page
    assert page_faults(chromium, page, tmp_path) == []
    asked = ("--k", "0", "-o", tmp_path / "out", "--figures", tmp_path / "figures", "--json")
    code, said, _ = salon(capsys, *common, *asked)
    assert code == 0
    assert (tmp_path / "figures" / "lead-of-the-picks.csv").read_text().startswith("mark,label,value")
    report = json.loads(said)
    assert report["picks"][0]["pick"]["chosen"] == "a.png"
    assert report["signature"]["settings"]["k"] == 0


def test_weights_change_the_pick_and_bad_ones_are_refused(capsys, tmp_path: Path, renders: Path) -> None:
    scorers = [word for name in ("type", "mood") for word in ("-s", f"table:{tmp_path / name}.csv")]
    common = ("best", renders, *scorers, "--prompt", "x", "-o", tmp_path / "out", "--json")
    for weights, chosen in (("type=1", "b.png"), ("mood=1", "c.png")):
        code, said, _ = salon(capsys, *common, "-w", weights)
        assert (code, json.loads(said)["picks"][0]["pick"]["chosen"]) == (0, chosen)
    for weights, told in (("hue=1", "'hue'"), ("type=0", "above 0"), ("type=-1", "from 0 up"), (None, "one scale")):
        code, _, error = salon(capsys, *common, *(("-w", weights) if weights else ()))
        assert code == 2
        assert told in error
    code, said, _ = salon(capsys, *common, "--equal-scales")
    assert (code, json.loads(said)["scale"]) == (0, "declared to be one scale")


def test_nothing_good_enough_leaves_with_1(capsys, tmp_path: Path, renders: Path) -> None:
    code, said, _ = salon(
        capsys, "best", renders, "-s", f"table:{tmp_path / 'type.csv'}", "--least", "5", "-o", tmp_path / "out"
    )
    assert code == 1
    assert "none good enough: 1" in said


def test_a_prompt_that_was_typed_is_printed_as_it_was(capsys, tmp_path: Path, renders: Path) -> None:
    asked = ("best", renders, "-s", f"table:{tmp_path / 'type.csv'}", "-o", tmp_path / "out")
    assert "\na poster for a fair  " in salon(capsys, *asked, "--prompt", "a poster for a fair")[1]
    long = "a poster for a fair in a town that has a very long name"
    assert f"\n{long[:39]}…  " in salon(capsys, *asked, "--prompt", long)[1]


def test_what_does_not_go_together_is_refused(capsys, tmp_path: Path, renders: Path) -> None:
    scored = ("-s", f"table:{tmp_path / 'type.csv'}")
    for arguments, told in (
        ((renders,), "at least one scorer"),
        (("a poster for a fair", "-g", "proof", *scored), "-o FOLDER"),
        (("a poster for a fair", "-g", "proof", "--route", "r.json", "-o", tmp_path / "o", *scored), "both"),
        (("a poster", "-g", "proof", "--explore", "ucb", "-o", tmp_path / "o", *scored), "--explore goes with --route"),
        ((tmp_path / "nothing", *scored), "nothing there"),
        ((tmp_path / "nothing", *scored, "--prompt", "a poster"), "nothing there"),
    ):
        code, _, error = salon(capsys, "best", *arguments)
        assert code == 2
        assert told in error


def test_a_house_draws_and_the_best_is_chosen(capsys, tmp_path: Path) -> None:
    prompt = 'A poster for a fair in teal and cream, "Small Press Fair"'
    out = tmp_path / "drawn"
    code, said, _ = salon(
        capsys, "best", prompt, "-g", "atelier", "-n", "3", "-s", "palette", "--size", "120x170", "-o", out, "--json"
    )
    assert code == 0
    report = json.loads(said)
    assert (report["items"], report["chosen"]) == (3, 1)
    assert (out / "best" / "index.html").is_file()
    best = report["picks"][0]["pick"]["standings"]
    assert best[0]["total"] == max(one["total"] for one in best)


def test_a_gate_is_made_and_used(capsys, tmp_path: Path) -> None:
    flag = Criterion(id="flag", scale=Scale(kind="ordinal", low=0, high=2, step=1, higher_is_better=False))
    ratings = [Rating(item=f"i{n}", rater="r", criterion="flag", value=float(n < 20)) for n in range(60)]
    tables = {"items": [Item(id=f"i{n}") for n in range(60)], "raters": [Rater(id="r")], "ratings": ratings}
    save_study(Study.build("s", [flag], tables=tables, compare_within="all"), tmp_path / "study")
    (tmp_path / "q.csv").write_text("item,value\n" + "".join(f"i{n},{n}\n" for n in range(60)))
    made = ("gate", tmp_path / "study", "-s", f"table:{tmp_path / 'q.csv'}")
    file = tmp_path / "gate.json"
    code, said, _ = salon(capsys, *made, "--recall", "0.8", "--miss-cost", "10", "--hold-cost", "1", "-o", file)
    assert code == 0
    # 1 - .8^20 = .988, but 1 - .8^20 - 20 x .2 x .8^19 = .931: only the highest of 20 keeps the promise
    assert "at or below 19" in said
    assert "With confidence 0.95, at least 0.8" in said
    assert "needs 59 flagged" in said
    code, said, _ = salon(capsys, "gate", tmp_path / "study", "--use", file, "-o", tmp_path / "held.csv")
    assert code == 0
    assert "20 of 60 items" in said
    assert (tmp_path / "held.csv").read_text().count("true") == 20
    assert "0 is below 19" in (tmp_path / "study" / "gate" / "index.html").read_text()
    code, _, _ = salon(capsys, "gate", tmp_path / "study", "--use", file, "--figures", tmp_path / "figures")
    assert code == 0
    assert (tmp_path / "figures" / "scores-and-the-gate.csv").read_text().startswith("mark,label,x,y")
    code, _, error = salon(capsys, *made, "--figures", tmp_path / "more")
    assert code == 2
    assert "--use" in error
    for arguments, told in (
        ((*made, "--recall", "0.9"), "at least 29 positives"),
        ((*made, "--recall", "0.8", "-o", file), "only replaced when asked to"),
        (("gate", tmp_path / "study"), "one scorer is needed"),
        ((*made, "--recall", "1.5"), "--recall"),
    ):
        code, _, error = salon(capsys, *arguments)
        assert code == 2
        assert told in error


def test_two_that_heed_feedback_at_once_are_both_heard(capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_study(arena_study(prompts=12, raters=3, seed=4), tmp_path / "study")
    file, heard = tmp_path / "routes.json", tmp_path / "heard.jsonl"
    salon(capsys, "route", tmp_path / "study", "--prior", "2", "-o", file)
    heard.write_text('{"winner": "di", "loser": "ada", "criterion": "color"}\n')
    again = ["--feedback", str(heard), "-o", str(file), "--overwrite"]
    second = Beside(lambda: select_route.route.main([str(file), *again], standalone_mode=False), monkeypatch)
    heed = select.apply_feedback

    def beside(routes, feedback):
        if threading.current_thread() is threading.main_thread():
            second.begin()  # the first has read the routes and is about to write them
        return heed(routes, feedback)

    monkeypatch.setattr(select, "apply_feedback", beside)
    assert salon(capsys, "route", file, *again)[0] == 0
    second.end()
    assert json.loads(file.read_text())["heard"] == 2


def test_routes_are_made_used_and_moved(capsys, tmp_path: Path) -> None:
    save_study(arena_study(prompts=12, raters=3, seed=4), tmp_path / "study")
    (tmp_path / "prompts.csv").write_text("id,text,category\na,x,mug\nb,y,banner\n")
    file = tmp_path / "routes.json"
    code, said, _ = salon(capsys, "route", tmp_path / "study", "--prior", "2", "-o", file)
    assert code == 0
    assert "all criteria alike" in said
    code, said, _ = salon(
        capsys, "route", file, "-w", "color=1", "--prompts", tmp_path / "prompts.csv", "--explore", "thompson", "--json"
    )
    found = json.loads(said)
    assert code == 0
    assert [one["category"] for one in found["choices"]] == ["mug", None]
    (tmp_path / "heard.jsonl").write_text('{"winner": "di", "loser": "ada", "criterion": "color"}\n')
    code, said, _ = salon(capsys, "route", file, "--feedback", tmp_path / "heard.jsonl", "-o", file, "--overwrite")
    assert code == 0
    assert "1 comparison came back" in said
    for arguments, told in (
        ((file, "--prior", "1"), "--prior goes with a study"),
        ((tmp_path / "prompts.csv",), "JSON"),
        ((tmp_path / "study", "-o", file), "only replaced when asked to"),
        ((file, "-w", "hue=1", "--prompts", tmp_path / "prompts.csv"), "'hue'"),
    ):
        code, _, error = salon(capsys, "route", *arguments)
        assert code == 2
        assert told in error
