"""Pseudo-scores: labels that a judge's own answers give to unlabelled items, and the folder that holds them.

LABELS/labels.parquet   item, criterion, value, sd, n; value and sd are null where they are not known
LABELS/pairs.parquet    a, b, criterion, p, votes: only where labels are about pairs (majority votes)
LABELS/card.json        source, calls, settings, scale, study, judge, policies, signature

`salon distill label` writes them, `salon distill train` learns from them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import Field

from salon.errors import BadColumns, BadFile, BadValue
from salon.store import arrow_file, present_folder, read_json, whole_file, whole_folder, write_json
from salon.study import Noun

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Source = Literal["bridge", "majority", "pointwise", "elo"]
FORMAT: Final = "salon-labels-1"
LABELS, PAIRS, CARD = "labels.parquet", "pairs.parquet", "card.json"


class LabelCard(Noun):
    """card.json: where labels come from, and what must be known before they are used."""

    format: Literal["salon-labels-1"] = Field(FORMAT, description="Name and version of this format.")
    source: Source = Field(description="bridge, majority, pointwise or elo.")
    items: int = Field(description="Items of the study that labels were wanted for.")
    labelled: int = Field(description="Items with a value, or in a pair, under at least one criterion.")
    criteria: tuple[str, ...] = Field(description="Ids of the criteria.")
    low: float = Field(description="Lower end of the scale.")
    high: float = Field(description="Upper end of the scale.")
    calls_planned: int = Field(description="Calls of the whole plan, nothing left out and nobody replaced.")
    calls_made: int = Field(description="Calls that the labels rest on, answered or not.")
    calls_failed: int = Field(0, description="Of these, calls without a reply.")
    unread: dict[str, int] = Field(default_factory=dict, description="Answers that could not be read, by criterion.")
    dead: tuple[str, ...] = Field((), description="Items that stayed without any answer, or whose picture is broken.")
    ties: dict[str, float] = Field(default_factory=dict, description="Share of ties among the answers, by criterion.")
    cost: float | None = Field(None, description="Of all replies, by the price list; null without a price.")
    settings: dict[str, Any] = Field(default_factory=dict, description="The settings of the source.")
    study: str = Field("", description="Name of the study.")
    data: str = Field("", description="First twelve hex digits of the study's hash.")
    judge: str = Field("", description="Name of the judge.")
    judge_signature: str = Field("", description="Signature of what answered.")
    simulated: bool = Field(False, description="True when no model answered.")
    policies: tuple[str, ...] = Field((), description="How what is missing was treated.")
    warnings: tuple[str, ...] = Field((), description="What a reader must know before using these labels.")
    signature: str = Field("", description="What reproduces these labels, in one line.")


@dataclass(frozen=True)
class PseudoPairs:
    """Labels of pairs: what the majority of several answers said. Codes count along items and criteria."""

    a: Ints
    b: Ints
    criterion: Ints
    p: Floats
    """Target probability that a is better: 1, 0, or 0.5 where neither has a majority."""
    votes: Ints
    """Answers behind it."""

    def __len__(self) -> int:
        return len(self.a)


@dataclass(frozen=True)
class PseudoScores:
    """Labels of n items under D criteria on the scale from low to high; NaN where there is none."""

    items: tuple[str, ...]
    criteria: tuple[str, ...]
    values: Floats
    """(n, D)"""
    sd: Floats
    """(n, D) standard deviation of a value on the same scale; NaN where it is not known."""
    low: float
    high: float
    source: Source
    pairs: PseudoPairs | None = None
    card: LabelCard | None = None
    n: Ints = field(default_factory=lambda: np.empty((0, 0), np.int64))
    """(n, D) answers behind each label."""

    def __post_init__(self) -> None:
        shape = (len(self.items), len(self.criteria))
        if not self.n.size:
            object.__setattr__(self, "n", np.isfinite(self.values).astype(np.int64))
        for name in ("values", "sd", "n"):
            if getattr(self, name).shape != shape:
                raise BadValue(f"{name} of labels: one for each item and criterion", found=getattr(self, name).shape)
        if len(set(self.items)) != shape[0] or len(set(self.criteria)) != shape[1]:
            raise BadValue("labels name every item and criterion once", found="the same id twice")
        outside = np.isfinite(self.values) & ((self.values < self.low) | (self.values > self.high))
        if not self.low < self.high or outside.any():
            example = self.values[outside][0] if outside.any() else f"a scale from {self.low:g} to {self.high:g}"
            raise BadValue(f"labels lie between {self.low:g} and {self.high:g}", found=example)


def write_pseudo_scores(
    folder: Path | str, scores: PseudoScores, *, card: LabelCard | None = None, tables: Mapping[str, pa.Table] = {}
) -> None:
    """Write LABELS, whole or not at all; `card` in place of the scores' own, `tables` are further Parquet files."""
    label_card = card or scores.card or _plain_card(scores)
    with whole_folder(Path(folder).resolve()) as new:
        count = len(scores.criteria)
        label_table = pa.table(
            {
                "item": pa.array(np.repeat(np.array(scores.items, dtype=object), count), pa.string()),
                "criterion": pa.array(list(scores.criteria) * len(scores.items), pa.string()),
                "value": pa.array(scores.values.ravel(), pa.float64(), from_pandas=True),
                "sd": pa.array(scores.sd.ravel(), pa.float64(), from_pandas=True),
                "n": pa.array(scores.n.ravel(), pa.int64()),
            }
        )
        _write(new / LABELS, label_table)
        if scores.pairs is not None:
            items, criteria = np.array(scores.items, dtype=object), np.array(scores.criteria, dtype=object)
            pair_table = pa.table(
                {
                    "a": pa.array(items[scores.pairs.a], pa.string()),
                    "b": pa.array(items[scores.pairs.b], pa.string()),
                    "criterion": pa.array(criteria[scores.pairs.criterion], pa.string()),
                    "p": pa.array(scores.pairs.p, pa.float64()),
                    "votes": pa.array(scores.pairs.votes, pa.int64()),
                }
            )
            _write(new / PAIRS, pair_table)
        for name, table in tables.items():
            _write(new / name, table)
        write_json(new / CARD, label_card)


