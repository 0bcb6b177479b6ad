"""Settings of `salon train heads`, `train sweep` and `train reward`, and the recipes of published trainings.

    salon train reward --recipe hpsv3 ...         salon distill train --recipe psdistill ...

A flag overrides its recipe. Where a paper and its released code differ, the recipe follows the paper and names the
other value. What neither gives is Salon's choice and says so. A changed value makes a new version.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, model_validator

from salon.errors import BadValue, UnknownReference
from salon.study import Noun

HEAD_ENCODER = "effnet-lite2+minilm"
GRID = ("width", "dropout", "weight_decay", "labels")
"""What a sweep varies."""


class HeadSettings(Noun):
    """How `salon train heads` works."""

    encoder: str = Field(
        HEAD_ENCODER, description="What turns pictures and texts into vectors: a name, or clip:FOLDER and the like."
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
            sum_text = " + ".join(f"{share:g}" for share in shares) + f" = {sum(shares):g}"
            raise BadValue("--train, --validation and --test must sum to 1", found=sum_text)
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


# -- reward models -----------------------------------------------------------------------------------------------------

FULL_RATE, LORA_RATE = 2e-6, 1e-4
REWARD_FREE = frozenset({"at_once", "shard", "recompute", "attention", "readers", "save_every", "keep", "log"})
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


# -- recipes -----------------------------------------------------------------------------------------------------------

Command = Literal["train reward", "distill train"]


@dataclass(frozen=True)
class SourcedSetting:
    """A setting and where it is from."""

    value: Any
    source: str


@dataclass(frozen=True)
class Recipe:
    """A published training."""

    name: str
    version: int
    command: Command
    about: str
    settings: Mapping[str, SourcedSetting]
    notes: tuple[str, ...]
    """What the settings cannot say."""

    @property
    def label(self) -> str:
        """How cards and signatures name it."""
        return f"{self.name} {self.version}"

    def values(self, overrides: Mapping[str, Any]) -> dict[str, Any]:
        """All settings, those that are `given` in place of the recipe's, and the recipe's label."""
        return (
            {name: setting.value for name, setting in self.settings.items()} | dict(overrides) | {"recipe": self.label}
        )

    def lines(self, overrides: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        """(setting, value, source) of each setting, for people."""
        rows = []
        for name, setting in self.settings.items():
            value, source = setting.value, setting.source
            if name in overrides and overrides[name] != value:
                value, source = overrides[name], f"given; the recipe has {_plain_value(setting.value)}"
            rows.append((name.replace("_", "-"), _plain_value(value), source))
        return rows


def find_recipe(name: str, command: Command) -> Recipe:
    """The recipe of a command; UnknownReference with the list where there is none."""
    names = recipe_names(command)
    if name not in names:
        raise UnknownReference(
            "a recipe is needed that this command has", found=repr(name), remedy=f"one of {', '.join(names)}"
        )
    return RECIPES[name]


def recipe_names(command: Command) -> list[str]:
    """The recipes of a command."""
    return [recipe.name for recipe in RECIPES.values() if recipe.command == command]


def _plain_value(value: Any) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)


_HPSV3_CODE = "released code, HPSv3_7B.yaml"
_HPSV3 = Recipe(
    "hpsv3",
    1,
    "train reward",
    "HPSv3: Towards Wide-Spectrum Human Preference Score, on Qwen2-VL-7B-Instruct",
    {
        "law": SourcedSetting(
            "quadrature", "HPSv3 equations 3 and 4; the released code minimises another: --law released"
        ),
        "labels": SourcedSetting("hard", f"{_HPSV3_CODE}: soft_label False; the paper trains on the preferred picture"),
        "confident": SourcedSetting(0.95, f"HPSv3 section 3.2: above 95%; section 3 says 90%; {_HPSV3_CODE}: 0.95"),
        "prior": SourcedSetting(0.0, "HPSv3 section 4.1: the loss has none"),
        "learn": SourcedSetting("full", "HPSv3 section 5.1.1: all parameters trainable"),
        "batch": SourcedSetting(384, "HPSv3 section 5.1.1: 48 GPUs with 8 pairs each"),
        "at_once": SourcedSetting(2, f"{_HPSV3_CODE}: 2 pairs, added up 4 times"),
        "epochs": SourcedSetting(2, f"HPSv3 section 5.1.1; {_HPSV3_CODE}: 10"),
        "lr": SourcedSetting(2e-6, "HPSv3 section 5.1.1"),
        "head_lr": SourcedSetting(2e-6, f"{_HPSV3_CODE}: no rate of its own for the head"),
        "warmup": SourcedSetting(0.05, "HPSv3 section 5.1.1"),
        "decay": SourcedSetting("constant", f"{_HPSV3_CODE}: constant_with_warmup"),
        "weight_decay": SourcedSetting(0.0, f"{_HPSV3_CODE} gives none: transformers' default"),
        "clip": SourcedSetting(1.0, f"{_HPSV3_CODE} gives none: transformers' default"),
        "dropout": SourcedSetting(0.05, "released code, qwen2vl_trainer.py: dropout after the head's first layer"),
        "pixels": SourcedSetting(200_704, f"HPSv3 section 5.1.1: 448 x 448, proportions kept; {_HPSV3_CODE}: 200704"),
        "precision": SourcedSetting("bfloat16", f"{_HPSV3_CODE}: bf16"),
        "recompute": SourcedSetting(True, f"{_HPSV3_CODE}: gradient_checkpointing"),
        "choose": SourcedSetting("last", "Salon's choice: neither says which state was released"),
    },
    (
        "The release shares weights out by DeepSpeed ZeRO-2; that changes memory, not the result.",
        "The release trains of the table of words only the row of the special token; the paper, and Salon, all of it.",
        "The release keeps weights in bfloat16 with DeepSpeed's float32 copies; Salon's learn in float32.",
    ),
)

_TABLE16 = "PPaint Table 16"
_VQR1 = "VisualQuality-R1's code"
_PSDISTILL = Recipe(
    "psdistill",
    1,
    "distill train",
    "PSDistill (PPaint), on Qwen3-VL-8B-Instruct",
    {
        "group": SourcedSetting(6, _TABLE16),
        "images": SourcedSetting(64, _TABLE16),
        "lr": SourcedSetting(1e-6, _TABLE16),
        "clip": SourcedSetting(1.0, _TABLE16),
        "epochs": SourcedSetting(10, _TABLE16),
        "max_tokens": SourcedSetting(512, _TABLE16),
        "learn": SourcedSetting("full", "PPaint section 5.1 names no adapters; ZeRO-3 on 8 GPUs of 80 GB"),
        "think": SourcedSetting(True, "PPaint appendix D.3: thoughts, then the answer"),
        "weigh": SourcedSetting("gap", "PPaint section 4.2: weight by the gap of pseudo-scores"),
        "tau": SourcedSetting(0.5, "Salon's choice: not given by the paper"),
        "eps": SourcedSetting(1e-6, f"{_VQR1}, grpo_jsonl.py: not given by the paper"),
        "ddof": SourcedSetting(1, f"{_VQR1}, grpo_jsonl.py: torch.var's default; not given by the paper"),
        "format_penalty": SourcedSetting(1.0, "Salon's choice: the paper names a format term without its weight"),
        "range_penalty": SourcedSetting(0.5, "Salon's choice: the paper names a range term without its weight"),
        "beta": SourcedSetting(0.04, f"{_VQR1}, grpo_config.py: not given by the paper"),
        "loss": SourcedSetting("grpo", "PPaint equation 17: mean over images and answers"),
        "temperature": SourcedSetting(1.0, f"{_VQR1}, grpo_trainer.py: not given by the paper"),
        "warmup": SourcedSetting(0.0, f"{_VQR1} sets none: transformers' default; not given by the paper"),
        "decay": SourcedSetting("linear", f"{_VQR1} sets none: transformers' default; not given by the paper"),
        "weight_decay": SourcedSetting(0.0, f"{_VQR1} sets none: transformers' default; not given by the paper"),
        "precision": SourcedSetting("bfloat16", f"{_VQR1}, one_node_run_kadid.sh: --bf16; not given by the paper"),
        "recompute": SourcedSetting(
            True, f"{_VQR1}, one_node_run_kadid.sh: --gradient_checkpointing; not given by the paper"
        ),
        "choose": SourcedSetting(
            "best", "Salon's choice: by validation; the paper picks its best epoch on the test set"
        ),
    },
    (
        "The paper shares weights out by DeepSpeed ZeRO-3: accelerate launch with a file that says so.",
        "VisualQuality-R1 adds eps under the roots of the fidelity too; Salon's fidelity is the paper's, without.",
    ),
)

RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in (_HPSV3, _PSDISTILL)}
