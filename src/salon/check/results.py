"""The settings of a signal check, and what it gives back: the JSON of `salon check --json` and the HTML report.

Flags, help, tables, docs and signatures read titles and descriptions here. Every number that estimates something
carries its interval, its n and how the interval was made. A number that cannot be given is None, with the reason beside
it.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from salon.stats import Ceilings, Estimate, Test, TickCeilings
from salon.study import Format, Noun, Signature


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

    low: float | None = Field(description="Lower end.")
    high: float | None = Field(description="Upper end.")


class FourStatistics(Noun):
    """The four statistics of agreement."""

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


class Statistics(FourStatistics):
    """The four statistics of agreement, with their intervals under the same names."""

    intervals: dict[str, Interval] = Field(
        default_factory=dict, description="Bootstrap interval of each, prompts drawn again."
    )


STATISTICS = {name: field for name, field in Statistics.model_fields.items() if field.title is not None}


class NullFigures(FourStatistics):
    """The same four statistics if every rater ranked at random; null where prompts have several shapes, or where
    majorities cannot cycle."""

    method: str = Field(description="'exact', or 'Monte Carlo, n=...'.")


class ShapeFigures(Noun):
    """Prompts with the same number of items and raters, with their histograms and the null's."""

    items: int = Field(description="Items per prompt (p).")
    raters: int = Field(description="Raters per prompt (R).")
    prompts: int = Field(description="Prompts of this shape.")
    null_method: str = Field(description="'exact', or 'Monte Carlo, n=...'.")
    t_support: tuple[float, ...] = Field(description="Values T can take.")
    t_counts: tuple[float, ...] = Field(description="Prompts at each value of T (mean over tie-breaks).")
    t_null: tuple[float, ...] = Field(description="Probability of each value under random raters.")
    pmax_support: tuple[float, ...] = Field(description="Values p_max can take.")
    pmax_counts: tuple[float, ...] = Field(description="Item pairs at each value of p_max (mean over tie-breaks).")
    pmax_null: tuple[float, ...] = Field(description="Probability of each value under random raters.")


