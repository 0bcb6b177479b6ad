"""Everything a fusion can be told, described once: flags, help, docs and signatures read it here."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field

from salon.study.noun import Noun
from salon.study.plugins import find_plugin

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
"""The name of a plugin: see `own_fit`."""


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
        "then get finite scores. Without it, data that cannot identify the scores are an error; method auto takes 3 "
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
