"""Checkpoints of a run, from which it goes on as if nothing had happened.

RUN/checkpoints/step-000500/weights.safetensors    what is trained: all weights, or adapters and head
RUN/checkpoints/step-000500/optimizer.pt           AdamW's moments
RUN/checkpoints/step-000500/state.json             step, settings, data, the best validation so far
RUN/best.safetensors                               the weights of the lowest validation loss

Order of the pairs and dropout follow from the seed and the step, so no state of chance is kept.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from salon.errors import BadFile, BadValue, MissingExtra
from salon.models.weights import read_state
from salon.store.atomic import PART, held, whole_folder
from salon.train.reward_settings import FREE, RewardSettings

try:
    import safetensors.torch
    import torch
    from torch import nn
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

CHECKPOINTS = "checkpoints"
BEST = "best.safetensors"


@contextmanager
def own_run(run: Path, *, anew: bool) -> Iterator[None]:
    """The folder `run` is there, emptied if `anew`, and no other command trains in it while the block runs."""
    run.mkdir(parents=True, exist_ok=True)
    with held(run):
        for old in run.iterdir() if anew else ():
            shutil.rmtree(old) if old.is_dir() else old.unlink()
        yield


@dataclass(frozen=True)
class RunState:
    """Where a run stands."""

    step: int = 0
    """Steps done."""
    best_step: int = 0
    best_loss: float | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class RunFolder:
    """The folder of a run, and what its checkpoints must belong to."""

    path: Path
    settings: RewardSettings
    data: str
    backbone: str

    def save(self, state: RunState, network: nn.Module, optimizer: torch.optim.Optimizer) -> Path:
        """Write a checkpoint, whole or not at all, and remove the oldest beyond those to keep."""
        place = self.path / CHECKPOINTS / f"step-{state.step:06d}"
        with whole_folder(place) as folder:
            safetensors.torch.save_file(_learned_state(network), folder / "weights.safetensors")
            torch.save(optimizer.state_dict(), folder / "optimizer.pt")
            (folder / "state.json").write_text(json.dumps({**asdict(state), "made_by": self._made_by()}))
            flush(folder)
        for old in checkpoints(self.path)[: -self.settings.keep]:
            shutil.rmtree(old)
        return place

    def restore(self, network: nn.Module, optimizer: torch.optim.Optimizer) -> RunState:
        """Fill network and optimizer from the last checkpoint; the beginning where there is none."""
        there = checkpoints(self.path)
        if not there:
            return RunState()
        record = json.loads((there[-1] / "state.json").read_text())
        self._check_same(record.pop("made_by"), there[-1])
        fill(network, read_state(there[-1] / "weights.safetensors"), where=there[-1])
        optimizer.load_state_dict(torch.load(there[-1] / "optimizer.pt", map_location="cpu", weights_only=True))
        return RunState(**record)

    def save_best(self, network: nn.Module) -> None:
        """Keep these weights as the best so far."""
        part = self.path / f".{BEST}{PART}"
        safetensors.torch.save_file(_learned_state(network), part)
        os.replace(part, self.path / BEST)

    def restore_best(self, network: nn.Module) -> None:
        """Fill the network with the best weights."""
        fill(network, read_state(self.path / BEST), where=self.path / BEST)

    def forget(self) -> None:
        """Remove what only an unfinished run needs."""
        shutil.rmtree(self.path / CHECKPOINTS, ignore_errors=True)
        (self.path / BEST).unlink(missing_ok=True)

    def _made_by(self) -> dict[str, Any]:
        settings = {name: value for name, value in self.settings.model_dump().items() if name not in FREE}
        return {**settings, "data": self.data, "backbone": self.backbone}

    def _check_same(self, found: Mapping[str, Any], where: Path) -> None:
        mine = self._made_by()
        other = [name for name in mine if mine[name] != found.get(name)]
        if other:
            told = ", ".join(f"{name} {found.get(name)!r}, now {mine[name]!r}" for name in other[:3])
            raise BadValue(
                "a run goes on with the data, the backbone and the settings that it began with",
                found=told,
                where=str(where),
                remedy="give the same ones, or begin anew with --overwrite",
            )


def checkpoints(run: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    return sorted((run / CHECKPOINTS).glob("step-*"))


def trained(network: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that are learned."""
    return {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}


def fill(network: nn.Module, state: Mapping[str, torch.Tensor], *, where: Path) -> None:
    """Put saved weights into the parameters that are learned: all of them, and none left over."""
    mine = trained(network)
    if set(mine) != set(state):
        odd = sorted(set(mine) ^ set(state))
        raise BadFile("weights of the same run are needed", found=f"{len(odd)} other: {odd[:3]}", where=str(where))
    with torch.no_grad():
        for name, parameter in mine.items():
            parameter.copy_(state[name])


def flush(folder: Path) -> None:
    """Have everything in `folder` on the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())


def _learned_state(network: nn.Module) -> dict[str, torch.Tensor]:
    return {name: parameter.detach().cpu().contiguous() for name, parameter in trained(network).items()}
