"""The training of a one-pass scorer: GRPO by TRL, with the fidelity reward, looks at validation, and checkpoints.

One step samples `group` answers for each of `images` images, over all processes, rewards them against each other and
takes one step of AdamW. The order of images follows from the seed alone and is fixed beforehand, so a run that was
interrupted continues with the next images; optimizer and random states come from its last checkpoint.

    RUN/log.jsonl, RUN/tensorboard/   what every step gave, and every look at the validation images
    RUN/answers.jsonl                 a few greedy answers at every look, verbatim
    RUN/checkpoints/checkpoint-N/     TRL's own: weights or adapters, optimizer, schedule, random states
    RUN/best/                         the weights of the state that is kept so far
    RUN/looks.json                    the scores of every look at the validation images
    RUN/begun.json                    what the run began with, and must continue with

Several processes run the same code. What only the first can know or may do (folders, checkpoints, choices) is decided
there and sent to the others, errors too.

The format stage is a brief supervised stage on the form of an answer alone: scores are drawn at random, without regard
to the image. It teaches only how to answer. A released VLM does not need it; a model that never keeps the form has no
answer that could be rewarded, and GRPO no difference to learn from. TRL's SFTTrainer takes the steps, in all processes
and with the same engine as GRPO. The weights are written to RUN/format, from where training begins; the divergence from
the model as it began is then from this one.
"""

from __future__ import annotations

import gc
import json
import math
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from salon.errors import BadValue, MissingExtra
from salon.models import LoadedVlm, greedy_answers, picture_chat, vlm_processor
from salon.store import whole_folder
from salon.train.distill_settings import AnswerRewards, DistillReward, DistillSettings, trl_reward
from salon.train.distill_setup import (
    CHECKPOINTS,
    check_attention,
    check_checkpoint,
    check_engine,
    check_length,
    check_vllm,
    copy_weights,
    engine_arguments,
    explain_errors,
    grpo_arguments,
    largest_divisor,
    last_checkpoint,
    load_vlm,
    lora_config,
    not_finite_error,
    record_start,
    release_engine,
    sampling_limits,
    save_merged,
    silence_libraries,
    write_weights,
)
from salon.train.distill_validation import BEST, OnePassData, TrainingVerdict, ValidationCurve, read_looks
from salon.train.run_folder import RunLog, read_log
from salon.train.training_setup import TorchProcesses, processes

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TRL tells of its own experiments when it is imported
        from datasets import Dataset
        from transformers import PrinterCallback, TrainerCallback, set_seed
        from trl import GRPOTrainer
        from trl.models import unwrap_model_for_generation
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("distill") from None

ANSWERS_LOG = "answers.jsonl"
_LOGGED_ANSWERS = 4
"""Answers kept of each look, for people to read."""
_LOGGED = (
    "loss",
    "grad_norm",
    "kl",
    "entropy",
    "learning_rate",
    "completions/mean_length",
    "completions/clipped_ratio",
)


@dataclass(frozen=True)
class TrainedScorer:
    """A run that has ended."""

    run: Path
    weights: Path
    """The folder of the chosen state: a whole VLM, or adapters on `base`."""
    base: str
    """What the run began from, the format stage included."""
    steps: int
    best_step: int
    """The step whose weights are kept."""
    curve: ValidationCurve
    """The looks at the validation images."""
    counts: dict[str, int]
    """Answers sampled, unread, out of range, thoughtless and unranked, before an interruption too."""
    seconds: float
    processes: int
    precision: str
    is_main: bool
    """Whether this process is the one that writes."""

    @property
    def verdict(self) -> TrainingVerdict:
        """Whether the policy learned."""
        return self.curve.verdict(self.best_step)

    def save(self, folder: Path) -> None:
        """Write the chosen VLM, adapters merged, into `folder`; one process does."""
        if (self.weights / "adapter_config.json").is_file():
            save_merged(self.base, self.weights, folder, half=self.precision == "bfloat16")
        else:
            copy_weights(self.weights, folder)

    def forget(self) -> None:
        """Remove what only an unfinished run needs."""
        for name in (CHECKPOINTS, BEST, FORMAT, FORMAT_CHECKPOINTS):
            shutil.rmtree(self.run / name, ignore_errors=True)


