"""Before a reward model is trained: what is learned, how fast, where it runs, and with how much memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from salon.errors import BadValue, MissingExtra
from salon.models.lora import add_lora
from salon.models.reward_network import RewardNetwork
from salon.train.losses import TIE_LAWS, starting_tie
from salon.train.reward_settings import RewardSettings

try:
    import torch
    from accelerate import Accelerator, PartialState
    from accelerate.utils import parse_flag_from_env
    from torch import nn
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None


def make_trainable(network: RewardNetwork, settings: RewardSettings, *, ties: float) -> Any:
    """Choose what is learned, in float32; gives the adapters, if there are any."""
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
        network.extra["tie"] = nn.Parameter(torch.tensor(starting_tie(min(max(ties, 0.01), 0.9))))
    for parameter in network.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    if settings.recompute:
        network.vlm.gradient_checkpointing_enable({"use_reentrant": False})
    return adapters


def processes() -> PartialState:
    """All processes that torchrun started; those on CPUs too, which accelerate leaves alone unless told to use CPUs."""
    return PartialState(cpu=on_cpu())


def accelerator_for(settings: RewardSettings) -> Accelerator:
    """As many processes as torchrun started; each holds the whole network."""
    half = settings.precision == "bfloat16" or (settings.precision == "auto" and has_bfloat16())
    accelerator = Accelerator(mixed_precision="bf16" if half else "no", cpu=on_cpu())
    if settings.batch < accelerator.num_processes:
        raise BadValue(
            "a step needs a pair for each process",
            found=f"--batch {settings.batch} for {accelerator.num_processes} processes",
        )
    return accelerator


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
        less = "--recompute, --learn lora, or fewer --pixels" if settings.at_once == 1 else f"--at-once {smaller}"
        raise BadValue(
            "more memory is needed than there is",
            found=f"{settings.at_once} pairs at once, --learn {settings.learn}",
            remedy=f"{less}; with --resume the run goes on from its last checkpoint",
        ) from None
