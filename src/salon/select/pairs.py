"""Preference pairs for DPO: which of the pairs that raters or scorers ordered are worth training on.

A candidate is two items of one group under one criterion, with

    gap      how much better the first is, below 0 where the second is
    error    the standard deviation of that gap, where one is known

Votes: gap = (for a - for b) / n, and error = 1 / sqrt(n), that of n votes by tossed coins; so gap / error is the z of a
sign test, finite for a single vote. Scores: gap = difference, error = sqrt(e_a² + e_b²), errors of two items taken as
independent.

What is left out is counted under the first of these reasons that holds:

    no picture              one of the two has none that can be read
    even                    neither is better
    gap too small           below `least_gap`
    gap too uncertain       below `least_errors` times its error, or no error is known
    same picture            the two are equal or near copies (`store.near_pictures`)
    judged both ways        the same two pictures of one prompt stand elsewhere in the other order: all of them go
    again                   the same two pictures of one prompt; the one furthest from even in errors stays
    over the limit          more than `most` of one prompt; the widest gaps stay, or drawn ones
    near another split      a picture, or a near copy, stands in two splits: it stays in test, then in validation

Trainers read folders of Parquet files that `datasets.load_dataset` opens:

    OUT/diffusers/train.parquet     caption, jpg_0, jpg_1 (bytes of a picture), label_0, label_1: as in Pick-a-Pic
    OUT/trl/train.parquet           prompt, images, chosen, rejected (conversations), as TRL's vision preferences
    OUT/pairs.json                  counts, what was left out and why, signature

Diffusion-DPO moves a diffusion model towards the better picture. TRL's DPOTrainer tunes a model that writes: it is
asked which of two pictures is better, and learns to give the answer that people gave. In both the better picture stands
first in half of the rows. Columns that no trainer reads say where a row comes from: criterion, group, item ids, margin
and its error; of votes also their number, and the share of the better one (ties half), which is the soft label.

diffusers reads bytes, not decoded pictures: `Image.open(io.BytesIO(row["jpg_0"]))`, and takes the first for the worse
one where label_0 is 0 (examples/research_projects/diffusion_dpo/train_diffusion_dpo.py at 071190d). TRL's format of
vision preferences: trl 1.16.0, trainer/dpo_trainer.py, DataCollatorForVisionPreference.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field, model_validator

from salon.errors import TooFew
from salon.store import whole_file
from salon.study import SPLITS, Noun, check_shares

REASONS = (
    "no picture",
    "even",
    "gap too small",
    "gap too uncertain",
    "same picture",
    "judged both ways",
    "again",
    "over the limit",
    "near another split",
)
NO_PICTURE = -1


class PreferencePairSettings(Noun):
    """Which pairs `salon select pairs` keeps."""

    least_gap: float = Field(0.0, ge=0, description="Smallest gap: of shares of votes (0 to 1), or of scores.")
    least_errors: float = Field(0.0, ge=0, description="Smallest gap in units of its standard error.")
    most: int | None = Field(None, ge=1, description="At most this many pairs of one prompt.")
    order: Literal["widest", "drawn"] = Field(
        "widest", description="Which stay under --most: wide gaps, or drawn ones."
    )
    near: bool = Field(True, description="Take near copies of a picture for the same picture.")
    train: float = Field(0.8, ge=0, le=1, description="Share of the prompts to train on.")
    validation: float = Field(0.1, ge=0, le=1, description="Share of the prompts to choose settings by.")
    test: float = Field(0.1, ge=0, le=1, description="Share of the prompts kept for the final test.")
    seed: int = Field(0, ge=0, description="Seed of the split, of sides, and of what is drawn.")

    @property
    def shares(self) -> tuple[float, float, float]:
        """The shares in the order of SPLITS."""
        return self.train, self.validation, self.test

    @model_validator(mode="after")
    def _shares_make_a_whole(self) -> PreferencePairSettings:
        check_shares(self.shares)
        return self


class PairCandidate(Noun):
    """Two items of one group under one criterion."""

    criterion: str
    group: str
    split: Literal["train", "validation", "test"] = "train"
    a: str
    b: str
    gap: float
    error: float | None = Field(None, ge=0)
    votes: int | None = None
    text: str = Field("", description="Of the prompt; pictures are the same pair under one text.")

    @property
    def chosen(self) -> str:
        """The better item."""
        return self.a if self.gap > 0 else self.b

    @property
    def rejected(self) -> str:
        """The other one."""
        return self.b if self.gap > 0 else self.a

    @property
    def margin(self) -> float:
        """How much better."""
        return abs(self.gap)

    @property
    def clear(self) -> float:
        """The gap in units of its error; without one, the gap itself."""
        return self.margin if not self.error else self.margin / self.error


@dataclass(frozen=True)
class SelectedPairs:
    """What stays, in the order of the candidates, and what was left out why."""

    pairs: tuple[PairCandidate, ...]
    dropped: dict[str, int]


def select_pairs(
    candidates: Sequence[PairCandidate], looks: Mapping[str, int], settings: PreferencePairSettings | None = None
) -> SelectedPairs:
    """The pairs to train on; TooFew where nothing is left, with what took it away.

    `looks` numbers pictures by item, equal and near ones alike, NO_PICTURE where there is none.
    """
    settings = settings or PreferencePairSettings()
    rows = list(candidates)
    dropped: Counter[str] = Counter()

    def sift(reason: str, stays: Callable[[list[PairCandidate]], Sequence[bool] | NDArray[np.bool_]]) -> None:
        nonlocal rows
        remaining = [row for row, good in zip(rows, stays(rows), strict=True) if good]
        dropped[reason] += len(rows) - len(remaining)
        rows = remaining

    sift("no picture", lambda all: [min(looks.get(r.a, -1), looks.get(r.b, -1)) > NO_PICTURE for r in all])
    sift("even", lambda all: [r.gap != 0 for r in all])
    sift("gap too small", lambda all: [r.margin >= settings.least_gap for r in all])
    sift(
        "gap too uncertain",
        lambda all: [
            (settings.least_errors == 0 or (r.error is not None and r.margin >= settings.least_errors * r.error))
            for r in all
        ],
    )
    sift("same picture", lambda all: [looks[r.a] != looks[r.b] for r in all])
    sift("judged both ways", lambda all: _one_way(all, looks))
    sift("again", lambda all: _once(all, looks))
    sift("over the limit", lambda all: _limited(all, settings))
    sift("near another split", lambda all: _apart(all, looks))
    if not rows:
        counts = ", ".join(f"{count:,} {reason}" for reason, count in dropped.items() if count)
        raise TooFew("at least one pair is needed", found=f"none of {len(candidates):,}: {counts or 'no candidates'}")
    return SelectedPairs(tuple(rows), {reason: dropped[reason] for reason in REASONS})


def deal_sides(pairs: Sequence[PairCandidate], seed: int) -> list[bool]:
    """Whether the better item of each stands first: in every other one of a split, dealt by a hash, so that no place is
    the better one."""
    first = [False] * len(pairs)
    for split in SPLITS:
        own = [n for n, pair in enumerate(pairs) if pair.split == split]
        for place, n in enumerate(sorted(own, key=lambda n: _lot(seed, "side", *_name(pairs[n])))):
            first[n] = place % 2 == 0
    return first


def _name(row: PairCandidate) -> tuple[str, ...]:
    return row.criterion, row.group, *sorted((row.a, row.b))


def _pair(row: PairCandidate, looks: Mapping[str, int]) -> tuple[str, int, int]:
    low, high = sorted((looks[row.a], looks[row.b]))
    return row.text or row.group, low, high


def _one_way(rows: list[PairCandidate], looks: Mapping[str, int]) -> list[bool]:
    winners: dict[tuple[str, int, int], set[int]] = {}
    for row in rows:
        winners.setdefault(_pair(row, looks), set()).add(looks[row.chosen])
    return [len(winners[_pair(row, looks)]) == 1 for row in rows]


def _once(rows: list[PairCandidate], looks: Mapping[str, int]) -> list[bool]:
    best: dict[tuple[str, int, int], int] = {}
    for n, row in enumerate(rows):
        current = best.setdefault(_pair(row, looks), n)
        if row.clear > rows[current].clear:
            best[_pair(row, looks)] = n
    stays = set(best.values())
    return [n in stays for n in range(len(rows))]


def _limited(rows: list[PairCandidate], settings: PreferencePairSettings) -> list[bool]:
    if settings.most is None:
        return [True] * len(rows)
    groups: dict[str, list[int]] = {}
    for n, row in enumerate(rows):
        groups.setdefault(row.text or row.group, []).append(n)

    def rank(n: int) -> tuple[float, float]:
        row = rows[n]
        lot = _lot(settings.seed, "drawn", *_name(row))
        return (-row.margin if settings.order == "widest" else 0.0, lot)

    stays = {n for numbers in groups.values() for n in sorted(numbers, key=rank)[: settings.most]}
    return [n in stays for n in range(len(rows))]


def _apart(rows: list[PairCandidate], looks: Mapping[str, int]) -> list[bool]:
    """Of a picture that stands in two splits the later one stays, and with it every pair that shares it."""
    last: dict[int, int] = {}
    for row in rows:
        for item in (row.a, row.b):
            last[looks[item]] = max(last.get(looks[item], 0), SPLITS.index(row.split))
    return [all(last[looks[item]] == SPLITS.index(row.split) for item in (row.a, row.b)) for row in rows]


def _lot(*parts: object) -> float:
    """A number in [0, 1) that hangs on the parts alone."""
    digest = hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


# -- files for trainers ------------------------------------------------------------------------------------------------

ReadPicture = Callable[[str], bytes]
"""Bytes of an item's picture."""
AskPair = Callable[[PairCandidate, bool], tuple[list[dict[str, Any]], str, str]]
"""Of a pair, and whether the better one stands first: what is asked, the better answer, the worse one."""
MakeRow = Callable[[PairCandidate, bool], dict[str, Any]]
"""A row of a pair, and of whether the better one stands first."""
_ROWS = 64
"""Pairs that are in memory together."""

_MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
_MESSAGE_PART = pa.struct([("type", pa.string()), ("text", pa.string())])
_QUESTION = pa.struct([("role", pa.string()), ("content", pa.list_(_MESSAGE_PART))])
_ABOUT = [
    ("criterion", pa.string()), ("group", pa.string()), ("margin", pa.float64()), ("margin_error", pa.float64()),
    ("votes", pa.int64()), ("share", pa.float64()),
]  # fmt: skip
DIFFUSERS = pa.schema([
    ("caption", pa.string()), ("jpg_0", pa.binary()), ("jpg_1", pa.binary()), ("label_0", pa.int64()),
    ("label_1", pa.int64()), ("image_0_uid", pa.string()), ("image_1_uid", pa.string()), ("model_0", pa.string()),
    ("model_1", pa.string()), *_ABOUT,
])  # fmt: skip
_IMAGE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
_FEATURES = {"images": {"feature": {"_type": "Image"}, "_type": "List"}}
TRL = pa.schema(
    [
        ("prompt", pa.list_(_QUESTION)), ("images", pa.list_(_IMAGE)), ("chosen", pa.list_(_MESSAGE)),
        ("rejected", pa.list_(_MESSAGE)), ("items", pa.list_(pa.string())), *_ABOUT,
    ],
    metadata={"huggingface": json.dumps({"info": {"features": _FEATURES}})},
)  # fmt: skip


