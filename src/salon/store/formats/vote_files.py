"""Files of votes between two images or generators: FastChat's and LMSYS's arenas, Pick-a-Pic, GenAI-Bench.

Arena votes, two generators and one winner, usually with a different prompt each time:

    {"model_a", "model_b", "winner": "model_a" | "model_b" | "tie" | "tie (bothbad)", "judge"?, "question_id"?, "turn"?}
    {"model_a", "model_b", "winner_model_a": 0 | 1, "winner_model_b": 0 | 1, "winner_tie": 0 | 1}
    {"type": "leftvote" | "rightvote" | "tievote" | "bothbad_vote", "models": [2]}         FastChat's own log

Every vote is about two answers of its own, so items are vote/generator and are compared within their vote, or within
their question where the file names it. `--items-are items` makes one item of each generator instead.

Pick-a-Pic has a caption, two images, and label_0 / label_1 (1 and 0, or a half each for a tie).

GenAI-Bench has human votes between two anonymous images, and the verdicts of many judges on the same pairs:

    one table     idx,prompt,human_vote,<judge>,<judge>,...   with [[A>B]], [[B>A]], [[A=B=Good]], [[A=B=Bad]] in cells
    or one file   {"idx", "prompt", "response", "model_vote", "human_vote"} a line, in a folder named after the judge

A verdict that is none of the four is left out and counted.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.errors import BadColumns, BadFile, BadValue
from salon.store.formats.column_labels import (
    constant_column,
    name_items,
    name_prompts,
    name_raters,
    read_numbers,
)
from salon.store.formats.column_mapping import ANSWERS, ColumnCells, load_cells, open_sheets
from salon.store.formats.files import ColumnFile, Head, open_sheet, read_bytes, require_columns
from salon.store.formats.judgment_tables import read_outcomes, refuse_blank
from salon.store.formats.records import JsonRecord, TableBuilder, list_records
from salon.store.formats.source import Draft, Source
from salon.study import Criterion, Design, builtin_criterion, to_references

PREFERENCE = Criterion(id="preference")
RATER_COLUMNS = ("judge", "user_id", "user", "evaluation_session_id")
PROMPT_COLUMNS = ("question_id", "conversation_id", "id")
ONE_HOT = ("winner_model_a", "winner_model_b", "winner_tie")
LOG_VOTES = {"leftvote": "model_a", "rightvote": "model_b", "tievote": "tie", "bothbad_vote": "tie (bothbad)"}


def is_arena(head: Head) -> bool:
    """By its columns."""
    votes = head.has("model_a", "model_b") and (head.has("winner") or head.has("winner_model_a", "winner_model_b"))
    return votes or head.has("type", "tstamp")


def read_arena(source: Source) -> Draft:
    """Votes as comparisons; FastChat shows model_a on the left."""
    sheets = [_from_log(source, sheet) for sheet in open_sheets(source)]
    cells = load_cells(source, sheets, _arena_columns(sheets))
    meaning = _one_hot(cells) if cells.has(ONE_HOT[0]) else read_outcomes(source, cells)
    if (meaning < 0).any():
        refuse_blank(source, cells, "outcome", np.flatnonzero(meaning < 0))
        source.leave_out("votes without a winner", int((meaning < 0).sum()))
        cells, meaning = cells.keep(meaning >= 0), meaning[meaning >= 0]
    cells = _with_prompts(source, cells)
    prompts = name_prompts(source, cells)
    items = name_items(source, cells, ("left", "right"), prompts[0] if prompts else None)
    rater, raters = name_raters(source, cells)
    source.say("model_a was shown on the left, as FastChat does")
    comparisons = {
        "criterion": constant_column(PREFERENCE.id, len(cells)),
        "rater": rater,
        "a": items.refer(0),
        "b": items.refer(1),
        "outcome": to_references(np.where(meaning < len(ANSWERS), meaning, -1), pa.array(ANSWERS)),
        "left": constant_column("a", len(cells)),
    }
    tables = {"items": items.table, "raters": raters, "comparisons": pa.table(comparisons)}
    if prompts:
        tables["prompts"] = prompts[1]
    return Draft((PREFERENCE,), tables, "prompt" if prompts else "all", Design())


def _arena_columns(sheets: Sequence[ColumnFile]) -> dict[str, str]:
    """The columns all files share; those that must be there are asked for by name."""
    shared = [name for name in sheets[0].names if all(name in sheet.names for sheet in sheets)]
    columns = {"left": "model_a", "right": "model_b"}
    if "winner" not in shared and ONE_HOT[0] in shared:
        columns |= {part: part for part in ONE_HOT if part in shared or part != "winner_tie"}
    else:
        columns["outcome"] = "winner"
    for name in columns.values():
        if name not in shared:
            raise BadColumns.missing(name, shared, where=str(sheets[0].path))
    for part, choices in (("rater", RATER_COLUMNS), ("question", PROMPT_COLUMNS), ("turn", ("turn",))):
        chosen = [name for name in choices if name in shared]
        if chosen:
            columns[part] = chosen[0]
    return columns


def _one_hot(cells: ColumnCells) -> np.ndarray:
    """winner_model_a, winner_model_b, winner_tie with a single 1 as numbers into ANSWERS."""
    hot = np.stack([read_numbers(cells, part).fill_null(0).to_numpy() for part in ONE_HOT if cells.has(part)])
    bad = np.flatnonzero((hot.sum(0) != 1) | ~np.isin(hot, (0, 1)).all(0))
    if len(bad):
        raise BadValue(
            "exactly one of winner_model_a, winner_model_b and winner_tie must be 1",
            found=str(hot[:, bad[0]].tolist()),
            where=cells.where(int(bad[0])),
        )
    return np.asarray(hot.argmax(0))


def _with_prompts(source: Source, cells: ColumnCells) -> ColumnCells:
    """The question of every vote; where the file has none, every vote is its own."""
    if source.options.policies.items_are == "items":
        source.say("one item for each generator (--items-are items)")
        return cells
    if cells.has("question"):
        parts = [cells.text(part) for part in ("question", "turn") if cells.has(part)]
        question = pc.binary_join_element_wise(*parts, "/turn-") if len(parts) > 1 else parts[0]
    else:
        source.say("the file names no questions: every vote has items of its own")
        question = pa.chunked_array([pa.array([f"vote-{number}" for number in range(1, len(cells) + 1)])])
    name = cells.names.get("question", "question")
    return ColumnCells(
        cells.table.append_column("prompt", question.dictionary_encode()), {**cells.names, "prompt": name}, cells.starts
    )


def _from_log(source: Source, sheet: ColumnFile) -> ColumnFile:
    """FastChat's log as columns model_a, model_b, winner; entries that are no votes are counted."""
    if "models" not in sheet.names or "type" not in sheet.names or "model_a" in sheet.names:
        return sheet
    table = sheet.read(("type", "models"))
    table = pa.table({name: table.column(name).cast(pa.string()) for name in table.column_names})
    votes = pc.is_in(table.column("type"), value_set=pa.array(list(LOG_VOTES)))
    source.leave_out("log entries that are no votes", table.num_rows - (pc.sum(votes).as_py() or 0))
    table = table.filter(votes)
    if not table.num_rows:
        raise BadFile("a log with votes is needed", found="none", where=str(sheet.path))
    models = pc.extract_regex(table.column("models"), r'^\["(?P<a>[^"]+)", "(?P<b>[^"]+)"\]$')
    if models.null_count:
        row = int(np.flatnonzero(pc.is_null(models).to_numpy())[0])
        names = table.column("models")[row].as_py()
        raise BadValue("'models' must list two names", found=names, where=f"{sheet.path}, vote {row + 1}")
    sides = models.combine_chunks().flatten() if models.num_chunks == 1 else pa.concat_arrays(models.chunks).flatten()
    winner = pa.array([LOG_VOTES[word] for word in table.column("type").to_pylist()])
    votes_table = pa.table({"model_a": sides[0], "model_b": sides[1], "winner": winner})
    votes_table = pa.table({name: votes_table.column(name).dictionary_encode() for name in votes_table.column_names})
    return ColumnFile(sheet.path, votes_table.column_names, votes_table.select)


