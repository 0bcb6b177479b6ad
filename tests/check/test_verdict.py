"""From tests to words: every branch of the verdict, and Holm over the whole report."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from salon.check import CheckSettings, CriterionFigures, Interval
from salon.check.check import CriterionVerdict, adjust_p_values, judge_criterion
from salon.check.results import ANSWERS, FactionFigures, NullFigures, Statistics, TestFigures
from salon.stats import Estimate

SETTINGS = CheckSettings()


def criterion(
    *p: float | None,
    tau: float | None = 0.2,
    factions: FactionFigures | None = None,
    agreement: float | None = None,
    opposite: float = 1.0,
    prompts: int = 80,
    name: str = "agreement",
) -> CriterionFigures:
    """A criterion whose main test has the first p (None: refused), the histogram of T the next; nothing else."""
    names = (name, "T", "p_max")
    sides = ({"p_opposite": opposite}, {}, {})
    tests = [
        TestFigures(name=test, refused="too few") if value is None else TestFigures(name=test, p=value, **side)
        for test, value, side in zip(names, p, sides)
    ]
    numbers = {"median_T": tau, "mean_tau": tau, "mean_pmax": None, "cycle_rate": None}
    shown = None
    if agreement is not None:
        shown = Estimate(value=agreement, low=None, high=None, n=3, unit="pair", level=0.95, method="")
    return CriterionFigures(
        criterion="c", name="C", protocol="rankings" if tau is not None else "votes", prompts=80, judgments=400,
        statistics=Statistics(**numbers, intervals={"mean_tau": Interval(low=None, high=None)}),
        null=NullFigures(median_T=0, mean_tau=0, mean_pmax=0.6875, cycle_rate=0.21, method="exact"),
        tests=tuple(tests), shapes=(), alpha=None, mean_W=None, pair_agreement=shown, ceilings=None, raters=None,
        factions=factions, tie_rate=0, policies=(),
    )  # fmt: skip


def camps(p: float | None, *, power: float = 0.9, refused: str | None = None) -> FactionFigures:
    return FactionFigures(
        p=p, p_holm=p, power=power, split=(("ann", "bob"), ("cyd", "dee")), within=(0.4, 0.5), between=0.1, least=0.28,
        refused=refused,
    )  # fmt: skip


def chance(power: float) -> Estimate:
    return Estimate(value=power, low=power - 0.02, high=power + 0.02, n=1000, unit="set", level=0.95, method="Wilson")


def judged(one: CriterionFigures, *, power: float | None = None, refused: str | None = None) -> CriterionVerdict:
    (adjusted,) = adjust_p_values([one])
    return judge_criterion(adjusted, SETTINGS, power=None if power is None else chance(power), refused=refused)


def answer(found: CriterionVerdict) -> str:
    return ANSWERS[found.agree, found.taste]


def test_holm_runs_over_criteria_with_the_tests_that_describe_apart() -> None:
    p = [[0.001, 0.02, None], [0.04, 0.5, 0.01], [None], [0.9, 0.03, 0.03]]
    made = adjust_p_values([criterion(*row) for row in p])
    for of_family in (lambda test: test.name == "agreement", lambda test: test.name != "agreement"):
        tests = [test for one in made for test in one.tests if test.p is not None and of_family(test)]
        assert [test.p_holm for test in tests] == pytest.approx(multipletests([t.p for t in tests], method="holm")[1])
    assert [test.p_holm for test in made[2].tests] == [None]


def test_factions_are_a_family_of_their_own() -> None:
    made = adjust_p_values([criterion(0.5, factions=camps(p)) for p in (0.01, 0.04, 0.03)] + [criterion(0.5)])
    assert [one.factions.p_holm for one in made[:3]] == pytest.approx([0.03, 0.06, 0.06])
    assert made[3].factions is None
    assert [one.tests[0].p_holm for one in made] == [1.0] * 4


def test_no_needs_power() -> None:
    assert answer(judged(criterion(0.4), power=0.95)) == "no"
    thin = judged(criterion(0.4), power=0.3)
    assert answer(thin) == "cannot tell"
    assert "only 30% probability" in thin.sentence
    unknown = judged(criterion(0.4), power=None)
    assert answer(unknown) == "cannot tell"
    assert "an unknown probability" in unknown.sentence
    assert "probability probability" not in unknown.sentence
    assert "close to the 80%" in judged(criterion(0.4), power=0.81).sentence


def test_no_test_at_all() -> None:
    found = judged(criterion(None))
    assert answer(found) == "cannot tell"
    assert "too few" in found.sentence


def test_one_taste_needs_power_against_camps() -> None:
    assert answer(judged(criterion(1e-6, factions=camps(0.5)))) == "yes, one taste"
    weak = judged(criterion(1e-6, factions=camps(0.5, power=0.5)))
    assert answer(weak) == "yes; one taste or camps: cannot tell"
    assert "50%" in weak.sentence


def test_camps_are_named() -> None:
    found = judged(criterion(1e-6, factions=camps(0.001)))
    assert answer(found) == "yes, in camps"
    assert "ann, bob against cyd, dee" in found.sentence
    assert "+0.400 and +0.500 within the camps, +0.100 between" in found.sentence


def test_camps_lost_to_holm_do_not_become_one_taste() -> None:
    """The power behind 'one taste' is that of one test at .05: if that one rejects, nothing is claimed."""
    one, *_ = adjust_p_values([criterion(1e-9, factions=camps(p)) for p in (0.01, 0.5, 0.5, 0.5, 0.5, 0.5)])
    assert one.factions.p_holm == pytest.approx(0.06)
    found = judge_criterion(one, SETTINGS, power=None, refused=None)
    assert answer(found) == "yes; one taste or camps: cannot tell"
    assert "p 0.010" in found.sentence
    assert "0.060 after Holm" in found.sentence


def test_raters_who_oppose_each_other() -> None:
    found = judged(criterion(1.0, tau=-0.15, opposite=1e-6))
    assert answer(found) == "no, opposed camps"
    assert "-0.150" in found.sentence


def test_histograms_alone_are_not_called_agreement() -> None:
    """Say, prompts that half agree and half oppose: T spreads too far, but nothing is agreed on."""
    found = judged(criterion(0.4, 1e-6, tau=0.004), power=0.99)
    assert answer(found) == "no"
    assert "T do not spread as under random raters" in found.sentence


def test_a_verdict_near_its_threshold_says_so() -> None:
    for p in (0.03, 0.07):
        assert "close to the level 0.05" in judged(criterion(p, factions=camps(0.5)), power=0.9).sentence
    for p in (0.001, 0.3):
        assert "close to the level" not in judged(criterion(p, factions=camps(0.5)), power=0.9).sentence
    assert "The p of camps is close to the level" in judged(criterion(1e-6, factions=camps(0.045))).sentence


def test_without_a_faction_test_the_taste_stays_open() -> None:
    for factions in (None, camps(None, refused="at least four raters are needed")):
        found = judged(criterion(1e-6, factions=factions))
        assert answer(found) == "yes; one taste or camps: cannot tell"
        assert "agree more than chance" in found.sentence
    assert "four raters" in found.sentence


def test_votes_agree_but_cannot_tell_camps() -> None:
    """876 votes with p = .0005 are a yes."""
    found = judged(criterion(0.0005, tau=None, agreement=0.4, name="pairs"))
    assert answer(found) == "yes; one taste or camps: cannot tell"
    assert "+0.400" in found.sentence
    assert "p 0.0005" in found.sentence


def test_an_adaptive_design_is_refused_whatever_the_tests_say() -> None:
    for p in (1e-9, 0.9, None):
        found = judged(criterion(p), power=0.99, refused="The design is adaptive.")
        assert (answer(found), found.sentence) == ("cannot tell", "The design is adaptive.")


def test_more_evidence_never_turns_agreement_into_silence() -> None:
    answers = [answer(judged(criterion(p, factions=camps(0.5)), power=0.9)) for p in np.geomspace(1e-9, 1, 40)]
    assert answers == sorted(answers, key=["yes, one taste", "no"].index)
    assert set(answers) == {"yes, one taste", "no"}


def test_a_gap_that_is_not_significant_is_no_proof_of_one_taste() -> None:
    for gap, taste in ((-0.05, "one taste"), (0.05, "cannot tell")):
        figure = Estimate(value=gap, low=gap - 0.1, high=gap + 0.1, n=80, unit="prompt", level=0.95, method="t")
        found = judged(criterion(1e-6, factions=camps(0.4).model_copy(update={"gap": figure})))
        assert (found.agree, found.taste) == ("yes", taste)
