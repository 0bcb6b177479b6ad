"""Everything a judge report can be told, described once: flags, help, docs and signatures read it here."""

from __future__ import annotations

import hashlib
from typing import Final, Literal

import numpy as np
from pydantic import Field

from salon.stats.judge_accuracy import TickRates, tick_identity_gap
from salon.stats.result import Estimate
from salon.study.nouns import Noun, Signature


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

    def rng(self, name: str) -> np.random.Generator:
        """Draws of their own for everything with a name: a judge's figures do not hang on the judges beside it."""
        digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return np.random.default_rng([self.seed, int.from_bytes(digest, "big")])


# --------------------------------------------------------------------------------------------------
# What a judge's answers took, as part of a judge report's JSON.
# --------------------------------------------------------------------------------------------------


class UsageFigures(Noun):
    """What the answers took."""

    answers: int = Field(description="One for each call and criterion.")
    unread: int = Field(description="Answers without a verdict.")
    failed: dict[str, int] = Field(default_factory=dict, description="Of those, without any reply, by kind.")
    reasons: dict[str, int] = Field(default_factory=dict, description="Why the others could not be read.")
    cost: float | None = Field(default=None, description="Sum of the known costs.")
    cost_unknown: int = Field(default=0, description="Answers whose cost is not known.")
    tokens_in: int | None = Field(default=None, description="Tokens read; null where not told.")
    tokens_out: int | None = Field(default=None, description="Tokens written.")
    seconds_median: float | None = Field(default=None, description="Median time of an answer.")
    seconds_95: float | None = Field(default=None, description="95th percentile.")
    cost_per_1000: float | None = Field(
        default=None, description="Cost of a thousand pairs (items, ticks) on one criterion."
    )
    first_at: str | None = Field(default=None, description="When the first answer was given, ISO 8601; null untold.")
    last_at: str | None = Field(default=None, description="When the last answer was given.")
    cost_per_point: Estimate | None = Field(
        default=None,
        description="That cost for each hundredth of macro accuracy (of checklists: balanced) above chance; ends from "
        "its interval.",
    )


# --------------------------------------------------------------------------------------------------
# What a judge report says about checklists: the `ticks` of its JSON.
#
# A tick is one point of one item. The majority of people say that it is met (yes) or not (no).
# --------------------------------------------------------------------------------------------------

TickKind = Literal["checklist", "rater"]


class TickFigures(Noun):
    """A judge against the people who ticked: on one criterion, on all ticks pooled, or as the mean over criteria."""

    accuracy: Estimate = Field(description="Headline: unread answers count 0, evenly split panels are left out.")
    parsed_only: Estimate | None = Field(description="Over the ticks that were read.")
    balanced: Estimate | None = Field(
        description="Mean of `on_yes` and `on_no`: 0.5 for a coin and for a fixed answer."
    )
    kappa: Estimate | None = Field(description="Cohen's kappa with the majority: 0 by chance.")
    on_yes: Estimate | None = Field(description="Where people say yes, share on which the judge does.")
    on_no: Estimate | None = Field(description="Where people say no, share on which the judge does.")
    pass_rate: Estimate | None = Field(description="Share of the read ticks that the judge passes.")
    people_pass: Estimate | None = Field(description="Share of the same ticks that people pass.")
    lean: Estimate | None = Field(description="The judge's pass rate less that of people: above 0 it is too kind.")
    constant: Estimate = Field(description="Accuracy of the better fixed answer, always yes or always no: chance.")
    gain: Estimate = Field(description="Accuracy less `constant`.")
    unread: Estimate = Field(description="u: share of ticks without a readable answer.")
    ticks: int = Field(description="Ticks in the denominator.")
    identity_gap: float | None = Field(
        default=None,
        description="|accuracy - (1-u)(y on_yes + (1-y) on_no)|, y = `people_pass`: rounding only. None for means over "
        "criteria.",
    )

    @classmethod
    def of(cls, found: TickRates, *, macro: bool = False) -> TickFigures:
        """A kernel's figures as part of a report."""
        plain = ("ticks", "identity_gap")
        return cls(
            **{name: getattr(found, name) for name in cls.model_fields if name not in plain},
            ticks=found.ticks,
            identity_gap=None if macro else tick_identity_gap(found),
        )


