"""A brief supervised stage on the form of an answer alone: scores are drawn at random, without regard to the image.

It teaches nothing about quality, only how to answer. A released VLM does not need it; a model that never keeps the form
has no answer that could be rewarded, and GRPO no difference to learn from. TRL's SFTTrainer takes the steps, in all
processes and with the same engine as GRPO. The weights are written to RUN/format, from where training begins; the
divergence from the model as it began is then from this one.
"""

from __future__ import annotations

import gc
import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from salon.errors import BadValue, MissingExtra
from salon.models.one_pass import chat
from salon.models.vlm import LoadedVlm, vlm_processor
from salon.store.atomic import whole_folder
from salon.train.distill_data import OnePassData
from salon.train.distill_processes import TorchProcesses
from salon.train.distill_settings import DistillSettings
from salon.train.distill_setup import (
    adapters,
    check_checkpoint,
    engine_arguments,
    largest_divisor,
    last_checkpoint,
    loaded,
    release_engine,
    save_merged,
    write_weights,
)

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TRL warns of its own experiments when it is imported
        import torch
        from datasets import Dataset
        from transformers import PrinterCallback, TrainerCallback, set_seed
        from trl import SFTConfig, SFTTrainer
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("distill") from None

FORMAT, FORMAT_CHECKPOINTS = "format", "format-checkpoints"
Progress = Callable[[int, int, float], None]


def learn_format(
    model: str,
    data: OnePassData,
    settings: DistillSettings,
    run: Path,
    *,
    progress: Progress = lambda step, steps, loss: None,
) -> Path:
    """Train `model` on the form of answers and write it to RUN/format; a run that goes on finds it there, or its last
    checkpoint. Every process takes part."""
    here, place = TorchProcesses(), run / FORMAT
    if here.decide(place.is_dir):
        return place
    last = here.decide(lambda: last_checkpoint(run, FORMAT_CHECKPOINTS))
    arguments = _arguments(settings, run, here.count)
    here.decide(lambda: check_checkpoint(last, here.count, arguments))
    half = bool(arguments.bf16)
    vlm = loaded(model, settings, half=half)
    processor = vlm_processor(model, vlm.config.model_type)
    set_seed(settings.seed)  # of new adapters
    trainer = _FormatTrainer(
        model=vlm,
        args=arguments,
        train_dataset=Dataset.from_dict(_rows(data, settings)),
        processing_class=processor,
        data_collator=_Collator(data, vlm, processor),
        peft_config=adapters(vlm, settings) if settings.learn == "lora" else None,
        callbacks=[_Steps(progress)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=last)
    learned = place if settings.learn == "full" else run / f"{FORMAT}-adapters"
    write_weights(trainer, processor, learned)
    trainer.accelerator.free_memory()
    del trainer, vlm
    gc.collect()
    release_engine()
    here.decide(lambda: _finish(model, learned, place, half=half))
    return place


def _finish(model: str, learned: Path, place: Path, *, half: bool) -> None:
    if learned != place:
        with whole_folder(place) as folder:
            save_merged(model, learned, folder, half=half)
        shutil.rmtree(learned)
    shutil.rmtree(place.with_name(FORMAT_CHECKPOINTS), ignore_errors=True)


def _arguments(settings: DistillSettings, run: Path, count: int) -> SFTConfig:
    if settings.format_batch % count:
        raise BadValue(
            "the answers of a format step are shared out evenly among the processes",
            found=f"--format-batch {settings.format_batch} for {count} processes",
            remedy=f"a multiple of {count}",
        )
    share = settings.format_batch // count
    at_once = largest_divisor(share, settings.at_once)
    return SFTConfig(
        output_dir=str(run / FORMAT_CHECKPOINTS),
        max_steps=settings.format_steps,
        per_device_train_batch_size=at_once,
        gradient_accumulation_steps=share // at_once,
        learning_rate=settings.format_lr,
        weight_decay=0.0,
        max_length=None,
        train_sampling_strategy="sequential",
        dataset_kwargs={"skip_prepare_dataset": True},
        remove_unused_columns=False,
        save_total_limit=1,
        **engine_arguments(settings),
    )


class _FormatTrainer(SFTTrainer):
    def create_scheduler(self, num_training_steps: int, optimizer: Any = None) -> Any:
        """Up over five steps, then down to a tenth."""
        steps = optimizer or self.optimizer
        assert steps is not None  # made before the schedule
        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
            steps, lambda step: min(1.0, (step + 1) / 5) * (1 - 0.9 * step / num_training_steps)
        )
        return self.lr_scheduler


class _Steps(TrainerCallback):
    """Reports the loss of every step."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        """After every step."""
        if logs and "loss" in logs:
            self.progress(state.global_step, state.max_steps, float(logs["loss"]))


def _rows(data: OnePassData, settings: DistillSettings) -> dict[str, list[str]]:
    """The items and answers of all steps, one after the other: the seed alone decides, in every process alike."""
    rng = np.random.default_rng([settings.seed, settings.format_steps])
    items: list[str] = []
    answers: list[str] = []
    for _ in range(settings.format_steps):
        items += [data.train[number] for number in rng.integers(len(data.train), size=settings.format_batch)]
        answers += [data.asking.random_answer(rng) for _ in range(settings.format_batch)]
    return {"item": items, "answer": answers}


class _Collator:
    """Chats with an answer behind each; only the answer is learned."""

    def __init__(self, data: OnePassData, vlm: Any, processor: Any) -> None:
        self.data, self.vlm = data, LoadedVlm.around(vlm, processor)
        self.vlm.device = "cpu"  # accelerate moves the batch

    def __call__(self, rows: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        questions = [chat(self.data.picture(row["item"]), self.data.asking.question(row["item"])) for row in rows]
        inputs = dict(self.vlm.inputs(questions, 0))
        tokenizer = self.vlm.tokenizer
        end = tokenizer.eos_token_id
        answers = [[*tokenizer(row["answer"], add_special_tokens=False)["input_ids"], end] for row in rows]
        longest = max(map(len, answers))
        pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else end
        answer = torch.tensor([ids + [pad] * (longest - len(ids)) for ids in answers])
        real = torch.tensor([[1] * len(ids) + [0] * (longest - len(ids)) for ids in answers])
        before = torch.full_like(inputs["input_ids"], -100)
        inputs["labels"] = torch.cat([before, answer.masked_fill(real == 0, -100)], dim=1)
        inputs["input_ids"] = torch.cat([inputs["input_ids"], answer], dim=1)
        inputs["attention_mask"] = torch.cat([inputs["attention_mask"], real], dim=1)
        for name in ("token_type_ids", "mm_token_type_ids"):
            if name in inputs:
                inputs[name] = torch.cat([inputs[name], torch.zeros_like(answer)], dim=1)
        return inputs
