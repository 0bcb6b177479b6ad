"""A preference planted in vectors: labels, votes and vectors of a small study that nobody drew."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from salon.models import EncoderPart
from salon.train.head_data import EncodedStudy

PARTS = (EncoderPart("seen", 8, True), EncoderPart("image", 16, False))
CRITERIA = ("mood", "color")
SPLITS = ("train",) * 6 + ("validation", "test")


class Planted(NamedTuple):
    """One row for each pair; one for each rater's answer; the vectors; and a table of flags."""

    labels: pa.Table
    votes: pa.Table
    encoded: EncodedStudy
    flags: pa.Table


def planted(
    prompts: int = 48, items: int = 4, raters: int = 5, *, strength: float = 3.0, spammers: int = 0, seed: int = 0
) -> Planted:
    """Under criterion c item x is worth strength * x . direction_c; raters vote by the logistic law of differences."""
    rng = np.random.default_rng(seed)
    pictures = {part.name: _unit(rng.normal(size=(prompts * items, part.width))) for part in PARTS}
    texts = _unit(rng.normal(size=(prompts, PARTS[0].width)))
    directions = {criterion: rng.normal(size=PARTS[1].width) for criterion in CRITERIA}
    rows, votes = [], []
    for prompt, criterion in ((p, c) for p in range(prompts) for c in CRITERIA):
        worth = strength * pictures["image"][prompt * items : (prompt + 1) * items] @ directions[criterion]
        for i, j in combinations(range(items), 2):
            chance = np.full(raters, 1 / (1 + np.exp(worth[j] - worth[i])))
            chance[:spammers] = 0.5
            said = rng.random(raters) < chance
            pair = _row(prompt, criterion, i, j, said.mean())
            rows.append(pair | {"label": "a" if said.mean() > 0.5 else "b"})
            votes += [pair | {"rater": f"r{n}", "label": "a" if yes else "b"} for n, yes in enumerate(said)]
    flagged = [
        {"item": f"q{n // items}.{n % items}", "text": f"prompt {n // items}", "split": _split(n // items),
         "share": float(pictures["image"][n] @ directions[CRITERIA[0]] > 0)}
        for n in range(prompts * items)
    ]  # fmt: skip
    encoded = EncodedStudy(
        PARTS, {f"q{n // items}.{n % items}": n for n in range(prompts * items)}, pictures,
        {f"prompt {n}": n for n in range(prompts)}, texts,
    )  # fmt: skip
    return Planted(*(pa.Table.from_pylist(made) for made in (rows, votes)), encoded, pa.Table.from_pylist(flagged))


def shuffled(labels: pa.Table, seed: int) -> pa.Table:
    """The same pairs with each share on a random side: nothing is left to learn."""
    turned = np.random.default_rng(seed).random(labels.num_rows) < 0.5
    share = np.where(turned, 1 - np.asarray(labels.column("share")), np.asarray(labels.column("share")))
    label = pa.array(np.where(share > 0.5, "a", "b"))
    labels = labels.set_column(labels.schema.get_field_index("share"), "share", pa.array(share))
    return labels.set_column(labels.schema.get_field_index("label"), "label", label)


def _row(prompt: int, criterion: str, i: int, j: int, share: float) -> dict[str, object]:
    return {
        "criterion": criterion, "group": f"q{prompt}", "split": _split(prompt), "item_a": f"q{prompt}.{i}",
        "item_b": f"q{prompt}.{j}", "share": share, "agreement": abs(2 * share - 1), "text": f"prompt {prompt}",
    }  # fmt: skip


def _split(prompt: int) -> str:
    return SPLITS[prompt % len(SPLITS)]


def _unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
