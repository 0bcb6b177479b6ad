"""Contrast of every pair of colours that meets on a page, from the CSS variables as written."""

from __future__ import annotations

import math
import re
from itertools import combinations
from pathlib import Path

import pytest

import salon
from salon.report import page, page as palette

TEXT = ("ink", "soft", "accent", "cohort-1", "cohort-2", "cohort-3", "cohort-4", "null", "alert", "good")
THEMES = ("light", "dark")
ROOT = Path(salon.__file__).parent


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


EYES = {"all": ((1, 0, 0), (0, 1, 0), (0, 0, 1)), "protan": PROTAN, "deutan": DEUTAN}
# From linear light to OKLab (Ottosson 2020): cones, and what the cube roots of their answers make together.
CONES = ((0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
         (0.0883024619, 0.2817188376, 0.6299787005))  # fmt: skip
OPPONENT = ((0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
            (0.0259040371, 0.7827717662, -0.8086757660))  # fmt: skip


def seen(color, eye):
    """Where a color stands in OKLab for an eye; steps of .02 are just noticed."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color]
    through = [max(0.0, value) for value in times(EYES[eye], linear)]
    return times(OPPONENT, [value ** (1 / 3) for value in times(CONES, through)])


def times(matrix, vector):
    return [sum(m * v for m, v in zip(row, vector)) for row in matrix]


def test_distances_are_those_of_oklab():
    """White is (1, 0, 0); red as published is (.628, .225, .126). A deuteranope sees no red in red."""
    assert seen((1, 1, 1), "all") == pytest.approx((1, 0, 0), abs=1e-3)
    assert seen((1, 0, 0), "all") == pytest.approx((0.628, 0.225, 0.126), abs=1e-3)
    assert abs(seen((1, 0, 0), "deutan")[1]) < 0.05


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("eye", EYES)
def test_all_colors_of_charts_stay_apart_for_every_eye(theme, eye):
    """Cohorts, alert and null in pairs: more than three times what is just noticed. And the two hues of heat."""
    colors = variables(theme)
    marks = ("cohort-1", "cohort-2", "cohort-3", "cohort-4", "alert", "null")
    for a, b in [*combinations(marks, 2), ("heat-above", "heat-below")]:
        assert math.dist(seen(colors[a], eye), seen(colors[b], eye)) > 0.07, (a, b)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ground", ["paper", "card", "null-wash"])
def test_edges_of_controls_are_seen(theme, ground):
    """WCAG asks for 3 : 1 where an edge says that something can be pressed or filled in."""
    colors = variables(theme)
    assert contrast(colors["edge"], colors[ground]) >= 3


def test_both_themes_name_the_same_colours():
    assert palette.LIGHT.keys() == palette.DARK.keys()


SHEETS = [
    *(ROOT / "report/templates").glob("*.css"),
    *(ROOT / "generate/templates").glob("*.css"),
    *(ROOT / "bench/site/templates").glob("*.css"),
    *(ROOT / "web/static").glob("*.css"),
]


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda path: path.name)
def test_every_page_is_set_in_the_sizes_and_colors_of_the_ground(sheet):
    """One ground under reports, galleries, leaderboards, studio and service: type, corners and colors are its own."""
    text = sheet.read_text(encoding="utf-8")
    known = set(re.findall(r"--([\w-]+):", page.ground() + text))
    assert set(re.findall(r"var\(--([\w-]+)\)", text)) <= known
    if sheet.name not in ("ground.css", "chart.css"):  # charts are drawn in pixels
        screen = text.split("@media print")[0]
        fonts = re.findall(r"font(?:-size)?: ([^;}]*)", screen)
        assert [font for font in fonts if re.search(r"\d(rem|px)|clamp", font.split("/")[0])] == []
        assert re.findall(r"border-radius: \d*\.?\d+(?:px|rem)", screen.replace("border-radius: 1px", "")) == []
        assert re.findall(r"#[0-9a-f]{3,8}\b(?=[;\s,)])", screen) == []
