"""kill -9 at random moments: every answer that was acknowledged is there exactly once; on both databases.

A process of its own forks a dozen children one after the other and kills each while it submits. A child
prints a key only after `submit` returned; the next child first sends the last printed keys again, as a browser would.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from loaded import run_loaded
from postgres import KINDS, fresh_url
from sqlalchemy import select
from studies import example

from salon.store import open_database
from salon.store.database import tables
from salon.study import Rater

KILLS = 12
RUN = """
import json, os, random, signal, sys, time
from itertools import count
from salon.store.database import open_database
from salon.study import Rating, Comparison

url, kills = sys.argv[1], int(sys.argv[2])

def answer(position):
    first = Comparison(criterion="overall", rater="zoe", a="p1-a", b="p1-b", outcome="a", repeat=position)
    return [first, Rating(criterion="color", rater="zoe", item="p1-a", value=2, repeat=position)]

def work(out):
    database = open_database(url)
    done = len([task for task in database.tasks_of("zoe") if task.answered_at])
    for position in count(max(0, done - 2)):  # the last ones once more: were they heard?
        task = database.add_task("zoe", position, about=f"pair {position}", question={}, screen={})
        saved = database.submit(
            task.id, "zoe", answer(position), key=f"key {position}", started_at=1, answered_at=2 + position
        )
        out.write(json.dumps([f"key {position}", saved.ids, saved.repeated]) + "\\n")
        out.flush()

open_database(url).close()  # what has to be imported is imported, once for all children
rng = random.Random(5)
heard = []
for _ in range(kills):
    inward, outward = os.pipe()
    child = os.fork()
    if not child:
        os.close(inward)
        work(os.fdopen(outward, "w"))
    os.close(outward)
    with os.fdopen(inward) as lines:
        heard += [lines.readline() for _ in range(rng.randrange(1, 4))]  # it is at work
        time.sleep(rng.uniform(0, 0.06))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        heard += lines.read().splitlines(keepends=True)
print("".join(line for line in heard if line.endswith("\\n")), end="")
"""


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_acknowledged_is_there_exactly_once(kind: str, tmp_path: Path) -> None:
    url = fresh_url(kind, tmp_path)
    with open_database(url) as database:
        database.put_study(example())
        database.add_rater(Rater(id="zoe"), status="active")
        before = database.read_study().counts
    done = run_loaded(RUN, url, KILLS)
    assert done.returncode == 0, done.stderr
    heard = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(heard) > KILLS

    with open_database(url) as database:
        table = tables.judgments
        with database.reading() as connection:
            query = select(table.c.key, table.c.id).where(table.c.rater == "zoe").order_by(table.c.id)
            stored = connection.execute(query).all()
        study, tasks = database.read_study(), database.tasks_of("zoe")
    ids: dict[str, list[int]] = {}
    for key, id in stored:
        ids.setdefault(key, []).append(id)
    assert set(Counter(key for key, _ in stored).values()) == {2}  # both parts of each answer, and once
    for key, acknowledged, _ in heard:
        assert ids[key] == acknowledged, key
    first = [key for key, _, repeated in heard if not repeated]
    assert len(first) == len(set(first))
    # nothing half-done: as many closed tasks as answers, and the study reads whole
    assert sum(task.answered_at is not None for task in tasks) == len(ids) >= len(set(first))
    assert study.counts["comparisons"] == before["comparisons"] + len(ids)
    assert study.counts["ratings"] == before["ratings"] + len(ids)
