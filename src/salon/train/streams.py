"""The order in which rows are met: seeded, each once a pass, streams in turn."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TypeVar

from salon.errors import MissingExtra

try:
    import torch
    from torch import Tensor
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None


A = TypeVar("A")
B = TypeVar("B")


def criterion_batches(criterion: Tensor, size: int, generator: torch.Generator) -> list[tuple[int, Tensor]]:
    """Row numbers in batches of one criterion each, with its number; every row once, all in random order."""
    batches = []
    for number in criterion.unique().tolist():
        rows = torch.nonzero(criterion == number).squeeze(1)
        rows = rows[torch.randperm(len(rows), generator=generator)]
        batches += [(number, part) for part in _even(rows, size)]
    return [batches[place] for place in torch.randperm(len(batches), generator=generator).tolist()]


def plain_batches(rows: int, size: int, generator: torch.Generator) -> list[Tensor]:
    """Row numbers in batches, every row once, in random order."""
    return list(_even(torch.randperm(rows, generator=generator), size))


def alternated(first: Iterable[A], second: Iterable[B]) -> Iterator[A | B]:
    """One from each stream in turn; when the shorter one ends, the other goes on."""
    for one, other in itertools.zip_longest(first, second):
        if one is not None:
            yield one
        if other is not None:
            yield other


def _even(rows: Tensor, size: int) -> Iterator[Tensor]:
    """Batches of about equal length, none longer than `size`: a last one of two rows would be nothing but noise."""
    return iter(rows.tensor_split(max(1, -(-len(rows) // size))))
