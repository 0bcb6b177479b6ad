"""Rating panels on text-to-image models: DSG's TIFA160 Likert answers and ImagenHub's tables, one a rater."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa

from salon.errors import BadColumns, BadValue, shorten
from salon.store.formats.columnar import filled_labels, name_items, name_prompts, name_raters, numbers
from salon.store.formats.head import Head
from salon.store.formats.ledger import Ledger
from salon.store.formats.mapping import load_cells, open_sheets
from salon.store.formats.sheet import open_sheet
from salon.store.formats.source import Draft, Source
from salon.study import Criterion, Design, Scale

# -- DSG ---------------------------------------------------------------------------------------------------------

DSG_COLUMNS = {
    "prompt": "item_id",
    "generator": "t2i_model",
    "rater": "worker_id",
    "question": "question",
    "value": "answer",
}
FIVE_LEVELS = Scale(kind="ordinal", low=1, high=5, step=1)


def is_dsg(head: Head) -> bool:
    """By its columns."""
    return head.has(*DSG_COLUMNS.values())


def read_dsg(source: Source) -> Draft:
    """Each answer (1-5) as a rating of prompt/generator; each question is a criterion."""
    sheets = open_sheets(source)
    for sheet in sheets:
        for name in DSG_COLUMNS.values():
            if name not in sheet.names:
                raise BadColumns.missing(name, sheet.names, where=str(sheet.path))
    cells = load_cells(source, sheets, DSG_COLUMNS)
    filled_labels(cells, "value")
    prompts = name_prompts(source, cells)
    items = name_items(source, cells, ("generator",), prompts[0] if prompts else None)
    questions = filled_labels(cells, "question")
    criteria = _criteria(questions.texts.to_pylist())
    rater, raters = name_raters(source, cells)
    ratings = {
        "criterion": questions.refer(pa.array([criterion.id for criterion in criteria])),
        "rater": rater,
        "item": items.refer(),
        "value": numbers(cells, "value"),
    }
    tables = {"items": items.table, "raters": raters, "ratings": pa.table(ratings)}
    if prompts:
        tables["prompts"] = prompts[1]
    return Draft(criteria, tables, "prompt", Design(kind="complete"))


def _criteria(questions: list[str]) -> tuple[Criterion, ...]:
    ids = ["consistency"] if len(questions) == 1 else [f"question-{i}" for i in range(1, len(questions) + 1)]
    return tuple(
        Criterion.parse({"id": id, "rate_question": question, "scale": FIVE_LEVELS.model_dump()}, where="question")
        for id, question in zip(ids, questions)
    )


# -- ImagenHub ---------------------------------------------------------------------------------------------------

THREE_LEVELS = Scale(kind="ordinal", low=0, high=1, step=0.5)
IMAGENHUB_CRITERIA = (
    Criterion(id="semantic-consistency", rate_question="Does the image follow the text?", scale=THREE_LEVELS),
    Criterion(id="perceptual-quality", rate_question="Does the image look right?", scale=THREE_LEVELS),
)
_CELL = re.compile(r"^\s*\[\s*[\d.]+\s*,\s*[\d.]+\s*\]\s*$")


def is_imagenhub(head: Head) -> bool:
    """A column uid, and cells such as [0.5, 1]."""
    second = head.lines[1].split("\t")[1:] if len(head.lines) > 1 else []
    return head.columns[:1] == ("uid",) and bool(second) and all(_CELL.match(cell) for cell in second)


def read_imagenhub(source: Source) -> Draft:
    """One file a rater; each cell [SC, PQ] is two ratings, of semantic consistency and perceptual quality."""
    ledger = Ledger()
    for path in source.paths:
        rater = ledger.rater(_rater_name(path))
        sheet = open_sheet(source, path)
        if "uid" not in sheet.names:
            raise BadColumns.missing("uid", sheet.names, where=str(path))
        models = [name for name in sheet.names if name != "uid"]
        for number, row in enumerate(sheet.read(sheet.names).to_pylist(), 1):
            where = f"{path}, data row {number}"
            if not (row["uid"] or "").strip():
                raise BadValue("every row needs a uid", where=where)
            prompt = ledger.prompt(row["uid"], where)
            for model in models:
                item = ledger.item(f"{prompt}/{model}", where, prompt=prompt, generator=model)
                for criterion, value in zip(
                    IMAGENHUB_CRITERIA, _two_values(row[model], f"{where}, column {shorten(model, 60)!r}")
                ):
                    ledger.add("ratings", criterion=criterion.id, rater=rater, item=item, value=value)
    source.say("raters are named by the end of their file's name")
    return Draft(IMAGENHUB_CRITERIA, ledger.tables(), "prompt", Design(kind="complete"))


def _rater_name(path: Path) -> str:
    name = path.name.removesuffix(".gz")
    return Path(name).stem.rsplit("_", 1)[-1]


def _two_values(cell: str | None, where: str) -> list[float]:
    if cell is None or not _CELL.match(cell):
        raise BadValue("a cell [SC, PQ] is needed, such as [0.5, 1]", found=repr(cell), where=where)
    try:
        return [float(value) for value in json.loads(cell)]
    except ValueError:
        raise BadValue("a cell [SC, PQ] is needed, such as [0.5, 1]", found=repr(cell), where=where) from None
