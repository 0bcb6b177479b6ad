"""Everything the training of a one-pass scorer can be told, described once: flags, help, docs and cards read it here.

Defaults are PPaint's (appendix D.2, Table 16) where it gives them: six answers for an image, 64 images a step, AdamW at
1e-6, clipping at 1, ten epochs, 512 tokens. It gives neither tau, eps, beta nor the weights of the format and range
terms: eps, ddof and beta are those of VisualQuality-R1's code, the others are Salon's.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.train.distill_reward import RewardTerms

FULL_RATE, LORA_RATE = 1e-6, 1e-5
FREE = frozenset({"at_once", "recompute", "save_every", "keep"})
"""Settings that change memory and time but not the result: an interrupted run may go on under others."""


class DistillSettings(RewardTerms):
    """How `salon distill train` works."""

    group: int = Field(6, ge=2, le=256, description="Answers sampled for each image.")
    images: int = Field(64, ge=2, description="Images in a step, over all processes: partners of each other.")
    at_once: int = Field(
        6,
        ge=1,
        description="Answers that one process learns from at once, or the next number below that divides its share.",
    )
    epochs: int = Field(10, ge=1, le=1000, description="Times that every image is seen.")
    steps: int | None = Field(None, ge=1, description="Steps in all, in place of --epochs.")
    lr: float | None = Field(
        None, gt=0, description=f"Learning rate  [default: {FULL_RATE:g}; {LORA_RATE:g} for adapters]"
    )
    warmup: float = Field(0.0, ge=0, lt=1, description="Share of the steps over which the rate rises from 0.")
    decay: Literal["constant", "linear", "cosine"] = Field("constant", description="What the rate does after that.")
    weight_decay: float = Field(0.0, ge=0, description="AdamW's weight decay.")
    clip: float = Field(1.0, gt=0, description="Largest norm of a step's gradient.")
    beta: float = Field(0.04, ge=0, description="Weight of the divergence from the model as it began; 0: no such term.")
    entropy_bonus: float = Field(
        0.0, ge=0, description="Weight of a bonus for varied answers, against scores that collapse; not in the paper."
    )
    loss: Literal["grpo", "dapo", "dr_grpo"] = Field("grpo", description="TRL's form of the objective.")
    temperature: float = Field(1.0, gt=0, description="Of sampling while it learns; scoring is greedy.")
    max_tokens: int = Field(512, ge=1, description="Longest answer.")
    think: bool = Field(True, description="Ask for thoughts before the answer.")
    show_prompt: bool = Field(False, description="Show the prompt that an image was made for; the paper does not.")
    pixels: int = Field(1024 * 1024, ge=64, description="Larger pictures are made smaller, their shape kept.")
    learn: Literal["full", "lora"] = Field("full", description="What is trained: all weights, or low-rank adapters.")
    lora_on: Literal["language", "vision", "both"] = Field(
        "language", description="Where adapters go: the language model, the vision encoder, or both."
    )
    lora_rank: int = Field(16, ge=1, le=1024, description="Rank of the adapters.")
    lora_alpha: float = Field(32.0, gt=0, description="Adapters are scaled by alpha over rank.")
    lora_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout before adapters.")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="Numbers of the forward pass; auto: bfloat16 where a GPU has it, else float32."
    )
    recompute: bool = Field(False, description="Keep fewer activations and compute them again: less memory, more time.")
    format_steps: int = Field(
        0,
        ge=0,
        description="Supervised steps on the form of an answer alone, before: scores are drawn at random, without "
        "regard to the image. For models that cannot keep the form at all.",
    )
    format_batch: int = Field(16, ge=1, description="Answers in such a step.")
    format_lr: float = Field(1e-5, gt=0, description="Learning rate of these steps.")
    validate_every: int = Field(25, ge=1, description="Steps between looks at the validation images.")
    validate_images: int = Field(500, ge=1, description="Validation images to look at.")
    choose: Literal["best", "last"] = Field(
        "best", description="The state to keep: of the highest validation SRCC, or the last."
    )
    save_every: int = Field(25, ge=1, description="Steps between checkpoints that a run can go on from.")
    keep: int = Field(2, ge=1, le=100, description="Checkpoints to keep.")
    train: float = Field(0.8, gt=0, le=1, description="Share of the prompts to train on.")
    validation: float = Field(0.1, ge=0, lt=1, description="Share of the prompts to choose the best by.")
    test: float = Field(0.1, ge=0, lt=1, description="Share of the prompts that is never looked at here.")
    split_seed: int = Field(0, ge=0, description="Seed of the split, by a hash of it and a prompt's id.")
    seed: int = Field(0, ge=0, description="Seed of the order of images, the adapters and sampling.")

    @property
    def learning_rate(self) -> float:
        """The rate given, or the usual one of what is trained."""
        return self.lr or (FULL_RATE if self.learn == "full" else LORA_RATE)
