"""The columns of a study's tables, nouns to rows and back, and the content hash of it all.

A study may hold ten million judgments, so it keeps them as Arrow columns and makes nouns only on request. References
(to items, raters, prompts, criteria) are dictionary-encoded: four bytes a row. Optional columns without any value are
left out of a table.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import BadColumns, BadValue
from salon.study.nouns import Checklist, Choice, Comparison, Item, Noun, Prompt, Ranking, Rater, Rating

TEXT = pa.string()
REFERENCE = pa.dictionary(pa.int32(), pa.string())
REFERENCES = pa.list_(REFERENCE)
NUMBER = pa.float64()


@dataclass(frozen=True)
class TableKind:
    """One table: the noun its rows are, its required columns, and the optional ones."""

    noun: type[Noun]
    required: dict[str, pa.DataType]
    optional: dict[str, pa.DataType]

    @property
    def columns(self) -> dict[str, pa.DataType]:
        """All columns in their fixed order."""
        return self.required | self.optional


_FACTS = {
    "repeat": pa.int16(),
    "rationale": TEXT,
    "confidence": NUMBER,
    "seconds": NUMBER,
    "at": TEXT,
    "skipped": REFERENCE,
}
_BY = {"criterion": REFERENCE, "rater": REFERENCE}

KINDS: dict[str, TableKind] = {
    "prompts": TableKind(
        Prompt,
        {"id": TEXT},
        {"text": TEXT, "intent": TEXT, "description": TEXT, "aesthetics": TEXT, "category": REFERENCE},
    ),
    "items": TableKind(
        Item,
        {"id": TEXT},
        {
            "prompt": REFERENCE,
            "generator": REFERENCE,
            "image": TEXT,
            "category": REFERENCE,
            "tier": REFERENCE,
            "source": REFERENCE,
        },
    ),
    "raters": TableKind(Rater, {"id": TEXT}, {"kind": REFERENCE, "cohort": REFERENCE}),
    "comparisons": TableKind(
        Comparison,
        {**_BY, "a": REFERENCE, "b": REFERENCE, "outcome": REFERENCE},
        {"left": REFERENCE, **_FACTS},
    ),
    "rankings": TableKind(Ranking, {**_BY, "items": REFERENCES, "ranks": pa.list_(pa.int32())}, _FACTS),
    "ratings": TableKind(Rating, {**_BY, "item": REFERENCE, "value": NUMBER}, _FACTS),
    "checklists": TableKind(
        Checklist, {**_BY, "item": REFERENCE, "points": REFERENCES, "answers": pa.list_(pa.bool_())}, _FACTS
    ),
    "choices": TableKind(Choice, {**_BY, "items": REFERENCES, "chosen": REFERENCE}, _FACTS),
}
DEFAULTS = {"kind": "person", "left": "unknown", "repeat": 0}
"""What an absent field means; said or not said, the study is the same."""
NAMED = ("prompts", "items", "raters")
JUDGMENTS = ("comparisons", "rankings", "ratings", "checklists", "choices")


def empty_table(kind: str) -> pa.Table:
    """A table of `kind` with its required columns and no rows."""
    columns = KINDS[kind].required
    return pa.table({name: pa.array([], type=dtype) for name, dtype in columns.items()})


def table_from_nouns(kind: str, nouns: Iterable[Noun]) -> pa.Table:
    """Nouns as one table."""
    return table_from_records(kind, [noun.model_dump() for noun in nouns])


def table_from_records(kind: str, records: Sequence[dict[str, Any]]) -> pa.Table:
    """Records that are known to be valid (made by a reader or a noun) as one table."""
    columns = KINDS[kind].columns
    by_text = {REFERENCE: TEXT, REFERENCES: pa.list_(TEXT)}  # Arrow cannot make lists of references directly
    arrays = {
        name: pa.array([record.get(name) for record in records], type=by_text.get(dtype, dtype))
        for name, dtype in columns.items()
    }
    return conform(kind, pa.table(arrays))


def conform(kind: str, table: pa.Table, *, where: str | None = None) -> pa.Table:
    """`table` with the kind's columns, types and order; empty optional columns dropped, unknown ones refused."""
    spec = KINDS[kind]
    place = where or f"table {kind!r}"
    for name in spec.required:
        if name not in table.column_names:
            raise BadColumns.missing(name, table.column_names, where=place)
    unknown = [name for name in table.column_names if name not in spec.columns]
    if unknown:
        raise BadColumns(
            f"a {kind} table has only the columns {', '.join(spec.columns)}",
            found=f"also {', '.join(unknown)}",
            where=place,
            remedy="remove or rename them; docs/data.md shows every column",
        )
    if len(set(table.column_names)) != len(table.column_names):
        raise BadColumns("each column may stand once", found=", ".join(table.column_names), where=place)
    columns = {}
    for name, dtype in spec.columns.items():
        if name not in table.column_names:
            continue
        column = _cast(table.column(name), dtype, f"{place}, column {name!r}")
        if name in spec.optional and _says_nothing(name, column):
            continue
        if pa.types.is_list(column.type) and column.null_count:
            empty = pa.scalar([], _plain(column).type)
            columns[name] = _cast(pc.coalesce(_plain(column), empty), column.type, name)
        elif name not in DEFAULTS or not column.null_count:
            columns[name] = column
        else:
            columns[name] = _cast(_plain(column).fill_null(DEFAULTS[name]), column.type, name)
    return pa.table(columns).combine_chunks()  # one chunk: numbering a column then copies nothing


