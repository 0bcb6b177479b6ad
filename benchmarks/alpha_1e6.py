"""Ordinal Krippendorff's alpha of a million units by five raters with a tenth missing, against
`krippendorff`.

Both get the same ratings, both values must agree to nine digits. Time is the best of three after one warm-up
(ours compiles once); the peer runs in the shape it wants (raters, units). Limit: numpy reads the same
ratings once to count the missing ones.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import krippendorff
import numpy as np

from salon.stats.agreement import krippendorff_alpha

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


def main() -> None:
    x = ratings()
    for_peer = np.ascontiguousarray(x.T)
    krippendorff_alpha(x[:1000], level="ordinal")
    value, ours = best_of(lambda: krippendorff_alpha(x, level="ordinal").value, 3)
    peer_value, peer = best_of(lambda: krippendorff.alpha(for_peer, level_of_measurement="ordinal"), 3)
    if abs(value - peer_value) > 1e-9:
        raise SystemExit(f"values disagree: ours {value}, krippendorff {peer_value}")
    _, limit = best_of(lambda: float(np.isnan(x).sum()), 3)
    line = {
        "name": "alpha_1e6",
        "ours": round(ours, 4),
        "peer_name": "krippendorff",
        "peer": round(peer, 4),
        "ratio": round(peer / ours, 2),
        "limit": round(limit, 4),
        "unit": "s",
        "limit_name": "numpy.isnan(ratings).sum()",
    }
    print(json.dumps(line))


if __name__ == "__main__":
    main()
