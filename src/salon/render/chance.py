"""Chance by name: every decision draws from a stream of its own, so adding one never moves the others."""

from __future__ import annotations

from zlib import crc32

import numpy as np


def chance(seed: int, *labels: str) -> np.random.Generator:
    """The stream of random numbers for the decision `labels` under `seed`; the same on every machine."""
    return np.random.default_rng([seed, crc32("/".join(labels).encode())])
