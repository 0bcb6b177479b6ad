"""`salon payments`: the list, its file, and ids of a panel only where they are asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import tomli_w
from click.testing import CliRunner

from salon.cli.main import salon
from salon.collect import RawAnswer, ShownTask, open_studio, read_panel_ids
from salon.store import save_study
from salon.study import Criterion, Item, Study


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A studio in which one visitor answered everything."""
    place = tmp_path_factory.mktemp("payments") / "study"
    items = [Item(id=id) for id in ("red", "blue")]
    save_study(Study.build("small", [Criterion(id="overall")], compare_within="all", tables={"items": items}), place)
    phase = {"id": "main", "protocol": "compare", "criteria": ["overall"], "checks": {"repeats": 0}}
    settings = {
        "cohorts": [{"id": "crowd", "phases": [phase]}],
        "pay": {"flat": 2.5, "bonus": [{"measure": "answers", "least": 1, "amount": 0.4}], "currency": "EUR"},
        "panel": {"done": {"code": "C-1"}},
    }
    (place / "studio.toml").write_text(tomli_w.dumps(settings))
    with open_studio(place) as studio:
        assert studio.panel is not None
        ids = read_panel_ids(studio.panel, [("PROLIFIC_PID", "zqxwperson"), ("SESSION_ID", "zqxwsession")])
        visitor = studio.admit(ids)
        assert visitor is not None
        while isinstance(step := studio.next(visitor.rater), ShownTask):
            sent = RawAnswer.parse({"answers": {"overall": "left"}})
            studio.submit(visitor.rater, step.id, sent, key=f"key-{step.id}")
    return place


def run(*arguments: object) -> str:
    answer = CliRunner().invoke(salon, ["payments", *map(str, arguments)])
    assert answer.exit_code == 0, answer.exception
    return answer.stdout


def test_the_list_has_no_ids_unless_asked(folder: Path, tmp_path: Path) -> None:
    printed = run(folder) + run(folder, "--json") + run(folder, "-o", tmp_path / "p.csv")
    assert "zqxw" not in printed
    text = (tmp_path / "p.csv").read_text()
    assert "zqxw" not in text
    assert "participant" not in text
    assert ",done,C-1," in text
    assert text.splitlines()[1].endswith(",2.50,0.40,2.90,EUR")
    assert "2.90 EUR" in printed


def test_with_ids_in_a_file_that_only_its_owner_reads(folder: Path, tmp_path: Path) -> None:
    run(folder, "-o", tmp_path / "p.csv", "--with-panel-ids")
    assert ",zqxwperson,,zqxwsession,crowd," in (tmp_path / "p.csv").read_text()
    assert (tmp_path / "p.csv").stat().st_mode & 0o077 == 0
    run(folder, "-o", tmp_path / "bonus.csv", "--with-panel-ids", "--bonus-only")
    assert (tmp_path / "bonus.csv").read_text() == "zqxwperson,0.40\n"
    (line,) = json.loads(run(folder, "--json", "--with-panel-ids"))["payments"]
    assert (line["participant"], line["bonus"]) == ("zqxwperson", "0.40")


def test_bonuses_need_the_ids_and_a_file_is_not_replaced_unasked(folder: Path, tmp_path: Path) -> None:
    assert CliRunner().invoke(salon, ["payments", str(folder), "--bonus-only"]).exit_code == 1
    (tmp_path / "p.csv").write_text("mine")
    assert CliRunner().invoke(salon, ["payments", str(folder), "-o", str(tmp_path / "p.csv")]).exit_code == 1
    assert (tmp_path / "p.csv").read_text() == "mine"
