"""Studies and answers made from plain arrays, so that a test can say exactly who answered what."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from salon.check.signal import CompleteAnswers
from salon.study import Comparison, Criterion, Item, Prompt, Ranking, Rater, Rating, Study


def random_ranks(n: int, raters: int, items: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """(n, R, p) orders of raters without any preference."""
    return rng.permuted(np.broadcast_to(np.arange(items), (n, raters, items)), axis=2)


def shared_ranks(n: int, raters: int, items: int, noise: ArrayLike, rng: np.random.Generator) -> NDArray[np.int64]:
    """(n, R, p) orders of raters who see the same worth with `noise` (one for all, or one per rater)."""
    seen = rng.normal(size=(n, 1, items)) + np.reshape(noise, (1, -1, 1)) * rng.normal(size=(n, raters, items))
    return (-seen).argsort(axis=2).argsort(axis=2)


def answers_of(scores: ArrayLike, protocol: str = "rankings") -> CompleteAnswers:
    """Answers of the same R raters to n prompts of p items, from scores (n, R, p), higher = better."""
    table = np.asarray(scores, np.float32)
    n, raters, items = table.shape
    return CompleteAnswers(
        protocol=protocol,
        group=np.repeat(np.arange(n, dtype=np.int32), raters),
        rater=np.tile(np.arange(raters, dtype=np.int32), n),
        size=np.full(n * raters, items, np.int32),
        scores=table.reshape(n * raters, items),
        incomplete=0,
        intransitive=0,
        too_large=0,
        skipped=0,
    )


class Drawn:
    """A study in the making: prompts q0.. of items q0.0, q0.1, ...; judgments are added by arrays."""

    def __init__(self, prompts: int, items: int | list[int]) -> None:
        self.sizes = [items] * prompts if isinstance(items, int) else items
        self.judgments: dict[str, list[Any]] = {"rankings": [], "comparisons": [], "ratings": [], "checklists": []}

    def item(self, prompt: int, number: int) -> str:
        return f"q{prompt}.{number}"

    def rank(self, ranks: ArrayLike, *, raters: list[str] | None = None, criterion: str = "c", first: int = 0) -> Drawn:
        """Rankings from strict ranks (n, R, p) of the prompts from `first` on."""
        for prompt, panel in enumerate(np.asarray(ranks), first):
            for rater, row in zip(raters or names(len(panel)), panel):
                order = tuple(self.item(prompt, i) for i in np.argsort(row))
                places = tuple(range(1, len(order) + 1))
                self.judgments["rankings"].append(Ranking(criterion=criterion, rater=rater, items=order, ranks=places))
        return self

    def rate(self, values: ArrayLike, *, raters: list[str] | None = None, criterion: str = "c") -> Drawn:
        """Ratings from values (n, R, p); NaN is no rating."""
        for prompt, panel in enumerate(np.asarray(values, float)):
            for rater, row in zip(raters or names(len(panel)), panel):
                for i, value in enumerate(row):
                    if not np.isnan(value):
                        rating = Rating(criterion=criterion, rater=rater, item=self.item(prompt, i), value=value)
                        self.judgments["ratings"].append(rating)
        return self

    def compare(self, ranks: ArrayLike, *, raters: list[str] | None = None, criterion: str = "c", **more: Any) -> Drawn:
        """All comparisons that ranks (n, R, p) imply; equal ranks are ties."""
        for prompt, panel in enumerate(np.asarray(ranks)):
            for rater, row in zip(raters or names(len(panel)), panel):
                for i, j in combinations(range(len(row)), 2):
                    outcome = "tie" if row[i] == row[j] else "a" if row[i] < row[j] else "b"
                    self.vote(rater, prompt, i, j, outcome, criterion=criterion, **more)
        return self

    def vote(self, rater: str, prompt: int, i: int, j: int, outcome: str | None, **more: Any) -> Drawn:
        """One comparison of items i and j."""
        pair = {"a": self.item(prompt, i), "b": self.item(prompt, j)}
        made = {"criterion": "c", "rater": rater, "outcome": outcome} | pair | more
        self.judgments["comparisons"].append(Comparison(**made))
        return self

    def add(self, kind: str, *nouns: Any) -> Drawn:
        self.judgments[kind] += nouns
        return self

    def study(self, *criteria: Criterion, raters: list[Rater] | None = None, name: str = "drawn", **more: Any) -> Study:
        """The validated study; raters are those who answered, unless given."""
        answered = dict.fromkeys(j.rater for rows in self.judgments.values() for j in rows)
        used = dict.fromkeys(j.criterion for rows in self.judgments.values() for j in rows)
        tables = {
            "prompts": [Prompt(id=f"q{prompt}") for prompt in range(len(self.sizes))],
            "items": [
                Item(id=self.item(prompt, i), prompt=f"q{prompt}")
                for prompt, size in enumerate(self.sizes)
                for i in range(size)
            ],
            "raters": raters or [Rater(id=rater) for rater in answered],
            **self.judgments,
            **more.pop("tables", {}),
        }
        return Study.build(name, criteria or [Criterion(id=id) for id in used], tables=tables, **more)


def names(raters: int) -> list[str]:
    """r0, r1, ..."""
    return [f"r{number}" for number in range(raters)]
