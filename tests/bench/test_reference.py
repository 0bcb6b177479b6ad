"""The frozen reference: the median of a field, computed once (bench/reference.py)."""

from __future__ import annotations

import statistics
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import expit
from suite_example import CARD, SCORER, answers, asked, entered, logits

from salon.bench import Suite, entry_result, with_hashes
from salon.bench.entry import Entry, Retraction
from salon.bench.reference import make_reference
from salon.bench.suite import Reference
from salon.errors import BadFile, BadValue, DesignError, TooFew, UnknownReference

SCORERS = {"eps": ("likes", SCORER, CARD)}


def scored(suite: Suite, name: str, gives, *, missing=(), sigma: float | None = 1.0):
    """An entry with its LOGITS table."""
    entry = entered(suite, name, missing=missing)
    return entry, logits(suite, entry, gives if callable(gives) else (lambda item: gives[int(item[1])]), sigma)


def field(suite: Suite, *rows, **more):
    """Entries e0, e1, ... with these logits for p0, p1, ..."""
    return [scored(suite, f"e{k}", row, **more) for k, row in enumerate(rows)]


def values(reference: Reference) -> list[float]:
    return [point.value for point in reference.preferences[0].points]


def frozen(suite: Suite, reference: Reference) -> Suite:
    return with_hashes(replace(suite, reference=reference))


def eps(suite: Suite, entry: Entry, scores) -> float:
    result = entry_result(suite, entry, answers(suite, entry, lambda *_: "pass"), scores)
    return result.eps["eps"].figure.value


# ----------------------------------------------------------------------------------------------- by hand
def test_the_median_by_hand():
    suite = asked()  # p2 is about words: no reference
    made = make_reference(suite, field(suite, [3, 0, 9], [1, 5, 9], [2, 4, 9]), SCORERS, "made by a test")
    assert values(made) == [2.0, 4.0]
    assert [point.prompt for point in made.preferences[0].points] == ["p0", "p1"]
    assert [one.name for one in made.field] == ["e0", "e1", "e2"]
    assert (made.preferences[0].signature, made.note) == (SCORER, "made by a test")


def test_an_even_field_has_the_midpoint():
    suite = asked(["look"])
    assert values(make_reference(suite, field(suite, [0.0], [1.0], [4.0], [100.0]), SCORERS)) == [2.5]


def test_several_pictures_count_with_their_mean():
    suite = asked(["look"], images=2)
    rows = [{"p0/0": 0.0, "p0/1": 4.0}, {"p0/0": 1.0, "p0/1": 1.0}, {"p0/0": 9.0, "p0/1": 9.0}]
    made = make_reference(suite, [scored(suite, f"e{k}", row.get) for k, row in enumerate(rows)], SCORERS)
    assert values(made) == [2.0]  # of 2, 1 and 9


def test_an_entry_without_a_picture_is_left_out_there_and_counted():
    suite = asked(["look"] * 2)
    [one, two, three] = field(suite, [1.0, 1.0], [2.0, 2.0], [3.0, 3.0])
    gone = scored(suite, "e3", lambda item: 50.0, missing=["p0/0"])
    broken = scored(suite, "e4", lambda item: "broken" if item == "p0/0" else 60.0)
    made = make_reference(suite, [one, two, three, gone, broken], SCORERS)
    assert [(point.value, point.n) for point in made.preferences[0].points] == [(2.0, 3), (3.0, 5)]


def test_sigmas_are_kept_where_all_are_stated():
    suite = asked(["look"])
    stated = [scored(suite, f"e{k}", [0.0], sigma=sigma) for k, sigma in enumerate((0.5, 2.0, 1.0))]
    assert make_reference(suite, stated, SCORERS).preferences[0].points[0].sigma == 1.0
    stated[1] = scored(suite, "e1", [0.0], sigma=None)
    assert make_reference(suite, stated, SCORERS).preferences[0].points[0].sigma is None


