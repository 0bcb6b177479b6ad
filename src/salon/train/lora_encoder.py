"""Low-rank adapters on a CLIP or SigLIP, learned with scalar heads from pairs: the encoder is no longer frozen.

    score of picture i under text t and criterion c     f_c = w_c . [t, i, t * i, |t - i|] + b_c
    log-odds that a is better than b                    z = tau (f_c(a) - f_c(b)),  tau learned
    loss                                                cross-entropy of s(z) against the share of votes

W of every linear layer of both towers stays; W + (alpha / r) B A is used. After each pass the loss of the validation
pairs is read, and the adapters of the best pass are worked into the weights. What comes back is an encoder like any
other: heads are then trained on its vectors as on those of a frozen one.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from PIL import Image

from salon.errors import MissingExtra, NotConverged
from salon.models.clip_encoder import ClipEncoder
from salon.models.lora import adapted, merged

try:
    import torch
    from torch import Tensor, nn
    from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy
    from torch.nn.functional import normalize
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None


@dataclass(frozen=True)
class LoraEncoderSettings:
    """How adapters are learned."""

    rank: int = 16
    alpha: float = 32.0
    rate: float = 1e-4
    passes: int = 3
    batch: int = 16
    seed: int = 0


@dataclass(frozen=True)
class TunedEncoder:
    """An encoder with its adapters worked in, and how it came there."""

    encoder: ClipEncoder
    losses: tuple[float, ...]
    """Of the validation pairs, pass by pass."""
    best_pass: int


class _Scores(nn.Module):
    """A linear score for each criterion on text and picture, and one temperature."""

    def __init__(self, width: int, criteria: int) -> None:
        super().__init__()
        self.weights = nn.Linear(4 * width, criteria)
        self.log_scale = nn.Parameter(torch.tensor(np.log(10.0), dtype=torch.float32))

    def forward(self, text: Tensor, picture: Tensor, criterion: Tensor) -> Tensor:
        features = torch.cat([text, picture, text * picture, (text - picture).abs()], dim=-1)
        values: Tensor = self.weights(features).gather(1, criterion[:, None])[:, 0] * self.log_scale.exp()
        return values


def tune_encoder(
    encoder: ClipEncoder,
    labels: pa.Table,
    paths: Mapping[str, Path],
    settings: LoraEncoderSettings,
    on_pass: Callable[[int, float], None] = lambda number, loss: None,
) -> TunedEncoder:
    """Learn adapters from the training pairs of `labels`, whose pictures are at `paths`."""
    training, validation = (_pairs(labels, split) for split in ("train", "validation"))
    criteria = {name: n for n, name in enumerate(dict.fromkeys(labels.column("criterion").to_pylist()))}
    rng = np.random.default_rng(settings.seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = adapted(encoder.network_copy(), rank=settings.rank, alpha=settings.alpha)
        scores = _Scores(encoder.text_width, len(criteria)).to(encoder.device)
        learned = [one for one in (*network.parameters(), *scores.parameters()) if one.requires_grad]
        optimizer = torch.optim.AdamW(learned, lr=settings.rate)
        tuned = encoder.with_network(network, f"lora {settings}")
        losses: list[float] = []
        best: dict[str, Tensor] = {}
        for number in range(1, settings.passes + 1):
            network.train()
            order = rng.permutation(len(training))
            for start in range(0, len(order), settings.batch):
                rows = [training[row] for row in order[start : start + settings.batch]]
                turned = rng.random(len(rows)) < 0.5
                loss = _loss(tuned, scores, rows, criteria, paths, turned)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
            losses.append(_mean_loss(tuned, scores, validation, criteria, paths, settings.batch))
            on_pass(number, losses[-1])
            if not np.isfinite(losses[-1]):
                break
            if losses[-1] <= min(losses):
                best = {name: one.detach().clone() for name, one in network.state_dict().items() if "lora_" in name}
        if not best:
            raise NotConverged("a loss that is a number is needed", found=losses[0], remedy="a lower --lora-rate")
        network.load_state_dict(best, strict=False)
        network.eval()
        done = int(np.nanargmin(losses)) + 1
        return TunedEncoder(encoder.with_network(merged(network), f"lora {settings} pass {done}"), tuple(losses), done)


def _pairs(labels: pa.Table, split: str) -> list[dict[str, Any]]:
    rows = labels.filter(pc.equal(labels.column("split").cast(pa.string()), split))
    result: list[dict[str, Any]] = rows.select(["criterion", "item_a", "item_b", "text", "share"]).to_pylist()
    return result


def _loss(
    encoder: ClipEncoder,
    scores: _Scores,
    rows: Sequence[Mapping[str, Any]],
    criteria: Mapping[str, int],
    paths: Mapping[str, Path],
    turned: np.ndarray | None = None,
) -> Tensor:
    """Mean cross-entropy of some pairs; `turned` ones are shown the other way round."""
    turned = np.zeros(len(rows), bool) if turned is None else turned
    items = list(dict.fromkeys(row[name] for row in rows for name in ("item_a", "item_b")))
    texts = list(dict.fromkeys(row["text"] or "" for row in rows))
    pictures = normalize(encoder.picture_features([_opened(paths[item]) for item in items]), dim=-1)
    words = normalize(encoder.text_features([text if text.strip() else "." for text in texts]), dim=-1)
    there = torch.tensor([bool(text.strip()) for text in texts], device=words.device)
    words = words * there[:, None]  # as the encoder has it: a text without a word is a row of zeros
    place, line = ({one: n for n, one in enumerate(found)} for found in (items, texts))
    text = words[[line[row["text"] or ""] for row in rows]]
    sides = [("item_b", "item_a") if flip else ("item_a", "item_b") for flip in turned]
    criterion = torch.tensor([criteria[row["criterion"]] for row in rows], device=words.device)
    first, second = (
        scores(text, pictures[[place[row[side[n]]] for row, side in zip(rows, sides)]], criterion) for n in (0, 1)
    )
    share = [1 - row["share"] if flip else row["share"] for row, flip in zip(rows, turned)]
    return cross_entropy(first - second, torch.tensor(share, dtype=torch.float32, device=words.device))


@torch.no_grad()
def _mean_loss(
    encoder: ClipEncoder,
    scores: _Scores,
    rows: Sequence[Mapping[str, Any]],
    criteria: Mapping[str, int],
    paths: Mapping[str, Path],
    batch: int,
) -> float:
    encoder.network.eval()
    total = 0.0
    for start in range(0, len(rows), batch):
        part = rows[start : start + batch]
        total += float(_loss(encoder, scores, part, criteria, paths)) * len(part)
    return total / max(len(rows), 1)


def _opened(path: Path) -> Image.Image:
    with Image.open(path) as image:
        return copy.copy(image.convert("RGB"))
