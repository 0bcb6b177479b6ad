"""EPS: the chance against a frozen reference, plain and integrated (bench/axes.py)."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import norm
from suite_example import CARD, SCORER, answers, asked, entered, logits, result, with_reference

from salon.bench import entry_result
from salon.bench.axes import integrated_chance
from salon.bench.entry import LOGITS
from salon.bench.suite import PreferenceRule
from salon.errors import BadColumns, BadFile, BadValue, ConflictingJudgment, DesignError, UnknownReference

numbers = st.floats(-8, 8)


def eps(gives, **card) -> float:
    """EPS of four prompts with the reference 1, -2, 0.5, 3 of which the last counts for none."""
    suite = asked(["look", "look", "mood", "words"], reference=[1.0, -2.0, 0.5, 3.0], **card)
    return result(suite, gives=lambda item: gives[int(item[1])]).eps["eps"].figure.value


# ----------------------------------------------------------------------------------------------- by hand
def test_eps_by_hand():
    # Differences ln 3, 0, -ln 3 from the reference 1, -2, .5: chances 3/4, 1/2, 1/4; the fourth prompt is about words.
    got = eps([1 + math.log(3), -2, 0.5 - math.log(3), 99])
    assert got == pytest.approx(50.0, abs=1e-9)
    assert eps([1 + math.log(3), -2 + math.log(3), 0.5 + math.log(3), -99]) == pytest.approx(75.0)


@pytest.mark.parametrize("integrate", [False, True])
def test_exactly_fifty_at_the_reference(integrate):
    assert eps([1.0, -2.0, 0.5, 7.0], integrate=integrate) == 50.0


@pytest.mark.parametrize("integrate", [False, True])
def test_exactly_fifty_at_any_reference(integrate):
    rng = np.random.default_rng(0)
    values = rng.normal(0, 5, 40).tolist()
    suite = asked(["look"] * 40, reference=values, images=3, sigma=2.5, integrate=integrate)
    got = result(suite, gives=lambda item: values[int(item[1:].split("/")[0])], sigma=0.3)
    assert got.eps["eps"].figure.value == 50.0
    assert {win for prompt in got.prompts for one in prompt.pictures for win in one.wins.values()} == {0.5}


def test_what_is_missing_unscored_and_open_by_hand():
    # Five prompts at the reference, but: no picture, could not be scored, not scored yet. (.5 + 0 + 0 + 0 + .5)/5.
    gives = {"p0/0": 0.0, "p1/0": 3.0, "p2/0": "broken picture", "p4/0": 0.0}
    got = result(asked(["look"] * 5), gives=gives.get, missing=["p1/0"])
    axis = got.eps["eps"]
    assert axis.figure.value == 20.0
    assert axis.at_best == 40.0  # the one not scored yet may win with chance 1
    assert axis.coverage.model_dump() == {"wanted": 5, "made": 4, "asked": 4, "given": 2, "unread": 1, "open": 1}
    assert got.status == "provisional"
    assert got.overall.figure.value == 0.5 * 80.0 + 0.5 * 20.0
    assert got.prompts[1].pictures[0].logits == {}  # a score of a picture that is not there is none


# ----------------------------------------------------------------------------------------------- by definition
@settings(max_examples=25)
@given(numbers, st.floats(0, 5), st.floats(0, 5))
def test_the_integral_is_the_integral(apart, sigma, reference_sigma):
    spread = math.hypot(sigma, reference_sigma)
    exact = (
        quad(
            lambda x: expit(apart + spread * x) * norm.pdf(x), -9, 9, points=[np.clip(-apart / max(spread, 0.1), -9, 9)]
        )[0]
        if spread
        else expit(apart)
    )
    [got] = integrated_chance(np.array([apart]), [spread])
    assert got == pytest.approx(exact, abs=1e-4)


def test_eps_is_the_mean_of_means():
    rng = np.random.default_rng(1)
    given_, reference = rng.normal(0, 2, (3, 2)), [0.3, -1.0, 0.8]
    suite = asked(["look"] * 3, images=2, reference=reference)
    got = result(suite, gives=lambda item: float(given_[int(item[1]), int(item[3])]))
    slow = [sum(1 / (1 + math.exp(-(mu - reference[p]))) for mu in given_[p]) / 2 for p in range(3)]
    assert got.eps["eps"].figure.value == pytest.approx(100 * sum(slow) / 3, abs=1e-8)
    assert [one.eps["eps"] for one in got.prompts] == pytest.approx(slow, abs=1e-11)


# ----------------------------------------------------------------------------------------------- by property
@settings(max_examples=40)
@given(st.lists(numbers, min_size=3, max_size=3), st.booleans())
def test_turned_round(apart, integrate):
    """An entry as far below the reference as another is above it: both together make 100."""
    above = eps([1 + apart[0], -2 + apart[1], 0.5 + apart[2], 0], integrate=integrate)
    below = eps([1 - apart[0], -2 - apart[1], 0.5 - apart[2], 0], integrate=integrate)
    assert above + below == pytest.approx(100, abs=1e-7)


@settings(max_examples=40)
@given(st.lists(numbers, min_size=4, max_size=4), st.integers(0, 3), st.floats(0, 4), st.booleans())
def test_a_higher_logit_never_hurts(gives, place, more, integrate):
    better = [value + more * (k == place) for k, value in enumerate(gives)]
    assert eps(better, integrate=integrate) >= eps(gives, integrate=integrate)


@settings(max_examples=40)
@given(st.lists(numbers, min_size=3, max_size=3))
def test_dropping_sigma_is_over_confident(gives):
    plain, integrated = (
        result(asked(["look"] * 3, integrate=on), gives=lambda item: gives[int(item[1])]) for on in (False, True)
    )
    for one, other in zip(plain.prompts, integrated.prompts, strict=True):
        assert abs(other.eps["eps"] - 0.5) <= abs(one.eps["eps"] - 0.5) + 1e-9


def test_columns_do_not_mix():
    rules = (PreferenceRule(id="eps"), PreferenceRule(id="eps-color", title="Color", headline=False))
    suite = asked(["look"] * 2, preferences=rules)
    entry = entered(suite)
    table = logits(suite, entry, lambda item: 0.0).to_pylist()
    for row in table:
        row["value"] = 0.0 if row["preference"] == "eps" else math.log(3)
    scores = pa.Table.from_pylist(table, schema=LOGITS)
    got = entry_result(suite, entry, answers(suite, entry, lambda *_: "pass"), scores)
    assert {name: axis.figure.value for name, axis in got.eps.items()} == {"eps": 50.0, "eps-color": 75.0}
    assert (got.headline, got.overall.figure.value) == ("eps", 75.0)  # .5 (100) + .5 (50)


# ----------------------------------------------------------------------------------------------- at the edge
def test_without_a_reference_there_is_no_eps_and_no_overall():
    suite = asked(["look"] * 2)
    object.__setattr__(suite, "reference", None)
    got = result(suite)
    assert (got.eps, got.overall, got.headline, got.status) == ({}, None, None, "complete")
    assert got.prompts[0].pictures[0].logits == {"eps": 0.0}


def test_a_scorer_without_logits_is_refused():
    for card in (CARD.model_copy(update={"is_logit": False}), CARD.model_copy(update={"higher_is_better": False})):
        with pytest.raises(DesignError, match=r"declares logits.*\n.*\n.*--form scalar"):
            result(with_reference(asked(), [0.0] * 3, card=card))


def test_scores_by_another_scorer_are_refused():
    suite = asked()
    entry = entered(suite)
    scores = logits(suite, entry, lambda item: 0.0)
    said = answers(suite, entry, lambda *_: "pass")
    others = scores.set_column(5, "scorer", pa.array(["another@2"] * len(scores)))
    with pytest.raises(DesignError, match="another@2"):
        entry_result(suite, entry, said, others)
    mixed = scores.set_column(5, "scorer", pa.array([SCORER] * (len(scores) - 1) + ["another@2"]))
    with pytest.raises(DesignError, match="one scorer"):
        entry_result(suite, entry, said, mixed)


def test_references_that_are_refused():
    suite = asked()
    other = asked(["look"] * 3)
    object.__setattr__(suite, "reference", other.reference)
    with pytest.raises(BadFile, match="other prompts"):
        result(suite)
    lacking = asked()
    [column] = lacking.reference.preferences
    short = column.model_copy(update={"points": column.points[1:]})
    object.__setattr__(lacking, "reference", lacking.reference.model_copy(update={"preferences": (short,)}))
    with pytest.raises(UnknownReference, match="p0"):
        result(lacking)


@pytest.mark.parametrize("apart", [-1e9, -800.0, -1e-300, 0.0, 1e-300, 800.0, 1e9])
@pytest.mark.parametrize("sigma", [0.0, 1e-300, 1.0, 1e9])
def test_logits_and_sigmas_at_the_ends_are_chances(apart, sigma):
    for integrate in (False, True):
        suite = asked(["look"] * 3, integrate=integrate, sigma=sigma)
        axis = result(suite, gives=lambda item: apart, sigma=sigma).eps["eps"].figure
        assert 0 <= axis.low <= axis.value <= axis.high <= 100
        assert axis.low < axis.high
        if abs(apart) < 1e-12:
            assert axis.value == 50.0
        elif not integrate or sigma < 1:
            assert axis.value == (100.0 if apart > 0 else 0.0)


@pytest.mark.parametrize(("sigma", "reference_sigma"), [(None, 1.0), (1.0, None)])
def test_an_integral_needs_sigmas(sigma, reference_sigma):
    with pytest.raises(DesignError, match="sigma"):
        result(asked(integrate=True, sigma=reference_sigma), sigma=sigma)


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ([("p9/0", "eps", 1.0, None, None, SCORER)], UnknownReference),
        ([("p0/0", "beauty", 1.0, None, None, SCORER)], UnknownReference),
        ([("p0/0", "eps", 1.0, None, None, SCORER)] * 2, ConflictingJudgment),
        ([("p0/0", "eps", math.nan, None, None, SCORER)], BadValue),
        ([("p0/0", "eps", math.inf, None, None, SCORER)], BadValue),
        ([("p0/0", "eps", -1e308, None, None, SCORER)], BadValue),
        ([("p0/0", "eps", 1.0, -1.0, None, SCORER)], BadValue),
        ([("p0/0", "eps", 1.0, math.nan, None, SCORER)], BadValue),
        ([("p0/0", "eps", 1.0, math.inf, None, SCORER)], BadValue),
        ([("p0/0", "eps", None, None, None, SCORER)], BadValue),
        ([("p0/0", "eps", 1.0, None, "broken", SCORER)], BadValue),
    ],
)
def test_scores_that_are_refused(rows, error):
    suite = asked()
    entry = entered(suite)
    table = pa.table([list(column) for column in zip(*rows)], schema=LOGITS)
    with pytest.raises(error):
        entry_result(suite, entry, answers(suite, entry, lambda *_: "pass"), table)


def test_a_table_without_the_scorer_is_refused():
    suite = asked()
    entry = entered(suite)
    with pytest.raises(BadColumns, match="scorer"):
        entry_result(
            suite,
            entry,
            answers(suite, entry, lambda *_: "pass"),
            logits(suite, entry, lambda item: 0.0).drop_columns(["scorer"]),
        )
