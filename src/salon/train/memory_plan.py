"""How much memory a training needs on each GPU, by arithmetic, before any weight is read.

Parameters are counted on the real network without its weights (`memory_network`), activations by formula
(`memory_activations`); docs/methods/memory.md has both. What AdamW keeps is counted to the byte; what engines gather
for a moment (FSDP2's and ZeRO's whole layers and buckets) follows from their defaults.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from salon.errors import BadValue, MissingExtra, SalonError
from salon.models.lora import linear_layers
from salon.models.reward_network import RewardNetwork
from salon.train.distill_settings import DistillSettings
from salon.train.memory_activations import FLOAT, Activations, Gradient, Load, Numbers, Shape, activation_bytes
from salon.train.memory_available import GB, Shard, available_memory, launched_shard, words
from salon.train.memory_network import Backbone, blocks, open_backbone, product_weights
from salon.train.memory_results import LEFT_OUT, MemoryPlan, MemoryRow
from salon.train.reward_settings import RewardSettings
from salon.train.reward_setup import has_bfloat16, make_trainable, on_cpu

try:
    import torch
    from peft import LoraConfig, get_peft_model
    from torch import nn
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

MARGIN = 0.1
"""Share of the sum that is added for what the arithmetic leaves out."""
CONTEXT = GB
"""Least margin on a GPU: CUDA's context and libraries take about half of it."""
TEXT_TOKENS = 256
"""Tokens of text beside a picture, unless told: an instruction and a prompt."""
QUESTION_TOKENS = 512
"""The same for a one-pass question, which describes every criterion."""
LARGE = 10**9
"""Parameters from which on a training recomputes, where nothing was said."""
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
        made = backbone.reward_network(saved if half else torch.float32)  # as `loaded_dtype` of the training has it
        with torch.device("meta"):
            make_trainable(made, settings.model_copy(update={"learn": learn, "recompute": False}), ties=0.0)
        return made

    def plan(settings: RewardSettings, shard: Shard) -> MemoryPlan:
        job = _Job(
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
        job = _Job(
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
        found = plan(source, settings, gpus=count, shard=launched_shard(settings), memory=there, gpu=not on_cpu())
    except (SalonError, OSError, ValueError, AttributeError):  # a hub's name, or a config of an unusual kind
        return
    check_memory(found)


# -- one plan --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Job:
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
        shown = tuple(row for row in rows if row.bytes or row.name == "activations")
        needed = sum(row.bytes for row in rows)
        margin = max(round(MARGIN * needed), CONTEXT if self.gpu else 0)
        total = needed + margin
        return MemoryPlan(
            backbone=self.backbone.name, source=self.backbone.source, parameters=count,
            trained=trained, learn=settings.learn, gpus=self.gpus, shard=self.shard,
            precision="bfloat16" if self.half else "float32", recompute=self.recompute, at_once=settings.at_once,
            picture_tokens=_picture_tokens(self.backbone, settings.pixels), tokens=self.length,
            rows=shown, fixed=sum(row.bytes for row in fixed[:3]), margin=margin,
            total=total, memory=self.memory, fits=None if self.memory is None else total <= self.memory, change=None,
            left_out=LEFT_OUT,
        )  # fmt: skip

    @property
    def half(self) -> bool:
        return _half(self.settings.precision, self.gpu)

    @property
    def recompute(self) -> bool:
        given = self.settings.recompute
        if given is None:  # as the trainings choose
            large = self.settings.learn != "head" and sum(p.numel() for p in self.network.parameters()) > LARGE
            return self.gpu if self.answers else large
        return bool(given)

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
            units = sorted((sum(p.numel() for p in unit.parameters()) for unit in blocks(vlm)), reverse=True)
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
        shape = Shape.of(self.backbone.config)
        if shape is None:
            return Activations(0, 0)
        language, vision = self._gradients()
        first = next(iter(self.network.parameters()))
        autocast = self.half and self.shard == "none"  # the others compute with weights in bfloat16
        whole = self.shard == "none" and (language == "weights" or first.element_size() == FLOAT)
        stream = FLOAT if whole or not self.half else 2
        norm = FLOAT if self.gpu and autocast else self.number
        numbers = Numbers(self.number, stream, self.number, norm, autocast)
        load = Load(
            self.pictures, shape.tower.patches(self.settings.pixels), self.length, language, vision,
            getattr(self.settings, "lora_rank", 0),
        )  # fmt: skip
        return activation_bytes(shape, load, numbers, recompute=self.recompute)

    def _activations_row(self) -> MemoryRow:
        found = self.activations()
        how = f"{self.pictures} pictures of {self.length} tokens"
        if not found.peak:
            how = f"no formula for {self.backbone.config.model_type}"
        if self.recompute:
            how += f": {words(found.kept)} kept, {words(found.recomputed)} for the layer that is computed again"
        return MemoryRow(name="activations", bytes=found.peak, how=how)

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
        shape = Shape.of(self.backbone.config)
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
    shape = Shape.of(backbone.config)
    return 0 if shape is None else shape.tower.tokens(pixels)
