"""Means over prompts with intervals (stats/intervals.py)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit
from statsmodels.stats.proportion import proportion_confint

from salon.errors import BadValue, TooFew
from salon.stats import bootstrap_interval, score_interval, win_chance


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


values_ = st.lists(st.floats(0, 1), min_size=2, max_size=12)


# ----------------------------------------------------------------------------------------------- by hand
def test_four_prompts_by_hand():
    # x = 1, 1, 1, 0: m = .75, sum u^2 = (3 (.25)^2 + .75^2)/16 = .75/16 = .046875, v' = .046875 + .1875/16 = .05859375
    # = .1875/N with N = 3.2 = 16/5; t_3 = 3.182446, t^2/N = 3.164988; center (.75 + 1.582494)/4.164988 = .560024,
    # half 3.182446 sqrt(.05859375 + 3.164988/12.8)/4.164988 = 3.182446 (.553045)/4.164988 = .422579
    made = score_interval([1, 1, 1, 0])
    assert (made.value, made.n, made.unit) == (0.75, 4, "prompt")
    assert made.low == pytest.approx(0.560024 - 0.422579, abs=2e-6)
    assert made.high == pytest.approx(0.560024 + 0.422579, abs=2e-6)


def test_all_pass_by_hand():
    # N = 12^2/13 = 11.0769, t_11 = 2.200985: low = N/(N + t^2) = 11.0769/15.9213 = .69573
    made = score_interval([1.0] * 12)
    assert (made.value, made.high) == (1.0, 1.0)
    assert made.low == pytest.approx(0.69573, abs=1e-5)


def test_a_sum_by_hand():
    # Axis 1: 1, 1, 1, 0 as above, axis 2 only on the first two prompts, alike at .5: m = .5, u = 0, n = 2,
    # v' = .25/4 = .0625, N = 4, t_1 = 12.7062: t^2/N = 40.3619, half 12.7062 sqrt(.0625 + 40.3619/16)/41.3619 = .49392
    values, weights = [[1, 0.5], [1, 0.5], [1, 0], [0, 0]], [[1, 1], [1, 1], [1, 0], [1, 0]]
    made = score_interval(values, weights, [0.5, 0.5])
    one = score_interval([1, 1, 1, 0])
    assert (made.value, made.n) == (0.625, 2)
    assert made.low == pytest.approx(0.625 - np.hypot(0.5 * (0.75 - one.low), 0.5 * 0.49392), abs=1e-5)
    assert made.high == pytest.approx(0.625 + np.hypot(0.5 * (one.high - 0.75), 0.5 * 0.49392), abs=1e-5)


# ----------------------------------------------------------------------------------------------- by definition
@settings(max_examples=60)
@given(values_)
def test_the_bounds_are_where_the_score_test_turns(values):
    """|m - p| = t sqrt(p (1 - p)/N) at both ends: Wilson's definition, solved by bisection."""
    x = np.array(values)
    m, n = x.mean(), len(x)
    if not 1e-3 < m < 1 - 1e-3:
        return
    pulled = (x.var(ddof=1) * (n - 1) + m * (1 - m)) / n**2
    t, effective = stats.t.ppf(0.975, n - 1), m * (1 - m) / pulled

    def beyond(p: float) -> float:
        return abs(m - p) - t * np.sqrt(p * (1 - p) / effective)

    made = score_interval(values)
    assert made.low == pytest.approx(brentq(beyond, 0, m), abs=1e-9)
    assert made.high == pytest.approx(brentq(beyond, m, 1), abs=1e-9)


def test_the_bootstrap_is_what_a_loop_gives():
    x, w = rng(1).random((9, 2)), np.ones((9, 2))
    w[6:, 1] = 0
    made = bootstrap_interval(x, w, [0.3, 0.7], draws=500, rng=rng(2))
    drawn, again = [], rng(2)
    for rows in again.integers(0, 9, (500, 9)):
        second = rows[rows < 6]
        drawn.append(0.3 * x[rows, 0].mean() + (0.7 * x[second, 1].mean() if len(second) else np.nan))
    assert np.isfinite(drawn).all()
    # six prompts on the second axis: percentiles of Phi(-+ 2.5706 sqrt(6/5)) = Phi(-+ 2.8159), .00243 and .99757
    low, high = np.quantile(drawn, [0.00243, 0.99757], method="inverted_cdf")
    assert (made.low, made.high) == pytest.approx((low, high))