class TickSplit(Noun):
    """Accuracy where the panel split so."""

    split: str = Field(description="'4-1': four of five say the same; '60-80%' where panels are of many sizes.")
    accuracy: Estimate = Field(description="Accuracy on these ticks.")
    ticks: int = Field(description="How many there are.")


class TickCriterion(Noun):
    """One judge on the points of one criterion."""

    criterion: str = Field(description="Id of the criterion.")
    name: str = Field(description="Its name.")
    figures: TickFigures | None = Field(description="None when the judge met no tick with a majority.")
    asked: int = Field(description="Ticks that were asked about and that people answered.")
    decided: int = Field(description="Of those, ticks on which people have a majority: the denominator.")
    panel_ticks: int = Field(description="All ticks with a majority, asked or not.")
    unvoted: int = Field(description="Ticks asked about that nobody answered: left out.")
    warnings: tuple[str, ...] = Field(default=(), description="What to be careful with.")


class TickPoint(Noun):
    """One judge on one point, over all items it was asked about."""

    criterion: str = Field(description="Id of the criterion.")
    point: str = Field(description="Name of the point.")
    accuracy: Estimate = Field(description="Unread answers count 0.")
    ticks: int = Field(description="Items with a majority of people.")
    people_yes: int = Field(description="Items that people pass.")
    judge_yes: int = Field(description="Items that the judge passes.")
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

    judge: str = Field(description="Name of the judge.")
    kind: TickKind = Field(description="Where its answers come from: a checklist it was given, a rater of the study.")
    simulated: bool = Field(default=False, description="True when no model answered.")
    signature: str | None = Field(default=None, description="What made its answers, where that is known.")
    macro: TickFigures = Field(description="Means over criteria.")
    pooled: TickFigures = Field(description="All ticks of all criteria together.")
    splits: tuple[TickSplit, ...] = Field(default=(), description="By how people split, clearest first.")
    criteria: tuple[TickCriterion, ...] = Field(description="Criterion by criterion.")
    points: tuple[TickPoint, ...] = Field(description="Point by point, hardest first.")
    self_agreement: Estimate | None = Field(default=None, description="Chance that two samples of a question agree.")
    samples: int = Field(default=1, description="Most samples of one question; more than half of them decide.")
    usage: UsageFigures | None = Field(
        default=None, description="What its answers took; null where they are not known call by call."
    )
    to_best: Estimate | None = Field(default=None, description="Macro accuracy less the best judge's, on shared ticks.")
    worst: tuple[WorstTick, ...] = Field(default=(), description="Where it is most clearly against people.")
    worst_of: int = Field(default=0, description="Ticks on which it was against the majority.")


class TickAgreement(Noun):
    """How often two judges say the same, where both could be read."""

    first: str = Field(description="Name of a judge.")
    second: str = Field(description="Name of another.")
    agreement: Estimate = Field(description="Share of the ticks.")
    kappa: Estimate | None = Field(description="The same beyond chance; null where both always say one thing.")
    ticks: int = Field(description="Ticks on which both could be read.")


class JointAnswers(Noun):
    """What several judges say together, held against people."""

    rule: str = Field(description="majority: more than half of those asked; unanimous: yes where all say yes; routes.")
    judges: tuple[str, ...] = Field(description="Their names.")
    macro: TickFigures = Field(description="Means over criteria; a tick the rule leaves open counts as unread.")
    disputed: Estimate = Field(description="Share of ticks on which some say yes and some no.")
    settled_accuracy: Estimate | None = Field(description="Accuracy where those who could be read all say the same.")
    disputed_accuracy: Estimate | None = Field(description="Accuracy where they do not.")


class DisputedPoint(Noun):
    """A point on which judges contradict each other."""

    criterion: str = Field(description="Id of the criterion.")
    point: str = Field(description="Name of the point.")
    ticks: int = Field(description="Items on which two judges or more were asked.")
    disputed: int = Field(description="Items on which some say yes and some no.")


