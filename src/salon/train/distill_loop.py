"""The training of a one-pass scorer: GRPO by TRL, with the fidelity reward, looks at validation, and checkpoints.

One step samples `group` answers for each of `images` images, over all processes, rewards them against each other and
takes one step of AdamW. The order of images follows from the seed alone and is laid out beforehand, so a run that was
interrupted goes on with the images that come next; optimizer and random states come from its last checkpoint.

    RUN/log.jsonl, RUN/tensorboard/   what every step gave, and every look at the validation images
    RUN/answers.jsonl                 a few greedy answers at every look, as they were said
    RUN/checkpoints/checkpoint-N/     TRL's own: weights or adapters, optimizer, schedule, random states
    RUN/best/, RUN/best.json          the weights of the highest validation SRCC, and which they are
    RUN/begun.json                    what the run began with, and must go on with
"""

from __future__ import annotations

import json
import math
import os
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from salon.errors import BadValue, MissingExtra, NotConverged
from salon.models.one_pass import greedy_answers
from salon.models.vlm import LoadedVlm, vlm_processor
from salon.store.atomic import PART, whole_file, whole_folder
from salon.train.distill_adapters import trl_reward
from salon.train.distill_data import OnePassData, Validation, look
from salon.train.distill_format import FORMAT, adapters, learn_format, save_vlm
from salon.train.distill_processes import TorchProcesses
from salon.train.distill_reward import DistillReward, Rewarded
from salon.train.distill_settings import DistillSettings
from salon.train.distill_setup import (
    CHECKPOINTS,
    begin,
    check_length,
    grpo_arguments,
    last_checkpoint,
    loaded,
    suppressed,
)
from salon.train.reward_logs import RunLog, read_log
from salon.train.reward_setup import processes

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TRL tells of its own experiments when it is imported
        import torch
        from datasets import Dataset
        from peft import PeftModel
        from transformers import PrinterCallback, TrainerCallback
        from transformers.utils import logging
        from trl import GRPOTrainer
        from trl.models import unwrap_model_for_generation
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("distill") from None

BEST, SAID = "best", "answers.jsonl"
_SHOWN = 4
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
class Trained:
    """A run that has ended."""

    run: Path
    weights: Path
    """The folder of the chosen state: a whole VLM, or adapters on `base`."""
    base: str
    """What the run began from, the format stage included."""
    steps: int
    best_step: int
    before: Validation | None
    """The model as it began."""
    chosen: Validation | None
    """The state that was kept."""
    counts: dict[str, int]
    """Answers sampled, unread, out of range, thoughtless and unranked, before an interruption too."""
    seconds: float
    processes: int
    precision: str
    is_main: bool
    """Whether this process is the one that writes."""

    def save(self, folder: Path) -> None:
        """Write the chosen VLM, adapters merged, into `folder`."""
        if not (self.weights / "adapter_config.json").is_file():
            shutil.copytree(
                self.weights, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("training_args.bin")
            )
            return
        model = loaded(self.base, "float32")
        whole = PeftModel.from_pretrained(model, str(self.weights)).merge_and_unload()
        save_vlm(whole, vlm_processor(self.base, model.config.model_type), folder)

    def forget(self) -> None:
        """Remove what only an unfinished run needs."""
        for name in (CHECKPOINTS, BEST, FORMAT):
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
) -> Trained:
    """Train the VLM `model` on the labels of `data`; `progress` is told (step, steps, mean reward).

    Goes on from the last checkpoint in RUN where there is one, if `made_by` and the settings are those it began with.
    """
    here = processes()
    if here.is_main_process:
        begin(run, settings, made_by or {})
        if settings.format_steps:
            learn_format(model, data, settings, run, progress=format_progress)
    here.wait_for_everyone()
    base = str(run / FORMAT) if settings.format_steps else model
    steps = settings.steps or math.ceil(len(data.train) * settings.epochs / settings.images)
    order = data.order(settings.images, steps, settings.seed)
    arguments = grpo_arguments(settings, run, steps, here.num_processes)
    vlm = loaded(base, "float32" if settings.learn == "full" or not arguments.bf16 else "bfloat16")
    processor = vlm_processor(base, vlm.config.model_type)
    check_length(vlm, processor, data, settings)
    arguments.generation_kwargs = {"suppress_tokens": suppressed(vlm)}
    reward = DistillReward(data.labels, data.asking.read, settings, think=data.asking.think, processes=TorchProcesses())
    watch = _Watch(data, settings, run, processor, progress, name=name, is_main=here.is_main_process)
    with _quiet(), _explained(settings, run):
        rows = Dataset.from_dict({"item": order}).with_transform(_Rows(data))
        trainer = GRPOTrainer(
            model=vlm,
            reward_funcs=[trl_reward(reward, watch.rewarded)],
            args=arguments,
            train_dataset=rows,
            processing_class=processor,
            peft_config=adapters(vlm, settings) if settings.learn == "lora" else None,
            callbacks=[watch],
        )
        trainer.remove_callback(PrinterCallback)
        watch.trainer = trainer
        with watch.log:
            trainer.train(resume_from_checkpoint=last_checkpoint(run))
    return watch.trained(base, steps, here.num_processes, "bfloat16" if arguments.bf16 else "float32")


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what libraries tell about each other, on which no user can act; errors are errors still."""
    before = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(before)


@contextmanager
def _explained(settings: DistillSettings, run: Path) -> Iterator[None]:
    """Say what helps when memory runs out, or when the weights are no numbers any more."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, torch.OutOfMemoryError):
            raise _too_little(settings) from None
        if "probability tensor contains" in str(error):  # what sampling says of such weights
            raise _no_number("chances of words that are none", run) from None
        raise
    except MemoryError:
        raise _too_little(settings) from None


