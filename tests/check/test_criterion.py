"""All figures of one criterion, against the kernels and against other packages; what is left out is counted."""

from __future__ import annotations

from functools import reduce

import krippendorff
import numpy as np
import pytest
from drawn_studies import Drawn, answers_of, names, random_ranks, shared_ranks
from scipy import stats

from salon.check import CheckSettings, CriterionFigures
from salon.check.criterion import CriterionCheck, _tie_control, check_criterion, criterion_power
from salon.stats import ceilings, vote_test, votes_rankings
from salon.stats.agreement import kendall_w
from salon.store import null_for
from salon.study import Checklist, Comparison, Criterion, Item, Ranking, Rater, Rating, Scale, Study

RNG = np.random.default_rng
SETTINGS = CheckSettings(draws=200, tie_repeats=5)


def figures(study: Study, number: int = 0, **changes) -> CriterionFigures | None:
    found = checked(study, number, **changes)
    return None if found is None else found.figures


def checked(study: Study, number: int = 0, **changes) -> CriterionCheck | None:
    return check_criterion(study, number, SETTINGS.model_copy(update=changes), null_for)


def policy(found: CriterionFigures, words: str) -> str:
    """The one policy that holds these words."""
    (said,) = [line for line in found.policies if words in line]
    return said


# -- complete orders -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ranks() -> np.ndarray:
    return shared_ranks(40, 5, 4, 1.2, RNG(1))


@pytest.fixture(scope="module")
def ranked(ranks: np.ndarray) -> CriterionFigures:
    return figures(Drawn(40, 4).rank(ranks).study())


def test_the_protocol_does_not_matter(ranks: np.ndarray, ranked: CriterionFigures) -> None:
    for study in (Drawn(40, 4).compare(ranks).study(), Drawn(40, 4).rate(4.0 - ranks).study()):
        found = figures(study)
        assert found.statistics.model_dump(exclude={"intervals"}) == ranked.statistics.model_dump(exclude={"intervals"})
        assert [test.p for test in found.tests] == [test.p for test in ranked.tests]
        assert found.raters == ranked.raters
        assert found.mean_W.value == pytest.approx(ranked.mean_W.value)
    assert (ranked.protocol, ranked.prompts, ranked.judgments, ranked.tie_rate) == ("rankings", 40, 200, 0)


def test_alpha_and_w_by_another_tool(ranks: np.ndarray, ranked: CriterionFigures) -> None:
    matrix = ranks.transpose(1, 0, 2).reshape(5, -1)
    alpha = krippendorff.alpha(matrix, level_of_measurement="ordinal")
    assert ranked.alpha.value == pytest.approx(alpha)
    assert ranked.alpha.low < alpha < ranked.alpha.high
    friedman = [stats.friedmanchisquare(*panel.T).statistic / (5 * 3) for panel in ranks]  # W = chi2 / (R (p - 1))
    assert ranked.mean_W.value == pytest.approx(np.mean(friedman), abs=1e-8)


def test_alpha_of_ratings_is_of_the_ratings_themselves() -> None:
    values = RNG(2).integers(1, 6, (30, 4, 3)) + RNG(3).integers(0, 3, (30, 1, 3))
    found = figures(Drawn(30, 3).rate(values).study())
    matrix = values.transpose(1, 0, 2).reshape(4, -1).astype(float)
    assert found.alpha.value == pytest.approx(krippendorff.alpha(matrix, level_of_measurement="ordinal"))
    w = [kendall_w(panel.astype(float)).w for panel in values if np.ptp(panel, axis=1).any()]
    assert found.mean_W.value == pytest.approx(np.mean(w), abs=1e-8)


