"""Settings of the commands of `salon select` and of the scoring service."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from salon.generate import GenerateSettings
from salon.stats import LEAST_VALUES
from salon.study import Noun


class PickSettings(Noun):
    """How one of several items is chosen."""

    k: float = Field(1.0, ge=0, le=10, description="Standard deviations taken off a score before the best is chosen.")
    least: float | None = Field(None, description="Lowest bound that is good enough; below it nothing is chosen.")
    level: float = Field(0.95, gt=0, lt=1, description="Level at which two items differ.")
    ties: Literal["first", "seed"] = Field("first", description="Of equal items: the first, or one drawn by seed.")
    seed: int = Field(0, ge=0, lt=2**32, description="Seed of everything drawn by chance, pictures included.")


TRIES: dict[str, int] = {"paper": 4, "released": 2}


STRENGTHS: dict[str, str] = {"paper": "0.8,0.8,0.5", "released": "0.8,0.8,0.8,0.5"}


class CohpSettings(Noun):
    """How a chain works."""

    variant: Literal["paper", "released"] = Field(
        "paper", description="As the paper has it, or as its code does, faults and all."
    )
    tries: int | None = Field(
        None, ge=1, le=1000, description="Pictures of each generator in the first stage  [default: 4; 2 as released]"
    )
    rounds: int = Field(4, ge=0, le=50, description="Rounds of the second stage.")
    batch: int = Field(4, ge=1, le=1000, description="Pictures of each round.")
    strengths: str | None = Field(
        None, description="Strength of each round, the last for all that follow  [default: 0.8,0.8,0.5]"
    )
    unable: Literal["refuse", "redraw"] = Field(
        "refuse", description="A generator that cannot start from a picture: refuse it, or have it draw anew."
    )
    seed: int = Field(0, ge=0, lt=2**31, description="Seed of the first picture; the others count up from it.")
    size: str | None = Field(None, description="Width and height in pixels  [default: the generator's own]")

    @field_validator("strengths")
    @classmethod
    def _strengths_are_numbers(cls, text: str | None) -> str | None:
        if text is None:
            return None
        try:
            strengths = [float(part) for part in text.split(",")]
        except ValueError:
            raise ValueError("numbers with commas between them are needed, such as 0.8,0.8,0.5") from None
        if not all(0 < strength <= 1 for strength in strengths):  # also refuses NaN
            raise ValueError("strengths lie above 0, up to 1")
        return ",".join(f"{strength:g}" for strength in strengths)

    @property
    def each(self) -> int:
        """Pictures of each generator in stage 1."""
        return self.tries or TRIES[self.variant]

    def strength(self, number: int) -> float:
        """Of round `number`, from 1."""
        strengths = [float(part) for part in (self.strengths or STRENGTHS[self.variant]).split(",")]
        return strengths[min(number, len(strengths)) - 1]

    def first_seed(self, number: int) -> int:
        """Of a round; stage 1 is round 0. No two pictures of a generator share a seed."""
        return self.seed if number == 0 else self.seed + self.each + (number - 1) * self.batch

    def pictures(self, generators: int) -> int:
        """Pictures that a chain asks for."""
        return generators * self.each + self.rounds * self.batch


class ExplainSettings(Noun):
    """How much is explained."""

    neighbours: int = Field(5, ge=0, le=50, description="Judged pictures to name that are nearest by the model.")
    measure: bool = Field(True, description="Measure the picture by rule: contrast, words, palette ...")
    occlusion: int = Field(
        0,
        ge=0,
        le=16,
        description="Cover one of N x N places after the other, and see what the total loses; 0: do not.",
    )
    device: str | None = Field(None, description="Of networks: cpu, cuda, mps  [default: the best there is]")


class GateSettings(Noun):
    """What a gate is to promise."""

    recall: float = Field(0.9, gt=0, lt=1, description="Share of the flagged items to find.")
    confidence: float = Field(
        0.95, ge=0, lt=1, description="How sure the promise is; 0: the recall is kept on average, not with confidence."
    )
    share: float = Field(0.5, gt=0, le=1, description="Share of an item's raters who flagged it, to count as positive.")
    unit: Literal["item", "prompt"] = Field(
        "item", description="What is independent; prompt: all flagged items of a prompt are found, for this share."
    )
    miss_cost: float | None = Field(None, ge=0, description="Cost of a flagged item that passes.")
    hold_cost: float | None = Field(None, ge=0, description="Cost of a good item that is held back.")
    level: float = Field(0.95, gt=0.5, lt=1, description="Confidence level of the intervals.")
    seed: int = Field(42, ge=0, description="Seed of everything drawn by chance.")

    @property
    def sure(self) -> float | None:
        """The confidence, None for a promise on average."""
        return self.confidence or None


PairFormat = Literal["diffusers", "trl"]


PAIR_FORMATS: tuple[PairFormat, ...] = ("diffusers", "trl")


class RefineSettings(Noun):
    """How a loop works."""

    rounds: int = Field(2, ge=1, le=50, description="Rounds after the first drawing, each from a revised prompt.")
    images: int = Field(1, ge=1, le=64, description="Pictures of each prompt in each round.")
    seed: int = Field(0, ge=0, lt=2**31, description="Seed of the first picture; the others count up from it.")
    size: str | None = Field(None, description="Width and height in pixels  [default: the generator's own]")
    control: bool = Field(True, description="Draw the original prompt again in every round, from the same seeds.")
    sees: Literal["original", "both"] = Field(
        "original", description="Prompts the VLM is shown: the original, or also the one the picture was drawn from."
    )
    max_tokens: int = Field(2048, ge=1, description="Most tokens of an answer.")

    def drawing(self, number: int) -> GenerateSettings:
        """How the pictures of one round are asked for."""
        return GenerateSettings(seeds=self.images, seed=self.seed + number * self.images, size=self.size)


PointsBy = Literal["pixels", "layout", "vlm"]


Explore = Literal["no", "thompson", "ucb"]


class DriftSettings(BaseModel):
    """How a service is watched."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: float = Field(0.05, gt=0, lt=1, description="Chance that a watch without drift ever alarms.")
    window: int = Field(200, ge=LEAST_VALUES, description="Values of a window.")
    reference_size: int = Field(1000, ge=LEAST_VALUES, description="Values of the reference, where none is given.")
    choices: int = Field(
        50, ge=LEAST_VALUES, description="Later choices of a window of agreement, and of its reference."
    )
    bins: int = Field(10, ge=2, le=100, description="Bins of the stability index.")


