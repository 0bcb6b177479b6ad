"""Labels through a real server: a run that is killed goes on, and nothing that was answered is asked again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from click.testing import CliRunner
from images_server import picture
from loaded import start_salon
from waiting import until

from salon.cli.distill import label
from salon.errors import BadFile
from salon.evaluate import read_pseudo_scores
from salon.store import save_study
from salon.study import Criterion, Item, Scale, Study

ITEMS = [f"item-{number:02}" for number in range(12)]
CALLS = 15 + 6 * 3
WIDTH = 2


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("labels") / "study"
    criteria = [
        Criterion(id=id, question="Which?", rubric="Look.", rate_question="How good?", scale=Scale(low=1, high=5))
        for id in ("mood", "overall")
    ]
    items = [Item(id=id, image=f"images/{id}.png") for id in ITEMS]
    save_study(Study.build("labels", criteria, compare_within="all", tables={"items": items}), folder)
    (folder / "images").mkdir()
    for id in ITEMS:
        (folder / "images" / f"{id}.png").write_bytes(picture(id, "8x8"))
    return folder


def _brain(body: dict[str, Any]) -> str:
    """Which of two pictures is better, by their bytes: any fixed order will do."""
    urls = _urls(body)
    said = "A" if urls[0] > urls[1] else "B"
    return f"<think>.</think><answer>{json.dumps({'mood': said, 'overall': said})}</answer>"


def _urls(body: dict[str, Any]) -> list[str]:
    contents = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    return [part["image_url"]["url"] for parts in contents for part in parts if part["type"] == "image_url"]


def _arguments(server: ChatServer, study: Path, labels: Path, *more: str) -> list[str]:
    asked = ["--pool", "6", "--opponents", "3", "--concurrency", str(WIDTH), "--canaries", "0"]
    who = ["--model", "tiny", "--endpoint", server.url, "--key-env", "none"]
    return [str(study), "-o", str(labels), *who, *asked, *more]


def _run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(label, list(arguments), catch_exceptions=True)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


def test_a_killed_run_goes_on_without_asking_twice(place: Path, tmp_path: Path) -> None:
    labels = tmp_path / "labels"

    def brain(body: dict[str, Any]) -> str:
        server.takes = 60 if len(server.questions) >= 12 else 0  # silent from there on
        return _brain(body)

    with ChatServer(brain) as server:
        with start_salon("distill", "label", *_arguments(server, place, labels)) as process:
            until(lambda: server.takes or process.poll() is not None, "a server that falls silent")
            process.kill()
        server.takes, server.brain = 0, _brain
        assert not labels.exists()
        before = len(server.questions)
        assert 12 <= before < CALLS
        code, said = _run(*_arguments(server, place, labels, "--json"))
        assert code == 0
        told = json.loads(said)
        assert told["calls_made"] == told["calls_planned"] == CALLS
        assert told["stored"] >= before - WIDTH
        assert len(server.questions) == CALLS
        assert server.questions.total() <= CALLS + WIDTH  # those in flight at the kill
        # Everything is known now: the same labels, and not a single request more.
        asked, first = server.questions.total(), (labels / "labels.parquet").read_bytes()
        code, said = _run(*_arguments(server, place, labels, "--json"))
        assert (code, json.loads(said)["stored"], server.questions.total()) == (0, CALLS, asked)
        assert (labels / "labels.parquet").read_bytes() == first


def test_a_dry_run_says_the_calls_and_the_price_and_asks_nothing(place: Path, tmp_path: Path) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text('currency = "USD"\n[models.tiny]\ninput = 1.0\noutput = 2.0\nimage_tokens = 100\n')
    with ChatServer(_brain) as server:
        more = ("--prices", str(prices), "--dry-run", "--calls", str(tmp_path / "calls.sqlite"))
        code, said = _run(*_arguments(server, place, tmp_path / "labels", *more, "--json"))
        told = json.loads(said)
        assert (code, told["calls"], told["stored"]) == (0, CALLS, 0)
        assert told["cost_at_most"] > 0
        assert told["sum"] == "15 pool pairs + 6 items x 3 opponents"
        for source, calls in (("majority", 12 * 32), ("pointwise", 12), ("elo", 66)):
            _, said = _run(*_arguments(server, place, tmp_path / "labels", *more, "--json", "--source", source))
            assert json.loads(said)["calls"] == calls
        assert server.questions.total() == 0
    assert not (tmp_path / "labels").exists()


def test_broken_pictures_are_refused_or_left_out_before_anything_is_asked(place: Path, tmp_path: Path) -> None:
    image, whole = place / "images" / "item-04.png", (place / "images" / "item-04.png").read_bytes()
    image.write_bytes(b"not a picture")
    try:
        with ChatServer(_brain) as server:
            with pytest.raises(BadFile, match="--broken leave-out") as error:
                _run(*_arguments(server, place, tmp_path / "labels"))
            assert "item-04" in str(error.value)
            assert server.questions.total() == 0
            code, said = _run(*_arguments(server, place, tmp_path / "labels", "--broken", "leave-out"))
            assert code == 0
            assert "11 of 12 items labeled" in said
        found = read_pseudo_scores(tmp_path / "labels")
        assert found.card.dead == ("item-04",)
        assert found.card.calls_made == 15 + 5 * 3
        assert found.items[-1] == "item-04"
        assert found.n[-1].tolist() == [0, 0]
    finally:
        image.write_bytes(whole)


def test_a_picture_the_server_refuses_leaves_the_pool_and_the_command_with_1(place: Path, tmp_path: Path) -> None:
    refused: list[str] = []

    def brain(body: dict[str, Any]) -> str | dict[str, Any]:
        shown = _urls(body)
        refused.extend(shown[:1] if not refused else [])
        return {"content": "", "finish_reason": "content_filter"} if refused[0] in shown else _brain(body)

    with ChatServer(brain) as server:
        calls = str(tmp_path / "calls.sqlite")
        code, said = _run(*_arguments(server, place, tmp_path / "labels", "--json", "--calls", calls))
    told = json.loads(said)
    assert code == 1
    assert (told["calls_failed"], told["labelled"], len(told["dead"])) == (5, 11, 1)
    assert told["calls_made"] == 15 + 5 + 5 * 3  # the next item meets the pool in its place
