"""The sentences of an evaluation: what was counted how, and what should not be taken at its face."""

from __future__ import annotations

from collections.abc import Sequence

from salon.evaluate.model_results import UNGUARDED, ContestantFigures, StudyFigures
from salon.evaluate.models import PairContestant, TestPairs
from salon.evaluate.validation_words import chance_warnings, few_warnings
from salon.report.words import first_names

ACCURACY = (
    "accuracy is agreement with the majority of people, pair by pair, all criteria pooled: 1 if the number is on the "
    "majority's side, 0 if on the other, 0.5 for equal numbers; a coin reaches 0.5"
)
UNSCORED = (
    "a pair with an item that has no number counts 0 in the accuracy and stays in its denominator; tau, calibration, "
    "order flips and the order of generators leave it out"
)
CEILINGS = (
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


def policies(studies: Sequence[StudyFigures], notes: Sequence[str] = ()) -> tuple[str, ...]:
    """What left which denominator."""
    tied, pairs = sum(one.tied for one in studies), sum(one.pairs for one in studies)
    said = [
        ACCURACY,
        f"pairs without a majority are in no accuracy ({tied:,} of {pairs:,}), but in calibration and most ceilings",
        UNSCORED,
        CEILINGS,
        TAU,
    ]
    everyone = [one for study in studies for one in study.contestants]
    if any(one.calibration is not None for one in everyone):
        said.append(CHANCES)
    if any(one.generators.generators for one in everyone):
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
    trial: TestPairs, contestants: Sequence[PairContestant], made: Sequence[ContestantFigures]
) -> tuple[str, ...]:
    """What should not be taken at its face."""
    found = []
    if made and made[0].overall.accuracy.low is None:
        why = "intervals need two prompts or more" if made[0].overall.accuracy.n == 1 else "all prompts say the same"
        found.append(f"{why}, so these numbers have none: they may be luck")
    if made:
        found += few_warnings(made[0].overall.pairs, made[0].overall.accuracy.n)
    for figures in made:
        found += [f"{figures.name}: {words}" for words in chance_warnings(figures.overall.accuracy)]
    useful = {one.name for one in made}
    if silent := [one.name for one in contestants if one.name not in useful]:
        found.append(f"left out, as they speak about none of the pairs with a majority: {first_names(silent)}")
    for one in contestants:
        if one.kind not in UNGUARDED and not one.guarded:
            found.append(f"{one.name} has no leak guard: nobody can say whether it was trained on these pairs")
        if one.leaks:
            found.append(f"LEAK: {one.name} was trained on {one.leaks.words}")
    bare = [one.name for one in made if one.overall.ceilings is None]
    if bare:
        found.append(f"no ceiling can be given, so these accuracies cannot be read: {first_names(bare)}")
    for figures in made:
        name, overall, criteria = figures.name, figures.overall, figures.criteria
        above = [part.name for part in criteria for words in part.warnings if "leak" in words]
        if above:
            found.append(f"{name} is above what an oracle could reach, suspect a leak: {first_names(above)}")
        if overall.unscored:
            found.append(f"{name} gives no number on {overall.unscored:,} of {overall.pairs:,} pairs")
        asked = len(trial.criteria)
        if len(criteria) < asked:
            found.append(f"{name} speaks about {len(criteria)} of {asked} criteria, and is measured on these")
    return tuple(found)
