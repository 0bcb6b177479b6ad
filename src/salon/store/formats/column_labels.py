"""Text columns as numbered labels, in arrays and never row by row: prompts, items, raters, criteria, and duplicates."""

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
from salon.store.formats.column_mapping import BLANKS, ColumnCells
from salon.store.formats.files import CELL
from salon.store.formats.source import CROWD, Source
from salon.study import Criterion, Scale, builtin_criteria, conform, to_references

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class NumberedLabels:
    """A column as numbers into its distinct texts, in order of first appearance."""

    codes: Codes
    texts: pa.Array

    def refer(self, ids: pa.Array | None = None) -> pa.DictionaryArray:
        """The column as references, to `ids` instead of its own texts if they are given."""
        return to_references(self.codes, self.texts if ids is None else ids)


def number_labels(columns: Sequence[pa.ChunkedArray]) -> NumberedLabels:
    """Several columns of cells, one after the other, numbered together; blank is -1."""
    chunks = [chunk for column in columns for chunk in column.chunks if len(chunk)]
    if not chunks:
        return NumberedLabels(np.zeros(0, np.int64), pa.array([], pa.string()))
    encoded = pa.chunked_array(chunks, CELL).unify_dictionaries().combine_chunks()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    used = np.bincount(codes + 1, minlength=len(encoded.dictionary) + 1)[1:] > 0
    if used.all():
        return NumberedLabels(codes, encoded.dictionary)
    renumber = np.append(np.cumsum(used) - 1, -1)
    return NumberedLabels(renumber[codes], encoded.dictionary.filter(pa.array(used)))


def filled_labels(cells: ColumnCells, *parts: str) -> NumberedLabels:
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


def constant_column(text: str, length: int) -> pa.DictionaryArray:
    """The same reference in every row."""
    return to_references(np.zeros(length, np.int64), pa.array([text], pa.string()))


def number_pairs(first: Codes, second: Codes) -> tuple[Codes, Codes, Codes]:
    """Distinct (first, second) numbered from 0: the number of every row, and the two codes of every number."""
    width = int(second.max(initial=0)) + 1
    encoded = pa.array(first * width + second).dictionary_encode()  # hashing: ten million rows take a second
    distinct = encoded.dictionary.to_numpy()
    return encoded.indices.to_numpy().astype(np.int64), distinct // width, distinct % width


def unique_attribute(
    owner: Codes, value: NumberedLabels, count: int, what: str, cells: ColumnCells, part: str
) -> Codes:
    """The one value each of `count` owners has; two different ones are an error."""
    values = np.full(count, -1, np.int64)
    values[owner[::-1]] = value.codes[::-1]
    differ = values[owner] != value.codes
    if differ.any():
        row = int(np.flatnonzero(differ)[0])
        two = [
            value.texts[int(code)].as_py() if code >= 0 else "blank" for code in (values[owner[row]], value.codes[row])
        ]
        raise BadValue(
            f"{what} has one {part.replace('_', ' ')}",
            found=f"{two[0]!r} and {two[1]!r}",
            where=cells.where(row % len(cells), part),
            remedy="correct the rows, or leave that column out",
        )
    return values


# -- prompts ---------------------------------------------------------------------------------------------------


def text_id(text: str) -> str:
    """A stable id for a prompt known only by its text, the same in every file."""
    return "p" + hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def name_prompts(source: Source, cells: ColumnCells) -> tuple[NumberedLabels, pa.Table] | None:
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
        of = unique_attribute(labels.codes, texts, len(labels.texts), "a prompt", cells, "prompt_text")
        return labels, pa.table({"id": labels.texts, "text": to_references(of, texts.texts).cast(pa.string())})
    if not pc.any(pc.match_substring_regex(labels.texts, r"\s")).as_py():
        return labels, pa.table({"id": labels.texts})
    source.say("prompts are given as text: their ids are made from it (p + 16 hex digits)")
    ids = pa.array([text_id(text) for text in labels.texts.to_pylist()], pa.string())
    return NumberedLabels(labels.codes, ids), pa.table({"id": ids, "text": labels.texts})


