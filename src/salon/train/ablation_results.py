"""What `salon distill ablate` is asked and gives back: a grid of small experiments, one setting changed at a time."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from salon.evaluate import Source
from salon.stats import Estimate
from salon.study import Format, Noun

ABLATE_FORMAT: Final = "salon.distill-ablate/1"
MaybeRate = Annotated[Estimate | None, Format("estimate", 3)]
FACTORS = ("weigh", "pool", "opponents", "source", "category")
FACTOR_WORDS = {
    "weigh": "confidence weights",
    "pool": "pool size N",
    "opponents": "opponents K",
    "source": "source of the labels",
    "category": "training category",
}


class AblateSettings(Noun):
    """The grid: the first value of every list is the reference, the others replace it one at a time."""

    weigh: tuple[str, ...] = Field(
        ("gap", "none"), description="Weights of pairs: gap, posterior or none (repeatable)."
    )
    pool: tuple[int, ...] = Field((50,), description="Pool sizes N (repeatable).")
    opponents: tuple[int, ...] = Field((10,), description="Opponents K (repeatable).")
    source: tuple[str, ...] = Field(("bridge",), description="Sources of labels (repeatable).")
    category: tuple[str, ...] = Field(("",), description="Categories to train on; empty: all (repeatable).")
    seeds: tuple[int, ...] = Field((0, 1, 2), description="Seeds: each cell once for every seed (repeatable).")
    level: float = Field(0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")


class AblationCell(Noun):
    """One experiment: labels, training, test."""

    weigh: Literal["gap", "posterior", "none"] = Field(title="Weights", description="Weights of pairs.")
    pool: int = Field(ge=2, title="N", description="Pool size N.")
    opponents: int = Field(ge=1, title="K", description="Opponents K.")
    source: Source = Field(title="Labels", description="Source of the labels.")
    category: str = Field(description="Training category; empty: all.")
    seed: int = Field(ge=0, description="Seed of labels and training.")

    @property
    def labelled(self) -> dict[str, Any]:
        """What its labels depend on."""
        return self.model_dump(include={"pool", "opponents", "source", "seed", "category"})

    def name(self, *parts: str) -> str:
        """A folder name from these settings."""
        values = {part: re.sub(r"[^\w.-]|_", "-", str(getattr(self, part))) or "all" for part in parts}
        return "_".join(f"{part}-{value}" for part, value in values.items())


class CellFigures(Noun):
    """What one experiment gave."""

    cell: AblationCell = Field(description="Its settings.")
    srcc: float | None = Field(title="SRCC", description="Against the first target, mean over groups and criteria.")
    plcc: float | None = Field(title="PLCC", description="Pearson.")
    mae: float | None = Field(title="MAE", description="Mean absolute error; null off the scale.")
    spread: float | None = Field(description="Spread of the predictions over the target's.")
    shift: float | None = Field(description="Mean prediction less mean target.")
    scale: str = Field(description="What became of the scale.")
    scored: int = Field(description="Targets with a prediction.")
    wanted: int = Field(description="Targets.")
    calls: int = Field(description="Calls that its labels rest on.")


class AblateRow(Noun):
    """One value of one factor, over seeds."""

    factor: str = Field(description="What was changed; `reference` for the row all others are held against.")
    value: str = Field(title="Setting", description="Its value.")
    srcc: MaybeRate = Field(title="SRCC", description="Mean over seeds; its interval is over seeds (t).")
    plcc: MaybeRate = Field(title="PLCC", description="Pearson, over seeds.")
    mae: MaybeRate = Field(title="MAE", description="Mean absolute error, over seeds.")
    spread: Annotated[Estimate | None, Format("estimate", 2)] = Field(
        description="Spread of the predictions over the target's, over seeds."
    )
    difference: MaybeRate = Field(
        title="SRCC less the reference's",
        description="SRCC less the reference's, seed by seed; null for the reference.",
    )
    calls: int = Field(title="Label calls", description="Label calls of one seed.")
    seeds: int = Field(description="Seeds with a result.")
    failed: int = Field(description="Seeds whose scorer gave no order.")


class AblateReport(Noun):
    """The whole report."""

    format: Literal["salon.distill-ablate/1"] = Field(
        default=ABLATE_FORMAT, description="Name and version of this shape."
    )
    study: str = Field(description="The study that was labelled and trained on.")
    test: str = Field(description="The study that was tested on.")
    simulated: bool = Field(description="True when nobody gave the answers that are tested against.")
    target: str = Field(description="What predictions are held against.")
    items: int = Field(description="Test items.")
    level: float = Field(description="Confidence level of the intervals.")
    rows: tuple[AblateRow, ...] = Field(description="The reference first.")
    cells: tuple[CellFigures, ...] = Field(description="Every experiment.")
    policies: tuple[str, ...] = Field(description="What the intervals cover, and what is missing.")
    signature_line: str = Field(description="What reproduces it.")
