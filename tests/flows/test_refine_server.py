"""The loop through a real HTTP server: bad answers are counted, and no answer is bought twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from refine_example import PROMPTS, Lightness, Painter, revised
from tiny_vlm import build_tiny_vlm

from salon.judge import JudgeSpec
from salon.select import RefineSettings, open_diagnosing_vlm, refine_study
from salon.select.refine_scores import RefineReport

BAD = {
    1: "x" * 100_000,
    2: {"content": json.dumps({"diagnosis": [], "prompt": "cut off"})[:-3], "finish_reason": "length"},
    3: {"content": "", "finish_reason": "content_filter"},
}
"""What the model says of each prompt; of the first it says what it should."""


def brain(body: dict[str, Any]) -> Any:
    texts = [part["text"] for part in body["messages"][0]["content"] if part["type"] == "text"]
    number = next(number for number, prompt in enumerate(PROMPTS) if json.dumps(prompt.text) in texts)
    return BAD.get(number) or revised("ein Plakat, 海報, ملصق!")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(brain) as running:
        yield running


def loop(server: ChatServer, folder: Path) -> RefineReport:
    named = JudgeSpec(model="tiny-1", endpoint=server.url, key_env="none", most_tokens=0)  # asks nothing again
    with open_diagnosing_vlm(named, folder) as vlm:
        return refine_study(
            PROMPTS, Painter(), vlm, RefineSettings(rounds=1, control=False), folder, scorers=[Lightness()]
        )


def test_each_picture_is_sent_with_its_prompt_and_what_cannot_be_read_is_counted(
    server: ChatServer, tmp_path: Path
) -> None:
    report = loop(server, tmp_path / "loop")
    assert report.is_complete
    assert report.replies == {"none": 1, "revised": 1, "unread": 2}
    assert report.unread == {"no answer": 1, "breaks off": 1, "refused": 1}
    assert [chain.steps[1].prompt.text for chain in report.chains if chain.steps[1].prompt] == [
        "ein Plakat, 海報, ملصق!", "poster 1", "poster 2", "poster 3",
    ]  # fmt: skip
    kinds = [part["type"] for part in server.seen[-1].fields["messages"][0]["content"]]
    assert kinds.count("image_url") == 1


def test_a_second_run_asks_nothing_and_a_lost_line_costs_nothing(server: ChatServer, tmp_path: Path) -> None:
    first = loop(server, tmp_path / "loop")
    sent = len(server.seen)
    path = tmp_path / "loop" / "refine" / "replies.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]) + lines[-1][:40])
    again = loop(server, tmp_path / "loop")
    assert len(server.seen) == sent
    assert again.chains == first.chains


def test_a_real_vlm_in_a_folder_says_nothing_of_use_and_nothing_is_guessed(tmp_path: Path) -> None:
    config = build_tiny_vlm(tmp_path / "tiny") / "config.json"
    config.write_text(config.read_text().replace('"max_position_embeddings": 512', '"max_position_embeddings": 4096'))
    named = JudgeSpec(transformers=str(tmp_path / "tiny"), device="cpu")
    with open_diagnosing_vlm(named, tmp_path / "loop") as vlm:
        report = refine_study(
            PROMPTS[:1], Painter(), vlm, RefineSettings(rounds=1, control=False, max_tokens=8), tmp_path / "loop",
        )  # fmt: skip
    assert report.is_complete
    assert report.replies == {"unread": 1}
    assert report.chains[0].steps[1].prompt == PROMPTS[0]
    assert (tmp_path / "loop.replies.jsonl").is_file()
