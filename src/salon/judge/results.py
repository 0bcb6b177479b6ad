"""What a judge report gives back: the JSON of `salon judge report --json`, and what the HTML prints.

Every number that estimates something carries its interval, its n and how the interval was made. A number that cannot
be given is None, with the reason among the policies.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.stats.result import Estimate
from salon.study.noun import Noun
from salon.study.signature import Signature

FORMAT = "salon.judge-report/1"
JudgeKind = Literal["pairs", "points", "scorer", "rater"]
KIND_WORDS: dict[str, str] = {
    "pairs": "asked about pairs",
    "points": "asked for numbers",
    "scorer": "a scorer",
    "rater": "a rater of the study",
}


class Figure(Noun):
    """A number with its interval."""

    value: float
    low: float | None
    high: float | None
    n: int
    unit: str
    level: float
    method: str

    @classmethod
    def of(cls, estimate: Estimate) -> Figure:
        """A kernel's estimate as part of a report."""
        return cls(**{name: getattr(estimate, name) for name in cls.model_fields})

    @classmethod
    def maybe(cls, estimate: Estimate | None) -> Figure | None:
        """The same, None where there is none."""
        return None if estimate is None else cls.of(estimate)


class AccuracyFigures(Noun):
    """A judge against the panel: on one criterion, on all pairs pooled, or as the mean over criteria."""

    accuracy: Figure = Field(description="Headline: pairs with an unread verdict count 0, human ties are left out.")
    parsed_only: Figure | None = Field(description="Over pairs that were read.")
    conditional: Figure | None = Field(description="c: accuracy where both orders name the same item.")
    position_bias: Figure | None = Field(description="b: share of read pairs that follow the position.")
    took_first: Figure | None = Field(description="Share of those that took the first picture.")
    tie_rate: Figure | None = Field(description="t: share of read pairs with a tie in an order or both.")
    unseen: Figure = Field(description="u: share of pairs with an unread verdict.")
    pairs: int
    identity_gap: float | None = Field(
        default=None, description="|accuracy - (1-u)((1-b-t)c + (b+t)/2)|: rounding only. None for means over criteria."
    )


class BucketFigures(Noun):
    """Accuracy where the panel split so."""

    split: str = Field(description="'4-1': four of five on one side; '60-80%' where panels are of many sizes.")
    accuracy: Figure
    pairs: int


class WordingFigures(Noun):
    """Accuracy by wording of the question."""

    wordings: tuple[int, ...]
    means: tuple[float, ...]
    pairs: tuple[int, ...]
    sd: float = Field(description="Standard deviation of the means over wordings.")
    expected: float = Field(description="The same if the wording made no difference: few pairs alone spread so.")
    p: float = Field(description="Share of random deals of wordings with as large a spread.")
    deals: int


class CriterionJudged(Noun):
    """One judge on one criterion."""

    criterion: str
    name: str
    figures: AccuracyFigures | None = Field(description="None when the judge met no pair with a majority.")
    with_ties: Figure | None = Field(description="Same of first / second / tie, tied panels counted as ties.")
    buckets: tuple[BucketFigures, ...] = ()
    wordings: WordingFigures | None = None
    asked: int = Field(description="Pairs that were asked about and have votes.")
    decided: int = Field(description="Of those, pairs on which the panel has a majority: the denominator.")
    panel_pairs: int = Field(description="All pairs with a majority; asked or not.")
    unvoted: int = Field(default=0, description="Pairs asked about on which nobody voted: left out.")
    warnings: tuple[str, ...] = ()


class BandFigures(Noun):
    """Where the numbers of a judge that gives numbers lie, and whether they tell strong from weak."""

    criterion: str | None = Field(description="None for a scorer: one number serves all criteria.")
    low: float = Field(description="Tenth percentile.")
    median: float
    high: float = Field(description="Ninetieth percentile.")
    width: float | None = Field(description="The middle 80% as a share of the scale.")
    levels: float = Field(description="Effective number of values: exp of their entropy.")
    commonest: float = Field(description="Share of the most frequent value.")
    n: int
    missing: int = Field(description="Items without a number.")
    separation: Figure | None = Field(description="Chance that a strong item is above a weak one of its group.")
    strong_is: str = Field(description="How strong and weak were told.")


