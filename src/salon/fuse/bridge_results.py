"""What a bridge gives back: the JSON of `salon bridge score --json`."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import Field

from salon.study import Score, Scores, Signature
from salon.study.noun import Noun

FORMAT: Final = "salon.bridge/1"


class BridgeRow(Noun):
    """One item under one criterion."""

    item: str = Field(description="Item.")
    criterion: str = Field(description="Criterion.")
    group: str = Field(description="The prompt, category or whole study whose items share one scale.")
    pool: bool = Field(description="Whether it belongs to the pool that carries the scale.")
    value: float = Field(description="Calibrated score.")
    low: float | None = Field(description="Lower end at the report's level, the curve taken as exact; None: no error.")
    high: float | None = Field(description="Upper end.")
    mean: float = Field(description="Posterior mean on the latent scale (pool items: the fit).")
    sd: float | None = Field(description="Posterior standard deviation on the latent scale; None for a pool by Elo.")
    calls: int = Field(description="Answers it rests on; 0 means that it keeps the prior.")


class BridgeScale(Noun):
    """The latent scale of one criterion in one group, and how firm it is."""

    criterion: str = Field(description="Criterion.")
    group: str = Field(description="Group of items.")
    items: int = Field(description="Items on the scale.")
    pool: int = Field(description="Items of the pool.")
    unit: Literal["logit", "elo"] = Field(description="Unit of latent scores.")
    prior_mean: float = Field(description="Mean of the pool's scores, the prior of every placement.")
    prior_sd: float = Field(description="Their standard deviation.")
    tie: float | None = Field(description="nu of Davidson's ties; None where ties count as half wins or are absent.")
    ties: float | None = Field(description="Share of ties among the answers used.")
    pool_error: float | None = Field(description="Median error of the pool's scores; None for Elo.")
    median_sd: float | None = Field(description="Median posterior standard deviation of the placed items.")
    reliability: float | None = Field(
        description="Share of the placed items' variance that is not error: var(mean) / (var(mean) + mean sd^2)."
    )
    outlier_shift: float | None = Field(
        description="Largest change of any calibrated score if the single lowest or highest item were left out: the "
        "range from worst to best item fixes the curve."
    )


class BridgeAccounting(Noun):
    """Where the calls went. One call shows two items once and may answer for every criterion."""

    items: int = Field(description="Items to score.")
    pool: int = Field(description="Items in pools.")
    planned_one_order: int = Field(description="C(N, 2) + (n - N) K, summed over groups.")
    planned_both_orders: int = Field(description="Twice that.")
    exhaustive: int = Field(description="All pairs of a group, in one order.")
    asked: int = Field(description="Calls that the study holds for these items.")
    pool_calls: int = Field(description="Of these, calls within a pool.")
    placement_calls: int = Field(description="Calls of another item with a pool item.")
    other_calls: int = Field(description="Calls without a pool item: not used here.")
    answers: int = Field(description="Answers used, over all criteria.")
    both_bad: int = Field(description="'Both bad' answers: they order nothing, and are left out.")
    no_answer: int = Field(description="Skipped or missing answers, over all criteria.")


class BridgeReport(Noun):
    """The JSON of `salon bridge score --json`."""

    format: Literal["salon.bridge/1"] = Field(FORMAT, description="Name and version of this format.")
    study: str = Field(description="Name of the study.")
    simulated: bool = Field(description="True when no person gave these answers.")
    method: str = Field(description="How the pool was scored.")
    scale: str = Field(description="The calibrated scale in words, such as '1-5'.")
    level: float = Field(description="Level of the intervals.")
    rows: tuple[BridgeRow, ...] = Field(description="Every item under every criterion.")
    scales: tuple[BridgeScale, ...] = Field(description="Every criterion in every group.")
    accounting: BridgeAccounting = Field(description="Where the calls went.")
    unplaced: tuple[str, ...] = Field(description="Items without any answer under some criterion: they keep the prior.")
    incomplete: int = Field(description="Items outside the pool with fewer answers than planned under some criterion.")
    policies: tuple[str, ...] = Field(description="How what is missing was treated.")
    warnings: tuple[str, ...] = Field(description="What a reader must know before quoting these scores.")
    signature: Signature = Field(description="What reproduces these numbers.")
    signature_line: str = Field(description="The same in one line.")

    def as_scores(self) -> Scores:
        """The scores alone; n is the number of answers."""
        values = tuple(
            Score(
                of=row.item, criterion=row.criterion, group=row.group, value=row.value, low=row.low, high=row.high,
                n=row.calls,
            )
            for row in self.rows
        )  # fmt: skip
        return Scores(scale=self.scale, values=values, signature=self.signature)


class BridgeQuestions(Noun):
    """What to ask next, in numbers; the pairs themselves are in the table."""

    stage: Literal["pool", "placement", "done"] = Field(description="What is asked now.")
    pairs: int = Field(description="Calls to make now.")
    asked: int = Field(description="Calls made so far.")
    waiting: int = Field(description="Items outside the pool that still wait for answers.")
    planned_one_order: int = Field(description="Calls of the whole plan in one order, without stopping early.")
    planned_both_orders: int = Field(description="Twice that.")
    signature_line: str = Field(description="What reproduces these questions.")
