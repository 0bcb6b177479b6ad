"""A judge on pairs: accuracy beside its ceilings, bias, buckets, order, calibration, cost, worst disagreements.

A *judge* is whatever answers in the place of people: a VLM judge, a rater of the study that is a model, a scorer, a
trained model, or one person of the panel, held against the others. Figures that a judge cannot have are None: only
judges shown two orders have a position bias, only models have chances to be calibrated. Titles and descriptions of
fields are the headers and hints of tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from salon.check import CeilingFigures
from salon.stats import Estimate, PairCalibration, WordingSpread
from salon.study import Format, Noun

if TYPE_CHECKING:
    from salon.evaluate.validation import HeadFigures
    from salon.stats import Accuracy, Ceilings

Rate = Annotated[Estimate, Format("estimate", 3)]
MaybeRate = Annotated[Estimate | None, Format("estimate", 3)]
CHANCE = 0.5
JudgeKind = Literal["pairs", "points", "scorer", "rater", "heads", "reward", "one-pass", "untrained", "person"]
KIND_WORDS: dict[str, str] = {
    "pairs": "asked about pairs",
    "points": "asked for numbers",
    "scorer": "scorer",
    "rater": "rater of the study",
    "heads": "trained heads",
    "reward": "reward model",
    "one-pass": "one-pass scorer",
    "untrained": "untrained VLM",
    "person": "person",
}
UNGUARDED = ("untrained", "scorer")
"""Kinds of models of which nobody knows what they were trained on."""
WITHOUT_GUARD = (*UNGUARDED, "person")
"""Kinds that have no leak guard."""
NO_CEILING = "ceilings need two votes on a pair, and a majority on some"
MACRO_CEILING = "a mean over criteria has no ceiling of its own: see the criteria"

# -- accuracy and ceilings ---------------------------------------------------------------------------------------------


class AccuracyFigures(Noun):
    """Agreement with people: on one criterion, on all pairs pooled, or as the mean over criteria."""

    accuracy: Rate = Field(
        title="Accuracy",
        description="Agreement with the majority: pairs without an answer count 0, ties 1/2, tied panels are left out.",
    )
    parsed_only: MaybeRate = Field(title="Parsed only", description="Over pairs with an answer.")
    conditional: MaybeRate = Field(title="c", description="Accuracy where both orders name the same item.")
    position_bias: MaybeRate = Field(title="b", description="Share of read pairs that follow the position.")
    took_first: MaybeRate = Field(title="Took the first", description="Share of those that took the first picture.")
    tie_rate: MaybeRate = Field(title="t", description="Share of read pairs with a tie in an order or both.")
    unseen: Rate = Field(title="Unread", description="u: share of pairs without a readable answer or a number.")
    pairs: int = Field(title="Pairs", description="Pairs with a majority: the denominator.")
    unscored: int = Field(title="No answer", description="Of these, pairs without a readable answer or a number.")
    chance: float = Field(CHANCE, description="Accuracy of a coin.")
    ceilings: CeilingFigures | None = Field(default=None, description="What could be reached on the same pairs.")
    no_ceiling: str | None = Field(default=None, description="Why there are none.")
    identity_gap: float | None = Field(
        default=None, description="|accuracy - (1-u)((1-b-t)c + (b+t)/2)|: rounding only. None for means over criteria."
    )

    @classmethod
    def of(cls, rates: Accuracy, top: Ceilings | None, *, gap: float | None, why: str = NO_CEILING) -> AccuracyFigures:
        """A kernel's figures beside their ceilings, or `why` there are none."""
        estimates = (
            "accuracy", "parsed_only", "conditional", "position_bias", "took_first", "tie_rate", "unseen",
        )  # fmt: skip
        return cls(
            **{name: getattr(rates, name) for name in estimates},
            pairs=rates.pairs,
            unscored=round(rates.unseen.value * rates.pairs),
            ceilings=CeilingFigures.of(top),
            no_ceiling=why if top is None else None,
            identity_gap=gap,
        )


