"""A scripted judge says what its script says, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from salon.errors import BadFile, BadValue
from salon.judge import Conversation, NoReply, Reply, ScriptedVlm, Sight, Vlm


def asked(*items: str, **more: object) -> Conversation:
    return Conversation(parts=tuple(Sight(item=item, path=Path(item)) for item in items), **more)


def said(judge: ScriptedVlm, *conversations: Conversation) -> list[str]:
    return [
        one.text if isinstance(one, Reply) else f"{one.kind}: {one.reason}" for _, one in judge.reply(conversations)
    ]


def test_a_list_is_read_from_the_top_and_ends() -> None:
    judge = ScriptedVlm("s", ["A", NoReply(kind="refused", reason="no")])
    assert isinstance(judge, Vlm)
    assert said(judge, asked("x")) == ["A"]
    assert said(judge, asked("x"), asked("x")) == ["refused: no", "error: the script is at its end"]


def test_a_function_sees_the_conversation() -> None:
    judge = ScriptedVlm("s", lambda asked: asked.sights[0].item)
    assert list(judge.reply([asked("x"), asked("y")])) == [
        (0, Reply(text="x", model="scripted")),
        (1, Reply(text="y", model="scripted")),
    ]


def test_the_first_line_of_a_file_that_fits_answers(tmp_path: Path) -> None:
    lines = [
        {"text": "A", "items": ["x", "y"], "about": "mood"},
        {"text": "B", "items": ["y", "x"]},
        {"text": "not this", "none": "refused", "point": "title"},
        {"text": "second try", "sample": 1},
    ]
    path = tmp_path / "script.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    judge = ScriptedVlm("s", path)
    questions = [
        *(asked("x", "y", about=("mood",)), asked("y", "x"), asked("x", point="title"), asked("x", sample=1)),
        asked("x", "y", about=("type",)),
    ]
    nothing = "error: the script has no line for this question"
    assert said(judge, *questions) == ["A", "B", "refused: not this", "second try", nothing]


def test_another_script_is_another_signature(tmp_path: Path) -> None:
    assert ScriptedVlm("s", ["A"]).signature == ScriptedVlm("t", ["A"]).signature
    assert ScriptedVlm("s", ["A"]).signature != ScriptedVlm("s", ["B"]).signature


@pytest.mark.parametrize(
    ("content", "error", "match"),
    [
        ('{"text": "A"}\n{"text"', BadFile, "line 2"),
        ("[1]", BadFile, "a JSON object is needed"),
        ('{"txt": "A"}', BadValue, "line 1"),
    ],
)
def test_a_broken_file_names_its_line(tmp_path: Path, content: str, error: type[Exception], match: str) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text(content)
    with pytest.raises(error, match=match):
        ScriptedVlm("s", path)
    with pytest.raises(BadFile, match="missing"):
        ScriptedVlm("s", tmp_path / "missing")
