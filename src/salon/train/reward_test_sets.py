"""Further pairs that a reward model is tried on while it trains: reported, and never used to choose a state.

Of a source with a test split its test pairs are taken, of any other all; at most as many as validation looks at, the
first. Intervals draw prompts again, as those of validation do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from salon.errors import BadFile, BadValue
from salon.evaluate.pairs.validation_figures import HeadFigures, validation_figures
from salon.train.pair_order import PairRow
from salon.train.reward_data import PairFile, pair_rows
from salon.train.reward_survey import check_columns

PLAIN = {"labels": "soft", "weigh": "none", "rater_weights": "none", "confident": 0.0}
"""Settings of pairs to be tried on: all of them, by the share of their votes."""


@dataclass(frozen=True)
class TestSet:
    """Pairs to be tried on."""

    __test__ = False  # nothing for pytest

    name: str
    pairs: PairFile
    table: pa.Table

    @cached_property
    def rows(self) -> list[PairRow]:
        """The same, one by one."""
        return list(pair_rows([self.table]))

    def figures(self, logits: NDArray[np.float64]) -> tuple[HeadFigures, ...]:
        """How well log-odds of the pairs do: all criteria together, then each."""
        criteria = self.table.column("criterion").unique().to_pylist()
        return pair_figures(self.table, logits, criteria, seed=self.pairs.settings.seed)

    def summary(self, loss: float, logits: NDArray[np.float64]) -> dict[str, float | None]:
        """What the log says of a look at them."""
        accuracy = self.figures(logits)[0].accuracy
        if accuracy is None:
            return {"loss": loss, "accuracy": None}
        return {"loss": loss, "accuracy": accuracy.value, "accuracy_low": accuracy.low, "accuracy_high": accuracy.high}


def read_test_set(name: str, pairs: PairFile, learned: Sequence[str]) -> TestSet:
    """The pairs of a source to be tried on: those of criteria that are `learned`, or of its only one if one is learned.

    BadValue where there is no such criterion, BadFile where there are no pairs or a picture is missing.
    """
    check_columns(pairs)
    pairs = replace(pairs, criteria=tuple(learned))
    table = _tried(pairs)
    if not table.num_rows:
        table = _tried(replace(pairs, criteria=()))
        own = table.column("criterion").unique().to_pylist()
        if not len(own) == len(learned) == 1:
            raise BadValue(
                "--also: pairs of a criterion that is learned are needed", found=", ".join(own) or "none",
                where=name, remedy=f"learned are {', '.join(learned)}",
            )  # fmt: skip
        pairs = replace(pairs, names={own[0]: pairs.names.get(learned[0], learned[0])})
    folder = getattr(pairs.pictures, "folder", None)
    for side in "ab":
        for image, place in zip(*(table.column(f"{what}_{side}").to_pylist() for what in ("image", "place"))):
            if not image or place is None or (folder is not None and not (folder / image).is_file()):
                raise BadFile("every pair needs both of its pictures", found=f"{image} is missing", where=name)
    return TestSet(name, pairs, table)


def _tried(pairs: PairFile) -> pa.Table:
    """The first test pairs, or the first pairs of any split where there are none."""
    most = pairs.settings.validate_pairs
    everything: list[pa.Table] = []
    test: list[pa.Table] = []
    for _, table in pairs.tables():
        learned = pairs.learned(table)
        if sum(part.num_rows for part in everything) < most:
            everything.append(learned)
        test.append(learned.filter(pc.equal(learned.column("split"), "test")))
        if sum(part.num_rows for part in test) >= most:
            break
    return pa.concat_tables(test if any(part.num_rows for part in test) else everything).slice(0, most)


def pair_figures(
    table: pa.Table, logits: NDArray[np.float64], criteria: Sequence[str], *, seed: int
) -> tuple[HeadFigures, ...]:
    """Accuracy with its interval and ceiling of log-odds of pairs: all criteria together, then each."""
    groups = pc.fill_null(table.column("group"), "")
    table = table.set_column(table.schema.get_field_index("group"), "group", groups)
    for name in ("for_a", "for_b"):
        counts = pc.fill_null(table.column(name), 0).cast(pa.int64())
        table = table.set_column(table.schema.get_field_index(name), name, counts)
    return validation_figures(table, logits, criteria, rng=np.random.default_rng(seed))
