"""ImageReward: BLIP reads the prompt while it looks at the picture, a head makes one number of what it understood."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from salon.errors import MissingExtra
from salon.models.heads import linear_stack
from salon.models.weights import State, best_device, first_there, from_hub, load_all, read_state

try:
    import torch
    from transformers import AutoTokenizer, BlipTextConfig, BlipTextModel, BlipVisionConfig, BlipVisionModel
except ImportError:  # pragma: no cover - the tests have it
    raise MissingExtra("models") from None

WEIGHTS = ("ImageReward.pt", "ImageReward.safetensors")
MEAN, SD = 0.16717362830052426, 1.0333394966054072
"""Of the head's output over its authors' data; scores are standardised with them."""
_LONGEST = 35
"""Tokens of the prompt that are read."""
_PIXEL_MEAN = np.array([0.48145466, 0.4578275, 0.40821073], np.float32)
_PIXEL_SD = np.array([0.26862954, 0.26130258, 0.27577711], np.float32)
_VISION = {
    "cls_token": "embeddings.class_embedding",
    "pos_embed": "embeddings.position_embedding",
    "patch_embed.proj": "embeddings.patch_embedding",
    "norm": "post_layernorm",
}
_INSIDE = {
    "norm1": "layer_norm1",
    "norm2": "layer_norm2",
    "attn.qkv": "self_attn.qkv",
    "attn.proj": "self_attn.projection",
}


class BlipReward:
    """ImageReward from a folder with its weights, med_config.json and BERT's tokenizer."""

    def __init__(self, folder: Path, *, device: str | None = None) -> None:
        self.device = device or best_device()
        weights = first_there(folder, WEIGHTS, of="ImageReward")
        state = read_state(weights)
        told = json.loads(first_there(folder, ["med_config.json"], of="ImageReward").read_text())
        self._tokenizer = from_hub(AutoTokenizer.from_pretrained, folder, what="BERT's tokenizer")
        self._eyes = _vision(_under(state, "blip.visual_encoder."), str(weights)).to(self.device)
        self._reader = _text(_under(state, "blip.text_encoder."), told, str(weights)).to(self.device)
        self._head = linear_stack(_under(state, "mlp."), where=str(weights)).to(self.device)

    @torch.inference_mode()
    def scores(self, images: Sequence[Image.Image], texts: Sequence[str]) -> list[float]:
        """One number per picture and its prompt."""
        pixels = torch.from_numpy(np.stack([_pixels(image, self._eyes.config.image_size) for image in images]))
        seen = self._eyes(pixels.to(self.device)).last_hidden_state
        read = self._tokenizer(
            list(texts), padding="max_length", truncation=True, max_length=_LONGEST, return_tensors="pt"
        ).to(self.device)
        understood = self._reader(
            input_ids=read["input_ids"],
            attention_mask=read["attention_mask"],
            encoder_hidden_states=seen,
            encoder_attention_mask=torch.ones(seen.shape[:2], dtype=torch.long, device=self.device),
        ).last_hidden_state[:, 0]
        return ((self._head(understood).squeeze(-1) - MEAN) / SD).tolist()


def _under(state: State, prefix: str) -> State:
    return {name.removeprefix(prefix): tensor for name, tensor in state.items() if name.startswith(prefix)}


def _vision(state: State, where: str) -> BlipVisionModel:
    renamed = {_vision_name(name): tensor for name, tensor in state.items()}
    hidden, _, patch, _ = renamed["embeddings.patch_embedding.weight"].shape
    places = renamed["embeddings.position_embedding"].shape[1] - 1
    config = BlipVisionConfig(
        hidden_size=hidden,
        intermediate_size=renamed["encoder.layers.0.mlp.fc1.weight"].shape[0],
        num_hidden_layers=1 + max(int(name.split(".")[2]) for name in renamed if name.startswith("encoder.layers.")),
        num_attention_heads=hidden // 64,
        image_size=patch * round(places**0.5),
        patch_size=patch,
        layer_norm_eps=1e-6,
    )
    network = BlipVisionModel(config)
    load_all(network, renamed, where=where)
    return network.eval()


def _vision_name(name: str) -> str:
    if name in _VISION:
        return _VISION[name]
    module, _, kind = name.rpartition(".")
    if module.startswith("blocks."):
        _, number, inner = module.split(".", 2)
        return f"encoder.layers.{number}.{_INSIDE.get(inner, inner)}.{kind}"
    return f"{_VISION.get(module, module)}.{kind}"


def _text(state: State, told: dict[str, object], where: str) -> BlipTextModel:
    known = {name: tensor for name, tensor in state.items() if not name.endswith("position_ids")}
    taken = ("hidden_size", "num_attention_heads", "num_hidden_layers", "intermediate_size", "hidden_act",
             "layer_norm_eps", "max_position_embeddings")  # fmt: skip
    config = BlipTextConfig(
        **{name: told[name] for name in taken if name in told},
        vocab_size=known["embeddings.word_embeddings.weight"].shape[0],
        encoder_hidden_size=told["encoder_width"],
        is_decoder=True,  # what gives its layers eyes; its attention to the text itself stays both ways
        bos_token_id=None,
        eos_token_id=None,
        sep_token_id=None,
    )
    network = BlipTextModel(config, add_pooling_layer=False)
    load_all(network, known, where=where)
    return network.eval()


def _pixels(image: Image.Image, side: int) -> np.ndarray:
    """The middle square: the shorter side is brought to the network's size."""
    scale = side / min(image.size)
    sized = image.resize(tuple(max(side, round(one * scale)) for one in image.size), Image.Resampling.BICUBIC)
    left, top = (sized.width - side) // 2, (sized.height - side) // 2
    square = np.asarray(sized.crop((left, top, left + side, top + side)), np.float32) / 255
    return ((square - _PIXEL_MEAN) / _PIXEL_SD).transpose(2, 0, 1)
