"""The worked example of docs/methods/axes.md is what the code computes."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from scipy.special import expit
from suite_example import CARD, SCORER, answers, asked, entered, logits

from salon.bench import EntryResult, Suite, entry_result, with_hashes
from salon.bench.reference import make_reference
from salon.stats import score_interval, win_chance

PAGE = (Path(__file__).parents[2] / "docs/methods/axes.md").read_text(encoding="utf-8")
PROSE = " ".join(PAGE.split())
FIELD = ("north", "south", "west")
SIGMA = 1.5


@cache
def rows() -> dict[str, list[str]]:
    """Cells of the example's table, by entry."""
    part = PAGE[PAGE.index("## By hand") :]
    found = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in part.splitlines() if line.startswith("|")
    ]
    return {name.strip("*"): cells for name, *cells in found[2:8]}


def given(name: str) -> list[float]:
    return [float(cell) for cell in rows()[name][:3]]


def scored(suite: Suite, name: str) -> tuple:
    entry = entered(suite, name)
    return entry, logits(suite, entry, lambda item: given(name)[int(item[1])], SIGMA)


@cache
def frozen(integrate: bool) -> Suite:
    """Kite and fox count for EPS, menu does not; the field is the reference."""
    suite = replace(asked(["look", "mood", "words"], integrate=integrate), reference=None)
    field = [scored(suite, name) for name in FIELD]
    return with_hashes(replace(suite, reference=make_reference(suite, field, {"eps": ("likes", SCORER, CARD)})))


def result(name: str, integrate: bool = False) -> EntryResult:
    suite = frozen(integrate)
    entry, table = scored(suite, name)
    return entry_result(suite, entry, answers(suite, entry, lambda *_: "pass"), table)


def test_the_table_has_the_rows_that_are_tested():
    assert list(rows()) == ["north", "south", "west", "reference", "new", "bold"]


@pytest.mark.parametrize("integrate", [False, True])
@pytest.mark.parametrize("name", [*FIELD, "new", "bold"])
def test_eps_is_what_the_page_says(name, integrate):
    got = result(name, integrate).eps["eps"].figure.value
    assert f"{got:.2f}" == rows()[name][3 + integrate]
    if name == "new":
        assert got == 50.0


def test_the_reference_is_what_the_page_says():
    points = frozen(True).reference.preferences[0].points
    assert [(point.value, point.sigma) for point in points] == [(1.0, SIGMA), (0.5, SIGMA)]
    assert rows()["reference"][:2] == ["1.0", "0.5"]


def test_what_fifty_does_not_mean():
    told = re.search(r"new beats north with a chance of ([\d.]+)%, south with ([\d.]+)% and west with ([\d.]+)%", PROSE)
    new = given("new")
    for said, other in zip(told.groups(), FIELD, strict=True):
        duels = [expit(own - its) for own, its in zip(new[:2], given(other)[:2], strict=True)]
        assert float(said) == pytest.approx(100 * sum(duels) / 2, abs=0.05)
    mean = re.search(r"The field's mean is ([\d.]+) here", PROSE).group(1)
    assert f"{sum(result(name).eps['eps'].figure.value for name in FIELD) / 3:.2f}" == mean


def test_other_numbers_of_the_page():
    plain, wide = win_chance(1.0, 0.0), win_chance(1.0, (2 * SIGMA**2) ** 0.5)
    assert f"a chance of {wide:.4f} instead of {plain:.4f}" in PROSE
    for passed, words in ((192, "192 of 192 passed is [{:.1f}, 100]"), (3, "three of three [{:.1f}, 100]")):
        assert words.format(100 * score_interval([1.0] * passed).low) in PROSE
