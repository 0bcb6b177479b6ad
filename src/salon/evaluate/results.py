"""What an evaluation gives back: the JSON of `judge report`, `evaluate` and `distill evaluate`, and how they are set.

An `Evaluation` says what judges are worth on one study, in up to four parts: pairs (`panel`, `judges`; see
`pair_results`), checklists (`ticks`), flags (`flags`) and scores (`targets`). A part that nobody asked for is empty.

Every number that estimates something carries its interval, its n and how the interval was made. A number that cannot
be given is None, and the policies say why. Titles and descriptions of fields are the headers and hints of tables.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Final, Literal, get_args

import numpy as np
from pydantic import Field

from salon.check import CeilingFigures
from salon.evaluate.pair_results import (
    FigureCorrelation,
    JudgeAgreement,
    JudgeFigures,
    LearningCurve,
    MaybeRate,
    PairedFigures,
    PanelFigures,
    Rate,
    SeedSpread,
    UsageFigures,
)
from salon.stats import Estimate, TickRates
from salon.study import CompareWithin, Format, Noun, Signature

FORMAT: Final = "salon.evaluation/1"
TickKind = Literal["checklist", "rater"]
Missing = Literal["worst", "scored"]
ScorerGroup = Literal["base", "trained", "baseline"]

# -- settings ----------------------------------------------------------------------------------------------------------


def named_rng(seed: int, *names: str) -> np.random.Generator:
    """Draws of their own for everything with a name: a judge's figures do not depend on the judges beside it."""
    digest = hashlib.blake2b("\0".join(names).encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "big")])


