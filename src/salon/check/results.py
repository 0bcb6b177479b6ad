"""The settings of a signal check, and what it gives back: the JSON of `salon check --json` and the HTML report.

Flags, help, tables, docs and signatures read titles and descriptions here. Every number that estimates something
carries its interval, its n and how the interval was made. A number that cannot be given is None, with the reason beside
it.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from salon.stats.result import Estimate, Test
from salon.study import Signature
from salon.study.nouns import Format, Noun


class CheckSettings(Noun):
    """How `salon check` works."""

    ties: Literal["random", "stable"] = Field(
        "random",
        description="How ties become strict orders: at random, averaged over repeats; or by item order, the same for "
        "every rater, which creates agreement (only to reproduce papers that did so).",
    )
    tie_repeats: int = Field(20, ge=1, le=1000, description="Random tie-breaks to average over.")
    draws: int = Field(2000, ge=100, le=100_000, description="Bootstrap draws behind every interval.")
    level: float = Field(0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")
    alpha: float = Field(0.05, gt=0, lt=0.5, description="Level of the tests, after Holm's adjustment.")
    smallest_tau: float = Field(
        0.1,
        gt=0,
        lt=1,
        description="The weakest mean tau worth finding; a test without power for it is inconclusive.",
    )
    power: float = Field(0.8, gt=0, lt=1, description="Power that a test needs before it can say no.")
    null_draws: int = Field(200_000, ge=10_000, description="Monte Carlo prompts where no exact null is feasible.")
    flag_from: float = Field(1, description="A flag counts as positive from this level on (1 = at least Minor).")
    most_votes: int = Field(
        2_000_000,
        ge=1_000,
        description="Votes on pairs that ratings of a catalogue may make; where there are more, items are drawn at "
        "random, and the report says how many.",
    )
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance.")


Agree = Literal["yes", "no", "cannot tell"]
Taste = Literal["one taste", "camps", "cannot tell"]
TestName = Literal["agreement", "T", "p_max", "cycle", "pairs"]
MAIN: tuple[TestName, ...] = ("agreement", "pairs")
"""Tests that answer; the others describe."""
ANSWERS: dict[tuple[Agree, Taste | None], str] = {
    ("yes", "one taste"): "yes, one taste",
    ("yes", "camps"): "yes, in camps",
    ("yes", "cannot tell"): "yes; one taste or camps: cannot tell",
    ("no", "camps"): "no, opposed camps",
    ("no", None): "no",
    ("cannot tell", None): "cannot tell",
}
"""The two answers of a verdict in one line: do raters agree more than chance, and as one taste or as camps?"""
FORMAT: Final = "salon.check/2"


class Interval(Noun):
    """Two ends at the report's confidence level; None for one prompt, or where prompts drawn again do not move it."""

    low: float | None
    high: float | None


class Statistics(Noun):
    """The four statistics of agreement, with their intervals under the same names."""

    # A title is what a statistic is called: the terminal, the page and the reference read titles and descriptions here.

    median_T: float | None = Field(
        default=None, title="median T", description="Median over prompts of T, the mean Kendall tau between raters."
    )
    mean_tau: float | None = Field(default=None, title="mean tau", description="Mean over prompts of T.")
    mean_pmax: float | None = Field(
        default=None, title="mean p_max", description="Mean share of the larger side over item pairs."
    )
    cycle_rate: float | None = Field(
        default=None, title="cycle rate", description="Share of prompts whose majority order is intransitive."
    )
    intervals: dict[str, Interval] = Field(
        default_factory=dict, description="Bootstrap interval of each, prompts drawn again."
    )


STATISTICS = {name: field for name, field in Statistics.model_fields.items() if field.title is not None}


class NullFigures(Noun):
    """The same four statistics if every rater ranked at random."""

    median_T: float | None
    mean_tau: float
    mean_pmax: float
    cycle_rate: float | None
    method: str = Field(description="'exact', or 'Monte Carlo, n=...'.")


