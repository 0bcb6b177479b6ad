"""Processor seconds from a CSV of a million votes to scores with intervals, and to a check.

The votes are of 500 raters on 1,000 items, 2,000 different pairs each, one in five a tie. Ours: `read_study` and
`fuse_study` (or `check_study`) in one process whose loops are compiled, the fewest of three runs. Peer of the fusion:
pyarrow reads the same file and does nothing else; of the check: the fusion. Limit: pyarrow reading the file.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from benchmarks._pairs import best_of
from salon.check import check_study
from salon.fuse import fuse_study
from salon.store import read_study

VOTES, ITEMS, RATERS = 1_000_000, 1_000, 500


def write(file: Path) -> None:
    """The votes as text."""
    rng = np.random.default_rng(7)
    truth = rng.uniform(-1.5, 1.5, ITEMS)
    first, second = np.triu_indices(ITEMS, 1)
    chosen = np.concatenate([rng.choice(len(first), VOTES // RATERS, replace=False) for _ in range(RATERS)])
    turned = rng.random(VOTES) < 0.5
    low, high = first[chosen], second[chosen]
    a, b = np.where(turned, high, low), np.where(turned, low, high)
    outcome = (rng.random(VOTES) > 1 / (1 + np.exp(truth[b] - truth[a]))).astype(int)
    outcome[rng.random(VOTES) < 0.2] = 2
    names = np.array([f"model-{number:04}" for number in range(ITEMS)])
    table = pa.table(
        {
            "a": names[a],
            "b": names[b],
            "outcome": np.array(["a", "b", "tie"])[outcome],
            "rater": np.array([f"rater-{number:03}" for number in range(RATERS)])[
                np.repeat(np.arange(RATERS), VOTES // RATERS)
            ],
        }
    )
    pyarrow.csv.write_csv(table, file)


def main() -> None:
    """Print both lines."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "votes.csv"
        write(file)
        _, reading = best_of(lambda: pyarrow.csv.read_csv(file))
        _, fusing = best_of(lambda: fuse_study(read_study("comparisons", [file])), patience=60)
        _, checking = best_of(lambda: check_study(read_study("comparisons", [file])), patience=60)
    rows = {
        "fuse": (fusing, "pyarrow.csv.read_csv", reading),
        "check": (checking, "fuse of the same file", fusing),
    }
    for what, (ours, peer_name, peer) in rows.items():
        line = {
            "name": f"csv_1e6: {what}",
            "ours": round(ours, 3),
            "peer_name": peer_name,
            "peer": round(peer, 3),
            "ratio": round(peer / ours, 3),
            "limit": round(reading, 3),
            "limit_name": "pyarrow.csv.read_csv",
            "times_limit": round(ours / reading, 1),
            "unit": "s",
            "votes": VOTES,
            "items": ITEMS,
            "raters": RATERS,
        }
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