def train_one_pass(
    model: str,
    data: OnePassData,
    settings: DistillSettings,
    run: Path,
    *,
    name: str = "one-pass",
    made_by: Mapping[str, Any] | None = None,
    progress: Callable[[int, int, float], None] = lambda step, steps, reward: None,
    format_progress: Callable[[int, int, float], None] = lambda step, steps, loss: None,
) -> TrainedScorer:
    """Train the VLM `model` on the labels of `data`; `progress` is called with (step, steps, mean reward).

    Goes on from the last checkpoint in RUN where there is one, if `made_by` and the settings are those it began with.
    """
    processes()  # joins the others
    here = TorchProcesses()
    if here.number:
        progress = format_progress = lambda step, steps, figure: None  # the first process reports
    steps = settings.steps or math.ceil(len(data.train) * settings.epochs / settings.images)
    arguments = here.together(lambda: _checked_arguments(data, settings, run, steps, here.count))
    check_vllm(settings, here)
    here.decide(lambda: record_start(run, settings, made_by or {}))
    last = here.decide(lambda: last_checkpoint(run))
    here.decide(lambda: check_checkpoint(last, here.count, arguments))
    base = model
    with silence_libraries(), explain_errors(settings, run), _release_after():
        if settings.format_steps:
            base = str(learn_format(model, data, settings, run, progress=format_progress))
            arguments = grpo_arguments(settings, run, steps, here.count)  # sets the engine up again
        vlm = load_vlm(base, settings, half=bool(arguments.bf16))
        processor = vlm_processor(base, vlm.config.model_type)
        here.together(lambda: check_length(vlm, processor, data, settings))
        arguments.generation_kwargs = sampling_limits(vlm, processor, settings)
        reward = DistillReward(data.labels, data.asking.read, settings, think=data.asking.think, processes=here)
        watch = _TrainingWatch(data, settings, run, processor, progress, name=name, last=last)
        rows = Dataset.from_dict({"item": data.order(settings.images, steps, settings.seed)})
        set_seed(settings.seed)  # of new adapters
        trainer = GRPOTrainer(
            model=vlm,
            reward_funcs=[trl_reward(reward, watch.rewarded)],
            args=arguments,
            train_dataset=rows.with_transform(_RowTransform(data)),
            processing_class=processor,
            peft_config=lora_config(vlm, settings) if settings.learn == "lora" else None,
            callbacks=[watch],
        )
        trainer.remove_callback(PrinterCallback)
        watch.trainer = trainer
        with watch.log:
            trainer.train(resume_from_checkpoint=last)
        return watch.trained(base, steps, here.count, "bfloat16" if arguments.bf16 else "float32")


def _checked_arguments(data: OnePassData, settings: DistillSettings, run: Path, steps: int, count: int) -> Any:
    """TRL's arguments, after everything that can be refused without a model."""
    data.order(settings.images, 1, settings.seed)
    arguments = grpo_arguments(settings, run, steps, count)
    check_engine(settings, arguments)
    check_attention(settings, half=bool(arguments.bf16))
    return arguments


@contextmanager
def _release_after() -> Iterator[None]:
    """After the block, models are loaded whole again."""
    try:
        yield
    finally:
        release_engine()


class _RowTransform:
    """The transform of a dataset of ids."""

    def __init__(self, data: OnePassData) -> None:
        self.data = data

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        return self.data.rows(batch)

    def __reduce__(self) -> Any:
        return str, (f"rows of {len(self.data.train)} items",)  # a dataset hashes its transform; it is never sent away