class UsageFigures(Noun):
    """What the answers took."""

    answers: int = Field(description="One for each call and criterion.")
    unread: int = Field(description="Answers without a verdict.")
    failed: dict[str, int] = Field(default_factory=dict, description="Of those, without any reply, by kind.")
    reasons: dict[str, int] = Field(default_factory=dict, description="Why the others could not be read.")
    cost: float | None = Field(default=None, description="Sum of the known costs.")
    cost_unknown: int = Field(default=0, description="Answers whose cost is not known.")
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds_median: float | None = None
    seconds_95: float | None = Field(default=None, description="95th percentile.")
    cost_per_1000: float | None = Field(default=None, description="Cost of a thousand pairs (items) on one criterion.")
    cost_per_point: Figure | None = Field(
        default=None, description="That cost for each point of macro accuracy above chance; ends from its interval."
    )


class WorstCase(Noun):
    """A pair on which the panel was clear and the judge was clear the other way."""

    criterion: str
    prompt: str | None
    panel_choice: str
    judge_choice: str
    votes: tuple[int, int, int] = Field(description="For the panel's choice, against it, ties.")
    said: str | None = Field(default=None, description="The judge's words, shortened.")
    margin: float | None = Field(default=None, description="Difference of a scorer's two numbers.")


class JudgeFigures(Noun):
    """All that is known about one judge."""

    judge: str
    kind: JudgeKind
    orders: int = Field(description="2; or 1 for one order, or no order at all: no position bias can be given.")
    simulated: bool = False
    signature: str | None = None
    macro: AccuracyFigures
    pooled: AccuracyFigures
    with_ties: Figure | None
    buckets: tuple[BucketFigures, ...] = Field(default=(), description="Over all criteria.")
    says_first: Figure | None = Field(
        default=None,
        description="Of answers naming an item, share that name the one shown first. Not b: one order mixes it with "
        "content.",
    )
    criteria: tuple[CriterionJudged, ...]
    wordings: WordingFigures | None = Field(default=None, description="Over all criteria; a pair keeps one wording.")
    self_agreement: Figure | None = Field(default=None, description="Chance that two samples of a question agree.")
    samples: int = 1
    bands: tuple[BandFigures, ...] = ()
    usage: UsageFigures | None = None
    to_best: Figure | None = Field(default=None, description="Macro accuracy less the best judge's, on shared pairs.")
    worst: tuple[WorstCase, ...] = ()
    worst_of: int = Field(default=0, description="Pairs on which it was clearly against the panel.")


class JudgesAgree(Noun):
    """How often two judges name the same item, where both name one."""

    first: str
    second: str
    agreement: Figure | None
    pairs: int


class Correlation(Noun):
    """Spearman's correlation of two figures over the judges."""

    x: str
    y: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None = None


class PanelFigures(Noun):
    """The people the judges are held against, on one criterion."""

    criterion: str
    name: str
    votes: int
    pairs: int
    tied: int = Field(description="Pairs without a majority: out of every denominator but `with_ties`.")
    raters: str = Field(description="Votes on a pair: '5', or '1 to 7'.")
    next_rater: Figure | None = Field(default=None, description="Accuracy of one more person against this panel.")
    oracle: Figure | None = Field(default=None, description="Accuracy of a predictor that knows every pair's odds.")
    oracle_range: tuple[float, float] | None = None
    no_ceiling: str | None = Field(default=None, description="Why there are no ceilings.")
    signal: str | None = Field(default=None, description="The verdict of `salon check` on these people.")
    sentence: str | None = None


class JudgeReport(Noun):
    """The whole report."""

    format: Literal["salon.judge-report/1"] = FORMAT
    study: str
    simulated: bool
    signature: Signature
    signature_line: str
    level: float
    panel: tuple[PanelFigures, ...]
    judges: tuple[JudgeFigures, ...] = Field(description="Best macro accuracy first.")
    agreement: tuple[JudgesAgree, ...]
    correlations: tuple[Correlation, ...]
    policies: tuple[str, ...]
    warnings: tuple[str, ...] = ()
