"""Anchors against exhaustive enumeration on tiny data, real judgments with known figures, and what cannot be drawn."""

from __future__ import annotations

from itertools import combinations, permutations, product
from pathlib import Path

import numpy as np
import pytest
from drawn_studies import Drawn, names, random_ranks, shared_ranks
from scipy import stats

from salon.check import AnchorReport, AnchorSettings, anchor
from salon.errors import TooFew, UnknownReference
from salon.stats import cycles, kendall_t, p_max, votes_rankings
from salon.store import read_study, recognize
from salon.study import Criterion, Item, Ranking, Rater, Study

RNG = np.random.default_rng


def drawn(study: Study, **settings) -> AnchorReport:
    return anchor(study, AnchorSettings(**{"draws": 4000, **settings}))


def four(ranks: np.ndarray) -> list[float]:
    """The four statistics of (n, R, p) ranks."""
    R, p = ranks.shape[1:]
    k = votes_rankings(ranks)
    T = kendall_t(k, R)
    return [float(np.median(T)), float(T.mean()), float(p_max(k, R).mean()), float(cycles(k, R, p).mean())]


def figures(report: AnchorReport) -> list[float]:
    return [report.median_T, report.mean_tau, report.mean_pmax, report.cycle_rate]


def test_against_every_possible_draw() -> None:
    """Two prompts of five items and four raters, drawn down to three of each: 10 x 4 draws a prompt, all of them."""
    ranks = shared_ranks(2, 4, 5, 1.0, RNG(1))
    every = [
        panel[list(raters)][:, list(items)].argsort(axis=1).argsort(axis=1)
        for panel in ranks
        for raters in combinations(range(4), 3)
        for items in combinations(range(5), 3)
    ]
    report = drawn(Drawn(2, 5).rank(ranks).study(), items=3, raters=3, draws=60_000)
    assert figures(report)[1:] == pytest.approx(four(np.array(every))[1:], abs=0.012)
    assert report.median_T == pytest.approx(four(np.array(every))[0], abs=1e-9)
    assert (report.clusters, report.cluster, report.tie_rate) == (2, "prompt", 0)


def test_ties_are_broken_every_way_there_is() -> None:
    """One prompt per cluster, three raters, two items; two raters tie: all four ways to break them."""
    values = np.array([[[1, 1], [1, 1], [2, 1]]] * 2)
    taus = []
    for one, two in product(permutations(range(2)), repeat=2):
        taus.append(np.mean([stats.kendalltau(a, b).statistic for a, b in combinations([one, two, (0, 1)], 2)]))
    report = drawn(Drawn(2, 2).rate(values).study(), items=2, raters=3, draws=40_000)
    assert report.mean_tau == pytest.approx(np.mean(taus), abs=0.015)
    assert report.tie_rate == pytest.approx(2 / 3)
    assert report.tie_control == pytest.approx(0, abs=0.02)
    assert report.warnings == ("only 2 prompts: their intervals, by prompts drawn again, are too narrow",)


def test_stable_ties_warn_with_the_control() -> None:
    """Everything tied: item order alone makes full agreement, also of shuffled answers."""
    report = drawn(Drawn(3, 4).rate(np.ones((3, 5, 4))).study(), ties="stable")
    assert report.mean_tau == report.tie_control == 1
    assert "manufactures agreement" in report.warnings[0]
    assert "+1.000 (of +1.000 reported)" in report.warnings[0]


def test_random_ratings_carry_no_signal_unless_ties_are_shared() -> None:
    study = Drawn(200, 4).rate(RNG(2).integers(1, 4, (200, 5, 4))).study()
    assert drawn(study).mean_tau == pytest.approx(0, abs=0.03)
    stable = drawn(study, ties="stable")
    assert stable.mean_tau > 0.05
    assert stable.tie_control == pytest.approx(stable.mean_tau, abs=0.03)


def sparse(raters: int, items: int, seed: int, share: float = 0.5) -> np.ndarray:
    """(1, raters, items) worth with noise, a share of it unknown; raters differ in how much they judged."""
    rng = RNG(seed)
    values = RNG(99).normal(size=items) + 1.5 * rng.normal(size=(1, raters, items))
    values[rng.random(values.shape) > share * 2 * rng.random((1, raters, 1))] = np.nan
    return values


