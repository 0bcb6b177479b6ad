"""Reference anchors on MovieLens and Sushi over seeds and ways of drawing, and what their intervals cover.

Writes docs/methods/anchors-table.md. Needs two public files below SALON_DATA: movielens/u.data (MovieLens 100K) and
sushi/00014-00000001.soc (PrefLib). python -m prove.anchors [studies]
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa

from prove._page import table, wrapped
from salon.check import STATISTICS, AnchorReport, AnchorSettings, anchor
from salon.store import read_study
from salon.study import Criterion, Item, Prompt, Rater, Study

OUT = Path(__file__).parents[1] / "docs/methods/anchors-table.md"
DATA = Path(os.environ.get("SALON_DATA") or Path(__file__).parents[2] / "shared/data")
SEEDS = range(10)
STUDIES, DRAWS, MANY_RATERS, MANY_DRAWS = 200, 5_000, 20_000, 200_000
NAMES = ("median_T", "mean_tau", "mean_pmax", "cycle_rate")
PRINTED = {"MovieLens": (0.200, 0.216, 0.764, 0.146), "Sushi": (0.133, 0.144, 0.739, 0.107)}
HEAD = [str(STATISTICS[name].title).replace("_", "\\_") for name in NAMES]

TEXT = """\
# Reference anchors: MovieLens, Sushi, and what their intervals cover

Written by `make prove ONLY=anchors`. MovieLens 100K (`u.data`: 943 users, 1,682 films, 100,000 ratings) and PrefLib's
Sushi (`00014-00000001.soc`: 5,000 people, 10 kinds) are not part of this repository.

## MovieLens

`salon anchor u.data` at 4 items and 5 raters, among the 100 most rated films, {seeds} seeds of 20,000 draws each: the
lowest and the highest value, and in brackets the 95% interval of the first seed. *Panels*: five raters first, then four
of the films they share; *items*: four films first, then five of those who rated them all. *Shuffled*: mean tau after
each rater's stars are shuffled, so that no preference is left.

{movielens}
{movielens_words}

## Sushi

`salon anchor` at 4 items and 5 raters, {seeds} seeds of 20,000 draws each, and one run of 2,000,000.

{sushi}
{sushi_words}

## What the intervals cover

{studies} simulated catalogues a row: N raters drawn from a population, {draws:,} draws, 95% intervals over raters. The
truth is {many_draws:,} draws from {many:,} raters. *One order*: Plackett-Luce, ten items. *Two camps*: 30% of raters
hold the opposite order. *Stars*: 1 to 5 stars on 20 items, each rater having judged 15 to 85% of them.

