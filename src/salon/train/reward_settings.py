"""Everything the training of a reward model can be told, described once: flags, help, docs and cards read it here."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.study.noun import Noun

FULL_RATE, LORA_RATE = 2e-6, 1e-4
FREE = frozenset({"at_once", "shard", "recompute", "attention", "readers", "save_every", "keep", "log"})
"""Settings that change memory and time, and the result by rounding alone: a run may go on under others."""


class RewardSettings(Noun):
    """How `salon train reward` works."""

    law: Literal["quadrature", "probit", "ranknet", "davidson", "rao-kupper", "released"] = Field(
        "quadrature",
        description="How a vote follows from mu and sigma of two pictures: as in HPSv3's paper, by quadrature; a "
        "normal law in closed form; Bradley-Terry, without sigma; two laws with ties; what HPSv3's code minimises.",
    )
    labels: Literal["soft", "hard", "raters"] = Field(
        "soft", description="Learn the share of votes, the majority, or each rater's vote (from rows of raters)."
    )
    weigh: Literal["none", "agreement", "votes"] = Field(
        "none", description="Weight of a pair: the same for all, its agreement, or its number of votes."
    )
    rater_weights: Literal["none", "agreement"] = Field(
        "none",
        description="With --labels raters: all count the same, or less the less they agree with the others on the "
        "training pairs.",
    )
    confident: float = Field(
        0.0, ge=0, le=1, description="Only pairs whose larger camp has at least this share; HPSv3 takes .95."
    )
    prior: float = Field(
        0.1,
        ge=0,
        description="Weight of a normal prior on log sigma; one over a picture's number of votes is the prior itself.",
    )
    learn: Literal["full", "lora", "head"] = Field(
        "full", description="What is trained: all weights, low-rank adapters and the head, or the head alone."
    )
    lora_on: Literal["language", "vision", "both"] = Field(
        "language", description="Where adapters go: the language model, the vision encoder, or both."
    )
    lora_rank: int = Field(16, ge=1, le=1024, description="Rank of the adapters.")
    lora_alpha: float = Field(32.0, gt=0, description="Adapters are scaled by alpha over rank.")
    lora_dropout: float = Field(0.0, ge=0, lt=1, description="Dropout before adapters.")
    batch: int = Field(64, ge=1, description="Pairs in a step, over all processes and accumulated parts.")
    at_once: int = Field(
        1, ge=1, description="Pairs that one process holds in memory at once; the result does not depend on it."
    )
    epochs: int = Field(1, ge=1, le=1000, description="Times that every pair is seen.")
    steps: int | None = Field(None, ge=1, description="Steps in all, in place of --epochs.")
    lr: float | None = Field(
        None, gt=0, description=f"Learning rate  [default: {FULL_RATE:g}; {LORA_RATE:g} for adapters or the head]"
    )
    head_lr: float | None = Field(None, gt=0, description="Learning rate of the head  [default: --lr]")
    warmup: float = Field(0.05, ge=0, lt=1, description="Share of the steps over which the rate rises from 0.")
    decay: Literal["constant", "linear", "cosine"] = Field("constant", description="What the rate does after that.")
    weight_decay: float = Field(0.0, ge=0, description="AdamW's weight decay.")
    clip: float = Field(1.0, gt=0, description="Largest norm of a step's gradient.")
    dropout: float = Field(0.05, ge=0, lt=1, description="Dropout in the head.")
    pixels: int = Field(
        200_704, ge=0, description="Pixels that every picture is brought to, in its proportions; 0: the VLM's own rule."
    )
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="Numbers of the forward pass; auto: bfloat16 where a GPU has it, else float32."
    )
    shard: Literal["auto", "none", "fsdp2", "zero2", "zero3"] = Field(
        "auto",
        description="Where weights and optimizer live: whole on every process, or sharded over all by FSDP2 or "
        "DeepSpeed ZeRO; auto: as the file of accelerate launch says, else none.",
    )
    recompute: bool | None = Field(
        None,
        description="Keep fewer activations and compute them again: less memory, more time  [default: on for a VLM of "
        "more than a billion weights, unless only the head is trained]",
    )
    attention: Literal["auto", "sdpa", "flash_attention_2", "eager"] = Field(
        "auto", description="How attention is computed, by transformers' names; auto: its own choice."
    )
    shuffle: int | None = Field(
        None,
        ge=1,
        description="Pairs that are mixed at a time, those of a pool that moves through the source  [default: all of "
        "them; as many as have 512 MiB of pictures where these are in Parquet]",
    )
    readers: int = Field(4, ge=1, le=64, description="Threads that read pictures ahead.")
    validate_every: int = Field(500, ge=1, description="Steps between looks at the validation pairs.")
    validate_pairs: int = Field(2000, ge=1, description="Validation pairs to look at, the first of their file.")
    choose: Literal["best", "last"] = Field(
        "best", description="The state to keep: of the lowest validation loss, or the last."
    )
    save_every: int = Field(500, ge=1, description="Steps between checkpoints that a run can go on from.")
    keep: int = Field(2, ge=1, le=100, description="Checkpoints to keep.")
    log: str = Field(
        "tensorboard",
        description="Trackers that are told every step, with commas, as accelerate names them (tensorboard, wandb, "
        "trackio, mlflow, ...) or python:MODULE:CLASS; none: log.jsonl alone.",
    )
    train: float = Field(0.8, gt=0, le=1, description="Of a study: share of the prompts to train on.")
    validation: float = Field(0.1, ge=0, lt=1, description="Of a study: share of the prompts to choose the best by.")
    test: float = Field(0.1, ge=0, lt=1, description="Of a study: share of the prompts that is never looked at here.")
    split_seed: int = Field(0, ge=0, description="Of a study: seed of the split, by a hash of it and a prompt's id.")
    recipe: str | None = Field(
        None, description="Settings of a paper by name: hpsv3. Flags that are given override it."
    )
    seed: int = Field(0, ge=0, description="Seed of the head, the adapters, the order of the pairs and dropout.")

    @property
    def learning_rate(self) -> float:
        """The rate given, or the usual one of what is trained."""
        return self.lr or (FULL_RATE if self.learn == "full" else LORA_RATE)
