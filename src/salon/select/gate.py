"""A gate: holds back items that a scorer finds dangerous, at a threshold whose recall was promised on held-out data.

    danger = the score, or minus the score where higher is better
    held   = danger at or above the threshold; an item without a score is always held

The threshold comes from `salon.stats.recall_bound`: with confidence c the true recall is at least r, for new items that
are like the held-out ones. Precision is what that costs, and is stated with its interval, not promised. A gate is a
small JSON file with everything one has to know before using it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from salon.errors import BadValue, NotIdentified, StatsError, TooFew
from salon.select.settings import GateSettings
from salon.select.weights import ScorerColumn, SealedRecord, read_sealed
from salon.stats import Estimate, RecallThreshold, positives_needed, recall_threshold
from salon.study import Noun, Signature

GATE_FORMAT: Final = "salon.gate/1"
OTHER_RECALLS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Recalls of the cost table, beside the one asked for."""
UNSCORED_POLICY = "an item without a score is held back, in the held-out data and in use"


class GateRow(Noun):
    """What one recall costs."""

    recall: float = Field(description="Promised.")
    threshold: float | None = Field(description="In the scorer's own numbers; null where data are too few.")
    expected: Estimate | None = Field(None, description="The true recall: its mean and the middle of its law.")
    precision: Estimate | None = Field(None, description="Of those held, the share that is flagged.")
    held: Estimate | None = Field(None, description="Share of all items that is held back.")
    missed: float | None = Field(None, description="Flagged items that pass, in 1,000 items.")
    held_good: float | None = Field(None, description="Good items held back, in 1,000 items.")
    cost: float | None = Field(None, description="Of 1,000 items; null unless both costs were given.")
    needed: int | None = Field(None, description="Positives that this promise needs, where there are too few.")


class Gate(SealedRecord):
    """A threshold with its promise."""

    format: Literal["salon.gate/1"] = GATE_FORMAT
    criterion: str
    scorer: str = Field(description="As it is named on the command line.")
    column: ScorerColumn
    holds: Literal["above", "below"] = Field(description="Held: at or above the threshold, or at or below it.")
    threshold: float = Field(description="In the scorer's own numbers.")
    promise: str = Field(description="What is guaranteed, in one sentence.")
    settings: GateSettings
    row: GateRow = Field(description="What it does to items like the held-out ones.")
    table: tuple[GateRow, ...]
    positives: int
    negatives: int
    unscored: int = Field(description="Held-out items without a score: taken as held.")
    study: str
    simulated: bool = False
    left_out: dict[str, int] = Field(default_factory=dict, description="Items not used, by reason.")
    missing: str = UNSCORED_POLICY
    notes: tuple[str, ...] = ()
    signature: Signature

    def held(self, value: float | None) -> bool:
        """Whether an item with this score is held back; always, without a score."""
        if value is None or not math.isfinite(value):
            return True
        return value >= self.threshold if self.holds == "above" else value <= self.threshold

    def decide(self, items: Sequence[str], values: Sequence[float | None]) -> tuple[GateDecision, ...]:
        """What becomes of items with these scores."""
        if len(items) != len(values):
            raise BadValue("a score for each item is needed", found=f"{len(values)} for {len(items)}")
        return tuple(self._gated(item, value) for item, value in zip(items, values))

    def _gated(self, item: str, value: float | None) -> GateDecision:
        is_scored = value is not None and math.isfinite(value)
        why = "no score" if not is_scored else f"{value:.4g} is {self._side(float(value or 0))} {self.threshold:.4g}"
        return GateDecision(item=item, held=self.held(value), value=value if is_scored else None, why=why)

    def _side(self, value: float) -> str:
        return "at" if value == self.threshold else "above" if value > self.threshold else "below"


class GateDecision(Noun):
    """What a gate did with one item."""

    item: str
    held: bool
    value: float | None
    why: str


