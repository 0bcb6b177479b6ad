"""Simulated pictures whose quality and noise can be seen, votes on them, and tiny VLMs to learn both.

A picture's red is its quality, mu = 6 red - 3. Voters see N(mu, sigma^2): sigma is 0.3 for plain pictures and 3 for
striped ones. Each of five voters prefers the one of which they see more, up to logistic noise.
"""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from PIL import Image
from scipy.special import expit

Floats = NDArray[np.float64]
SIGMAS = (0.3, 3.0)
VOTERS = 5
SPAMMERS = 2
"""Voters of five who toss a coin, where there are any."""
SIDE = 16
TEXT = "red"
"""The prompt of all pictures."""
TESTS = ("plain", "striped", "mixed", "close")
"""Two plain pictures, two striped ones, one of each, and two plain ones of nearly the same red."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of pictures; columns are a and b."""

    red: Floats
    striped: NDArray[np.bool_]
    votes: NDArray[np.bool_]
    """(pairs, voters): did the voter prefer a?"""

    @cached_property
    def mu(self) -> Floats:
        return 6 * self.red - 3

    @cached_property
    def share(self) -> Floats:
        return self.votes.mean(axis=1)


def draw(kind: str, pairs: int, rng: np.random.Generator, *, spammers: int = 0) -> Pairs:
    """Pairs of one of TESTS, or of everything ("train")."""
    red = rng.random((pairs, 2))
    if kind == "close":
        red[:, 1] = np.clip(red[:, 0] + rng.uniform(-0.15, 0.15, pairs), 0, 1)
    striped = {
        "train": rng.random((pairs, 2)) < 0.5,
        "mixed": np.eye(2, dtype=bool)[rng.integers(0, 2, pairs)],
        "striped": np.ones((pairs, 2), bool),
    }.get(kind, np.zeros((pairs, 2), bool))
    sigma = np.where(striped, SIGMAS[1], SIGMAS[0])
    seen = rng.normal((6 * red - 3)[:, None, :], sigma[:, None, :], (pairs, VOTERS, 2))
    votes = rng.random((pairs, VOTERS)) < expit(seen[..., 0] - seen[..., 1])
    votes[:, VOTERS - spammers :] = rng.random((pairs, spammers)) < 0.5
    return Pairs(red, striped, votes)


def picture(red: float, striped: bool) -> Image.Image:
    """The picture of one item."""
    pixels = np.full((SIDE, SIDE, 3), (255 * red, 90, 90))
    if striped:
        pixels[::2, :, 1:] = 240
    return Image.fromarray(pixels.astype(np.uint8))


def save(pairs: Pairs, folder: Path, name: str, *, by_rater: bool = False) -> Path:
    """Pictures and labels of pairs as `salon labels` writes them."""
    rows = []
    for number, (share, votes) in enumerate(zip(pairs.share, pairs.votes)):
        images = [f"{name}-{number}{side}.png" for side in "ab"]
        for image, red, striped in zip(images, pairs.red[number], pairs.striped[number]):
            picture(red, striped).save(folder / image)
        row = {
            "criterion": "simulated/red", "group": f"{name}-{number}", "split": "train", "item_a": images[0],
            "item_b": images[1], "image_a": images[0], "image_b": images[1], "text": TEXT,
            "share": float(share), "votes": VOTERS, "for_a": int(votes.sum()), "for_b": int((~votes).sum()), "ties": 0,
            "agreement": abs(2 * share - 1), "p_max": max(share, 1 - share), "label": "a" if share > 0.5 else "b",
        }  # fmt: skip
        said = [{"rater": f"r{rater}", "label": "a" if vote else "b"} for rater, vote in enumerate(votes)]
        rows += [row | one for one in said] if by_rater else [row]
    pq.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet", row_group_size=128)
    return folder / f"{name}.parquet"


def tiny_vlm(folder: Path, family: str) -> Path:
    """A random VLM of a quarter of a million weights, as the tests build it."""
    tests = str(Path(__file__).parents[1] / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    if not folder.is_dir():
        importlib.import_module("tiny_vlm").build_tiny_vlm(folder, family, planted=False)
    return folder