class ShapeFigures(Noun):
    """Prompts with the same number of items and raters, with their histograms and the null's."""

    items: int
    raters: int
    prompts: int
    null_method: str
    t_support: tuple[float, ...]
    t_counts: tuple[float, ...] = Field(description="Prompts at each value of T (mean over tie-breaks).")
    t_null: tuple[float, ...]
    pmax_support: tuple[float, ...]
    pmax_counts: tuple[float, ...] = Field(description="Item pairs at each value of p_max (mean over tie-breaks).")
    pmax_null: tuple[float, ...]


class TestFigures(Noun):
    """One test of the random-rater null; `refused` says why it was not made."""

    __test__ = False

    name: TestName = Field(
        description="'agreement' (orders) or 'pairs' (votes) answers whether raters agree; the others describe."
    )
    statistic: float | None = None
    p: float | None = None
    p_holm: float | None = Field(
        default=None, description="Adjusted over all criteria; tests that describe are a family of their own."
    )
    p_opposite: float | None = Field(default=None, description="Of the one-sided tests: p that raters agree less.")
    p_opposite_holm: float | None = Field(default=None, description="The same, adjusted over all criteria.")
    p_naive: float | None = Field(default=None, description="Wrong law: pairs of a prompt as if independent.")
    law: str | None = None
    n: int | None = None
    unit: str | None = None
    refused: str | None = None

    @classmethod
    def of(cls, name: TestName, test: Test) -> TestFigures:
        """A kernel's test as part of a report."""
        return cls(
            name=name,
            statistic=test.statistic,
            p=test.p,
            p_naive=test.p_naive,
            p_opposite=test.p_opposite,
            law=test.law,
            n=test.n,
            unit=test.unit,
        )


class CeilingFigures(Noun):
    """What a model can reach against this panel."""

    next_rater: Estimate = Field(
        description="One more rater who names an item, against the panel's majority: a point of its range (a beta "
        "law's where that fits) with the interval of the range."
    )
    oracle: Estimate = Field(
        description="A predictor that knows every pair's true probability: a point of its range, and the range's "
        "interval."
    )
    next_rater_range: tuple[float, float] = Field(
        description="Over all laws of pair odds that fit the splits best, without sampling error. Quote this one."
    )
    oracle_range: tuple[float, float] = Field(description="The same for the oracle. And this one.")
    panel: Estimate = Field(description="Mean of max(v)/R, TASTE's 'LOO': the rater is part of the majority.")
    leave_one_out: Estimate = Field(description="A rater against the majority of the others, ties at half.")
    leave_one_out_dropped: Estimate = Field(description="The same, ties dropped.")
    cap: Estimate = Field(description="TASTE's cap: not a bound.")
    buckets: dict[str, Estimate] = Field(
        description="Share of pairs by split: '4-1', or '4-1 of 5' where panels differ in size."
    )
    pairs: int
    tied_share: float = Field(description="Share of pairs whose majority is a tie; scored as half or left out.")
    left_out: int = Field(description="Pairs with fewer than two votes, left out; a tie names no item and is no vote.")


class StudyCeilings(Noun):
    """All ranking criteria as one: the row of a whole study."""

    criteria: int = Field(description="Criteria with ceilings.")
    mean_panel: float = Field(description="Mean over criteria of the panel ceiling: TASTE's mean LOO.")
    lowest_panel: float = Field(description="The lowest panel ceiling of a criterion.")
    lowest: str = Field(description="Id of that criterion.")
    highest_panel: float = Field(description="The highest panel ceiling of a criterion.")
    highest: str = Field(description="Id of that criterion.")
    pooled: CeilingFigures = Field(description="Ceilings and buckets over all pairs of all criteria.")


class FactionFigures(Noun):
    """One taste or camps: are there groups of raters whose agreement one shared order cannot explain?"""

    p: float | None = Field(
        default=None, description="Chance of such a gap if all raters share one order, whatever their noise."
    )
    p_holm: float | None = None
    power: float | None = Field(default=None, description="Chance that two unrelated camps would show.")
    gap: Estimate | None = Field(
        default=None,
        description="How far the tau between the camps falls below the least that one order allows; at most 0 under "
        "one order. Camps are chosen on other prompts than those that give the gap.",
    )
    split: tuple[tuple[str, ...], tuple[str, ...]] | None = Field(
        default=None, description="The two camps, the larger first; only where the gap is significant."
    )
    within: tuple[float, float] | None = Field(default=None, description="Mean tau within the larger and smaller camp.")
    between: float | None = Field(default=None, description="Mean tau between the camps.")
    least: float | None = Field(
        default=None, description="The least mean tau between the camps that one order allows, given those within."
    )
    law: str | None = None
    refused: str | None = Field(default=None, description="Why one taste and camps cannot be told apart here.")


