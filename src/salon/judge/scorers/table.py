"""Scores that were made elsewhere: a table of item, value and, where there is one, sigma."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from salon.errors import BadValue
from salon.judge.scorers.picture import Result, Scored, Unscored
from salon.store.plain_table import read_plain
from salon.study import Item, Prompt
from salon.study.scorer import ScorerCard
from salon.study.signature import Signature

_NO_VALUE = Unscored("the table has no value for the item")


class TableScorer:
    """A scorer that knows its scores by heart; the way numbers made on a GPU elsewhere come in."""

    def __init__(self, file: Path, *, card: ScorerCard | None = None) -> None:
        self.name = file.stem
        self.card = card or ScorerCard(measures="Scores that were made elsewhere.", source=file.name)
        self._values = _read(file)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
        self.signature = Signature(method="table", data=digest, settings={"file": file.name})

    def score(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[float | None]:
        """The value of each item, None where the table has none."""
        return [found.value if isinstance(found, Scored) else None for found in self.results(items, prompts)]

    def results(self, items: Sequence[Item], prompts: Sequence[Prompt | None]) -> list[Result]:
        """Value and sigma of each item."""
        return [self._values.get(item.id, _NO_VALUE) for item in items]


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


def _result(value: object, sigma: object, where: str) -> Result:
    if value is None:
        return _NO_VALUE
    for name, one in (("value", value), ("sigma", sigma)):
        if one is not None and (isinstance(one, str | bool) or not math.isfinite(one)):
            raise BadValue(f"a finite number is needed as {name}", found=repr(one), where=where)
    return Scored(float(value), None if sigma is None else float(sigma))