LOCAL_RAY = "local"
"""In place of an address: a cluster of this machine, for as long as the service runs."""


class BatchSettings(Noun):
    """How requests become batches."""

    batch: int = Field(16, ge=1, le=1024, description="Pictures that are looked at together at most.")
    batch_wait: float = Field(0.01, ge=0, le=10, description="Seconds that a picture waits for company at most.")
    batch_pixels: int = Field(1 << 26, ge=1, description="Pixels of one batch at most; a larger picture goes alone.")
    queue: int = Field(1024, ge=1, description="Pictures that may wait; more are refused until there are fewer.")
    deadline: float = Field(30.0, gt=0, le=3600, description="Seconds within which a request is answered, or refused.")
    cache: int = Field(2048, ge=0, description="Answers remembered, by content of picture and prompt; 0 for none.")


class ServiceSettings(BatchSettings):
    """How scores are served."""

    decoders: int = Field(0, ge=0, le=256, description="Threads that decode pictures; 0 for one for each core.")
    loaded: int = Field(3, ge=2, le=16, description="Models in memory at most: the active one, the one before, others.")
    stuck: float = Field(120.0, gt=0, description="Seconds that one batch may take before the service says not ready.")
    replicas: int = Field(
        0, ge=0, le=64, description="Processes that each hold the models; 0 for none beside the server's own."
    )
    devices: str | None = Field(
        None, description="Devices of the replicas in turn, such as cuda:0,cuda:1; a replica for each unless told."
    )
    ray: str | None = Field(None, description="Run the replicas on Ray: the address of a cluster, or a new local one.")

    @property
    def is_replicated(self) -> bool:
        """Whether replicas look at the pictures."""
        return self.ray is not None or self.replicas > 0 or self.devices is not None

    @property
    def replica_devices(self) -> list[str | None]:
        """The device of each replica; None for the scorers' own choice."""
        names = [name.strip() for name in (self.devices or "").split(",") if name.strip()]
        count = self.replicas or len(names) or 1
        return [names[place % len(names)] if names else None for place in range(count)]

    @property
    def ray_address(self) -> str | None:
        """The address of the cluster; None for one on this machine."""
        return None if self.ray in (None, LOCAL_RAY) else self.ray
