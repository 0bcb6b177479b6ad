"""Judges that measure, under the protocol of every other: folders, broken pictures, nothing looked at twice."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest

from salon.cli.main import run as salon
from salon.errors import BadValue
from salon.generate import GenerateSettings, generate_items, house_generator
from salon.judge import JudgeRun, JudgeSettings, judge_study, measuring_judge as pixels, read_verdicts
from salon.judge.measuring_judge import pixel_judge
from salon.models import ResultCache
from salon.render import Brief, brief_prompt
from salon.store import open_study
from salon.study import Point

CHECKLIST = JudgeSettings(protocol="checklist")
BRIEFS = [
    Brief(id=id, headline=headline, subject="fish", style="Flat Design", palette=("turquoise", "coral"))
    for id, headline in (("one", "Night Market"), ("two", "Harbour Swim"))
]
POINTS = [
    Point(id="headline", prompt="one", rule={"kind": "text", "text": "Night Market"}),
    Point(id="headline", prompt="two", rule={"kind": "text", "text": "Harbour Fair"}),
    Point(id="leads", tag="color", rule={"kind": "color", "color": "turquoise", "leads": True}),
]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clean posters, drawn once."""
    folder = tmp_path_factory.mktemp("drawn") / "s"
    prompts = [brief_prompt(brief) for brief in BRIEFS]
    generate_items(prompts, [house_generator("proof", processes=1)], GenerateSettings(size="368x520"), folder)
    with (folder / "study.toml").open("a") as file:
        file.write('\n[[criteria]]\nid = "points"\n')
    return folder


@pytest.fixture
def study(drawn: Path, tmp_path: Path) -> Path:
    """A copy of the two posters, and the points about them."""
    shutil.copytree(drawn, tmp_path / "s")
    (tmp_path / "points.jsonl").write_text("".join(json.dumps(point.record()) + "\n" for point in POINTS))
    return tmp_path / "s"


def said(study: Path, name: str) -> dict[tuple[str, str], float | None]:
    rows = read_verdicts(study / "judges" / name).to_pylist()
    return {(row["prompt"], row["point"]): row["value"] for row in rows}


EXPECTED = {("one", "headline"): 1, ("one", "leads"): 1, ("two", "headline"): 0, ("two", "leads"): 1}


def test_pixels_and_record_answer_alike_at_the_terminal(study: Path, capsys) -> None:
    points = str(study.parent / "points.jsonl")
    for name in ("pixels", "layout"):
        with pytest.raises(SystemExit) as left:
            salon(["judge", "run", str(study), "--protocol", "checklist", "--points", points, "--measured", name])
        assert left.value.code == 0
        assert f"{name}: 4 of 4 verdicts read" in capsys.readouterr().out
        assert said(study, name) == EXPECTED
    rows = read_verdicts(study / "judges/pixels").to_pylist()
    assert json.loads(rows[-1]["text"])["why"].startswith("turquoise on")
    assert not open_study(study / "judges/pixels").simulated


def judged(study: Path, points: Sequence[Point], **terms) -> JudgeRun:
    """The pixel judge's run, with nothing known from other tests."""
    opened = open_study(study)
    judge = pixel_judge("p", opened, points, cache=ResultCache(study.parent / "kept.sqlite"), **terms)
    return judge_study(opened, study, judge, CHECKLIST, points=POINTS[2:], looks=False)


def test_a_second_run_looks_at_nothing(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = judged(study, POINTS)
    monkeypatch.setattr(pixels, "read_picture", None)  # not to be called
    again = judged(study, POINTS)
    assert (first.stored, again.stored, again.verdicts) == (0, 2, 2)
    assert first.signature == again.signature


def test_rules_are_part_of_who_judges(study: Path) -> None:
    one, other = (
        pixel_judge("p", open_study(study), [Point(id="c", rule={"kind": "contrast", "least": least})])
        for least in (3, 4.5)
    )
    assert str(one.signature) != str(other.signature)


def test_a_broken_picture_gets_no_reply_and_the_others_do(study: Path) -> None:
    broken = next(item for item in open_study(study).nouns("items") if item.prompt == "two")
    (study / broken.image).write_bytes(b"\x89PNG\r\n\x1a\nno more")
    done = judged(study, POINTS)
    assert (done.failed, done.unparsed) == ({"broken-image": 1}, 1)
    assert said(study, "p") == {("one", "leads"): 1, ("two", "leads"): None}


def test_several_processes_say_the_same(study: Path) -> None:
    assert judged(study, POINTS, processes=2).stored == 0
    assert said(study, "p") == {key: value for key, value in EXPECTED.items() if key[1] == "leads"}


def test_points_without_a_rule_and_other_questions_are_refused(study: Path) -> None:
    opened = open_study(study)
    with pytest.raises(BadValue, match="has a rule"):
        pixel_judge("p", opened, [Point(id="nice", text="Is it nice?")])
    with pytest.raises(BadValue, match="no rule is known"):
        judged(study, POINTS[:2])


def test_a_study_without_criteria_says_so(study: Path, capsys) -> None:
    text = (study / "study.toml").read_text()
    (study / "study.toml").write_text(text.replace('[[criteria]]\nid = "points"\n', ""))
    points = str(study.parent / "points.jsonl")
    with pytest.raises(SystemExit) as left:
        salon(["judge", "run", str(study), "--protocol", "checklist", "--points", points, "--measured", "layout"])
    assert left.value.code == 2
    assert "add [[criteria]]" in capsys.readouterr().err
