"""Columns that derive from the fields of a result class."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import Field

from salon.errors import BadValue
from salon.report import Column, Table, columns_of, located
from salon.stats import Estimate, described, result
from salon.study import Format, Noun


class Inner(Noun):
    """A result inside another."""

    oracle: Estimate | None = Field(default=None, title="Oracle", description="What a perfect model reaches.")


class Outer(Noun):
    """A result."""

    name: str = Field(title="Judge")
    answer: Literal["yes", "no"] = "yes"
    pairs: int = 0
    share: Annotated[float | None, Format("percent", 1)] = Field(
        default=None, title="Ties", description="Of all pairs."
    )
    p: Annotated[float, Format("p")] = 0.5
    ceilings: Inner = Inner()


def test_headers_hints_and_formats_come_from_the_fields() -> None:
    columns = columns_of(Outer, "name", "answer", "pairs", "share", "p", "ceilings.oracle")
    assert columns == [
        Column("name", "Judge"),
        Column("answer", "Answer"),
        Column("pairs", "Pairs", "count"),
        Column("share", "Ties", "percent", 1, "Of all pairs"),
        Column("p", "P", "p"),
        Column("ceilings.oracle", "Oracle", "estimate", hint="What a perfect model reaches"),
    ]


@result
class Shape:
    """A kernel's result that a report holds as it is."""

    items: int = described("Items that met.", title="Items")
    share: float | None = described("Of all pairs.", title="Met", kind="percent", decimals=1)
    fit: Estimate = described("How well it fits.")
    note: str = described("In words.", default="")


class Held(Noun):
    """A report with such a result."""

    shape: Shape


def test_a_kernel_describes_its_result_for_tables_json_and_pages() -> None:
    fit = Estimate(0.5, 0.4, 0.6, 10, "pair")
    report = Held(shape=Shape(items=3, share=0.25, fit=fit))
    assert columns_of(Shape, "items", "share", "fit") == [
        Column("items", "Items", "count", hint="Items that met"),
        Column("share", "Met", "percent", 1, "Of all pairs"),
        Column("fit", "Fit", "estimate", hint="How well it fits"),
    ]
    assert columns_of(Held, "shape.share")[0].header == "Met"
    assert report.model_dump(mode="json")["shape"]["share"] == 0.25
    assert Held.model_json_schema()["$defs"]["Shape"]["properties"]["items"]["description"] == "Items that met."
    assert (located(report).shape.share.key, located(report).shape.fit.low.key) == ("shape.share", "shape.fit.low")
    with pytest.raises(BadValue, match=r"Held\.shape\.share"):
        Held.parse({"shape": {"items": 3, "share": float("nan"), "fit": fit}})
    with pytest.raises(BadValue, match="field of Shape"):
        columns_of(Shape, "nothing")


def test_a_table_can_give_a_shorter_header() -> None:
    assert columns_of(Outer, "ceilings.oracle", ceilings_oracle="Best")[0].header == "Best"


def test_the_rows_of_a_table_are_the_results_themselves() -> None:
    oracle = Estimate(0.8, 0.7, 0.9, 12, "prompts")
    row = Outer(name="anna", pairs=1200, share=0.125, ceilings=Inner(oracle=oracle))
    text = Table(columns_of(Outer, "name", "pairs", "share", "ceilings.oracle"), [row]).text()
    assert "12.5" in text
    assert "200" in text
    assert "Oracle" in text


def test_an_unknown_field_is_named() -> None:
    with pytest.raises(BadValue, match="a field of Inner is needed"):
        columns_of(Outer, "ceilings.ceiling")
