"""What `salon distill evaluate` gives back: its JSON, and what its page prints.

A correlation stands in an `Agreed`, together with how many items have a prediction and what the level and spread of the
numbers are: an order that is right on a scale that has collapsed is seen at once.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from salon.stats.result import Estimate
from salon.study.nouns import Noun, Signature
from salon.study.study import CompareWithin

SCORE_FORMAT: Final = "salon.distill-evaluate/1"
Missing = Literal["worst", "scored"]
ScorerGroup = Literal["base", "trained", "baseline"]


class ScoreEvaluationSettings(Noun):
    """How `salon distill evaluate` works."""

    within: CompareWithin | None = Field(
        None,
        description="Items whose order is looked at together: those of a category, of a prompt, or all. Correlations "
        "are means over these groups and the criteria  [default: category, where items have one]",
    )
    missing: Missing = Field(
        "worst",
        description="Items without a prediction: worst gives them the numbers that make SRCC lowest and the largest "
        "error of the scale, scored leaves them out.",
    )
    narrow: float = Field(
        0.5, gt=0, lt=1, description="Spread of the predictions over the target's below which the scale is collapsed."
    )
    shifted: float = Field(
        0.5, gt=0, description="Distance of the means, in standard deviations of the target, above which it is shifted."
    )
    draws: int = Field(1000, ge=100, le=100_000, description="Draws of the bootstrap.")
    level: float = Field(0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")
    allow_leak: bool = Field(False, description="Go on where a model was trained on a test picture, and say so.")


class ScoreAgreement(Noun):
    """One scorer against one target, on some of the items and criteria."""

    srcc: Estimate | None = Field(description="Spearman, mean over groups and criteria; null where none is defined.")
    plcc: Estimate | None = Field(description="Pearson.")
    krcc: Estimate | None = Field(description="Kendall's tau-b.")
    mae: Estimate | None = Field(description="Mean absolute error; null where the two are not on one scale.")
    rmse: Estimate | None = Field(description="Root mean squared error.")
    mean: Estimate | None = Field(description="Mean prediction; null without any.")
    sd: Estimate | None = Field(description="Standard deviation of the predictions.")
    target_mean: Estimate = Field(description="Mean target of the same items and criteria.")
    target_sd: Estimate | None = Field(description="Standard deviation of the target.")
    spread: Estimate | None = Field(description="Standard deviation of the predictions over the target's.")
    shift: Estimate | None = Field(description="Mean prediction less mean target; null where not on one scale.")
    scored_srcc: float | None = Field(description="SRCC over items with a prediction alone.")
    wanted: int = Field(description="Targets: items times criteria.")
    scored: int = Field(description="Of these, with a prediction.")
    groups: int = Field(description="Groups of items times criteria that correlations are means over.")
    constant: int = Field(description="Of these, groups in which all predictions are equal: they count 0.")
    left_out: int = Field(description="Groups with fewer than 3 items, or with one target value: in no correlation.")


class ScorePart(Noun):
    """A category or a criterion."""

    id: str = Field(description="Its id.")
    name: str = Field(description="Its name.")
    agreed: ScoreAgreement = Field(description="On it alone.")


class Histogram(Noun):
    """How targets and predictions are spread over the scale."""

    centers: tuple[float, ...] = Field(description="Middles of the bins.")
    target: tuple[int, ...] = Field(description="Targets in each bin.")
    predicted: tuple[int, ...] = Field(description="Predictions in each bin; those beyond the ends in the last ones.")


class ScorerFigures(Noun):
    """One scorer against one target."""

    name: str = Field(description="How it is called in this report.")
    overall: ScoreAgreement = Field(description="All categories and criteria it speaks about.")
    categories: tuple[ScorePart, ...] = Field(description="Category by category.")
    criteria: tuple[ScorePart, ...] = Field(description="Criterion by criterion.")
    same_scale: bool = Field(description="Whether its numbers are on the target's scale.")
    scale: Literal["keeps", "collapsed", "stretched", "shifted", "collapsed and shifted", "own scale", "none"] = Field(
        description="What became of the scale."
    )
    words: str = Field(description="The same in a sentence.")
    histogram: Histogram | None = Field(description="Null where not on one scale.")
    signature: str = Field(description="What made its numbers; empty where nobody knows.")
    group: ScorerGroup = Field(
        "baseline", description="base: an untrained VLM; trained: a model of Salon's; baseline: else."
    )
    labels: str = Field("", description="Labels that a trained one learned from; empty where nobody knows.")


class RaterLevel(Noun):
    """What people reach in the same figures: each rater against the mean of the others, mean over raters and groups."""

    srcc: Estimate | None = Field(description="Spearman.")
    plcc: Estimate | None = Field(description="Pearson.")
    raters: int = Field(description="Raters.")
    groups: int = Field(description="Groups times criteria, of all raters.")


class ScorerDifference(Noun):
    """Two scorers on the same items, drawn together."""

    first: str = Field(description="The one with the higher SRCC.")
    second: str = Field(description="The other.")
    srcc: Estimate = Field(description="SRCC of the first less the second's.")
    mae: Estimate | None = Field(description="The same of MAE; below 0 the first is closer.")
    apart: bool = Field(description="Whether the interval of the SRCC difference leaves out 0.")


class PartDifference(Noun):
    """A trained scorer less its base on a category or a criterion."""

    id: str = Field(description="Its id.")
    name: str = Field(description="Its name.")
    srcc: Estimate | None = Field(description="Difference of SRCC.")
    plcc: Estimate | None = Field(description="Difference of PLCC.")


class OverBase(Noun):
    """A trained scorer less the untrained VLM it began from, on the same items, drawn together."""

    scorer: str = Field(description="The trained one.")
    base: str = Field(description="The untrained VLM: the one it was trained from, else the only one there is.")
    srcc: Estimate | None = Field(description="Difference of SRCC, over categories and criteria that both speak about.")
    plcc: Estimate | None = Field(description="Difference of PLCC.")
    mae: Estimate | None = Field(description="Difference of MAE; below 0 the trained one is closer.")
    rmse: Estimate | None = Field(description="Difference of RMSE.")
    mean: Estimate | None = Field(description="Difference of the mean predictions.")
    apart: bool = Field(description="Whether the interval of the SRCC difference leaves out 0.")
    categories: tuple[PartDifference, ...] = Field(description="Category by category.")
    criteria: tuple[PartDifference, ...] = Field(description="Criterion by criterion.")


class TargetFigures(Noun):
    """All scorers against one target."""

    name: str = Field(description="What the target is.")
    low: float | None = Field(description="Lower end of its scale; null where it has none.")
    high: float | None = Field(description="Upper end.")
    items: int = Field(description="Items with a target.")
    rater_level: RaterLevel | None = Field(description="Null where fewer than two raters rated.")
    scorers: tuple[ScorerFigures, ...] = Field(description="Highest SRCC first.")
    differences: tuple[ScorerDifference, ...] = Field(
        description="Every two scorers that speak about the same criteria."
    )
    over_base: tuple[OverBase, ...] = Field((), description="Every trained scorer less its base, where it has one.")


class CostRow(Noun):
    """What it costs to score."""

    name: str = Field(description="The scorer, or a way of comparing.")
    label_calls: int | None = Field(description="Calls for labels, made once; null where nobody knows.")
    passes: float = Field(description="Passes for each item that is scored.")
    total: int = Field(description="Passes for the items of this test.")
    note: str = Field(description="What these are.")


class Checkpoint(Noun):
    """A candidate on the validation items."""

    name: str = Field(description="The scorer.")
    srcc: Estimate | None = Field(description="Mean SRCC on the validation items.")


class CheckpointChoice(Noun):
    """Which checkpoint was taken, and by what."""

    chosen: str = Field(description="The one with the highest validation SRCC; the first of equals.")
    target: str = Field(description="The validation target.")
    items: int = Field(description="Validation items; none of them is in the test.")
    candidates: tuple[Checkpoint, ...] = Field(description="All of them. Only the chosen one sees the test.")


class ScoreEvaluation(Noun):
    """The whole report."""

    format: Literal["salon.distill-evaluate/1"] = Field(
        default=SCORE_FORMAT, description="Name and version of this shape."
    )
    study: str = Field(description="Name of the study.")
    simulated: bool = Field(description="True when no person gave its answers.")
    within: CompareWithin = Field(description="Items whose order is looked at together.")
    drawn: str = Field(description="What the intervals draw anew.")
    level: float = Field(description="Confidence level of all intervals.")
    leaking: bool = Field(description="True when a model was trained on a test picture and that was allowed.")
    targets: tuple[TargetFigures, ...] = Field(description="In the order asked for; the first one is the headline.")
    cost: tuple[CostRow, ...] = Field(description="Calls and passes.")
    choice: CheckpointChoice | None = Field(description="Null where no checkpoint had to be chosen.")
    policies: tuple[str, ...] = Field(description="What left which denominator, and what was drawn anew.")
    warnings: tuple[str, ...] = Field(description="What should not be taken at its face.")
    signature: Signature = Field(description="What would have to be equal for the same numbers.")
    signature_line: str = Field(description="The same as one line.")
