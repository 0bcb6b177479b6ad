"""Where the weights of a reward network live while it is trained, and who takes the step.

    whole    every process holds all weights in float32 and both moments of AdamW (DDP)
    fsdp2    float32 weights and moments in shards, one block of layers whole at a time, in bfloat16 (torch)
    zero2    all weights in bfloat16 everywhere; float32 copy, gradients and moments in shards (DeepSpeed)
    zero3    everything in shards (DeepSpeed)

All have one interface. A loss is given as this process' part of the mean over the whole step; gradients of processes
are averaged by all engines, so it is multiplied by their number here. Weights and moments go in and out as whole
float32 tensors by name, one at a time: a checkpoint knows neither engine nor number of processes.
"""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Iterator
from typing import Any

from salon.errors import MissingExtra
from salon.models import Quality, RewardNetwork
from salon.train.settings import RewardSettings
from salon.train.training_setup import on_cpu, parameter_groups

try:
    import torch
    import torch.distributed as dist
    from accelerate import Accelerator
    from accelerate.utils import DeepSpeedPlugin
    from torch import Tensor, nn
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
    from torch.distributed.tensor import DTensor, distribute_tensor
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

MOMENTS = ("exp_avg", "exp_avg_sq")
"""What AdamW keeps for each weight."""
WEIGHT = "weight"


class WholeEngine:
    """All weights on every process; the others differ from it in what they override."""

    def __init__(self, network: RewardNetwork, settings: RewardSettings, accelerator: Accelerator) -> None:
        self.network, self.settings = network, settings
        self.device = accelerator.device
        self.processes, self.rank, self.is_main = (
            accelerator.num_processes, accelerator.process_index, accelerator.is_main_process
        )  # fmt: skip
        self.half = accelerator.mixed_precision == "bf16"
        self._accelerator = accelerator
        self._prepare()

    def _prepare(self) -> None:
        for parameter in trainable_parameters(self.network).values():
            parameter.data = parameter.data.float()
        self.network.to(self.device)
        self.optimizer: Any = self._adamw()
        self._wrapped = self._accelerator.prepare_model(self.network)

    def _adamw(self) -> torch.optim.AdamW:
        groups = parameter_groups(self.network, self.settings)
        return torch.optim.AdamW(groups, weight_decay=self.settings.weight_decay)

    def __call__(self, inputs: dict[str, Tensor]) -> tuple[Quality, Tensor | None]:
        """Quality of the pictures, and the parameter of ties where the law has one; both in float32."""
        on_device = {name: tensor.to(self.device) for name, tensor in inputs.items()}
        quality, tie = self._forward(on_device)
        return Quality(*(part.float() for part in quality)), None if tie is None else tie.float()

    def _forward(self, inputs: dict[str, Tensor]) -> Any:
        network = self._wrapped if torch.is_grad_enabled() else self.network
        return network(inputs, with_tie=True)

    def begin(self, *, last: bool) -> None:
        """Before a pass through the network: whether it is this process' last of a step, after which gradients meet."""
        if isinstance(self._wrapped, nn.parallel.DistributedDataParallel):
            self._wrapped.require_backward_grad_sync = last

    def backward(self, loss: Tensor) -> None:
        """Add up the gradients of a part of a step."""
        (loss * self.processes).backward()

    def step(self, rate: float) -> float:
        """Change the weights by the gradient, clipped; gives its norm before. One that is no number changes nothing."""
        norm = float(self._clipped_norm())
        self._set_rate(rate)
        if math.isfinite(norm):
            self.optimizer.step()
        self.optimizer.zero_grad()
        return norm

    def _clipped_norm(self) -> Tensor:
        return nn.utils.clip_grad_norm_(trainable_parameters(self.network).values(), self.settings.clip)

    def _set_rate(self, rate: float) -> None:
        for group in self.optimizer.param_groups:
            group["lr"] = group["scale"] * rate

    # -- weights and moments in and out, by name -------------------------------------------------------------------

    def names(self) -> list[str]:
        """What is trained, in one order on all processes."""
        return list(trainable_parameters(self.network))

    def whole(self, name: str, *, moments: bool) -> dict[str, Tensor]:
        """A trained weight, with its moments if asked for. All processes must ask, and all get it."""
        parameter = trainable_parameters(self.network)[name]
        state = self.optimizer.state.get(parameter, {}) if moments else {}
        return {WEIGHT: _full(parameter.detach())} | {kind: _full(state[kind]) for kind in MOMENTS if kind in state}

    def fill(self, name: str, read: Callable[[str], Tensor | None], *, step: int | None) -> None:
        """Put a weight back, and where the number of a step is given the moments after it."""
        parameter = trainable_parameters(self.network)[name]
        with torch.no_grad():
            _copy(parameter, _require_value(read(WEIGHT)))
            moments = {kind: read(kind) for kind in MOMENTS if step is not None}
            if any(value is not None for value in moments.values()):
                state: dict[str, Any] = {"step": torch.tensor(float(step or 0))}
                for kind, value in moments.items():
                    state[kind] = torch.zeros_like(parameter)
                    _copy(state[kind], _require_value(value))
                self.optimizer.state[parameter] = state


