"""Scores that were made elsewhere: a table of item, value and, where there is one, sigma.

A card beside the table says what its numbers are. For `hpsv3.csv` it is `hpsv3.toml`:

    scorer = "HPSv3, weights of 2025-08"     # what made the numbers: tables that say the same are of one scorer
    is_logit = true                          # s(difference) is a probability, as EPS needs it
    measures = "Preference, mu of HPSv3."

All fields of a scorer's card may stand there. `hpsv3.json`, as `salon score` writes it, serves too. Without a card
higher is better, nothing is a logit, and the table is known by the hash of its file.
"""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from salon.errors import BadFile, BadValue
from salon.judge.scorers.picture import Result, Scored, Unscored
from salon.store.plain_table import read_plain
from salon.study import Item, Prompt
from salon.study.scorer import ScorerCard
from salon.study.signature import Signature

_NO_VALUE = Unscored("the table has no value for the item")
HOW_TO_DECLARE = 'say in {card}, beside the table: is_logit = true and scorer = "what made the numbers"'


class TableScorer:
    """A scorer that knows its scores by heart; the way numbers made on a GPU elsewhere come in."""

    def __init__(self, file: Path, *, card: ScorerCard | None = None) -> None:
        self.name = file.stem
        self.file = file
        self._values = _read(file)
        declared, made_by = (card, None) if card is not None else _declared(file)
        self.card = declared or ScorerCard(measures="Scores that were made elsewhere.", source=file.name)
        if made_by:  # whichever file holds them: a field's table and a later entry's are one scorer's
            self.signature = Signature(method="table", settings={"scorer": made_by})
        else:
            digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
            self.signature = Signature(method="table", data=digest, settings={"file": file.name})

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        """The value of each item, None where the table has none."""
        return [found.value if isinstance(found, Scored) else None for found in self.results(items, prompts)]

    def results(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[Result]:
        """Value and sigma of each item."""
        return [self._values.get(item.id, _NO_VALUE) for item in items]

    def knows(self, item: str) -> bool:
        """Whether the table has a value for the item."""
        return isinstance(self._values.get(item), Scored)


def _declared(file: Path) -> tuple[ScorerCard | None, str | None]:
    """The card beside a table, and what it says made the numbers."""
    toml, record = file.with_suffix(".toml"), file.with_suffix(".json")
    if toml.is_file():
        told = _told(toml, tomllib.loads)
        made_by = told.pop("scorer", None)
        if made_by is not None and (not isinstance(made_by, str) or not made_by.strip()):
            raise BadValue("the scorer is named by a text", found=repr(made_by), where=str(toml))
        return ScorerCard.parse({"source": file.name, **told}, where=str(toml)), made_by
    if record.is_file() and record != file:
        told = _told(record, json.loads)
        if isinstance(told.get("card"), dict) and "signature" in told:
            return ScorerCard.parse(told["card"], where=str(record)), str(told["signature"])
    return None, None


def _told(path: Path, read: Any) -> dict[str, Any]:
    try:
        told = read(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise BadFile("a card of a table of scores is needed", found=str(error), where=str(path)) from None
    if not isinstance(told, dict):
        raise BadFile("a card of a table of scores is needed", found=type(told).__name__, where=str(path))
    return told


Cell = float | str | None


def _read(file: Path) -> dict[str, Result]:
    table = read_plain(file, "scores", ("item", "value"))
    items = table.column("item").cast(pa.string()).to_pylist()
    values = table.column("value").to_pylist()
    sigmas = table.column("sigma").to_pylist() if "sigma" in table.column_names else [None] * len(items)
    found: dict[str, Result] = {}
    for row, (item, value, sigma) in enumerate(zip(items, values, sigmas), 1):
        if item in found:
            raise BadValue("each item may stand once", found=repr(item), where=f"{file}, row {row}")
        found[item] = _result(value, sigma, f"{file}, row {row}")
    return found


def _result(value: Cell, sigma: Cell, where: str) -> Result:
    if value is None:
        return _NO_VALUE
    for name, one in (("value", value), ("sigma", sigma)):
        if one is not None and (isinstance(one, str | bool) or not math.isfinite(one)):
            raise BadValue(f"a finite number is needed as {name}", found=repr(one), where=where)
    return Scored(float(value), None if sigma is None else float(sigma))
