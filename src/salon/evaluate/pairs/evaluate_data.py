"""The pairs that models are tested on, with the votes of people; and what a model or scorer said about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from salon.errors import BadColumns, TooFew
from salon.evaluate.leaks import Leaks
from salon.evaluate.pairs.evaluate_results import ContestantKind

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
COLUMNS = ("criterion", "group", "item_a", "item_b", "for_a", "for_b", "ties", "text")


@dataclass(frozen=True)
class Trial:
    """The pairs of one study that models are tried on; an entry of each array for each pair."""

    study: str
    data: str
    split: str
    criteria: tuple[tuple[str, str], ...]
    """Id and name of each criterion that has a pair."""
    criterion: Ints
    """Place in `criteria`."""
    group: Ints
    item_a: NDArray[np.object_]
    item_b: NDArray[np.object_]
    votes: Ints
    """(pairs, 3): for a, for b, ties."""
    text: NDArray[np.object_]
    """Whole text of the prompt; empty where the two items answer different ones."""
    generators: Mapping[str, str] = field(default_factory=dict)
    """By item, where it is known."""
    simulated: bool = False

    def __len__(self) -> int:
        return len(self.criterion)

    @cached_property
    def winner(self) -> Ints:
        """1 a, -1 b, 0 no majority."""
        values: Ints = np.sign(self.votes[:, 0] - self.votes[:, 1])
        return values

    @cached_property
    def decided(self) -> Bools:
        """Pairs with a majority."""
        mask: Bools = self.winner != 0
        return mask

    @property
    def items(self) -> list[str]:
        """Items of all pairs, each once."""
        return list(dict.fromkeys([*self.item_a, *self.item_b]))


def make_trial(
    labels: pa.Table,
    *,
    study: str,
    data: str,
    split: str,
    names: Mapping[str, str],
    generators: Mapping[str, str] | None = None,
    simulated: bool = False,
) -> Trial:
    """The pairs of a table of labels, ties kept; `split` says in a word which part of the study they are."""
    for name in COLUMNS:
        if name not in labels.column_names:
            raise BadColumns.missing(name, labels.column_names, where="labels")
    if not labels.num_rows:
        raise TooFew(
            "pairs that people voted on are needed",
            found=f"none ({split})",
            where=f"study {study!r}",
            remedy="--split all takes every prompt; few prompts may leave a split empty",
        )
    here = list(dict.fromkeys(_words(labels, "criterion")))
    groups = _words(labels, "group")
    _, group = np.unique(np.array([str(name) for name in groups]), return_inverse=True)
    return Trial(
        study=study,
        data=data,
        split=split,
        criteria=tuple((id, names.get(id, id)) for id in here),
        criterion=np.array([here.index(id) for id in _words(labels, "criterion")], np.int64),
        group=group.astype(np.int64),
        item_a=np.array(_words(labels, "item_a"), object),
        item_b=np.array(_words(labels, "item_b"), object),
        votes=np.stack([np.asarray(labels.column(name), np.int64) for name in ("for_a", "for_b", "ties")], axis=1),
        text=np.array([text or "" for text in _words(labels, "text")], object),
        generators=generators or {},
        simulated=simulated,
    )


def _words(rows: pa.Table, column: str) -> list[Any]:
    result: list[Any] = rows.column(column).cast(pa.string()).to_pylist()
    return result


@dataclass(frozen=True)
class Contestant:
    """What a model or scorer says about test pairs."""

    name: str
    kind: ContestantKind
    margin: Floats
    """(pairs,) above 0: a is better; log-odds where `is_logit`. NaN: no number."""
    speaks: Bools
    """(pairs,) whether the pair is one of its criteria."""
    is_logit: bool = False
    turned: Floats | None = None
    """The margin with the pair shown the other way round, sign turned back; None where order leaves no trace."""
    form: str = ""
    signature: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How it was trained, for telling seeds from other differences."""
    leaks: Leaks | None = None
    guarded: bool = False
    unscored: Mapping[str, int] = field(default_factory=dict)
    """Items without a number, by reason."""

    @property
    def known(self) -> Bools:
        """Pairs with a number."""
        return self.speaks & ~np.isnan(self.margin)