{coverage}
{coverage_words}
"""


def main(studies: int) -> None:
    movielens = read_study("movielens", [DATA / "movielens/u.data"])
    sushi = read_study("preflib", [DATA / "sushi/00014-00000001.soc"])
    films, matched = _movielens(movielens)
    fish, inside = _sushi(sushi)
    covered, least = _coverage(studies)
    page = TEXT.format(
        seeds=len(SEEDS), movielens=films, sushi=fish, coverage=covered, studies=studies, draws=DRAWS, many=MANY_RATERS,
        many_draws=MANY_DRAWS, movielens_words=wrapped(matched), sushi_words=wrapped(inside),
        coverage_words=wrapped(least),
    )  # fmt: skip
    OUT.write_text(page.rstrip() + "\n")


def _movielens(study: Study) -> tuple[str, str]:
    rows, near = [], []
    for by in ("panels", "items"):
        for ties in ("random", "stable"):
            runs = [anchor(study, AnchorSettings(seed=seed, draw_by=by, ties=ties)) for seed in SEEDS]
            control = _span([run.tie_control for run in runs])
            rows.append([by, ties, *(_cell(runs, name) for name in NAMES), control, f"{runs[0].panels:,}"])
            near += [f"{by} first, ties {ties}"] if _agrees(runs[0], PRINTED["MovieLens"]) else []
            print(rows[-1], flush=True)
    rows.append(["TASTE, Table 2", "", *(f"{value:.3f}" for value in PRINTED["MovieLens"]), "", ""])
    head = ["drawn by", "ties", *HEAD, "shuffled", "panels"]
    words = "The intervals of the first seed hold all four numbers that the paper prints: " + (
        ", ".join(near) or "none"
    )
    return table(head, rows), words + "."


def _sushi(study: Study) -> tuple[str, str]:
    runs = [anchor(study, AnchorSettings(seed=seed)) for seed in SEEDS]
    truth = anchor(study, AnchorSettings(seed=99, draws=2_000_000))
    rows = [["20,000 draws", *(_cell(runs, name) for name in NAMES)]]
    rows += [["2,000,000 draws", *(f"{getattr(truth, name):.4f}" for name in NAMES)]]
    rows += [["TASTE, Table 2", *(f"{value:.3f}" for value in PRINTED["Sushi"])]]
    held = {name: sum(_holds(run, name, getattr(truth, name)) for run in runs) for name in NAMES}
    said = ", ".join(f"{STATISTICS[name].title} in {count} of {len(runs)}" for name, count in held.items())
    return table(["", *HEAD], rows), f"The value of 2,000,000 draws is inside the 95% interval of 20,000: {said}."


def _coverage(studies: int) -> tuple[str, str]:
    rows, shares = [], []
    for law in ("one order", "two camps", "stars"):
        for by in ("panels", "items") if law == "stars" else ("panels",):
            whole = anchor(_catalogue(law, MANY_RATERS, 1), AnchorSettings(draws=MANY_DRAWS, draw_by=by))
            for raters in (30, 100, 400):
                runs = [
                    anchor(_catalogue(law, raters, 1000 + number), AnchorSettings(draws=DRAWS, draw_by=by, seed=number))
                    for number in range(studies)
                ]
                held = [np.mean([_holds(run, name, getattr(whole, name)) for run in runs]) for name in NAMES]
                shares += [share for share in held if raters >= 100]
                rows.append([law, by, f"{raters}", *(f"{100 * share:.1f}%" for share in held)])
                print(rows[-1], flush=True)
    words = (
        f"From 100 raters on the intervals cover {100 * min(shares):.1f}% to {100 * max(shares):.1f}%; T has few "
        "values, so that the interval of its median covers more. With fewer than 50 raters the command warns."
    )
    return table(["raters", "drawn by", "N", *HEAD], rows), words


def _catalogue(law: str, raters: int, seed: int) -> Study:
    """One list of items, judged by raters of a population."""
    rng = np.random.default_rng(seed)
    size = 20 if law == "stars" else 10
    worth = np.random.default_rng(99).normal(size=size)
    noise = rng.gumbel(size=(raters, size))
    if law == "stars":
        scores = np.clip(np.round(3.5 + 0.6 * worth + 0.7 * rng.normal(size=(raters, 1)) + noise), 1, 5)
        scores[rng.random((raters, size)) > 0.15 + 0.7 * rng.random((raters, 1))] = np.nan
    else:
        camp = np.where(rng.random((raters, 1)) < (0.3 if law == "two camps" else 0), -1, 1)
        scores = camp * worth + (1 if law == "two camps" else 1.5) * noise
    rater, item = np.nonzero(np.isfinite(scores))
    ratings = pa.table(
        {
            "criterion": pa.array(["c"] * len(rater)).dictionary_encode(),
            "rater": pa.array([f"r{number}" for number in rater]).dictionary_encode(),
            "item": pa.array([f"i{number}" for number in item]).dictionary_encode(),
            "value": scores[rater, item],
        }
    )
    tables = {
        "prompts": [Prompt(id="q")],
        "items": [Item(id=f"i{number}", prompt="q") for number in range(size)],
        "raters": [Rater(id=f"r{number}") for number in range(raters)],
        "ratings": ratings,
    }
    return Study.build("catalogue", [Criterion(id="c")], tables=tables, simulated=True)


def _holds(run: AnchorReport, name: str, value: float) -> bool:
    ends = run.intervals[name]
    return ends.low is not None and ends.high is not None and ends.low - 1e-9 <= value <= ends.high + 1e-9


def _agrees(run: AnchorReport, printed: tuple[float, ...]) -> bool:
    """Whether the intervals hold the printed numbers, rounding apart."""
    ends = [run.intervals[name] for name in NAMES]
    return all(end.low - 0.0005 <= value <= end.high + 0.0005 for end, value in zip(ends, printed))


def _span(values: list[float]) -> str:
    low, high = (f"{value:.3f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _cell(runs: list[AnchorReport], name: str) -> str:
    ends = runs[0].intervals[name]
    return f"{_span([getattr(run, name) for run in runs])} [{ends.low:.3f}, {ends.high:.3f}]"


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else STUDIES)
