"""Simulated studies: valid, labelled, deterministic, and holding the truth they claim."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from salon.collect import SimulateSettings, planted, simulate_study, taste_like_study, taste_like_truth
from salon.collect.simulate.panel import SimulatedPanel, item_ids, number_ids, panel_comparisons, tie_chance, with_ties
from salon.errors import BadValue
from salon.stats import cells_votes, krippendorff_alpha, votes_rankings
from salon.study import Study

RANKERS = ("uniform", "mallows", "plackett_luce", "thurstone", "factions")


def ranks_of(study: Study, criterion: int = 0) -> np.ndarray:
    """(prompts, raters, items) ranks from a study's rankings, by plain loops over its view."""
    view = study.rankings
    chosen = [row for row in range(len(view)) if view.criterion[row] == criterion]
    groups, raters = (sorted({int(column[row]) for row in chosen}) for column in (view.group, view.rater))
    items = int(view.offsets[1])
    ranks = np.full((len(groups), len(raters), items), -1, np.int8)
    for row in chosen:
        listed = view.items[view.offsets[row] : view.offsets[row + 1]]
        place = view.ranks[view.offsets[row] : view.offsets[row + 1]] - 1
        ranks[groups.index(view.group[row]), raters.index(view.rater[row]), listed % items] = place
    assert (ranks >= 0).all()
    return ranks


def mean_tau(ranks: np.ndarray) -> float:
    _, raters, items = ranks.shape
    return cells_votes(votes_rankings(ranks), raters, items).mean_tau


@st.composite
def sizes(draw: st.DrawFn) -> SimulateSettings:
    protocol = draw(st.sampled_from(("rankings", "comparisons", "ratings")))
    models = ("uniform", "thurstone", "factions") if protocol == "ratings" else RANKERS
    model = draw(st.sampled_from(models))
    return SimulateSettings(
        model=model,
        prompts=draw(st.integers(1, 12)),
        items=draw(st.integers(2, 12)),
        raters=draw(st.integers(2, 11)),
        criteria=draw(st.integers(1, 3)),
        protocol=protocol,
        parameter=None if model == "uniform" else draw(st.floats(0, 3)),
        careless=draw(st.integers(0, 2)),
        position_bias=draw(st.floats(0, 0.9)) if protocol == "comparisons" else 0.0,
        tie_share=draw(st.floats(0, 0.9)) if protocol != "ratings" else 0.0,
        levels=draw(st.integers(2, 9)),
        seed=draw(st.integers(0, 2**40)),
    )


# -- any study ---------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(sizes())
def test_every_size_gives_a_valid_labelled_complete_and_repeatable_study(s: SimulateSettings) -> None:
    study = simulate_study(s)  # Study.build validates references, groups, duplicates, scales
    assert study.simulated
    assert "Simulated" in study.note
    assert study.design.kind == "complete"
    each = {"rankings": 1, "comparisons": s.items * (s.items - 1) // 2, "ratings": s.items}[s.protocol]
    assert study.counts == {
        "prompts": s.prompts,
        "items": s.prompts * s.items,
        "raters": s.raters,
        s.protocol: s.prompts * s.raters * s.criteria * each,
    }
    assert study.hash == simulate_study(s).hash
    assert [one.criterion for one in planted(s)] == [criterion.id for criterion in study.criteria]


def test_another_seed_gives_other_answers() -> None:
    assert len({simulate_study(SimulateSettings(seed=seed)).hash for seed in range(5)}) == 5


@pytest.mark.parametrize("model", RANKERS[1:])
@pytest.mark.parametrize("tau", [0.1, 0.3])
def test_rankings_carry_the_tau_they_were_given(model: str, tau: float) -> None:
    s = SimulateSettings(model=model, tau=tau, prompts=8000, seed=3)
    assert planted(s)[0].tau == pytest.approx(tau, abs=1e-9)
    # One prompt's T has a standard deviation below .3 here: 8,000 prompts leave an error below .0034.
    assert mean_tau(_ranks_fast(simulate_study(s))) == pytest.approx(tau, abs=0.014)


def test_careless_raters_are_the_last_and_agree_with_nobody() -> None:
    s = SimulateSettings(tau=0.2, careless=2, prompts=6000, seed=1)
    ranks = _ranks_fast(simulate_study(s))
    assert mean_tau(ranks) == pytest.approx(0.2, abs=0.02)
    assert mean_tau(ranks[:, 3:]) == pytest.approx(0, abs=0.03)
    # Three attentive raters make 3 of the 10 pairs; they carry all of the agreement.
    assert mean_tau(ranks[:, :3]) == pytest.approx(0.2 * 10 / 3, abs=0.03)


def test_factions_agree_within_and_not_between() -> None:
    s = SimulateSettings(model="factions", factions=(4, 2), raters=6, parameter=0.5, prompts=6000)
    ranks = _ranks_fast(simulate_study(s))
    # Sheppard: tau = (2/pi) arcsin(1 / (1 + 0.25)) = 0.590 within a faction.
    assert mean_tau(ranks[:, :4]) == pytest.approx(0.590, abs=0.02)
    assert mean_tau(ranks[:, 4:]) == pytest.approx(0.590, abs=0.03)
    assert mean_tau(ranks[:, [0, 5]]) == pytest.approx(0, abs=0.03)
    assert "4 and 2" in planted(s)[0].truth


def test_items_are_ordered_by_prompt_so_that_codes_equal_ids() -> None:
    study = simulate_study(SimulateSettings(prompts=12, items=3))
    assert study.ids("items").to_pylist()[:4] == ["p01-1", "p01-2", "p01-3", "p02-1"]
    assert study.table("rankings").column("items").combine_chunks().values.dictionary.equals(study.ids("items"))
    assert study.item_groups.tolist() == [group for group in range(12) for _ in range(3)]


def test_ids_are_all_of_one_width() -> None:
    assert number_ids("p", 3).to_pylist() == ["p1", "p2", "p3"]
    assert number_ids("p", 10).to_pylist()[::9] == ["p01", "p10"]
    assert item_ids(number_ids("q", 2), 2).to_pylist() == ["q1-1", "q1-2", "q2-1", "q2-2"]


# -- ties, sides, levels -----------------------------------------------------------------------------------------


def test_tie_chance_by_hand() -> None:
    # Three items: 2 neighbours tie with chance g, the outer pair with g²; (2 g + g²) / 3 = 5/12 at g = 1/2.
    assert tie_chance(5 / 12, 3) == pytest.approx(0.5, abs=1e-9)
    assert tie_chance(0.25, 2) == pytest.approx(0.25, abs=1e-9)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7])
