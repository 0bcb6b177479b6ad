"""The hash is the same for the same study however it is stored, and different for any other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from studies import example, studies

from salon.study import (
    KINDS,
    REFERENCE,
    REFERENCES,
    Cohort,
    Comparison,
    Criterion,
    Design,
    Item,
    Rater,
    Rating,
    Revision,
    Study,
)


def rebuilt(study: Study, tables: dict[str, Any]) -> Study:
    names = ("cohorts", "compare_within", "design", "simulated")
    return Study.build(study.name, study.criteria, tables=tables, **{name: getattr(study, name) for name in names})


def cut(table: pa.Table, place: int) -> pa.Table:
    """The same rows in two pieces, each with its own dictionaries."""
    parts = [table.slice(0, place), table.slice(place)]
    fresh = [pa.Table.from_pylist(part.to_pylist(), schema=plain(part.schema)) for part in parts]
    return pa.concat_tables(pa.table({name: encoded(t.column(name)) for name in t.column_names}) for t in fresh)


def plain(schema: pa.Schema) -> pa.Schema:
    types = {REFERENCE: pa.string(), REFERENCES: pa.list_(pa.string())}
    return pa.schema([(field.name, types.get(field.type, field.type)) for field in schema])


def encoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.dictionary_encode() if column.type == pa.string() else column


def shuffled(column: pa.ChunkedArray, rng: np.random.Generator) -> pa.ChunkedArray | pa.Array:
    """The same labels from a dictionary in another order, with one label that no row uses."""
    if column.type == REFERENCES:
        lists = column.combine_chunks()
        return pa.ListArray.from_arrays(lists.offsets, reordered(lists.values, rng))
    return reordered(column.combine_chunks(), rng) if column.type == REFERENCE else column


def reordered(array: pa.DictionaryArray, rng: np.random.Generator) -> pa.DictionaryArray:
    order = rng.permutation(len(array.dictionary) + 1)
    if "unused label" in array.dictionary.to_pylist():
        return array
    labels = pa.concat_arrays([array.dictionary, pa.array(["unused label"])])
    place = np.argsort(order)
    indices = [None if index is None else int(place[index]) for index in array.indices.to_pylist()]
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), labels.take(pa.array(order)))


@settings(max_examples=30, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(study=studies(), data=st.data())
def test_chunks_and_the_order_of_dictionaries_do_not_matter(study: Study, data: st.DataObject) -> None:
    pieces = {kind: cut(study.table(kind), data.draw(st.integers(0, rows))) for kind, rows in study.counts.items()}
    assert rebuilt(study, pieces).hash == study.hash
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    words = {"outcome", "left", "skipped", "kind", "tier", "source"}  # known words cannot have an unused label
    tables = {}
    for kind in study.counts:
        table = study.table(kind)
        keep = {name: table.column(name) for name in table.column_names}
        tables[kind] = pa.table({n: c if n in words else shuffled(c, rng) for n, c in keep.items()})
    assert rebuilt(study, tables).hash == study.hash


def test_name_note_and_revisions_are_not_data() -> None:
    study = example()
    other = Study.build(
        "another name",
        study.criteria,
        cohorts=study.cohorts,
        design=study.design,
        simulated=study.simulated,
        revisions=(Revision(number=9, reason="other"),),
        note=None,
        tables=dict(study.tables),
    )
    assert other.hash == study.hash


def test_the_hash_of_a_study_is_known() -> None:
    """A change of this number is a change of every signature ever printed."""
    study = Study.build(
        "t",
        [Criterion(id="c")],
        compare_within="all",
        tables={"items": pa.table({"id": ["x", "y"]}), "raters": pa.table({"id": ["é"]})},
    )
    # sha256 over the metadata, then for each table its kind, rows, column names, lengths (int32) and bytes
    import hashlib
    import json

    meta = {
        "criteria": [{"id": "c", "paraphrases": [], "view": []}],
        "cohorts": [],
        "compare_within": "all",
        "design": {"kind": "unknown", "stop": "fixed"},
        "simulated": False,
    }
    digest = hashlib.sha256(json.dumps(meta, sort_keys=True, ensure_ascii=False).encode())
    digest.update(b"\0items:2\0id" + np.array([1, 1], np.int32).tobytes() + b"xy")
    digest.update(b"\0raters:1\0id" + np.array([2], np.int32).tobytes() + "é".encode())
    assert study.hash == digest.hexdigest()


@pytest.mark.parametrize(
    "change",
    [
        {"compare_within": "all"},
        {"simulated": False},
        {"design": Design(kind="complete")},
        {"cohorts": (Cohort(id="designers"),)},
        {"criteria": (Criterion(id="overall"), Criterion(id="color"))},
        {"criteria": tuple(reversed(example().criteria))},
    ],
)
def test_metadata_that_matters_changes_the_hash(change: dict[str, Any]) -> None:
    assert example(**change).hash != example().hash


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_and_the_number_of_rows_count(kind: str) -> None:
    study = example()
    nouns = list(study.nouns(kind))
    if kind not in ("prompts", "items", "raters"):
        assert example(tables={kind: nouns[1:]}).hash != study.hash
    if len(nouns) > 1:
        assert example(tables={kind: nouns[::-1]}).hash != study.hash


@pytest.mark.parametrize(
    ("kind", "row", "change"),
    [
        ("prompts", 0, {"intent": "A Poster"}),
        ("prompts", 1, {"category": None}),
        ("items", 0, {"tier": None}),
        ("items", 4, {"image": "images/other.png"}),
        ("items", 1, {"generator": "gen-a"}),
        ("raters", 0, {"cohort": None}),
        ("raters", 2, {"kind": "crowd"}),
        ("comparisons", 0, {"outcome": "b"}),
        ("comparisons", 0, {"left": "unknown"}),
        ("comparisons", 0, {"seconds": 2.500000001}),
        ("comparisons", 0, {"seconds": None}),
        ("comparisons", 2, {"rationale": None}),
        ("comparisons", 1, {"repeat": 2}),
        ("comparisons", 3, {"skipped": "cannot judge"}),
        ("rankings", 0, {"ranks": (1, 1, 2)}),
        ("rankings", 0, {"items": ("p1-c", "p1-b", "p1-a")}),
        ("ratings", 0, {"value": 4.0}),
        ("ratings", 0, {"at": "2026-03-01"}),
        ("checklists", 0, {"answers": (None, True)}),
        ("checklists", 0, {"points": ("legible", "a", "b"), "answers": (True, None, None)}),
        ("choices", 0, {"chosen": "p2-a"}),
    ],
)
def test_any_changed_value_changes_the_hash(kind: str, row: int, change: dict[str, Any]) -> None:
    nouns = list(example().nouns(kind))
    nouns[row] = type(nouns[row]).parse(nouns[row].model_dump() | change)
    assert example(tables={kind: nouns}).hash != example().hash


def test_neighbouring_texts_do_not_run_together() -> None:
    def named(*ids: str) -> str:
        return Study.build("t", [], tables={"items": [Item(id=id) for id in ids]}).hash

    assert len({named("ab", "c"), named("a", "bc"), named("abc"), named("a", "b", "c")}) == 4


def test_what_absence_says_may_be_said() -> None:
    """Repeat 0, left unknown and kind person are what an absent field means."""

    def study(**answer: Any) -> Study:
        row = {"criterion": ["c", "c"], "rater": ["r", "s"], "a": ["x", "x"], "b": ["y", "y"], "outcome": ["a", "b"]}
        tables = {
            "items": [Item(id="x"), Item(id="y")],
            "raters": pa.table({"id": ["r", "s"], **answer.pop("raters", {})}),
            "comparisons": pa.table(row | answer),
        }
        return Study.build("t", [Criterion(id="c")], compare_within="all", tables=tables)

    silent = study().hash
    assert study(repeat=pa.array([0, 0], pa.int16())).hash == silent
    assert study(left=["unknown", None]).hash == silent
    assert study(raters={"kind": ["person", None]}).hash == silent
    assert study(left=["a", None]).hash == study(left=["a", "unknown"]).hash
    assert study(raters={"kind": [None, "model"]}).hash == study(raters={"kind": ["person", "model"]}).hash
    nouns = [Comparison(criterion="c", rater=r, a="x", b="y", outcome=o) for r, o in (("r", "a"), ("s", "b"))]
    tables = {"items": [Item(id="x"), Item(id="y")], "raters": [Rater(id="r"), Rater(id="s")], "comparisons": nouns}
    assert Study.build("t", [Criterion(id="c")], compare_within="all", tables=tables).hash == silent


def test_zero_and_no_value_differ() -> None:
    def rated(value: float | None) -> str:
        tables = {
            "items": [Item(id="x"), Item(id="y")],
            "raters": [Rater(id="r")],
            "ratings": [
                Rating(criterion="c", rater="r", item="x", value=1, confidence=value),
                Rating(criterion="c", rater="r", item="y", value=1, confidence=0.5),
            ],
        }
        return Study.build("t", [Criterion(id="c")], tables=tables).hash

    assert len({rated(None), rated(0.0), rated(1.0)}) == 3
