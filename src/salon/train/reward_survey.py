"""A file of labelled pairs, looked through once before training: what it holds, and whether it can be learned from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from salon.errors import BadColumns, BadFile, BadValue, TooFew
from salon.train.reward_data import PairFile, opened
from salon.train.reward_settings import RewardSettings

LEAST_PAIRS = 12
"""Training pairs without which nothing can be learned, as for heads."""
_ORDER = "train validation test"


@dataclass(frozen=True)
class Survey:
    """What a file holds, counted in one pass."""

    rows: dict[str, int]
    """By split, of those that are learned from."""
    criteria: tuple[str, ...]
    dropped: int
    """Under the threshold of confidence, in all splits."""
    ties: float
    """Mean share of ties in training."""
    weight: float
    """Mean weight of the training pairs."""
    pictures: int


def survey_pairs(pairs: PairFile) -> Survey:
    """Count the rows and look for every picture; BadColumns, BadFile or TooFew where training could not start."""
    check_columns(pairs.path, pairs.settings)
    rows, read, seen = Counter[str](), 0, _Seen(pairs.images)
    for table in pairs.tables():
        kept = pairs.learned(table)
        read += table.num_rows
        rows.update(dict(zip(*_counted(kept.column("split")))))
        seen.take(kept)
    dropped = read - rows.total()
    seen.check_pictures(pairs.path)
    if rows["train"] < LEAST_PAIRS:
        raise TooFew(
            f"a reward model needs at least {LEAST_PAIRS} pairs to train on",
            found=f"{rows['train']:,}" + (f", and {dropped:,} of all below --confident" if dropped else ""),
            where=str(pairs.path),
            remedy="collect more judgments, or lower --confident",
        )
    seen.check_classes(pairs.path)
    seen.check_weights(pairs.path)
    return Survey(
        rows=dict(sorted(rows.items(), key=lambda split: _ORDER.find(split[0]))),
        criteria=tuple(seen.shares),
        dropped=dropped,
        ties=seen.ties / rows["train"],
        weight=seen.weight / rows["train"],
        pictures=len(seen.pictures),
    )


def check_columns(path: Path, settings: RewardSettings) -> None:
    """BadColumns where the file lacks one that the settings need."""
    with opened(path) as file:
        names = file.schema_arrow.names
    needed = ["image_a", "image_b", *(["rater", "label"] if settings.labels == "raters" else [])]
    needed += ["label"] if settings.labels == "hard" else ["share"]
    needed += [settings.weigh] if settings.weigh != "none" else []
    needed += ["p_max"] if settings.confident else []
    for name in needed:
        if name not in names:
            raise BadColumns.missing(name, names, where=str(path))


class _Seen:
    """Pictures and answers met on the way through a file."""

    def __init__(self, images: Path) -> None:
        self.images = images
        self.pictures: set[str] = set()
        self.missing: list[str] = []
        self.unnamed = 0
        self.ties = 0.0
        self.weight = 0.0
        self.shares: dict[str, tuple[float, float]] = {}

    def take(self, table: pa.Table) -> None:
        """Note what is new in these rows."""
        for column in ("image_a", "image_b"):
            fresh = [name for name in table.column(column).unique().to_pylist() if name not in self.pictures]
            self.unnamed += table.column(column).null_count
            self.pictures.update(name for name in fresh if name is not None)
            self.missing += [name for name in fresh if name is not None and not (self.images / name).is_file()]
        train = table.filter(pc.equal(table.column("split"), "train"))
        self.ties += float(pc.sum(train.column("tied")).as_py() or 0)
        self.weight += float(pc.sum(train.column("weight")).as_py() or 0)
        for name in table.column("criterion").unique().to_pylist():
            share = train.filter(pc.equal(train.column("criterion"), name)).column("target").to_numpy()
            low, high = self.shares.get(name, (np.inf, -np.inf))
            self.shares[name] = (min(low, share.min(initial=np.inf)), max(high, share.max(initial=-np.inf)))

    def check_pictures(self, where: Path) -> None:
        """BadFile where a picture is not there."""
        if self.missing or self.unnamed:
            found = f"{self.unnamed:,} rows without a picture" if self.unnamed else ""
            found = found or f"{len(self.missing):,} missing: {', '.join(self.missing[:3])}"
            raise BadFile(
                "every pair needs both of its pictures", found=found, where=str(where),
                remedy=f"they are looked for below {self.images}; --images names another folder",
            )  # fmt: skip

    def check_classes(self, where: Path) -> None:
        """TooFew where every pair of a criterion is even: there is no preference to learn."""
        for name, (low, high) in self.shares.items():
            if low == high == 0.5:
                raise TooFew("pairs with a winner are needed", found="all even", where=f"{where}, criterion {name!r}")

    def check_weights(self, where: Path) -> None:
        """BadValue where no training pair counts."""
        if not self.weight:
            raise BadValue(
                "a training pair with a weight above 0 is needed", found="none", where=str(where),
                remedy="--rater-weights none: no two raters agree more often than coins; or --weigh none",
            )  # fmt: skip


def _counted(column: pa.ChunkedArray) -> tuple[list[str], list[int]]:
    counts = pc.value_counts(column.combine_chunks())
    return counts.field("values").to_pylist(), counts.field("counts").to_pylist()
