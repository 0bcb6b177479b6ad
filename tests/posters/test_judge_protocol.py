"""A judge asked in the released words: read from the files the user names, known by their hash, named in the table."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from PIL import Image
from public_files import made

from salon.bench import find_files, picture_root, read_judges, read_protocol
from salon.bench.posters import judge_protocol
from salon.bench.posters.judge import judge_files
from salon.bench.posters.judge_protocol import ANSWER, POINT, prompt_hash
from salon.cli.main import salon as command
from salon.errors import BadFile
from salon.judge import Conversation, ScriptedVlm, Sight

UND = """
import openai_that_is_not_installed
def task_composition_understanding(client, data, json_item):
    prompt_templet = 'Is it said?'
    def process_item(item):
        promts = [prompt_templet + "\\n" + "Told: " + item["response"] + " Wanted: " + gt for gt in item["gt"]]
        item["judge"] = api(client, prompt=promts)
"""
GEN = """
def process_item_list(new_item, client, model, prompt_templet):
    prompt = [prompt_templet + gt for gt in new_item["gt"]]
def task_dense_generation(data):
    prompt_templet = 'Is it there? '
def task_style_generation(data):
    prompt_templet = "Which style?"
raise SystemExit("never run")
"""
PIECES = {
    "composition_understanding": ("Is it said?", "\n", "Told: ", ANSWER, " Wanted: ", POINT),
    "gen_dense": ("Is it there? ", POINT),
    "gen_style": ("Which style?",),
}


@pytest.fixture
def released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files of the released shape, whose hashes are taken for the released ones."""
    folder = tmp_path / "release"
    folder.mkdir()
    (folder / "und_metric.py").write_text(UND)
    (folder / "gen_metric.py").write_text(GEN)
    for task, pieces in PIECES.items():
        monkeypatch.setitem(judge_protocol._HASHES, task, prompt_hash(pieces))
    return folder


def test_prompts_are_read_out_of_the_files_and_nothing_is_run(released: Path) -> None:
    assert dict(read_protocol(released).prompts) == PIECES
    alone = read_protocol(released / "und_metric.py")
    assert alone.question("composition_understanding", "a fox", "no hen") == "Is it said?\nTold: no hen Wanted: a fox"
    with pytest.raises(BadFile, match="gen_dense"):
        alone.question("gen_dense", "a fox", "")


def test_other_prompts_are_refused_by_their_hash(released: Path, tmp_path: Path) -> None:
    (released / "und_metric.py").write_text(UND.replace("Is it said?", "Is it said!"))
    with pytest.raises(BadFile, match="SHA-256"):
        read_protocol(released)
    for text in ("", "def f(:", "x = 1"):
        place = tmp_path / "other.py"
        place.write_text(text)
        with pytest.raises(BadFile):
            read_protocol(place)


def test_the_judge_is_asked_text_first_and_the_table_names_the_protocol(released: Path, tmp_path: Path) -> None:
    home = tmp_path / "set"
    for name in ("composition_understanding", "gen_style", "gen_dense"):
        file = made(name, 2)
        if name == "composition_understanding":
            file = file.edited({i: {"response": f"answer {i}"} for i in range(2)})
        file.write(home / file.task.place)
        for item in file.items:
            place = home / item.path.replace("\\", "/")
            place.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8)).save(place)
    heard: list[Conversation] = []

    def reply(asked: Conversation) -> str:
        heard.append(asked)
        return "Yes"

    files = find_files([home])
    report = judge_files(files, ScriptedVlm("gpt", reply), pictures=home, protocol=read_protocol(released))
    assert report.protocol == "released"
    texts = [part for asked in heard for part in asked.parts if isinstance(part, str)]
    assert "Is it said?\nTold: answer 0 Wanted: the title is mirrored" in texts
    shown = [asked.parts for asked in heard if any(isinstance(part, Sight) for part in asked.parts)]
    assert shown
    assert all(isinstance(parts[0], str) and isinstance(parts[1], Sight) for parts in shown)
    assert {asked.decoding.max_tokens for asked in heard} == {5000}
    assert json.loads((home / "gen_task/gen_style.json").read_text())[0]["judge"] == "Yes"  # text, as released
    assert [card.protocol for card in read_judges(picture_root(home))] == ["released"]
    done = CliRunner().invoke(command, ["bench", "posters", "score", str(home), "--draws", "100"])
    assert "judged by the released protocol" in " ".join(done.output.split())