def test_ties_take_their_share_of_pairs_and_leave_the_order_alone(share: float) -> None:
    study = simulate_study(SimulateSettings(prompts=4000, tie_share=share, protocol="comparisons", seed=8))
    assert np.mean(study.comparisons.outcome == 2) == pytest.approx(share, abs=0.012)
    ranks = np.random.default_rng(1).permuted(np.tile(np.arange(6, dtype=np.int8), (50, 3, 1)), axis=-1)
    panel = with_ties(SimulatedPanel(0, np.arange(3, dtype=np.int32), 0, ranks), share, rng=np.random.default_rng(2))
    above = ranks[..., :, None] < ranks[..., None, :]
    levels = panel.levels
    assert (levels[..., :, None] <= levels[..., None, :])[above].all()


def test_tied_rankings_are_stored_best_first() -> None:
    study = simulate_study(SimulateSettings(prompts=300, tie_share=0.4, items=5))
    ranks = study.rankings.ranks.reshape(-1, 5)
    assert (ranks[:, 0] == 1).all()
    assert set(np.unique(np.diff(ranks, axis=1))) == {0, 1}


@settings(max_examples=30)
@given(st.integers(2, 7), st.integers(0, 2**32), st.sampled_from([0.0, 0.4]))
def test_comparisons_follow_the_orders_they_come_from(items: int, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    ranks = rng.permuted(np.tile(np.arange(items, dtype=np.int8), (7, 2, 1)), axis=-1)
    panel = with_ties(SimulatedPanel(0, np.arange(2, dtype=np.int32), 0, ranks), share, rng=rng)
    outcome = panel_comparisons(panel, rng=rng).outcome
    pairs = [(i, j) for i in range(items) for j in range(i + 1, items)]
    for prompt, rater in np.ndindex(7, 2):
        levels = panel.levels[prompt, rater]
        expected = [0 if levels[i] < levels[j] else 1 if levels[i] > levels[j] else 2 for i, j in pairs]
        assert outcome[prompt, rater].tolist() == expected


@pytest.mark.parametrize("bias", [0.0, 0.2, 0.6])
def test_position_bias_moves_the_left_share(bias: float) -> None:
    view = simulate_study(SimulateSettings(prompts=3000, protocol="comparisons", position_bias=bias)).comparisons
    # Unseen answers go left always, seen ones half the time; 90,000 comparisons: error .0017.
    assert np.mean(view.outcome == view.left) == pytest.approx(0.5 + bias / 2, abs=0.008)


def test_ratings_use_every_level_alike_and_keep_the_order_of_impressions() -> None:
    s = SimulateSettings(prompts=4000, protocol="ratings", levels=7, tau=0.4, careless=1)
    study = simulate_study(s)
    counts = np.bincount(study.ratings.value.astype(int), minlength=8)[1:]
    assert counts / counts.sum() == pytest.approx(np.full(7, 1 / 7), abs=0.01)
    values = study.ratings.value.reshape(5, -1)  # by rater, then item
    assert np.corrcoef(values)[0, 1] > 0.4
    assert abs(np.corrcoef(values)[0, 4]) < 0.03
    assert study.criteria[0].scale.levels == tuple(range(1, 8))


def test_random_ratings_share_nothing() -> None:
    values = simulate_study(SimulateSettings(prompts=3000, protocol="ratings", model="uniform")).ratings.value
    off = np.corrcoef(values.reshape(5, -1))[np.triu_indices(5, 1)]
    assert np.abs(off).max() < 0.04


# -- bad settings ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"model": "uniform", "tau": 0.2}, "random raters agree on nothing"),
        ({"tau": 0.2, "parameter": 1.0}, "tau or by the law's parameter"),
        ({"factions": (3, 2)}, "only the model factions"),
        ({"model": "factions", "factions": (3, 3)}, "add up to 5"),
        ({"model": "factions", "factions": (5, 0)}, "at least one rater"),
        ({"model": "uniform", "careless": 6}, "at most 5 raters"),
        ({"careless": 4}, "two attentive raters"),
        ({"position_bias": 0.1}, "only comparisons have a left side"),
        ({"protocol": "ratings", "tie_share": 0.1}, "same level"),
        ({"protocol": "ratings", "model": "mallows"}, "law of impressions"),
        ({"prompts": 10**9}, "at most 500,000,000"),
    ],
)
def test_settings_that_contradict_each_other_are_named(wrong: dict[str, object], says: str) -> None:
    with pytest.raises(BadValue, match=says):
        SimulateSettings(**wrong)


