"""The ceilings of a check are those that judges are held against: the same votes, counted the same way."""

from __future__ import annotations

import numpy as np
import pytest
from drawn_studies import Drawn, shared_ranks

from salon.check import CheckSettings, check_study
from salon.evaluate import ItemOrder, study_pairs
from salon.stats import ceilings
from salon.study import Criterion, Ranking, Scale, Study

RNG = np.random.default_rng
FLAG = Criterion(id="c", scale=Scale(kind="ordinal", low=0, high=2, step=1, higher_is_better=False))


def flags() -> Study:
    """Flags of five raters on 40 prompts: most pairs are ties."""
    bad = RNG(1).random((40, 1, 4)) < 0.3
    values = np.where(RNG(2).random((40, 5, 4)) < 0.15, ~bad, bad).astype(float)
    return Drawn(40, 4).rate(values).study(FLAG)


def ratings_with_gaps() -> Study:
    values = RNG(3).integers(1, 6, (40, 1, 4)) + RNG(4).integers(0, 3, (40, 5, 4)).astype(float)
    values[RNG(5).random(values.shape) < 0.05] = np.nan
    return Drawn(40, 4).rate(values).study()


def comparisons_in_circles() -> Study:
    """Three items that one rater in two puts in a circle: no order, but three votes all the same."""
    drawn = Drawn(30, 3)
    for prompt in range(30):
        for rater in range(4):
            last = "b" if (prompt + rater) % 2 else "a"
            drawn.vote(f"r{rater}", prompt, 0, 1, "a").vote(f"r{rater}", prompt, 1, 2, "a")
            drawn.vote(f"r{rater}", prompt, 0, 2, last)
    return drawn.study()


def ranked_and_compared() -> Study:
    """The same raters did both; a rater has one vote on a pair."""
    ranks = shared_ranks(30, 4, 3, 1.0, RNG(6))
    return Drawn(30, 3).rank(ranks).compare(shared_ranks(30, 4, 3, 1.0, RNG(7))).study()


def few_pairs_and_part_rankings() -> Study:
    """Nobody met every pair, and rankings name two of three items: votes on pairs are all there is."""
    drawn, rng = Drawn(30, 3), RNG(9)
    for prompt in range(30):
        for rater in range(4):
            i, j = sorted(rng.permutation(3)[:2].tolist())
            drawn.vote(f"r{rater}", prompt, i, j, "a" if rng.random() < 0.8 else "tie")
            pair = drawn.item(prompt, rater % 3), drawn.item(prompt, (rater + 1) % 3)
            drawn.add("rankings", Ranking(criterion="c", rater=f"s{rater}", items=pair, ranks=(1, 2)))
    return drawn.study()


def strict_rankings() -> Study:
    return Drawn(30, 4).rank(shared_ranks(30, 5, 4, 1.0, RNG(8))).study()


@pytest.mark.parametrize(
    "make",
    [
        flags,
        ratings_with_gaps,
        comparisons_in_circles,
        ranked_and_compared,
        few_pairs_and_part_rankings,
        strict_rankings,
    ],
)
def test_check_and_judges_have_one_ceiling(make) -> None:
    study = make()
    quick = CheckSettings(draws=200, tie_repeats=3)
    (found,) = check_study(study, quick, criteria=["c"]).criteria  # named, as flags are ranked only then
    panel = study_pairs(study, ItemOrder(study), ["c"])
    held = ceilings(panel.votes[:, 0], panel.votes[:, :2].sum(axis=1), panel.group, draws=200, rng=RNG(0))
    for name in ("next_rater", "oracle", "panel", "leave_one_out", "leave_one_out_dropped", "cap"):
        assert getattr(found.ceilings, name).value == pytest.approx(getattr(held, name).value, abs=1e-9), name
    assert (found.ceilings.pairs, found.ceilings.left_out) == (held.pairs, held.left_out)


def test_a_rater_has_one_vote_on_a_pair() -> None:
    study = ranked_and_compared()
    panel = study_pairs(study, ItemOrder(study))
    assert (panel.votes.sum(axis=1) == 4).all()


def test_what_the_ceilings_leave_out_is_said() -> None:
    quick = CheckSettings(draws=200, tie_repeats=3)
    (found,) = check_study(flags(), quick, criteria=["c"]).criteria
    assert found.ceilings.left_out > 0
    assert any(f"left out of the ceilings: {found.ceilings.left_out}" in line for line in found.policies)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (few_pairs_and_part_rankings, "rankings under this criterion that orders and tests leave out, as they use"),
        (ranked_and_compared, "comparisons under this criterion that orders and tests leave out, as they use rankings"),
    ],
)
def test_answers_of_another_kind_are_counted(make, words: str) -> None:
    (found,) = check_study(make(), CheckSettings(draws=200, tie_repeats=3)).criteria
    (said,) = [line for line in found.policies if words in line]
    assert said.endswith(": 120" if "rankings under" in said else ": 360")