# -- items -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NamedItems:
    """The table of items, and the item of every row for each column that names one."""

    table: pa.Table
    ids: pa.Array
    codes: tuple[Codes, ...]

    def refer(self, column: int = 0) -> pa.DictionaryArray:
        """One of the columns as references."""
        return to_references(self.codes[column], self.ids)


def name_items(source: Source, cells: ColumnCells, parts: Sequence[str], prompts: NumberedLabels | None) -> NamedItems:
    """Items from the columns `parts`, whose labels name items or generators (see `Policies.items_are`)."""
    labels = filled_labels(cells, *parts)
    items_are = source.options.policies.items_are
    table: dict[str, pa.Array]
    if prompts is None:
        codes, count = labels.codes, len(labels.texts)
        table = {"id": labels.texts}
        if items_are == "generators" or "generator" in parts:
            table["generator"] = labels.texts
    else:
        pair, prompt, label = number_pairs(np.tile(prompts.codes, len(parts)), labels.codes)
        several = len(label) > len(labels.texts)
        by_generator = items_are == "generators" or "generator" in parts or (items_are is None and several)
        if items_are is None and "generator" not in parts:
            source.say(
                "item labels are taken for generators (the same label stands under several prompts): "
                "item id = prompt/generator (--items-are)"
                if by_generator
                else "item labels are taken for items: each stands under one prompt (--items-are)"
            )
        if by_generator:
            codes, count = pair, len(label)
            names, of = labels.texts.take(pa.array(label)), prompts.texts.take(pa.array(prompt))
            table = {"id": pc.binary_join_element_wise(of, names, "/"), "prompt": of, "generator": names}
        else:
            if several:
                order = np.argsort(label, kind="stable")
                at = int(np.flatnonzero(np.diff(label[order]) == 0)[0])
                item = labels.texts[int(label[order[at]])].as_py()
                two = [prompts.texts[int(prompt[order[at + i]])].as_py() for i in (0, 1)]
                raise WrongPrompt(
                    "an item belongs to one prompt",
                    found=f"{item!r} under {two[0]!r} and {two[1]!r}",
                    remedy="if the labels name generators, say --items-are generators",
                )
            codes, count = labels.codes, len(labels.texts)
            table = {"id": labels.texts, "prompt": prompts.texts.take(pa.array(prompt[np.argsort(label)]))}
    facts: dict[str, Any] = {}
    sides = [f"{part}_generator" for part in parts]
    if "generator" not in table and all(cells.has(side) for side in sides):
        values = number_labels([cells.column(side) for side in sides])
        facts["generator"] = to_references(
            unique_attribute(codes, values, count, "an item", cells, sides[0]), values.texts
        )
    for part in ("generator", "category"):
        if part in table or part in facts or not cells.has(part):
            continue
        values = number_labels([cells.column(part)] * len(parts))
        facts[part] = to_references(unique_attribute(codes, values, count, "an item", cells, part), values.texts)
    table |= facts
    return NamedItems(pa.table(table), table["id"], tuple(np.split(codes, len(parts))))


# -- raters and facts ------------------------------------------------------------------------------------------


def name_raters(source: Source, cells: ColumnCells) -> tuple[pa.DictionaryArray, pa.Table]:
    """The rater of every row and the table of raters; without a column, one crowd."""
    if cells.has("rater"):
        labels = filled_labels(cells, "rater")
        return labels.refer(), pa.table({"id": labels.texts})
    source.say_crowd()
    return constant_column(CROWD, len(cells)), pa.table({"id": [CROWD], "kind": ["crowd"]})


def read_numbers(cells: ColumnCells, part: str) -> pa.Array:
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


def _not_a_number(cells: ColumnCells, part: str, labels: NumberedLabels, good: Sequence[bool]) -> BadValue:
    bad = ~np.append(np.asarray(good, bool), True)[labels.codes]
    row = int(np.flatnonzero(bad)[0])
    return BadValue(
        f"{part} must be a finite number",
        found=f"{labels.texts[int(labels.codes[row])].as_py()!r} ({int(bad.sum()):,} such)",
        where=cells.where(row, part),
        remedy="write decimals with a point; leave cells without a value blank",
    )


