"""Patterns: they fill their outline with every color given, leave the rest alone, and follow the seed."""

from __future__ import annotations

import numpy as np
import pytest

from salon.render.marks import Fill, Layer
from salon.render.patterns import PATTERNS
from salon.render.raster import paint
from salon.render.shapes import circle, rect

RED = (255, 0, 0)
WITHIN = circle(100, 100, 80)


def painted(name: str, colors: tuple[str, ...], seed: int, size: float = 24.0) -> np.ndarray:
    marks = PATTERNS[name](WITHIN, colors, size, np.random.default_rng(seed))
    return paint([Layer("pattern", (Fill(rect(0, 0, 200, 200), "#ff0000"), *marks))], 200, 200)


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_covers_its_outline_and_nothing_else(name):
    image = painted(name, ("#ffffff", "#000000"), 1)
    y, x = np.mgrid[:200, :200] + 0.5
    away = np.hypot(x - 100, y - 100)
    assert (image[away > 82] == RED).all()
    inside = image[away < 78]
    assert not (inside == RED).all(axis=1).any()
    dark = (inside.sum(axis=1) < 96).mean()
    assert 0.03 < dark < 0.9


@pytest.mark.parametrize("name", PATTERNS)
def test_a_pattern_follows_its_seed(name):
    draw = PATTERNS[name]
    colors = ("#ffffff", "#000000", "#3366cc")
    same = [draw(WITHIN, colors, 24.0, np.random.default_rng(7)) for _ in range(2)]
    assert same[0] == same[1]
    assert len({draw(WITHIN, colors, 24.0, np.random.default_rng(seed)) for seed in range(12)}) > 1


@pytest.mark.parametrize("name", ["dots", "stripes", "terrazzo", "confetti", "rings"])
def test_patterns_of_several_figures_use_every_color(name):
    found = {tuple(pixel) for pixel in painted(name, ("#ffffff", "#000000", "#3366cc"), 2).reshape(-1, 3).tolist()}
    assert {(255, 255, 255), (0, 0, 0), (0x33, 0x66, 0xCC)} <= found


def test_the_dots_of_a_halftone_grow_to_one_side():
    image = painted("halftone", ("#ffffff", "#000000"), 3, size=10.0)
    ink = (image.sum(axis=2) < 96).astype(float)
    halves = [ink[:100].sum(), ink[100:].sum()], [ink[:, :100].sum(), ink[:, 100:].sum()]
    assert max(max(pair) / min(pair) for pair in halves) > 2


def test_a_larger_size_makes_a_coarser_pattern():
    def edges(size: float) -> int:
        return int(np.abs(np.diff(painted("checks", ("#ffffff", "#000000"), 0, size)[..., 0].astype(int))).sum())

    assert edges(12.0) > 1.5 * edges(36.0)
