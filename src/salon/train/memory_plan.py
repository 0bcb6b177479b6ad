"""How much memory a training needs on each GPU, by arithmetic, before any weight is read.

Parameters and activations are counted by `memory_network`; docs/methods/memory.md has the formulas. What AdamW keeps is
counted to the byte. What engines gather for a moment (FSDP2's and ZeRO's whole layers and buckets) follows from their
defaults.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from salon.errors import BadValue, MissingExtra, SalonError
from salon.models import RewardNetwork
from salon.study import Noun
from salon.train.distill_settings import DistillSettings
from salon.train.memory_network import (
    FLOAT,
    Activations,
    Backbone,
    Gradient,
    NumberSizes,
    PassLoad,
    VlmShape,
    activation_bytes,
    open_backbone,
    product_weights,
    sharded_blocks,
)
from salon.train.settings import RewardSettings
from salon.train.training_setup import LARGE, has_bfloat16, linear_layers, make_trainable, on_cpu

try:
    import torch
    from accelerate.utils import parse_flag_from_env
    from peft import LoraConfig, get_peft_model
    from torch import nn
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

Shard = Literal["none", "fsdp2", "zero2", "zero3"]
SHARDS: tuple[Shard, ...] = ("none", "fsdp2", "zero2", "zero3")
GB = 10**9


def gpu_memory() -> int | None:
    """Bytes of the GPU that is here; None without one."""
    return None if on_cpu() else available_memory()


def available_memory(processes: int = 1) -> int | None:
    """Bytes for one process: its GPU's, or its share of the machine's; None where it is unknown."""
    if not on_cpu():
        if not torch.cuda.is_available():
            return None
        return int(torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory)
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):  # pragma: no cover - not on Linux or macOS
        return None
    limit = Path("/sys/fs/cgroup/memory.max")
    if limit.is_file() and (text := limit.read_text().strip()).isdigit():
        total = min(total, int(text))
    return total // processes


def parse_memory(text: str) -> int:
    """`80GB`, `80 GiB`, `79.3G` in bytes."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kKMGT]?)(i?)B?\s*", text)
    if match is None or float(match[1]) == 0:
        raise BadValue("memory is a number with its unit, such as 80GB or 24GiB", found=repr(text))
    power = " KMGT".index(match[2].upper() or " ")
    return int(float(match[1]) * (1024 if match[3] else 1000) ** power)


def words(count: int) -> str:
    """Bytes for people."""
    for unit, size in (("GB", GB), ("MB", 10**6), ("kB", 10**3)):
        if count >= size:
            return f"{count / size:,.1f} {unit}"
    return f"{count} B"


def launched_shard(settings: Any) -> Shard:
    """What a training will use: its setting, or what accelerate launch has put into the environment."""
    setting: Shard | Literal["auto"] = getattr(settings, "shard", "auto")
    if setting != "auto":
        return setting
    if parse_flag_from_env("ACCELERATE_USE_DEEPSPEED"):
        return "zero3" if os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE") == "3" else "zero2"
    return "fsdp2" if parse_flag_from_env("ACCELERATE_USE_FSDP") else "none"


# -- the plan ----------------------------------------------------------------------------------------------------------

LEFT_OUT = (
    "CUDA's context, the allocator's fragments and temporary results inside one operation (the margin is for them)",
    "logits: a reward reads one hidden state, and TRL's fused head makes log-probabilities tile by tile",
    "pairs of which a picture or prompt is larger than planned",
)


class MemoryRow(Noun):
    """One use of memory."""

    name: str = Field(description="What it is for.")
    bytes: int = Field(description="Bytes on each GPU.")
    how: str = Field(description="How it was counted.")


