"""Before a large model is trained: adapters, what is learned, where it runs, and how processes agree.

Low-rank adapters (LoRA, by peft) go on a VLM's language model, its vision encoder, or both. The weights W of a linear
layer stay as they are; W + (alpha / r) B A is used, with B and A of rank r to be learned. The vector of the special
token, which no VLM knows, is learned too. Merged, the VLM is again one of its own class.

What only one process can know (what a folder holds, which checkpoint is the last, whether a file can be read) is found
by one process and sent to all. Processes that decide for themselves would wait for each other forever once they differ.
"""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal, TypeVar, cast

from salon.errors import BadValue, MissingExtra, SalonError
from salon.models import RewardNetwork
from salon.train.losses import TIE_LAWS, starting_tie
from salon.train.settings import RewardSettings

try:
    import torch
    from accelerate import Accelerator, PartialState
    from accelerate.state import AcceleratorState
    from accelerate.utils import parse_flag_from_env
    from peft import LoraConfig, PeftModel, get_peft_model
    from torch import nn
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

try:
    import torch.distributed
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("distill") from None

LoraTarget = Literal["language", "vision", "both"]
_LORA_PARTS = {"language": ("language_model",), "vision": ("visual", "vision"), "both": ("",)}


def add_lora(
    vlm: Any, *, where: LoraTarget, rank: int, alpha: float, dropout: float, token: int, seed: int
) -> PeftModel:
    """Put adapters into `vlm`, in place: all of its own weights are then frozen. Merge with what is returned."""
    config = LoraConfig(
        r=rank,
        lora_alpha=alpha,  # type: ignore[arg-type]  # peft says int, and takes any number
        lora_dropout=dropout,
        target_modules=linear_layers(vlm, where),
        trainable_token_indices=[token],
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return get_peft_model(vlm, config)


def add_encoder_lora(network: Any, *, rank: int, alpha: float) -> PeftModel:
    """A network with adapters on all its linear layers, its own weights frozen; for encoders, which write no words."""
    layers = [name for name, layer in network.named_modules() if isinstance(layer, nn.Linear)]
    if not layers:
        raise BadValue("linear layers are needed for adapters", found=f"none in {type(network).__name__}")
    config = LoraConfig(r=rank, lora_alpha=alpha, target_modules=layers)  # type: ignore[arg-type]  # as above
    return get_peft_model(network, config)


def linear_layers(vlm: Any, where: LoraTarget) -> list[str]:
    """Names of the linear layers of one part of a VLM; the layer that words leave by is none of them."""
    pattern = re.compile(rf"(^|\.)({'|'.join(_LORA_PARTS[where])})", re.IGNORECASE)
    out = vlm.get_output_embeddings()
    layers = [
        name for name, layer in vlm.named_modules()
        if isinstance(layer, nn.Linear) and layer is not out and pattern.search(name)
    ]  # fmt: skip
    if not layers:
        raise BadValue(f"linear layers of the VLM's {where} part are needed", found=f"none in {type(vlm).__name__}")
    return layers


def merge_lora(adapted: PeftModel) -> Any:
    """The VLM with its adapters worked into its weights, of its own class again."""
    return adapted.merge_and_unload()


# -- what is learned, and where ----------------------------------------------------------------------------------------

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


def choose_shard(settings: RewardSettings) -> str:
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
    """All processes that torchrun started; those on CPUs too, which accelerate ignores by default."""
    if on_cpu():  # else DeepSpeed, where it is installed, says on standard output that it found no GPU
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    return PartialState(cpu=on_cpu(), timeout=_PATIENCE)


def make_accelerator(settings: RewardSettings) -> Accelerator:
    """As many processes as torchrun or accelerate launch started."""
    AcceleratorState._reset_state()  # an earlier run in this process may have had another precision
    accelerator = Accelerator(mixed_precision="bf16" if uses_bfloat16(settings) else "no", cpu=on_cpu())
    if settings.batch < accelerator.num_processes:
        raise BadValue(
            "a step needs a pair for each process",
            found=f"--batch {settings.batch} for {accelerator.num_processes} processes",
        )
    return accelerator


def uses_bfloat16(settings: RewardSettings) -> bool:
    """Whether the forward pass is in bfloat16."""
    return settings.precision == "bfloat16" or (settings.precision == "auto" and has_bfloat16())


def loaded_dtype(settings: RewardSettings) -> str:
    """How weights are read: what is frozen in the numbers of the forward pass, what is learned as it was saved."""
    if not uses_bfloat16(settings):
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
def preserve_rng(device: torch.device) -> Iterator[None]:
    """Leave the caller's random state as it was."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        yield


@contextmanager
def explain_memory_errors(settings: RewardSettings) -> Iterator[None]:
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


# -- processes ---------------------------------------------------------------------------------------------------------

T = TypeVar("T")


@dataclass(frozen=True)
class TorchProcesses:
    """All processes of torch.distributed; one where it was not started."""

    @property
    def number(self) -> int:
        """The rank of this one."""
        return torch.distributed.get_rank() if _several() else 0

    @property
    def count(self) -> int:
        """How many there are."""
        return torch.distributed.get_world_size() if _several() else 1

    def gather(self, mine: Any) -> list[Any]:
        """What each process has, in the order of ranks."""
        if not _several():
            return [mine]
        everyone: list[Any] = [None] * self.count
        torch.distributed.all_gather_object(everyone, mine)
        return everyone

    def decide(self, decision: Callable[[], T]) -> T:
        """What `decision` gives in the first process, in all of them; its error is raised in all of them."""
        if not _several():
            return decision()
        result, error = _attempt(decision) if self.number == 0 else (None, None)
        message: list[Any] = [(result, _packed(error))]
        torch.distributed.broadcast_object_list(message, src=0)
        return cast(T, self._unless_failed(message[0][0], error, [message[0][1]]))

    def together(self, work: Callable[[], T]) -> T:
        """What `work` gives in each process; where it fails in one, all raise the error of the first that failed.

        `work` must not wait for another process: one that failed would be waited for forever.
        """
        if not _several():
            return work()
        result, error = _attempt(work)
        return cast(T, self._unless_failed(result, error, self.gather(_packed(error))))

    def _unless_failed(self, result: Any, mine: Exception | None, errors: list[bytes | None]) -> Any:
        failed = next(((rank, error) for rank, error in enumerate(errors) if error is not None), None)
        if failed is None:
            return result
        rank, packed = failed
        if rank == self.number and mine is not None:
            raise mine
        raise pickle.loads(packed)


def _attempt(work: Callable[[], T]) -> tuple[T | None, Exception | None]:
    try:
        return work(), None
    except Exception as error:
        return None, error


def _packed(error: Exception | None) -> bytes | None:
    """An error as it can be sent: Salon's and the system's whole, any other by its words."""
    if error is None:
        return None
    if isinstance(error, SalonError | OSError):
        return pickle.dumps(error)
    return pickle.dumps(RuntimeError(f"another process failed: {type(error).__name__}: {error}"))


def _several() -> bool:
    return torch.distributed.is_available() and torch.distributed.is_initialized()
