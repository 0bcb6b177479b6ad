"""From tests to a verdict in plain words, one per criterion."""

from __future__ import annotations

from dataclasses import dataclass

from salon.check.results import CriterionFigures, FactionFigures, TestFigures, Verdict
from salon.check.settings import CheckSettings
from salon.stats.signal_tests import holm


@dataclass(frozen=True)
class Judged:
    """A verdict and the sentence that explains it."""

    verdict: Verdict
    sentence: str


def adjust(criteria: list[CriterionFigures]) -> list[CriterionFigures]:
    """Holm over all criteria and tests of the random-rater null; the faction tests are a family of their own."""
    tests = [test for criterion in criteria for test in criterion.tests if test.p is not None]
    adjusted = iter(holm([test.p for test in tests]).tolist())
    panels = [c.factions.p for c in criteria if c.factions is not None and c.factions.p is not None]
    factions = iter(holm(panels).tolist())
    made = []
    for criterion in criteria:
        renewed = tuple(_with_holm(test, adjusted) for test in criterion.tests)
        panel = criterion.factions
        if panel is not None and panel.p is not None:
            panel = panel.model_copy(update={"p_holm": next(factions)})
        made.append(criterion.model_copy(update={"tests": renewed, "factions": panel}))
    return made


def _with_holm(test: TestFigures, adjusted) -> TestFigures:  # type: ignore[no-untyped-def]
    return test if test.p is None else test.model_copy(update={"p_holm": next(adjusted)})


def judge(criterion: CriterionFigures, settings: CheckSettings, *, power: float | None, refused: str | None) -> Judged:
    """The verdict. `power` is the chance that this design shows `smallest_tau`; `refused` why no null applies."""
    if refused:
        return Judged("not distinguishable with this design", refused)
    made = [test for test in criterion.tests if test.p_holm is not None]
    if not made:
        return Judged("too little data", f"No test could be made: {criterion.tests[0].refused}.")
    if min(test.p_holm for test in made if test.p_holm is not None) > settings.alpha:
        return _silent(settings, power)
    return _signal(criterion, settings)


def _silent(settings: CheckSettings, power: float | None) -> Judged:
    tau = f"a mean tau of {settings.smallest_tau:g}"
    if power is not None and power >= settings.power:
        return Judged(
            "random",
            f"Raters agree no more than random raters would, and {tau} would have shown with "
            f"{_chance(power)} probability.",
        )
    chance = "an unknown" if power is None else f"only {_chance(power)}"
    return Judged(
        "too little data",
        f"No agreement beyond chance is shown, but this says little: {tau} would have shown with {chance} probability.",
    )


def _signal(criterion: CriterionFigures, settings: CheckSettings) -> Judged:
    tau = criterion.statistics.mean_tau
    if tau is None:
        return _votes(criterion)
    agree = f"Raters agree beyond chance (mean tau {tau:+.3f})"
    ends = criterion.statistics.intervals.get("mean_tau")
    low, high = (tau, tau) if ends is None or ends.low is None or ends.high is None else (ends.low, ends.high)
    if low <= 0 <= high:
        return Judged(
            "not distinguishable with this design",
            f"The answers are not those of random raters, yet on the whole raters neither agree nor oppose each other "
            f"(mean tau {tau:+.3f}, interval {low:+.3f} to {high:+.3f}).",
        )
    if tau < 0:
        return Judged("factions", f"Raters oppose each other more than chance would (mean tau {tau:+.3f}).")
    factions = criterion.factions
    if factions is None or factions.p is None or factions.p_holm is None:
        why = "raters cannot be followed over the prompts" if factions is None else str(factions.refused)
        return Judged(
            "not distinguishable with this design",
            f"{agree}, but one shared order cannot be told from factions here: {why}.",
        )
    if factions.p <= settings.alpha:
        if factions.p_holm <= settings.alpha:
            return Judged("factions", f"{agree}, {_camps(factions)}.")
        return Judged(
            "not distinguishable with this design",
            f"{agree}; the sign of factions (p {factions.p:.3f}) does not hold among as many criteria (p "
            f"{factions.p_holm:.3f} after Holm), but one shared order cannot be claimed either.",
        )
    if factions.power is not None and factions.power < settings.power:
        return Judged(
            "not distinguishable with this design",
            f"{agree}; whether they share one order or fall into factions cannot be told: two factions with this "
            f"mean tau would show with only {_chance(factions.power)} probability.",
        )
    return Judged(
        "shared preference",
        f"{agree}, and one shared order with rater noise explains it; two factions would have shown with "
        f"{_chance(factions.power or 0)} probability.",
    )


def _votes(criterion: CriterionFigures) -> Judged:
    agreement = criterion.pair_agreement
    shown = "" if agreement is None else f" (mean agreement of two votes {agreement.value:+.3f} on a scale of -1 to 1)"
    return Judged(
        "not distinguishable with this design",
        f"Votes agree beyond chance{shown}; without complete orders one shared order cannot be told from factions.",
    )


def _camps(factions: FactionFigures) -> str:
    one, other = (", ".join(camp) for camp in factions.split or ((), ()))
    within = " and ".join(f"{tau:+.3f}" for tau in factions.within or ())
    return (
        f"but not on one order: {one} against {other} "
        f"(mean tau {within} within the camps, {factions.between or 0:+.3f} between, where one order allows no less "
        f"than {factions.least or 0:+.3f}; p {factions.p_holm or 0:.2g} after Holm)"
    )


def _chance(p: float) -> str:
    return ">99%" if p > 0.995 else f"{p:.0%}"
