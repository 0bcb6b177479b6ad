"""What a scoring service answers, as the service writes it and its client reads it."""

from __future__ import annotations

from pydantic import Field

from salon.engine import ReplicaStatus
from salon.study import Noun

MISSING = "a picture without a number under a criterion has null there, with the reason; it is never given one"


class CriterionInfo(Noun):
    """One number that the service gives."""

    criterion: str = Field(description="Its id; the scorer's name where it was made for no criterion.")
    scorer: str
    measures: str = ""
    reads: str = Field("image", description="image, or image and prompt.")
    higher_is_better: bool = True
    is_logit: bool = Field(False, description="Whether differences of two scores are log-odds.")
    low: float | None = None
    high: float | None = None
    scale: str | None = Field(None, description="Numbers with the same words here may be added as they stand.")
    flag: bool = Field(False, description="Says what to hold back, not what is better: has no say unless weighed.")
    licence: str = ""
    signature: str


class ServedScore(Noun):
    """A number of one picture under one criterion."""

    value: float | None
    sigma: float | None = Field(None, description="Spread of what voters see in it, where the scorer states one.")
    interval: tuple[float, float] | None = Field(
        None, description="value -+ 1.96 sigma: where 19 of 20 voters see it; null without a sigma."
    )
    unscored: str | None = Field(None, description="Why there is no value.")


class PictureScores(Noun):
    """One picture as it was seen, and its numbers."""

    index: int
    name: str | None = None
    sha256: str
    width: int
    height: int
    notes: tuple[str, ...] = Field((), description="What was done to its pixels: turned upright, colors converted.")
    scores: dict[str, ServedScore] = Field(description="By criterion.")


class ScoringAnswer(Noun):
    """What every answer says."""

    model: str
    version: str = Field(description="The same version means the same numbers.")
    decision: str | None = Field(None, description="Id under which the decision was logged, where there is a log.")


class ScoreAnswer(ScoringAnswer):
    """Answer of /v1/score."""

    images: tuple[PictureScores, ...]
    criteria: tuple[CriterionInfo, ...]
    missing: str = MISSING


class CriterionComparison(Noun):
    """One criterion of a comparison."""

    criterion: str
    chance: float | None = Field(description="That the first picture is preferred; null where the scorer cannot say.")
    difference: float | None = Field(description="Value of the first less the second.")
    better: str | None = Field(description="first, second or equal, by the direction of the criterion; null unscored.")
    cannot: str | None = Field(None, description="Why there is no chance.")
    signature: str


class CompareAnswer(ScoringAnswer):
    """Answer of /v1/compare."""

    images: tuple[PictureScores, ...]
    criteria: tuple[CriterionComparison, ...]
    missing: str = MISSING


class PickStanding(Noun):
    """One picture as it stood when the choice was made."""

    index: int
    name: str | None = None
    rank: int | None = Field(description="By bound, 1 the best; null without a score.")
    total: float | None
    sd: float | None
    bound: float | None = Field(description="Total less k standard deviations.")
    contributions: dict[str, float]
    missing: tuple[str, ...] = ()
    tied: bool = Field(False, description="Does not differ significantly from the chosen one.")


class PickAnswer(ScoringAnswer):
    """Answer of /v1/pick."""

    chosen: int | None = Field(description="Place of the picture that was chosen, from 0; null where none was.")
    outcome: str = Field(description="best, only, equal, none good enough or none scored.")
    why: str
    tied: tuple[int, ...] = Field((), description="Places of others that do not differ significantly from it.")
    margin: float | None
    unscored: int
    weights: dict[str, float]
    scale: str
    standings: tuple[PickStanding, ...]
    images: tuple[PictureScores, ...]
    notes: tuple[str, ...] = ()
    missing: str
    signature: str


class GatedPicture(Noun):
    """What a gate did with one picture."""

    index: int
    name: str | None = None
    sha256: str
    held: bool = Field(description="Held back: likely to be flagged, or without a score.")
    value: float | None
    why: str


class GateAnswer(ScoringAnswer):
    """Answer of /v1/gate."""

    gate: str
    criterion: str
    threshold: float
    holds: str = Field(description="Held: at or above the threshold, or at or below it.")
    promise: str = Field(description="What is guaranteed, in one sentence.")
    images: tuple[GatedPicture, ...]
    passed: tuple[int, ...] = Field(description="Places of the pictures that pass.")
    missing: str
    hash: str = Field(description="Of the gate's file.")
    signature: str


class ModelInfo(Noun):
    """One loaded model."""

    name: str
    version: str
    active: bool
    changed: tuple[str, ...] = Field(
        (),
        description="Files of its weights that changed since they were loaded; answers come from memory.",
    )
    loaded_at: str
    waiting: int = Field(description="Pictures in its queue.")
    criteria: tuple[CriterionInfo, ...]
    replicas: tuple[ReplicaStatus, ...] = Field((), description="The processes that hold it; none with one process.")


class ModelsAnswer(Noun):
    """Answer of /v1/models."""

    active: str
    before: str | None = Field(description="The version that a rollback goes back to.")
    models: tuple[ModelInfo, ...]
    gates: tuple[str, ...] = Field((), description="Names of the gates that /v1/gate knows.")


class ServiceError(Noun):
    """The one shape of every refusal."""

    error: str
    needed: str
    found: str | None = None
    where: str | None = None
    remedy: str | None = None
    request: str = Field("", description="Number of the request, as in the log of the service.")
