"""Pick-a-Pic: a caption, two images, and label_0 / label_1 (1 and 0, or a half each for a tie)."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from salon.errors import BadColumns, BadFile, BadValue
from salon.store.formats.columnar import constant, name_items, name_prompts, name_raters, numbers, refer
from salon.store.formats.head import Head
from salon.store.formats.mapping import Cells, load_cells, open_sheets
from salon.store.formats.sheet import Sheet
from salon.store.formats.source import Draft, Source
from salon.study import Design, builtin_criterion

CRITERION = builtin_criterion("hps/overall")
OPTIONAL = {"rater": "user_id", "left_generator": "model_0", "right_generator": "model_1", "at": "created_at"}
_OUTCOMES = pa.array(["a", "b", "tie"])


def is_pickapic(head: Head) -> bool:
    """By its columns."""
    return head.has("caption", "label_0", "label_1") and (
        head.has("image_0_uid", "image_1_uid") or head.has("jpg_0", "jpg_1")
    )


def read_pickapic(source: Source) -> Draft:
    """Rows with a label, as comparisons of image_0 with image_1."""
    sheets = [_with_ids(sheet) for sheet in open_sheets(source)]
    cells = load_cells(source, sheets, _columns(sheets))
    cells = _labelled(source, cells)
    prompts = name_prompts(source, cells)
    items = name_items(source, cells, ("left", "right"), prompts[0] if prompts else None)
    rater, raters = name_raters(source, cells)
    source.say("which image stood on the left is not recorded; image bytes are left out")
    comparisons = {
        "criterion": constant(CRITERION.id, len(cells)),
        "rater": rater,
        "a": items.refer(0),
        "b": items.refer(1),
        "outcome": refer(_outcomes(cells), _OUTCOMES),
        **({"at": cells.column("at")} if cells.has("at") else {}),
    }
    tables = {"items": items.table, "raters": raters, "comparisons": pa.table(comparisons)}
    return Draft((CRITERION,), tables | {"prompts": prompts[1]}, "prompt", Design())


def _columns(sheets: list[Sheet]) -> dict[str, str]:
    names = {
        "prompt": "caption",
        "left": "image_0_uid",
        "right": "image_1_uid",
        "first": "label_0",
        "second": "label_1",
    }
    for name in names.values():
        for sheet in sheets:
            if name not in sheet.names:
                raise BadColumns.missing(name, sheet.names, where=str(sheet.path))
    has = {part: name for part, name in OPTIONAL.items() if all(name in sheet.names for sheet in sheets)}
    labelled = {"labelled": "has_label"} if all("has_label" in sheet.names for sheet in sheets) else {}
    return names | has | labelled


def _labelled(source: Source, cells: Cells) -> Cells:
    """Rows whose has_label is not false."""
    if not cells.has("labelled"):
        return cells
    unlabelled = pc.is_in(pc.utf8_lower(cells.text("labelled")), value_set=pa.array(["false", "0", "0.0"])).to_numpy()
    if unlabelled.all():
        raise BadFile("rows with a label are needed", found="has_label is false everywhere", where=cells.where(0))
    source.leave_out("rows without a label (has_label is false)", int(unlabelled.sum()))
    return cells.keep(~unlabelled) if unlabelled.any() else cells


def _outcomes(cells: Cells) -> np.ndarray:
    first, second = (numbers(cells, part).fill_null(-1).to_numpy() for part in ("first", "second"))
    outcome = np.full(len(cells), -1, np.int64)
    for number, labels in enumerate(((1, 0), (0, 1), (0.5, 0.5))):
        outcome[(first == labels[0]) & (second == labels[1])] = number
    bad = np.flatnonzero(outcome < 0)
    if len(bad):
        row = int(bad[0])
        raise BadValue(
            "label_0 and label_1 must be 1 and 0, 0 and 1, or a half each",
            found=f"{cells.column('first')[row].as_py()} and {cells.column('second')[row].as_py()}",
            where=cells.where(row),
        )
    return outcome


# -- files with image bytes and no ids ---------------------------------------------------------------------------


def _with_ids(sheet: Sheet) -> Sheet:
    """A sheet without image ids gets them from the image bytes."""
    if "image_0_uid" in sheet.names or "jpg_0" not in sheet.names or "jpg_1" not in sheet.names:
        return sheet
    made = {"image_0_uid": "jpg_0", "image_1_uid": "jpg_1"}

    def load(columns: list[str]) -> pa.Table:
        table = sheet.read([name for name in columns if name not in made])
        hashes = {name: _hashes(sheet.path, made[name]) for name in columns if name in made}
        return pa.table({name: hashes[name] if name in made else table.column(name) for name in columns})

    return Sheet(sheet.path, [*sheet.names, *made], load)


def _hashes(path: Path, column: str) -> pa.Array:
    try:
        images = pq.read_table(path, columns=[column]).column(column)
        return pa.array([hashlib.sha256(image.as_buffer()).hexdigest()[:32] for image in images]).dictionary_encode()
    except (pa.ArrowException, OSError, AttributeError, TypeError) as error:
        raise BadFile(f"column {column!r} must hold image bytes", found=str(error), where=str(path)) from None