def _says_nothing(name: str, column: pa.ChunkedArray) -> bool:
    """Is an optional column empty, or does it hold only what its absence means?"""
    if column.null_count == len(column):
        return True
    return name in DEFAULTS and bool(pc.all(pc.equal(_plain(column), DEFAULTS[name]).fill_null(True)).as_py())


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """References as text."""
    if column.type == REFERENCE:
        return column.cast(TEXT)
    return column.cast(pa.list_(TEXT)) if column.type == REFERENCES else column


def _cast(column: pa.ChunkedArray, dtype: pa.DataType, where: str) -> pa.ChunkedArray:
    if column.type == dtype and dtype not in (REFERENCE, REFERENCES):
        return column
    try:
        if dtype == REFERENCE:
            if not pa.types.is_dictionary(column.type) or not all(_is_clean(chunk) for chunk in column.chunks):
                return column.cast(TEXT).dictionary_encode().unify_dictionaries()
            return pa.chunked_array([_as_reference(chunk) for chunk in column.chunks], dtype).unify_dictionaries()
        if dtype == REFERENCES:
            return reference_lists(column)
        return column.cast(dtype)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise BadValue(f"values of type {dtype} are needed", found=f"{column.type}: {error}", where=where) from None


def _is_clean(chunk: pa.DictionaryArray) -> bool:
    """Does every label of the dictionary stand once, and none be null?"""
    return chunk.dictionary.null_count == 0 and all_different(chunk.dictionary)


def all_different(texts: pa.Array) -> bool:
    """Does every text stand once? Sorted texts, as most ids are, need no hash table to tell."""
    rising = pc.all(pc.less(texts[:-1], texts[1:])).as_py()
    return rising is not False or bool(pc.count_distinct(texts).as_py() == len(texts))


def _as_reference(chunk: pa.DictionaryArray) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(chunk.indices.cast(pa.int32()), chunk.dictionary.cast(TEXT))


def reference_lists(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Lists of text (or of references) as one chunk of lists of references."""
    chunks = [_encode_lists(chunk) for chunk in column.chunks if len(chunk)]
    if len(chunks) < 2:
        return pa.chunked_array(chunks, REFERENCES)
    return pa.chunked_array([pa.chunked_array(chunks).unify_dictionaries().combine_chunks()], REFERENCES)


def _encode_lists(lists: pa.Array) -> pa.ListArray:
    """One chunk, also of large lists, already dictionary-encoded ones, or with labels that stand twice."""
    if not pa.types.is_list(lists.type):
        lists = lists.cast(pa.list_(TEXT))
    values = lists.values
    if pa.types.is_dictionary(values.type):
        values = _as_reference(values) if _is_clean(values) else values.cast(TEXT).dictionary_encode()
    else:
        values = values.cast(TEXT).dictionary_encode()
    mask = lists.is_null() if lists.null_count else None
    return pa.ListArray.from_arrays(lists.offsets, values, type=REFERENCES, mask=mask)


def to_references(codes: NDArray[Any], ids: pa.Array) -> pa.DictionaryArray:
    """Numbers into `ids` as an Arrow column of references; -1 is null."""
    mask = codes < 0
    indices = pa.array(codes.astype(np.int32, copy=False), mask=mask if mask.any() else None)
    return pa.DictionaryArray.from_arrays(indices, ids)


def nouns_from_table(kind: str, table: pa.Table) -> Iterable[Noun]:
    """The nouns in `table`, made one at a time."""
    noun = KINDS[kind].noun
    for row in range(table.num_rows):
        record = {name: table.column(name)[row].as_py() for name in table.column_names}
        yield noun.parse(
            {name: value for name, value in record.items() if value is not None},
            where=f"{kind}, row {row + 1}",
        )


# -- content hash ------------------------------------------------------------------------------------------------------

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
            for part in _hash_parts(column.combine_chunks()):
                digest.update(part)
    return digest.hexdigest()


def _hash_parts(array: pa.Array) -> Iterator[memoryview]:
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    if pa.types.is_list(array.type):
        yield _bytes(_lengths(pc.list_value_length(array)))
        yield from _hash_parts(array.flatten())
    elif pa.types.is_dictionary(array.type):
        yield from _references(array)
    elif pa.types.is_string(array.type):
        yield _bytes(_lengths(pc.binary_length(array)))
        yield _text_bytes(array.fill_null("") if array.null_count else array)
    elif array.null_count:
        yield _bytes(array.is_valid().to_numpy(zero_copy_only=False))
        yield from _hash_parts(array.drop_null())
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
    yield from _hash_parts(array.dictionary.take(pa.array(labels)))


def _text_bytes(array: pa.StringArray) -> memoryview:
    """The text of a string array as one run of bytes (its offsets may start anywhere)."""
    buffers = array.buffers()
    if buffers[2] is None or not len(array):
        return memoryview(b"")
    offsets = np.frombuffer(buffers[1], np.int32)[array.offset : array.offset + len(array) + 1]
    return memoryview(buffers[2])[offsets[0] : offsets[-1]]


def _bytes(array: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(array).data.cast("B") if array.size else memoryview(b"")