# -- Pick-a-Pic --------------------------------------------------------------------------------------------------------

OVERALL = builtin_criterion("hps/overall")
PICKAPIC_OPTIONAL = {"rater": "user_id", "left_generator": "model_0", "right_generator": "model_1", "at": "created_at"}


def is_pickapic(head: Head) -> bool:
    """By its columns."""
    return head.has("caption", "label_0", "label_1") and (
        head.has("image_0_uid", "image_1_uid") or head.has("jpg_0", "jpg_1")
    )


def read_pickapic(source: Source) -> Draft:
    """Rows with a label, as comparisons of image_0 with image_1."""
    sheets = [_with_ids(sheet) for sheet in open_sheets(source)]
    cells = load_cells(source, sheets, _pickapic_columns(sheets))
    cells = _rows_with_label(source, cells)
    prompts = name_prompts(source, cells)
    if prompts is None:  # pragma: no cover - the caption is always there
        raise BadColumns.missing("caption", cells.names, where=str(source.paths[0]))
    items = name_items(source, cells, ("left", "right"), prompts[0])
    rater, raters = name_raters(source, cells)
    source.say("which image stood on the left is not recorded")
    table = _with_images(source, items.table)
    first, second = (read_numbers(cells, part).fill_null(-1).to_numpy() for part in ("first", "second"))
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
    comparisons = {
        "criterion": constant_column(OVERALL.id, len(cells)),
        "rater": rater,
        "a": items.refer(0),
        "b": items.refer(1),
        "outcome": to_references(outcome, pa.array(["a", "b", "tie"])),
        **({"at": cells.column("at")} if cells.has("at") else {}),
    }
    tables = {"items": table, "raters": raters, "comparisons": pa.table(comparisons)}
    return Draft((OVERALL,), tables | {"prompts": prompts[1]}, "prompt", Design())