# -- while it trains -------------------------------------------------------------------------------------------------


class _TrainingWatch(TrainerCallback):
    """Writes the log, looks at the validation images, and stores the weights that are kept."""

    trainer: Any

    def __init__(
        self,
        data: OnePassData,
        settings: DistillSettings,
        run: Path,
        processor: Any,
        progress: Callable[[int, int, float], None],
        *,
        name: str,
        last: str | None,
    ) -> None:
        self.data, self.settings, self.run, self.processor, self.progress = data, settings, run, processor, progress
        here = TorchProcesses()
        self.is_main, self.counts = here.number == 0, dict.fromkeys(_COUNTS, 0)
        self.items = data.validation[: settings.validate_images]
        self.curve = ValidationCurve(data, self.items, choose=settings.choose)
        self.latest: AnswerRewards | None = None
        step = int(last.rpartition("-")[2]) if last else 0
        self.curve.load(here.decide(lambda: read_looks(run)), step)
        self._rewards: list[float] = []
        self.log = RunLog(run if self.is_main else None, settings.record(), name=name, step=step)
        for record in here.decide(lambda: read_log(run)) if step else ():
            self._count(record.get)
            self._rewards = [] if record["kind"] == "validation" else [*self._rewards, float(record.get("reward", 0.0))]
        self._started = time.perf_counter() - self.curve.seconds

    def rewarded(self, rewards: AnswerRewards) -> None:
        """Note what the answers of a step were worth."""
        self.latest = rewards
        self._count(lambda name: getattr(rewards, name))

    def _count(self, count_of: Callable[[str], Any]) -> None:
        """Add the counts of one step; a look at the validation images has none."""
        for name in _COUNTS:
            self.counts[name] += int(count_of(name) or 0)

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """A look before the first step."""
        if state.global_step == 0 and self.items:
            self._look(0)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        """After every step: the log, and now and then a look."""
        if not logs or "loss" not in logs or self.latest is None:
            return
        step, rewards = state.global_step, self.latest
        if not math.isfinite(float(logs["loss"]) + float(logs.get("grad_norm", 0.0))):
            raise not_finite_error(f"loss {logs['loss']}, gradient {logs.get('grad_norm')} in step {step}", self.run)
        figures = {name.rpartition("/")[2]: float(logs[name]) for name in _LOGGED if name in logs}
        counts = {name: float(getattr(rewards, name)) for name in _COUNTS}
        finite = {name: value if math.isfinite(value) else None for name, value in (figures | rewards.figures).items()}
        self.log.write("train", step, {**finite, **counts})
        self._rewards.append(rewards.figures["reward"])
        self.curve.seconds = time.perf_counter() - self._started
        if self.items and (step % self.settings.validate_every == 0 or step == state.max_steps):
            self._look(step)
        self.progress(step, state.max_steps, rewards.figures["reward"])

    def _look(self, step: int) -> None:
        """Ask about the validation images, and store the weights where this state is to be kept."""
        is_kept = self.curve.add(step, self._answers(step), float(np.mean(self._rewards)) if self._rewards else None)
        look, self._rewards = self.curve.at(step), []
        assert look is not None
        self.log.write("validation", step, look.figures())
        if TorchProcesses().decide(lambda: is_kept):
            self.weigh(self.run / BEST, step)
        if self.is_main:
            self.curve.save(self.run)

    def weigh(self, place: Path, step: int) -> None:
        """Write the weights as they are now, after `step`; every process takes part."""
        write_weights(self.trainer, self.processor, place, step=step)

    def _answers(self, step: int) -> list[str]:
        """Greedy answers about the validation images in their order, each process about its share."""
        here = TorchProcesses()
        mine = self.items[here.number :: here.count]
        question_of = lambda number: (self.data.picture(mine[number]), self.data.asking.question(mine[number]))  # noqa: E731
        trainer = self.trainer
        with unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as plain:
            was = plain.training
            plain.eval()
            answers = greedy_answers(
                LoadedVlm.around(plain, self.processor), len(mine), question_of, max_tokens=self.settings.max_tokens
            )
            plain.train(was)
        answered_items = [pair for part in here.gather(list(zip(mine, answers))) for pair in part]
        if self.is_main:
            with open(self.run / ANSWERS_LOG, "a", encoding="utf-8") as file:
                file.writelines(
                    json.dumps({"step": step, "item": item, "said": text}) + "\n"
                    for item, text in answered_items[:_LOGGED_ANSWERS]
                )
        text = dict(answered_items)
        return [text[item] for item in self.items]

    def trained(self, base: str, steps: int, count: int, precision: str) -> TrainedScorer:
        """The run as it ended."""
        kept_step = TorchProcesses().decide(lambda: self.curve.kept)
        if kept_step is None:
            self.weigh(self.run / BEST, steps)
        return TrainedScorer(
            run=self.run, weights=self.run / BEST, base=base, steps=steps, best_step=kept_step or steps,
            curve=self.curve, counts=dict(self.counts),
            seconds=self.curve.seconds, processes=count, precision=precision,
            is_main=self.is_main,
        )  # fmt: skip