def test_ceilings_are_the_kernel_s(ranks: np.ndarray, ranked: CriterionFigures) -> None:
    k = votes_rankings(ranks).ravel()
    kernel = ceilings(k, np.full(len(k), 5), np.repeat(np.arange(40), 6), draws=200, rng=RNG(0))
    for name in ("next_rater", "oracle", "panel", "leave_one_out", "leave_one_out_dropped", "cap"):
        assert getattr(ranked.ceilings, name).value == pytest.approx(getattr(kernel, name).value)
    larger = np.maximum(k, 5 - k)
    assert {name: one.value for name, one in ranked.ceilings.buckets.items()} == pytest.approx(
        {f"{m}-{5 - m}": (larger == m).mean() for m in (5, 4, 3)}
    )
    assert ranked.ceilings.panel.value == pytest.approx(ranked.statistics.mean_pmax)
    assert ranked.ceilings.pairs == 240


def test_a_scale_where_low_is_good_is_turned() -> None:
    values = RNG(4).integers(0, 3, (20, 4, 3))
    flag = Scale(kind="ordinal", low=0, high=2, step=1, higher_is_better=False)
    turned = figures(Drawn(20, 3).rate(values).study(Criterion(id="c", scale=flag)), ties="stable")
    plain = figures(Drawn(20, 3).rate(2 - values).study(), ties="stable")
    assert turned.statistics == plain.statistics


# -- ties ------------------------------------------------------------------------------------------------------------


def test_the_tie_policy_is_never_silent() -> None:
    values = RNG(5).integers(1, 4, (40, 5, 4))
    pairs = [(i, j) for i in range(4) for j in range(i)]
    tied = np.mean([(values[:, :, i] == values[:, :, j]).mean() for i, j in pairs])
    found = figures(Drawn(40, 4).rate(values).study())
    assert found.tie_rate == pytest.approx(tied)
    assert f"{tied:.1%}" in policy(found, "ties (")
    assert "at random, averaged over 5 tie-breaks" in policy(found, "ties (")
    assert "first tie-break" in policy(found, "matrix of raters")
    assert "a tie names no item" in policy(found, "ceilings count votes")
    assert found.tie_control is None
    stable = figures(Drawn(40, 4).rate(values).study(), ties="stable")
    assert "the same for every rater" in policy(stable, "ties (")
    assert stable.tie_control is not None


def test_the_tie_control_is_what_shuffled_answers_give() -> None:
    """Every rater says yes to one random item of two, or to both: sorted by item order when tied.

    Two raters and two items, values shuffled: each rater is (1, 0), (0, 1) with chance 1/4 each and tied with 1/2,
    which item order turns into first-is-better. So first-is-better has chance 3/4 and tau = (3/4 - 1/4)^2 = 1/4.
    """
    rng = RNG(6)
    tied = rng.random((20_000, 2)) < 0.5
    scores = np.where(tied[:, :, None], 1.0, np.array([1.0, 0.0]))
    assert _tie_control(answers_of(scores), rng) == pytest.approx(0.25, abs=0.03)


def test_the_tie_control_counts_prompts_of_every_size() -> None:
    drawn = Drawn(61, [2] * 60 + [3])
    for prompt, size in enumerate(drawn.sizes):
        for rater in names(3):
            for i in range(size):
                drawn.add("ratings", Rating(criterion="c", rater=rater, item=drawn.item(prompt, i), value=1))
    assert figures(drawn.study(), ties="stable").tie_control == 1  # all tied everywhere: item order is all there is


# -- what is left out ------------------------------------------------------------------------------------------------


def test_gaps_and_skipped_answers_are_counted_for_their_own_criterion() -> None:
    drawn = Drawn(4, 3).rank(random_ranks(3, 3, 3, RNG(7))).rank(random_ranks(3, 3, 3, RNG(8)), criterion="d")
    drawn.add("rankings", Ranking(criterion="c", rater="r0", items=("q3.0", "q3.1", "q3.2"), ranks=(1, 2, 3)))
    drawn.add("rankings", Ranking(criterion="c", rater="r1", items=("q3.0", "q3.1"), ranks=(1, 2)))
    drawn.add("rankings", Ranking(criterion="c", rater="r2", items=(), ranks=(), skipped="cannot judge"))
    study = drawn.study()
    found = figures(study)
    assert policy(found, "do not cover every item").endswith(": 1")
    assert policy(found, "fewer than two raters").endswith(": 1")
    assert policy(found, "skipped").endswith(": 1")
    assert (found.prompts, found.judgments) == (3, 10)
    other = figures(study, 1)
    assert len(other.policies) == 1


