"""The folder of a run: checkpoints, from which it continues as if nothing had happened, and its log.

    RUN/checkpoints/step-000500/*.safetensors    what is trained, whole, in float32: NAME|weight and AdamW's moments
    RUN/checkpoints/step-000500/state.json       step, settings, data, the best validation so far
    RUN/best/*.safetensors                       the weights of the lowest validation loss
    RUN/log.jsonl                                one record for each step or look at the validation pairs
    RUN/tensorboard/                             the same, for `tensorboard --logdir`, unless `--log` names others

Every process writes some of the files, each with whole tensors: a checkpoint can be read under any engine and by any
number of processes. Each machine must see the run's folder. The order of the pairs and dropout follow from the seed and
the step, so no random state is stored. All processes do the same: the first one decides, and an error of one is an
error of all.

Trackers are those of accelerate (`accelerate.tracking`): tensorboard, wandb, trackio, mlflow, comet_ml, aim, clearml,
dvclive, swanlab, and classes of one's own as python:MODULE:CLASS. They have their own settings: WANDB_PROJECT,
WANDB_MODE, MLFLOW_TRACKING_URI and so on.
"""

from __future__ import annotations

import importlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from salon.errors import BadFile, BadValue, MissingExtra, SalonError
from salon.store import held, whole_file, whole_folder
from salon.train.reward_engine import WEIGHT, Engine, trainable_parameters
from salon.train.settings import REWARD_FREE, RewardSettings
from salon.train.training_setup import processes

try:
    import safetensors.torch
    import torch
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS, GeneralTracker, get_available_trackers
    from accelerate.utils import broadcast_object_list, gather_object
    from safetensors import SafetensorError, safe_open
    from torch import nn
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

CHECKPOINTS = "checkpoints"
BEST = "best"
FILE_BYTES = 2 << 30
"""A process writes a file when it holds this much: so much of the computer's memory a checkpoint takes."""


@contextmanager
def hold_run(run: Path, *, anew: bool) -> Iterator[None]:
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

    def save(self, state: RunState, engine: Engine) -> Path:
        """Write a checkpoint, whole or not at all, and remove the oldest beyond those to keep."""
        place = self.path / CHECKPOINTS / f"step-{state.step:06d}"
        record = {**asdict(state), "made_by": self._made_by()}
        _write(place, engine, moments=True, record=record)
        if engine.is_main:
            for old in checkpoints(self.path)[: -self.settings.keep]:
                shutil.rmtree(old)
        return place

    def restore(self, engine: Engine) -> RunState:
        """Fill network and optimizer from the last checkpoint; the beginning where there is none."""
        there = checkpoints(self.path)
        last = _as_first(there[-1].name if there else None, engine)
        if last is None:
            return RunState()
        place = self.path / CHECKPOINTS / last
        with _all_succeed(engine, f"reading {place}"):
            if not (place / "state.json").is_file():
                raise BadFile(
                    "a folder that every machine sees is needed for the model", found="no checkpoint", where=str(place)
                )
            record = json.loads((place / "state.json").read_text())
            self._check_same(record.pop("made_by"), place)
            state = RunState(**record)
            _fill(engine, SavedWeights(place), step=state.step)
        return state

    def save_best(self, engine: Engine) -> None:
        """Keep these weights as the best so far."""
        _write(self.path / BEST, engine, moments=False)

    def chosen_weights(self) -> SavedWeights:
        """Those of the lowest validation loss, or of the last step, as the settings say."""
        best = self.path / BEST
        return SavedWeights(best if self.settings.choose == "best" and best.is_dir() else checkpoints(self.path)[-1])

    def restore_weights(self, engine: Engine) -> None:
        """Fill the network with the weights that are chosen."""
        with _all_succeed(engine, "reading the weights that were chosen"):
            _fill(engine, self.chosen_weights(), step=None)

    def forget(self) -> None:
        """Remove what only an unfinished run needs."""
        shutil.rmtree(self.path / CHECKPOINTS, ignore_errors=True)
        shutil.rmtree(self.path / BEST, ignore_errors=True)

    def _made_by(self) -> dict[str, Any]:
        settings = {name: value for name, value in self.settings.model_dump().items() if name not in REWARD_FREE}
        return {**settings, "data": self.data, "backbone": self.backbone}

    def _check_same(self, before: Mapping[str, Any], where: Path) -> None:
        mine = self._made_by()
        changed = [name for name in mine if mine[name] != before.get(name)]
        if changed:
            changes = ", ".join(f"{name} {before.get(name)!r}, now {mine[name]!r}" for name in changed[:3])
            raise BadValue(
                "a run goes on with the data, the backbone and the settings that it began with",
                found=changes,
                where=str(where),
                remedy="give the same ones, or start again with --overwrite",
            )


