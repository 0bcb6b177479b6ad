"""Numbers that know where they stand: through tables and charts, never through arithmetic."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel

from salon.report import (
    SMALL,
    Column,
    Table,
    charts,
    disagreements,
    estimate_value,
    located,
    lookup,
    number_marks,
    value,
)
from salon.report.values import LocatedFloat, LocatedInt, numbers_in


class Part(BaseModel):
    tau: float
    raters: dict[str, int | None]
    rows: tuple[tuple[float | None, ...], ...] = ()
    simulated: bool = True


@pytest.fixture
def document():
    return Part(
        tau=0.147, raters={"Ada": 3, "a.b\\c": 4, "nul\x00": 5, "": 6, "none": None}, rows=((0.1, None), (0.2, 0.3))
    )


def test_every_number_carries_the_path_that_finds_it(document):
    here = located(document)
    plain = json.loads(document.model_dump_json())
    for number in (here.tau, here.raters["Ada"], here.raters["a.b\\c"], here.rows[1][0]):
        assert lookup(plain, number.key) == number
    assert isinstance(here.tau, LocatedFloat)
    assert isinstance(here.raters["Ada"], LocatedInt)
    assert here == document
    assert here.simulated is True


def test_names_a_page_cannot_write_leave_their_numbers_plain(document):
    here = located(document)
    assert number_marks(here.raters["nul\x00"]) == number_marks(here.raters[""]) == {}
    assert here.raters["none"] is None


def test_arithmetic_gives_numbers_without_a_path(document):
    here = located(document)
    assert number_marks(here.tau + 0.0) == number_marks(-here.tau) == number_marks(round(here.tau, 1)) == {}
    assert number_marks(here.raters["Ada"] + 1) == {}


def test_words_and_tables_carry_the_path(document):
    here = located(document)
    html = value(here.tau, None, "0.147") + Table([Column("tau", "τ", "number")], [here]).__html__()
    assert numbers_in(html) == [("tau", "0.147")] * 2
    triple = estimate_value((here.rows[1][0], here.rows[0][0], here.rows[1][1]), None)
    assert [key for key, _ in numbers_in(triple)] == ["rows.1.0", "rows.0.0", "rows.1.1"]
    assert disagreements(html + triple, document.model_dump(mode="json")) == []


def test_charts_carry_the_path_of_what_they_draw():
    here = located({"v": 0.2, "low": 0.1, "high": 0.3, "null": 0.05, "other": 0.21, "counts": [3, 5, 2], "m": [[0.5]]})
    v, counts = here["v"], here["counts"]
    drawings = {
        "dots": charts.dot_intervals([("a", v, here["low"], here["high"], "g")], here["null"], [("r", here["other"])]),
        "row": charts.dot_intervals([("a", v, None, None, "g")], row_nulls=[here["null"]]),
        "heat": charts.heat_map(here["m"], ["a"], ["b"]),
        "histogram": charts.histogram_over_null([0, 1, 2], counts, [0.2, 0.5, 0.3], medians=(v, None), width=SMALL),
        "pmax": charts.pmax_bars(["3–2", "4–1", "5–0"], counts, [0.6, 0.3, 0.1]),
        "buckets": charts.bucket_bar([("a", counts)], ["x", "y", "z"]),
        "bars": charts.bar_list([("a", v)]),
    }
    keys = {name: {key for key, _ in numbers_in(drawing)} for name, drawing in drawings.items()}
    assert keys["dots"] == {"v", "low", "high", "null", "other"}
    assert keys["row"] == {"v", "null"}
    assert keys["heat"] == {"m.0.0"}
    assert keys["histogram"] == {"counts.0", "counts.1", "counts.2", "v"}
    assert keys["pmax"] == keys["buckets"] == {"counts.0", "counts.1", "counts.2"}
    assert keys["bars"] == {"v"}
    assert disagreements("".join(drawings.values()), json.loads(json.dumps(here))) == []


def test_a_bar_of_several_counts_claims_no_path():
    counts = located(list(range(1, 2001)))
    drawing = charts.histogram_over_null(range(2000), counts, [1 / 2000] * 2000, width=SMALL)
    assert numbers_in(drawing) == []


def test_row_nulls_follow_their_rows_when_sorted():
    """The lower value comes last in the rows' order and takes its own null with it."""
    rows = [("low", 0.1, None, None, "g"), ("high", 0.9, None, None, "g")]
    drawing = charts.dot_intervals(rows, row_nulls=[0.11, 0.88])
    assert "low: 0.100; null 0.110" in drawing
    assert "high: 0.900; null 0.880" in drawing


def test_given_medians_are_drawn_and_none_is_left_out():
    shown = charts.histogram_over_null([0, 1], [1, 1], [0.5, 0.5], medians=(0.5, 0.25), width=SMALL)
    assert "observed median 0.500, null median 0.250" in shown
    assert "median" not in charts.histogram_over_null([0, 1], [1, 1], [0.5, 0.5], medians=(None, None), width=SMALL)
