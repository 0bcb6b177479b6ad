"""What one answer costs a studio as its study grows: processor time of `Studio.answer`, without HTTP, on SQLite.

`everyone`: every rater answers everything. `fixed`: the question with the fewest answers comes next, so answers are
counted in memory. Ours: milliseconds with 100,000 judgments of 500 raters in the database; peer: with none; the aim is
a ratio near 1. Each rater at work has given their share before. The first question after a start reads a desk, or
counts all answers; that is `first_ms`.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sqlalchemy import insert

from benchmarks._load_study import COHORT, make_study
from salon.collect import RawAnswer, ShownTask, Studio, open_studio
from salon.collect.studio.rater_side import task_subject
from salon.store.database.tables import judgments, tasks

JUDGMENTS = (0, 10_000, 100_000)
RATERS, AT_WORK, ANSWERS = 500, 20, 400
LEFT = RawAnswer(answers={"overall": "left"})


def fill(studio: Studio, raters: list[str], number: int) -> None:
    """As if every rater had given their share of `number` answers: the rows themselves, for speed."""
    run = studio.plan.runs[COHORT][0]
    asked, given = [], []
    for place, rater in enumerate(raters):
        for position, unit in enumerate(run.order(rater, place)[: number // len(raters)]):
            question = run.question(unit)
            screen = {"order": question.items, "code_names": ("A", "B"), "number": place, "prompt_first": False}
            row = {"id": len(asked) + 1, "rater": rater, "position": position, "phase": "main", "created_at": 1}
            record = json.dumps(question.model_dump(mode="json", exclude_defaults=True))
            row |= {"about": task_subject(question, position), "question": record, "screen": json.dumps(screen)}
            asked.append(row | {"answered_at": 2})
            a, b = question.items
            payload = json.dumps({"criterion": "overall", "rater": rater, "a": a, "b": b, "outcome": "a", "left": "a"})
            fact = {"task": row["id"], "rater": rater, "kind": "comparisons", "criterion": "overall", "key": "k"}
            given.append(fact | {"payload": payload, "counted": True, "part": position})
    with studio.database.writing() as connection:
        connection.execute(insert(tasks), asked)
        connection.execute(insert(judgments), given)


def cost(stop: str, number: int) -> tuple[float, float]:
    """Milliseconds of an answer (median), and of the first question of all."""
    with tempfile.TemporaryDirectory() as room:
        folder = Path(room) / "study"
        make_study(folder, stop=stop)
        with open_studio(folder) as studio:
            raters = [one.rater for one in studio.invite(COHORT, RATERS)]
            if number:
                fill(studio, raters, number)
            started = time.thread_time()
            studio.next(raters[0])
            first = time.thread_time() - started
            steps = {rater: studio.next(rater) for rater in raters[:AT_WORK]}
            taken = []
            for count in range(ANSWERS):
                rater = raters[count % AT_WORK]
                step = steps[rater]
                assert isinstance(step, ShownTask)
                started = time.thread_time()
                _, steps[rater] = studio.answer(rater, step.id, LEFT, key=f"key-{count}")
                taken.append(time.thread_time() - started)
    return float(np.median(taken[AT_WORK:])) * 1000, first * 1000


def main(stops: list[str]) -> None:
    """One JSON line for each stop rule."""
    for stop in stops:
        found = {number: cost(stop, number) for number in JUDGMENTS}
        ours, peer = found[JUDGMENTS[-1]][0], found[0][0]
        line = {"name": f"studio_growth {stop}", "ours": round(ours, 2), "peer_name": "an empty study"}
        line |= {"peer": round(peer, 2), "ratio": round(ours / peer, 2), "limit": 1.0, "unit": "ms of processor time"}
        line |= {"answer_ms": {number: round(one[0], 2) for number, one in found.items()}}
        print(json.dumps(line | {"first_ms": {number: round(one[1], 1) for number, one in found.items()}}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:] or ["everyone", "fixed"])
