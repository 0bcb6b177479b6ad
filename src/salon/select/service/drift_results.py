"""What a drift watch is told, and what it tells."""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from salon.stats.drift import LEAST
from salon.stats.result import Estimate
from salon.study.noun import Noun
from salon.study.signature import Signature

FORMAT: Final = "salon.drift/1"
POLICY = (
    "one picture for each decision, each picture once in a window; decisions of other models and missing values are "
    "counted and left out"
)


class DriftSettings(BaseModel):
    """How a service is watched."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: float = Field(0.05, gt=0, lt=1, description="Chance that a watch without drift ever alarms.")
    window: int = Field(200, ge=LEAST, description="Values of a window.")
    reference_size: int = Field(1000, ge=LEAST, description="Values of the reference, where none is given.")
    choices: int = Field(50, ge=LEAST, description="Later choices of a window of agreement, and of its reference.")
    bins: int = Field(10, ge=2, le=100, description="Bins of the stability index.")


class DriftReference(Noun):
    """Scores by criterion that were frozen when the watch began, and of which model they are."""

    format: Literal["salon.drift/1"] = FORMAT
    model: str = ""
    values: dict[str, tuple[float, ...]]
    agreed: int = Field(0, ge=0)
    choices: int = Field(0, ge=0)


class CriterionDrift(Noun):
    """What is known of one criterion; the last window, and the first that alarmed."""

    criterion: str
    status: Literal["gathering a reference", "no whole window yet", "as the reference", "drift"]
    reference: int = Field(description="Values of the reference.")
    waiting: int = Field(description="Values of the window that is not full yet.")
    missing: int = Field(description="Decisions without a value.")
    looks: int
    first_alarm: int | None = Field(None, description="The first window that alarmed.")
    distance: float | None = Field(None, description="Kolmogorov-Smirnov distance of the last window.")
    p: float | None = None
    level: float | None = Field(None, description="The share of the level that the last look had.")
    psi: float | None = None
    psi_expected: float | None = Field(None, description="About what the index is without drift.")
    shift: float | None = Field(None, description="Of the mean, in standard deviations of the reference.")


class AgreementDrift(Noun):
    """Later choices that fell on the picture the service had chosen."""

    status: Literal["gathering a reference", "no whole window yet", "as the reference", "falling"]
    overall: Estimate | None = Field(None, description="Over all choices; None where there are none.")
    reference: Estimate | None = None
    last: Estimate | None = Field(None, description="The last whole window.")
    chance: float | None = Field(None, description="What a blind pick would agree, on average.")
    looks: int = 0
    first_alarm: int | None = None
    p: float | None = None
    level: float | None = None


class DriftReport(Noun):
    """The state of a watch."""

    model: str
    alarm: bool = Field(description="Whether any window of any criterion, or of agreement, ever alarmed.")
    decisions: int
    other_models: int = Field(description="Decisions of other models, left out.")
    unwatched: tuple[str, ...] = Field(
        (), description="Criteria that the reference does not know, or that came after the first look."
    )
    criteria: tuple[CriterionDrift, ...]
    agreement: AgreementDrift
    policy: str = POLICY
    signature: Signature
