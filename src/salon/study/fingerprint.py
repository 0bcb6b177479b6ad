"""The content hash behind every signature's `data:` part."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

BLOCK = 1_000_000
"""References hashed at a time: a long column needs no long copies."""


def fingerprint(meta: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> str:
    """Hash of metadata and tables that does not depend on file format, chunks or dictionary order.

    References are renumbered by first appearance before hashing, so 'b, a, b' hashes as codes 0, 1, 0 with
    labels b, a whatever dictionary the column came with. Row order counts.
    """
    digest = hashlib.sha256()
    digest.update(json.dumps(meta, sort_keys=True, ensure_ascii=False).encode())
    for kind in sorted(tables):
        table = tables[kind]
        if not table.num_rows:
            continue
        digest.update(f"\0{kind}:{table.num_rows}".encode())
        for name in sorted(table.column_names):
            column = table.column(name)
            if column.null_count == len(column):
                continue
            digest.update(f"\0{name}".encode())
            for part in _parts(column.combine_chunks()):
                digest.update(part)
    return digest.hexdigest()


def _parts(array: pa.Array) -> Iterator[memoryview]:
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    if pa.types.is_list(array.type):
        yield _bytes(_lengths(pc.list_value_length(array)))
        yield from _parts(array.flatten())
    elif pa.types.is_dictionary(array.type):
        yield from _references(array)
    elif pa.types.is_string(array.type):
        yield _bytes(_lengths(pc.binary_length(array)))
        yield _text_bytes(array.fill_null("") if array.null_count else array)
    elif array.null_count:
        yield _bytes(array.is_valid().to_numpy(zero_copy_only=False))
        yield from _parts(array.drop_null())
    else:
        yield _bytes(array.to_numpy(zero_copy_only=False))


def _lengths(array: pa.Array) -> NDArray[np.int32]:
    lengths: NDArray[np.int32] = array.fill_null(-1).to_numpy(zero_copy_only=False)
    return lengths


def _references(array: pa.DictionaryArray) -> Iterator[memoryview]:
    """Codes numbered by first appearance (-1 where null), block by block, then the labels in that order."""
    indices = array.indices if array.null_count == 0 else array.indices.fill_null(-1)
    codes: NDArray[np.int32] = indices.to_numpy(zero_copy_only=False)
    size = len(array.dictionary) + 1  # code -1, null, uses the spare last place
    first = np.full(size, len(codes), np.int64)
    blocks = range(0, len(codes), BLOCK)
    for start in reversed(blocks):
        block = codes[start : start + BLOCK]
        # Writing backwards leaves the earliest place of each code, without a slow ufunc.at.
        first[block[::-1]] = np.arange(start + len(block) - 1, start - 1, -1)
    first[-1] = len(codes)
    used = np.flatnonzero(first < len(codes))
    labels = used[np.argsort(first[used], kind="stable")]
    renumber = np.full(size, -1, np.int32)
    renumber[labels] = np.arange(len(labels), dtype=np.int32)
    for start in blocks:
        yield _bytes(renumber[codes[start : start + BLOCK]])
    yield from _parts(array.dictionary.take(pa.array(labels)))


def _text_bytes(array: pa.StringArray) -> memoryview:
    """The text of a string array as one run of bytes (its offsets may start anywhere)."""
    buffers = array.buffers()
    if buffers[2] is None or not len(array):
        return memoryview(b"")
    offsets = np.frombuffer(buffers[1], np.int32)[array.offset : array.offset + len(array) + 1]
    return memoryview(buffers[2])[offsets[0] : offsets[-1]]


def _bytes(array: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(array).data.cast("B") if array.size else memoryview(b"")