class MemoryPlan(Noun):
    """What a training needs on each GPU."""

    backbone: str = Field(description="What is trained.")
    source: str = Field(description="Where its shape is from.")
    parameters: int = Field(description="Parameters in all, the head and adapters included.")
    trained: int = Field(description="Parameters that learn.")
    learn: str = Field(description="What is trained: full, lora or head.")
    gpus: int = Field(description="Processes, one for each GPU.")
    shard: str = Field(description="How weights are shared out: none, fsdp2, zero2 or zero3.")
    precision: str = Field(description="Numbers of the forward pass.")
    recompute: bool = Field(description="Whether activations are computed again.")
    at_once: int = Field(description="Pairs, or answers, that one process holds at once.")
    picture_tokens: int = Field(description="Tokens of one picture.")
    tokens: int = Field(description="Tokens of one sequence: picture, text and answer.")
    rows: tuple[MemoryRow, ...] = Field(description="Uses of memory.")
    fixed: int = Field(description="Bytes of parameters, gradients and optimizer: counted, not estimated.")
    margin: int = Field(description="Bytes added for what is left out.")
    total: int = Field(description="Bytes needed on each GPU, the margin included.")
    memory: int | None = Field(description="Bytes that are there; none where unknown.")
    fits: bool | None = Field(description="Whether the total fits; none where memory is unknown.")
    change: str | None = Field(description="The smallest change that fits, where it does not fit.")
    left_out: tuple[str, ...] = Field(description="What is not counted.")

    @property
    def headline(self) -> str:
        """The plan in one line."""
        there = "" if self.memory is None else f" of {words(self.memory)}"
        return (
            f"{words(self.total)}{there} on each of {self.gpus} GPU{'s' * (self.gpus > 1)}: {self.learn}, shard "
            f"{self.shard}, {self.precision}, {self.at_once} at once, recompute {'on' if self.recompute else 'off'}"
        )


# -- making a plan -----------------------------------------------------------------------------------------------------

MARGIN = 0.1
"""Share of the sum that is added for what the arithmetic leaves out."""
CONTEXT = GB
"""Least margin on a GPU: CUDA's context and libraries take about half of it."""
TEXT_TOKENS = 256
"""Tokens of text beside a picture, by default: an instruction and a prompt."""
QUESTION_TOKENS = 512
"""The same for a one-pass question, which describes every criterion."""
BUCKET = 500_000_000
"""Gradients that DeepSpeed sums up together (reduce_bucket_size)."""
LIVE = 1_000_000_000
"""Parameters that ZeRO-3 holds gathered at once (stage3_max_live_parameters)."""


def plan_reward(
    source: str | Path | Backbone,
    settings: RewardSettings,
    *,
    gpus: int = 1,
    shard: Shard = "none",
    memory: int | None = None,
    text_tokens: int = TEXT_TOKENS,
    gpu: bool = True,
) -> MemoryPlan:
    """What `salon train reward` needs. `memory` is what one GPU has; `gpu` is False for a training on processors."""
    backbone = source if isinstance(source, Backbone) else open_backbone(source)

    @lru_cache
    def network(learn: str) -> RewardNetwork:
        half = _half(settings.precision, gpu)
        saved = backbone.dtype if learn == "full" else torch.bfloat16
        built = backbone.reward_network(saved if half else torch.float32)  # as `loaded_dtype` of the training has it
        with torch.device("meta"):
            make_trainable(built, settings.model_copy(update={"learn": learn, "recompute": False}), ties=0.0)
        return built

    def plan(settings: RewardSettings, shard: Shard) -> MemoryPlan:
        job = _TrainingJob(
            backbone, network(settings.learn), settings, gpus, shard, memory, gpu, pictures=2 * settings.at_once,
            length=_picture_tokens(backbone, settings.pixels) + text_tokens,
            passes=math.ceil(math.ceil(settings.batch / gpus) / settings.at_once),
        )  # fmt: skip
        return job.plan()

    return _with_change(plan, settings, shard, gpus)


def plan_distill(
    source: str | Path | Backbone,
    settings: DistillSettings,
    *,
    gpus: int = 1,
    shard: Shard = "none",
    memory: int | None = None,
    text_tokens: int = QUESTION_TOKENS,
    gpu: bool = True,
) -> MemoryPlan:
    """What `salon distill train` needs: the policy, its frozen copy, and generation, by itself or by vLLM."""
    backbone = source if isinstance(source, Backbone) else open_backbone(source)

    def plan(settings: DistillSettings, shard: Shard) -> MemoryPlan:
        half = _half(settings.precision, gpu)
        network = backbone.vlm(torch.float32 if settings.learn == "full" or not half else torch.bfloat16)
        if settings.learn == "lora":
            layers = linear_layers(network, settings.lora_on)
            with torch.device("meta"):
                network = get_peft_model(network, LoraConfig(r=settings.lora_rank, target_modules=layers))
        answers = math.ceil(settings.images * settings.group / gpus)
        job = _TrainingJob(
            backbone, network, settings, gpus, shard, memory, gpu, pictures=min(settings.at_once, answers),
            length=_picture_tokens(backbone, settings.pixels) + text_tokens + settings.max_tokens,
            passes=math.ceil(answers / settings.at_once), answers=answers,
            reference=settings.beta > 0 and settings.learn == "full",
        )  # fmt: skip
        return job.plan()

    return _with_change(plan, settings, shard, gpus)


