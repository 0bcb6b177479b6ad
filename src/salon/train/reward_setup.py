"""Before a reward model is trained: what is learned, how fast, where it runs, and with how much memory."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from salon.errors import BadValue, MissingExtra
from salon.models.lora import add_lora
from salon.models.reward_network import RewardNetwork
from salon.train.losses import TIE_LAWS, starting_tie
from salon.train.reward_settings import RewardSettings

try:
    import torch
    from accelerate import Accelerator, PartialState
    from accelerate.state import AcceleratorState
    from accelerate.utils import parse_flag_from_env
    from torch import nn
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

LARGE = 1_000_000_000
"""Weights of a VLM beyond which activations are computed again by default."""
_PATIENCE = timedelta(hours=2)
"""Longest wait for another process: the first one hashes, merges and writes large weights while the others wait."""


def make_trainable(network: RewardNetwork, settings: RewardSettings, *, ties: float) -> Any:
    """Choose what is learned; gives the adapters, if there are any."""
    network.vlm.requires_grad_(settings.learn == "full")
    adapters = None
    if settings.learn == "lora":
        adapters = add_lora(
            network.vlm, where=settings.lora_on, rank=settings.lora_rank, alpha=settings.lora_alpha,
            dropout=settings.lora_dropout, token=network.token, seed=settings.seed,
        )  # fmt: skip
    out, into = network.vlm.get_output_embeddings(), network.vlm.get_input_embeddings()
    if settings.learn == "full" and out is not None and out.weight is not into.weight:
        out.weight.requires_grad_(False)  # no score depends on the words it would say
    network.rm_head.requires_grad_()
    if settings.law in TIE_LAWS:
        network.extra["tie"] = nn.Parameter(torch.tensor([starting_tie(min(max(ties, 0.01), 0.9))]))
    large = settings.learn != "head" and sum(weight.numel() for weight in network.vlm.parameters()) > LARGE
    if large if settings.recompute is None else settings.recompute:
        network.vlm.gradient_checkpointing_enable({"use_reentrant": False})
        network.vlm.disable_input_require_grads()  # else gradients run through all that is frozen, to no use
    return adapters


def set_attention(vlm: Any, attention: str) -> None:
    """Have attention computed that way; BadValue where it is not installed or the VLM does not know it."""
    if attention == "auto":
        return
    try:
        vlm.set_attn_implementation(attention)
    except (ImportError, ValueError) as error:
        raise BadValue(
            f"--attention {attention} needs its package and a VLM that knows it",
            found=" ".join(str(error).split())[:200],
            remedy="install what is missing, or --attention sdpa",
        ) from None


def chosen_shard(settings: RewardSettings) -> str:
    """none, fsdp2, zero2 or zero3: what was asked for, or what the file of accelerate launch says."""
    launched = _launched_shard()
    if settings.shard == "auto":
        return launched or "none"
    if launched and launched != settings.shard:
        raise BadValue(
            "--shard and the file of accelerate launch must say the same",
            found=f"--shard {settings.shard} and {launched}",
            remedy="leave out --shard, or start with torchrun",
        )
    return settings.shard


def _launched_shard() -> str | None:
    """What accelerate launch has put into the environment."""
    if parse_flag_from_env("ACCELERATE_USE_FSDP"):
        if os.environ.get("FSDP_VERSION", "1") != "2":
            raise BadValue("FSDP of version 2 is needed", found="version 1", remedy="fsdp_version: 2 in the file")
        if parse_flag_from_env("FSDP_OFFLOAD_PARAMS"):
            raise BadValue(
                "under FSDP2 weights stay on the GPU",
                found="fsdp_offload_params: true",
                remedy="take zero3",
            )
        return "fsdp2"
    if parse_flag_from_env("ACCELERATE_USE_DEEPSPEED"):
        file = os.environ.get("ACCELERATE_DEEPSPEED_CONFIG_FILE", "none")
        stage = os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE", "2")
        if file != "none":
            with open(file, encoding="utf-8") as text:
                stage = str(json.load(text).get("zero_optimization", {}).get("stage", 0))
        if stage not in ("2", "3"):
            raise BadValue("ZeRO of stage 2 or 3 is needed", found=f"stage {stage}", remedy="zero_stage: 3 in the file")
        return f"zero{stage}"
    return None


def processes() -> PartialState:
    """All processes that torchrun started; those on CPUs too, which accelerate leaves alone unless told to use CPUs."""
    if on_cpu():  # else DeepSpeed, where it is installed, says on standard output that it found no GPU
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    return PartialState(cpu=on_cpu(), timeout=_PATIENCE)


def accelerator_for(settings: RewardSettings) -> Accelerator:
    """As many processes as torchrun or accelerate launch started."""
    AcceleratorState._reset_state()  # an earlier run in this process may have had another precision
    accelerator = Accelerator(mixed_precision="bf16" if in_half(settings) else "no", cpu=on_cpu())
    if settings.batch < accelerator.num_processes:
        raise BadValue(
            "a step needs a pair for each process",
            found=f"--batch {settings.batch} for {accelerator.num_processes} processes",
        )
    return accelerator


def in_half(settings: RewardSettings) -> bool:
    """Whether the forward pass is in bfloat16."""
    return settings.precision == "bfloat16" or (settings.precision == "auto" and has_bfloat16())


def loaded_dtype(settings: RewardSettings) -> str:
    """How weights are read: what is frozen in the numbers of the forward pass, what is learned as it was saved."""
    if not in_half(settings):
        return "float32"
    return "saved" if settings.learn == "full" else "bfloat16"


def on_cpu() -> bool:
    """Whether training runs on processors alone."""
    return parse_flag_from_env("ACCELERATE_USE_CPU") or not torch.accelerator.is_available()


def has_bfloat16() -> bool:
    """Whether there is a GPU with bfloat16."""
    return torch.cuda.is_available() and torch.cuda.is_bf16_supported()


def parameter_groups(network: RewardNetwork, settings: RewardSettings) -> list[dict[str, Any]]:
    """Parameters with the factor of their rate: the head may learn faster."""
    scale = (settings.head_lr or settings.learning_rate) / settings.learning_rate
    head = [*network.rm_head.parameters(), *network.extra.parameters()]
    own = {id(parameter) for parameter in head}
    rest = [parameter for parameter in network.parameters() if parameter.requires_grad and id(parameter) not in own]
    groups = [{"params": head, "scale": scale}, {"params": rest, "scale": 1.0}]
    return [group for group in groups if group["params"]]


@contextmanager
def own_chance(device: torch.device) -> Iterator[None]:
    """Leave the caller's random state as it was."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        yield


@contextmanager
def enough_memory(settings: RewardSettings) -> Iterator[None]:
    """Say what helps when memory runs out."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if not isinstance(error, MemoryError | torch.OutOfMemoryError) and "allocate memory" not in str(error):
            raise
        smaller = max(1, settings.at_once // 2)
        less = f"--at-once {smaller}"
        if settings.at_once == 1:
            less = "--recompute, --shard fsdp2 on several GPUs, --learn lora, or fewer --pixels"
        raise BadValue(
            "more memory is needed than there is",
            found=f"{settings.at_once} pairs at once, --learn {settings.learn}",
            remedy=f"{less}; with --resume the run goes on from its last checkpoint",
        ) from None