def test_a_draw_without_a_prompt_of_an_axis_is_counted():
    made = bootstrap_interval(
        [[0.2, 0.5], [0.4, 0], [0.9, 0.7]], [[1, 1], [1, 0], [1, 1]], [0.5, 0.5], draws=900, rng=rng()
    )
    undefined = int(made.method.split("(")[1].split()[0])
    assert 10 < undefined < 70  # (1/3)^3 of 900 draws take the middle prompt three times: 33


# ----------------------------------------------------------------------------------------------- by another tool
@pytest.mark.parametrize(("passed", "n"), [(0, 40), (3, 40), (31, 40), (400, 400)])
def test_pass_or_fail_is_nearly_wilson(passed, n):
    """One picture a prompt: N = n^2/(n + 1) in place of n and t in place of z are all that differs."""
    made = score_interval([1.0] * passed + [0.0] * (n - passed))
    effective, beyond = n**2 / (n + 1), 2 * stats.norm.sf(stats.t.ppf(0.975, n - 1))
    low, high = proportion_confint(passed / n * effective, effective, alpha=beyond, method="wilson")
    assert (made.low, made.high) == pytest.approx((low, high), abs=1e-9)


def test_the_bootstrap_agrees_with_scipy():
    x = rng(3).beta(2, 5, 60)
    made = bootstrap_interval(x, draws=4_000, rng=rng())
    other = stats.bootstrap(
        (x,), np.mean, n_resamples=4_000, method="percentile", random_state=rng(1)
    ).confidence_interval
    assert (made.low, made.high) == pytest.approx(tuple(other), abs=0.005)


# ----------------------------------------------------------------------------------------------- by property
@settings(max_examples=60)
@given(values_, st.randoms(use_true_random=False))
def test_the_order_of_prompts_does_not_matter(values, random):
    mixed = list(values)
    random.shuffle(mixed)
    one, other = score_interval(values), score_interval(mixed)
    assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), abs=1e-12)


@settings(max_examples=60)
@given(values_)
def test_turned_round(values):
    one, other = score_interval(values), score_interval([1 - x for x in values])
    assert (1 - one.high, 1 - one.low) == pytest.approx((other.low, other.high), abs=1e-6)


@settings(max_examples=60)
@given(values_, st.floats(0.5, 9))
def test_within_bounds_never_without_width_and_equal_weights_are_none(values, weight):
    made = score_interval(values)
    assert 0 <= made.low <= made.value <= made.high <= 1
    assert made.high - made.low > 1e-6 * min(made.value, 1 - made.value, 0.1)
    weighted = score_interval(values, [weight] * len(values))
    assert (weighted.low, weighted.high) == pytest.approx((made.low, made.high), abs=1e-9)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=9), st.floats(0, 1))
def test_a_sum_lies_within_its_parts(rows, share):
    x = np.array(rows)
    made = score_interval(x, None, [share, 1 - share])
    one, other = score_interval(x[:, 0]), score_interval(x[:, 1])
    assert made.low >= share * one.low + (1 - share) * other.low - 1e-9
    assert made.high <= share * one.high + (1 - share) * other.high + 1e-9


@settings(max_examples=60)
@given(values_)
def test_an_axis_split_in_two_is_the_axis(values):
    one, two = score_interval(values), score_interval(np.column_stack([values, values]), None, [0.25, 0.75])
    if np.std(values) > 1e-6:  # alike by luck or by law: two axes without spread are not known to go together
        assert (two.low, two.high) == pytest.approx((one.low, one.high), abs=1e-6)


def test_a_prompt_that_does_not_count_changes_nothing():
    plain = score_interval([0.2, 0.7, 0.9])
    assert score_interval([0.2, 0.7, np.nan, 0.9], [1, 1, 0, 1]) == plain


# ----------------------------------------------------------------------------------------------- by recovery
@pytest.mark.parametrize(("mean", "images"), [(0.5, 1), (0.95, 1), (0.95, 4), (0.8, 4)])
def test_intervals_cover(mean, images):
    """24 prompts, 600 entries: 95% within three standard errors; the percentile bootstrap falls short at .95."""
    draw = rng(int(100 * mean) + images)
    chance = draw.beta(mean * 1.5, (1 - mean) * 1.5, (600, 24))
    made = [score_interval(x) for x in draw.binomial(images, chance) / images]
    held = np.mean([one.low <= mean <= one.high for one in made])
    assert held >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 600)


