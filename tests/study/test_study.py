"""A study's views say in numbers what its nouns say in words."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from studies import example, studies

from salon.errors import UnknownReference
from salon.study import KINDS, Comparison, Criterion, Item, Rater, Study, study as views

NO_SHRINK = (Phase.explicit, Phase.reuse, Phase.generate)  # shrinking a whole study takes minutes
small = settings(max_examples=40, suppress_health_check=list(HealthCheck), phases=NO_SHRINK)


class Numbers:
    """The slow definition: look every label up in its list."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.items = [item.id for item in study.nouns("items")]
        self.raters = [rater.id for rater in study.nouns("raters")]
        self.criteria = [criterion.id for criterion in study.criteria]
        self.groups = {item.id: self._group(item) for item in study.nouns("items")}

    def _group(self, item: Item) -> str | None:
        within = self.study.compare_within
        return self.study.name if within == "all" else getattr(item, within)

    def by(self, noun: Comparison) -> tuple[int, int, int]:
        return self.criteria.index(noun.criterion), self.raters.index(noun.rater), noun.repeat

    def group(self, number: int) -> str | None:
        return None if number < 0 else self.study.label("groups", number)


def seconds(view: views.ComparisonView | views.RankingView | views.RatingView) -> list[float | None]:
    if view.seconds is None:
        return [None] * len(view)
    return [None if math.isnan(value) else value for value in view.seconds.tolist()]


@small
@given(study=studies())
def test_comparisons_as_numbers(study: Study) -> None:
    numbers, view = Numbers(study), study.comparisons
    nouns = list(study.nouns("comparisons"))
    kept = [noun for noun in nouns if noun.skipped is None]
    assert view.skipped == len(nouns) - len(kept)
    assert [*zip(view.criterion, view.rater, view.repeat)] == [numbers.by(noun) for noun in kept]
    assert [(numbers.items[a], numbers.items[b]) for a, b in zip(view.a, view.b)] == [(n.a, n.b) for n in kept]
    assert [views.OUTCOMES[outcome] for outcome in view.outcome] == [noun.outcome for noun in kept]
    assert [views.LEFTS[left] for left in view.left] == [noun.left for noun in kept]
    assert [numbers.group(group) for group in view.group] == [numbers.groups[noun.a] for noun in kept]
    assert seconds(view) == [noun.seconds for noun in kept]


@small
@given(study=studies())
def test_rankings_as_numbers(study: Study) -> None:
    numbers, view = Numbers(study), study.rankings
    nouns = list(study.nouns("rankings"))
    kept = [noun for noun in nouns if noun.skipped is None]
    assert view.skipped == len(nouns) - len(kept)
    assert len(view.offsets) == len(kept) + 1
    assert [*zip(view.criterion, view.rater, view.repeat)] == [numbers.by(noun) for noun in kept]
    for number, noun in enumerate(kept):
        inside = slice(view.offsets[number], view.offsets[number + 1])
        assert [numbers.items[item] for item in view.items[inside]] == list(noun.items)
        assert view.ranks[inside].tolist() == list(noun.ranks)
        assert numbers.group(view.group[number]) == numbers.groups[noun.items[0]]
    assert seconds(view) == [noun.seconds for noun in kept]


@small
@given(study=studies())
def test_ratings_as_numbers(study: Study) -> None:
    numbers, view = Numbers(study), study.ratings
    nouns = list(study.nouns("ratings"))
    kept = [noun for noun in nouns if noun.skipped is None]
    assert view.skipped == len(nouns) - len(kept)
    assert [*zip(view.criterion, view.rater, view.repeat)] == [numbers.by(noun) for noun in kept]
    assert [numbers.items[item] for item in view.item] == [noun.item for noun in kept]
    assert view.value.tolist() == [noun.value for noun in kept]
    assert [numbers.group(group) for group in view.group] == [numbers.groups[noun.item] for noun in kept]
    assert seconds(view) == [noun.seconds for noun in kept]


@small
@given(study=studies())
def test_a_study_rebuilt_from_its_own_nouns_is_the_same(study: Study) -> None:
    again = Study.build(
        study.name,
        study.criteria,
        cohorts=study.cohorts,
        compare_within=study.compare_within,
        simulated=study.simulated,
        tables={kind: list(study.nouns(kind)) for kind in KINDS},
    )
    assert again.hash == study.hash
    assert again.counts == study.counts