def test_a_tau_out_of_reach_is_named() -> None:
    with pytest.raises(BadValue, match="mean tau between"):
        simulate_study(SimulateSettings(tau=0.9, careless=2))


# -- the demo's study --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def taste_like() -> Study:
    return taste_like_study()


def test_taste_like_has_the_published_shape(taste_like: Study) -> None:
    assert taste_like.simulated
    assert len(taste_like.criteria) == 10  # nine, and the flag
    assert taste_like.counts == {
        "prompts": 9 * 80,
        "items": 9 * 80 * 4,
        "raters": 10,
        "comparisons": 9 * (80 * 5 * 6 + 5 * 12),
        "rankings": 9 * 80 * 5,
        "ratings": 2 * 80 * 4 * 5,
    }
    assert {cohort.id: cohort.view for cohort in taste_like.cohorts} == {
        "aesthetics": ("intent", "aesthetics"),
        "descriptions": ("intent", "description"),
    }


def test_taste_like_criteria_have_prompts_and_raters_of_their_own(taste_like: Study) -> None:
    view = taste_like.rankings
    seen = [set(view.group[view.criterion == number].tolist()) for number in range(9)]
    assert [len(groups) for groups in seen] == [80] * 9
    assert len(set.union(*seen)) == 720
    assert [len(set(view.rater[view.criterion == number].tolist())) for number in range(9)] == [5] * 9


def test_taste_like_comparisons_equal_their_rankings(taste_like: Study) -> None:
    rank: dict[tuple[int, int, int], int] = {}
    view = taste_like.rankings
    for row in range(len(view)):
        for at in range(view.offsets[row], view.offsets[row + 1]):
            rank[view.criterion[row], view.rater[row], view.items[at]] = view.ranks[at]
    c = taste_like.comparisons
    first = np.flatnonzero(c.repeat == 0)
    better = np.array(
        [rank[c.criterion[i], c.rater[i], c.a[i]] < rank[c.criterion[i], c.rater[i], c.b[i]] for i in first]
    )
    assert (c.outcome[first] == np.where(better, 0, 1)).all()


def test_taste_like_sides_seconds_and_repeats_are_plausible(taste_like: Study) -> None:
    c = taste_like.comparisons
    first = c.repeat == 0
    assert set(c.left.tolist()) == {0, 1}
    assert np.mean((c.outcome == c.left)[first]) == pytest.approx(0.5, abs=0.02)  # no position bias: 4.3 errors wide
    assert 9 < np.median(c.seconds) < 30
    assert c.seconds.min() > 0.5
    answer = {
        (k, r, a, b): o
        for k, r, a, b, o in zip(*(x[first].tolist() for x in (c.criterion, c.rater, c.a, c.b, c.outcome)))
    }
    again = [
        answer[k, r, a, b] == o
        for k, r, a, b, o in zip(*(x[~first].tolist() for x in (c.criterion, c.rater, c.a, c.b, c.outcome)))
    ]
    assert len(again) == 540
    assert np.mean(again) == pytest.approx(0.85, abs=0.06)


