"""Chance by name: every decision draws from a stream of its own, so adding one never moves the others.

A poster usually has one seed. One that was drawn from another poster (image-to-image) keeps some of that one's
decisions: then these draw from the seed they came from (`Seeds`), and all others from the poster's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np

_PART_OF = {"tune": "palette", "kerning": "bad-kerning"}
"""Streams that belong to the decision of another name."""


@dataclass(frozen=True, slots=True)
class Seeds:
    """The seed of a poster, and for decisions that it took over from another poster the seed of that one."""

    own: int
    kept: Mapping[str, int] = field(default_factory=dict)
    """Decision to seed."""

    def of(self, decision: str) -> int:
        """The seed that `decision` draws from."""
        return self.kept.get(decision, self.own)


def chance(seed: int | Seeds, *labels: str) -> np.random.Generator:
    """The stream of random numbers for the decision `labels` under `seed`; the same on every machine."""
    # Whether a flaw befalls a poster, and how, are one decision.
    name = labels[1] if labels[0] == "befalls" else labels[0]
    number = seed.of(_PART_OF.get(name, name)) if isinstance(seed, Seeds) else seed
    return np.random.default_rng([number, crc32("/".join(labels).encode())])
