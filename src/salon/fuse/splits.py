"""Train, validation and test: split by prompt, never by pair, so that nothing seen in training is met again.

A unit is what pairs are made within (a prompt; a category where a study compares within categories). Units that share
an image, a prompt or the text of a prompt (compared after NFKC, case folding and collapsing of white space) are united
first. Each united unit then falls by a hash of the seed and the id of its first unit: the same seed gives the same
split on every machine, and prompts added later do not move those already there (unless they unite two).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import BadColumns, DesignError
from salon.study import PARTS, Study, normalize_text

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]

_WITHIN = {"prompt": "prompts", "category": "categories", "all": "the whole study"}
_GUARDED = {
    "prompt": ("prompt",),
    "item": ("item", "item_a", "item_b"),
    "image": ("image", "image_a", "image_b"),
}


@dataclass(frozen=True)
class Split:
    """Where every item of a study falls."""

    of_item: NDArray[np.int8]
    """(items,) place in SPLITS."""
    units: int
    """Prompts (or categories, or items without either) there are."""
    parts: int
    """Units left after uniting those that share an image or a prompt: what can be split."""


def split_items(study: Study, unit: Ints, ids: pa.Array, shares: tuple[float, float, float], *, seed: int) -> Split:
    """The split of every item; `unit` (items,) is what must stay together, numbers into `ids`, -1 for an item that
    stands on its own."""
    own = unit < 0
    nodes = np.where(own, len(ids) + np.cumsum(own) - 1, unit)
    texts = prompt_texts(study).to_pylist()
    numbers: dict[object, int] = {}
    same = [numbers.setdefault(normalize_text(text or "") or n, len(numbers)) for n, text in enumerate(texts)]
    shared = [np.array([*same, -1], np.int32)[item_prompts(study)]]
    items = study.table("items")
    if "image" in items.column_names:
        images = items.column("image").combine_chunks()
        codes = pc.if_else(pc.equal(images, ""), None, images).dictionary_encode().indices.fill_null(-1)
        shared.append(codes.to_numpy(zero_copy_only=False).astype(np.int32))
    shared_numbers = shared
    part = _unite_units(nodes, shared_numbers)
    parts, first = np.unique(part, return_index=True)
    splits = sum(share > 0 for share in shares)
    if len(parts) < splits:
        raise DesignError(
            f"a split into {splits} needs at least {splits} groups of items that share no image and no prompt",
            found=f"{len(parts)}",
            where=f"study {study.name!r}, items compared within {_WITHIN[study.compare_within]}",
            remedy="do not split (--train 1 --validation 0 --test 0), and test on another study",
        )
    names = np.where(own[first], _texts(study.ids("items"), first), _texts(ids, unit[first]))
    fallen = np.searchsorted(np.cumsum(shares)[:-1], [_uniform(seed, name) for name in names], side="right")
    of_part = np.zeros(int(part.max(initial=-1)) + 1, np.int8)
    of_part[parts] = fallen
    return Split(of_item=of_part[part], units=len(np.unique(nodes)), parts=len(parts))


def check_splits(table: pa.Table) -> None:
    """Raise DesignError if a prompt or its text, a group of pairs, an item or an image of a table of labels is in two
    splits. Values are compared as they stand in the table, texts normalised."""
    if "split" not in table.column_names:
        raise BadColumns.missing("split", table.column_names, where="labels")
    guarded = _GUARDED | ({"group": ("group",)} if "item_a" in table.column_names else {})  # pairs stay in their group
    for what, names in guarded.items():
        _check_apart(what, [table.column(name) for name in names if name in table.column_names], table)
    if "text" in table.column_names:
        column = table.column("text")
        whole = column.combine_chunks()
        texts = whole if pa.types.is_dictionary(whole.type) else whole.dictionary_encode()
        plain = pa.array([normalize_text(text) or None for text in texts.dictionary.to_pylist()], pa.string())
        _check_apart("prompt text", [pa.chunked_array([plain.take(texts.indices)])], table)


def prompt_texts(study: Study) -> pa.Array:
    """The full text of every prompt, as `Prompt.view()` gives it; null where there is none."""
    table = study.table("prompts")
    nothing = [None] * table.num_rows
    columns = [table.column(name).to_pylist() if name in table.column_names else nothing for name in ("text", *PARTS)]
    whole = (text if text is not None else "\n\n".join(filter(None, parts)) for text, *parts in zip(*columns))
    return pa.array([text or None for text in whole], pa.string())


def item_prompts(study: Study) -> Ints:
    """The number of every item's prompt; -1 where it has none."""
    items = study.table("items")
    if "prompt" not in items.column_names:
        return np.full(items.num_rows, -1, np.int32)
    return study.codes("prompts", items.column("prompt"))


# -- uniting ---------------------------------------------------------------------------------------------------------


def _unite_units(unit: Ints, shared: list[Ints]) -> Ints:
    """(items,) the connected part of each item's unit, where units and shared things are the nodes of a graph."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    nodes = int(unit.max(initial=-1)) + 1
    edges = []
    for codes in shared:
        has = codes >= 0
        edges.append(np.stack([unit[has], codes[has] + nodes]))
        nodes += int(codes.max(initial=-1)) + 1
    rows, columns = np.concatenate(edges, axis=1)
    graph = coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(nodes, nodes))
    _, part = connected_components(graph, directed=False)
    values: Ints = part[unit]
    return values


def _texts(ids: pa.Array, numbers: Ints | Longs) -> NDArray[np.object_]:
    """The ids behind numbers; None for -1."""
    return np.array([*ids.to_pylist(), None], object)[numbers]


def _uniform(seed: int, name: str) -> float:
    """A number in [0, 1) that depends on the seed and the name alone."""
    digest = hashlib.sha256(f"{seed}\0{name}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


# -- checking --------------------------------------------------------------------------------------------------------


def _check_apart(what: str, columns: list[pa.ChunkedArray], table: pa.Table) -> None:
    if not columns:
        return
    values, splits = _stack_columns(columns), _stack_columns([table.column("split")] * len(columns))
    filled = pc.not_equal(values, "")  # null where there is no value, and then not counted either
    met = pa.table({"value": values, "split": splits}).filter(filled).group_by(["value", "split"])
    each = met.aggregate([]).group_by("value").aggregate([("split", "count")])
    leaks = each.filter(pc.greater(each.column("split_count"), 1))
    if leaks.num_rows:
        value = leaks.column("value")[0].as_py()
        where = pc.unique(splits.filter(pc.equal(values, value).fill_null(False))).to_pylist()
        raise DesignError(
            f"no {what} may stand in two splits",
            found=f"{what} {value!r} in {' and '.join(sorted(where))} ({leaks.num_rows} such)",
            where="labels",
            remedy="split by prompt, as salon labels does, and unite prompts that share an image or a text",
        )


def _stack_columns(columns: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Columns of text or references one below the other, as text."""
    return pa.chunked_array([chunk.cast(pa.string()) for column in columns for chunk in column.chunks], pa.string())
