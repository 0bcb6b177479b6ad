"""The settings and the results of a fusion: flags, help, docs, signatures and the JSON of `salon fuse --json`.

Every score carries its interval and what it rests on. A number that cannot be given is None, with the reason beside it.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, get_args

import pyarrow as pa
from pydantic import AfterValidator, Field

from salon.stats import GraphShape, described, result
from salon.study import Format, Noun, Score, Scores, Signature, find_plugin

Method = Literal[
    "anchored-elo",
    "anchored-davidson",
    "bradley-terry",
    "davidson",
    "rao-kupper",
    "thurstone",
    "crowd",
    "plackett-luce",
    "elo",
    "mean",
    "shrunk-mean",
    "median",
    "z-score",
    "sureal",
    "offset-scale",
]
Cluster = Literal["answer", "rater", "prompt", "both"]

ANCHORED: tuple[Method, ...] = ("anchored-elo", "anchored-davidson")
PAIRED: tuple[Method, ...] = ("bradley-terry", "davidson", "rao-kupper", "thurstone")
RATED: tuple[Method, ...] = ("mean", "shrunk-mean", "median", "z-score", "sureal", "offset-scale")


def _known_plugin(word: str) -> str:
    if find_plugin("fits", word, ("auto", *get_args(Method))) is None:
        raise ValueError(f"no method or installed fit {word!r}")
    return word


PluginWord = Annotated[str, AfterValidator(_known_plugin)]
"""The name of a plugin: see `fits.Fit`."""


class FuseSettings(Noun):
    """How `salon fuse` works."""

    method: Literal["auto", Method] | PluginWord = Field(
        "auto",
        description="How judgments become scores; auto: anchored-davidson where items are compared and rated, else "
        "davidson or bradley-terry (ties or none), plackett-luce for rankings, mean for ratings, shrunk-mean for "
        "ratings of ten items or more where some have twice as many as others. A fit of another package is named as it "
        "is installed, one of your own as python:MODULE:NAME.",
        json_schema_extra={"plugins": "fits"},
    )
    by: Literal["auto", "item", "generator"] = Field(
        "auto",
        description="Score items, or the generators that made them; auto: generators where items of most prompts were "
        "compared once or are not connected, as in an arena, else items.",
    )
    split: Literal["none", "category"] = Field(
        "none", description="With --by generator: one scale for the whole study, or one for each category."
    )
    prior: float | None = Field(
        None,
        gt=0,
        le=100,
        description="Standard deviation of a normal prior on latent scores, in logits: undefeated items and islands "
        "then get finite scores. Without it, data that cannot determine the scores are an error; method auto takes 3 "
        "there, and says so.",
    )
    cluster: Literal["auto", Cluster] = Field(
        "auto",
        description="What would be drawn anew if the study were repeated: answer (these raters, new answers), rater "
        "(other raters), prompt (other prompts) or both; auto: of generators both from three raters and five prompts "
        "on; of items rater from five raters on, else answer; ratings of items always rater, crowd answer.",
    )
    interval: Literal["auto", "sandwich", "bootstrap", "jackknife"] = Field(
        "auto",
        description="How errors are made; auto: sandwich for methods with a likelihood, else jackknife over clusters.",
    )
    level: float = Field(0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")
    draws: int = Field(1000, ge=100, le=100_000, description="Bootstrap draws, where asked for.")
    ranks: Literal["simultaneous", "marginal"] = Field(
        "simultaneous", description="Rank intervals that hold for all items at once, or for each alone."
    )
    both_bad: Literal["exclude", "tie"] = Field(
        "exclude", description="'Both bad' answers order nothing: left out and counted, or taken as ties."
    )
    calibration: Literal["pooled", "group"] = Field(
        "pooled", description="One curve from latent scores to the rating scale for all groups, or one for each."
    )
    anchors_each: int = Field(
        2, ge=1, description="Rating anchors at each level; a large number takes every item of the middle levels."
    )
    anchor_center: Literal["mean", "median"] = Field(
        "mean", description="The rating anchors' target: the mean of their ratings, or the median."
    )
    gap: float = Field(400.0, gt=0, le=5000, description="Elo points between adjacent rating levels.")
    tau: float | None = Field(
        None, gt=0, le=5000, description="Elo points per logit; PPaint does not say  [default: 400 / ln 10]"
    )
    pull: float = Field(0.15, ge=0, le=1, description="How far each Elo pass pulls rating anchors to their targets.")
    elo: Literal["settled", "last-pass"] = Field(
        "settled",
        description="Elo's result: the mean over the second half of the passes, with a pull that falls as the steps "
        "do; or PPaint's rule, a constant pull and the last pass.",
    )
    penalty: float = Field(0.1, ge=0, description="Weight of the rating anchors in anchored Davidson.")
    passes: int = Field(150, ge=1, le=10_000, description="Elo passes over all comparisons.")
    shuffles: int = Field(1, ge=1, le=1000, description="Seeded Elo runs to average.")
    tie_margin: float = Field(
        0.0, ge=0, description="With --compare: scores closer than this count as the decision 'tie'."
    )
    seed: int = Field(42, ge=0, description="Seed of everything drawn by chance.")


# -- results -----------------------------------------------------------------------------------------------------------

FORMAT: Final = "salon.fuse/1"


class ScoreRow(Noun):
    """One item (or generator) under one criterion."""

    item: str | None = Field(default=None, description="Item; None when generators are scored.")
    generator: str | None = Field(default=None, description="Generator; None when items are scored.")
    criterion: str = Field(description="Id of the criterion.")
    group: str = Field(description="The prompt, category or whole study within which items are compared.")
    value: float = Field(description="The score: always the fit itself, never a bootstrap median.")
    low: float | None = Field(description="Lower end at the report's level; None where no error can be given.")
    high: float | None = Field(description="Upper end.")
    error: float | None = Field(description="Standard error of the value (by the slope of the curve if calibrated).")
    latent: float = Field(description="The score on the method's own scale, before calibration.")
    latent_error: float | None = Field(description="Its standard error.")
    n: int = Field(title="n", description="Judgments that name it.")
    rank: int = Field(description="1 = best of its group and criterion.")
    rank_low: int | None = Field(description="Best rank it may hold at the report's level.")
    rank_high: int | None = Field(description="Worst rank it may hold.")
    tier: int | None = Field(
        title="Tier", description="1 = does not differ significantly from the best; then the best of the rest."
    )
    rating_anchor: bool = Field(default=False, description="Whether its ratings tie the latent scale to the ratings.")


@result
class GraphFigures(GraphShape):
    """Health of one group's comparison graph."""

    compared: int = described("Items that were compared at least once.")
    undefeated: tuple[str, ...] = described("Never lost nor tied: finite scores need a prior.", title="Never lost")
    winless: tuple[str, ...] = described("Never won nor tied: finite scores need a prior.", title="Never won")


