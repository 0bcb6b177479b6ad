"""The criteria of an import: from a column, or one for the whole file."""

from __future__ import annotations

import pyarrow as pa

from salon.errors import BadValue
from salon.store.formats.columnar import constant, filled_labels
from salon.store.formats.mapping import Cells
from salon.store.formats.source import Source
from salon.study import Criterion, Scale, builtin_criteria


def name_criteria(source: Source, cells: Cells) -> tuple[pa.DictionaryArray, tuple[Criterion, ...]]:
    """The criterion of every row, and all of them."""
    if not cells.has("criterion"):
        id = source.options.policies.criterion_id
        source.say(f"all answers are about the criterion {id!r} (--criterion names a column, --criterion-id the one)")
        return constant(id, len(cells)), (make_criterion(source, id),)
    labels = filled_labels(cells, "criterion")
    return labels.refer(), tuple(make_criterion(source, id) for id in labels.texts.to_pylist())


def make_criterion(source: Source, id: str) -> Criterion:
    """The built-in criterion of that id, else a bare one; with the scale the user gave."""
    criterion = builtin_criteria().get(id) or Criterion.parse({"id": id}, where="criterion")
    scale = source.options.policies.scale
    return criterion if scale is None else criterion.model_copy(update={"scale": parse_scale(scale)})


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
