"""How `salon evaluate` works, described once."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from salon.stats.result import Estimate
from salon.study.nouns import Noun, Signature


class EvaluateSettings(Noun):
    """How models are held against the votes of people."""

    split: Literal["test", "validation", "train", "all"] = Field(
        "test", description="Which prompts of the study that a model was trained on; of other studies all are taken."
    )
    ceiling: bool = Field(
        True, description="Refuse to print an accuracy that no ceiling can be given for; without it, say so instead."
    )
    allow_leak: bool = Field(
        False, description="Go on although a model was trained on what it is tested on; the report is marked."
    )
    bins: int = Field(10, ge=1, le=100, description="Bins of the reliability diagram.")
    level: float = Field(0.95, gt=0, lt=1, description="Confidence level of all intervals.")
    draws: int = Field(2000, ge=100, description="Bootstrap draws of prompts, and sign patterns of paired tests.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")


class CurveSettings(Noun):
    """How a learning curve is made."""

    curve_shares: tuple[float, ...] = Field(
        (0.125, 0.25, 0.5, 1.0), description="A share of the training prompts on the learning curve (repeatable)."
    )
    curve_seeds: int = Field(3, ge=1, le=100, description="Trainings at each point of the learning curve.")


# --------------------------------------------------------------------------------------------------
# What an evaluation gives back: the JSON of `salon evaluate --json`, and what the HTML prints.
#
# An accuracy stands in a `Reached`, together with its ceilings: there is no place for one without the other.
# --------------------------------------------------------------------------------------------------

MODEL_FORMAT: Final = "salon.evaluate/1"
ContestantKind = Literal["heads", "reward", "one-pass", "untrained", "scorer"]
UNGUARDED = ("untrained", "scorer")
"""Kinds of which nobody knows what they were trained on."""
KIND_WORDS: dict[str, str] = {
    "heads": "trained heads",
    "reward": "reward model",
    "one-pass": "one-pass scorer",
    "untrained": "untrained VLM",
    "scorer": "scorer",
}


class PairCeilings(Noun):
    """What can be reached against this panel; see `salon check`."""

    next_rater: Estimate = Field(
        description="Accuracy of one more rater of the same population: a point of its range (a beta law's where "
        "that fits) with the interval of the range."
    )
    oracle: Estimate = Field(
        description="Accuracy of a predictor that knows every pair's odds: a point of its range, and the range's "
        "interval."
    )
    next_rater_range: tuple[float, float] = Field(
        description="The same over all laws of the odds that fit the splits, without sampling error. Quote this one."
    )
    oracle_range: tuple[float, float] = Field(
        description="The same over all laws of the odds that fit the splits, without sampling error. Quote this one."
    )
    leave_one_out: Estimate = Field(description="A rater against the majority of the others, whose ties count half.")
    leave_one_out_dropped: Estimate = Field(description="The same where the others are not tied.")
    panel: Estimate = Field(description="A rater against a majority that holds the rater (the seed's leave-one-out).")
    cap: Estimate = Field(description="1 for majorities of more than one vote, else 1/2. Not a bound.")
    pairs: int = Field(description="Pairs with two votes or more.")
    tied_share: float = Field(description="Share of these without a majority: in no accuracy.")
    left_out: int = Field(description="Pairs with fewer than two votes: in no ceiling.")


class AccuracyAndCeilings(Noun):
    """An accuracy and what could be reached on the same pairs."""

    accuracy: Estimate = Field(description="Agreement with the majority; pairs without a number count 0, ties 1/2.")
    scored_only: Estimate | None = Field(description="Over pairs with a number.")
    ceilings: PairCeilings | None = Field(description="On the same pairs; null only with --no-ceiling.")
    no_ceiling: str | None = Field(description="Why there are none.")
    pairs: int = Field(description="Pairs with a majority: the denominator.")
    unscored: int = Field(description="Of these, pairs without a number.")
    chance: float = Field(0.5, description="Accuracy of a coin.")


class BucketAndCeilings(Noun):
    """Accuracy where the panel split so; ceilings follow from the law of the odds of all pairs."""

    split: str = Field(description="'4-1': larger camp, smaller camp.")
    accuracy: Estimate = Field(description="On these pairs.")
    pairs: int = Field(description="How many there are.")
    next_rater: float | None = Field(description="One more rater, by a beta law of the odds where that fits.")
    oracle: float | None = Field(description="A predictor that knows every pair's odds, by a beta law where that fits.")
    next_rater_range: tuple[float, float] | None = Field(
        description="One more rater, over all laws of the odds that fit the splits, sampling error included."
    )
    oracle_range: tuple[float, float] | None = Field(description="The same for the predictor.")
    leave_one_out: float | None = Field(description="A rater against the majority of the others.")
    panel: float | None = Field(description="A rater against a majority that holds the rater.")


class ContestantCriterion(Noun):
    """One contestant on one criterion."""

    criterion: str = Field(description="Id of the criterion.")
    name: str = Field(description="Its name.")
    reached: AccuracyAndCeilings = Field(description="Accuracy and ceilings.")
    buckets: tuple[BucketAndCeilings, ...] = Field(description="By how the panel split, clearest first.")
    tau: Estimate | None = Field(description="Kendall's tau-b to the modal rater, mean over prompts.")
    warnings: tuple[str, ...] = Field(description="What to be careful with.")


class BinFigures(Noun):
    """Pairs that were given about the same chance."""

    predicted: float = Field(description="Mean chance of the predicted winner.")
    observed: Estimate = Field(description="Share of votes it got.")
    pairs: int = Field(description="Pairs in the bin.")
    votes: float = Field(description="Votes on them; a tie is half a vote for either.")


class CalibrationFigures(Noun):
    """Are its chances honest?"""

    brier: Estimate = Field(description="Mean squared distance of chance and vote; a coin has 0.25.")
    ece: Estimate = Field(description="Mean distance of chance and share of votes over bins.")
    expected_ece: float = Field(description="The same for honest chances with as few votes.")
    slope: Estimate | None = Field(
        description="1 honest, below 1 too sure, above 1 too shy; null where votes fix none."
    )
    bins: tuple[BinFigures, ...] = Field(description="The reliability diagram.")
    pairs: int = Field(description="Pairs with a chance and a vote.")


class GeneratorFigures(Noun):
    """One generator among people and by a contestant."""

    generator: str = Field(description="Its name.")
    people: Estimate = Field(description="Share of votes it won.")
    predicted: Estimate = Field(description="Share of pairs it won by the contestant's decisions.")
    pairs: int = Field(description="Pairs with an item of its.")


class GeneratorOrder(Noun):
    """Do people and a contestant put generators in the same order?"""

    spearman: Estimate | None = Field(description="Spearman's correlation over generators, prompts drawn again.")
    kendall: Estimate | None = Field(description="Kendall's tau-b over generators.")
    reason: str | None = Field(description="Why there is none.")
    generators: tuple[GeneratorFigures, ...] = Field(description="Best among people first.")


class LeakFigures(Noun):
    """What of the test the model was trained on."""

    guarded: bool = Field(description="False where nobody knows what it was trained on.")
    pictures: int = Field(description="Items whose very bytes it was trained on.")
    near: int = Field(description="Items that look like one it was trained on.")
    texts: int = Field(description="Prompts whose text it was trained on.")
    words: str = Field(description="The same in words, first ones named.")


class ContestantFigures(Noun):
    """A model or scorer on one study."""

    name: str = Field(description="How it is called in this report.")
    kind: ContestantKind = Field(
        description="Trained heads, a reward model, a one-pass scorer, an untrained VLM, or a scorer."
    )
    form: str = Field(description="Form of a head or law of a reward model; empty for a scorer.")
    signature: str = Field(description="What made it.")
    overall: AccuracyAndCeilings = Field(description="All pairs of all criteria it speaks about.")
    buckets: tuple[BucketAndCeilings, ...] = Field(description="Over all criteria.")
    tau: Estimate | None = Field(description="Kendall's tau-b to the modal rater, mean over prompts and criteria.")
    criteria: tuple[ContestantCriterion, ...] = Field(description="Criterion by criterion.")
    calibration: CalibrationFigures | None = Field(description="Null for a scorer whose numbers are no log-odds.")
    generators: GeneratorOrder = Field(description="Order of generators, over all criteria.")
    order_flips: Estimate | None = Field(
        description="Share of pairs whose winner changes with their order; null where that cannot happen."
    )
    leak: LeakFigures | None = Field(description="Null for a scorer: what it was trained on is not known here.")
    unscored: dict[str, int] = Field(description="Items without a number, by reason.")


class PairedFigures(Noun):
    """Two contestants on the pairs that both speak about."""

    first: str = Field(description="The one with the higher accuracy.")
    second: str = Field(description="The other.")
    difference: Estimate = Field(description="Accuracy of the first less the second's, drawn together.")
    p: float = Field(description="Two-sided, by flipping signs prompt by prompt.")
    p_holm: float = Field(description="Adjusted for all comparisons of this study.")
    law: str = Field(description="How p was made.")
    pairs: int = Field(description="Pairs both speak about.")
    first_only: int = Field(description="Pairs on which the first did better.")
    second_only: int = Field(description="Pairs on which the second did better.")


class SeedSpread(Noun):
    """Models that differ in nothing but the seed of their training."""

    names: tuple[str, ...] = Field(description="Their names here.")
    mean: float = Field(description="Mean accuracy.")
    sd: float = Field(description="Standard deviation over seeds (n - 1).")
    low: float = Field(description="Lowest accuracy.")
    high: float = Field(description="Highest accuracy.")
    n: int = Field(description="Seeds.")


class LearningPoint(Noun):
    """Heads trained on a part of the training prompts."""

    share: float = Field(description="Share of the training prompts.")
    prompts: int = Field(description="How many these are.")
    pairs: int = Field(description="Training pairs of theirs.")
    accuracy: Estimate = Field(description="On the test pairs, mean over seeds; prompts drawn again.")
    sd: float | None = Field(description="Standard deviation over seeds; null for one seed.")
    seeds: int = Field(description="Trainings behind the mean.")


class LearningCurve(Noun):
    """What more data would bring."""

    model: str = Field(description="The model whose settings were used.")
    points: tuple[LearningPoint, ...] = Field(description="From few prompts to all.")
    ceiling: PairCeilings | None = Field(description="On the same test pairs.")


class StudyFigures(Noun):
    """All contestants on one study."""

    study: str = Field(description="Name of the study.")
    simulated: bool = Field(description="True when no person gave its answers.")
    data: str = Field(description="Hash of the study.")
    split: str = Field(description="Which prompts were taken.")
    prompts: int = Field(description="Prompts (or groups) with pairs.")
    pairs: int = Field(description="Pairs with votes, over all criteria.")
    tied: int = Field(description="Of these, pairs without a majority: in no accuracy.")
    votes: int = Field(description="Votes of people on them.")
    contestants: tuple[ContestantFigures, ...] = Field(description="Best accuracy first.")
    comparisons: tuple[PairedFigures, ...] = Field(description="Every two contestants.")
    warnings: tuple[str, ...] = Field(description="What should not be taken at its face.")


class EvaluateReport(Noun):
    """The whole report."""

    format: Literal["salon.evaluate/1"] = Field(default=MODEL_FORMAT, description="Name and version of this shape.")
    signature: Signature = Field(description="What would have to be equal for the same numbers.")
    signature_line: str = Field(description="The same as one line.")
    level: float = Field(description="Confidence level of all intervals.")
    leaking: bool = Field(description="True when a model was trained on what it is tested on.")
    studies: tuple[StudyFigures, ...] = Field(description="The study, then those given with --also.")
    seeds: tuple[SeedSpread, ...] = Field(description="Spread over seeds, on the first study.")
    learning_curve: LearningCurve | None = Field(description="Null unless asked for.")
    policies: tuple[str, ...] = Field(description="What left which denominator.")