def diffusers_rows(look: ReadPicture, generators: dict[str, str | None]) -> MakeRow:
    """Makes rows with the columns of Pick-a-Pic."""

    def make(pair: PairCandidate, leads: bool) -> dict[str, Any]:
        items = _sides(pair, leads)
        return {
            "caption": pair.text, "jpg_0": look(items[0]), "jpg_1": look(items[1]), "label_0": int(leads),
            "label_1": int(not leads), "image_0_uid": items[0], "image_1_uid": items[1],
            "model_0": generators.get(items[0]), "model_1": generators.get(items[1]), **_about(pair),
        }  # fmt: skip

    return make


def trl_rows(look: ReadPicture, talk: AskPair) -> MakeRow:
    """Makes rows with the columns of TRL's vision preferences."""

    def make(pair: PairCandidate, leads: bool) -> dict[str, Any]:
        items = _sides(pair, leads)
        question, better, worse = talk(pair, leads)
        return {
            "prompt": question, "images": [{"bytes": look(item), "path": None} for item in items],
            "chosen": [{"role": "assistant", "content": better}], "rejected": [{"role": "assistant", "content": worse}],
            "items": items, **_about(pair),
        }  # fmt: skip

    return make


def write_rows(
    folder: Path, make: MakeRow, schema: pa.Schema, pairs: Sequence[PairCandidate], first: Sequence[bool]
) -> None:
    """One file for each split that has pairs; a few rows are in memory at a time."""
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    for split in SPLITS:
        own = [(pair, leads) for pair, leads in zip(pairs, first, strict=True) if pair.split == split]
        if own:
            with (
                whole_file(folder / f"{split}.parquet") as file,
                pq.ParquetWriter(file, schema, compression="zstd") as writer,
            ):
                for start in range(0, len(own), _ROWS):
                    rows = [make(*own_pair) for own_pair in own[start : start + _ROWS]]
                    writer.write_table(pa.Table.from_pylist(rows, schema))


def _sides(pair: PairCandidate, leads: bool) -> list[str]:
    return [pair.chosen, pair.rejected] if leads else [pair.rejected, pair.chosen]


def _about(pair: PairCandidate) -> dict[str, Any]:
    return {
        "criterion": pair.criterion, "group": pair.group, "margin": pair.margin, "margin_error": pair.error,
        "votes": pair.votes, "share": None if pair.votes is None else (1 + pair.margin) / 2,
    }  # fmt: skip
