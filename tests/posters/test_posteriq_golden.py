"""PosterIQ as it was released: its files are read, its runners' outputs scored, its numbers reproduced."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image

from salon.bench import PosterScoreSettings, RunCard, find_files, score_files, with_released
from salon.bench.posters.compat import released_scores
from salon.bench.posters.files import claim_folder, open_file, open_files, parse_file, write_back
from salon.bench.posters.run import run_vlm
from salon.cli.main import salon as command
from salon.errors import BadFile
from salon.judge import Conversation, ScriptedVlm, Sight
from salon.store import size_within

HERE = Path(__file__).parent.parent / "golden" / "posteriq"
QUICK = PosterScoreSettings(draws=100)


@pytest.fixture
def posteriq(salon_peers: Path) -> Path:
    """The miniature of all 24 files with answers in 23 styles and the released numbers of each."""
    return salon_peers / "posteriq"


def differences(home: Path, name: str, figures: dict[str, float | None], crashes: dict[str, str]) -> list[str]:
    """Where our reproduction of the released scoring gives another number, or another exception."""
    files = [file for kind in ("bench", "score") for file in open_files(home / f"{name}_{kind}.json")]
    numbers = released_scores(files)
    wrong = []
    for figure, wanted in figures.items():
        task, metric = figure.split(".")
        number = numbers[task][metric]
        same = number.crash == crashes[figure] if wanted is None else number.value == pytest.approx(wanted, abs=1e-9)
        wrong += [] if same else [f"{figure}: wanted {wanted}, found {number}"]
    return wrong


def test_the_released_numbers_come_out_of_mixed_answers() -> None:
    figures = json.loads((HERE / "released.json").read_text())
    assert len(figures) == 32
    assert differences(HERE, "mixed", figures, {}) == []


@pytest.mark.data
def test_the_released_numbers_come_out_in_every_style(posteriq: Path) -> None:
    styles = json.loads((posteriq / "released_scores.json").read_text())
    wrong = {
        style: told
        for style, known in styles.items()
        if (told := differences(posteriq / "answers", style, known["figures"], known["crashes"]))
    }
    assert wrong == {}
    assert sum(value is not None for known in styles.values() for value in known["figures"].values()) == 699


@pytest.mark.data
def test_all_files_are_read_and_written_back_as_the_same_bytes(posteriq: Path, tmp_path: Path) -> None:
    files = find_files([posteriq])
    assert len(files) == 24
    assert sum(len(file.items) for file in files) == 323 + 68
    for file in files:
        answered = file.edited({item.number: {"response": "x", "judge": ["Yes"]} for item in file.items})
        again = answered.edited({item.number: {"response": None, "judge": None} for item in file.items})
        again.write(tmp_path / file.path.name)
        assert (tmp_path / file.path.name).read_bytes() == file.path.read_bytes(), file.path.name


def test_a_merged_list_is_read_by_task_and_written_back_whole(tmp_path: Path) -> None:
    place = tmp_path / "gpt_bench.json"
    shutil.copy(HERE / "mixed_bench.json", place)
    files = open_files(place)
    assert len(files) == 19
    records = json.loads(place.read_text())
    assert sum(len(file.items) for file in files) == len(records)
    assert all(records[at] == file.records[i] for file in files for i, at in enumerate(file.merged_at))
    composition, intention = (next(f for f in files if f.task.name == name) for name in
                              ("composition_understanding", "intention_understanding"))  # fmt: skip
    write_back(composition, {0: {"judge": ["No"]}})
    write_back(intention, {1: {"judge": None}})  # read before the other was written
    changed = json.loads(place.read_text())
    assert changed[composition.merged_at[0]]["judge"] == ["No"]
    assert "judge" not in changed[intention.merged_at[1]]
    assert sum(new != old for new, old in zip(changed, records, strict=True)) == 2


def test_a_merged_list_beside_its_files_is_not_counted_twice(tmp_path: Path) -> None:
    folder = tmp_path / "gen_task"
    folder.mkdir()
    for file in open_files(HERE / "mixed_score.json"):
        bare = file.edited({item.number: {"judge": None} for item in file.items})
        bare.write(folder / f"{file.task.name}.json")
    questions = [record for path in sorted(folder.glob("*.json")) for record in json.loads(path.read_text())]
    (folder / "merge.json").write_text(json.dumps(questions))
    assert [file.path.name for file in find_files([tmp_path])] == [
        "gen_dense.json", "gen_font.json", "gen_style.json", "gen_composition.json", "gen_intention.json",
    ]  # fmt: skip
    judged = find_files([tmp_path, HERE / "mixed_score.json"])  # the list with verdicts counts
    assert {file.path.name for file in judged} == {"mixed_score.json"}


def test_runners_outputs_are_scored_from_the_terminal_under_the_models_name(tmp_path: Path) -> None:
    place = tmp_path / "gpt-5_bench.json"
    shutil.copy(HERE / "mixed_bench.json", place)
    call = ["bench", "posters", "score", str(place), "--compat", "released", "--draws", "100", "--json"]
    done = CliRunner().invoke(command, call, catch_exceptions=False)
    report = json.loads(done.output)
    assert report["contestant"] == "gpt-5"
    assert sum(task["items"] for task in report["tasks"]) == 124
    figures = json.loads((HERE / "released.json").read_text())
    assert report["tasks"][0]["metrics"][0]["released"] == pytest.approx(figures["logo_ocr.accuracy"])


def test_where_the_released_code_ends_with_an_exception_it_is_named(tmp_path: Path) -> None:
    files = open_files(HERE / "mixed_bench.json")
    at = next(i for i, file in enumerate(files) if file.task.name == "font_effect")
    files[at] = files[at].edited({0: {"response": None, "error": "timeout"}})
    report = with_released(score_files(files, QUICK), files)
    crashes = {task.task: metric.released_crash for task in report.tasks for metric in task.metrics
               if metric.released_crash}  # fmt: skip
    assert crashes == {"font_effect": "KeyError", "rotation": "KeyError", "alignment": "KeyError"}
    groups = {group.group: group.released for group in report.groups}
    assert (groups["Font"], groups["Layout"], report.overall_released) == (None, None, None)
    assert groups["OCR"] is not None
    for file in files:
        file.write(tmp_path / f"{file.task.name}.json")
    done = CliRunner().invoke(command, ["bench", "posters", "score", str(tmp_path), "--compat", "released", "--draws",
                                        "100"], catch_exceptions=False)  # fmt: skip
    assert "crash: KeyError" in done.output


def test_a_response_that_is_no_text_refuses_nothing(tmp_path: Path) -> None:
    file = next(file for file in open_files(HERE / "mixed_bench.json") if file.task.name == "font_attributes")
    held = [["A"], [{"type": "text", "text": "B"}], 7, {"answer": "A"}, [], None]
    file.edited({i: {"response": said} for i, said in enumerate(held)}).write(tmp_path / "font_attributes.json")
    texts = [item.response for item in open_file(tmp_path / "font_attributes.json").items]
    assert texts == ["A", "B", "7", '{"answer": "A"}', "", None]


def test_boxes_in_pixels_refer_to_the_picture_that_was_shown(tmp_path: Path) -> None:
    """A picture of 2,400 x 1,600 is sent as 1,254 x 836: perfect boxes in its pixels are perfect."""
    record = {"task": "text localization", "subtask": "x", "name": "a.png", "path": "a.png", "prompt": "?",
              "texts": ["A"], "text_bbox": [[600, 400, 1800, 1200]], "size": [2400, 1600]}  # fmt: skip
    file = parse_file(json.dumps([record]), tmp_path / "und_task" / "text_localization.json")
    width, height = size_within(2400, 1600, 1024 * 1024)
    assert (width, height) == (1254, 836)
    said = json.dumps([[0.25 * width, 0.25 * height, 0.75 * width, 0.75 * height]])
    answered = file.edited({0: {"response": said}})

    def top1(**settings: int) -> float:
        figure = (
            score_files([answered], PosterScoreSettings(boxes="pixel", draws=100, **settings))
            .tasks[0]
            .metrics[0]
            .figure
        )
        assert figure is not None
        return figure.value

    assert top1(shown_pixels=1024 * 1024) == pytest.approx(1)
    assert top1() < 0.3
    answered.write(answered.path)
    claim_folder(tmp_path, RunCard(contestant="vlm", signature="v", boxes="pixel", shown_pixels=1024 * 1024))
    done = CliRunner().invoke(command, ["bench", "posters", "score", str(tmp_path), "--json"], catch_exceptions=False)
    assert json.loads(done.output)["tasks"][0]["metrics"][0]["figure"]["value"] == pytest.approx(1)


def test_a_vlm_is_asked_before_it_is_shown_the_picture(tmp_path: Path) -> None:
    file = next(file for file in open_files(HERE / "mixed_bench.json") if file.task.name == "font_effect")
    for item in file.items:
        place = tmp_path / item.path
        place.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(place)
    for first, out in ((False, "released"), (True, "other")):
        heard: list[Conversation] = []
        vlm = ScriptedVlm("vlm", lambda asked, heard=heard: heard.append(asked) or "A")  # type: ignore[func-returns-value]
        run_vlm([file], vlm, tmp_path, tmp_path / out, picture_first=first)
        assert heard
        assert all(isinstance(asked.parts[0], Sight) == first for asked in heard)
    with pytest.raises(BadFile, match="text first"):
        run_vlm([file], vlm, tmp_path, tmp_path / "released", picture_first=True)
