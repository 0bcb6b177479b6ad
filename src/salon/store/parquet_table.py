"""A table as Parquet: the canonical form.

References are written as dictionaries of the labels in use and read back as dictionaries, so ten million rows are
numbers on the disk, in memory and in between. No Arrow schema is stored: to any other reader the columns are plain
text and numbers.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.errors import BadFile
from salon.study import KINDS, REFERENCE, REFERENCES, reference_lists

if TYPE_CHECKING:
    import pyarrow.parquet as pq

ROWS_IN_GROUP = 1_000_000
LARGEST_DICTIONARY = 1 << 30
"""Bytes of labels one row group may hold before Parquet would write them again in every row."""


_ROWS_OF_ANY_FILE = 1_000_000
_MOST_ROWS_PER_BYTE = 16
"""Real judgments take a byte a row and more; run-length encoding lets a forged file claim millions of rows per byte."""


def check_rows(path: Path) -> None:
    """BadFile for a small file that claims so many rows that reading it would fill the memory; nothing is decoded."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(arrow_file(path)) as file:
        rows = file.metadata.num_rows
    size = path.stat().st_size
    if rows > max(_ROWS_OF_ANY_FILE, _MOST_ROWS_PER_BYTE * size):
        raise BadFile(
            f"a Parquet file of at most {_MOST_ROWS_PER_BYTE} rows per byte is needed",
            found=f"{rows:,} rows in {size:,} bytes",
            where=str(path),
            remedy="such a file unpacks to more than memory holds; if it is real, split it into files of fewer rows",
        )


def read(kind: str, path: Path) -> pa.Table:
    """The table in `path`, its reference columns as dictionaries.

    Lists are read as text and numbered here, row group by row group: Arrow's own reading of a list as a dictionary is
    three times slower, and fails where a writer gave up on the dictionary half-way.
    """
    import pyarrow.parquet as pq

    check_rows(path)
    columns = KINDS[kind].columns
    with pq.ParquetFile(arrow_file(path)) as plain:
        metadata = plain.metadata
    leaves = [metadata.schema.column(number) for number in range(len(metadata.schema))]
    references = [
        leaf.path for leaf in leaves if columns.get(leaf.path) == REFERENCE and leaf.physical_type == "BYTE_ARRAY"
    ]
    with pq.ParquetFile(arrow_file(path), metadata=metadata, read_dictionary=references) as file:
        if file.num_row_groups == 0:
            return file.read()
        groups = []
        for number in range(file.num_row_groups):
            group = file.read_row_group(number)
            for place, name in enumerate(group.column_names):
                if columns.get(name) == REFERENCES:
                    group = group.set_column(place, name, reference_lists(group.column(name)))
            groups.append(group)
        return pa.concat_tables(groups)


def arrow_file(path: Path) -> pa.OSFile:
    """A file for Arrow to read, by the bytes of its name: a name need not be UTF-8, and says nothing of the columns."""
    return pa.OSFile(os.fsencode(path))


def write(kind: str, table: pa.Table, file: BinaryIO) -> None:
    """Write `table` with only the labels its rows use: an erased rater's name is not left in a dictionary."""
    compact = compact_table(table)
    with writer(compact.schema, file) as parquet:
        parquet.write_table(compact, row_group_size=ROWS_IN_GROUP)


def writer(schema: pa.Schema, file: BinaryIO) -> pq.ParquetWriter:
    """A Parquet writer with the settings of every table Salon writes: labels never fall back to plain text."""
    import pyarrow.parquet as pq

    return pq.ParquetWriter(
        file, schema, compression="zstd", store_schema=False, dictionary_pagesize_limit=LARGEST_DICTIONARY
    )


def compact_table(table: pa.Table) -> pa.Table:
    """`table` with every dictionary cut down to the labels its rows use."""
    return pa.table({name: _compact_column(table.column(name)) for name in table.column_names})


def _compact_column(column: pa.ChunkedArray) -> pa.Array | pa.ChunkedArray:
    if column.type == REFERENCE:
        return _used_labels(_one(column))
    if column.type == REFERENCES:
        lists = _one(column)
        lengths = pc.list_value_length(lists).fill_null(0).to_numpy(zero_copy_only=False)
        offsets = pa.array(np.append(0, np.cumsum(lengths)), pa.int32())
        mask = lists.is_null() if lists.null_count else None
        return pa.ListArray.from_arrays(offsets, _used_labels(lists.flatten()), mask=mask)
    return column


def _one(column: pa.ChunkedArray) -> Any:
    return column.unify_dictionaries().combine_chunks()


def _used_labels(array: pa.DictionaryArray) -> pa.DictionaryArray:
    indices = array.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    used = np.zeros(len(array.dictionary) + 1, bool)
    used[indices] = True  # null, -1, marks the spare last place
    if used[:-1].all():
        return array
    renumber = (np.cumsum(used) - 1).astype(np.int32)
    nulls = indices < 0 if array.null_count else None
    labels = array.dictionary.filter(pa.array(used[:-1]))
    return pa.DictionaryArray.from_arrays(pa.array(renumber[indices], mask=nulls), labels)