class ReportSettings(Noun):
    """How `salon judge report` works."""

    missing: Literal["unparsed", "not-asked"] = Field(
        "unparsed",
        description="What an absent answer of a judge among the raters, or of a table of scores, means: files do not "
        "tell the two apart. unparsed counts 0; not-asked leaves the denominator.",
    )
    draws: int = Field(2000, ge=100, le=100_000, description="Bootstrap draws of prompts behind every interval.")
    level: float = Field(0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")
    deals: int = Field(999, ge=99, le=100_000, description="Deals of wordings behind the paraphrase test.")
    worst: int = Field(12, ge=0, le=200, description="Worst disagreements to list for each judge.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")

    def rng(self, *names: str) -> np.random.Generator:
        """Draws of their own for these names."""
        return named_rng(self.seed, *names)


class EvaluateSettings(Noun):
    """How models are held against the votes of people."""

    split: Literal["test", "validation", "train", "all"] = Field(
        "test", description="Which prompts of the study that a model was trained on; of other studies all are taken."
    )
    ceiling: bool = Field(
        True, description="Refuse to print an accuracy without its ceiling; --no-ceiling prints it, marked."
    )
    allow_leak: bool = Field(
        False, description="Go on although a model was trained on what it is tested on; the report is marked."
    )
    bins: int = Field(10, ge=1, le=100, description="Bins of the reliability diagram.")
    level: float = Field(0.95, gt=0, lt=1, description="Confidence level of all intervals.")
    draws: int = Field(2000, ge=100, description="Bootstrap draws of prompts, and sign patterns of paired tests.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")

    def rng(self, *names: str) -> np.random.Generator:
        """Draws of their own for these names."""
        return named_rng(self.seed, *names)


class CurveSettings(Noun):
    """How a learning curve is made."""

    curve_shares: tuple[float, ...] = Field(
        (0.125, 0.25, 0.5, 1.0), description="A share of the training prompts on the learning curve (repeatable)."
    )
    curve_seeds: int = Field(3, ge=1, le=100, description="Trainings at each point of the learning curve.")


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


# -- checklists --------------------------------------------------------------------------------------------------------


class TickSplit(Noun):
    """Accuracy where the panel split so."""

    split: str = Field(description="'4-1': four of five say the same; '60-80%' where panels are of many sizes.")
    accuracy: Rate = Field(description="Accuracy on these ticks.")
    ticks: int = Field(description="How many there are.")


class TickCriterion(Noun):
    """One judge on the points of one criterion."""

    criterion: str = Field(description="Id of the criterion.")
    name: str = Field(title="Criterion", description="Its name.")
    figures: TickRates | None = Field(description="None when the judge met no tick with a majority.")
    asked: int = Field(title="Asked", description="Ticks that were asked about and that people answered.")
    decided: int = Field(title="Ticks", description="Of those, ticks on which people have a majority: the denominator.")
    panel_ticks: int = Field(title="of", description="All ticks with a majority, asked or not.")
    unvoted: int = Field(description="Ticks asked about that nobody answered: left out.")
    warnings: tuple[str, ...] = Field(default=(), description="What to be careful with.")


class TickPoint(Noun):
    """One judge on one point, over all items it was asked about."""

    criterion: str = Field(title="Criterion", description="Id of the criterion.")
    point: str = Field(title="Point", description="Name of the point.")
    accuracy: Rate = Field(title="Accuracy", description="Unread answers count 0.")
    ticks: int = Field(title="of", description="Items with a majority of people.")
    people_yes: int = Field(title="People pass", description="Items that people pass.")
    judge_yes: int = Field(title="Judge passes", description="Items that the judge passes.")
    unread: int = Field(description="Items without a readable answer.")


class WorstTick(Noun):
    """A tick on which people were clear and the judge said the other."""

    criterion: str = Field(description="Id of the criterion.")
    prompt: str | None = Field(description="Id of the prompt.")
    item: str = Field(description="Id of the item.")
    point: str = Field(description="Name of the point.")
    people: bool = Field(description="What most people say.")
    votes: tuple[int, int] = Field(description="People for that, and against it.")
    said: str | None = Field(default=None, description="The judge's words, shortened.")


class TickJudgeFigures(Noun):
    """All that is known about one judge's ticks."""

    name: str = Field(title="Judge", description="Name of the judge.")
    kind: TickKind = Field(description="Where its answers come from: a checklist it was given, a rater of the study.")
    simulated: bool = Field(default=False, description="True when no model answered.")
    signature: str | None = Field(default=None, description="What made its answers, where that is known.")
    macro: TickRates = Field(description="Means over criteria.")
    pooled: TickRates = Field(description="All ticks of all criteria together.")
    splits: tuple[TickSplit, ...] = Field(default=(), description="By how people split, clearest first.")
    criteria: tuple[TickCriterion, ...] = Field(description="Criterion by criterion.")
    points: tuple[TickPoint, ...] = Field(description="Point by point, hardest first.")
    self_agreement: MaybeRate = Field(
        default=None, title="Two samples agree", description="Chance that two samples of a question agree."
    )
    samples: int = Field(
        default=1, title="Samples", description="Most samples of one question; more than half of them decide."
    )
    usage: UsageFigures | None = Field(
        default=None, description="What its answers took; null where they are not known call by call."
    )
    to_best: MaybeRate = Field(
        default=None, title="To the best", description="Macro accuracy less the best judge's, on shared ticks."
    )
    worst: tuple[WorstTick, ...] = Field(default=(), description="Where it is most clearly against people.")
    worst_of: int = Field(default=0, description="Ticks on which it was against the majority.")


class TickAgreement(Noun):
    """How often two judges say the same, where both could be read."""

    first: str = Field(title="Judge", description="Name of a judge.")
    second: str = Field(title="And", description="Name of another.")
    agreement: Rate = Field(title="Say the same", description="Share of the ticks.")
    kappa: MaybeRate = Field(title="κ", description="The same beyond chance; null where both always say one thing.")
    ticks: int = Field(title="Ticks", description="Ticks on which both could be read.")


class JointAnswers(Noun):
    """What several judges say together, held against people."""

    rule: str = Field(
        title="Rule", description="majority: more than half of those asked; unanimous: yes where all say yes; routes."
    )
    judges: tuple[str, ...] = Field(description="Their names.")
    macro: TickRates = Field(description="Means over criteria; a tick the rule leaves open counts as unread.")
    disputed: Rate = Field(title="Disputed", description="Share of ticks on which some say yes and some no.")
    settled_accuracy: MaybeRate = Field(
        title="When they agree", description="Accuracy where those who could be read all say the same."
    )
    disputed_accuracy: MaybeRate = Field(title="When they do not", description="Accuracy where they do not.")


class DisputedPoint(Noun):
    """A point on which judges contradict each other."""

    criterion: str = Field(description="Id of the criterion.")
    point: str = Field(title="Point", description="Name of the point.")
    ticks: int = Field(title="of", description="Items on which two judges or more were asked.")
    disputed: int = Field(title="Disputed", description="Items on which some say yes and some no.")


class TickPanelFigures(Noun):
    """The people who ticked, on one criterion."""

    criterion: str = Field(description="Id of the criterion.")
    name: str = Field(title="Criterion", description="Its name.")
    answers: int = Field(description="Answers of people.")
    ticks: int = Field(title="Ticks", description="Ticks with answers: points, each counted once an item.")
    points: int = Field(title="Points", description="Different points.")
    tied: int = Field(title="Tied", description="Ticks without a majority: out of every denominator.")
    raters: str = Field(title="Answers a tick", description="Answers to a tick: '5', or '1 to 7'.")
    pass_rate: MaybeRate = Field(title="Pass", description="Share of ticks with a majority that people pass.")
    two_people: MaybeRate = Field(default=None, title="Two people agree", description="Chance that two people agree.")
    kappa: MaybeRate = Field(default=None, title="κ", description="The same beyond chance: correlation of two answers.")
    ceilings: CeilingFigures | None = Field(
        default=None, description="What one more person, or one who knows all odds, reaches."
    )
    no_ceiling: str | None = Field(default=None, description="Why there are no ceilings.")


class TickReport(Noun):
    """Judges of checklists against people."""

    panel: tuple[TickPanelFigures, ...] = Field(description="The people, criterion by criterion.")
    judges: tuple[TickJudgeFigures, ...] = Field(description="Best macro accuracy first.")
    agreement: tuple[TickAgreement, ...] = Field(description="Every two judges with ticks in common.")
    together: tuple[JointAnswers, ...] = Field(
        description="Several judges as one, by each rule or by the routes given."
    )
    disputed: tuple[DisputedPoint, ...] = Field(description="Points on which judges disagree, most disputed first.")


# -- flags -------------------------------------------------------------------------------------------------------------


class FlagJudge(Noun):
    """A judge that was asked for a flag."""

    judge: str = Field(title="Judge", description="Name of the judge.")
    items: int = Field(title="Items", description="Items it gave a level, of those that people answered about.")
    missing: int = Field(title="Missing", description="Items it gave none.")
    flagged: float = Field(title="Flagged", description="Share of those items above the lowest level.")
    separation: MaybeRate = Field(
        title="Flags what people flag",
        description="Chance that it flags an item that most people flagged worse than one of the same prompt that most "
        "did not; ties count one half.",
    )


class FlagPanel(Noun):
    """A flag and the people of one cohort who gave it. Flags enter no accuracy, mean or ceiling of the report."""

    criterion: str = Field(description="Id of the flag.")
    name: str = Field(title="Flag", description="Its name.")
    cohort: str | None = Field(title="Cohort", description="Cohort of the people; null where they have none.")
    items: int = Field(title="Items", description="Items with an answer.")
    answers: int = Field(title="Answers", description="Answers: items times people.")
    flagged: Rate = Field(title="Flagged", description="Share of answers above the lowest level.")
    alpha: MaybeRate = Field(
        title="α", description="Krippendorff's alpha of the levels, ordinal; null where it has none."
    )
    judges: tuple[FlagJudge, ...] = Field(description="Judges that were asked for this flag.")


# -- scores ------------------------------------------------------------------------------------------------------------


class ScoreAgreement(Noun):
    """One scorer against one target, on some of the items and criteria."""

    srcc: MaybeRate = Field(
        title="SRCC", description="Spearman, mean over groups and criteria; null where none is defined."
    )
    plcc: MaybeRate = Field(title="PLCC", description="Pearson.")
    krcc: MaybeRate = Field(title="KRCC", description="Kendall's tau-b.")
    mae: MaybeRate = Field(title="MAE", description="Mean absolute error; null where the two are not on one scale.")
    rmse: MaybeRate = Field(title="RMSE", description="Root mean squared error.")
    mean: Annotated[Estimate | None, Format("estimate", 2)] = Field(
        title="Mean", description="Mean prediction; null without any."
    )
    sd: Annotated[Estimate | None, Format("estimate", 2)] = Field(
        title="Spread", description="Standard deviation of the predictions."
    )
    target_mean: Annotated[Estimate, Format("estimate", 2)] = Field(
        title="Target's mean", description="Mean target of the same items and criteria."
    )
    target_sd: Annotated[Estimate | None, Format("estimate", 2)] = Field(
        title="Target's spread", description="Standard deviation of the target."
    )
    spread: Annotated[Estimate | None, Format("estimate", 2)] = Field(
        title="Ratio", description="Standard deviation of the predictions over the target's."
    )
    shift: Annotated[Estimate | None, Format("estimate", 2)] = Field(
        title="Shift", description="Mean prediction less mean target; null where not on one scale."
    )
    scored_srcc: float | None = Field(title="SRCC, scored only", description="SRCC over items with a prediction alone.")
    wanted: int = Field(title="Of", description="Targets: items times criteria.")
    scored: int = Field(title="Scored", description="Of these, with a prediction.")
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

    name: str = Field(title="Scorer", description="How it is called in this report.")
    overall: ScoreAgreement = Field(description="All categories and criteria it speaks about.")
    categories: tuple[ScorePart, ...] = Field(description="Category by category.")
    criteria: tuple[ScorePart, ...] = Field(description="Criterion by criterion.")
    same_scale: bool = Field(description="Whether its numbers are on the target's scale.")
    scale: Literal["keeps", "collapsed", "stretched", "shifted", "collapsed and shifted", "own scale", "none"] = Field(
        title="Scale", description="What became of the scale."
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

    srcc: MaybeRate = Field(description="Spearman.")
    plcc: MaybeRate = Field(description="Pearson.")
    raters: int = Field(description="Raters.")
    groups: int = Field(description="Groups times criteria, of all raters.")


class ScorerDifference(Noun):
    """Two scorers on the same items, drawn together."""

    first: str = Field(description="The one with the higher SRCC.")
    second: str = Field(description="The other.")
    srcc: Rate = Field(title="SRCC", description="SRCC of the first less the second's.")
    mae: MaybeRate = Field(title="MAE", description="The same of MAE; below 0 the first is closer.")
    apart: bool = Field(title="Clear difference", description="Whether the interval of the SRCC difference excludes 0.")


class PartDifference(Noun):
    """A trained scorer less its base on a category or a criterion."""

    id: str = Field(description="Its id.")
    name: str = Field(description="Its name.")
    srcc: MaybeRate = Field(description="Difference of SRCC.")
    plcc: MaybeRate = Field(description="Difference of PLCC.")


class OverBase(Noun):
    """A trained scorer less the untrained VLM it began from, on the same items, drawn together."""

    scorer: str = Field(description="The trained one.")
    base: str = Field(description="The untrained VLM: the one it was trained from, else the only one there is.")
    srcc: MaybeRate = Field(description="Difference of SRCC, over categories and criteria that both speak about.")
    plcc: MaybeRate = Field(description="Difference of PLCC.")
    mae: MaybeRate = Field(description="Difference of MAE; below 0 the trained one is closer.")
    rmse: MaybeRate = Field(description="Difference of RMSE.")
    mean: Annotated[Estimate | None, Format("estimate", 2)] = Field(description="Difference of the mean predictions.")
    apart: bool = Field(description="Whether the interval of the SRCC difference excludes 0.")
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

    name: str = Field(title="Scorer", description="The scorer, or a way of comparing.")
    label_calls: int | None = Field(
        title="Label calls, once", description="Calls for labels, made once; null where nobody knows."
    )
    passes: Annotated[float, Format("number", 1)] = Field(
        title="Passes an item", description="Passes for each item that is scored."
    )
    total: int = Field(title="Passes here", description="Passes for the items of this test.")
    note: str = Field(title="Note", description="What these are.")


class Checkpoint(Noun):
    """A candidate on the validation items."""

    name: str = Field(title="Checkpoint", description="The scorer.")
    srcc: MaybeRate = Field(title="SRCC", description="Mean SRCC on the validation items.")


class CheckpointChoice(Noun):
    """Which checkpoint was taken, and by what."""

    chosen: str = Field(description="The one with the highest validation SRCC; the first of equals.")
    target: str = Field(description="The validation target.")
    items: int = Field(description="Validation items; none of them is in the test.")
    candidates: tuple[Checkpoint, ...] = Field(description="All of them. Only the chosen one sees the test.")


# -- the whole ---------------------------------------------------------------------------------------------------------


class Evaluation(Noun):
    """What judges are worth on one study."""

    format: Literal["salon.evaluation/1"] = Field(default=FORMAT, description="Name and version of this shape.")
    study: str = Field(description="Name of the study.")
    simulated: bool = Field(description="True when no person gave the study's answers.")
    data: str = Field(default="", description="Hash of the study; empty in a judge report, whose signature names it.")
    split: str = Field(default="all", description="Which prompts were taken.")
    signature: Signature = Field(description="What would have to be equal for the same numbers.")
    signature_line: str = Field(description="The same as one line.")
    level: float = Field(description="Confidence level of all intervals.")
    leaking: bool = Field(default=False, description="True when a model was trained on what it is tested on.")
    prompts: int = Field(default=0, description="Prompts (or groups) with pairs.")
    pairs: int = Field(default=0, description="Pairs with votes, over all criteria.")
    tied: int = Field(default=0, description="Of these, pairs without a majority: in no accuracy.")
    votes: int = Field(default=0, description="Votes of people on them.")
    panel: tuple[PanelFigures, ...] = Field(default=(), description="The people, criterion by criterion.")
    judges: tuple[JudgeFigures, ...] = Field(
        default=(), description="On pairs, best accuracy first; empty in a study of checklists or scores alone."
    )
    comparisons: tuple[PairedFigures, ...] = Field(default=(), description="Every two models, tested.")
    agreement: tuple[JudgeAgreement, ...] = Field(default=(), description="Every two judges.")
    correlations: tuple[FigureCorrelation, ...] = Field(default=(), description="Which figures of judges go together.")
    flags: tuple[FlagPanel, ...] = Field(
        default=(), description="What people flagged, by cohort; flags are ranked only where they are named."
    )
    ticks: TickReport | None = Field(
        default=None, description="Checklists; null where no judge answered a point that people ticked."
    )
    within: CompareWithin | None = Field(
        default=None, description="Of scores: items whose order is looked at together."
    )
    drawn: str = Field(default="", description="Of scores: what the intervals draw anew.")
    targets: tuple[TargetFigures, ...] = Field(
        default=(), description="Scores, in the order asked for; the first target is the headline."
    )
    cost: tuple[CostRow, ...] = Field(default=(), description="Calls and passes of scorers.")
    choice: CheckpointChoice | None = Field(default=None, description="Null where no checkpoint had to be chosen.")
    seeds: tuple[SeedSpread, ...] = Field(default=(), description="Spread over seeds of training.")
    learning_curve: LearningCurve | None = Field(default=None, description="Null unless asked for.")
    also: tuple[Evaluation, ...] = Field(default=(), description="The same on other studies, given with --also.")
    policies: tuple[str, ...] = Field(description="What left which denominator, and what was drawn anew.")
    warnings: tuple[str, ...] = Field(default=(), description="What should not be taken at its face.")

    @property
    def every_judge(self) -> list[JudgeFigures | TickJudgeFigures]:
        """Judges of pairs, then of checklists."""
        return [*self.judges, *(self.ticks.judges if self.ticks else ())]


TableKind = Literal["category", "scale", "criterion"]


KINDS: tuple[TableKind, ...] = get_args(TableKind)
