"""What a run tells while it trains: a line of JSON for each step, and the trackers of the field.

RUN/log.jsonl         one record for each step or look at the validation pairs
RUN/tensorboard/      the same, for `tensorboard --logdir`, unless `--log` names other trackers

Trackers are those of accelerate (`accelerate.tracking`): tensorboard, wandb, trackio, mlflow, comet_ml, aim, clearml,
dvclive, swanlab, and classes of one's own as python:MODULE:CLASS. Their own settings are theirs: WANDB_PROJECT,
WANDB_MODE, MLFLOW_TRACKING_URI and so on.
"""

from __future__ import annotations

import importlib
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from salon.errors import BadValue, MissingExtra
from salon.store.atomic import whole_file
from salon.train.reward_setup import processes

try:
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS, GeneralTracker, get_available_trackers
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

LOG = "log.jsonl"
RUN_ID = "tracker-id"
PROJECT = "salon"
"""What a project is called where no environment variable does."""
_PACKAGES = {"comet_ml": "comet-ml"}


class RunLog:
    """Records of a run; of one that goes on, those past its checkpoint are written anew. Without a folder, silent.

    `settings` name the trackers under `log`, and are told to each of them.
    """

    def __init__(self, folder: Path | None, settings: Mapping[str, Any], *, name: str, step: int = 0) -> None:
        self.folder = folder
        self._trackers: list[GeneralTracker] = []
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        _forget_after(folder / LOG, step)
        processes()  # a tracker asks accelerate whether it is in the first one
        plain = {key: value for key, value in settings.items() if isinstance(value, bool | int | float | str)}
        for tracker in trackers_named(settings.get("log", "tensorboard"), folder, name=name, step=step):
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


def _forget_after(path: Path, step: int) -> None:
    """Drop records of steps that will be taken again; the last line may be half written."""
    if not path.is_file():
        return
    kept = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            kept += [line] if json.loads(line)["step"] <= step else []
        except ValueError:
            break
    with whole_file(path) as file:
        file.write("".join(f"{line}\n" for line in kept).encode())


# -- trackers --------------------------------------------------------------------------------------------------------


def trackers_named(names: str, folder: Path, *, name: str, step: int = 0) -> list[GeneralTracker]:
    """The trackers of a list with commas, not yet started; BadValue where one is unknown or not installed."""
    wanted = dict.fromkeys(part.strip() for part in names.split(",") if part.strip() not in ("", "none"))
    return [_tracker(part, folder, name, step) for part in wanted]


def _tracker(wanted: str, folder: Path, name: str, step: int) -> GeneralTracker:
    kind = _own_class(wanted) if wanted.startswith("python:") else _known_class(wanted)
    if wanted == "tensorboard":
        return kind("tensorboard", str(folder), purge_step=step + 1 if step else None)
    if wanted == "wandb":
        project = os.environ.get("WANDB_PROJECT", PROJECT)
        return kind(project, name=name, id=_run_id(folder), dir=str(folder), resume="allow")
    if wanted == "trackio":
        return kind(os.environ.get("TRACKIO_PROJECT", PROJECT), name=f"{name}-{_run_id(folder)}", resume="allow")
    return kind(PROJECT, str(folder)) if kind.requires_logging_directory else kind(PROJECT)


def _known_class(wanted: str) -> type[GeneralTracker]:
    if wanted not in LOGGER_TYPE_TO_CLASS:
        raise BadValue(
            "--log: a tracker of accelerate is needed", found=repr(wanted),
            remedy=f"one of {', '.join(sorted(LOGGER_TYPE_TO_CLASS))}, python:MODULE:CLASS, or none",
        )  # fmt: skip
    if wanted not in map(str, get_available_trackers()):
        raise BadValue(
            f"--log: the package of {wanted} is needed", found="not installed",
            remedy=f"pip install {_PACKAGES.get(wanted, wanted)}",
        )  # fmt: skip
    kind: type[GeneralTracker] = LOGGER_TYPE_TO_CLASS[wanted]
    return kind


def _own_class(wanted: str) -> type[GeneralTracker]:
    module, _, attribute = wanted.removeprefix("python:").partition(":")
    try:
        kind = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise BadValue("--log: a tracker as python:MODULE:CLASS is needed", found=error, where=wanted,
                       remedy="put the module's folder on PYTHONPATH") from None  # fmt: skip
    if not (isinstance(kind, type) and issubclass(kind, GeneralTracker)):
        raise BadValue("--log: a subclass of accelerate.tracking.GeneralTracker is needed", found=repr(kind),
                       where=wanted)  # fmt: skip
    return kind


def _run_id(folder: Path) -> str:
    """By what a tracker knows a run that goes on."""
    file = folder / RUN_ID
    if not file.is_file():
        file.write_text(secrets.token_hex(4), encoding="utf-8")
    return file.read_text(encoding="utf-8")