class PairResidual(Noun):
    """A pair that the fit explains badly."""

    first: str = Field(description="One item.")
    second: str = Field(title="Against", description="The other.")
    n: Annotated[float, Format("number", 0)] = Field(title="Answers", description="Answers on the pair.")
    observed: Annotated[float, Format("percent", 1)] = Field(
        title="Won", description="Share of wins of the first, ties half."
    )
    expected: Annotated[float, Format("percent", 1)] = Field(
        title="Expected", description="The same share as the fit has it."
    )
    z: Annotated[float, Format("number", 2)] = Field(title="z", description="Standardised residual under the model.")


class AnchorFigure(Noun):
    """A rating anchor: an item whose ratings agree so well that it ties the latent scale to the ratings."""

    item: str = Field(title="Rating anchor", description="Id of the item.")
    criterion: str = Field(description="Id of the criterion.")
    group: str = Field(description="Its group.")
    level: Annotated[float, Format("number", 0)] = Field(title="Level", description="The rating level it stands for.")
    target: Annotated[float, Format("number", 2)] = Field(
        title="Ratings", description="Mean (or median) of its ratings."
    )
    spread: Annotated[float, Format("number", 2)] = Field(
        title="Spread", description="Standard deviation of its ratings over raters."
    )
    latent: Annotated[float, Format("number", 2)] = Field(
        title="Latent", description="Its score on the method's own scale."
    )
    fitted: Annotated[float, Format("number", 2)] = Field(
        title="On the curve", description="Its score on the calibrated curve."
    )