def judgment_facts(cells: ColumnCells) -> dict[str, Any]:
    """The optional columns that all judgments share."""
    facts: dict[str, Any] = {part: read_numbers(cells, part) for part in ("seconds", "confidence") if cells.has(part)}
    facts |= {part: cells.text(part) for part in ("at", "rationale") if cells.has(part)}
    if cells.has("repeat"):
        repeat = read_numbers(cells, "repeat")
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


# -- criteria ----------------------------------------------------------------------------------------------------------


def name_criteria(source: Source, cells: ColumnCells) -> tuple[pa.DictionaryArray, tuple[Criterion, ...]]:
    """The criterion of every row, and all of them."""
    if not cells.has("criterion"):
        id = source.options.policies.criterion_id
        source.say(f"all answers are about the criterion {id!r} (--criterion names a column, --criterion-id the one)")
        return constant_column(id, len(cells)), (make_criterion(source, id),)
    labels = filled_labels(cells, "criterion")
    return labels.refer(), tuple(make_criterion(source, id) for id in labels.texts.to_pylist())


def make_criterion(source: Source, id: str) -> Criterion:
    """The built-in criterion of that id, else a bare one; with the scale the user gave."""
    criterion = builtin_criteria().get(id) or Criterion.parse({"id": id}, where="criterion")
    scale = source.options.policies.scale
    return criterion if scale is None else criterion.model_copy(update={"scale": parse_scale(scale)})


KNOWN_ENDS: dict[float, dict[float, tuple[float, ...]]] = {
    1.0: {5: (0, 1), 7: (0, 1), 9: (0, 1), 10: (0, 1), 100: (0,)},
    0.5: {5: (0, 0.5, 1), 10: (0, 0.5, 1)},
}
"""By step and upper end: the lower ends of scales that people use."""


