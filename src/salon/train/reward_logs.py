"""What a run tells while it trains: a line of JSON for each step, TensorBoard, and W&B where it is set up.

RUN/log.jsonl         one record for each step or look at the validation pairs
RUN/tensorboard/      the same, for `tensorboard --logdir`

W&B is used when the environment names a WANDB_PROJECT and its package is installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from salon.errors import MissingExtra
from salon.store.atomic import whole_file

try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

LOG = "log.jsonl"


class RunLog:
    """Records of a run; of one that goes on, those past its checkpoint are written anew. Without a folder, silent."""

    def __init__(self, folder: Path | None, settings: Mapping[str, Any], *, name: str, step: int = 0) -> None:
        self.folder = folder
        if folder is None:
            return
        folder.mkdir(parents=True, exist_ok=True)
        _forget_after(folder / LOG, step)
        self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=step + 1 if step else None)
        self._wandb = _wandb_run(folder, settings, name)

    def __enter__(self) -> RunLog:
        return self

    def __exit__(self, *fault: object) -> None:
        if self.folder is not None:
            self._board.close()
            if self._wandb is not None:
                self._wandb.finish()

    def write(self, kind: str, step: int, figures: Mapping[str, float | None]) -> None:
        """Note the figures of a step, those there are: `kind` is train or validation."""
        if self.folder is None:
            return
        there = {name: value for name, value in figures.items() if value is not None}
        with open(self.folder / LOG, "a", encoding="utf-8") as file:
            file.write(json.dumps({"kind": kind, "step": step, **there}) + "\n")
        for name, value in there.items():
            self._board.add_scalar(f"{kind}/{name}", value, step)
        if self._wandb is not None:
            self._wandb.log({f"{kind}/{name}": value for name, value in there.items()}, step=step)


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


def _wandb_run(folder: Path, settings: Mapping[str, Any], name: str) -> Any:
    project = os.environ.get("WANDB_PROJECT")
    if not project or importlib.util.find_spec("wandb") is None:
        return None
    return importlib.import_module("wandb").init(
        project=project, name=name, dir=str(folder), config=dict(settings), resume="allow"
    )
