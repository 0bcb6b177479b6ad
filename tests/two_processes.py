"""The same work in two real processes (gloo), told what accelerate's launcher tells its own, and no more.

Forked, so that torch and TRL are imported once. With ZeRO-3 the environment comes from accelerate's own launcher.
"""

from __future__ import annotations

import multiprocessing
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from accelerate.commands.launch import _validate_launch_command, launch_command_parser
from accelerate.state import AcceleratorState
from accelerate.utils.launch import prepare_deepspeed_cmd_env
from held_port import held_port

ZERO3 = Path(__file__).parents[1] / "examples" / "distill" / "zero3.yaml"


def on_cpus(config: Path, folder: Path) -> Path:
    """A launch file for GPUs, for two processes on CPUs; all else as it is."""
    told = yaml.safe_load(config.read_text()) | {"use_cpu": True, "mixed_precision": "no", "num_processes": 2}
    (folder / config.name).write_text(yaml.safe_dump(told))
    return folder / config.name


def in_two_processes(work: Callable[..., Any], *given: Any, zero3: bool = False, timeout: float = 300) -> list[Any]:
    """What `work(rank, *given)` gives in each; an error is given as (kind, words)."""
    if zero3:
        import deepspeed.ops  # looks at every compiler for seconds: once, not in each process

        deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False  # it would be compiled, which takes a minute
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    with held_port() as port:
        both = [context.Process(target=_run, args=(rank, port, zero3, queue, work, given)) for rank in range(2)]
        for process in both:
            process.start()
        try:
            found = dict(queue.get(timeout=timeout) for _ in both)
        finally:
            for process in both:
                process.join(timeout=10)
                process.kill()
    return [found[0], found[1]]


def attempt(work: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What `work` gives, or (kind, words) of its error."""
    try:
        return work(*given, **named)
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "salon":
            traceback.print_exc()
        return type(error).__name__, str(error)


def _run(rank: int, port: int, zero3: bool, queue: Any, work: Callable[..., Any], given: tuple[Any, ...]) -> None:
    AcceleratorState._reset_state(reset_partial_state=True)  # the parent may have trained
    os.environ.update(_environment(zero3) | {
        "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2",
        "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1",
    })  # fmt: skip
    queue.put((rank, attempt(work, rank, *given)))
    queue.close()
    queue.join_thread()
    os._exit(0)


def launch_arguments(config: Path, *command: str) -> Any:
    """What `accelerate launch --config_file` makes of a file and a command, by its own code."""
    told = _validate_launch_command(launch_command_parser().parse_args(["--config_file", str(config), *command]))
    told[0].deepspeed_fields_from_accelerate_config = ",".join(
        told[1].deepspeed_config or {}
    )  # as its launch_command does
    return told[0]


def _environment(zero3: bool) -> dict[str, str]:
    if not zero3:
        return {}
    with TemporaryDirectory() as folder:
        _, environment = prepare_deepspeed_cmd_env(launch_arguments(on_cpus(ZERO3, Path(folder)), "salon"))
    return environment | {"DS_ACCELERATOR": "cpu"}
