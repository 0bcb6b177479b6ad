"""The sentences of an evaluation: what was counted how, and what should not be taken at its face."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from salon.evaluate.answers import PairContestant
from salon.evaluate.pair_results import UNGUARDED, JudgeFigures, PanelFigures
from salon.evaluate.people import TestPairs
from salon.evaluate.results import Evaluation, ReportSettings, TickJudgeFigures, TickReport
from salon.evaluate.validation import chance_warnings, few_warnings
from salon.report.words import first_names
from salon.stats.result import Estimate

# -- judges ------------------------------------------------------------------------------------------------------------

SCORES = (
    "accuracy is agreement with the majority of people, pair by pair: 1 if the judge names the majority's item in both "
    "orders, 0 if it names the other in both, 0.5 if the orders disagree or it sees a tie; a coin reaches 0.5"
)
UNREAD = (
    "a pair with an unread verdict counts 0 in the accuracy and stays in its denominator; parsed only leaves it out; "
    "position bias, ties and conditional accuracy are shares of the pairs that were read"
)
CEILINGS = (
    "next rater and oracle are of people who name an item, for a tie is no vote; pairs on which only one person named "
    "an item say nothing of agreement and are left out of these two, though judges are scored on them"
)
ONE_ORDER = "no position bias can be given for a judge shown one order only, or that scores items one by one: {}"
NUMBERS = "of a judge that gives numbers the larger one wins, and equal numbers tie: {}"
SAMPLES = "several samples of a question count as their vote, and as a tie where two answers lead together: {}"
ABSENT = {
    "unparsed": "a pair without an answer of a rater of the study or a table of scores counts as unread: {}",
    "not-asked": "a pair without an answer of a rater of the study or a table of scores was not asked: left out: {}",
}
MACRO = "macro is the mean over criteria; accuracy = (1 - u)((1 - b - t) c + (b + t)/2) holds for each criterion only"

_LITTLE = "so accuracy against their majority says little"
PEOPLE = {
    "no": f"people agree no more than by chance, {_LITTLE}",
    "no, opposed camps": f"people oppose each other, {_LITTLE}",
    "yes, in camps": f"people agree within camps, not on one order, {_LITTLE}",
    "yes; one taste or camps: cannot tell": "people agree, but whether as one taste or as camps cannot be told, so "
    "their majority may be that of one camp",
    "cannot tell": f"too few answers of people to tell whether they agree, {_LITTLE}",
}
TICKS = (
    "on checklists accuracy is agreement with the majority of people, tick by tick (a tick is one point of one item); "
    "a coin reaches 0.5, a fixed answer (always yes, or always no) may reach far more; balanced accuracy is 0.5 "
    "and kappa 0 for both"
)
TICKS_UNREAD = (
    "a tick without a readable answer counts 0 in the accuracy and stays in its denominator; parsed only leaves it "
    "out; pass rates, kappa and balanced accuracy are of the ticks that were read"
)
TICK_SAMPLES = "of several samples of a tick more than half decide, unread ones counted; else it is unread: {}"
TICKS_ABSENT = {
    "unparsed": "a tick without an answer of a rater of the study counts as unread: {}",
    "not-asked": "a tick without an answer of a rater of the study was not asked: left out: {}",
}
TOGETHER = (
    "judges together: by majority more than half of those asked must say the same, unread ones counted; by unanimity "
    "yes needs them all, and one no is a no; a tick left open counts as unread"
)
FAR_FROM_EVEN, FEW = 0.3, 20


def judge_policies(
    judges: Sequence[JudgeFigures], panel: Sequence[PanelFigures], ticks: TickReport | None, settings: ReportSettings
) -> tuple[str, ...]:
    """What left which denominator."""
    of_pairs = _pair_policies(judges, panel, settings) if judges else ()
    return (*of_pairs, *(() if ticks is None else _tick_policies(ticks, settings)))


def _pair_policies(
    judges: Sequence[JudgeFigures], panel: Sequence[PanelFigures], settings: ReportSettings
) -> tuple[str, ...]:
    tied, pairs = sum(one.tied for one in panel), sum(one.pairs for one in panel)
    said = [
        SCORES,
        f"pairs without a majority of people leave every denominator ({tied:,} of {pairs:,}); "
        "only 'ties counted' keeps them, as ties that a judge has to see",
        UNREAD,
    ]
    if lone := sum(one.lone for one in panel):
        said.append(f"{CEILINGS} ({lone:,} of {pairs:,})")
    about = {
        ONE_ORDER: [one.name for one in judges if one.orders == 1],
        NUMBERS: [one.name for one in judges if one.kind in ("points", "scorer")],
        SAMPLES: [one.name for one in judges if one.samples > 1],
        ABSENT[settings.missing]: [one.name for one in judges if one.kind in ("rater", "scorer")],
    }
    said += [words.format(first_names(names)) for words, names in about.items() if names]
    unvoted = sum(part.unvoted for one in judges for part in one.criteria)
    if unvoted:
        said.append(f"pairs that judges were asked about and nobody voted on are left out: {unvoted:,}")
    return (*said, MACRO)


def _tick_policies(ticks: TickReport, settings: ReportSettings) -> tuple[str, ...]:
    tied, there = sum(one.tied for one in ticks.panel), sum(one.ticks for one in ticks.panel)
    said = [TICKS, f"ticks without a majority of people leave every denominator ({tied:,} of {there:,})", TICKS_UNREAD]
    about = {
        TICK_SAMPLES: [one.name for one in ticks.judges if one.samples > 1],
        TICKS_ABSENT[settings.missing]: [one.name for one in ticks.judges if one.kind == "rater"],
    }
    said += [words.format(first_names(names)) for words, names in about.items() if names]
    unvoted = sum(part.unvoted for one in ticks.judges for part in one.criteria)
    if unvoted:
        said.append(f"ticks that judges were asked about and nobody answered are left out: {unvoted:,}")
    return (*said, TOGETHER) if ticks.together else tuple(said)


def judge_warnings(
    judges: Sequence[JudgeFigures],
    panel: Sequence[PanelFigures],
    ticks: TickReport | None,
    left_out: Sequence[str],
) -> tuple[str, ...]:
    """What should not be taken at its face: judges at chance or above the ceiling, few pairs met, no signal."""
    found = (
        [f"left out, without an answer on a pair or a point with a majority: {first_names(left_out)}"]
        if left_out
        else []
    )
    for judged in () if ticks is None else ticks.judges:
        found += [*_leaks_and_gaps(judged, "ticks"), *_failures(judged)]
    for signal, words in PEOPLE.items():
        criteria = [one.name for one in panel if one.signal == signal]
        if criteria:
            found.append(f"{words}: {first_names(criteria)}")
    for judge in judges:
        found += _leaks_and_gaps(judge, "pairs")
        if judge.orders == 1 and judge.says_first is not None and _one_sided(judge.says_first):
            found.append(f"names the picture shown first in {judge.says_first.value:.0%} of its answers: {judge.name}")
        found += _failures(judge)
    return tuple(found)


def _leaks_and_gaps(judge: JudgeFigures | TickJudgeFigures, about: Literal["pairs", "ticks"]) -> list[str]:
    leaks = [part.name for part in judge.criteria for words in part.warnings if "leak" in words]
    found = [f"above what an oracle could reach, suspect a leak: {judge.name} on {first_names(leaks)}"] if leaks else []
    met, there = (sum(getattr(part, name) for part in judge.criteria) for name in ("decided", f"panel_{about}"))
    if met < there:
        found.append(f"asked about {met:,} of {there:,} {about} with a majority: {judge.name}")
    return found


def _failures(judge: JudgeFigures | TickJudgeFigures) -> list[str]:
    if judge.usage is None or not judge.usage.failed:
        return []
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in judge.usage.failed.items())
    return [f"calls without a reply count as unread, run it again to complete it: {judge.name} ({kinds})"]


def _one_sided(share: Estimate) -> bool:
    """Far from even, whatever the content: in one order this is all that can be said of position."""
    return abs(share.value - 0.5) > FAR_FROM_EVEN and share.n >= FEW


# -- models ------------------------------------------------------------------------------------------------------------

MODEL_ACCURACY = (
    "accuracy is agreement with the majority of people, pair by pair, all criteria pooled: 1 if the number is on the "
    "majority's side, 0 if on the other, 0.5 for equal numbers; a coin reaches 0.5"
)
NO_NUMBER = (
    "a pair with an item that has no number counts 0 in the accuracy and stays in its denominator; tau, calibration, "
    "order flips and the order of generators leave it out"
)
MODEL_CEILINGS = (
    "ceilings are of the same pairs: quote next rater (one more person against this panel) and oracle (a predictor "
    "that knows every pair's odds); in a bucket they follow from the law of the odds of all pairs"
)
TAU = (
    "tau is Kendall's tau-b between two orders of a prompt's items, by majorities won (the modal rater) and by pairs "
    "won by the numbers, mean over prompts whose pairs were all voted on"
)
CHANCES = "chances are held against single votes, a tie being half a vote for either; bins hold equally many pairs"
PAIRED = (
    "differences are over the pairs both speak about, prompts drawn together; p flips signs prompt by prompt and is "
    "adjusted for all comparisons of the study (Holm)"
)
GENERATORS = "generators are ordered by the votes and by the pairs they win; prompts are drawn again, generators fixed"


def model_policies(studies: Sequence[Evaluation], notes: Sequence[str] = ()) -> tuple[str, ...]:
    """What left which denominator."""
    tied, pairs = sum(one.tied for one in studies), sum(one.pairs for one in studies)
    said = [
        MODEL_ACCURACY,
        f"pairs without a majority are in no accuracy ({tied:,} of {pairs:,}), but in calibration and most ceilings",
        NO_NUMBER,
        MODEL_CEILINGS,
        TAU,
    ]
    everyone = [one for study in studies for one in study.judges]
    if any(one.calibration is not None for one in everyone):
        said.append(CHANCES)
    if any(one.generators and one.generators.generators for one in everyone):
        said.append(GENERATORS)
    if any(study.comparisons for study in studies):
        said.append(PAIRED)
    if turned := [one.name for one in everyone if one.order_flips is not None]:
        said.append(f"pairs are shown both ways round and the mean log-odds counts: {first_names(turned)}")
    if scorers := [one.name for one in everyone if one.kind in UNGUARDED]:
        said.append(
            f"what scorers were trained on is not known here, so they have no leak guard: {first_names(scorers)}"
        )
    return (*said, *notes)


def study_warnings(
    trial: TestPairs, contestants: Sequence[PairContestant], made: Sequence[JudgeFigures]
) -> tuple[str, ...]:
    """What should not be taken at its face."""
    found = []
    if made and made[0].pooled.accuracy.low is None:
        why = "intervals need two prompts or more" if made[0].pooled.accuracy.n == 1 else "all prompts say the same"
        found.append(f"{why}, so these numbers have none: they may be luck")
    if made:
        found += few_warnings(made[0].pooled.pairs, made[0].pooled.accuracy.n)
    for figures in made:
        found += [f"{figures.name}: {words}" for words in chance_warnings(figures.pooled.accuracy)]
    useful = {one.name for one in made}
    if silent := [one.name for one in contestants if one.name not in useful]:
        found.append(f"left out, as they speak about none of the pairs with a majority: {first_names(silent)}")
    for one in contestants:
        if one.kind not in UNGUARDED and not one.guarded:
            found.append(f"{one.name} has no leak guard: nobody can say whether it was trained on these pairs")
        if one.leaks:
            found.append(f"LEAK: {one.name} was trained on {one.leaks.words}")
    bare = [one.name for one in made if one.pooled.ceilings is None]
    if bare:
        found.append(f"no ceiling can be given, so these accuracies cannot be read: {first_names(bare)}")
    for figures in made:
        name, overall, criteria = figures.name, figures.pooled, figures.criteria
        above = [part.name for part in criteria for words in part.warnings if "leak" in words]
        if above:
            found.append(f"{name} is above what an oracle could reach, suspect a leak: {first_names(above)}")
        if overall.unscored:
            found.append(f"{name} gives no number on {overall.unscored:,} of {overall.pairs:,} pairs")
        asked = len(trial.criteria)
        if len(criteria) < asked:
            found.append(f"{name} speaks about {len(criteria)} of {asked} criteria, and is measured on these")
    return tuple(found)