class TestFigures(Noun):
    """One test of the random-rater null; `refused` says why it was not made."""

    __test__ = False

    name: TestName = Field(
        description="'agreement' (orders) or 'pairs' (votes) answers whether raters agree; the others describe."
    )
    statistic: float | None = Field(default=None, description="Value of the test statistic.")
    p: float | None = Field(default=None, description="p value under the law that holds.")
    p_holm: float | None = Field(
        default=None, description="Adjusted over all criteria; tests that describe are a family of their own."
    )
    p_opposite: float | None = Field(default=None, description="Of the one-sided tests: p that raters agree less.")
    p_opposite_holm: float | None = Field(default=None, description="The same, adjusted over all criteria.")
    p_naive: float | None = Field(default=None, description="Wrong law: pairs of a prompt as if independent.")
    law: str | None = Field(default=None, description="The null law in words.")
    n: int | None = Field(default=None, description="How many units were tested.")
    unit: str | None = Field(default=None, description="What those units are.")
    refused: str | None = Field(default=None, description="Why the test was not made; then p is null.")

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
    """What can be reached against these people; see `salon check`."""

    next_rater: Annotated[Estimate, Format("estimate", 3)] = Field(
        title="Next rater",
        description="Accuracy of one more person against this panel: a point of its range (a beta law's where that "
        "fits) with the interval of the range.",
    )
    oracle: Annotated[Estimate, Format("estimate", 3)] = Field(
        title="Oracle",
        description="Accuracy of a predictor that knows everyone's odds: a point of its range, and the range's "
        "interval.",
    )
    next_rater_range: tuple[float, float] = Field(
        description="The same over all laws of the odds that fit the votes, without sampling error. Quote this one."
    )
    oracle_range: tuple[float, float] = Field(
        description="The same over all laws of the odds that fit the votes, without sampling error. Quote this one."
    )
    leave_one_out: Annotated[Estimate | None, Format("estimate", 3)] = Field(
        default=None,
        title="Leave one out",
        description="A rater against the majority of the others, whose ties count half.",
    )
    leave_one_out_dropped: Annotated[Estimate | None, Format("estimate", 3)] = Field(
        default=None, title="Ties dropped", description="The same where the others are not tied."
    )
    panel: Annotated[Estimate | None, Format("estimate", 3)] = Field(
        default=None,
        title="Panel",
        description="A rater against a majority that holds the rater (TASTE's 'LOO'): too high, as the rater is in it.",
    )
    cap: Annotated[Estimate | None, Format("estimate", 3)] = Field(
        default=None,
        title="Cap",
        description="TASTE's cap: 1 for majorities of more than one vote, else 1/2. Not a bound.",
    )
    pairs: int | None = Field(default=None, description="Pairs with two votes or more; null for checklists.")
    tied_share: Annotated[float | None, Format("percent", 1)] = Field(
        default=None, title="Tied", description="Share of these without a majority: in no accuracy."
    )
    left_out: int = Field(
        default=0,
        title="Left out",
        description="Pairs (ticks) with fewer than two votes: in no ceiling. A tie names no item and is no vote.",
    )

    @classmethod
    def of(cls, top: Ceilings | TickCeilings | None) -> CeilingFigures | None:
        """A kernel's ceilings as part of a report."""
        if top is None:
            return None
        estimates = ("next_rater", "oracle", "leave_one_out", "leave_one_out_dropped", "panel", "cap")
        plain = ("next_rater_range", "oracle_range", "pairs", "tied_share", "left_out")
        return cls(
            **{name: getattr(top, name, None) for name in estimates},
            **{name: getattr(top, name, None) for name in plain},
        )


class PanelCeilings(CeilingFigures):
    """The ceilings of a panel, with how it splits."""

    buckets: dict[str, Estimate] = Field(
        description="Share of pairs by split: '4-1', or '4-1 of 5' where panels differ in size."
    )


class StudyCeilings(Noun):
    """All ranking criteria as one: the row of a whole study."""

    criteria: int = Field(description="Criteria with ceilings.")
    mean_panel: float = Field(description="Mean over criteria of the panel ceiling: TASTE's mean LOO.")
    lowest_panel: float = Field(description="The lowest panel ceiling of a criterion.")
    lowest: str = Field(description="Id of that criterion.")
    highest_panel: float = Field(description="The highest panel ceiling of a criterion.")
    highest: str = Field(description="Id of that criterion.")
    pooled: PanelCeilings = Field(description="Ceilings and buckets over all pairs of all criteria.")


class FactionFigures(Noun):
    """One taste or camps: are there groups of raters whose agreement one shared order cannot explain?"""

    p: Annotated[float | None, Format("p")] = Field(
        default=None, title="p", description="Chance of such a gap if all raters share one order, whatever their noise."
    )
    p_holm: float | None = Field(default=None, description="Adjusted over the criteria of the report.")
    power: Annotated[float | None, Format("percent", 1)] = Field(
        default=None, title="Power", description="Chance that two unrelated camps would show."
    )
    gap: Estimate | None = Field(
        default=None,
        title="Gap",
        description="How far the tau between the camps falls below the least that one order allows; at most 0 under "
        "one order. Camps are chosen on other prompts than those that give the gap.",
    )
    split: Annotated[tuple[tuple[str, ...], tuple[str, ...]] | None, Format("text")] = Field(
        default=None,
        title="Camps, or why they cannot be told",
        description="The two camps, the larger first; only where the gap is significant.",
    )
    within: Annotated[tuple[float, float] | None, Format("text")] = Field(
        default=None, title="τ\u00a0within", description="Mean tau within the larger and smaller camp."
    )
    between: Annotated[float | None, Format("number")] = Field(
        default=None, title="τ\u00a0between", description="Mean tau between the camps."
    )
    least: Annotated[float | None, Format("number")] = Field(
        default=None,
        title="Least under one order",
        description="The least mean tau between the camps that one order allows, given those within.",
    )
    law: str | None = Field(default=None, description="How the p value was made, and against what the power.")
    refused: str | None = Field(default=None, description="Why the test cannot separate one taste from camps here.")


