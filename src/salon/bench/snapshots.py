"""Snapshots as numbered files: 0001.json, 0002.json, ... None is ever changed, none is written twice."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TypeVar

from salon.bench.arena import ArenaSnapshot
from salon.bench.rater_results import RaterTables
from salon.errors import BadFile
from salon.store import PART, sync_folder
from salon.study import Noun

Snapshot = TypeVar("Snapshot", ArenaSnapshot, RaterTables)


def publish_snapshot(folder: Path, snapshot: Snapshot) -> tuple[Snapshot, bool]:
    """`snapshot` with its number, and whether it is new; a snapshot equal to a published one gets its number."""
    folder.mkdir(parents=True, exist_ok=True)
    content = _content(snapshot)
    published = read_snapshots(folder, type(snapshot))
    for earlier in published:
        if _content(earlier) == content:
            return earlier, False
    number = max((earlier.number for earlier in published), default=0) + 1
    while True:
        numbered = snapshot.model_copy(update={"number": number})
        if _write_new(folder / f"{number:04}.json", numbered.model_dump_json(indent=1).encode()):
            return numbered, True
        number += 1  # somebody else published in between


def read_snapshots(folder: Path, kind: type[Snapshot]) -> list[Snapshot]:
    """All snapshots of a folder, oldest first; none where there is no folder."""
    files = sorted(path for path in folder.glob("*.json") if path.stem.isdigit())
    snapshots = []
    for path in sorted(files, key=lambda path: int(path.stem)):
        try:
            snapshot = kind.model_validate_json(path.read_bytes())
        except ValueError as error:
            raise BadFile(
                f"a snapshot is needed ({kind.__name__})", found=str(error).split("\n")[0], where=str(path)
            ) from None
        if snapshot.number != int(path.stem):
            raise BadFile(
                "a snapshot bears the number of its file",
                found=snapshot.number,
                where=str(path),
                remedy="published snapshots are never renamed or copied over each other",
            )
        snapshots.append(snapshot)
    return snapshots


def _content(snapshot: Noun) -> str:
    """Everything but the number."""
    return snapshot.model_copy(update={"number": 0}).model_dump_json()


def _write_new(path: Path, content: bytes) -> bool:
    """Write a file whole; False if there is one already."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}{PART}")
    try:
        with open(part, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(part, path)
        except FileExistsError:
            return False
        sync_folder(path.parent)
        return True
    finally:
        part.unlink(missing_ok=True)
