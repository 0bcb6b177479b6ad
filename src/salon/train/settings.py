"""Everything the training of heads can be told, described once: flags, help, docs and cards read it here."""

from __future__ import annotations

import itertools
from typing import Literal

from pydantic import Field, model_validator

from salon.errors import BadValue
from salon.study.noun import Noun

DEFAULT_ENCODER = "effnet-lite2+minilm"
GRID = ("width", "dropout", "weight_decay", "labels")
"""What a sweep varies."""


class HeadSettings(Noun):
    """How `salon train heads` works."""

    encoder: str = Field(
        DEFAULT_ENCODER, description="What turns pictures and texts into vectors: a name, or clip:FOLDER and the like."
    )
    form: Literal["scalar", "pairwise", "antisymmetric"] = Field(
        "antisymmetric",
        description="A score for each picture; a comparison of two; or one that swapping the two exactly reverses.",
    )
    trunk: Literal["own", "shared"] = Field(
        "own", description="A hidden layer for each criterion, or one that all criteria share."
    )
    axes: int = Field(
        256, ge=0, description="Principal axes kept of each kind of vector; 0 keeps the vectors as they are."
    )
    width: int = Field(64, ge=1, le=8192, description="Width of the hidden layer.")
    dropout: float = Field(0.3, ge=0, lt=1, description="Share of the hidden layer left out at each step.")
    weight_decay: float = Field(0.1, ge=0, description="How strongly weights are drawn to 0 (AdamW).")
    lr: float = Field(3e-4, gt=0, description="Learning rate; it falls to 0 along a half cosine.")
    batch: int = Field(64, ge=1, description="Rows of a step; all of one criterion.")
    epochs: int = Field(40, ge=1, description="Passes over the training rows, at most.")
    patience: int = Field(10, ge=1, description="Passes without a better validation loss before it stops.")
    labels: Literal["soft", "hard", "raters"] = Field(
        "soft", description="Learn the share of votes, the majority, or each rater's own answer."
    )
    weigh: Literal["none", "agreement"] = Field(
        "none", description="Weigh pairs alike, or by how far the raters agree: |2 share - 1|."
    )
    rater_weights: Literal["none", "agreement", "learned"] = Field(
        "none",
        description="With --labels raters: all count alike; by agreement with the others; or by a reliability "
        "that is learned along.",
    )
    text: Literal["full", "criterion"] = Field(
        "full", description="What is read of a prompt: all of it, or the parts that the criterion is about."
    )
    conditioned: bool = Field(False, description="Put the criterion's name and question before each prompt.")
    flags: bool = Field(True, description="Train a flag head too, where the study has flags.")
    train: float = Field(0.8, gt=0, le=1, description="Share of the prompts to train on.")
    validation: float = Field(0.1, gt=0, lt=1, description="Share of the prompts to choose the best state by.")
    test: float = Field(0.1, ge=0, lt=1, description="Share of the prompts that is never looked at here.")
    split_seed: int = Field(0, ge=0, description="Seed of the split; each prompt falls by a hash of it and its id.")
    seed: int = Field(0, ge=0, description="Seed of everything drawn by chance while training.")
    device: str | None = Field(None, description="cpu, cuda, cuda:1 or mps  [default: cpu; heads are small]")

    @model_validator(mode="after")
    def _hold_together(self) -> HeadSettings:
        shares = (self.train, self.validation, self.test)
        if abs(sum(shares) - 1) > 1e-9:
            found = " + ".join(f"{share:g}" for share in shares) + f" = {sum(shares):g}"
            raise BadValue("--train, --validation and --test must sum to 1", found=found)
        if self.rater_weights != "none" and self.labels != "raters":
            raise BadValue(
                "--rater-weights weighs each rater's answers", found=f"--labels {self.labels}", remedy="--labels raters"
            )
        return self


class CompareSettings(Noun):
    """How `salon train heads --compare` works; all else is set as for heads."""

    compare_seeds: int = Field(3, ge=1, le=100, description="With --compare: seeds of each row, --seed and after it.")
    lora: Literal["auto", "off"] = Field(
        "auto", description="With --compare: also adapt the encoder, where it is a CLIP or SigLIP; or leave that out."
    )
    lora_rank: int = Field(16, ge=1, le=1024, description="With --compare: rank of the encoder's adapters.")
    lora_rate: float = Field(1e-4, gt=0, description="With --compare: learning rate of the encoder's adapters.")
    lora_passes: int = Field(3, ge=1, le=100, description="With --compare: passes over the training pairs for them.")


class SweepSettings(Noun):
    """The grid of `salon train sweep`; everything else is set as for `salon train heads`."""

    widths: tuple[int, ...] = Field(
        (64, 128, 256), min_length=1, description="A width of the hidden layer (repeatable)."
    )
    dropouts: tuple[float, ...] = Field(
        (0.2, 0.3), min_length=1, description="A share left out at each step (repeatable)."
    )
    weight_decays: tuple[float, ...] = Field(
        (0.0, 0.05, 0.1), min_length=1, description="A pull of weights to 0 (repeatable)."
    )
    label_forms: tuple[str, ...] = Field(
        ("soft", "hard"), min_length=1, description="What is learned: soft, hard or raters (repeatable)."
    )
    seeds: int = Field(3, ge=1, le=100, description="Seeds of each point: --seed and those after it.")

    def points(self, heads: HeadSettings) -> list[HeadSettings]:
        """Every point of the grid, around the other settings."""
        grid = itertools.product(self.widths, self.dropouts, self.weight_decays, self.label_forms)
        return [heads.model_copy(update=dict(zip(GRID, values))) for values in dict.fromkeys(grid)]

    @model_validator(mode="after")
    def _labels_are_known(self) -> SweepSettings:
        for word in self.label_forms:
            if word not in ("soft", "hard", "raters"):
                raise BadValue("--label-forms: soft, hard or raters", found=repr(word))
        return self
