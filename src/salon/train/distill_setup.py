"""Before a one-pass scorer is trained: what a run begins with and may go on with, and TRL's arguments for it."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from salon.errors import BadValue, MissingExtra
from salon.models.one_pass import chat
from salon.models.vlm import LoadedVlm, TooLong
from salon.models.weights import load_whole
from salon.store.atomic import whole_file
from salon.train.distill_data import OnePassData
from salon.train.distill_settings import FREE, DistillSettings
from salon.train.reward_setup import has_bfloat16, on_cpu

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TRL tells of its own experiments when it is imported
        from transformers import AutoModelForImageTextToText
        from trl import GRPOConfig
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("distill") from None

CHECKPOINTS, BEGUN = "checkpoints", "begun.json"
_SUPPRESSED = ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id")
"""Tokens that no answer may hold: a network would look for a picture where there is none."""


def last_checkpoint(run: Path) -> str | None:
    """The newest whole checkpoint of a run; one that broke off while it was written is passed over."""
    there = [path for path in (run / CHECKPOINTS).glob("checkpoint-*") if (path / "trainer_state.json").is_file()]
    return str(max(there, key=lambda path: int(path.name.rpartition("-")[2]))) if there else None


def begin(run: Path, settings: DistillSettings, made_by: Mapping[str, Any]) -> None:
    """Note what the run begins with; refuse to go on with anything else."""
    run.mkdir(parents=True, exist_ok=True)
    mine = {name: value for name, value in settings.model_dump(mode="json").items() if name not in FREE} | {**made_by}
    file = run / BEGUN
    if not file.is_file():
        with whole_file(file) as target:
            target.write(json.dumps(mine).encode())
        return
    found = json.loads(file.read_text())
    other = [name for name in mine if mine[name] != found.get(name)]
    if other:
        raise BadValue(
            "a run goes on with the labels, the model and the settings that it began with",
            found=", ".join(f"{name} {found.get(name)!r}, now {mine[name]!r}" for name in other[:3]),
            where=str(run),
            remedy="give the same ones, or begin anew with --overwrite",
        )


def grpo_arguments(settings: DistillSettings, run: Path, steps: int, count: int) -> GRPOConfig:
    """What TRL is told: one generation for each step, over all its images."""
    answers = settings.images * settings.group
    if answers % count:
        raise BadValue(
            "the answers of a step are shared out evenly among the processes",
            found=f"{settings.images} images x {settings.group} answers for {count} processes",
            remedy=f"choose --images and --group so that their product is a multiple of {count}",
        )
    share = answers // count
    at_once = max(size for size in range(1, min(settings.at_once, share) + 1) if share % size == 0)
    half = settings.precision == "bfloat16" or (settings.precision == "auto" and has_bfloat16())
    return GRPOConfig(
        output_dir=str(run / CHECKPOINTS),
        use_cpu=on_cpu(),
        bf16=half,
        max_steps=steps,
        per_device_train_batch_size=at_once,
        gradient_accumulation_steps=share // at_once,
        steps_per_generation=share // at_once,
        num_generations=settings.group,
        max_completion_length=settings.max_tokens,
        temperature=settings.temperature,
        learning_rate=settings.learning_rate,
        warmup_steps=round(settings.warmup * steps),
        lr_scheduler_type={"constant": "constant_with_warmup"}.get(settings.decay, settings.decay),
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.clip,
        beta=settings.beta,
        entropy_coef=settings.entropy_bonus,
        loss_type=settings.loss,
        scale_rewards="group",
        shuffle_dataset=False,
        gradient_checkpointing=settings.recompute,
        save_strategy="steps",
        save_steps=settings.save_every,
        save_total_limit=settings.keep,
        logging_steps=1,
        report_to=[],
        disable_tqdm=True,
        seed=settings.seed,
        data_seed=settings.seed,
    )


def loaded(source: str, dtype: str) -> Any:
    """The VLM in a folder or under a hub name; MissingWeights where there is none."""
    return load_whole(
        AutoModelForImageTextToText.from_pretrained, source, what="a VLM", dtype=dtype, use_safetensors=True
    )


def suppressed(vlm: Any) -> list[int]:
    """The tokens that sampling leaves out."""
    found = (getattr(vlm.config, name, None) for name in _SUPPRESSED)
    return sorted({token for token in found if isinstance(token, int)})


def check_length(vlm: Any, processor: Any, data: OnePassData, settings: DistillSettings) -> None:
    """Whether the first question leaves room for its answer: better now than in the middle of a step."""
    item = data.train[0]
    try:
        LoadedVlm.around(vlm, processor).inputs(
            [chat(data.picture(item), data.asking.question(item))], settings.max_tokens
        )
    except TooLong as error:
        raise BadValue(
            "question and answer must fit into the model's context",
            found=error.reason,
            where=f"item {item!r}",
            remedy="fewer --max-tokens or --pixels",
        ) from None