def test_items_that_belong_to_no_prompt_are_left_out_and_counted() -> None:
    drawn = Drawn(10, 3).rate(RNG(9).integers(1, 6, (10, 3, 3)))
    for rater in names(3):
        drawn.add("ratings", Rating(criterion="c", rater=rater, item="stray", value=1))
    items = [Item(id=f"q{p}.{i}", prompt=f"q{p}") for p in range(10) for i in range(3)]
    found = figures(drawn.study(tables={"items": [Item(id="stray"), *items]}))
    assert policy(found, "no prompt").endswith(": 3")
    assert [(shape.items, shape.raters, shape.prompts) for shape in found.shapes] == [(3, 3, 10)]


def test_a_study_whose_items_have_no_prompt_at_all() -> None:
    """Once a write beyond the end of an array: nothing here can be compared, and that is said."""
    drawn = Drawn(0, 0)
    for rater in names(3):
        for item in ("x", "y", "z"):
            drawn.add("ratings", Rating(criterion="c", rater=rater, item=item, value=1))
    found = figures(drawn.study(tables={"items": [Item(id=id) for id in "xyz"]}))
    assert policy(found, "no prompt").endswith(": 9")
    assert "two raters who answered for the same items" in found.tests[0].refused


@pytest.mark.parametrize("kind", ["rank", "rate"])
def test_one_rater_per_prompt_is_said_not_left_out(kind: str) -> None:
    one = random_ranks(20, 1, 4, RNG(10))
    found = figures(getattr(Drawn(20, 4), kind)(one).study())
    assert (found.agree, found.prompts, found.judgments) == ("cannot tell", 0, 20)
    assert "20 prompts" in found.tests[0].refused
    assert found.statistics.mean_tau is None
    assert found.null is None


def test_nobody_judged() -> None:
    checklist = Checklist(criterion="c", rater="r0", item="q0.0", points=("legible",), answers=(True,))
    assert figures(Drawn(1, 2).add("checklists", checklist).study()) is None


# -- votes -----------------------------------------------------------------------------------------------------------


def test_votes_of_a_crowd_are_one_person_each() -> None:
    """Against the kernel called by hand: one block for every vote of the crowd."""
    rng = RNG(11)
    drawn = Drawn(12, 2)
    first = rng.random((12, 6)) < np.repeat([0.9, 0.1], 6)[:, None]
    for prompt, row in enumerate(first):
        for choice in row:
            drawn.vote("anyone", prompt, 0, 1, "a" if choice else "b")
    found = figures(drawn.study(raters=[Rater(id="anyone", kind="crowd")]))
    pair = np.repeat(np.arange(12), 6)
    sign = np.where(first.ravel(), 1, -1)
    kernel = vote_test(pair, np.arange(72), sign, pair, draws=200, rng=RNG(0))
    assert (found.protocol, found.judgments) == ("votes", 72)
    assert found.pair_agreement.value == pytest.approx(kernel.agreement.value)
    k = first.sum(axis=1)
    law = np.zeros(37)
    for votes in range(7):
        law[(2 * votes - 6) ** 2] += stats.binom.pmf(votes, 6, 0.5)
    total = reduce(np.convolve, [law] * 12)  # of the squared leads of twelve pairs with six fair votes each
    expected = total[((2 * k - 6) ** 2).sum() :].sum()
    assert found.tests[0].p == kernel.test.p == pytest.approx(expected)
    agree = ((2 * k - 6) ** 2 - 6) / 30  # two votes on one pair: same minus different, of 6 x 5
    assert found.pair_agreement.value == pytest.approx(agree.mean())
    assert policy(found, "one person per vote")


