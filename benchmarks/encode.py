"""Pictures of 1024 x 1448 as vectors by the default encoder: one core, all cores, known pictures, and a growing cache.

Drawn posters, one of each style, from PNG files. `one core` is processor time, warm; its peer decodes and resizes alike
and runs the network as its package has it, in torch, eight at a time; its limit is decoding, resizing and the network
alone, without hashes, cache and engine. `all cores` is wall time, against one core's, and its limit one core's over
their number. `known` finds the vectors in the cache, against computing them; its limit is reading and hashing the
files. `growth` asks a cache of 100,000 vectors for 1,000, against one of 10,000; its limit is to take the rows off the
map, nothing looked up and nothing checked. Vectors of the peer differ from ours by at most 1e-5.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from benchmarks.render import brief
from salon.engine import cores
from salon.models import embedded_networks as effnet, encode_pictures, open_encoder
from salon.models.embeddings import EmbeddingCache
from salon.render import STYLES, DrawingHabits, encode_png, lay_out, plan_poster
from salon.render.paint.raster import paint
from salon.store import read_picture

RUNS = 3
BATCH = 8
FEW, MANY, ASKED, WIDTH = 10_000, 100_000, 1000, 384


def fewest(function: Callable[[], object], clock: Callable[[], float] = time.process_time) -> float:
    """Milliseconds of the fastest of RUNS runs."""
    times = []
    for _ in range(RUNS):
        start = clock()
        function()
        times.append(1e3 * (clock() - start))
    return min(times)


def draw(folder: Path) -> list[Path]:
    """A poster of each style as a file."""
    paths = [folder / f"{style}.png" for style in STYLES]
    for style, path in zip(STYLES, paths):
        plan = plan_poster(brief(style), DrawingHabits(), 1)
        path.write_bytes(encode_png(paint(lay_out(plan).layers, plan.width, plan.height)))
    return paths


def encoded(paths: list[Path], folder: Path) -> dict[str, np.ndarray]:
    """Through a cache that knows nothing."""
    shutil.rmtree(folder, ignore_errors=True)
    return encode_pictures(open_encoder(), paths, cache=EmbeddingCache(folder))


def on_one_core(paths: list[Path], folder: Path) -> dict:
    """The line of one core, and where its time goes."""
    torch.set_num_threads(1)
    ours = fewest(lambda: encoded(paths, folder)) / len(paths)
    network = effnet._network()

    @torch.inference_mode()
    def by_torch() -> np.ndarray:
        pixels = np.concatenate([effnet._pixels(read_picture(path).image) for path in paths])
        parts = torch.from_numpy(pixels).split(BATCH)
        return torch.cat([network.extract_features(part).mean(dim=(2, 3)) for part in parts]).numpy()

    images = [read_picture(path).image for path in paths]
    pixels = [effnet._pixels(image) for image in images]
    session = effnet._session()
    phases = {
        "decode": fewest(lambda: [read_picture(path) for path in paths]) / len(paths),
        "resize": fewest(lambda: [effnet._pixels(image) for image in images]) / len(paths),
        "network": fewest(lambda: [session.run(None, {"pixels": one}) for one in pixels]) / len(paths),
    }
    apart = np.abs(by_torch() - effnet.features_and_chances(images)[0]).max()
    line = _line("encode: one core", ours, "network in torch", fewest(by_torch) / len(paths), sum(phases.values()))
    return line | {
        "per_second": round(1e3 / ours, 1),
        "phases": {name: round(value, 1) for name, value in phases.items()},
        "apart": float(f"{apart:.1e}"),
    }


def on_all_cores(paths: list[Path], folder: Path) -> dict:
    """The line of all cores: in this process, a thread each."""
    everywhere = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(everywhere)})
    alone = fewest(lambda: encoded(paths, folder), time.perf_counter) / len(paths)
    os.sched_setaffinity(0, everywhere)
    torch.set_num_threads(cores())
    ours = fewest(lambda: encoded(paths, folder), time.perf_counter) / len(paths)
    line = _line("encode: all cores", ours, "one core, wall time", alone, alone / cores())
    return line | {"cores": cores(), "per_second": round(1e3 / ours, 1)}


def known(paths: list[Path], folder: Path) -> dict:
    """The line of pictures whose vectors are in the cache."""
    cold = fewest(lambda: encoded(paths, folder)) / len(paths)
    warm = fewest(lambda: encode_pictures(open_encoder(), paths, cache=EmbeddingCache(folder))) / len(paths)
    least = fewest(lambda: [hashlib.sha256(path.read_bytes()).digest() for path in paths]) / len(paths)
    return _line("encode: known pictures", warm, "computed again", cold, least)


def growth(folder: Path) -> dict:
    """The line of a cache that grows."""
    times = {}
    keys = [hashlib.sha256(str(number).encode()).hexdigest() for number in range(MANY)]
    rows = np.random.default_rng(0).normal(size=(MANY, WIDTH)).astype(np.float32)
    asked = np.random.default_rng(1).choice(FEW, ASKED, replace=False)
    for count in (FEW, MANY):
        shelf = EmbeddingCache(folder / str(count)).shelf("growth", WIDTH)
        shelf.keep(keys[:count], rows[:count])
        times[count] = fewest(lambda shelf=shelf: shelf.read([keys[one] for one in asked]))
    plain = np.memmap(shelf.rows, "<f4", "r", shape=(MANY, WIDTH))
    least = fewest(lambda: plain[asked])
    return _line(f"encode: {ASKED:,} of {MANY:,} vectors", times[MANY], f"of {FEW:,}", times[FEW], least)


def _line(name: str, ours: float, peer_name: str, peer: float, limit: float) -> dict:
    return {
        "name": name,
        "ours": round(ours, 3),
        "peer_name": peer_name,
        "peer": round(peer, 3),
        "ratio": round(peer / ours, 2),
        "limit": round(limit, 3),
        "unit": "ms",
    }


def main() -> None:
    """Print the lines."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["SALON_CACHE"] = name
        paths = draw(folder)
        encoded(paths[:1], folder / "vectors")  # networks are loaded
        for line in (on_one_core, known, on_all_cores):
            print(json.dumps(line(paths, folder / "vectors")), flush=True)
        print(json.dumps(growth(folder)), flush=True)


if __name__ == "__main__":
    main()
