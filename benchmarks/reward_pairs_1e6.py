"""A million pairs for `salon train reward`: seconds to the first step, peak memory, and pairs per second.

Shards of Parquet name 500,000 pictures (at 1e6 pairs; in proportion below that) of 448 x 448 pixels, hard links of 500
files, so that names and lookups are real and the disk stays small. Seconds to the first step: hash of the source,
survey (columns, pictures, split), rows written, and the first 64 pairs decoded; its peer is one bare pass of pyarrow
over the same shards and 64 pairs by PIL. Memory: growth of the peak resident set of a fresh process over all of that
and 200,000 further draws; its peer is the same of ten times fewer pairs. Pairs per second: the training iterator
(records, both pictures decoded and checked, hashed for the leak guard) against a bare loop over the same shards:
pyarrow and PIL's decoding, one thread each.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image

SIZES = (10_000, 100_000, 1_000_000)
DECODED, SHARD, DRAWS, BATCH = 500, 50_000, 200_000, 64
THROUGHPUT_PAIRS = 1500


def make(folder: Path, pairs: int) -> None:
    """Shards sorted by prompt, four pairs each, and the pictures they name."""
    rng = np.random.default_rng(0)
    (folder / "pictures").mkdir(parents=True)
    for number in range(min(DECODED, pairs // 2)):
        small = rng.integers(0, 255, (28, 28, 3), dtype=np.uint8)
        picture = Image.fromarray(small).resize((448, 448), Image.Resampling.BICUBIC)
        picture.save(folder / f"{number}.jpg", quality=90)
    for number in range(pairs // 2):
        parent = folder / "pictures" / f"{number // 10_000:03}"
        parent.mkdir(exist_ok=True)
        os.link(folder / f"{number % min(DECODED, pairs // 2)}.jpg", parent / f"{number:07}.jpg")
    (folder / "shards").mkdir()
    for start in range(0, pairs, SHARD):
        prompt = np.arange(start, min(start + SHARD, pairs)) // 4
        a, b = prompt * 2, prompt * 2 + 1  # two pictures a prompt: none stands in two splits
        names = [
            [f"pictures/{n // 10_000:03}/{n:07}.jpg" for n in side] for side in (a % (pairs // 2), b % (pairs // 2))
        ]
        table = {
            "image_a": names[0], "image_b": names[1],
            "text": [f"a poster for the fair of the year {n}, by the sea, in blue and gold" for n in prompt],
            "group": [f"p{n}" for n in prompt], "share": rng.random(len(prompt)),
            "split": np.where(prompt % 100 == 0, "validation", "train"),
        }  # fmt: skip
        pq.write_table(pa.table(table), folder / "shards" / f"{start // SHARD:05}.parquet", row_group_size=10_000)


def bare(folder: Path) -> Iterator[tuple[Image.Image, Image.Image]]:
    """All pairs in the order of the shards, decoded by PIL."""
    for shard in sorted((folder / "shards").iterdir()):
        for batch in pq.ParquetFile(shard).iter_batches(8192):
            columns = [batch.column(name).to_pylist() for name in batch.schema.names]
            for a, b, *_ in zip(*columns):
                yield tuple(Image.open(folder / name).convert("RGB") for name in (a, b))


def run(what: str, folder: Path) -> dict[str, float]:
    """One measurement in this process."""
    from salon.train import RewardSettings
    from salon.train.name_hashes import GuardLog
    from salon.train.pair_files import PairShards
    from salon.train.reward_data import PairFile, read_pair
    from salon.train.reward_survey import survey_pairs, surveyed_pictures

    if what == "bare start":
        start = time.perf_counter()
        for shard in sorted((folder / "shards").iterdir()):
            for batch in pq.ParquetFile(shard).iter_batches(8192):
                batch.to_pydict()
        list(islice(bare(folder), BATCH))
        return {"seconds": time.perf_counter() - start}
    home = folder / "run"
    home.mkdir(exist_ok=True)
    before, start = _peak(), time.perf_counter()
    PairShards(folder / "shards").content_hash(home / "data.json")
    pairs = PairFile(folder / "shards", folder, RewardSettings(), run=home)
    survey = survey_pairs(pairs)
    pairs = PairFile(pairs.path, folder, pairs.settings, run=home, guard=GuardLog(home, 0, surveyed_pictures(pairs)))
    for row in islice(pairs.training(start=0), BATCH):
        read_pair(row, pairs)
    seconds = time.perf_counter() - start
    if what == "start":
        start = time.perf_counter()
        draws = sum(1 for _ in islice(pairs.training(start=BATCH), DRAWS))
        rate = draws / (time.perf_counter() - start)
        grown = _peak() - before
        return {"seconds": seconds, "mb": grown, "draws": rate, "pictures": survey.pictures}
    rates: dict[str, list[float]] = {"ours": [], "peer": [], "unhashed": []}
    plain = PairFile(pairs.path, folder, pairs.settings, run=home)
    for turn in range(3):
        first = 1000 + turn * THROUGHPUT_PAIRS
        for name, source in (("ours", pairs), ("unhashed", plain)):
            start = time.perf_counter()
            for row in islice(source.training(start=first), THROUGHPUT_PAIRS):
                read_pair(row, source)
            rates[name].append(THROUGHPUT_PAIRS / (time.perf_counter() - start))
        start = time.perf_counter()
        done = sum(1 for _ in islice(bare(folder), THROUGHPUT_PAIRS))
        rates["peer"].append(done / (time.perf_counter() - start))
    return {name: max(found) for name, found in rates.items()}


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _measured(what: str, folder: Path) -> dict[str, float]:
    done = subprocess.run([sys.executable, "-m", "benchmarks.reward_pairs_1e6", what, str(folder)], check=True,
                          capture_output=True, text=True)  # fmt: skip
    return json.loads(done.stdout)


def main() -> None:
    """Print one line for each measurement."""
    grown: dict[int, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as place:
        for pairs in SIZES:
            folder = Path(place) / str(pairs)
            make(folder, pairs)
            grown[pairs] = _measured("start", folder)
            if pairs == SIZES[-1]:
                again, peer = _measured("start", folder), _measured("bare start", folder)
                rates = _measured("pairs", folder)
            shutil.rmtree(folder)
    most, fewer = grown[SIZES[-1]], grown[SIZES[-2]]
    slope = (most["mb"] - fewer["mb"]) * 2**20 / (SIZES[-1] - SIZES[-2])
    print(json.dumps({
        "name": "reward_pairs_1e6: to the first step", "ours": round(most["seconds"], 1),
        "peer_name": "one pass of pyarrow, and the same 64 pairs", "peer": round(peer["seconds"], 1),
        "ratio": round(peer["seconds"] / most["seconds"], 2), "limit": round(peer["seconds"], 1), "unit": "s",
        "pairs": SIZES[-1], "pictures": most["pictures"], "resumed": round(again["seconds"], 2),
    }))  # fmt: skip
    print(json.dumps({
        "name": "reward_pairs_1e6: memory", "ours": round(most["mb"], 1),
        "peer_name": "the same of 100,000 pairs", "peer": round(fewer["mb"], 1),
        "ratio": round(fewer["mb"] / most["mb"], 2), "limit": None, "unit": "MiB grown",
        "bytes_a_pair": round(slope, 1), "at": {f"{n:,}": round(found["mb"], 1) for n, found in grown.items()},
    }))  # fmt: skip
    print(json.dumps({
        "name": "reward_pairs_1e6: pairs decoded", "ours": round(rates["ours"]),
        "peer_name": "a bare loop of pyarrow and PIL", "peer": round(rates["peer"]),
        "ratio": round(rates["ours"] / rates["peer"], 2), "limit": round(rates["peer"]), "unit": "pairs per second",
        "without_guard": round(rates["unhashed"]), "records_alone": round(most["draws"]),
    }))  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], Path(sys.argv[2])))) if len(sys.argv) == 3 else main()