class Fsdp2Engine(WholeEngine):
    """torch's FSDP2: shards in float32, computed with in bfloat16."""

    def _prepare(self) -> None:
        drop_output_layer(self.network)
        ensure_process_group(self.device)
        mesh = init_device_mesh(self.device.type, (self.processes,))
        reshard = os.environ.get("FSDP_RESHARD_AFTER_FORWARD", "true").lower() != "false"
        half = torch.bfloat16 if self.half else None
        compute = MixedPrecisionPolicy(half, torch.float32 if self.half else None, cast_forward_inputs=False)
        exact = MixedPrecisionPolicy(cast_forward_inputs=False)  # the head's
        for module in shard_units(self.network):
            for parameter in module.parameters():
                if parameter.requires_grad and not isinstance(parameter, DTensor):
                    parameter.data = parameter.data.float()  # of one unit at a time, and then sharded
            policy = exact if module is self.network.rm_head else compute
            again = None if module is self.network else reshard
            fully_shard(module, mesh=mesh, mp_policy=policy, reshard_after_forward=again)
        self.network.to(self.device)  # buffers
        self.optimizer = self._adamw()

    def _forward(self, inputs: dict[str, Tensor]) -> Any:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.half):
            answer = self.network(inputs, with_tie=True)
        if not torch.is_grad_enabled():  # no backward pass will follow, after which weights are in shards again
            for module in self.network.modules():
                if isinstance(module, FSDPModule):
                    module.reshard()
        return answer

    def begin(self, *, last: bool) -> None:
        """Gradients meet after every pass: kept until the last they would be whole, in float32, on every process."""

    def _clipped_norm(self) -> Tensor:
        norm = super()._clipped_norm()
        return norm.full_tensor() if isinstance(norm, DTensor) else norm


class ZeroEngine(WholeEngine):
    """DeepSpeed's ZeRO: its engine keeps float32 copies, averages, clips and steps."""

    def __init__(self, network: RewardNetwork, settings: RewardSettings, accelerator: Accelerator, stage: int) -> None:
        self._stage = stage
        super().__init__(network, settings, accelerator)

    def _prepare(self) -> None:
        deepspeed = load_deepspeed()
        drop_output_layer(self.network)
        ensure_process_group(self.device)
        os.environ.setdefault("LOCAL_RANK", "0")  # DeepSpeed asks a launcher; without one there is one process
        deepspeed.init_distributed(dist_backend=dist.get_backend(), auto_mpi_discovery=False, verbose=False)
        config = self._config()
        number = torch.bfloat16 if self.half else torch.float32
        for parameter in self.network.parameters():
            parameter.data = parameter.data.to(number)
        if self._stage == 3:  # shards one weight after the other; `initialize` would first move all to the GPU
            deepspeed.zero.Init(module=self.network, config_dict_or_path=config, dtype=number)
        self._engine, *_ = deepspeed.initialize(model=self.network, optimizer=self._adamw(), config=config)
        self.optimizer = self._engine.optimizer
        self._fragments = deepspeed.utils

    def _config(self) -> dict[str, Any]:
        """What the file of accelerate launch says of ZeRO, but for what is Salon's to say."""
        config = _without_auto(DeepSpeedPlugin(zero_stage=self._stage).deepspeed_config)
        for name in ("train_batch_size", "fp16", "bf16", "data_types", "zero_force_ds_cpu_optimizer"):
            config.pop(name, None)
        return config | {
            "train_micro_batch_size_per_gpu": self.settings.at_once,
            "gradient_accumulation_steps": 1,  # steps are cut up by `backward`
            "gradient_clipping": self.settings.clip,
            "bf16": {"enabled": self.half},
            "data_types": {"grad_accum_dtype": "fp32"},
            "zero_force_ds_cpu_optimizer": False,
        }

    def _forward(self, inputs: dict[str, Tensor]) -> Any:
        return self._engine(inputs, with_tie=True)

    def begin(self, *, last: bool) -> None:
        self._engine.set_gradient_accumulation_boundary(is_boundary=last)

    def backward(self, loss: Tensor) -> None:
        self._engine.backward(loss * self.processes)

    def step(self, rate: float) -> float:
        """DeepSpeed clips and steps at once: weights of a step whose norm is no number are spoiled, and not kept."""
        self._set_rate(rate)
        self._engine.step()
        return float(self._engine.get_global_grad_norm())

    def whole(self, name: str, *, moments: bool) -> dict[str, Tensor]:
        if moments:
            self._link_moments()
        parameter, get = trainable_parameters(self.network)[name], self._fragments
        tensors = {WEIGHT: get.safe_get_full_fp32_param(parameter)}
        for kind in MOMENTS if moments else ():
            tensors[kind] = get.safe_get_full_optimizer_state(parameter, kind)
        return tensors

    def fill(self, name: str, read: Callable[[str], Tensor | None], *, step: int | None) -> None:
        if step is not None:
            self._begin_moments(step)
        parameter = trainable_parameters(self.network)[name]
        fill = self._fill_shards if self._stage == 3 else self._fill_fragments
        with torch.no_grad():
            fill(parameter, WEIGHT, _require_value(read(WEIGHT)))
            for kind in MOMENTS if step is not None else ():
                value = read(kind)
                if value is not None:
                    fill(parameter, kind, value)

    def _begin_moments(self, step: int) -> None:
        """DeepSpeed makes the moments at its first step; a run that goes on needs them before."""
        flat = self.optimizer.fp32_partitioned_groups_flat if self._stage == 3 else (
            self.optimizer.single_partition_of_fp32_groups)  # fmt: skip
        states = self.optimizer.optimizer.state
        for partition in flat:
            if partition not in states:
                moments = {kind: torch.zeros_like(partition) for kind in MOMENTS}
                states[partition] = {"step": torch.tensor(float(step)), **moments}
        self._link_moments()

    def _link_moments(self) -> None:
        """Tell weights where their moments are: DeepSpeed 0.19.8 does it after its first group alone."""
        if self._stage == 2:
            self.optimizer._hp_optimizer_states_linked = False
            self.optimizer._lazy_init_hp_params_optimizer_state()

    def _fill_fragments(self, parameter: Any, kind: str, value: Tensor) -> None:
        value = value.to(parameter.device)
        if kind == WEIGHT:
            self._fragments.safe_set_full_fp32_param(parameter, value)
            parameter.data.copy_(value)
        else:
            self._fragments.safe_set_full_optimizer_state(parameter, value, kind)

    def _fill_shards(self, parameter: Any, kind: str, value: Tensor) -> None:
        mine = parameter.ds_tensor  # this process' part of the flat weight, the last one's filled up with zeros
        flat = value.to(mine.device).flatten()
        flat = nn.functional.pad(flat, (0, mine.numel() * self.processes - flat.numel()))
        part = flat.narrow(0, mine.numel() * dist.get_rank(), mine.numel())
        if kind == WEIGHT:
            self._fragments.safe_set_local_fp32_param(parameter, part)
            mine.data.copy_(part)
            if parameter.numel() == parameter.ds_numel:  # a small one, which DeepSpeed keeps whole too
                parameter.data.copy_(value)
        else:
            self._fragments.safe_set_local_optimizer_state(parameter, part, kind)


