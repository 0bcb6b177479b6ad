"""Seconds against the number of comparisons, 1e5 to 1e7 over 1,000 items; draws docs/methods/pairwise-cost.svg.

A straight line is linear cost. The peer of each line is linear growth itself: ten times the seconds at 1e6, so a ratio
of 1 or more means that ten times the comparisons cost at most ten times the seconds. Limit: one binning pass at 1e7.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks._pairs import RATERS, Drawn, best_of, draw, pass_limit
from salon.report import Curve
from salon.report.charts import line_curves
from salon.report.page import standalone_svg
from salon.stats import bootstrap_scores, cluster_scores, count_pairs, fit_pairs
from salon.stats.elo import sequential_elo

COMPARISONS = (100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000)
ITEMS = 1_000
PICTURE = Path(__file__).parent.parent / "docs" / "methods" / "pairwise-cost.svg"


def rounds(d: Drawn) -> None:
    """The fit and 1,000 bootstrap rounds over raters."""
    counts = count_pairs(d.a, d.b, d.outcome, d.items)
    fit = fit_pairs(counts)
    sums = cluster_scores(fit, d.a, d.b, d.outcome, d.rater, RATERS)
    bootstrap_scores(fit, counts, sums, draws=1_000, rng=np.random.default_rng(0))


METHODS: dict[str, Callable[[Drawn], object]] = {
    "Elo, one pass": lambda d: sequential_elo(d.a, d.b, d.outcome, d.items),
    "Bradley-Terry": lambda d: fit_pairs(count_pairs(d.a, d.b, d.outcome, d.items)),
    "Davidson": lambda d: fit_pairs(count_pairs(d.a, d.b, d.outcome, d.items), "davidson"),
    "with 1,000 bootstrap rounds": rounds,
}


def measured() -> tuple[dict[str, list[float]], float]:
    """Seconds of each method at each size, and of the binning pass at the largest."""
    seconds: dict[str, list[float]] = {name: [] for name in METHODS}
    for comparisons in COMPARISONS:
        drawn = draw(comparisons, ITEMS, ties=0.2)
        for name, method in METHODS.items():
            method(drawn)  # compile, and bring the arrays into memory
            seconds[name].append(best_of(partial(method, drawn))[1])
    return seconds, pass_limit(drawn)["limit"]


def main() -> None:
    """Draw the picture and print one line per method."""
    seconds, limit = measured()
    millions = [n / 1e6 for n in COMPARISONS]
    drawing = line_curves(
        [Curve(name, millions, values) for name, values in seconds.items()],
        title="Seconds against comparisons",
        x_label="million comparisons of 1,000 items",
        y_label="seconds",
    )
    PICTURE.write_text(standalone_svg(drawing), encoding="utf-8")
    for name, values in seconds.items():
        expected = 10 * values[COMPARISONS.index(1_000_000)]
        line = {
            "name": f"growth: {name}",
            "ours": round(values[-1], 4),
            "peer_name": "linear growth: ten times the seconds at 1e6",
            "peer": round(expected, 4),
            "ratio": round(expected / values[-1], 2),
            "limit": limit,
            "unit": "s",
            "items": ITEMS,
            "seconds": {f"{n:.3g}": round(s, 5) for n, s in zip(COMPARISONS, values)},
        }
        print(json.dumps(line))


if __name__ == "__main__":
    main()
