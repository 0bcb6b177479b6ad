"""Who agrees with whom, and factions: against scipy, against the kernel, and on panels that never meet."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from drawn_studies import Drawn, names, random_ranks, shared_ranks
from scipy import stats

from salon.check import CheckSettings
from salon.check.raters import MOST_MATRIX_RATERS, _panels, faction_figures, rater_figures
from salon.check.signal import RankedGroups, answers_rankings, ranked_groups
from salon.stats import faction_test
from salon.study import Study

RNG = np.random.default_rng
SETTINGS = CheckSettings(draws=200)


def found(study: Study) -> list[RankedGroups]:
    return ranked_groups(answers_rankings(study, 0), ties="random", rng=RNG(0))


def matrix(study: Study):
    return rater_figures(study, found(study))


def factions(study: Study, seed: int = 0):
    return faction_figures(study, found(study), SETTINGS, RNG(seed))


def two_camps(n: int, noise: float, rng: np.random.Generator, sizes=(3, 2)) -> np.ndarray:
    """Camps that follow unrelated orders."""
    return np.concatenate([shared_ranks(n, size, 4, noise, rng) for size in sizes], axis=1)


# -- the matrix ------------------------------------------------------------------------------------------------------


def test_the_matrix_by_another_tool() -> None:
    ranks = shared_ranks(25, 4, 5, 1.0, RNG(1))
    panel = matrix(Drawn(25, 5).rank(ranks).study())
    for i, j in combinations(range(4), 2):
        taus = [stats.kendalltau(one[i], one[j]).statistic for one in ranks]
        assert panel.tau[i][j] == panel.tau[j][i] == pytest.approx(np.mean(taus))
        assert panel.error[i][j] == pytest.approx(stats.sem(taus))
        assert panel.prompts[i][j] == 25
    assert panel.tau[0][0] is None
    assert panel.mean_tau["r1"] == pytest.approx(np.mean([panel.tau[1][j] for j in (0, 2, 3)]))
    flat = {(i, j): panel.tau[i][j] for i, j in combinations(range(4), 2)}
    assert panel.most_agreeing == tuple(names(4)[i] for i in max(flat, key=flat.get))
    assert panel.least_agreeing == tuple(names(4)[i] for i in min(flat, key=flat.get))


def test_errors_over_several_shapes_are_those_of_all_prompts_together() -> None:
    """Prompts of 3, 4 and 5 items, one of them alone in its shape: its spread must not be taken as zero."""
    rng = RNG(2)
    sizes = [3] * 6 + [4] * 5 + [5]
    drawn, taus = Drawn(12, sizes), []
    for prompt, size in enumerate(sizes):
        ranks = random_ranks(1, 3, size, rng)
        drawn.rank(ranks, first=prompt)
        taus.append(stats.kendalltau(ranks[0, 0], ranks[0, 1]).statistic)
    panel = matrix(drawn.study())
    assert panel.tau[0][1] == pytest.approx(np.mean(taus))
    assert panel.error[0][1] == pytest.approx(stats.sem(taus))
    alone = Drawn(2, [3, 4]).rank(random_ranks(1, 2, 3, rng)).rank([[[0, 1, 2, 3], [3, 2, 1, 0]]], first=1)
    assert matrix(alone.study()).error[0][1] > 0


def test_two_raters_who_are_the_same_on_every_prompt_have_no_error() -> None:
    ranks = random_ranks(12, 3, 4, RNG(5))
    ranks[:, 1] = ranks[:, 0]
    made = matrix(Drawn(12, 4).rank(ranks).study())
    assert (made.tau[0][1], made.error[0][1]) == (1, None)
    assert made.error[0][2] > 0


def test_raters_who_never_meet_have_no_tau() -> None:
    rng = RNG(3)
    drawn = Drawn(8, 3).rank(random_ranks(4, 2, 3, rng), raters=["a", "b"])
    drawn.rank(random_ranks(4, 2, 3, rng), raters=["x", "y"], first=4)
    panel = matrix(drawn.study())
    assert panel.tau[0][2] is None
    assert panel.prompts[0][2] == 0
    assert panel.mean_tau["a"] == pytest.approx(panel.tau[0][1])
    assert set(panel.most_agreeing) in ({"a", "b"}, {"x", "y"})


def test_only_the_most_active_raters_are_shown() -> None:
    rng = RNG(4)
    drawn = Drawn(40, 3)
    for prompt in range(40):
        chosen = rng.permutation(60)[:4].tolist()
        drawn.rank(random_ranks(1, 4, 3, rng), raters=[f"r{i}" for i in chosen], first=prompt)
    study = drawn.study()
    panel = matrix(study)
    answered = {rater: sum(j.rater == rater for j in drawn.judgments["rankings"]) for rater in panel.raters}
    rest = set(study.ids("raters").to_pylist()) - set(panel.raters)
    assert len(panel.raters) == MOST_MATRIX_RATERS
    assert panel.left_out == len(rest)
    most_left_out = max(sum(j.rater == rater for j in drawn.judgments["rankings"]) for rater in rest)
    assert min(answered.values()) >= most_left_out


# -- factions --------------------------------------------------------------------------------------------------------


def test_factions_are_the_kernel_s() -> None:
    ranks = two_camps(60, 0.5, RNG(5))
    figures = factions(Drawn(60, 4).rank(ranks).study(), seed=9)
    kernel = faction_test(ranks, rng=RNG(9))
    assert figures.p == kernel.test.p < 0.001
    assert figures.split == (("r0", "r1", "r2"), ("r3", "r4"))
    assert (figures.power, figures.gap.value, figures.least) == (kernel.power, kernel.gap.value, kernel.least)
    assert (figures.within, figures.between) == (kernel.within, kernel.between)
    assert figures.gap.low > 0


def test_cohorts_that_never_meet_are_tested_apart() -> None:
    """A panel in two camps and a panel of one mind: the smaller p counts, times two; power is the weaker one's."""
    rng = RNG(6)
    split, one = two_camps(50, 0.4, rng), shared_ranks(50, 5, 4, 1.0, rng)
    drawn = Drawn(100, 4).rank(split, raters=[f"a{i}" for i in range(5)])
    study = drawn.rank(one, raters=[f"b{i}" for i in range(5)], first=50).study()
    panels = _panels(found(study))
    assert [len(raters) for raters, _ in panels] == [5, 5]
    assert sorted(np.concatenate([rows for _, (rows,) in panels]).tolist()) == list(range(100))
    figures = factions(study)
    assert figures.p < 0.01
    assert "smallest p of 2 panels, times 2" in figures.law
    assert figures.split == (("a0", "a1", "a2"), ("a3", "a4"))


