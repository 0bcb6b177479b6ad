"""Pairs as the trainers of DPO read them: folders of Parquet files that `datasets.load_dataset` opens.

    OUT/diffusers/train.parquet     caption, jpg_0, jpg_1 (bytes of a picture), label_0, label_1: as in Pick-a-Pic
    OUT/trl/train.parquet           prompt, images, chosen, rejected (conversations), as TRL's vision preferences
    OUT/pairs.json                  counts, what was left out and why, signature

Diffusion-DPO moves a diffusion model towards the better picture. TRL's DPOTrainer tunes a model that writes: it is
asked which of two pictures is better, in the words of `salon judge`, and learns to give the answer that people gave.

In both the better picture stands first in half of the rows. Columns that no trainer reads say where a row comes from:
criterion, group, item ids, margin and its error; of votes also their number, and the share of the better one (ties
half), which is the soft label.

diffusers reads bytes, not decoded pictures: `Image.open(io.BytesIO(row["jpg_0"]))`, and takes the first for the worse
one where label_0 is 0 (examples/research_projects/diffusion_dpo/train_diffusion_dpo.py at 071190d). TRL's format of
vision preferences: trl 1.16.0, trainer/dpo_trainer.py, DataCollatorForVisionPreference.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from salon.select.pairs import Candidate
from salon.store.atomic import whole_file
from salon.study.split import SPLITS

Look = Callable[[str], bytes]
"""Bytes of an item's picture."""
Talk = Callable[[Candidate, bool], tuple[list[dict[str, Any]], str, str]]
"""Of a pair, and whether the better one stands first: what is asked, the better answer, the worse one."""
Make = Callable[[Candidate, bool], dict[str, Any]]
"""A row of a pair, and of whether the better one stands first."""
_ROWS = 64
"""Pairs that are in memory together."""

_MESSAGE = pa.struct([("role", pa.string()), ("content", pa.string())])
_PART = pa.struct([("type", pa.string()), ("text", pa.string())])
_ASKED = pa.struct([("role", pa.string()), ("content", pa.list_(_PART))])
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
        ("prompt", pa.list_(_ASKED)), ("images", pa.list_(_IMAGE)), ("chosen", pa.list_(_MESSAGE)),
        ("rejected", pa.list_(_MESSAGE)), ("items", pa.list_(pa.string())), *_ABOUT,
    ],
    metadata={"huggingface": json.dumps({"info": {"features": _FEATURES}})},
)  # fmt: skip


def diffusers_rows(look: Look, generators: dict[str, str | None]) -> Make:
    """Makes rows with the columns of Pick-a-Pic."""

    def make(pair: Candidate, leads: bool) -> dict[str, Any]:
        items = _sides(pair, leads)
        return {
            "caption": pair.text, "jpg_0": look(items[0]), "jpg_1": look(items[1]), "label_0": int(leads),
            "label_1": int(not leads), "image_0_uid": items[0], "image_1_uid": items[1],
            "model_0": generators.get(items[0]), "model_1": generators.get(items[1]), **_about(pair),
        }  # fmt: skip

    return make


def trl_rows(look: Look, talk: Talk) -> Make:
    """Makes rows with the columns of TRL's vision preferences."""

    def make(pair: Candidate, leads: bool) -> dict[str, Any]:
        items = _sides(pair, leads)
        asked, better, worse = talk(pair, leads)
        return {
            "prompt": asked, "images": [{"bytes": look(item), "path": None} for item in items],
            "chosen": [{"role": "assistant", "content": better}], "rejected": [{"role": "assistant", "content": worse}],
            "items": items, **_about(pair),
        }  # fmt: skip

    return make


def write_rows(folder: Path, make: Make, schema: pa.Schema, pairs: Sequence[Candidate], first: Sequence[bool]) -> None:
    """One file for each split that has pairs; a few rows are in memory at a time."""
    folder.mkdir(parents=True)
    for split in SPLITS:
        own = [(pair, leads) for pair, leads in zip(pairs, first, strict=True) if pair.split == split]
        if own:
            with (
                whole_file(folder / f"{split}.parquet") as file,
                pq.ParquetWriter(file, schema, compression="zstd") as writer,
            ):
                for start in range(0, len(own), _ROWS):
                    rows = [make(*one) for one in own[start : start + _ROWS]]
                    writer.write_table(pa.Table.from_pylist(rows, schema))


def _sides(pair: Candidate, leads: bool) -> list[str]:
    return [pair.chosen, pair.rejected] if leads else [pair.rejected, pair.chosen]


def _about(pair: Candidate) -> dict[str, Any]:
    return {
        "criterion": pair.criterion, "group": pair.group, "margin": pair.margin, "margin_error": pair.error,
        "votes": pair.votes, "share": None if pair.votes is None else (1 + pair.margin) / 2,
    }  # fmt: skip
