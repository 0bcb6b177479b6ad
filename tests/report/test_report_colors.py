"""Contrast of every pair of colours that meets on a page, from the CSS variables as written."""

from __future__ import annotations

import re
from itertools import combinations

import pytest

from salon.report import page, palette

TEXT = ("ink", "soft", "accent", "cohort-1", "cohort-2", "cohort-3", "cohort-4", "null", "alert", "good")
THEMES = ("light", "dark")


def variables(theme: str) -> dict[str, tuple[float, float, float]]:
    """The --name: #rrggbb pairs of the first block with this colour scheme in the style sheet."""
    block = re.search(r"\{\s*color-scheme: " + theme + r";([^}]*)\}", page.style()).group(1)
    found = re.findall(r"--([\w-]+): #([0-9a-f]{6});", block)
    return {name: tuple(int(hex_[i : i + 2], 16) / 255 for i in (0, 2, 4)) for name, hex_ in found}


def luminance(color: tuple[float, float, float]) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: tuple[float, float, float], b: tuple[float, float, float]) -> float:
    dark, light = sorted((luminance(a), luminance(b)))
    return (light + 0.05) / (dark + 0.05)


def mixed(top: tuple, under: tuple, opacity: float) -> tuple[float, float, float]:
    return tuple(opacity * t + (1 - opacity) * u for t, u in zip(top, under))


def test_the_formula_by_hand():
    """Black on white is (1 + .05) / (0 + .05) = 21."""
    assert contrast((0, 0, 0), (1, 1, 1)) == pytest.approx(21)
    assert contrast((1, 1, 1), tuple([0x76 / 255] * 3)) == pytest.approx(4.54, abs=0.01)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", ["paper", "card", "null-wash"])
@pytest.mark.parametrize("name", TEXT)
def test_text_is_readable(theme, ground, name):
    colors = variables(theme)
    assert contrast(colors[name], colors[ground]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", ["cohort-1", "cohort-2", "cohort-3", "cohort-4"])
def test_numbers_inside_bars_are_readable(theme, name):
    colors = variables(theme)
    assert contrast(colors["paper"], colors[name]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("hue", ["heat-above", "heat-below"])
@pytest.mark.parametrize("ground", ["paper", "card"])
def test_numbers_on_heat_are_readable_at_every_opacity(theme, hue, ground):
    colors = variables(theme)
    for tenth in range(11):
        under = mixed(colors[hue], colors[ground], tenth / 10)
        assert contrast(colors["ink"], under) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_tooltips_are_readable(theme):
    colors = variables(theme)
    assert contrast(colors["paper"], colors["ink"]) >= 7


# Linear-light matrices for full dichromacy (Viénot, Brettel and Mollon 1999), one row per output channel.
PROTAN = ((0.11238, 0.88762, 0), (0.11238, 0.88762, 0), (0.00401, -0.00401, 1))
DEUTAN = ((0.29275, 0.70725, 0), (0.29275, 0.70725, 0), (-0.02234, 0.02234, 1))


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("eye", [PROTAN, DEUTAN])
def test_cohorts_and_null_stay_apart_for_colour_blind_eyes(theme, eye):
    colors = variables(theme)

    def seen(name):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colors[name]]
        through = [max(0.0, sum(m * v for m, v in zip(row, linear))) for row in eye]
        return [12.92 * v if v <= 0.0031308 else 1.055 * v ** (1 / 2.4) - 0.055 for v in through]

    for a, b in combinations(("cohort-1", "cohort-2", "null"), 2):
        assert sum((x - y) ** 2 for x, y in zip(seen(a), seen(b))) ** 0.5 > 0.15, (a, b)


def test_both_themes_name_the_same_colours():
    assert palette.LIGHT.keys() == palette.DARK.keys()
    used = set(re.findall(r"var\(--([\w-]+)", page.style()))
    assert used - set(palette.LIGHT) == {"serif", "sans", "mono", "tone", "series"}
