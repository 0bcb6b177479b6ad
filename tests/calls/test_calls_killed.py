"""kill -9 at random moments: what was paid is kept, only what was in flight is sent again, and that is counted."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from images_server import ImagesServer

from salon.calls import CallStore

CALLS = 160
RUN = """
import sys
from salon.calls.call import Call
from salon.calls.client import Client
from salon.calls.service import Limits
from salon.calls.service import Service
from salon.calls.store import CallStore
url, path, count = sys.argv[1:]
calls = [Call(url=url + "/images/generations", body={"prompt": str(number)}) for number in range(int(count))]
with CallStore(path) as store, Client(Service(url, limits=Limits(concurrency=4, first_wait=0.01)), store) as client:
    for index, answer in client.each(calls):
        print(index, answer.body.decode(), flush=True)
"""


def start(server: ImagesServer, path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", RUN, server.url, str(path), str(CALLS)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def kept(path: Path) -> dict[str, bytes]:
    with CallStore(path) as store:
        return {answer.key: answer.body for answer in store}


def test_killed_at_random_moments(tmp_path: Path) -> None:
    rng = random.Random(4)
    path = tmp_path / "calls.sqlite"
    with ImagesServer(takes=0.03) as server:
        server.script |= {str(number): ["500"] for number in range(0, CALLS, 7)}
        held = {str(number): ["after 1000000"] * 5 for number in range(CALLS - 4, CALLS)}
        server.script |= held  # however late a kill comes, something is left to be done
        delivered, before = [], {}
        for _ in range(5):
            child = start(server, path)
            delivered.append(child.stdout.readline())  # it is running
            time.sleep(rng.uniform(0, 0.08))
            child.kill()
            delivered += child.communicate()[0].splitlines(keepends=True)
            after = kept(path)
            assert before.items() <= after.items()
            before = after
        for prompt in held:
            del server.script[prompt]
        sent_before, complete = len(server.seen), len(before)
        assert complete < CALLS
        last = start(server, path)
        answers = dict(line.split(" ", 1) for line in last.communicate(timeout=300)[0].splitlines())
        errors = sum(len(one) == 0 for one in server.script.values())
        with CallStore(path) as store:
            totals = store.totals()
            bodies = Counter(answer.body.decode() for answer in store)

    assert len(answers) == totals.answers == CALLS
    assert Counter(answers.values()) == bodies
    whole = [line.strip() for line in delivered if line.endswith("\n")]  # a kill may cut the last one
    assert dict(line.split(" ", 1) for line in whole).items() <= answers.items()
    # the last run sent what was missing, and nothing else
    assert len(server.seen) - sent_before >= CALLS - complete
    # every request is an answer, an error, or was in flight at a kill, and those are counted
    assert CALLS + errors <= len(server.seen) <= CALLS + errors + totals.lost
    assert totals.lost <= 5 * 4
    assert totals.in_flight == 0
