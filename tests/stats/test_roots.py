"""Roots between two ends (stats/roots.py), against scipy.optimize."""

from __future__ import annotations

import math

import pytest
from scipy.optimize import brentq

from salon.errors import BadValue
from salon.stats.roots import bracketed_root

FUNCTIONS = {
    "line": (lambda x: 3 * x - 1, -1, 5),
    "cubic": (lambda x: x**3 - 2 * x - 5, 2, 3),
    "exponential": (lambda x: math.exp(x) - 1e6, -12, 30),
    "tanh": (lambda x: math.tanh(50 * (x - 0.123)), -12, 7),
    "far": (lambda x: x - 1e9, 0, 1e12),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_roots_are_those_of_brent(name: str) -> None:
    f, low, high = FUNCTIONS[name]
    calls = []
    root = bracketed_root(lambda x: calls.append(x) or f(x), low, high)
    assert root == pytest.approx(brentq(f, low, high, xtol=1e-14), rel=1e-11)
    assert len(calls) <= 3 * 60
    assert bracketed_root(f, high, low) == pytest.approx(root, rel=1e-11)


def test_ends_and_signs() -> None:
    assert bracketed_root(lambda x: x, 0, 3) == 0
    assert bracketed_root(lambda x: x - 3, 0, 3) == 3
    with pytest.raises(BadValue, match="both signs"):
        bracketed_root(lambda x: x * x + 1, -1, 1)
