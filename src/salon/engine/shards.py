"""Results as Parquet files, one a batch, each there whole or not at all.

A shard is named by the keys of its tasks. A batch that two workers finish is written twice under one name, so its rows
are there once; whoever is killed leaves only whole shards, and the next run asks which keys are still missing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from salon.engine.work import Row, Task
from salon.errors import BadFile
from salon.store.quick_file import put_file

KEY = "key"
_SIGNATURE = b"salon.work"
_PARTS = "part-*.parquet"


class Shards:
    """The results of one work in a folder of its own."""

    def __init__(self, folder: Path, signature: str, schema: pa.Schema) -> None:
        self.folder = folder
        fields = [pa.field(KEY, pa.string()), *schema]
        self.schema = pa.schema(fields, metadata={_SIGNATURE: signature.encode()})

    def keys(self) -> set[str]:
        """Keys of the tasks whose results are there; BadFile when a shard is broken or of another work."""
        found: set[str] = set()
        for path in self._paths():
            self._check(path)
            found.update(pq.read_table(path, columns=[KEY]).column(KEY).to_pylist())
        return found

    def write(self, tasks: Sequence[Task], rows: Sequence[Row]) -> None:
        """Keep the results of a batch."""
        if len(rows) != len(tasks):
            raise ValueError(f"{len(tasks)} tasks have {len(rows)} results")
        keys = [task.key for task in tasks]
        name = hashlib.sha256("\0".join(keys).encode()).hexdigest()[:32]
        table = pa.Table.from_pylist([{KEY: key, **row} for key, row in zip(keys, rows)], schema=self.schema)
        sink = pa.BufferOutputStream()
        pq.write_table(table, sink, compression="zstd")
        put_file(self.folder / f"part-{name}.parquet", sink.getvalue().to_pybytes())

    def read(self) -> pa.Table:
        """All results, by key; each key once."""
        tables = [self._read(path) for path in self._paths()]
        whole = pa.concat_tables([self.schema.empty_table(), *tables]).sort_by(KEY)
        keys = whole.column(KEY).to_numpy(zero_copy_only=False)
        return whole.filter(pa.array([True, *(keys[1:] != keys[:-1])])) if len(keys) else whole

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob(_PARTS))

    def _read(self, path: Path) -> pa.Table:
        self._check(path)
        return pq.read_table(path, schema=self.schema)

    def _check(self, path: Path) -> None:
        try:
            schema = pq.read_schema(path)
        except (pa.ArrowException, OSError) as error:
            raise BadFile(
                "a shard of results is needed",
                found=f"a broken file: {error}",
                where=str(path),
                remedy="remove it: its tasks are done again",
            ) from None
        if not schema.equals(self.schema, check_metadata=True):
            raise BadFile(
                "results of the same work are needed",
                found="those of another work, or of other settings",
                where=str(path),
                remedy="choose another folder, or remove this one",
            )