def check_memory(plan: MemoryPlan) -> None:
    """Refuse a training whose parameters, gradients and optimizer alone are more than the memory that is there."""
    if plan.memory is not None and plan.fixed > plan.memory:
        raise BadValue(
            "parameters, gradients and optimizer must fit into the memory of each process",
            found=f"{words(plan.fixed)} for {plan.trained:,} of {plan.parameters:,} parameters that learn, "
            f"{words(plan.memory)} there; in all {plan.headline}",
            remedy=plan.change or "a smaller backbone, more GPUs or more memory",
        )


def check_training(
    source: str | Path, settings: RewardSettings | DistillSettings, *, memory: int | None = None
) -> None:
    """Refuse, before anything is loaded, what cannot fit the memory that is stated or there.

    Only parameters, gradients and optimizer are held against it, which are exact. What cannot be planned passes.
    """
    count = int(os.environ.get("WORLD_SIZE", "1"))
    there = memory or available_memory(int(os.environ.get("LOCAL_WORLD_SIZE", "1")))
    plan: Callable[..., MemoryPlan] = plan_distill if isinstance(settings, DistillSettings) else plan_reward
    try:
        estimate = plan(source, settings, gpus=count, shard=launched_shard(settings), memory=there, gpu=not on_cpu())
    except (SalonError, OSError, ValueError, AttributeError):  # a hub's name, or a config of an unusual kind
        return
    check_memory(estimate)


