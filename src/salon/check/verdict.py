"""From tests to two short answers in plain words, for each criterion.

Do raters agree more than chance? One test answers: the total agreement over prompts (or over votes on pairs) against
random raters, Holm over criteria. Rejected: yes. Not rejected: no where the design would have shown the smallest tau
worth seeing, else cannot tell. If yes, as one taste or as camps? The faction test answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from salon.check.results import MAIN, Agree, CriterionFigures, FactionFigures, Taste, TestFigures
from salon.check.settings import CheckSettings
from salon.stats.result import Estimate
from salon.stats.signal_tests import holm

NEAR = 2.0
"""A p within this factor of its level is near it, and the sentence says so."""


@dataclass(frozen=True)
class Judged:
    """The two answers and the sentence that explains them."""

    agree: Agree
    taste: Taste | None
    sentence: str


def adjust(criteria: list[CriterionFigures]) -> list[CriterionFigures]:
    """Holm over criteria: of the tests that answer, of their other side, of those that describe, and of factions."""
    tests = [(test, test.p) for criterion in criteria for test in criterion.tests if test.p is not None]
    main = iter(holm([p for test, p in tests if test.name in MAIN]).tolist())
    opposite = iter(holm([test.p_opposite for test, _ in tests if test.p_opposite is not None]).tolist())
    others = iter(holm([p for test, p in tests if test.name not in MAIN]).tolist())
    panels = [c.factions.p for c in criteria if c.factions is not None and c.factions.p is not None]
    factions = iter(holm(panels).tolist())
    adjusted = []
    for criterion in criteria:
        renewed = tuple(_with_holm(test, main if test.name in MAIN else others, opposite) for test in criterion.tests)
        panel = criterion.factions
        if panel is not None and panel.p is not None:
            panel = panel.model_copy(update={"p_holm": next(factions)})
        adjusted.append(criterion.model_copy(update={"tests": renewed, "factions": panel}))
    return adjusted


def _with_holm(test: TestFigures, adjusted: Iterator[float], opposite: Iterator[float]) -> TestFigures:
    if test.p is None:
        return test
    other = None if test.p_opposite is None else next(opposite)
    return test.model_copy(update={"p_holm": next(adjusted), "p_opposite_holm": other})


def rejected(criterion: CriterionFigures, alpha: float) -> bool:
    """Does the main test find more agreement than chance?"""
    test = criterion.main_test
    return test is not None and test.p_holm is not None and test.p_holm <= alpha


def judge(
    criterion: CriterionFigures, settings: CheckSettings, *, power: Estimate | None, refused: str | None
) -> Judged:
    """The two answers. `power` is the chance that this design shows `smallest_tau`; `refused` why no null applies."""
    if refused:
        return Judged("cannot tell", None, refused)
    test = criterion.main_test
    if test is None:
        why = next((one.refused for one in criterion.tests if one.refused), None) or "no two answers to one question"
        return Judged("cannot tell", None, f"No test could be made: {why}.")
    if rejected(criterion, settings.alpha):
        return _agreeing(criterion, test, settings)
    if test.p_opposite_holm is not None and test.p_opposite_holm <= settings.alpha:
        return Judged(
            "no",
            "camps",
            f"Raters oppose each other more than chance would ({_strength(criterion, test)}; "
            f"p {_p(test.p_opposite_holm)}).",
        )
    return _silent(criterion, test, settings, power)


def _silent(criterion: CriterionFigures, test: TestFigures, settings: CheckSettings, power: Estimate | None) -> Judged:
    tau = f"a mean tau of {settings.smallest_tau:g}"
    shown = f"{_strength(criterion, test)}; p {_p(test.p_holm or 0)}"
    tail = _near(test.p_holm or 0, settings.alpha) + _shape(criterion, settings)
    if power is not None and power.value >= settings.power:
        edge = power.low is not None and power.low < settings.power
        also = f" That is close to the {settings.power:.0%} that a 'no' needs." if edge else ""
        return Judged(
            "no",
            None,
            f"Raters agree no more than random raters would ({shown}), and {tau} would have shown with "
            f"{_chance(power.value)} probability.{also}{tail}",
        )
    chance = "an unknown" if power is None else f"only {_chance(power.value)}"
    return Judged(
        "cannot tell",
        None,
        f"No agreement beyond chance is shown ({shown}), but {tau} would have shown with {chance} probability: more "
        f"prompts or raters are needed.{tail}",
    )


def _agreeing(criterion: CriterionFigures, test: TestFigures, settings: CheckSettings) -> Judged:
    agree = f"Raters agree more than chance ({_strength(criterion, test)}; p {_p(test.p_holm or 0)})"
    near = _near(test.p_holm or 0, settings.alpha)
    factions = criterion.factions
    if factions is None or factions.p is None or factions.p_holm is None:
        why = "raters cannot be followed over prompts" if factions is None else str(factions.refused)
        if criterion.protocol == "votes":
            why = "camps are looked for in complete orders, and there are none"
        return Judged("yes", "cannot tell", f"{agree}. Whether as one taste or as camps cannot be told: {why}.{near}")
    near += _near(factions.p_holm, settings.alpha, "The p of camps")
    if factions.p <= settings.alpha:
        if factions.p_holm <= settings.alpha:
            return Judged("yes", "camps", f"{agree}, {_camps(factions)}.{near}")
        return Judged(
            "yes",
            "cannot tell",
            f"{agree}. The sign of camps (p {factions.p:.3f}) does not hold among as many criteria (p "
            f"{factions.p_holm:.3f} after Holm), but one taste cannot be claimed either.{near}",
        )
    if factions.power is None or factions.power < settings.power:
        chance = "an unknown" if factions.power is None else f"only {_chance(factions.power)}"
        return Judged(
            "yes",
            "cannot tell",
            f"{agree}. Whether as one taste or as camps cannot be told: two camps with this mean tau would have shown "
            f"with {chance} probability.{near}",
        )
    if factions.gap is not None and factions.gap.value > 0:
        return Judged(
            "yes",
            "cannot tell",
            f"{agree}. Whether as one taste or as camps cannot be told: two groups of raters agree less with each "
            f"other than one order allows (gap {factions.gap.value:+.3f}), but not significantly "
            f"(p {_p(factions.p)}).{near}",
        )
    return Judged(
        "yes",
        "one taste",
        f"{agree}, and one shared order with each rater's own noise explains it: two camps would have shown with "
        f"{_chance(factions.power)} probability.{near}",
    )


def _strength(criterion: CriterionFigures, test: TestFigures) -> str:
    """How much two raters agree, in the words of the statistic."""
    tau = criterion.statistics.mean_tau
    if tau is not None:
        return f"mean tau {tau:+.3f}"
    value = criterion.pair_agreement.value if criterion.pair_agreement is not None else test.statistic or 0.0
    return f"mean agreement of two votes {value:+.3f} on a scale of -1 to 1"


def _shape(criterion: CriterionFigures, settings: CheckSettings) -> str:
    """A histogram that is not that of random raters, though the total is: said, as it is no agreement."""
    odd = [test.name for test in criterion.tests if test.name not in MAIN and (test.p_holm or 1) <= settings.alpha]
    if not odd:
        return ""
    return f" Yet over prompts {' and '.join(odd)} do not spread as under random raters: see their histograms."


def _near(p: float, alpha: float, what: str = "This p") -> str:
    if not alpha / NEAR < p < alpha * NEAR:
        return ""
    return f" {what} is close to the level {alpha:g}: a few answers more or less could change the answer."


def _camps(factions: FactionFigures) -> str:
    first, second = (", ".join(camp) for camp in factions.split or ((), ()))
    within = " and ".join(f"{tau:+.3f}" for tau in factions.within or ())
    return (
        f"but not on one order: {first} against {second} "
        f"(mean tau {within} within the camps, {factions.between or 0:+.3f} between, where one order allows no less "
        f"than {factions.least or 0:+.3f}; p {factions.p_holm or 0:.2g} after Holm)"
    )


def _p(p: float) -> str:
    return f"{p:.2g}" if p >= 1e-4 else "< 0.0001"


def _chance(p: float) -> str:
    return ">99%" if p > 0.995 else f"{p:.0%}"