Engine = WholeEngine


def make_engine(shard: str, network: RewardNetwork, settings: RewardSettings, accelerator: Accelerator) -> Engine:
    """The engine of that name around a network whose trained parts have been chosen; it is on its device then."""
    if shard == "none":
        return WholeEngine(network, settings, accelerator)
    if shard == "fsdp2":
        return Fsdp2Engine(network, settings, accelerator)
    return ZeroEngine(network, settings, accelerator, stage=int(shard[-1]))


def trainable_parameters(network: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that are trained, by name."""
    return {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}


def shard_units(network: RewardNetwork) -> Iterator[nn.Module]:
    """What is gathered together: each block of layers, the table of words, the head, and at last all the rest."""
    blocks = set(network.vlm._no_split_modules or ())
    for module in network.vlm.modules():
        if type(module).__name__ in blocks:
            yield module
    yield network.vlm.get_input_embeddings()
    yield network.rm_head
    yield network


def drop_output_layer(network: RewardNetwork) -> None:
    """Take away the layer that words leave by, which no score needs; the trained network is opened again with it.

    FSDP2 would fail on a unit that is never called, and ZeRO would keep it.
    """
    out = network.vlm.get_output_embeddings()
    for name, module in list(network.vlm.named_children()):
        if module is out:
            setattr(network.vlm, name, nn.Identity())


def ensure_process_group(device: torch.device) -> None:
    """A group of processes also where there is only this one, without a launcher."""
    if not dist.is_initialized():
        backend = "nccl" if device.type == "cuda" else "gloo"
        dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)


def load_deepspeed() -> Any:
    """The package, which is optional."""
    if on_cpu():
        os.environ.setdefault("DS_ACCELERATOR", "cpu")
    try:
        deepspeed = importlib.import_module("deepspeed")
    except ImportError:
        raise MissingExtra("deepspeed") from None
    if on_cpu():
        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # else it is compiled at the first use
    return deepspeed


def _without_auto(config: dict[str, Any]) -> dict[str, Any]:
    """What is left to others to fill in, left out: DeepSpeed's own defaults then hold."""
    plain = {name: _without_auto(value) if isinstance(value, dict) else value for name, value in config.items()}
    return {name: value for name, value in plain.items() if value != "auto"}


def _full(tensor: Tensor) -> Tensor:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def _copy(target: Tensor, value: Tensor) -> None:
    """Fill a tensor, or this process' shard of it, from a whole one."""
    if isinstance(target, DTensor):
        value = distribute_tensor(value.to(target.device), target.device_mesh, target.placements, src_data_rank=None)
    target.copy_(value)


def _require_value(value: Tensor | None) -> Tensor:
    if value is None:
        raise KeyError("a weight without a value")
    return value