class BucketFigures(Noun):
    """Accuracy where the panel split so; ceilings follow from the law of the odds of all pairs."""

    split: str = Field(
        title="Split", description="'4-1': four of five on one side; '60-80%' where panels are of many sizes."
    )
    accuracy: Rate = Field(title="Accuracy", description="Accuracy on these pairs.")
    pairs: int = Field(title="Pairs", description="How many there are.")
    next_rater: float | None = Field(
        default=None, title="Next rater", description="One more rater, by a beta law of the odds where that fits."
    )
    oracle: float | None = Field(
        default=None,
        title="Oracle",
        description="A predictor that knows every pair's odds, by a beta law where that fits.",
    )
    next_rater_range: tuple[float, float] | None = Field(
        default=None,
        description="One more rater, over all laws of the odds that fit the splits, sampling error included.",
    )
    oracle_range: tuple[float, float] | None = Field(default=None, description="The same for the predictor.")
    leave_one_out: float | None = Field(
        default=None, title="Leave one out", description="A rater against the majority of the others."
    )
    panel: float | None = Field(
        default=None, title="Panel", description="A rater against a majority that holds the rater."
    )


class JudgeCriterion(Noun):
    """One judge on one criterion."""

    criterion: str = Field(description="Id of the criterion.")
    name: str = Field(title="Criterion", description="Its name.")
    figures: AccuracyFigures | None = Field(description="None when the judge met no pair with a majority.")
    with_ties: MaybeRate = Field(
        default=None,
        title="Ties counted",
        description="Same of first / second / tie, tied panels counted as ties; null for models.",
    )
    buckets: tuple[BucketFigures, ...] = Field(default=(), description="By how the panel split, clearest first.")
    tau: MaybeRate = Field(
        default=None, title="Tau", description="Kendall's tau-b to the modal rater, mean over prompts."
    )
    wordings: WordingSpread | None = Field(default=None, description="Accuracy by wording; null without wordings.")
    asked: int = Field(title="Asked", description="Pairs that were asked about and have votes, tied panels too.")
    decided: int = Field(
        title="Pairs", description="Of those, pairs on which the panel has a majority: the denominator."
    )
    panel_pairs: int = Field(title="of", description="All pairs with a majority; asked or not.")
    unvoted: int = Field(default=0, description="Pairs asked about on which nobody voted: left out.")
    warnings: tuple[str, ...] = Field(default=(), description="What to be careful with.")


# -- one judge ---------------------------------------------------------------------------------------------------------


class UsageFigures(Noun):
    """What the answers took."""

    answers: int = Field(title="Answers", description="One for each call and criterion.")
    unread: int = Field(title="Unread", description="Answers without a verdict.")
    failed: dict[str, int] = Field(default_factory=dict, description="Of those, without any reply, by kind.")
    reasons: dict[str, int] = Field(default_factory=dict, description="Why the others could not be read.")
    cost: Annotated[float | None, Format("number", 4)] = Field(
        default=None, title="Cost", description="Sum of the known costs."
    )
    cost_unknown: int = Field(default=0, description="Answers whose cost is not known.")
    tokens_in: int | None = Field(default=None, title="Tokens in", description="Tokens read; null where not told.")
    tokens_out: int | None = Field(default=None, title="Tokens out", description="Tokens written.")
    seconds_median: Annotated[float | None, Format("duration")] = Field(
        default=None, title="Median time", description="Median time of an answer."
    )
    seconds_95: Annotated[float | None, Format("duration")] = Field(
        default=None, title="95th", description="95th percentile."
    )
    cost_per_1000: Annotated[float | None, Format("number", 4)] = Field(
        default=None, title="a thousand", description="Cost of a thousand pairs (items, ticks) on one criterion."
    )
    first_at: str | None = Field(default=None, description="When the first answer was given, ISO 8601; null untold.")
    last_at: str | None = Field(default=None, description="When the last answer was given.")
    cost_per_point: Annotated[Estimate | None, Format("estimate", 4)] = Field(
        default=None,
        title="a point",
        description="That cost for each hundredth of macro accuracy (of checklists: balanced) above chance; ends from "
        "its interval.",
    )


