"""Files that appear whole, without waiting for the disk: for what can be made again after a power cut."""

from __future__ import annotations

import secrets
from pathlib import Path

from salon.store.atomic import PART


def put_file(path: Path, data: bytes) -> None:
    """Write `path` and the folders above it. A killed process leaves the old file or the new one, a power cut perhaps
    an empty one; `atomic.whole_file` excludes that, at the cost of two waits for the disk.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
    try:
        part.write_bytes(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
