"""People answer what a judge answered: drawn into a study, ticked in a studio, and held against the judge."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image
from public_files import made

from salon.bench import PosterFile, people_study
from salon.bench.posters.judge import TICK
from salon.cli.main import salon as command
from salon.collect import RawAnswer, ShownTask, Studio
from salon.collect.settings import read_settings_file
from salon.errors import TooFew
from salon.store import open_database, open_study

HOUR = 3_600_000
"""Milliseconds: nobody is too fast."""


@pytest.fixture
def judged(tmp_path: Path) -> PosterFile:
    """Eight answers with two points each: the judge says yes to the first, no to the second, and once nothing."""
    file = made("composition_understanding", 8)
    for item in file.items:
        place = tmp_path / "set" / item.path
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (60, 80), (9, 99, 20 * item.number)).save(place)
    said = {i: {"response": f"It is mirrored, {i}.", "judge": ["Yes", "No"]} for i in range(8)}
    return file.edited(said | {7: {"response": "?", "judge": ["Error", "No"]}})


def test_verdicts_become_a_study(judged: PosterFile, tmp_path: Path) -> None:
    report = people_study([judged], tmp_path / "set", tmp_path / "people", judge="gpt", n=10, seed=1)
    assert (report.drawn, report.of, report.unread, report.no_picture) == (10, 15, 1, 0)
    study = open_study(tmp_path / "people")
    ticks = list(study.nouns("checklists"))
    assert {tick.rater for tick in ticks} == {"gpt"}
    assert all(tick.answers == (tick.item.endswith("-00"),) for tick in ticks)
    prompt = next(iter(study.nouns("prompts")))
    assert "It is mirrored" in (prompt.text or "")
    assert "Point: " in (prompt.text or "")
    again = people_study([judged], tmp_path / "set", tmp_path / "again", judge="gpt", n=10, seed=1)
    assert again.model_copy(update={"output": report.output}) == report
    with pytest.raises(TooFew, match="16 verdicts"):
        people_study([judged], tmp_path / "set", tmp_path / "more", judge="gpt", n=16)


def test_people_answer_in_the_studio_and_the_report_tells_how_often_they_agree(
    judged: PosterFile, tmp_path: Path
) -> None:
    people_study([judged], tmp_path / "set", tmp_path / "people", judge="gpt", n=12)
    database = open_database(f"sqlite:///{tmp_path / 'people' / 'studio.db'}", create=True)
    database.put_study(open_study(tmp_path / "people"))
    settings = read_settings_file(tmp_path / "people" / "studio.toml")
    studio = Studio(database, settings, tmp_path / "people")
    odd = next(iter(studio.items))
    for others in ({odd}, {odd}, set()):  # all tick as the judge did, but two of three on one item
        _walk(studio, others)
    studio.close()
    database.close()
    done = CliRunner().invoke(command, ["judge", "report", str(tmp_path / "people"), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    told = json.loads(done.output[done.output.index("{") :])
    (judge,) = told["ticks"]["judges"]
    assert judge["name"] == "gpt"
    assert judge["pooled"]["accuracy"]["value"] == pytest.approx(11 / 12)
    assert TICK in json.dumps(told)


def _walk(studio: Studio, others: set[str]) -> None:
    """One person, from the first question to the last; the judge's answer is the item's name."""
    rater, now = studio.invite("people")[0].rater, 1_000_000
    studio.next(rater, now=now)
    now += HOUR
    studio.read_guidelines(rater, now=now)
    for number in count():
        step = studio.next(rater, now=now)
        if not isinstance(step, ShownTask):
            return
        item = step.shown.question.items[0]
        says = item.endswith("-00") != (item in others)
        now += HOUR
        studio.submit(rater, step.id, RawAnswer(answers={"covered": [says]}), key=f"{rater}-{number}", now=now)


def test_people_from_the_terminal(judged: PosterFile, tmp_path: Path) -> None:
    judged.write(tmp_path / "answers" / judged.task.place)
    args = ["bench", "posters", "people", tmp_path / "answers", "--pictures", tmp_path / "set", "-n", 4]
    done = CliRunner().invoke(command, [*map(str, args), "-o", str(tmp_path / "people"), "--json"])
    assert json.loads(done.output)["drawn"] == 4
    assert "checklist" in (tmp_path / "people" / "studio.toml").read_text()