class GroupFigures(Noun):
    """One criterion in one group: what went in, and how the fit went."""

    criterion: str = Field(description="Id of the criterion.")
    group: str = Field(description="The prompt, category or study whose items share a scale.")
    items: int = Field(title="Items", description="Items (or generators) that are scored.")
    raters: int = Field(title="Raters", description="Raters who answered.")
    comparisons: int = Field(title="Comparisons", description="Comparisons used.")
    rankings: int = Field(title="Rankings", description="Rankings used.")
    ratings: int = Field(title="Ratings", description="Ratings used.")
    ties: Annotated[float | None, Format("percent", 1)] = Field(
        title="Ties", description="Share of ties among the comparisons used."
    )
    both_bad: int = Field(title="Both bad", description="Answers 'both bad'.")
    repeats: int = Field(title="Repeats", description="Repeated answers, left out.")
    graph: GraphFigures | None = Field(description="Health of the comparison graph; null without comparisons.")
    solver: str = Field(title="Found by", description="How the fit was found.")
    iterations: int = Field(title="Steps", description="Steps of the solver.")
    gradient: float | None = Field(description="Largest slope left at the end; None for methods without one.")
    log_likelihood: Annotated[float | None, Format("number", 1)] = Field(
        title="Log-likelihood", description="Of the fit; null for methods without one."
    )
    tie: Annotated[float | None, Format("number", 3)] = Field(
        title="Tie parameter", description="Tie parameter: nu (Davidson) or theta (Rao-Kupper)."
    )
    tie_error: float | None = Field(description="Its standard error, where there is one.")
    fit_p: Annotated[float | None, Format("p")] = Field(
        title="p of the fit", description="Does the model fit? Pearson chi-square over pairs; None above 20,000."
    )
    worst_pairs: tuple[PairResidual, ...] = Field(description="The pairs that the fit explains worst, at most ten.")
    rating_anchors: int = Field(description="Rating anchors chosen.")
    missing_levels: tuple[float, ...] = Field(description="Rating levels without a rating anchor.")
    alike: tuple[tuple[str, ...], ...] = Field(description="Runs of items that do not differ significantly.")
    errors: str = Field(title="Errors", description="How the errors were made.")
    df: Annotated[float | None, Format("number", 0)] = Field(
        title="df", description="Degrees of freedom of the errors; None = normal."
    )


class RaterFit(Noun):
    """How one rater's answers go with the fit."""

    rater: str = Field(title="Rater", description="Id of the rater.")
    answers: int = Field(title="Answers", description="Answers of the rater in these groups.")
    agreement: Annotated[float | None, Format("percent", 1)] = Field(
        title="Agrees", description="Decided answers that go with the higher score."
    )
    expected_agreement: Annotated[float | None, Format("percent", 1)] = Field(
        title="Expected", description="What the model expects on the same pairs."
    )
    z: Annotated[float | None, Format("number", 2)] = Field(
        title="z", description="Surprise of the answers; far below zero: unlike the others."
    )
    reliability: Annotated[float | None, Format("number", 3)] = Field(
        None, title="Reliability", description="Chance that an answer is meant as given."
    )
    reliability_error: float | None = Field(None, description="Its standard error.")
    left_bias: Annotated[float | None, Format("number", 3)] = Field(
        None, title="Left bias", description="Pull to the left item, in logits."
    )
    left_bias_error: float | None = Field(None, description="Its standard error.")
    offset: Annotated[float | None, Format("number", 3)] = Field(
        None, title="Offset", description="Mean shift of ratings against the panel."
    )
    gain: Annotated[float | None, Format("number", 3)] = Field(
        None, title="Gain", description="Stretch of ratings against the panel; one: as the panel."
    )
    inconsistency: Annotated[float | None, Format("number", 3)] = Field(
        None, title="Noise", description="Noise of the rater's ratings."
    )


class CurveFigures(Noun):
    """A calibration curve: score = low + (high - low) / (1 + exp(-(a latent + b)))."""

    group: str | None = Field(description="None: one curve for all groups.")
    criterion: str | None = Field(description="Id of the criterion; null: one curve for all.")
    a: Annotated[float, Format("number", 4)] = Field(title="a", description="Steepness of the curve.")
    b: Annotated[float, Format("number", 3)] = Field(title="b", description="Level of the curve.")
    a_error: float | None = Field(description="Its standard error; null where two rating anchors fix the curve.")
    b_error: float | None = Field(description="Its standard error.")
    residual: Annotated[float, Format("number", 3)] = Field(
        title="Residual", description="Root mean square distance of the rating anchors to the curve."
    )
    anchors: int = Field(title="Rating anchors", description="Rating anchors it was fitted to.")


