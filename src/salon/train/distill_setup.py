"""Before and after a one-pass scorer is trained: what a run continues with, trainers' arguments, weights, errors."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from salon.errors import BadValue, MissingExtra, NotConverged
from salon.models import ContextTooLong, LoadedVlm, load_network, picture_chat, vlm_processor
from salon.store import PART, whole_file, whole_folder
from salon.train.distill_settings import DISTILL_FREE, DistillSettings
from salon.train.distill_validation import STEP, OnePassData
from salon.train.training_setup import TorchProcesses, has_bfloat16, linear_layers, on_cpu

try:
    import torch
    from transformers.utils import logging
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("distill") from None

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TRL warns of its own experiments when it is imported
        from peft import LoraConfig, PeftModel
        from transformers import AutoModelForImageTextToText
        from transformers.integrations.deepspeed import unset_hf_deepspeed_config
        from transformers.utils import is_flash_attn_2_available
        from trl import GRPOConfig
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("distill") from None

CHECKPOINTS, START_FILE = "checkpoints", "begun.json"
_SUPPRESSED = ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id")
"""Tokens that no answer may hold: a network would look for a picture where there is none."""


def last_checkpoint(run: Path, folder: str = CHECKPOINTS) -> str | None:
    """The newest whole checkpoint of a run; one that broke off while it was written is passed over."""
    there = [path for path in (run / folder).glob("checkpoint-*") if (path / "trainer_state.json").is_file()]
    return str(max(there, key=lambda path: int(path.name.rpartition("-")[2]))) if there else None


def record_start(run: Path, settings: DistillSettings, made_by: Mapping[str, Any]) -> None:
    """Record what the run begins with; refuse to continue with anything else."""
    run.mkdir(parents=True, exist_ok=True)
    mine = {name: value for name, value in settings.model_dump(mode="json").items() if name not in DISTILL_FREE} | {
        **made_by
    }
    file = run / START_FILE
    if not file.is_file():
        with whole_file(file) as target:
            target.write(json.dumps(mine).encode())
        return
    before = json.loads(file.read_text())
    changed = [name for name in mine if mine[name] != before.get(name)]
    if changed:
        raise BadValue(
            "a run goes on with the labels, the model and the settings that it began with",
            found=", ".join(f"{name} {before.get(name)!r}, now {mine[name]!r}" for name in changed[:3]),
            where=str(run),
            remedy="give the same ones, or start again with --overwrite",
        )


def check_checkpoint(checkpoint: str | None, count: int, arguments: Any) -> None:
    """Refuse what DeepSpeed would meet later: its checkpoints are in as many parts as there were processes."""
    if checkpoint is None:
        return
    parts = len(list(Path(checkpoint).glob("global_step*/*_optim_states.pt")))
    if bool(parts) != (arguments.deepspeed_plugin is not None):
        raise BadValue(
            "a run goes on with the engine that it began with",
            found="a checkpoint by DeepSpeed, and none now" if parts else "a checkpoint without DeepSpeed, and it now",
            where=checkpoint,
            remedy="launch it as before, or start again with --overwrite",
        )
    if parts and parts != count:
        raise BadValue(
            "a run with DeepSpeed goes on in as many processes as it began with",
            found=f"a checkpoint of {parts}, now {count}",
            where=checkpoint,
            remedy=f"launch {parts} processes, or start again with --overwrite",
        )


def check_engine(settings: DistillSettings, arguments: Any) -> None:
    """Refuse a DeepSpeed configuration that trains to the end and then cannot write the weights."""
    plugin = arguments.deepspeed_plugin
    if settings.learn == "lora" or plugin is None or plugin.zero_stage != 3:
        return
    if not plugin.deepspeed_config["zero_optimization"].get("stage3_gather_16bit_weights_on_model_save"):
        raise BadValue(
            "ZeRO-3 must gather the weights to write them",
            found="zero3_save_16bit_model is not true",
            remedy="set it in the file that accelerate launch is given, as examples/distill/zero3.yaml does",
        )


def engine_arguments(settings: DistillSettings) -> dict[str, Any]:
    """Arguments shared by the trainers of a run: where and how exactly they compute, and what they write."""
    half = settings.precision == "bfloat16" or (settings.precision == "auto" and has_bfloat16())
    return {
        "use_cpu": on_cpu(),
        "bf16": half,
        "max_grad_norm": settings.clip,
        "gradient_checkpointing": not on_cpu() if settings.recompute is None else settings.recompute,
        "save_strategy": "steps",
        "save_steps": settings.save_every,
        "logging_steps": 1,
        "report_to": [],
        "disable_tqdm": True,
        "seed": settings.seed,
        "data_seed": settings.seed,
    }


def largest_divisor(number: int, limit: int) -> int:
    """The largest divisor of `number` that is not over `limit`."""
    return max(size for size in range(1, min(limit, number) + 1) if number % size == 0)


def grpo_arguments(settings: DistillSettings, run: Path, steps: int, count: int) -> GRPOConfig:
    """Arguments of TRL: one generation for each step, over all its images."""
    answers = settings.images * settings.group
    if answers % count:
        raise BadValue(
            "the answers of a step are shared out evenly among the processes",
            found=f"{settings.images} images x {settings.group} answers for {count} processes",
            remedy=f"choose --images and --group so that their product is a multiple of {count}",
        )
    share = answers // count
    at_once = largest_divisor(share, settings.at_once)
    return GRPOConfig(
        output_dir=str(run / CHECKPOINTS),
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
        beta=settings.beta,
        entropy_coef=settings.entropy_bonus,
        loss_type=settings.loss,
        scale_rewards="group",
        shuffle_dataset=False,
        save_total_limit=settings.keep,
        use_vllm=settings.vllm != "off",
        vllm_mode="colocate" if settings.vllm == "off" else settings.vllm,
        **{name: getattr(settings, name) for name in type(settings).model_fields if name.startswith("vllm_")},
        **engine_arguments(settings),
    )


# -- weights ---------------------------------------------------------------------------------------------------------


def load_vlm(source: str, settings: DistillSettings, *, half: bool) -> Any:
    """The VLM to train, in a folder or under a hub name; MissingWeights where there is none.

    Weights that are trained are in float32, those that only carry adapters in bfloat16 where the run computes in it.
    """
    dtype = "bfloat16" if half and settings.learn == "lora" else "float32"
    chosen = {} if settings.attention == "auto" else {"attn_implementation": settings.attention}
    return _load(source, dtype=dtype, **chosen)


def _load(source: str, **options: Any) -> Any:
    load = AutoModelForImageTextToText.from_pretrained
    return load_network(load, source, what="a VLM", use_safetensors=True, **options)


def check_attention(settings: DistillSettings, *, half: bool) -> None:
    """Refuse flash attention where it cannot run."""
    if settings.attention == "flash_attention_2" and not (half and is_flash_attn_2_available()):
        raise BadValue(
            "--attention flash_attention_2 needs a GPU, bfloat16 and the package flash-attn",
            found="no bfloat16" if not half else "no flash-attn that runs here",
            remedy="--attention auto, or pip install flash-attn",
        )


def lora_config(vlm: Any, settings: DistillSettings) -> LoraConfig:
    """Where adapters go, and how large they are."""
    return LoraConfig(
        r=settings.lora_rank,
        lora_alpha=settings.lora_alpha,  # type: ignore[arg-type]  # peft says int, and takes any number
        lora_dropout=settings.lora_dropout,
        target_modules=linear_layers(vlm, settings.lora_on),
    )


def write_weights(trainer: Any, processor: Any, place: Path, *, step: int | None = None) -> None:
    """Write what `trainer` has learned, a whole VLM or adapters, with the VLM's processor; every process takes part.

    `step` is written beside the weights, so that both are always of the same state.
    """
    part = place.with_name(f".{place.name}{PART}")
    trainer.save_model(str(part))

    def put_in_place() -> None:
        _save_processor(processor, part)
        if step is not None:
            (part / STEP).write_text(str(step))
        with whole_folder(place) as stage:  # the earlier weights stay until the new ones are whole
            for file in part.iterdir():
                os.replace(file, stage / file.name)
        part.rmdir()

    TorchProcesses().decide(put_in_place)


def save_merged(base: str, adapted: Path, folder: Path, *, half: bool) -> None:
    """Write the VLM `base` with the adapters in `adapted` merged, in bfloat16 where the run computed in it.

    In one process alone, on its CPU; the engine must have been released, or transformers would have all processes load
    the weights, each its share.
    """
    model = PeftModel.from_pretrained(_load(base, dtype="float32"), str(adapted)).merge_and_unload()
    (model.bfloat16() if half else model).save_pretrained(folder)
    _save_processor(vlm_processor(base, model.config.model_type), folder)


def release_engine() -> None:
    """After training: models are loaded whole again, also where DeepSpeed had shared their weights out (ZeRO-3)."""
    unset_hf_deepspeed_config()


def _save_processor(processor: Any, folder: Path) -> None:
    processor.tokenizer.save_pretrained(folder)
    processor.image_processor.save_pretrained(folder)


def copy_weights(weights: Path, folder: Path) -> None:
    """Copy a whole VLM, without what only a trainer reads."""
    shutil.copytree(weights, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("training_args.bin", STEP))


# -- questions and answers -------------------------------------------------------------------------------------------


def sampling_limits(vlm: Any, processor: Any, settings: DistillSettings) -> dict[str, Any]:
    """What sampling leaves out: by token for transformers, by its text for vLLM."""
    token_ids = (getattr(vlm.config, name, None) for name in _SUPPRESSED)
    tokens = sorted({token for token in token_ids if isinstance(token, int)})
    if settings.vllm == "off":
        return {"suppress_tokens": tokens}
    return {"bad_words": processor.tokenizer.convert_ids_to_tokens(tokens)} if tokens else {}


def check_length(vlm: Any, processor: Any, data: OnePassData, settings: DistillSettings) -> None:
    """Whether the first question leaves space for its answer; checked now, not in the middle of a step."""
    item = data.train[0]
    try:
        LoadedVlm.around(vlm, processor).inputs(
            [picture_chat(data.picture(item), data.asking.question(item))], settings.max_tokens
        )
    except ContextTooLong as error:
        raise BadValue(
            "question and answer must fit into the model's context",
            found=error.reason,
            where=f"item {item!r}",
            remedy="fewer --max-tokens or --pixels",
        ) from None


# -- errors in words ---------------------------------------------------------------------------------------------------


@contextmanager
def silence_libraries() -> Iterator[None]:
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
def explain_errors(settings: DistillSettings, run: Path) -> Iterator[None]:
    """Say what helps when memory runs out, or when the weights are no numbers any more."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, torch.OutOfMemoryError):
            raise _memory_error(settings) from None
        if "probability tensor contains" in str(error):  # what sampling says of such weights
            raise not_finite_error("chances of words that are none", run) from None
        if isinstance(error, NotImplementedError) and settings.vllm == "server":
            raise BadValue("--vllm server needs a GPU", found=str(error), remedy="--vllm off") from None
        raise
    except MemoryError:
        raise _memory_error(settings) from None


