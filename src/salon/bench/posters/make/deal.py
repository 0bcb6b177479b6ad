"""Truths dealt like cards: every option equally often, in an order nobody can guess."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from salon.render.chance import chance

T = TypeVar("T")


def dealt(options: Sequence[T], number: int, seed: int, *labels: str) -> T:
    """The option of item `number`: of every len(options) items in a row each option has one, in shuffled order."""
    pack, place = divmod(number, len(options))
    return options[int(chance(seed, "deal", *labels, str(pack)).permutation(len(options))[place])]


def pick(options: Sequence[T], rng: np.random.Generator) -> T:
    """Any one of the options."""
    return options[int(rng.integers(len(options)))]


def some(options: Sequence[T], count: int, rng: np.random.Generator) -> list[T]:
    """`count` different ones, in random order."""
    return [options[int(at)] for at in rng.permutation(len(options))[:count]]


def in_place(right: T, others: Sequence[T], at: int) -> list[T]:
    """The others with the right one put in at place `at`."""
    return [*others[:at], right, *others[at:]]
