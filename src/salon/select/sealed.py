"""Files that carry a hash of what they hold, so that a change by hand is seen: references, gates, routes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TypeVar

from salon.errors import BadFile
from salon.store.atomic import write_json
from salon.study.noun import Noun

Kind = TypeVar("Kind", bound="Sealed")


class Sealed(Noun):
    """A record that is kept in such a file."""

    format: str

    @property
    def hash(self) -> str:
        """Twelve hex digits over all fields."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def write_sealed(record: Sealed, path: Path, *, overwrite: bool = False) -> None:
    """Write the file, its hash with it; BadFile where there is one and nobody asked to replace it."""
    write_json(path, {**record.model_dump(mode="json"), "hash": record.hash}, overwrite=overwrite)


def read_sealed(kind: type[Kind], path: Path, *, name: str, make: str, changed: str) -> Kind:
    """What a file holds; BadFile where that is no `kind`, or was changed after it was written.

    `name` is what it is called, `make` says how to get one, `changed` what to do with one that was changed.
    """
    where, format = str(path), kind.model_fields["format"].default
    try:
        record = json.loads(path.read_bytes())
    except OSError as error:
        raise BadFile(f"a file with {name} is needed", found=error.strerror, where=where) from None
    except (ValueError, RecursionError) as error:
        raise BadFile(f"a JSON file with {name} is needed", found=str(error), where=where) from None
    if not isinstance(record, dict) or record.get("format") != format:
        raise BadFile(
            f"a file with {name} in the format {format} is needed", found="another file", where=where, remedy=make
        )
    hash = record.pop("hash", None)
    found = kind.parse(record, where=where)
    if hash != found.hash:
        raise BadFile(
            f"a file with {name} as it was written is needed",
            found=f"hash {hash} in the file, {found.hash} of what it holds", where=where, remedy=changed,
        )  # fmt: skip
    return found
