"""Pick-a-Pic: a caption, two images, and label_0 / label_1 (1 and 0, or a half each for a tie)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

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
from salon.store.formats.text import read_bytes
from salon.study import Design, builtin_criterion

CRITERION = builtin_criterion("hps/overall")
OPTIONAL = {"rater": "user_id", "left_generator": "model_0", "right_generator": "model_1", "at": "created_at"}


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
    if prompts is None:  # pragma: no cover - the caption is always there
        raise BadColumns.missing("caption", cells.names, where=str(source.paths[0]))
    items = name_items(source, cells, ("left", "right"), prompts[0])
    rater, raters = name_raters(source, cells)
    source.say("which image stood on the left is not recorded")
    table = _with_images(source, items.table)
    comparisons = {
        "criterion": constant(CRITERION.id, len(cells)),
        "rater": rater,
        "a": items.refer(0),
        "b": items.refer(1),
        "outcome": refer(_outcomes(cells), pa.array(["a", "b", "tie"])),
        **({"at": cells.column("at")} if cells.has("at") else {}),
    }
    tables = {"items": table, "raters": raters, "comparisons": pa.table(comparisons)}
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

    def load(columns: Sequence[str]) -> pa.Table:
        table = sheet.read([name for name in columns if name not in made])
        hashes = {name: _hashes(sheet.path, made[name]) for name in columns if name in made}
        return pa.table({name: hashes[name] if name in made else table.column(name) for name in columns})

    return Sheet(sheet.path, [*sheet.names, *made], load)


def _hashes(path: Path, column: str) -> pa.Array:
    ids = [image_id(image) for (image,) in _rows(path, [column])]
    return pa.array(ids, pa.string()).dictionary_encode()


def image_id(image: bytes) -> str:
    """An id made from an image's bytes."""
    return hashlib.sha256(image).hexdigest()[:32]


def image_name(image: bytes) -> str:
    """A file name made from an image's bytes."""
    return image_id(image) + next((ending for start, ending in _ENDINGS if image.startswith(start)), ".bin")


def _rows(path: Path, columns: list[str]) -> Iterator[list[Any]]:
    """The rows of some columns, a batch at a time: images do not all fit into memory."""
    try:
        for batch in pq.ParquetFile(path).iter_batches(256, columns=columns):
            for row in batch.to_pylist():
                yield [_bytes_of(row[name]) if name.startswith("jpg_") else str(row[name]) for name in columns]
    except (pa.ArrowException, OSError, TypeError, KeyError) as error:
        raise BadFile("columns with image bytes are needed", found=str(error), where=str(path)) from None


def _bytes_of(cell: Any) -> bytes:
    """Image bytes, plain or in the {"bytes", "path"} that the datasets library writes."""
    image = cell["bytes"] if isinstance(cell, dict) else cell
    if not isinstance(image, bytes):
        raise TypeError(f"{type(image).__name__} in place of image bytes")
    return image


# -- images ------------------------------------------------------------------------------------------------------

_ENDINGS = ((b"\xff\xd8", ".jpg"), (b"\x89PNG", ".png"), (b"RIFF", ".webp"))


def _with_images(source: Source, items: pa.Table) -> pa.Table:
    """The items with their images written out, when that was asked for."""
    if source.options.images is None:
        source.say("image bytes, if the file has any, are left out (--images keeps them)")
        return items
    folder = source.options.images / "images"
    folder.mkdir(parents=True, exist_ok=True)
    wanted, written = set(items.column("id").to_pylist()), dict[str, str]()
    for path in source.paths:
        names = pq.read_schema(path).names if read_bytes(path, 4) == b"PAR1" else []
        for side in (name for name in ("jpg_0", "jpg_1") if name in names):
            uid = side.replace("jpg", "image") + "_uid"
            for image, *given in _rows(path, [side, *([uid] if uid in names else [])]):
                id = given[0] if given else image_id(image)
                if id in wanted and id not in written:
                    written[id] = _write(folder, image)
    source.say(f"{len(written):,} of {len(wanted):,} images were kept")
    return items.append_column(
        "image", pa.array([written.get(id) for id in items.column("id").to_pylist()], pa.string())
    )


def _write(folder: Path, image: bytes) -> str:
    """The image under a name of its own; ids come from a file and are no safe names."""
    name = image_name(image)
    (folder / name).write_bytes(image)
    return f"images/{name}"