def not_finite_error(problem: str, run: Path) -> NotConverged:
    """The error for weights or a loss that are no numbers any more."""
    last = last_checkpoint(run)
    return NotConverged(
        "a loss that is a number is needed",
        found=problem,
        where=str(run),
        remedy=f"start again with a lower --lr or --clip; the last good checkpoint is {last or 'none'}",
    )


def _memory_error(settings: DistillSettings) -> BadValue:
    less = "--recompute, --learn lora, or fewer --pixels" if settings.at_once == 1 else "a smaller --at-once"
    return BadValue(
        "more memory is needed than there is",
        found=f"{settings.at_once} answers at once, --learn {settings.learn}",
        remedy=f"{less}; with --resume the run goes on from its last checkpoint",
    )


# -- vLLM --------------------------------------------------------------------------------------------------------------

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # TRL warns of its own experiments when it is imported
        from trl.generation.vllm_client import VLLMClient
        from trl.import_utils import is_vllm_available
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("distill") from None

SERVE = (
    'VLLM_SERVER_DEV_MODE=1 vllm serve MODEL --weight-transfer-config \'{"backend": "nccl"}\' '
    "--logprobs-mode processed_logprobs --max-logprobs -1"
)
"""How TRL wants a server to be started."""


def check_vllm(settings: DistillSettings, here: TorchProcesses) -> None:
    """Refuse a --vllm that cannot work; a server is waited for as long as --vllm-server-timeout says."""
    if settings.vllm == "off":
        return
    here.together(lambda: _check_installed(settings, here.count))
    if settings.vllm == "server":
        here.decide(lambda: _check_server(settings))


