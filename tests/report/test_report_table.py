"""Tables: the same numbers in HTML, on a terminal and in the document."""

from __future__ import annotations

import numpy as np
import pytest
from markupsafe import Markup

from salon.errors import BadColumns, BadValue
from salon.report import Badge, Cell, Column, Table, disagreements, lookup
from salon.report.values import numbers_in, path
from salon.stats import Estimate

ROWS = [
    {"name": "Mood", "n": 1200, "tau": {"value": 0.147, "low": 0.101, "high": 0.192}, "tests": {"T": {"p": 3e-12}}},
    {"name": "Type.1", "n": 80, "tau": {"value": -0.02, "low": -0.07, "high": 0.03}, "tests": {"T": {"p": 0.42}}},
]
COLUMNS = [
    Column("name", "Criterion"),
    Column("n", "Prompts", "count"),
    Column("tau", "Mean τ", "estimate"),
    Column("tests.T.p", "p", "p"),
]


def table(**options):
    return Table(COLUMNS, ROWS, "Signal", **options)


def test_terminal_table_is_aligned():
    assert table().text().replace("\u202f", " ") == "\n".join(
        [
            "Criterion  Prompts                  Mean τ        p",
            "─────────  ───────  ──────────────────────  ───────",
            "Mood         1 200   0.147 [0.101, 0.192]   < 1e−10",
            "Type.1          80  −0.020 [−0.070, 0.030]     0.42",
        ]
    )


def test_every_number_carries_its_path_and_raw_value():
    html = table(key="criteria", row_keys=["Mood", "Type.1"]).__html__()
    assert numbers_in(html) == [
        ("criteria.Mood.n", "1200"),
        ("criteria.Mood.tau.value", "0.147"),
        ("criteria.Mood.tau.low", "0.101"),
        ("criteria.Mood.tau.high", "0.192"),
        ("criteria.Mood.tests.T.p", "3e-12"),
        ("criteria.Type\\.1.n", "80"),
        ("criteria.Type\\.1.tau.value", "-0.02"),
        ("criteria.Type\\.1.tau.low", "-0.07"),
        ("criteria.Type\\.1.tau.high", "0.03"),
        ("criteria.Type\\.1.tests.T.p", "0.42"),
    ]
    document = {"criteria": {row["name"]: row for row in ROWS}}
    assert disagreements(html, document) == []


def test_a_single_changed_digit_is_found():
    html = table(key="rows").__html__()
    changed = [ROWS[0], {**ROWS[1], "n": 81}]
    assert disagreements(html, {"rows": changed}) == ["rows.1.n: page 80, document 81"]


def test_rows_without_a_document_carry_no_key():
    assert numbers_in(table().__html__()) == []


def test_result_objects_and_numpy_are_rows_too():
    row = {"tau": Estimate(np.float64(0.5), 0.4, 0.6, 80, "prompts"), "n": np.int64(3)}
    html = Table([Column("tau", "τ", "estimate"), Column("n", "n", "count")], [row], key="r").__html__()
    assert numbers_in(html) == [
        ("r.0.tau.value", "0.5"),
        ("r.0.tau.low", "0.4"),
        ("r.0.tau.high", "0.6"),
        ("r.0.n", "3"),
    ]


def test_missing_is_a_dash_with_null():
    html = Table([Column("x", "x", "number")], [{"x": None}], key="r").__html__()
    assert numbers_in(html) == [("r.0.x", "null")]
    assert ">–</data>" in html
    assert disagreements(html, {"r": [{"x": None}]}) == []


def test_exact_fractions_and_integers_in_float_columns():
    columns = [Column("f", "f", "exact"), Column("i", "i", "number")]
    html = Table(columns, [{"f": "3875/18432", "i": 1}], key="r").__html__()
    assert disagreements(html, {"r": [{"f": "3875/18432", "i": 1}]}) == []
    assert disagreements(html, {"r": [{"f": "3876/18432", "i": 1.0}]}) != []


def test_badges():
    rows = [{"flags": [Badge("fast", "alert", hint="median under 2 s"), Badge("left")]}, {"flags": None}]
    flags = Table([Column("flags", "Flags", "badge")], rows)
    assert 'class="badge tone-alert" title="median under 2 s"' in flags.__html__()
    assert flags.text().splitlines()[2:] == ["fast, left", "–"]


def test_an_unknown_path_is_an_error_that_names_the_nearest():
    with pytest.raises(BadColumns, match="mean_tau"):
        Table([Column("mean_ta", "τ", "number")], [{"mean_tau": 1.0}]).__html__()


def test_nan_and_wrong_row_keys_are_refused():
    with pytest.raises(BadValue, match="number"):
        Table([Column("x", "x", "number")], [{"x": float("nan")}]).__html__()
    with pytest.raises(BadValue, match="2 row keys"):
        table(row_keys=["one"])


def test_paths_survive_any_name():
    for name in ("a.b", "back\\slash", "..", "a\\.b", "ünï"):
        assert lookup({"x": {name: {"y": 5}}}, f"x.{path(name)}.y") == 5


def test_an_empty_table_is_still_a_table():
    empty = Table(COLUMNS, [])
    assert empty.text().splitlines()[0].split() == ["Criterion", "Prompts", "Mean", "τ", "p"]
    assert "<tbody>" in empty.__html__()


def test_a_cell_may_say_why_it_is_empty_and_carry_a_second_line():
    rows = [{"p": Cell(None, "needs two raters")}, {"p": Cell(0.02, under=Markup("Holm <i>0.04</i>"))}]
    table = Table([Column("p", "p", "p")], rows, Markup("At the <b>95%</b> level"))
    html = table.__html__()
    assert '<td class="kind-p" data-sort="" title="needs two raters">' in html
    assert '<div class="under">Holm <i>0.04</i></div>' in html
    assert 'aria-label="At the 95% level"' in html
    assert table.text().split() == ["p", "─────", "–", "0.020"]


def test_markup_in_a_text_cell_stays_and_words_are_escaped():
    rows = [{"n": Markup("<b>4</b> × 5")}, {"n": "<b>"}]
    table = Table([Column("n", "Shape")], rows)
    assert "<b>4</b> × 5" in table.__html__()
    assert "&lt;b&gt;" in table.__html__()
    assert "4 × 5" in table.text()


def test_a_column_without_a_header_is_refused():
    with pytest.raises(BadValue, match="header"):
        Column("verdict", "", "badge")


def test_a_table_of_words_alone_wraps_them_all():
    assert Table([Column("a", "A"), Column("b", "B", "badge")], []).look == "sortable words"
    assert Table([Column("a", "A"), Column("n", "N", "count")], [], sortable=False).look == ""
    assert "dense" in Table([Column(str(n), "N", "count") for n in range(8)], []).look
    assert "dense" in Table([Column(str(n), "N", "estimate") for n in range(6)], []).look  # an interval is wide
    assert "dense" not in Table([Column(str(n), "N", "estimate") for n in range(5)], []).look
    assert "over" in Table([Column(str(n), "N", "estimate") for n in range(8)], []).look
    assert "over" not in Table([Column(str(n), "N", "estimate") for n in range(7)], []).look