def guess_scales(
    source: Source, criteria: Sequence[Criterion], of_row: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[Criterion, ...]:
    """The criteria, each without a scale given the one that its values show; said, as it is a guess."""
    guessed: dict[str, list[str]] = {}
    scaled = list(criteria)
    whole = guess_scale(values)
    for number, criterion in enumerate(criteria):
        own = values[of_row == number]
        own = own[np.isfinite(own)]
        if criterion.scale is not None or not len(own):
            continue
        scale = guess_scale(own)
        if scale is None and whole is not None and (bool(np.isin(own, whole.levels).all())):
            scale = whole  # one file, one form: nobody used its ends here
        if scale is None:
            source.say(f"no scale is stated; values run from {own.min():g} to {own.max():g} (--scale LOW:HIGH:STEP)")
            continue
        scaled[number] = criterion.model_copy(update={"scale": scale})
        guessed.setdefault(f"{scale.low:g}:{scale.high:g}:{scale.step:g}", []).append(criterion.id)
    for text, ids in guessed.items():
        which = "" if len(guessed) == 1 else f" for {', '.join(ids[:5])}{' ...' if len(ids) > 5 else ''}"
        source.say(f"the scale{which} is taken as {text} from the values (--scale LOW:HIGH:STEP says otherwise)")
    return tuple(scaled)


def guess_scale(values: NDArray[np.float64]) -> Scale | None:
    """The scale in use that these values show: whole numbers or halves that reach its upper end; None where none is.

    The lower end is the highest one that no value is below. One value alone, or an upper end that no form has, such as
    4 or 6, says nothing.
    """
    distinct = np.unique(values[np.isfinite(values)])
    if len(distinct) < 2:
        return None
    step = 1.0 if (distinct == np.round(distinct)).all() else 0.5
    if (distinct * 2 != np.round(distinct * 2)).any():
        return None
    low = [end for end in KNOWN_ENDS[step].get(distinct[-1], ()) if end <= distinct[0]]
    return Scale(low=max(low), high=float(distinct[-1]), step=step) if low else None


def parse_scale(text: str) -> Scale:
    """'1:5:1' as a scale."""
    try:
        low, high, *step = (float(part) for part in text.split(":"))
        if len(step) > 1:
            raise ValueError("too many parts")
    except ValueError:
        raise BadValue(
            "--scale takes LOW:HIGH or LOW:HIGH:STEP", found=repr(text), remedy="e.g. --scale 1:5:1"
        ) from None
    return Scale.parse({"low": low, "high": high, "step": step[0] if step else None}, where="--scale")


# -- duplicates --------------------------------------------------------------------------------------------------------


def settle_duplicates(source: Source, tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables after the policy `--duplicates`; 'error' leaves them to the study's own validation."""
    if source.options.policies.duplicates == "error":
        return tables
    crowds: list[str] = []  # a crowd is many people: its answers are never duplicates
    if "raters" in tables and "kind" in tables["raters"].column_names:
        raters = tables["raters"]
        kinds = raters.column("kind").cast(pa.string()).to_pylist()
        crowds = [id for id, kind in zip(raters.column("id").to_pylist(), kinds) if kind == "crowd"]
    return {
        kind: _settle_table(source, kind, table, crowds) if kind in ("comparisons", "rankings", "ratings") else table
        for kind, table in tables.items()
    }


def _settle_table(source: Source, kind: str, table: pa.Table, crowds: list[str]) -> pa.Table:
    table = conform(kind, table)
    policy = source.options.policies.duplicates
    occurrence, total = _occurrences(_question(kind, table))
    if crowds:
        crowd = pc.is_in(table.column("rater").cast(pa.string()), value_set=pa.array(crowds)).to_numpy()
        occurrence, total = np.where(crowd, 0, occurrence), np.where(crowd, 1, total)
    again = int((occurrence > 0).sum())
    if not again:
        return table
    if policy == "repeat":
        source.say(f"{again:,} {kind} answer a question again: numbered as repeats 1, 2, ...")
        if occurrence.max() > 32_000:
            raise BadValue("a question may be repeated at most 32,000 times", found=f"{occurrence.max():,}")
        if "repeat" in table.column_names:
            table = table.drop_columns("repeat")
        return table.append_column("repeat", pa.array(occurrence.astype(np.int16)))
    mask = occurrence == (0 if policy == "first" else total - 1)
    source.leave_out(f"{kind} that answer a question again (the {policy} was kept)", int((~mask).sum()))
    return table.filter(pa.array(mask))


def _question(kind: str, table: pa.Table) -> Codes:
    """A number for every row, equal where criterion, rater, items (and the file's own repeat) are."""
    parts = [_codes(table, "criterion"), _codes(table, "rater")]
    if "repeat" in table.column_names:
        parts.append(table.column("repeat").fill_null(0).to_numpy().astype(np.int64))
    if kind == "ratings":
        parts.append(_codes(table, "item"))
    elif kind == "comparisons":
        a, b = np.split(number_labels([table.column("a"), table.column("b")]).codes, 2)
        parts += [np.minimum(a, b), np.maximum(a, b)]
    else:
        sets: dict[tuple[str, ...], int] = {}
        lists = table.column("items").to_pylist()
        parts.append(np.array([sets.setdefault(tuple(sorted(items)), len(sets)) for items in lists], np.int64))
    key, room = parts[0], int(parts[0].max(initial=0)) + 1
    for part in parts[1:]:
        size = int(part.max(initial=0)) + 1
        if room * size < 2**62:
            key, room = key * size + part, room * size
        else:  # too many for one number: number the combinations that occur, and go on from there
            key = number_pairs(number_pairs(key, np.zeros_like(key))[0], part)[0]
            room = int(key.max(initial=0)) + 1
    return key


def _codes(table: pa.Table, name: str) -> Codes:
    return number_labels([table.column(name)]).codes


def _occurrences(key: Codes) -> tuple[Codes, Codes]:
    """For every row: how many rows before it have the same key, and how many have it in all."""
    occurrence, total = np.zeros(len(key), np.int64), np.ones(len(key), np.int64)
    ordered = np.sort(key)
    twice = np.unique(ordered[1:][ordered[1:] == ordered[:-1]])
    if not len(twice):
        return occurrence, total
    place = np.minimum(np.searchsorted(twice, key), len(twice) - 1)
    rows = np.flatnonzero(twice[place] == key)  # duplicates are few: only their rows are sorted with their places
    group = place[rows]
    order = np.argsort(group, kind="stable")
    counts = np.bincount(group)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    occurrence[rows[order]] = np.arange(len(rows)) - starts[group[order]]
    total[rows] = counts[group]
    return occurrence, total