def _pickapic_columns(sheets: list[ColumnFile]) -> dict[str, str]:
    names = {
        "prompt": "caption",
        "left": "image_0_uid",
        "right": "image_1_uid",
        "first": "label_0",
        "second": "label_1",
    }
    require_columns(sheets, names.values())
    has = {part: name for part, name in PICKAPIC_OPTIONAL.items() if all(name in sheet.names for sheet in sheets)}
    labelled = {"labelled": "has_label"} if all("has_label" in sheet.names for sheet in sheets) else {}
    return names | has | labelled


def _rows_with_label(source: Source, cells: ColumnCells) -> ColumnCells:
    """Rows whose has_label is not false."""
    if not cells.has("labelled"):
        return cells
    unlabelled = pc.is_in(pc.utf8_lower(cells.text("labelled")), value_set=pa.array(["false", "0", "0.0"])).to_numpy()
    if unlabelled.all():
        raise BadFile("rows with a label are needed", found="has_label is false everywhere", where=cells.where(0))
    source.leave_out("rows without a label (has_label is false)", int(unlabelled.sum()))
    return cells.keep(~unlabelled) if unlabelled.any() else cells


# -- files with image bytes and no ids ---------------------------------------------------------------------------


def _with_ids(sheet: ColumnFile) -> ColumnFile:
    """A sheet without image ids gets them from the image bytes."""
    if "image_0_uid" in sheet.names or "jpg_0" not in sheet.names or "jpg_1" not in sheet.names:
        return sheet
    sources = {"image_0_uid": "jpg_0", "image_1_uid": "jpg_1"}

    def load(columns: Sequence[str]) -> pa.Table:
        table = sheet.read([name for name in columns if name not in sources])
        cells = {}
        for name in columns:
            if name in sources:
                ids = [image_id(image) for (image,) in _image_rows(sheet.path, [sources[name]])]
                cells[name] = pa.array(ids, pa.string()).dictionary_encode()
            else:
                cells[name] = table.column(name)
        return pa.table(cells)

    return ColumnFile(sheet.path, [*sheet.names, *sources], load)


def image_id(image: bytes) -> str:
    """An id made from an image's bytes."""
    return hashlib.sha256(image).hexdigest()[:32]


def image_name(image: bytes) -> str:
    """A file name made from an image's bytes."""
    return image_id(image) + next((ending for start, ending in _ENDINGS if image.startswith(start)), ".bin")


