"""The criteria of an import: from a column, or one for the whole file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

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
        if scale is None and whole is not None and _fits(own, whole):
            scale = whole  # one file, one form: here nobody took its ends
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
    shown = np.unique(values[np.isfinite(values)])
    if len(shown) < 2:
        return None
    step = 1.0 if (shown == np.round(shown)).all() else 0.5
    if (shown * 2 != np.round(shown * 2)).any():
        return None
    low = [end for end in KNOWN_ENDS[step].get(shown[-1], ()) if end <= shown[0]]
    return Scale(low=max(low), high=float(shown[-1]), step=step) if low else None


def _fits(values: NDArray[np.float64], scale: Scale) -> bool:
    return bool(np.isin(values, scale.levels).all())


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
