"""Arena votes as FastChat and LMSYS publish them: two generators, one winner, usually a different prompt each time.

    {"model_a", "model_b", "winner": "model_a" | "model_b" | "tie" | "tie (bothbad)", "judge"?, "question_id"?, "turn"?}
    {"model_a", "model_b", "winner_model_a": 0 | 1, "winner_model_b": 0 | 1, "winner_tie": 0 | 1}
    {"type": "leftvote" | "rightvote" | "tievote" | "bothbad_vote", "models": [2]}         FastChat's own log

Every vote is about two answers of its own, so items are vote/generator and are compared within their vote, or within
their question where the file names it. `--items-are items` makes one item of each generator instead.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.errors import BadColumns, BadFile, BadValue
from salon.store.formats.columnar import constant, name_items, name_prompts, name_raters, numbers, refer
from salon.store.formats.comparisons import outcomes, refuse_blank
from salon.store.formats.head import Head
from salon.store.formats.mapping import Cells, load_cells, open_sheets
from salon.store.formats.sheet import Sheet
from salon.store.formats.source import Draft, Source
from salon.store.formats.words import ANSWERS
from salon.study import Criterion, Design

CRITERION = Criterion(id="preference")
RATERS = ("judge", "user_id", "user", "evaluation_session_id")
PROMPTS = ("question_id", "conversation_id", "id")
ONE_HOT = ("winner_model_a", "winner_model_b", "winner_tie")
LOG_VOTES = {"leftvote": "model_a", "rightvote": "model_b", "tievote": "tie", "bothbad_vote": "tie (bothbad)"}


def is_arena(head: Head) -> bool:
    """By its columns."""
    votes = head.has("model_a", "model_b") and (head.has("winner") or head.has("winner_model_a", "winner_model_b"))
    return votes or head.has("type", "tstamp")


def read_arena(source: Source) -> Draft:
    """Votes as comparisons; FastChat shows model_a on the left."""
    sheets = [_from_log(source, sheet) for sheet in open_sheets(source)]
    cells = load_cells(source, sheets, _columns(sheets))
    meaning = _one_hot(cells) if cells.has(ONE_HOT[0]) else outcomes(source, cells)
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
        "criterion": constant(CRITERION.id, len(cells)),
        "rater": rater,
        "a": items.refer(0),
        "b": items.refer(1),
        "outcome": refer(np.where(meaning < len(ANSWERS), meaning, -1), pa.array(ANSWERS)),
        "left": constant("a", len(cells)),
    }
    tables = {"items": items.table, "raters": raters, "comparisons": pa.table(comparisons)}
    if prompts:
        tables["prompts"] = prompts[1]
    return Draft((CRITERION,), tables, "prompt" if prompts else "all", Design())


def _columns(sheets: Sequence[Sheet]) -> dict[str, str]:
    """The columns all files share; those that must be there are asked for by name."""
    shared = [name for name in sheets[0].names if all(name in sheet.names for sheet in sheets)]
    found = {"left": "model_a", "right": "model_b"}
    if "winner" not in shared and ONE_HOT[0] in shared:
        found |= {part: part for part in ONE_HOT if part in shared or part != "winner_tie"}
    else:
        found["outcome"] = "winner"
    for name in found.values():
        if name not in shared:
            raise BadColumns.missing(name, shared, where=str(sheets[0].path))
    for part, choices in (("rater", RATERS), ("question", PROMPTS), ("turn", ("turn",))):
        chosen = [name for name in choices if name in shared]
        if chosen:
            found[part] = chosen[0]
    return found


def _one_hot(cells: Cells) -> np.ndarray:
    """winner_model_a, winner_model_b, winner_tie with a single 1 as numbers into ANSWERS."""
    hot = np.stack([numbers(cells, part).fill_null(0).to_numpy() for part in ONE_HOT if cells.has(part)])
    bad = np.flatnonzero((hot.sum(0) != 1) | ~np.isin(hot, (0, 1)).all(0))
    if len(bad):
        raise BadValue(
            "exactly one of winner_model_a, winner_model_b and winner_tie must be 1",
            found=str(hot[:, bad[0]].tolist()),
            where=cells.where(int(bad[0])),
        )
    return np.asarray(hot.argmax(0))


def _with_prompts(source: Source, cells: Cells) -> Cells:
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
    return Cells(
        cells.table.append_column("prompt", question.dictionary_encode()), {**cells.names, "prompt": name}, cells.starts
    )


def _from_log(source: Source, sheet: Sheet) -> Sheet:
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
        found = table.column("models")[row].as_py()
        raise BadValue("'models' must list two names", found=found, where=f"{sheet.path}, vote {row + 1}")
    sides = models.combine_chunks().flatten() if models.num_chunks == 1 else pa.concat_arrays(models.chunks).flatten()
    winner = pa.array([LOG_VOTES[word] for word in table.column("type").to_pylist()])
    made = pa.table({"model_a": sides[0], "model_b": sides[1], "winner": winner})
    made = pa.table({name: made.column(name).dictionary_encode() for name in made.column_names})
    return Sheet(sheet.path, made.column_names, made.select)