def _image_rows(path: Path, columns: list[str]) -> Iterator[list[Any]]:
    """The rows of some columns, a batch at a time: images do not all fit into memory."""
    import pyarrow.parquet as pq

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
    import pyarrow.parquet as pq

    if source.options.images is None:
        source.say("image bytes, if the file has any, are left out (--images keeps them)")
        return items
    folder = source.options.images / "images"
    folder.mkdir(parents=True, exist_ok=True)
    item_ids, paths = set(items.column("id").to_pylist()), dict[str, str]()
    for path in source.paths:
        names = pq.read_schema(path).names if read_bytes(path, 4) == b"PAR1" else []
        for side in (name for name in ("jpg_0", "jpg_1") if name in names):
            uid = side.replace("jpg", "image") + "_uid"
            for image, *uid_cell in _image_rows(path, [side, *([uid] if uid in names else [])]):
                id = uid_cell[0] if uid_cell else image_id(image)
                if id in item_ids and id not in paths:
                    name = image_name(image)  # ids come from a file and are no safe names
                    (folder / name).write_bytes(image)
                    paths[id] = f"images/{name}"
    source.say(f"{len(paths):,} of {len(item_ids):,} images were kept")
    return items.append_column("image", pa.array([paths.get(id) for id in items.column("id").to_pylist()], pa.string()))


# -- GenAI-Bench -------------------------------------------------------------------------------------------------------

HUMANS = "human voters"
VOTES = {"leftvote": "a", "rightvote": "b", "tievote": "tie", "bothbad_vote": "both_bad"}
VERDICTS = {"[[a>b]]": "a", "[[b>a]]": "b", "[[a=b=good]]": "tie", "[[a=b=bad]]": "both_bad"}
FIXED = ("idx", "prompt", "human_vote")


def is_genai_bench(head: Head) -> bool:
    """By its columns."""
    return head.has(*FIXED)


def read_genai_bench(source: Source) -> Draft:
    """Human votes by a crowd, verdicts by raters of kind 'model'."""
    ledger = TableBuilder()
    source.say(f"human votes carry no ids: they are by the crowd {HUMANS!r}; judges are raters of kind 'model'")
    source.say("image A was shown on the left; the generators are anonymous")
    voted: set[str] = set()
    for path in source.paths:
        if "model_vote" in open_sheet(source, path).names:
            judge = path.parent.name if path.stem == "pairwise" and path.parent.name else path.stem
            for record in list_records(source, path):
                pair = _add_vote(ledger, record, voted)
                _add_verdict(
                    source, ledger, judge, record.maybe_text("model_vote"), pair, record.maybe_text("response")
                )
        else:
            _read_table(source, ledger, path, voted)
    return Draft((PREFERENCE,), ledger.tables(), "prompt", Design())


def _read_table(source: Source, ledger: TableBuilder, path: Path, voted: set[str]) -> None:
    sheet = open_sheet(source, path)
    require_columns([sheet], FIXED)
    judges = [name for name in sheet.names if name not in FIXED]
    for number, row in enumerate(sheet.read(sheet.names).to_pylist(), 1):
        pair = _add_vote(ledger, JsonRecord(row, f"{path}, data row {number}"), voted)
        for judge in judges:
            _add_verdict(source, ledger, judge, row[judge], pair)


def _add_vote(ledger: TableBuilder, record: JsonRecord, voted: set[str]) -> dict[str, str]:
    """The pair of one record; its human vote is written down the first time the pair is met."""
    idx = record.text("idx")
    prompt = ledger.prompt(idx, record.where, text=record.text("prompt"))
    a, b = (ledger.item(f"{idx}/{side}", record.where, prompt=prompt) for side in "AB")
    pair = {"criterion": PREFERENCE.id, "a": a, "b": b, "left": "a"}
    vote = record.text("human_vote")
    if vote not in VOTES:
        raise BadValue("human_vote must be one of " + ", ".join(VOTES), found=repr(vote), where=record.where)
    if idx not in voted:
        voted.add(idx)
        ledger.add("comparisons", **pair, rater=ledger.rater(HUMANS, "crowd"), outcome=VOTES[vote])
    return pair


def _add_verdict(
    source: Source,
    ledger: TableBuilder,
    judge: str,
    text: str | None,
    pair: dict[str, str],
    rationale: str | None = None,
) -> None:
    rater = ledger.rater(judge, "model", "judge column")
    word = re.sub(r"\s+", "", text or "").lower()
    if not word:
        source.leave_out("judge verdicts that are blank")
    elif word not in VERDICTS:
        source.leave_out("judge verdicts that are none of the four")
    else:
        ledger.add("comparisons", **pair, rater=rater, outcome=VERDICTS[word], rationale=rationale or None)
