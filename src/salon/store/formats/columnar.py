"""Text columns as numbered labels: what the generic readers share, in arrays and never row by row."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import BadValue, WrongPrompt
from salon.store.formats.mapping import Cells
from salon.store.formats.sheet import CELL
from salon.store.formats.source import CROWD, Source
from salon.store.formats.words import BLANKS

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Labels:
    """A column as numbers into its distinct texts, in order of first appearance."""

    codes: Codes
    texts: pa.Array

    def refer(self, ids: pa.Array | None = None) -> pa.DictionaryArray:
        """The column as references, to `ids` instead of its own texts if they are given."""
        return refer(self.codes, self.texts if ids is None else ids)


def refer(codes: NDArray[Any], ids: pa.Array) -> pa.DictionaryArray:
    """Numbers into `ids` as an Arrow column of references; -1 is null."""
    mask = codes < 0
    indices = pa.array(codes.astype(np.int32), mask=mask if mask.any() else None)
    return pa.DictionaryArray.from_arrays(indices, ids)


def number_labels(columns: Sequence[pa.ChunkedArray]) -> Labels:
    """Several columns of cells, one after the other, numbered together; blank is -1."""
    chunks = [chunk for column in columns for chunk in column.chunks if len(chunk)]
    if not chunks:
        return Labels(np.zeros(0, np.int64), pa.array([], pa.string()))
    encoded = pa.chunked_array(chunks, CELL).unify_dictionaries().combine_chunks()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return _without_unused(codes, encoded.dictionary)


def _without_unused(codes: Codes, texts: pa.Array) -> Labels:
    """Labels that no row has any more, because rows were left out, are left out too."""
    used = np.bincount(codes + 1, minlength=len(texts) + 1)[1:] > 0
    if used.all():
        return Labels(codes, texts)
    renumber = np.append(np.cumsum(used) - 1, -1)
    return Labels(renumber[codes], texts.filter(pa.array(used)))


def filled_labels(cells: Cells, *parts: str) -> Labels:
    """The labels of parts that every row must fill in."""
    labels = number_labels([cells.column(part) for part in parts])
    blank = pc.equal(pc.utf8_trim_whitespace(labels.texts), "").to_numpy(zero_copy_only=False)
    empty = np.append(blank, True)[labels.codes]
    if empty.any():
        row = int(np.flatnonzero(empty)[0])
        part = parts[row // len(cells)]
        raise BadValue(
            f"every row needs a {part.replace('_', ' ')}",
            found=f"{int(empty.sum()):,} blank",
            where=cells.where(row % len(cells), part),
            remedy="fill the cell in, or remove the row",
        )
    return labels


def constant(text: str, length: int) -> pa.DictionaryArray:
    """The same reference in every row."""
    return refer(np.zeros(length, np.int64), pa.array([text], pa.string()))


def number_pairs(first: Codes, second: Codes) -> tuple[Codes, Codes, Codes]:
    """Distinct (first, second) numbered from 0: the number of every row, and the two codes of every number."""
    width = int(second.max(initial=0)) + 1
    encoded = pa.array(first * width + second).dictionary_encode()  # hashing: ten million rows take a second
    distinct = encoded.dictionary.to_numpy()
    return encoded.indices.to_numpy().astype(np.int64), distinct // width, distinct % width


def attribute(owner: Codes, value: Labels, count: int, what: str, cells: Cells, part: str) -> Codes:
    """The one value each of `count` owners has; two different ones are an error."""
    found = np.full(count, -1, np.int64)
    found[owner[::-1]] = value.codes[::-1]
    differ = found[owner] != value.codes
    if differ.any():
        row = int(np.flatnonzero(differ)[0])
        two = [
            value.texts[int(code)].as_py() if code >= 0 else "blank" for code in (found[owner[row]], value.codes[row])
        ]
        raise BadValue(
            f"{what} has one {part.replace('_', ' ')}",
            found=f"{two[0]!r} and {two[1]!r}",
            where=cells.where(row % len(cells), part),
            remedy="correct the rows, or leave that column out",
        )
    return found


# -- prompts ---------------------------------------------------------------------------------------------------


def text_id(text: str) -> str:
    """A stable id for a prompt known only by its text, the same in every file."""
    return "p" + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def name_prompts(source: Source, cells: Cells) -> tuple[Labels, pa.Table] | None:
    """The prompt of every row and the table of prompts; None when no column has them.

    Cells with blanks in them are text: such prompts get ids made from their text. Others are ids already. A column of
    texts alone is the prompt.
    """
    part = "prompt" if cells.has("prompt") else "prompt_text"
    if not cells.has(part):
        return None
    labels = filled_labels(cells, part)
    if part == "prompt" and cells.has("prompt_text"):
        texts = number_labels([cells.column("prompt_text")])
        of = attribute(labels.codes, texts, len(labels.texts), "a prompt", cells, "prompt_text")
        return labels, pa.table({"id": labels.texts, "text": refer(of, texts.texts).cast(pa.string())})
    if not pc.any(pc.match_substring_regex(labels.texts, r"\s")).as_py():
        return labels, pa.table({"id": labels.texts})
    source.say("prompts are given as text: their ids are made from it (p + 16 hex digits)")
    ids = pa.array([text_id(text) for text in labels.texts.to_pylist()], pa.string())
    return Labels(labels.codes, ids), pa.table({"id": ids, "text": labels.texts})


# -- items -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NamedItems:
    """The table of items, and the item of every row for each column that names one."""

    table: pa.Table
    ids: pa.Array
    codes: tuple[Codes, ...]

    def refer(self, column: int = 0) -> pa.DictionaryArray:
        """One of the columns as references."""
        return refer(self.codes[column], self.ids)


def name_items(source: Source, cells: Cells, parts: Sequence[str], prompts: Labels | None) -> NamedItems:
    """Items from the columns `parts`, whose labels name items or generators (see `Policies.items_are`)."""
    labels = filled_labels(cells, *parts)
    wanted = source.options.policies.items_are
    table: dict[str, pa.Array]
    if prompts is None:
        codes, count = labels.codes, len(labels.texts)
        table = {"id": labels.texts}
        if wanted == "generators" or "generator" in parts:
            table["generator"] = labels.texts
    else:
        pair, prompt, label = number_pairs(np.tile(prompts.codes, len(parts)), labels.codes)
        several = len(label) > len(labels.texts)
        by_generator = wanted == "generators" or "generator" in parts or (wanted is None and several)
        if wanted is None and "generator" not in parts:
            source.say(_say_items(by_generator))
        if by_generator:
            codes, count = pair, len(label)
            names, of = labels.texts.take(pa.array(label)), prompts.texts.take(pa.array(prompt))
            table = {"id": pc.binary_join_element_wise(of, names, "/"), "prompt": of, "generator": names}
        else:
            if several:
                raise _under_two_prompts(labels, prompts, label, prompt)
            codes, count = labels.codes, len(labels.texts)
            table = {"id": labels.texts, "prompt": prompts.texts.take(pa.array(prompt[np.argsort(label)]))}
    table |= _facts(cells, parts, codes, count, table)
    return NamedItems(pa.table(table), table["id"], tuple(np.split(codes, len(parts))))


def _facts(cells: Cells, parts: Sequence[str], codes: Codes, count: int, table: dict[str, Any]) -> dict[str, Any]:
    """Generator and category of every item, where columns give them."""
    facts: dict[str, Any] = {}
    sides = [f"{part}_generator" for part in parts]
    if "generator" not in table and all(cells.has(side) for side in sides):
        values = number_labels([cells.column(side) for side in sides])
        facts["generator"] = refer(attribute(codes, values, count, "an item", cells, sides[0]), values.texts)
    for part in ("generator", "category"):
        if part in table or part in facts or not cells.has(part):
            continue
        values = number_labels([cells.column(part)] * len(parts))
        facts[part] = refer(attribute(codes, values, count, "an item", cells, part), values.texts)
    return facts


def _say_items(by_generator: bool) -> str:
    if by_generator:
        why = "the same label stands under several prompts"
        return f"item labels are taken for generators ({why}): item id = prompt/generator (--items-are)"
    return "item labels are taken for items: each stands under one prompt (--items-are)"


def _under_two_prompts(labels: Labels, prompts: Labels, label: Codes, prompt: Codes) -> WrongPrompt:
    order = np.argsort(label, kind="stable")
    at = int(np.flatnonzero(np.diff(label[order]) == 0)[0])
    item = labels.texts[int(label[order[at]])].as_py()
    two = [prompts.texts[int(prompt[order[at + i]])].as_py() for i in (0, 1)]
    return WrongPrompt(
        "an item belongs to one prompt",
        found=f"{item!r} under {two[0]!r} and {two[1]!r}",
        remedy="if the labels name generators, say --items-are generators",
    )


# -- raters and facts ------------------------------------------------------------------------------------------


def name_raters(source: Source, cells: Cells) -> tuple[pa.DictionaryArray, pa.Table]:
    """The rater of every row and the table of raters; without a column, one crowd."""
    if cells.has("rater"):
        labels = filled_labels(cells, "rater")
        return labels.refer(), pa.table({"id": labels.texts})
    source.say_crowd()
    return constant(CROWD, len(cells)), pa.table({"id": [CROWD], "kind": ["crowd"]})


def numbers(cells: Cells, part: str) -> pa.Array:
    """A column of finite numbers; blank cells, and NA and its like, are null. Each distinct text is read once."""
    labels = number_labels([cells.column(part)])
    texts = pc.utf8_trim_whitespace(labels.texts)
    blank = pc.is_in(pc.utf8_lower(texts), pa.array(["", "none", *sorted(BLANKS)]))
    texts = pc.if_else(blank, pa.scalar(None, pa.string()), texts)
    try:
        values = texts.cast(pa.float64())
    except pa.ArrowInvalid:
        raise _not_a_number(cells, part, labels, [_is_number(text) for text in texts]) from None
    finite = pc.fill_null(pc.is_finite(values), True).to_numpy(zero_copy_only=False)
    if not finite.all():
        raise _not_a_number(cells, part, labels, finite)
    return values.take(pa.array(labels.codes, mask=labels.codes < 0))


def _is_number(text: pa.Scalar) -> bool:
    try:
        text.cast(pa.float64())
    except pa.ArrowInvalid:
        return False
    return True


def _not_a_number(cells: Cells, part: str, labels: Labels, good: Sequence[bool]) -> BadValue:
    bad = ~np.append(np.asarray(good, bool), True)[labels.codes]
    row = int(np.flatnonzero(bad)[0])
    return BadValue(
        f"{part} must be a finite number",
        found=f"{labels.texts[int(labels.codes[row])].as_py()!r} ({int(bad.sum()):,} such)",
        where=cells.where(row, part),
        remedy="write decimals with a point; leave cells without a value blank",
    )


def judgment_facts(cells: Cells) -> dict[str, Any]:
    """The optional columns that all judgments share."""
    facts: dict[str, Any] = {part: numbers(cells, part) for part in ("seconds", "confidence") if cells.has(part)}
    facts |= {part: cells.text(part) for part in ("at", "rationale") if cells.has(part)}
    if cells.has("repeat"):
        repeat = numbers(cells, "repeat")
        bad = pc.or_(pc.not_equal(repeat, pc.floor(repeat)), pc.or_(pc.less(repeat, 0), pc.greater(repeat, 32_000)))
        if pc.any(bad).as_py():
            row = int(np.flatnonzero(bad.fill_null(False).to_numpy(zero_copy_only=False))[0])
            raise BadValue(
                "repeat must be a whole number from 0 to 32,000",
                found=str(repeat[row].as_py()),
                where=cells.where(row, "repeat"),
            )
        facts["repeat"] = repeat.cast(pa.int16())
    return facts


FACTS = ("repeat", "seconds", "at", "confidence", "rationale")
