"""The four statistics and their tests, against slow definitions, brute-force resampling and simulated null studies."""

from __future__ import annotations

from itertools import combinations, permutations, product

import numpy as np
import pytest
from drawn_studies import answers_of, random_ranks, shared_ranks
from scipy import stats

from salon.check import STATISTICS, CheckSettings
from salon.check.signal import CompleteAnswers, Signal, criterion_signal
from salon.stats import cycle_test, holm, monte_carlo_null, pmax_test, t_test
from salon.store import null_for

RNG = np.random.default_rng
SETTINGS = CheckSettings(draws=4000)


def signal(answers: CompleteAnswers, *, null=null_for, rng=None, **changes) -> Signal:
    return criterion_signal(answers, SETTINGS.model_copy(update=changes), null, rng or RNG(0))


def joined(*parts: CompleteAnswers) -> CompleteAnswers:
    """Answers of several shapes as one."""
    width = max(part.scores.shape[1] for part in parts)
    group = np.concatenate([part.group + 1000 * i for i, part in enumerate(parts)]).astype(np.int32)
    scores = [np.pad(p.scores, ((0, 0), (0, width - p.scores.shape[1])), constant_values=np.nan) for p in parts]
    rater = np.concatenate([part.rater for part in parts])
    size = np.concatenate([part.size for part in parts])
    return CompleteAnswers("rankings", group, rater, size, np.concatenate(scores), 0, 0, 0, 0)


def slow(ranks: np.ndarray) -> dict[str, np.ndarray]:
    """T, p_max and cycle of every prompt from their definitions, rater pair by rater pair."""
    T, pmax, cycle = [], [], []
    for panel in ranks:
        R, p = panel.shape
        T.append(np.mean([stats.kendalltau(a, b).statistic for a, b in combinations(panel, 2)]))
        wins = {(a, b): int((panel[:, a] < panel[:, b]).sum()) for a, b in permutations(range(p), 2)}
        pmax.append(np.mean([max(wins[a, b], wins[b, a]) / R for a, b in combinations(range(p), 2)]))
        beats = {pair for pair, k in wins.items() if 2 * k > R}
        loops = (((a, b), (b, c), (c, a)) for a, b, c in permutations(range(p), 3))
        cycle.append(any(beats.issuperset(loop) for loop in loops))
    return {"T": np.array(T), "p_max": np.array(pmax), "cycle": np.array(cycle)}


def four(parts: dict[str, np.ndarray]) -> list[float]:
    return [np.median(parts["T"]), parts["T"].mean(), parts["p_max"].mean(), parts["cycle"].mean()]


def test_by_hand() -> None:
    """Three prompts, three raters, three items.

    All agree: T = 1, p_max = 1. A Condorcet loop (abc, bca, cab) and a lone reversal (abc, abc, cba): every pair is
    2-1, so T = 3 (1 - 3) / (2 x 3 x 3) = -1/3 and p_max = 2/3; only the loop has a majority cycle.
    """
    ranks = np.array([[[0, 1, 2]] * 3, [[0, 1, 2], [2, 0, 1], [1, 2, 0]], [[0, 1, 2], [0, 1, 2], [2, 1, 0]]])
    found = signal(answers_of(-ranks)).values
    assert found == pytest.approx({"median_T": -1 / 3, "mean_tau": 1 / 9, "mean_pmax": 7 / 9, "cycle_rate": 1 / 3})


def test_by_definition() -> None:
    ranks = shared_ranks(60, 5, 4, 1.5, RNG(1))
    found = signal(answers_of(-ranks)).values
    assert [found[name] for name in STATISTICS] == pytest.approx(four(slow(ranks)))


def test_several_shapes_are_one_set_of_prompts() -> None:
    """Prompts count alike whatever their shape; only those that can cycle enter the cycle rate, and its null."""
    rng = RNG(2)
    shapes = [shared_ranks(n, R, p, 1.0, rng) for n, R, p in ((30, 5, 4), (20, 4, 4), (10, 3, 3))]
    found = signal(joined(*(answers_of(-ranks) for ranks in shapes)))
    parts = [slow(ranks) for ranks in shapes]
    T = np.concatenate([part["T"] for part in parts])
    cycles = np.concatenate([parts[0]["cycle"], parts[2]["cycle"]])
    expected = [np.median(T), T.mean(), np.concatenate([part["p_max"] for part in parts]).mean(), cycles.mean()]
    assert found.prompts == 60
    assert [found.values[name] for name in STATISTICS] == pytest.approx(expected)
    null = found.null_figures()
    rates = [float(null_for(p, R).cycle_rate) for p, R in ((4, 5), (3, 3))]
    assert null.cycle_rate == pytest.approx((30 * rates[0] + 10 * rates[1]) / 40)
    assert null.mean_pmax == pytest.approx((30 * 11 / 16 + 20 * 11 / 16 + 10 * 3 / 4) / 60)
    assert null.median_T is None
    tests = {test.name: test for test in found.tests(RNG(0))}
    pairs = list(found.repeats[0])
    assert tests["T"].p == t_test(pairs).p
    assert tests["p_max"].p == pmax_test(pairs).p
    assert tests["cycle"].p == cycle_test(pairs).p
    assert tests["cycle"].n == 40