# -- one plan --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _TrainingJob:
    backbone: Backbone
    network: nn.Module
    settings: Any
    gpus: int
    shard: Shard
    memory: int | None
    gpu: bool
    pictures: int
    length: int
    passes: int
    answers: int = 0
    """Those that one process samples in a step, where it does."""
    reference: bool = False

    def plan(self) -> MemoryPlan:
        settings, parameters = self.settings, list(self.network.parameters())
        count, trained = sum(p.numel() for p in parameters), sum(p.numel() for p in parameters if p.requires_grad)
        if self.shard != "none" and not self.answers:
            unread = _output_layer(self.network.vlm)
            parameters = [p for p in parameters if p not in unread]
        fixed = [*self._fixed(parameters)]
        moving = [*self._working(parameters), self._activations_row()]
        last = MemoryRow(
            name="AdamW's step", bytes=max(0, FLOAT * self._local(parameters) - sum(row.bytes for row in moving)),
            how="one number a trained parameter for a moment, when activations are gone: counted beyond those",
        )  # fmt: skip
        rows = (*fixed, *moving, last, *self._generation(sum(row.bytes for row in (*moving, last))))
        visible_rows = tuple(row for row in rows if row.bytes or row.name == "activations")
        needed = sum(row.bytes for row in rows)
        margin = max(round(MARGIN * needed), CONTEXT if self.gpu else 0)
        total = needed + margin
        return MemoryPlan(
            backbone=self.backbone.name, source=self.backbone.source, parameters=count,
            trained=trained, learn=settings.learn, gpus=self.gpus, shard=self.shard,
            precision="bfloat16" if self.half else "float32", recompute=self.recompute, at_once=settings.at_once,
            picture_tokens=_picture_tokens(self.backbone, settings.pixels), tokens=self.length,
            rows=visible_rows, fixed=sum(row.bytes for row in fixed[:3]), margin=margin,
            total=total, memory=self.memory, fits=None if self.memory is None else total <= self.memory, change=None,
            left_out=LEFT_OUT,
        )  # fmt: skip

    @property
    def half(self) -> bool:
        return _half(self.settings.precision, self.gpu)

    @property
    def recompute(self) -> bool:
        setting = self.settings.recompute
        if setting is None:  # as the trainings choose
            large = self.settings.learn != "head" and sum(p.numel() for p in self.network.parameters()) > LARGE
            return self.gpu if self.answers else large
        return bool(setting)

    @property
    def number(self) -> int:
        """Bytes of a number in matrix products."""
        return 2 if self.half else FLOAT

    def _local(self, parameters: list[nn.Parameter]) -> int:
        """Trained numbers of the first process, which has the most."""
        mine = [p for p in parameters if p.requires_grad]
        if self.shard == "fsdp2":
            return sum(_rows_of_first(p, self.gpus) for p in mine)
        if self.shard in ("zero2", "zero3"):
            return math.ceil(sum(p.numel() for p in mine) / self.gpus)
        return sum(p.numel() for p in mine)

    def _fixed(self, parameters: list[nn.Parameter]) -> Iterator[MemoryRow]:
        """Parameters, gradients, optimizer; then a frozen copy."""
        mine = [p for p in parameters if p.requires_grad]
        frozen = [p for p in parameters if not p.requires_grad]
        local = self._local(parameters)
        if self.shard == "zero2":
            weights, how = self.number * sum(p.numel() for p in parameters), f"all, {self.number} bytes each"
        elif self.shard == "zero3":
            weights = self.number * sum(math.ceil(p.numel() / self.gpus) for p in parameters)
            how = f"a share of all, {self.number} bytes each"
        else:
            size = {"fsdp2": lambda p: _rows_of_first(p, self.gpus), "none": nn.Parameter.numel}[self.shard]
            weights = FLOAT * local + sum(size(p) * p.element_size() for p in frozen)
            share = "" if self.shard == "none" else "a share of them: "
            how = f"{share}float32 where they learn, as saved where not"
        yield MemoryRow(name="parameters", bytes=weights, how=how)
        yield MemoryRow(name="gradients", bytes=FLOAT * local, how="float32, of what learns")
        zero = self.shard in ("zero2", "zero3")
        moments = (12 if zero else 8) * local + (0 if zero else FLOAT * len(mine))
        yield MemoryRow(
            name="optimizer", bytes=moments,
            how="AdamW's two moments" + (" and the weights in float32" if zero else "") + ", float32",
        )  # fmt: skip
        if self.reference:
            parts = self.gpus if self.shard in ("fsdp2", "zero3") else 1
            number = 2 if zero and self.half else FLOAT
            copy = number * math.ceil(sum(p.numel() for p in parameters) / parts)
            yield MemoryRow(name="reference", bytes=copy, how="the model as it began, for the divergence (beta)")

    def _working(self, parameters: list[nn.Parameter]) -> Iterator[MemoryRow]:
        """What is there beside the weights while a pass runs."""
        trained = sum(p.numel() for p in parameters if p.requires_grad)
        everything = sum(p.numel() for p in parameters)
        if self.shard == "none":
            if self.half:
                yield MemoryRow(
                    name="bfloat16 copies", bytes=2 * self._copied(), how="autocast's, of weights in float32"
                )
            if self.gpus > 1:
                yield MemoryRow(name="DDP's buckets", bytes=FLOAT * trained, how="gradients on their way to the others")
        elif self.shard == "fsdp2":
            vlm = getattr(self.network, "vlm", self.network)
            units = sorted((sum(p.numel() for p in unit.parameters()) for unit in sharded_blocks(vlm)), reverse=True)
            rest = everything - sum(units) - sum(p.numel() for p in _output_layer(vlm) if self.answers)
            gathered = self.number * (rest + sum(units[:2]))
            yield MemoryRow(name="gathered layers", bytes=gathered, how="the two largest, and all outside of layers")
            if self.passes > 1 and self.answers:  # a reward's gradients are shared out after every pass
                yield MemoryRow(
                    name="whole gradients", bytes=FLOAT * trained,
                    how=f"{self.passes} passes of a step add up before they are shared out; --at-once "
                    f"{self.passes * self.settings.at_once} needs none",
                )  # fmt: skip
        else:
            if self.shard == "zero3":
                live = self.number * min(LIVE, everything)
                yield MemoryRow(
                    name="gathered layers", bytes=live, how="at most a billion parameters, DeepSpeed's default"
                )
            bucket = self.number * min(BUCKET, trained)
            yield MemoryRow(
                name="bucket", bytes=bucket, how="gradients on their way to the others, DeepSpeed's default"
            )

    def _copied(self) -> int:
        """Numbers of float32 weights that autocast copies: on the way of a gradient, and used at all."""
        language, vision = self._gradients()
        vlm: Any = getattr(self.network, "vlm", self.network)
        out = vlm.get_output_embeddings()
        total = 0
        for name, weight in product_weights(self.network):
            if name.startswith("rm_head"):  # computed in float32
                continue
            part = vision if "visual" in name else language
            is_float = weight.requires_grad or weight.element_size() == FLOAT
            unread = out is not None and weight is out.weight and not self.answers
            if is_float and part != "none" and not unread:
                total += weight.numel()
        return total

    def _gradients(self) -> tuple[Gradient, Gradient]:
        """What the language model and the vision encoder take part in."""
        settings = self.settings
        if settings.learn == "full":
            return "weights", "weights"
        if settings.learn == "head":
            return "none", "none"
        return (
            "through" if settings.lora_on == "vision" else "adapters",
            "none" if settings.lora_on == "language" else "adapters",
        )

    def activations(self) -> Activations:
        """By formula; nothing where the VLM is of a kind that none is written down for."""
        shape = VlmShape.of(self.backbone.config)
        if shape is None:
            return Activations(0, 0)
        language, vision = self._gradients()
        first = next(iter(self.network.parameters()))
        autocast = self.half and self.shard == "none"  # the others compute with weights in bfloat16
        whole = self.shard == "none" and (language == "weights" or first.element_size() == FLOAT)
        stream = FLOAT if whole or not self.half else 2
        norm = FLOAT if self.gpu and autocast else self.number
        numbers = NumberSizes(self.number, stream, self.number, norm, autocast)
        load = PassLoad(
            self.pictures, shape.tower.patches(self.settings.pixels), self.length, language, vision,
            getattr(self.settings, "lora_rank", 0),
        )  # fmt: skip
        return activation_bytes(shape, load, numbers, recompute=self.recompute)

    def _activations_row(self) -> MemoryRow:
        activations = self.activations()
        how = f"{self.pictures} pictures of {self.length} tokens"
        if not activations.peak:
            how = f"no formula for {self.backbone.config.model_type}"
        if self.recompute:
            saved, again = words(activations.saved), words(activations.recomputed)
            how += f": {saved} kept, {again} for the layer that is computed again"
        return MemoryRow(name="activations", bytes=activations.peak, how=how)

    def _generation(self, learning: int) -> Iterator[MemoryRow]:
        """What generating needs beyond learning: they take turns."""
        if not self.answers:
            return
        sampler = getattr(self.settings, "vllm", "off")
        if sampler == "colocate":
            share = self.settings.vllm_gpu_memory_utilization
            how = f"{share:.0%} of the GPU for vLLM's weights and cache" + (
                "" if self.memory else "; not counted without --memory"
            )
            yield MemoryRow(name="generation", bytes=round(share * (self.memory or 0)), how=how)
        shape = VlmShape.of(self.backbone.config)
        if sampler != "off" or shape is None:
            return
        cache = self.answers * self.length * shape.decoder.cache_per_token * self.number
        how = f"keys and values of {self.answers} answers ({words(cache)}), when activations are gone: beyond those"
        yield MemoryRow(name="generation", bytes=max(0, cache - learning), how=how)


