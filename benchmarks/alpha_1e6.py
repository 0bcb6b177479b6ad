"""Ordinal Krippendorff's alpha of a million units by five raters with a tenth missing, against `krippendorff`
and `evalica`.

All get the same ratings, the values must agree to nine digits. Time is the best of three after one warm-up
(ours compiles once); the peers run on the form they want (raters, units), made before the clock starts. The line names
the faster peer. Limit: numpy reads the same ratings once to count the missing ones.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import evalica
import krippendorff
import numpy as np
import pandas as pd

from salon.stats.alpha import krippendorff_alpha

UNITS, RATERS = 1_000_000, 5


def ratings() -> np.ndarray:
    """Scores 1 to 5 of a shared quality plus noise, one answer in ten missing."""
    rng = np.random.default_rng(0)
    x = np.clip(np.round(3 + rng.normal(size=(UNITS, 1)) + rng.normal(size=(UNITS, RATERS))), 1, 5)
    x[rng.random(x.shape) < 0.1] = np.nan
    return x


def best_of(function: Callable[[], float], repeats: int) -> tuple[float, float]:
    """The value and the fewest seconds it took."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        value = function()
        seconds.append(time.perf_counter() - start)
    return value, min(seconds)


def peers(x: np.ndarray) -> dict[str, Callable[[], float]]:
    """The other tools, ready to run."""
    table = np.ascontiguousarray(x.T)
    frame = pd.DataFrame(table)
    return {
        "krippendorff": lambda: krippendorff.alpha(table, level_of_measurement="ordinal"),
        "evalica": lambda: evalica.alpha(frame, "ordinal").alpha,
    }


def main() -> None:
    x = ratings()
    krippendorff_alpha(x[:1000], level="ordinal")
    value, ours = best_of(lambda: krippendorff_alpha(x, level="ordinal").value, 3)
    times = {}
    for name, run in peers(x).items():
        peer_value, times[name] = best_of(run, 3)
        if abs(value - peer_value) > 1e-9:
            raise SystemExit(f"values disagree: ours {value}, {name} {peer_value}")
    _, limit = best_of(lambda: float(np.isnan(x).sum()), 3)
    best = min(times, key=times.__getitem__)
    line = {
        "name": "alpha_1e6",
        "ours": round(ours, 4),
        "peer_name": best,
        "peer": round(times[best], 4),
        "ratio": round(times[best] / ours, 2),
        "limit": round(limit, 4),
        "unit": "s",
        "limit_name": "numpy.isnan(ratings).sum()",
        "peers": {name: round(seconds, 4) for name, seconds in times.items()},
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