class BandFigures(Noun):
    """Where the numbers of a judge that gives numbers lie, and whether they tell strong from weak."""

    criterion: str | None = Field(description="None for a scorer: one number serves all criteria.")
    low: float = Field(description="Tenth percentile.")
    median: float = Field(description="Median.")
    high: float = Field(description="Ninetieth percentile.")
    width: Annotated[float | None, Format("percent", 0)] = Field(
        title="Of the scale", description="The middle 80% as a share of the scale."
    )
    levels: Annotated[float, Format("number", 1)] = Field(
        title="Values in use", description="Effective number of values: exp of their entropy."
    )
    commonest: Annotated[float, Format("percent", 0)] = Field(
        title="Commonest", description="Share of the most frequent value."
    )
    n: int = Field(title="Items", description="Items with a number.")
    missing: int = Field(title="Missing", description="Items without a number.")
    separation: MaybeRate = Field(
        title="Strong above weak",
        description="Chance that a strong item is above a weak one of its group; a half: cannot tell them apart.",
    )
    strong_is: str = Field(description="How strong and weak were told.")


class WorstCase(Noun):
    """A pair on which the panel was clear and the judge was clear the other way."""

    criterion: str = Field(description="Id of the criterion.")
    prompt: str | None = Field(description="Id of the prompt.")
    panel_choice: str = Field(description="Item that most people chose.")
    judge_choice: str = Field(description="Item that the judge chose.")
    votes: tuple[int, int, int] = Field(description="For the panel's choice, against it, ties.")
    said: str | None = Field(default=None, description="The judge's words, shortened.")
    margin: float | None = Field(default=None, description="Difference of a scorer's two numbers.")


class GeneratorFigures(Noun):
    """One generator among people and by a judge."""

    generator: str = Field(title="Generator", description="Its name.")
    people: Rate = Field(title="People", description="Share of votes it won.")
    predicted: Rate = Field(description="Share of pairs it won by the judge's decisions.")
    pairs: int = Field(description="Pairs with an item of its.")


class GeneratorOrder(Noun):
    """Do people and a judge put generators in the same order?"""

    spearman: Annotated[Estimate | None, Format("estimate", 2)] = Field(
        title="Spearman", description="Spearman's correlation over generators, prompts drawn again."
    )
    kendall: Annotated[Estimate | None, Format("estimate", 2)] = Field(
        title="Kendall", description="Kendall's tau-b over generators."
    )
    reason: str | None = Field(description="Why there is none.")
    generators: tuple[GeneratorFigures, ...] = Field(description="Best among people first.")


class LeakFigures(Noun):
    """What of the test the model was trained on."""

    guarded: bool = Field(description="False where nobody knows what it was trained on.")
    pictures: int = Field(description="Items whose very bytes it was trained on.")
    near: int = Field(description="Items that look like one it was trained on.")
    texts: int = Field(description="Prompts whose text it was trained on.")
    words: str = Field(description="The same in words, first ones named.")


