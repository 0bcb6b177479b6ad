"""A synthetic scorer whose workers die; in a module of its own, for workers import it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from salon.engine import Row

DEATHS = 0.05
"""Chance that a worker is killed in the middle of a batch that it has not met before."""


class Scorings:
    """A synthetic scorer: some arithmetic on each number, and a worker that sometimes dies of it."""

    schema = pa.schema([pa.field("score", pa.float64())])
    signature = "synthetic"

    def __init__(self, marks: Path) -> None:
        self.marks = marks

    def open(self) -> Callable[[Sequence[Any]], list[Row]]:
        """Nothing to load."""
        return self._score

    def _score(self, values: Sequence[int]) -> list[Row]:
        mark = self.marks / str(values[0])
        if not mark.exists() and np.random.default_rng(values[0]).random() < DEATHS:
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return [{"score": score} for score in scores(np.asarray(values)).tolist()]


def scores(values: np.ndarray) -> np.ndarray:
    """What the work gives, for the check."""
    return np.sin(values) * np.sqrt(values)
