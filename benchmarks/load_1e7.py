"""Seconds to open a study of ten million comparisons as validated integer arrays.

Ours: `open_study` and its view, that is, numbers for items, raters and criteria, every reference checked, every
duplicate searched for. Peer: pandas reads the same Parquet file and factorizes the same columns, and checks nothing.
Limit: pyarrow alone reads the same columns as dictionaries. Each is the best of three
fresh processes, and the three take turns.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from salon.store import Metadata, TableWriter, open_study, write_metadata
from salon.study import Criterion, Item, Rater

COMPARISONS, ITEMS, RATERS = 10_000_000, 1_000, 500
COLUMNS = ["criterion", "rater", "a", "b", "outcome"]


def make(folder: Path) -> None:
    """A study in which every rater answers 20,000 different pairs, written rater by rater."""
    rng = np.random.default_rng(7)
    write_metadata(folder, Metadata(name="ten million", compare_within="all", criteria=(Criterion(id="overall"),)))
    with TableWriter(folder, "items") as out:
        out.write([Item(id=f"item-{number:04}") for number in range(ITEMS)])
    with TableWriter(folder, "raters") as out:
        out.write([Rater(id=f"rater-{number:03}") for number in range(RATERS)])
    items = pa.array([f"item-{number:04}" for number in range(ITEMS)])
    first, second = (side.astype(np.int32) for side in np.triu_indices(ITEMS, 1))
    with TableWriter(folder, "comparisons") as out:
        for start in range(0, RATERS, 50):
            raters = np.repeat(np.arange(start, start + 50, dtype=np.int32), COMPARISONS // RATERS)
            pairs = np.concatenate([rng.choice(len(first), COMPARISONS // RATERS, replace=False) for _ in range(50)])
            out.write(_rows(items, raters, first[pairs], second[pairs], rng))


def _rows(items: pa.Array, raters: np.ndarray, a: np.ndarray, b: np.ndarray, rng: np.random.Generator) -> pa.Table:
    names = pa.array([f"rater-{number:03}" for number in range(RATERS)])
    codes = {
        "criterion": (np.zeros(len(a), np.int32), pa.array(["overall"])),
        "rater": (raters, names),
        "a": (a, items),
        "b": (b, items),
        "outcome": (rng.integers(0, 3, len(a)).astype(np.int32), pa.array(["a", "b", "tie"])),
    }
    return pa.table({name: pa.DictionaryArray.from_arrays(*column) for name, column in codes.items()})


def ours(folder: Path) -> int:
    """Open and validate."""
    return len(open_study(folder).comparisons)


def peer(folder: Path) -> int:
    """pandas, with each column as integer codes."""
    import pandas as pd

    frame = pd.read_parquet(folder / "comparisons.parquet", columns=COLUMNS)
    codes = [pd.factorize(frame[name])[0] for name in COLUMNS]
    return len(codes[0])


def limit(folder: Path) -> int:
    """pyarrow alone."""
    return pq.ParquetFile(folder / "comparisons.parquet", read_dictionary=COLUMNS).read(COLUMNS).num_rows


def measured(folder: Path, rounds: int = 3) -> dict[str, tuple[float, float]]:
    """Best seconds and peak memory (GiB) of each, in processes of their own that take turns under the same load."""
    runs: dict[str, list[tuple[float, float]]] = {"ours": [], "peer": [], "limit": []}
    for what in list(runs) * rounds:
        done = subprocess.run([sys.executable, __file__, what, str(folder)], check=True, capture_output=True)
        runs[what].append(json.loads(done.stdout))
    return {what: (min(s for s, _ in found), max(m for _, m in found)) for what, found in runs.items()}


def main() -> None:
    """Print the one JSON line."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder)
        size = (folder / "comparisons.parquet").stat().st_size
        results = measured(folder)
    line = {
        "name": "load_1e7",
        "ours": round(results["ours"][0], 2),
        "peer_name": "pandas.read_parquet + factorize (no validation)",
        "peer": round(results["peer"][0], 2),
        "ratio": round(results["peer"][0] / results["ours"][0], 2),
        "limit": round(results["limit"][0], 2),
        "limit_name": "pyarrow reading the same columns as dictionaries",
        "unit": "s",
        "peak_gib": round(results["ours"][1], 2),
        "peer_peak_gib": round(results["peer"][1], 2),
        "limit_peak_gib": round(results["limit"][1], 2),
        "file_mb": round(size / 1e6),
    }
    print(json.dumps(line))


def run(what: str, folder: Path) -> None:
    """Do one thing in this process and print its seconds and peak memory."""
    start = time.perf_counter()
    rows = {"ours": ours, "peer": peer, "limit": limit}[what](folder)
    seconds = time.perf_counter() - start
    if rows != COMPARISONS:
        raise SystemExit(f"{what} read {rows} rows")
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20]))


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2])) if len(sys.argv) == 3 else main()
