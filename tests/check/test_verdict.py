"""From tests to words: every branch of the verdict, and Holm over the whole report."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from salon.check.results import (
    CriterionFigures,
    FactionFigures,
    Figure,
    Interval,
    NullFigures,
    Statistics,
    TestFigures,
)
from salon.check.settings import CheckSettings
from salon.check.verdict import adjust, judge

SETTINGS = CheckSettings()


def criterion(
    *p: float | None, tau: float | None = 0.2, factions: FactionFigures | None = None, agreement: float | None = None
) -> CriterionFigures:
    """A criterion with these p values (None: refused) and nothing else of interest."""
    tests = [TestFigures(name="T", p=one) if one is not None else TestFigures(name="T", refused="too few") for one in p]
    numbers = {"median_T": tau, "mean_tau": tau, "mean_pmax": None, "cycle_rate": None}
    shown = None
    if agreement is not None:
        shown = Figure(value=agreement, low=None, high=None, n=3, unit="pair", level=0.95, method="")
    return CriterionFigures(
        criterion="c", name="C", protocol="rankings", verdict="too little data", sentence="", prompts=80, judgments=400,
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


def judged(one: CriterionFigures, *, power: float | None = None, refused: str | None = None):
    (adjusted,) = adjust([one])
    return judge(adjusted, SETTINGS, power=power, refused=refused)


def test_holm_runs_over_all_criteria_and_tests_by_another_tool() -> None:
    p = [[0.001, 0.02, None], [0.04, 0.5, 0.01], [None], [0.9, 0.03, 0.03]]
    made = adjust([criterion(*row) for row in p])
    ours = [test.p_holm for one in made for test in one.tests if test.p is not None]
    plain = [value for row in p for value in row if value is not None]
    assert ours == pytest.approx(multipletests(plain, method="holm")[1])
    assert [test.p_holm for test in made[2].tests] == [None]


def test_factions_are_a_family_of_their_own() -> None:
    made = adjust([criterion(0.5, factions=camps(p)) for p in (0.01, 0.04, 0.03)] + [criterion(0.5)])
    assert [one.factions.p_holm for one in made[:3]] == pytest.approx([0.03, 0.06, 0.06])
    assert made[3].factions is None
    assert [one.tests[0].p_holm for one in made] == [1.0] * 4


def test_random_needs_power() -> None:
    assert judged(criterion(0.4), power=0.95).verdict == "random"
    thin = judged(criterion(0.4), power=0.3)
    assert thin.verdict == "too little data"
    assert "only 30% probability" in thin.sentence
    unknown = judged(criterion(0.4), power=None)
    assert unknown.verdict == "too little data"
    assert "an unknown probability" in unknown.sentence
    assert "probability probability" not in unknown.sentence


def test_no_test_at_all() -> None:
    found = judged(criterion(None))
    assert found.verdict == "too little data"
    assert "too few" in found.sentence


def test_shared_preference_needs_power_against_factions() -> None:
    assert judged(criterion(1e-6, factions=camps(0.5))).verdict == "shared preference"
    weak = judged(criterion(1e-6, factions=camps(0.5, power=0.5)))
    assert weak.verdict == "not distinguishable with this design"
    assert "50%" in weak.sentence


def test_factions_are_named() -> None:
    found = judged(criterion(1e-6, factions=camps(0.001)))
    assert found.verdict == "factions"
    assert "ann, bob against cyd, dee" in found.sentence
    assert "+0.400 and +0.500 within the camps, +0.100 between" in found.sentence


def test_factions_lost_to_holm_do_not_become_one_order() -> None:
    """The power behind 'shared preference' is that of one test at .05: if that one rejects, nothing is claimed."""
    one, *_ = adjust([criterion(1e-9, factions=camps(p)) for p in (0.01, 0.5, 0.5, 0.5, 0.5, 0.5)])
    assert one.factions.p_holm == pytest.approx(0.06)
    found = judge(one, SETTINGS, power=None, refused=None)
    assert found.verdict == "not distinguishable with this design"
    assert "p 0.010" in found.sentence
    assert "0.060 after Holm" in found.sentence


def test_raters_who_oppose_each_other() -> None:
    found = judged(criterion(1e-6, tau=-0.15, factions=camps(0.5)))
    assert found.verdict == "factions"
    assert "-0.150" in found.sentence


def test_tests_that_reject_without_a_direction_are_not_called_agreement() -> None:
    """Say, prompts that half agree and half oppose: not random, but neither one order nor camps."""
    for tau in (0.004, -0.004):
        one = criterion(1e-6, tau=tau, factions=camps(0.5))
        ends = {"mean_tau": Interval(low=tau - 0.03, high=tau + 0.03)}
        wide = one.model_copy(update={"statistics": one.statistics.model_copy(update={"intervals": ends})})
        found = judged(wide)
        assert found.verdict == "not distinguishable with this design"
        assert "neither agree nor oppose" in found.sentence
    alike = criterion(1e-6, tau=0.0, factions=camps(0.5))  # 0 on every prompt: no draw moves it, there is no interval
    ends = {"mean_tau": Interval(low=None, high=None)}
    update = {"statistics": alike.statistics.model_copy(update={"intervals": ends})}
    assert judged(alike.model_copy(update=update)).verdict == "not distinguishable with this design"


def test_without_a_faction_test_the_order_stays_open() -> None:
    for factions in (None, camps(None, refused="at least four raters are needed")):
        found = judged(criterion(1e-6, factions=factions))
        assert found.verdict == "not distinguishable with this design"
        assert "beyond chance" in found.sentence
    assert "four raters" in found.sentence


def test_votes_cannot_tell_factions() -> None:
    found = judged(criterion(1e-6, tau=None, agreement=0.4))
    assert found.verdict == "not distinguishable with this design"
    assert "+0.400" in found.sentence


def test_an_adaptive_design_is_refused_whatever_the_tests_say() -> None:
    for p in (1e-9, 0.9, None):
        found = judged(criterion(p), power=0.99, refused="The design is adaptive.")
        assert (found.verdict, found.sentence) == ("not distinguishable with this design", "The design is adaptive.")


def test_more_evidence_never_turns_signal_into_silence() -> None:
    verdicts = [judged(criterion(p, factions=camps(0.5)), power=0.9).verdict for p in np.geomspace(1e-9, 1, 40)]
    assert verdicts == sorted(verdicts, key=["shared preference", "random"].index)
    assert set(verdicts) == {"shared preference", "random"}