class JudgeFigures(Noun):
    """All that is known about one judge of pairs."""

    name: str = Field(title="Judge", description="How it is called in this report.")
    kind: JudgeKind = Field(
        description="What answered: asked about pairs or points, a scorer, a rater of the study, trained heads, a "
        "reward model, a one-pass scorer, an untrained VLM, a person of the panel."
    )
    form: str = Field(default="", description="Form of a head or law of a reward model; else empty.")
    orders: int = Field(
        default=1, description="2; or 1 for one order, or no order at all: no position bias can be given."
    )
    simulated: bool = Field(default=False, description="True when no model answered.")
    signature: str | None = Field(default=None, description="What made its answers, where that is known.")
    macro: AccuracyFigures = Field(description="Means over criteria.")
    pooled: AccuracyFigures = Field(description="All pairs of all criteria together.")
    with_ties: MaybeRate = Field(
        default=None,
        title="Ties counted",
        description="Same of first / second / tie, tied panels counted as ties; null for models.",
    )
    buckets: tuple[BucketFigures, ...] = Field(default=(), description="Over all criteria.")
    tau: MaybeRate = Field(
        default=None,
        title="Tau",
        description="Kendall's tau-b to the modal rater, mean over prompts and criteria.",
    )
    says_first: MaybeRate = Field(
        default=None,
        title="Names the first",
        description="Of answers naming an item, share that name the one shown first. Not b: one order mixes it with "
        "content.",
    )
    criteria: tuple[JudgeCriterion, ...] = Field(description="Criterion by criterion.")
    wordings: WordingSpread | None = Field(default=None, description="Mean over criteria of their spread.")
    self_agreement: MaybeRate = Field(
        default=None, title="Two samples agree", description="Chance that two samples of a question agree."
    )
    samples: int = Field(default=1, title="Samples", description="Most samples of one question.")
    bands: tuple[BandFigures, ...] = Field(default=(), description="Where its numbers lie; none for a judge of pairs.")
    calibration: PairCalibration | None = Field(default=None, description="Null where its numbers are no log-odds.")
    generators: GeneratorOrder | None = Field(default=None, description="Order of generators, over all criteria.")
    order_flips: MaybeRate = Field(
        default=None,
        title="Order flips",
        description="Share of pairs whose winner changes with their order; null where that cannot happen.",
    )
    usage: UsageFigures | None = Field(
        default=None, description="What its answers took; null where they are not known call by call."
    )
    leak: LeakFigures | None = Field(default=None, description="Null where what it was trained on is not known here.")
    unscored: dict[str, int] = Field(default_factory=dict, description="Items without a number, by reason.")
    to_best: MaybeRate = Field(
        default=None,
        title="To the best",
        description="Accuracy less the best's on shared pairs, drawn together: macro for judges, pooled for models.",
    )
    worst: tuple[WorstCase, ...] = Field(
        default=(), description="Its clearest disagreements with people, clearest first."
    )
    worst_of: int = Field(default=0, description="Pairs on which it was clearly against the panel.")


# -- several judges, and people ----------------------------------------------------------------------------------------


class PairedFigures(Noun):
    """Two judges on the pairs that both speak about."""

    first: str = Field(title="Judge", description="The one with the higher accuracy.")
    second: str = Field(title="Less", description="The other.")
    difference: Rate = Field(title="Difference", description="Accuracy of the first less the second's, drawn together.")
    p: Annotated[float, Format("p")] = Field(title="p", description="Two-sided, by flipping signs prompt by prompt.")
    p_holm: Annotated[float, Format("p")] = Field(
        title="p, adjusted", description="Adjusted for all comparisons of this study (Holm)."
    )
    law: str = Field(description="How p was made.")
    pairs: int = Field(title="Pairs", description="Pairs both speak about.")
    first_only: int = Field(title="First better", description="Pairs on which the first did better.")
    second_only: int = Field(title="Second better", description="Pairs on which the second did better.")


class JudgeAgreement(Noun):
    """How often two judges name the same item, where both name one."""

    first: str = Field(title="Judge", description="Name of a judge.")
    second: str = Field(title="And", description="Name of another.")
    agreement: MaybeRate = Field(title="Same item", description="Share of the pairs; null without any.")
    pairs: int = Field(title="Pairs", description="Pairs on which both name an item.")


class FigureCorrelation(Noun):
    """Spearman's correlation of two figures over the judges."""

    x: str = Field(title="Estimate", description="Name of a figure.")
    y: str = Field(title="With", description="Name of another.")
    value: float | None = Field(title="Spearman", description="Spearman's correlation; null where it cannot be given.")
    low: float | None = Field(description="Lower end of its interval.")
    high: float | None = Field(description="Upper end.")
    p: Annotated[float | None, Format("p")] = Field(
        default=None,
        title="p",
        description="Two-sided: over all orders up to eight judges, by Student's t beyond; null without.",
    )
    n: int = Field(
        title="Judges", description="Judges with both figures; scorers and judges that give numbers are left out."
    )
    reason: str | None = Field(default=None, description="Why it or its interval is absent.")