# ----------------------------------------------------------------------------------------------- facts about EPS 50
def test_the_median_entry_has_exactly_fifty_and_the_field_need_not():
    # One prompt, entries at 0, 1 and 5: the middle one has 50; the field's mean is (s(-1) + .5 + s(4)) / 3 = .5837.
    suite = asked(["look"])
    entries = field(suite, [0.0], [1.0], [5.0])
    ready = frozen(suite, make_reference(suite, entries, SCORERS))
    got = [eps(ready, *one) for one in entries]
    assert got[1] == 50.0
    assert np.mean(got) == pytest.approx(58.37, abs=0.01)


def test_fifty_is_not_half_the_duels():
    # The reference is 1 everywhere. e2 lies 1, -1 and 0 above it: (s(1) + s(-1) + s(0))/3 = 1/2.
    # Its own duels: against e0 (s(2) + s(-2) + s(-1))/3 = .4230, against e1 (s(1) + s(-1) + s(10))/3 = .6666.
    suite = asked(["look"] * 3)
    rows = np.array([[0, 2, 2], [1, 1, -9], [2, 0, 1]], float)
    entries = field(suite, *rows.tolist())
    reference = make_reference(suite, entries, SCORERS)
    assert values(reference) == [1.0, 1.0, 1.0]
    assert eps(frozen(suite, reference), *entries[2]) == 50.0
    duels = [expit(rows[2] - rows[other]).mean() for other in (0, 1)]
    assert duels == pytest.approx([0.4230, 0.6666], abs=1e-4)


# ----------------------------------------------------------------------------------------------- by another tool
@settings(max_examples=30)
@given(st.lists(st.floats(-9, 9), min_size=3, max_size=7))
def test_the_median_is_the_standard_librarys(gives):
    suite = asked(["look"])
    assert values(make_reference(suite, field(suite, *([one] for one in gives)), SCORERS)) == [statistics.median(gives)]


# ----------------------------------------------------------------------------------------------- by property
@settings(max_examples=30)
@given(st.permutations(range(4)))
def test_the_order_of_the_field_does_not_matter(order):
    suite = asked()
    entries = field(suite, [3, 0, 9], [1, 5, 9], [2, 4, 9], [7, 7, 7])
    assert make_reference(suite, [entries[k] for k in order], SCORERS) == make_reference(suite, entries, SCORERS)


# ----------------------------------------------------------------------------------------------- at the edge
def test_fields_that_are_refused():
    suite = asked(["look"])
    entries = field(suite, [0.0], [1.0], [2.0])
    with pytest.raises(TooFew, match="an empty field"):
        make_reference(suite, [], SCORERS)
    with pytest.raises(TooFew, match="at least 3"):
        make_reference(suite, entries[:2], SCORERS)
    with pytest.raises(BadValue, match="once"):
        make_reference(suite, [*entries, entries[0]], SCORERS)
    gone = entries[0][0].model_copy(update={"retracted": Retraction(reason="wrong pictures", at="2026-01-01")})
    with pytest.raises(BadValue, match="retracted"):
        make_reference(suite, [(gone, entries[0][1]), *entries[1:]], SCORERS)
    with pytest.raises(BadFile, match="other prompts"):
        make_reference(asked(["mood"]), entries, SCORERS)
    with pytest.raises(TooFew, match="p0"):
        make_reference(suite, [scored(suite, f"e{k}", lambda item: "broken") for k in range(3)], SCORERS)


def test_scorers_that_are_refused():
    suite = asked(["look"])
    entries = field(suite, [0.0], [1.0], [2.0])
    with pytest.raises(DesignError, match="declares logits"):
        make_reference(suite, entries, {"eps": ("likes", SCORER, CARD.model_copy(update={"is_logit": False}))})
    with pytest.raises(DesignError, match="another@2"):
        make_reference(suite, entries, {"eps": ("likes", "another@2", CARD)})
    with pytest.raises(UnknownReference, match="eps"):
        make_reference(suite, entries, {})