_COUNTS = ("answers", "unread", "out_of_range", "thoughtless", "unranked")


# -- the format stage --------------------------------------------------------------------------------------------------

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
    arguments = _format_arguments(settings, run, here.count)
    here.decide(lambda: check_checkpoint(last, here.count, arguments))
    half = bool(arguments.bf16)
    vlm = load_vlm(model, settings, half=half)
    processor = vlm_processor(model, vlm.config.model_type)
    set_seed(settings.seed)  # of new adapters
    # the items and answers of all steps, one after the other: the seed alone decides, in every process alike
    rng = np.random.default_rng([settings.seed, settings.format_steps])
    items: list[str] = []
    answers: list[str] = []
    for _ in range(settings.format_steps):
        items += [data.train[number] for number in rng.integers(len(data.train), size=settings.format_batch)]
        answers += [data.asking.random_answer(rng) for _ in range(settings.format_batch)]
    trainer = _FormatTrainer(
        model=vlm,
        args=arguments,
        train_dataset=Dataset.from_dict({"item": items, "answer": answers}),
        processing_class=processor,
        data_collator=_FormatCollator(data, vlm, processor),
        peft_config=lora_config(vlm, settings) if settings.learn == "lora" else None,
        callbacks=[_FormatProgress(progress)],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=last)
    learned = place if settings.learn == "full" else run / f"{FORMAT}-adapters"
    write_weights(trainer, processor, learned)
    trainer.accelerator.free_memory()
    del trainer, vlm
    gc.collect()
    release_engine()

    def finish() -> None:
        if learned != place:
            with whole_folder(place) as folder:
                save_merged(model, learned, folder, half=half)
            shutil.rmtree(learned)
        shutil.rmtree(place.with_name(FORMAT_CHECKPOINTS), ignore_errors=True)

    here.decide(finish)
    return place


def _format_arguments(settings: DistillSettings, run: Path, count: int) -> SFTConfig:
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


class _FormatProgress(TrainerCallback):
    """Reports the loss of every step."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        """After every step."""
        if logs and "loss" in logs:
            self.progress(state.global_step, state.max_steps, float(logs["loss"]))


class _FormatCollator:
    """Chats with an answer behind each; only the answer is learned."""

    def __init__(self, data: OnePassData, vlm: Any, processor: Any) -> None:
        self.data, self.vlm = data, LoadedVlm.around(vlm, processor)
        self.vlm.device = "cpu"  # accelerate moves the batch

    def __call__(self, rows: Sequence[Mapping[str, str]]) -> dict[str, Any]:
        questions = [
            picture_chat(self.data.picture(row["item"]), self.data.asking.question(row["item"])) for row in rows
        ]
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