def test_skewed_values_are_covered_where_the_bootstrap_falls_short():
    """12 chances with logits N(4, 1.65^2), mean .9496: percentiles hold it in 80% of cases, score in 95% or more."""
    draw = rng(5)
    truth = float(win_chance(4.0, 1.65))
    drawn = expit(4 + 1.65 * draw.standard_normal((300, 12)))
    score = [score_interval(x) for x in drawn]
    percentile = [bootstrap_interval(x, draws=300, rng=draw) for x in drawn]
    assert np.mean([one.low <= truth <= one.high for one in score]) >= 0.95
    assert np.mean([one.low <= truth <= one.high for one in percentile]) < 0.88


def test_sums_cover():
    draw = rng(6)
    counts = np.column_stack([np.ones(24), np.arange(24) < 20])
    held = []
    for _ in range(400):
        hard = draw.standard_normal(24)
        x = np.column_stack([hard + draw.standard_normal(24) < 1, stats.norm.cdf(-hard + draw.standard_normal(24))])
        made = score_interval(x, counts, [0.5, 0.5])
        held.append(made.low <= (stats.norm.cdf(1 / np.sqrt(2)) + 0.5) / 2 <= made.high)
    assert np.mean(held) >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 400)


def test_two_prompts_that_go_apart_make_no_sum_sure():
    """Their correlation is -1 by construction: without a rule the parts would cancel, and 85% would cover for 95%."""
    rng, covered = np.random.default_rng(11), 0
    for _ in range(400):
        values = np.column_stack([rng.random(2) < 0.7, rng.beta(2, 2, 2)])
        made = score_interval(values, shares=[0.5, 0.5])
        covered += made.low <= 0.6 <= made.high
    assert covered >= 380
    apart = score_interval([[1, 0.2], [0, 0.8]], shares=[0.5, 0.5])
    parts = [score_interval(values) for values in ([1, 0], [0.2, 0.8])]
    reach = np.hypot(*(0.5 * (part.value - part.low) for part in parts))
    assert apart.value - apart.low == pytest.approx(reach)
    three = score_interval([[1, 0.2], [0, 0.8], [0.5, 0.5]], shares=[0.5, 0.5])
    assert three.high - three.low < apart.high - apart.low  # from three on a negative correlation counts


def test_an_axis_without_a_share_says_nothing():
    values, weights = [[1, 0.5], [1, 0], [1, 0], [0, 0]], [[1, 1], [1, 0], [1, 0], [1, 0]]
    assert score_interval(values, weights, [1.0, 0.0]) == score_interval([1, 1, 1, 0])
    assert score_interval(values, np.array(weights) * [1, 0], [1.0, 0.0]) == score_interval([1, 1, 1, 0])
    drawn = [bootstrap_interval(v, w, c, draws=200, rng=rng(1)) for v, w, c in (
        (values, weights, [1.0, 0.0]), ([1, 1, 1, 0], None, None),
    )]  # fmt: skip
    assert drawn[0] == drawn[1]


# ----------------------------------------------------------------------------------------------- at the edge
def test_one_prompt_has_no_interval():
    made = score_interval([0.4])
    assert (made.value, made.low, made.high, made.method) == (0.4, None, None, "no interval: one prompt")
    assert bootstrap_interval([0.4], draws=100, rng=rng()).low is None


def test_draws_that_are_all_alike_still_have_width():
    made = bootstrap_interval([1.0] * 20, draws=100, rng=rng())
    assert made.low == score_interval([1.0] * 20).low < made.high == 1.0
    assert made.method == "score interval over prompts: no width in bootstrap of prompts, 100 draws"


@pytest.mark.parametrize(
    ("values", "weights", "shares", "error"),
    [
        ([], None, None, TooFew),
        ([0.5, 0.5], [0, 0], None, TooFew),
        ([0.5, np.nan], None, None, BadValue),
        ([0.5, 1.1], None, None, BadValue),
        ([0.5, 0.6], [1, -1], None, BadValue),
        ([0.5, 0.6], [1, 1, 1], None, BadValue),
        ([[0.5, 0.6]], None, None, BadValue),
        ([[0.5, 0.6]] * 2, None, [0.5, 0.6], BadValue),
    ],
)
def test_refused(values, weights, shares, error):
    with pytest.raises(error):
        score_interval(values, weights, shares)
    with pytest.raises(error):
        bootstrap_interval(values, weights, shares, draws=100, rng=rng())


def test_too_few_draws_are_refused():
    with pytest.raises(BadValue):
        bootstrap_interval([0.1, 0.2], draws=10, rng=rng())
