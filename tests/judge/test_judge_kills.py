"""kill -9 at random moments, under every fault a server has: nothing stored is bought again, the result is the same.

Each run is a process that finds everything loaded, so that many of them take seconds. `KILLS=20` in the environment
kills twenty of them.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from chat_server import ChatServer
from images_server import picture
from loaded import Started, start_loaded
from waiting import until

from salon.calls import CallStore, Limits
from salon.judge import Conversation, Decoding, OpenAIChat, Reply, Sight

KILLS, WIDTH = int(os.environ.get("KILLS", "5")), 4
QUESTIONS = 15 * KILLS  # enough that something is left to ask when the last one is killed
FAULTS = ["429 0", "500", "503 0", "reset", "truncated", "not json", "no choices", "slow"]
SAID = ["wrong letter", "cut", "gibberish", "held back", "too long", "filtered"]
"""What is no fault of the way, but an answer without a verdict: it is counted as such, and asked once for each number
of tokens."""


RUN = """
import sys
from pathlib import Path
from test_judge_kills import run
url, *paths = sys.argv[1:]
run(url, *map(Path, paths))
"""


def questions(folder: Path) -> list[Conversation]:
    sights = []
    for name in ("red", "blue"):
        path = folder / f"{name}.png"
        if not path.exists():
            path.write_bytes(picture(name))
        sights.append(Sight(item=name, path=path))
    return [Conversation(parts=(f"question {n}", *sights), options=("A", "B")) for n in range(QUESTIONS)]


def run(url: str, folder: Path, store_path: Path, results: Path) -> None:
    """One run as a process has it: every result is written down as it comes."""
    limits = Limits(concurrency=WIDTH, start=WIDTH, first_wait=0.01, total=0.5, attempts=8, unusable=3)
    with CallStore(store_path) as store, open(results, "a") as file:
        vlm = OpenAIChat("judge", model="tiny", base_url=url, store=store, limits=limits)
        for index, result in vlm.reply(questions(folder)):
            said = result.text if isinstance(result, Reply) else f"no reply: {result.kind}"
            file.write(json.dumps([index, said]) + "\n")
            file.flush()
        vlm.close()


def script(rng: random.Random) -> dict[str, list[str]]:
    """Faults before the answer to a third of the questions; odd answers to some others."""
    told: dict[str, list[str]] = {}
    for number in range(QUESTIONS):
        if number % 3 == 0:
            told[f"question {number}"] = [rng.choice(FAULTS)]
        elif number % 10 == 1:
            told[f"question {number}"] = [rng.choice(SAID)] * 50
    return told


def said_in(results: Path) -> set[tuple[int, str]]:
    lines = results.read_text().splitlines(keepends=True) if results.exists() else []
    return {tuple(json.loads(line)) for line in lines if line.endswith("\n")}  # a kill may cut the last one


def stored_in(path: Path) -> dict[str, bytes]:
    with CallStore(path) as store:
        return {answer.key: answer.body for answer in store}


class Runs:
    """Processes that ask the same questions of one server, with one store."""

    def __init__(self, server: ChatServer, folder: Path) -> None:
        self.server, self.store, self.results = server, folder / "calls.sqlite", folder / "results.jsonl"
        self._told = (server.url, folder, self.store, self.results)

    def start(self) -> Started:
        """A new run."""
        return start_loaded(RUN, *self._told)

    def start_and_kill(self, seconds: float) -> None:
        """Kill it so long after its first request."""
        seen = len(self.server.seen)
        with self.start() as process:
            until(lambda: len(self.server.seen) > seen or process.poll() is not None, "a first request")
            time.sleep(seconds)
            process.kill()


def test_killed_again_and_again(tmp_path: Path) -> None:
    rng = random.Random(6)
    sold: Counter[str] = Counter()

    def brain(body: dict[str, Any]) -> str:
        text = body["messages"][0]["content"][0]["text"]
        sold[text] += 1
        return f"A {text}"

    with ChatServer(brain, takes=0.03, slow=0.8) as server:
        runs = Runs(server, tmp_path)
        server.script = script(random.Random(1))
        named = names(server.url, tmp_path)
        stored: dict[str, bytes] = {}
        for _ in range(KILLS):
            before = server.counts
            runs.start_and_kill(rng.uniform(0, 0.12))
            bought_again = [named[key] for key in stored if server.counts[named[key]] > before[named[key]]]
            assert not bought_again
            now = stored_in(runs.store)
            assert stored.items() <= now.items()
            stored = now
        with runs.start() as process:
            assert process.wait() == 0
        stored = stored_in(runs.store)

    with ChatServer(brain) as calm:  # the same server on a good day, asked by one run that nobody kills
        calm.script = {text: told for text, told in script(random.Random(1)).items() if told[0] in SAID}
        before_calm = sold.copy()
        run(calm.url, tmp_path, tmp_path / "calm.sqlite", tmp_path / "calm.jsonl")
    final = said_in(runs.results)
    assert len(final) == QUESTIONS  # every run said the same, and the last one everything
    assert final == said_in(tmp_path / "calm.jsonl")

    # What the server sold is what is stored, and what was in flight at a kill or broke on its way: all is counted.
    lost = whys(runs.store)
    bought = sum(named[key] in before_calm for key in stored)
    assert bought <= before_calm.total() <= bought + lost.total()
    assert 0 < lost["killed"] <= KILLS * WIDTH


def names(url: str, folder: Path) -> dict[str, str]:
    """The text of each question by its key."""
    with CallStore(folder / "names.sqlite") as store:
        vlm = OpenAIChat("judge", model="tiny", base_url=url, store=store)
        sizes = [Decoding(max_tokens=512 * 4**times) for times in range(4)]  # of questions whose reply was cut off
        longer = [one.model_copy(update={"decoding": size}) for one in questions(folder) for size in sizes]
        return {vlm.key(asked): str(asked.parts[0]) for asked in longer}


def whys(path: Path) -> Counter[str]:
    """Requests that may have been charged without an answer, by what happened to them."""
    with closing(sqlite3.connect(path)) as connection:
        return Counter(dict(connection.execute("SELECT why, count(*) FROM lost GROUP BY why")))