def checkpoints(run: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    return sorted((run / CHECKPOINTS).glob("step-*"))


class SavedWeights:
    """The tensors of a checkpoint's files, by name and kind, read as they are needed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._files: dict[str, Any] = {}
        for file in sorted(folder.glob("*.safetensors")):
            try:
                opened: Any = safe_open(file, framework="pt")
                self._files |= dict.fromkeys(opened.keys(), opened)
            except (OSError, SafetensorError) as error:
                raise BadFile("a whole checkpoint is needed", found=str(error), where=str(file)) from None

    def names(self) -> set[str]:
        """Of the weights."""
        return {key.rpartition("|")[0] for key in self._files}

    def read(self, name: str, kind: str) -> torch.Tensor | None:
        """A weight or one of its moments, on the CPU; None where there is none."""
        key = f"{name}|{kind}"
        return self._files[key].get_tensor(key) if key in self._files else None


def fill_network(network: nn.Module, saved: SavedWeights) -> None:
    """Put saved weights into a network that is whole on the CPU, in float32."""
    mine = trainable_parameters(network)
    _check_names(list(mine), saved)
    for name, parameter in mine.items():
        value = saved.read(name, WEIGHT)
        assert value is not None  # of the names
        parameter.data = value.clone().reshape(parameter.shape)


def _fill(engine: Engine, saved: SavedWeights, *, step: int | None) -> None:
    _check_names(engine.names(), saved)
    for name in engine.names():
        engine.fill(name, partial(saved.read, name), step=step)


def _check_names(mine: list[str], saved: SavedWeights) -> None:
    odd = sorted(set(mine) ^ saved.names())
    if odd:
        differences = f"{len(odd)} other: {odd[:3]}"
        raise BadFile("weights of the same run are needed", found=differences, where=str(saved.folder))


# -- all processes together ------------------------------------------------------------------------------------------


def _write(place: Path, engine: Engine, *, moments: bool, record: Mapping[str, Any] | None = None) -> None:
    """Write what is trained to a folder that appears whole or not at all. All processes take part."""
    with _all_succeed(engine, f"writing {place}"), ExitStack() as stack:
        stage, fault = None, None
        if engine.is_main:
            try:
                stage = str(stack.enter_context(whole_folder(place)))
            except (SalonError, OSError) as error:  # raised below, when the others no longer wait for the folder's name
                fault = error
        stage = _as_first(stage, engine)
        if stage is None:
            raise fault or SalonError("a place for a checkpoint is needed", where=str(place))
        with _all_succeed(engine, f"writing {place}"):
            _write_parts(Path(stage), engine, moments=moments)
            if record is not None and engine.is_main:
                (Path(stage) / "state.json").write_text(json.dumps(record))
                flush(Path(stage))


def _write_parts(folder: Path, engine: Engine, *, moments: bool) -> None:
    """This process' share of the tensors; all gather each, and a fault is raised when none of them waits any more."""
    pending: dict[str, torch.Tensor] = {}
    fault: Exception | None = None
    files = 0

    def write() -> None:
        nonlocal pending, files, fault
        try:
            target = folder / f"{engine.rank:05d}-{files:04d}.safetensors"
            safetensors.torch.save_file(pending, target)
            with open(target, "rb") as file:
                os.fsync(file.fileno())
        except (OSError, SafetensorError) as error:
            fault = error
        pending, files = {}, files + 1

    for number, name in enumerate(engine.names()):
        tensors = engine.whole(name, moments=moments)
        if number % engine.processes == engine.rank and fault is None:
            pending |= {f"{name}|{kind}": tensor.cpu().contiguous() for kind, tensor in tensors.items()}
            if sum(tensor.nbytes for tensor in pending.values()) > FILE_BYTES:
                write()
    if pending and fault is None:
        write()
    if fault is not None:
        raise BadFile("room for a checkpoint is needed", found=str(fault), where=str(folder)) from fault


def _as_first(value: Any, engine: Engine) -> Any:
    """What the first process has, on all of them."""
    values = [value]
    if engine.processes > 1:
        broadcast_object_list(values)
    return values[0]


@contextmanager
def _all_succeed(engine: Engine, doing: str) -> Iterator[None]:
    """A block that ends well on all processes, or with an error on all of them.

    Any other fault than of files may have left processes waiting for each other in the middle: it ends this process at
    once, upon which a launcher ends the others.
    """
    fault: SalonError | OSError | None = None
    try:
        yield
    except (SalonError, OSError) as error:
        fault = error
    mine = [None if fault is None else f"process {engine.rank}: {fault}"]
    faults = [text for text in (gather_object(mine) if engine.processes > 1 else mine) if text]
    if fault is not None:
        raise fault
    if faults:
        raise SalonError(f"all processes must succeed in {doing}", found="; ".join(faults))


def flush(folder: Path) -> None:
    """Have everything in `folder` on the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())


# -- the log -----------------------------------------------------------------------------------------------------------

LOG = "log.jsonl"
RUN_ID = "tracker-id"
PROJECT = "salon"
"""What a project is called where no environment variable does."""
_PACKAGES = {"comet_ml": "comet-ml"}


class RunLog:
    """Records of a run; when it is resumed, those past its checkpoint are written again. Without a folder, silent.

    `settings` name the trackers under `log`, and are given to each of them.
    """

    def __init__(self, folder: Path | None, settings: Mapping[str, Any], *, name: str, step: int = 0) -> None:
        self.folder = folder
        self._trackers: list[GeneralTracker] = []
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        # drop records of steps that will be taken again; the last line may be half written
        path = folder / LOG
        if path.is_file():
            lines = []
            for line in path.read_text(encoding="utf-8").splitlines():
                try:
                    lines += [line] if json.loads(line)["step"] <= step else []
                except ValueError:
                    break
            with whole_file(path) as file:
                file.write("".join(f"{line}\n" for line in lines).encode())
        processes()  # a tracker asks accelerate whether it is in the first one
        plain = {key: value for key, value in settings.items() if isinstance(value, bool | int | float | str)}
        for tracker in make_trackers(settings.get("log", "tensorboard"), folder, name=name, step=step):
            tracker.start()
            if tracker.name != "tensorboard":  # it would make a second run of them
                tracker.store_init_configuration(plain)
            self._trackers.append(tracker)

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *fault: object) -> None:
        for tracker in self._trackers:
            tracker.finish()

    def write(self, kind: str, step: int, figures: Mapping[str, float | None]) -> None:
        """Note the figures of a step, those there are: `kind` is train or validation."""
        if self.folder is None:
            return
        there = {name: value for name, value in figures.items() if value is not None}
        with open(self.folder / LOG, "a", encoding="utf-8") as file:
            file.write(json.dumps({"kind": kind, "step": step, **there}) + "\n")
        for tracker in self._trackers:
            tracker.log({f"{kind}/{name}": value for name, value in there.items()}, step=step)


def read_log(folder: Path) -> list[dict[str, Any]]:
    """All records of a run, in their order."""
    path = folder / LOG
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []


# -- trackers --------------------------------------------------------------------------------------------------------


def make_trackers(names: str, folder: Path, *, name: str, step: int = 0) -> list[GeneralTracker]:
    """The trackers of a list with commas, not yet started; BadValue where one is unknown or not installed."""
    trackers: list[GeneralTracker] = []
    for tracker in dict.fromkeys(part.strip() for part in names.split(",") if part.strip() not in ("", "none")):
        kind = _tracker_class(tracker)
        if tracker == "tensorboard":
            trackers.append(kind("tensorboard", str(folder), purge_step=step + 1 if step else None))
        elif tracker == "wandb":
            project = os.environ.get("WANDB_PROJECT", PROJECT)
            trackers.append(kind(project, name=name, id=_run_id(folder), dir=str(folder), resume="allow"))
        elif tracker == "trackio":
            project = os.environ.get("TRACKIO_PROJECT", PROJECT)
            trackers.append(kind(project, name=f"{name}-{_run_id(folder)}", resume="allow"))
        else:
            trackers.append(kind(PROJECT, str(folder)) if kind.requires_logging_directory else kind(PROJECT))
    return trackers


def _tracker_class(tracker: str) -> type[GeneralTracker]:
    """One of accelerate's, or one of the user's own."""
    if tracker.startswith("python:"):
        return _own_class(tracker)
    if tracker not in LOGGER_TYPE_TO_CLASS:
        raise BadValue(
            "--log: a tracker of accelerate is needed", found=repr(tracker),
            remedy=f"one of {', '.join(sorted(LOGGER_TYPE_TO_CLASS))}, python:MODULE:CLASS, or none",
        )  # fmt: skip
    if tracker not in map(str, get_available_trackers()):
        raise BadValue(
            f"--log: the package of {tracker} is needed", found="not installed",
            remedy=f"pip install {_PACKAGES.get(tracker, tracker)}",
        )  # fmt: skip
    kind: type[GeneralTracker] = LOGGER_TYPE_TO_CLASS[tracker]
    return kind


def _own_class(tracker: str) -> type[GeneralTracker]:
    module, _, attribute = tracker.removeprefix("python:").partition(":")
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise BadValue("--log: a tracker as python:MODULE:CLASS is needed", found=error, where=tracker,
                       remedy="put the module's folder on PYTHONPATH") from None  # fmt: skip
    if not (isinstance(kind, type) and issubclass(kind, GeneralTracker)):
        raise BadValue("--log: a subclass of accelerate.tracking.GeneralTracker is needed", found=repr(kind),
                       where=tracker)  # fmt: skip
    return kind


def _run_id(folder: Path) -> str:
    """By what a tracker knows a run that goes on."""
    file = folder / RUN_ID
    if not file.is_file():
        file.write_text(secrets.token_hex(4), encoding="utf-8")
    return file.read_text(encoding="utf-8")
