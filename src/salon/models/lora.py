"""Low-rank adapters on a VLM (LoRA, by peft): on its language model, its vision encoder, or both.

The weights W of a linear layer stay as they are; W + (alpha / r) B A is used, with B and A of rank r to be learned.
The vector of the special token, which no VLM knows, is learned along. Merged, the VLM is again one of its own class.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from salon.errors import BadValue, MissingExtra

try:
    import torch
    from peft import LoraConfig, PeftModel, get_peft_model
    from torch import nn
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("train") from None

Where = Literal["language", "vision", "both"]
_PARTS = {"language": ("language_model",), "vision": ("visual", "vision"), "both": ("",)}


def add_lora(vlm: Any, *, where: Where, rank: int, alpha: float, dropout: float, token: int, seed: int) -> PeftModel:
    """Put adapters into `vlm`, in place: all of its own weights are then frozen. Merge with what is returned."""
    config = LoraConfig(
        r=rank,
        lora_alpha=alpha,  # type: ignore[arg-type]  # peft says int, and takes any number
        lora_dropout=dropout,
        target_modules=linear_layers(vlm, where),
        trainable_token_indices=[token],
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return get_peft_model(vlm, config)


def adapted(network: Any, *, rank: int, alpha: float) -> PeftModel:
    """A network with adapters on all its linear layers, its own weights frozen; for encoders, which write no words."""
    layers = [name for name, layer in network.named_modules() if isinstance(layer, nn.Linear)]
    if not layers:
        raise BadValue("linear layers are needed for adapters", found=f"none in {type(network).__name__}")
    config = LoraConfig(r=rank, lora_alpha=alpha, target_modules=layers)  # type: ignore[arg-type]  # as above
    return get_peft_model(network, config)


def linear_layers(vlm: Any, where: Where) -> list[str]:
    """Names of the linear layers of one part of a VLM; the layer that words leave by is none of them."""
    named = re.compile(rf"(^|\.)({'|'.join(_PARTS[where])})", re.IGNORECASE)
    out = vlm.get_output_embeddings()
    found = [
        name for name, layer in vlm.named_modules()
        if isinstance(layer, nn.Linear) and layer is not out and named.search(name)
    ]  # fmt: skip
    if not found:
        raise BadValue(f"linear layers of the VLM's {where} part are needed", found=f"none in {type(vlm).__name__}")
    return found


def merged(adapted: PeftModel) -> Any:
    """The VLM with its adapters worked into its weights, of its own class again."""
    return adapted.merge_and_unload()