def test_views_by_hand() -> None:
    view = example().comparisons
    # items are p1-a p1-b p1-c p1-d p2-a p2-b = 0..5, raters ann bob vlm arena = 0..3; bob's broken image is left out
    assert view.a.tolist() == [0, 1, 0, 5, 5]
    assert view.b.tolist() == [1, 0, 2, 4, 4]
    assert view.rater.tolist() == [0, 0, 1, 3, 3]
    assert view.outcome.tolist() == [0, 0, 2, 3, 3]
    assert view.left.tolist() == [1, 2, 0, 2, 2]
    assert view.repeat.tolist() == [0, 1, 0, 0, 0]
    assert view.group.tolist() == [0, 0, 0, 1, 1]
    assert view.skipped == 1
    assert view.seconds is not None
    assert view.seconds[0] == 2.5
    assert np.isnan(view.seconds[1:]).all()


def test_views_of_a_study_without_judgments_are_empty() -> None:
    study = Study.build("empty", [Criterion(id="c")], tables={})
    assert (len(study.comparisons), len(study.rankings), len(study.ratings)) == (0, 0, 0)
    assert study.rankings.offsets.tolist() == [0]
    assert study.counts == {}
    assert study.revision == 1


def test_views_of_rankings_do_not_depend_on_where_a_table_was_cut() -> None:
    whole = example()
    cut = example(tables={"rankings": whole.table("rankings").slice(2)})
    assert [cut.label("items", item) for item in cut.rankings.items] == ["p1-d", "p1-a"]
    assert cut.rankings.offsets.tolist() == [0, 2]


# -- numbering ---------------------------------------------------------------------------------------------


def test_codes_number_labels_and_leave_null_and_unknown_at_minus_one() -> None:
    study = example()
    labels = pa.array(["p2-b", None, "nowhere", "p1-a", "p2-b"])
    wanted = [5, -1, -1, 0, 5]
    assert study.codes("items", labels.dictionary_encode()).tolist() == wanted
    chunks = pa.chunked_array([labels.slice(0, 2).dictionary_encode(), labels.slice(2).dictionary_encode()])
    assert study.codes("items", chunks).tolist() == wanted
    assert study.codes("items", pa.array([], pa.string()).dictionary_encode()).tolist() == []
    # the dictionary is the study's own list of ids, and one row is null
    own = pa.DictionaryArray.from_arrays(pa.array([5, None, 0], pa.int32()), study.ids("items"))
    assert study.codes("items", own).tolist() == [5, -1, 0]


def test_ids_and_labels() -> None:
    study = example()
    assert study.ids("raters").to_pylist() == ["ann", "bob", "vlm", "arena"]
    assert study.ids("criteria").to_pylist() == ["overall", "color"]
    assert study.ids("groups").to_pylist() == ["p1", "p2"]
    assert study.label("raters", np.int32(2)) == "vlm"
    assert study.crowds.tolist() == [False, False, False, True]
    assert study.models.tolist() == [False, False, True, False]
    assert study.item_groups.tolist() == [0, 0, 0, 0, 1, 1]
    assert example(compare_within="all").item_groups.tolist() == [0] * 6


def test_a_criterion_by_id() -> None:
    assert example().criterion("color").id == "color"
    with pytest.raises(UnknownReference, match="one of overall, color"):
        example().criterion("mood")


def test_nouns_come_back_as_they_went_in() -> None:
    study = example()
    assert [rater.kind for rater in study.nouns("raters")] == ["person", "person", "model", "crowd"]
    answers = list(study.nouns("comparisons"))
    assert answers[3].skipped == "broken image"
    assert answers[2].rationale == ""
    assert answers[1].left == "unknown"
    assert next(study.nouns("checklists")).answers == (True, None)


# -- new studies from old ----------------------------------------------------------------------------------


def test_a_revision_keeps_everything_else() -> None:
    revised = example().revised("a correction", note="corrected")
    assert revised.note == "corrected"
    assert [revision.number for revision in revised.revisions] == [1, 2, 3]
    assert revised.hash == example().hash  # a note is not data


def test_a_study_does_not_change() -> None:
    with pytest.raises(AttributeError):
        example().name = "other"  # type: ignore[misc]


def test_raters_without_a_kind_are_people() -> None:
    study = Study.build("t", [Criterion(id="c")], tables={"raters": pa.table({"id": ["r"]})})
    assert study.crowds.tolist() == [False]
    assert next(study.nouns("raters")) == Rater(id="r")
