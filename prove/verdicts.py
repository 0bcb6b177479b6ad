"""Size and power of the verdicts through `check_study`; writes docs/methods/verdicts-table.md.

python -m prove.verdicts [seconds]     adds studies for this time (default 150) to those counted before

Counts are kept in prove/.verdicts.json, written after every few studies: a run that was stopped goes on where it was.
Delete that file when the method changes.
"""

from __future__ import annotations

import json
import math
import sys
import time
import zlib
from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from prove._page import table
from salon.check import CheckSettings, check_study
from salon.check.results import ANSWERS
from salon.study import Criterion, Study

OUT = Path(__file__).parents[1] / "docs/methods/verdicts-table.md"
KEPT = Path(__file__).parent / ".verdicts.json"
SEED, SECONDS, OFTEN, FEWEST = 2027, 150.0, 20, 5
QUICK = CheckSettings(draws=100, tie_repeats=2, null_draws=10_000)
DESIGNS = (
    (1, 3, 4), (1, 9, 4), (1, 30, 4), (1, 200, 4), (1, 795, 4), (1, 1000, 4), (1, 5000, 10), (2, 9, 4), (2, 200, 4),
    (3, 5, 4), (3, 30, 4), (20, 3, 4), (20, 5, 4), (20, 9, 4), (20, 30, 4), (80, 3, 4), (80, 5, 4), (80, 9, 4),
    (300, 5, 4), (1000, 5, 4),
)  # fmt: skip
"""Prompts, raters, items."""
ANSWERED = ("rankings", "ratings with ties", "half of the items", "all pairs", "half of the pairs")
TRUTHS = ("random", "one order, unequal raters", "two camps")
RANDOM_WEIGHT = 4.0
"""Random studies, which show the size, are drawn this much more often."""
HEAD = """\
# Answers of `salon check` on simulated studies

Written by `make prove ONLY=verdicts` (seed {seed}, {studies:,} studies); see [verdicts](verdicts.md). Studies are
drawn, checked by `salon.check_study` at its default level, and their answers counted. *One order, unequal raters*:
normal utilities, noise from 0.7 to 3 by rater. *Two camps*: halves of the raters with independent utilities, noise 1.
*Ratings with ties*: the same seen in three levels. *Half of the items*: each ranking covers a random half of the items
(two at least), so votes are tested. *All pairs*: every rater compares all pairs of a prompt, by what they saw. *Half of
the pairs*: a random half of them. Cells with fewer than {fewest} studies count in the sums alone.

## Size

Of random studies no more than 5% may be answered yes, and no more than 5% be called opposed; laws with few values give
less. Shares with their standard errors, over all random studies of a kind.

"""


class Cell(NamedTuple):
    """One kind of study: its shape, its answers and the truth behind them."""

    prompts: int
    raters: int
    items: int
    answered: str
    truth: str

    @property
    def key(self) -> str:
        return "|".join(str(part) for part in self)


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
    """The study of what raters saw, as rankings, ratings or comparisons."""
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
    if "pairs" in answered:
        rows = _comparisons(seen, names, who, half=answered.startswith("half"), rng=rng)
        return Study.build("drawn", [Criterion(id="c")], tables=tables | {"comparisons": rows}, simulated=True)
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