@pytest.mark.parametrize("by", ["panels", "items"])
def test_a_catalogue_with_gaps_against_every_possible_draw(by: str) -> None:
    """All panels of three of nine raters and all sets of three of six items, weighed as each way of drawing does."""
    values = sparse(9, 6, 3, 0.8)
    known = np.isfinite(values[0])
    ranks, weights, panels, met = [], [], 0, set()
    for raters in combinations(range(9), 3):
        sets = [items for items in combinations(range(6), 3) if known[np.ix_(raters, items)].all()]
        panels += bool(sets)
        met |= set(raters) if sets else set()
        for items in sets:
            ranks.append((-values[0][np.ix_(raters, items)]).argsort(axis=1).argsort(axis=1))
            who = known[:, list(items)].all(axis=1).sum()
            weights.append(1 / len(sets) if by == "panels" else 1 / len(list(combinations(range(who), 3))))
    k = votes_rankings(np.array(ranks))
    exact = [np.average(x, weights=weights) for x in (kendall_t(k, 3), p_max(k, 3).mean(axis=1), cycles(k, 3, 3))]
    report = drawn(Drawn(1, 6).rate(values).study(), items=3, raters=3, draws=40_000, draw_by=by)
    assert figures(report)[1:] == pytest.approx(exact, abs=0.012)
    assert report.panels == panels
    assert report.tried - report.left_out <= report.draws == 40_000
    assert (report.cluster, report.clusters) == ("rater", len(met))


def test_panels_are_drawn_until_enough_are_usable() -> None:
    """One panel in some sixty shares four items; seeds agree far better than a few disjoint panels would."""
    study = Drawn(1, 30).rate(sparse(150, 30, 4, 0.4)).study()
    runs = [drawn(study, seed=seed, draws=4000) for seed in range(4)]
    assert all(run.panels > 3000 and run.left_out > 20 * run.panels for run in runs)
    assert np.ptp([run.mean_tau for run in runs]) < 0.03
    assert all("drawn again" in run.policies[1] for run in runs)
    assert not any(run.warnings for run in runs)


def test_few_panels_and_few_raters_are_told() -> None:
    ranks = shared_ranks(1, 7, 8, 1.0, RNG(3))
    few = drawn(Drawn(1, 8).rank(ranks).study(), items=3, raters=5)
    assert few.panels == 21
    assert any("only 21 different panels" in words for words in few.warnings)
    assert any("no intervals: 7 raters" in words for words in few.warnings)
    assert few.intervals["mean_tau"].low is None
    ten = drawn(Drawn(1, 8).rank(shared_ranks(1, 10, 8, 1.0, RNG(3))).study(), items=3, raters=3)
    assert any("only 10 raters" in words for words in ten.warnings)
    assert ten.intervals["mean_tau"].low <= ten.mean_tau <= ten.intervals["mean_tau"].high
    prompts = drawn(Drawn(3, 4).rank(random_ranks(3, 5, 4, RNG(1))).study())
    assert any("only 3 prompts" in words for words in prompts.warnings)


def test_raters_who_share_nothing_are_refused() -> None:
    values = np.full((1, 6, 12), np.nan)
    for rater in range(6):
        values[0, rater, 2 * rater : 2 * rater + 2] = 1
    with pytest.raises(TooFew, match="--draw-by items"):
        drawn(Drawn(1, 12).rate(values).study(), raters=2, items=2)


def test_prompts_without_a_panel_are_left_out_and_counted() -> None:
    rng = RNG(6)
    study = Drawn(5, 4).rank(random_ranks(3, 5, 4, rng)).rank(random_ranks(2, 2, 4, rng), first=3).study()
    report = drawn(study)
    assert (report.clusters, report.left_out) == (3, 2)
    assert any("2 prompts" in policy for policy in report.policies)


def test_even_panels_say_that_they_cannot_cycle() -> None:
    report = drawn(Drawn(10, 4).rank(random_ranks(10, 4, 4, RNG(7))).study(), raters=4)
    assert report.cycle_rate is None
    assert any("cannot cycle" in policy for policy in report.policies)
    odd = drawn(Drawn(10, 4).rank(random_ranks(10, 5, 4, RNG(7))).study())
    assert not any("cannot cycle" in policy for policy in odd.policies)