class PanelFigures(Noun):
    """The people that judges are held against, on one criterion."""

    criterion: str = Field(description="Id of the criterion.")
    name: str = Field(title="Criterion", description="Its name.")
    votes: int = Field(description="Votes of people.")
    pairs: int = Field(title="Pairs", description="Pairs with votes.")
    tied: int = Field(title="Tied", description="Pairs without a majority: out of every denominator but `with_ties`.")
    raters: str = Field(title="Votes a pair", description="Votes on a pair, ties among them: '5', or '1 to 7'.")
    lone: int = Field(
        default=0, description="Pairs on which one person named an item: a majority, but too few votes for a ceiling."
    )
    ceilings: CeilingFigures | None = Field(default=None, description="What can be reached against them.")
    no_ceiling: str | None = Field(default=None, description="Why there are no ceilings.")
    signal: str | None = Field(
        default=None,
        title="Do people agree?",
        description="Do these people agree, and as one taste or as camps? The answers of `salon check`.",
    )
    sentence: str | None = Field(default=None, description="Those answers in plain words.")


class SeedSpread(Noun):
    """Models that differ in nothing but the seed of their training."""

    names: tuple[str, ...] = Field(title="Models", description="Their names here.")
    mean: float = Field(title="Mean accuracy", description="Mean accuracy.")
    sd: float = Field(title="SD", description="Standard deviation over seeds (n - 1).")
    low: float = Field(title="Lowest", description="Lowest accuracy.")
    high: float = Field(title="Highest", description="Highest accuracy.")
    n: int = Field(title="Seeds", description="Seeds.")


class LearningPoint(Noun):
    """Heads trained on a part of the training prompts."""

    share: float = Field(description="Share of the training prompts.")
    prompts: int = Field(title="Training prompts", description="How many these are.")
    pairs: int = Field(title="Training pairs", description="Training pairs of theirs.")
    accuracy: Rate = Field(title="Accuracy", description="On the test pairs, mean over seeds; prompts drawn again.")
    sd: float | None = Field(title="SD over seeds", description="Standard deviation over seeds; null for one seed.")
    seeds: int = Field(title="Seeds", description="Trainings behind the mean.")


class LearningCurve(Noun):
    """What more data would bring."""

    model: str = Field(description="The model whose settings were used.")
    points: tuple[LearningPoint, ...] = Field(description="From few prompts to all.")
    ceiling: CeilingFigures | None = Field(description="On the same test pairs.")


# -- plain words for numbers that say little ---------------------------------------------------------------------------

FEW_PAIRS, FEW_PROMPTS = 30, 5
"""Fewer than these say nothing about a model."""


def validation_warnings(figures: Sequence[HeadFigures], *, chance: float = 0.5) -> list[str]:
    """Plain words where validation is too small to say anything, or says that nothing was learned."""
    if not figures or figures[0].accuracy is None:
        return ["no validation pair has a majority: nothing says what these weights are worth"] if figures else []
    accuracy, pairs = figures[0].accuracy, figures[0].pairs
    few = [f"validation: {words}" for words in few_warnings(pairs, accuracy.n)]
    if accuracy.n == 1:
        luck = "so its numbers have no interval and may be luck: more prompts, or a larger --validation"
        few = [f"validation holds one prompt, {luck}"]
    return [*few, *(f"validation: {words}" for words in chance_warnings(accuracy, chance))]


def few_warnings(pairs: int, prompts: int) -> list[str]:
    """Too few pairs or prompts to tell a good model from a lucky one."""
    if pairs >= FEW_PAIRS and prompts >= FEW_PROMPTS:
        return []
    sizes = f"{pairs:,} pair{'s' * (pairs != 1)} of {prompts:,} prompt{'s' * (prompts != 1)}"
    return [f"{sizes} are too few to say how good a model is: {FEW_PAIRS} pairs of {FEW_PROMPTS} prompts are the least"]


def chance_warnings(accuracy: Estimate, chance: float = 0.5) -> list[str]:
    """An accuracy that cannot be told from chance, or is below it."""
    low, high = accuracy.low, accuracy.high
    if high is not None and high < chance:
        return [f"accuracy {accuracy.value:.3f} is below chance ({chance:g}): are answers or pictures swapped?"]
    if accuracy.value < chance:
        return [f"accuracy {accuracy.value:.3f} is below chance ({chance:g}): nothing shows that anything was learned"]
    if low is not None and high is not None and low <= chance:
        return [f"accuracy {low:.3f} to {high:.3f} spans chance ({chance:g}): it may be luck"]
    return []