def read_pseudo_scores(folder: Path | str) -> PseudoScores:
    """The labels in a folder that `salon distill label` wrote."""
    home = present_folder(Path(folder))
    card = read_label_card(home)
    table = _table(home / LABELS, ("item", "criterion", "value", "sd", "n"))
    items, item = _codes(table, "item", ())
    criteria, criterion = _codes(table, "criterion", card.criteria)
    grids = {name: np.full((len(items), len(criteria)), np.nan) for name in ("value", "sd", "n")}
    for name, grid in grids.items():
        grid[item, criterion] = table.column(name).cast(pa.float64()).to_numpy()
    pairs = _read_pairs(home / PAIRS, items, criteria) if (home / PAIRS).is_file() else None
    n = np.nan_to_num(grids["n"]).astype(np.int64)
    return PseudoScores(
        items, criteria, grids["value"], grids["sd"], card.low, card.high, card.source, pairs, card, n
    )  # fmt: skip


def read_label_card(folder: Path | str) -> LabelCard:
    """card.json of a folder of labels."""
    path = present_folder(Path(folder)) / CARD
    remedy = "salon distill label STUDY -o LABELS makes one"
    return LabelCard.parse(read_json(path, "a folder of labels is needed", remedy=remedy), where=str(path))


def _plain_card(scores: PseudoScores) -> LabelCard:
    labelled = np.asarray(np.isfinite(scores.values).any(axis=1))
    if scores.pairs is not None:
        labelled[np.concatenate([scores.pairs.a, scores.pairs.b])] = True
    return LabelCard(
        source=scores.source,
        items=len(scores.items),
        labelled=int(labelled.sum()),
        criteria=scores.criteria,
        low=scores.low,
        high=scores.high,
        calls_planned=0,
        calls_made=0,
    )


def _read_pairs(path: Path, items: Sequence[str], criteria: Sequence[str]) -> PseudoPairs:
    table = _table(path, ("a", "b", "criterion", "p", "votes"))
    a, b = (_codes(table, name, items)[1] for name in ("a", "b"))
    p, votes = table.column("p").to_numpy(), table.column("votes").to_numpy()
    if not ((p >= 0) & (p <= 1)).all():
        raise BadValue("p is a probability", found="one outside 0 to 1", where=str(path))
    return PseudoPairs(a, b, _codes(table, "criterion", criteria)[1], p, votes.astype(np.int64))


def _table(path: Path, columns: Sequence[str]) -> pa.Table:
    try:
        table = pq.read_table(arrow_file(path))
    except (OSError, pa.ArrowException) as error:
        raise BadFile("a table of labels is needed", found=str(error), where=str(path)) from None
    for name in columns:
        if name not in table.column_names:
            raise BadColumns.missing(name, table.column_names, where=str(path))
    return table.select(list(columns))


def _codes(table: pa.Table, name: str, names: Sequence[str]) -> tuple[tuple[str, ...], Ints]:
    """The ids in a column, in the order they come or as `known`, and each row's place among them."""
    column = table.column(name).to_pylist()
    ids = tuple(names) or tuple(dict.fromkeys(column))
    place = {id: number for number, id in enumerate(ids)}
    unknown = next((id for id in column if id not in place), None)
    if unknown is not None:
        raise BadValue(f"column {name} names only what the labels are about", found=repr(unknown))
    return ids, np.array([place[id] for id in column], np.int64)


def _write(path: Path, table: pa.Table) -> None:
    with whole_file(path) as file:
        pq.write_table(table, file, compression="zstd")
