"""Pairs per second of the training of heads, against the loop that everybody writes first.

TASTE's shape: 720 prompts of four items, nine criteria, vectors as wide as the default encoder's. Ours: whole data as
tensors, a minibatch is a list of row numbers. Peer: a Dataset that gives one pair at a time to a plain DataLoader, with
the same network, the same optimizer and the same batches of one criterion. The limit is the arithmetic alone: forward,
backward and step on one batch that never changes. `whole_vectors` is the peer without principal axes, which is what a
first loop would do. Processor seconds, one thread, the shortest of several turns.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pyarrow as pa
import torch
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
from torch.utils.data import DataLoader, Dataset, Sampler

from salon.models import EncoderPart
from salon.train import HeadSettings, head_loop as loop
from salon.train.head_data import EncodedStudy, HeadData, head_data
from salon.train.head_loop import criterion_batches

PARTS = (EncoderPart("image", 1280, False), EncoderPart("seen", 384, True))
CRITERIA, PROMPTS, ITEMS = 9, 80, 4
ROUNDS = 3


def drawn(settings: HeadSettings) -> HeadData:
    """Random vectors and labels: what is learned does not matter here."""
    rng = np.random.default_rng(0)
    prompts = CRITERIA * PROMPTS
    rows = [
        {"criterion": f"c{prompt % CRITERIA}", "group": f"q{prompt}", "item_a": f"{prompt}.{i}",
         "item_b": f"{prompt}.{j}", "split": "validation" if prompt % 10 == 0 else "train", "label": "a",
         "share": float(rng.integers(0, 6) / 5), "agreement": 1.0, "text": f"t{prompt}"}
        for prompt in range(prompts)
        for i, j in combinations(range(ITEMS), 2)
    ]  # fmt: skip
    pictures = {p.name: rng.normal(size=(prompts * ITEMS, p.width)).astype(np.float32) for p in PARTS}
    items = {f"{n // ITEMS}.{n % ITEMS}": n for n in range(prompts * ITEMS)}
    texts = rng.normal(size=(prompts, 384)).astype(np.float32)
    encoded = EncodedStudy(PARTS, items, pictures, {f"t{n}": n for n in range(prompts)}, texts)
    return head_data(pa.Table.from_pylist(rows), encoded, settings)


class Pairs(Dataset):
    """One pair at a time."""

    def __init__(self, data: HeadData) -> None:
        self.data = data

    def __len__(self) -> int:
        return len(self.data.train)

    def __getitem__(self, row: int) -> tuple[torch.Tensor, ...]:
        data, pairs = self.data, self.data.train
        text, a, b = data.texts[pairs.text[row]], data.pictures[pairs.a[row]], data.pictures[pairs.b[row]]
        return text, a, b, pairs.share[row], pairs.criterion[row]


class OneCriterion(Sampler):
    """The batches that ours has."""

    def __init__(self, data: HeadData, size: int) -> None:
        self.criterion, self.size, self.generator = data.train.criterion, size, torch.Generator().manual_seed(0)

    def __iter__(self) -> Iterator[list[int]]:
        return (rows.tolist() for _, rows in criterion_batches(self.criterion, self.size, self.generator))


def ours(data: HeadData, settings: HeadSettings) -> float:
    """Seconds of one pass."""
    network, optimizer, rows = _ready(data, settings)
    generator = torch.Generator().manual_seed(0)
    started = time.process_time()
    for criterion, batch in criterion_batches(rows.train.criterion, settings.batch, generator):
        loss, _ = loop._pair_loss(network, rows, criterion, batch, generator, None)
        _step(optimizer, loss)
    return time.process_time() - started


def plain(data: HeadData, settings: HeadSettings) -> float:
    """Seconds of one pass through a DataLoader."""
    network, optimizer, rows = _ready(data, settings)
    batches = DataLoader(Pairs(rows), batch_sampler=OneCriterion(rows, settings.batch))
    started = time.process_time()
    for text, a, b, share, criterion in batches:
        _step(optimizer, cross_entropy(network.logits(text, a, b, int(criterion[0])), share))
    return time.process_time() - started


def arithmetic(data: HeadData, settings: HeadSettings) -> float:
    """Seconds of as many steps on one batch."""
    network, optimizer, rows = _ready(data, settings)
    first = torch.nonzero(rows.train.criterion == 0).squeeze(1)[: settings.batch]
    pairs = rows.train
    given = rows.texts[pairs.text[first]], rows.pictures[pairs.a[first]], rows.pictures[pairs.b[first]]
    steps = len(criterion_batches(pairs.criterion, settings.batch, torch.Generator().manual_seed(0)))
    started = time.process_time()
    for number in range(steps):
        _step(optimizer, cross_entropy(network.logits(*given, number % CRITERIA), pairs.share[first]))
    return time.process_time() - started


def _ready(data: HeadData, settings: HeadSettings) -> tuple[torch.nn.Module, torch.optim.Optimizer, HeadData]:
    torch.manual_seed(0)
    network = loop._network(data, settings)
    rows = loop.reduce_data(network, data)
    loop._fit_inputs(network, rows, torch.Generator().manual_seed(0))
    return network.train(), loop._optimizer(network, None, settings), rows


def _step(optimizer: torch.optim.Optimizer, loss: torch.Tensor) -> None:
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()


def race(form: str) -> None:
    """Print the line of one form."""
    settings = HeadSettings(form=form)
    whole = settings.model_copy(update={"axes": 0})
    data = drawn(settings)
    runs = ((ours, settings), (plain, settings), (arithmetic, settings), (plain, whole))
    ours(data, settings)
    times = [[run(data, given) for run, given in runs] for _ in range(ROUNDS)]
    mine, theirs, limit, wide = (min(column) for column in zip(*times))
    pairs = len(data.train)
    line = {
        "name": "train_heads",
        "form": form,
        "pairs": pairs,
        "ours": round(mine, 3),
        "peer_name": "a plain DataLoader loop, same network and batches",
        "peer": round(theirs, 3),
        "ratio": round(theirs / mine, 2),
        "limit": round(limit, 3),
        "unit": "processor s a pass",
        "whole_vectors": round(wide, 3),
        "pairs_per_second": {name: round(pairs / t) for name, t in (("ours", mine), ("peer", theirs), ("whole", wide))},
    }
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for form in ("scalar", "antisymmetric")[: int(sys.argv[1]) if len(sys.argv) > 1 else None]:
        race(form)
