"""How much memory there is, how much was stated, and how weights are shared out over processes."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Literal

from salon.errors import BadValue, MissingExtra
from salon.train.reward_setup import on_cpu

try:
    import torch
    from accelerate.utils import parse_flag_from_env
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

Shard = Literal["none", "fsdp2", "zero2", "zero3"]
SHARDS: tuple[Shard, ...] = ("none", "fsdp2", "zero2", "zero3")
GB = 10**9


def gpu_memory() -> int | None:
    """Bytes of the GPU that is here; None without one."""
    return None if on_cpu() else available_memory()


def available_memory(processes: int = 1) -> int | None:
    """Bytes for one process: its GPU's, or its share of the machine's; None where nobody says."""
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
    given: Shard | Literal["auto"] = getattr(settings, "shard", "auto")
    if given != "auto":
        return given
    if parse_flag_from_env("ACCELERATE_USE_DEEPSPEED"):
        return "zero3" if os.environ.get("ACCELERATE_DEEPSPEED_ZERO_STAGE") == "3" else "zero2"
    return "fsdp2" if parse_flag_from_env("ACCELERATE_USE_FSDP") else "none"
