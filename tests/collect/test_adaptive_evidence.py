"""The proof of adaptive designs (prove/adaptive.py): what it counts, and that it compares like with like."""

from __future__ import annotations

import numpy as np
import pytest

from prove._panel import ITEMS, PAIRS, curve, drawn_panel
from prove.adaptive import SHARES, _needed


def test_the_share_is_read_off_the_mean_curve_by_hand() -> None:
    """A straight line from .81 at 5% to 1 at 100% reaches .905 half way between 50% and 55%."""
    line = np.array([0.8 + 0.2 * SHARES, 0.8 + 0.2 * SHARES])
    assert _needed(line, 0.905) == pytest.approx(0.525)
    assert _needed(line, 0.7) == pytest.approx(SHARES[0])
    assert _needed(line, 1.1) == np.inf


def test_noise_is_the_scale_of_what_raters_see() -> None:
    plain, noisy = drawn_panel(5, 1.0, 3), drawn_panel(5, 2.0, 3)
    np.testing.assert_allclose(plain.seen, 2 * noisy.seen)
    np.testing.assert_array_equal(plain.side, noisy.side)
    assert plain.information < noisy.information < 1


@pytest.mark.parametrize("design", ["adaptive", "balanced", "random"])
def test_every_design_finds_the_order_of_a_panel_without_noise(design: str) -> None:
    """Noise a thousandth of PPaint's, no leanings: 200 answers of one rater order 50 items well."""
    panel = drawn_panel(1, 1e-3, 0)
    found = curve(design, panel, np.array([100, 200]), 0)
    assert found.shape == (2, 2)
    assert found[1, 0] > max(found[0, 0], 0.75)
    assert panel.seen.shape == (1, ITEMS)
    assert len(PAIRS) == 1225
