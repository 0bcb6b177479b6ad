"""A run over all understanding tasks against a server with faults: killed, limited, cut off, with a budget.

Nothing is bought twice, what it costs is said before and after, and replies cut off are asked again with more tokens.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from chat_server import ChatServer
from loaded import Started, start_salon
from PIL import Image
from public_files import records
from waiting import until

from salon.bench import TASKS, find_files
from salon.bench.posters.files import parse_file

ITEMS = 3
PRICE_IN, PRICE_OUT, IMAGE_TOKENS = 2.0, 10.0, 1000
UNDERSTANDING = [task for task in TASKS if task.side == "understanding"]


class Bought:
    """Answers by question and token limit; every fifth question takes 6,000 tokens to think about, one 30,000."""

    def __init__(self) -> None:
        self.times: Counter[tuple[str, int]] = Counter()
        self.cost = 0.0
        self.tokens = 0

    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        text, limit = asked(body), body["max_tokens"]
        self.times[text, limit] += 1
        number = zlib.crc32(text.encode())
        needs = 30_000 if text == "alignment 1" else 6_000 if number % 5 == 0 else 50
        ends = limit >= needs
        written = needs if ends else limit
        self.tokens += written
        self.cost += (100 * PRICE_IN + written * PRICE_OUT) / 1e6
        usage = {"prompt_tokens": 100, "completion_tokens": written}
        said = {"content": "A", "finish_reason": "stop"} if ends else {"content": "", "finish_reason": "length"}
        return said | {"usage": usage}


def asked(body: dict[str, Any]) -> str:
    return next(part["text"] for part in body["messages"][0]["content"] if part["type"] == "text")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    home = tmp_path / "set"
    for task in UNDERSTANDING:
        rows = [row | {"prompt": f"{task.name} {i}"} for i, row in enumerate(records(task.name, ITEMS))]
        file = parse_file(json.dumps(rows), home / task.place)
        file.write(home / task.place)
        for item in file.items:
            place = home / item.path.replace("\\", "/")
            place.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8), (item.number * 50, len(task.name) * 9, 120)).save(place)
    (tmp_path / "prices.toml").write_text(
        f"[models.tiny]\ninput = {PRICE_IN}\noutput = {PRICE_OUT}\nimage_tokens = {IMAGE_TOKENS}\n"
    )
    return home


def start(folder: Path, server: ChatServer, *more: object) -> Started:
    out = folder.with_name("out")
    words = ("run", folder, "-o", out, "--model", "tiny", "--endpoint", server.url, "--key-env", "none")
    more = more if "--most-tokens" in more else ("--most-tokens", 20_000, *more)
    return start_salon("bench", "posters", *words, "--prices", folder.with_name("prices.toml"), *more)


def run(folder: Path, server: ChatServer, *more: object) -> tuple[int, dict[str, Any]]:
    with start(folder, server, "--json", *more) as process:
        said, errors = process.communicate()
        assert said, errors
        return process.wait(), json.loads(said)


def test_a_whole_run_with_kills_limits_cuts_and_a_budget(folder: Path) -> None:
    items = ITEMS * len(UNDERSTANDING)
    bought = Bought()
    with ChatServer(bought, takes=0.01) as server:
        # before: calls and price, and nothing is sent
        code, cast = run(folder, server, "--dry-run")
        assert (code, cast["calls"], cast["left"], len(server.seen)) == (0, items, 0, 0)
        most = sum(
            (len(f"{task.name} {i}") + IMAGE_TOKENS) * PRICE_IN + 5000 * PRICE_OUT
            for task in UNDERSTANDING
            for i in range(ITEMS)
        )
        assert cast["cost"] == pytest.approx(most / 1e6)
        assert sum(task["cost"] for task in cast["tasks"]) == pytest.approx(cast["cost"])
        assert sorted(place.name for place in folder.parent.iterdir()) == ["prices.toml", "set"]

        # a few of them, evenly over the tasks
        code, report = run(folder, server, "--limit", 19)
        assert (report["answered"] + report["failed"].get("cut off", 0), report["left"]) == (19, items - 19)
        answered = {
            file.task.name: len([i for i in file.items if i.response]) for file in find_files([folder.with_name("out")])
        }
        assert max(answered.values()) == 1

        # killed, with a server that is busy
        for task in UNDERSTANDING:
            server.script[f"{task.name} 1"] = ["429 0", "503 0"]
        for _ in range(2):
            enough = len(server.seen) + 6
            with start(folder, server, "--concurrency", 2) as process:
                until(lambda enough=enough: len(server.seen) > enough or process.poll() is not None, "some requests")
                process.kill()

        # a budget for a little more
        code, report = run(folder, server, "--budget", 0.3, "--concurrency", 2)
        assert code == 1
        assert "budget" in report["stopped"]
        assert 0 < report["spend"]["cost"] <= 0.3
        assert report["left"] > 0
        tiny = start(folder, server, "--budget", 0.00001)
        with tiny as process:
            assert "at least one question" in process.communicate()[1]
            assert process.wait() == 2

        # the rest; one question is still cut off, and goes on in the next run
        code, report = run(folder, server)
        assert (code, report["failed"], report["left"]) == (1, {"cut off": 1}, 0)
        assert report["kept"] + report["answered"] == items - 1
        code, cast = run(folder, server, "--dry-run")
        assert not cast["calls"]  # it may have no more tokens
        code, cast = run(folder, server, "--dry-run", "--most-tokens", 65_536)
        assert (cast["calls"], cast["tasks"][0]["answered"]) == (1, ITEMS)
        with start(folder, server, "--most-tokens", 65_536) as process:
            said = process.communicate()[0]
            assert process.wait() == 0

        # nothing twice, but for what was under way when somebody was killed
        twice = {question: n for question, n in bought.times.items() if n > 1}
        assert sum(n - 1 for n in twice.values()) <= 4
        limits = {limit for text, limit in bought.times if text == "alignment 1"}
        assert limits == {5000, 20_000, 65_536}
        spent = re.search(r"over all runs ([\d.]+) USD", said)
        assert spent is not None
        lost = sum((100 * PRICE_IN + limit * PRICE_OUT) / 1e6 * (twice[text, limit] - 1) for text, limit in twice)
        assert float(spent[1]) == pytest.approx(bought.cost - lost, abs=0.01 + lost)
        with start_salon(
            "bench", "posters", "judge", folder.with_name("out"), "--model", "tiny", "--endpoint", server.url,
            "--key-env", "none", "--prices", folder.with_name("prices.toml"), "--json",
        ) as process:  # fmt: skip
            judged = json.loads(process.communicate()[0])
        assert judged["asked"] == 2 * ITEMS * 2  # two points an item of two tasks
        assert 4 <= judged["spend"]["requests"] < judged["asked"]  # equal answers make equal questions
        assert judged["spend"]["cost"] > 0
        sent = len(server.seen)
        code, report = run(folder, server)
        assert (code, report["answered"], report["spend"]["requests"], len(server.seen)) == (0, 0, 0, sent)