class TickPanelFigures(Noun):
    """The people who ticked, on one criterion."""

    criterion: str = Field(description="Id of the criterion.")
    name: str = Field(description="Its name.")
    answers: int = Field(description="Answers of people.")
    ticks: int = Field(description="Ticks with answers: points, each counted once an item.")
    points: int = Field(description="Different points.")
    tied: int = Field(description="Ticks without a majority: out of every denominator.")
    raters: str = Field(description="Answers to a tick: '5', or '1 to 7'.")
    pass_rate: Estimate | None = Field(description="Share of ticks with a majority that people pass.")
    two_people: Estimate | None = Field(default=None, description="Chance that two people agree.")
    kappa: Estimate | None = Field(default=None, description="The same beyond chance: correlation of two answers.")
    next_rater: Estimate | None = Field(
        default=None, description="Accuracy of one more person: a point of the range, and the range's interval."
    )
    next_rater_range: tuple[float, float] | None = Field(
        default=None, description="The same over all laws of the ticks' odds that fit the answers. Quote this one."
    )
    oracle: Estimate | None = Field(
        default=None, description="Accuracy of one who knows every tick's odds: a point, and the range's interval."
    )
    oracle_range: tuple[float, float] | None = Field(
        default=None, description="The same over all laws of the ticks' odds that fit the answers. Quote this one."
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


# --------------------------------------------------------------------------------------------------
# What a judge report gives back: the JSON of `salon judge report --json`, and what the HTML prints.
#
# Every number that estimates something carries its interval, its n and how the interval was made. A number that cannot
# be given is None, with the reason among the policies.
# --------------------------------------------------------------------------------------------------

JUDGE_FORMAT: Final = "salon.judge-report/1"
JudgeKind = Literal["pairs", "points", "scorer", "rater"]
JUDGE_KIND_WORDS: dict[str, str] = {
    "pairs": "asked about pairs",
    "points": "asked for numbers",
    "scorer": "a scorer",
    "rater": "a rater of the study",
}


class AccuracyFigures(Noun):
    """A judge against the panel: on one criterion, on all pairs pooled, or as the mean over criteria."""

    accuracy: Estimate = Field(description="Headline: pairs with an unread verdict count 0, human ties are left out.")
    parsed_only: Estimate | None = Field(description="Over pairs that were read.")
    conditional: Estimate | None = Field(description="c: accuracy where both orders name the same item.")
    position_bias: Estimate | None = Field(description="b: share of read pairs that follow the position.")
    took_first: Estimate | None = Field(description="Share of those that took the first picture.")
    tie_rate: Estimate | None = Field(description="t: share of read pairs with a tie in an order or both.")
    unseen: Estimate = Field(description="u: share of pairs with an unread verdict.")
    pairs: int = Field(description="Pairs in the denominator.")
    identity_gap: float | None = Field(
        default=None, description="|accuracy - (1-u)((1-b-t)c + (b+t)/2)|: rounding only. None for means over criteria."
    )


class BucketFigures(Noun):
    """Accuracy where the panel split so."""

    split: str = Field(description="'4-1': four of five on one side; '60-80%' where panels are of many sizes.")
    accuracy: Estimate = Field(description="Accuracy on these pairs.")
    pairs: int = Field(description="How many there are.")


class WordingFigures(Noun):
    """Accuracy by wording of the question."""

    wordings: tuple[int, ...] = Field(description="Numbers of one criterion's wordings, from 0; empty over several.")
    means: tuple[float, ...] = Field(description="Accuracy under each.")
    pairs: tuple[int, ...] = Field(description="Pairs under each.")
    sd: float = Field(
        description="Standard deviation of a criterion's means over its wordings; over several criteria, the mean."
    )
    expected: float = Field(description="The same if the wording made no difference: few pairs alone spread so.")
    p: float = Field(description="Share of random deals of wordings with as large a spread.")
    deals: int = Field(description="Random deals behind `expected` and `p`.")


class JudgeCriterion(Noun):
    """One judge on one criterion."""

    criterion: str = Field(description="Id of the criterion.")
    name: str = Field(description="Its name.")
    figures: AccuracyFigures | None = Field(description="None when the judge met no pair with a majority.")
    with_ties: Estimate | None = Field(description="Same of first / second / tie, tied panels counted as ties.")
    buckets: tuple[BucketFigures, ...] = Field(
        default=(), description="Accuracy by how the panel split, clearest first."
    )
    wordings: WordingFigures | None = Field(default=None, description="Accuracy by wording; null without wordings.")
    asked: int = Field(description="Pairs that were asked about and have votes.")
    decided: int = Field(description="Of those, pairs on which the panel has a majority: the denominator.")
    panel_pairs: int = Field(description="All pairs with a majority; asked or not.")
    unvoted: int = Field(default=0, description="Pairs asked about on which nobody voted: left out.")
    warnings: tuple[str, ...] = Field(default=(), description="What to be careful with.")


class BandFigures(Noun):
    """Where the numbers of a judge that gives numbers lie, and whether they tell strong from weak."""

    criterion: str | None = Field(description="None for a scorer: one number serves all criteria.")
    low: float = Field(description="Tenth percentile.")
    median: float = Field(description="Median.")
    high: float = Field(description="Ninetieth percentile.")
    width: float | None = Field(description="The middle 80% as a share of the scale.")
    levels: float = Field(description="Effective number of values: exp of their entropy.")
    commonest: float = Field(description="Share of the most frequent value.")
    n: int = Field(description="Items with a number.")
    missing: int = Field(description="Items without a number.")
    separation: Estimate | None = Field(description="Chance that a strong item is above a weak one of its group.")
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


class JudgeFigures(Noun):
    """All that is known about one judge."""

    judge: str = Field(description="Name of the judge.")
    kind: JudgeKind = Field(
        description="Where its answers come from: pairs or points it was asked about, a scorer, a rater of the study."
    )
    orders: int = Field(description="2; or 1 for one order, or no order at all: no position bias can be given.")
    simulated: bool = Field(default=False, description="True when no model answered.")
    signature: str | None = Field(default=None, description="What made its answers, where that is known.")
    macro: AccuracyFigures = Field(description="Means over criteria.")
    pooled: AccuracyFigures = Field(description="All pairs of all criteria together.")
    with_ties: Estimate | None = Field(description="Same of first / second / tie, tied panels counted as ties.")
    buckets: tuple[BucketFigures, ...] = Field(default=(), description="Over all criteria.")
    says_first: Estimate | None = Field(
        default=None,
        description="Of answers naming an item, share that name the one shown first. Not b: one order mixes it with "
        "content.",
    )
    criteria: tuple[JudgeCriterion, ...] = Field(description="Criterion by criterion.")
    wordings: WordingFigures | None = Field(default=None, description="Mean over criteria of their spread.")
    self_agreement: Estimate | None = Field(default=None, description="Chance that two samples of a question agree.")
    samples: int = Field(default=1, description="Most samples of one question.")
    bands: tuple[BandFigures, ...] = Field(default=(), description="Where its numbers lie; none for a judge of pairs.")
    usage: UsageFigures | None = Field(
        default=None, description="What its answers took; null where they are not known call by call."
    )
    to_best: Estimate | None = Field(default=None, description="Macro accuracy less the best judge's, on shared pairs.")
    worst: tuple[WorstCase, ...] = Field(
        default=(), description="Its clearest disagreements with people, clearest first."
    )
    worst_of: int = Field(default=0, description="Pairs on which it was clearly against the panel.")


class JudgeAgreement(Noun):
    """How often two judges name the same item, where both name one."""

    first: str = Field(description="Name of a judge.")
    second: str = Field(description="Name of another.")
    agreement: Estimate | None = Field(description="Share of the pairs; null without any.")
    pairs: int = Field(description="Pairs on which both name an item.")


class FigureCorrelation(Noun):
    """Spearman's correlation of two figures over the judges."""

    x: str = Field(description="Name of a figure.")
    y: str = Field(description="Name of another.")
    value: float | None = Field(description="Spearman's correlation; null where it cannot be given.")
    low: float | None = Field(description="Lower end of its interval.")
    high: float | None = Field(description="Upper end.")
    p: float | None = Field(
        default=None, description="Two-sided: over all orders up to eight judges, by Student's t beyond; null without."
    )
    n: int = Field(description="Judges with both figures; scorers and judges that give numbers are left out.")
    reason: str | None = Field(default=None, description="Why it or its interval is absent.")


class PanelFigures(Noun):
    """The people the judges are held against, on one criterion."""

    criterion: str = Field(description="Id of the criterion.")
    name: str = Field(description="Its name.")
    votes: int = Field(description="Votes of people.")
    pairs: int = Field(description="Pairs with votes.")
    tied: int = Field(description="Pairs without a majority: out of every denominator but `with_ties`.")
    raters: str = Field(description="Votes on a pair, ties among them: '5', or '1 to 7'.")
    lone: int = Field(
        default=0, description="Pairs on which one person named an item: a majority, but too few votes for a ceiling."
    )
    next_rater: Estimate | None = Field(
        default=None, description="Accuracy of one more person who names an item against this panel."
    )
    next_rater_range: tuple[float, float] | None = Field(
        default=None, description="The same over all laws of the pairs' odds that fit the votes. Quote this one."
    )
    oracle: Estimate | None = Field(default=None, description="Accuracy of a predictor that knows every pair's odds.")
    oracle_range: tuple[float, float] | None = Field(
        default=None, description="The same over all laws of the pairs' odds that fit the votes. Quote this one."
    )
    no_ceiling: str | None = Field(default=None, description="Why there are no ceilings.")
    signal: str | None = Field(
        default=None, description="Do these people agree, and as one taste or as camps? The answers of `salon check`."
    )
    sentence: str | None = Field(default=None, description="Those answers in plain words.")


class FlagJudge(Noun):
    """A judge that was asked for a flag."""

    judge: str = Field(description="Name of the judge.")
    items: int = Field(description="Items it gave a level, of those that people answered about.")
    missing: int = Field(description="Items it gave none.")
    flagged: float = Field(description="Share of those items above the lowest level.")
    separation: Estimate | None = Field(
        description="Chance that it flags an item that most people flagged worse than one of the same prompt that most "
        "did not; ties count one half."
    )


class FlagPanel(Noun):
    """A flag and the people of one cohort who gave it. Flags enter no accuracy, mean or ceiling of the report."""

    criterion: str = Field(description="Id of the flag.")
    name: str = Field(description="Its name.")
    cohort: str | None = Field(description="Cohort of the people; null where they have none.")
    items: int = Field(description="Items with an answer.")
    answers: int = Field(description="Answers: items times people.")
    flagged: Estimate = Field(description="Share of answers above the lowest level.")
    alpha: Estimate | None = Field(description="Krippendorff's alpha of the levels, ordinal; null where it has none.")
    judges: tuple[FlagJudge, ...] = Field(description="Judges that were asked for this flag.")


class JudgeReport(Noun):
    """The whole report."""

    format: Literal["salon.judge-report/1"] = Field(default=JUDGE_FORMAT, description="Name and version of this shape.")
    study: str = Field(description="Name of the study.")
    simulated: bool = Field(description="True when no person gave the study's answers.")
    signature: Signature = Field(description="What would have to be equal for the same numbers.")
    signature_line: str = Field(description="The same as one line.")
    level: float = Field(description="Confidence level of all intervals.")
    panel: tuple[PanelFigures, ...] = Field(description="The people, criterion by criterion.")
    judges: tuple[JudgeFigures, ...] = Field(
        description="Judges of pairs, best macro accuracy first; empty in a study of checklists alone."
    )
    agreement: tuple[JudgeAgreement, ...] = Field(description="Every two judges.")
    correlations: tuple[FigureCorrelation, ...] = Field(description="Which figures of judges go together.")
    flags: tuple[FlagPanel, ...] = Field(
        default=(), description="What people flagged, by cohort; flags are ranked only where they are named."
    )
    ticks: TickReport | None = Field(
        default=None, description="Checklists; null where no judge answered a point that people ticked."
    )
    policies: tuple[str, ...] = Field(description="What left which denominator.")
    warnings: tuple[str, ...] = Field(default=(), description="What should not be taken at its face.")
