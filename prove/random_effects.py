"""What `salon fuse` covers when raters, prompts or both are drawn anew; writes docs/methods/random-effects-table.md.

python -m prove.random_effects [studies]

Every study goes through the front door, `salon.fuse_study`. Raters have tastes of their own for generators, prompts
suit some generators more than others, and each answer has its own noise.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import salon
from prove._page import table, wrapped
from salon.errors import StatsError
from salon.fuse import RATED, FuseReport, Method
from salon.study import Criterion, Scale, Study

Floats = NDArray[np.float64]
OUT = Path(__file__).parents[1] / "docs/methods/random-effects-table.md"
SEED, STUDIES = 2027, 80
ENDLESS = 60_000
"""Answers of as many raters, each on a prompt of its own, that tell what endlessly many would give."""
PAIRED: tuple[Method, ...] = ("bradley-terry", "davidson", "rao-kupper", "thurstone", "crowd", "elo")
METHODS: tuple[Method, ...] = (
    *PAIRED, "plackett-luce", "mean", "median", "z-score", "sureal", "offset-scale", "anchored-davidson",
    "anchored-elo",
)  # fmt: skip
POINTS = 400 / np.log(10)


@dataclass(frozen=True)
class Effects:
    """Standard deviations, in logits (and in rating levels), of what raters and prompts add to a generator."""

    name: str
    raters: float
    prompts: float


@dataclass(frozen=True)
class Shape:
    """The size of a study."""

    raters: int
    prompts: int
    scores: tuple[float, ...]


EFFECTS = (
    Effects("neither", 0.0, 0.0),
    Effects("raters", 0.7, 0.0),
    Effects("prompts", 0.0, 0.7),
    Effects("both", 0.7, 0.7),
)
APART = (0.6, 0.2, -0.2, -0.6)
EQUAL = (0.0,) * 4


def drawn_values(shape: Shape, effects: Effects, rng: np.random.Generator) -> Floats:
    """(raters, prompts, generators): what each rater sees in each generator on each prompt."""
    size = len(shape.scores)
    taste = effects.raters * rng.standard_normal((shape.raters, 1, size))
    suits = effects.prompts * rng.standard_normal((1, shape.prompts, size))
    return np.asarray(np.array(shape.scores) + taste + suits)


def drawn_study(method: Method, seen: Floats, rng: np.random.Generator) -> Study:
    """Every rater compares all pairs of every prompt, or ranks or rates its pictures."""
    raters, prompts, size = seen.shape
    tables: dict[str, Any] = {
        "prompts": pa.table({"id": [f"p{p}" for p in range(prompts)]}),
        "items": pa.table(
            {
                "id": [f"p{p}-g{g}" for p in range(prompts) for g in range(size)],
                "prompt": [f"p{p}" for p in range(prompts) for _ in range(size)],
                "generator": [f"g{g}" for _ in range(prompts) for g in range(size)],
            }
        ),
        "raters": pa.table({"id": [f"r{r}" for r in range(raters)]}),
    }
    if method in PAIRED or "anchored" in method:
        tables["comparisons"] = _comparisons(seen, method, rng)
    if method == "plackett-luce":
        tables["rankings"] = _rankings(seen, rng)
    if method in RATED or "anchored" in method:
        tables["ratings"] = _ratings(seen, method, rng)
    return Study.build("effects", [Criterion(id="c", scale=_scale(method))], tables=tables, simulated=True)


def _scale(method: Method) -> Scale:
    return Scale(low=1, high=5) if "anchored" in method else Scale(low=-20, high=20)


def _columns(raters: Any, prompts: Any) -> dict[str, Any]:
    return {"criterion": ["c"] * len(raters), "rater": [f"r{r}" for r in raters]}


def _comparisons(seen: Floats, method: Method, rng: np.random.Generator) -> pa.Table:
    size = seen.shape[2]
    pairs = np.array(list(combinations(range(size), 2)))
    d = seen[:, :, pairs[:, 0]] - seen[:, :, pairs[:, 1]]
    y = d + (np.sqrt(2) * rng.standard_normal(d.shape) if method == "thurstone" else rng.logistic(size=d.shape))
    margin = 0.5 if method in ("davidson", "rao-kupper", "anchored-davidson", "anchored-elo") else 0.0
    outcome = np.where(y > margin, "a", np.where(y < -margin, "b", "tie")).ravel()
    r, p, k = (index.ravel() for index in np.indices(d.shape))
    swap = rng.random(len(k)) < 0.5
    left, right = np.where(swap, pairs[k, 1], pairs[k, 0]), np.where(swap, pairs[k, 0], pairs[k, 1])
    told = np.where(outcome == "tie", "tie", np.where((outcome == "a") ^ swap, "a", "b"))
    return pa.table(
        _columns(r, p)
        | {
            "a": [f"p{x}-g{g}" for x, g in zip(p, left)],
            "b": [f"p{x}-g{g}" for x, g in zip(p, right)],
            "outcome": told.tolist(),
            "left": ["a"] * len(p),
        }
    )


def _rankings(seen: Floats, rng: np.random.Generator) -> pa.Table:
    raters, prompts, size = seen.shape
    order = np.argsort(-(seen + rng.gumbel(size=seen.shape)), axis=2).reshape(-1, size)
    r, p = (index.ravel() for index in np.indices((raters, prompts)))
    items = [[f"p{x}-g{g}" for g in row] for x, row in zip(p, order)]
    return pa.table(_columns(r, p) | {"items": items, "ranks": [list(range(1, size + 1))] * len(p)})


def _ratings(seen: Floats, method: Method, rng: np.random.Generator) -> pa.Table:
    offset = 0.4 * rng.standard_normal((len(seen), 1, 1))
    y = 3 + seen + offset + 0.8 * rng.standard_normal(seen.shape)
    if "anchored" in method:
        y = np.clip(np.round(y), 1, 5)
    r, p, g = (index.ravel() for index in np.indices(seen.shape))
    return pa.table(_columns(r, p) | {"item": [f"p{x}-g{k}" for x, k in zip(p, g)], "value": y.ravel()})


# -- what is aimed at ----------------------------------------------------------------------------------------------


@cache
def aim(method: Method, shape: Shape, effects: Effects) -> dict[str, float]:
    """What endlessly many raters and prompts would give: one answer alone tells its law, so each has its own."""
    scores = shape.scores
    if method in ("mean", "median", "sureal", "offset-scale"):
        return {f"g{g}": 3 + score for g, score in enumerate(scores)}
    rng = np.random.default_rng([SEED, METHODS.index(method)])
    if method == "crowd":
        panels = [_values("crowd", drawn_values(shape, effects, rng), rng) for _ in range(60)]
        return {name: float(np.mean([panel[name] for panel in panels])) for name in panels[0]}
    if method == "z-score" or "anchored" in method:
        return _values(method, drawn_values(Shape(300, 100, scores), effects, rng), rng)
    spread = float(np.hypot(effects.raters, effects.prompts))
    seen = np.array(scores) + spread * rng.standard_normal((1, ENDLESS, len(scores)))
    if method == "elo":
        return {name: 1500 + POINTS * value for name, value in _values("bradley-terry", seen, rng).items()}
    return _values(method, seen, rng)


def _values(method: Method, seen: Floats, rng: np.random.Generator) -> dict[str, float]:
    settings = salon.FuseSettings(method=method, by="generator", cluster="answer")
    report = salon.fuse_study(drawn_study(method, seen, rng), settings)
    return {row.generator: row.value for row in report.scores}  # type: ignore[misc]


# -- coverage ------------------------------------------------------------------------------------------------------


@dataclass
class Tally:
    """One row of the table."""

    covered: list[float] = field(default_factory=list)
    ranks: list[bool] = field(default_factory=list)
    refused: int = 0
    clusters: set[str] = field(default_factory=set)

    def add(self, report: FuseReport, truth: dict[str, float], scores: tuple[float, ...]) -> None:
        """One study."""
        rows = [row for row in report.scores if row.low is not None and row.high is not None]
        if len(rows) < len(report.scores) or any(row.rank_low is None for row in rows):
            self.refused += 1
            return
        self.clusters.add(report.cluster)
        inside = [row.low <= truth[row.generator] <= row.high for row in rows]  # type: ignore[operator, index]
        self.covered.append(float(np.mean(inside)))
        self.ranks.append(all(_holds(row.rank_low, row.rank_high, row.generator, scores) for row in rows))

    def share(self) -> str:
        """Coverage with its standard error over studies."""
        if len(self.covered) < 2:
            return "–"
        x = np.array(self.covered)
        return f"{x.mean():.1%} ± {100 * x.std(ddof=1) / np.sqrt(len(x)):.1f}"


def _holds(low: Any, high: Any, generator: Any, scores: tuple[float, ...]) -> bool:
    """Whether a true rank lies inside; equal scores may take any of the ranks they share."""
    mine = scores[int(generator[1:])]
    best = 1 + sum(score > mine for score in scores)
    worst = sum(score >= mine for score in scores)
    return bool(low <= worst and high >= best) if best != worst else bool(low <= best <= high)


def covered(method: Method, shape: Shape, effects: Effects, studies: int, **settings: Any) -> Tally:
    """One method over many studies."""
    rng = np.random.default_rng(
        [
            SEED,
            METHODS.index(method),
            shape.raters,
            shape.prompts,
            *(int(100 * x) for x in (effects.raters, effects.prompts)),
        ]
    )
    truth, tally = aim(method, shape, effects), Tally()
    for _ in range(studies):
        study = drawn_study(method, drawn_values(shape, effects, rng), rng)
        try:
            report = salon.fuse_study(study, salon.FuseSettings(method=method, by="generator", **settings))
        except StatsError:
            tally.refused += 1
        else:
            tally.add(report, truth, shape.scores)
    return tally


# -- equal generators and items --------------------------------------------------------------------------------------


def told_apart(method: Method, shape: Shape, effects: Effects, studies: int) -> float:
    """Share of studies of equal generators in which some pair is told apart."""
    rng = np.random.default_rng([SEED, 1, METHODS.index(method), shape.raters, shape.prompts])
    apart = 0
    for _ in range(studies):
        study = drawn_study(method, drawn_values(shape, effects, rng), rng)
        report = salon.fuse_study(study, salon.FuseSettings(method=method, by="generator"))
        apart += any(row.rank_low > 1 or row.rank_high < len(shape.scores) for row in report.scores)  # type: ignore[operator]
    return apart / studies


def items_told_apart(method: Method, raters: int, items: int, studies: int) -> float:
    """Share of studies of equal items, rated or compared by raters with tastes of their own, in which some differ."""
    rng = np.random.default_rng([SEED, 2, METHODS.index(method), raters, items])
    settings = salon.FuseSettings(method=method, cluster="rater", prior=None if method in RATED else 3.0)
    apart = 0
    for _ in range(studies):
        seen = 0.7 * rng.standard_normal((raters, 1, items))
        report = salon.fuse_study(drawn_study(method, seen, rng), settings)
        apart += any((row.rank_low or 1) > 1 or (row.rank_high or items) < items for row in report.scores)
    return apart / studies


# -- the page --------------------------------------------------------------------------------------------------------

HEAD = """
{studies} simulated studies for each figure ({fewer} with twelve raters), all through `salon.fuse_study(study,
FuseSettings(method=..., by="generator"))` at its defaults: errors over raters and prompts at once. Every rater compares
all pairs of every prompt, or ranks or rates its pictures. *raters*: each rater has a taste of their own for each
generator (standard deviation .7 logits or levels); *prompts*: each prompt suits each generator by as much; *both*;
*neither*: answers have their own noise only (raters still rate a little higher or lower as a whole). Aimed at: what
endlessly many raters and prompts would give (crowd, which has no such limit: its mean over 60 panels of the same size).
Figures: share of 95% intervals that hold it, ± its standard error over studies.
"""
RANKS = """
*all ranks inside*: the least share, over the four cases, of studies in which every generator's true rank lies in its
rank interval at once. *over prompts alone*: raters with tastes, fused with `--cluster prompt`, which takes these raters
as given. *no interval*: studies, of all four cases together, that raised an error or had a score without an interval.
SUREAL and offset-scale need more items and raters than four and five, and stand with twelve of each; offset-scale
with an eighth of the studies, as its refits are slow.
"""
FALSE = """
Studies of four equal generators in which any two are told apart, at 95% for all pairs at once, over {studies} studies.
"""
ITEMS = """
Studies of equal items on one prompt in which any two are told apart, over {studies} studies: raters with tastes of
their own, errors over raters. Before, means added two errors of score minus mean: 18% of two items, 15% of three, 12%
of four.
"""
EQUAL_CASES: tuple[Method, ...] = ("bradley-terry", "davidson", "plackett-luce", "mean")
SLOW: tuple[Method, ...] = ("offset-scale",)
CASES: tuple[Method, ...] = ("bradley-terry", "davidson", "plackett-luce", "elo", "mean")
TWELVE = tuple(np.linspace(-1.1, 1.1, 12).round(2).tolist())


def main(studies: int) -> None:
    fewer = max(studies // 2, 2)
    parts = [
        "# Intervals when raters and prompts vary\n",
        f"Written by `make prove ONLY=random_effects` (seed {SEED}); the method: [two-way errors](two-way.md).\n",
        wrapped(HEAD.format(studies=studies, fewer=fewer)) + "\n",
    ]
    for shape, count, methods in ((Shape(5, 20, APART), studies, METHODS), (Shape(12, 30, APART), fewer, CASES)):
        title = f"## {shape.raters} raters, {shape.prompts} prompts, four generators\n"
        parts += [title, _coverage(shape, methods, count)]
    parts += [wrapped(RANKS) + "\n", "## Equal generators\n", wrapped(FALSE.format(studies=studies)) + "\n"]
    parts += [_false(studies), "## Equal items\n", wrapped(ITEMS.format(studies=5 * studies)) + "\n"]
    parts += [_items(5 * studies)]
    OUT.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {OUT.name}")


def _coverage(shape: Shape, methods: Sequence[Method], studies: int) -> str:
    rows = []
    for method in methods:
        mine = Shape(12, shape.prompts, TWELVE) if method in ("sureal", "offset-scale") else shape
        count = max(studies // 8, 2) if method in SLOW else studies
        tallies = [covered(method, mine, effects, count) for effects in EFFECTS]
        alone = covered(method, mine, EFFECTS[1], count, cluster="prompt")
        inside = min((float(np.mean(one.ranks)) for one in tallies if one.ranks), default=float("nan"))
        refused = sum(one.refused for one in tallies)
        rows.append(
            [method, *(one.share() for one in tallies), f"{inside:.0%}", alone.share(), f"{refused}" if refused else ""]
        )
        print(*rows[-1], sep=" | ", flush=True)
    head = ["method", *(one.name for one in EFFECTS), "all ranks inside", "over prompts alone", "no interval"]
    return table(head, rows)


def _false(studies: int) -> str:
    rows = []
    for shape in (Shape(5, 20, EQUAL), Shape(12, 30, EQUAL)):
        for method in EQUAL_CASES:
            shares = [told_apart(method, shape, effects, studies) for effects in EFFECTS]
            rows.append([method, f"{shape.raters}", f"{shape.prompts}", *(f"{share:.1%}" for share in shares)])
            print(*rows[-1], sep=" | ", flush=True)
    return table(["method", "raters", "prompts", *(one.name for one in EFFECTS)], rows)


def _items(studies: int) -> str:
    rows = []
    for method in ("mean", "bradley-terry"):
        for raters in (5, 12):
            shares = [items_told_apart(method, raters, items, studies) for items in (2, 3, 4, 8, 20)]
            rows.append([method, f"{raters}", *(f"{share:.1%}" for share in shares)])
            print(*rows[-1], sep=" | ", flush=True)
    return table(["method", "raters", "2 items", "3", "4", "8", "20"], rows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES)