def make_gate(
    criterion: str,
    scorer: str,
    column: ScorerColumn,
    values: ArrayLike,
    positive: ArrayLike,
    settings: GateSettings,
    *,
    study: str,
    data: str,
    units: ArrayLike | None = None,
    simulated: bool = False,
    left_out: dict[str, int] | None = None,
    notes: Sequence[str] = (),
) -> Gate:
    """The gate that held-out `values` (NaN: no score) with their labels allow; TooFew where they promise nothing."""
    score, y = np.array(values, dtype=np.float64), np.asarray(positive, dtype=bool)
    danger = np.where(np.isfinite(score), -score if column.higher_is_better else score, np.inf)
    holding = _holding(danger, y, settings.recall, settings, units)
    if not math.isfinite(holding.threshold):
        counts = f"{int(np.isinf(danger[y]).sum())} of {int(y.sum())} have none"
        raise NotIdentified("flagged items with scores are needed", found=counts, where=scorer)
    sign = -1 if column.higher_is_better else 1
    recalls = sorted({*OTHER_RECALLS, settings.recall})
    what = "of the flagged items are found"
    if settings.unit == "prompt":
        what = "of the prompts with flagged items have all of these found"
    sure = "On average" if settings.sure is None else f"With confidence {settings.confidence:g}"
    n = holding.recall.n
    promise_text = (
        f"{sure}, at least {settings.recall:g} {what}, for new items drawn as these were "
        f"(exact, from {n:,} flagged {settings.unit}s)."
    )
    fields = {name: value for name, value in settings if name != "seed"}
    gate_signature = Signature(
        method="select-gate", data=data, settings={**fields, "scorer": scorer}, seed=settings.seed
    )
    return Gate(
        criterion=criterion, scorer=scorer, column=column, holds="below" if column.higher_is_better else "above",
        threshold=sign * holding.threshold, promise=promise_text, settings=settings,
        row=_row(holding, settings.recall, sign, settings),
        table=tuple(_table_row(danger, y, recall, sign, settings, units) for recall in recalls),
        positives=int(y.sum()), negatives=int((~y).sum()), unscored=int(np.isinf(danger).sum()), study=study,
        simulated=simulated, left_out=left_out or {}, notes=tuple(notes), signature=gate_signature,
    )  # fmt: skip


def _holding(
    danger: NDArray[np.float64], y: NDArray[np.bool_], recall: float, settings: GateSettings, units: ArrayLike | None
) -> RecallThreshold:
    return recall_threshold(
        danger, y, recall=recall, confidence=settings.sure, level=settings.level, units=units,
        rng=np.random.default_rng([settings.seed, 12]),
    )  # fmt: skip


def _table_row(
    danger: NDArray[np.float64],
    y: NDArray[np.bool_],
    recall: float,
    sign: int,
    settings: GateSettings,
    units: ArrayLike | None,
) -> GateRow:
    try:
        holding = _holding(danger, y, recall, settings, units)
    except TooFew:
        return GateRow(recall=recall, threshold=None, needed=positives_needed(recall, settings.sure))
    except StatsError:  # pragma: no cover - every other fault was found for the recall asked for
        return GateRow(recall=recall, threshold=None)
    return _row(holding, recall, sign, settings)


def _row(holding: RecallThreshold, recall: float, sign: int, settings: GateSettings) -> GateRow:
    whole = holding.positives + holding.negatives
    missed = 1000 * (holding.positives - holding.found) / whole
    good = 1000 * holding.held_negatives / whole
    costs = settings.miss_cost, settings.hold_cost
    cost = None if costs[0] is None or costs[1] is None else costs[0] * missed + costs[1] * good
    return GateRow(
        recall=recall, threshold=sign * holding.threshold if math.isfinite(holding.threshold) else None,
        expected=holding.recall, precision=holding.precision, held=holding.held, missed=missed,
        held_good=good, cost=cost,
    )  # fmt: skip


# -- files -------------------------------------------------------------------------------------------------------------


def read_gate(path: Path) -> Gate:
    """The gate in a file; BadFile where it is none, or was changed after it was written."""
    return read_sealed(
        Gate, path, name="a gate", make="make one with salon select gate STUDY -o gate.json",
        changed="a threshold changed by hand promises nothing: make the gate again",
    )  # fmt: skip