def test_one_shared_order_is_seldom_called_factions() -> None:
    rng = RNG(7)
    p = [factions(Drawn(40, 4).rank(shared_ranks(40, 5, 4, 1.2, rng)).study()).p for _ in range(12)]
    assert sum(one <= 0.05 for one in p) <= 3  # Binomial(12, .05) exceeds three with chance .002


def test_raters_with_different_noise_are_no_faction() -> None:
    rng = RNG(8)
    noise = [0.5, 0.5, 1.0, 2.0, 20.0]  # the last answers at random
    p = [factions(Drawn(60, 4).rank(shared_ranks(60, 5, 4, noise, rng)).study()).p for _ in range(8)]
    assert sum(one <= 0.05 for one in p) <= 2


@pytest.mark.parametrize("raters", [2, 3])
def test_too_few_raters_are_refused_by_name(raters: int) -> None:
    figures = factions(Drawn(20, 4).rank(random_ranks(20, raters, 4, RNG(9))).study())
    assert figures.p is None
    assert "at least four raters" in figures.refused


def test_raters_who_seldom_meet_are_refused_by_name() -> None:
    rng = RNG(10)
    drawn = Drawn(60, 3)
    for prompt in range(60):
        raters = [f"r{i}" for i in rng.permutation(300)[:3]]
        drawn.rank(random_ranks(1, 3, 3, rng), raters=raters, first=prompt)
    assert "20 groups that share no prompt" in factions(drawn.study()).refused
    few = Drawn(60, 3)
    for prompt in range(60):
        few.rank(random_ranks(1, 3, 3, rng), raters=[f"r{i}" for i in rng.permutation(90)[:3]], first=prompt)
    assert "raters who share prompts" in factions(few.study()).refused


def test_very_many_votes_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("salon.check.raters.MOST_VOTES", 6 * 5 * 100)  # six pairs of items, five raters: 100 prompts
    figures = factions(Drawn(400, 4).rank(two_camps(400, 0.5, RNG(11))).study())
    assert figures.gap.n == 100
    assert figures.split == (("r0", "r1", "r2"), ("r3", "r4"))


def test_prompts_of_all_shapes_are_used_and_the_most_active_raters_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = RNG(12)
    camps = two_camps(60, 0.4, rng, sizes=(4, 3))
    drawn = Drawn(60, 4).rank(camps[:30], raters=[f"r{i}" for i in range(7)])
    drawn.rank(camps[30:, :6], raters=[f"r{i}" for i in range(6)], first=30)  # another shape: r6 is absent
    assert factions(drawn.study()).gap.n == 60
    monkeypatch.setattr("salon.check.raters.MOST_FOLLOWED", 6)
    figures = factions(drawn.study())
    assert figures.split == (("r0", "r1", "r2", "r3"), ("r4", "r5"))
    assert "the 6 most active of 7 raters" in figures.law


def test_one_prompt_of_many_raters_cannot_tell() -> None:
    figures = factions(Drawn(1, 4).rank(random_ranks(1, 800, 4, RNG(13))).study())
    assert "at least 10 prompts" in figures.refused


def test_camps_are_named_only_where_the_gap_is_significant() -> None:
    figures = factions(Drawn(60, 4).rank(shared_ranks(60, 5, 4, 1.2, RNG(14))).study())
    assert figures.split is None
    assert figures.gap.value < 0
