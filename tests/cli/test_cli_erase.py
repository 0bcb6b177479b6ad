"""erase: a rater who asks for it is gone from tables, studio and bytes; nobody else loses anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from salon.collect import open_studio
from salon.store import held, open_database, open_study, table_files

VOTES = """left,right,winner,worker,prompt
fox,owl,left,Annabel Q,p1
owl,elk,right,Annabel Q,p1
fox,owl,tie,bob,p1
fox,owl,left,Annabel Q,p2
"""


@pytest.fixture(autouse=True)
def _study(salon) -> None:
    Path("votes.csv").write_text(VOTES)
    assert salon("import comparisons votes.csv -o study").code == 0


def holds(name: str) -> list[str]:
    """The files below the study in which a name stands."""
    return [str(file) for file in Path("study").rglob("*") if file.is_file() and name.encode() in file.read_bytes()]


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl", "huggingface"])
def test_a_rater_is_gone_and_the_folder_stays_as_it_is(salon, form) -> None:
    salon(f"export study --to {form} -o other")
    Path("other").rename(Path("study").rename("before").with_name("study"))
    Path("study/own notes.txt").write_text("kept")
    files = set(table_files(Path("study")).values())
    told = salon("erase study --rater 'Annabel Q' --yes")
    assert (told.code, told.err) == (0, "")
    assert "3 comparisons and their row among the raters" in told.out
    assert "backups, exports" in told.out
    left = open_study("study")
    assert left.counts == {"prompts": 2, "items": 5, "raters": 1, "comparisons": 1}
    assert left.revisions[-1].reason == "a rater was erased"
    assert set(table_files(Path("study")).values()) == files
    assert holds("Annabel") == []
    assert Path("study/own notes.txt").read_text() == "kept"


def test_without_yes_it_asks_and_a_no_changes_nothing(salon, monkeypatch) -> None:
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "n")
    told = salon("erase study --rater bob")
    assert told.code == 130
    assert "1 comparison and their row" in told.out
    assert salon("erase study --rater bob --json").code == 2
    assert open_study("study").counts["raters"] == 2
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _: "y")
    assert salon("erase study --rater bob").code == 0
    assert open_study("study").ids("raters").to_pylist() == ["Annabel Q"]


def test_an_unknown_rater_is_refused_with_near_names(salon) -> None:
    told = salon("erase study --rater 'Anabel Q' --yes")
    assert told.code == 2
    assert "'Annabel Q'" in told.err
    salon("init empty")
    assert "no raters" in salon("erase empty --rater bob --yes").err
    assert "folder" in salon("erase sqlite:///study/studio.db --rater bob --yes").err


def test_the_studio_in_the_folder_forgets_them_too(salon) -> None:
    with open_studio(Path("study")) as studio:
        rater = studio.invite(studio.settings.cohorts[0].id, 1)[0].rater
    with held(Path("study")):
        told = salon(f"erase study --rater {rater} --yes")
        assert (told.code, "studio is open" in told.err) == (2, True)
    told = salon(f"erase study --rater {rater} --yes --json")
    assert told.json["judgments"] is None
    assert told.json["studio_answers"] == 0
    assert salon("erase study --rater 'Annabel Q' --yes").code == 0
    with open_database(Path("study/studio.db")) as database:
        assert [state.id for state in database.raters()] == ["bob"]
    assert holds("Annabel") == []