class RaterAgreement(Noun):
    """Agreement between the raters of one criterion."""

    raters: tuple[str, ...]
    tau: tuple[tuple[float | None, ...], ...] = Field(description="Mean Kendall tau of each pair over prompts.")
    error: tuple[tuple[float | None, ...], ...] = Field(
        description="Standard errors of the same; none for one prompt, or one tau on all prompts."
    )
    prompts: tuple[tuple[int, ...], ...] = Field(description="Prompts behind each cell.")
    mean_tau: dict[str, float | None] = Field(description="Each rater's mean tau to the rest.")
    most_agreeing: tuple[str, str] | None = None
    least_agreeing: tuple[str, str] | None = None
    left_out: int = Field(default=0, description="Raters beyond the most active, left out of the matrix.")


class CriterionFigures(Noun):
    """All that one criterion's answers say."""

    criterion: str
    name: str
    protocol: Literal["rankings", "comparisons", "ratings", "votes"] = Field(title="Answers")
    cohort: str | None = None
    agree: Agree = Field(default="cannot tell", description="Do raters agree more than random raters would?")
    taste: Taste | None = Field(
        default=None, description="If so, as one taste or as camps? Also 'camps' where raters oppose each other."
    )
    sentence: str = Field(default="", description="Both answers in plain words, with the figures behind them.")
    prompts: int
    judgments: int
    statistics: Statistics
    null: NullFigures | None = None
    tests: tuple[TestFigures, ...]
    shapes: tuple[ShapeFigures, ...] = ()
    alpha: Estimate | None = Field(default=None, description="Krippendorff's alpha, ordinal, on the answers.")
    mean_W: Estimate | None = Field(default=None, description="Kendall's W, ties corrected, mean over prompts.")
    pair_agreement: Estimate | None = Field(
        default=None, description="Where no complete orders exist: mean agreement of two votes on a pair, -1 to 1."
    )
    ceilings: CeilingFigures | None = None
    raters: RaterAgreement | None = None
    factions: FactionFigures | None = None
    tie_rate: Annotated[float, Format("percent")] = Field(
        title="Tied pairs", description="Share of item pairs that a rater left tied."
    )
    tie_control: float | None = Field(
        default=None,
        description="With ties=stable: mean tau that the shared tie-break makes of shuffled answers.",
    )
    policies: tuple[str, ...] = Field(description="What was done about ties, gaps and skipped answers.")

    @property
    def answer(self) -> str:
        """The two answers in one line."""
        return ANSWERS[self.agree, self.taste]

    @property
    def signal_strength(self) -> float:
        """Mean tau, or the agreement of two votes where no complete orders exist; -1 where there is neither."""
        if self.statistics.mean_tau is not None:
            return self.statistics.mean_tau
        return -1.0 if self.pair_agreement is None else self.pair_agreement.value

    @property
    def main_test(self) -> TestFigures | None:
        """The test that the first answer rests on; None where it could not be made."""
        return next((test for test in self.tests if test.name in MAIN and test.p is not None), None)


class RaterSummary(Noun):
    """One rater over the whole study."""

    rater: str
    kind: str
    cohort: str | None
    judgments: int
    mean_tau: Estimate | None = Field(
        default=None, title="τ to the rest", description="Mean Kendall tau to the other raters."
    )
    left_rate: Estimate | None = Field(
        default=None, title="Left wins", description="Share of decided comparisons won by the left item."
    )
    tie_rate: Annotated[float | None, Format("percent")] = Field(default=None, title="Ties")
    repeat_agreement: Estimate | None = Field(
        default=None, title="Repeats agree", description="Same answer when asked again."
    )
    intransitive: Estimate | None = Field(
        default=None, title="Intransitive", description="Share of own triples that are intransitive."
    )
    median_seconds: Annotated[float | None, Format("duration")] = Field(default=None, title="Median time")
    longest_run: int | None = Field(
        default=None, title="Longest run", description="Longest run of the same side or value."
    )
    extreme_share: Annotated[float | None, Format("percent")] = Field(
        default=None, title="Extremes", description="Share of ratings at the ends of the scale."
    )
    flags: tuple[str, ...] = ()


