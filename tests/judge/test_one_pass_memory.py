"""A one-pass scorer in a service that never ends: what it remembers, and the VLMs it holds, are bounded."""

from __future__ import annotations

import gc
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from salon.judge import OnePass, ScorerInput
from salon.judge.scorers import one_pass
from salon.models import ModelCriterion, OnePassCard
from salon.study import Criterion, Scale, Signature

FORM = OnePass(criteria=(Criterion(id="q", scale=Scale(low=1, high=9)),), think=False)


class _Vlm:
    """Says 5 of everything, one caller at a time."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.asked, self.inside = 0, threading.Lock()

    def say(self, chats: list[Any], *, max_tokens: int) -> list[Any]:
        assert self.inside.acquire(blocking=False), "two threads in one VLM"
        time.sleep(0.001)  # so that others come in, where they can
        self.asked += len(chats)
        self.inside.release()
        return [SimpleNamespace(text=FORM.answer([5.0])) for _ in chats]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    card = OnePassCard(
        name="m", criteria=(ModelCriterion(id="q", name="q"),), asked=FORM.record(), show_prompt=True, pixels=64,
        max_tokens=9, backbone="b", backbone_name="b", study="s", data="d", signature=Signature(method="m"),
    )  # fmt: skip
    monkeypatch.setattr(one_pass, "LoadedVlm", _Vlm)
    monkeypatch.setattr(one_pass, "model_fingerprint", str)
    monkeypatch.setattr(one_pass, "read_one_pass_card", lambda _: card)
    one_pass._open_one_pass.cache_clear()
    return tmp_path


def _shown(number: int) -> ScorerInput:
    return ScorerInput(Image.new("RGB", (4, 4)), None, "p", Path("x"), f"{number:064}")


def test_the_oldest_answers_are_forgotten(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_pass, "_MOST_ANSWERS", 4)
    reader = one_pass.open_one_pass(folder)
    for number in range(10):
        assert reader.answers([_shown(number)])[0].scores == (5.0,)
    assert len(reader._known) == 4
    reader.answers([_shown(6)])  # remembered, and now the newest
    reader.answers([_shown(10)])
    assert reader.vlm.asked == 11
    reader.answers([_shown(6)])
    assert reader.vlm.asked == 11
    reader.answers([_shown(7)])
    assert reader.vlm.asked == 12


def test_a_batch_larger_than_the_memory_is_answered_whole(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(one_pass, "_MOST_ANSWERS", 2)
    reader = one_pass.open_one_pass(folder)
    assert [one.scores for one in reader.answers([_shown(k % 5) for k in range(10)])] == [(5.0,)] * 10
    assert (reader.vlm.asked, len(reader._known)) == (5, 2)


def test_a_vlm_leaves_memory_with_its_last_scorer(folder: Path) -> None:
    kept = one_pass.one_pass_scorer(folder / "kept", "q")
    for number in range(5):
        one_pass.one_pass_scorer(folder / str(number), "q")
    gc.collect()
    assert {key[0].name for key in one_pass._IN_MEMORY} == {"kept", "4"}, "those in use, and the last"
    again = one_pass.open_one_pass(folder / "kept")
    kept.look([_shown(1)])
    assert again.passes == 1, "a scorer in use shares its VLM, whatever was loaded since"


def test_two_threads_share_a_vlm_in_turns(folder: Path) -> None:
    reader = one_pass.open_one_pass(folder)
    failed: list[BaseException] = []

    def ask(start: int) -> None:
        try:
            for number in range(start, start + 20):
                reader.answers([_shown(number)])
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask, args=(1000 * k,)) for k in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(60)
    assert not failed
    assert reader.passes == 80
