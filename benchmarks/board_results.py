"""Results of entries and standings of a board: processor seconds of one core, nothing read from disk.

1. One entry of 192 prompts with one picture, three points and three judges: every axis, 64 tags and 8 groups with their
   intervals, every prompt and picture. The peer makes the four headline intervals alone, with scipy.stats.bootstrap and
   as many draws of prompts as the suite names. Limit: the rows of both tables as Python objects.
2. The same with `interval = "bootstrap"`: like against like.
3. Growth: 768 prompts against four times the seconds of 192.
4. Standings of 50 such entries on Overall, against 10,000 joint draws of prompts ranked one by one, the usual way to
   rank intervals. Limit: the correlation matrix of the entries.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pyarrow as pa
from scipy import stats

from salon.bench import EntryResult, Suite, entry_result, standings, with_hashes
from salon.bench.entry import ANSWERS, LOGITS, Entry, EntryPicture
from salon.bench.suite import (
    FieldEntry,
    PreferenceReference,
    PreferenceRule,
    Reference,
    ReferencePoint,
    SuiteCard,
    SuitePrompt,
    Tag,
)
from salon.bench.suite_folder import prompts_hash
from salon.study import Point, Prompt, Route, ScorerCard

PROMPTS, ENTRIES, TAGS, GROUPS, POINTS = 192, 50, 64, 8, 3
JUDGES, SCORER, DRAWS = ("a", "b", "c"), "likes@1", 10_000
Asked = tuple[Suite, Entry, pa.Table, pa.Table]


def suite_of(prompts: int, interval: str = "score") -> Suite:
    """ImageBench's shape: 64 tags in 8 groups, the last 9 tags without EPS."""
    asked = [f"p{n}" for n in range(prompts)]
    suite = Suite(
        card=SuiteCard(
            name="made", title="Made", preferences=(PreferenceRule(id="eps"),), interval=interval, draws=DRAWS
        ),
        tags=tuple(Tag(id=f"t{k}", group=f"g{k % GROUPS}", name=f"t{k}", eps=k < TAGS - 9) for k in range(TAGS)),
        prompts=tuple(
            SuitePrompt(prompt=Prompt(id=id, text=f"number {id}"), tag=f"t{n % TAGS}") for n, id in enumerate(asked)
        ),
        points=tuple(Point(id=f"{id}-{k}", prompt=id, tag="any") for id in asked for k in range(POINTS)),
        routes=(Route(tag="*", judges=JUDGES),),
    )
    card = ScorerCard(is_logit=True)
    points = tuple(ReferencePoint(prompt=id, value=0.0, n=3) for id in asked)
    column = PreferenceReference(id="eps", scorer="likes", signature=SCORER, card=card, points=points)
    field = (FieldEntry(name="x", digest="x"),)
    return with_hashes(
        replace(suite, reference=Reference(prompts=prompts_hash(suite), field=field, preferences=(column,)))
    )


def entry_of(suite: Suite, number: int) -> Asked:
    """An entry with all its answers and scores, drawn from its number."""
    rng = np.random.default_rng(number)
    prompts = [one.prompt.id for one in suite.prompts]
    entry = Entry(
        name=f"e{number}",
        suite=prompts_hash(suite),
        pictures=tuple(EntryPicture(prompt=id, seed=0, item=id, image=f"{id}.png", sha256=id) for id in prompts),
    )
    rows = [(point.prompt, point.id, judge) for point in suite.points for judge in JUDGES]
    said = np.where(rng.random(len(rows)) < 0.8 + 0.003 * number, "pass", "fail").tolist()
    answers = pa.table([*map(list, zip(*rows, strict=True)), said, [None] * len(rows)], schema=ANSWERS)
    n = len(prompts)
    values = rng.normal(0.02 * number, 1, n)
    logits = pa.table([prompts, ["eps"] * n, values, [1.0] * n, [None] * n, [SCORER] * n], schema=LOGITS)
    return suite, entry, answers, logits


def headline_by_scipy(result: EntryResult) -> None:
    """Capability, points, EPS and Overall with percentile intervals of scipy.stats.bootstrap."""
    passed = np.array([one.passed for one in result.prompts])
    likes = np.array([one.eps.get("eps", np.nan) for one in result.prompts])
    liked = likes[~np.isnan(likes)]
    rows = np.arange(len(passed))

    def overall(drawn: np.ndarray, axis: int = -1) -> np.ndarray:
        return (passed[drawn].mean(axis=axis) + np.nanmean(likes[drawn], axis=axis)) / 2

    options = {"n_resamples": DRAWS, "method": "percentile", "rng": 0}
    for data, statistic in ((passed, np.mean), (passed, np.mean), (liked, np.mean), (rows, overall)):
        stats.bootstrap((data,), statistic, vectorized=True, **options)


def ranks_by_draws(results: list[EntryResult]) -> np.ndarray:
    """Percentiles of ranks over joint draws of prompts."""
    rng = np.random.default_rng(0)
    passed = np.array([[one.passed for one in result.prompts] for result in results]).T
    likes = np.array([[one.eps.get("eps", 0.0) for one in result.prompts] for result in results]).T
    counts = np.array([bool(one.eps) for one in results[0].prompts], float)
    n, ranks = len(passed), np.empty((DRAWS, len(results)))
    for draw in range(DRAWS):
        weights = np.bincount(rng.integers(0, n, n), minlength=n)
        values = weights @ passed / n + weights @ likes / (weights @ counts)
        ranks[draw] = stats.rankdata(-values, method="min")
    return np.quantile(ranks, [0.025, 0.975], axis=0)


def seconds(run: Callable[[], object], repeats: int = 3) -> float:
    """The fewest processor seconds."""
    found = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        found.append(time.process_time() - start)
    return min(found)


def told(name: str, ours: float, peer_name: str, peer: float, limit: float, **more: object) -> None:
    """One line."""
    line = {"name": name, "ours": round(ours, 5), "peer_name": peer_name, "peer": round(peer, 5)}
    print(json.dumps({**line, "ratio": round(peer / ours, 2), "limit": round(limit, 5), "unit": "s", **more}))


def main() -> None:
    """Measure all four."""
    asked = {name: entry_of(suite_of(PROMPTS, name), 0) for name in ("score", "bootstrap")}
    large = entry_of(suite_of(4 * PROMPTS), 0)
    result = entry_result(*asked["score"])
    peer = seconds(lambda: headline_by_scipy(result))
    limit = seconds(lambda: [table.to_pylist() for table in asked["score"][2:]])
    ours = {name: seconds(lambda one=one: entry_result(*one), 5) for name, one in asked.items()}
    for name, own in ours.items():
        more = {"entries_per_second": round(1 / own, 1), "prompts": PROMPTS, "answers": len(asked[name][2])}
        told(f"board_results: {name}", own, "scipy.stats.bootstrap, four intervals", peer, limit, **more)
    grown = seconds(lambda: entry_result(*large))
    told("board_results: growth", grown, "four times the seconds at 192 prompts", 4 * ours["score"], 4 * limit)
    suite = asked["score"][0]
    results = [entry_result(*entry_of(suite, number)) for number in range(ENTRIES)]
    standings(results)  # compiles once
    table = np.array([[one.passed for one in result.prompts] for result in results])
    told(
        "board_results: standings",
        seconds(lambda: standings(results)),
        "ranks of 10,000 draws of prompts",
        seconds(lambda: ranks_by_draws(results), 1),
        seconds(lambda: np.corrcoef(table)),
        entries=ENTRIES,
    )


if __name__ == "__main__":
    main()
