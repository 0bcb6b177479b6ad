"""Tables of scores as judges: STUDY/scores/NAME.parquet with its card, or any file with the columns item and value."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq

from salon.errors import BadColumns, BadFile, BadValue
from salon.judge.report_judges import Judge, scorer_judge
from salon.judge.report_panel import Places
from salon.study import Study
from salon.study.scorer import ScorerCard

SCORES = "scores"
_READERS = {
    ".parquet": pq.read_table,
    ".csv": pa.csv.read_csv,
    ".jsonl": pa.json.read_json,
}


def score_files(folder: Path) -> list[Path]:
    """The score tables of the study in `folder`, by name."""
    return sorted((folder / SCORES).glob("*.parquet"))


def score_judge(path: Path, study: Study, places: Places) -> Judge:
    """The scorer behind a table; named as its file, turned so that higher is better, as its card says."""
    values = _values(path)
    ids = set(study.ids("items").to_pylist())
    if not ids & values.keys():
        raise BadValue(
            "scores of items of the study are needed",
            found=f"{len(values):,} scores of other items",
            where=f"{path}, study {study.name!r}",
        )
    card, signature = _card(path.with_suffix(".json"))
    turn = 1 if card.higher_is_better else -1
    turned = {item: turn * value for item, value in values.items()}
    return scorer_judge(path.stem, turned, study, places, signature=signature)


def _values(path: Path) -> dict[str, float]:
    """The number of each item; items without one are left out."""
    if path.suffix not in _READERS:
        raise BadFile(f"a table as {', '.join(_READERS)} is needed", found=path.name, where=str(path))
    try:
        table = _READERS[path.suffix](path)
    except (OSError, pa.ArrowException) as error:
        raise BadFile("a table of scores is needed", found=str(error), where=str(path)) from None
    for name in ("item", "value"):
        if name not in table.column_names:
            raise BadColumns.missing(name, table.column_names, where=str(path))
    try:
        items = table.column("item").cast(pa.string()).to_pylist()
        numbers = table.column("value").cast(pa.float64()).to_numpy()
    except pa.ArrowException as error:
        raise BadValue("a score is a number for an item", found=str(error), where=str(path)) from None
    if len(set(items)) != len(items):
        again = next(item for item in items if items.count(item) > 1)
        raise BadValue("one score for each item", found=f"several for {again!r}", where=str(path))
    return {item: float(x) for item, x in zip(items, numbers) if item is not None and np.isfinite(x)}


def _card(path: Path) -> tuple[ScorerCard, str | None]:
    """What is said about the scorer beside its table; a table without a card is one where higher is better."""
    if not path.is_file():
        return ScorerCard(), None
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadFile("the card of a scorer is JSON", found=str(error), where=str(path)) from None
    if not isinstance(record, dict):
        raise BadFile("the card of a scorer is a JSON object", found=type(record).__name__, where=str(path))
    signature = record.get("signature")
    return ScorerCard.parse(record.get("card", {}), where=str(path)), None if signature is None else str(signature)