def of_generators(**more) -> Study:
    """Twenty prompts of five generators, E the photograph; A is best, then B, C, D, and E is best of all."""
    items = [Item(id=f"q{p}.{i}", prompt=f"q{p}", generator="ABCDE"[i]) for p in range(20) for i in range(5)]
    worth = np.array([4, 3, 2, 1, 9]) + 0.8 * RNG(8).normal(size=(20, 6, 5))
    ranks = (-worth).argsort(axis=2).argsort(axis=2)
    return Drawn(20, 5).rank(ranks).study(tables={"items": items}, **more)


def test_generators_are_dropped_and_the_best_kept() -> None:
    study = of_generators()
    without = drawn(study, drop=("E",), top_generators=2, items=2, raters=3)
    assert without.mean_tau < drawn(study, drop=("E", "B", "C"), items=2, raters=3).mean_tau  # A and D are far apart
    with pytest.raises(UnknownReference, match="items to drop must exist"):
        drawn(study, drop=("Z",))
    with pytest.raises(UnknownReference, match="name their generator"):
        drawn(Drawn(3, 4).rank(random_ranks(3, 5, 4, RNG(9))).study(), top_generators=2)


def test_nothing_left_to_draw_is_a_named_error() -> None:
    study = of_generators()
    for settings in ({"drop": tuple("ABCDE")}, {"drop": tuple("ABCDE"), "top_generators": 2}, {"raters": 50}):
        with pytest.raises(TooFew, match="who judged the same 4 items"):
            drawn(study, **settings)
    crowd = Drawn(3, 4).rank(random_ranks(3, 1, 4, RNG(10)), raters=["anyone"])
    with pytest.raises(TooFew, match="who judged the same"):
        drawn(crowd.study(raters=[Rater(id="anyone", kind="crowd")]))
    with pytest.raises(TooFew, match="rankings or ratings"):
        drawn(Drawn(2, 2).vote("r0", 0, 0, 1, "a").study())


def test_one_of_several_criteria_must_be_named() -> None:
    study = Drawn(5, 4).rank(random_ranks(5, 5, 4, RNG(11))).rank(random_ranks(5, 5, 4, RNG(12)), criterion="d").study()
    with pytest.raises(UnknownReference, match="c, d"):
        drawn(study)
    assert drawn(study, criterion="d").draws >= 4000


def test_partial_rankings_use_the_items_a_panel_shares() -> None:
    rng = RNG(13)
    rows = []
    for prompt in range(6):
        for rater in names(4):
            items = [f"q{prompt}.{i}" for i in sorted(rng.permutation(8)[:7])]
            rows.append(Ranking(criterion="c", rater=rater, items=tuple(items), ranks=tuple(range(1, 8))))
    report = drawn(Drawn(6, 8).add("rankings", *rows).study(), items=3, raters=3, draws=300)
    assert report.mean_tau == 1  # everyone ranks by number


def test_the_same_seed_gives_the_same_anchor() -> None:
    study = Drawn(10, 5).rate(RNG(14).integers(1, 4, (10, 6, 5))).study(Criterion(id="c"))
    assert drawn(study, seed=3) == drawn(study, seed=3)
    assert drawn(study, seed=3).mean_tau != drawn(study, seed=4).mean_tau
    assert "seed:3" in drawn(study, seed=3).signature_line


@pytest.mark.data
def test_tifa160(salon_data: Path) -> None:
    """160 prompts, five generators, the same five raters; 45% of pairs tied. Figures known from another program."""
    file = salon_data / "dsg_tifa160" / "tifa160-likert-anns.csv"
    study = read_study(recognize(file), [file])
    report = drawn(study, draws=20_000)
    assert figures(report) == pytest.approx([0.267, 0.262, 0.775, 0.087], abs=0.01)
    assert report.clusters == 156
    assert report.tie_rate == pytest.approx(0.45, abs=0.02)
    stable = drawn(study, ties="stable")
    assert stable.mean_tau > report.mean_tau + 0.03
    assert f"{stable.tie_control:+.3f}" in stable.warnings[0]
    assert stable.tie_control > 0.1