def _with_change(plan: Callable[[Any, Shard], MemoryPlan], settings: Any, shard: Shard, gpus: int) -> MemoryPlan:
    """The plan, and where it does not fit the first of a few changes, the least costly first, that does."""
    first = plan(settings, shard)
    if first.fits is not False:
        return first
    smaller = {"at_once": 1} if settings.at_once > 1 else {}
    halves = [{"at_once": settings.at_once // 2**n} for n in range(1, settings.at_once.bit_length())]
    recompute = {} if first.recompute else {"recompute": True}
    lora = {"learn": "lora"} if settings.learn == "full" else {}
    shards: list[Shard] = ["fsdp2", "zero3"] if gpus > 1 and shard == "none" else []
    tries: list[tuple[dict[str, Any], Shard]] = [(recompute, shard), *((half, shard) for half in halves)]
    tries += [(recompute | half, shard) for half in halves]
    tries += [(change, new) for new in shards for change in ({}, recompute, recompute | smaller)]
    tries += [(lora | change, shard) for change in ({}, recompute, recompute | smaller)]
    tries += [(lora | recompute | smaller, new) for new in shards]
    for change, new in tries:
        if (change or new != shard) and plan(settings.model_copy(update=change), new).fits:
            flags = [
                f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}") for name, value in change.items()
            ]
            return first.model_copy(update={"change": " ".join(flags + [f"--shard {new}"] * (new != shard))})
    return first


def _rows_of_first(parameter: nn.Parameter, count: int) -> int:
    """Numbers of a parameter that FSDP2 gives to the first process: whole rows, rounded up."""
    rows = parameter.shape[0] if parameter.dim() else 1
    return math.ceil(rows / count) * (parameter.numel() // rows)


def _output_layer(vlm: Any) -> set[nn.Parameter]:
    """The layer that words leave by, where it is a table of its own: rewards in shards are trained without it."""
    into, out = vlm.get_input_embeddings(), vlm.get_output_embeddings()
    return set() if out is None else {*out.parameters()} - {*into.parameters()}


def _half(precision: str, gpu: bool) -> bool:
    """Whether matrix products are in bfloat16; a GPU that is planned for has it, one that is there may not."""
    return precision == "bfloat16" or (precision == "auto" and gpu and (on_cpu() or has_bfloat16()))


def _picture_tokens(backbone: Backbone, pixels: int) -> int:
    if not pixels:
        raise BadValue("a plan needs the pixels of a picture", found="--pixels 0", remedy="the most you expect")
    shape = VlmShape.of(backbone.config)
    return 0 if shape is None else shape.tower.tokens(pixels)
