"""Chance that can be repeated: a generator for each purpose, from the studio's seed and the names of things.

Every order, side and draw of a studio follows from its seed, so position n of a rater's questions is the same
whenever, wherever and however often it is asked for.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np


def seeded(seed: int, *names: object) -> np.random.Generator:
    """A generator of its own for `names`, the same on every machine."""
    digest = hashlib.blake2b(json.dumps([seed, *map(str, names)]).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))
