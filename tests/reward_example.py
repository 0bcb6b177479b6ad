"""A planted preference for reward models: the redder picture wins. Pictures, labels, a study, and a tiny VLM."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from tiny_vlm import build_tiny_vlm

from salon.models import RewardParts, open_parts
from salon.train import RewardSettings
from salon.train.reward_data import PairFile
from salon.train.reward_loop import FittedReward, fit
from salon.train.reward_survey import survey_pairs
from salon.train.run_folder import RunFolder

INSTRUCTION = "{criterion} {text_prompt} <|Reward|>"
CRITERION = "test/red"
SMALL = RewardSettings(batch=8, at_once=8, steps=4, lr=3e-3, pixels=256, dropout=0.0, readers=1)


def tiny(folder: Path, family: str = "qwen2_vl") -> Path:
    """A VLM with random weights, made once."""
    return folder if folder.is_dir() else build_tiny_vlm(folder, family, planted=False)


def red_pairs(folder: Path, *, train: int = 16, validation: int = 4, seed: int = 0, **columns: Any) -> Path:
    """Labels of pairs of plain pictures; `columns` are given to every row."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    rows = []
    for number in range(train + validation):
        reds = rng.choice(8, 2, replace=False) * 36
        for side, red in zip("ab", reds):
            Image.new("RGB", (16, 16), (int(red), 60, 128)).save(folder / f"{number}{side}.png")
        wins = bool(reds[0] > reds[1])
        rows.append({
            "criterion": CRITERION, "group": f"p{number}", "split": "train" if number < train else "validation",
            "item_a": f"{number}a", "item_b": f"{number}b", "label": "a" if wins else "b", "share": float(wins),
            "votes": 5, "for_a": 5 * wins, "for_b": 5 * (1 - wins), "ties": 0,
            "agreement": 0.5 + number % 2 / 2, "p_max": 1.0, "image_a": f"{number}a.png", "image_b": f"{number}b.png",
            "text": f"poster {number}", **columns,
        })  # fmt: skip
    file = folder / "labels.parquet"
    pq.write_table(pa.Table.from_pylist(rows), file, row_group_size=5)
    return file


def red_votes(folder: Path, *, good: int = 3, **asked: Any) -> Path:
    """The same pairs as votes: of `good` raters who see what is redder, and of one who tosses a coin."""
    rng = np.random.default_rng(1)
    rows = []
    for pair in pq.read_table(red_pairs(folder, **asked)).to_pylist():
        said = [pair["label"]] * good + [str(rng.choice(["a", "b"]))]
        rows += [pair | {"rater": f"r{number}", "label": label} for number, label in enumerate(said)]
    file = folder / "votes.parquet"
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file


def trained(
    vlm: Path,
    labels: Path,
    run: Path,
    settings: RewardSettings = SMALL,
    rater_weights: Mapping[str, float] = MappingProxyType({}),
    **more: Any,
) -> tuple[FittedReward, RewardParts]:
    """A tiny reward model, trained."""
    parts = open_parts(
        vlm, instruction=INSTRUCTION, pixels=settings.pixels, dropout=settings.dropout, seed=settings.seed
    )
    pairs = PairFile(labels, labels.parent, settings, rater_weights=rater_weights)
    return fit(parts, pairs, survey_pairs(pairs), RunFolder(run, settings, "data", "vlm"), **more), parts


def weights(fitted: FittedReward) -> dict[str, Any]:
    """A copy of all weights."""
    return {name: tensor.clone() for name, tensor in fitted.network.state_dict().items()}
