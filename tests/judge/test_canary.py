"""Canaries: asked once a day, quiet while the model stays, loud when it moves."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer

from salon.calls import CallStore, Limits
from salon.errors import BadFile
from salon.judge import Conversation, OpenAIChat
from salon.judge.canary import choose_canaries, read_canary_answers, watch_canaries

QUESTIONS = [Conversation(parts=(f"question {n}",), options=("A", "B")) for n in range(40)]
MONDAY, TUESDAY = date(2026, 11, 16), date(2026, 11, 17)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(model="tiny") as server:
        yield server


@pytest.fixture
def vlm(server: ChatServer, tmp_path: Path) -> Any:
    with CallStore(tmp_path / "calls.sqlite") as store:
        vlm = OpenAIChat("j", model="tiny", base_url=server.url, store=store, limits=Limits(first_wait=0.01))
        yield vlm
        vlm.close()


def test_once_a_day_and_quiet(server: ChatServer, vlm: OpenAIChat, tmp_path: Path) -> None:
    path, canaries = tmp_path / "canaries.jsonl", choose_canaries(QUESTIONS, 4)
    first = watch_canaries(vlm, canaries, path, day=MONDAY)
    assert (first.compared, first.moved, first.warnings()) == (4, 0, [])
    assert len(server.seen) == 8  # twice on the first day
    written = path.read_bytes()
    assert watch_canaries(vlm, canaries, path, day=MONDAY) == first
    assert (len(server.seen), path.read_bytes()) == (8, written)
    later = watch_canaries(vlm, canaries, path, day=TUESDAY)
    assert (later.since, later.compared, later.moved, later.warnings()) == ("2026-11-16", 4, 0, [])
    assert len(server.seen) == 12
    assert len(read_canary_answers(path)) == 12
    list(vlm.reply(canaries))  # the run itself asks for itself
    assert len(server.seen) == 16


def test_a_model_that_moves_is_noticed(server: ChatServer, vlm: OpenAIChat, tmp_path: Path) -> None:
    path, canaries = tmp_path / "canaries.jsonl", choose_canaries(QUESTIONS, 4)
    watch_canaries(vlm, canaries, path, day=MONDAY)
    changed = str(canaries[0].parts[0])
    server.brain = lambda body: '{"verdict": "B"}' if changed in json.dumps(body) else "other words, still A"
    server.model = "tiny-2"
    drift = watch_canaries(vlm, canaries, path, day=TUESDAY)
    assert (drift.compared, drift.moved) == (4, 1)
    moved, renamed, unpinned = drift.warnings()
    assert "1 of 4 canaries answer differently than on 2026-11-16" in moved
    assert "tiny-2; on 2026-11-16 it was tiny" in renamed
    assert "name that one" in unpinned


def test_a_canary_without_a_steady_answer_is_no_sign(server: ChatServer, vlm: OpenAIChat, tmp_path: Path) -> None:
    path, canaries = tmp_path / "canaries.jsonl", choose_canaries(QUESTIONS, 4)
    torn = str(canaries[0].parts[0])

    def brain(body: dict[str, Any]) -> str:
        return "AB"[server.counts[torn] % 2] if torn in json.dumps(body) else "A"

    server.brain = brain
    assert watch_canaries(vlm, canaries, path, day=MONDAY).unsteady == 1
    server.brain = lambda body: "B" if torn in json.dumps(body) else "A"
    drift = watch_canaries(vlm, canaries, path, day=TUESDAY)
    assert (drift.compared, drift.moved, drift.unsteady) == (3, 0, 1)


def test_refusals_are_answers_too(server: ChatServer, vlm: OpenAIChat, tmp_path: Path) -> None:
    path, canaries = tmp_path / "canaries.jsonl", choose_canaries(QUESTIONS, 2)
    watch_canaries(vlm, canaries, path, day=MONDAY)
    server.always = "filtered"
    assert watch_canaries(vlm, canaries, path, day=TUESDAY).moved == 2


def test_choice() -> None:
    chosen = choose_canaries(QUESTIONS, 8)
    assert chosen == choose_canaries(QUESTIONS[::-1], 8)
    assert set(choose_canaries(QUESTIONS[:30], 8)) >= {one for one in chosen if one in QUESTIONS[:30]}
    assert choose_canaries(QUESTIONS[:3], 8) == choose_canaries(QUESTIONS[:3], 3)


def test_a_damaged_file(vlm: OpenAIChat, tmp_path: Path) -> None:
    (tmp_path / "canaries.jsonl").write_text('{"day": "2026')
    with pytest.raises(BadFile, match="canaries"):
        watch_canaries(vlm, QUESTIONS[:1], tmp_path / "canaries.jsonl", day=MONDAY)
