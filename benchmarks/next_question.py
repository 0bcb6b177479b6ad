"""What the next question costs as answers pile up: wall milliseconds of `Studio.answer`, without HTTP, on PostgreSQL.

`ours`: median with the most answers stored; `peer`: with the fewest; the aim is a ratio near 1. The raters at work are
new at every size, so that only what others answered grows. 1,225 pairs, `stop = fixed`.

    python -m benchmarks.next_question 1000 100000 1000000
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sqlalchemy import text

from benchmarks._load_study import COHORT, make_study
from salon.collect import RawAnswer, open_studio
from tests.postgres import cluster

SIZES = (1_000, 100_000, 1_000_000)
AT_WORK, ANSWERS = 10, 100
LEFT = RawAnswer(answers={"overall": "left"})
_FILL = """
WITH keys AS (SELECT * FROM unnest(CAST(:keys AS text[]), CAST(:firsts AS text[]), CAST(:seconds AS text[]))
    WITH ORDINALITY AS k (key, a, b, place)),
rows AS (SELECT n, 'filler-' || (n / 1225) AS rater, n % 1225 AS position, k.* FROM generate_series(0, :number - 1) AS n
    JOIN keys k ON k.place = n % 1225 + 1),
people AS (INSERT INTO raters (id, kind, cohort, status, created_at)
    SELECT DISTINCT rater, 'person', 'filler', 'done', 1 FROM rows RETURNING id),
asked AS (INSERT INTO tasks (rater, position, phase, about, question, screen, created_at, answered_at)
    SELECT rater, position, 'main', key, '{}', '{}', 1, 2 FROM rows, (SELECT count(*) FROM people) AS all_people
    RETURNING id, rater, position, about)
INSERT INTO judgments (task, rater, kind, criterion, payload, counted, key, part)
SELECT asked.id, asked.rater, 'comparisons', 'overall', json_build_object('criterion', 'overall', 'rater', asked.rater,
    'a', k.a, 'b', k.b, 'left', 'a', 'outcome', 'a')::text, true, 'k', asked.position
FROM asked JOIN keys k ON k.key = asked.about
"""


def cost(number: int) -> tuple[float, float]:
    """Milliseconds of an answer (median), and seconds until a studio with so many answers is open."""
    with tempfile.TemporaryDirectory() as room:
        folder, url = Path(room) / "study", cluster(fsync=True).database()
        make_study(folder, stop="fixed")
        with open_studio(folder, url) as studio:
            (run,) = studio.plan.runs[COHORT]
            sides = list(zip(*(unit.items for unit in run.units)))
            values = {"keys": list(run.keys), "firsts": list(sides[0]), "seconds": list(sides[1]), "number": number}
            with studio.database.writing() as connection:
                connection.execute(text(_FILL), values)
                connection.execute(text("UPDATE shared_state SET value = 'other' WHERE name = 'tallies built for'"))
        started = time.perf_counter()
        with open_studio(folder, url) as studio:
            opened = time.perf_counter() - started
            raters = [person.rater for person in studio.invite(COHORT, AT_WORK)]
            steps = {rater: studio.next(rater) for rater in raters}
            taken = []
            for count in range(ANSWERS):
                rater = raters[count % AT_WORK]
                began = time.perf_counter()
                _, steps[rater] = studio.answer(rater, steps[rater].id, LEFT, key=f"key {count}")
                taken.append(time.perf_counter() - began)
    return 1000 * float(np.median(taken)), opened


def main(arguments: list[str]) -> None:
    """One JSON line."""
    sizes = [int(size) for size in arguments] or SIZES
    costs = {size: cost(size) for size in sizes}
    each = {f"{size:,}": round(milliseconds, 2) for size, (milliseconds, _) in costs.items()}
    first, last = costs[sizes[0]][0], costs[sizes[-1]][0]
    line = {"name": "next_question", "ours": round(last, 2), "peer_name": f"with {sizes[0]:,} answers"}
    line |= {"peer": round(first, 2), "ratio": round(last / first, 2), "limit": 1.0, "unit": "ms of an answer"}
    opened = {f"{size:,}": round(seconds, 1) for size, (_, seconds) in costs.items()}
    print(json.dumps(line | {"each": each, "opened_s": opened}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