def test_taste_like_taus_are_near_the_planted_ones(taste_like: Study) -> None:
    truth = taste_like_truth()
    found = [mean_tau(ranks_of(taste_like, number)) for number in range(9)]
    # sd of T is about .23 at these laws: .026 with 80 prompts, .0087 for the mean of nine.
    assert found == pytest.approx([one.tau for one in truth], abs=0.1)
    assert np.mean(found) == pytest.approx(np.mean([one.tau for one in truth]), abs=0.03)


def test_taste_like_first_rater_of_each_cohort_agrees_least() -> None:
    """Planted, and visible in the mean of several seeds."""
    gap = []
    for seed in range(4):
        study = taste_like_study(seed)
        for number in range(9):
            ranks = ranks_of(study, number)
            gap.append(mean_tau(ranks[:, 1:]) - mean_tau(ranks))
    assert np.mean(gap) > 0.015


def test_taste_like_flags_have_their_shares_and_agreement() -> None:
    alphas, shares = [], []
    for seed in range(6):
        view = taste_like_study(seed).ratings
        shares.append(np.bincount(view.value.astype(int), minlength=3) / len(view))
        for half in (slice(0, 1600), slice(1600, 3200)):  # by cohort, rater, item
            alphas.append(krippendorff_alpha(view.value[half].reshape(5, 320).T, level="ordinal").value)
    assert np.mean(shares, axis=0) == pytest.approx([0.55, 0.35, 0.10], abs=0.02)
    assert np.mean(alphas) == pytest.approx((0.141 + 0.165) / 2, abs=0.03)


def test_taste_like_is_the_same_for_the_same_seed_only(taste_like: Study) -> None:
    assert taste_like_study().hash == taste_like.hash == taste_like_study(2026).hash
    assert taste_like_study(1).hash != taste_like.hash


def test_controls_are_added_and_change_nothing_else(taste_like: Study) -> None:
    with_controls = taste_like_study(controls=True)
    assert [c.id for c in with_controls.criteria][9:11] == ["control/random", "control/factions"]
    assert [one.criterion for one in taste_like_truth(controls=True)][9:] == ["control/random", "control/factions"]
    for number in range(9):
        assert (ranks_of(with_controls, number) == ranks_of(taste_like, number)).all()
    prompts = [prompt.record() for prompt in with_controls.nouns("prompts")][:720]
    assert prompts == [prompt.record() for prompt in taste_like.nouns("prompts")]
    generators = with_controls.table("items").column("generator").slice(0, 2880).to_pylist()
    assert generators == taste_like.table("items").column("generator").to_pylist()
    assert mean_tau(ranks_of(with_controls, 9)) == pytest.approx(0, abs=0.1)


def test_briefs_can_be_shown_to_each_cohort_and_differ(taste_like: Study) -> None:
    prompts = list(taste_like.nouns("prompts"))
    views = {prompt.view(("intent", "description")) + prompt.view(("intent", "aesthetics")) for prompt in prompts}
    assert len(views) == 720
    assert len({prompt.category for prompt in prompts}) == 10
    assert not [prompt.intent for prompt in prompts if prompt.intent.startswith("A invitation")]


def test_generators_are_blind_and_balanced(taste_like: Study) -> None:
    items = list(taste_like.nouns("items"))
    by_place = [{item.generator for item in items if item.id.endswith(f"-{place}")} for place in "1234"]
    assert all(len(generators) == 4 for generators in by_place)  # an id does not give its generator away
    assert all(len({item.generator for item in items[at : at + 4]}) == 4 for at in range(0, len(items), 4))


def _ranks_fast(study: Study) -> np.ndarray:
    """As `ranks_of`, for complete studies of one criterion in the order they were drawn."""
    view, s = study.rankings, study.counts
    items = int(view.offsets[1])
    ranks = np.empty((len(view), items), np.int8)
    np.put_along_axis(
        ranks, (view.items % items).reshape(-1, items).astype(np.intp), view.ranks.reshape(-1, items) - 1, 1
    )
    return ranks.reshape(s["prompts"], s["raters"], items)


def test_the_fast_reading_equals_the_plain_one() -> None:
    study = simulate_study(SimulateSettings(prompts=30, items=5, raters=3))
    assert (_ranks_fast(study) == ranks_of(study)).all()