def _too_little(settings: DistillSettings) -> BadValue:
    less = "--recompute, --learn lora, or fewer --pixels" if settings.at_once == 1 else "a smaller --at-once"
    return BadValue(
        "more memory is needed than there is",
        found=f"{settings.at_once} answers at once, --learn {settings.learn}",
        remedy=f"{less}; with --resume the run goes on from its last checkpoint",
    )


def _no_number(found: str, run: Path) -> NotConverged:
    last = last_checkpoint(run)
    return NotConverged(
        "a loss that is a number is needed",
        found=found,
        where=str(run),
        remedy=f"begin anew with a lower --lr or --clip; the last good checkpoint is {last or 'none'}",
    )


class _Rows:
    """The transform of a dataset of ids."""

    def __init__(self, data: OnePassData) -> None:
        self.data = data

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[Any]]:
        return self.data.rows(batch)

    def __reduce__(self) -> Any:
        return str, (f"rows of {len(self.data.train)} items",)  # a dataset hashes its transform; it is never sent away


# -- while it trains -------------------------------------------------------------------------------------------------


@dataclass
class _Best:
    """The best look at the validation images so far."""

    step: int = 0
    validation: Validation | None = None
    before: Validation | None = None
    seconds: float = 0.0


class _Watch(TrainerCallback):  # type: ignore[misc]
    """Writes the log, looks at the validation images, and keeps the best weights."""

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
        is_main: bool,
    ) -> None:
        self.data, self.settings, self.run, self.processor, self.progress = data, settings, run, processor, progress
        self.is_main, self.best, self.counts = is_main, _read_best(run), dict.fromkeys(_COUNTED, 0)
        self.items = data.validation[: settings.validate_images]
        self.latest: Rewarded | None = None
        last = last_checkpoint(run)
        step = int(last.rpartition("-")[2]) if last else 0
        self.log = RunLog(run if is_main else None, settings.record(), name=name, step=step)
        for record in read_log(run) if step else ():
            self._count(record.get)
        self._started = time.perf_counter() - self.best.seconds

    def rewarded(self, found: Rewarded) -> None:
        """Note what the answers of a step were worth."""
        self.latest = found
        self._count(lambda name: getattr(found, name))

    def _count(self, told: Callable[[str], Any]) -> None:
        """Add the counts of one step; a look at the validation images has none."""
        for name in _COUNTED:
            self.counts[name] += int(told(name) or 0)

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """A look before the first step."""
        if state.global_step == 0 and self.items:
            self.best.before = self._look(0)
            self.log.write("validation", 0, self.best.before.figures())
            self._keep()

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float] | None = None, **_: Any) -> None:
        """After every step: the log, and now and then a look."""
        if not logs or "loss" not in logs or self.latest is None:
            return
        step, found = state.global_step, self.latest
        _check_finite(step, logs, self.run)
        figures = {name.rpartition("/")[2]: float(logs[name]) for name in _LOGGED if name in logs}
        counted = {name: float(getattr(found, name)) for name in _COUNTED}
        told = {name: value if math.isfinite(value) else None for name, value in (figures | found.figures).items()}
        self.log.write("train", step, {**told, **counted})
        if self.items and (step % self.settings.validate_every == 0 or step == state.max_steps):
            self._choose(step, self._look(step))
        self.best.seconds = time.perf_counter() - self._started
        self.progress(step, state.max_steps, found.figures["reward"])

    def _choose(self, step: int, validation: Validation) -> None:
        self.log.write("validation", step, validation.figures())
        if self.best.validation is None or validation.srcc > self.best.validation.srcc:
            self.best.step, self.best.validation = step, validation
            if self.settings.choose == "best":
                self.weigh(self.run / BEST)
            self._keep()

    def weigh(self, place: Path) -> None:
        """Write the weights as they are now; every process takes part."""
        part = place.with_name(f".{place.name}{PART}")
        self.trainer.save_model(str(part))
        if self.is_main:
            self.processor.tokenizer.save_pretrained(part)
            self.processor.image_processor.save_pretrained(part)
            with whole_folder(place) as stage:  # the best so far is there until the better one is, both of them whole
                for one in part.iterdir():
                    os.replace(one, stage / one.name)
            part.rmdir()
        self.trainer.accelerator.wait_for_everyone()

    def _look(self, step: int) -> Validation:
        """Greedy answers about the validation images, each process about its share."""
        here = TorchProcesses()
        mine = self.items[here.number :: here.count]
        asked = lambda number: (self.data.picture(mine[number]), self.data.asking.question(mine[number]))  # noqa: E731
        trainer = self.trainer
        with unwrap_model_for_generation(trainer.model_wrapped, trainer.accelerator) as plain:
            was = plain.training
            plain.eval()
            answers = greedy_answers(
                LoadedVlm.around(plain, self.processor), len(mine), asked, max_tokens=self.settings.max_tokens
            )
            plain.train(was)
        told = [pair for part in here.gather(list(zip(mine, answers))) for pair in part]
        if self.is_main:
            with open(self.run / SAID, "a", encoding="utf-8") as file:
                file.writelines(
                    json.dumps({"step": step, "item": item, "said": text}) + "\n" for item, text in told[:_SHOWN]
                )
        return look(self.data, [item for item, _ in told], [text for _, text in told])

    def _keep(self) -> None:
        if self.is_main:
            with whole_file(self.run / f"{BEST}.json") as file:
                file.write(json.dumps(asdict(self.best)).encode())

    def trained(self, base: str, steps: int, count: int, precision: str) -> Trained:
        """The run as it ended."""
        best = self.best
        chosen = self.settings.choose == "best" and best.validation is not None
        if not chosen:
            self.weigh(self.run / BEST)
        last = self._look(steps) if self.items and not chosen else best.validation
        return Trained(
            run=self.run, weights=self.run / BEST, base=base, steps=steps, best_step=best.step if chosen else steps,
            before=best.before, chosen=last, counts=dict(self.counts), seconds=best.seconds, processes=count,
            precision=precision, is_main=self.is_main,
        )  # fmt: skip


_COUNTED = ("answers", "unread", "out_of_range", "thoughtless", "unranked")


def _check_finite(step: int, logs: Mapping[str, float], run: Path) -> None:
    """A loss that is no number spoils all weights after it."""
    if not math.isfinite(float(logs["loss"]) + float(logs.get("grad_norm", 0.0))):
        raise _no_number(f"loss {logs['loss']}, gradient {logs.get('grad_norm')} in step {step}", run)


def _read_best(run: Path) -> _Best:
    """What the run had found when it was interrupted."""
    file = run / f"{BEST}.json"
    if not file.is_file():
        return _Best()
    record = json.loads(file.read_text())
    looks = {name: Validation(**record[name]) if record[name] else None for name in ("validation", "before")}
    if not (run / BEST).is_dir():  # killed while its weights were exchanged
        return _Best(seconds=record["seconds"], before=looks["before"])
    return _Best(step=record["step"], seconds=record["seconds"], **looks)
