"""Predicted scores against targets, from arrays: what counts, what is left out, and what the intervals hold."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from salon.evaluate import ScoreEvaluationSettings
from salon.evaluate.results import ScorerFigures
from salon.evaluate.scores import Floats, Prediction, ScoreFrame, Target, make_draws, target_figures

QUICK = ScoreEvaluationSettings(draws=150)


def frame(groups: list[int], *, prompt: np.ndarray | None = None) -> ScoreFrame:
    """One criterion on so many items in each group; each item has a prompt of its own unless they are given."""
    group = np.repeat(np.arange(len(groups)), groups)
    n = len(group)
    items, names = tuple(f"i{k}" for k in range(n)), tuple(f"g{k}" for k in range(len(groups)))
    return ScoreFrame(
        items, (("c", "c"),), names, group, "category", np.arange(n) if prompt is None else prompt, names, group
    )


def figures(
    where: ScoreFrame, x: Floats, y: Floats, settings: ScoreEvaluationSettings = QUICK, seed: int = 0
) -> ScorerFigures:
    target = Target("t", y[:, None], -9.0, 9.0)
    one = Prediction("p", x[:, None], np.array([True]), -9.0, 9.0)
    return target_figures(where, target, [one], make_draws(where, settings.draws, seed), settings).scorers[0]


def test_two_items_and_equal_targets_have_no_correlation_and_are_counted() -> None:
    x = np.array([1.0, 2, 3, 4, 5, 1, 2, 3, 2, 1, 3])
    y = np.array([1.0, 3, 2, 4, 5, 2, 1, 2, 2, 2, 2])  # five items, then two, then four with one target
    found = figures(frame([5, 2, 4]), x, y)
    assert found.overall.srcc.value == pytest.approx(stats.spearmanr(x[:5], y[:5]).statistic)
    assert (found.overall.groups, found.overall.left_out, found.overall.wanted) == (1, 2, 11)
    assert found.overall.mae.value == pytest.approx(np.abs(x - y).mean())  # distances are of all items
    assert [part.agreed.srcc is None for part in found.categories] == [False, True, True]


def test_every_group_counts_alike_however_many_items_it_has() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=34), rng.normal(size=34)
    found = figures(frame([30, 4]), x, y).overall
    halves = [stats.spearmanr(x[rows], y[rows]).statistic for rows in (slice(30), slice(30, 34))]
    assert found.srcc.value == pytest.approx(np.mean(halves))


def test_a_missing_number_has_the_largest_error_its_target_allows() -> None:
    x, y = np.array([1.0, np.nan, 3.0, np.nan]), np.array([1.0, 7.0, 3.0, -8.0])
    assert figures(frame([4]), x, y).overall.mae.value == pytest.approx((16 + 17) / 4)  # from 7 to -9, from -8 to 9
    scored = figures(frame([4]), x, y, QUICK.model_copy(update={"missing": "scored"})).overall
    assert (scored.mae.value, scored.mae.n, scored.scored, scored.wanted) == (0, 2, 2, 4)


def test_two_scorers_are_apart_where_the_interval_of_their_difference_leaves_out_0() -> None:
    rng = np.random.default_rng(2)
    where, y = frame([40]), rng.normal(size=40)
    values = {"near": y + rng.normal(0, 0.3, 40), "as near": y + rng.normal(0, 0.3, 40), "far": rng.normal(size=40)}
    ones = [Prediction(name, x[:, None], np.array([True])) for name, x in values.items()]
    made = target_figures(where, Target("t", y[:, None], -9, 9), ones, make_draws(where, 150, 0), QUICK).differences
    told = {frozenset((one.first, one.second)): one for one in made}
    assert len(told) == 3
    assert all(one.srcc.value >= 0 for one in made)  # the better one first
    assert told[frozenset(("near", "far"))].apart
    assert told[frozenset(("near", "far"))].srcc.low > 0
    assert not told[frozenset(("near", "as near"))].apart


def test_items_that_repeat_within_their_prompt_make_nothing_surer() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=24)
    x, once = y + rng.normal(size=24), frame([14, 10])
    thrice = frame([42, 30], prompt=np.repeat(np.arange(24), 3))
    alone, copied = figures(once, x, y).overall, figures(thrice, np.repeat(x, 3), np.repeat(y, 3)).overall
    for name in ("srcc", "plcc", "krcc", "mae", "rmse"):
        one, other = getattr(alone, name), getattr(copied, name)
        assert (other.value, other.low, other.high) == pytest.approx((one.value, one.low, one.high))
        assert (one.n, one.unit, other.n, other.unit) == (24, "item", 24, "prompt")


@pytest.mark.parametrize("each", [1, 3])
def test_intervals_cover(each: int) -> None:
    """Normal pairs of rho .6, alone or three to a prompt that share half of both: SRCC is 6/pi asin(rho/2)."""
    rng, rho, held, n = np.random.default_rng(each), 0.6, [], 60
    prompt = np.arange(n) // each
    for seed in range(60):
        a, e = (rng.normal(size=n) + (rng.normal(size=n)[prompt] if each > 1 else 0.0) for _ in range(2))
        a, e = (one / np.sqrt(2 if each > 1 else 1) for one in (a, e))
        found = figures(frame([n], prompt=prompt), rho * a + np.sqrt(1 - rho**2) * e, a, seed=seed).overall
        truth = {"srcc": 6 / np.pi * np.arcsin(rho / 2), "plcc": rho, "krcc": 2 / np.pi * np.arcsin(rho),
                 "mae": 2 * np.sqrt((1 - rho) / np.pi)}  # fmt: skip
        ends = {name: getattr(found, name) for name in truth}
        held.append([ends[name].low <= at <= ends[name].high for name, at in truth.items()])
        assert ends["srcc"].n == n // each
        unit = "items" if each == 1 else "prompts"
        assert ends["srcc"].method == f"BCa bootstrap of {unit}, {QUICK.draws} draws"  # folds are no draws
    assert (np.mean(held, axis=0) > 0.93 - 3 * np.sqrt(0.05 * 0.95 / 60)).all()