class RaterAgreement(Noun):
    """Agreement between the raters of one criterion."""

    raters: tuple[str, ...] = Field(
        description="Rater ids, in the order of rows and columns; at most the 24 most active."
    )
    tau: tuple[tuple[float | None, ...], ...] = Field(description="Mean Kendall tau of each pair over prompts.")
    error: tuple[tuple[float | None, ...], ...] = Field(
        description="Standard errors of the same; none for one prompt, or one tau on all prompts."
    )
    prompts: tuple[tuple[int, ...], ...] = Field(description="Prompts behind each cell.")
    mean_tau: dict[str, float | None] = Field(description="Each rater's mean tau to the rest.")
    most_agreeing: tuple[str, str] | None = Field(default=None, description="The two raters with the largest mean tau.")
    least_agreeing: tuple[str, str] | None = Field(
        default=None, description="The two raters with the smallest mean tau."
    )
    left_out: int = Field(default=0, description="Raters beyond the most active, left out of the matrix.")


class CriterionFigures(Noun):
    """All that one criterion's answers say."""

    criterion: str = Field(description="Id of the criterion.")
    name: str = Field(title="Criterion", description="Its name, or its id.")
    protocol: Literal["rankings", "comparisons", "ratings", "votes"] = Field(
        title="Answers", description="What the orders were made from; `votes` when there are no complete orders."
    )
    cohort: str | None = Field(
        default=None, title="Cohort", description="The cohort all its raters belong to, if there is one."
    )
    agree: Agree = Field(default="cannot tell", description="Do raters agree more than random raters would?")
    taste: Taste | None = Field(
        default=None, description="If so, as one taste or as camps? Also 'camps' where raters oppose each other."
    )
    sentence: str = Field(default="", description="Both answers in plain words, with the figures behind them.")
    prompts: int = Field(description="Prompts that enter the statistics.")
    judgments: int = Field(description="Complete answers (orders, or single votes) behind the figures.")
    statistics: Statistics = Field(description="The four statistics of agreement.")
    null: NullFigures | None = Field(
        default=None, description="The statistics under random raters; null where there are no complete orders."
    )
    tests: tuple[TestFigures, ...] = Field(
        description="Tests of random raters: T, p_max and cycle, or pairs for votes."
    )
    shapes: tuple[ShapeFigures, ...] = Field(
        default=(), description="Histograms, one entry for each number of items and raters."
    )
    alpha: Estimate | None = Field(
        default=None, title="Krippendorff's α", description="Krippendorff's alpha, ordinal, on the answers."
    )
    mean_W: Estimate | None = Field(
        default=None, title="Kendall's W", description="Kendall's W, ties corrected, mean over prompts."
    )
    pair_agreement: Estimate | None = Field(
        default=None,
        title="Agreement of two votes",
        description="Where no complete orders exist: mean agreement of two votes on a pair, -1 to 1.",
    )
    ceilings: PanelCeilings | None = Field(
        default=None, description="What a model can reach against this panel; null where no pair has two votes."
    )
    raters: RaterAgreement | None = Field(
        default=None, description="Agreement of every two raters; null where raters are unknown."
    )
    factions: FactionFigures | None = Field(
        default=None, description="One shared order, or several; null where there are no complete orders."
    )
    tie_rate: Annotated[float, Format("percent")] = Field(
        title="Tied pairs", description="Share of item pairs that a rater left tied."
    )
    tie_control: Annotated[float | None, Format("number")] = Field(
        default=None,
        title="Made by tie-break",
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

    rater: str = Field(title="Rater", description="Id of the rater.")
    kind: str = Field(description="`person` or `model`.")
    cohort: str | None = Field(description="The rater's cohort.")
    judgments: int = Field(description="Answers given, all kinds together.")
    mean_tau: Estimate | None = Field(
        default=None, title="τ to the rest", description="Mean Kendall tau to the other raters."
    )
    left_rate: Estimate | None = Field(
        default=None, title="Left wins", description="Share of decided comparisons won by the left item."
    )
    tie_rate: Annotated[float | None, Format("percent")] = Field(
        default=None, title="Ties", description="Share of comparisons called a tie."
    )
    repeat_agreement: Estimate | None = Field(
        default=None, title="Repeats agree", description="Same answer when asked again."
    )
    intransitive: Estimate | None = Field(
        default=None, title="Intransitive", description="Share of own triples that are intransitive."
    )
    median_seconds: Annotated[float | None, Format("duration")] = Field(
        default=None, title="Median time", description="Median time of an answer, where times are known."
    )
    longest_run: int | None = Field(
        default=None, title="Longest run", description="Longest run of the same side or value."
    )
    extreme_share: Annotated[float | None, Format("percent")] = Field(
        default=None, title="Extremes", description="Share of ratings at the ends of the scale."
    )
    flags: Annotated[tuple[str, ...], Format("badge")] = Field(
        default=(), title="Flags", description="What should be looked at, in words. A flag means look, never remove."
    )


class FlagFigures(Noun):
    """Ordinal flags: prevalence, agreement, who splits between which levels."""

    criterion: str = Field(description="Id of the criterion.")
    name: str = Field(description="Its name, or its id.")
    cohort: str | None = Field(default=None, description="Cohort of the raters; null where they have none.")
    items: int = Field(default=0, description="Items with a flag answer.")
    answers: int = Field(default=0, description="Answers: items times raters.")
    levels: tuple[float, ...] = Field(description="The levels of the scale.")
    labels: tuple[str, ...] = Field(description="Names of the levels.")
    shares: tuple[Estimate, ...] = Field(description="Share of each level among all answers.")
    alpha: Estimate | None = Field(description="Krippendorff's alpha, ordinal.")
    positive_from: float = Field(description="A flag counts as positive from this level on.")
    positive_rate: dict[str, float] = Field(description="Each rater's share of positive flags.")
    top_rate: dict[str, float] = Field(description="Each rater's share of the worst level.")
    splits: dict[str, float] = Field(description="Share of items whose raters use exactly these levels.")
    kappa: Estimate | None = Field(
        description="Fleiss' kappa; null where items have different numbers of answers and it cannot be given."
    )


class ProtocolRow(Noun):
    """One diagnostic under both protocols."""

    name: str = Field(title="Diagnostic", description="Name of the diagnostic.")
    comparisons: Estimate | None = Field(description="Its value under comparisons (each rater's Elo ranking).")
    ratings: Estimate | None = Field(description="Its value under ratings.")
    difference: Estimate | None = Field(default=None, description="Comparisons minus ratings, on the same items.")
    ahead: Annotated[int | None, Format("number", 0)] = Field(
        default=None, title="Ahead", description="Groups in which comparisons come out better."
    )
    groups: Annotated[int, Format("number", 0)] = Field(
        default=0, title="Groups", description="Groups it is averaged over: item groups times criteria."
    )
    note: str | None = Field(default=None, description="A caution.")


class ProtocolFigures(Noun):
    """The same raters, items and criterion under comparisons and under ratings."""

    criterion: str | None = Field(description="None: all criteria together.")
    group: str = Field(description="Over how many groups of items.")
    items: int = Field(description="Items that were both rated and compared.")
    raters: int = Field(description="Raters who did both for all of them.")
    rows: tuple[ProtocolRow, ...] = Field(description="The diagnostics.")


class ProtocolRater(Noun):
    """How one rater used both protocols, over the matched criteria."""

    rater: str = Field(title="Rater", description="Id of the rater.")
    mean_rating: Annotated[float | None, Format("number", 2)] = Field(
        title="Mean rating", description="None where criteria have different scales."
    )
    extreme_share: Annotated[float | None, Format("percent")] = Field(
        title="Extreme ratings", description="Share of ratings at the ends of the scale; None without scale."
    )
    left_rate: Annotated[float | None, Format("percent")] = Field(
        title="Left wins", description="Share of decided comparisons won by the left item, where known."
    )
    tie_rate: Annotated[float, Format("percent")] = Field(
        title="Ties", description="Share of comparisons that ended in a tie."
    )
    displacement: tuple[float, float] = Field(
        description="Mean rank distance to the consensus: comparisons, ratings; mean over groups."
    )
    to_consensus: tuple[float, float] = Field(description="Spearman to the consensus: comparisons, ratings.")


class AnchorFigures(Noun):
    """Another domain's agreement at a stated shape."""

    name: str = Field(title="Reference anchor", description="What the other data set is called.")
    items: int = Field(description="Items per draw (p).")
    raters: int = Field(description="Raters per draw (R).")
    median_T: float = Field(description="As in `Statistics`.")
    mean_tau: float = Field(description="As in `Statistics`.")
    mean_pmax: float = Field(description="As in `Statistics`.")
    cycle_rate: float | None = Field(description="As in `Statistics`.")
    source: str = Field(
        title="Source", description="Where the numbers come from: a paper's table, or the signature of `salon anchor`."
    )


class CheckReport(Noun):
    """The whole check."""

    format: Literal["salon.check/2"] = Field(default=FORMAT, description="Name and version of this form.")
    study: str = Field(description="Name of the study.")
    simulated: bool = Field(description="True when no person gave the answers.")
    design: str = Field(description="How questions and raters were chosen, in words.")
    signature: Signature = Field(description="What reproduces these numbers.")
    signature_line: str = Field(description="The same as one line.")
    level: float = Field(description="Confidence level of all intervals.")
    criteria: tuple[CriterionFigures, ...] = Field(description="Ordered by signal: mean tau, strongest first.")
    together: StudyCeilings | None = Field(
        default=None, description="Ceilings over all criteria together; null with fewer than two."
    )
    raters: tuple[RaterSummary, ...] = Field(description="One row for each rater, most judgments first; at most 500.")
    flags: tuple[FlagFigures, ...] = Field(
        default=(),
        description="One entry for every flag and cohort of raters; flags are not in `criteria` unless named.",
    )
    protocols: tuple[ProtocolFigures, ...] = Field(
        default=(), description="One entry for every criterion that was both rated and compared."
    )
    protocols_together: ProtocolFigures | None = Field(
        default=None, description="The same over all criteria; absent with fewer than two."
    )
    protocol_raters: tuple[ProtocolRater, ...] = Field(default=(), description="How each rater used both protocols.")
    anchors: tuple[AnchorFigures, ...] = Field(
        default=(), description="Other domains' agreement at a shape that occurs in the study."
    )
    warnings: tuple[str, ...] = Field(default=(), description="What a reader must know before using the numbers.")
    seconds: float = Field(description="Time the computation took, reading and hashing the study apart.")


FLAGS_NOT_RANKED = (
    "Flags say what is wrong with an item, so they have no verdict and no ceiling, and Holm does not count them; "
    "name a flag with --criterion to rank items by it."
)


def unranked_flags(report: CheckReport) -> list[str]:
    """Names of the flags that items are not ranked by."""
    ranked = {criterion.criterion for criterion in report.criteria}
    return list(dict.fromkeys(flag.name for flag in report.flags if flag.criterion not in ranked))