class MethodPair(Noun):
    """Two methods, averaged over groups."""

    first: str = Field(title="Method", description="One method.")
    second: str = Field(title="Against", description="The other.")
    srcc: Annotated[float | None, Format("number", 4)] = Field(
        title="SRCC", description="Spearman's rank correlation; null where one gives all items one score."
    )
    plcc: Annotated[float | None, Format("number", 4)] = Field(
        title="PLCC", description="Pearson's correlation; null where one gives all items one score."
    )
    mae: Annotated[float, Format("number", 3)] = Field(
        title="MAE", description="Mean absolute difference of the scores, on the rating scale."
    )
    decisions: Annotated[float, Format("percent", 1)] = Field(
        title="Decisions", description="Share of item pairs on which both decide alike."
    )
    ks_pass: int = Field(
        title="KS pass", description="Groups whose two score distributions pass Kolmogorov-Smirnov at p > .05."
    )
    groups: int = Field(description="Groups averaged over.")
    srcc_low: Annotated[float | None, Format("number", 4)] = Field(
        title="Lowest SRCC", description="Lowest rank correlation of any group."
    )


class GapRow(Noun):
    """Anchored Elo with one gap and curve, against anchored Davidson."""

    calibration: Literal["pooled", "group"] = Field(
        title="Curve", description="One curve for all groups, or one for each."
    )
    gap: Annotated[float, Format("count")] = Field(
        title="Gap", description="Elo points between adjacent rating levels."
    )
    agreement: MethodPair = Field(description="Anchored Elo against anchored Davidson under this setting.")


class CompareFigures(Noun):
    """The cross-method table of `salon fuse --compare`."""

    pairs: tuple[MethodPair, ...] = Field(
        description="Every two of anchored and plain Elo and Davidson, averaged over groups."
    )
    by_group: tuple[MethodPair, ...] = Field(description="Anchored Elo against anchored Davidson, group by group.")
    group_names: tuple[tuple[str, str], ...] = Field(description="Criterion and group of each row of by_group.")
    gaps: tuple[GapRow, ...] = Field(
        description="Anchored Elo with other gaps and curves, each against anchored Davidson."
    )
    tie_margin: float = Field(description="Scores closer than this count as the decision 'tie'.")


class FuseReport(Noun):
    """The JSON of `salon fuse --json`."""

    format: Literal["salon.fuse/1"] = Field(FORMAT, description="Name and version of this form.")
    study: str = Field(description="Name of the study.")
    simulated: bool = Field(description="True when no person gave the answers.")
    method: str = Field(description="The method, as `--method` names it.")
    by: Literal["item", "generator"] = Field(description="What is scored.")
    scale: str = Field(description="Named in words: 'logit', 'elo', '1-5'.")
    scale_low: float | None = Field(description="Lower end of the scale; null where it has none.")
    scale_high: float | None = Field(description="Upper end of the scale; null where it has none.")
    level: float = Field(description="Confidence level of all intervals.")
    cluster: str = Field(description="What the intervals take as drawn anew.")
    scores: tuple[ScoreRow, ...] = Field(description="The scores, group by group, the best first.")
    groups: tuple[GroupFigures, ...] = Field(description="One entry for each criterion in each group.")
    raters: tuple[RaterFit, ...] = Field(description="One entry for each rater who answered.")
    rating_anchors: tuple[AnchorFigure, ...] = Field(description="The items that tie the latent scale to the ratings.")
    curves: tuple[CurveFigures, ...] = Field(description="Calibration curves; empty where nothing was calibrated.")
    compare: CompareFigures | None = Field(None, description="The cross-method table; null without --compare.")
    policies: tuple[str, ...] = Field(description="What was done with every kind of answer.")
    warnings: tuple[str, ...] = Field(description="What a reader must know before using the numbers.")
    signature: Signature = Field(description="What reproduces these numbers.")
    signature_line: str = Field(description="The same as one line.")
    seconds: float = Field(description="Time the computation took.")

    def as_scores(self) -> Scores:
        """The scores alone."""
        values = tuple(
            Score(
                of=row.item or row.generator or "",
                criterion=row.criterion,
                group=row.group,
                value=row.value,
                error=row.error,
                low=row.low,
                high=row.high,
                n=row.n,
            )
            for row in self.scores
        )
        return Scores(scale=self.scale, by=self.by, values=values, signature=self.signature)

    def table(self) -> pa.Table:
        """The scores as columns, scale and signature in every row so that no row loses them."""
        unused = "generator" if self.by == "item" else "item"
        beside = {"scale": self.scale, "signature": self.signature_line}
        return pa.Table.from_pylist([row.model_dump(exclude={unused}) | beside for row in self.scores])
