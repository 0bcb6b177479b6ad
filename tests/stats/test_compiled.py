"""Compiled loops where nothing can be kept on disk."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from salon.stats import compiled

NOWHERE = """
from numba.core import caching
caching.CacheImpl._locator_classes = []  # as where neither the package nor a cache can be written
import numpy as np
from salon.stats.jit import compiled
from salon.stats.signal import votes_rankings
print(compiled(lambda x: x + 1)(1), votes_rankings(np.array([[[0, 1, 2], [0, 2, 1]]], np.int8)).tolist())
"""


def test_a_loop_is_compiled_and_kept() -> None:
    double = compiled(_double)
    assert double(3) == 6
    assert double.machine.signatures
    assert Path(double.machine.stats.cache_path).is_dir()


def _double(x: int) -> int:
    return 2 * x


def test_a_process_that_may_write_nowhere_computes_all_the_same() -> None:
    done = subprocess.run([sys.executable, "-c", NOWHERE], capture_output=True, text=True, check=False, timeout=300)
    assert done.stdout == "2 [[2, 2, 1]]\n", done.stderr