def _check_installed(settings: DistillSettings, count: int) -> None:
    if not is_vllm_available():
        raise BadValue(
            f"--vllm {settings.vllm} needs the package vllm",
            found="not installed",
            remedy="pip install 'trl[vllm]', or --vllm off",
        )
    if settings.vllm == "colocate" and on_cpu():
        raise BadValue("--vllm colocate needs a GPU", found="none", remedy="--vllm off")
    if settings.vllm == "colocate" and count % settings.vllm_tensor_parallel_size:
        raise BadValue(
            "the number of processes must be a multiple of --vllm-tensor-parallel-size",
            found=f"{count} processes, {settings.vllm_tensor_parallel_size}",
        )


def _check_server(settings: DistillSettings) -> None:
    """With TRL's own client, as TRL will do again."""
    address = settings.vllm_server_base_url or f"http://{settings.vllm_server_host}:{settings.vllm_server_port}"
    try:
        client = VLLMClient(base_url=address, connection_timeout=settings.vllm_server_timeout)
        reason = "no weight-transfer engine" if client.get_server_info()["weight_transfer_config"] is None else None
    except Exception as error:  # of whatever the client meets: nobody there, another server, no development mode
        reason = " ".join(str(error).split())[:200]
    if reason is not None:
        raise BadValue(
            "a vLLM server that takes weights from TRL is needed",
            found=reason,
            where=address,
            remedy=f"start one on other GPUs: {SERVE}",
        )
