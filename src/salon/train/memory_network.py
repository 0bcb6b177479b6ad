"""A VLM without its weights: the real network of transformers on torch's meta device, from its config alone.

Parameters can be counted there, and adapters put in, without reading or holding a single weight. Where no folder is at
hand a few well-known shapes are known by name.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from salon.errors import MissingExtra, UnknownReference
from salon.models.heads import new_reward_head
from salon.models.quality import REWARD
from salon.models.qwen_reward import WEIGHTS
from salon.models.reward_network import BACKBONE, RewardNetwork

try:
    import torch
    from torch import nn
    from transformers import AutoConfig, AutoModelForImageTextToText, AutoTokenizer
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

_QWEN2_VISION = {"depth": 32, "embed_dim": 1280, "mlp_ratio": 4, "num_heads": 16, "patch_size": 14}
_QWEN3_LARGE_VISION = {
    "depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "num_heads": 16, "patch_size": 16,
    "num_position_embeddings": 2304, "deepstack_visual_indexes": [8, 16, 24],
}  # fmt: skip


def _text(
    width: int, inner: int, layers: int, heads: int, kv_heads: int, vocabulary: int, **more: Any
) -> dict[str, Any]:
    return {
        "hidden_size": width, "intermediate_size": inner, "num_hidden_layers": layers, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "vocab_size": vocabulary, **more,
    }  # fmt: skip


SHAPES: dict[str, tuple[str, dict[str, Any]]] = {
    "qwen2-vl-7b": (
        "config.json of Qwen/Qwen2-VL-7B-Instruct on huggingface.co",
        {
            "model_type": "qwen2_vl",
            "text_config": _text(3584, 18944, 28, 28, 4, 152064, tie_word_embeddings=False),
            "vision_config": {**_QWEN2_VISION, "hidden_size": 3584},
            "tie_word_embeddings": False,
        },
    ),
    "qwen3-vl-8b": (
        "config.json of Qwen/Qwen3-VL-8B-Instruct on huggingface.co",
        {
            "model_type": "qwen3_vl",
            "text_config": _text(4096, 12288, 36, 32, 8, 151936, head_dim=128, tie_word_embeddings=False),
            "vision_config": {**_QWEN3_LARGE_VISION, "out_hidden_size": 4096},
            "tie_word_embeddings": False,
        },
    ),
}
"""Shapes by name: where their values are from, and the values. All are saved in bfloat16."""


@dataclass(frozen=True)
class Backbone:
    """What a training starts from, without its weights."""

    name: str
    config: Any
    dtype: torch.dtype
    """Of the saved weights, which those that are not trained keep."""
    vocabulary: int
    """Rows that the tokenizer needs, with the special token; 0 where there is no tokenizer to ask."""
    source: str
    """Where the shape is from."""

    def vlm(self, dtype: torch.dtype | None = None) -> Any:
        """The VLM on the meta device."""
        with torch.device("meta"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return AutoModelForImageTextToText.from_config(self.config, dtype=dtype or self.dtype)

    def reward_network(self, dtype: torch.dtype | None = None) -> RewardNetwork:
        """The VLM with HPSv3's head, as `open_parts` makes it."""
        vlm = self.vlm(dtype)
        table = vlm.get_input_embeddings().weight
        if self.vocabulary > table.shape[0]:
            with torch.device("meta"):
                vlm.resize_token_embeddings(self.vocabulary, mean_resizing=False)
        with torch.device("meta"):
            head = new_reward_head(table.shape[1], seed=0)
        return RewardNetwork(vlm, head, token=0)


def open_backbone(source: str | Path) -> Backbone:
    """The backbone in a folder or under a known name; UnknownReference where it is neither."""
    folder = Path(source)
    if (folder / BACKBONE).is_dir():
        folder = folder / BACKBONE
    if (folder / "config.json").is_file():
        config = AutoConfig.from_pretrained(folder)
        return Backbone(str(source), config, config.dtype or torch.float32, _vocabulary(folder), str(folder))
    if any((folder / name).is_file() for name in WEIGHTS):  # HPSv3, whose release has no config
        return _named("qwen2-vl-7b", str(source))
    name = folder.name.lower().removesuffix("-instruct")
    if name in SHAPES and not folder.exists():
        return _named(name, name)
    raise UnknownReference(
        "a backbone with its config.json is needed",
        found="no such file" if folder.is_dir() else "no such folder",
        where=str(source),
        remedy=f"give its folder, or one of these shapes: {', '.join(SHAPES)}",
    )


def _named(shape: str, name: str) -> Backbone:
    source, values = SHAPES[shape]
    config = AutoConfig.for_model(**json.loads(json.dumps(values)))
    return Backbone(name, config, torch.bfloat16, 0, source)


def _vocabulary(folder: Path) -> int:
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError, KeyError):  # a plan needs no tokenizer; real ones leave spare rows
        return 0
    return len(tokenizer) + (REWARD not in tokenizer.get_vocab())


def blocks(network: nn.Module) -> list[nn.Module]:
    """The layers of the language model and the blocks of the vision encoder: what is sharded as one unit."""
    names = set(getattr(network, "_no_split_modules", None) or ())
    return [module for module in network.modules() if type(module).__name__ in names]


def product_weights(network: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Weights of matrix products by name: those that autocast copies into bfloat16."""
    for name, module in network.named_modules():
        if isinstance(module, nn.Linear | nn.Conv3d):
            yield f"{name}.weight", module.weight