def _comparisons(
    seen: np.ndarray, names: np.ndarray, who: np.ndarray, *, half: bool, rng: np.random.Generator
) -> pa.Table:
    """Each rater's comparisons of all pairs of a prompt, or of a random half of them."""
    n, raters, items = seen.shape
    pairs = np.array(list(combinations(range(items), 2)))
    asked = np.arange(len(pairs))[None].repeat(n * raters, axis=0)
    if half:
        asked = np.argsort(rng.random(asked.shape), axis=1)[:, : len(pairs) // 2]
    prompt, rater = np.divmod(np.repeat(np.arange(n * raters), asked.shape[1]), raters)
    a, b = pairs[asked.ravel()].T
    outcome = np.where(seen[prompt, rater, a] > seen[prompt, rater, b], "a", "b")
    rows = {"rater": who[rater], "a": names[prompt, a], "b": names[prompt, b], "outcome": outcome}
    return pa.table({"criterion": ["c"] * len(a)} | {name: column.tolist() for name, column in rows.items()})


def main(seconds: float) -> None:
    """Draw studies until the time is up, of dear cells fewer (as one over the root of a study's time)."""
    cells = [Cell(*d, a, t) for d in DESIGNS for a in ANSWERED for t in TRUTHS]
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    counts = {cell: Counter[str](kept.get(cell.key, {}).get("answers", {})) for cell in cells}
    spent = {cell: float(kept.get(cell.key, {}).get("seconds", 0.0)) for cell in cells}
    began = time.perf_counter()
    drawn = 0

    def turn(cell: Cell) -> float:
        return math.sqrt(counts[cell].total() * spent[cell]) / (RANDOM_WEIGHT if cell.truth == "random" else 1.0)

    while time.perf_counter() - began < seconds:
        cell = min(cells, key=turn)
        rng = np.random.default_rng([SEED, counts[cell].total(), zlib.crc32(cell.key.encode())])
        started = time.perf_counter()
        of = study(draw(cell.truth, cell.prompts, cell.raters, cell.items, rng), cell.answered, rng)
        counts[cell][check_study(of, QUICK).criteria[0].answer] += 1
        spent[cell] += time.perf_counter() - started
        drawn += 1
        if drawn % OFTEN == 0:
            _keep(counts, spent)
    _keep(counts, spent)
    write(counts)


def _keep(counts: dict[Cell, Counter[str]], spent: dict[Cell, float]) -> None:
    kept = {cell.key: {"answers": found, "seconds": round(spent[cell], 3)} for cell, found in counts.items() if found}
    part = KEPT.with_suffix(".part")
    part.write_text(json.dumps(kept, indent=0))
    part.replace(KEPT)


def write(counts: dict[Cell, Counter[str]]) -> None:
    """Size, pooled; then each cell, one table for each truth."""
    lines = [HEAD.format(fewest=FEWEST, seed=SEED, studies=sum(found.total() for found in counts.values()))]
    kinds: dict[str, Callable[[Cell], str]] = {
        "all": lambda _: "all",
        "answers": lambda cell: cell.answered,
        "prompts": lambda cell: f"{cell.prompts:,} prompt{'s' if cell.prompts > 1 else ''}",
        "raters": lambda cell: f"{cell.raters:,} raters",
    }
    rows = []
    for kind in kinds.values():
        pooled: dict[str, Counter[str]] = defaultdict(Counter)
        for cell in sorted(counts, key=lambda c: c.raters if kind is kinds["raters"] else 0):
            if cell.truth == "random":
                pooled[kind(cell)] += counts[cell]
        for name, found in pooled.items():
            n = found.total()
            if n:
                yes = sum(times for answer, times in found.items() if answer.startswith("yes"))
                rows.append([name, f"{n:,}", _share(yes, n), _share(found[ANSWERS["no", "camps"]], n)])
    lines.append(table(["random studies", "studies", "yes", "no, opposed camps"], rows))
    answers = list(ANSWERS.values())
    for truth in TRUTHS:
        rows = []
        for cell, found in counts.items():
            n = found.total()
            if cell.truth == truth and n >= FEWEST:
                shares = [f"{100 * found[answer] / n:.0f}%" if found[answer] else "" for answer in answers]
                rows.append([f"{x:,}" for x in cell[:3]] + [cell.answered, str(n), *shares])
        lines += [
            f"## {truth.capitalize()}\n",
            table(["prompts", "raters", "items", "answers", "studies", *answers], rows),
        ]
    OUT.write_text("\n".join(lines).rstrip() + "\n")


def _share(times: int, n: int) -> str:
    """A share in percent with its standard error (of two more successes and failures, so that none is 0)."""
    error = math.sqrt((times + 2) * (n - times + 2) / (n + 4) ** 3)
    return f"{100 * times / n:.1f}% ± {100 * error:.1f}"


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS)
