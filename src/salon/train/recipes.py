"""Settings of published trainings by name, each with its source.

    salon train reward --recipe hpsv3 ...         salon distill train --recipe psdistill ...

A flag that is given overrides its recipe. Where a paper and the code released with it differ the paper is followed and
the other value named; what neither gives is Salon's choice and says so. A changed value makes a new version.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from salon.errors import UnknownReference

Command = Literal["train reward", "distill train"]


@dataclass(frozen=True)
class Sourced:
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
    settings: Mapping[str, Sourced]
    notes: tuple[str, ...]
    """What the settings cannot say."""

    @property
    def label(self) -> str:
        """How cards and signatures name it."""
        return f"{self.name} {self.version}"

    def values(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All settings, those that are `given` in place of the recipe's, and the recipe's label."""
        return {name: setting.value for name, setting in self.settings.items()} | dict(given) | {"recipe": self.label}

    def lines(self, given: Mapping[str, Any]) -> list[tuple[str, str, str]]:
        """(setting, value, source) of each setting, for people."""
        rows = []
        for name, setting in self.settings.items():
            value, source = setting.value, setting.source
            if name in given and given[name] != value:
                value, source = given[name], f"given; the recipe has {_plain(setting.value)}"
            rows.append((name.replace("_", "-"), _plain(value), source))
        return rows


def recipe_named(name: str, command: Command) -> Recipe:
    """The recipe of a command; UnknownReference with the list where there is none."""
    known = recipe_names(command)
    if name not in known:
        raise UnknownReference(
            "a recipe is needed that this command has", found=repr(name), remedy=f"one of {', '.join(known)}"
        )
    return RECIPES[name]


def recipe_names(command: Command) -> list[str]:
    """The recipes of a command."""
    return [recipe.name for recipe in RECIPES.values() if recipe.command == command]


def _plain(value: Any) -> str:
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
        "law": Sourced("quadrature", "HPSv3 equations 3 and 4; the released code minimises another: --law released"),
        "labels": Sourced("hard", f"{_HPSV3_CODE}: soft_label False; the paper trains on the preferred picture"),
        "confident": Sourced(0.95, f"HPSv3 section 3.2: above 95%; section 3 says 90%; {_HPSV3_CODE}: 0.95"),
        "prior": Sourced(0.0, "HPSv3 section 4.1: the loss has none"),
        "learn": Sourced("full", "HPSv3 section 5.1.1: all parameters trainable"),
        "batch": Sourced(384, "HPSv3 section 5.1.1: 48 GPUs with 8 pairs each"),
        "at_once": Sourced(2, f"{_HPSV3_CODE}: 2 pairs, added up 4 times"),
        "epochs": Sourced(2, f"HPSv3 section 5.1.1; {_HPSV3_CODE}: 10"),
        "lr": Sourced(2e-6, "HPSv3 section 5.1.1"),
        "head_lr": Sourced(2e-6, f"{_HPSV3_CODE}: no rate of its own for the head"),
        "warmup": Sourced(0.05, "HPSv3 section 5.1.1"),
        "decay": Sourced("constant", f"{_HPSV3_CODE}: constant_with_warmup"),
        "weight_decay": Sourced(0.0, f"{_HPSV3_CODE} gives none: transformers' default"),
        "clip": Sourced(1.0, f"{_HPSV3_CODE} gives none: transformers' default"),
        "dropout": Sourced(0.05, "released code, qwen2vl_trainer.py: dropout after the head's first layer"),
        "pixels": Sourced(200_704, f"HPSv3 section 5.1.1: 448 x 448, proportions kept; {_HPSV3_CODE}: 200704"),
        "precision": Sourced("bfloat16", f"{_HPSV3_CODE}: bf16"),
        "recompute": Sourced(True, f"{_HPSV3_CODE}: gradient_checkpointing"),
        "choose": Sourced("last", "Salon's choice: neither says which state was released"),
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
        "group": Sourced(6, _TABLE16),
        "images": Sourced(64, _TABLE16),
        "lr": Sourced(1e-6, _TABLE16),
        "clip": Sourced(1.0, _TABLE16),
        "epochs": Sourced(10, _TABLE16),
        "max_tokens": Sourced(512, _TABLE16),
        "learn": Sourced("full", "PPaint section 5.1 names no adapters; ZeRO-3 on 8 GPUs of 80 GB"),
        "think": Sourced(True, "PPaint appendix D.3: thoughts, then the answer"),
        "weigh": Sourced("gap", "PPaint section 4.2: weight by the gap of pseudo-scores"),
        "tau": Sourced(0.5, "Salon's choice: not given by the paper"),
        "eps": Sourced(1e-6, f"{_VQR1}, grpo_jsonl.py: not given by the paper"),
        "ddof": Sourced(1, f"{_VQR1}, grpo_jsonl.py: torch.var's default; not given by the paper"),
        "format_penalty": Sourced(1.0, "Salon's choice: the paper names a format term without its weight"),
        "range_penalty": Sourced(0.5, "Salon's choice: the paper names a range term without its weight"),
        "beta": Sourced(0.04, f"{_VQR1}, grpo_config.py: not given by the paper"),
        "loss": Sourced("grpo", "PPaint equation 17: mean over images and answers"),
        "temperature": Sourced(1.0, f"{_VQR1}, grpo_trainer.py: not given by the paper"),
        "warmup": Sourced(0.0, f"{_VQR1} sets none: transformers' default; not given by the paper"),
        "decay": Sourced("linear", f"{_VQR1} sets none: transformers' default; not given by the paper"),
        "weight_decay": Sourced(0.0, f"{_VQR1} sets none: transformers' default; not given by the paper"),
        "precision": Sourced("bfloat16", f"{_VQR1}, one_node_run_kadid.sh: --bf16; not given by the paper"),
        "recompute": Sourced(True, f"{_VQR1}, one_node_run_kadid.sh: --gradient_checkpointing; not given by the paper"),
        "choose": Sourced("best", "Salon's choice: by validation; the paper picks its best epoch on the test set"),
    },
    (
        "The paper shares weights out by DeepSpeed ZeRO-3: accelerate launch with a file that says so.",
        "VisualQuality-R1 adds eps under the roots of the fidelity too; Salon's fidelity is the paper's, without.",
    ),
)

RECIPES: dict[str, Recipe] = {recipe.name: recipe for recipe in (_HPSV3, _PSDISTILL)}
