"""Everything the training of a one-pass scorer can be told, described once: flags, help, docs and cards read it here.

Defaults are PPaint's (appendix D.2, Table 16) where it gives them: six answers for an image, 64 images a step, AdamW at
1e-6, clipping at 1, ten epochs, 512 tokens. It gives neither tau, eps, beta nor the weights of the format and range
terms: eps, ddof and beta are those of VisualQuality-R1's code, the others are Salon's.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from salon.models.one_pass import ROLE, ROLES, Role
from salon.train.distill_reward import RewardTerms

FULL_RATE, LORA_RATE = 1e-6, 1e-5
FREE = frozenset(
    {"at_once", "recompute", "attention", "save_every", "keep", "log", "vllm_server_base_url", "vllm_server_host",
     "vllm_server_port", "vllm_server_timeout", "vllm_group_port", "vllm_gpu_memory_utilization",
     "vllm_tensor_parallel_size", "vllm_enable_sleep_mode"}
)  # fmt: skip
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
    role: Role = Field(
        ROLE, description=f"First line of the question: a sentence, or one of {' and '.join(ROLES)} by name."
    )
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
    recompute: bool | None = Field(
        None,
        description="Keep fewer activations and compute them again: less memory, more time  [default: with a GPU]",
    )
    attention: Literal["auto", "sdpa", "flash_attention_2", "eager"] = Field(
        "auto",
        description="How attention is computed; auto: as transformers chooses (mostly sdpa). flash_attention_2 "
        "needs a GPU, bfloat16 and the package flash-attn.",
    )
    vllm: Literal["off", "colocate", "server"] = Field(
        "off",
        description="What samples the answers: the model as it trains (off), vLLM in the same processes on the same "
        "GPUs (colocate), or a vLLM server on other GPUs (server). The other --vllm flags are TRL's, under its names.",
    )
    vllm_server_base_url: str | None = Field(
        None, description="Address of the vLLM server, http://HOST:PORT; in place of the next two."
    )
    vllm_server_host: str = Field("127.0.0.1", description="Host of the vLLM server.")
    vllm_server_port: int = Field(8000, ge=1, le=65535, description="Port of the vLLM server.")
    vllm_server_timeout: float = Field(240.0, ge=0, description="Seconds to wait for the vLLM server.")
    vllm_group_port: int = Field(51216, ge=1, le=65535, description="Port over which weights go to the vLLM server.")
    vllm_gpu_memory_utilization: float = Field(
        0.3, gt=0, le=1, description="Share of each GPU's memory for vLLM (colocate)."
    )
    vllm_tensor_parallel_size: int = Field(1, ge=1, description="GPUs over which vLLM spreads a model (colocate).")
    vllm_max_model_length: int | None = Field(
        None, ge=1, description="Longest question and answer for vLLM, in tokens  [default: the model's] (colocate)"
    )
    vllm_enable_sleep_mode: bool = Field(
        False, description="Let vLLM give up its memory while the weights are trained (colocate)."
    )
    vllm_importance_sampling_correction: bool = Field(
        True, description="Correct for the difference between vLLM's chances of words and the trained model's."
    )
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
        "best",
        description="The state to keep: the latest within one standard error of the highest validation SRCC, or the "
        "last. Fewer than 30 validation items of 5 prompts: the last.",
    )
    save_every: int = Field(25, ge=1, description="Steps between checkpoints that a run can go on from.")
    keep: int = Field(2, ge=1, le=100, description="Checkpoints to keep.")
    log: str = Field(
        "tensorboard",
        description="Trackers that are told every step, with commas, as accelerate names them (tensorboard, wandb, "
        "trackio, mlflow, ...) or python:MODULE:CLASS; none: log.jsonl alone.",
    )
    train: float = Field(0.8, gt=0, le=1, description="Share of the prompts to train on.")
    validation: float = Field(0.1, ge=0, lt=1, description="Share of the prompts to choose the best by.")
    test: float = Field(0.1, ge=0, lt=1, description="Share of the prompts that is never looked at here.")
    split_seed: int = Field(0, ge=0, description="Seed of the split, by a hash of it and a prompt's id.")
    recipe: str | None = Field(
        None, description="Settings of a paper by name: psdistill. Flags that are given override it."
    )
    seed: int = Field(0, ge=0, description="Seed of the order of images, the adapters and sampling.")

    @property
    def learning_rate(self) -> float:
        """The rate given, or the usual one of what is trained."""
        return self.lr or (FULL_RATE if self.learn == "full" else LORA_RATE)