class FlagFigures(Noun):
    """Ordinal flags: prevalence, agreement, who splits between which levels."""

    criterion: str
    name: str
    cohort: str | None = Field(default=None, description="Cohort of the raters; null where they have none.")
    items: int = Field(default=0, description="Items with a flag answer.")
    answers: int = Field(default=0, description="Answers: items times raters.")
    levels: tuple[float, ...]
    labels: tuple[str, ...]
    shares: tuple[Estimate, ...]
    alpha: Estimate | None
    positive_from: float
    positive_rate: dict[str, float] = Field(description="Each rater's share of positive flags.")
    top_rate: dict[str, float] = Field(description="Each rater's share of the worst level.")
    splits: dict[str, float] = Field(description="Share of items whose raters use exactly these levels.")
    kappa: Estimate | None


class ProtocolRow(Noun):
    """One diagnostic under both protocols."""

    name: str
    comparisons: Estimate | None
    ratings: Estimate | None
    difference: Estimate | None = Field(default=None, description="Comparisons minus ratings, on the same items.")
    ahead: int | None = Field(default=None, description="Groups in which comparisons come out better.")
    groups: int = Field(default=0, description="Groups it is averaged over: item groups times criteria.")
    note: str | None = None


class ProtocolFigures(Noun):
    """The same raters, items and criterion under comparisons and under ratings."""

    criterion: str | None = Field(description="None: all criteria together.")
    group: str
    items: int
    raters: int
    rows: tuple[ProtocolRow, ...]


class ProtocolRater(Noun):
    """How one rater used both protocols, over the matched criteria."""

    rater: str
    mean_rating: float | None = Field(description="None where criteria have different scales.")
    extreme_share: float | None = Field(description="Share of ratings at the ends of the scale; None without scale.")
    left_rate: float | None = Field(description="Share of decided comparisons won by the left item, where known.")
    tie_rate: float
    displacement: tuple[float, float] = Field(
        description="Mean rank distance to the consensus: comparisons, ratings; mean over groups."
    )
    to_consensus: tuple[float, float] = Field(description="Spearman to the consensus: comparisons, ratings.")


class AnchorFigures(Noun):
    """Another domain's agreement at a stated shape."""

    name: str
    items: int
    raters: int
    median_T: float
    mean_tau: float
    mean_pmax: float
    cycle_rate: float | None
    source: str


class CheckReport(Noun):
    """The whole check."""

    format: Literal["salon.check/2"] = FORMAT
    study: str
    simulated: bool
    design: str
    signature: Signature
    signature_line: str
    level: float
    criteria: tuple[CriterionFigures, ...] = Field(description="Ordered by signal: mean tau, strongest first.")
    together: StudyCeilings | None = Field(
        default=None, description="Ceilings over all criteria together; null with fewer than two."
    )
    raters: tuple[RaterSummary, ...]
    flags: tuple[FlagFigures, ...] = ()
    protocols: tuple[ProtocolFigures, ...] = ()
    protocols_together: ProtocolFigures | None = None
    protocol_raters: tuple[ProtocolRater, ...] = ()
    anchors: tuple[AnchorFigures, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: float = Field(description="Time the computation took, reading and hashing the study apart.")


FLAGS_NOT_RANKED = (
    "Flags say what is wrong with an item, so they have no verdict and no ceiling, and Holm does not count them; "
    "name a flag with --criterion to rank items by it."
)


def unranked_flags(report: CheckReport) -> list[str]:
    """Names of the flags that items are not ranked by."""
    ranked = {criterion.criterion for criterion in report.criteria}
    return list(dict.fromkeys(flag.name for flag in report.flags if flag.criterion not in ranked))