def test_intervals_are_those_of_prompts_drawn_again_one_by_one() -> None:
    rng = RNG(3)
    parts = [shared_ranks(40, 5, 4, 1.2, rng), shared_ranks(25, 3, 3, 1.2, rng)]
    found = signal(joined(*(answers_of(-ranks) for ranks in parts)), rng=RNG(4)).statistics(SETTINGS, RNG(5))
    each = {name: np.concatenate([slow(ranks)[name] for ranks in parts]) for name in ("T", "p_max", "cycle")}
    rows = RNG(6).integers(0, 65, (4000, 65))
    drawn = {
        "median_T": np.median(each["T"][rows], axis=1),
        "mean_tau": each["T"][rows].mean(axis=1),
        "mean_pmax": each["p_max"][rows].mean(axis=1),
        "cycle_rate": each["cycle"][rows].mean(axis=1),
    }
    for name, values in drawn.items():
        low, high = np.quantile(values, [0.025, 0.975])
        close = 0.2 * (high - low)  # two Monte Carlo ends of 4,000 draws each; T is a lattice
        assert found.intervals[name].low == pytest.approx(low, abs=close)
        assert found.intervals[name].high == pytest.approx(high, abs=close)
        assert found.intervals[name].low <= getattr(found, name) <= found.intervals[name].high


def test_one_prompt_has_no_interval() -> None:
    found = signal(answers_of(-shared_ranks(1, 5, 4, 1.0, RNG(7))))
    ends = found.statistics(SETTINGS, RNG(0)).intervals
    assert all(one.low is None and one.high is None for one in ends.values())
    tests = {test.name: test for test in found.tests(RNG(0))}
    assert "two groups" in tests["T"].refused
    assert tests["cycle"].p is not None


def test_prompts_that_are_all_alike_leave_what_they_cannot_exclude() -> None:
    """Five of five raters agree on every prompt: Clopper and Pearson's bound for as many prompts, on each range."""
    for n in (4, 20):
        ends = signal(answers_of(np.tile([1, 2, 3, 4], (n, 5, 1)))).statistics(SETTINGS, RNG(0)).intervals
        still = 0.025 ** (1 / n)
        assert (ends["mean_tau"].low, ends["mean_tau"].high) == pytest.approx((2 * still - 1, 1))
        assert (ends["mean_pmax"].low, ends["mean_pmax"].high) == pytest.approx((0.5 + still / 2, 1))
        assert (ends["cycle_rate"].low, ends["cycle_rate"].high) == pytest.approx((0, 1 - still))
        # four medians of 1 are seen with chance 1/8 where the median is not 1; twenty are not
        assert (ends["median_T"].low, ends["median_T"].high) == ((None, None) if n == 4 else (1, 1))


@pytest.mark.parametrize(("raters", "items"), [(4, 4), (2, 5), (5, 2), (2, 2)])
def test_panels_that_cannot_cycle_say_so(raters: int, items: int) -> None:
    found = signal(answers_of(-random_ranks(60, raters, items, RNG(8))))
    assert found.values["cycle_rate"] is None
    assert found.null_figures().cycle_rate is None
    assert found.statistics(SETTINGS, RNG(0)).intervals["cycle_rate"].low is None
    cycle = found.tests(RNG(0))[3]
    assert cycle.p is None
    assert "cycles need 3 items and 3, 5 or more raters" in cycle.refused
    assert f"{raters} raters" in cycle.refused
    assert found.tests(RNG(0))[0].p is not None


def test_names_and_order_of_items_raters_and_prompts_do_not_matter() -> None:
    rng = RNG(9)
    ranks = shared_ranks(50, 5, 4, 1.0, rng)
    moved = ranks[rng.permutation(50)][:, rng.permutation(5)][:, :, rng.permutation(4)]
    one, other, reversed_ = (signal(answers_of(scores)) for scores in (-ranks, -moved, ranks))
    assert one.values == pytest.approx(other.values)
    assert one.values == pytest.approx(reversed_.values)
    assert [t.p for t in one.tests(RNG(0))] == pytest.approx([t.p for t in other.tests(RNG(0))])


# -- ties ----------------------------------------------------------------------------------------------------------


def test_ties_are_averaged_over_all_ways_to_break_them() -> None:
    """Two raters, three items: one ties the last two, the other ties all three. All 2 x 6 ways, by enumeration."""
    scores = np.array([[[2, 1, 1], [1, 1, 1]]] * 30)
    first = [(0, 1, 2), (0, 2, 1)]
    taus = [stats.kendalltau(a, b).statistic for a, b in product(first, permutations(range(3)))]
    found = signal(answers_of(scores, "ratings"), tie_repeats=1000)
    assert len(found.repeats) == 1000
    error = np.std(taus) / np.sqrt(30_000)
    assert found.values["mean_tau"] == pytest.approx(np.mean(taus), abs=5 * error)


