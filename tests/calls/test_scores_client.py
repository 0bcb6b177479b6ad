"""The client of the scoring service: typed answers from a real service, and patience with one that is busy."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx2
import numpy as np
import pytest
from loops import awaited
from PIL import Image
from scoring_server import Served, png, serving

from salon.calls import Limits, ModelsAnswer, ScoresClient
from salon.calls.errors import Unreachable, WrongKey
from salon.calls.scores_client import TOKEN_VARIABLE, AsyncScoresClient, Below, ScoresRefused
from salon.calls.transport import ScriptedTransport
from salon.errors import BadFile, BadValue

QUICK = Limits(attempts=4, first_wait=0.001, longest_wait=0.002)
MODELS = {"active": "v", "before": None, "models": [], "gates": [], "news": "of a later version"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("client")
    (folder / "root").mkdir()
    (folder / "root" / "far.png").write_bytes(png(40))
    (folder / "near.png").write_bytes(png(60))
    with serving(folder, ("gray", "sure"), roots=(folder / "root",)) as made:
        yield made


@pytest.fixture
def token(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TOKEN_VARIABLE, served.tokens["all"])


@pytest.mark.usefixtures("token")
def test_pictures_of_every_kind_and_typed_answers(served: Served) -> None:
    given = [png(20), served.folder / "near.png", Image.new("RGB", (4, 4), (80, 80, 80))]
    with ScoresClient(served.url) as scores:
        told = scores.score(given, "a prompt", criteria=["gray"])
        mixed = scores.score([png(20), Below("far.png")], {"intent": "a prompt"})
        compared = scores.compare(png(100), png(50))
        picked = scores.pick(given, weights={"gray": 1})
        why = scores.explain([png(20), Below("far.png")], weights={"gray": 1}, neighbours=0)
        models = scores.models()
    assert [one.scores["gray"].value for one in told.images] == [20, 60, 80]
    assert [one.scores["gray"].value for one in mixed.images] == [20, 40]
    assert 0.5 < compared.criteria[1].chance < 1
    assert (picked.chosen, picked.outcome) == (2, "best")
    assert why["difference"]["adds"] == {"gray": -20}
    assert models.active == told.version == served.service.active.version


@pytest.mark.usefixtures("token")
def test_many_questions_from_one_loop_and_a_swap(served: Served) -> None:
    async def ask() -> tuple[list[float], list[str]]:
        async with AsyncScoresClient(served.url) as scores:
            answers = await asyncio.gather(*(scores.score([png(k)]) for k in range(20, 36)))
            first = (await scores.models()).active
            loaded = await scores.load(scorers=["wide"], name="next")
            new = next(one.version for one in loaded.models if not one.active)
            versions = [(await scores.activate(new)).active, (await scores.rollback()).active]
            assert versions == [new, first]
        return [one.images[0].scores["gray"].value for one in answers], versions

    assert awaited(ask())[0] == list(range(20, 36))


@pytest.mark.usefixtures("token")
def test_what_the_service_refuses_is_raised_in_its_own_words(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScoresClient(served.url, limits=QUICK) as scores:
        with pytest.raises(ScoresRefused, match="picture as PNG") as caught:
            scores.score([b"no picture"])
        assert (caught.value.status, caught.value.kind, caught.value.where) == (422, "BadPicture", "images.0")
        with pytest.raises(ScoresRefused, match="gate"):
            scores.gate([png()])
        with pytest.raises(BadFile):
            scores.score([Path("nothing.png")])
        monkeypatch.setenv(TOKEN_VARIABLE, "a token that nobody knows")
        with pytest.raises(WrongKey, match="token"):
            scores.models()
    with pytest.raises(BadValue, match="https"):
        ScoresClient("http://scores.example.org")


def script(*lines: object) -> tuple[AsyncScoresClient, ScriptedTransport]:
    transport = ScriptedTransport(*lines)
    rng = np.random.default_rng(0)
    return AsyncScoresClient("https://s.example", limits=QUICK, transport=transport, rng=rng), transport


def test_a_busy_service_is_asked_again_and_a_newer_one_is_understood() -> None:
    async def ask() -> ModelsAnswer:
        busy = httpx2.Response(503, headers={"retry-after": "0"}, json={"error": "QueueFull", "needed": "less"})
        client, transport = script(busy, 429, httpx2.ConnectError("gone"), MODELS)
        answer = await client.models()
        assert len(transport.requests) == 4
        return answer

    assert awaited(ask()).active == "v"


@pytest.mark.parametrize(
    ("lines", "error", "sent"),
    [
        ((503,), Unreachable, 4),
        ((httpx2.Response(503, json={"error": "QueueFull", "needed": "less"}),), ScoresRefused, 4),
        ((httpx2.ConnectError("gone"),), Unreachable, 4),
        ((httpx2.Response(422, json={"error": "BadValue", "needed": "x"}),), ScoresRefused, 1),
        ((httpx2.Response(200, content=b"<html>"),), Unreachable, 1),
        ((httpx2.Response(307, headers={"location": "http://evil.example"}, json={}),), ScoresRefused, 1),
    ],
)
def test_what_stays_wrong_is_said(lines: tuple, error: type[Exception], sent: int) -> None:
    async def ask() -> None:
        client, transport = script(*lines)
        try:
            await client.models()
        finally:
            assert len(transport.requests) == sent

    with pytest.raises(error):
        awaited(ask())
