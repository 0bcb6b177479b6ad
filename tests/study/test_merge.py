"""Studies become one where they agree, and are refused where they do not."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from studies import example, studies

from salon.errors import ConflictingJudgment, DuplicateJudgment, InputError
from salon.study import JUDGMENTS, Cohort, Comparison, Criterion, Design, Item, Ranking, Rater, Study, merge


def study(name: str, **changes: Any) -> Study:
    tables: dict[str, Any] = {
        "items": [Item(id="x"), Item(id="y"), Item(id=f"{name}-own")],
        "raters": [Rater(id=name)],
        "comparisons": [Comparison(criterion="c", rater=name, a="x", b=f"{name}-own", outcome="a")],
        "rankings": [Ranking(criterion="c", rater=name, items=(f"{name}-own", "x"), ranks=(1, 2))],
    }
    tables |= changes.pop("tables", {})
    metadata = {"compare_within": "all", "design": Design(kind="complete")} | changes
    return Study.build(name, metadata.pop("criteria", [Criterion(id="c")]), tables=tables, **metadata)


def test_judgments_follow_each_other_and_named_things_stand_once() -> None:
    one, two = study("one"), study("two", simulated=True)
    both = merge([one, two], name="both")
    assert both.ids("items").to_pylist() == ["x", "y", "one-own", "two-own"]
    assert both.ids("raters").to_pylist() == ["one", "two"]
    for kind in ("comparisons", "rankings"):
        assert list(both.nouns(kind)) == [*one.nouns(kind), *two.nouns(kind)]
    assert [both.label("items", item) for item in both.rankings.items] == ["one-own", "x", "two-own", "x"]
    assert both.simulated
    assert both.design == Design(kind="complete")
    assert both.revisions[0].reason == "merged from one, two"


def test_columns_that_one_study_lacks_are_filled_with_nothing() -> None:
    timed = [Comparison(criterion="c", rater="two", a="x", b="y", outcome="b", seconds=3, left="a")]
    both = merge([study("one"), study("two", tables={"comparisons": timed})], name="both")
    assert both.table("comparisons").column("seconds").to_pylist() == [None, 3.0]
    assert both.comparisons.left.tolist() == [2, 0]


def test_one_study_merges_into_itself() -> None:
    assert merge([example()], name="again").hash == example().hash


@settings(max_examples=25, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(drawn=studies())
def test_a_study_cut_in_two_and_merged_is_whole(drawn: Study) -> None:
    raters = drawn.ids("raters").to_pylist()
    halves = []
    for mine in (raters[:1], raters[1:]):
        own = {kind: [noun for noun in drawn.nouns(kind) if noun.rater in mine] for kind in JUDGMENTS}
        if not any(ranking.items for ranking in own["rankings"]):
            own["rankings"] = []
        names = {kind: drawn.table(kind) for kind in ("prompts", "items", "raters")}
        halves.append(
            Study.build(
                drawn.name,
                drawn.criteria,
                cohorts=drawn.cohorts,
                compare_within=drawn.compare_within,
                tables=names | own,
            )
        )
    both = merge(halves, name=drawn.name)
    for kind in ("comparisons", "ratings", "checklists", "choices"):
        first = [noun for noun in drawn.nouns(kind) if noun.rater in raters[:1]]
        rest = [noun for noun in drawn.nouns(kind) if noun.rater not in raters[:1]]
        assert list(both.nouns(kind)) == first + rest
    assert both.ids("items").to_pylist() == drawn.ids("items").to_pylist()


def test_the_same_judgments_twice_are_refused() -> None:
    with pytest.raises(DuplicateJudgment):
        merge([study("one"), study("one")], name="both")
    other = [Comparison(criterion="c", rater="one", a="x", b="one-own", outcome="b")]
    with pytest.raises(ConflictingJudgment):
        merge([study("one"), study("one", tables={"comparisons": other, "rankings": []})], name="both")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"criteria": [Criterion(id="c", question="Which?")]}, "definitions of 'c'"),
        ({"tables": {"items": [Item(id="x", category="k"), Item(id="two-own")]}}, "definitions of 'x'"),
        ({"compare_within": "category", "tables": {"comparisons": [], "rankings": []}}, "two: category"),
    ],
)
def test_what_studies_share_must_be_the_same(change: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        merge([study("one"), study("two", **change)], name="both")


def test_cohorts_must_agree() -> None:
    one = study("one", cohorts=(Cohort(id="k"),))
    with pytest.raises(InputError, match="definitions of 'k'"):
        merge([one, study("two", cohorts=(Cohort(id="k", note="other"),))], name="both")
    both = merge([one, study("two", cohorts=(Cohort(id="l"),))], name="both")
    assert [cohort.id for cohort in both.cohorts] == ["k", "l"]


def test_other_criteria_are_put_together() -> None:
    both = merge([study("one"), study("two", criteria=[Criterion(id="d"), Criterion(id="c")])], name="both")
    assert [criterion.id for criterion in both.criteria] == ["c", "d"]
    assert both.comparisons.criterion.tolist() == [0, 0]


def test_different_designs_give_an_unknown_one() -> None:
    assert merge([study("one"), study("two", design=Design(kind="adaptive"))], name="both").design.kind == "unknown"


def test_nothing_cannot_be_merged() -> None:
    with pytest.raises(InputError, match="at least one study"):
        merge([], name="none")


def test_a_rater_who_is_silently_a_person_is_one_who_says_so() -> None:
    said = study("one")
    silent = study("two", tables={"raters": pa.table({"id": ["two", "one"]})})
    mixed = study("three", tables={"raters": [Rater(id="three"), Rater(id="bot", kind="model")]})
    assert merge([said, silent, mixed], name="all").ids("raters").to_pylist() == ["one", "two", "three", "bot"]
