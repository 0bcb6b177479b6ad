"""Size and power of the verdicts through `check_study`; writes docs/methods/verdicts-table.md.

python -m prove.verdicts [seconds]     stops after this time (default 150); cells not reached are left out and named
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa

from salon.check.check import check_study
from salon.check.results import ANSWERS
from salon.check.settings import CheckSettings
from salon.study import Criterion, Study

OUT = Path(__file__).parents[1] / "docs/methods/verdicts-table.md"
SEED, SECONDS, MOST = 2027, 150.0, 40
QUICK = CheckSettings(draws=100, tie_repeats=2, null_draws=10_000)
DESIGNS = (
    (1, 9, 4), (1, 795, 4), (1, 5000, 10), (2, 9, 4), (3, 5, 4), (20, 3, 4), (20, 5, 4), (80, 5, 4), (300, 5, 4),
    (1000, 5, 4),
)  # fmt: skip
"""Prompts, raters, items."""
ANSWERED = ("rankings", "ratings with ties", "half of the items")
TRUTHS = ("random", "one order, unequal raters", "two camps")
HEAD = """\
# Answers of `salon check` on simulated studies

Written by `make prove ONLY=verdicts` (seed {seed}); see [verdicts](verdicts.md). Studies are drawn, checked by
`salon.check_study` at its default level, and their answers counted. *One order, unequal raters*: normal utilities,
noise from 0.7 to 3 by rater. *Two camps*: halves of the raters with independent utilities, noise 1. *Ratings with
ties*: the same seen in three levels. *Half of the items*: each ranking covers a random half of the items (two at
least), so votes are tested. Single rows rest on few studies; the first row of each table holds all of them. Of random
studies no more than 5% may be answered yes, and no more than 5% be called opposed.

"""


def draw(truth: str, prompts: int, raters: int, items: int, rng: np.random.Generator) -> np.ndarray:
    """What raters see, (prompts, raters, items)."""
    noise = rng.normal(size=(prompts, raters, items))
    if truth == "random":
        return noise
    worth = rng.normal(size=(prompts, 2, items))
    if truth == "two camps":
        return worth[:, np.arange(raters) * 2 // raters] + noise
    return worth[:, :1] + np.linspace(0.7, 3.0, raters)[None, :, None] * noise


def study(seen: np.ndarray, answered: str, rng: np.random.Generator) -> Study:
    """The study of what raters saw, as rankings or ratings."""
    n, raters, items = seen.shape
    names = np.array([f"q{i}.{j}" for i in range(n) for j in range(items)], dtype=object).reshape(n, items)
    who = np.array([f"r{r}" for r in range(raters)], dtype=object)
    prompt = np.repeat(np.arange(n), raters)
    tables = {
        "prompts": pa.table({"id": [f"q{i}" for i in range(n)]}),
        "items": pa.table({"id": names.ravel().tolist(), "prompt": [f"q{i}" for i in range(n) for _ in range(items)]}),
        "raters": pa.table({"id": who.tolist()}),
    }
    if answered == "ratings with ties":
        levels = np.digitize(seen, [-0.6, 0.6]).astype(float)
        rows = {
            "criterion": ["c"] * levels.size,
            "rater": np.tile(np.repeat(who, items), n).tolist(),
            "item": names[np.repeat(prompt, items), np.tile(np.arange(items), n * raters)].tolist(),
            "value": levels.ravel().tolist(),
        }
        return Study.build("drawn", [Criterion(id="c")], tables=tables | {"ratings": pa.table(rows)}, simulated=True)
    order = np.argsort(-seen, axis=2).reshape(n * raters, items)
    size = items
    if answered == "half of the items":
        size = max(2, items // 2)
        kept = np.sort(np.argsort(rng.random((n * raters, items)), axis=1)[:, :size], axis=1)  # places in the order
        order = np.take_along_axis(order, kept, axis=1)
    flat = names[np.repeat(prompt, size), order.ravel()]
    ends = pa.array(np.arange(0, n * raters * size + 1, size), pa.int32())
    ranks = pa.array(np.tile(np.arange(1, size + 1, dtype=np.int32), n * raters))
    rows = {
        "criterion": pa.array(["c"] * (n * raters)),
        "rater": pa.array(np.tile(who, n).tolist()),
        "items": pa.ListArray.from_arrays(ends, pa.array(flat.tolist())),
        "ranks": pa.ListArray.from_arrays(ends, ranks),
    }
    return Study.build("drawn", [Criterion(id="c")], tables=tables | {"rankings": pa.table(rows)}, simulated=True)


def main(seconds: float) -> None:
    """Rounds over the grid until the time is up: every cell has equally many studies, or one less."""
    cells = [(d, a, t) for d in DESIGNS for a in ANSWERED for t in TRUTHS if a == "rankings" or d[1] <= 9]
    counts: dict[tuple, Counter[str]] = {cell: Counter() for cell in cells}
    spent: Counter[tuple] = Counter()
    began = time.perf_counter()
    for number in range(MOST):
        for place, cell in enumerate(cells):
            left = seconds - (time.perf_counter() - began)
            if left < 0 or (counts[cell] and spent[cell] / counts[cell].total() * 4 > seconds / len(cells) * 4):
                continue
            rng = np.random.default_rng([SEED, number, place])
            started = time.perf_counter()
            (prompts, raters, items), answered, truth = cell
            drawn = study(draw(truth, prompts, raters, items, rng), answered, rng)
            counts[cell][check_study(drawn, QUICK).criteria[0].answer] += 1
            spent[cell] += time.perf_counter() - started  # type: ignore[assignment]
    write(counts)


def write(counts: dict[tuple, Counter[str]]) -> None:
    """One table for each truth."""
    lines = [HEAD.format(seed=SEED)]
    answers = list(ANSWERS.values())
    for truth in TRUTHS:
        lines += [
            f"## {truth.capitalize()}\n",
            f"| prompts | raters | items | answers | studies | {' | '.join(answers)} |",
        ]
        lines.append("|" + "---|" * (5 + len(answers)))
        together = sum((found for (_, _, of), found in counts.items() if of == truth), Counter[str]())
        rows = {(("all", "", ""), "", truth): together} | counts
        for (design, answered, of), found in rows.items():
            n = found.total()
            if of == truth and n:
                shares = " | ".join(
                    f"{100 * found[answer] / n:.{int(n > 100)}f}%" if found[answer] else "" for answer in answers
                )
                shape = " | ".join(x if isinstance(x, str) else f"{x:,}" for x in design)
                lines.append(f"| {shape} | {answered} | {n} | {shares} |")
        lines.append("")
    OUT.write_text("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)