def test_twice_the_median_p_over_tie_breaks() -> None:
    scores = RNG(10).integers(0, 3, (80, 5, 4))
    found = signal(answers_of(scores, "ratings"), tie_repeats=9)
    for test, kernel in zip(found.tests(RNG(0))[1:], (t_test, pmax_test, cycle_test)):
        each = [kernel(list(cells)) for cells in found.repeats]
        assert test.p == min(1.0, 2 * np.median([one.p for one in each]))
        assert test.statistic == np.median([one.statistic for one in each])
        assert "twice the median over 9 tie-breaks" in test.law


def test_strict_answers_and_stable_ties_are_broken_once() -> None:
    assert len(signal(answers_of(-random_ranks(5, 3, 3, RNG(0)))).repeats) == 1
    assert len(signal(answers_of(np.ones((5, 3, 3))), ties="stable").repeats) == 1
    assert signal(answers_of(np.ones((5, 3, 3))), ties="stable").values["mean_tau"] == 1  # agreement out of nothing


def test_a_shared_tie_break_makes_random_ratings_look_like_signal() -> None:
    scores = RNG(11).integers(0, 2, (80, 5, 4))
    stable = signal(answers_of(scores, "ratings"), ties="stable")
    assert stable.values["mean_tau"] > 0.1
    assert stable.tests(RNG(0))[1].p < 1e-6
    assert signal(answers_of(scores, "ratings"), tie_repeats=5).tests(RNG(0))[1].p > 0.05
    assert stable.tests(RNG(0))[0].p > 0.05  # ties are no signs: no rule makes agreement of them


def test_size_with_ties() -> None:
    """Random ratings on three levels, half of the pairs tied: no test rejects more than its level allows."""
    rng = RNG(12)
    studies = 250
    rejected = np.zeros(3)
    for _ in range(studies):
        found = signal(answers_of(rng.integers(0, 3, (80, 5, 4)), "ratings"), tie_repeats=5, rng=rng)
        rejected += [test.p <= 0.05 for test in found.described()]
    allowed = 0.05 + 3 * np.sqrt(0.05 * 0.95 / studies)
    assert (rejected / studies <= allowed).all(), rejected / studies


@pytest.mark.slow
def test_size_of_a_whole_study() -> None:
    """Three criteria of random raters, 80 prompts at (4, 5): after Holm one of three tests rejects in at most 5%."""
    rng = RNG(13)
    studies = 300
    any_signal = 0
    for _ in range(studies):
        criteria = [signal(answers_of(-random_ranks(80, 5, 4, rng))) for _ in range(3)]
        p = [one.tests(RNG(0))[0].p for one in criteria]
        any_signal += holm(np.array(p)).min() <= 0.05
    assert any_signal / studies <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / studies), any_signal


# -- histograms ------------------------------------------------------------------------------------------------------


def test_histograms_hold_every_prompt_and_pair() -> None:
    ranks = shared_ranks(70, 5, 4, 1.0, RNG(14))
    (shape,) = signal(answers_of(-ranks)).shape_figures()
    T = np.round(slow(ranks)["T"], 9)
    assert dict(zip(np.round(shape.t_support, 9), shape.t_counts)) == {
        value: float((value == T).sum()) for value in np.round(shape.t_support, 9)
    }
    assert sum(shape.pmax_counts) == 70 * 6
    assert sum(shape.t_null) == pytest.approx(1)
    assert shape.null_method == "exact"


def test_values_that_a_simulated_null_never_met_stay_in_the_histogram() -> None:
    """Full agreement of 9 raters on 5 items has chance 120^-8: no simulated prompt ever shows it."""

    def sampled(items: int, raters: int):
        return monte_carlo_null(items, raters, draws=10_000, rng=RNG(0))

    ranks = np.tile(np.arange(5), (20, 9, 1))
    (shape,) = signal(answers_of(-ranks), null=sampled).shape_figures()
    assert sum(shape.t_counts) == 20
    assert shape.t_support[-1] == 1
    assert shape.t_counts[-1] == 20
    assert shape.t_null[-1] == 0
    assert sum(shape.t_null) == pytest.approx(1)
    assert shape.null_method == "Monte Carlo, n=10,000"


@pytest.mark.parametrize(("prompts", "least"), [(10, 0.85), (80, 0.91)])
def test_intervals_cover_what_endlessly_many_prompts_would_give(prompts: int, least: float) -> None:
    """Percentiles are a little short with few prompts (90% at 10, 94% at 80); `least` is three errors below."""
    rng = RNG(11)
    truth = signal(answers_of(-shared_ranks(40_000, 5, 4, 1.9, rng))).values
    held = {name: [] for name in STATISTICS}
    for _ in range(300):
        made = signal(answers_of(-shared_ranks(prompts, 5, 4, 1.9, rng)))
        found = made.statistics(SETTINGS.model_copy(update={"draws": 400}), rng)
        for name, ends in found.intervals.items():
            held[name].append(ends.low - 1e-9 <= truth[name] <= ends.high + 1e-9)
    assert all(np.mean(inside) > least for inside in held.values()), {n: np.mean(i) for n, i in held.items()}