def test_a_vote_s_orientation_does_not_matter() -> None:
    rng = RNG(12)
    plain, turned = Drawn(15, 3), Drawn(15, 3)
    for prompt in range(15):
        for rater in names(4):
            i, j = sorted(rng.permutation(3)[:2].tolist())
            outcome = ["a", "b", "tie"][int(rng.integers(0, 3))]
            plain.vote(rater, prompt, i, j, outcome)
            turned.vote(rater, prompt, j, i, {"a": "b", "b": "a"}.get(outcome, outcome))
    one, other = figures(plain.study()), figures(turned.study())
    assert one.protocol == "votes"
    assert one == other


def test_votes_that_never_meet_are_refused() -> None:
    drawn = Drawn(3, 3).vote("r0", 0, 0, 1, "a").vote("r1", 1, 0, 1, "tie").vote("r2", 1, 0, 1, "a")
    found = figures(drawn.vote("r0", 1, 1, 2, "a").vote("r0", 0, 1, 2, "a").study())
    assert "two decided votes" in found.tests[0].refused
    assert found.pair_agreement is None
    assert found.ceilings is None


def test_a_few_complete_answers_do_not_throw_the_votes_away() -> None:
    """Ten prompts of votes on single pairs, and one small prompt that two raters happen to have answered in full."""
    drawn = Drawn(11, [3] * 10 + [2])
    for prompt in range(10):
        for rater, (i, j) in zip(names(6), [(0, 1), (0, 2), (1, 2)] * 2):
            drawn.vote(rater, prompt, i, j, "a")
    found = figures(drawn.vote("r0", 10, 0, 1, "a").vote("r1", 10, 0, 1, "a").study())
    assert (found.protocol, found.prompts, found.judgments) == ("votes", 11, 62)
    assert found.pair_agreement.value == 1


def test_votes_under_random_raters_keep_their_size() -> None:
    """Raters with random orders who each meet two of three pairs: p at most .05 in about one study in twenty."""
    rng = RNG(13)
    rejected = 0
    for _ in range(25):
        drawn = Drawn(8, 3)
        for prompt, panel in enumerate(random_ranks(8, 4, 3, rng)):
            for rater, row in zip(names(4), panel):
                pairs = [(0, 1), (0, 2), (1, 2)]
                for i, j in (pairs[k] for k in rng.permutation(3)[:2]):
                    drawn.vote(rater, prompt, i, j, "a" if row[i] < row[j] else "b")
        rejected += figures(drawn.study()).tests[0].p <= 0.05
    assert rejected <= 5  # Binomial(25, .05) exceeds 5 with chance .001


def test_planted_repeats_are_not_votes() -> None:
    drawn = Drawn(2, 2).vote("r0", 0, 0, 1, "a").vote("r1", 0, 0, 1, "a")
    again = Comparison(criterion="c", rater="r0", a="q0.0", b="q0.1", outcome="b", repeat=1)
    assert figures(drawn.add("comparisons", again).study()).judgments == 2


# -- power -----------------------------------------------------------------------------------------------------------


def test_power_of_a_silent_design() -> None:
    few = checked(Drawn(10, 4).rank(random_ranks(10, 5, 4, RNG(14))).study())
    many = checked(Drawn(200, 4).rank(random_ranks(200, 5, 4, RNG(15))).study())
    low, high = (criterion_power(one, SETTINGS, 1).value for one in (few, many))
    assert 0 <= low < 0.6
    assert high > 0.95
    assert criterion_power(few, SETTINGS, 20).value < low
    assert criterion_power(checked(Drawn(2, 2).vote("r0", 0, 0, 1, "a").study()), SETTINGS, 1) is None
